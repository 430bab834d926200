// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/hint_of_fields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

// 2001 in seconds, and 1973 in milliseconds. No delay is this long.
constexpr double kFirstUnixSeconds = 1e9;
constexpr double kFirstUnixMillis = 1e11;
constexpr double kLastUnixMillis = 1e14;

// Parses digits with at most one point between them.
std::optional<double> ReadNumber(std::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() &&
           std::all_of(digits.begin(), digits.end(), [](char c) {
             return absl::ascii_isdigit(static_cast<unsigned char>(c));
           });
  };
  double number = 0;
  if (!is_number(text.substr(0, point)) ||
      (point < text.size() && !is_number(text.substr(point + 1))) ||
      !absl::SimpleAtod(ToAbsl(text), &number)) {
    return std::nullopt;
  }
  return number;
}

absl::Duration DelayOf(double number, HintUnit unit, absl::Time now) {
  if (number >= kLastUnixMillis) return absl::InfiniteDuration();
  if (number >= kFirstUnixMillis) {
    return absl::UnixEpoch() + absl::Milliseconds(number) - now;
  }
  if (unit == HintUnit::kMilliseconds) return absl::Milliseconds(number);
  if (number >= kFirstUnixSeconds) {
    return absl::UnixEpoch() + absl::Seconds(number) - now;
  }
  return absl::Seconds(number);
}

}  // namespace

RetryAfter ReadHint(std::string_view value, HintUnit unit, absl::Time now) {
  value = ToStd(absl::StripAsciiWhitespace(ToAbsl(value)));
  const std::optional<double> number = ReadNumber(value);
  RetryAfter hint;
  if (number.has_value()) {
    hint =
        RetryAfter(std::max(DelayOf(*number, unit, now), absl::ZeroDuration()));
  } else if (unit == HintUnit::kSeconds) {
    hint = ParseRetryAfter(value, now);
  }
  return absl::Duration(Duration(hint)) <= kMaxPlausibleDelay ? hint
                                                              : RetryAfter();
}

std::optional<absl::Time> ReadHttpDate(std::string_view value, absl::Time now) {
  // A date is read as a `Retry-After`, whose delay counts from `base`.
  const absl::Time base = now - absl::Hours(24 * 3653);
  const absl::Duration since = Duration(ParseRetryAfter(value, base));
  const bool is_date = value.find(':') != std::string_view::npos &&
                       value.find(',', 10) == std::string_view::npos;
  if (!is_date || since <= absl::ZeroDuration()) return std::nullopt;
  return base + since;
}

std::optional<HintUnit> UnitOfHint(std::string_view field_name) {
  const absl::string_view name = ToAbsl(field_name);
  if (absl::EqualsIgnoreCase(name, "retry-after")) return HintUnit::kSeconds;
  static constexpr std::array<std::string_view, 4> kMilliseconds = {
      "retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after",
      "openai-poll-after-ms"};
  if (std::any_of(kMilliseconds.begin(), kMilliseconds.end(),
                  [&](std::string_view known) {
                    return absl::EqualsIgnoreCase(name, ToAbsl(known));
                  })) {
    return HintUnit::kMilliseconds;
  }
  return std::nullopt;
}

}  // namespace waiter::internal
