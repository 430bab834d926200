// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The last participant to fall asleep moves the clock. Sleepers whose time has
// come, or that are to stop, count as awake: the clock does not move on before
// they have left the list.

#include "waiter/testing/simulated_clock.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/stop_token.h"

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
  const std::thread::id self = std::this_thread::get_id();
  thread_ = clock.participants_.insert(clock.participants_.end(),
                                       {.maker = self, .thread = self});
  if (clock.stray_mover_ == self) {
    clock.stray_mover_ = {};
    clock.is_late_ = false;
  } else if (clock.stray_mover_ != std::thread::id()) {
    clock.is_late_ = true;
  }
}

SimulatedClock::Participant::Participant(Participant&& other) noexcept
    : clock_(std::exchange(other.clock_, nullptr)), thread_(other.thread_) {
  if (clock_ == nullptr) return;
  const std::lock_guard lock(clock_->mutex_);
  // Another thread may have swapped its own participant for this one already.
  if (thread_->thread == thread_->maker) thread_->thread = std::thread::id();
}

SimulatedClock::Participant::~Participant() {
  if (clock_ == nullptr) return;
  const std::lock_guard lock(clock_->mutex_);
  // Another thread may use this one, and gets this thread's own in exchange.
  const std::thread::id self = std::this_thread::get_id();
  const auto own = std::ranges::find_if(
      clock_->participants_, [&](const Announced& participant) {
        return participant.thread == self && participant.maker != self;
      });
  if (own != clock_->participants_.end()) {
    std::swap(own->thread, thread_->thread);
  }
  clock_->participants_.erase(thread_);
  clock_->changed_.Notify();
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

void SimulatedClock::SleepFor(absl::Duration duration,
                              const waiter::stop_token& stop) {
  SleepUntil(SaturatingAdd(MonotonicNow(), absl::ToChronoNanoseconds(duration)),
             stop, "SleepFor");
}

void SimulatedClock::StepWallClock(absl::Duration step) {
  const std::lock_guard lock(mutex_);
  wall_step_ += step;
}

void SimulatedClock::AwaitSleepers(int count) {
  const std::lock_guard lock(mutex_);
  while (std::ranges::count_if(sleepers_, [&](const Sleeper& sleeper) {
           return IsAsleep(sleeper);
         }) < count) {
    changed_.Wait();
  }
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
                                const waiter::stop_token& stop,
                                std::string_view who) {
  const std::thread::id thread = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  const bool is_participant = TakePart();
  const auto self = sleepers_.insert(
      sleepers_.end(),
      {.wake_up = wake_up, .who = who, .thread = thread, .stopped = false});
  // Functions of the user may throw. They run without the lock.
  const absl::Cleanup leave = [&] {
    if (!lock.owns_lock()) lock.lock();
    sleepers_.erase(self);
    changed_.Notify();
  };
  if (!is_participant && is_late_ && stray_mover_ == thread) ReportLate(lock);
  // Another thread may move the time while a call of this one sleeps.
  Caller* innermost = nullptr;
  for (Caller& caller : callers_) {
    if (caller.thread == thread) innermost = &caller;
  }
  if (innermost != nullptr) innermost->sleeps = true;
  const absl::Cleanup go_on = [&] {
    if (!lock.owns_lock()) lock.lock();
    if (innermost != nullptr) innermost->sleeps = false;
  };
  lock.unlock();
  const waiter::stop_callback on_stop(stop, [&] {
    const std::lock_guard stop_lock(mutex_);
    self->stopped = true;
    changed_.Notify();
  });
  // The destructor of `on_stop` may wait for the callback, which takes the
  // lock.
  const absl::Cleanup release = [&] {
    if (lock.owns_lock()) lock.unlock();
  };
  const auto stall_limit =
      std::chrono::ceil<std::chrono::steady_clock::duration>(
          absl::ToChronoNanoseconds(
              std::min(guard_.stall_limit, absl::Hours(24 * 365))));
  lock.lock();
  changed_.Notify();
  auto quiet_since = std::chrono::steady_clock::now();
  while (IsAsleep(*self)) {
    const MonotonicTime next = NextWakeUp();
    if (mode_ == Mode::kAutomatic && next != MonotonicTime::max() &&
        MayMove()) {
      if (!is_participant && stray_mover_ != thread) {
        stray_mover_ = thread;
        is_late_ = false;
      }
      MoveTo(next, lock);
      continue;
    }
    quiet_since = std::max(quiet_since, moved_at_);
    if (!changed_.WaitUntil(quiet_since + stall_limit) && IsAsleep(*self) &&
        quiet_since >= moved_at_) {
      ReportStall(lock);
      quiet_since = std::chrono::steady_clock::now();
    }
  }
}

bool SimulatedClock::IsAsleep(const Sleeper& sleeper) const {
  return !sleeper.stopped && sleeper.wake_up > now_;
}

// Returns whether the calling thread is a participant. It becomes one if
// another thread has made a participant that has no thread yet.
bool SimulatedClock::TakePart() {
  const std::thread::id self = std::this_thread::get_id();
  if (std::ranges::find(participants_, self, &Announced::thread) !=
      participants_.end()) {
    return true;
  }
  const auto moved = std::ranges::find_if(participants_, [&](const auto& one) {
    return one.thread == std::thread::id() && one.maker != self;
  });
  if (moved == participants_.end()) return false;
  moved->thread = self;
  return true;
}

// Returns the number of participants that are asleep. A thread that has made
// two is one of them; the other one is still to come.
size_t SimulatedClock::CountAsleep() const {
  size_t count = 0;
  for (auto it = participants_.begin(); it != participants_.end(); ++it) {
    const bool is_first =
        std::ranges::find(participants_.begin(), it, it->thread,
                          &Announced::thread) == it;
    const bool sleeps = std::ranges::find(sleepers_, it->thread,
                                          &Sleeper::thread) != sleepers_.end();
    if (is_first && sleeps) ++count;
  }
  return count;
}

// Returns whether all participants are asleep, and no thread is about to wake
// or runs a call. A thread may sleep inside a call that its own sleep runs; the
// innermost sleep counts.
bool SimulatedClock::MayMove() const {
  if (!std::ranges::all_of(callers_, &Caller::sleeps)) return false;
  for (auto it = sleepers_.begin(); it != sleepers_.end(); ++it) {
    const bool sleeps_deeper =
        std::find_if(std::next(it), sleepers_.end(), [&](const Sleeper& other) {
          return other.thread == it->thread;
        }) != sleepers_.end();
    if (!sleeps_deeper && !IsAsleep(*it)) return false;
  }
  return CountAsleep() == participants_.size();
}

MonotonicTime SimulatedClock::NextWakeUp() const {
  MonotonicTime next =
      calls_.empty() ? MonotonicTime::max() : calls_.begin()->first;
  for (const Sleeper& sleeper : sleepers_) {
    if (IsAsleep(sleeper)) next = std::min(next, sleeper.wake_up);
  }
  return next;
}

void SimulatedClock::MoveTo(MonotonicTime time,
                            std::unique_lock<internal::Mutex>& lock) {
  while (!calls_.empty() && calls_.begin()->first <= time) {
    now_ = std::max(now_, calls_.begin()->first);
    const auto caller =
        callers_.insert(callers_.end(), {.thread = std::this_thread::get_id()});
    const absl::Cleanup end_call = [&] {
      lock.lock();
      callers_.erase(caller);
      changed_.Notify();
    };
    // Destroyed without the lock, as its captures are the user's.
    const std::function<void()> call = std::move(calls_.begin()->second);
    calls_.erase(calls_.begin());
    lock.unlock();
    call();
  }
  now_ = std::max(now_, time);
  moved_at_ = std::chrono::steady_clock::now();
  changed_.Notify();
}

void SimulatedClock::ReportStall(std::unique_lock<internal::Mutex>& lock) {
  std::string text = absl::StrCat(
      "SimulatedClock is stuck at ", absl::FormatDuration(SinceStart(now_)),
      ": nothing advanced it for ", absl::FormatDuration(guard_.stall_limit),
      mode_ == Mode::kManual ? "; it waits for AdvanceTime()"
                             : "; a participant is still running, or blocks "
                               "without this clock",
      ". Asleep: ", CountAsleep(), " of ", participants_.size(),
      " participants.");
  for (const Sleeper& sleeper : sleepers_) {
    absl::StrAppend(&text, "\n  \"", internal::ToAbsl(sleeper.who), "\" until ",
                    absl::FormatDuration(SinceStart(sleeper.wake_up)));
  }
  Report(text, lock);
}

void SimulatedClock::ReportLate(std::unique_lock<internal::Mutex>& lock) {
  stray_mover_ = {};
  is_late_ = false;
  if (participants_.empty()) return;
  Report(absl::StrCat(
             "SimulatedClock: a participant was announced too late: another "
             "thread had already moved the time, without waiting for the "
             "participant, to ",
             absl::FormatDuration(SinceStart(now_)),
             ". Create a Participant for each thread, including the test's, "
             "before the first thread starts"),
         lock);
}

void SimulatedClock::Report(std::string_view text,
                            std::unique_lock<internal::Mutex>& lock) {
  lock.unlock();
  (guard_.on_stall ? guard_.on_stall : PrintAndAbort)(text);
  lock.lock();
}

}  // namespace waiter
