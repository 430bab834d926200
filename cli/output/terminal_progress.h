// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Shows the progress of a run on a terminal, in a line for each target:
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
  // Called before each redraw. If it is null or the size is unknown, the size
  // is taken to be 80 by 24.
  std::function<TerminalSize()> size = nullptr;

  bool color = false;
  bool unicode = true;  // For the marks; the text of targets stays UTF-8.
};

// Redraws its lines in place in `OnTick`, at most every 100 ms. The lines fit
// the terminal: long lines are cut, and if there are more targets than lines,
// targets that are not ready come first and the last line counts the rest. At
// the end, a table of at most 40 targets stays.
//
// Between two calls the cursor is visible, at the left of the line below, and
// lines wrap, so that a process that dies leaves the terminal in order.
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

  // Returns the escape sequence that moves the cursor to the first line drawn.
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
