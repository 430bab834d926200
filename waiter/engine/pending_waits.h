// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The pending waits of a worker, from their registration to their end.
//
//   waits.Register(record, now);    // After a start.
//   waits.WithLoop(record, now, [&](WaitLoop& loop, WaitReport& report) {...});
//   waits.Release(record);          // At the end. References become stale.
//
// Invariant: a record is not `kFree` exactly from `Register` to `Release`.
// During that time it has a policy in the table and a form that its codec
// knows, and it counts as pending.

#ifndef WAITER_ENGINE_PENDING_WAITS_H_
#define WAITER_ENGINE_PENDING_WAITS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/engine_counters.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/policy_table.h"
#include "waiter/engine/record_codec.h"
#include "waiter/engine/record_pool.h"
#include "waiter/engine/worker_references.h"
#include "waiter/loop.h"
#include "waiter/policy.h"
#include "waiter/result.h"

namespace waiter::internal {

// For the worker's thread. The arguments of the constructor must outlive this.
class PendingWaits {
 public:
  // If `options` are invalid, all waits get policies that say so.
  PendingWaits(const WaitEngineOptions& options, Clock& clock, RecordPool& pool,
               EngineCounters& counters, WorkerReferences& references)
      : status_(Validate(options)),
        clock_(clock),
        pool_(pool),
        counters_(counters),
        references_(references),
        codec_(/*full_reports=*/options.report == ReportLevel::kFull,
               /*has_executor=*/options.executor != nullptr) {}

  PendingWaits(const PendingWaits&) = delete;
  PendingWaits& operator=(const PendingWaits&) = delete;

  // Turns the record of a start into the record of a wait that is about to
  // begin.
  void Register(EngineRecord& record, MonotonicTime now);

  // Frees everything of a wait except its task, which must have been freed.
  void Release(EngineRecord& record);

  const WaitPolicy& PolicyOf(const EngineRecord& record) const {
    return policies_[record.policy];
  }
  std::shared_ptr<const WaitPolicy> SharePolicyOf(
      const EngineRecord& record) const {
    return policies_.Share(record.policy);
  }

  // Calls `body` with the loop and the report of a wait.
  template <typename Body>
  void WithLoop(EngineRecord& record, MonotonicTime now, Body body) {
    codec_.WithLoop(record, PolicyOf(record), now, body);
  }
  // Stores what `body` has changed.
  void Pack(EngineRecord& record, const WaitLoop& loop) {
    codec_.Pack(record, PolicyOf(record), loop.state());
  }

  RecordCodec& codec() { return codec_; }

 private:
  uint32_t AddPolicy(std::shared_ptr<const WaitPolicy> policy);

  const absl::Status status_;
  Clock& clock_;
  RecordPool& pool_;
  EngineCounters& counters_;
  WorkerReferences& references_;
  RecordCodec codec_;
  PolicyTable policies_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_PENDING_WAITS_H_
