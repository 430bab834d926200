// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The main function of tests that have flags.

#include "absl/flags/parse.h"
#include "gtest/gtest.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  absl::ParseCommandLine(argc, argv);
  return RUN_ALL_TESTS();
}
