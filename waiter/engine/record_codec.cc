// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/record_codec.h"

#include <utility>

#include "waiter/engine/engine_record.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/loop.h"
#include "waiter/policy.h"
#include "waiter/result.h"

namespace waiter::internal {

bool RecordCodec::NeedsColdState(const EngineOps& ops,
                                 const WaitPolicy& policy) const {
  if (ops.takes_context || ops.is_asynchronous || ops.token != nullptr ||
      has_executor_) {
    return true;
  }
  return policy.status().ok() && !policy.is_plain();
}

void RecordCodec::PackIntoColdState(EngineRecord& record,
                                    const WaitPolicy& policy,
                                    const WaitState& state) {
  AddColdState(record, policy, std::exchange(scratch_, WaitReport()), state);
}

void RecordCodec::AddColdState(EngineRecord& record, const WaitPolicy& policy,
                               WaitReport report, const WaitState& state) {
  record.cold = new ColdState(policy, std::move(report), state);
  record.has_cold_state = true;
  record.is_plain = false;
}

}  // namespace waiter::internal
