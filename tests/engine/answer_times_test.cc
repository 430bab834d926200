// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests which answer of an asynchronous poll counts, and from when: answers
// that come behind slow polls, around deadlines, and from other threads.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::answer_times_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class AnswerTimesTest : public EngineFixture {
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
    clock_.CallAt(clock_.Elapsed() + time, [&] { (*completion)(true); });
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

TEST_F(AnswerTimesTest, AnswerBehindASlowPollCountsByTheTimeItWasGiven) {
  AnswerBehindASlowPoll(absl::Milliseconds(9800));
  AnswerBehindASlowPoll(absl::Seconds(10));
  AnswerBehindASlowPoll(absl::Milliseconds(10100));

  ASSERT_THAT(results_.reasons(),
              ElementsAre(StopReason::kSuccess, StopReason::kSuccess,
                          StopReason::kDeadline));
  EXPECT_EQ(results_.reports()[0].elapsed, absl::Milliseconds(9800));
  EXPECT_FALSE(results_.reports()[0].late);
  EXPECT_FALSE(results_.reports()[1].late);
}

TEST_F(AnswerTimesTest, AnswerOfAnotherThreadIsNotLostBehindASlowPoll) {
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

// Two polls are in progress, and a third wait polls at the deadline of both.
// The third poll completes one of the two, whose answer is then in time.
TEST_F(AnswerTimesTest, AnswerAtTheDeadlineConcernsItsWaitAlone) {
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
TEST_F(AnswerTimesTest, AnswersGivenWithinStatusFunctionsComeBeforeTimers) {
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

// An answer given in time counts from then, although the thread was busy until
// after the deadline. An observer adds only the time that it takes itself.
TEST(AnswerObserverTest, AnswerCountsByTheTimeItWasGivenWithAnObserver) {
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
TEST_F(AnswerTimesTest, TimeOfAnAsynchronousWaitBeginsWithItsFunction) {
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

// A wait of 10 s whose poll at the deadline is answered after `answered`.
struct LastPoll {
  absl::Duration poll_timeout;
  absl::Duration earlier_polls_take;
  absl::Duration answered;
  absl::Duration limit;  // Until when an answer counts.
  bool strict = false;
};

// The limit is the poll timeout, or without it twice the longest poll, and at
// least a second.
TEST_F(AnswerTimesTest, PollAtTheDeadlineIsGivenTime) {
  constexpr absl::Duration kNone = absl::InfiniteDuration();
  constexpr absl::Duration kQuick = absl::ZeroDuration();
  for (const LastPoll& last : std::vector<LastPoll>{
           {absl::Seconds(3), kQuick, absl::Seconds(2), absl::Seconds(3)},
           {absl::Seconds(3), kQuick, absl::Seconds(4), absl::Seconds(3)},
           {absl::Seconds(3), kQuick, absl::Seconds(2), kQuick, true},
           {kNone, kQuick, absl::Milliseconds(900), absl::Seconds(1)},
           {kNone, kQuick, absl::Milliseconds(1100), absl::Seconds(1)},
           {kNone, absl::Seconds(2), absl::Seconds(3), absl::Seconds(4)},
           {kNone, absl::Seconds(2), absl::Seconds(5), absl::Seconds(4)}}) {
    SCOPED_TRACE(last.answered);
    SimulatedClock clock;
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock});
    Results results;
    const auto ask = [&](const PollCompletion<>& done) {
      const bool is_last = clock.Elapsed() >= absl::Seconds(10);
      clock.CallAt(
          clock.Elapsed() + (is_last ? last.answered : last.earlier_polls_take),
          [done, is_last] { done(is_last); });
    };
    engine
        .Start(AsyncWaiter(ask, {.timeout = absl::Seconds(10),
                                 .poll_timeout = last.poll_timeout,
                                 .backoff = Every(absl::Seconds(4)),
                                 .polls = {.strict_deadline = last.strict},
                                 .clock = &clock}),
               results.Take())
        .Detach();
    engine.Run();

    ASSERT_THAT(results.reports(), SizeIs(1));
    const bool counts = last.answered <= last.limit;
    EXPECT_EQ(results.reasons()[0],
              counts ? StopReason::kSuccess : StopReason::kDeadline);
    EXPECT_TRUE(results.reports()[0].late || !counts);
    if (!last.strict) {
      EXPECT_EQ(results.reports()[0].elapsed,
                absl::Seconds(10) + std::min(last.answered, last.limit));
    }
  }
}

TEST_F(AnswerTimesTest, FirstAnswerOfAllThreadsCounts) {
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

// The first answer comes after 1 s and the second one, a success, at 3 s.
TEST_F(AnswerTimesTest, RunDueReturnsMaxAfterAnAsynchronousWaitHasEnded) {
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

}  // namespace
}  // namespace waiter::answer_times_test
