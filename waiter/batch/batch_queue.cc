// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/internal/batch_queue.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/batch_options.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/poll_status.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {

absl::Status Validate(const BatchOptions& options) {
  if (options.max_batch < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("BatchOptions::max_batch is ", options.max_batch,
                     "; it must be at least 1"));
  }
  if (options.window < absl::ZeroDuration() ||
      options.window == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "BatchOptions::window is ", absl::FormatDuration(options.window),
        "; it must be finite, and zero or more"));
  }
  return absl::OkStatus();
}

namespace internal {

// One call that has not been made yet. `alarm` must be destroyed without the
// lock held: its destructor may await a poll that takes the lock.
struct Batch : std::enable_shared_from_this<Batch> {
  std::shared_ptr<BatchQueue> queue;
  std::vector<BatchKey*> keys;
  bool at_once = false;  // True if the alarm does not wait for the window.
  WaitHandle alarm;
};

Poll<> FromCallError(const absl::Status& error) {
  if (LimitOf(error).has_value()) return Failed(error);
  return ClassOf(error.code()) == PollStatus::kThrottled ? Throttled(error)
                                                         : ServerError(error);
}

BatchQueue::BatchQueue(WaitEngine& engine, const BatchOptions& options,
                       const absl::Status& precondition)
    : engine_(engine),
      options_(options),
      status_(precondition.ok() ? Validate(options) : precondition) {}

void BatchQueue::Prepare(BatchWait& wait, const WaitPolicy& policy) const {
  if (!policy.status().ok()) return;
  wait.clock = &policy.clock();
  if (policy.has_deadline() && options_.window > absl::ZeroDuration()) {
    const MonotonicTime deadline =
        policy.DeadlineFrom(policy.clock().MonotonicNow());
    if (deadline != MonotonicTime::max()) {
      wait.hurries_from =
          deadline - WaitPolicy::ToLoopDuration(options_.window);
    }
  }
}

bool BatchQueue::Join(BatchWait& wait) {
  const bool hurries =
      wait.hurries_from != MonotonicTime::max() &&
      wait.clock->MonotonicNowBefore(wait.hurries_from) >= wait.hurries_from;
  WaitHandle replaced;
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  BatchKey& key = *wait.key;
  // The queue changes only after what may throw.
  if (key.batch == nullptr) {
    if (open_ == nullptr) Open(*wait.clock);
    open_->keys.push_back(&key);
    key.batch = open_;
    key.place = open_->keys.size() - 1;
  }
  wait.next = std::exchange(key.due, &wait);
  Batch& batch = *key.batch;
  const bool full =
      batch.keys.size() == static_cast<size_t>(options_.max_batch);
  if (full && &batch == open_) open_ = nullptr;
  if ((full || hurries) && !batch.at_once) {
    replaced = std::exchange(batch.alarm, StartAlarm(batch, /*at_once=*/true));
    batch.at_once = true;
  }
  return true;
}

void BatchQueue::Open(Clock& clock) {
  if (at_once_ == nullptr) {
    WaitOptions options = {
        .name = "batch", .timeout = absl::InfiniteDuration(), .clock = &clock};
    at_once_ = WaitPolicy::Make(options);
    options.first_poll_delay = options_.window;
    after_window_ = WaitPolicy::Make(std::move(options));
  }
  const auto batch = std::make_shared<Batch>();
  batch->queue = shared_from_this();
  batch->at_once = options_.window == absl::ZeroDuration();
  batches_.insert(batch);
  absl::Cleanup on_exception = [&] { batches_.erase(batch); };
  batch->alarm = StartAlarm(*batch, batch->at_once);
  std::move(on_exception).Cancel();
  open_ = batch.get();
}

WaitHandle BatchQueue::StartAlarm(Batch& batch, bool at_once) {
  return engine_.Start(
      Waiter(
          [batch = batch.shared_from_this(), at_once] {
            batch->queue->OnAlarm(*batch, at_once);
            return true;
          },
          at_once ? at_once_ : after_window_),
      [batch = batch.shared_from_this(), at_once](const WaitResult<>& result) {
        if (result.ok()) return;
        batch->queue->OnLostAlarm(*batch, at_once, result.status());
      });
}

Poll<> BatchQueue::Gone() {
  return Failed(absl::CancelledError("the BatchPoller was destroyed"));
}

void BatchQueue::OnAlarm(Batch& batch, bool at_once) noexcept {
  std::unique_lock lock(mutex_);
  if (batch.at_once != at_once) return;  // This alarm has been replaced.
  const std::vector<BatchKey*> keys = Take(batch);
  if (!keys.empty()) {
    Call(keys, lock);
    lock.lock();
  }
  batch.alarm.Detach();
  batches_.erase(batch.shared_from_this());
}

void BatchQueue::OnLostAlarm(Batch& batch, bool at_once,
                             const absl::Status& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (batch.at_once != at_once) return;
  Answer(Take(batch), FromCallError(error));
  batch.alarm.Detach();
  batches_.erase(batch.shared_from_this());
}

std::vector<BatchKey*> BatchQueue::Take(Batch& batch) {
  if (open_ == &batch) open_ = nullptr;
  for (BatchKey* const key : batch.keys) key->batch = nullptr;
  return std::exchange(batch.keys, {});
}

void BatchQueue::Leave(BatchWait& wait) {
  BatchKey& key = *wait.key;
  if (key.batch == nullptr) return;
  BatchWait** link = &key.due;
  while (*link != nullptr && *link != &wait) link = &(*link)->next;
  if (*link == nullptr) return;
  *link = wait.next;
  if (key.due != nullptr) return;
  std::vector<BatchKey*>& keys = std::exchange(key.batch, nullptr)->keys;
  keys.back()->place = key.place;
  keys[key.place] = keys.back();
  keys.pop_back();
}

void BatchQueue::Close() {
  std::vector<WaitHandle> alarms;  // Destroyed after the lock is released.
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const std::shared_ptr<Batch>& batch : batches_) {
    alarms.push_back(std::move(batch->alarm));
    Answer(Take(*batch), Gone());
  }
  batches_.clear();
}

}  // namespace internal
}  // namespace waiter
