// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The waits in a log, and how long the operations took that they waited for:
//
//   for (const waiter::cli::LoggedWait& wait : waiter::cli::WaitsOf(log)) {
//     model.Record(wait.target, wait.duration);
//   }

#ifndef WAITER_CLI_OUTPUT_LOGGED_WAITS_H_
#define WAITER_CLI_OUTPUT_LOGGED_WAITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "waiter/learned/durations.h"

namespace waiter::cli {

struct LoggedWait {
  std::string target;
  ObservedDuration duration;

  // Polls that found the target not ready, and the one that found it ready.
  int64_t polls = 0;

  // Whether the wait saw the target become ready.
  bool has_end() const { return duration.by < absl::InfiniteDuration(); }
};

// Returns the waits of all runs in the log, which may be the logs of several
// runs one after the other, in the order in which they end. Leaves out waits
// that say nothing about durations: their first poll found the target ready, or
// none found it not ready.
std::vector<LoggedWait> WaitsOf(const RunLog& log);

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_LOGGED_WAITS_H_
