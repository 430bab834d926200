// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Hints for users about targets that did not become ready.

#ifndef WAITER_CLI_OUTPUT_TARGET_HINT_H_
#define WAITER_CLI_OUTPUT_TARGET_HINT_H_

#include <string>

#include "cli/run/run_state.h"

namespace waiter::cli {

// Returns the hint of the last finding. If it has none, returns one that the
// polls suggest, such as "every poll was throttled: try a longer --backoff or
// --every". Empty if they suggest nothing. A hint may come from outside, so it
// may contain any bytes.
std::string HintFor(const RunState& run, const TargetState& target);

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TARGET_HINT_H_
