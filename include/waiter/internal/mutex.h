// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A mutex and a condition variable whose uses clang checks: members say by
// `ABSL_GUARDED_BY` which mutex they need, and `-Wthread-safety` finds every
// access without it.
//
// The mutex wraps the standard's and not Abseil's: built by g++, that makes
// ThreadSanitizer report false races.

#ifndef WAITER_INTERNAL_MUTEX_H_
#define WAITER_INTERNAL_MUTEX_H_

#include <chrono>
#include <mutex>

#ifdef _WIN32
#include <vector>
#else
#include <pthread.h>
#endif

#include "absl/base/thread_annotations.h"

namespace waiter::internal {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // `std::unique_lock` calls these names.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

  // Tells clang that the caller holds this, in a lambda that is called under
  // the mutex. Does nothing else.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  friend class Condition;

  std::mutex mutex_;
};

// Holds a mutex for the length of a scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Sleeps by the monotonic clock on every system. The standard's condition
// variable does so only where the system has `pthread_cond_clockwait`;
// elsewhere it sleeps by the wall clock, and a clock that is set back prolongs
// the sleep.
//
// All calls require the mutex that the constructor names, so a notification
// touches nothing after the notified thread could free the condition.
class Condition {
 public:
  explicit Condition(Mutex& mutex);
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  // Releases the mutex, blocks until notified, and takes the mutex again. May
  // also return for no reason.
  void Wait();

  // The same until `time` at the latest, which may be any time. Returns false
  // then.
  bool WaitUntil(std::chrono::steady_clock::time_point time);

  // Wakes all threads.
  void Notify();

 private:
  Mutex& mutex_;
#ifdef _WIN32
  template <typename... Limit>
  void Sleep(Limit... limit);

  std::vector<void*> sleepers_;  // The events that wake them.
#else
  pthread_cond_t condition_;
#endif
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_MUTEX_H_
