// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A waiter of the AWS SDK for C++. The types of the SDK are stand-ins with
// their shape.

#include <deque>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/aws_sdk.h"
#include "waiter/classify.h"
#include "waiter/interop/aws.h"
#include "waiter/presets.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

// NOLINTBEGIN(readability-identifier-naming): the names of the SDK
namespace Aws::DynamoDB {

enum class DynamoDBErrors {};
using DynamoDBError = Client::AWSError<DynamoDBErrors>;

namespace Model {

enum class TableStatus { CREATING, ACTIVE };

struct TableDescription {
  TableStatus GetTableStatus() const { return status; }
  TableStatus status = TableStatus::CREATING;
};

struct DescribeTableResult {
  const TableDescription& GetTable() const { return table; }
  TableDescription table;
};

struct DescribeTableRequest {};

using DescribeTableOutcome = Utils::Outcome<DescribeTableResult, DynamoDBError>;

}  // namespace Model

// Answers with each of `answers` once, and then with the last one.
class DynamoDBClient {
 public:
  explicit DynamoDBClient(std::deque<Model::DescribeTableOutcome> answers)
      : answers_(std::move(answers)) {}

  Model::DescribeTableOutcome DescribeTable(
      const Model::DescribeTableRequest& /*request*/) {
    Model::DescribeTableOutcome answer = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    return answer;
  }

 private:
  std::deque<Model::DescribeTableOutcome> answers_;
};

}  // namespace Aws::DynamoDB
// NOLINTEND(readability-identifier-naming)

namespace {

namespace Model = Aws::DynamoDB::Model;
using Aws::DynamoDB::DynamoDBClient;

// The acceptors: a table that is not there yet is polled again.
waiter::Poll<Model::TableDescription> PollOf(
    const Model::DescribeTableOutcome& got) {
  return waiter::FromAwsOutcome(
      got,
      [](const Model::DescribeTableResult& result)
          -> waiter::Poll<Model::TableDescription> {
        const Model::TableDescription& table = result.GetTable();
        if (table.GetTableStatus() != Model::TableStatus::ACTIVE) {
          return waiter::NotReady("not active");
        }
        return waiter::Success(table);
      },
      waiter::ErrorClassifier::AwsKotlin().With("ResourceNotFoundException",
                                                waiter::PollStatus::kNotReady));
}

// Delays 20 s at first, then at random between 20 s and a growing limit.
absl::StatusOr<Model::TableDescription> WaitUntilTableExists(
    DynamoDBClient& client, const Model::DescribeTableRequest& request,
    absl::Duration max_wait, waiter::Clock* clock = nullptr) {
  waiter::WaitOptions options = waiter::SmithyWaiter(absl::Seconds(20));
  options.timeout = max_wait;
  options.clock = clock;
  waiter::Waiter wait([&] { return PollOf(client.DescribeTable(request)); },
                      std::move(options));
  return wait.Wait();
}

using Aws::DynamoDB::DynamoDBError;
using Aws::Http::HttpResponseCode;

Model::DescribeTableOutcome TableWith(Model::TableStatus status) {
  return Model::DescribeTableResult{{status}};
}

Model::DescribeTableOutcome ErrorOf(const char* name,
                                    const char* message = "") {
  return DynamoDBError(HttpResponseCode::BAD_REQUEST, name, message);
}

TEST(AwsWaiterTest, PollsUntilTheTableIsActive) {
  waiter::SimulatedClock clock;
  DynamoDBClient client(
      {ErrorOf("ResourceNotFoundException"),
       TableWith(Model::TableStatus::CREATING), ErrorOf("ThrottlingException"),
       DynamoDBError(HttpResponseCode::SERVICE_UNAVAILABLE, ""),
       TableWith(Model::TableStatus::ACTIVE)});

  const auto table =
      WaitUntilTableExists(client, {}, absl::Minutes(10), &clock);

  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->GetTableStatus(), Model::TableStatus::ACTIVE);
  EXPECT_GE(clock.Elapsed(), 4 * absl::Seconds(20));
}

TEST(AwsWaiterTest, OtherErrorsEndTheWait) {
  waiter::SimulatedClock clock;
  DynamoDBClient client({ErrorOf("AccessDeniedException", "no rights")});

  const auto table =
      WaitUntilTableExists(client, {}, absl::Minutes(10), &clock);

  EXPECT_FALSE(table.ok());
  EXPECT_EQ(clock.Elapsed(), absl::ZeroDuration());
}

}  // namespace
