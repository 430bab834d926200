// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/sleeps.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/check.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::bench {
namespace {

MonotonicTime Now() { return std::chrono::steady_clock::now(); }

WaitOptions EveryDelay(std::chrono::nanoseconds length, Clock* clock) {
  const absl::Duration delay = absl::FromChrono(length);
  return {.timeout = absl::InfiniteDuration(),
          .backoff = {.initial_delay = delay,
                      .max_delay = delay,
                      .jitter = Jitter::None()},
          .clock = clock};
}

}  // namespace

Lateness::Lateness(std::chrono::nanoseconds length)
    : length_(length),
      wait_(
          [this, polls = 0]() mutable {
            polled_at_ = Now();
            return ++polls % 2 == 0 ? PollStatus::kSuccess
                                    : PollStatus::kNotReady;
          },
          EveryDelay(length, &clock_)) {}

std::chrono::nanoseconds Lateness::OfWaiter() {
  Check(wait_.Wait().ok(), "a wait whose second poll succeeds did not");
  return polled_at_ - clock_.wake_up();
}

std::chrono::nanoseconds Lateness::OfConditionVariable() {
  std::unique_lock lock(mutex_);
  const MonotonicTime wake_up = Now() + length_;
  Check(!never_.wait_until(lock, wake_up, [] { return false; }),
        "a condition variable did not sleep to its end");
  return Now() - wake_up;
}

StopLatency::StopLatency() : thread_([this] { RunThread(); }) {}

StopLatency::~StopLatency() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::chrono::nanoseconds StopLatency::OfWaiter() {
  waiter::stop_source stop;
  Waiter wait([] { return PollStatus::kNotReady; },
              EveryDelay(std::chrono::hours(1), /*clock=*/nullptr));
  return Measure(
      [&] {
        Check(wait.Wait(stop.get_token()).reason() == StopReason::kCancelled,
              "a stop did not end a wait");
      },
      [&] { stop.request_stop(); });
}

std::chrono::nanoseconds StopLatency::OfConditionVariable() {
  return MeasureConditionVariable([] {});
}

std::chrono::nanoseconds StopLatency::OfConditionVariableAndStatus() {
  const MonotonicTime start = Now();
  return MeasureConditionVariable([start] {
    const absl::Status status = absl::CancelledError(absl::StrCat(
        "wait: stop requested after ", 1, " attempt in ",
        absl::FormatDuration(absl::Trunc(absl::FromChrono(Now() - start),
                                         absl::Microseconds(1))),
        "; last poll: ", "not ready"));
    Check(!status.ok(), "a status was lost");
  });
}

template <typename Then>
std::chrono::nanoseconds StopLatency::MeasureConditionVariable(Then then) {
  std::mutex mutex;
  std::condition_variable stopped_or_due;
  bool stopped = false;
  return Measure(
      [&] {
        std::unique_lock lock(mutex);
        Check(stopped_or_due.wait_until(lock, Now() + std::chrono::hours(1),
                                        [&] { return stopped; }),
              "a notification did not end a sleep");
        then();
      },
      [&] {
        {
          const std::lock_guard lock(mutex);
          stopped = true;
        }
        stopped_or_due.notify_one();
      });
}

std::chrono::nanoseconds StopLatency::OfStopToken() {
  std::stop_source stop;
  std::mutex mutex;
  std::condition_variable_any due;
  return Measure(
      [&] {
        std::unique_lock lock(mutex);
        due.wait_until(lock, stop.get_token(), Now() + std::chrono::hours(1),
                       [] { return false; });
        Check(stop.stop_requested(), "a stop did not end a sleep");
      },
      [&] { stop.request_stop(); });
}

template <typename Wake>
std::chrono::nanoseconds StopLatency::Measure(std::function<void()> block,
                                              Wake wake) {
  // This is long enough for the thread to fall asleep, and short enough for the
  // core to stay awake.
  constexpr std::chrono::microseconds kFallAsleep{200};
  blocking_ = returned_ = false;
  {
    const std::lock_guard lock(mutex_);
    block_ = std::move(block);
  }
  changed_.notify_one();
  while (!blocking_) std::this_thread::yield();
  std::this_thread::sleep_for(kFallAsleep);

  const MonotonicTime woken_at = Now();
  wake();
  while (!returned_) std::this_thread::yield();
  return returned_at_ - woken_at;
}

void StopLatency::RunThread() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quit_ || block_ != nullptr; });
    if (quit_) return;
    const std::function<void()> block = std::exchange(block_, nullptr);
    blocking_ = true;
    block();
    returned_at_ = Now();
    returned_ = true;
  }
}

}  // namespace waiter::bench
