// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/internal/heartbeat.h"

#include "absl/time/time.h"

namespace waiter::internal {

bool Heartbeat::IsDue(absl::Duration elapsed) {
  if (elapsed < next_) return false;
  if (elapsed < absl::Seconds(30)) {
    next_ = absl::Seconds(30);
    return true;
  }
  // The loop ends, as the doubled time becomes infinite.
  next_ = absl::Minutes(1);
  while (next_ <= elapsed && next_ < absl::InfiniteDuration()) next_ *= 2;
  return true;
}

}  // namespace waiter::internal
