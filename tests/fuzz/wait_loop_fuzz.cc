// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the waits of wait_loop_property_test.cc with choices of libFuzzer
// instead of random ones.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/support/random_wait.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t next = 0;
  const auto choose = [&]() -> uint64_t {
    return next < size ? data[next++] : 0;
  };
  const waiter::RandomWait wait = waiter::RunRandomWait(choose);
  if (!wait.broken.empty()) {
    std::fprintf(stderr, "not kept: %s\n%s", wait.broken.c_str(),
                 wait.timeline.c_str());
    std::abort();
  }
  return 0;
}
