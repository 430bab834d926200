// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A mutex and a condition variable whose uses clang checks: members say by
// `ABSL_GUARDED_BY` which mutex they need, and `-Wthread-safety` finds every
// access without it.
//
// These wrap the standard's types and not Abseil's: built by g++, those make
// ThreadSanitizer report false races.

#ifndef WAITER_INTERNAL_MUTEX_H_
#define WAITER_INTERNAL_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace waiter::internal {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

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
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// All calls require the mutex that the constructor names, so a notification
// touches nothing after the notified thread could free the condition.
class Condition {
 public:
  explicit Condition(Mutex& mutex) : mutex_(mutex) {}

  // Releases the mutex, blocks until notified, and takes the mutex again. May
  // also return for no reason.
  void Wait() {
    std::unique_lock lock(mutex_.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // The same until `time` at the latest. Returns false then.
  bool WaitUntil(std::chrono::steady_clock::time_point time) {
    std::unique_lock lock(mutex_.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, time);
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void Notify() { condition_.notify_all(); }

 private:
  Mutex& mutex_;
  std::condition_variable condition_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_MUTEX_H_
