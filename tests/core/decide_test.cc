// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Plain polls skip rules, but decide the same as with all rules. The rules
// themselves are tested by tests/drivers/scenarios.cc.

#include "waiter/decide.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/loop.h"
#include "waiter/loop_steps.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::decide_test {
namespace {

using internal::IsPlain;
using internal::LoopSteps;

int64_t Count(MonotonicTime time) { return time.time_since_epoch().count(); }

// A wait between two steps.
struct Wait {
  WaitState state;
  WaitReport report;
  SplitMix64 gen{1};
};

// Returns the step, and the values that a driver keeps of a plain wait.
std::array<int64_t, 18> Values(NextStep step, const Wait& wait) {
  const WaitState& state = wait.state;
  return {static_cast<int64_t>(step.action()),
          Count(step.wake_up()),
          Count(state.start),
          Count(state.deadline),
          Count(state.step_started),
          state.slept.count(),
          state.longest_poll.count(),
          state.growth.not_ready.ToInt64(),
          state.growth.server_error.ToInt64(),
          state.growth.throttled.ToInt64(),
          static_cast<int64_t>(state.streak_status),
          state.streak_length,
          Count(state.streak_started),
          static_cast<int64_t>(state.final_poll),
          static_cast<int64_t>(state.asleep),
          static_cast<int64_t>(state.sleep_is_fixed),
          wait.report.attempts,
          wait.report.count(PollStatus::kNotReady)};
}

NextStep OnPoll(const WaitPolicy& policy, Wait& wait, MonotonicTime now,
                bool stop, bool plain) {
  WaitLoop loop(policy, wait.report, wait.state);
  absl::BitGenRef gen(wait.gen);
  const NextStep step = LoopSteps::OnPoll(
      loop, now, gen, [&] { return stop; }, [&] { return now; }, plain);
  wait.state = loop.state();
  return step;
}

std::optional<NextStep> OnPlainPoll(const WaitPolicy& policy, Wait& wait,
                                    MonotonicTime now, bool stop) {
  WaitLoop loop(policy, wait.report, wait.state);
  absl::BitGenRef gen(wait.gen);
  const std::optional<NextStep> step =
      LoopSteps::OnPlainPoll(loop, now, gen, [&] { return stop; });
  wait.state = loop.state();
  return step;
}

// Returns each of the options with each of the values, which `set` puts in.
template <typename T, typename Set>
std::vector<WaitOptions> WithEach(const std::vector<WaitOptions>& all,
                                  std::initializer_list<T> values, Set set) {
  std::vector<WaitOptions> result;
  for (const WaitOptions& options : all) {
    for (const T& value : values) set(result.emplace_back(options), value);
  }
  return result;
}

std::vector<WaitOptions> PlainOptions() {
  std::vector<WaitOptions> all = {{.backoff = {.max_delay = absl::Seconds(4)}}};
  all = WithEach(all, {Jitter::None(), Jitter::Full(), Jitter::Decorrelated()},
                 [](WaitOptions& options, Jitter jitter) {
                   options.backoff.jitter = jitter;
                 });
  all = WithEach(all, {0, 1}, [](WaitOptions& options, int initial_delay) {
    options.backoff.initial_delay = absl::Seconds(initial_delay);
  });
  all = WithEach(all, {false, true}, [](WaitOptions& options, bool has_least) {
    if (!has_least) return;
    options.backoff.min_delay = options.backoff.initial_delay / 2;
  });
  all = WithEach(all, {absl::InfiniteDuration(), absl::Seconds(10)},
                 [](WaitOptions& options, absl::Duration timeout) {
                   options.timeout = timeout;
                 });
  all = WithEach(all, {0, 1, 3}, [](WaitOptions& options, int max_attempts) {
    if (max_attempts > 0) options.max_attempts = max_attempts;
  });
  return WithEach(all, {0, 2}, [](WaitOptions& options, int lead) {
    options.polls.last_lead = absl::Seconds(lead);
  });
}

// Waits in every state in which the next poll, at 1 h plus `elapsed`, may be
// plain.
std::vector<Wait> PlainWaits(const WaitPolicy& policy,
                             std::chrono::nanoseconds elapsed) {
  std::vector<Wait> all;
  const MonotonicTime start(std::chrono::hours(1));
  for (const bool brief : {false, true}) {
    for (const bool final_poll : {false, true}) {
      for (const int64_t growth : {0, 2}) {
        for (const int64_t attempts : {0, 1, 2}) {
          for (const PollStatus last :
               {PollStatus::kNotReady, PollStatus::kThrottled}) {
            if (attempts == 0 && last != PollStatus::kNotReady) continue;
            Wait wait;
            wait.state = {.start = start,
                          .deadline = policy.DeadlineFrom(start),
                          .step_started = start + elapsed / 2,
                          .streak_length = attempts,
                          .streak_started = start,
                          .streak_status = last,
                          .final_poll = final_poll,
                          .brief_report = brief};
            wait.state.growth = {BackoffProgress::FromInt64(growth),
                                 BackoffProgress::FromInt64(1),
                                 BackoffProgress::FromInt64(1)};
            wait.report.attempts = attempts;
            wait.report.last_poll = NotReady();
            all.push_back(wait);
          }
        }
      }
    }
  }
  return all;
}

class DecideTest : public testing::Test {
 protected:
  void ExpectEqualDecisions(const WaitPolicy& policy, const Wait& before,
                            MonotonicTime now, bool stop) {
    Wait all = before;
    Wait plain = before;
    Wait in_registers = before;
    const NextStep step = OnPoll(policy, all, now, stop, /*plain=*/false);
    const std::array expected = Values(step, all);
    ASSERT_EQ(Values(OnPoll(policy, plain, now, stop, /*plain=*/true), plain),
              expected);
    const std::optional<NextStep> plain_step =
        OnPlainPoll(policy, in_registers, now, stop);
    if (step.action() == NextStep::Action::kFinish) {
      ++ends_.at(static_cast<size_t>(all.report.reason));
      ASSERT_FALSE(plain_step.has_value());
      ASSERT_EQ(Summary(plain.report), Summary(all.report));
      return;
    }
    ASSERT_TRUE(plain_step.has_value());
    ASSERT_EQ(Values(*plain_step, in_registers), expected);
    if (step.action() == NextStep::Action::kSleep) {
      ExpectEqualWakeUps(policy, all, step.wake_up());
    }
  }

  int ends(StopReason reason) const {
    return ends_.at(static_cast<size_t>(reason));
  }

 private:
  static void ExpectEqualWakeUps(const WaitPolicy& policy, const Wait& before,
                                 MonotonicTime now) {
    Wait all = before;
    Wait plain = before;
    WaitLoop all_rules(policy, all.report, all.state);
    WaitLoop plain_rules(policy, plain.report, plain.state);
    const NextStep step =
        LoopSteps::OnWake(all_rules, now, [] { return false; });
    LoopSteps::OnPlainWake(plain_rules, now);
    all.state = all_rules.state();
    plain.state = plain_rules.state();
    ASSERT_EQ(Values(NextStep::Poll(), plain), Values(step, all));
  }

  std::array<int, 32> ends_ = {};
};

TEST_F(DecideTest, PlainPollsHaveTheDecisionsOfAllRules) {
  for (const WaitOptions& options : PlainOptions()) {
    const std::shared_ptr<const WaitPolicy> policy = WaitPolicy::Make(options);
    ASSERT_TRUE(policy->status().ok()) << policy->status();
    ASSERT_TRUE(IsPlain(*policy));
    for (const int tenths : {0, 75, 80, 95, 100, 105}) {
      const std::chrono::milliseconds elapsed(100 * tenths);
      for (const Wait& wait : PlainWaits(*policy, elapsed)) {
        for (const bool stop : {false, true}) {
          SCOPED_TRACE(absl::StrCat("elapsed: ", tenths,
                                    " tenths of a second, stop: ", stop));
          ExpectEqualDecisions(*policy, wait, wait.state.start + elapsed, stop);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(ends(StopReason::kAttempts), 0);
  EXPECT_GT(ends(StopReason::kDeadline), 0);
  EXPECT_GT(ends(StopReason::kCancelled), 0);
}

TEST_F(DecideTest, AnAnswerIsPlainIfItIsNotReadyWithoutDetails) {
  EXPECT_TRUE(IsPlain(NotReady()));
  EXPECT_FALSE(IsPlain(NotReady("CREATING")));
  EXPECT_FALSE(IsPlain(NotReady("", absl::Seconds(1))));
  EXPECT_FALSE(IsPlain(NotReady(absl::NotFoundError("gone"))));
  EXPECT_FALSE(IsPlain(Success()));
  EXPECT_FALSE(IsPlain(Throttled()));
  EXPECT_FALSE(IsPlain(ServerError()));
  EXPECT_FALSE(IsPlain(Failed()));
}

// Checks each option that makes a wait not plain.
TEST_F(DecideTest, APolicyIsPlainIfItAsksForCurvesAndTimesAlone) {
  const auto is_plain = [](WaitOptions options) {
    options.timeout = absl::Minutes(1);
    const auto policy = WaitPolicy::Make(std::move(options));
    EXPECT_TRUE(policy->status().ok()) << policy->status();
    return IsPlain(*policy);
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
      is_plain({.delay_source = [](const DelayRequest&, absl::BitGenRef) {
        return absl::Seconds(1);
      }}));
  EXPECT_FALSE(is_plain({.hooks = {.on_checkpoint = [](const WaitToken&) {}}}));
  EXPECT_FALSE(WaitPolicy::Make({})->is_plain());  // No limit: invalid.
}

}  // namespace
}  // namespace waiter::decide_test
