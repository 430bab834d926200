// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a `BatchPoller` (engine/batch_poller.h) that does not depend on
// its types. It decides which keys are due, in which call they are polled, and
// when. Each batch has an alarm, which is a wait on the same engine. It starts
// when the first key joins. Its one poll comes at the end of the window, and is
// the call.
//
// With a rate limiter, batches whose window is over wait in line. Only the
// alarm of the first one asks the limiter, and polls again at the time that the
// limiter returns. When it may call, the next batch gets a new alarm, and then
// the call is made.

#ifndef WAITER_ENGINE_INTERNAL_BATCH_QUEUE_H_
#define WAITER_ENGINE_INTERNAL_BATCH_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/engine/handle.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
struct BatchOptions;
class RateLimiter;
class WaitEngine;
}  // namespace waiter

namespace waiter::internal {

struct Batch;
struct BatchKey;

// A wait for a key. It is in the queue from the start of a poll until its call.
struct BatchWait {
  BatchKey* key = nullptr;
  Clock* clock = nullptr;
  // The deadline minus the window. Later polls do not wait for others.
  MonotonicTime hurries_from = (MonotonicTime::max)();
  // Whether the poll in progress is certain to be answered: nothing holds its
  // call up, or the call has begun.
  std::atomic<bool> is_awaited = true;
  BatchWait* next = nullptr;  // The next wait that is due for this key.
};

// Returns the answer for each key of a call that returned `error`: failed if
// that is the limit of another wait, throttled if that is the class of `error`,
// otherwise a server error.
Poll<> FromCallError(const absl::Status& error);

// State that all waits for one key share.
struct BatchKey {
  size_t waits = 0;          // All waits for this key, due or not.
  BatchWait* due = nullptr;  // List of the waits in the queue.
  Batch* batch = nullptr;    // Null unless a wait is due.
  size_t place = 0;          // Position in `batch`.
};

// Thread-safe. Waits of the poller share ownership, so that it outlives a
// poller that is destroyed before them.
class BatchQueue : public std::enable_shared_from_this<BatchQueue> {
 public:
  // If `precondition` is not OK, `status()` returns it.
  BatchQueue(WaitEngine& engine, const BatchOptions& options,
             const absl::Status& precondition);
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;
  virtual ~BatchQueue() = default;

  // Returns the error with which every wait of `policy` ends, or OK.
  absl::Status StatusFor(const WaitPolicy& policy) const;

  // Stores the clock and deadline of `wait`, which is about to start.
  void Prepare(BatchWait& wait, const WaitPolicy& policy) const;

  // Puts `wait`, whose poll starts now, into the next call. To be called on a
  // thread of the engine. Returns false and does nothing after `Close`.
  bool Join(BatchWait& wait);

  // Awaits the calls in progress, except one that calls this itself. No call is
  // made afterwards; keys that are due get the answer `Gone()`.
  void Close();

 protected:
  // Polls `keys`, which have left the queue; their waits are still in the
  // lists. Called with `mutex_` locked by `lock`, which it unlocks for the
  // call.
  virtual void Call(const std::vector<BatchKey*>& keys,
                    std::unique_lock<std::mutex>& lock) = 0;

  // Returns the answer of a poller that is gone.
  static Poll<> Gone();

  // Answers the waits of `keys`, which are due. Called with `mutex_` locked.
  virtual void Answer(const std::vector<BatchKey*>& keys,
                      const Poll<>& answer) = 0;

  // Takes `wait` out of the queue, if it is in it. Requires `mutex_`.
  void Leave(BatchWait& wait);

  // Whether `CountCall` must be called for each call.
  bool counts_calls() const { return rate_limiter_ != nullptr; }

  // Tells the rate limiter that a call has ended with `found`.
  void CountCall(PollStatus found);

  // Guards all keys and waits, and the members after `status_`.
  std::mutex mutex_;

 private:
  // Starts a new batch with its alarm.
  void Open(Clock& clock);
  WaitHandle StartAlarm(Batch& batch,
                        const std::shared_ptr<const WaitPolicy>& policy);
  // Makes the call of `batch`, unless another alarm has replaced the alarm
  // with this number. Returns success, or "not ready" with the time after
  // which to ask the rate limiter again. Memory that runs out terminates the
  // program: the keys would be lost.
  Poll<> OnAlarm(Batch& batch, int alarm) noexcept;
  // Answers the keys of `batch` with the error of `result`: its alarm ended
  // without a call.
  void OnLostAlarm(Batch& batch, int alarm,
                   const WaitResult<>& result) noexcept;
  // Takes the keys out of `batch`.
  std::vector<BatchKey*> Take(Batch& batch);
  // Ends `batch`, which waits in line and has lost its last key.
  void Dissolve(Batch& batch);
  // Takes `batch` out of the line, if it stands there. If it was the first, the
  // next one asks the rate limiter.
  void LeaveLine(Batch& batch);

  WaitEngine& engine_;
  const int64_t max_batch_;
  const absl::Duration window_;
  const std::shared_ptr<RateLimiter> rate_limiter_;
  const absl::Status status_;

  bool closed_ = false;
  Clock* clock_ = nullptr;   // Set with the first batch.
  Batch* open_ = nullptr;    // The batch that keys join.
  std::deque<Batch*> line_;  // Batches that wait for the rate limiter.
  absl::flat_hash_set<std::shared_ptr<Batch>> batches_;
  std::shared_ptr<const WaitPolicy> at_once_;
  std::shared_ptr<const WaitPolicy> after_window_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_BATCH_QUEUE_H_
