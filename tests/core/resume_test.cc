// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests waits that are saved and resumed: `WaitHooks::on_checkpoint` and
// `resume` of a start. driver_conformance_test.cc saves and resumes every
// scenario, and hook_actions_test.cc acts in checkpoints.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::resume_test {
namespace {

using ::std::chrono::hours;
using ::std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MonotonicTime kNow{hours(1000)};

// A wait in the sleep after a throttled poll, for which it has paid.
WaitState ThrottledState() {
  return {.start = kNow - seconds(40),
          .deadline = kNow + seconds(260),
          .step_started = kNow - seconds(1),
          .quota_token = *QuotaToken::FromByte(3),
          .poll_is_booked = true,
          .asleep = true};
}

class Lines : public WaitObserver {
 public:
  void OnStart(const StartEvent& start) override {
    lines.push_back(
        absl::StrCat("start, ", absl::FormatDuration(start.timeout)));
  }
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t attempt) override {
    lines.push_back(absl::StrCat("poll ", attempt));
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    lines.push_back(absl::StrCat("sleep ", absl::FormatDuration(sleep.delay),
                                 ", ",
                                 std::string(SleepReasonName(sleep.reason))));
    sleeps.push_back(sleep.delay);
  }
  void OnDone(const WaitIdentity& /*wait*/,
              const WaitReport& /*report*/) override {
    lines.emplace_back("done");
  }

  std::vector<std::string> lines;
  std::vector<absl::Duration> sleeps;
};

class ResumeTest : public testing::Test {
 protected:
  WaitOptions Options() {
    return {.name = "job 7",
            .timeout = absl::Seconds(100),
            .backoff = {.initial_delay = absl::Seconds(2),
                        .max_delay = absl::Seconds(60),
                        .jitter = Jitter::None()},
            .clock = &clock_};
  }

  WaitOptions Saving() {
    WaitOptions options = Options();
    options.hooks.on_checkpoint = [this](const WaitToken& token) {
      tokens_.push_back(token);
    };
    return options;
  }

  // Waits until the sleep after `polls` polls, and returns its token.
  WaitToken TokenAfter(size_t polls, const Poll<>& found = NotReady("early")) {
    waiter::stop_source stop;
    size_t left = polls;
    Waiter wait(
        [&] {
          --left;
          return found;
        },
        [&] {
          WaitOptions options = Saving();
          options.hooks.on_checkpoint =
              [&, save = options.hooks.on_checkpoint](const WaitToken& token) {
                save(token);
                if (left == 0) stop.request_stop();
              };
          return options;
        }());
    EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
    return tokens_.back();
  }

  // Returns the token of a wait whose next poll is due in 9 s.
  WaitToken TokenOf(const WaitState& state) {
    WaitReport report;
    report.attempts = 1;
    report.last_poll = Throttled();
    return SaveWait(state, report, "job 7", kNow + seconds(9),
                    {kNow, clock_.TimeNow()});
  }

  SimulatedClock clock_;
  std::vector<WaitToken> tokens_;
};

TEST_F(ResumeTest, CheckpointComesBeforeEverySleep) {
  ScriptedPoll<> script(clock_, {NotReady(), NotReady(), Success()});

  const WaitResult<> result = Waiter(std::ref(script), Saving()).Wait();

  ASSERT_TRUE(result.ok());
  ASSERT_EQ(tokens_.size(), 2U);
  EXPECT_EQ(tokens_[0].attempts(), 1);
  EXPECT_EQ(tokens_[0].wake_up() - tokens_[0].written(), absl::Seconds(2));
  EXPECT_EQ(tokens_[1].attempts(), 2);
  EXPECT_EQ(tokens_[1].wake_up() - tokens_[1].written(), absl::Seconds(4));
  EXPECT_EQ(tokens_[1].deadline() - tokens_[1].written(), absl::Seconds(98));
}

TEST_F(ResumeTest, PollThatWasDueMeanwhileIsMadeAtOnce) {
  const WaitToken token = TokenAfter(3);
  clock_.AdvanceTime(absl::Seconds(50));
  ScriptedPoll<> script(clock_, {Success()});

  const WaitResult<> result =
      Waiter(std::ref(script), Options()).Wait({.resume = token});

  EXPECT_TRUE(result.ok());
  EXPECT_THAT(script.polled_at(), ElementsAre(absl::Seconds(56)));
  EXPECT_EQ(result.report().elapsed, absl::Seconds(56));
  EXPECT_EQ(result.report().slept, absl::Seconds(56));
}

// A function that returns `bool` gives only a status.
TEST_F(ResumeTest, HintAndTextOfTheSavedPollEndWithTheNextOne) {
  const WaitToken token = TokenAfter(1, Throttled("slow", absl::Minutes(1)));
  WaitOptions options = Options();
  options.max_attempts = 3;

  const WaitResult<> result =
      Waiter([] { return false; }, options).Wait({.resume = token});

  // The throttled poll, and two with the backoff of "not ready".
  EXPECT_LT(clock_.Elapsed(), absl::Seconds(80));
  EXPECT_EQ(result.report().last_poll.detail(), "");
  EXPECT_EQ(result.report().last_error->detail(), "slow");
}

TEST_F(ResumeTest, WaitThatIsOlderThanTheClockKnowsItsTimes) {
  WaitState state = ThrottledState();
  state.start = kNow - hours(10'000);
  state.step_started = kNow - hours(9'000);
  state.longest_poll = seconds(2);
  state.deadline = kNow + seconds(260);
  const WaitToken token = TokenOf(state);

  const WaitResult<> result =
      Waiter([] { return false; }, Options()).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_EQ(result.report().elapsed, absl::Hours(10'000) + absl::Seconds(260));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(260));
}

TEST_F(ResumeTest, DeadlineThatHasPassedLeavesOneLastPoll) {
  const WaitToken token = TokenAfter(3);
  clock_.AdvanceTime(absl::Hours(1));
  WaitOptions strict = Options();
  strict.polls.strict_deadline = true;
  EXPECT_EQ(
      Waiter([] { return true; }, strict).Wait({.resume = token}).reason(),
      StopReason::kDeadline);
  for (const bool succeeds : {true, false}) {
    ScriptedPoll<> script(clock_, {succeeds ? Success() : NotReady("late")});

    const WaitResult<> result =
        Waiter(std::ref(script), Options()).Wait({.resume = token});

    EXPECT_EQ(result.reason(),
              succeeds ? StopReason::kSuccess : StopReason::kDeadline);
    EXPECT_EQ(result.report().late, succeeds);
    EXPECT_EQ(script.polled_at().size(), 1U);
  }
}

TEST_F(ResumeTest, MessageNamesTheDeadlineThatTheOptionsDoNotHave) {
  const WaitToken token = TokenAfter(3);
  WaitOptions options = Options();
  options.timeout = absl::InfiniteDuration();

  const WaitResult<> result =
      Waiter([] { return false; }, options).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_THAT(result.status().message(),
              HasSubstr("deadline of the saved wait, 1m40s after its start, "
                        "reached"));
}

TEST_F(ResumeTest, LimitsAreThoseOfTheOptionsThatGoOn) {
  const WaitToken token = TokenAfter(3);
  WaitOptions options = Options();
  options.timeout = absl::Seconds(1);
  options.max_attempts = 4;

  const WaitResult<> result =
      Waiter([] { return false; }, options).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kAttempts);
  EXPECT_EQ(result.report().elapsed, absl::Seconds(14));

  // Fewer attempts than were already made.
  options.max_attempts = 2;
  EXPECT_EQ(Waiter([] { return false; }, options)
                .Wait({.resume = token})
                .report()
                .attempts,
            4);
}

TEST_F(ResumeTest, OptionsGiveAWaitWithoutADeadlineNone) {
  WaitOptions options = Saving();
  options.timeout = absl::InfiniteDuration();
  options.max_attempts = 2;
  (void)Waiter([] { return false; }, options).Wait();
  ASSERT_EQ(tokens_.size(), 1U);

  WaitOptions limited = Options();
  limited.max_attempts = 10;
  EXPECT_EQ(Waiter([] { return false; }, limited)
                .Wait({.resume = tokens_[0]})
                .reason(),
            StopReason::kAttempts);
  limited.timeout = std::nullopt;
  limited.deadline = clock_.TimeNow() - absl::Hours(1);
  EXPECT_EQ(Waiter([] { return false; }, limited)
                .Wait({.resume = tokens_[0]})
                .reason(),
            StopReason::kAttempts);
}

TEST_F(ResumeTest, EmptyTokenStartsAWait) {
  EXPECT_TRUE(Waiter([] { return true; }, Options()).Wait({.resume = {}}).ok());
  WaitEngine engine({.threads = 0, .clock = &clock_});
  bool ended = false;
  engine
      .Start(Waiter([] { return true; }, Options()),
             [&](const WaitResult<>& result) { ended = result.ok(); },
             {.resume = WaitToken()})
      .Detach();
  engine.Run();
  EXPECT_TRUE(ended);
}

TEST_F(ResumeTest, WaitOfAnotherNameIsRefusedWithoutAPoll) {
  const WaitToken token = TokenAfter(1);
  WaitOptions options = Options();
  options.name = "job 8";
  std::string given_up;
  options.hooks.on_failure = [&](const WaitFailure& end) {
    given_up = end.name;
  };
  int polls = 0;

  const WaitResult<> result =
      Waiter([&] { return ++polls > 0; }, options).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kInvalidOptions);
  EXPECT_EQ(result.status(),
            absl::InvalidArgumentError(
                "job 8: the saved wait is \"job 7\"; continue it under that "
                "name, or start again"));
  EXPECT_EQ(polls, 0);
  EXPECT_EQ(result.report().attempts, 0);
  EXPECT_EQ(given_up, "job 8");
}

TEST_F(ResumeTest, NameThatWasCutIsTheSame) {
  WaitOptions options = Saving();
  options.name = std::string(500, 'n');
  ScriptedPoll<> script(clock_, {NotReady(), Success(), Success()});
  ASSERT_TRUE(Waiter(std::ref(script), options).Wait().ok());

  EXPECT_TRUE(
      Waiter(std::ref(script), options).Wait({.resume = tokens_[0]}).ok());
}

TEST_F(ResumeTest, InvalidOptionsAndStopsEndAsForANewWait) {
  const WaitToken token = TokenAfter(1);
  WaitOptions options = Options();
  options.max_attempts = 0;
  EXPECT_EQ(
      Waiter([] { return true; }, options).Wait({.resume = token}).reason(),
      StopReason::kInvalidOptions);

  waiter::stop_source stop;
  stop.request_stop();
  const WaitResult<> result =
      Waiter([] { return true; }, Options())
          .Wait({.stop = stop.get_token(), .resume = token});
  EXPECT_EQ(result.reason(), StopReason::kCancelled);
  EXPECT_EQ(result.report().attempts, 1);
}

TEST_F(ResumeTest, TokenOfAPollUnderWayAsksAgainAtOnce) {
  WaitState state = ThrottledState();
  state.asleep = false;
  const WaitToken token = TokenOf(state);
  ScriptedPoll<> script(clock_, {Success()});

  const WaitResult<> result =
      Waiter(std::ref(script), Options()).Wait({.resume = token});

  EXPECT_TRUE(result.ok());
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
  EXPECT_EQ(result.report().attempts, 2);
}

TEST_F(ResumeTest, QuotaGetsBackWhatTheWaitHadPaidElsewhere) {
  // The next poll is not the first one, which would cost more.
  const auto quota = *RetryQuota::Make(
      {.capacity = 100, .initial_cost = 10, .throttle_cost = 5});
  quota->Withdraw(50, clock_.MonotonicNow());
  WaitOptions options = Options();
  options.budgets.retry_quota = quota;

  EXPECT_TRUE(Waiter([] { return true; }, options)
                  .Wait({.resume = TokenOf(ThrottledState())})
                  .ok());

  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 55);
}

TEST_F(ResumeTest, RefusedWaitEndsAtTheEndOfItsSleep) {
  WaitState state = ThrottledState();
  state.refused = true;
  const WaitToken token = TokenOf(state);
  int polls = 0;

  const WaitResult<> result =
      Waiter([&] { return ++polls > 0; }, Options()).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kQuota);
  EXPECT_EQ(polls, 0);
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(9));
}

TEST_F(ResumeTest, HistoryBeginsWhereTheWaitGoesOn) {
  for (const int64_t limit : {1, 2, 3, 10}) {
    const WaitToken token = TokenAfter(3);
    WaitOptions options = Options();
    options.hooks.history_limit = limit;
    options.max_attempts = 7;

    const WaitResult<> result =
        Waiter([] { return false; }, options).Wait({.resume = token});

    std::vector<int64_t> attempts;
    for (const PollRecord& poll : result.report().history) {
      attempts.push_back(poll.attempt);
    }
    std::vector<int64_t> expected;
    for (int64_t i = std::max<int64_t>(4, 8 - limit); i <= 7; ++i) {
      expected.push_back(i);
    }
    EXPECT_EQ(attempts, expected) << limit;
  }
}

TEST_F(ResumeTest, ObserverSeesAWaitThatBeginsWithTheRestOfASleep) {
  const WaitToken token = TokenAfter(3);
  clock_.AdvanceTime(absl::Seconds(3));
  Lines observer;
  WaitOptions options = Saving();
  options.hooks.observer = Unowned(observer);
  tokens_.clear();

  (void)Waiter([] { return true; }, options).Wait({.resume = token});

  EXPECT_THAT(observer.lines, ElementsAre("start, 1m40s", "sleep 5s, resumed",
                                          "poll 4", "done"));
  // Saved again immediately, so that another crash loses nothing.
  ASSERT_EQ(tokens_.size(), 1U);
  EXPECT_EQ(tokens_[0].wake_up(), token.wake_up());
  EXPECT_EQ(tokens_[0].deadline(), token.deadline());
}

// On every driver.

enum class Driver { kBlocking, kFull, kLean };

class ResumedDriverTest : public ResumeTest,
                          public testing::WithParamInterface<Driver> {
 protected:
  // Runs a wait, from `token` if that is not empty, to its end.
  template <typename Function>
  WaitResult<> Run(Function function, const WaitOptions& options,
                   const WaitToken& token) {
    Waiter wait(std::move(function), options);
    if (GetParam() == Driver::kBlocking) return wait.Wait({.resume = token});
    WaitEngine engine({.threads = 0,
                       .tick = absl::ZeroDuration(),
                       .report = GetParam() == Driver::kLean
                                     ? ReportLevel::kLean
                                     : ReportLevel::kFull,
                       .clock = &clock_});
    std::optional<WaitResult<>> result;
    engine
        .Start(std::move(wait),
               [&](WaitResult<> got) { result = std::move(got); },
               {.resume = token})
        .Detach();
    engine.Run();
    return std::move(result).value();
  }
};

TEST_P(ResumedDriverTest, SleepsForABudgetAreSavedToo) {
  WaitOptions waiting = Saving();
  waiting.budgets.retry_quota =
      *RetryQuota::Make({.capacity = 14,
                         .initial_cost = 14,
                         .refill_per_second = 1,
                         .when_spent = RetryQuotaOptions::WhenSpent::kWait});
  WaitOptions refused = Saving();
  refused.budgets = {.retry_quota = *RetryQuota::Make({.capacity = 1}),
                     .delay_when_refused = true};
  WaitOptions limited = Saving();
  limited.backoff.initial_delay = absl::Milliseconds(1);
  limited.budgets.rate_limiter =
      *AdaptiveRateLimiter::MakeLimiting({}, 0.5, clock_.MonotonicNow());
  for (WaitOptions& options : std::vector{waiting, refused, limited}) {
    tokens_.clear();
    Lines observer;
    options.hooks.observer = Unowned(observer);
    int polls = 0;
    (void)Run(
        [&] {
          return ++polls == 1 ? PollStatus::kServerError : PollStatus::kSuccess;
        },
        options, {});

    std::vector<absl::Duration> saved;
    for (const WaitToken& token : tokens_) {
      saved.push_back(token.wake_up() - token.written());
    }
    EXPECT_THAT(saved, testing::Not(IsEmpty()));
    EXPECT_EQ(saved, observer.sleeps);
  }
}

TEST_P(ResumedDriverTest, TimeOfACheckpointIsPartOfItsSleep) {
  for (const auto& [takes, polled_at] :
       {std::pair(absl::Milliseconds(500), std::vector<int>{0, 2, 4, 5}),
        {absl::Seconds(3), {0, 3, 6}},  // Longer than the sleep,
        {absl::Seconds(9), {0, 9}}}) {  // or than the wait.
    SCOPED_TRACE(absl::FormatDuration(takes));
    const absl::Duration start = clock_.Elapsed();
    ScriptedPoll<> script(clock_, {NotReady()});
    WaitOptions options = Options();
    options.timeout = absl::Seconds(5);
    options.backoff.max_delay = absl::Seconds(2);
    options.hooks.on_checkpoint = [&, time = takes](const WaitToken&) {
      clock_.AdvanceTime(time);
    };

    const WaitResult<> result = Run(std::ref(script), options, {});

    EXPECT_EQ(result.reason(), StopReason::kDeadline);
    std::vector<absl::Duration> expected;
    for (const int time : polled_at) {
      expected.push_back(start + absl::Seconds(time));
    }
    EXPECT_EQ(script.polled_at(), expected);
    EXPECT_EQ(result.report().elapsed, clock_.Elapsed() - start);
  }
}

TEST_P(ResumedDriverTest, ContextIsThatOfTheWaitFromItsStart) {
  const WaitToken token = TokenAfter(3, Throttled("busy"));
  const absl::Duration elapsed = token.wake_up() - clock_.TimeNow();
  ASSERT_GT(elapsed, absl::ZeroDuration());
  const absl::Duration due = clock_.Elapsed() + elapsed;
  clock_.AdvanceTime(absl::Seconds(1));
  std::optional<PollContext> context;

  (void)Run(
      [&](const PollContext& given) {
        context = given;
        return true;
      },
      Options(), token);

  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->attempt, 4);
  EXPECT_EQ(context->elapsed, due);
  EXPECT_EQ(context->remaining, absl::Seconds(100) - due);
  EXPECT_EQ(context->last_status, PollStatus::kThrottled);
}

TEST_P(ResumedDriverTest, WallClockMovesTheWaitOnlyForward) {
  for (const auto& [step, delay] :
       {std::pair(-absl::Hours(24 * 365 * 50), absl::Seconds(2)),
        {-absl::Seconds(3), absl::Seconds(2)},
        {absl::Milliseconds(1500), absl::Milliseconds(500)},
        {absl::Seconds(50), absl::ZeroDuration()},
        {absl::Hours(24 * 365), absl::ZeroDuration()}}) {
    SCOPED_TRACE(absl::FormatDuration(step));
    const WaitToken token = TokenAfter(1);
    ScriptedPoll<> script(clock_, {NotReady(), Success()});
    const absl::Duration saved = clock_.Elapsed();
    clock_.StepWallClock(step);

    const WaitResult<> result = Run(std::ref(script), Options(), token);

    EXPECT_EQ(script.polled_at()[0], saved + delay);
    // After the deadline, there is one poll.
    EXPECT_EQ(result.reason(), step < absl::Seconds(100)
                                   ? StopReason::kSuccess
                                   : StopReason::kDeadline);
  }
}

// Admits polls at whole seconds.
class WholeSeconds : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override {
    const MonotonicTime::Base pass = std::chrono::ceil<seconds>(now);
    return pass;
  }
  void Update(MonotonicTime /*now*/, PollStatus /*status*/) override {
    ++updates;
  }
  std::optional<double> Rate() const override { return 1; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<WholeSeconds>();
  }

  int updates = 0;
};

TEST_P(ResumedDriverTest, EveryPollPassesTheLimiterExceptForTheLastOne) {
  const WaitToken token = TokenAfter(1);
  WholeSeconds limiter;
  WaitOptions options = Options();
  options.backoff.initial_delay = absl::Milliseconds(850);
  options.budgets.rate_limiter = Unowned(limiter);
  for (const absl::Duration pause :
       {absl::Milliseconds(300), absl::Milliseconds(2900)}) {
    clock_.AdvanceTime(pause);
    ScriptedPoll<> script(clock_, {NotReady(), Success()});
    limiter.updates = 0;
    ASSERT_TRUE(Run(std::ref(script), options, token).ok());

    const absl::Duration first = script.polled_at()[0];
    EXPECT_EQ(first, absl::Ceil(first, absl::Seconds(1)));
    EXPECT_THAT(script.polled_at(),
                ElementsAre(first, first + absl::Seconds(2)));
    EXPECT_EQ(limiter.updates, 2);
  }

  clock_.AdvanceTime(absl::Hours(2) + absl::Milliseconds(1));
  const absl::Duration now = clock_.Elapsed();
  ScriptedPoll<> script(clock_, {Success()});
  EXPECT_TRUE(Run(std::ref(script), options, token).ok());
  EXPECT_THAT(script.polled_at(), ElementsAre(now));
}

std::string NameOf(const testing::TestParamInfo<Driver>& test) {
  constexpr std::array kNames = {"Blocking", "Full", "Lean"};
  return kNames[static_cast<size_t>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(Drivers, ResumedDriverTest,
                         testing::Values(Driver::kBlocking, Driver::kFull,
                                         Driver::kLean),
                         NameOf);

TEST_F(ResumeTest, NotificationInACheckpointIsNotLost) {
  const PollNotifier notifier;
  WaitOptions options = Options();
  options.backoff.min_delay = absl::ZeroDuration();
  options.hooks.on_checkpoint = [&](const WaitToken&) { notifier.PollNow(); };
  ScriptedPoll<> script(clock_, {NotReady(), Success()});

  EXPECT_TRUE(
      Waiter(std::ref(script), options).Wait({.notifier = &notifier}).ok());

  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
}

// On an engine.

class EngineResumeTest : public ResumeTest,
                         public testing::WithParamInterface<ReportLevel> {
 protected:
  WaitEngine engine_{{.threads = 0,
                      .tick = absl::ZeroDuration(),
                      .report = GetParam(),
                      .clock = &clock_}};
};

TEST_P(EngineResumeTest, CheckpointsComeBeforeSleepsAndShorterSleeps) {
  ScriptedPoll<> script(clock_, {NotReady("", absl::Seconds(30)), Success()});
  WaitOptions options = Saving();
  options.errors.retry_after.rule = RetryAfterOptions::Rule::kClamp;
  options.backoff.initial_delay = absl::Seconds(40);
  WaitHandle wait = engine_.Start(Waiter(std::ref(script), options),
                                  [](const WaitResult<>&) {});
  engine_.RunDue();
  ASSERT_EQ(tokens_.size(), 1U);
  EXPECT_EQ(tokens_[0].wake_up() - tokens_[0].written(), absl::Seconds(40));

  // The server's hint still holds.
  clock_.AdvanceTime(absl::Seconds(10));
  wait.PollNow();
  engine_.RunDue();

  EXPECT_GT(tokens_.size(), 1U);
  EXPECT_EQ(tokens_.back().wake_up() - tokens_.back().written(),
            absl::Seconds(20));
  engine_.Run();
  EXPECT_THAT(script.polled_at(),
              ElementsAre(absl::ZeroDuration(), absl::Seconds(30)));
}

TEST_P(EngineResumeTest, AsynchronousPollsAndHandlesWorkAsEver) {
  const WaitToken token = TokenAfter(3);
  std::optional<PollCompletion<>> completion;
  std::optional<WaitResult<>> result;
  WaitHandle wait = engine_.Start(
      AsyncWaiter<std::function<void(PollCompletion<>)>>(
          [&](PollCompletion<> given) { completion = std::move(given); },
          Options()),
      [&](WaitResult<> got) { result = std::move(got); }, {.resume = token});
  engine_.RunDue();
  clock_.AdvanceTime(absl::Seconds(1));
  wait.PollNow();
  engine_.RunDue();
  ASSERT_TRUE(completion.has_value());
  (*completion)(Success());
  engine_.RunDue();

  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ(result->report().attempts, 4);
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(7));
}

TEST_P(EngineResumeTest, ManyWaitsGoOnInAnotherEngine) {
  constexpr int kWaits = 100;
  std::vector<WaitToken> saved(kWaits);
  const absl::Duration half = absl::Milliseconds(20'500);
  {
    WaitEngine first(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
    std::vector<WaitHandle> waits;
    waits.reserve(kWaits);
    for (int i = 0; i < kWaits; ++i) {
      WaitOptions options = Options();
      options.name = absl::StrCat("job ", i);
      options.hooks.on_checkpoint = [&saved, i](const WaitToken& token) {
        saved[static_cast<size_t>(i)] = token;
      };
      waits.push_back(first.Start(Waiter([] { return false; }, options),
                                  [](const WaitResult<>&) {}));
    }
    clock_.CallAt(half, [&] { waits.clear(); });
    first.Run();
  }
  ASSERT_EQ(clock_.Elapsed(), half);
  int ended = 0;
  for (int i = 0; i < kWaits; ++i) {
    WaitOptions options = Options();
    options.name = absl::StrCat("job ", i);
    engine_
        .Start(Waiter([] { return false; }, options),
               [&](const WaitResult<>& result) {
                 EXPECT_EQ(result.reason(), StopReason::kDeadline);
                 EXPECT_EQ(result.report().elapsed, absl::Seconds(100));
                 // At 0, 2, 6, 14, 30, 62 and, at the deadline, 100 s.
                 EXPECT_EQ(result.report().attempts, 7);
                 ++ended;
               },
               {.resume = saved[static_cast<size_t>(i)]})
        .Detach();
  }
  engine_.Run();
  EXPECT_EQ(ended, kWaits);
}

TEST_P(EngineResumeTest, NotificationInACheckpointIsNotLost) {
  WaitHandle wait;
  WaitOptions options = Options();
  options.backoff.min_delay = absl::ZeroDuration();
  options.hooks.on_checkpoint = [&](const WaitToken&) { wait.PollNow(); };
  ScriptedPoll<> script(clock_, {NotReady(), Success()});
  wait = engine_.Start(Waiter(std::ref(script), options),
                       [](const WaitResult<>&) {});

  engine_.Run();

  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
  EXPECT_EQ(script.polled_at().size(), 2U);
}

TEST_P(EngineResumeTest, HintAndLeastDelayHoldForANotifiedWait) {
  struct Case {
    Poll<> found;
    absl::Duration min_delay;
    absl::Duration due;  // Since the poll that was saved.
  };
  for (const Case& example :
       {Case{NotReady("", absl::Seconds(30)), absl::ZeroDuration(),
             absl::Seconds(30)},
        Case{NotReady(), absl::Seconds(20), absl::Seconds(20)},
        Case{NotReady(), absl::ZeroDuration(), absl::Seconds(6)}}) {
    WaitOptions options = Saving();
    options.backoff.initial_delay = absl::Seconds(60);
    options.backoff.min_delay = example.min_delay;
    options.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
    const absl::Duration start = clock_.Elapsed();
    WaitHandle first =
        engine_.Start(Waiter([&] { return example.found; }, options),
                      [](const WaitResult<>&) {});
    engine_.RunDue();
    first = WaitHandle();
    const WaitToken token = tokens_.back();
    ScriptedPoll<> script(clock_, {Success()});
    WaitHandle wait =
        engine_.Start(Waiter(std::ref(script), options),
                      [](const WaitResult<>&) {}, {.resume = token});
    clock_.CallAt(start + absl::Seconds(6), [&] { wait.PollNow(); });

    engine_.Run();

    EXPECT_THAT(script.polled_at(), ElementsAre(start + example.due));
  }
}

TEST_P(EngineResumeTest, PollThatNeverAnswersEndsAtTheDeadlineOfTheToken) {
  const WaitToken token = TokenAfter(1);
  WaitOptions endless = Options();
  endless.timeout = absl::InfiniteDuration();
  for (const absl::Duration pause : {absl::ZeroDuration(), absl::Hours(1)}) {
    clock_.AdvanceTime(pause);
    const absl::Duration start = clock_.Elapsed();
    std::optional<PollCompletion<>> completion;
    std::optional<StopReason> reason;
    const WaitHandle wait = engine_.Start(
        AsyncWaiter([&](const PollCompletion<>& done) { completion = done; },
                    endless),
        [&](const WaitResult<>& result) { reason = result.reason(); },
        {.resume = token});

    engine_.Run();

    EXPECT_EQ(reason, StopReason::kDeadline);
    // The last poll, after the deadline, has the time of a context: 1 s.
    EXPECT_EQ(clock_.Elapsed(), pause == absl::ZeroDuration()
                                    ? absl::Seconds(100)
                                    : start + absl::Seconds(1));
  }
}

TEST_P(EngineResumeTest, WaitOfAnotherNameIsRefusedWithoutAPoll) {
  const WaitToken token = TokenAfter(1);
  std::vector<StopReason> reasons;
  int polls = 0;
  for (const std::string_view name : {"job 8", "job 7"}) {
    engine_
        .Start(Waiter([&] { return ++polls > 0; }, Options()),
               [&](const WaitResult<>& result) {
                 reasons.push_back(result.reason());
               },
               {.name = std::string(name), .resume = token})
        .Detach();
  }
  engine_.Run();

  EXPECT_THAT(reasons,
              ElementsAre(StopReason::kInvalidOptions, StopReason::kSuccess));
  EXPECT_EQ(polls, 1);
}

TEST_P(EngineResumeTest, EndOfTheEngineShutsResumedWaitsDown) {
  const WaitToken token = TokenAfter(3);
  for (const bool has_begun : {true, false}) {
    std::optional<WaitEngine> engine(
        std::in_place, WaitEngineOptions{.threads = 0, .clock = &clock_});
    std::optional<WaitResult<>> result;
    engine
        ->Start(Waiter([] { return false; }, Options()),
                [&](WaitResult<> got) { result = std::move(got); },
                {.resume = token})
        .Detach();
    if (has_begun) engine->RunDue();
    engine.reset();

    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->reason(), StopReason::kShutDown);
    if (has_begun) {
      EXPECT_EQ(result->report().attempts, 3);
    }
  }
}

TEST_P(EngineResumeTest, CheckpointMayDestroyTheHandleWithAllThatTheWaitOwns) {
  const auto owned = std::make_shared<int>(0);
  WaitHandle wait;
  bool called = false;
  {
    WaitOptions options = Options();
    options.hooks.on_checkpoint = [&wait, owned,
                                   &called](const WaitToken& token) {
      wait = WaitHandle();
      // The function itself is still there.
      called = !token.bytes().empty() && owned.use_count() > 1;
    };
    wait = engine_.Start(Waiter(
                             [owned] {
                               ++*owned;
                               return false;
                             },
                             options),
                         [](const WaitResult<>&) { FAIL(); });
  }

  engine_.Run();

  EXPECT_TRUE(called);
  EXPECT_EQ(*owned, 1);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_P(EngineResumeTest, CheckpointMayDetachTheWait) {
  WaitHandle wait;
  WaitOptions options = Options();
  options.hooks.on_checkpoint = [&](const WaitToken&) { wait.Detach(); };
  ScriptedPoll<> script(clock_, {NotReady(), Success()});
  bool ended = false;
  wait =
      engine_.Start(Waiter(std::ref(script), options),
                    [&](const WaitResult<>& result) { ended = result.ok(); });

  engine_.Run();

  EXPECT_TRUE(ended);
}

INSTANTIATE_TEST_SUITE_P(Reports, EngineResumeTest,
                         testing::Values(ReportLevel::kFull,
                                         ReportLevel::kLean),
                         [](const auto& test) {
                           return test.param == ReportLevel::kFull ? "Full"
                                                                   : "Lean";
                         });

}  // namespace
}  // namespace waiter::resume_test
