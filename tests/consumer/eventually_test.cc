// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/gtest.h"

namespace {

TEST(EventuallyTest, PollsUntilAThreadIsDone) {
  std::atomic<int> done = 0;
  std::thread worker([&] { done = 7; });
  EXPECT_EVENTUALLY(done.load(), testing::Gt(6));
  worker.join();
  ASSERT_EVENTUALLY(done.load(), 7);
}

}  // namespace
