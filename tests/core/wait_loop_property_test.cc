// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs random waits. A failure prints the seed of its wait;
// `--test_env=WAITER_TEST_SEED=N` starts from that seed.

#include <cstdint>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "tests/support/random_wait.h"
#include "waiter/backoff.h"

namespace waiter::wait_loop_property_test {
namespace {

RandomWait RunSeeded(uint64_t seed) {
  SplitMix64 gen(seed);
  return RunRandomWait([&] { return gen(); });
}

TEST(WaitLoopPropertyTest, RandomWaitsKeepEveryPromise) {
  const uint64_t first = FirstSeed();
  std::set<std::string> ends;
  for (uint64_t seed = first; seed < first + 20'000; ++seed) {
    const RandomWait wait = RunSeeded(seed);
    ASSERT_EQ(wait.broken, "") << "WAITER_TEST_SEED=" << seed << "\n"
                               << wait.timeline;
    ends.insert(wait.reason);
  }
  EXPECT_EQ(ends.size(), 6) << "WAITER_TEST_SEED=" << first;
}

TEST(WaitLoopPropertyTest, SameSeedGivesTheSameWait) {
  const uint64_t first = FirstSeed();
  for (uint64_t seed = first; seed < first + 1'000; ++seed) {
    ASSERT_EQ(RunSeeded(seed).timeline, RunSeeded(seed).timeline)
        << "WAITER_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace waiter::wait_loop_property_test
