// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A waiter of the AWS SDK for C++. The types of the SDK are stand-ins with
// their shape.

#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/error_classifier.h"
#include "waiter/presets.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

// NOLINTBEGIN(readability-identifier-naming): the names of the SDK
namespace Aws::DynamoDB {

enum class HttpResponseCode : int { BAD_REQUEST = 400, UNAVAILABLE = 503 };

struct DynamoDBError {
  const std::string& GetExceptionName() const { return name; }
  const std::string& GetMessage() const { return message; }
  HttpResponseCode GetResponseCode() const { return code; }
  bool ShouldRetry() const { return should_retry; }

  std::string name = {};
  std::string message = {};
  HttpResponseCode code = HttpResponseCode::BAD_REQUEST;
  bool should_retry = false;
};

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

class DescribeTableOutcome {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): as in the SDK
  DescribeTableOutcome(DynamoDBError error) : error_(std::move(error)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as in the SDK
  DescribeTableOutcome(TableStatus status) : result_{{status}}, ok_(true) {}

  bool IsSuccess() const { return ok_; }
  const DescribeTableResult& GetResult() const { return result_; }
  const DynamoDBError& GetError() const { return error_; }

 private:
  DescribeTableResult result_;
  DynamoDBError error_;
  bool ok_ = false;
};

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
  static const auto* const errors =
      new waiter::ErrorClassifier(waiter::ErrorClassifier::AwsKotlin().With(
          "ResourceNotFoundException", waiter::PollStatus::kNotReady));
  if (!got.IsSuccess()) {
    const auto& error = got.GetError();
    return errors->Answer(
        {.http_status = static_cast<int>(error.GetResponseCode()),
         .code = error.GetExceptionName(),
         .retryable = error.ShouldRetry()},
        error.GetMessage());
  }
  const Model::TableDescription& table = got.GetResult().GetTable();
  if (table.GetTableStatus() != Model::TableStatus::ACTIVE) {
    return waiter::NotReady("not active");
  }
  return waiter::Success(table);
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
using Aws::DynamoDB::HttpResponseCode;

TEST(AwsWaiterTest, PollsUntilTheTableIsActive) {
  waiter::SimulatedClock clock;
  DynamoDBClient client(
      {DynamoDBError{.name = "ResourceNotFoundException"},
       Model::TableStatus::CREATING,
       DynamoDBError{.name = "ThrottlingException"},
       DynamoDBError{.name = "", .code = HttpResponseCode::UNAVAILABLE},
       Model::TableStatus::ACTIVE});

  const auto table =
      WaitUntilTableExists(client, {}, absl::Minutes(10), &clock);

  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->GetTableStatus(), Model::TableStatus::ACTIVE);
  EXPECT_GE(clock.Elapsed(), 4 * absl::Seconds(20));
}

TEST(AwsWaiterTest, OtherErrorsEndTheWait) {
  waiter::SimulatedClock clock;
  DynamoDBClient client(
      {DynamoDBError{.name = "AccessDeniedException", .message = "no rights"}});

  const auto table =
      WaitUntilTableExists(client, {}, absl::Minutes(10), &clock);

  EXPECT_FALSE(table.ok());
  EXPECT_EQ(clock.Elapsed(), absl::ZeroDuration());
}

}  // namespace
