// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Assertions on simulated time while other threads of the code under test wait.

#include <atomic>
#include <latch>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/support/joining_thread.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/stop_token.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::eventually_threads_test {
namespace {

using ::absl::Hours;
using ::absl::Minutes;
using ::absl::Seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::SizeIs;

EventuallyOptions On(SimulatedClock& clock, absl::Duration timeout) {
  return {.timeout = timeout,
          .backoff = {.initial_delay = Seconds(1),
                      .max_delay = Minutes(5),
                      .multiplier = 2},
          .clock = &clock};
}

void Sleep(SimulatedClock& clock, absl::Duration duration, std::string_view who,
           const waiter::stop_token& stop = {}) {
  clock.SleepUntil(
      SaturatingAdd(clock.MonotonicNow(), absl::ToChronoNanoseconds(duration)),
      stop, who);
}

TEST(EventuallyThreadsTest, HoursPassWithoutWaiting) {
  SimulatedClock clock;
  bool done = false;
  clock.CallAt(Hours(5), [&] { done = true; });

  EXPECT_EVENTUALLY(done, true, On(clock, Hours(6)));
  EXPECT_GE(clock.Elapsed(), Hours(5));
  EXPECT_LE(clock.Elapsed(), Hours(5) + Minutes(5));
}

// If all events happened together, the first poll would see only the last one.
TEST(EventuallyThreadsTest, EventsOfAScriptHappenAtTheirOwnTimes) {
  SimulatedClock clock;
  std::vector<std::string> seen = {"CREATING"};
  std::string state = "CREATING";
  for (const auto& [minute, next] :
       {std::pair(10, "THROTTLED"), std::pair(12, "UPDATING"),
        std::pair(47, "DONE")}) {
    clock.CallAt(Minutes(minute), [&, then = next] { state = then; });
  }
  const auto get = [&] {
    if (seen.back() != state) seen.push_back(state);
    return state;
  };
  EventuallyOptions options = On(clock, Hours(1));
  options.backoff.max_delay = Seconds(30);

  EXPECT_EVENTUALLY(get(), "DONE", options);
  EXPECT_THAT(seen, ElementsAre("CREATING", "THROTTLED", "UPDATING", "DONE"));
}

// Two workers take turns, each with its own waits.
TEST(EventuallyThreadsTest, TimeMovesWhenAllParticipantsWait) {
  SimulatedClock clock;
  const SimulatedClock::Participant test(clock);
  std::atomic<int> finished = 0;
  std::vector<JoiningThread> workers;
  for (const absl::Duration job : {Minutes(7), Hours(2)}) {
    workers.emplace_back(
        [&, job, participant = SimulatedClock::Participant(clock)]() mutable {
          const SimulatedClock::Participant mine = std::move(participant);
          Waiter wait([&] { return clock.Elapsed() >= job; },
                      {.timeout = Hours(3), .clock = &clock});
          EXPECT_TRUE(wait.Wait().ok());
          ++finished;
        });
  }

  EXPECT_EVENTUALLY(finished, 1, On(clock, Hours(1)));
  EXPECT_GE(clock.Elapsed(), Minutes(7));
  EXPECT_LT(clock.Elapsed(), Minutes(20));
  EXPECT_EVENTUALLY(finished, 2, On(clock, Hours(3)));
  EXPECT_GE(clock.Elapsed(), Hours(2));
}

// No time passes during real work, such as input and output.
TEST(EventuallyThreadsTest, TimeStandsStillWhileAParticipantWorks) {
  SimulatedClock clock;
  std::atomic<bool> done = false;
  std::latch polled(1);
  JoiningThread worker(
      [&, participant = SimulatedClock::Participant(clock)]() mutable {
        const SimulatedClock::Participant mine = std::move(participant);
        polled.wait();
        clock.AwaitSleepers(1);
        done = true;
      });
  const SimulatedClock::Participant test(clock);
  bool first = true;
  const auto get = [&] {
    if (std::exchange(first, false)) polled.count_down();
    return done.load();
  };

  EXPECT_EVENTUALLY(get(), true, On(clock, Seconds(5)));
  EXPECT_EQ(clock.Elapsed(), Seconds(1));
}

TEST(EventuallyThreadsTest, EndlessPollingLoopDoesNotDelayTheEnd) {
  SimulatedClock clock;
  const SimulatedClock::Participant test(clock);
  std::atomic<int> rounds = 0;
  waiter::stop_source stop;
  const JoiningThread background(
      [&, participant = SimulatedClock::Participant(clock)]() mutable {
        const SimulatedClock::Participant mine = std::move(participant);
        while (!stop.stop_requested()) {
          ++rounds;
          Sleep(clock, Minutes(1), "background", stop.get_token());
        }
      });

  EXPECT_EVENTUALLY(rounds, Ge(10), On(clock, Hours(1)));
  EXPECT_GE(clock.Elapsed(), Minutes(9));
  stop.request_stop();
}

TEST(EventuallyThreadsTest, WaitForAMissingNotificationEndsAtTheLimit) {
  SimulatedClock clock;
  const std::atomic<bool> notified = false;

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(notified, true, On(clock, Hours(1)));
              }),
              HasSubstr("notified did not match within 1h\n"));
  EXPECT_EQ(clock.Elapsed(), Hours(1));
}

// A participant that never returns to the clock would hang the test.
TEST(EventuallyThreadsTest, StalledClockNamesItsSleepers) {
  std::string text;
  std::optional<SimulatedClock::Participant> blocked;
  SimulatedClock clock(SimulatedClock::Mode::kAutomatic,
                       {.stall_limit = absl::Milliseconds(1),
                        .on_stall = [&](std::string_view what) {
                          text = what;
                          blocked.reset();
                        }});
  const SimulatedClock::Participant test(clock);
  blocked.emplace(clock);

  EXPECT_EVENTUALLY(
      clock.Elapsed(), Seconds(1),
      {.name = "job 42",
       .timeout = Seconds(5),
       .backoff = {.initial_delay = Seconds(1), .max_delay = Seconds(8)},
       .clock = &clock});
  EXPECT_THAT(text, AllOf(HasSubstr("\"job 42: clock.Elapsed()\" until 1s"),
                          HasSubstr("Asleep: 1 of 2 participants")));
}

TEST(EventuallyThreadsTest, AssertionsOnSeveralThreadsStaySeparate) {
  SimulatedClock clock;
  std::latch ready(3);
  std::vector<JoiningThread> threads;
  std::vector<std::string> texts(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      const SimulatedClock::Participant participant(clock);
      ready.arrive_and_wait();
      texts[static_cast<size_t>(i)] =
          FailureOf([&] { EXPECT_EVENTUALLY(i, 100, On(clock, Minutes(10))); });
    });
  }
  threads.clear();

  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(texts[static_cast<size_t>(i)],
                HasSubstr("Actual: " + std::to_string(i) + " (poll"));
  }
}

// GoogleTest treats every assertion this way.
TEST(EventuallyThreadsTest, BlockLeavesFailuresOfOtherThreadsAlone) {
  SimulatedClock clock;
  std::vector<testing::TestPartResult> others;

  EXPECT_EVENTUALLY_PASSES(
      {
        JoiningThread([&] {
          others = PartsOf([] { ADD_FAILURE() << "elsewhere"; });
        }).join();
      },
      On(clock, Seconds(5)));
  EXPECT_THAT(others, SizeIs(1));
}

// The flag is off in the blocks, and on again after the last of them.
TEST(EventuallyThreadsTest, OverlappingBlocksRestoreTheFlagsOfGoogleTest) {
  SimulatedClock clock;
  GTEST_FLAG_SET(break_on_failure, true);
  std::latch both_began(2);
  std::latch first_ended(1);

  JoiningThread first([&] {
    EXPECT_EVENTUALLY_PASSES({ both_began.arrive_and_wait(); },
                             On(clock, Seconds(5)));
    first_ended.count_down();
  });
  EXPECT_EVENTUALLY_PASSES(
      {
        both_began.arrive_and_wait();
        first_ended.wait();
        EXPECT_FALSE(GTEST_FLAG_GET(break_on_failure));
      },
      On(clock, Seconds(5)));

  EXPECT_TRUE(GTEST_FLAG_GET(break_on_failure));
  GTEST_FLAG_SET(break_on_failure, false);
}

// Each thread has its own failures, polls and defaults.
TEST(EventuallyThreadsTest, BlocksOnSeveralThreadsStaySeparate) {
  RunThreads(/*count=*/3, [](int) {
    SimulatedClock clock;
    for (int round = 0; round < 20; ++round) {
      int runs = 0;
      EXPECT_EVENTUALLY_PASSES({ EXPECT_EQ(++runs, 3); },
                               On(clock, Seconds(5)));
      const ScopedEventuallyDefaults defaults({.timeout = Minutes(1)});
      EXPECT_EVENTUALLY(runs++, 5, {.clock = &clock});
      EXPECT_EQ(runs, 6);
    }
  });
}

}  // namespace
}  // namespace waiter::eventually_threads_test
