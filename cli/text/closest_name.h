// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Finds the name that a user meant:
//
//   waiter::cli::ClosestName("tiemout", {"timeout", "every"});  // "timeout"

#ifndef WAITER_CLI_TEXT_CLOSEST_NAME_H_
#define WAITER_CLI_TEXT_CLOSEST_NAME_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace waiter::cli {

// Returns the name that the fewest edits make of `written`, the first of
// several. An edit inserts, removes or replaces a character, or exchanges two
// neighbors. Empty if that takes more than two,
// or changes more than half of `written`.
std::string ClosestName(std::string_view written,
                        absl::Span<const std::string> names);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_CLOSEST_NAME_H_
