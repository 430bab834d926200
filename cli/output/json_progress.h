// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Writes the events of a run as lines of JSON, which `waiter report` reads:
//
//   {"v":1,"t":"2026-01-01T00:00:03.000Z","elapsed_ms":3000,"event":"poll",
//    "target":"db","attempt":9,"class":"NOT_READY","detail":"refused",
//    "latency_ms":1.5,"next_ms":2000}
//
// | event   | when                     | further members                     |
// | ------- | ------------------------ | ----------------------------------- |
// | start   | first                    | targets [{target, text}], needed,   |
// |         |                          | gone, timeout_ms                    |
// | poll    | a poll ended             | target, attempt, class, detail,     |
// |         |                          | latency_ms, next_ms; retry_after_ms |
// |         |                          | and progress if the target said so  |
// | ready   | a target became ready    | target, attempts                    |
// | state   | the wait for a target    | target, phase, attempts, ended      |
// |         | ended otherwise, or a    |                                     |
// |         | user asked for the state |                                     |
// | summary | last                     | exit_code, reason, detail if there  |
// |         |                          | is one, targets [{target, ended,    |
// |         |                          | ended_ms, attempts,                 |
// |         |                          | polls {"NOT_READY": 9}}]            |
//
// `timeout_ms` is null if there is no limit. `ended`, such as "deadline", is
// null if the wait for the target has not ended; `ended_ms` is missing then.
// `next_ms` is missing after the last poll.

#ifndef WAITER_CLI_OUTPUT_JSON_PROGRESS_H_
#define WAITER_CLI_OUTPUT_JSON_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "cli/run/run_state.h"
#include "nlohmann/json_fwd.hpp"

namespace waiter::cli {

// Cuts text from outside after 4 KiB, and ends it in "...".
class JsonProgress : public RunListener {
 public:
  // Writes a line, which includes its newline, and flushes it.
  using Write = std::function<absl::Status(std::string_view line)>;

  // Writes nothing more after an error of `write`.
  explicit JsonProgress(Write write) : write_(std::move(write)) {}

  void OnStart(const RunState& run) override;
  void OnPoll(const RunState& run, size_t target) override;
  void OnEnd(const RunState& run, size_t target) override;
  void OnSnapshot(const RunState& run) override;
  void OnDone(const RunState& run, const RunEnd& end) override;

  // Returns the error of `write`, if there was one.
  absl::Status status() const override { return status_; }

 private:
  void WriteLine(const nlohmann::ordered_json& event);
  void WriteState(const RunState& run, const TargetState& target);

  const Write write_;
  absl::Status status_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_JSON_PROGRESS_H_
