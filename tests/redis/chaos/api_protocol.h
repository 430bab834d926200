// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The protocol between the workers and the API of the chaos test, over TCP. A
// worker sends a `Hello` once. Then it sends `Call`s, each followed by one
// `int64_t` for each wait, and the API replies with one `Answer` for each.

#ifndef WAITER_TESTS_REDIS_CHAOS_API_PROTOCOL_H_
#define WAITER_TESTS_REDIS_CHAOS_API_PROTOCOL_H_

#include <cstdint>

#include "tests/redis/chaos/history.h"

namespace waiter::chaos {

struct Hello {
  int64_t worker = 0;
  int64_t wall_micros = 0;  // By the worker's clock.
};

struct Call {
  int64_t members = 1;
  int32_t waits = 1;
  Claim claim = Claim::kStarting;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_API_PROTOCOL_H_
