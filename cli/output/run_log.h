// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads the log of a run, as `waiter --log-json` writes it: one line of JSON
// for each event.
//
//   {"v":1,"t":"2026-01-01T00:00:03Z","elapsed_ms":3000,"event":"poll",
//    "target":"db","attempt":9,"class":"NOT_READY","detail":"refused",
//    "latency_ms":1.5,"next_ms":2000}
//   {"v":1,"t":"...","elapsed_ms":9000,"event":"summary","exit_code":0,
//    "reason":"ready"}
//
// Each line needs `event` and `elapsed_ms`, the time from the start of the run
// to the event. A poll also needs `target` and `class`, which is SUCCESS,
// NOT_READY, THROTTLED, SERVER_ERROR or FATAL. Other events and members are
// ignored, so that logs of later versions can be read.

#ifndef WAITER_CLI_OUTPUT_RUN_LOG_H_
#define WAITER_CLI_OUTPUT_RUN_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/poll.h"

namespace waiter::cli {

struct LoggedPoll {
  std::string target;
  int64_t attempt;         // From 1; counted if the log does not have it.
  absl::Duration elapsed;  // From the start of the run to the end of the poll.
  PollStatus status;
  std::string detail;
  std::optional<absl::Duration> latency;
  std::optional<absl::Duration> next;  // The delay after the poll.
};

struct RunLog {
  std::vector<LoggedPoll> polls;  // In the order of the log.
  absl::Duration elapsed;         // The latest time of any event.

  // From the summary; unset if the log has none.
  std::optional<int> exit_code;
  std::string reason;
};

// Returns the class of `status` in logs: "SUCCESS", "NOT_READY" and so on.
std::string_view LogClass(PollStatus status);

// Returns the log, or kInvalidArgument with `name`, the number of the line from
// 1, and the problem. Ignores empty lines.
absl::StatusOr<RunLog> ParseRunLog(std::string_view text,
                                   std::string_view name);

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_RUN_LOG_H_
