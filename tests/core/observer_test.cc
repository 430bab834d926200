// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/observer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::observer_test {
namespace {

using ::testing::ElementsAre;

// Records every call, and can run a callback at each.
class Diary : public WaitObserver {
 public:
  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override {
    Write(absl::StrCat(std::string(wait.name), " polls ", attempt));
  }
  void AfterPoll(const PollEvent& poll) override {
    Write(absl::StrCat(std::string(poll.wait.name), " polled ", poll.attempt,
                       " at ", absl::FormatDuration(poll.elapsed), " in ",
                       absl::FormatDuration(poll.took), ": ",
                       std::string(PollStatusName(poll.found.status()))));
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    Write(absl::StrCat(std::string(sleep.wait.name), " sleeps ",
                       absl::FormatDuration(sleep.delay), " after ",
                       sleep.attempt, " at ",
                       absl::FormatDuration(sleep.elapsed), ": ",
                       std::string(SleepReasonName(sleep.reason))));
  }
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override {
    Write(absl::StrCat(std::string(wait.name),
                       " done: ", std::string(StopReasonName(report.reason))));
  }

  std::vector<std::string> lines;
  std::function<void(std::string_view)> on_line;

 private:
  void Write(const std::string& line) {
    lines.push_back(line);
    if (on_line) on_line(line);
  }
};

class ObserverTest : public testing::Test {
 protected:
  WaitOptions Options(absl::Duration timeout) {
    return {.name = "w",
            .timeout = timeout,
            .backoff = {.initial_delay = absl::Seconds(1),
                        .max_delay = absl::Seconds(4),
                        .jitter = Jitter::None()},
            .hooks = {.observer = Unowned(diary_)},
            .clock = &clock_};
  }

  // Requests a stop in the hook that writes `line`.
  void StopAt(std::string_view line) {
    diary_.on_line = [this, line](std::string_view written) {
      if (written == line) stop_.request_stop();
    };
  }

  // Makes every hook after a poll whose line has `part` take `time`.
  void TakeAfterPolls(absl::Duration time,
                      const std::string& part = " polled ") {
    diary_.on_line = [this, time, part](std::string_view line) {
      if (absl::StrContains(std::string(line), part)) clock_.AdvanceTime(time);
    };
  }

  SimulatedClock clock_;
  Diary diary_;
  waiter::stop_source stop_;
};

TEST_F(ObserverTest, ObserverSeesEveryPollSleepAndTheEnd) {
  ScriptedPoll<> script(clock_, {{NotReady(), absl::Milliseconds(500)},
                                 ServerError("", absl::Seconds(8)),
                                 Success()});
  WaitOptions options = Options(absl::Minutes(1));
  options.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
  options.polls.first_delay = absl::Seconds(2);

  (void)Waiter(std::ref(script), options).Wait();

  EXPECT_THAT(
      diary_.lines,
      ElementsAre("w sleeps 2s after 0 at 0: first poll delay", "w polls 1",
                  "w polled 1 at 2.5s in 500ms: not ready",
                  "w sleeps 1s after 1 at 2.5s: not ready", "w polls 2",
                  "w polled 2 at 3.5s in 0: server error",
                  "w sleeps 8s after 2 at 3.5s: retry after", "w polls 3",
                  "w polled 3 at 11.5s in 0: success", "w done: success"));
}

TEST_F(ObserverTest, ObserverSeesThatTheLastPollWasMoved) {
  (void)Waiter([] { return false; }, Options(absl::Milliseconds(1500))).Wait();

  EXPECT_THAT(
      diary_.lines,
      ElementsAre("w polls 1", "w polled 1 at 0 in 0: not ready",
                  "w sleeps 1s after 1 at 0: not ready", "w polls 2",
                  "w polled 2 at 1s in 0: not ready",
                  "w sleeps 500ms after 2 at 1s: final poll", "w polls 3",
                  "w polled 3 at 1.5s in 0: not ready", "w done: deadline"));
}

TEST_F(ObserverTest, InvalidOptionsReachOnDoneOnceWithoutAPoll) {
  WaitOptions options = Options(absl::Minutes(1));
  options.max_attempts = 0;

  (void)Waiter([] { return true; }, options).Wait();

  EXPECT_THAT(diary_.lines, ElementsAre("w done: invalid options"));
}

TEST_F(ObserverTest, ThrowingStatusFunctionReachesOnDoneOnce) {
  Waiter wait([]() -> bool { throw std::runtime_error("boom"); },
              Options(absl::Minutes(1)));

  EXPECT_THROW((void)wait.Wait(), std::runtime_error);

  EXPECT_THAT(diary_.lines,
              ElementsAre("w polls 1", "w polled 1 at 0 in 0: failed",
                          "w done: failed"));
}

TEST_F(ObserverTest, StopRequestedInAHookEndsTheWait) {
  struct Row {
    std::string_view stop_at;
    absl::Duration first_delay;
    std::vector<std::string> lines;
  };
  const std::string polled = "w polled 1 at 0 in 0: not ready";
  const std::string sleeps = "w sleeps 1s after 1 at 0: not ready";
  const std::string first_sleep = "w sleeps 1s after 0 at 0: first poll delay";
  const std::string done = "w done: cancelled";
  for (const auto& [stop_at, first_delay, lines] :
       std::vector<Row>{{"w polls 1", {}, {"w polls 1", polled, done}},
                        {polled, {}, {"w polls 1", polled, done}},
                        {sleeps, {}, {"w polls 1", polled, sleeps, done}},
                        {first_sleep, absl::Seconds(1), {first_sleep, done}}}) {
    SCOPED_TRACE(stop_at);
    diary_.lines.clear();
    stop_ = waiter::stop_source();
    StopAt(stop_at);
    WaitOptions options = Options(absl::Minutes(1));
    options.polls.first_delay = first_delay;

    (void)Waiter([] { return false; }, options).Wait(stop_.get_token());

    EXPECT_EQ(diary_.lines, lines);
    EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
  }
}

TEST_F(ObserverTest, StopRequestedAtTheEndIsHarmless) {
  StopAt("w done: success");

  const WaitResult<> result =
      Waiter([] { return true; }, Options(absl::Minutes(1)))
          .Wait(stop_.get_token());

  EXPECT_TRUE(result.ok());
}

// Each hook after a poll takes 2 s, so the polls are at 0 s, 3 s and 6 s.
TEST_F(ObserverTest, TimeOfHooksCounts) {
  ScriptedPoll<> script(clock_, {NotReady(), NotReady(), Success()});
  WaitOptions options = Options(absl::Minutes(1));
  options.backoff.max_delay = absl::Seconds(1);
  TakeAfterPolls(absl::Seconds(2));

  const WaitResult<> result = Waiter(std::ref(script), options).Wait();

  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.report().elapsed, absl::Seconds(8));
  EXPECT_EQ(result.report().slept, absl::Seconds(2));
  EXPECT_EQ(result.report().longest_poll, absl::ZeroDuration());
}

TEST_F(ObserverTest, HookThatLastsBeyondTheDeadlineIsFollowedByNoPoll) {
  TakeAfterPolls(absl::Seconds(20));

  const WaitResult<> result =
      Waiter([] { return false; }, Options(absl::Seconds(10))).Wait();

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_EQ(result.report().attempts, 1);
  EXPECT_EQ(result.report().elapsed, absl::Seconds(20));
}

TEST_F(ObserverTest, SuccessInTimeIsNotLateBecauseOfAHook) {
  TakeAfterPolls(absl::Seconds(20));
  WaitOptions options = Options(absl::Seconds(10));
  options.polls.strict_deadline = true;

  const WaitResult<> result = Waiter([] { return true; }, options).Wait();

  EXPECT_TRUE(result.ok());
  EXPECT_FALSE(result.report().late);
  EXPECT_EQ(result.report().elapsed, absl::Seconds(20));
}

// The hold of 2 s ends while the hook after the second success runs.
TEST_F(ObserverTest, HoldThatEndsDuringAHookIsFollowedByAPollAtOnce) {
  WaitOptions options = Options(absl::Minutes(1));
  options.backoff.initial_delay = absl::Seconds(4);
  options.confirm.hold_for = absl::Seconds(2);
  TakeAfterPolls(absl::Seconds(3), " polled 1 ");

  const WaitResult<> result = Waiter([] { return true; }, options).Wait();

  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.report().attempts, 2);
  EXPECT_EQ(result.report().elapsed, absl::Seconds(3));
}

// Identity, and decisions.

// Records decisions, and the identities that hooks get.
class Decisions : public WaitObserver {
 public:
  void OnStart(const StartEvent& start) override {
    Add(start.wait,
        absl::StrCat("start, ", absl::FormatDuration(start.timeout), ", ",
                     absl::FormatDuration(start.first_poll_delay)));
  }
  void BeforePoll(const WaitIdentity& wait, int64_t /*attempt*/) override {
    Add(wait, "before");
  }
  void AfterPoll(const PollEvent& poll) override { Add(poll.wait, "after"); }
  void OnDecision(const DecisionEvent& decision) override {
    Add(decision.poll.wait,
        decision.ended.has_value()
            ? absl::StrCat("ended by ",
                           std::string(StopReasonName(*decision.ended)),
                           decision.poll.answered ? "" : ", unanswered")
            : absl::StrCat(absl::FormatDuration(decision.delay), " by ",
                           std::string(SleepReasonName(*decision.reason))));
    if (on_decision) on_decision();
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    Add(sleep.wait, "sleep");
  }
  void OnDone(const WaitIdentity& wait, const WaitReport& /*report*/) override {
    Add(wait, "done");
  }

  std::vector<std::string> lines;
  std::set<uint64_t> ids;
  std::set<std::string> operations;
  std::function<void()> on_decision;

 private:
  void Add(const WaitIdentity& wait, std::string line) {
    lines.push_back(std::move(line));
    ids.insert(wait.id);
    operations.emplace(wait.operation);
  }
};

class DecisionTest : public ObserverTest {
 protected:
  WaitOptions Options(absl::Duration timeout) {
    WaitOptions options = ObserverTest::Options(timeout);
    options.operation = "create instance";
    options.hooks.observer = Unowned(decisions_);
    return options;
  }

  Decisions decisions_;
};

TEST_F(DecisionTest, EachPollHasOneDecisionWithItsDelay) {
  ScriptedPoll<> script(
      clock_, {NotReady(), NotReady("", absl::Seconds(3)), Success()});
  WaitOptions options = Options(absl::Minutes(1));
  options.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
  options.polls.first_delay = absl::Seconds(2);

  (void)Waiter(std::ref(script), options).Wait();

  EXPECT_THAT(decisions_.lines,
              ElementsAre("start, 1m, 2s", "sleep",                       //
                          "before", "after", "1s by not ready", "sleep",  //
                          "before", "after", "3s by retry after", "sleep",
                          "before", "after", "ended by success", "done"));
  EXPECT_EQ(decisions_.ids.size(), 1U);
  EXPECT_THAT(decisions_.operations, ElementsAre("create instance"));
}

TEST_F(DecisionTest, DelayOfZeroIsADecisionWithoutASleep) {
  WaitOptions options = Options(absl::Minutes(1));
  options.backoff = {.initial_delay = absl::ZeroDuration(),
                     .max_delay = absl::ZeroDuration(),
                     .jitter = Jitter::None()};
  options.max_attempts = 2;

  (void)Waiter([] { return false; }, options).Wait();

  EXPECT_THAT(decisions_.lines,
              ElementsAre("start, 1m, 0", "before", "after", "0 by not ready",
                          "before", "after", "ended by attempts", "done"));
}

TEST_F(DecisionTest, ExceptionIsDecidedAboutToo) {
  Waiter wait([]() -> bool { throw std::runtime_error("boom"); },
              Options(absl::Minutes(1)));

  EXPECT_THROW((void)wait.Wait(), std::runtime_error);

  EXPECT_THAT(decisions_.lines,
              ElementsAre("start, 1m, 0", "before", "after",
                          "ended by failed, unanswered", "done"));
}

TEST_F(DecisionTest, WaitThatEndsBeforeItsFirstPollStartsAndIsDone) {
  stop_.request_stop();
  (void)Waiter([] { return false; }, Options(absl::Minutes(1)))
      .Wait(stop_.get_token());
  WaitOptions invalid = Options(absl::Minutes(1));
  invalid.max_attempts = 0;
  (void)Waiter([] { return false; }, invalid).Wait();

  EXPECT_THAT(decisions_.lines,
              ElementsAre("start, 1m, 0", "done", "start, inf, 0", "done"));
}

TEST_F(DecisionTest, StopInADecisionEndsTheSleepThatFollows) {
  decisions_.on_decision = [&] { stop_.request_stop(); };

  (void)Waiter([] { return false; }, Options(absl::Minutes(1)))
      .Wait(stop_.get_token());

  EXPECT_THAT(decisions_.lines,
              ElementsAre("start, 1m, 0", "before", "after", "1s by not ready",
                          "sleep", "done"));
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
}

TEST_F(DecisionTest, StopInADecisionWithoutDelayComesAfterTheNextPoll) {
  decisions_.on_decision = [&] { stop_.request_stop(); };
  WaitOptions options = Options(absl::Minutes(1));
  options.backoff = {.initial_delay = absl::ZeroDuration(),
                     .max_delay = absl::ZeroDuration(),
                     .jitter = Jitter::None()};

  (void)Waiter([] { return false; }, options).Wait(stop_.get_token());

  EXPECT_THAT(decisions_.lines,
              ElementsAre("start, 1m, 0", "before", "after", "0 by not ready",
                          "before", "after", "ended by cancelled", "done"));
}

TEST_F(DecisionTest, StartHasTheTimeUntilTheEarlierDeadline) {
  WaitOptions both = Options(absl::Hours(2));
  both.deadline = clock_.TimeNow() + absl::Hours(1);
  (void)Waiter([] { return true; }, both).Wait();
  EXPECT_EQ(decisions_.lines.at(0), "start, 1h, 0");

  decisions_.lines.clear();
  (void)Waiter([] { return true; }, Options(-absl::Seconds(5))).Wait();
  EXPECT_THAT(decisions_.lines.at(0),
              testing::AnyOf("start, -5s, 0", "start, 0, 0"));
}

TEST(SleepReasonTest, NamesAreDistinctWords) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(SleepReason::kAnswer); ++i) {
    names.emplace(SleepReasonName(static_cast<SleepReason>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(SleepReason::kAnswer) + 1);
  EXPECT_FALSE(names.contains(""));
  // A value that is no reason has a name as well.
  EXPECT_FALSE(SleepReasonName(static_cast<SleepReason>(99)).empty());
}

TEST_F(DecisionTest, IdentityIsUniqueAmongWaits) {
  for (int i = 0; i < 3; ++i) {
    (void)Waiter([] { return true; }, Options(absl::Minutes(1))).Wait();
  }

  EXPECT_EQ(decisions_.ids.size(), 3U);
  EXPECT_FALSE(decisions_.ids.contains(0));
}

// Several observers.

TEST_F(DecisionTest, ListCallsAllInOrderAndLeavesOutNull) {
  std::vector<std::string> order;
  Decisions second;
  decisions_.on_decision = [&] { order.emplace_back("first"); };
  second.on_decision = [&] { order.emplace_back("second"); };
  WaitOptions options = Options(absl::Minutes(1));
  options.hooks.observer =
      std::make_shared<ObserverList>(std::vector<std::shared_ptr<WaitObserver>>{
          Unowned(decisions_), nullptr, Unowned(second)});

  (void)Waiter([] { return true; }, options).Wait();

  EXPECT_EQ(decisions_.lines.size(), 5U);
  EXPECT_EQ(second.lines, decisions_.lines);
  EXPECT_THAT(order, ElementsAre("first", "second"));
}

TEST_F(DecisionTest, ListMayBeEmptyOrHoldListsAndAnObserverTwice) {
  using Observers = std::vector<std::shared_ptr<WaitObserver>>;
  const auto run = [&](Observers observers) {
    decisions_.lines.clear();
    WaitOptions options = Options(absl::Minutes(1));
    options.hooks.observer =
        std::make_shared<ObserverList>(std::move(observers));
    EXPECT_TRUE(Waiter([] { return true; }, options).Wait().ok());
    return decisions_.lines.size();
  };
  const std::shared_ptr<WaitObserver> one = Unowned(decisions_);
  const auto list = std::make_shared<ObserverList>(Observers{one, nullptr});
  EXPECT_EQ(run({}), 0U);
  EXPECT_EQ(run({nullptr, nullptr}), 0U);
  EXPECT_EQ(run({one, one, list}), 15U);
}

// Has only some of the hooks of a poll.
class Some : public Decisions {
 public:
  explicit Some(const PollHooks& hooks) : hooks_(hooks) {}
  PollHooks poll_hooks() const override { return hooks_; }

 private:
  PollHooks hooks_;
};

constexpr WaitObserver::PollHooks kNone = {.before_poll = false,
                                           .after_poll = false,
                                           .on_decision = false,
                                           .before_sleep = false};

TEST_F(DecisionTest, HooksThatAnObserverDoesWithoutAreSkipped) {
  struct Row {
    bool WaitObserver::PollHooks::*hook;
    std::vector<std::string> lines;
  };
  const std::vector<Row> rows = {
      {&WaitObserver::PollHooks::before_poll,
       {"start, 1m, 0", "before", "before", "done"}},
      {&WaitObserver::PollHooks::after_poll,
       {"start, 1m, 0", "after", "after", "done"}},
      {&WaitObserver::PollHooks::on_decision,
       {"start, 1m, 0", "1s by not ready", "ended by success", "done"}},
      {&WaitObserver::PollHooks::before_sleep,
       {"start, 1m, 0", "sleep", "done"}},
  };
  for (const auto& [hook, lines] : rows) {
    WaitObserver::PollHooks hooks = kNone;
    hooks.*hook = true;
    Some some(hooks);
    ScriptedPoll<> script(clock_, {NotReady(), Success()});
    WaitOptions options = Options(absl::Minutes(1));
    options.hooks.observer = Unowned(some);

    (void)Waiter(std::ref(script), options).Wait();

    EXPECT_EQ(some.lines, lines);
  }
}

TEST_F(DecisionTest, MembersOfAListHaveTheHooksThatEachAsksFor) {
  Some none(kNone);
  WaitObserver::PollHooks hooks = kNone;
  hooks.after_poll = true;
  Some after(hooks);
  WaitOptions options = Options(absl::Minutes(1));
  options.hooks.observer =
      std::make_shared<ObserverList>(std::vector<std::shared_ptr<WaitObserver>>{
          Unowned<WaitObserver>(none), Unowned<WaitObserver>(after)});

  (void)Waiter([] { return true; }, options).Wait();

  EXPECT_THAT(none.lines, ElementsAre("start, 1m, 0", "done"));
  EXPECT_THAT(after.lines, ElementsAre("start, 1m, 0", "after", "done"));
}

class ObserveEveryWaitTest : public DecisionTest {
 protected:
  ~ObserveEveryWaitTest() override { ObserveEveryWait(nullptr); }
};

TEST_F(ObserveEveryWaitTest, WatchesWaitsThatAreMadeAfterwards) {
  WaitOptions options = {.timeout = absl::Minutes(1), .clock = &clock_};
  Waiter before([] { return true; }, options);
  const auto policy = WaitPolicy::Make(options);
  ObserveEveryWait(Unowned(decisions_));

  (void)before.Wait();
  (void)Waiter([] { return true; }, policy).Wait();
  EXPECT_TRUE(decisions_.lines.empty());
  Waiter watched([] { return true; }, options);
  (void)watched.Wait();
  EXPECT_EQ(decisions_.lines.size(), 5U);

  Decisions next;
  ObserveEveryWait(Unowned(next));
  (void)Waiter([] { return true; }, options).Wait();
  EXPECT_EQ(next.lines.size(), 5U);
  ObserveEveryWait(nullptr);
  (void)Waiter([] { return true; }, options).Wait();
  EXPECT_EQ(next.lines.size(), 5U);
  EXPECT_EQ(decisions_.lines.size(), 5U);
  // A wait keeps its observers.
  (void)watched.Wait();
  EXPECT_EQ(decisions_.lines.size(), 10U);
}

TEST_F(ObserveEveryWaitTest, WatchesBesideTheObserverOfTheOptionsAndOnce) {
  Decisions own;
  ObserveEveryWait(Unowned(decisions_));
  WaitOptions options = Options(absl::Minutes(1));
  options.hooks.observer = Unowned(own);

  const auto policy = WaitPolicy::Make(options);
  // A policy made from another policy's options.
  (void)Waiter([] { return true; }, WaitPolicy::Make(policy->options())).Wait();

  EXPECT_EQ(decisions_.lines.size(), 5U);
  EXPECT_EQ(own.lines.size(), 5U);
}

TEST_F(ObserveEveryWaitTest, SameObserverInTheOptionsIsCalledOnce) {
  const std::shared_ptr<WaitObserver> shared = Unowned(decisions_);
  ObserveEveryWait(shared);
  WaitOptions options = Options(absl::Minutes(1));
  options.hooks.observer = shared;

  (void)Waiter([] { return true; }, options).Wait();

  EXPECT_EQ(decisions_.lines.size(), 5U);
}

TEST_F(ObserveEveryWaitTest, WaitAloneKeepsAnObserverThatItsHookReplaces) {
  class ReplacesItself : public WaitObserver {
   public:
    void OnStart(const StartEvent& /*start*/) override {
      ObserveEveryWait(nullptr);
    }
  };
  auto observer = std::make_shared<ReplacesItself>();
  const std::weak_ptr<WaitObserver> weak = observer;
  ObserveEveryWait(std::move(observer));
  {
    Waiter wait([] { return true; },
                {.timeout = absl::Minutes(1), .clock = &clock_});
    EXPECT_TRUE(wait.Wait().ok());
    EXPECT_FALSE(weak.expired());
  }
  EXPECT_TRUE(weak.expired());
}

TEST_F(ObserveEveryWaitTest, ReplacedObserverMayMakeWaitsAndReplaceAsItGoes) {
  class ReplacesAtItsEnd : public WaitObserver {
   public:
    ~ReplacesAtItsEnd() override {
      (void)Waiter([] { return true; }, absl::Seconds(1)).Wait();
      ObserveEveryWait(nullptr);
    }
  };
  ObserveEveryWait(std::make_shared<ReplacesAtItsEnd>());
  ObserveEveryWait(Unowned(decisions_));
  ObserveEveryWait(std::make_shared<ReplacesAtItsEnd>());
  ObserveEveryWait(nullptr);
}

}  // namespace
}  // namespace waiter::observer_test
