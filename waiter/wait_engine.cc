// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/wait_engine.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/engine_record.h"
#include "waiter/engine_ref.h"
#include "waiter/engine_slot.h"
#include "waiter/engine_step.h"
#include "waiter/engine_task.h"
#include "waiter/engine_worker.h"
#include "waiter/wait_engine_options.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"

namespace waiter {

absl::Status Validate(const WaitEngineOptions& options) {
  if (options.threads < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "WaitEngineOptions::threads is ", options.threads, "; give 0 or more"));
  }
  if (options.tick != absl::ZeroDuration() &&
      (options.tick < absl::Microseconds(1) ||
       options.tick == absl::InfiniteDuration())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "WaitEngineOptions::tick is ", absl::FormatDuration(options.tick),
        "; give zero, or 1us or more"));
  }
  if (!(options.relative_slack >= 0 && options.relative_slack <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("WaitEngineOptions::relative_slack is ",
                     options.relative_slack, "; give 0 to 1"));
  }
  if (options.gen.has_value() && options.threads > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("WaitEngineOptions::gen is set with ", options.threads,
                     " threads; a generator is for one"));
  }
  return absl::OkStatus();
}

EngineWorkerRef::EngineWorkerRef(EngineWorker& worker) : worker_(&worker) {
  worker.AddReference();
}

EngineWorkerRef::EngineWorkerRef(const EngineWorkerRef& other)
    : worker_(other.worker_) {
  if (worker_ != nullptr) worker_->AddReference();
}

void EngineWorkerRef::Release() { worker_->RemoveReference(); }

EngineSlot::EngineSlot(EngineWorker& worker)
    : worker_(worker), record_(&worker.Allocate()) {}

EngineSlot::~EngineSlot() {
  if (record_ != nullptr) worker_.GiveBack(*record_);
}

void* EngineSlot::storage() { return record_->task.data(); }

WaitHandle EngineSlot::MakeHandle(const EngineOps& ops) {
  record_->ops = &ops;
  const EngineWord generation =
      GenerationOf(record_->word.load(std::memory_order_relaxed));
  record_->word.store(generation | kHasHandle, std::memory_order_relaxed);
  std::stop_source stop = ops.takes_context
                              ? std::stop_source()
                              : std::stop_source(std::nostopstate);
  stop_ = stop.get_token();
  return {{EngineWorkerRef(worker_), record_, generation}, std::move(stop)};
}

void EngineSlot::Start(std::shared_ptr<const WaitPolicy> policy) {
  worker_.Start(*std::exchange(record_, nullptr),
                {std::move(policy), std::move(stop_)});
}

void WaitHandle::Cancel() {
  if (wait_.worker.get() == nullptr) return;
  stop_.request_stop();
  wait_.worker->Cancel(*wait_.record, wait_.generation);
}

void WaitHandle::Detach() {
  if (wait_.worker.get() == nullptr) return;
  EngineWord word = wait_.record->word.load(std::memory_order_relaxed);
  while (GenerationOf(word) == wait_.generation &&
         !wait_.record->word.compare_exchange_weak(word, word & ~kHasHandle)) {
  }
  wait_ = {};
}

bool WaitHandle::pending() const {
  return wait_.worker.get() != nullptr &&
         GenerationOf(wait_.record->word.load(std::memory_order_acquire)) ==
             wait_.generation;
}

void WaitHandle::Destroy() {
  if (wait_.worker.get() == nullptr) return;
  if (pending()) {
    stop_.request_stop();
    wait_.worker->Abandon(*wait_.record, wait_.generation);
  }
  wait_ = {};
}

WaitEngine::WaitEngine(const WaitEngineOptions& options) {
  const int threads = Validate(options).ok() ? options.threads : 1;
  for (int ordinal = 0; ordinal < std::max(threads, 1); ++ordinal) {
    workers_.push_back(
        EngineWorkerRef::Adopt(*new EngineWorker(options, ordinal)));
    if (threads > 0) workers_.back()->StartThread();
  }
}

WaitEngine::~WaitEngine() {
  for (const EngineWorkerRef& worker : workers_) worker->ShutDown();
}

EngineWorker& WaitEngine::ChooseWorker() {
  EngineWorker* const current = EngineWorker::Current();
  for (const EngineWorkerRef& worker : workers_) {
    if (worker.get() == current) return *current;
  }
  if (workers_.size() == 1) return *workers_.front().get();
  const size_t turn = next_worker_.fetch_add(1, std::memory_order_relaxed);
  return *workers_[turn % workers_.size()].get();
}

void WaitEngine::Run() { workers_.front()->Run(); }

MonotonicTime WaitEngine::RunDue() { return workers_.front()->RunDue(); }

}  // namespace waiter
