// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/thread_value.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"

namespace waiter::thread_value_test {
namespace {

using internal::ThreadValue;

std::atomic<uintptr_t> sum = 0;
std::atomic<int> calls = 0;

void WAITER_AT_THREAD_END Add(void* value) {
  ++calls;
  sum += reinterpret_cast<uintptr_t>(value);
}

TEST(ThreadValueTest, EachThreadEndsWithItsLastValue) {
  static ThreadValue value(Add);
  sum = calls = 0;
  {
    std::vector<JoiningThread> threads;
    for (uintptr_t i = 1; i <= 4; ++i) {
      threads.emplace_back([i] {
        EXPECT_EQ(value.Get(), nullptr);
        EXPECT_TRUE(value.Set(reinterpret_cast<void*>(1000 * i)));
        std::this_thread::yield();
        EXPECT_EQ(value.Get(), reinterpret_cast<void*>(1000 * i));
        EXPECT_TRUE(value.Set(reinterpret_cast<void*>(i)));
      });
    }
  }
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(sum, 1U + 2 + 3 + 4);
}

TEST(ThreadValueTest, NullHasNoEnd) {
  static ThreadValue value(Add);
  sum = calls = 0;
  JoiningThread([] { EXPECT_EQ(value.Get(), nullptr); });
  JoiningThread([] {
    EXPECT_TRUE(value.Set(&sum));
    EXPECT_TRUE(value.Set(nullptr));
  });
  EXPECT_EQ(calls, 0);
}

#ifndef __MINGW32__
TEST(ThreadValueTest, EndComesAfterDestructorsOfTheThread) {
  static ThreadValue value(Add);
  static std::atomic<int> calls_before = -1;
  struct Object {
    ~Object() { calls_before = calls.load(); }
  };
  calls = 0;
  JoiningThread([] {
    EXPECT_TRUE(value.Set(&sum));
    thread_local Object object;
    (void)object;
  });
  EXPECT_EQ(calls_before, 0);
  EXPECT_EQ(calls, 1);
}
#endif

}  // namespace
}  // namespace waiter::thread_value_test
