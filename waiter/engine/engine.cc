// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/engine.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_worker.h"
#include "waiter/engine/internal/batch_starter.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/internal/exceptions.h"
#include "waiter/text.h"

namespace waiter {

absl::Status Validate(const WaitEngineOptions& options) {
  if (options.threads < 0) {
    return internal::InvalidOption("WaitEngineOptions::threads",
                                   options.threads, "zero or more");
  }
  if (options.tick != absl::ZeroDuration() &&
      (options.tick < absl::Microseconds(1) ||
       options.tick == absl::InfiniteDuration())) {
    return internal::InvalidOption("WaitEngineOptions::tick",
                                   absl::FormatDuration(options.tick),
                                   "zero, or finite and at least 1us");
  }
  if (!(options.relative_slack >= 0 && options.relative_slack <= 1)) {
    return internal::InvalidOption("WaitEngineOptions::relative_slack",
                                   options.relative_slack, "within [0, 1]");
  }
  if (options.wake != nullptr && options.threads > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "WaitEngineOptions::wake is set with ", options.threads,
        options.threads == 1 ? " thread" : " threads",
        "; threads of the engine wake by themselves, so leave it unset or set "
        "threads to 0"));
  }
  if (options.gen.has_value() && options.threads > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("WaitEngineOptions::gen is set with ", options.threads,
                     " threads; a generator serves one thread, so leave it "
                     "unset or set threads to 1"));
  }
  return absl::OkStatus();
}

WaitEngine::WaitEngine(const WaitEngineOptions& options)
    : ends_(std::make_shared<std::atomic<bool>>(false)) {
  // With invalid options every wait ends immediately, so one thread is enough.
  // Without threads, the caller runs the waits in any case.
  const bool has_all_threads = Validate(options).ok() || options.threads == 0;
  const int threads = has_all_threads ? options.threads : 1;
  const int workers = std::max(threads, 1);
  WAITER_TRY {
    // Only `ShutDown` can free a worker, so each must get its place.
    workers_.reserve(static_cast<size_t>(workers));
    for (int ordinal = 0; ordinal < workers; ++ordinal) {
      workers_.push_back(internal::EngineWorkerRef::Adopt(
          *new internal::EngineWorker(options, ordinal, ends_)));
    }
    for (const internal::EngineWorkerRef& worker : workers_) {
      if (threads > 0) worker->StartThread();
    }
  }
  WAITER_CATCH(...) {
    ShutDown();
    WAITER_RETHROW;
  }
}

WaitEngine::~WaitEngine() { ShutDown(); }

void WaitEngine::ShutDown() {
  // The workers then stay as they are: their references do not end.
  if (!workers_.empty() && workers_.front()->IsGone()) return;
  for (const internal::EngineWorkerRef& worker : workers_) {
    worker->RequireOutside();
  }
  // All workers know at the same time: one that knew earlier could stop a poll,
  // which then starts a wait on a worker that does not know.
  *ends_ = true;
  for (const internal::EngineWorkerRef& worker : workers_) {
    worker->BeginShutDown();
  }
  // A wait of one worker may start a wait of another until all are at rest at
  // the same time.
  bool at_rest = false;
  while (!at_rest) {
    at_rest = true;
    for (const internal::EngineWorkerRef& worker : workers_) {
      if (worker->AwaitShutDown()) at_rest = false;
    }
  }
  for (const internal::EngineWorkerRef& worker : workers_) {
    worker->EndShutDown();
  }
}

internal::EngineWorker* WaitEngine::OwnWorker() {
  const internal::EngineWorker* const current =
      internal::EngineWorker::Current();
  for (const internal::EngineWorkerRef& worker : workers_) {
    if (worker.get() == current) return worker.get();
  }
  return workers_.size() == 1 ? workers_.front().get() : nullptr;
}

internal::EngineWorker& WaitEngine::ChooseWorker() {
  if (internal::EngineWorker* const worker = OwnWorker()) return *worker;
  const size_t turn = next_worker_.fetch_add(1, std::memory_order_relaxed);
  return *workers_[turn % workers_.size()].get();
}

std::vector<internal::BatchStarter::Part> WaitEngine::Divide(size_t waits) {
  if (waits == 0) return {};
  if (internal::EngineWorker* const worker = OwnWorker()) {
    return {{.worker = worker, .size = waits}};
  }
  std::vector<internal::BatchStarter::Part> parts(
      std::min(workers_.size(), waits));
  const size_t turn =
      next_worker_.fetch_add(parts.size(), std::memory_order_relaxed);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_larger = i < waits % parts.size();
    parts[i].worker = workers_[(turn + i) % workers_.size()].get();
    parts[i].size = waits / parts.size() + (is_larger ? 1 : 0);
  }
  return parts;
}

int64_t WaitEngine::blocking_sleeps() const {
  int64_t sum = 0;
  for (const internal::EngineWorkerRef& worker : workers_) {
    sum += worker->blocking_sleeps();
  }
  return sum;
}

EngineStatistics WaitEngine::statistics() const {
  EngineStatistics sum;
  for (const internal::EngineWorkerRef& worker : workers_) {
    worker->AddStatistics(sum);
  }
  return sum;
}

void WaitEngine::Run() { workers_.front()->Run(); }

MonotonicTime WaitEngine::RunDue() { return workers_.front()->RunDue(); }

}  // namespace waiter
