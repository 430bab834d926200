// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One table of waits. Every driver must poll at the same times and come to the
// same end; driver_conformance_test.cc runs them all through every one.

#ifndef WAITER_TESTS_SCENARIOS_H_
#define WAITER_TESTS_SCENARIOS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/wait_result.h"

namespace waiter {

// What the status function answers, and how long that takes. The last answer
// is repeated for ever.
struct ScriptedAnswer {
  // NOLINTNEXTLINE(google-explicit-constructor): scripts are lists of polls
  ScriptedAnswer(Poll<> found_in, absl::Duration takes_in = {})
      : found(std::move(found_in)), takes(takes_in) {}
  Poll<> found;
  absl::Duration takes;
};

struct Scenario {
  std::string name;
  WaitOptions options;
  std::vector<ScriptedAnswer> script;

  // When a stop is requested, if at all.
  std::optional<absl::Duration> stop_at = std::nullopt;

  // Starts of all polls, since the start of the wait.
  std::vector<absl::Duration> polled_at;
  StopReason reason;
  absl::StatusCode code = absl::StatusCode::kOk;
  // When the wait ends; unset: when the last poll does, if that takes no time.
  absl::Duration elapsed;
  bool late = false;
};

// For GoogleTest's messages.
inline void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

std::vector<Scenario> AllScenarios();

}  // namespace waiter

#endif  // WAITER_TESTS_SCENARIOS_H_
