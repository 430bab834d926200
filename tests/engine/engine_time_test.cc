// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When an engine polls: delays, ticks, slack, readings of the clock, and many
// waits that are due at the same time.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/first_seed.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::engine_time_test {
namespace {

using ::absl::Hours;
using ::absl::Microseconds;
using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;
using ::absl::ZeroDuration;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;
using ::testing::Lt;
using ::testing::SizeIs;

using EngineTimeTest = EngineFixture;

// Randomness.

TEST_F(EngineTimeTest, SameSeedGivesTheSameDelays) {
  const auto times_of = [](std::optional<uint64_t> engine_seed,
                           std::optional<uint64_t> wait_seed) {
    SimulatedClock clock;
    WaitEngine engine({.threads = 0,
                       .tick = ZeroDuration(),
                       .clock = &clock,
                       .seed = engine_seed});
    std::vector<absl::Duration> polled_at;
    for (int i = 0; i < 3; ++i) {
      engine
          .Start(Waiter(
                     [&] {
                       polled_at.push_back(clock.Elapsed());
                       return false;
                     },
                     {.timeout = Minutes(1),
                      .hooks = {.seed = wait_seed},
                      .clock = &clock}),
                 [](const WaitResult<>&) {})
          .Detach();
    }
    engine.Run();
    return polled_at;
  };

  EXPECT_EQ(times_of(7, std::nullopt), times_of(7, std::nullopt));
  EXPECT_NE(times_of(7, std::nullopt), times_of(8, std::nullopt));
  EXPECT_NE(times_of(std::nullopt, std::nullopt),
            times_of(std::nullopt, std::nullopt));
  EXPECT_EQ(times_of(7, 9), times_of(8, 9));
}

TEST_F(EngineTimeTest, SeedOfAWaitGivesTheDelaysOfTheBlockingForm) {
  WaitOptions options = {
      .timeout = Minutes(1), .hooks = {.seed = 9}, .clock = &clock_};
  std::array<std::vector<absl::Duration>, 3> polled_at;
  WaitEngine engine(Simulated());
  for (size_t i = 0; i < 2; ++i) {
    engine
        .Start(Waiter(
                   [&polled_at, i, this] {
                     polled_at[i].push_back(clock_.Elapsed());
                     return false;
                   },
                   options),
               results_.Take())
        .Detach();
  }
  engine.Run();
  SimulatedClock clock;
  options.clock = &clock;
  Waiter blocking(
      [&] {
        polled_at[2].push_back(clock.Elapsed());
        return false;
      },
      options);
  EXPECT_EQ(blocking.Wait().reason(), StopReason::kDeadline);

  EXPECT_EQ(polled_at[0], polled_at[2]);
  EXPECT_EQ(polled_at[1], polled_at[2]);
}

// Ticks and slack.

// Runs waits at random times, and expects each poll when it is due, or as much
// later as tick and slack allow.
void ExpectLateness(uint64_t seed, absl::Duration tick, double slack,
                    absl::Duration max_delay) {
  SimulatedClock clock;
  SplitMix64 gen(seed);
  const auto draw = [&gen](absl::Duration from, absl::Duration to) {
    const auto share = static_cast<double>(gen() >> 11) * 0x1p-53;
    return absl::Trunc(from + share * (to - from), absl::Nanoseconds(1));
  };
  clock.AdvanceTime(draw(ZeroDuration(), Seconds(10)));
  WaitEngine engine(
      {.threads = 0, .tick = tick, .relative_slack = slack, .clock = &clock});
  clock.AdvanceTime(draw(ZeroDuration(), Seconds(10)));
  struct Wait {
    absl::Duration last_poll;
    absl::Duration delay;
    absl::Duration deadline;
  };
  std::vector<Wait> waits(20);
  int polls = 0;
  int ended = 0;
  for (Wait& wait : waits) {
    const absl::Duration first_delay = draw(ZeroDuration(), max_delay);
    const absl::Duration timeout = draw(ZeroDuration(), 20 * max_delay);
    const absl::Duration next_delays = draw(max_delay / 50, max_delay);
    wait.last_poll = clock.Elapsed();
    wait.delay = first_delay;
    wait.deadline = clock.Elapsed() + timeout;
    const auto poll = [&, next_delays] {
      const absl::Duration now = clock.Elapsed();
      const absl::Duration due =
          std::min(wait.last_poll + wait.delay, wait.deadline);
      const absl::Duration latest =
          std::min(wait.last_poll + (1 + slack) * wait.delay, wait.deadline);
      EXPECT_THAT(now, AllOf(Ge(due), Le(latest + tick)))
          << "due " << due << ", deadline " << wait.deadline;
      wait.last_poll = now;
      wait.delay = next_delays;
      ++polls;
      return false;
    };
    engine
        .Start(Waiter(poll, {.timeout = timeout,
                             .backoff = Every(next_delays),
                             .polls = {.first_delay = first_delay},
                             .clock = &clock}),
               [&ended](const WaitResult<>& result) {
                 EXPECT_EQ(result.reason(), StopReason::kDeadline);
                 ++ended;
               })
        .Detach();
  }
  engine.Run();
  EXPECT_EQ(ended, 20);
  EXPECT_GT(polls, 40);
}

TEST_F(EngineTimeTest, PollsAreNeverEarlyAndAtMostOneTickLate) {
  const uint64_t first = FirstSeed();
  for (uint64_t seed = first; seed < first + 5; ++seed) {
    SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
    for (const absl::Duration tick : {Microseconds(1), Microseconds(7),
                                      Milliseconds(1), Milliseconds(30)}) {
      for (const double slack : {0.0, 0.3, 1.0}) {
        ExpectLateness(seed, tick, slack, 3 * tick);
        ExpectLateness(seed, tick, slack, 500 * tick);
        ExpectLateness(seed, tick, slack, 100'000 * tick);
      }
    }
    ExpectLateness(seed, ZeroDuration(), 0, Seconds(1));
    ExpectLateness(seed, ZeroDuration(), 0.3, Seconds(1));
    if (HasFailure()) return;
  }
}

// Counts the wake-ups of the engine for 1000 waits with random delays.
int WakeUpsOf(WaitEngineOptions options) {
  SimulatedClock clock;
  options.threads = 0;
  options.clock = &clock;
  WaitEngine engine(options);
  std::set<absl::Duration> wake_ups;
  for (int i = 0; i < 1000; ++i) {
    engine
        .Start(Waiter(
                   [&] {
                     wake_ups.insert(clock.Elapsed());
                     return false;
                   },
                   {.timeout = Minutes(10), .clock = &clock}),
               [](const WaitResult<>&) {})
        .Detach();
  }
  engine.Run();
  return static_cast<int>(wake_ups.size());
}

TEST_F(EngineTimeTest, TicksSlackAndSharedInstantsWakeWaitsTogether) {
  const int exact = WakeUpsOf({.tick = ZeroDuration(), .seed = 7});
  const int ticks = WakeUpsOf({.tick = Milliseconds(100), .seed = 7});
  const int slack = WakeUpsOf({.relative_slack = 0.25, .seed = 7});
  EXPECT_LT(2 * ticks, exact);
  EXPECT_LT(2 * slack, exact);
  EXPECT_LT(2 * WakeUpsOf({}), WakeUpsOf({.seed = 7}));
}

// Counts the sleeps that are to end at instants which waits share.
class SharedInstants final : public WaitObserver {
 public:
  explicit SharedInstants(SimulatedClock& clock) : clock_(clock) {}

  void BeforeSleep(const SleepEvent& sleep) override {
    const MonotonicTime end =
        clock_.MonotonicNow() + absl::ToChronoNanoseconds(sleep.delay);
    ++ends_[end.time_since_epoch().count() % (int64_t{1} << 24)];
  }
  // A hook that takes more time each time, before the delay.
  void AfterPoll(const PollEvent&) override {
    clock_.AdvanceTime(Microseconds(10) * ++polls_);
  }

  // Returns how many ends have the most frequent distance from an instant.
  int count() const {
    int most = 0;
    for (const auto& [phase, count] : ends_) most = std::max(most, count);
    return most;
  }

 private:
  SimulatedClock& clock_;
  int polls_ = 0;
  std::map<int64_t, int> ends_;
};

// Returns how many of 19 delays on [0, 1 s] end there.
int CountShared(WaitEngineOptions options, std::optional<uint64_t> wait_seed) {
  SimulatedClock clock;
  options.threads = 0;
  options.clock = &clock;
  WaitEngine engine(options);
  const auto observer = std::make_shared<SharedInstants>(clock);
  engine
      .Start(Waiter([] { return false; },
                    {.timeout = absl::InfiniteDuration(),
                     .max_attempts = 20,
                     .backoff = {.initial_delay = Seconds(1),
                                 .max_delay = Seconds(1),
                                 .jitter = Jitter::Full(),
                                 .min_delay = ZeroDuration()},
                     .hooks = {.observer = observer, .seed = wait_seed},
                     .clock = &clock}),
             [](const WaitResult<>&) {})
      .Detach();
  engine.Run();
  return observer->count();
}

TEST_F(EngineTimeTest, OnlyDelaysWithoutASeedOrGeneratorEndAtSharedInstants) {
  SplitMix64 gen(7);
  EXPECT_EQ(CountShared({}, std::nullopt), 19);
  EXPECT_LT(CountShared({.tick = ZeroDuration()}, std::nullopt), 3);
  EXPECT_LT(CountShared({.seed = 7}, std::nullopt), 3);
  EXPECT_LT(CountShared({.gen = gen}, std::nullopt), 3);
  EXPECT_LT(CountShared({}, 7), 3);
}

TEST_F(EngineTimeTest, SlackDoesNotStretchAPollThatNeverAnswers) {
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

TEST_F(EngineTimeTest, SlackLeavesTheLeadOfTheFinalPoll) {
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

TEST_F(EngineTimeTest, StaleTimersOfLiveWaitsAreKeptBySweeps) {
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

// Clocks.

TEST_F(EngineTimeTest, WallClockStepsChangeNothing) {
  WaitEngine engine(Simulated());
  ScriptedPoll<> script(clock_, {PollStatus::kNotReady});
  WaitOptions options = EverySecond(absl::InfiniteDuration());
  options.deadline = clock_.TimeNow() + Seconds(3);
  const WaitHandle wait =
      engine.Start(Waiter(std::ref(script), options), results_.Take());
  clock_.CallAt(Milliseconds(500), [&] { clock_.StepWallClock(Hours(1)); });
  clock_.CallAt(Milliseconds(1500), [&] { clock_.StepWallClock(-Hours(9)); });

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_THAT(script.polled_at(),
              ElementsAre(ZeroDuration(), Seconds(1), Seconds(2), Seconds(3)));
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
TEST(EngineClockTest, SharedReadingsDoNotUndercutLeastDelays) {
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
TEST(EngineClockTest, TickOfZeroMeasuresAPollBehindQuickOnesExactly) {
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

// Many waits at the same time.

// The engine frees its lists of this length instead of keeping them.
TEST_F(EngineTimeTest, RoundPollsEachOfManyWaitsOnce) {
  constexpr int kWaits = 70'000;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  const auto policy = WaitPolicy::Make(options);
  for (int i = 0; i < kWaits; ++i) {
    engine
        .Start(Waiter([this] { return CountPoll(false); }, policy),
               [](const WaitResult<>&) {})
        .Detach();
  }

  engine.RunDue();  // Begins the waits, and polls each once.

  for (int round = 1; round <= 2; ++round) {
    polls_ = 0;
    engine.RunDue();
    EXPECT_EQ(polls_, kWaits);
  }
}

TEST_F(EngineTimeTest, MillionPollsWithoutDelayStarveNoOtherWait) {
  constexpr int kPolls = 1'000'000;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  int greedy_polls = 0;
  const WaitHandle greedy =
      engine.Start(Waiter(
                       [&] {
                         clock_.AdvanceTime(Microseconds(1));
                         return ++greedy_polls == kPolls;
                       },
                       options),
                   results_.Take());
  const WaitHandle meek =
      engine.Start(Waiter([this] { return CountPoll(polls_ == 9); }, options),
                   [&](const WaitResult<>& result) {
                     EXPECT_TRUE(result.ok());
                     EXPECT_LT(greedy_polls, 10'000);
                   });
  options.backoff = Every(Milliseconds(1));
  std::vector<absl::Duration> polled_at;
  const WaitHandle timed =
      engine.Start(Waiter(
                       [&] {
                         polled_at.push_back(clock_.Elapsed());
                         return polled_at.size() == 10;
                       },
                       options),
                   [&](const WaitResult<>& result) {
                     EXPECT_TRUE(result.ok());
                     EXPECT_LT(greedy_polls, 100'000);
                   });

  engine.Run();

  EXPECT_EQ(greedy_polls, kPolls);
  EXPECT_EQ(polls_, 10);
  EXPECT_THAT(polled_at, SizeIs(10));
  EXPECT_EQ(results_.reports()[0].attempts, kPolls);
}

// Starts one wait that polls each second, and a burst of others whose polls
// take 10 ms each.
class BurstTest : public EngineFixture {
 protected:
  static constexpr size_t kBurst = 1000;

  void StartAll(WaitEngine& engine) {
    timed_ = engine.Start(Waiter(
                              [this] {
                                polled_at_.push_back(clock_.Elapsed());
                                if (on_timed_ != nullptr) on_timed_();
                                return polled_at_.size() == 3;
                              },
                              EverySecond()),
                          results_.Take());
    for (size_t i = 0; i < kBurst; ++i) {
      burst_.push_back(engine.Start(Waiter(
                                        [this, i] {
                                          clock_.AdvanceTime(Milliseconds(10));
                                          order_.push_back(i);
                                          return true;
                                        },
                                        EverySecond()),
                                    results_.Take()));
    }
  }

  WaitHandle timed_;
  std::function<void()> on_timed_;
  std::vector<absl::Duration> polled_at_;
  std::vector<WaitHandle> burst_;
  std::vector<size_t> order_;
};

TEST_F(BurstTest, DueTimersComeAfterAtMost32Starts) {
  WaitEngine engine(Simulated());
  StartAll(engine);
  engine.RunDue();
  const size_t begun = order_.size();
  ASSERT_LT(begun, kBurst);
  std::vector<size_t> begun_before;
  on_timed_ = [&] { begun_before.push_back(order_.size()); };

  // A round that begins with a due timer.
  clock_.AdvanceTime(Seconds(1));
  engine.RunDue();

  EXPECT_THAT(begun_before, ElementsAre(AllOf(Gt(begun), Le(begun + 32))));
}

TEST_F(BurstTest, ManyStartsDoNotDelayDueWaits) {
  WaitEngine engine(Simulated());
  StartAll(engine);

  engine.Run();

  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), Le(Milliseconds(1500)),
                                      Le(Milliseconds(3000))));
  EXPECT_THAT(order_, SizeIs(kBurst));
  EXPECT_TRUE(std::is_sorted(order_.begin(), order_.end()));
}

TEST_F(BurstTest, WaitsNotYetBegunMayBeCancelledOrDestroyed) {
  WaitEngine engine(Simulated());
  on_timed_ = [this] {
    if (polled_at_.size() != 2) return;
    ASSERT_LT(order_.size(), kBurst);
    burst_[kBurst - 2].Cancel();
    burst_[kBurst - 1] = {};
  };
  StartAll(engine);

  engine.Run();

  EXPECT_THAT(order_, AllOf(SizeIs(kBurst - 2), Each(Lt(kBurst - 2))));
  EXPECT_THAT(results_.reasons(), SizeIs(kBurst));
  EXPECT_THAT(results_.reasons(), Contains(StopReason::kCancelled).Times(1));
}

TEST_F(BurstTest, WaitsNotYetBegunAreShutDown) {
  {
    WaitEngine engine(Simulated());
    StartAll(engine);
    engine.RunDue();
    ASSERT_LT(order_.size(), kBurst);
    burst_[kBurst - 1] = {};
  }

  EXPECT_THAT(results_.reports(), SizeIs(kBurst));  // One wait was destroyed.
  EXPECT_THAT(results_.reasons(),
              Contains(StopReason::kShutDown).Times(kBurst - order_.size()));
}

}  // namespace
}  // namespace waiter::engine_time_test
