// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The progress of a run on a terminal, a line for each target:
//
//   ⠙ db   NOT_READY  00:42/5:00  poll 9, next 3s  refused 127.0.0.1:5432
//   ✓ web  READY      00:12/5:00  6 polls          HTTP 200

#ifndef WAITER_CLI_OUTPUT_TERMINAL_PROGRESS_H_
#define WAITER_CLI_OUTPUT_TERMINAL_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/terminal.h"
#include "cli/run/run_state.h"

namespace waiter::cli {

struct TerminalProgressOptions {
  // Asked before each redraw; null: never known, and 80 by 24 is taken.
  std::function<TerminalSize()> size = nullptr;

  bool color = false;
  bool unicode = true;  // For the marks; what targets say stays UTF-8.
};

// Redraws its lines in place in `OnTick`, at most every 100 ms. They fit the
// terminal: what is too long is cut, and of more targets than lines those are
// shown that are not ready, and how many others there are. At the end a table
// of at most 40 targets stays.
//
// Between two calls the cursor is visible, at the left of the line below, and
// lines wrap, so that a process that dies leaves nothing to repair.
class TerminalProgress : public RunListener {
 public:
  // `err` must outlive this.
  TerminalProgress(std::ostream& err, TerminalProgressOptions options)
      : err_(err), options_(std::move(options)) {}

  void OnTick(const RunState& run) override;
  void OnSnapshot(const RunState& run) override;
  void OnDone(const RunState& run, const RunEnd& end) override;

 private:
  // Returns the lines of at most `rows` targets.
  std::vector<std::string> Lines(const RunState& run, size_t rows) const;

  // Returns what moves the cursor to where the lines on the screen begin.
  std::string ToTop() const;

  void Draw(const RunState& run, size_t rows);
  TerminalSize Size() const;

  std::ostream& err_;
  const TerminalProgressOptions options_;
  absl::Duration next_draw_;
  size_t frame_ = 0;
  size_t drawn_ = 0;  // Lines on the screen.
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TERMINAL_PROGRESS_H_
