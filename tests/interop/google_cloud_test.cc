// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/google_cloud.h"

#include <chrono>
#include <cstddef>
#include <functional>
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
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/classify.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::google_cloud_test {
namespace {

using ::google::cloud::PollingPolicy;
using ::google::cloud::StatusCode;
using ::google::longrunning::Operation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Got = ::google::cloud::StatusOr<Operation>;

struct Database {
  std::string name;
};

struct Metadata {
  int percent = 0;
};

static_assert(GoogleStatus<::google::cloud::Status>);
static_assert(GoogleStatus<::google::rpc::Status>);
static_assert(GoogleOperation<Operation>);
static_assert(GoogleOperationResult<Got>);
static_assert(!GoogleOperationResult<Operation>);
static_assert(!GoogleOperationResult<::google::cloud::StatusOr<Database>>);

::google::cloud::Status Error(StatusCode code, std::string message = "") {
  return ::google::cloud::Status(code, std::move(message));
}

Operation Running(int percent = 0) {
  Operation operation;
  operation.set_name("operations/7");
  operation.mutable_metadata()->PackFrom(Metadata{percent});
  return operation;
}

Operation Done() {
  Operation operation = Running(100);
  operation.set_done(true);
  operation.mutable_response()->PackFrom(Database{"users"});
  return operation;
}

Operation EndedWith(StatusCode code, std::string message) {
  Operation operation = Running();
  operation.set_done(true);
  ::google::rpc::Status* const error = operation.mutable_error();
  error->set_code(static_cast<int>(code));
  error->set_message(std::move(message));
  return operation;
}

TEST(GoogleStatusTest, CodeDecides) {
  const auto class_of = [](StatusCode code) {
    return FromGoogleStatus(Error(code)).status();
  };

  EXPECT_EQ(class_of(StatusCode::kOk), PollStatus::kSuccess);
  EXPECT_EQ(class_of(StatusCode::kUnavailable), PollStatus::kServerError);
  EXPECT_EQ(class_of(StatusCode::kResourceExhausted), PollStatus::kThrottled);
  EXPECT_EQ(class_of(StatusCode::kPermissionDenied), PollStatus::kFailed);
  EXPECT_EQ(class_of(StatusCode::kDeadlineExceeded), PollStatus::kFailed);
}

TEST(GoogleStatusTest, CodesHaveTheNumbersOfAbseil) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status =
        ToAbslStatus(Error(static_cast<StatusCode>(code), "text"));
    EXPECT_EQ(static_cast<int>(status.code()), code);
    EXPECT_EQ(status.message(), "text");
  }
  EXPECT_EQ(ToAbslStatus(Error(static_cast<StatusCode>(99), "text")).code(),
            absl::StatusCode::kUnknown);
}

TEST(GoogleStatusTest, ClassifierAndHintAreTakenOver) {
  const Poll<> poll =
      FromGoogleStatus(Error(StatusCode::kNotFound, "no such database"),
                       ErrorClassifier::Http().With(absl::StatusCode::kNotFound,
                                                    PollStatus::kNotReady),
                       absl::Seconds(7));

  EXPECT_EQ(poll.status(), PollStatus::kNotReady);
  EXPECT_EQ(poll.error(), absl::NotFoundError("no such database"));
  EXPECT_EQ(poll.retry_after(), absl::Seconds(7));
}

TEST(GoogleOperationTest, RunningOperationIsNotReady) {
  EXPECT_EQ(FromOperation(Got(Running())).status(), PollStatus::kNotReady);
  EXPECT_EQ(FromOperation<Database>(Got(Running())).status(),
            PollStatus::kNotReady);
}

TEST(GoogleOperationTest, MetadataBecomesTheDetail) {
  const auto percent = [](const Operation& operation) {
    Metadata metadata;
    operation.metadata().UnpackTo(&metadata);
    return absl::StrCat(metadata.percent, " %");
  };

  EXPECT_EQ(FromOperation(Got(Running(30)), percent).detail(), "30 %");
  EXPECT_EQ(FromOperation<Database>(Got(Running(30)), percent).detail(),
            "30 %");
}

TEST(GoogleOperationTest, ResponseIsTheValue) {
  const Poll<Database> poll = FromOperation<Database>(Got(Done()));

  ASSERT_TRUE(poll.has_value());
  EXPECT_EQ(poll.value().name, "users");
}

TEST(GoogleOperationTest, OperationIsTheValue) {
  const Poll<Operation> poll = FromOperation(Got(Done()));

  ASSERT_TRUE(poll.has_value());
  EXPECT_EQ(poll.value().name(), "operations/7");
}

TEST(GoogleOperationTest, ResponseOfAnotherTypeIsFailed) {
  const Poll<Metadata> poll = FromOperation<Metadata>(Got(Done()));

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_TRUE(absl::IsInternal(poll.error()));
}

TEST(GoogleOperationTest, ErrorOfTheOperationIsFinal) {
  for (const StatusCode code :
       {StatusCode::kPermissionDenied, StatusCode::kUnavailable}) {
    const Poll<Database> poll =
        FromOperation<Database>(Got(EndedWith(code, "no nodes")));
    EXPECT_EQ(poll.status(), PollStatus::kFailed);
    EXPECT_EQ(poll.error(),
              absl::Status(static_cast<absl::StatusCode>(code), "no nodes"));
  }
}

TEST(GoogleOperationTest, EndWithoutAnOutcomeIsFailed) {
  Operation operation = Running();
  operation.set_done(true);

  EXPECT_TRUE(absl::IsInternal(FromOperation(Got(operation)).error()));
  EXPECT_TRUE(absl::IsInternal(
      FromOperation(Got(EndedWith(StatusCode::kOk, ""))).error()));
}

TEST(GoogleOperationTest, OperationThatCouldNotBeFetchedIsClassified) {
  EXPECT_EQ(FromOperation(Got(Error(StatusCode::kUnavailable))).status(),
            PollStatus::kServerError);
  const auto gone = ErrorClassifier::Http().With(absl::StatusCode::kNotFound,
                                                 PollStatus::kNotReady);
  EXPECT_EQ(
      FromOperation<Database>(Got(Error(StatusCode::kNotFound)), gone).status(),
      PollStatus::kNotReady);
  EXPECT_EQ(FromOperation(Got(Error(StatusCode::kNotFound)), gone).status(),
            PollStatus::kNotReady);
  const auto describe = [](const Operation&) { return "running"; };
  EXPECT_EQ(
      FromOperation<Database>(Got(Error(StatusCode::kNotFound)), describe, gone)
          .status(),
      PollStatus::kNotReady);
}

TEST(GoogleOperationTest, WaitGoesOnUntilTheResponseIsThere) {
  SimulatedClock clock;
  std::vector<Got> answers = {Got(Running()),
                              Got(Error(StatusCode::kUnavailable)),
                              Got(Running(50)), Got(Done())};
  size_t polls = 0;
  Waiter wait([&] { return FromOperation<Database>(answers[polls++]); },
              {.timeout = absl::Minutes(30), .clock = &clock});

  const WaitResult<Database> result = wait.Wait();

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->name, "users");
  EXPECT_EQ(polls, 4);
}

// The polling loop of google-cloud-cpp, with its calls of the policy.
struct Loop {
  // Since 1.33 the loop also reports polls that find the operation running.
  bool reports_running = true;

  // Returns the loop's result. Calls `poll` with the number of the poll.
  Got Run(SimulatedClock& clock, const PollingPolicy& prototype,
          const std::function<Got(int)>& poll) {
    const std::unique_ptr<PollingPolicy> policy = prototype.clone();
    for (int i = 1;; ++i) {
      delays.push_back(absl::FromChrono(policy->WaitPeriod()));
      clock.AdvanceTime(delays.back());
      Got got = poll(i);
      if (got.ok() && got->done()) return got;
      if (got.ok() && !reports_running) continue;
      if (!policy->OnFailure(got.status())) {
        if (!got.ok()) return got;
        return Error(StatusCode::kDeadlineExceeded,
                     "polling loop terminated by polling policy");
      }
    }
  }

  std::vector<absl::Duration> delays;
};

class PollingPolicyTest : public testing::Test {
 protected:
  std::unique_ptr<PollingPolicy> PolicyOf(WaitOptions options) {
    options.clock = &clock_;
    auto policy = AsPollingPolicy<PollingPolicy>(std::move(options));
    EXPECT_TRUE(policy.ok()) << policy.status();
    return *std::move(policy);
  }

  static Got KeepRunning(int /*poll*/) { return Running(); }

  SimulatedClock clock_;
  Loop loop_;
};

TEST_F(PollingPolicyTest, DelaysAreThoseOfAWait) {
  const WaitOptions options = {.timeout = absl::Minutes(5),
                               .hooks = {.seed = 42}};

  const Got got = loop_.Run(clock_, *PolicyOf(options), KeepRunning);

  EXPECT_EQ(got.status().code(), StatusCode::kDeadlineExceeded);
  SplitMix64 gen(42);
  const auto delays = Schedule(options, gen);
  ASSERT_TRUE(delays.ok());
  ASSERT_EQ(loop_.delays.size(), delays->size());
  for (size_t i = 0; i < delays->size(); ++i) {
    EXPECT_NEAR(absl::ToDoubleMilliseconds(loop_.delays[i]),
                absl::ToDoubleMilliseconds((*delays)[i]),
                // The library sleeps whole milliseconds, rounded up.
                static_cast<double>(i + 1))
        << i;
  }
  EXPECT_GE(clock_.Elapsed(), absl::Minutes(5));
  EXPECT_LT(clock_.Elapsed(), absl::Minutes(5) + absl::Milliseconds(1));
}

TEST_F(PollingPolicyTest, OperationThatEndsIsReturned) {
  const Got got =
      loop_.Run(clock_, *PolicyOf({.timeout = absl::Minutes(5)}),
                [](int poll) { return poll < 7 ? Running() : Done(); });

  ASSERT_TRUE(got.ok());
  EXPECT_TRUE(got->done());
  EXPECT_EQ(loop_.delays.size(), 7);
}

TEST_F(PollingPolicyTest, ErrorsHaveTheirClassAndCurve) {
  const WaitOptions options = {
      .timeout = absl::Minutes(5),
      .backoff = {.initial_delay = absl::Seconds(1), .jitter = Jitter::None()},
      .errors = {.server_error_backoff = {.initial_delay = absl::Seconds(3),
                                          .jitter = Jitter::None()},
                 .throttled_backoff = {.initial_delay = absl::Seconds(7),
                                       .jitter = Jitter::None()}}};

  const Got got = loop_.Run(clock_, *PolicyOf(options), [](int poll) -> Got {
    switch (poll) {
      case 1:
        return Error(StatusCode::kUnavailable);
      case 2:
        return Error(StatusCode::kResourceExhausted);
      case 3:
        return Running();
      default:
        return Error(StatusCode::kPermissionDenied, "no rights");
    }
  });

  EXPECT_EQ(got.status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(loop_.delays, ElementsAre(absl::Seconds(1), absl::Seconds(3),
                                        absl::Seconds(7), absl::Seconds(2)));
}

TEST_F(PollingPolicyTest, ClassifierOfTheUserDecides) {
  auto policy = AsPollingPolicy<PollingPolicy>(
      {.timeout = absl::Minutes(5), .clock = &clock_},
      ErrorClassifier::Http().With(absl::StatusCode::kNotFound,
                                   PollStatus::kNotReady));
  ASSERT_TRUE(policy.ok());

  const Got got = loop_.Run(clock_, **policy, [](int poll) -> Got {
    if (poll < 3) return Error(StatusCode::kNotFound);
    return Done();
  });

  EXPECT_TRUE(got.ok());
}

TEST_F(PollingPolicyTest, LimitsOfTheOptionsHold) {
  const Got got = loop_.Run(
      clock_,
      *PolicyOf({.timeout = absl::Minutes(5),
                 .errors = {.max_consecutive_server_errors = 3}}),
      [](int) -> Got { return Error(StatusCode::kUnavailable, "down"); });

  EXPECT_EQ(got.status().message(), "down");
  EXPECT_EQ(loop_.delays.size(), 3);
}

TEST_F(PollingPolicyTest, ResponseOfTheStartIsTheFirstPoll) {
  loop_.Run(clock_, *PolicyOf({.timeout = absl::Minutes(5), .max_attempts = 4}),
            KeepRunning);

  EXPECT_EQ(loop_.delays.size(), 3);
}

TEST_F(PollingPolicyTest, FirstPollDelayIsTheFirstPeriod) {
  loop_.Run(clock_,
            *PolicyOf({.timeout = absl::Minutes(5),
                       .max_attempts = 2,
                       .backoff = {.initial_delay = absl::Seconds(1),
                                   .jitter = Jitter::None()},
                       .polls = {.first_delay = absl::Seconds(30)}}),
            KeepRunning);

  EXPECT_THAT(loop_.delays, ElementsAre(absl::Seconds(30), absl::Seconds(1)));
}

TEST_F(PollingPolicyTest, CopyStartsOver) {
  const std::unique_ptr<PollingPolicy> policy =
      PolicyOf({.timeout = absl::Minutes(5), .hooks = {.seed = 42}});
  loop_.Run(clock_, *policy, KeepRunning);
  Loop second;
  clock_.AdvanceTime(absl::Hours(1));

  second.Run(clock_, *policy, KeepRunning);

  EXPECT_EQ(second.delays, loop_.delays);
}

TEST_F(PollingPolicyTest, LoopThatDoesNotReportRunningOperationsKeepsItsPace) {
  loop_.reports_running = false;

  const Got got =
      loop_.Run(clock_,
                *PolicyOf({.timeout = absl::Seconds(30),
                           .backoff = {.initial_delay = absl::Seconds(1),
                                       .max_delay = absl::Seconds(8),
                                       .jitter = Jitter::None()}}),
                [](int poll) -> Got {
                  if (poll < 8) return Running();
                  return Error(StatusCode::kUnavailable, "down");
                });

  EXPECT_EQ(got.status().message(), "down");
  EXPECT_THAT(loop_.delays,
              ElementsAre(absl::Seconds(1), absl::Seconds(2), absl::Seconds(4),
                          absl::Seconds(8), absl::Seconds(8), absl::Seconds(7),
                          absl::Seconds(7), absl::Seconds(7)));
}

TEST_F(PollingPolicyTest, OptionsThatDoNotSuitAreRefused) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(AsPollingPolicy<PollingPolicy>({}).status()));
  const auto limiter = AdaptiveRateLimiter::Make({});
  ASSERT_TRUE(limiter.ok());
  const absl::Status status =
      AsPollingPolicy<PollingPolicy>(
          {.timeout = absl::Seconds(5), .budgets = {.rate_limiter = *limiter}})
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("rate_limiter"));
}

TEST_F(PollingPolicyTest, QuotaIsCharged) {
  const auto quota = RetryQuota::Make(
      {.capacity = 20, .retry_cost = 10, .refill_per_second = 0});
  ASSERT_TRUE(quota.ok()) << quota.status();

  loop_.Run(clock_,
            *PolicyOf({.timeout = absl::Minutes(5),
                       .budgets = {.retry_quota = *quota}}),
            [](int) -> Got { return Error(StatusCode::kUnavailable); });

  EXPECT_EQ(loop_.delays.size(), 3);
}

TEST_F(PollingPolicyTest, GivesUpOnlyAtALimit) {
  std::vector<StopReason> given_up;
  const WaitOptions options = {
      .timeout = absl::Minutes(5),
      .hooks = {.on_failure = [&](const WaitFailure& give_up) {
        given_up.push_back(give_up.report.reason);
      }}};

  loop_.Run(clock_, *PolicyOf(options),
            [](int poll) { return poll < 3 ? Running() : Done(); });
  EXPECT_THAT(given_up, ElementsAre());

  loop_.Run(clock_, *PolicyOf(options), KeepRunning);
  EXPECT_THAT(given_up, ElementsAre(StopReason::kDeadline));
}

class Ends : public WaitObserver {
 public:
  void OnDone(const WaitIdentity& /*wait*/, const WaitReport& report) override {
    reasons.push_back(report.reason);
  }
  std::vector<StopReason> reasons;
};

TEST_F(PollingPolicyTest, ObserverSeesEveryEnd) {
  const auto ends = std::make_shared<Ends>();
  const WaitOptions options = {.timeout = absl::Minutes(5),
                               .hooks = {.observer = ends}};

  loop_.Run(clock_, *PolicyOf(options),
            [](int poll) { return poll < 3 ? Running() : Done(); });
  loop_.Run(clock_, *PolicyOf(options), KeepRunning);

  EXPECT_THAT(ends->reasons,
              ElementsAre(StopReason::kCancelled, StopReason::kDeadline));
}

}  // namespace
}  // namespace waiter::google_cloud_test
