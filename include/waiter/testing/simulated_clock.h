// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A clock for tests: hours pass in microseconds, the same way every time.
//
//   waiter::SimulatedClock clock;
//   bool done = false;
//   clock.CallAt(absl::Minutes(5), [&] { done = true; });
//   waiter::Waiter wait([&] { return done; },
//                       {.timeout = absl::Hours(1), .clock = &clock});
//   EXPECT_TRUE(wait.Wait().ok());
//   EXPECT_GE(clock.Elapsed(), absl::Minutes(5));
//
// Time stands still while code runs. When all code that could run is asleep on
// the clock, it jumps to the next wake-up or call. Threads that should be
// waited for while they run announce themselves:
//
//   std::jthread worker([&] {
//     const waiter::SimulatedClock::Participant participant(clock);
//     ...
//   });
//
// A clock made with `kManual` jumps only when told to by `AdvanceTime`.

#ifndef WAITER_TESTING_SIMULATED_CLOCK_H_
#define WAITER_TESTING_SIMULATED_CLOCK_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "waiter/clock.h"

namespace waiter {

// Thread-safe.
class SimulatedClock final : public Clock {
 public:
  enum class Mode { kAutomatic, kManual };

  // What happens when a sleeper has been asleep for `stall_limit` of real time
  // and nothing has advanced: the test would hang. `on_stall` gets a text that
  // says who waits for what; by default it is printed and the program aborts.
  struct StallGuard {
    absl::Duration stall_limit = absl::Seconds(30);
    std::function<void(std::string_view)> on_stall = nullptr;
  };

  explicit SimulatedClock(Mode mode = Mode::kAutomatic)
      : SimulatedClock(mode, StallGuard{}) {}
  SimulatedClock(Mode mode, StallGuard guard);

  // As long as it lives, one more thread must be asleep before time may jump.
  class Participant {
   public:
    explicit Participant(SimulatedClock& clock);
    Participant(Participant&& other) noexcept
        : clock_(std::exchange(other.clock_, nullptr)) {}
    ~Participant();

   private:
    SimulatedClock* clock_;
  };

  // Runs `function` when `Elapsed()` is `time`, on whichever thread moves the
  // clock, under no lock. Calls for the same time run in the order they came.
  void CallAt(absl::Duration time, std::function<void()> function);

  // Moves time on, running the calls on the way at their own times. Sleepers
  // that are due wake when it is done. From a status function this stands for
  // the time that a poll takes.
  void AdvanceTime(absl::Duration duration);

  // Moves the wall clock alone, as an administrator or a leap second would.
  void StepWallClock(absl::Duration step);

  // Blocks, in real time, until `count` threads are asleep on this clock.
  void AwaitSleepers(int count);

  // Returns the time since this clock was made.
  absl::Duration Elapsed();

  // Starts at 2026-01-01 00:00 UTC.
  absl::Time TimeNow() override;
  MonotonicTime MonotonicNow() override;
  void SleepUntil(MonotonicTime wake_up, const std::stop_token& stop,
                  std::string_view who) override;

 private:
  struct Sleeper {
    MonotonicTime wake_up;
    std::string_view who;
    bool stopped;
  };

  int CountAsleep() const;
  MonotonicTime NextWakeUp() const;
  void MoveTo(MonotonicTime time, std::unique_lock<std::mutex>& lock);
  void ReportStall(std::unique_lock<std::mutex>& lock);

  const Mode mode_;
  const StallGuard guard_;

  std::mutex mutex_;
  std::condition_variable changed_;
  MonotonicTime now_;
  absl::Duration wall_step_;
  int participants_ = 0;
  std::list<Sleeper> sleepers_;
  std::multimap<MonotonicTime, std::function<void()>> calls_;
};

}  // namespace waiter

#endif  // WAITER_TESTING_SIMULATED_CLOCK_H_
