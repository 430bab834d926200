// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How a target, and what it is doing, is called in whatever people read:
//
//   out << waiter::cli::StateText(run, target) << ": "
//       << waiter::cli::FoundText(target.last, 80);    // NOT_READY: refused

#ifndef WAITER_CLI_OUTPUT_TARGET_TEXT_H_
#define WAITER_CLI_OUTPUT_TARGET_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"

namespace waiter::cli {

// No name that is shown is wider.
inline constexpr size_t kMostNameColumns = 40;

bool IsReady(const TargetState& target);
size_t ReadyCount(const RunState& run);

// Returns "ready", or "gone" if that is what is waited for.
std::string ReadyWord(const RunState& run);

// Returns the label of `target`, in `kMostNameColumns`.
std::string NameText(const TargetState& target);

// Returns "STARTING", "READY", "GONE", or the class of the last poll.
std::string StateText(const RunState& run, const TargetState& target);

// Returns "1 poll", "9 polls".
std::string PollsText(int64_t polls);

// Returns "poll 9, next 3s", "poll 10 for 2s", "9 polls": what the target is
// doing, to the second.
std::string ActivityText(const RunState& run, const TargetState& target);

// Returns what was found, with its progress, if it has any: "66% of 3 nodes".
std::string FoundText(const Finding& found, size_t columns);

// Returns "NOT_READY: refused", as far as there is something to tell.
std::string LastText(const RunState& run, const TargetState& target,
                     size_t columns);

// Returns the indices of all targets, those that are not ready first.
std::vector<size_t> UnreadyFirst(const RunState& run);

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TARGET_TEXT_H_
