// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The knobs of a `BatchPoller` (batch_poller.h). Set `max_batch` to what the
// server allows:
//
//   waiter::BatchOptions{.max_batch = 50, .window = absl::Milliseconds(200)};

#ifndef WAITER_BATCH_OPTIONS_H_
#define WAITER_BATCH_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace waiter {

struct BatchOptions {
  // Most keys of one call. At least 1. A batch that is full is asked for at
  // once.
  int64_t max_batch = 100;

  // How long the first key of a batch waits for others; finite. Each poll takes
  // up to this much longer, as if the server were that slow. Zero waits for
  // what is due in the same moment, which is enough where waits keep in step.
  absl::Duration window = absl::ZeroDuration();
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const BatchOptions& options);

}  // namespace waiter

#endif  // WAITER_BATCH_OPTIONS_H_
