// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/text.h"

namespace waiter {
namespace {

using internal::InvalidOption;

// A duration that must not be negative.
struct Span {
  std::string_view name;
  absl::Duration value;
  bool may_be_infinite;
};

bool IsNotNegative(absl::Duration value, bool may_be_infinite) {
  return value >= absl::ZeroDuration() &&
         (may_be_infinite || value < absl::InfiniteDuration());
}

absl::Status Negative(std::string_view field, absl::Duration value,
                      bool may_be_infinite) {
  return InvalidOption(
      field, absl::FormatDuration(value),
      may_be_infinite ? "zero or more" : "finite, and zero or more");
}

absl::Status CheckAtLeastOne(std::string_view field,
                             std::optional<int64_t> value) {
  if (value.value_or(1) >= 1) return absl::OkStatus();
  return InvalidOption(field, *value, "at least 1, or unset for no limit");
}

absl::Status CheckNumbers(const WaitOptions& options) {
  if (options.confirm.successes < 1) {
    return InvalidOption("confirm.successes", options.confirm.successes,
                         "at least 1");
  }
  if (options.hooks.history_limit < 0) {
    return InvalidOption("hooks.history_limit", options.hooks.history_limit,
                         "zero or more");
  }
  absl::Status status = CheckAtLeastOne("max_attempts", options.max_attempts);
  if (!status.ok()) return status;
  return CheckAtLeastOne("errors.max_consecutive_server_errors",
                         options.errors.max_consecutive_server_errors);
}

absl::Status CheckBackoffs(const WaitOptions& options) {
  absl::Status status = Validate(options.backoff, "backoff");
  if (!status.ok()) return status;
  status = Validate(options.errors.server_error_backoff,
                    "errors.server_error_backoff");
  if (!status.ok()) return status;
  return Validate(options.errors.throttled_backoff, "errors.throttled_backoff");
}

absl::Status CheckDurations(const WaitOptions& options) {
  const absl::Duration max_retry_after =
      options.errors.retry_after.max_retry_after;
  if (!(max_retry_after > absl::ZeroDuration() &&
        max_retry_after < absl::InfiniteDuration())) {
    return InvalidOption("errors.retry_after.max_retry_after",
                         absl::FormatDuration(max_retry_after),
                         "finite, and above zero");
  }
  const auto spans = std::to_array<Span>({
      {"errors.retry_after.overshoot", options.errors.retry_after.overshoot,
       false},
      {"polls.first_delay", options.polls.first_delay, false},
      {"confirm.hold_for", options.confirm.hold_for, false},
      {"polls.last_lead", options.polls.last_lead, false},
      {"poll_timeout", options.poll_timeout, true},
      {"polls.last_timeout", options.polls.last_timeout, false},
      {"hooks.failure_timeout", options.hooks.failure_timeout, true},
  });
  for (const Span& span : spans) {
    if (!IsNotNegative(span.value, span.may_be_infinite)) {
      return Negative(span.name, span.value, span.may_be_infinite);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const WaitOptions& options) {
  if (!options.timeout.has_value() && !options.deadline.has_value()) {
    return absl::InvalidArgumentError(
        "timeout is not set; give the time that the whole wait may take, or "
        "absl::InfiniteDuration() to wait forever");
  }
  absl::Status status = CheckNumbers(options);
  if (!status.ok()) return status;
  status = CheckBackoffs(options);
  if (!status.ok()) return status;
  return CheckDurations(options);
}

}  // namespace waiter
