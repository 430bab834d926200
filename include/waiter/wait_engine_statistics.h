// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Numbers about the work of a `WaitEngine`, for metrics and logs:
//
//   const waiter::EngineStatistics now = engine.statistics();
//   std::cout << now.pending << " waits, " << now.polls << " polls\n";
//
// The rate of polls is the difference of two readings.
// telemetry/metrics_table.h exports these values.

#ifndef WAITER_WAIT_ENGINE_STATISTICS_H_
#define WAITER_WAIT_ENGINE_STATISTICS_H_

#include <array>
#include <cstdint>

#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

// A value: sums over the threads of an engine. They are read one after the
// other while the engine runs, so they are not from exactly the same moment.
struct EngineStatistics {
  // Waits that an engine's thread has taken up and that have not ended.
  int64_t pending = 0;

  // Waits that were due in the last round of each thread. A round carries out
  // everything that is due; many waits in one mean that polls bunch, or that
  // the engine is busy.
  int64_t due = 0;

  // Polls that have begun since the engine was made.
  int64_t polls = 0;

  // Lateness of rounds: from the time for which the earliest wait had set its
  // timer, rounded up to the engine's tick, to the beginning of the round. The
  // lateness of each round with a timer that was due is in one element of
  // `late_rounds`: the first whose bound in `kLatenessBounds` it does not
  // exceed, or the last.
  static constexpr std::array<double, 8> kLatenessBounds = {
      0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1};  // Seconds.
  std::array<int64_t, kLatenessBounds.size() + 1> late_rounds = {};
  absl::Duration lateness;  // Of all rounds together.
};

}  // namespace waiter

#endif  // WAITER_WAIT_ENGINE_STATISTICS_H_
