// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/observer.h"

#include <string_view>

namespace waiter {

std::string_view SleepReasonName(SleepReason reason) {
  switch (reason) {
    case SleepReason::kFirstPollDelay:
      return "first poll delay";
    case SleepReason::kNotReady:
      return "not ready";
    case SleepReason::kServerError:
      return "server error";
    case SleepReason::kThrottled:
      return "throttled";
    case SleepReason::kRetryAfter:
      return "retry after";
    case SleepReason::kDelayRule:
      return "delay rule";
    case SleepReason::kRetryQuota:
      return "retry quota";
    case SleepReason::kRateLimit:
      return "rate limit";
    case SleepReason::kConfirming:
      return "confirming";
    case SleepReason::kFinalPoll:
      return "final poll";
  }
  return "unknown reason";
}

}  // namespace waiter
