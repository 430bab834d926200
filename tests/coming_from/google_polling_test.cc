// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The polling of a long-running operation by google-cloud-cpp. The types of
// the library are stand-ins with their shape.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/google_cloud_sdk.h"
#include "waiter/backoff.h"
#include "waiter/interop/google_cloud.h"
#include "waiter/policy.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace google_polling_test {
namespace {

// `Client` is the service's client, and `Response` the operation's result.
template <typename Response, typename Client>
absl::StatusOr<Response> AwaitOperation(Client& client, const std::string& name,
                                        waiter::WaitOptions options) {
  waiter::Waiter wait(
      [&] {
        return waiter::FromOperation<Response>(client.GetOperation(name));
      },
      std::move(options));
  return wait.Wait();
}

// The delays of a backoff policy with an initial delay of 1 s, a maximum of
// 30 s and a scaling of 2, for 10 minutes.
waiter::WaitOptions PollingOptions() {
  return {.timeout = absl::Minutes(10),
          .backoff = {.initial_delay = absl::Seconds(2),
                      .max_delay = absl::Seconds(30),
                      .jitter = waiter::Jitter::Equal()},
          .polls = {.first_delay = absl::Seconds(1)}};
}

using google::cloud::StatusCode;
using google::longrunning::Operation;

struct Database {
  std::string name;
};

// Answers with each of `answers` once, and then with the last one.
class Client {
 public:
  explicit Client(std::vector<google::cloud::StatusOr<Operation>> answers)
      : answers_(std::move(answers)) {}

  google::cloud::StatusOr<Operation> GetOperation(const std::string& /*name*/) {
    google::cloud::StatusOr<Operation> answer = answers_.front();
    if (answers_.size() > 1) answers_.erase(answers_.begin());
    return answer;
  }

 private:
  std::vector<google::cloud::StatusOr<Operation>> answers_;
};

absl::StatusOr<Database> Await(Client client) {
  waiter::SimulatedClock clock;
  waiter::WaitOptions options = PollingOptions();
  options.clock = &clock;
  return AwaitOperation<Database>(client, "operations/7", options);
}

google::cloud::Status Error(StatusCode code) {
  return google::cloud::Status(code, "");
}

TEST(GooglePollingTest, PollsUntilTheOperationIsDone) {
  Operation done;
  done.set_done(true);
  done.mutable_response()->PackFrom(Database{"users"});

  const auto database =
      Await(Client({Operation(), Error(StatusCode::kUnavailable), done}));

  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ(database->name, "users");
}

TEST(GooglePollingTest, ErrorsEndTheWait) {
  EXPECT_TRUE(absl::IsPermissionDenied(
      Await(Client({Error(StatusCode::kPermissionDenied)})).status()));

  Operation preempted;
  preempted.set_done(true);
  preempted.mutable_error()->set_code(10);
  EXPECT_TRUE(absl::IsAborted(Await(Client({preempted})).status()));
}

TEST(GooglePollingTest, DelaysHaveTheWindowsOfTheBackoffPolicy) {
  waiter::SplitMix64 gen(42);
  for (int i = 0; i < 1000; ++i) {
    const auto delays = waiter::Schedule(PollingOptions(), gen, 8);
    ASSERT_TRUE(delays.ok());
    ASSERT_EQ(delays->front(), absl::Seconds(1));
    absl::Duration start = absl::Seconds(1);
    for (size_t n = 1; n < delays->size(); ++n) {
      const absl::Duration end = std::min(2 * start, absl::Seconds(30));
      EXPECT_GE((*delays)[n], std::min(start, absl::Seconds(15))) << n;
      EXPECT_LE((*delays)[n], end) << n;
      start = end;
    }
  }
}

}  // namespace
}  // namespace google_polling_test
