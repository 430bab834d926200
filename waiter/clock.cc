// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/clock.h"

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/stop_token.h"

namespace waiter {
namespace {

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
        const std::lock_guard lock(owned->mutex);
        owned->stopped = true;
      }
      owned->stopped_or_due.notify_one();
    }
    std::shared_ptr<Sleep> sleep;
  };

  std::mutex mutex;
  std::condition_variable stopped_or_due;
  bool stopped = false;
  std::optional<waiter::stop_callback<Stop>> on_stop;
};

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

  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view) override {
    if (wake_up <= MonotonicNow()) return;
    const auto sleep = std::make_shared<Sleep>();
    sleep->on_stop.emplace(stop, Sleep::Stop{sleep});
    std::unique_lock lock(sleep->mutex);
    const auto stopped = [&] { return sleep->stopped; };
    if (wake_up == MonotonicTime::max()) {
      sleep->stopped_or_due.wait(lock, stopped);
    } else if (!sleep->stopped_or_due.wait_until(lock, wake_up, stopped)) {
      lock.unlock();
      sleep->on_stop.reset();
    }
  }

 private:
  // The timer interrupt of a kernel comes at least 100 times a second.
  static constexpr std::chrono::milliseconds kLongestInterval{10};
};

}  // namespace

Clock& GetRealClock() {
  static auto* const clock = new RealClock;
  return *clock;
}

}  // namespace waiter
