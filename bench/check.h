// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Ends the program if the measured code did not work:
//
//   Check(result.ok(), "the wait of 10 polls did not succeed");

#ifndef WAITER_BENCH_CHECK_H_
#define WAITER_BENCH_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <string>

namespace waiter::bench {

// Ends the program with code 1 and `message`. May be called on any thread.
[[noreturn]] inline void Fail(const char* message) {
  std::fflush(stdout);
  std::fprintf(stderr, "the measurement failed: %s\n", message);
  std::_Exit(1);
}
[[noreturn]] inline void Fail(const std::string& message) {
  Fail(message.c_str());
}

// Fails unless `condition` holds. Costs a branch that is never taken.
inline void Check(bool condition, const char* message) {
  if (!condition) [[unlikely]] {
    Fail(message);
  }
}

}  // namespace waiter::bench

#endif  // WAITER_BENCH_CHECK_H_
