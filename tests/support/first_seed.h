// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The first seed of a random test, and the command that repeats its run.

#ifndef WAITER_TESTS_SUPPORT_FIRST_SEED_H_
#define WAITER_TESTS_SUPPORT_FIRST_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace waiter {

// Returns `WAITER_TEST_SEED` if it is a number, otherwise a random seed. Prints
// a line "replay: COMMAND", whose command repeats the current test with it.
inline uint64_t FirstSeed() {
  // NOLINTBEGIN(concurrency-mt-unsafe): the test has one thread
  const char* const given = std::getenv("WAITER_TEST_SEED");
  const char* const target = std::getenv("TEST_TARGET");
  // NOLINTEND(concurrency-mt-unsafe)
  uint64_t seed = 0;
  if (given == nullptr || !absl::SimpleAtoi(given, &seed)) {
    seed = std::random_device()();
  }
  const testing::TestInfo& test =
      *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name =
      absl::StrCat(test.test_suite_name(), ".", test.name());
  // Bazel sets the target. Without it, the program is run by its path.
  std::error_code error;
  std::cout << "replay: "
            << (target == nullptr
                    ? absl::StrCat(
                          "WAITER_TEST_SEED=", seed, " ",
                          std::filesystem::read_symlink("/proc/self/exe", error)
                              .string(),
                          " --gtest_filter=", name)
                    : absl::StrCat("./bazelw test ", target, " --test_filter=",
                                   name, " --test_env=WAITER_TEST_SEED=", seed))
            << std::endl;
  return seed;
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_FIRST_SEED_H_
