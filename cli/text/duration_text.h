// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads durations that users write:
//
//   absl::StatusOr<absl::Duration> delay =
//       waiter::cli::ParseDurationText("1m30s");

#ifndef WAITER_CLI_TEXT_DURATION_TEXT_H_
#define WAITER_CLI_TEXT_DURATION_TEXT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::cli {

// Returns the duration in `text`, which is finite and at least zero. A number
// without a unit counts seconds, as for timeout(1). `inf` is allowed if
// `may_be_infinite`. Returns kInvalidArgument with the problem and the correct
// form, without `text` itself.
absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text,
                                                 bool may_be_infinite = false);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_DURATION_TEXT_H_
