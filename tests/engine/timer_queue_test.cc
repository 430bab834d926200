// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares `TimerQueue` with a model that ignores speed: a `std::multimap`.

#include "waiter/engine/timer_queue.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"

namespace waiter::internal::timer_queue_test {
namespace {

using ::std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr nanoseconds kTick = std::chrono::milliseconds(1);
constexpr MonotonicTime kStart(std::chrono::hours(1000));
// Number of ticks that the wheel covers; later timers wait in a heap.
constexpr int64_t kHorizon = int64_t{63} << 24;

const void* NowhereOf(TimerQueue::Timer /*timer*/) { return nullptr; }

// Remembers the latest stamp of each index. A timer counts only while its stamp
// is the latest one of its index.
class Wanted {
 public:
  void Add(uint32_t index, uint32_t stamp) { stamps_[index] = stamp; }
  bool IsWanted(TimerQueue::Timer timer) const {
    const auto found = stamps_.find(timer.index);
    return found != stamps_.end() && found->second == timer.stamp;
  }
  void Forget(uint32_t index) { stamps_.erase(index); }
  size_t size() const { return stamps_.size(); }

 private:
  std::map<uint32_t, uint32_t> stamps_;
};

std::vector<uint32_t> TakeDue(TimerQueue& timers, MonotonicTime now) {
  std::vector<TimerQueue::Timer> due;
  timers.TakeDue(now, due);
  std::vector<uint32_t> indices;
  indices.reserve(due.size());
  for (const TimerQueue::Timer& timer : due) indices.push_back(timer.index);
  return indices;
}

class TimerQueueTest : public testing::TestWithParam<nanoseconds> {};

TEST_P(TimerQueueTest, EmptyQueueNeverWakes) {
  TimerQueue timers(kStart, GetParam());
  EXPECT_EQ(timers.NextWakeUp(), MonotonicTime::max());
  EXPECT_THAT(TakeDue(timers, kStart + std::chrono::hours(1)), IsEmpty());
  EXPECT_EQ(timers.size(), 0);
}

TEST_P(TimerQueueTest, TimerIsDueAtItsTimeAndNotBefore) {
  for (const int64_t ticks :
       {int64_t{1}, int64_t{63}, int64_t{64}, int64_t{65}, int64_t{4095},
        int64_t{4096}, int64_t{4097}, int64_t{1} << 18, int64_t{1} << 24,
        kHorizon - 1, kHorizon, kHorizon + 1, 5 * kHorizon}) {
    for (const int64_t offset : {0, 1, 62, 4095, 100'000}) {
      SCOPED_TRACE(absl::StrCat(ticks, " ticks from ", offset));
      TimerQueue timers(kStart, GetParam());
      const MonotonicTime now = kStart + offset * kTick;
      EXPECT_THAT(TakeDue(timers, now), IsEmpty());
      const MonotonicTime due = now + ticks * kTick;
      timers.Add(7, due, {});

      EXPECT_GT(timers.NextWakeUp(), now);
      EXPECT_LE(timers.NextWakeUp(), due);
      EXPECT_THAT(TakeDue(timers, due - nanoseconds(1)), IsEmpty());
      EXPECT_EQ(timers.NextWakeUp(), due);
      EXPECT_THAT(TakeDue(timers, due), ElementsAre(7));
      EXPECT_EQ(timers.NextWakeUp(), MonotonicTime::max());
      EXPECT_EQ(timers.size(), 0);
    }
  }
}

// Timers from the next tick to far beyond the wheel.
TEST_P(TimerQueueTest, TimeOfATimerIsKnownUntilItIsTaken) {
  TimerQueue timers(kStart, GetParam());
  std::vector<MonotonicTime> dues;
  std::vector<TimerQueue::Timer> added;
  for (int64_t ticks = 1; ticks <= 64 * kHorizon; ticks = 5 * ticks + 3) {
    dues.push_back(kStart + ticks * kTick);
    const auto index = static_cast<uint32_t>(added.size());
    added.push_back({.index = index,
                     .stamp = timers.Add(index, dues.back(), nanoseconds(0))});
  }
  const MonotonicTime now = dues[5];
  EXPECT_THAT(TakeDue(timers, now), SizeIs(6));

  for (size_t i = 0; i < dues.size(); ++i) {
    EXPECT_EQ(timers.TimeOf(added[i], now), i <= 5 ? now : dues[i]) << i;
  }
}

TEST_P(TimerQueueTest, FarthestTimerIsKept) {
  TimerQueue timers(kStart, GetParam());
  timers.Add(1, MonotonicTime::max() - nanoseconds(1), {});
  timers.Add(2, kStart + kTick, {});
  EXPECT_THAT(TakeDue(timers, kStart + std::chrono::hours(24 * 365 * 100)),
              ElementsAre(2));
  EXPECT_EQ(timers.size(), 1);
  EXPECT_LT(timers.NextWakeUp(), MonotonicTime::max());
}

TEST_P(TimerQueueTest, PastTimerIsDueSoon) {
  TimerQueue timers(kStart, GetParam());
  const MonotonicTime now = kStart + std::chrono::hours(1);
  EXPECT_THAT(TakeDue(timers, now), IsEmpty());
  timers.Add(1, kStart, {});
  timers.Add(2, now, {});
  timers.Add(3, MonotonicTime(), {});

  EXPECT_LE(timers.NextWakeUp(), now + kTick);
  EXPECT_THAT(TakeDue(timers, now + kTick), UnorderedElementsAre(1, 2, 3));
}

TEST_P(TimerQueueTest, DueTimersComeInOrderOfTime) {
  TimerQueue timers(kStart, GetParam());
  std::vector<uint32_t> ordered;
  for (uint32_t i = 1; i < 300; ++i) {
    // 997 and 300 are coprime, so every place is drawn once.
    const uint32_t place = i * 997 % 300;
    timers.Add(place, kStart + place * place * 17 * kTick, {});
    ordered.push_back(i);
  }

  EXPECT_EQ(TakeDue(timers, kStart + std::chrono::hours(24)), ordered);
}

TEST_P(TimerQueueTest, DueTimersAreAppended) {
  TimerQueue timers(kStart, GetParam());
  timers.Add(1, kStart + 1 * kTick, /*slack=*/{});
  timers.Add(2, kStart + 2 * kTick, /*slack=*/{});
  std::vector<TimerQueue::Timer> due;
  timers.TakeDue(kStart + 1 * kTick, due);
  EXPECT_EQ(timers.size(), 1);

  timers.TakeDue(kStart + 2 * kTick, due);

  EXPECT_THAT(due, SizeIs(2));
  EXPECT_EQ(timers.size(), 0);
}

TEST_P(TimerQueueTest, LatestStampIdentifiesTheTimerOfAnIndex) {
  TimerQueue timers(kStart, GetParam());
  std::vector<uint32_t> stamps;
  for (const int64_t ticks : {int64_t{500}, int64_t{5}, int64_t{50000},
                              int64_t{5000}, kHorizon + 7}) {
    stamps.push_back(timers.Add(3, kStart + ticks * kTick, {}));
  }
  std::vector<TimerQueue::Timer> due;
  timers.TakeDue(kStart + 2 * kHorizon * kTick, due);

  ASSERT_THAT(due, SizeIs(5));
  const std::vector<uint32_t> expected = {stamps[1], stamps[0], stamps[3],
                                          stamps[2], stamps[4]};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(due[i].stamp, expected[i]) << i;
  std::sort(stamps.begin(), stamps.end());
  EXPECT_EQ(std::unique(stamps.begin(), stamps.end()), stamps.end());
}

TEST_P(TimerQueueTest, SweepDropsUnwantedTimers) {
  TimerQueue timers(kStart, GetParam());
  for (uint32_t i = 0; i < 1000; ++i) {
    timers.Add(i, kStart + (1 + int64_t{i} * i * 3000) * kTick, {});
  }
  size_t visited = 0;
  std::set<uint32_t> asked;
  timers.Sweep(
      [&](TimerQueue::Timer timer) {
        ++visited;
        EXPECT_TRUE(asked.contains(timer.index));
        return timer.index % 10 == 3;
      },
      [&](TimerQueue::Timer timer) {
        asked.insert(timer.index);
        return &asked;
      });

  EXPECT_EQ(visited, 1000);
  EXPECT_EQ(timers.size(), 100);
  EXPECT_EQ(timers.NextWakeUp() <= kStart + (1 + 9 * 3000) * kTick, true);
  const std::vector<uint32_t> left =
      TakeDue(timers, kStart + 10 * kHorizon * kTick);
  ASSERT_THAT(left, SizeIs(100));
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(left[i], 10 * i + 3);
  EXPECT_EQ(timers.NextWakeUp(), MonotonicTime::max());
}

TEST_P(TimerQueueTest, SweepOfEverythingLeavesAnEmptyQueue) {
  TimerQueue timers(kStart, GetParam());
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 100; ++i) {
      timers.Add(i, kStart + i * i * i * i * kTick, {});
    }
    timers.Sweep([](TimerQueue::Timer) { return false; }, NowhereOf);
    EXPECT_EQ(timers.size(), 0);
    EXPECT_EQ(timers.NextWakeUp(), MonotonicTime::max());
  }
}

// A queue and its model: when each timer is due, and the latest time for it.
class RandomTimers {
 public:
  RandomTimers(uint64_t seed, nanoseconds tick)
      : gen_(seed),
        tick_(tick),
        unit_(tick.count() == 0 ? kTick : tick),
        now_(kStart + nanoseconds(Draw(1'000'000'000))),
        timers_(now_, tick) {}

  void Step() {
    switch (Draw(16)) {
      case 0:
        MoveTo(now_ + nanoseconds(Draw(unit_.count())));
        break;
      case 1:
        MoveTo(now_ + DrawSpan(30));
        break;
      case 2:
        if (timers_.NextWakeUp() != MonotonicTime::max()) {
          MoveTo(std::max(now_, timers_.NextWakeUp() - nanoseconds(Draw(2))));
        }
        break;
      case 3:
        Forget();
        break;
      case 4:
        if (Draw(20) == 0) Sweep();
        break;
      case 5:
        if (Draw(200) == 0) MoveTo(now_ + DrawSpan(36));
        break;
      default:
        Add();
    }
    CheckWakeUp();
  }

  // Takes all remaining timers.
  void Finish() {
    for (int i = 0; i < 10'000 && timers_.size() != 0; ++i) {
      MoveTo(std::max(now_, timers_.NextWakeUp()));
    }
    EXPECT_THAT(model_, IsEmpty()) << Where();
    EXPECT_EQ(timers_.size(), 0) << Where();
  }

 private:
  struct Expected {
    uint32_t index;
    uint32_t stamp;
    MonotonicTime latest;
  };

  int64_t Draw(int64_t below) {
    return static_cast<int64_t>(gen_() % static_cast<uint64_t>(below));
  }

  // Draws up to 2^bits units, with as many short spans as long ones.
  nanoseconds DrawSpan(int64_t bits) {
    const int64_t below = (int64_t{1} << Draw(bits + 1)) * unit_.count();
    return nanoseconds(Draw(below + 1));
  }

  // Rounds up to a multiple of the tick, counted from the start of the queue.
  MonotonicTime RoundUp(MonotonicTime time) const {
    if (tick_.count() == 0) return time;
    const int64_t ticks = (time - started_ + tick_ - nanoseconds(1)) / tick_;
    return started_ + ticks * tick_;
  }

  void Add() {
    const auto index = static_cast<uint32_t>(Draw(200));
    MonotonicTime due = now_ + DrawSpan(32);
    if (Draw(10) == 0) due = now_ - nanoseconds(Draw(1'000'000));
    const nanoseconds slack =
        Draw(3) == 0 ? nanoseconds(Draw((due - kStart).count() / 2 + 1))
                     : nanoseconds::zero();
    const uint32_t stamp = timers_.Add(index, due, slack);
    const MonotonicTime earliest = std::max(due, now_);
    const MonotonicTime latest =
        std::max(RoundUp(due + slack), RoundUp(now_) + tick_);
    model_.emplace(earliest, Expected{index, stamp, latest});
    wanted_.Add(index, stamp);
  }

  // Makes every timer of one index unwanted.
  void Forget() { wanted_.Forget(static_cast<uint32_t>(Draw(200))); }

  void Sweep() {
    timers_.Sweep(
        [&](TimerQueue::Timer timer) { return wanted_.IsWanted(timer); },
        NowhereOf);
    std::erase_if(model_, [&](const auto& entry) {
      return !wanted_.IsWanted({entry.second.index, entry.second.stamp});
    });
    EXPECT_EQ(timers_.size(), model_.size()) << Where();
  }

  void MoveTo(MonotonicTime now) {
    now_ = now;
    std::vector<TimerQueue::Timer> due;
    timers_.TakeDue(now_, due);
    MonotonicTime before = MonotonicTime::min();
    for (const TimerQueue::Timer& timer : due) {
      const auto found =
          std::find_if(model_.begin(), model_.end(), [&](const auto& entry) {
            return entry.second.index == timer.index &&
                   entry.second.stamp == timer.stamp;
          });
      ASSERT_NE(found, model_.end()) << "unknown or taken twice" << Where();
      ASSERT_LE(found->first, now_) << "too early" << Where();
      // In order of time, except for timers that a tick or slack puts together.
      ASSERT_LE(before, found->second.latest) << "out of order" << Where();
      before = std::max(before, found->first);
      if (wanted_.IsWanted(timer)) wanted_.Forget(timer.index);
      model_.erase(found);
    }
    for (const auto& [earliest, expected] : model_) {
      ASSERT_GT(expected.latest, now_)
          << "missed: index " << expected.index << Where();
    }
    ASSERT_EQ(timers_.size(), model_.size()) << Where();
  }

  void CheckWakeUp() {
    const MonotonicTime next = timers_.NextWakeUp();
    if (model_.empty()) {
      ASSERT_EQ(next, MonotonicTime::max()) << Where();
      return;
    }
    MonotonicTime latest = MonotonicTime::max();
    for (const auto& [earliest, expected] : model_) {
      latest = std::min(latest, expected.latest);
    }
    ASSERT_LE(next, latest) << "wakes too late" << Where();
  }

  std::string Where() const {
    return absl::StrCat(" at ", (now_ - kStart).count(), " ns");
  }

  SplitMix64 gen_;
  const nanoseconds tick_;
  const nanoseconds unit_;
  MonotonicTime now_;
  const MonotonicTime started_ = now_;
  TimerQueue timers_;
  Wanted wanted_;
  std::multimap<MonotonicTime, Expected> model_;
};

TEST_P(TimerQueueTest, RandomTimersAgreeWithTheModel) {
  const uint64_t first = FirstSeed();
  for (uint64_t seed = first; seed < first + 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
    RandomTimers timers(seed, GetParam());
    for (int i = 0; i < 400 && !HasFailure(); ++i) timers.Step();
    if (!HasFailure()) timers.Finish();
    if (HasFailure()) return;
  }
}

std::string NameOf(const testing::TestParamInfo<nanoseconds>& test) {
  return test.param.count() == 0 ? "Exact" : "Tick";
}

INSTANTIATE_TEST_SUITE_P(Modes, TimerQueueTest,
                         testing::Values(kTick, nanoseconds::zero()), NameOf);

TEST(TimerQueueTickTest, TimesAreRoundedUpToATick) {
  TimerQueue timers(kStart + nanoseconds(123), kTick);
  timers.Add(1, kStart + nanoseconds(124), {});
  timers.Add(2, kStart + nanoseconds(123) + 3 * kTick, {});

  EXPECT_EQ(timers.NextWakeUp(), kStart + nanoseconds(123) + kTick);
  EXPECT_THAT(TakeDue(timers, kStart + nanoseconds(122) + kTick), IsEmpty());
  EXPECT_THAT(TakeDue(timers, kStart + nanoseconds(123) + kTick),
              ElementsAre(1));
  EXPECT_THAT(TakeDue(timers, kStart + nanoseconds(122) + 3 * kTick),
              IsEmpty());
  EXPECT_THAT(TakeDue(timers, kStart + nanoseconds(123) + 3 * kTick),
              ElementsAre(2));
}

TEST(TimerQueueTickTest, SlackPutsTimersTogether) {
  TimerQueue timers(kStart, kTick);
  for (uint32_t i = 0; i < 1000; ++i) {
    timers.Add(i, kStart + (1000 + i) * kTick, 1000 * kTick);
  }
  int wake_ups = 0;
  size_t taken = 0;
  while (timers.size() != 0) {
    const MonotonicTime next = timers.NextWakeUp();
    const size_t count = TakeDue(timers, next).size();
    taken += count;
    if (count != 0) ++wake_ups;
  }

  EXPECT_EQ(taken, 1000);
  EXPECT_LE(wake_ups, 4);
}

// The largest power of two that the slack covers.
TEST(TimerQueueTickTest, SlackDelaysToTheNextMultipleOnly) {
  struct Case {
    int64_t slack;
    int64_t step;
  };
  for (const auto& [slack, step] :
       {Case{2, 2}, Case{3, 2}, Case{4, 4}, Case{7, 4}, Case{8, 8}}) {
    for (int64_t due = 1; due <= 20; ++due) {
      TimerQueue timers(kStart, kTick);
      timers.Add(1, kStart + due * kTick, slack * kTick);

      EXPECT_EQ(timers.NextWakeUp(),
                kStart + (due + step - 1) / step * step * kTick)
          << due << " with a slack of " << slack;
    }
  }
}

TEST(TimerQueueTickTest, PastTimerIsDueAtTheNextTick) {
  TimerQueue timers(kStart, kTick);
  EXPECT_THAT(TakeDue(timers, kStart + 10 * kTick), IsEmpty());
  timers.Add(1, kStart + 5 * kTick, /*slack=*/{});

  EXPECT_EQ(timers.NextWakeUp(), kStart + 11 * kTick);
  EXPECT_THAT(TakeDue(timers, kStart + 11 * kTick), ElementsAre(1));
}

TEST(TimerQueueTickTest, TimerBeyondTheWheelIsDueAtOnceAfterALongPause) {
  TimerQueue timers(kStart, kTick);
  const MonotonicTime due = kStart + (kHorizon + 5) * kTick;
  timers.Add(1, due, /*slack=*/{});

  EXPECT_THAT(TakeDue(timers, due), ElementsAre(1));
}

TEST(TimerQueueTickTest, EmptyWakeUpsAreFew) {
  TimerQueue timers(kStart, kTick);
  timers.Add(1, kStart + (kHorizon - 5) * kTick, {});
  int wake_ups = 0;
  while (timers.size() != 0) {
    (void)TakeDue(timers, timers.NextWakeUp());
    ++wake_ups;
  }

  // One wake-up for each level of the wheel.
  EXPECT_LE(wake_ups, 5);
}

TEST(TimerQueueTickTest, SmallestTickReachesCenturies) {
  TimerQueue timers(kStart, std::chrono::microseconds(1));
  const MonotonicTime due = kStart + std::chrono::hours(24 * 365 * 200);
  timers.Add(1, due, {});
  EXPECT_THAT(TakeDue(timers, due - std::chrono::microseconds(1)), IsEmpty());
  EXPECT_THAT(TakeDue(timers, due), ElementsAre(1));
}

}  // namespace
}  // namespace waiter::internal::timer_queue_test
