// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Describes the terminal that output goes to:
//
//   const waiter::cli::Terminal terminal = waiter::cli::ThisTerminal();
//   if (terminal.err && terminal.size().columns < 80) ...

#ifndef WAITER_CLI_OUTPUT_TERMINAL_H_
#define WAITER_CLI_OUTPUT_TERMINAL_H_

#include <functional>

namespace waiter::cli {

// The size of a terminal. A number is not positive if it is unknown.
struct TerminalSize {
  int columns = 0;
  int rows = 0;
};

struct Terminal {
  bool out = false;  // Standard output is a terminal.
  bool err = false;  // Standard error is a terminal.

  bool dumb = false;     // TERM says that the cursor cannot move.
  bool colors = true;    // NO_COLOR does not forbid colors.
  bool unicode = false;  // LC_ALL, LC_CTYPE or LANG asks for UTF-8.

  // Returns the present size of standard error. Null if it is never known.
  std::function<TerminalSize()> size = nullptr;
};

// Returns the terminal of this process. Reads the environment, so no other
// thread may change that at the same time.
Terminal ThisTerminal();

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TERMINAL_H_
