// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The last participant to fall asleep moves the clock. Sleepers whose time has
// come count as awake, so the clock cannot move on before they have run.

#include "waiter/testing/simulated_clock.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "waiter/clock.h"

namespace waiter {
namespace {

// Not zero, so that tests find code that assumes it is.
constexpr MonotonicTime kStart(std::chrono::hours(1000));

absl::Duration SinceStart(MonotonicTime time) {
  return time == MonotonicTime::max() ? absl::InfiniteDuration()
                                      : absl::FromChrono(time - kStart);
}

void PrintAndAbort(std::string_view text) {
  std::cerr << text << std::endl;
  std::abort();
}

}  // namespace

SimulatedClock::SimulatedClock(Mode mode, StallGuard guard)
    : mode_(mode), guard_(std::move(guard)), now_(kStart) {}

SimulatedClock::Participant::Participant(SimulatedClock& clock)
    : clock_(&clock) {
  const std::lock_guard lock(clock.mutex_);
  ++clock.participants_;
}

SimulatedClock::Participant::~Participant() {
  if (clock_ == nullptr) return;
  const std::lock_guard lock(clock_->mutex_);
  --clock_->participants_;
  clock_->changed_.notify_all();
}

void SimulatedClock::CallAt(absl::Duration time,
                            std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  calls_.emplace(SaturatingAdd(kStart, absl::ToChronoNanoseconds(time)),
                 std::move(function));
}

void SimulatedClock::AdvanceTime(absl::Duration duration) {
  std::unique_lock lock(mutex_);
  MoveTo(SaturatingAdd(now_, absl::ToChronoNanoseconds(duration)), lock);
}

void SimulatedClock::StepWallClock(absl::Duration step) {
  const std::lock_guard lock(mutex_);
  wall_step_ += step;
}

void SimulatedClock::AwaitSleepers(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return CountAsleep() >= count; });
}

absl::Duration SimulatedClock::Elapsed() { return SinceStart(MonotonicNow()); }

absl::Time SimulatedClock::TimeNow() {
  const std::lock_guard lock(mutex_);
  return absl::FromCivil(absl::CivilDay(2026, 1, 1), absl::UTCTimeZone()) +
         SinceStart(now_) + wall_step_;
}

MonotonicTime SimulatedClock::MonotonicNow() {
  const std::lock_guard lock(mutex_);
  return now_;
}

void SimulatedClock::SleepUntil(MonotonicTime wake_up,
                                const std::stop_token& stop,
                                std::string_view who) {
  std::unique_lock lock(mutex_);
  const auto self = sleepers_.insert(
      sleepers_.end(), {.wake_up = wake_up, .who = who, .stopped = false});
  lock.unlock();
  {
    const std::stop_callback on_stop(stop, [&] {
      const std::lock_guard stop_lock(mutex_);
      self->stopped = true;
      changed_.notify_all();
    });
    lock.lock();
    changed_.notify_all();
    while (!self->stopped && self->wake_up > now_) {
      const MonotonicTime next = NextWakeUp();
      if (mode_ == Mode::kAutomatic && next != MonotonicTime::max() &&
          CountAsleep() >= participants_) {
        MoveTo(next, lock);
      } else if (changed_.wait_for(
                     lock, absl::ToChronoNanoseconds(guard_.stall_limit)) ==
                 std::cv_status::timeout) {
        ReportStall(lock);
      }
    }
    lock.unlock();
  }
  lock.lock();
  sleepers_.erase(self);
}

int SimulatedClock::CountAsleep() const {
  return static_cast<int>(std::count_if(
      sleepers_.begin(), sleepers_.end(),
      [&](const Sleeper& s) { return !s.stopped && s.wake_up > now_; }));
}

MonotonicTime SimulatedClock::NextWakeUp() const {
  MonotonicTime next =
      calls_.empty() ? MonotonicTime::max() : calls_.begin()->first;
  for (const Sleeper& sleeper : sleepers_) {
    if (!sleeper.stopped) next = std::min(next, sleeper.wake_up);
  }
  return next;
}

void SimulatedClock::MoveTo(MonotonicTime time,
                            std::unique_lock<std::mutex>& lock) {
  while (!calls_.empty() && calls_.begin()->first <= time) {
    now_ = std::max(now_, calls_.begin()->first);
    const std::function<void()> call = std::move(calls_.begin()->second);
    calls_.erase(calls_.begin());
    lock.unlock();
    call();
    lock.lock();
  }
  now_ = std::max(now_, time);
  changed_.notify_all();
}

void SimulatedClock::ReportStall(std::unique_lock<std::mutex>& lock) {
  std::string text = absl::StrCat(
      "SimulatedClock stands still at ", absl::FormatDuration(SinceStart(now_)),
      ": nothing advanced it for ", absl::FormatDuration(guard_.stall_limit),
      mode_ == Mode::kManual ? "; it waits for AdvanceTime()"
                             : "; a participant is still running, or blocks "
                               "without this clock",
      ". Asleep: ", CountAsleep(), " of ", participants_, " participants.");
  for (const Sleeper& sleeper : sleepers_) {
    absl::StrAppend(&text, "\n  \"", sleeper.who, "\" until ",
                    absl::FormatDuration(SinceStart(sleeper.wake_up)));
  }
  lock.unlock();
  (guard_.on_stall ? guard_.on_stall : PrintAndAbort)(text);
  lock.lock();
}

}  // namespace waiter
