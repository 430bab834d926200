// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/gtest.h"

#include "gtest/gtest.h"

TEST(ComponentTest, Polls) {
  int polls = 0;
  EXPECT_EVENTUALLY(++polls, testing::Ge(2));
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
