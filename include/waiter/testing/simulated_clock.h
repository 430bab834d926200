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
// Time stops while code runs. When all code that could run is asleep on the
// clock, the time jumps to the next wake-up or call. A test with threads
// announces each thread, including its own, before the first one starts:
//
//   std::atomic<bool> done = false;
//   waiter::Waiter wait([&] { return done.load(); },
//                       {.timeout = absl::Hours(1), .clock = &clock});
//   std::optional<waiter::SimulatedClock::Participant> test(std::in_place,
//                                                           clock);
//   std::thread worker(
//       [&, participant = waiter::SimulatedClock::Participant(clock)] {
//         clock.SleepFor(std::chrono::minutes(5));
//         done = true;
//       });
//   EXPECT_TRUE(wait.Wait().ok());
//   test.reset();  // Before the test joins the worker, without this clock.
//   worker.join();
//
// The time of a clock made with `kManual` moves only by `AdvanceTime`, so a
// test can look at a wait during its sleep:
//
//   waiter::SimulatedClock clock(waiter::SimulatedClock::Mode::kManual);
//   std::thread thread([&] { (void)wait.Wait(); });
//   clock.AwaitSleepers(1);  // The wait has polled, and sleeps.
//   EXPECT_EQ(polls, 1);
//   clock.AdvanceTime(absl::Minutes(1));
//   thread.join();

#ifndef WAITER_TESTING_SIMULATED_CLOCK_H_
#define WAITER_TESTING_SIMULATED_CLOCK_H_

#include <algorithm>
#include <cassert>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"

namespace waiter {

// Thread-safe. Must outlive every wait, engine and `Participant` that uses it.
// Each test should make its own.
class SimulatedClock final : public Clock {
  struct Announced {
    std::thread::id maker;
    std::thread::id thread;  // None until the participant is on its thread.
  };

 public:
  enum class Mode { kAutomatic, kManual };

  // Guard against tests that would hang or depend on chance. If a sleeper has
  // been asleep for `stall_limit` of real time and the clock has not moved, the
  // clock calls `on_stall` with a text that lists the sleepers and their
  // wake-up times. Unset: it prints the text and aborts the program.
  struct StallGuard {
    absl::Duration stall_limit = absl::Seconds(30);
    std::function<void(std::string_view)> on_stall = nullptr;
  };

  explicit SimulatedClock(Mode mode = Mode::kAutomatic)
      : SimulatedClock(mode, StallGuard{}) {}
  SimulatedClock(Mode mode, StallGuard guard);

  // A thread that the clock waits for: the time jumps only while all
  // participants are asleep on the clock. Other threads may also sleep on it,
  // but are not waited for. Without participants, the time jumps as soon as one
  // thread sleeps.
  //
  // Represents the thread that makes it, or, once it has been moved, the next
  // other thread that sleeps and is not yet a participant. A thread that
  // announces itself after another thread has moved the time, and while that
  // thread still sleeps, would see hours pass at random. The clock reports this
  // through the `StallGuard`.
  class Participant {
   public:
    explicit Participant(SimulatedClock& clock);
    Participant(Participant&& other) noexcept;
    ~Participant();

   private:
    SimulatedClock* clock_;
    std::list<Announced>::iterator thread_;
  };

  // Runs `function` once when `Elapsed()` reaches `time`, on the thread that
  // moves the clock, without a lock. The time stops while the function runs,
  // unless that sleeps on this clock or advances it. If `time` has passed, the
  // function runs when the clock next moves. Calls for the same time run in the
  // order in which they were added.
  void CallAt(absl::Duration time, std::function<void()> function);

  // Advances the time by `duration`, which must not be negative, and runs the
  // calls that come due, each at its own time. Sleepers that are due wake up
  // after the last call. A status function that calls this simulates a poll
  // that takes that long.
  void AdvanceTime(absl::Duration duration);

  // Sleeps on this clock until `duration` of simulated time has passed, as a
  // program's thread does on the real clock. Returns immediately if `duration`
  // is zero or less; if it is infinite, only a stop wakes the thread.
  // `AdvanceTime` is for the code that moves the time.
  void SleepFor(absl::Duration duration, const waiter::stop_token& stop = {});
  template <typename Rep, typename Period>
  void SleepFor(std::chrono::duration<Rep, Period> duration,
                const waiter::stop_token& stop = {}) {
    if constexpr (requires { absl::FromChrono(duration); }) {
      SleepFor(absl::FromChrono(duration), stop);
    } else {
      SleepFor(absl::Seconds(std::chrono::duration<double>(duration).count()),
               stop);
    }
  }

  // Moves only the wall clock, forward or backward, as an administrator or a
  // leap second does. Sleeps and timeouts are not affected.
  void StepWallClock(absl::Duration step);

  // Blocks, in real time, until `count` threads are asleep on this clock. The
  // `StallGuard` does not apply.
  void AwaitSleepers(int count);

  // Returns the simulated time since this clock was made.
  absl::Duration Elapsed();

  // The functions of `Clock`. The wall clock starts at 2026-01-01 00:00 UTC,
  // the monotonic clock at 1000 hours. `who` appears in the text of the
  // `StallGuard`.
  absl::Time TimeNow() override;
  MonotonicTime MonotonicNow() override;
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override;

 private:
  struct Sleeper {
    MonotonicTime wake_up;
    std::string_view who;
    std::thread::id thread;
    bool stopped;
  };

  // A thread that runs one of the calls.
  struct Caller {
    std::thread::id thread;
    bool sleeps = false;  // On this clock, inside the call.
  };

  // These require `mutex_`; the last four release it while they call user
  // functions.
  bool IsAsleep(const Sleeper& sleeper) const;
  size_t CountAsleep() const;
  bool TakePart();
  bool MayMove() const;
  MonotonicTime NextWakeUp() const;
  void MoveTo(MonotonicTime time, std::unique_lock<internal::Mutex>& lock);
  void ReportStall(std::unique_lock<internal::Mutex>& lock);
  void ReportLate(std::unique_lock<internal::Mutex>& lock);
  void Report(std::string_view text, std::unique_lock<internal::Mutex>& lock);

  const Mode mode_;
  const StallGuard guard_;

  internal::Mutex mutex_;
  internal::Condition changed_{mutex_};
  MonotonicTime now_;
  absl::Duration wall_step_;
  std::chrono::steady_clock::time_point moved_at_{};  // In real time.
  std::list<Announced> participants_;
  // The last non-participant whose sleep moved the time.
  std::thread::id stray_mover_;
  bool is_late_ = false;  // Another thread was announced since then.
  std::list<Sleeper> sleepers_;
  std::multimap<MonotonicTime, std::function<void()>> calls_;
  std::list<Caller> callers_;
};

// A status function that plays a list of answers, for tests on simulated time:
//
//   waiter::SimulatedClock clock;
//   waiter::ScriptedPoll<int> script(clock,
//                                    {waiter::NotReady("CREATING"),
//                                     {waiter::NotReady(), absl::Seconds(2)},
//                                     waiter::Success(7)});
//   waiter::Waiter wait(std::ref(script), {.timeout = absl::Minutes(1),
//                                          .clock = &clock});
//   EXPECT_EQ(*wait.Wait(), 7);
//   EXPECT_EQ(script.polled_at().size(), 3);
//
// With exact delays the script shows when a policy polls:
//
//   waiter::ScriptedPoll<> never(clock, {waiter::NotReady()});
//   waiter::Waiter wait(std::ref(never),
//                       {.timeout = absl::Seconds(7),
//                        .backoff = {.initial_delay = absl::Seconds(1),
//                                    .jitter = waiter::Jitter::None()},
//                        .clock = &clock});
//   EXPECT_FALSE(wait.Wait().ok());
//   EXPECT_THAT(never.polled_at(),
//               ElementsAre(absl::Seconds(0), absl::Seconds(1),
//                           absl::Seconds(3), absl::Seconds(7)));

// Answers with its steps in order, and repeats the last one forever. Pass it by
// `std::ref`, because a copy keeps its own record; it must then outlive the
// wait. Thread-compatible: only one wait at a time may poll it. `T` must be
// copyable.
template <typename T = void>
class ScriptedPoll {
 public:
  // An answer and the simulated time that passes until it comes.
  class Step {
   public:
    // Implicit, so that braces with an answer, or with an answer and a time,
    // make a step. `takes` must not be negative.
    template <std::convertible_to<Poll<T>> Found>
    // NOLINTNEXTLINE(google-explicit-constructor): a script is a list of polls
    Step(Found found, absl::Duration takes = absl::ZeroDuration())
        : found_(std::move(found)), takes_(takes) {}

   private:
    friend class ScriptedPoll;
    Poll<T> found_;
    absl::Duration takes_;
  };

  // Requires at least one step. `clock` must outlive this.
  ScriptedPoll(SimulatedClock& clock, std::vector<Step> steps)
      : clock_(clock), steps_(std::move(steps)) {
    assert(!steps_.empty());
  }

  // Plays the next step: records the time, advances the clock by the time that
  // the answer takes, and returns the answer.
  Poll<T> operator()() {
    const size_t index = (std::min)(polled_at_.size(), steps_.size() - 1);
    polled_at_.push_back(clock_.Elapsed());
    clock_.AdvanceTime(steps_[index].takes_);
    return steps_[index].found_;
  }

  // Returns the start of each poll so far, as the time since the clock was
  // made. The reference is valid until the next poll.
  const std::vector<absl::Duration>& polled_at() const { return polled_at_; }

 private:
  SimulatedClock& clock_;
  std::vector<Step> steps_;
  std::vector<absl::Duration> polled_at_;
};

}  // namespace waiter

#endif  // WAITER_TESTING_SIMULATED_CLOCK_H_
