// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/exit_code.h"

#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "cli/text/printable.h"

namespace waiter::cli {

int ExitCode(const absl::Status& status, std::string_view command,
             std::ostream& err) {
  if (status.ok()) return 0;
  err << command << ": " << Printable(std::string(status.message())) << '\n';
  return absl::IsInvalidArgument(status) ? kUsageError : kOwnFailure;
}

int WrittenExitCode(std::ostream& out, std::string_view command,
                    std::ostream& err) {
  out << std::flush;
  return ExitCode(
      out ? absl::OkStatus()
          : absl::UnavailableError("cannot write to standard output"),
      command, err);
}

}  // namespace waiter::cli
