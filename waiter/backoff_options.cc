// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/internal/string_views.h"

namespace waiter {
namespace {

absl::Status Invalid(absl::string_view name, absl::string_view field,
                     const absl::AlphaNum& value, absl::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ".", field, " is ", value, "; it must be ", range));
}

bool IsShare(double share) { return share >= 0 && share <= 1; }

}  // namespace

absl::Duration MinDelay(const BackoffOptions& options) {
  return options.min_delay.has_value()
             ? *options.min_delay
             : std::min<absl::Duration>(options.initial_delay,
                                        absl::Milliseconds(10));
}

absl::Status Validate(const BackoffOptions& options, std::string_view name) {
  // Each condition is written so that NaN fails it.
  if (!(options.initial_delay >= absl::ZeroDuration() &&
        options.initial_delay < absl::InfiniteDuration())) {
    return Invalid(internal::ToAbsl(name), "initial_delay",
                   absl::FormatDuration(options.initial_delay),
                   "finite, and zero or more");
  }
  if (options.max_delay < options.initial_delay) {
    return Invalid(internal::ToAbsl(name), "max_delay",
                   absl::FormatDuration(options.max_delay),
                   absl::StrCat("at least initial_delay, ",
                                absl::FormatDuration(options.initial_delay)));
  }
  if (!(options.multiplier >= 1 && std::isfinite(options.multiplier))) {
    return Invalid(internal::ToAbsl(name), "multiplier", options.multiplier,
                   "finite, and at least 1");
  }
  if (!IsShare(options.jitter.below())) {
    return Invalid(internal::ToAbsl(name), "jitter", options.jitter.below(),
                   "within [0, 1], as 1 minus the lower end");
  }
  if (!(options.jitter.above() >= -options.jitter.below() &&
        std::isfinite(options.jitter.above()))) {
    return Invalid(internal::ToAbsl(name), "jitter", 1 + options.jitter.above(),
                   "finite, and an upper end at least the lower one");
  }
  const absl::Duration min_delay = MinDelay(options);
  if (!(min_delay >= absl::ZeroDuration() && min_delay <= options.max_delay &&
        min_delay < absl::InfiniteDuration())) {
    return Invalid(internal::ToAbsl(name), "min_delay",
                   absl::FormatDuration(min_delay),
                   absl::StrCat("finite, and between zero and max_delay, ",
                                absl::FormatDuration(options.max_delay)));
  }
  return absl::OkStatus();
}

}  // namespace waiter
