// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What a command finds where its output goes:
//
//   const waiter::cli::Terminal terminal = waiter::cli::ThisTerminal();
//   if (terminal.err && terminal.size().columns < 80) ...

#ifndef WAITER_CLI_OUTPUT_TERMINAL_H_
#define WAITER_CLI_OUTPUT_TERMINAL_H_

#include <functional>

namespace waiter::cli {

// Not positive where it is not known.
struct TerminalSize {
  int columns = 0;
  int rows = 0;
};

struct Terminal {
  bool out = false;  // Standard output is a terminal.
  bool err = false;  // Standard error is.

  bool dumb = false;     // It cannot move its cursor: by TERM.
  bool colors = true;    // Nobody forbade them: by NO_COLOR.
  bool unicode = false;  // It shows UTF-8: by LC_ALL, LC_CTYPE or LANG.

  // Returns the size of standard error as it is now. Null: never known.
  std::function<TerminalSize()> size = nullptr;
};

// Reads the environment. Not to be called while another thread changes that.
Terminal ThisTerminal();

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TERMINAL_H_
