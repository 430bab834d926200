// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace waiter::cli {
namespace {

std::string_view Variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the header forbids changes
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the value of the first variable that is set.
std::string_view Locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = Variable(name);
    if (!value.empty()) return value;
  }
  return "";
}

TerminalSize SizeOfStandardError() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

}  // namespace

Terminal ThisTerminal() {
  const std::string_view term = Variable("TERM");
  const std::string locale = absl::AsciiStrToLower(Locale());
  return {.out = isatty(STDOUT_FILENO) == 1,
          .err = isatty(STDERR_FILENO) == 1,
          .dumb = term.empty() || term == "dumb",
          .colors = Variable("NO_COLOR").empty(),
          .unicode = absl::StrContains(locale, "utf-8") ||
                     absl::StrContains(locale, "utf8"),
          .size = SizeOfStandardError};
}

}  // namespace waiter::cli
