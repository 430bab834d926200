// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/internal/mutex.h"

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <new>
#include <ratio>
#include <vector>

#include "waiter/internal/exceptions.h"
#include "waiter/thread_value.h"
#else
#include <pthread.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>

namespace waiter::internal {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

#if defined(_WIN32) || defined(__APPLE__)
namespace {

// Returns the time until `time`, or the longest sleep that cannot overflow.
nanoseconds TimeUntil(steady_clock::time_point time) {
  const steady_clock::time_point now = steady_clock::now();
  return std::min<nanoseconds>(std::max(time, now) - now,
                               std::chrono::hours(24));
}

}  // namespace
#endif

#ifdef _WIN32
namespace {

void WAITER_AT_THREAD_END CloseEvent(void* event) { CloseHandle(event); }
void WAITER_AT_THREAD_END CloseTimer(void* timer) { CloseHandle(timer); }

// Returns the event that a thread sleeps on.
HANDLE EventOfThread() {
  using Event = ThreadValue<CloseEvent>;
  if (Event::Get() == nullptr) {
    Event::Set(CreateEventW(nullptr, /*bManualReset=*/FALSE,
                            /*bInitialState=*/FALSE, nullptr));
  }
  return Event::Get();
}

// Returns the timer of a thread.
HANDLE TimerOfThread() {
  using Timer = ThreadValue<CloseTimer>;
  if (Timer::Get() != nullptr) return Timer::Get();
  // CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, which older headers lack.
  constexpr DWORD kHighResolution = 2;
  HANDLE timer = CreateWaitableTimerExW(nullptr, nullptr, kHighResolution,
                                        TIMER_ALL_ACCESS);
  // Before Windows 10 1803, all timers are this coarse: 16 ms.
  if (timer == nullptr) timer = CreateWaitableTimerW(nullptr, TRUE, nullptr);
  Timer::Set(timer);
  return timer;
}

void SleepOn(HANDLE woken) { WaitForSingleObject(woken, INFINITE); }
void SleepOn(HANDLE woken, nanoseconds limit) {
  using Ticks = std::chrono::duration<int64_t, std::ratio<1, 10'000'000>>;
  const HANDLE timer = TimerOfThread();
  LARGE_INTEGER due;
  // Negative: from now on, independently of the wall clock.
  due.QuadPart = -std::chrono::ceil<Ticks>(limit).count();
  SetWaitableTimer(timer, &due, 0, nullptr, nullptr, FALSE);
  const HANDLE either[] = {woken, timer};
  WaitForMultipleObjects(2, either, FALSE, INFINITE);
}

}  // namespace

Condition::Condition(Mutex& mutex) : mutex_(mutex) {}

Condition::~Condition() = default;

template <typename... Limit>
void Condition::Sleep(Limit... limit) {
  const HANDLE woken = EventOfThread();
  WAITER_TRY { sleepers_.push_back(woken); }
  WAITER_CATCH(const std::bad_alloc&) {
    // Without memory no notification comes, so the caller looks again soon.
    mutex_.unlock();
    SleepOn(woken, std::min<nanoseconds>({limit..., nanoseconds(1'000'000)}));
    mutex_.lock();
    return;
  }
  mutex_.unlock();
  SleepOn(woken, limit...);
  mutex_.lock();
  // The event is still in the list if the limit came first, or if this sleep
  // ended by a notification that came after the limit of an earlier one.
  std::erase(sleepers_, woken);
}

void Condition::Wait() { Sleep(); }

bool Condition::WaitUntil(steady_clock::time_point time) {
  Sleep(TimeUntil(time));
  return steady_clock::now() < time;
}

void Condition::Notify() {
  for (const HANDLE sleeper : sleepers_) SetEvent(sleeper);
  sleepers_.clear();
}

#else  // POSIX

namespace {

timespec ToTimespec(nanoseconds time) {
  const auto whole = std::chrono::floor<seconds>(time);
  timespec result = {};
  result.tv_sec = static_cast<time_t>(
      std::min<int64_t>(whole.count(), std::numeric_limits<time_t>::max()));
  result.tv_nsec = static_cast<long>((time - whole).count());
  return result;
}

}  // namespace

Condition::Condition(Mutex& mutex) : mutex_(mutex) {
#ifdef __APPLE__
  pthread_cond_init(&condition_, nullptr);
#else
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition_, &attributes);
  pthread_condattr_destroy(&attributes);
#endif
}

Condition::~Condition() { pthread_cond_destroy(&condition_); }

void Condition::Wait() {
  pthread_cond_wait(&condition_, mutex_.mutex_.native_handle());
}

bool Condition::WaitUntil(steady_clock::time_point time) {
#ifdef __APPLE__
  const timespec limit = ToTimespec(TimeUntil(time));
  pthread_cond_timedwait_relative_np(&condition_, mutex_.mutex_.native_handle(),
                                     &limit);
#else
  const timespec limit =
      ToTimespec(std::max(time, steady_clock::time_point()).time_since_epoch());
  pthread_cond_timedwait(&condition_, mutex_.mutex_.native_handle(), &limit);
#endif
  return steady_clock::now() < time;
}

void Condition::Notify() { pthread_cond_broadcast(&condition_); }

#endif

}  // namespace waiter::internal
