// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The form of a wait between its steps: a record of 112 or 176 bytes, from
// which each step puts a `WaitLoop` together.
//
//   codec.WithLoop(record, policy, now, [&](WaitLoop& loop, WaitReport& report)
//   {
//     ...
//     codec.Pack(record, policy, loop.state());
//   });
//
// State that does not fit into a record is in its `ColdState`. It is made
// immediately for waits with hooks, budgets, contexts and the like, and
// otherwise when it is first needed: for example, when a poll brings a text.
//
// Invariant: between two steps, the record holds all of the loop's state that
// the wait needs, and the part of its report that the report level promises.

#ifndef WAITER_ENGINE_RECORD_CODEC_H_
#define WAITER_ENGINE_RECORD_CODEC_H_

#include <chrono>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/decide.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/loop.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

// Thread-compatible.
class RecordCodec {
 public:
  // With `full_reports`, records are `FullEngineRecord`s. `has_executor` says
  // whether polls run on an executor.
  RecordCodec(bool full_reports, bool has_executor)
      : full_reports_(full_reports), has_executor_(has_executor) {}

  // Fills in the record of a new wait, whose `ops` and `policy` are set.
  void Register(EngineRecord& record, const WaitPolicy& policy,
                MonotonicTime now, waiter::stop_source stop) const {
    record.start = now;
    record.deadline = MonotonicTime::max();
    record.attempts = 0;
    record.growth = {};
    record.last_status = PollStatus::kNotReady;
    record.has_timer = false;
    record.has_cold_state = false;
    record.final_poll = false;
    record.sleep_is_fixed = false;
    record.is_plain = IsPlain(policy);
    if (full_reports_) {
      auto& full = static_cast<FullEngineRecord&>(record);
      full.counts = {};
      full.step_started = now;
      full.slept = full.longest_poll = std::chrono::nanoseconds::zero();
    }
    if (NeedsColdState(*record.ops, policy)) {
      AddColdState(record, policy, WaitReport(),
                   {.start = now,
                    .deadline = MonotonicTime::max(),
                    .step_started = now});
      if (policy.options().hooks.seed.has_value()) {
        record.cold->gen.emplace(*policy.options().hooks.seed);
      }
      record.cold->stop = std::move(stop);
    }
  }

  // Calls `body` with the loop and the report of the wait, which are valid
  // during the call.
  template <typename Body>
  void WithLoop(const EngineRecord& record, const WaitPolicy& policy,
                MonotonicTime now, Body body) {
    if (record.has_cold_state) {
      SetName(record, record.cold->loop);
      body(record.cold->loop, record.cold->report);
      return;
    }
    RestoreReport(record);
    scratch_.last_poll.set_status(record.last_status);
    WaitLoop loop(policy, scratch_, [&] { return Unpack(record, now); });
    SetName(record, loop);
    body(loop, scratch_);
  }

  // Instead of `WithLoop`, for one call of the loop of a plain wait.
  ABSL_ATTRIBUTE_ALWAYS_INLINE WaitLoop MakePlainLoop(
      const EngineRecord& record, const WaitPolicy& policy, MonotonicTime now) {
    return {policy, scratch_, [&] { return Unpack(record, now); }};
  }

  // Gives a loop the name of its wait, which is part of the task.
  static void SetName(const EngineRecord& record, WaitLoop& loop) {
    if (record.ops->name == nullptr) return;
    loop.set_name(record.gate.freed() ? std::string_view()
                                      : record.ops->name(record.task.data()));
  }

  // Returns the report of a plain wait, for its poll.
  WaitReport& plain_report() { return scratch_; }

  // Completes that report after the poll, except for the poll's answer.
  void RestoreReport(const EngineRecord& record) {
    scratch_.attempts = record.attempts;
    if (full_reports_) {
      scratch_.counts = static_cast<const FullEngineRecord&>(record).counts;
    }
  }

  // Stores the wait until its next step. Details that do not fit move into a
  // `ColdState`; for a brief report they are dropped.
  // Inlined, as it runs for every poll.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Pack(EngineRecord& record,
                                         const WaitPolicy& policy,
                                         const WaitState& state) {
    if (record.has_cold_state) return;
    const bool has_details = scratch_.last_poll.has_details();
    if (full_reports_ && (has_details || scratch_.first_error.has_value())) {
      PackIntoColdState(record, policy, state);
      return;
    }
    if (has_details) scratch_.last_poll = Poll<>();
    record.start = state.start;
    record.deadline = state.deadline;
    PackAnswer(record, state);
  }

  // The same after an answer without details, which has changed no more.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void PackAnswer(EngineRecord& record,
                                               const WaitState& state) const {
    record.attempts = scratch_.attempts;
    // One by one: a wider copy would wait until parts of it were stored.
    record.growth.not_ready = state.growth.not_ready;
    record.growth.server_error = state.growth.server_error;
    record.growth.throttled = state.growth.throttled;
    record.last_status = state.streak_status;
    record.final_poll = state.final_poll;
    record.sleep_is_fixed = state.sleep_is_fixed;
    if (full_reports_) {
      auto& full = static_cast<FullEngineRecord&>(record);
      full.counts = scratch_.counts;
      full.step_started = state.step_started;
      full.slept = state.slept;
      full.longest_poll = state.longest_poll;
    }
  }

  // Stores the changes that the end of a sleep made to a plain wait.
  void PackWakeUp(EngineRecord& record, const WaitState& state) const {
    if (!full_reports_) return;
    auto& full = static_cast<FullEngineRecord&>(record);
    full.step_started = state.step_started;
    full.slept = state.slept;
  }

  // Frees everything of the wait except its record, after its last step.
  static void Clear(const EngineRecord& record) {
    if (record.has_cold_state) delete record.cold;
  }

  // Empties the report that `WithLoop` gave to a wait which has ended now.
  void ClearReport(const EngineRecord& record) {
    if (record.has_cold_state) return;
    std::destroy_at(&scratch_);
    new (&scratch_) WaitReport;
  }

 private:
  bool NeedsColdState(const EngineOps& ops, const WaitPolicy& policy) const;
  WaitState Unpack(const EngineRecord& record, MonotonicTime now) const;
  void PackIntoColdState(EngineRecord& record, const WaitPolicy& policy,
                         const WaitState& state);
  static void AddColdState(EngineRecord& record, const WaitPolicy& policy,
                           WaitReport report, const WaitState& state);

  const bool full_reports_;
  const bool has_executor_;
  WaitReport scratch_;  // Report of the wait that takes a step.
};

inline WaitState RecordCodec::Unpack(const EngineRecord& record,
                                     MonotonicTime now) const {
  WaitState state = {.start = record.start,
                     .deadline = record.deadline,
                     .step_started = now,
                     .streak_status = record.last_status,
                     .final_poll = record.final_poll,
                     .asleep = record.phase == EngineRecord::Phase::kSleeping,
                     .sleep_is_fixed = record.sleep_is_fixed,
                     .brief_report = !full_reports_,
                     .growth = {.not_ready = record.growth.not_ready,
                                .server_error = record.growth.server_error,
                                .throttled = record.growth.throttled}};
  if (full_reports_) {
    const auto& full = static_cast<const FullEngineRecord&>(record);
    state.step_started = full.step_started;
    state.slept = full.slept;
    state.longest_poll = full.longest_poll;
  }
  return state;
}

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_RECORD_CODEC_H_
