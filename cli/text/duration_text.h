// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durations that people write in flags, targets and answers of probes.
//
//   waiter::cli::ParseDurationText("1m30s");  // absl::Seconds(90)
//   waiter::cli::ParseDurationText("90");     // an error: it has no unit

#ifndef WAITER_CLI_TEXT_DURATION_TEXT_H_
#define WAITER_CLI_TEXT_DURATION_TEXT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::cli {

// Returns the duration that `text` is, finite and at least zero, or an error
// that says what is missing. `inf` is allowed if `may_be_infinite`.
absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text,
                                                 bool may_be_infinite = false);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_DURATION_TEXT_H_
