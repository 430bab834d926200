// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs random plain waits by all rules of the loop and by the plain ones side
// by side. A failure prints the seed of its wait;
// `--test_env=WAITER_TEST_SEED=N` starts from that seed.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/random/bit_gen_ref.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/delay_rule.h"
#include "waiter/loop.h"
#include "waiter/loop_steps.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter {
namespace {

using internal::LoopRules;
using internal::LoopSteps;
using Action = NextStep::Action;

int64_t Count(MonotonicTime time) { return time.time_since_epoch().count(); }

std::string TextOf(NextStep step) {
  return step.action() == Action::kSleep
             ? absl::StrCat("sleep until ", Count(step.wake_up()))
             : absl::StrCat("action ", static_cast<int>(step.action()));
}

// Returns what a driver keeps of a plain wait.
std::string TextOf(const WaitState& state, const WaitReport& report) {
  const std::array numbers = {Count(state.start),
                              Count(state.deadline),
                              Count(state.step_started),
                              state.slept.count(),
                              state.longest_poll.count(),
                              state.growth.not_ready.ToInt64(),
                              state.growth.server_error.ToInt64(),
                              state.growth.throttled.ToInt64(),
                              report.attempts,
                              report.count(PollStatus::kNotReady)};
  return absl::StrCat(absl::StrJoin(numbers, " "), state.final_poll,
                      state.asleep, state.sleep_is_fixed);
}

// A wait between two steps.
struct Wait {
  WaitState state;
  WaitReport report;
  SplitMix64 gen{0};
};

template <LoopRules kRules>
NextStep TakeAnswer(const WaitPolicy& policy, Wait& wait, MonotonicTime now,
                    bool stop) {
  WaitLoop loop(policy, wait.report, wait.state);
  absl::BitGenRef gen(wait.gen);
  const NextStep step = LoopSteps::OnPoll<kRules>(
      loop, now, gen, [&] { return stop; }, [&] { return now; });
  wait.state = loop.state();
  return step;
}

template <LoopRules kRules>
NextStep WakeUp(const WaitPolicy& policy, Wait& wait, MonotonicTime now,
                bool stop) {
  WaitLoop loop(policy, wait.report, wait.state);
  const NextStep step =
      LoopSteps::OnWake<kRules>(loop, now, [&] { return stop; });
  wait.state = loop.state();
  return step;
}

class LoopRulesTest : public testing::Test {
 protected:
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return low + (high - low) * absl::Uniform(gen_, 0.0, 1.0);
  }

  std::shared_ptr<const WaitPolicy> MakePolicy() {
    const std::array jitters = {Jitter::None(), Jitter::Full(), Jitter::Equal(),
                                Jitter::Decorrelated()};
    WaitOptions options = {
        .timeout = absl::InfiniteDuration(),
        .backoff = {
            .initial_delay = Between(absl::ZeroDuration(), absl::Seconds(2)),
            .max_delay = Between(absl::Seconds(2), absl::Minutes(1)),
            .multiplier = absl::Uniform(gen_, 1.0, 4.0),
            .jitter = jitters.at(absl::Uniform<size_t>(gen_, 0, 4))}};
    if (absl::Bernoulli(gen_, 0.3)) options.backoff.initial_delay = {};
    if (absl::Bernoulli(gen_, 0.3)) {
      options.backoff.min_delay =
          Between(absl::ZeroDuration(), options.backoff.initial_delay);
    }
    if (absl::Bernoulli(gen_, 0.7)) {
      options.timeout = Between(absl::Seconds(1), absl::Minutes(2));
    }
    if (absl::Bernoulli(gen_, 0.4)) {
      options.max_attempts = absl::Uniform(gen_, 1, 20);
    }
    if (absl::Bernoulli(gen_, 0.3)) {
      options.polls.last_lead = Between(absl::ZeroDuration(), absl::Seconds(5));
    }
    return WaitPolicy::Make(options);
  }

  // Runs one wait to its end. `ends` counts what ended waits.
  void Run(uint64_t seed) {
    gen_ = SplitMix64(seed);
    const std::shared_ptr<const WaitPolicy> policy = MakePolicy();
    ASSERT_TRUE(policy->status().ok()) << policy->status();
    ASSERT_TRUE(LoopSteps::IsPlain(*policy));
    MonotonicTime now(std::chrono::hours(1));
    Wait any;
    any.state.brief_report = absl::Bernoulli(gen_, 0.5);
    any.gen = SplitMix64(seed + 1);
    {
      WaitLoop loop(*policy, any.report, any.state);
      loop.Start(now, policy->DeadlineFrom(now), [] { return false; });
      any.state = loop.state();
    }
    for (int polls = 0; polls < 60; ++polls) {
      now += absl::ToChronoNanoseconds(
          Between(absl::ZeroDuration(), absl::Seconds(1)));
      const bool stop = absl::Bernoulli(gen_, 0.02);
      any.report.last_poll = NotReady();
      Wait plain = any;
      Wait in_registers = any;
      const NextStep step =
          TakeAnswer<LoopRules::kAny>(*policy, any, now, stop);
      ASSERT_EQ(
          TextOf(TakeAnswer<LoopRules::kPlain>(*policy, plain, now, stop)),
          TextOf(step));
      ASSERT_EQ(TextOf(TakeAnswer<LoopRules::kPlainInRegisters>(
                    *policy, in_registers, now, stop)),
                TextOf(step));
      if (step.action() == Action::kFinish) {
        ++ends_.at(static_cast<size_t>(any.report.reason));
        ASSERT_EQ(Summary(plain.report), Summary(any.report));
        return;
      }
      ASSERT_EQ(TextOf(plain.state, plain.report),
                TextOf(any.state, any.report));
      ASSERT_EQ(TextOf(in_registers.state, in_registers.report),
                TextOf(any.state, any.report));
      if (step.action() == Action::kPoll) continue;
      now = step.wake_up() +
            std::chrono::microseconds(absl::Uniform<int64_t>(gen_, 0, 500));
      in_registers = any;
      ASSERT_EQ(
          WakeUp<LoopRules::kAny>(*policy, any, now, /*stop=*/false).action(),
          Action::kPoll);
      ASSERT_EQ(WakeUp<LoopRules::kPlainInRegisters>(*policy, in_registers, now,
                                                     /*stop=*/false)
                    .action(),
                Action::kPoll);
      ASSERT_EQ(TextOf(in_registers.state, in_registers.report),
                TextOf(any.state, any.report));
    }
  }

  int ends(StopReason reason) const {
    return ends_.at(static_cast<size_t>(reason));
  }

 private:
  SplitMix64 gen_{0};
  std::array<int, 32> ends_ = {};
};

TEST_F(LoopRulesTest, PlainRulesDecideLikeAllRules) {
  const uint64_t first = FirstSeed();
  for (uint64_t seed = first; seed < first + 4'000; ++seed) {
    SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
    Run(seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ends(StopReason::kAttempts), 0);
  EXPECT_GT(ends(StopReason::kDeadline), 0);
  EXPECT_GT(ends(StopReason::kCancelled), 0);
}

TEST_F(LoopRulesTest, AnAnswerIsPlainIfItIsNotReadyWithoutDetails) {
  EXPECT_TRUE(LoopSteps::IsPlain(NotReady()));
  EXPECT_FALSE(LoopSteps::IsPlain(NotReady("CREATING")));
  EXPECT_FALSE(LoopSteps::IsPlain(NotReady("", absl::Seconds(1))));
  EXPECT_FALSE(LoopSteps::IsPlain(NotReady(absl::NotFoundError("gone"))));
  EXPECT_FALSE(LoopSteps::IsPlain(Success()));
  EXPECT_FALSE(LoopSteps::IsPlain(Throttled()));
  EXPECT_FALSE(LoopSteps::IsPlain(ServerError()));
  EXPECT_FALSE(LoopSteps::IsPlain(Failed()));
}

// Each option that takes a wait out of the plain ones.
TEST_F(LoopRulesTest, APolicyIsPlainIfItAsksForCurvesAndTimesAlone) {
  const auto is_plain = [](WaitOptions options) {
    options.timeout = absl::Minutes(1);
    const auto policy = WaitPolicy::Make(std::move(options));
    EXPECT_TRUE(policy->status().ok()) << policy->status();
    return LoopSteps::IsPlain(*policy);
  };
  EXPECT_TRUE(is_plain({}));
  EXPECT_TRUE(is_plain({.max_attempts = 3,
                        .polls = {.first_delay = absl::Seconds(1),
                                  .last_lead = absl::Seconds(1)}}));
  EXPECT_FALSE(is_plain({.errors = {.max_consecutive_server_errors = 3}}));
  EXPECT_FALSE(is_plain({.confirm = {.successes = 2}}));
  EXPECT_FALSE(is_plain({.confirm = {.hold_for = absl::Seconds(3)}}));
  EXPECT_FALSE(is_plain({.hooks = {.history_limit = 1}}));
  EXPECT_FALSE(is_plain({.hooks = {.seed = 7}}));
  EXPECT_FALSE(is_plain({.budgets = {.retry_quota = *RetryQuota::Make({})}}));
  EXPECT_FALSE(
      is_plain({.budgets = {.rate_limiter = *AdaptiveRateLimiter::Make({})}}));
  EXPECT_FALSE(
      is_plain({.delay_rule = [](const DelayRequest&, absl::BitGenRef) {
        return absl::Seconds(1);
      }}));
  EXPECT_FALSE(is_plain({.hooks = {.on_checkpoint = [](const WaitToken&) {}}}));
  EXPECT_FALSE(WaitPolicy::Make({})->is_plain());  // No limit: invalid.
}

}  // namespace
}  // namespace waiter
