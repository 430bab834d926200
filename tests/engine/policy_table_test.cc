// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/policy_table.h"

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "waiter/policy.h"

namespace waiter::internal::policy_table_test {
namespace {

std::shared_ptr<const WaitPolicy> NewPolicy() { return WaitPolicy::Make({}); }

TEST(PolicyTableTest, WaitsOfOnePolicyShareAnEntry) {
  PolicyTable table;
  const auto policy = NewPolicy();
  const auto other = NewPolicy();
  const uint32_t index = table.Add(policy);
  const uint32_t index_of_other = table.Add(other);

  EXPECT_EQ(table.Add(policy), index);
  EXPECT_NE(index, index_of_other);
  EXPECT_EQ(&table[index], policy.get());
  EXPECT_EQ(&table[index_of_other], other.get());
  EXPECT_EQ(table.size(), 2);
}

TEST(PolicyTableTest, PolicyLivesUntilItsLastWaitEnds) {
  PolicyTable table;
  auto policy = NewPolicy();
  const std::weak_ptr<const WaitPolicy> watched = policy;
  const uint32_t index = table.Add(policy);
  EXPECT_TRUE(table.AddToLast(*policy));
  table.Add(policy);
  policy = nullptr;

  table.Remove(index);
  table.Remove(index);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(table.size(), 1);
  table.Remove(index);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(table.size(), 0);
}

TEST(PolicyTableTest, OnlyThePolicyAddedLastIsFoundWithoutALookUp) {
  PolicyTable table;
  const auto first = NewPolicy();
  const auto second = NewPolicy();
  EXPECT_FALSE(table.AddToLast(*first));
  const uint32_t index_of_first = table.Add(first);
  const uint32_t index_of_second = table.Add(second);

  EXPECT_FALSE(table.AddToLast(*first));
  EXPECT_TRUE(table.AddToLast(*second));
  EXPECT_EQ(table.last(), index_of_second);
  table.Add(first);
  EXPECT_TRUE(table.AddToLast(*first));
  EXPECT_EQ(table.last(), index_of_first);
}

TEST(PolicyTableTest, PolicyWithoutWaitsIsNotTheLast) {
  PolicyTable table;
  const auto policy = NewPolicy();
  table.Remove(table.Add(policy));

  EXPECT_FALSE(table.AddToLast(*policy));
}

TEST(PolicyTableTest, EntriesAreUsedAgain) {
  PolicyTable table;
  const auto kept = NewPolicy();
  const uint32_t index_of_kept = table.Add(kept);
  const uint32_t index = table.Add(NewPolicy());
  for (int round = 0; round < 10; ++round) {
    table.Remove(index);
    const auto next = NewPolicy();
    EXPECT_EQ(table.Add(next), index);
    EXPECT_EQ(&table[index], next.get());
  }

  EXPECT_EQ(&table[index_of_kept], kept.get());
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(table.Add(NewPolicy()), 2);
}

}  // namespace
}  // namespace waiter::internal::policy_table_test
