// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/result.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

constexpr std::array kReasons = {
    StopReason::kSuccess,     StopReason::kFailed,
    StopReason::kDeadline,    StopReason::kCancelled,
    StopReason::kAttempts,    StopReason::kConsecutiveLimit,
    StopReason::kDelaySource, StopReason::kQuota,
    StopReason::kShutDown,    StopReason::kInvalidOptions};
constexpr std::array kStatuses = {
    PollStatus::kSuccess, PollStatus::kNotReady, PollStatus::kThrottled,
    PollStatus::kServerError, PollStatus::kFailed};

// Type of the payload of `WithLimit`; the value is the name of the reason.
constexpr absl::string_view kLimitUrl = "waiter.StopReason";

}  // namespace

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
    case StopReason::kDelaySource:
      return "delay source";
    case StopReason::kQuota:
      return "quota";
    case StopReason::kShutDown:
      return "shut down";
    case StopReason::kInvalidOptions:
      return "invalid options";
  }
  return "unknown reason";
}

std::optional<StopReason> LimitOf(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return std::nullopt;
  // An optional of Abseil or of the standard, as Abseil was built.
  const auto name = status.GetPayload(kLimitUrl);
  if (!name.has_value()) return std::nullopt;
  for (const StopReason reason : kReasons) {
    if (*name == internal::ToAbsl(StopReasonName(reason))) return reason;
  }
  return std::nullopt;
}

std::string Summary(const WaitReport& report) {
  std::string text =
      absl::StrCat(internal::ToAbsl(StopReasonName(report.reason)),
                   report.late ? " (late)" : "", " after ", report.attempts,
                   report.attempts == 1 ? " attempt" : " attempts");
  absl::string_view separator = " (";
  for (const PollStatus status : kStatuses) {
    if (const int64_t count = report.count(status); count > 0) {
      absl::StrAppend(&text, separator, count, " ",
                      internal::ToAbsl(PollStatusName(status)));
      separator = ", ";
    }
  }
  absl::StrAppend(&text, separator == ", " ? ")" : "", " in ",
                  absl::FormatDuration(report.elapsed), ", slept ",
                  absl::FormatDuration(report.slept), ", longest poll ",
                  absl::FormatDuration(report.longest_poll));
  if (!report.status.ok()) {
    absl::StrAppend(&text, ": ", absl::StatusCodeToString(report.status.code()),
                    ": ", report.status.message());
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, StopReason reason) {
  return out << StopReasonName(reason);
}

std::ostream& operator<<(std::ostream& out, const WaitReport& report) {
  return out << Summary(report);
}

namespace internal {

absl::Status WithLimit(absl::Status status, StopReason limit) {
  status.SetPayload(kLimitUrl,
                    absl::Cord(internal::ToAbsl(StopReasonName(limit))));
  return status;
}

}  // namespace internal
}  // namespace waiter

namespace waiter::internal {

void DieWithoutValue(const WaitReport& report) {
  std::cerr << "waiter: read the value of a wait that did not succeed; check "
               "ok() first. The wait's status is "
            << report.status << std::endl;
  std::abort();
}

}  // namespace waiter::internal
