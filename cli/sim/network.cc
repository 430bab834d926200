// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/network.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace waiter::sim {

absl::Status Validate(const NetworkOptions& options) {
  const auto check = [](const char* name, absl::Duration value) {
    if (value >= absl::ZeroDuration() && value <= absl::Hours(1)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("network.", name, " is ", absl::FormatDuration(value),
                     "; it must be between 0 and 1h"));
  };
  absl::Status status = check("mean", options.mean);
  if (status.ok()) status = check("deviation", options.deviation);
  return status;
}

}  // namespace waiter::sim
