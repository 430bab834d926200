// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durations as lines of text: seconds, seconds or "-", the operation with
// escapes as in C, and a point, with tabs between. A line that was cut is
// recognized, because only a whole one ends with the point.
//
//   50<tab>60<tab>create instance<tab>.

#ifndef WAITER_LEARNED_DURATION_TEXT_H_
#define WAITER_LEARNED_DURATION_TEXT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/internal/duration_ring.h"

namespace waiter::internal {

// The first line of all texts, with its end.
inline constexpr absl::string_view kDurationsHeader = "waiter durations 1\n";

DurationBounds ToBounds(const ObservedDuration& duration);
ObservedDuration ToDuration(const DurationBounds& bounds);

struct DurationLine {
  std::string operation;
  DurationBounds bounds;
};

// Returns the line of one duration, with its end.
std::string FormatDurationLine(absl::string_view operation,
                               const DurationBounds& bounds);

// Returns nullopt for a line that `FormatDurationLine` does not return.
std::optional<DurationLine> ParseDurationLine(absl::string_view line);

// Returns whether a text that begins with `header` has durations that this
// version reads: OK, kInvalidArgument or kFailedPrecondition.
absl::Status CheckDurationsHeader(absl::string_view header);

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_DURATION_TEXT_H_
