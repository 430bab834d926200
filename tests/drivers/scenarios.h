// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One table of waits. driver_conformance_test.cc runs them all through every
// driver, which must poll at the same times and come to the same end.

#ifndef WAITER_TESTS_DRIVERS_SCENARIOS_H_
#define WAITER_TESTS_DRIVERS_SCENARIOS_H_

#include <concepts>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

// An answer of the status function, and the time it takes. The last answer
// repeats forever.
struct ScriptedAnswer {
  template <std::convertible_to<Poll<>> Found>
  // NOLINTNEXTLINE(google-explicit-constructor): scripts are lists of polls
  ScriptedAnswer(Found found_in, absl::Duration takes_in = {})
      : found(std::move(found_in)), takes(takes_in) {}
  Poll<> found;
  absl::Duration takes;
};

struct Scenario {
  std::string name;
  WaitOptions options;
  std::vector<ScriptedAnswer> script;

  // The time at which a stop is requested, if any.
  std::optional<absl::Duration> stop_at = std::nullopt;

  // Starts of all polls, since the start of the wait.
  std::vector<absl::Duration> polled_at;
  StopReason reason = StopReason::kSuccess;
  // The code of the status; if unset, the only one of `reason`. A failure may
  // have any code, so that its row has to state it.
  std::optional<absl::StatusCode> code = std::nullopt;
  // The time at which the wait ends; if unset, when the last poll begins.
  std::optional<absl::Duration> ends_at = std::nullopt;
  bool late = false;
};

// For GoogleTest's messages.
inline void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

// The usual course of every rule, and its edges.
std::vector<Scenario> RuleScenarios();
std::vector<Scenario> EdgeScenarios();

}  // namespace waiter

#endif  // WAITER_TESTS_DRIVERS_SCENARIOS_H_
