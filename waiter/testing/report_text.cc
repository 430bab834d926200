// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/internal/report_text.h"

#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

std::string ReportText(const WaitReport& report) {
  std::ostringstream out;
  out << StopReasonName(report.reason) << " after " << report.attempts
      << (report.attempts == 1 ? " poll in " : " polls in ") << report.elapsed;
  // Abseil of 2026 would add the source location of the status.
  if (!report.status.ok()) {
    out << ", "
        << report.status.ToString(absl::StatusToStringMode::kWithNoExtraData);
  }
  return std::move(out).str();
}

std::string FailureMessage(const WaitReport& report) {
  const Poll<>& last = report.last_poll;
  if (report.attempts > 0 && last.status() == PollStatus::kFailed &&
      !last.detail().empty()) {
    return std::string(last.detail());
  }
  return std::string(report.status.message());
}

}  // namespace waiter::internal
