// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks a rule that holds for every input of a fuzz target. The program aborts
// if it does not, which libFuzzer reports with the input:
//
//   CHECK_THAT(finding.detail.size() < 400);

#ifndef WAITER_TESTS_SUPPORT_CHECK_THAT_H_
#define WAITER_TESTS_SUPPORT_CHECK_THAT_H_

#include <cstdio>
#include <cstdlib>

#define CHECK_THAT(rule)                                                \
  do {                                                                  \
    if (!(rule)) {                                                      \
      std::fprintf(stderr, "line %d, not kept: " #rule "\n", __LINE__); \
      std::abort();                                                     \
    }                                                                   \
  } while (false)

#endif  // WAITER_TESTS_SUPPORT_CHECK_THAT_H_
