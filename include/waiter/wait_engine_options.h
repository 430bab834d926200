// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The knobs of a `WaitEngine` (wait_engine.h). The defaults suit thousands to
// millions of waits that poll something quick:
//
//   waiter::WaitEngine engine({.report = waiter::ReportLevel::kLean});

#ifndef WAITER_WAIT_ENGINE_OPTIONS_H_
#define WAITER_WAIT_ENGINE_OPTIONS_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace waiter {

class Clock;

// How much of its `WaitReport` a wait keeps while it is pending.
enum class ReportLevel : uint8_t {
  // `attempts`, `elapsed`, and the last poll: all of it where that poll ends
  // the
  // wait, its status alone where it is ended from outside, whose own status
  // then has no text.
  kLean,
  // Everything that the blocking form keeps, for 64 bytes more.
  kFull,
};

struct WaitEngineOptions {
  // Threads that poll and call back, each with waits of its own. 0: none; the
  // waits run in `WaitEngine::Run`, on whoever calls it.
  int threads = 1;

  // Wake-ups are rounded up to a multiple of this, so that one serves many
  // waits: each costs 20 to 40 us of processor time. At least 1 us, or zero for
  // exact times. 1 ms delays a poll by 0.6 ms as a median.
  absl::Duration tick = absl::Milliseconds(1);

  // The share of a delay by which it may be longer, so that few waits, too, are
  // woken together. From 0 to 1. Deadlines are kept.
  double relative_slack = 0;

  ReportLevel report = ReportLevel::kFull;

  // Where synchronous status functions run, if not on the engine's thread: what
  // it is given is to be run once, on any thread, soon. Must outlive the
  // engine. For functions that block; a wait is still polled by one thread at a
  // time.
  std::function<void(absl::AnyInvocable<void()>)> executor = nullptr;

  // Called on the engine's thread with what a callback threw. Unset: that is
  // printed, and the program terminated.
  std::function<void(std::exception_ptr)> on_callback_exception = nullptr;

  // Not owned. Null: `GetRealClock()`. Must be that of every wait's options.
  Clock* clock = nullptr;

  // Makes delays the same each time, for waits that start and poll in the same
  // order. Unset: all differ.
  std::optional<uint64_t> seed = std::nullopt;

  // Draws the delays instead, as for tests of exact ones. Requires `threads` of
  // 0 or 1.
  std::optional<absl::BitGenRef> gen = std::nullopt;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const WaitEngineOptions& options);

}  // namespace waiter

#endif  // WAITER_WAIT_ENGINE_OPTIONS_H_
