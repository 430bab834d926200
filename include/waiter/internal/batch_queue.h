// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a `BatchPoller` (batch_poller.h) that does not depend on its
// types: which keys are due, in which call they are asked for, and when. A
// batch is made by an alarm, which is a wait of the same engine: it is started
// when the first key joins, its one poll is at the end of the window, and that
// poll is the call.

#ifndef WAITER_INTERNAL_BATCH_QUEUE_H_
#define WAITER_INTERNAL_BATCH_QUEUE_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "waiter/batch_options.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"

namespace waiter {
class WaitEngine;
}  // namespace waiter

namespace waiter::internal {

struct Batch;
struct BatchKey;

// A wait for a key. It is in the queue from a poll's start to its call.
struct BatchWait {
  BatchKey* key = nullptr;
  Clock* clock = nullptr;
  // Its deadline less the window: polls from then on do not wait for others.
  MonotonicTime hurries_from = MonotonicTime::max();
  BatchWait* next = nullptr;  // The next one that is due for this key.
};

// Returns what a call that failed means to each of its keys: throttled if that
// is the class of `error`, else a server error.
Poll<> FromCallError(const absl::Status& error);

// What all waits for one key share.
struct BatchKey {
  size_t waits = 0;
  BatchWait* due = nullptr;
  Batch* batch = nullptr;  // Null unless a wait is due.
  size_t place = 0;        // In its batch.
};

// Thread-safe. Outlives the poller as long as there are waits of it.
class BatchQueue : public std::enable_shared_from_this<BatchQueue> {
 public:
  // `precondition` is what must be OK besides the options.
  BatchQueue(WaitEngine& engine, const BatchOptions& options,
             const absl::Status& precondition);
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;
  virtual ~BatchQueue() = default;

  // If not OK, nothing is ever to be polled.
  const absl::Status& status() const { return status_; }

  // Notes what `wait`, which is about to start, shall be polled by.
  void Prepare(BatchWait& wait, const WaitPolicy& policy) const;

  // Puts a wait whose poll starts now into the next call, on a thread of the
  // engine. Returns false, and does nothing, after `Close`.
  bool Join(BatchWait& wait);

  // Awaits the calls under way, unless called by one of them. There are none
  // after that; what is due then is given to `Reject`.
  void Close();

 protected:
  // Asks for `keys`, which are no longer in the queue, but for their waits.
  // Called with `mutex_` locked by `lock`, which it unlocks to ask.
  virtual void Call(const std::vector<BatchKey*>& keys,
                    std::unique_lock<std::mutex>& lock) = 0;

  // Answers that there is nobody to ask any more. Called with `mutex_` locked.
  virtual void Reject(const std::vector<BatchKey*>& keys) = 0;

  // Takes out a wait, if it is due. Requires `mutex_`.
  static void Leave(BatchWait& wait);

  std::mutex mutex_;  // Guards the keys, and what follows the status.

 private:
  void Open(Clock& clock);
  WaitHandle StartAlarm(Batch& batch);
  void OnAlarm(Batch& batch, bool at_once);
  std::vector<BatchKey*> Take(Batch& batch);

  WaitEngine& engine_;
  const BatchOptions options_;
  const absl::Status status_;

  bool closed_ = false;
  Batch* open_ = nullptr;  // Keys may join it.
  absl::flat_hash_set<std::shared_ptr<Batch>> batches_;
  std::shared_ptr<const WaitPolicy> at_once_;
  std::shared_ptr<const WaitPolicy> after_window_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_BATCH_QUEUE_H_
