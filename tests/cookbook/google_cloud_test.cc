// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// An operation of Google Cloud. The types of the library are stand-ins with
// their shape.

#include "waiter/interop/google_cloud.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/google_cloud_sdk.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace google_cloud_test {
namespace {

using google::longrunning::Operation;
using ::testing::EndsWith;

struct Database {
  std::string name;
};

class CreateDatabaseMetadata {
 public:
  int progress_percent() const { return percent; }
  int percent = 0;
};

// Answers with each of `answers` once.
struct Client {
  google::cloud::StatusOr<Operation> GetOperation(const std::string& /*name*/) {
    return answers[polls++];
  }
  std::vector<google::cloud::StatusOr<Operation>> answers;
  size_t polls = 0;
};

// The detail of polls, in messages and logs.
std::string Progress(const Operation& operation) {
  CreateDatabaseMetadata metadata;
  if (!operation.metadata().UnpackTo(&metadata)) return "";
  return absl::StrCat(metadata.progress_percent(), " %");
}

// Waits for an operation that was started with `NoAwaitTag`.
absl::StatusOr<Database> WaitForDatabase(Client& client,
                                         const std::string& name,
                                         waiter::WaitOptions options) {
  options.name = name;
  waiter::Waiter wait(
      [&] {
        return waiter::FromOperation<Database>(client.GetOperation(name),
                                               Progress);
      },
      std::move(options));
  return wait.Wait();
}

// Returns a policy by which google-cloud-cpp polls, as a `PollingPolicyOption`.
absl::StatusOr<std::unique_ptr<google::cloud::PollingPolicy>> SlowPolling() {
  return waiter::AsPollingPolicy<google::cloud::PollingPolicy>(
      {.timeout = absl::Minutes(30),
       .backoff = {.initial_delay = absl::Seconds(5),
                   .max_delay = absl::Minutes(1)}});
}

Operation At(int percent) {
  Operation operation;
  CreateDatabaseMetadata metadata;
  metadata.percent = percent;
  operation.mutable_metadata()->PackFrom(metadata);
  if (percent == 100) {
    operation.set_done(true);
    operation.mutable_response()->PackFrom(Database{"users"});
  }
  return operation;
}

TEST(GoogleCloudTest, WaitsForTheResponse) {
  waiter::SimulatedClock clock;
  Client client;
  client.answers = {
      At(10),
      google::cloud::Status(google::cloud::StatusCode::kUnavailable, ""),
      At(90), At(100)};

  const absl::StatusOr<Database> got = WaitForDatabase(
      client, "operations/7", {.timeout = absl::Minutes(30), .clock = &clock});

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->name, "users");
}

TEST(GoogleCloudTest, MessageHasTheProgress) {
  waiter::SimulatedClock clock;
  Client client;
  client.answers = {At(10), At(20)};

  const absl::StatusOr<Database> got =
      WaitForDatabase(client, "operations/7",
                      {.timeout = absl::InfiniteDuration(),
                       .max_attempts = 2,
                       .clock = &clock});

  EXPECT_THAT(std::string(got.status().message()),
              EndsWith("last poll: not ready: 20 %"));
}

TEST(GoogleCloudTest, PolicyHasTheDelaysOfTheOptions) {
  const auto policy = SlowPolling();

  ASSERT_TRUE(policy.ok()) << policy.status();
  const auto delay = (*policy)->clone()->WaitPeriod();
  EXPECT_GE(delay.count(), 2500);
  EXPECT_LE(delay.count(), 5000);
}

}  // namespace
}  // namespace google_cloud_test
