// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waiters of AWS. The types of the SDK are stand-ins with their shape.

#include "waiter/interop/aws.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/aws_sdk.h"
#include "waiter/classify.h"
#include "waiter/presets.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

// NOLINTBEGIN(readability-identifier-naming): the names of the SDK
namespace Aws::EC2 {

enum class EC2Errors {};

namespace Model {

enum class InstanceStateName { pending, running, shutting_down, terminated };

class InstanceState {
 public:
  InstanceStateName GetName() const { return name; }
  InstanceStateName name = InstanceStateName::pending;
};

class Instance {
 public:
  const InstanceState& GetState() const { return state; }
  InstanceState state;
};

class Reservation {
 public:
  const std::vector<Instance>& GetInstances() const { return instances; }
  std::vector<Instance> instances;
};

class DescribeInstancesResponse {
 public:
  const std::vector<Reservation>& GetReservations() const {
    return reservations;
  }
  std::vector<Reservation> reservations;
};

struct DescribeInstancesRequest {};

using DescribeInstancesOutcome =
    Utils::Outcome<DescribeInstancesResponse, Client::AWSError<EC2Errors>>;

}  // namespace Model

// Answers with each of `answers` once, and then with the last one.
class EC2Client {
 public:
  Model::DescribeInstancesOutcome DescribeInstances(
      const Model::DescribeInstancesRequest& /*request*/) const {
    Model::DescribeInstancesOutcome answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer;
  }
  mutable std::deque<Model::DescribeInstancesOutcome> answers;
};

}  // namespace Aws::EC2

namespace Aws::S3 {

enum class S3Errors {};

namespace Model {

struct HeadObjectRequest {};
class HeadObjectResult {
 public:
  long long GetContentLength() const { return length; }
  long long length = 0;
};
using HeadObjectOutcome =
    Utils::Outcome<HeadObjectResult, Client::AWSError<S3Errors>>;

}  // namespace Model

class S3Client {
 public:
  Model::HeadObjectOutcome HeadObject(
      const Model::HeadObjectRequest& /*request*/) const {
    Model::HeadObjectOutcome answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer;
  }
  mutable std::deque<Model::HeadObjectOutcome> answers;
};

}  // namespace Aws::S3
// NOLINTEND(readability-identifier-naming)

namespace {

using Aws::EC2::Model::InstanceStateName;

// Succeeds when all instances of the response run.
waiter::Poll<> AllRun(
    const Aws::EC2::Model::DescribeInstancesResponse& response) {
  for (const auto& reservation : response.GetReservations()) {
    for (const auto& instance : reservation.GetInstances()) {
      const InstanceStateName state = instance.GetState().GetName();
      if (state == InstanceStateName::pending) {
        return waiter::NotReady("pending");
      }
      if (state != InstanceStateName::running) {
        return waiter::Failed(absl::AbortedError("an instance has ended"));
      }
    }
  }
  return waiter::Success();
}

absl::Status WaitUntilInstancesRun(
    const Aws::EC2::EC2Client& client,
    const Aws::EC2::Model::DescribeInstancesRequest& request,
    absl::Duration timeout, waiter::Clock* clock = nullptr) {
  const auto errors = waiter::ErrorClassifier::AwsKotlin().With(
      "InvalidInstanceID.NotFound", waiter::PollStatus::kNotReady);
  waiter::WaitOptions options = waiter::SmithyWaiter(absl::Seconds(15));
  options.name = "instances";
  options.timeout = timeout;
  options.clock = clock;
  waiter::Waiter wait(
      [&] {
        return waiter::FromAwsOutcome(client.DescribeInstances(request), AllRun,
                                      errors);
      },
      std::move(options));
  return wait.Wait().status();
}

// Returns the metadata of the object once it exists.
absl::StatusOr<Aws::S3::Model::HeadObjectResult> WaitUntilObjectExists(
    const Aws::S3::S3Client& client,
    const Aws::S3::Model::HeadObjectRequest& request,
    waiter::WaitOptions options) {
  const auto errors = waiter::ErrorClassifier::AwsKotlin().With(
      404, waiter::PollStatus::kNotReady);
  waiter::Waiter wait(
      [&] {
        return waiter::FromAwsOutcome(client.HeadObject(request), errors);
      },
      std::move(options));
  return wait.Wait();
}

using Aws::Http::HttpResponseCode;
using EC2Error = Aws::Client::AWSError<Aws::EC2::EC2Errors>;
using S3Error = Aws::Client::AWSError<Aws::S3::S3Errors>;

Aws::EC2::Model::DescribeInstancesResponse Instances(
    const std::vector<InstanceStateName>& states) {
  Aws::EC2::Model::DescribeInstancesResponse response;
  for (const InstanceStateName state : states) {
    response.reservations.push_back({{{{state}}}});
  }
  return response;
}

TEST(AwsTest, WaitsUntilAllInstancesRun) {
  waiter::SimulatedClock clock;
  Aws::EC2::EC2Client client;
  client.answers = {
      EC2Error(HttpResponseCode::BAD_REQUEST, "InvalidInstanceID.NotFound"),
      Instances({InstanceStateName::running, InstanceStateName::pending}),
      EC2Error(HttpResponseCode::SERVICE_UNAVAILABLE, "RequestLimitExceeded"),
      Instances({InstanceStateName::running, InstanceStateName::running})};

  EXPECT_EQ(WaitUntilInstancesRun(client, {}, absl::Minutes(10), &clock),
            absl::OkStatus());
  EXPECT_GE(clock.Elapsed(), 3 * absl::Seconds(15));
}

TEST(AwsTest, InstanceThatEndsEndsTheWait) {
  waiter::SimulatedClock clock;
  Aws::EC2::EC2Client client;
  client.answers = {
      Instances({InstanceStateName::running, InstanceStateName::terminated})};

  EXPECT_EQ(WaitUntilInstancesRun(client, {}, absl::Minutes(10), &clock),
            absl::AbortedError(
                "an instance has ended (instances, after 1 attempt in 0)"));
}

TEST(AwsTest, WaitsUntilTheObjectExists) {
  waiter::SimulatedClock clock;
  Aws::S3::S3Client client;
  Aws::S3::Model::HeadObjectResult result;
  result.length = 42;
  client.answers = {S3Error(HttpResponseCode::NOT_FOUND, ""), result};

  const auto got = WaitUntilObjectExists(
      client, {}, {.timeout = absl::Minutes(1), .clock = &clock});

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->GetContentLength(), 42);
}

}  // namespace
