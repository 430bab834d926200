// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When a server wants the next poll, by the header fields of its response, as
// the SDKs give them, and with the forms that servers write in practice.

#ifndef WAITER_INTEROP_INTERNAL_HINT_OF_FIELDS_H_
#define WAITER_INTEROP_INTERNAL_HINT_OF_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {

// Longest delay that a server can mean. Longer ones, and times that are further
// away, are ignored.
inline constexpr absl::Duration kMaxPlausibleDelay = absl::Hours(7 * 24);

// Unit of a number that is not a time.
enum class HintUnit : uint8_t { kSeconds, kMilliseconds };

// Reads a delay or a time. It may be a number of `unit`, with or without a
// fraction, or a date of HTTP. A number from 10^9 seconds, or from 10^11
// milliseconds, is a Unix time. Times are relative to `now`, the clock of the
// server, and past ones give zero. Returns no value for anything else, or if
// the delay is longer than `kMaxPlausibleDelay`.
RetryAfter ReadHint(std::string_view value, HintUnit unit, absl::Time now);

// Returns the unit of a field that asks for a delay: `Retry-After`, or a field
// of `ParseRetryAfterMs`. Returns nothing for every other field.
std::optional<HintUnit> UnitOfHint(std::string_view field_name);

// Reads a date of HTTP from ten years before `now` on.
std::optional<absl::Time> ReadHttpDate(std::string_view value, absl::Time now);

// Returns the clock of the server: the time in the field `Date`, or `now`.
template <typename Fields>
absl::Time ServerTime(const Fields& fields, absl::Time now) {
  for (const auto& [name, value] : fields) {
    if (!absl::EqualsIgnoreCase(ToAbsl(name), "date")) continue;
    return ReadHttpDate(value, now).value_or(now);
  }
  return now;
}

// Returns the first valid hint in milliseconds, otherwise the first valid
// `Retry-After`. `fields` is a range of pairs of a name and a value.
template <typename Fields>
RetryAfter HintOfFields(const Fields& fields, absl::Time now) {
  const absl::Time server_time = ServerTime(fields, now);
  RetryAfter in_seconds;
  for (const auto& [name, value] : fields) {
    const std::optional<HintUnit> unit = UnitOfHint(name);
    if (!unit.has_value()) continue;
    const RetryAfter hint = ReadHint(value, *unit, server_time);
    if (!hint.has_value()) continue;
    if (*unit == HintUnit::kMilliseconds) return hint;
    if (!in_seconds.has_value()) in_seconds = hint;
  }
  return in_seconds;
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_HINT_OF_FIELDS_H_
