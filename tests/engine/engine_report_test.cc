// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests what an engine's waits report, and to whom: results, observers, quotas,
// and the names in them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "waiter/budgets.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::engine_report_test {
namespace {

using ::absl::Milliseconds;
using ::absl::Seconds;
using ::absl::StatusCode;
using ::absl::ZeroDuration;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using EngineReportTest = EngineFixture;

TEST_F(EngineReportTest, BriefReportHasTheLastPollThatEndsTheWait) {
  WaitEngine engine(Simulated(ReportLevel::kLean));
  ScriptedPoll<> script(
      clock_, {NotReady("CREATING"), Failed(absl::AbortedError("x"))});
  const WaitHandle wait =
      engine.Start(Waiter(std::ref(script), EverySecond()), results_.Take());

  engine.Run();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kFailed));
  const WaitReport& report = results_.reports()[0];
  EXPECT_THAT(report.status, StatusIs(StatusCode::kAborted,
                                      "x (wait, after 2 attempts in 1s)"));
  EXPECT_EQ(report.last_poll.error(), absl::AbortedError("x"));
  EXPECT_EQ(report.attempts, 2);
  EXPECT_EQ(report.elapsed, Seconds(1));
}

TEST_F(EngineReportTest,
       ReportOfAWaitEndedInItsSleepHasTheStatusOfItsLastPoll) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    for (const bool shuts_down : {false, true}) {
      Results results;
      {
        WaitEngine engine(Simulated(level));
        WaitHandle wait =
            engine.Start(Waiter([] { return Throttled("too many requests"); },
                                EverySecond()),
                         results.Take());
        engine.RunDue();
        clock_.AdvanceTime(Milliseconds(100));
        if (!shuts_down) wait.Cancel();
        engine.RunDue();
        wait.Detach();
      }

      ASSERT_THAT(results.reasons(),
                  ElementsAre(shuts_down ? StopReason::kShutDown
                                         : StopReason::kCancelled));
      const WaitReport& report = results.reports()[0];
      EXPECT_EQ(report.status.code(), StatusCode::kCancelled);
      EXPECT_EQ(report.attempts, 1);
      EXPECT_EQ(report.elapsed, Milliseconds(100));
      EXPECT_EQ(report.last_poll.status(), PollStatus::kThrottled);
      if (level == ReportLevel::kFull) {
        EXPECT_EQ(report.last_poll.detail(), "too many requests");
        EXPECT_THAT(std::string(report.status.message()),
                    HasSubstr("too many requests"));
        EXPECT_EQ(report.count(PollStatus::kThrottled), 1);
        EXPECT_EQ(report.slept, Milliseconds(100));
        ASSERT_TRUE(report.first_error.has_value());
        EXPECT_EQ(report.first_error->detail(), "too many requests");
      }
    }
  }
}

TEST_F(EngineReportTest,
       ReportOfAWaitEndedBeforeItBeganHasNothingOfEarlierOnes) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    Results results;
    {
      WaitEngine engine(Simulated(level));
      polls_ = 0;
      engine
          .Start(Waiter([this] { return ++polls_ == 3; }, EverySecond()),
                 [](const WaitResult<>&) {})
          .Detach();
      engine.Run();
      clock_.AdvanceTime(Seconds(10));
      engine.Start(NeverReady(), results.Take()).Detach();
    }

    ASSERT_THAT(results.reasons(), ElementsAre(StopReason::kShutDown));
    const WaitReport& report = results.reports()[0];
    EXPECT_EQ(report.attempts, 0);
    EXPECT_EQ(report.elapsed, ZeroDuration());
    EXPECT_EQ(report.slept, ZeroDuration());
    EXPECT_EQ(report.longest_poll, ZeroDuration());
    EXPECT_THAT(report.counts, Each(0));
  }
}

TEST_F(EngineReportTest, FullReportsOfWaitsUnderWayAreKeptApart) {
  WaitEngine engine(Simulated(ReportLevel::kFull));
  const auto succeed_after = [&](int polls) {
    engine
        .Start(Waiter([polls]() mutable { return --polls < 0; }, EverySecond()),
               results_.Take())
        .Detach();
  };
  succeed_after(2);
  succeed_after(4);

  engine.Run();

  ASSERT_THAT(results_.reports(), SizeIs(2));
  EXPECT_THAT(results_.reports()[0].counts, ElementsAre(1, 2, 0, 0, 0));
  EXPECT_THAT(results_.reports()[1].counts, ElementsAre(1, 4, 0, 0, 0));
}

TEST_F(EngineReportTest, FullReportHasATextOfAPollWithoutAnError) {
  WaitEngine engine(Simulated(ReportLevel::kFull));
  WaitHandle wait =
      engine.Start(Waiter([] { return NotReady("CREATING"); }, EverySecond()),
                   results_.Take());
  engine.RunDue();
  wait.Cancel();
  engine.RunDue();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(results_.reports()[0].last_poll.detail(), "CREATING");
}

TEST_F(EngineReportTest, FullReportHasAnErrorWithoutAText) {
  WaitEngine engine(Simulated(ReportLevel::kFull));
  ScriptedPoll<> script(clock_, {Throttled(), NotReady(), Success()});
  engine.Start(Waiter(std::ref(script), EverySecond()), results_.Take())
      .Detach();
  engine.Run();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  ASSERT_TRUE(results_.reports()[0].first_error.has_value());
  EXPECT_EQ(results_.reports()[0].first_error->status(),
            PollStatus::kThrottled);
}

TEST_F(EngineReportTest, LeanReportHasNoTextOfAnotherWait) {
  WaitEngine engine(Simulated(ReportLevel::kLean));
  WaitHandle silent = engine.Start(
      Waiter([] { return NotReady(); }, EverySecond()), results_.Take());
  const WaitHandle other =
      engine.Start(Waiter([] { return NotReady("CREATING"); }, EverySecond()),
                   [](const WaitResult<>&) {});
  engine.RunDue();
  silent.Cancel();
  engine.RunDue();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(results_.reports()[0].last_poll.detail(), "");
}

TEST_F(EngineReportTest, WaitThatIsCancelledBetweenPollsHasNoneUnderWay) {
  WaitEngine engine(Simulated(ReportLevel::kFull));
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), results_.Take());
  engine.RunDue();
  ASSERT_GT(polls_, 0);
  wait.Cancel();
  engine.RunDue();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_THAT(std::string(results_.reports()[0].status.message()),
              Not(HasSubstr("not answered")));
}

// Such a wait keeps all of a report.
TEST_F(EngineReportTest, LeanReportOfAWaitWithAHistoryIsFull) {
  for (const int history : {0, 10}) {
    Results results;
    WaitEngine engine(Simulated(ReportLevel::kLean));
    WaitOptions options = EverySecond();
    options.hooks.history_limit = history;
    engine
        .Start(Waiter([polls = 0]() mutable { return ++polls == 4; }, options),
               results.Take())
        .Detach();
    engine.Run();

    const WaitReport& report = results.reports().at(0);
    const bool is_full = history != 0;
    EXPECT_EQ(report.count(PollStatus::kNotReady), is_full ? 3 : 0);
    EXPECT_EQ(report.slept, Seconds(is_full ? 3 : 0));
    EXPECT_THAT(report.history, SizeIs(is_full ? 4 : 0));
  }
}

// The last status is part of a lean report, too.
TEST_F(EngineReportTest, ContextOfAPollHasTheTimesAndTheLastStatus) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    WaitEngine engine(Simulated(level));
    WaitOptions options = EverySecond(Seconds(3));
    options.poll_timeout = Seconds(2);
    const absl::Duration start = clock_.Elapsed();
    polls_ = 0;
    const auto poll = [&](const PollContext& context) {
      EXPECT_EQ(context.attempt, polls_ + 1);
      EXPECT_EQ(context.elapsed, clock_.Elapsed() - start);
      EXPECT_EQ(context.remaining, Seconds(3) - context.elapsed);
      EXPECT_EQ(context.deadline, clock_.TimeNow() + context.timeout);
      if (polls_ == 0) {
        EXPECT_EQ(context.last_status, std::nullopt);
      } else {
        EXPECT_EQ(context.last_status, PollStatus::kNotReady);
      }
      return CountPoll(false);
    };
    engine.Start(Waiter(poll, options), results_.Take()).Detach();
    engine.Run();
    EXPECT_EQ(polls_, 4);
  }
}

// Observers and quotas that waits share learn of every end.

class CountsDones : public WaitObserver {
 public:
  const std::vector<StopReason>& dones() const { return dones_; }
  void OnDone(const WaitIdentity&, const WaitReport& report) override {
    dones_.push_back(report.reason);
  }

 private:
  std::vector<StopReason> dones_;
};

TEST_F(EngineReportTest, ObserverSeesEveryEndOnce) {
  CountsDones observer;
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(observer);
  {
    WaitEngine engine(Simulated());
    const auto start = [&](PollStatus answer) {
      return engine.Start(Waiter([answer] { return answer; }, options),
                          [](const WaitResult<>&) {});
    };
    WaitHandle shut_down = start(PollStatus::kNotReady);
    WaitHandle cancelled = start(PollStatus::kNotReady);
    const WaitHandle succeeds = start(PollStatus::kSuccess);
    std::optional<WaitHandle> destroyed = start(PollStatus::kNotReady);
    options.max_attempts = 0;
    const WaitHandle invalid = start(PollStatus::kSuccess);
    options.max_attempts = std::nullopt;
    { const WaitHandle never_begun = start(PollStatus::kNotReady); }
    engine.RunDue();
    EXPECT_THAT(observer.dones(),
                testing::UnorderedElementsAre(StopReason::kSuccess,
                                              StopReason::kInvalidOptions,
                                              StopReason::kCancelled));
    destroyed.reset();
    engine.RunDue();
    EXPECT_THAT(observer.dones(), SizeIs(4));
    EXPECT_EQ(observer.dones().back(), StopReason::kCancelled);
    cancelled.Cancel();
    engine.RunDue();
    EXPECT_THAT(observer.dones(), SizeIs(5));
    EXPECT_EQ(observer.dones().back(), StopReason::kCancelled);
    shut_down.Detach();
  }
  EXPECT_THAT(observer.dones(), SizeIs(6));
  EXPECT_EQ(observer.dones().back(), StopReason::kShutDown);
}

TEST_F(EngineReportTest, ObserverOutlivesItsOwnersHandle) {
  auto observer = std::make_shared<CountsDones>();
  const std::weak_ptr<CountsDones> watched = observer;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.hooks.observer = std::move(observer);
  {
    const WaitHandle wait = engine.Start(
        Waiter([] { return false; }, std::move(options)), results_.Take());
    engine.RunDue();
  }
  options = {};
  ASSERT_FALSE(watched.expired());
  EXPECT_THAT(watched.lock()->dones(), IsEmpty());

  engine.RunDue();

  EXPECT_TRUE(watched.expired());
}

// The quota refunds a poll that was paid for but not made, for any reason.
TEST_F(EngineReportTest, QuotaRefundsWhatAnEndedWaitHadPaid) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    const std::shared_ptr<RetryQuota> quota =
        RetryQuota::Make({.capacity = 100}).value();
    WaitOptions options = EverySecond();
    options.errors.server_error_backoff = Every(Seconds(1));
    options.budgets.retry_quota = quota;
    const auto available = [&] {
      return quota->Available(clock_.MonotonicNow());
    };
    WaitEngineOptions engine_options = Simulated();
    engine_options.report = level;
    auto engine = std::make_unique<WaitEngine>(engine_options);
    const auto start = [&] {
      WaitHandle wait = engine->Start(
          Waiter([] { return PollStatus::kServerError; }, options),
          [](const WaitResult<>&) {});
      engine->RunDue();
      EXPECT_LT(available(), 100);
      return wait;
    };

    WaitHandle cancelled = start();
    cancelled.Cancel();
    engine->RunDue();
    EXPECT_EQ(available(), 100);
    { const WaitHandle destroyed = start(); }
    engine->RunDue();
    EXPECT_EQ(available(), 100);
    start().Detach();
    engine.reset();
    EXPECT_EQ(available(), 100);
  }
}

// The last poll of a wait that throws or is never answered.
struct LastPoll : WaitObserver {
  void AfterPoll(const PollEvent& poll) override {
    answered = poll.answered;
    found = poll.found;
    elapsed = poll.elapsed;
    took = poll.took;
  }
  bool answered = true;
  Poll<> found;
  absl::Duration elapsed;
  absl::Duration took;
};

TEST_F(EngineReportTest, UnansweredPollIsToldWithTheStatusOfTheEnd) {
  LastPoll last;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond(Seconds(10));
  options.hooks.observer = Unowned(last);
  engine
      .Start(Waiter(
                 [this]() -> bool {
                   if (++polls_ == 3) throw std::runtime_error("boom");
                   return false;
                 },
                 options),
             results_.Take())
      .Detach();
  engine.Run();
  EXPECT_FALSE(last.answered);
  EXPECT_EQ(last.found.error().code(), StatusCode::kUnknown);
  EXPECT_TRUE(results_.reports()[0].exception);

  engine
      .Start(AsyncWaiter([](const PollCompletion<>&) {}, options),
             results_.Take())
      .Detach();
  engine.Run();
  EXPECT_FALSE(last.answered);
  EXPECT_EQ(last.found.error().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(last.elapsed, Seconds(10));
  EXPECT_EQ(last.took, Seconds(10));
}

// Hooks and the handle of their wait.

// Destroys the handle of its wait in `OnDone`.
struct Destroyer : WaitObserver {
  void OnDone(const WaitIdentity& /*wait*/,
              const WaitReport& /*report*/) override {
    ++ends;
    handle.reset();
  }

  std::optional<WaitHandle> handle;
  int ends = 0;
};

TEST_F(EngineReportTest, HandleMayBeDestroyedInOnDoneOfEveryEnd) {
  enum class End { kCancel, kInvalid, kException };
  for (const End end : {End::kCancel, End::kInvalid, End::kException}) {
    for (const bool on_executor : {false, true}) {
      Destroyer observer;
      WaitEngine engine(on_executor ? Queued() : Simulated());
      WaitOptions options = EverySecond();
      options.hooks.observer = Unowned(observer);
      if (end == End::kInvalid) options.max_attempts = -1;
      observer.handle = engine.Start(Waiter(
                                         [end]() -> bool {
                                           if (end == End::kException) throw 1;
                                           return false;
                                         },
                                         options),
                                     results_.Take());
      engine.RunDue();
      if (end == End::kCancel) observer.handle->Cancel();
      RunTasks();
      engine.Run();

      EXPECT_EQ(observer.ends, 1);
      EXPECT_FALSE(observer.handle.has_value());
    }
  }
}

// The handle is destroyed in a hook of the round in which the wait begins.
TEST_F(EngineReportTest, HandleMayBeDestroyedBeforeTheFirstPoll) {
  struct Observer : WaitObserver {
    void BeforePoll(const WaitIdentity& /*wait*/,
                    int64_t /*attempt*/) override {
      handle.reset();
    }
    std::optional<WaitHandle> handle;
  } observer;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(observer);
  observer.handle = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), results_.Take());

  engine.Run();

  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
}

// Counts the hooks that come after the handle of their wait was destroyed.
class DestroyingObserver final : public WaitObserver {
 public:
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t /*attempt*/) override {
    if (!handle.has_value()) ++late_hooks;
  }
  void AfterPoll(const PollEvent& /*poll*/) override {
    if (destroys_after_poll) handle.reset();
  }
  void BeforeSleep(const SleepEvent& /*sleep*/) override {
    if (!handle.has_value()) ++late_hooks;
  }
  void OnDone(const WaitIdentity& /*wait*/, const WaitReport& report) override {
    reason = report.reason;
  }

  std::optional<WaitHandle> handle;
  bool destroys_after_poll = false;
  int late_hooks = 0;
  std::optional<StopReason> reason;
};

TEST_F(EngineReportTest, NoHookButTheLastTwoFollowsTheEndOfTheHandle) {
  for (const bool after_poll : {false, true}) {
    for (const absl::Duration delay :
         {absl::ZeroDuration(), absl::Seconds(1)}) {
      const auto observer = std::make_shared<DestroyingObserver>();
      observer->destroys_after_poll = after_poll;
      WaitEngine engine(Simulated());
      WaitOptions options = EverySecond();
      options.backoff = Every(delay);
      options.hooks.observer = observer;
      observer->handle = engine.Start(Waiter(
                                          [&] {
                                            if (!after_poll) {
                                              observer->handle.reset();
                                            }
                                            return false;
                                          },
                                          options),
                                      results_.Take());
      engine.Run();

      EXPECT_EQ(observer->late_hooks, 0);
      EXPECT_EQ(observer->reason, StopReason::kCancelled);
    }
  }
  EXPECT_THAT(results_.reports(), IsEmpty());
}

// Names.

// Waits that share a policy differ by their names.
TEST(EngineNamesTest, WaitsHaveNamesOfTheirOwn) {
  SimulatedClock clock;
  const auto policy = WaitPolicy::Make(
      {.name = "instance", .timeout = absl::Seconds(1), .clock = &clock});
  for (const ReportLevel level : {ReportLevel::kFull, ReportLevel::kLean}) {
    std::vector<std::string> messages;
    const auto take = [&](const auto& result) {
      messages.emplace_back(result.status().message().substr(0, 18));
    };
    WaitEngine engine({.threads = 0, .report = level, .clock = &clock});
    engine
        .Start(Waiter([] { return false; }, policy), take,
               {.name = "instance i-1"})
        .Detach();
    engine
        .Start(AsyncWaiter([](const PollCompletion<int>&) {}, policy), take,
               {.name = "instance i-2"})
        .Detach();
    engine.Start(Waiter([] { return false; }, policy), take).Detach();
    engine.Run();

    EXPECT_THAT(messages, testing::UnorderedElementsAre("instance i-1: time",
                                                        "instance i-2: time",
                                                        "instance: timeout "));
  }
}

TEST(EngineNamesTest, NameIsThatOfThePolicyOnceTheHandleIsDestroyed) {
  struct Names : WaitObserver {
    void OnDone(const WaitIdentity& wait, const WaitReport&) override {
      names.emplace_back(wait.name);
    }
    std::vector<std::string> names;
  };
  SimulatedClock clock;
  const auto observer = std::make_shared<Names>();
  WaitEngine engine({.threads = 0, .clock = &clock});
  WaitHandle wait = engine.Start(
      Waiter([] { return false; }, {.name = "job",
                                    .timeout = absl::Hours(1),
                                    .hooks = {.observer = observer},
                                    .clock = &clock}),
      [](const WaitResult<>&) {}, {.name = "job 7"});
  engine.RunDue();

  wait = WaitHandle();
  engine.RunDue();
  EXPECT_THAT(observer->names, testing::ElementsAre("job"));
}

}  // namespace
}  // namespace waiter::engine_report_test
