// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of a `SharedRateLimiter` (distributed/shared_rate_limiter.h). All
// members of one budget must have the same. A limit of 20 polls per second, of
// which 100 may pass at once after a pause:
//
//   waiter::SharedRateLimiterOptions options = {
//       .name = "ec2.describe", .rate = 20, .burst = 100};

#ifndef WAITER_DISTRIBUTED_SHARED_RATE_LIMITER_OPTIONS_H_
#define WAITER_DISTRIBUTED_SHARED_RATE_LIMITER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/rate_limiter_options.h"

namespace waiter {

// A value.
struct SharedRateLimiterOptions {
  // Name of the budget in the store: 1 to 64 of the characters A-Z, a-z, 0-9,
  // `_`, `.` and `-`.
  std::string name;

  // Polls per second of all members together, within [0.001, 1000000]. Unset:
  // adaptive, as all members find out together. Every poll then passes until
  // the server throttles one of them.
  std::optional<double> rate = std::nullopt;

  // Polls that may pass at once after a pause, within [1, 1000000].
  double burst = 1;

  // Parameters of an adaptive rate; `min_fill_rate` must be within [0.001,
  // 1000000]. `min_capacity` is that of one process while the store is away.
  RateLimiterOptions adaptive = {};

  // Time that slots are granted ahead, and for which an unused slot stays
  // valid. It counts as two intervals if they are longer. Within [50ms, 10s]. A
  // longer one costs fewer calls of the store, and more slots of members that
  // become idle.
  absl::Duration horizon = absl::Milliseconds(500);

  // Share of `rate` that one process uses as long as it never reached the
  // store. Within [0, 1]; with zero, no poll passes until then.
  double local_share = 1;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const SharedRateLimiterOptions& options);

// Whether a shared budget has its store.
enum class SharedBudgetMode : uint8_t {
  kStarting,  // The store was never reached, and is being asked.
  kShared,    // The store grants.
  kLocal,     // The store is away, so each process uses its own share.
};

// Returns "starting", "shared" or "local".
std::string_view ToString(SharedBudgetMode mode);

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_SHARED_RATE_LIMITER_OPTIONS_H_
