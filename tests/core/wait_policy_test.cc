// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::wait_policy_test {
namespace {

using ::testing::HasSubstr;

// Headers state these sizes, for users with very many waits.
static_assert(sizeof(WaitHandle) == 32);
static_assert(sizeof(WaitState) == 112);
static_assert(sizeof(NextStep) == 16);
static_assert(sizeof(SplitMix64) == 8);
static_assert(sizeof(BackoffProgress) == 8);
static_assert(sizeof(QuotaToken) == 1);
static_assert(sizeof(MonotonicTime) == 8);
static_assert(sizeof(Backoff) <= 800);
static_assert(WaitToken::kMaxSize == 1024);

WaitOptions Valid() { return {.name = "job", .timeout = absl::Minutes(5)}; }

// Expects every driver to refuse `policy` with `message`, without a poll.
void ExpectRefusal(const std::shared_ptr<const WaitPolicy>& policy,
                   const std::string& message) {
  int polls = 0;
  Waiter wait([&] { return ++polls > 0; }, policy);
  const auto check = [&](const WaitResult<>& result) {
    EXPECT_EQ(result.reason(), StopReason::kInvalidOptions);
    EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr(message)));
    EXPECT_EQ(result.report().attempts, 0);
  };
  check(wait.Wait());
  for (const ReportLevel level : {ReportLevel::kFull, ReportLevel::kLean}) {
    WaitEngine engine({.threads = 0, .report = level});
    bool called = false;
    const WaitHandle handle =
        engine.Start(wait, [&](const WaitResult<>& result) {
          called = true;
          check(result);
        });
    engine.Run();
    EXPECT_TRUE(called);
  }
  EXPECT_EQ(polls, 0);
}

TEST(WaitPolicyTest, EveryPreconditionIsAnInvalidArgumentOfTheWait) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status error(static_cast<absl::StatusCode>(code),
                             "no such client");
    const auto policy = WaitPolicy::Make(Valid(), error);
    ASSERT_NE(policy, nullptr);
    EXPECT_EQ(policy->status(), error);
    ExpectRefusal(policy, "no such client");
  }
}

TEST(WaitPolicyTest, PreconditionComesBeforeTheOptions) {
  WaitOptions options = Valid();
  options.max_attempts = 0;
  EXPECT_THAT(
      WaitPolicy::Make(options)->status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_attempts")));
  ExpectRefusal(WaitPolicy::Make(options), "max_attempts");
  const absl::Status error = absl::NotFoundError("no such client");
  EXPECT_EQ(WaitPolicy::Make(options, error)->status(), error);
  ExpectRefusal(WaitPolicy::Make(options, error), "no such client");
  EXPECT_EQ(WaitPolicy::Make(options, error)->options().max_attempts, 0);
}

TEST(WaitPolicyTest, CheckedKeepsAPolicyWithoutAnError) {
  const auto policy = WaitPolicy::Make(Valid());
  EXPECT_EQ(WaitPolicy::Checked(policy, absl::OkStatus()), policy);
  const auto refused = WaitPolicy::Checked(policy, absl::AbortedError("no"));
  EXPECT_NE(refused, policy);
  EXPECT_EQ(refused->status(), absl::AbortedError("no"));
  EXPECT_EQ(refused->options().name, "job");
  EXPECT_TRUE(policy->status().ok());
  // The error of a policy outlives another check.
  const auto again = WaitPolicy::Checked(refused, absl::OkStatus());
  EXPECT_EQ(again->status(), absl::AbortedError("no"));
}

TEST(WaitPolicyTest, EveryFunctionOfAnInvalidPolicyIsSafe) {
  SimulatedClock clock;
  WaitOptions options = Valid();
  options.clock = &clock;
  options.timeout = -absl::InfiniteDuration();
  options.deadline = absl::InfiniteFuture();
  options.max_attempts = -5;
  options.backoff.multiplier = -1;
  options.backoff.max_delay = -absl::Hours(1);
  options.polls.first_delay = -absl::InfiniteDuration();
  options.confirm.hold_for = absl::InfiniteDuration();
  options.confirm.successes = 0;
  const auto policy = WaitPolicy::Make(options);
  EXPECT_FALSE(policy->status().ok());
  EXPECT_EQ(&policy->clock(), &clock);
  static_cast<void>(policy->has_deadline());
  static_cast<void>(policy->DeadlineFrom(clock.MonotonicNow()));
  static_cast<void>(policy->keeps_details());
  EXPECT_EQ(policy->observer(), nullptr);
  static_cast<void>(policy->poll_hooks());
  static_cast<void>(policy->delay_source());
  static_cast<void>(policy->has_budgets());
  static_cast<void>(policy->one_success_suffices());
  static_cast<void>(policy->first_success_suffices());
  for (const PollStatus status :
       {PollStatus::kSuccess, PollStatus::kNotReady, PollStatus::kServerError,
        PollStatus::kThrottled, PollStatus::kFailed}) {
    static_cast<void>(policy->NeedsExactTime(Poll<>(status), true));
    static_cast<void>(policy->BackoffAfter(status));
  }
  static_cast<void>(policy->durations());
  static_cast<void>(policy->limits());
  policy->CallOnFailureAfter("job", WaitReport());
}

}  // namespace
}  // namespace waiter::wait_policy_test
