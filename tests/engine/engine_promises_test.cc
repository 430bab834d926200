// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Promises of the engine's headers that only special orders of events can test.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "waiter/stop_token.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/unowned.h"
#include "waiter/clock.h"
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

namespace waiter::engine_promises_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EnginePromisesTest : public EngineFixture {
 protected:
  void Sleep(absl::Duration duration) {
    clock_.SleepUntil(
        clock_.MonotonicNow() + absl::ToChronoNanoseconds(duration), {},
        "a slow poll");
  }

  // Runs an asynchronous wait of 10 s that is answered at `time`, while a poll
  // of another wait takes from 9.7 s to 10.2 s.
  void AnswerBehindASlowPoll(absl::Duration time) {
    WaitEngine engine(Simulated());
    std::optional<PollCompletion<>> completion;
    const WaitHandle asynchronous = engine.Start(
        AsyncWaiter([&](const PollCompletion<>& done) { completion = done; },
                    EverySecond(absl::Seconds(10))),
        results_.Take());
    engine.RunDue();
    clock_.CallAt(time, [&] { (*completion)(true); });
    WaitOptions slow = EverySecond();
    slow.polls.first_delay = absl::Milliseconds(9700);
    const WaitHandle synchronous =
        engine.Start(Waiter(
                         [this] {
                           Sleep(absl::Milliseconds(500));
                           return true;
                         },
                         slow),
                     [](const WaitResult<>&) {});
    engine.Run();
  }
};

// Destroys a handle in one of its hooks.
class Destroyer : public WaitObserver {
 public:
  enum class Hook { kBeforePoll, kAfterPoll, kBeforeSleep, kOnDone };

  explicit Destroyer(Hook hook) : hook_(hook) {}

  void BeforePoll(const WaitIdentity& /*wait*/, int64_t /*attempt*/) override {
    DestroyIn(Hook::kBeforePoll);
  }
  void AfterPoll(const PollEvent& /*poll*/) override {
    DestroyIn(Hook::kAfterPoll);
  }
  void BeforeSleep(const SleepEvent& /*sleep*/) override {
    DestroyIn(Hook::kBeforeSleep);
  }
  void OnDone(const WaitIdentity& /*wait*/,
              const WaitReport& /*report*/) override {
    ++ends_;
    DestroyIn(Hook::kOnDone);
  }

  std::optional<WaitHandle> wait_;
  int ends_ = 0;

 private:
  void DestroyIn(Hook hook) {
    if (hook == hook_) wait_.reset();
  }

  const Hook hook_;
};

TEST_F(EnginePromisesTest, HandleMayBeDestroyedInAnyHook) {
  for (const auto hook :
       {Destroyer::Hook::kBeforePoll, Destroyer::Hook::kAfterPoll,
        Destroyer::Hook::kBeforeSleep, Destroyer::Hook::kOnDone}) {
    for (const absl::Duration first_delay :
         {absl::ZeroDuration(), absl::Seconds(3)}) {
      SCOPED_TRACE(static_cast<int>(hook));
      Destroyer observer(hook);
      polls_ = 0;
      Results results;
      WaitEngine engine(Simulated());
      WaitOptions options = EverySecond(absl::Seconds(5));
      options.polls.first_delay = first_delay;
      options.hooks.observer = Unowned(observer);
      observer.wait_ = engine.Start(
          Waiter([this] { return CountPoll(false); }, options), results.Take());

      engine.Run();

      EXPECT_FALSE(observer.wait_.has_value());
      EXPECT_EQ(observer.ends_, 1);
      if (hook == Destroyer::Hook::kBeforePoll) {
        EXPECT_EQ(polls_, 0);
      }
      if (hook != Destroyer::Hook::kOnDone) {
        EXPECT_THAT(results.reports(), IsEmpty());
      }
    }
  }
}

TEST_F(EnginePromisesTest, HandleMayBeDestroyedInOnDoneOfACancelledWait) {
  Destroyer observer(Destroyer::Hook::kOnDone);
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(observer);
  observer.wait_ = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), results_.Take());
  engine.RunDue();

  observer.wait_->Cancel();
  engine.Run();

  EXPECT_EQ(observer.ends_, 1);
  EXPECT_FALSE(observer.wait_.has_value());
}

TEST_F(EnginePromisesTest, HandleMayBeDestroyedInOnDoneOfInvalidOptions) {
  Destroyer observer(Destroyer::Hook::kOnDone);
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.max_attempts = -1;
  options.hooks.observer = Unowned(observer);
  observer.wait_ = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), results_.Take());

  engine.Run();

  EXPECT_FALSE(observer.wait_.has_value());
}

TEST_F(EnginePromisesTest, HandleMayBeDestroyedInOnDoneOfAThrowOnAnExecutor) {
  Destroyer observer(Destroyer::Hook::kOnDone);
  std::vector<absl::AnyInvocable<void()>> tasks;
  WaitEngineOptions engine_options = Simulated();
  engine_options.executor = [&](absl::AnyInvocable<void()> task) {
    tasks.push_back(std::move(task));
  };
  WaitEngine engine(engine_options);
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(observer);
  observer.wait_ = engine.Start(
      Waiter([]() -> bool { throw std::runtime_error("boom"); }, options),
      results_.Take());
  engine.RunDue();
  ASSERT_EQ(tasks.size(), 1);

  std::move(tasks[0])();
  engine.Run();

  EXPECT_EQ(observer.ends_, 1);
  EXPECT_FALSE(observer.wait_.has_value());
}

// The callback of one wait destroys the handle of a second, whose task owns the
// handle of the first.
TEST_F(EnginePromisesTest, TasksMayOwnEachOthersHandles) {
  WaitEngine engine(Simulated());
  auto first = std::make_shared<std::optional<WaitHandle>>();
  std::optional<WaitHandle> second = engine.Start(
      Waiter([this, first] { return CountPoll(false); }, EverySecond()),
      results_.Take());
  *first = engine.Start(Waiter([] { return true; }, EverySecond()),
                        [&second, this](WaitResult<> result) {
                          second.reset();
                          results_.Take()(std::move(result));
                        });
  first.reset();

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EnginePromisesTest, AnswerGivenInTimeIsNotLostBehindASlowPoll) {
  AnswerBehindASlowPoll(absl::Milliseconds(9800));

  ASSERT_EQ(results_.reports().size(), 1);
  EXPECT_EQ(results_.reports()[0].reason, StopReason::kSuccess);
  EXPECT_FALSE(results_.reports()[0].late);
  EXPECT_EQ(results_.reports()[0].elapsed, absl::Milliseconds(9800));
}

TEST_F(EnginePromisesTest, AnswerOfAnotherThreadIsNotLostBehindASlowPoll) {
  WaitEngine engine(Simulated());
  std::optional<PollCompletion<>> completion;
  const WaitHandle asynchronous = engine.Start(
      AsyncWaiter([&](const PollCompletion<>& done) { completion = done; },
                  EverySecond(absl::Seconds(10))),
      results_.Take());
  WaitOptions slow = EverySecond();
  slow.polls.first_delay = absl::Milliseconds(9700);
  const WaitHandle synchronous =
      engine.Start(Waiter(
                       [&] {
                         std::thread([&] { (*completion)(true); }).join();
                         Sleep(absl::Milliseconds(500));
                         return true;
                       },
                       slow),
                   [](const WaitResult<>&) {});

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EnginePromisesTest, AnswerGivenAfterTheDeadlineIsTooLate) {
  AnswerBehindASlowPoll(absl::Milliseconds(10100));

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
}

TEST_F(EnginePromisesTest, AnswerGivenAtTheDeadlineIsInTime) {
  AnswerBehindASlowPoll(absl::Seconds(10));

  ASSERT_EQ(results_.reports().size(), 1);
  EXPECT_EQ(results_.reports()[0].reason, StopReason::kSuccess);
  EXPECT_FALSE(results_.reports()[0].late);
}

// Two polls are in progress, and a third wait polls at the deadline of both.
// That poll answers one of the two, which is in time.
TEST_F(EnginePromisesTest, AnswerAtTheDeadlineConcernsItsWaitAlone) {
  for (const size_t answered : {size_t{0}, size_t{1}}) {
    SCOPED_TRACE(answered);
    SimulatedClock clock;
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock});
    std::vector<PollCompletion<>> completions;
    std::vector<std::vector<StopReason>> ends(2);
    std::vector<WaitHandle> waits;
    waits.push_back(
        engine.Start(Waiter(
                         [&] {
                           completions[answered](true);
                           return true;
                         },
                         {.timeout = absl::Hours(1),
                          .polls = {.first_delay = absl::Seconds(10)},
                          .clock = &clock}),
                     [](const WaitResult<>&) {}));
    for (std::vector<StopReason>& end : ends) {
      waits.push_back(engine.Start(
          AsyncWaiter(
              [&](const PollCompletion<>& done) {
                completions.push_back(done);
              },
              {.timeout = absl::Seconds(10), .clock = &clock}),
          [&](const WaitResult<>& result) { end.push_back(result.reason()); }));
    }
    engine.RunDue();
    ASSERT_EQ(completions.size(), 2);

    clock.AdvanceTime(absl::Seconds(10));
    EXPECT_EQ(engine.RunDue(), MonotonicTime::max());

    EXPECT_THAT(ends[answered], ElementsAre(StopReason::kSuccess));
    EXPECT_THAT(ends[1 - answered], ElementsAre(StopReason::kDeadline));
  }
}

// At 1 s one wait starts, whose status function answers immediately, and the
// first poll of another one is due.
TEST_F(EnginePromisesTest, AnswersGivenWithinStatusFunctionsComeBeforeTimers) {
  WaitEngine engine(Simulated());
  WaitOptions delayed = EverySecond();
  delayed.polls.first_delay = absl::Seconds(1);
  std::vector<std::string_view> ended;
  const WaitHandle by_timer =
      engine.Start(Waiter([] { return true; }, delayed),
                   [&](const WaitResult<>&) { ended.push_back("by timer"); });
  engine.RunDue();
  clock_.AdvanceTime(absl::Seconds(1));
  const WaitHandle by_answer =
      engine.Start(AsyncWaiter([](const PollCompletion<>& done) { done(true); },
                               EverySecond()),
                   [&](const WaitResult<>&) { ended.push_back("by answer"); });

  engine.RunDue();

  EXPECT_THAT(ended, ElementsAre("by answer", "by timer"));
}

#if defined(__GLIBC__)
// 30 rounds of 3000 waits would need 10 MB if no record were used again.
TEST_F(EnginePromisesTest, RecordsOfEndedWaitsServeLaterStarts) {
  WaitEngine engine(Simulated());
  const auto policy = WaitPolicy::Make(EverySecond());
  const auto memory = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const auto run_rounds = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 3000; ++i) {
        engine
            .Start(Waiter([] { return true; }, policy),
                   [](const WaitResult<>&) {})
            .Detach();
      }
      engine.RunDue();
    }
  };
  run_rounds(3);
  const size_t before = memory();

  run_rounds(30);

  EXPECT_LT(memory(), before + (size_t{3} << 20));
}
#endif

TEST_F(EnginePromisesTest, LateAnswerIsNotTakenForThatOfALaterWait) {
  WaitEngine engine(Simulated());
  std::vector<PollCompletion<>> completions;
  const auto start = [&] {
    return engine.Start(
        AsyncWaiter(
            [&](const PollCompletion<>& done) { completions.push_back(done); },
            EverySecond(absl::Seconds(1))),
        results_.Take());
  };
  // The first wait ends at its deadline, 1 s, without an answer. A poll at 2 s
  // starts the second, which gets the memory of the first.
  const WaitHandle first = start();
  WaitOptions at_two = EverySecond();
  at_two.polls.first_delay = absl::Seconds(2);
  std::optional<WaitHandle> second;
  const WaitHandle starter = engine.Start(Waiter(
                                              [&] {
                                                second = start();
                                                return true;
                                              },
                                              at_two),
                                          [](const WaitResult<>&) {});
  MonotonicTime next = engine.RunDue();
  while (completions.size() < 2) {
    clock_.SleepUntil(next, {}, "the next timer");
    next = engine.RunDue();
  }
  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));

  completions[0](true);
  engine.RunDue();
  EXPECT_EQ(results_.reports().size(), 1U);

  completions[1](true);
  engine.RunDue();
  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kDeadline, StopReason::kSuccess));
}

TEST_F(EnginePromisesTest, SlackDoesNotStretchAPollThatNeverAnswers) {
  WaitEngineOptions options = Simulated();
  options.relative_slack = 0.125;
  WaitEngine engine(options);
  WaitHandle wait = engine.Start(AsyncWaiter([](const PollCompletion<>&) {},
                                             EverySecond(absl::Minutes(5))),
                                 results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_EQ(clock_.Elapsed(), absl::Minutes(5));
}

TEST_F(EnginePromisesTest, SlackLeavesTheLeadOfTheFinalPoll) {
  WaitEngineOptions options = Simulated();
  options.relative_slack = 1;
  WaitEngine engine(options);
  std::vector<absl::Duration> polls;
  WaitOptions wait_options = EverySecond(absl::Seconds(20));
  wait_options.backoff = Every(absl::Seconds(60));
  wait_options.polls.last_lead = absl::Seconds(5);
  WaitHandle wait = engine.Start(Waiter(
                                     [&] {
                                       polls.push_back(clock_.Elapsed());
                                       return false;
                                     },
                                     wait_options),
                                 results_.Take());

  engine.Run();

  EXPECT_THAT(polls, ElementsAre(absl::ZeroDuration(), absl::Seconds(15)));
}

TEST_F(EnginePromisesTest, RunDueReturnsMaxAfterTheOnlyWaitWasCancelled) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), results_.Take());
  EXPECT_LT(engine.RunDue(), MonotonicTime::max());

  wait.Cancel();

  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

// The first answer comes after 1 s and the second one, a success, at 3 s.
TEST_F(EnginePromisesTest, RunDueReturnsMaxAfterAnAsynchronousWaitHasEnded) {
  WaitEngine engine(Simulated());
  std::optional<PollCompletion<>> completion;
  const WaitHandle wait = engine.Start(
      AsyncWaiter([&](const PollCompletion<>& done) { completion = done; },
                  EverySecond()),
      results_.Take());
  engine.RunDue();
  clock_.AdvanceTime(absl::Seconds(1));
  (*completion)(false);
  engine.RunDue();
  clock_.AdvanceTime(absl::Seconds(1));
  engine.RunDue();
  clock_.AdvanceTime(absl::Seconds(1));
  (*completion)(true);

  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EnginePromisesTest, ExceptionOfACallbackAfterAnAnswerIsHandled) {
  WaitEngineOptions options = Simulated();
  int thrown = 0;
  options.on_callback_exception = [&](const std::exception_ptr&) { ++thrown; };
  WaitEngine engine(options);
  const WaitHandle wait = engine.Start(
      AsyncWaiter([](const PollCompletion<>& done) { done(true); },
                  EverySecond()),
      [](const WaitResult<>&) { throw std::runtime_error("callback"); });

  engine.Run();

  EXPECT_EQ(thrown, 1);
}

TEST_F(EnginePromisesTest, PollQueuedOnAnExecutorDoesNotRunAfterCancel) {
  std::vector<absl::AnyInvocable<void()>> tasks;
  WaitEngineOptions options = Simulated();
  options.executor = [&](absl::AnyInvocable<void()> task) {
    tasks.push_back(std::move(task));
  };
  WaitEngine engine(options);
  WaitHandle wait =
      engine.Start(Waiter([this] { return CountPoll(true); }, EverySecond()),
                   results_.Take());
  engine.RunDue();
  ASSERT_EQ(tasks.size(), 1);

  wait.Cancel();
  std::move(tasks[0])();
  engine.RunDue();

  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

// A clock whose cheap reading is up to `kTick` old, as a coarse clock may be.
class CoarseClock final : public Clock {
 public:
  static constexpr std::chrono::milliseconds kTick{4};

  absl::Time TimeNow() override { return clock_.TimeNow(); }
  MonotonicTime MonotonicNow() override { return clock_.MonotonicNow(); }
  MonotonicTime MonotonicNowBefore(MonotonicTime /*limit*/) override {
    const auto since = MonotonicNow().time_since_epoch();
    return MonotonicTime(since - since % kTick);
  }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override {
    clock_.SleepUntil(wake_up, stop, who);
  }

 private:
  SimulatedClock clock_;
};

// Many quick polls share a reading of the clock, and one of them is not quick.
TEST(EnginePromises, SharedReadingsDoNotUndercutLeastDelays) {
  for (const absl::Duration tick :
       {absl::ZeroDuration(), absl::Milliseconds(1)}) {
    for (const bool by_hint : {false, true}) {
      SCOPED_TRACE(by_hint);
      constexpr absl::Duration kLeast = absl::Milliseconds(20);
      CoarseClock clock;
      WaitEngine engine({.threads = 0, .tick = tick, .clock = &clock});
      struct Wait {
        absl::Time last_end = absl::InfinitePast();
        absl::Duration shortest = absl::InfiniteDuration();
        int polls = 0;
      };
      std::vector<Wait> waits(64);
      const auto policy = WaitPolicy::Make(
          {.timeout = absl::InfiniteDuration(),
           .max_attempts = 20,
           .backoff = {.initial_delay =
                           by_hint ? absl::Milliseconds(1) : kLeast,
                       .max_delay = kLeast,
                       .multiplier = 1,
                       .jitter = Jitter::None(),
                       .min_delay = by_hint ? absl::ZeroDuration() : kLeast},
           .clock = &clock});
      for (Wait& wait : waits) {
        engine
            .Start(Waiter(
                       [&]() -> waiter::Poll<> {
                         wait.shortest = std::min(
                             wait.shortest, clock.TimeNow() - wait.last_end);
                         const bool slow = ++wait.polls % 7 == 0;
                         clock.SleepUntil(
                             clock.MonotonicNow() +
                                 (slow ? std::chrono::microseconds(2900)
                                       : std::chrono::microseconds(0)),
                             {}, "a poll");
                         wait.last_end = clock.TimeNow();
                         return by_hint ? NotReady("", kLeast) : NotReady();
                       },
                       policy),
                   [](const WaitResult<>&) {})
            .Detach();
      }

      engine.Run();

      for (const Wait& wait : waits) EXPECT_GE(wait.shortest, kLeast);
    }
  }
}

// In one round, 8 waits succeed immediately, and another one in 2.9 ms. On this
// clock the reading that the quick polls share looks recent enough at its end.
TEST(EnginePromises, TickOfZeroMeasuresAPollBehindQuickOnesExactly) {
  CoarseClock clock;
  WaitEngine engine(
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock});
  Results results;
  for (int i = 0; i < 9; ++i) {
    engine
        .Start(Waiter(
                   [&clock, i] {
                     clock.SleepUntil(
                         clock.MonotonicNow() +
                             std::chrono::microseconds(i < 8 ? 0 : 2900),
                         {}, "a poll");
                     return true;
                   },
                   {.timeout = absl::Hours(1), .clock = &clock}),
               results.Take())
        .Detach();
  }

  engine.Run();

  ASSERT_EQ(results.reports().size(), 9);
  EXPECT_EQ(results.reports()[8].elapsed, absl::Microseconds(2900));
}

// Records which polls began and ended.
class PollPairs : public WaitObserver {
 public:
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t attempt) override {
    begun_.push_back(attempt);
  }
  void AfterPoll(const PollEvent& poll) override {
    ended_.push_back(poll.attempt);
    last_answered_ = poll.answered;
    last_ = poll.found;
  }
  void OnDone(const WaitIdentity& /*wait*/, const WaitReport& report) override {
    EXPECT_EQ(begun_, ended_);
    done_ = true;
    had_exception_ = report.exception != nullptr;
  }

  std::vector<int64_t> begun_;
  std::vector<int64_t> ended_;
  bool last_answered_ = true;
  bool had_exception_ = false;
  bool done_ = false;
  waiter::Poll<> last_;
};

TEST_F(EnginePromisesTest, PollThatThrowsHasAnAfterPoll) {
  PollPairs pairs;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(pairs);
  const WaitHandle wait = engine.Start(Waiter(
                                           [this]() -> bool {
                                             if (++polls_ < 3) return false;
                                             throw std::runtime_error("boom");
                                           },
                                           options),
                                       results_.Take());

  engine.Run();

  EXPECT_TRUE(pairs.done_);
  EXPECT_TRUE(pairs.had_exception_);
  EXPECT_THAT(pairs.ended_, ElementsAre(1, 2, 3));
  EXPECT_FALSE(pairs.last_answered_);
  EXPECT_EQ(pairs.last_.error().code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(results_.reports()[0].attempts, 2);
}

TEST_F(EnginePromisesTest, PollThatNeverAnswersHasAnAfterPoll) {
  PollPairs pairs;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond(absl::Seconds(10));
  options.hooks.observer = Unowned(pairs);
  const WaitHandle wait = engine.Start(
      AsyncWaiter([](const PollCompletion<>&) {}, options), results_.Take());

  engine.Run();

  EXPECT_TRUE(pairs.done_);
  EXPECT_THAT(pairs.ended_, ElementsAre(1));
  EXPECT_FALSE(pairs.last_answered_);
  EXPECT_EQ(pairs.last_.error().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(EnginePromisesTest, ObserverOutlivesItsOwnersHandle) {
  auto observer = std::make_shared<PollPairs>();
  const std::weak_ptr<PollPairs> watched = observer;
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
  EXPECT_FALSE(watched.lock()->done_);

  engine.RunDue();

  EXPECT_TRUE(watched.expired());
}

TEST_F(EnginePromisesTest, StaleTimersOfLiveWaitsAreKeptBySweeps) {
  WaitEngine engine(Simulated());
  const WaitHandle lives = engine.Start(
      Waiter([this] { return CountPoll(false); }, EverySecond(absl::Hours(2))),
      results_.Take());
  engine.RunDue();
  // Each cancelled wait leaves a stale timer, far more than a sweep tolerates.
  for (int round = 0; round < 5; ++round) {
    std::vector<WaitHandle> cancelled;
    for (int i = 0; i < 1000; ++i) {
      cancelled.push_back(engine.Start(
          Waiter([] { return false; }, EverySecond(absl::Hours(3))),
          [](const WaitResult<>&) {}));
    }
    engine.RunDue();
    cancelled.clear();
    engine.RunDue();
  }

  engine.Run();

  EXPECT_EQ(polls_, 7201);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
}

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

// A sleep holds up all waits of the thread.
TEST(EngineBlockingDeathTest, BlockingSleepInAStatusFunctionIsReported) {
  const auto block = [] {
    SimulatedClock clock;
    WaitEngine engine({.threads = 0, .clock = &clock});
    const WaitOptions options = {.timeout = absl::Seconds(9), .clock = &clock};
    engine
        .Start(Waiter(
                   [&] {
                     return Waiter([] { return false; }, options).Wait().ok();
                   },
                   options),
               [](const WaitResult<>&) {})
        .Detach();
    engine.RunDue();
    EXPECT_GT(engine.blocking_sleeps(), 1);
  };
  EXPECT_DEBUG_DEATH(block(), "holds up all waits of that thread");
}

TEST(EngineBlockingTest, BlockingWaitThatDoesNotSleepIsNoReport) {
  SimulatedClock clock;
  WaitEngine engine({.threads = 0, .clock = &clock});
  const WaitOptions options = {.timeout = absl::Seconds(9), .clock = &clock};
  engine
      .Start(
          Waiter(
              [&] { return Waiter([] { return true; }, options).Wait().ok(); },
              options),
          [](const WaitResult<>&) {})
      .Detach();
  engine.Run();
  EXPECT_FALSE(
      Waiter([] { return false; }, options).Wait().ok());  // Outside of it.
  EXPECT_EQ(engine.blocking_sleeps(), 0);
}

// An answer given in time counts from then, although the thread was busy until
// after the deadline. An observer adds only the time that it takes itself.
TEST(EngineObserverTest, AnswerCountsByTheTimeItWasGivenWithAnObserver) {
  struct Slow : WaitObserver {
    void AfterPoll(const PollEvent& /*poll*/) override {
      clock->AdvanceTime(takes);
    }
    SimulatedClock* clock;
    absl::Duration takes;
  };
  for (const std::optional<absl::Duration> takes :
       {std::optional<absl::Duration>(), std::optional(absl::ZeroDuration()),
        std::optional(absl::Seconds(2))}) {
    SimulatedClock clock;
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock});
    std::optional<PollCompletion<>> completion;
    std::optional<WaitReport> report;
    int polls = 0;
    WaitOptions options = {.timeout = absl::Seconds(10),
                           .backoff = {.initial_delay = absl::Seconds(4),
                                       .jitter = Jitter::None()},
                           .clock = &clock};
    if (takes.has_value()) {
      auto observer = std::make_shared<Slow>();
      observer->clock = &clock;
      observer->takes = *takes;
      options.hooks.observer = std::move(observer);
    }
    engine
        .Start(
            AsyncWaiter(
                [&](PollCompletion<> done) {
                  if (++polls == 1) {
                    completion = std::move(done);
                  } else {
                    done(Success());
                  }
                },
                options),
            [&](WaitResult<> result) { report = std::move(result).report(); })
        .Detach();
    engine.RunDue();
    clock.AdvanceTime(absl::Seconds(1));
    (*completion)(NotReady());
    clock.AdvanceTime(absl::Seconds(3));
    engine.Run();

    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->reason, StopReason::kSuccess);
    // The answer came after a second, and the next poll 4 s later. The hook of
    // each poll adds its time.
    EXPECT_EQ(report->elapsed,
              absl::Seconds(5) + 2 * takes.value_or(absl::ZeroDuration()));
  }
}

// Each of five functions takes 30 ms, in one round. A wait begins with its
// function, so the waits that begin at 60 ms or later are answered in time.
TEST_F(EnginePromisesTest, TimeOfAnAsynchronousWaitBeginsWithItsFunction) {
  WaitEngine engine(Simulated());
  std::vector<PollCompletion<>> completions;
  WaitOptions options = EverySecond(absl::Milliseconds(100));
  for (int i = 0; i < 5; ++i) {
    engine
        .Start(AsyncWaiter(
                   [&](PollCompletion<> done) {
                     completions.push_back(std::move(done));
                     clock_.AdvanceTime(absl::Milliseconds(30));
                   },
                   options),
               results_.Take())
        .Detach();
  }
  engine.RunDue();
  ASSERT_EQ(clock_.Elapsed(), absl::Milliseconds(150));
  for (const PollCompletion<>& done : completions) done(Success());
  engine.Run();

  EXPECT_THAT(
      results_.reasons(),
      testing::UnorderedElementsAre(
          StopReason::kDeadline, StopReason::kDeadline, StopReason::kSuccess,
          StopReason::kSuccess, StopReason::kSuccess));
}

// The same for functions on an executor that runs them immediately, but begins
// each after 30 ms.
TEST_F(EnginePromisesTest, TimeOfAWaitBeginsWithItsCallOfTheExecutor) {
  WaitEngineOptions slow = Simulated();
  slow.executor = [&](absl::AnyInvocable<void()> poll) {
    clock_.AdvanceTime(absl::Milliseconds(30));
    poll();
  };
  WaitEngine engine(slow);
  for (int i = 0; i < 5; ++i) {
    engine.Start(Waiter([] { return true; }, EverySecond()), results_.Take())
        .Detach();
  }
  engine.Run();

  ASSERT_EQ(results_.reports().size(), 5);
  for (const WaitReport& report : results_.reports()) {
    EXPECT_EQ(report.elapsed, absl::Milliseconds(30));
  }
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

TEST_F(EnginePromisesTest, NoHookButTheLastTwoFollowsTheEndOfTheHandle) {
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

// The start of another thread counts as later, although it takes another path.
TEST_F(EnginePromisesTest, WaitsBeginInTheOrderOfTheStartsOfAllThreads) {
  WaitEngine engine(Simulated());
  std::string order;
  const auto start = [&](char name) {
    engine
        .Start(Waiter(
                   [&order, name] {
                     order += name;
                     return true;
                   },
                   EverySecond()),
               results_.Take())
        .Detach();
  };
  engine
      .Start(Waiter([] { return true; }, EverySecond()),
             [&](const WaitResult<>&) {
               start('a');
               std::thread([&] { start('b'); }).join();
               start('c');
             })
      .Detach();
  engine.Run();

  EXPECT_EQ(order, "abc");
}

TEST_F(EnginePromisesTest, FirstAnswerOfAllThreadsCounts) {
  WaitEngine engine(Simulated());
  engine
      .Start(AsyncWaiter(
                 [](const PollCompletion<>& done) {
                   std::thread([&] { done(Success()); }).join();
                   done(Failed(absl::InternalError("second")));
                 },
                 EverySecond()),
             results_.Take())
      .Detach();
  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

// The captures of a call are also destroyed without the lock of the clock.
TEST_F(EnginePromisesTest, CallOfTheClockMayOwnAHandle) {
  WaitEngine engine(Simulated());
  auto handle =
      std::make_shared<WaitHandle>(engine.Start(NeverReady(), results_.Take()));
  clock_.CallAt(absl::Minutes(1), [moved = std::move(handle)] {});
  engine.Run();

  EXPECT_EQ(clock_.Elapsed(), absl::Minutes(1));
  EXPECT_EQ(held(), 0);
}

}  // namespace
}  // namespace waiter::engine_promises_test
