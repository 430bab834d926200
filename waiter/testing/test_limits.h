// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Limits of the whole test that its environment sets: its slowdown, and the
// time that it may still take.

#ifndef WAITER_TESTING_TEST_LIMITS_H_
#define WAITER_TESTING_TEST_LIMITS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter {

// The environment variables that set limits; null if unset.
struct TestEnvironment {
  const char* timeout_scale;       // WAITER_TEST_TIMEOUT_SCALE
  const char* test_timeout;        // TEST_TIMEOUT, in seconds, set by Bazel.
  const char* preload;             // LD_PRELOAD, which Valgrind sets.
  const char* timeout = nullptr;   // WAITER_TEST_TIMEOUT
  const char* hold_for = nullptr;  // WAITER_TEST_HOLD_FOR
};
TestEnvironment GetTestEnvironment();

struct TestLimits {
  // Factor of every limit, and its source: a sanitizer, or a variable.
  double scale = 1;
  std::string scaled_by = {};

  // Defaults of EVENTUALLY, and of CONSISTENTLY and NEVER, if set.
  std::optional<absl::Duration> timeout = std::nullopt;
  std::optional<absl::Duration> hold_for = std::nullopt;

  // Time that the whole test may take, minus the time to print a message.
  absl::Duration whole = absl::InfiniteDuration();
};

// Returns kInvalidArgument if WAITER_TEST_TIMEOUT_SCALE is not above 0 and at
// most 1000, or if a default is not a positive and finite time with a unit.
absl::StatusOr<TestLimits> ReadTestLimits(const TestEnvironment& environment);

// Returns the time since the program started.
absl::Duration ProgramAge();

// Returns whether a debugger is attached to this process.
bool IsDebugged();

// The same for `process_status`, the text of /proc/self/status.
bool IsDebuggedBy(std::string_view process_status);

}  // namespace waiter

#endif  // WAITER_TESTING_TEST_LIMITS_H_
