// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/duration_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/internal/duration_ring.h"

namespace waiter::internal {
namespace {

constexpr absl::string_view kNoEnd = "-";

std::optional<float> ParseSeconds(absl::string_view text) {
  float seconds = 0;
  if (!absl::SimpleAtof(text, &seconds) || !std::isfinite(seconds) ||
      seconds < 0) {
    return std::nullopt;
  }
  return seconds;
}

float ToSeconds(absl::Duration duration) {
  return static_cast<float>(absl::ToDoubleSeconds(
      std::clamp(duration, absl::Nanoseconds(1), absl::Hours(24 * 365'000))));
}

}  // namespace

DurationBounds ToBounds(const ObservedDuration& duration) {
  DurationBounds bounds = {.after = ToSeconds(duration.after)};
  if (duration.by < absl::InfiniteDuration()) {
    bounds.by = std::max(ToSeconds(duration.by), bounds.after);
  }
  return bounds;
}

ObservedDuration ToDuration(const DurationBounds& bounds) {
  // A float that is infinite becomes an infinite duration.
  return {.after = absl::Seconds(static_cast<double>(bounds.after)),
          .by = absl::Seconds(static_cast<double>(bounds.by))};
}

std::string FormatDurationLine(absl::string_view operation,
                               const DurationBounds& bounds) {
  // Nine digits give back every float.
  return absl::StrCat(
      absl::StrFormat("%.9g\t", bounds.after),
      bounds.has_end() ? absl::StrFormat("%.9g", bounds.by) : kNoEnd, "\t",
      absl::CEscape(operation), "\t.\n");
}

std::optional<DurationLine> ParseDurationLine(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  if (fields.size() != 4 || fields[3] != ".") return std::nullopt;
  const std::optional<float> after = ParseSeconds(fields[0]);
  std::optional<float> by = std::numeric_limits<float>::infinity();
  if (fields[1] != kNoEnd) by = ParseSeconds(fields[1]);
  DurationLine parsed;
  if (!after.has_value() || !by.has_value() || *by < *after || *by <= 0 ||
      !absl::CUnescape(fields[2], &parsed.operation)) {
    return std::nullopt;
  }
  parsed.bounds = {.after = *after, .by = *by};
  return parsed;
}

absl::Status CheckDurationsHeader(absl::string_view header) {
  if (absl::StartsWith(header, kDurationsHeader)) return absl::OkStatus();
  absl::string_view rest = header;
  int64_t version = 0;
  if (absl::ConsumePrefix(&rest, "waiter durations ") &&
      absl::SimpleAtoi(rest.substr(0, rest.find('\n')), &version) &&
      version > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("has durations of version ", version,
                     "; this program reads version 1, so use a newer one"));
  }
  return absl::InvalidArgumentError(
      "is not a list of durations: its first line is not \"waiter durations "
      "1\"");
}

}  // namespace waiter::internal
