// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"

namespace waiter {
namespace {

absl::Status OutOfRange(absl::string_view field, const absl::AlphaNum& value,
                        absl::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; it must be ", range));
}

// A number that is unset or at least 1.
struct Limit {
  absl::string_view name;
  std::optional<int64_t> WaitOptions::*field;
};

constexpr auto kLimits = std::to_array<Limit>({
    {"max_attempts", &WaitOptions::max_attempts},
    {"max_consecutive_server_errors",
     &WaitOptions::max_consecutive_server_errors},
});

// A duration that is not negative.
struct Span {
  absl::string_view name;
  absl::Duration WaitOptions::*field;
  bool may_be_infinite;
};

constexpr auto kSpans = std::to_array<Span>({
    {"first_poll_delay", &WaitOptions::first_poll_delay, false},
    {"hold_for", &WaitOptions::hold_for, false},
    {"final_poll_lead", &WaitOptions::final_poll_lead, false},
    {"poll_timeout", &WaitOptions::poll_timeout, true},
    {"final_poll_timeout", &WaitOptions::final_poll_timeout, false},
    {"give_up_timeout", &WaitOptions::give_up_timeout, true},
});

struct Curve {
  std::string_view name;
  BackoffOptions WaitOptions::*field;
};

constexpr auto kCurves = std::to_array<Curve>({
    {"backoff", &WaitOptions::backoff},
    {"server_error", &WaitOptions::server_error},
    {"throttled", &WaitOptions::throttled},
});

bool IsNotNegative(absl::Duration value, bool may_be_infinite) {
  return value >= absl::ZeroDuration() &&
         (may_be_infinite || value < absl::InfiniteDuration());
}

absl::Status Negative(absl::string_view field, absl::Duration value,
                      bool may_be_infinite) {
  return OutOfRange(
      field, absl::FormatDuration(value),
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
    return OutOfRange("successes_required", options.successes_required,
                      "at least 1");
  }
  if (options.history_limit < 0) {
    return OutOfRange("history_limit", options.history_limit, "zero or more");
  }
  if (!(options.retry_after.max_retry_after > absl::ZeroDuration() &&
        options.retry_after.max_retry_after < absl::InfiniteDuration())) {
    return OutOfRange("retry_after.max_retry_after",
                      absl::FormatDuration(options.retry_after.max_retry_after),
                      "finite, and above zero");
  }
  if (!IsNotNegative(options.retry_after.overshoot, false)) {
    return Negative("retry_after.overshoot", options.retry_after.overshoot,
                    false);
  }
  for (const Limit& limit : kLimits) {
    const std::optional<int64_t>& value = options.*limit.field;
    if (value.value_or(1) < 1) {
      return OutOfRange(limit.name, *value,
                        "at least 1, or unset for no limit");
    }
  }
  for (const Curve& curve : kCurves) {
    absl::Status status = Validate(options.*curve.field, curve.name);
    if (!status.ok()) return status;
  }
  for (const Span& span : kSpans) {
    const absl::Duration value = options.*span.field;
    if (!IsNotNegative(value, span.may_be_infinite)) {
      return Negative(span.name, value, span.may_be_infinite);
    }
  }
  return absl::OkStatus();
}

}  // namespace waiter
