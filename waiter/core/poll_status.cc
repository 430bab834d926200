// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/poll_status.h"

#include <ostream>
#include <string_view>

namespace waiter {

std::string_view PollStatusName(PollStatus status) {
  switch (status) {
    case PollStatus::kSuccess:
      return "success";
    case PollStatus::kNotReady:
      return "not ready";
    case PollStatus::kThrottled:
      return "throttled";
    case PollStatus::kServerError:
      return "server error";
    case PollStatus::kFailed:
      return "failed";
  }
  return "unknown status";
}

std::ostream& operator<<(std::ostream& out, PollStatus status) {
  return out << PollStatusName(status);
}

}  // namespace waiter
