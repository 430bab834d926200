// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/interleavings.h"

#include <atomic>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace waiter {
namespace {

struct Memory {
  ModelAtomic<int> x = 0;
  ModelAtomic<int> y = 0;
  int seen_x = -1;
  int seen_y = -1;
};

// Each thread stores to its variable, and then loads the other one.
std::string StoreBuffering(std::memory_order store, std::memory_order load) {
  const auto scenario = [=](Interleaving& run) {
    auto memory = std::make_shared<Memory>();
    run.AddThread([=] {
      memory->x.store(1, store);
      memory->seen_y = memory->y.load(load);
    });
    run.AddThread([=] {
      memory->y.store(1, store);
      memory->seen_x = memory->x.load(load);
    });
    run.AtEnd([=] {
      Interleaving::Current().Expect(memory->seen_x == 1 || memory->seen_y == 1,
                                     "both loads are early");
    });
  };
  return ExploreInterleavings({.max_stale_loads = 1}, scenario).failure;
}

TEST(InterleavingsTest, OnlySequentialOrderForbidsThatTwoThreadsMissEachOther) {
  EXPECT_NE(
      StoreBuffering(std::memory_order_relaxed, std::memory_order_relaxed), "");
  EXPECT_NE(
      StoreBuffering(std::memory_order_release, std::memory_order_acquire), "");
  EXPECT_EQ(
      StoreBuffering(std::memory_order_seq_cst, std::memory_order_seq_cst), "");
}

// One thread stores x and then y; another one loads y and then x.
std::string MessagePassing(std::memory_order store, std::memory_order load) {
  const auto scenario = [=](Interleaving& run) {
    auto memory = std::make_shared<Memory>();
    run.AddThread([=] {
      memory->x.store(1, std::memory_order_relaxed);
      memory->y.store(1, store);
    });
    run.AddThread([=] {
      if (memory->y.load(load) == 0) return;
      Interleaving::Current().Expect(
          memory->x.load(std::memory_order_relaxed) == 1, "x is stale");
    });
  };
  return ExploreInterleavings({.max_stale_loads = 1}, scenario).failure;
}

TEST(InterleavingsTest, ReleaseAndAcquireTogetherPassAValue) {
  EXPECT_EQ(
      MessagePassing(std::memory_order_release, std::memory_order_acquire), "");
  EXPECT_NE(
      MessagePassing(std::memory_order_release, std::memory_order_relaxed), "");
  EXPECT_NE(
      MessagePassing(std::memory_order_relaxed, std::memory_order_acquire), "");
}

TEST(InterleavingsTest, LoadsOfAVariableNeverGoBack) {
  const auto scenario = [](Interleaving& run) {
    auto memory = std::make_shared<Memory>();
    run.AddThread([=] {
      memory->x.store(1, std::memory_order_relaxed);
      memory->x.store(2, std::memory_order_relaxed);
    });
    run.AddThread([=] {
      const int first = memory->x.load(std::memory_order_relaxed);
      const int second = memory->x.load(std::memory_order_relaxed);
      Interleaving::Current().Expect(first <= second, "x goes back");
    });
  };
  EXPECT_EQ(ExploreInterleavings({.max_stale_loads = 2}, scenario).failure, "");
}

TEST(InterleavingsTest, ReadModifyWriteSeesTheNewestValue) {
  const auto scenario = [](Interleaving& run) {
    auto memory = std::make_shared<Memory>();
    for (int i = 0; i < 2; ++i) {
      run.AddThread([=] { memory->x.fetch_add(1, std::memory_order_relaxed); });
    }
    run.AtEnd([=] {
      Interleaving::Current().Expect(memory->x.load() == 2, "one was lost");
    });
  };
  EXPECT_EQ(ExploreInterleavings({.max_stale_loads = 2}, scenario).failure, "");
}

}  // namespace
}  // namespace waiter
