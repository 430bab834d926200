// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/durable_worker.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/options.h"
#include "waiter/redis/budget_member.h"
#include "waiter/text.h"

namespace waiter {
namespace {

absl::Status CheckCount(const char* field, int64_t count, int64_t least,
                        int64_t most) {
  if (count >= least && count <= most) return absl::OkStatus();
  return internal::InvalidOption(
      field, count, absl::StrCat("within [", least, ", ", most, "]"));
}

absl::Status CheckTime(const char* field, absl::Duration time,
                       absl::Duration least, absl::Duration most) {
  if (time >= least && time <= most) return absl::OkStatus();
  return internal::InvalidOption(
      field, absl::FormatDuration(time),
      absl::StrCat("within [", absl::FormatDuration(least), ", ",
                   absl::FormatDuration(most), "]"));
}

}  // namespace

absl::Status Validate(const DurableWaitsOptions& options) {
  for (absl::Status status :
       {internal::CheckName(options.space, "space"),
        options.worker.empty() ? absl::OkStatus()
                               : internal::CheckName(options.worker, "worker"),
        CheckCount("threads", options.threads, 0, 1024),
        CheckCount("partitions", options.partitions, 1, 4096),
        CheckTime("lease", options.lease, absl::Seconds(2), absl::Minutes(10)),
        CheckCount("max_held", options.max_held, 1, 1'000'000),
        CheckCount("claim_batch", options.claim_batch, 1, 1000),
        CheckTime("retain", options.retain, absl::ZeroDuration(),
                  absl::Hours(2400)),
        CheckCount("max_crashes", options.max_crashes, 1, 100)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Validate(const DurableNameOptions& options) {
  return CheckCount("max_held", options.max_held, 1, 1'000'000);
}

absl::StatusOr<std::unique_ptr<DurableWaits>> DurableWaits::Make(
    std::shared_ptr<WaitStore> store, const DurableWaitsOptions& options) {
  if (store == nullptr) return absl::InvalidArgumentError("store is null");
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return absl::WrapUnique(new DurableWaits(
      std::make_shared<internal::DurableWorker>(std::move(store), options)));
}

DurableWaits::DurableWaits(std::shared_ptr<internal::DurableWorker> worker)
    : worker_(std::move(worker)) {}

DurableWaits::~DurableWaits() {
  if (worker_->IsCopy()) {
    // Neither this nor the store is ever freed: threads of the parent were
    // inside.
    new (std::nothrow) std::shared_ptr<internal::DurableWorker>(worker_);
  } else {
    worker_->Stop();
  }
}

absl::Status DurableWaits::Register(const std::string& name, WaitOptions policy,
                                    DurableFunction function,
                                    DurableHandler handler,
                                    const DurableNameOptions& options) {
  return worker_->Register({name, std::move(policy), std::move(function),
                            std::move(handler), options});
}

absl::Status DurableWaits::RegisterAsync(const std::string& name,
                                         WaitOptions policy,
                                         DurableAsyncFunction function,
                                         DurableHandler handler,
                                         const DurableNameOptions& options) {
  return worker_->Register({name, std::move(policy), std::move(function),
                            std::move(handler), options});
}

absl::Status DurableWaits::RegisterBatch(const std::string& name,
                                         WaitOptions policy,
                                         DurableBatchCall call,
                                         const BatchOptions& batches,
                                         DurableHandler handler,
                                         const DurableNameOptions& options) {
  return worker_->Register(
      {name, std::move(policy),
       internal::DurableBatches{.call = std::move(call), .options = batches},
       std::move(handler), options});
}

void DurableWaits::Start() { worker_->Start(); }

bool DurableWaits::Drain(Duration limit) { return worker_->Drain(limit); }

DurableWaitsState DurableWaits::State() const { return worker_->State(); }

MonotonicTime DurableWaits::RunDue() { return worker_->RunDue(); }

}  // namespace waiter
