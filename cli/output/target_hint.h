// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the user may do about a target that did not become ready.

#ifndef WAITER_CLI_OUTPUT_TARGET_HINT_H_
#define WAITER_CLI_OUTPUT_TARGET_HINT_H_

#include <string>

#include "cli/run/run_state.h"

namespace waiter::cli {

// Returns the hint of the last finding, or else what its polls suggest, as "no
// poll ended in time: a longer --probe-timeout". Empty if they suggest nothing.
// May be anything, as a hint may come from outside.
std::string HintFor(const RunState& run, const TargetState& target);

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TARGET_HINT_H_
