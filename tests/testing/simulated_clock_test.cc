// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/simulated_clock.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <mutex>
#include <optional>
#include <random>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::simulated_clock_test {
namespace {

using ::absl::Hours;
using ::absl::Seconds;
using ::absl::ZeroDuration;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Mode = SimulatedClock::Mode;

void Sleep(SimulatedClock& clock, absl::Duration duration,
           const waiter::stop_token& stop = {}, std::string_view who = "test") {
  clock.SleepUntil(
      SaturatingAdd(clock.MonotonicNow(), absl::ToChronoNanoseconds(duration)),
      stop, who);
}

TEST(SimulatedClockTest, ClockStartsIn2026AtZero) {
  SimulatedClock clock;

  EXPECT_EQ(clock.TimeNow(), absl::FromCivil(absl::CivilSecond(2026, 1, 1),
                                             absl::UTCTimeZone()));
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
  EXPECT_LT(clock.MonotonicNow(), MonotonicTime::max());
}

TEST(SimulatedClockTest, SleepMovesAllScalesEqually) {
  SimulatedClock clock;
  const absl::Time wall = clock.TimeNow();
  const MonotonicTime monotonic = clock.MonotonicNow();

  Sleep(clock, Hours(10) + absl::Nanoseconds(1));

  EXPECT_EQ(clock.Elapsed(), Hours(10) + absl::Nanoseconds(1));
  EXPECT_EQ(clock.TimeNow() - wall, clock.Elapsed());
  EXPECT_EQ(absl::FromChrono(clock.MonotonicNow() - monotonic),
            clock.Elapsed());
  EXPECT_EQ(clock.MonotonicNowBefore(MonotonicTime::max()),
            clock.MonotonicNow());
}

TEST(SimulatedClockTest, SleepUntilAPastTimeReturnsAtOnce) {
  for (const Mode mode : {Mode::kAutomatic, Mode::kManual}) {
    SimulatedClock clock(mode);
    clock.AdvanceTime(Seconds(5));

    Sleep(clock, ZeroDuration());
    Sleep(clock, -Seconds(1));
    EXPECT_EQ(clock.Elapsed(), Seconds(5));
  }
}

TEST(SimulatedClockTest, SleepForTakesDurationsOfAbseilAndOfTheStandard) {
  SimulatedClock clock;
  clock.SleepFor(Seconds(5));
  EXPECT_EQ(clock.Elapsed(), Seconds(5));
  clock.SleepFor(std::chrono::milliseconds(1500));
  EXPECT_EQ(clock.Elapsed(), absl::Milliseconds(6500));
  clock.SleepFor(std::chrono::duration<double>(0.5));
  EXPECT_EQ(clock.Elapsed(), Seconds(7));
  clock.SleepFor(std::chrono::duration<int, std::ratio<86400>>(1));
  EXPECT_EQ(clock.Elapsed(), Hours(24) + Seconds(7));
  clock.SleepFor(ZeroDuration());
  clock.SleepFor(-absl::InfiniteDuration());
  EXPECT_EQ(clock.Elapsed(), Hours(24) + Seconds(7));
}

TEST(SimulatedClockTest, EndlessSleepForEndsWithItsStop) {
  SimulatedClock clock;
  waiter::stop_source stop;
  clock.CallAt(Hours(3), [&] { stop.request_stop(); });
  clock.SleepFor(absl::InfiniteDuration(), stop.get_token());
  EXPECT_EQ(clock.Elapsed(), Hours(3));
}

// The example in the header.
TEST(SimulatedClockTest, WorkerSleepsWhileTheTestWaits) {
  SimulatedClock clock;
  std::atomic<bool> done = false;
  Waiter wait([&] { return done.load(); },
              {.timeout = Hours(1), .clock = &clock});
  std::optional<SimulatedClock::Participant> test(std::in_place, clock);
  std::thread worker([&, participant = SimulatedClock::Participant(clock)] {
    clock.SleepFor(std::chrono::minutes(5));
    done = true;
  });
  EXPECT_TRUE(wait.Wait().ok());
  test.reset();
  worker.join();
  EXPECT_GE(clock.Elapsed(), absl::Minutes(5));
}

TEST(SimulatedClockTest, AdvanceTimeNeverGoesBack) {
  SimulatedClock clock;
  clock.AdvanceTime(Seconds(5));
  clock.AdvanceTime(ZeroDuration());
  EXPECT_EQ(clock.Elapsed(), Seconds(5));
}

TEST(SimulatedClockTest, CallsRunDuringASleepAtTheirOwnTimes) {
  SimulatedClock clock;
  std::vector<std::string> seen;
  const auto see = [&](std::string_view what) {
    seen.push_back(std::string(what) + " " +
                   absl::FormatDuration(clock.Elapsed()));
  };
  clock.CallAt(Seconds(2), [&] { see("second"); });
  clock.CallAt(Seconds(1), [&] { see("first"); });
  clock.CallAt(Seconds(2), [&] { see("third"); });
  clock.CallAt(Seconds(7), [&] { see("fourth"); });

  Sleep(clock, Seconds(3));
  see("awake");
  clock.AdvanceTime(Seconds(5));
  see("advanced");

  EXPECT_THAT(seen, ElementsAre("first 1s", "second 2s", "third 2s", "awake 3s",
                                "fourth 7s", "advanced 8s"));
}

TEST(SimulatedClockTest, CallRunsBeforeASleepThatEndsWithIt) {
  SimulatedClock clock;
  bool called = false;
  clock.CallAt(Seconds(1), [&] { called = true; });

  Sleep(clock, Seconds(1));
  EXPECT_TRUE(called);
}

TEST(SimulatedClockTest, CallMayScheduleAnother) {
  SimulatedClock clock;
  std::vector<absl::Duration> called_at;
  clock.CallAt(Seconds(1), [&] {
    clock.CallAt(Seconds(2), [&] { called_at.push_back(clock.Elapsed()); });
    clock.StepWallClock(Hours(1));
  });

  Sleep(clock, Seconds(5));
  EXPECT_THAT(called_at, ElementsAre(Seconds(2)));
}

TEST(SimulatedClockTest, WallStepsMoveOnlyTheWallClock) {
  SimulatedClock clock;
  const absl::Time wall = clock.TimeNow();
  const MonotonicTime monotonic = clock.MonotonicNow();

  clock.StepWallClock(-Hours(1));

  EXPECT_EQ(clock.TimeNow(), wall - Hours(1));
  EXPECT_EQ(clock.MonotonicNow(), monotonic);
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
  Sleep(clock, Seconds(1));
  EXPECT_EQ(clock.TimeNow(), wall - Hours(1) + Seconds(1));
}

TEST(SimulatedClockTest, StopBeforeASleepSkipsIt) {
  waiter::stop_source stop;
  stop.request_stop();
  for (const Mode mode : {Mode::kAutomatic, Mode::kManual}) {
    SimulatedClock clock(mode);

    Sleep(clock, Hours(1), stop.get_token());
    EXPECT_EQ(clock.Elapsed(), ZeroDuration());
  }
}

TEST(SimulatedClockTest, StopFromACallEndsASleep) {
  for (const absl::Duration duration : {Hours(1), absl::InfiniteDuration()}) {
    SimulatedClock clock;
    waiter::stop_source stop;
    clock.CallAt(Seconds(5), [&] { stop.request_stop(); });

    Sleep(clock, duration, stop.get_token());
    EXPECT_EQ(clock.Elapsed(), Seconds(5)) << duration;
  }
}

TEST(SimulatedClockTest, ManualClockJumpsOnlyWhenTold) {
  SimulatedClock clock(Mode::kManual);
  std::atomic<int> awake = 0;
  std::vector<JoiningThread> sleepers;
  for (const int seconds : {1, 2, 3}) {
    sleepers.emplace_back([&, seconds] {
      Sleep(clock, Seconds(seconds));
      ++awake;
    });
  }

  clock.AwaitSleepers(3);
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
  clock.AdvanceTime(Seconds(2));
  sleepers[0].join();
  sleepers[1].join();
  EXPECT_EQ(awake, 2);
  clock.AwaitSleepers(1);
  clock.AdvanceTime(Seconds(1));
  sleepers[2].join();
  EXPECT_EQ(clock.Elapsed(), Seconds(3));
}

TEST(SimulatedClockTest, StopOnAManualClockTakesNoTime) {
  SimulatedClock clock(Mode::kManual);
  waiter::stop_source stop;
  JoiningThread sleeper([&] { Sleep(clock, Hours(1), stop.get_token()); });

  clock.AwaitSleepers(1);
  stop.request_stop();
  sleeper.join();
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
}

TEST(SimulatedClockTest, ParticipantsTakeTurnsInOrderOfTime) {
  SimulatedClock clock;
  std::latch ready(3);
  std::mutex mutex;
  std::vector<absl::Duration> wakes;
  std::vector<JoiningThread> threads;
  for (const int seconds : {2, 3, 7}) {
    threads.emplace_back([&, seconds] {
      const SimulatedClock::Participant participant(clock);
      ready.arrive_and_wait();
      for (int i = 1; i <= 100; ++i) {
        Sleep(clock, Seconds(seconds));
        EXPECT_EQ(clock.Elapsed(), i * Seconds(seconds));
        const std::lock_guard lock(mutex);
        wakes.push_back(clock.Elapsed());
      }
    });
  }
  threads.clear();

  EXPECT_TRUE(std::is_sorted(wakes.begin(), wakes.end()));
  EXPECT_EQ(wakes.size(), 300);
  EXPECT_EQ(clock.Elapsed(), Seconds(700));
}

TEST(SimulatedClockTest, TimeWaitsForAParticipantThatRuns) {
  SimulatedClock clock;
  std::latch ready(2);
  std::atomic<bool> worked = false;
  JoiningThread sleeper([&] {
    const SimulatedClock::Participant participant(clock);
    ready.arrive_and_wait();
    Sleep(clock, Seconds(1));
    EXPECT_TRUE(worked);
  });
  {
    const SimulatedClock::Participant participant(clock);
    ready.arrive_and_wait();
    clock.AwaitSleepers(1);
    EXPECT_EQ(clock.Elapsed(), ZeroDuration());
    worked = true;
  }
  sleeper.join();
  EXPECT_EQ(clock.Elapsed(), Seconds(1));
}

// A participant that only waits for another thread would hang the test.
TEST(SimulatedClockTest, StallGuardNamesTheSleeper) {
  waiter::stop_source stop;
  std::string text;
  SimulatedClock clock(Mode::kAutomatic,
                       {.stall_limit = absl::Milliseconds(1),
                        .on_stall = [&](std::string_view what) {
                          text = what;
                          stop.request_stop();
                        }});
  const SimulatedClock::Participant runs(clock);
  JoiningThread sleeper([&] {
    const SimulatedClock::Participant sleeps(clock);
    Sleep(clock, Seconds(90), stop.get_token(), "instance i-0abc");
  });
  sleeper.join();

  EXPECT_THAT(text, AllOf(HasSubstr("instance i-0abc"), HasSubstr("1m30s")));
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
}

TEST(SimulatedClockTest, StallGuardDetectsALoneEndlessSleep) {
  waiter::stop_source stop;
  SimulatedClock clock(Mode::kAutomatic, {.stall_limit = absl::Milliseconds(1),
                                          .on_stall = [&](std::string_view) {
                                            stop.request_stop();
                                          }});

  clock.SleepUntil(MonotonicTime::max(), stop.get_token(), "forever");
  EXPECT_TRUE(stop.stop_requested());
}

TEST(SimulatedClockTest, StallGuardIsQuietWhileTimeMoves) {
  std::atomic<int> stalls = 0;
  SimulatedClock clock(Mode::kAutomatic,
                       {.stall_limit = Seconds(30),
                        .on_stall = [&](std::string_view) { ++stalls; }});

  for (int i = 0; i < 1'000; ++i) Sleep(clock, Hours(10));
  EXPECT_EQ(stalls, 0);
  EXPECT_EQ(clock.Elapsed(), Hours(10'000));
}

TEST(SimulatedClockTest, AwaitSleepersOfZeroReturns) {
  SimulatedClock clock;
  clock.AwaitSleepers(0);
}

TEST(SimulatedClockTest, StopMayRaceWithTheJump) {
  for (int i = 0; i < 2'000; ++i) {
    SimulatedClock clock;
    waiter::stop_source stop;
    JoiningThread canceller([&] { stop.request_stop(); });

    Sleep(clock, Seconds(1), stop.get_token());
    ASSERT_LE(clock.Elapsed(), Seconds(1));
  }
}

// Sleeps of other threads do not count for the worker, which is running.
TEST(SimulatedClockTest, TimeWaitsForAParticipantWhileOthersSleep) {
  SimulatedClock clock;
  std::latch announced(1);
  std::latch may_end(1);
  JoiningThread worker([&] {
    const SimulatedClock::Participant participant(clock);
    announced.count_down();
    may_end.wait();
  });
  announced.wait();
  JoiningThread other([&] { Sleep(clock, Hours(1)); });
  clock.AwaitSleepers(1);

  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
  may_end.count_down();
  other.join();
  EXPECT_EQ(clock.Elapsed(), Hours(1));
}

TEST(SimulatedClockTest, MovedParticipantStandsForTheThreadThatSleepsNext) {
  for (int run = 0; run < 200; ++run) {
    SimulatedClock clock;
    const SimulatedClock::Participant test(clock);
    std::vector<absl::Duration> worked;
    {
      JoiningThread worker([&, mine = SimulatedClock::Participant(clock)] {
        for (int i = 0; i < 3; ++i) {
          Sleep(clock, Seconds(2));
          worked.push_back(clock.Elapsed());
        }
      });
      for (int i = 1; i <= 6; ++i) {
        Sleep(clock, Seconds(1));
        ASSERT_EQ(clock.Elapsed(), Seconds(i));
      }
    }
    EXPECT_THAT(worked, ElementsAre(Seconds(2), Seconds(4), Seconds(6)));
  }
}

// Runs two threads that sleep often, and disturbs them at random. The first
// `participants` of them are announced.
void SleepOnTwoThreads(int participants, uint64_t seed) {
  SimulatedClock clock(Mode::kAutomatic,
                       {.stall_limit = Seconds(20), .on_stall = nullptr});
  std::optional<SimulatedClock::Participant> test;
  if (participants == 2) test.emplace(clock);
  const auto disturb = [&seed](int i) {
    if (((seed >> (i % 64)) & 1) != 0) std::this_thread::yield();
  };
  const auto sleep_often = [&](int seconds) {
    for (int i = 0; i < 8; ++i) {
      disturb(i * seconds);
      Sleep(clock, Seconds(seconds));
    }
  };
  std::optional<SimulatedClock::Participant> announced;
  if (participants > 0) announced.emplace(clock);
  JoiningThread worker([&, mine = std::move(announced)] { sleep_often(2); });
  sleep_often(1);
  test.reset();  // The test joins the worker without it.
}

// A sleeper that should wake up but does not run yet must neither be skipped
// nor keep the clock busy. `--gtest_repeat` raises the number of runs.
TEST(SimulatedClockTest, SleepersThatWakeNeverBlockTheClock) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 600; ++run) SleepOnTwoThreads(run % 3, random());
}

TEST(SimulatedClockTest, ParticipantThatComesAfterTheTimeHasMovedIsReported) {
  std::string text;
  SimulatedClock clock(
      Mode::kAutomatic,
      {.stall_limit = Seconds(30),
       .on_stall = [&](std::string_view what) { text = what; }});
  Sleep(clock, Hours(3));

  std::optional<SimulatedClock::Participant> late;
  JoiningThread([&] { late.emplace(clock); }).join();
  EXPECT_EQ(text, "");
  clock.AdvanceTime(Hours(1));
  Sleep(clock, ZeroDuration());
  EXPECT_THAT(text, AllOf(HasSubstr("participant, to 4h"),
                          HasSubstr("before the first thread starts")));
}

TEST(SimulatedClockTest, ParticipantsMayFollowAPhaseWithoutThreads) {
  int reports = 0;
  SimulatedClock clock(Mode::kAutomatic,
                       {.stall_limit = Seconds(30),
                        .on_stall = [&](std::string_view) { ++reports; }});
  Sleep(clock, Hours(3));

  const SimulatedClock::Participant test(clock);
  JoiningThread([&] {
    const SimulatedClock::Participant worker(clock);
  }).join();
  EXPECT_EQ(reports, 0);
}

// Another thread whose sleeps end immediately wakes the sleeper over and over.
TEST(SimulatedClockTest, StallGuardSpeaksAlsoWhileOthersUseTheClock) {
  waiter::stop_source stop;
  SimulatedClock clock(Mode::kAutomatic, {.stall_limit = absl::Milliseconds(20),
                                          .on_stall = [&](std::string_view) {
                                            stop.request_stop();
                                          }});
  const SimulatedClock::Participant runs(clock);
  JoiningThread busy([&] {
    while (!stop.stop_requested()) Sleep(clock, ZeroDuration());
  });
  JoiningThread sleeper([&] { Sleep(clock, Seconds(1), stop.get_token()); });
  sleeper.join();
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
}

// The test's sleep ends inside the call that it runs, and cannot return before
// the call does.
TEST(SimulatedClockTest, CallMaySleepBeyondTheSleepThatRunsIt) {
  SimulatedClock clock(Mode::kAutomatic,
                       {.stall_limit = Seconds(5), .on_stall = nullptr});
  clock.CallAt(Seconds(1), [&] { Sleep(clock, Seconds(10)); });

  Sleep(clock, Seconds(3));
  EXPECT_EQ(clock.Elapsed(), Seconds(11));
}

// Another thread that falls asleep during the call must not move the time.
TEST(SimulatedClockTest, TimeStandsStillWhileACallRuns) {
  for (int run = 0; run < 50; ++run) {
    SimulatedClock clock;
    JoiningThread other;
    clock.CallAt(Seconds(1), [&] {
      other = JoiningThread([&] { Sleep(clock, Seconds(10)); });
      clock.AwaitSleepers(2);
      for (int i = 0; i < 20; ++i) std::this_thread::yield();
      ASSERT_EQ(clock.Elapsed(), Seconds(1));
    });

    Sleep(clock, Seconds(2));
    other.join();
    ASSERT_EQ(clock.Elapsed(), Seconds(11));
  }
}

// One call runs in a sleep, the other one while the time is advanced.
TEST(SimulatedClockTest, CallsOfTwoThreadsMaySleepAtOnce) {
  SimulatedClock clock;
  JoiningThread other;
  clock.CallAt(Seconds(1), [&] {
    other = JoiningThread([&] { clock.AdvanceTime(Seconds(1)); });
    Sleep(clock, Seconds(30));
  });
  clock.CallAt(Seconds(2), [&] { Sleep(clock, Seconds(10)); });

  Sleep(clock, Seconds(5));
  other.join();
  EXPECT_GE(clock.Elapsed(), Seconds(31));
}

// The stop arrives while the exception leaves the sleep.
TEST(SimulatedClockTest, CallThatThrowsMayRaceWithAStop) {
  for (int run = 0; run < 200; ++run) {
    SimulatedClock clock;
    waiter::stop_source stop;
    JoiningThread stopper;
    clock.CallAt(Seconds(1), [&] {
      stopper = JoiningThread([&] { stop.request_stop(); });
      throw std::runtime_error("a call");
    });
    EXPECT_THROW(Sleep(clock, Seconds(2), stop.get_token()),
                 std::runtime_error);
  }
}

// Thread ids are reused.
TEST(SimulatedClockTest, ParticipantWithTheIdOfAnEarlierSleeperIsNotLate) {
  SimulatedClock clock;
  std::thread([&] { Sleep(clock, Seconds(1)); }).join();
  const SimulatedClock::Participant test(clock);
  JoiningThread worker([&, mine = SimulatedClock::Participant(clock)] {
    Sleep(clock, Seconds(1));
  });
  Sleep(clock, Seconds(2));

  EXPECT_EQ(clock.Elapsed(), Seconds(3));
}

TEST(SimulatedClockTest, CallThatThrowsLeavesTheClockUsable) {
  SimulatedClock clock(Mode::kAutomatic,
                       {.stall_limit = Seconds(5), .on_stall = nullptr});
  clock.CallAt(Seconds(1), [] { throw std::runtime_error("broken"); });

  EXPECT_THROW(Sleep(clock, Seconds(3)), std::runtime_error);
  Sleep(clock, Seconds(3));
  EXPECT_EQ(clock.Elapsed(), Seconds(4));
}

TEST(SimulatedClockTest, AnnouncementsOfAllThreadsEndALateOne) {
  int reports = 0;
  SimulatedClock clock(Mode::kAutomatic,
                       {.stall_limit = Seconds(30),
                        .on_stall = [&](std::string_view) { ++reports; }});
  Sleep(clock, Hours(3));
  std::optional<SimulatedClock::Participant> worker;
  JoiningThread([&] { worker.emplace(clock); }).join();
  { const SimulatedClock::Participant test(clock); }
  worker.reset();

  JoiningThread([&] {
    Sleep(clock, Seconds(1));
    Sleep(clock, Seconds(1));
  }).join();
  EXPECT_EQ(reports, 0);
}

}  // namespace
}  // namespace waiter::simulated_clock_test
