// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// First seed of a random test. Tests print their seed, so that a failure can be
// repeated with `--test_env=WAITER_TEST_SEED=...`.

#ifndef WAITER_TESTS_SUPPORT_FIRST_SEED_H_
#define WAITER_TESTS_SUPPORT_FIRST_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <random>

#include "absl/strings/numbers.h"

namespace waiter {

// Returns `WAITER_TEST_SEED` if it is a number, otherwise a random seed.
inline uint64_t FirstSeed() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
  const char* given = std::getenv("WAITER_TEST_SEED");
  uint64_t seed = 0;
  if (given != nullptr && absl::SimpleAtoi(given, &seed)) return seed;
  return std::random_device()();
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_FIRST_SEED_H_
