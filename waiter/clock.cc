// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/clock.h"

#include <time.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string_view>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace waiter {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time TimeNow() override { return absl::Now(); }

  MonotonicTime MonotonicNow() override {
    return std::chrono::steady_clock::now();
  }

#ifdef CLOCK_MONOTONIC_COARSE
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

  void SleepUntil(MonotonicTime wake_up, const std::stop_token& stop,
                  std::string_view) override {
    if (wake_up <= MonotonicNow()) return;
    std::mutex mutex;
    std::condition_variable stopped_or_due;
    bool stopped = false;
    // Runs at once if the stop was requested before, so that it is never lost.
    const std::stop_callback on_stop(stop, [&] {
      // Notifies under the lock: once it is released the sleeper may return and
      // destroy the condition variable.
      const std::lock_guard lock(mutex);
      stopped = true;
      stopped_or_due.notify_one();
    });
    std::unique_lock lock(mutex);
    if (wake_up == MonotonicTime::max()) {
      stopped_or_due.wait(lock, [&] { return stopped; });
    } else {
      stopped_or_due.wait_until(lock, wake_up, [&] { return stopped; });
    }
  }

 private:
  // The timer interrupt of a kernel comes at least 100 times a second.
  static constexpr std::chrono::milliseconds kLongestInterval{10};
};

}  // namespace

Clock& GetRealClock() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace waiter
