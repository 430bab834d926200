// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When a `WaitGroup` (wait_group.h) stops its waits.

#ifndef WAITER_WAIT_GROUP_OPTIONS_H_
#define WAITER_WAIT_GROUP_OPTIONS_H_

#include <cstddef>
#include <optional>

namespace waiter {

struct WaitGroupOptions {
  // How many successes are enough: 1 for «any». The other waits are cancelled
  // once there are so many, and once there cannot be any more, so that the
  // number of waits stands for «all, or give up at once». Unset: all waits go
  // on to their own ends.
  std::optional<size_t> successes_required = std::nullopt;
};

}  // namespace waiter

#endif  // WAITER_WAIT_GROUP_OPTIONS_H_
