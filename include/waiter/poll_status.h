// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The five answers to «is it there yet?».

#ifndef WAITER_POLL_STATUS_H_
#define WAITER_POLL_STATUS_H_

#include <cstdint>
#include <string_view>

namespace waiter {

// Ordered from healthy to hopeless; see docs/design.md for what each leads to.
enum class PollStatus : uint8_t {
  kSuccess,      // What was waited for is there.
  kNotReady,     // It is on its way; ask again.
  kThrottled,    // The server asked for less traffic; ask again, later.
  kServerError,  // This poll could not tell; ask again.
  kFailed,       // It will never be there; stop.
};

// Returns "success", "not ready", "throttled", "server error" or "failed".
std::string_view PollStatusName(PollStatus status);

}  // namespace waiter

#endif  // WAITER_POLL_STATUS_H_
