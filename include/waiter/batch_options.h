// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of a `BatchPoller` (batch_poller.h). Set `max_batch` to the limit of
// the server, and `window` to the delay that you accept for fewer calls.
//
// Waits that keep in step, for example because they start together and have no
// jitter, need no window: a call holds the keys that are due at the same
// moment.
//
//   waiter::BatchOptions{.max_batch = 100};
//
// Waits that start at different times need a window: a fraction of the usual
// delay between two polls of a key. With delays of 2 s, this window lengthens
// the time between two polls by up to a tenth, and a call holds the keys that
// become due within 200 ms, about a tenth of all:
//
//   waiter::BatchOptions{.max_batch = 100, .window = absl::Milliseconds(200)};
//
// Servers limit the number of calls, however many keys each holds. A limiter of
// the poller counts calls:
//
//   waiter::BatchOptions{.max_batch = 100, .rate_limiter = limiter};

#ifndef WAITER_BATCH_OPTIONS_H_
#define WAITER_BATCH_OPTIONS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

class RateLimiter;

// A value. Invalid options end every wait of the poller with kInvalidArgument.
struct BatchOptions {
  // Largest number of keys in one call. At least 1. A full batch is polled at
  // once. Further keys go into the next call, which may run at the same time on
  // an engine with several threads.
  int64_t max_batch = 100;

  // Time for which the first key of a batch waits for others. Finite, zero or
  // more. A longer window means fewer calls and later answers. Each poll takes
  // up to this much longer, as if the server were that slow; reports count the
  // time as the poll's. A key whose deadline is before the end of the window
  // ends the window at once.
  absl::Duration window = absl::ZeroDuration();

  // Every call passes this limiter once, however many keys it holds. Null: no
  // limit. Other pollers may share it, and waits of other policies
  // (`WaitOptions::rate_limiter`); a wait of this poller whose own limiter is
  // the same, which would count its keys as well, ends with kInvalidArgument.
  //
  // While a call waits for its turn, further keys join it until it is full.
  // Calls begin in the order in which they were due, and may be under way at
  // the same time. The time until a call begins counts as time of its polls. A
  // key may leave the call until then: a stop ends its wait at once, and so
  // does its deadline, as if the server did not answer. A poll that begins at
  // the deadline has `PollContext::timeout` for its call to begin.
  //
  // After a call, the poller updates the limiter once: throttled if the call
  // returns kResourceExhausted or throttles one of its keys. Hints delay only
  // the keys whose answers have them; the limiter delays all calls that follow.
  std::shared_ptr<RateLimiter> rate_limiter = nullptr;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const BatchOptions& options);

}  // namespace waiter

#endif  // WAITER_BATCH_OPTIONS_H_
