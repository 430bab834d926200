// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Covers cases beyond the scenarios of driver_conformance_test.cc: draws from
// the generator, messages, and a loop's answers in the middle of a wait.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/vectors.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::wait_loop_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr MonotonicTime kStart(seconds(1000));

// A wait whose polls and time the test plays by hand.
class PlayedWait {
 public:
  explicit PlayedWait(const WaitOptions& options,
                      const std::vector<uint64_t>& draws = kLowestDraws)
      : policy_(WaitPolicy::Make(options)),
        gen_(draws),
        loop_(*policy_, report_) {
    step_ = loop_.Start(now_, policy_->DeadlineFrom(now_), kNever);
  }

  // Answers a poll. Returns the delay after it, or nullopt if the wait is over.
  std::optional<nanoseconds> Answer(const Poll<>& found,
                                    nanoseconds took = nanoseconds(0)) {
    now_ += took;
    report_.last_poll = found;
    step_ = loop_.OnPoll(now_, gen_, kNever);
    if (step_.action() == NextStep::Action::kFinish) return std::nullopt;
    if (step_.action() == NextStep::Action::kPoll) return nanoseconds(0);
    const nanoseconds delay = step_.wake_up() - now_;
    now_ = step_.wake_up();
    step_ = loop_.OnWake(now_, kNever);
    return delay;
  }

  // Ends the wait from outside, after `pause`.
  void End(nanoseconds pause, StopReason reason, bool unanswered) {
    now_ += pause;
    loop_.End(now_, reason, unanswered);
  }

  void EndWithException(std::string_view what) {
    loop_.EndWithException(now_, what);
  }

  std::string message() const { return std::string(report_.status.message()); }
  const WaitReport& report() const { return report_; }
  const WaitLoop& loop() const { return loop_; }

 private:
  static constexpr auto kNever = [] { return false; };

  std::shared_ptr<const WaitPolicy> policy_;
  PlayedDraws gen_;
  WaitReport report_;
  WaitLoop loop_;
  NextStep step_ = NextStep::Finish();
  MonotonicTime now_ = kStart;
};

// Draws the upper end of every window.
PlayedWait HighestDraws(const WaitOptions& options) {
  return PlayedWait(options, kHighestDraws);
}

TEST(WaitLoopTest, GrowthContinuesAfterAHintThatDidNotDecide) {
  PlayedWait wait = HighestDraws({.timeout = absl::Hours(1)});

  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(100));
  EXPECT_EQ(wait.Answer(NotReady("", absl::Milliseconds(100))),
            milliseconds(200));
  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(400));
}

TEST(WaitLoopTest, DefaultThrottledDelaysAreASecondOrMore) {
  const WaitOptions options = {.timeout = absl::Hours(1)};

  EXPECT_EQ(PlayedWait(options).Answer(Throttled()), seconds(1));
  EXPECT_EQ(HighestDraws(options).Answer(Throttled()), seconds(2));
}

TEST(WaitLoopTest, ContextDescribesTheWait) {
  PlayedWait wait({.timeout = absl::Seconds(30),
                   .poll_timeout = absl::Seconds(26),
                   .backoff = {.initial_delay = absl::Seconds(5),
                               .max_delay = absl::Seconds(5),
                               .jitter = Jitter::None()}});
  wait.Answer(Throttled("", absl::Seconds(4)), seconds(1));

  const PollContext context = wait.loop().Context(absl::UnixEpoch());

  EXPECT_EQ(context.attempt, 2);
  EXPECT_EQ(context.elapsed, absl::Seconds(6));
  EXPECT_EQ(context.remaining, absl::Seconds(24));
  EXPECT_EQ(context.timeout, absl::Seconds(24));
  EXPECT_EQ(context.deadline, absl::UnixEpoch() + absl::Seconds(24));
  EXPECT_EQ(context.last_status, PollStatus::kThrottled);
}

TEST(WaitLoopTest, PollNearTheDeadlineMayTakeTheFinalPollTimeout) {
  // Polls start 1 s before the deadline of 10 s, and at it.
  for (const seconds start : {seconds(9), seconds(10)}) {
    PlayedWait wait(
        {.timeout = absl::Seconds(10),
         .poll_timeout = absl::Seconds(30),
         .backoff = {.initial_delay = absl::Seconds(60),
                     .max_delay = absl::Seconds(60)},
         .polls = {.last_lead = absl::FromChrono(seconds(10) - start),
                   .last_timeout = absl::Seconds(3)}});
    EXPECT_EQ(wait.Answer(NotReady()), start);

    EXPECT_EQ(wait.loop().Context(absl::UnixEpoch()).timeout, absl::Seconds(3));
    EXPECT_EQ(wait.loop().AnswerDeadline(), kStart + start + seconds(3));
  }
}

TEST(WaitLoopTest, FinalPollTimeoutShortensNoPollAndStaysWithinPollTimeout) {
  const auto first_poll = [](absl::Duration poll_timeout) {
    PlayedWait wait({.timeout = absl::Seconds(1),
                     .poll_timeout = poll_timeout,
                     .polls = {.last_timeout = absl::Milliseconds(700)}});
    return std::pair(wait.loop().Context(absl::UnixEpoch()).timeout,
                     absl::FromChrono(wait.loop().AnswerDeadline() - kStart));
  };

  EXPECT_EQ(first_poll(absl::Seconds(2)),
            std::pair(absl::Seconds(1), absl::Seconds(1)));
  EXPECT_EQ(first_poll(absl::Milliseconds(500)),
            std::pair(absl::Milliseconds(500), absl::Seconds(1)));
}

TEST(WaitLoopTest, OnlyFiniteLimitsAreADeadline) {
  const auto has_deadline = [](WaitOptions options) {
    return WaitPolicy::Make(std::move(options))->has_deadline();
  };

  EXPECT_TRUE(has_deadline({.timeout = absl::Hours(1)}));
  EXPECT_TRUE(has_deadline({.deadline = absl::UnixEpoch()}));
  EXPECT_FALSE(has_deadline({.timeout = absl::InfiniteDuration()}));
  EXPECT_FALSE(has_deadline({.deadline = absl::InfiniteFuture()}));
}

// A cheaper time, up to 10 ms old, is enough only before a poll that follows
// immediately.
TEST(WaitLoopTest, EndByAFailureNeedsTheExactTime) {
  constexpr BackoffOptions kAtOnce = {.initial_delay = absl::ZeroDuration()};
  const auto policy =
      WaitPolicy::Make({.timeout = absl::Hours(1),
                        .backoff = kAtOnce,
                        .errors = {.server_error_backoff = kAtOnce,
                                   .throttled_backoff = kAtOnce}});

  EXPECT_TRUE(policy->NeedsExactTime(Failed("gone"), /*has_slept=*/false));
  EXPECT_FALSE(policy->NeedsExactTime(NotReady(), /*has_slept=*/false));
  EXPECT_FALSE(policy->NeedsExactTime(ServerError(), /*has_slept=*/false));
  EXPECT_FALSE(policy->NeedsExactTime(Throttled(), /*has_slept=*/false));
  EXPECT_FALSE(policy->NeedsExactTime(Success(), /*has_slept=*/false));
  EXPECT_TRUE(policy->NeedsExactTime(Success(), /*has_slept=*/true));
}

TEST(WaitLoopTest, DelayBeforeTheNextPollNeedsTheExactTime) {
  constexpr BackoffOptions kAtOnce = {.initial_delay = absl::ZeroDuration()};
  constexpr BackoffOptions kFloor = {.initial_delay = absl::ZeroDuration(),
                                     .min_delay = absl::Seconds(1)};
  constexpr BackoffOptions kGrowing = {.initial_delay = absl::Seconds(1)};
  const auto needs = [](WaitOptions options, const Poll<>& found) {
    options.timeout = absl::Hours(1);
    return WaitPolicy::Make(std::move(options))
        ->NeedsExactTime(found, /*has_slept=*/false);
  };

  for (const BackoffOptions& delayed : {kFloor, kGrowing}) {
    EXPECT_TRUE(needs({.backoff = delayed}, NotReady()));
    EXPECT_TRUE(
        needs({.backoff = kAtOnce, .errors = {.server_error_backoff = delayed}},
              ServerError()));
    EXPECT_TRUE(
        needs({.backoff = kAtOnce, .errors = {.throttled_backoff = delayed}},
              Throttled()));
    // A throttled delay is no shorter than one after "not ready".
    EXPECT_TRUE(
        needs({.backoff = delayed, .errors = {.throttled_backoff = kAtOnce}},
              Throttled()));
  }
}

// Both receive the time that has passed.
TEST(WaitLoopTest, DelaySourcesAndHistoriesNeedTheExactTime) {
  const WaitOptions at_once = {
      .timeout = absl::Hours(1),
      .backoff = {.initial_delay = absl::ZeroDuration()}};
  WaitOptions with_rule = at_once;
  with_rule.delay_source = [](const DelayRequest&, absl::BitGenRef) {
    return absl::ZeroDuration();
  };
  WaitOptions with_history = at_once;
  with_history.hooks.history_limit = 1;

  for (const WaitOptions& options : {with_rule, with_history}) {
    EXPECT_TRUE(WaitPolicy::Make(options)->NeedsExactTime(NotReady(),
                                                          /*has_slept=*/false));
  }
}

TEST(WaitLoopTest, DurationsAreCutTo73Years) {
  constexpr auto kYear = std::chrono::hours(24) * 365.25;
  EXPECT_EQ(WaitPolicy::ToLoopDuration(absl::Hours(1)), std::chrono::hours(1));
  EXPECT_GE(WaitPolicy::ToLoopDuration(absl::InfiniteDuration()), 73 * kYear);
  EXPECT_LT(WaitPolicy::ToLoopDuration(absl::InfiniteDuration()), 74 * kYear);
}

TEST(WaitLoopTest, LoopIsSmall) {
  // A driver may hold a million loops.
  EXPECT_LE(sizeof(WaitLoop), 144);
}

// Times are cut to whole milliseconds, unless nothing would be left.
TEST(WaitLoopMessageTest, TimesBelowAMillisecondAreExact) {
  PlayedWait quick({.timeout = absl::Microseconds(500)});
  PlayedWait slow({.timeout = absl::Microseconds(1500)});
  quick.Answer(NotReady(), std::chrono::microseconds(700));
  slow.Answer(NotReady(), std::chrono::microseconds(1700));

  EXPECT_EQ(quick.message(),
            "wait: timeout of 500us reached after 1 attempt in 700us; last "
            "poll: not ready");
  EXPECT_EQ(slow.message(),
            "wait: timeout of 1.5ms reached after 1 attempt in 1ms; last poll: "
            "not ready");
}

// The last poll comes 5 s before the deadline, and no other one fits in. A hint
// of 5 s does not change that.
TEST(WaitLoopMessageTest, LeadThatLeavesNoTimeIsNamed) {
  for (const absl::Duration hint : {absl::ZeroDuration(), absl::Seconds(5)}) {
    PlayedWait wait({.timeout = absl::Seconds(20),
                     .backoff = {.initial_delay = absl::Seconds(60),
                                 .max_delay = absl::Seconds(60)},
                     .polls = {.last_lead = absl::Seconds(5)}});
    EXPECT_EQ(wait.Answer(NotReady()), seconds(15));
    wait.Answer(NotReady("CREATING", hint));

    EXPECT_EQ(wait.message(),
              "wait: timeout of 20s leaves no time for another poll after 2 "
              "attempts in 15s; last poll: not ready: CREATING");
  }
}

// The second wait has a delay of 4 s, and then a poll that has not answered
// after 6 s.
TEST(WaitLoopMessageTest, PollWithoutAnAnswerIsNamedAndIsNotSleep) {
  const WaitOptions options = {.timeout = absl::Seconds(10),
                               .backoff = {.initial_delay = absl::Seconds(4),
                                           .max_delay = absl::Seconds(4),
                                           .jitter = Jitter::None()}};
  PlayedWait first(options);
  PlayedWait second(options);
  first.End(seconds(10), StopReason::kDeadline, /*unanswered=*/true);
  second.Answer(NotReady("CREATING"));
  second.End(seconds(6), StopReason::kDeadline, /*unanswered=*/true);

  EXPECT_EQ(first.message(),
            "wait: timeout of 10s reached after 0 attempts in 10s; attempt 1 "
            "has not answered");
  EXPECT_EQ(second.message(),
            "wait: timeout of 10s reached after 1 attempt in 10s; attempt 2 "
            "has not answered; last poll: not ready: CREATING");
  EXPECT_EQ(second.report().slept, absl::Seconds(4));
  EXPECT_EQ(second.report().elapsed, absl::Seconds(10));
}

TEST(WaitLoopMessageTest, WaitThatEndsInItsFirstDelaySaysSoAndHasSlept) {
  for (const auto& [reason, why] :
       {std::pair(StopReason::kShutDown, "the engine was destroyed"),
        std::pair(StopReason::kCancelled, "stop requested")}) {
    SCOPED_TRACE(why);
    PlayedWait wait({.timeout = absl::Hours(1),
                     .polls = {.first_delay = absl::Minutes(1)}});
    wait.End(seconds(2), reason, /*unanswered=*/false);

    EXPECT_EQ(wait.message(),
              absl::StrCat("wait: ", why,
                           " after 0 attempts in 2s; no poll was made"));
    EXPECT_EQ(wait.report().slept, absl::Seconds(2));
    EXPECT_EQ(wait.report().elapsed, absl::Seconds(2));
  }
}

TEST(WaitLoopMessageTest, FailureNamesItsWaitAfterTheMessage) {
  absl::Status failure = absl::AbortedError("provisioning failed");
  failure.SetPayload("type", absl::Cord("payload"));
  PlayedWait with_error({.name = "instance i-0abc", .timeout = absl::Hours(1)});
  with_error.Answer(NotReady(), seconds(2));
  with_error.Answer(Failed(failure), milliseconds(9950));
  EXPECT_EQ(with_error.report().status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(with_error.message(),
            "provisioning failed (instance i-0abc, after 2 attempts in 12s)");
  EXPECT_EQ(with_error.report().status.GetPayload("type"), "payload");
  EXPECT_EQ(with_error.report().last_poll.error(), failure);

  PlayedWait with_text({.timeout = absl::Hours(1)});
  with_text.Answer(Failed("broken"));
  EXPECT_EQ(with_text.report().status,
            absl::UnknownError("broken (wait, after 1 attempt in 0)"));
  PlayedWait without_text({.timeout = absl::Hours(1)});
  without_text.Answer(Failed(absl::NotFoundError("")));
  EXPECT_EQ(without_text.report().status,
            absl::NotFoundError("(wait, after 1 attempt in 0)"));
  PlayedWait bare({.timeout = absl::Hours(1)});
  bare.Answer(PollStatus::kFailed);
  EXPECT_EQ(bare.report().status,
            absl::UnknownError("the status function returned kFailed without "
                               "an error or a detail (wait, after 1 attempt in "
                               "0)"));
}

TEST(WaitLoopMessageTest, InvalidOptionsNameTheWait) {
  WaitReport report;
  const std::shared_ptr<const WaitPolicy> policy =
      WaitPolicy::Make({.name = "job 7"});
  WaitLoop loop(*policy, report);
  loop.Start(kStart, kStart, [] { return false; });

  EXPECT_EQ(report.reason, StopReason::kInvalidOptions);
  EXPECT_EQ(report.status.message(),
            "job 7: timeout is not set; give the time that the whole wait may "
            "take, or absl::InfiniteDuration() to wait forever");
}

TEST(WaitLoopTest, HintBeyondMaxMayFailAtOnce) {
  WaitOptions options = {.timeout = absl::Hours(1)};
  options.errors.retry_after.max_retry_after = absl::Seconds(9);
  PlayedWait cut(options);
  EXPECT_EQ(cut.Answer(Throttled("429", absl::Minutes(1))), seconds(9));

  options.errors.retry_after.fail_beyond_max = true;
  PlayedWait fits(options);
  EXPECT_EQ(fits.Answer(Throttled("429", absl::Seconds(9))), seconds(9));
  PlayedWait fails(options);
  fails.Answer(Throttled("429", absl::Minutes(1)));
  EXPECT_EQ(fails.message(),
            "429; fail_beyond_max: the server's retry_after of 1m exceeds "
            "max_retry_after of 9s (wait, after 1 attempt in 0)");
  PlayedWait with_error(options);
  with_error.Answer(
      Throttled(absl::ResourceExhaustedError("quota"), absl::Minutes(1)));
  EXPECT_EQ(with_error.message(),
            "quota; fail_beyond_max: the server's retry_after of 1m exceeds "
            "max_retry_after of 9s (wait, after 1 attempt in 0)");
}

// Records the reason of every sleep.
class SleepRecorder : public WaitObserver {
 public:
  void BeforeSleep(const SleepEvent& sleep) override {
    reasons.push_back(sleep.reason);
  }
  std::vector<SleepReason> reasons;
};

TEST(WaitLoopTest, GrowthRestartsAfterASuccessThatIsNotConfirmed) {
  PlayedWait wait =
      HighestDraws({.timeout = absl::Hours(1), .confirm = {.successes = 2}});
  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(100));
  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(200));
  wait.Answer(Success());
  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(100));
}

TEST(WaitLoopTest, HintAsLongAsTheDelayDecidesOnlyAsALowerBound) {
  using Rule = RetryAfterOptions::Rule;
  for (const auto& [rule, reason] : {
           std::pair(Rule::kClamp, SleepReason::kNotReady),
           std::pair(Rule::kLowerBound, SleepReason::kRetryAfter),
       }) {
    const auto sleeps = std::make_shared<SleepRecorder>();
    PlayedWait wait({.timeout = absl::Hours(1),
                     .backoff = Every(absl::Seconds(1)),
                     .errors = {.retry_after = {.rule = rule}},
                     .hooks = {.observer = sleeps}});
    EXPECT_EQ(wait.Answer(NotReady("", absl::Seconds(1))), seconds(1));
    EXPECT_THAT(sleeps->reasons, testing::ElementsAre(reason));
  }
}

TEST(WaitLoopTest, EndlessHintIsNone) {
  PlayedWait wait({.timeout = absl::Hours(1),
                   .backoff = Every(absl::Seconds(1)),
                   .errors = {.retry_after = {.fail_beyond_max = true}}});
  Poll<> endless(PollStatus::kNotReady, "", absl::InfiniteDuration());
  EXPECT_EQ(wait.Answer(endless), seconds(1));
}

TEST(WaitLoopTest, DelaySourceMayAskForNoDelay) {
  const auto sleeps = std::make_shared<SleepRecorder>();
  PlayedWait wait(
      {.timeout = absl::Hours(1),
       .backoff = Every(absl::Seconds(1)),
       .delay_source = [](const DelayRequest&,
                          absl::BitGenRef) { return absl::ZeroDuration(); },
       .hooks = {.observer = sleeps}});
  EXPECT_EQ(wait.Answer(NotReady(), seconds(3)), seconds(0));
  EXPECT_THAT(sleeps->reasons, testing::IsEmpty());
  // The next poll begins when the last one has ended.
  EXPECT_EQ(wait.loop().Context(absl::UnixEpoch()).elapsed, absl::Seconds(3));
}

TEST(WaitLoopTest, LeadThatDoesNotFitIsDropped) {
  for (const seconds took : {seconds(4), seconds(5)}) {
    PlayedWait wait({.timeout = absl::Seconds(10),
                     .backoff = Every(absl::Seconds(1)),
                     .polls = {.last_lead = absl::Seconds(6)}});
    EXPECT_EQ(wait.Answer(NotReady(), took), seconds(1));
  }
}

TEST(WaitLoopTest, PollBeyondTheDeadlineMayTakeTwiceTheLongestOne) {
  for (const auto& [took, may_take] : {
           std::pair(milliseconds(100), absl::Seconds(1)),
           std::pair(milliseconds(600), absl::Milliseconds(1200)),
           std::pair(milliseconds(4900), absl::Milliseconds(9800)),
           std::pair(milliseconds(9000), absl::Seconds(10)),
       }) {
    PlayedWait wait(
        {.timeout = absl::Seconds(10), .backoff = Every(absl::Seconds(60))});
    EXPECT_EQ(wait.Answer(NotReady(), took), seconds(10) - took);
    EXPECT_EQ(wait.loop().Context(absl::UnixEpoch()).timeout, may_take);
  }
}

TEST(WaitLoopTest, QuotaWithTokensDoesNotExplainADelay) {
  const auto sleeps = std::make_shared<SleepRecorder>();
  PlayedWait wait(
      {.timeout = absl::Hours(1),
       .errors = {.server_error_backoff = Every(absl::Seconds(1))},
       .budgets = {.retry_quota = *RetryQuota::Make({.capacity = 100})},
       .hooks = {.observer = sleeps}});
  EXPECT_EQ(wait.Answer(ServerError()), seconds(1));
  EXPECT_THAT(sleeps->reasons, testing::ElementsAre(SleepReason::kServerError));
}

TEST(WaitLoopTest, LastPollIsNotMadeBeforeItsTokensAreThere) {
  // The tokens are there after 3 s. The last poll would begin 2 s before the
  // deadline of 4 s.
  PlayedWait wait(
      {.timeout = absl::Seconds(4),
       .errors = {.server_error_backoff = Every(absl::Seconds(1))},
       .budgets = {.retry_quota = *RetryQuota::Make(
                       {.capacity = 1,
                        .initial_cost = 1,
                        .retry_cost = 1,
                        .timeout_cost = 1,
                        .throttle_cost = 1,
                        .refill_per_second = 1.0 / 3,
                        .when_spent = RetryQuotaOptions::WhenSpent::kWait})},
       .polls = {.last_lead = absl::Seconds(2)}});
  EXPECT_EQ(wait.Answer(ServerError()), seconds(3));
}

TEST(WaitLoopReportTest, ThrottledPollsAreErrors) {
  PlayedWait wait({.timeout = absl::Hours(1)});
  wait.Answer(Throttled("slow down"));
  wait.Answer(Success());
  ASSERT_TRUE(wait.report().first_error.has_value());
  EXPECT_EQ(wait.report().first_error->detail(), "slow down");
  EXPECT_EQ(wait.report().last_error->detail(), "slow down");
}

TEST(WaitLoopReportTest, HistoryOfOnePollHasItsDelay) {
  PlayedWait wait({.timeout = absl::Hours(1),
                   .backoff = Every(absl::Seconds(7)),
                   .hooks = {.history_limit = 1}});
  wait.Answer(NotReady("first"));
  wait.Answer(NotReady("second"));
  ASSERT_EQ(wait.report().history.size(), 1);
  EXPECT_EQ(wait.report().history[0].detail, "second");
  EXPECT_EQ(wait.report().history[0].delay, absl::Seconds(7));
}

TEST(WaitLoopMessageTest, ExceptionIsNamed) {
  PlayedWait wait({.timeout = absl::Hours(1)});
  wait.EndWithException("out of luck");
  EXPECT_EQ(wait.message(),
            "the status function threw an exception: out of luck (wait, after "
            "0 attempts in 0)");
  PlayedWait silent({.timeout = absl::Hours(1)});
  silent.EndWithException("");
  EXPECT_EQ(silent.message(),
            "the status function threw an exception (wait, after 0 attempts in "
            "0)");
}

}  // namespace
}  // namespace waiter::wait_loop_test
