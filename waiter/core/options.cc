// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/options.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/backoff_options.h"

namespace waiter {
namespace {

absl::Status Invalid(std::string_view field, const absl::AlphaNum& value,
                     std::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; it must be ", range));
}

absl::Status CheckAtLeastOne(std::string_view field,
                             std::optional<int64_t> value) {
  if (value.value_or(1) >= 1) return absl::OkStatus();
  return Invalid(field, *value, "at least 1, or unset for no limit");
}

absl::Status CheckNotNegative(std::string_view field, absl::Duration value,
                              bool may_be_infinite) {
  if (value >= absl::ZeroDuration() &&
      (may_be_infinite || value < absl::InfiniteDuration())) {
    return absl::OkStatus();
  }
  return Invalid(field, absl::FormatDuration(value),
                 may_be_infinite ? "zero or more" : "finite, and zero or more");
}

}  // namespace

absl::Status Validate(const WaitOptions& options) {
  if (!options.timeout.has_value() && !options.deadline.has_value()) {
    return absl::InvalidArgumentError(
        "timeout is not set; give the time that the whole wait may take, or "
        "absl::InfiniteDuration() to wait for ever");
  }
  if (options.successes_required < 1) {
    return Invalid("successes_required", options.successes_required,
                   "at least 1");
  }
  if (options.history_limit < 0) {
    return Invalid("history_limit", options.history_limit, "zero or more");
  }
  if (!(options.retry_after.max_retry_after > absl::ZeroDuration() &&
        options.retry_after.max_retry_after < absl::InfiniteDuration())) {
    return Invalid("retry_after.max_retry_after",
                   absl::FormatDuration(options.retry_after.max_retry_after),
                   "finite, and above zero");
  }
  for (const absl::Status& status : {
           CheckAtLeastOne("max_attempts", options.max_attempts),
           CheckAtLeastOne("max_consecutive_server_errors",
                           options.max_consecutive_server_errors),
           CheckAtLeastOne("max_consecutive_throttles",
                           options.max_consecutive_throttles),
           CheckNotNegative("max_server_error_time",
                            options.max_server_error_time, true),
           Validate(options.backoff, "backoff"),
           Validate(options.server_error, "server_error"),
           Validate(options.throttled, "throttled"),
           CheckNotNegative("retry_after.overshoot",
                            options.retry_after.overshoot, false),
           CheckNotNegative("first_poll_delay", options.first_poll_delay,
                            false),
           CheckNotNegative("hold_for", options.hold_for, false),
           CheckNotNegative("final_poll_lead", options.final_poll_lead, false),
           CheckNotNegative("poll_timeout", options.poll_timeout, true),
       }) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace waiter
