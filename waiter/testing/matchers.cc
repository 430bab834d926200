// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/matchers.h"

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

void PrintTo(const WaitReport& report, std::ostream* os) {
  *os << StopReasonName(report.reason) << " after " << report.attempts
      << (report.attempts == 1 ? " poll in " : " polls in ") << report.elapsed;
  // Abseil of 2026 would add the source location of the status.
  if (!report.status.ok()) {
    *os << ", "
        << report.status.ToString(absl::StatusToStringMode::kWithNoExtraData);
  }
}

namespace internal {

std::string FailureMessage(const WaitReport& report) {
  const Poll<>& last = report.last_poll;
  if (report.attempts > 0 && last.status() == PollStatus::kFailed &&
      !last.detail().empty()) {
    return std::string(last.detail());
  }
  return std::string(report.status.message());
}

}  // namespace internal
}  // namespace waiter
