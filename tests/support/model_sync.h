// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Models of a mutex, a condition variable and a stop source, for runs of
// `ExploreInterleavings` (interleavings.h). They have the functions that a
// mailbox (waiter/engine/mailbox.h) uses of the real ones.
//
// Only a notification wakes a waiting thread: no wait times out or ends
// spuriously. So a missing notification leads to a run in which no thread can
// continue.

#ifndef WAITER_TESTS_SUPPORT_MODEL_SYNC_H_
#define WAITER_TESTS_SUPPORT_MODEL_SYNC_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "tests/support/interleavings.h"
#include "waiter/stop_token.h"

namespace waiter {

class ABSL_LOCKABLE ModelMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Interleaving& run = Interleaving::Current();
    run.Yield();
    while (locked_) run.Block(this);
    locked_ = true;
    Join(run.clock(), released_);
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Interleaving& run = Interleaving::Current();
    ++run.clock()[run.thread()];
    released_ = run.clock();
    locked_ = false;
    run.Wake(this);
  }

 private:
  bool locked_ = false;
  VectorClock released_ = {};
};

class ABSL_SCOPED_LOCKABLE ModelLock {
 public:
  explicit ModelLock(ModelMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~ModelLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  ModelLock(const ModelLock&) = delete;
  ModelLock& operator=(const ModelLock&) = delete;

 private:
  ModelMutex& mutex_;
};

class ModelCondition {
 public:
  explicit ModelCondition(ModelMutex& mutex) : mutex_(mutex) {}

  void Wait() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.Unlock();
    Interleaving::Current().Block(this);
    mutex_.Lock();
  }
  template <typename Time>
  bool WaitUntil(Time /*time*/) {
    Wait();
    return true;
  }
  void Notify() { Interleaving::Current().Wake(this); }

 private:
  ModelMutex& mutex_;
};

class ModelStopSource {
 public:
  ModelStopSource() : stopped_(std::make_shared<ModelAtomic<bool>>(false)) {}
  explicit ModelStopSource(waiter::nostopstate_t /*unused*/) {}

  bool stop_possible() const { return stopped_ != nullptr; }
  bool stop_requested() const {
    return stopped_ != nullptr && stopped_->load();
  }
  void request_stop() {
    if (stopped_ == nullptr) return;
    stopped_->store(true);
    stopped_->notify_all();
  }
  // The token of a model is its source.
  ModelStopSource get_token() const { return *this; }
  // Blocks until a stop is requested.
  void Await() const { stopped_->wait(false); }

 private:
  std::shared_ptr<ModelAtomic<bool>> stopped_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_MODEL_SYNC_H_
