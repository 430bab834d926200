// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads the log of a run: lines of JSON, one for each event, as `waiter
// --log-json` writes them.
//
//   {"v":1,"t":"2026-01-01T00:00:03Z","elapsed_ms":3000,"event":"poll",
//    "target":"db","attempt":9,"class":"NOT_READY","detail":"refused",
//    "latency_ms":1.5,"next_ms":2000}
//   {"v":1,"t":"...","elapsed_ms":9000,"event":"summary","exit_code":0,
//    "reason":"ready"}
//
// Each line needs `event` and `elapsed_ms`, from the start of the run to the
// end of what it tells of; a poll also `target` and `class`, which is SUCCESS,
// NOT_READY, THROTTLED, SERVER_ERROR or FATAL. Other events and members are
// passed over, so that logs of later programs can be read.

#ifndef WAITER_CLI_OUTPUT_RUN_LOG_H_
#define WAITER_CLI_OUTPUT_RUN_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/poll_status.h"

namespace waiter::cli {

struct LoggedPoll {
  std::string target;
  int64_t attempt;         // From 1; counted where the log does not say.
  absl::Duration elapsed;  // From the start of the run to the end of the poll.
  PollStatus status;
  std::string detail;
  std::optional<absl::Duration> latency;
  std::optional<absl::Duration> next;  // The delay after it.
};

struct RunLog {
  std::vector<LoggedPoll> polls;  // In the order of the log.
  absl::Duration elapsed;         // The latest time of any event.

  // From the summary; nothing if the log ends without one.
  std::optional<int> exit_code;
  std::string reason;
};

// Returns "SUCCESS", "NOT_READY" and so on, as logs have it.
std::string_view LogClass(PollStatus status);

// Returns the log, or kInvalidArgument: `name`, the line, counted from 1, and
// what is wrong there. Empty lines are passed over.
absl::StatusOr<RunLog> ParseRunLog(std::string_view text,
                                   std::string_view name);

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_RUN_LOG_H_
