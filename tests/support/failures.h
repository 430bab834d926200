// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Captures the failures of assertions, in tests of assertions:
//
//   EXPECT_THAT(PartsOf([&] { EXPECT_EQ(1, 2); }), SizeIs(1));
//   EXPECT_EQ(FailureOf([&] { EXPECT_TRUE(false) << "why"; }), "...\nwhy");

#ifndef WAITER_TESTS_SUPPORT_FAILURES_H_
#define WAITER_TESTS_SUPPORT_FAILURES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace waiter {

// Runs `code` and returns the results it reports on this thread, which do not
// count for the running test.
inline std::vector<testing::TestPartResult> PartsOf(
    absl::FunctionRef<void()> code) {
  testing::TestPartResultArray parts;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &parts);
    code();
  }
  std::vector<testing::TestPartResult> result;
  result.reserve(static_cast<size_t>(parts.size()));
  for (int i = 0; i < parts.size(); ++i) {
    result.push_back(parts.GetTestPartResult(i));
  }
  return result;
}

// Returns the message of the only failure, or a note in parentheses.
inline std::string FailureOf(absl::FunctionRef<void()> code) {
  const std::vector<testing::TestPartResult> parts = PartsOf(code);
  if (parts.empty()) return "(no failure)";
  if (parts.size() > 1) return "(several failures)";
  if (!parts[0].failed()) return "(not a failure)";
  // Since GoogleTest 1.13 the message ends with a new line.
  return std::string(absl::StripTrailingAsciiWhitespace(parts[0].message()));
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_FAILURES_H_
