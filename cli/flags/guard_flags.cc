// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/guard_flags.h"

#include <sys/types.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "cli/flags/flags.h"

namespace waiter::cli {

void GuardFlags::AddTo(Flags& flags) {
  flags.Add("while-pid", "1234", "fail when this process ends",
            [this](std::string_view text) {
              pid_t pid = 0;
              if (!absl::SimpleAtoi(text, &pid) || pid < 1) {
                return absl::InvalidArgumentError("it must be a process ID");
              }
              options_.while_pid = pid;
              return absl::OkStatus();
            });
  flags.Add("while-running", "'./alive'", "fail when this shell command fails",
            options_.while_running);
  flags.Add("fail-if", "'./failed'", "fail when this shell command succeeds",
            options_.fail_if);
}

}  // namespace waiter::cli
