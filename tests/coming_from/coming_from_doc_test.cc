// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that docs/coming-from.md shows code that the other tests of this
// folder compile and run.

#include "gtest/gtest.h"
#include "tests/support/document.h"

namespace waiter {
namespace {

TEST(ComingFromDocTest, CodeStandsInTests) {
  ExpectCodeStandsInTests("docs/coming-from.md", "tests/coming_from");
}

}  // namespace
}  // namespace waiter
