// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/pending_waits.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/record_codec.h"
#include "waiter/policy.h"

namespace waiter::internal {

void PendingWaits::Register(EngineRecord& record, MonotonicTime now) {
  PendingStart pending_start = std::move(PendingStartOf(record));
  std::destroy_at(&PendingStartOf(record));
  record.policy = AddPolicy(std::move(pending_start.policy));
  codec_.Register(record, PolicyOf(record), now, std::move(pending_start.stop));
  record.phase = EngineRecord::Phase::kStarting;
  references_.CountHandle();
  counters_.pending.Add(1);
}

void PendingWaits::Release(EngineRecord& record) {
  RecordCodec::Clear(record);
  policies_.Remove(record.policy);
  record.phase = EngineRecord::Phase::kFree;
  if (record.gate.Close()) references_.RemoveDetached();
  pool_.Free(record);
  counters_.pending.Add(-1);
}

// Returns the place of the policy in the table. If the policy does not suit the
// engine, adds one that fails in its place.
uint32_t PendingWaits::AddPolicy(std::shared_ptr<const WaitPolicy> policy) {
  if (policies_.AddToLast(*policy)) return policies_.last();
  if (policy->status().ok()) {
    if (!status_.ok()) {
      policy = WaitPolicy::Make(policy->options(), status_);
    } else if (&policy->clock() != &clock_) {
      policy = WaitPolicy::Make(
          policy->options(),
          absl::InvalidArgumentError("WaitOptions::clock is not the clock of "
                                     "the engine; set it to "
                                     "WaitEngineOptions::clock"));
    }
  }
  return policies_.Add(std::move(policy));
}

}  // namespace waiter::internal
