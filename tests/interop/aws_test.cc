// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/aws.h"

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/aws_sdk.h"
#include "waiter/classify.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::aws_test {
namespace {

using ::Aws::Client::RetryableType;
using ::Aws::Http::HttpResponseCode;

enum class Errors { kAny };
using Error = ::Aws::Client::AWSError<Errors>;

struct Instance {
  std::string state;
};
using Outcome = ::Aws::Utils::Outcome<Instance, Error>;

static_assert(AwsError<Error>);
static_assert(AwsOutcome<Outcome>);
static_assert(!AwsError<Outcome>);
static_assert(!AwsOutcome<absl::StatusOr<Instance>>);

Error ErrorWith(const ::Aws::Http::HeaderValueCollection& headers) {
  Error error(HttpResponseCode::SERVICE_UNAVAILABLE, "SlowDown");
  error.SetResponseHeaders(headers);
  return error;
}

TEST(AwsErrorTest, NameOfThrottlingIsThrottled) {
  const Poll<> poll = FromAwsError(Error(
      HttpResponseCode::BAD_REQUEST, "ThrottlingException", "Rate exceeded"));

  EXPECT_EQ(poll.status(), PollStatus::kThrottled);
  EXPECT_EQ(poll.error(), absl::ResourceExhaustedError(
                              "ThrottlingException, HTTP 400: Rate exceeded"));
}

TEST(AwsErrorTest, FlagOfThrottlingIsThrottled) {
  EXPECT_EQ(FromAwsError(Error(HttpResponseCode::TOO_MANY_REQUESTS, "", "",
                               RetryableType::RETRYABLE_THROTTLING))
                .status(),
            PollStatus::kThrottled);
}

TEST(AwsErrorTest, FaultOfTheServerIsServerError) {
  EXPECT_EQ(
      FromAwsError(Error(HttpResponseCode::INTERNAL_SERVER_ERROR, "")).status(),
      PollStatus::kServerError);
  EXPECT_EQ(
      FromAwsError(Error(HttpResponseCode::SERVICE_UNAVAILABLE, "")).status(),
      PollStatus::kServerError);
}

TEST(AwsErrorTest, LostConnectionIsServerErrorByTheFlagOfTheSdk) {
  const Poll<> poll =
      FromAwsError(Error(HttpResponseCode::REQUEST_NOT_MADE, "", "curlCode: 7",
                         RetryableType::RETRYABLE));

  EXPECT_EQ(poll.status(), PollStatus::kServerError);
  EXPECT_EQ(poll.error(), absl::UnavailableError("curlCode: 7"));
}

TEST(AwsErrorTest, FaultOfTheRequestIsFailed) {
  const Poll<> poll = FromAwsError(
      Error(HttpResponseCode::FORBIDDEN, "AccessDeniedException", "no rights"));

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_EQ(poll.error(), absl::PermissionDeniedError(
                              "AccessDeniedException, HTTP 403: no rights"));
  // Missing credentials, for example: no request was made.
  EXPECT_EQ(
      FromAwsError(Error(HttpResponseCode::REQUEST_NOT_MADE, "")).status(),
      PollStatus::kFailed);
}

TEST(AwsErrorTest, ClassIsAlwaysThatOfTheClassifier) {
  const std::vector<ErrorClassifier> classifiers = {
      ErrorClassifier::AwsKotlin(), ErrorClassifier::Botocore(),
      ErrorClassifier::AwsGoV1(), ErrorClassifier::Http(),
      ErrorClassifier::AwsKotlin().With(403, PollStatus::kNotReady)};
  for (const ErrorClassifier& classifier : classifiers) {
    for (const int code : {-1, 400, 403, 404, 408, 429, 500, 501, 502, 503}) {
      for (const char* name :
           {"", "SlowDown", "RequestTimeout", "RequestExpired", "NoSuchKey"}) {
        for (const RetryableType type :
             {RetryableType::NOT_RETRYABLE, RetryableType::RETRYABLE,
              RetryableType::RETRYABLE_THROTTLING}) {
          const Error error(static_cast<HttpResponseCode>(code), name, "",
                            type);
          EXPECT_EQ(FromAwsError(error, classifier).status(),
                    classifier.ClassOf({.http_status = code < 0 ? 0 : code,
                                        .code = name,
                                        .retryable = error.ShouldRetry(),
                                        .throttling = error.ShouldThrottle()}))
              << code << " " << name << " " << static_cast<int>(type);
        }
      }
    }
  }
}

TEST(AwsErrorTest, HintOfTheServiceIsKept) {
  const absl::Time now = absl::FromUnixSeconds(784111777) - absl::Seconds(90);
  const auto hint = [now](const ::Aws::Http::HeaderValueCollection& headers) {
    return FromAwsError(ErrorWith(headers), ErrorClassifier::AwsKotlin(), now)
        .retry_after();
  };

  EXPECT_EQ(hint({{"x-amz-retry-after", "1500"}}), absl::Milliseconds(1500));
  EXPECT_EQ(hint({{"content-type", "9"}, {"retry-after", "7"}}),
            absl::Seconds(7));
  EXPECT_EQ(hint({{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}),
            absl::Seconds(90));
  EXPECT_EQ(hint({{"retry-after", "7"}, {"x-amz-retry-after", "1500"}}),
            absl::Milliseconds(1500));
  EXPECT_EQ(hint({{"retry-after", "7"}, {"x-amz-retry-after", "soon"}}),
            absl::Seconds(7));
  EXPECT_EQ(hint({{"retry-after", "-7"}}), absl::ZeroDuration());
  EXPECT_EQ(hint({}), absl::ZeroDuration());
}

// An error of an SDK that lacks two methods, and returns copies.
struct OldError {
  std::string GetExceptionName() const { return name; }
  std::string GetMessage() const { return message; }
  HttpResponseCode GetResponseCode() const { return code; }
  bool ShouldRetry() const { return should_retry; }

  std::string name = "ProvisionedThroughputExceededException";
  std::string message = "slow down";
  HttpResponseCode code = HttpResponseCode::BAD_REQUEST;
  bool should_retry = true;
};

TEST(AwsErrorTest, ErrorOfAnOlderSdkHasNoHint) {
  const Poll<> poll = FromAwsError(OldError());

  EXPECT_EQ(poll.status(), PollStatus::kThrottled);
  EXPECT_EQ(poll.retry_after(), absl::ZeroDuration());
}

TEST(AwsOutcomeTest, ResultIsTheValueOfASuccess) {
  const Poll<Instance> poll = FromAwsOutcome(Outcome(Instance{"running"}));

  ASSERT_TRUE(poll.has_value());
  EXPECT_EQ(poll.value().state, "running");
}

TEST(AwsOutcomeTest, ErrorIsClassified) {
  const Outcome outcome(
      Error(HttpResponseCode::NOT_FOUND, "ResourceNotFoundException"));

  EXPECT_EQ(FromAwsOutcome(outcome).status(), PollStatus::kFailed);
  EXPECT_EQ(FromAwsOutcome(outcome, ErrorClassifier::AwsKotlin().With(
                                        "ResourceNotFoundException",
                                        PollStatus::kNotReady))
                .status(),
            PollStatus::kNotReady);
}

TEST(AwsOutcomeTest, FunctionJudgesTheResult) {
  const Outcome outcome(Instance{"pending"});
  const auto state_is = [&](const char* state) {
    return FromAwsOutcome(outcome,
                          [state](const Instance& instance) {
                            return instance.state == state;
                          })
        .status();
  };

  EXPECT_EQ(state_is("pending"), PollStatus::kSuccess);
  EXPECT_EQ(state_is("running"), PollStatus::kNotReady);
}

TEST(AwsOutcomeTest, FunctionMayReturnAnyAnswer) {
  const Outcome outcome(Instance{"pending"});

  const Poll<std::string> value = FromAwsOutcome(
      outcome,
      [](const Instance& i) -> Poll<std::string> { return Success(i.state); });
  EXPECT_EQ(value.value(), "pending");
  EXPECT_EQ(FromAwsOutcome(
                outcome, [](const Instance&) { return PollStatus::kThrottled; })
                .status(),
            PollStatus::kThrottled);
  EXPECT_EQ(FromAwsOutcome(
                outcome,
                [](const Instance& i) { return absl::AbortedError(i.state); })
                .error(),
            absl::AbortedError("pending"));
  EXPECT_EQ(FromAwsOutcome(outcome,
                           [](const Instance& i) {
                             return absl::StatusOr<std::string>(i.state);
                           })
                .value(),
            "pending");
}

TEST(AwsOutcomeTest, FunctionIsNotCalledForAnError) {
  const Poll<> poll = FromAwsOutcome(
      Outcome(Error(HttpResponseCode::FORBIDDEN, "AccessDenied")),
      [](const Instance&) -> Poll<> {
        ADD_FAILURE();
        return Success();
      });

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
}

TEST(AwsOutcomeTest, ErrorMayBeTheSuccessOfAWaitForTheEnd) {
  const ErrorClassifier gone_is_success =
      ErrorClassifier::AwsKotlin().With(404, PollStatus::kSuccess);

  EXPECT_EQ(FromAwsOutcome(
                Outcome(Error(HttpResponseCode::NOT_FOUND, "NoSuchKey")),
                [](const Instance&) { return NotReady("still there"); },
                gone_is_success)
                .status(),
            PollStatus::kSuccess);
}

TEST(AwsOutcomeTest, ResultThatCannotBeCopiedIsMoved) {
  using MoveOnly = std::unique_ptr<int>;
  using MoveOnlyOutcome = ::Aws::Utils::Outcome<MoveOnly, Error>;

  Poll<MoveOnly> poll =
      FromAwsOutcome(MoveOnlyOutcome(std::make_unique<int>(7)));
  EXPECT_EQ(*poll.value(), 7);

  poll = FromAwsOutcome(
      MoveOnlyOutcome(std::make_unique<int>(8)),
      [](MoveOnly&& result) { return Success(std::move(result)); });
  EXPECT_EQ(*poll.value(), 8);
}

TEST(AwsOutcomeTest, WaitGoesOnUntilTheStateIsReached) {
  SimulatedClock clock;
  std::vector<Outcome> outcomes = {
      Outcome(
          Error(HttpResponseCode::BAD_REQUEST, "InvalidInstanceID.NotFound")),
      Outcome(Instance{"pending"}),
      Outcome(
          Error(HttpResponseCode::SERVICE_UNAVAILABLE, "RequestLimitExceeded")),
      Outcome(Instance{"running"})};
  WaitOptions options = SmithyWaiter(absl::Seconds(15));
  options.timeout = absl::Minutes(10);
  options.clock = &clock;
  size_t polls = 0;
  Waiter wait(
      [&] {
        return FromAwsOutcome(
            outcomes[polls++],
            [](const Instance& instance) -> Poll<Instance> {
              if (instance.state == "running") return Success(instance);
              if (instance.state == "terminated") return Failed(instance.state);
              return NotReady(instance.state);
            },
            ErrorClassifier::AwsKotlin().With("InvalidInstanceID.NotFound",
                                              PollStatus::kNotReady));
      },
      options);

  const WaitResult<Instance> result = wait.Wait();

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->state, "running");
  EXPECT_EQ(polls, 4);
  EXPECT_GE(clock.Elapsed(), 3 * absl::Seconds(15));
}

}  // namespace
}  // namespace waiter::aws_test
