// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/internal/batch_queue.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/text.h"
#include "waiter/waiter.h"

namespace waiter {

absl::Status Validate(const BatchOptions& options) {
  if (options.max_batch < 1) {
    return internal::InvalidOption("BatchOptions::max_batch", options.max_batch,
                                   "at least 1");
  }
  if (options.window < absl::ZeroDuration() ||
      options.window == absl::InfiniteDuration()) {
    return internal::InvalidOption("BatchOptions::window",
                                   absl::FormatDuration(options.window),
                                   "finite, and zero or more");
  }
  return absl::OkStatus();
}

namespace internal {

// One call that has not been made yet. `alarm` must be destroyed without the
// lock held: its destructor may await a poll that takes the lock.
struct Batch : std::enable_shared_from_this<Batch> {
  std::shared_ptr<BatchQueue> queue;
  std::vector<BatchKey*> keys;
  bool is_due = false;   // Its window is over, or is not to be awaited.
  bool in_line = false;  // It waits for the rate limiter.
  int alarms = 0;        // The alarms so far; the last one counts.
  WaitHandle alarm;
};

Poll<> FromCallError(const absl::Status& error) {
  if (LimitOf(error).has_value()) return Failed(error);
  return ClassOf(error.code()) == PollStatus::kThrottled ? Throttled(error)
                                                         : ServerError(error);
}

absl::Status BatchQueue::StatusFor(const WaitPolicy& policy) const {
  if (counts_calls() &&
      policy.options().budgets.rate_limiter == rate_limiter_) {
    return absl::InvalidArgumentError(
        "WaitOptions::budgets.rate_limiter and BatchOptions::rate_limiter are "
        "the same limiter, which would count both keys and calls; set only "
        "BatchOptions::rate_limiter");
  }
  return status_;
}

BatchQueue::BatchQueue(WaitEngine& engine, const BatchOptions& options,
                       const absl::Status& precondition)
    : engine_(engine),
      max_batch_(options.max_batch),
      window_(options.window),
      rate_limiter_(options.rate_limiter),
      status_(precondition.ok() ? Validate(options) : precondition) {}

void BatchQueue::Prepare(BatchWait& wait, const WaitPolicy& policy) const {
  if (!policy.status().ok()) return;
  wait.clock = &policy.clock();
  if (policy.has_deadline() && window_ > absl::ZeroDuration()) {
    const MonotonicTime deadline =
        policy.DeadlineFrom(policy.clock().MonotonicNow());
    if (deadline != MonotonicTime::max()) {
      wait.hurries_from = deadline - WaitPolicy::ToLoopDuration(window_);
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
  // The queue changes only after everything that may throw.
  if (key.batch == nullptr) {
    if (open_ == nullptr) Open(*wait.clock);
    open_->keys.push_back(&key);
    key.batch = open_;
    key.place = open_->keys.size() - 1;
  }
  wait.is_awaited.store(!counts_calls(), std::memory_order_relaxed);
  wait.next = std::exchange(key.due, &wait);
  Batch& batch = *key.batch;
  const bool full = batch.keys.size() == static_cast<size_t>(max_batch_);
  if (full && &batch == open_) open_ = nullptr;
  if ((full || hurries) && !batch.is_due) {
    replaced = std::exchange(batch.alarm, StartAlarm(batch, at_once_));
    batch.is_due = true;
  }
  return true;
}

void BatchQueue::Open(Clock& clock) {
  if (at_once_ == nullptr) {
    // The time of an alarm is the time that the rate limiter returned.
    WaitOptions options = {
        .name = "batch",
        .timeout = absl::InfiniteDuration(),
        .errors = {.retry_after = {.rule = RetryAfterOptions::Rule::kReplace}},
        .clock = &clock};
    clock_ = &clock;
    options.hooks.observer = internal::Nobody();
    at_once_ = WaitPolicy::Make(options);
    options.polls.first_delay = window_;
    after_window_ = WaitPolicy::Make(std::move(options));
  }
  const auto batch = std::make_shared<Batch>();
  batch->queue = shared_from_this();
  batch->is_due = window_ == absl::ZeroDuration();
  batches_.insert(batch);
  absl::Cleanup on_exception = [&] { batches_.erase(batch); };
  batch->alarm = StartAlarm(*batch, batch->is_due ? at_once_ : after_window_);
  std::move(on_exception).Cancel();
  open_ = batch.get();
}

WaitHandle BatchQueue::StartAlarm(
    Batch& batch, const std::shared_ptr<const WaitPolicy>& policy) {
  const int alarm = batch.alarms + 1;
  WaitHandle handle = engine_.Start(
      Waiter([batch = batch.shared_from_this(),
              alarm] { return batch->queue->OnAlarm(*batch, alarm); },
             policy),
      [batch = batch.shared_from_this(), alarm](const WaitResult<>& result) {
        if (!result.ok()) batch->queue->OnLostAlarm(*batch, alarm, result);
      });
  batch.alarms = alarm;
  return handle;
}

Poll<> BatchQueue::Gone() {
  return Failed(absl::CancelledError("the BatchPoller was destroyed"));
}

Poll<> BatchQueue::OnAlarm(Batch& batch, int alarm) noexcept {
  std::unique_lock lock(mutex_);
  if (alarm != batch.alarms || closed_) return Success();
  batch.is_due = true;
  if (counts_calls()) {
    if (!batch.in_line) {
      line_.push_back(&batch);
      batch.in_line = true;
    }
    if (line_.front() != &batch) {
      batch.alarm.Detach();  // It gets another one when it is first.
      return Success();
    }
    if (!batch.keys.empty()) {
      const MonotonicTime now = clock_->MonotonicNow();
      const MonotonicTime start = rate_limiter_->Acquire(now);
      if (start > now) {
        return NotReady("rate limit", absl::FromChrono(start - now));
      }
    }
    LeaveLine(batch);
  }
  const std::vector<BatchKey*> keys = Take(batch);
  if (!keys.empty()) {
    Call(keys, lock);
    lock.lock();
  }
  batch.alarm.Detach();
  batches_.erase(batch.shared_from_this());
  return Success();
}

void BatchQueue::OnLostAlarm(Batch& batch, int alarm,
                             const WaitResult<>& result) noexcept {
  const std::lock_guard lock(mutex_);
  if (alarm != batch.alarms || closed_) return;
  const Poll<> answer = FromCallError(result.status());
  Answer(Take(batch), answer);
  batch.alarm.Detach();
  if (result.reason() == StopReason::kShutDown) {
    // No new alarm can start for the batches without one.
    for (Batch* const other : std::exchange(line_, {})) {
      other->in_line = false;
      Answer(Take(*other), answer);
      if (other != &batch) batches_.erase(other->shared_from_this());
    }
  }
  LeaveLine(batch);
  batches_.erase(batch.shared_from_this());
}

void BatchQueue::LeaveLine(Batch& batch) {
  if (!std::exchange(batch.in_line, false)) return;
  const bool was_first = line_.front() == &batch;
  line_.erase(std::find(line_.begin(), line_.end(), &batch));
  if (!was_first || line_.empty()) return;
  Batch& first = *line_.front();
  first.alarm = StartAlarm(first, at_once_);
}

void BatchQueue::CountCall(PollStatus found) {
  rate_limiter_->Update(clock_->MonotonicNow(), found);
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
  Batch& batch = *std::exchange(key.batch, nullptr);
  std::vector<BatchKey*>& keys = batch.keys;
  keys.back()->place = key.place;
  keys[key.place] = keys.back();
  keys.pop_back();
  if (keys.empty() && batch.in_line) Dissolve(batch);
}

void BatchQueue::Dissolve(Batch& batch) {
  if (open_ == &batch) open_ = nullptr;
  if (line_.front() == &batch) {
    batch.alarm.Cancel();  // Its end makes way for the next batch.
  } else {
    LeaveLine(batch);
    batches_.erase(batch.shared_from_this());
  }
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
  line_.clear();
}

}  // namespace internal
}  // namespace waiter
