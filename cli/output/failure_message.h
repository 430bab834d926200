// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What `waiter` says when it has waited in vain:
//
//   waiter: 1 of 2 targets was not ready when the limit of 5m was reached
//     db  tcp://127.0.0.1:5432  NOT_READY: refused (97 polls: 97 not ready;
//   last 0.4s ago)
//         nothing listens there: is the server started, and the port right?

#ifndef WAITER_CLI_OUTPUT_FAILURE_MESSAGE_H_
#define WAITER_CLI_OUTPUT_FAILURE_MESSAGE_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "cli/run/run_state.h"

namespace waiter::cli {

// Returns the first line: how many targets were not ready, and what ended the
// run.
std::string FailureReason(const RunState& run, const RunEnd& end);

// Returns all lines: after the first those of each target that was not ready:
// its last poll; if that was an error, what was found before; and a hint. At
// most 20 targets, those that failed first.
std::string FailureText(const RunState& run, const RunEnd& end);

// Returns the first line with the last poll of the first such target.
std::string FailureLine(const RunState& run, const RunEnd& end);

// Writes it at the end, unless what was waited for is ready. `err` must outlive
// this.
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
