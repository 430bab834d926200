// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that docs/test-frameworks.md shows code that the other tests of this
// folder compile and run, and the text of a failure that all of them print.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/document.h"

namespace waiter {
namespace {

TEST(FrameworksDocTest, CodeStandsInTests) {
  ExpectCodeStandsInTests("docs/test-frameworks.md", "tests/frameworks");
}

TEST(FrameworksDocTest, TextIsThatOfAllFrameworks) {
  std::string text = ReadFile("tests/testing/golden/fail_if.txt");
  text.resize(text.find("Notes:"));
  // The scenario calls its job "w".
  ASSERT_EQ(text.substr(0, 2), "w.");
  text.replace(0, 1, "job");
  EXPECT_THAT(ReadFile("docs/test-frameworks.md"), testing::HasSubstr(text));
}

}  // namespace
}  // namespace waiter
