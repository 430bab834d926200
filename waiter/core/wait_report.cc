// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/wait_report.h"

#include <string_view>

namespace waiter {

std::string_view StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kSuccess:
      return "success";
    case StopReason::kFailed:
      return "failed";
    case StopReason::kDeadline:
      return "deadline";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kAttempts:
      return "attempts";
    case StopReason::kConsecutiveLimit:
      return "consecutive limit";
    case StopReason::kDelayRule:
      return "delay rule";
    case StopReason::kQuota:
      return "quota";
    case StopReason::kShutDown:
      return "shut down";
    case StopReason::kInvalidOptions:
      return "invalid options";
  }
  return "unknown reason";
}

}  // namespace waiter
