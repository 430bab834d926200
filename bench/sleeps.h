// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How late a sleep ends, and how soon a stop does, in real time: once through
// `Waiter` and once through a `std::condition_variable`. Alternate the two, as
// what a wake-up costs drifts with everything else on the machine.

#ifndef WAITER_BENCH_SLEEPS_H_
#define WAITER_BENCH_SLEEPS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
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

// From the time a sleep should end to the time its thread runs again.
class Lateness {
 public:
  explicit Lateness(std::chrono::nanoseconds length);

  // A wait whose second poll succeeds.
  std::chrono::nanoseconds OfWaiter();

  std::chrono::nanoseconds OfConditionVariable();

 private:
  // Tells when the wait meant to wake up.
  class RecordingClock final : public Clock {
   public:
    absl::Time TimeNow() override { return real_.TimeNow(); }
    MonotonicTime MonotonicNow() override { return real_.MonotonicNow(); }
    void SleepUntil(MonotonicTime wake_up, const std::stop_token& stop,
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

// From the request on this thread to the return on another, which is asleep
// with an hour to go.
class StopLatency {
 public:
  StopLatency();
  ~StopLatency();
  StopLatency(const StopLatency&) = delete;
  StopLatency& operator=(const StopLatency&) = delete;

  // `std::stop_source::request_stop` to `Waiter::Wait`.
  std::chrono::nanoseconds OfWaiter();

  // `notify_one` to `wait_until`.
  std::chrono::nanoseconds OfConditionVariable();

 private:
  // Runs `block` on the other thread, and `wake` when that is asleep.
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
