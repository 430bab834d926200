// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/poll.h"

#include <ostream>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"

namespace waiter {

Poll<void>::Poll(PollStatus status, absl::Status error, Duration retry_after)
    : error_(std::move(error)), delay_(retry_after), status_(status) {
  if (status_ != PollStatus::kSuccess && error_.ok()) {
    error_ = absl::InternalError(absl::StrCat(
        "a poll answered ", internal::ToAbsl(PollStatusName(status_)),
        ", but its error is OK; pass an error that is not OK, or no error"));
    status_ = PollStatus::kFailed;
  }
}

Poll<void>::Poll(PollStatus status, std::string_view detail,
                 Duration retry_after)
    : detail_(detail), delay_(retry_after), status_(status) {}

std::string_view Poll<void>::detail() const {
  return detail_.empty() ? internal::ToStd(error_.message()) : detail_;
}

Poll<> NotReady(std::string_view detail, Duration retry_after) {
  return {PollStatus::kNotReady, detail, retry_after};
}

Poll<> NotReady(absl::Status error, Duration retry_after) {
  return {PollStatus::kNotReady, std::move(error), retry_after};
}

Poll<> Poll<void>::WithNextDelay(Duration delay) && {
  const absl::Duration given = delay;
  if (status_ == PollStatus::kNotReady && given >= absl::ZeroDuration() &&
      given < absl::InfiniteDuration()) {
    delay_ = given;
    sets_delay_ = true;
  }
  return std::move(*this);
}

Poll<> TryAgainAfter(Duration delay, std::string_view detail) {
  return NotReady(detail).WithNextDelay(delay);
}

Poll<> Throttled(std::string_view detail, Duration retry_after) {
  return {PollStatus::kThrottled, detail, retry_after};
}

Poll<> Throttled(absl::Status error, Duration retry_after) {
  return {PollStatus::kThrottled, std::move(error), retry_after};
}

Poll<> ServerError(std::string_view detail, Duration retry_after) {
  return {PollStatus::kServerError, detail, retry_after};
}

Poll<> ServerError(absl::Status error, Duration retry_after) {
  return {PollStatus::kServerError, std::move(error), retry_after};
}

Poll<> Failed(absl::Status error) {
  return {PollStatus::kFailed, std::move(error)};
}

Poll<> Failed(std::string_view detail) { return {PollStatus::kFailed, detail}; }

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
