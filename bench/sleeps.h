// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures in real time how late a sleep ends, and how soon a stop ends one,
// for `Waiter` and for a `std::condition_variable`. Alternate the two, because
// the cost of a wake-up drifts with the load of the machine.

#ifndef WAITER_BENCH_SLEEPS_H_
#define WAITER_BENCH_SLEEPS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::bench {

// Returns the `share`th quantile of `samples`, which must not be empty.
template <typename T>
T Quantile(std::vector<T> samples, double share) {
  const auto nth =
      samples.begin() + static_cast<std::ptrdiff_t>(
                            share * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

// The time from when a sleep should end to when its thread runs again.
class Lateness {
 public:
  explicit Lateness(std::chrono::nanoseconds length);

  // Runs a wait whose second poll succeeds.
  std::chrono::nanoseconds OfWaiter();

  std::chrono::nanoseconds OfConditionVariable();

 private:
  // Records when the wait plans to wake up.
  class RecordingClock final : public Clock {
   public:
    absl::Time TimeNow() override { return real_.TimeNow(); }
    MonotonicTime MonotonicNow() override { return real_.MonotonicNow(); }
    void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                    std::string_view who) override {
      wake_up_ = wake_up;
      real_.SleepUntil(wake_up, stop, who);
    }
    MonotonicTime wake_up() const { return wake_up_; }

   private:
    Clock& real_ = GetRealClock();
    MonotonicTime wake_up_;
  };

  std::chrono::nanoseconds length_;
  RecordingClock clock_;
  MonotonicTime polled_at_;
  Waiter<std::function<PollStatus()>> wait_;
  std::mutex mutex_;
  std::condition_variable never_;
};

// The time from a request to stop on this thread to the return on another
// thread, which sleeps for an hour.
class StopLatency {
 public:
  StopLatency();
  ~StopLatency();
  StopLatency(const StopLatency&) = delete;
  StopLatency& operator=(const StopLatency&) = delete;

  // From `waiter::stop_source::request_stop` to the return of `Waiter::Wait`.
  std::chrono::nanoseconds OfWaiter();

  // From `notify_one` to the return of `wait_until`.
  std::chrono::nanoseconds OfConditionVariable();

  // The same, but also makes the status that a wait returns. When a thread has
  // just woken up, that code and its memory are not in the processor's caches.
  std::chrono::nanoseconds OfConditionVariableAndStatus();

  // From `std::stop_source::request_stop` to the return of
  // `std::condition_variable_any::wait_until`, which is the standard library's
  // sleep that a stop token ends.
  std::chrono::nanoseconds OfStopToken();

 private:
  // Calls `then` after `wait_until`.
  template <typename Then>
  std::chrono::nanoseconds MeasureConditionVariable(Then then);

  // Runs `block` on the other thread, and `wake` once that thread sleeps.
  template <typename Wake>
  std::chrono::nanoseconds Measure(std::function<void()> block, Wake wake);
  void RunThread();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> block_;
  bool quit_ = false;

  std::atomic<bool> blocking_ = false;
  std::atomic<bool> returned_ = false;
  MonotonicTime returned_at_;

  std::thread thread_;
};

}  // namespace waiter::bench

#endif  // WAITER_BENCH_SLEEPS_H_
