// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The message that `waiter` writes when a wait has failed:
//
//   waiter: 1 of 2 targets was not ready when the limit of 5m was reached
//     db  tcp://127.0.0.1:5432  NOT_READY: refused (97 polls: 97 not ready)
//         nothing listens there: is the server started, and the port right?

#ifndef WAITER_CLI_OUTPUT_FAILURE_MESSAGE_H_
#define WAITER_CLI_OUTPUT_FAILURE_MESSAGE_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "cli/run/run_state.h"

namespace waiter::cli {

// Returns how many targets were not ready, and what ended the run.
std::string FailureReason(const RunState& run, const RunEnd& end);

// Returns all lines: `FailureReason`, and lines for each target that was not
// ready, with its last poll, the last answer before an error, and a hint. Lists
// at most 20 targets; targets that failed come first.
std::string FailureText(const RunState& run, const RunEnd& end);

// Returns one line: `FailureReason`, and the last poll of the first target that
// `FailureText` lists.
std::string FailureLine(const RunState& run, const RunEnd& end);

// Writes the message at the end of a run that failed. `err` must outlive this.
class FailureMessage : public RunListener {
 public:
  enum class Extent : uint8_t { kLine, kAll };

  FailureMessage(std::ostream& err, Extent extent)
      : err_(err), extent_(extent) {}

  void OnDone(const RunState& run, const RunEnd& end) override;

 private:
  std::ostream& err_;
  const Extent extent_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_FAILURE_MESSAGE_H_
