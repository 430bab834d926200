// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The times at which logs say again that a wait continues: after 10 s, 30 s and
// 1 min, and then each time the elapsed time has doubled.

#ifndef WAITER_INTERNAL_HEARTBEAT_H_
#define WAITER_INTERNAL_HEARTBEAT_H_

#include "absl/time/time.h"

namespace waiter::internal {

// The rhythm of one wait. Thread-compatible.
class Heartbeat {
 public:
  // Returns whether a line is due `elapsed` after the start of the wait, which
  // must not be less than in the calls before. If so, the next one is due at
  // the first of the times above that is still to come.
  bool IsDue(absl::Duration elapsed);

 private:
  absl::Duration next_ = absl::Seconds(10);
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_HEARTBEAT_H_
