// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Computes how many polls learned delays would have saved in the waits of a
// log:
//
//   std::optional<waiter::cli::LearnedSaving> saving =
//       waiter::cli::SavingOf(waiter::cli::WaitsOf(log));
//   if (saving.has_value()) out << waiter::cli::SavingText(*saving);

#ifndef WAITER_CLI_COMMANDS_LEARNED_SAVING_H_
#define WAITER_CLI_COMMANDS_LEARNED_SAVING_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/logged_waits.h"

namespace waiter::cli {

struct LearnedSaving {
  size_t waits = 0;
  // Means of a wait. The lateness in the log is half of the time between the
  // last two polls, as the time at which the target became ready is unknown.
  double polls = 0;
  double learned_polls = 0;
  absl::Duration lateness = absl::ZeroDuration();
  absl::Duration learned_lateness = absl::ZeroDuration();
  // The value of --poll-cost; unset for the default.
  std::optional<absl::Duration> poll_cost = std::nullopt;
  // Whether the targets of the log count as one operation.
  bool one_operation = false;
};

// Plays each wait with learned delays that know a part of the other waits, and
// not itself. Chooses a cost of polls at which they are about as late as the
// waits of the log. Returns nullopt if that takes no fewer polls, or if no
// target has 8 waits. If no target has more than one, the waits of all targets
// count together.
std::optional<LearnedSaving> SavingOf(const std::vector<LoggedWait>& waits);

// Returns lines with the saving, and the command for it.
std::string SavingText(const LearnedSaving& saving);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_LEARNED_SAVING_H_
