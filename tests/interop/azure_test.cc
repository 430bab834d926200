// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/azure.h"

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/azure_sdk.h"
#include "waiter/classify.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::azure_test {
namespace {

using ::Azure::Core::Context;
using ::Azure::Core::OperationCancelledException;
using ::Azure::Core::OperationStatus;
using ::Azure::Core::RequestFailedException;
using ::Azure::Core::Http::HttpStatusCode;
using ::Azure::Core::Http::RawResponse;
using ::Azure::Core::Http::TransportException;

// Asks a function for its status, and sends the fields of a response.
class Operation : public ::Azure::Core::Operation<std::string> {
 public:
  using Ask = std::function<std::string(const Context&, RawResponse&)>;

  explicit Operation(Ask ask) : ask_(std::move(ask)) {}

  std::string Value() const override { return "the value"; }
  int polls() const { return polls_; }

 private:
  std::unique_ptr<RawResponse> PollInternal(const Context& context) override {
    ++polls_;
    auto response =
        std::make_unique<RawResponse>(1, 1, HttpStatusCode::Ok, "OK");
    m_status = OperationStatus(ask_(context, *response));
    return response;
  }

  Ask ask_;
  int polls_ = 0;
};

static_assert(AzureOperation<Operation>);
static_assert(AzureContext<Context>);
static_assert(AzureError<RequestFailedException>);
static_assert(AzureError<TransportException>);
static_assert(!AzureError<std::runtime_error>);

std::unique_ptr<RawResponse> Response(HttpStatusCode code,
                                      const std::string& field = "",
                                      const std::string& value = "") {
  auto response = std::make_unique<RawResponse>(1, 1, code, "reason");
  if (!field.empty()) response->SetHeader(field, value);
  return response;
}

// Returns the answer of one poll that `ask` answers.
Poll<std::string> PollOnce(Operation::Ask ask, const PollContext& poll = {},
                           const Context& context = {}) {
  Operation operation(std::move(ask));
  return PollOperation(operation, context)(poll);
}

TEST(AzureErrorTest, StatusOfTheResponseIsClassified) {
  const Poll<> poll = FromAzureError(
      RequestFailedException("no rights", Response(HttpStatusCode::Forbidden)));

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_EQ(poll.error(), absl::PermissionDeniedError("HTTP 403: no rights"));
  EXPECT_EQ(FromAzureError(RequestFailedException(
                               "", Response(HttpStatusCode::TooManyRequests)))
                .status(),
            PollStatus::kThrottled);
  EXPECT_EQ(
      FromAzureError(RequestFailedException(
                         "", Response(HttpStatusCode::ServiceUnavailable)))
          .status(),
      PollStatus::kServerError);
}

TEST(AzureErrorTest, RequestWithoutAResponseIsServerError) {
  const Poll<> poll = FromAzureError(TransportException("connection reset"));

  EXPECT_EQ(poll.status(), PollStatus::kServerError);
  EXPECT_EQ(poll.error(), absl::UnavailableError("connection reset"));
}

TEST(AzureErrorTest, CodeOfTheServiceIsClassified) {
  RequestFailedException error("", Response(HttpStatusCode::NotFound));
  error.ErrorCode = "SecretNotFound";

  EXPECT_EQ(FromAzureError(error).error(),
            absl::NotFoundError("SecretNotFound, HTTP 404"));
  EXPECT_EQ(FromAzureError(error, ErrorClassifier::Http().With(
                                      "SecretNotFound", PollStatus::kNotReady))
                .status(),
            PollStatus::kNotReady);
}

TEST(AzureErrorTest, TextIsTheMessageOrWhat) {
  RequestFailedException error("what", Response(HttpStatusCode::NotFound));
  error.Message = "message";
  EXPECT_EQ(FromAzureError(error).detail(), "HTTP 404: message");
  error.Message = "";
  EXPECT_EQ(FromAzureError(error).detail(), "HTTP 404: what");
}

TEST(AzureErrorTest, HintOfTheResponseIsKept) {
  const absl::Time now = absl::FromUnixSeconds(784111777) - absl::Seconds(90);
  const auto hint = [now](const std::string& field, const std::string& value) {
    return FromAzureError(RequestFailedException(
                              "", Response(HttpStatusCode::ServiceUnavailable,
                                           field, value)),
                          ErrorClassifier::Http(), now)
        .retry_after();
  };

  EXPECT_EQ(hint("Retry-After", "7"), absl::Seconds(7));
  EXPECT_EQ(hint("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            absl::Seconds(90));
  EXPECT_EQ(hint("x-ms-retry-after-ms", "1500"), absl::Milliseconds(1500));
  EXPECT_EQ(hint("", ""), absl::ZeroDuration());
}

TEST(AzureOperationTest, RunningIsNotReady) {
  const Poll<std::string> poll =
      PollOnce([](const Context&, RawResponse& response) {
        response.SetHeader("Retry-After", "30");
        return "Running";
      });

  EXPECT_EQ(poll.status(), PollStatus::kNotReady);
  EXPECT_EQ(poll.detail(), "Running");
  EXPECT_EQ(poll.retry_after(), absl::Seconds(30));
}

TEST(AzureOperationTest, SucceededHasTheValue) {
  const Poll<std::string> poll =
      PollOnce([](const Context&, RawResponse&) { return "Succeeded"; });

  ASSERT_TRUE(poll.has_value());
  EXPECT_EQ(poll.value(), "the value");
}

TEST(AzureOperationTest, EndWithoutAValueIsFailed) {
  EXPECT_EQ(
      PollOnce([](const Context&, RawResponse&) { return "Failed"; }).error(),
      absl::AbortedError("the operation has ended as Failed"));
  EXPECT_EQ(PollOnce([](const Context&, RawResponse&) {
              return "Cancelled";
            }).error(),
            absl::CancelledError("the operation has ended as Cancelled"));
}

TEST(AzureOperationTest, OperationThatIsDoneIsNotPolled) {
  Operation operation([](const Context&, RawResponse&) { return "Succeeded"; });
  operation.Poll();

  EXPECT_TRUE(PollOperation(operation, Context())({}).has_value());
  EXPECT_TRUE(PollOperation(operation)().has_value());
  EXPECT_EQ(operation.polls(), 1);
}

TEST(AzureOperationTest, RequestThatFailedIsClassified) {
  const auto fail = [](const Context&, RawResponse&) -> std::string {
    throw RequestFailedException(
        "slow down",
        Response(HttpStatusCode::TooManyRequests, "retry-after", "9"));
  };
  const Poll<std::string> poll = PollOnce(fail);

  EXPECT_EQ(poll.status(), PollStatus::kThrottled);
  EXPECT_EQ(poll.retry_after(), absl::Seconds(9));

  Operation operation(fail);
  const ErrorClassifier own =
      ErrorClassifier::Http().With(429, PollStatus::kNotReady);
  EXPECT_EQ(PollOperation(operation, Context(), own)({}).status(),
            PollStatus::kNotReady);
  EXPECT_EQ(PollOperation(operation, own)().status(), PollStatus::kNotReady);
  EXPECT_EQ(PollOperation(operation)().status(), PollStatus::kThrottled);
}

TEST(AzureOperationTest, OtherExceptionsPassThrough) {
  EXPECT_THROW(PollOnce([](const Context&, RawResponse&) -> std::string {
                 throw std::invalid_argument("no such key");
               }),
               std::invalid_argument);
}

TEST(AzureOperationTest, PollHasTheDeadlineOfTheContext) {
  const absl::Time deadline = absl::FromUnixSeconds(784111777);
  Context given;

  PollOnce(
      [&](const Context& context, RawResponse&) {
        given = context;
        return "Running";
      },
      {.deadline = deadline});

  EXPECT_EQ(absl::FromChrono(given.deadline()), deadline);
}

TEST(AzureOperationTest, PollThatRunsOutOfTimeIsServerError) {
  const Poll<std::string> poll =
      PollOnce([](const Context&, RawResponse&) -> std::string {
        throw OperationCancelledException("cancelled by context");
      });

  EXPECT_EQ(poll.status(), PollStatus::kServerError);
  EXPECT_EQ(poll.error(), absl::DeadlineExceededError("cancelled by context"));
}

TEST(AzureOperationTest, ContextThatHasEndedEndsTheWait) {
  Context context;
  context.Cancel();
  const Poll<std::string> poll = PollOnce(
      [](const Context&, RawResponse&) { return "Running"; }, {}, context);

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_TRUE(absl::IsCancelled(poll.error()));
}

TEST(AzureOperationTest, StopCancelsThePollAndNotTheContext) {
  stop_source stop;
  Context context;
  const Poll<std::string> poll = PollOnce(
      [&](const Context& child, RawResponse&) -> std::string {
        EXPECT_FALSE(child.IsCancelled());
        stop.request_stop();
        child.ThrowIfCancelled();
        return "Running";
      },
      {.stop_token = stop.get_token()}, context);

  EXPECT_EQ(poll.status(), PollStatus::kNotReady);
  EXPECT_TRUE(absl::IsCancelled(poll.error()));
  EXPECT_FALSE(context.IsCancelled());
}

TEST(AzureOperationTest, StopBeforeThePollLeavesTheOperationAlone) {
  stop_source stop;
  stop.request_stop();
  Operation operation([](const Context&, RawResponse&) { return "Running"; });

  EXPECT_EQ(
      PollOperation(operation, Context())({.stop_token = stop.get_token()})
          .status(),
      PollStatus::kNotReady);
  EXPECT_EQ(operation.polls(), 0);
}

TEST(AzureOperationTest, WaitGoesOnUntilTheValueIsThere) {
  SimulatedClock clock;
  int polls = 0;
  Operation operation([&](const Context& context,
                          RawResponse& response) -> std::string {
    // The system clock of some standard libraries has microseconds.
    EXPECT_EQ(absl::Ceil(absl::FromChrono(context.deadline()) - clock.TimeNow(),
                         absl::Microseconds(1)),
              absl::Seconds(10));
    switch (++polls) {
      case 1:
        throw TransportException("connection reset");
      case 2:
        response.SetHeader("Retry-After", "60");
        return "Running";
      default:
        return "Succeeded";
    }
  });
  Waiter wait(PollOperation(operation, Context()),
              {.timeout = absl::Minutes(30),
               .poll_timeout = absl::Seconds(10),
               .clock = &clock});

  const WaitResult<std::string> result = wait.Wait();

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, "the value");
  EXPECT_EQ(polls, 3);
  EXPECT_GE(clock.Elapsed(), absl::Minutes(1));
}

TEST(AzureOperationTest, StopEndsTheWaitAsCancelled) {
  SimulatedClock clock;
  stop_source stop;
  Operation operation([&](const Context& context, RawResponse&) -> std::string {
    stop.request_stop();
    context.ThrowIfCancelled();
    return "Running";
  });
  Waiter wait(PollOperation(operation, Context()),
              {.timeout = absl::Minutes(30), .clock = &clock});

  EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
  EXPECT_EQ(operation.polls(), 1);
}

}  // namespace
}  // namespace waiter::azure_test
