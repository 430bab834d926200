// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/clock.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/internal/mutex.h"
#include "waiter/stop_token.h"

namespace waiter {
namespace {

// A sleeper that is notified under the lock wakes up only to sleep until the
// lock is free. Windows keeps a list of sleepers, which needs the lock.
#ifdef _WIN32
constexpr bool kNotifiesLocked = true;
#else
constexpr bool kNotifiesLocked = false;
#endif

// One sleep, shared by the sleeper and its stop callback. Notifying takes
// longer than waking up, and the destructor of a `waiter::stop_callback` waits
// for a callback that runs on another thread. So the last of the two to finish
// destroys the sleep; a callback may destroy itself.
struct Sleep {
  struct Stop {
    void operator()() {
      // `this` is destroyed with the last owner of the sleep.
      const std::shared_ptr<Sleep> owned = std::move(sleep);
      {
        const internal::MutexLock lock(owned->mutex);
        owned->stopped = true;
        if constexpr (kNotifiesLocked) owned->stopped_or_due.Notify();
      }
      if constexpr (!kNotifiesLocked) owned->stopped_or_due.Notify();
    }
    std::shared_ptr<Sleep> sleep;
  };

  internal::Mutex mutex;
  internal::Condition stopped_or_due{mutex};
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  std::optional<waiter::stop_callback<Stop>> on_stop;
};

class RealClock final : public Clock {
 public:
  absl::Time TimeNow() override { return absl::Now(); }

  MonotonicTime MonotonicNow() override {
    return std::chrono::steady_clock::now();
  }

#if defined(CLOCK_MONOTONIC_COARSE) && !defined(WAITER_PORTABLE_CALLS)
  // The coarse clock repeats the reading of the last timer interrupt.
  MonotonicTime MonotonicNowBefore(MonotonicTime limit) override {
    timespec coarse;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse) != 0) {
      return MonotonicNow();
    }
    const MonotonicTime earliest(std::chrono::seconds(coarse.tv_sec) +
                                 std::chrono::nanoseconds(coarse.tv_nsec));
    return earliest + kLongestInterval < limit ? earliest : MonotonicNow();
  }
#endif

  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view) override {
    if (wake_up <= MonotonicNow()) return;
    const auto sleep = std::make_shared<Sleep>();
    sleep->on_stop.emplace(stop, Sleep::Stop{sleep});
    {
      const internal::MutexLock lock(sleep->mutex);
      while (!sleep->stopped && sleep->stopped_or_due.WaitUntil(wake_up)) {
      }
      if (sleep->stopped) return;
    }
    sleep->on_stop.reset();
  }

 private:
  // The timer interrupt of a kernel comes at least 100 times a second.
  static constexpr std::chrono::milliseconds kLongestInterval{10};
};

class BootTimeClock final : public Clock {
 public:
  absl::Time TimeNow() override { return absl::Now(); }

  MonotonicTime MonotonicNow() override {
#if defined(CLOCK_BOOTTIME) && !defined(WAITER_PORTABLE_CALLS)
    timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now) == 0) {
      return MonotonicTime(std::chrono::seconds(now.tv_sec) +
                           std::chrono::nanoseconds(now.tv_nsec));
    }
#endif
    // On macOS and Windows, this clock counts suspensions.
    return std::chrono::steady_clock::now();
  }

  // No condition variable can use this clock, so a sleep reads it now and then.
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override {
    Clock& clock = GetRealClock();
    for (MonotonicTime now = MonotonicNow();
         now < wake_up && !stop.stop_requested(); now = MonotonicNow()) {
      clock.SleepUntil(
          clock.MonotonicNow() + std::min(wake_up - now, kLongestSleep), stop,
          who);
    }
  }

 private:
  // If the end of a sleep comes during a suspension, it is at most this late.
  static constexpr std::chrono::nanoseconds kLongestSleep =
      std::chrono::seconds(1);
};

}  // namespace

Clock& GetRealClock() {
  static auto* const clock = new RealClock;
  return *clock;
}

Clock& GetBootTimeClock() {
  static auto* const clock = new BootTimeClock;
  return *clock;
}

}  // namespace waiter
