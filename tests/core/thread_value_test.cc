// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/thread_value.h"

#include <atomic>
#include <cstdint>
#include <thread>

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
using Value = ThreadValue<Add>;

TEST(ThreadValueTest, EachThreadEndsWithItsLastValue) {
  sum = 0;
  calls = 0;
  RunThreads(/*count=*/4, [](int thread) {
    const auto i = static_cast<uintptr_t>(thread + 1);
    EXPECT_EQ(Value::Get(), nullptr);
    EXPECT_TRUE(Value::Set(reinterpret_cast<void*>(1000 * i)));
    std::this_thread::yield();
    EXPECT_EQ(Value::Get(), reinterpret_cast<void*>(1000 * i));
    EXPECT_TRUE(Value::Set(reinterpret_cast<void*>(i)));
  });
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(sum, 1U + 2 + 3 + 4);
}

TEST(ThreadValueTest, NullHasNoEnd) {
  calls = 0;
  JoiningThread([] { EXPECT_EQ(Value::Get(), nullptr); });
  JoiningThread([] {
    EXPECT_TRUE(Value::Set(&sum));
    EXPECT_TRUE(Value::Set(nullptr));
  });
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace waiter::thread_value_test
