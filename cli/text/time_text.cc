// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/time_text.h"

#include <string>

#include "absl/time/time.h"

namespace waiter::cli {

std::string TimeText(absl::Duration duration) {
  const absl::Duration size = absl::AbsDuration(duration);
  absl::Duration unit = absl::Seconds(1);
  if (size < absl::Microseconds(100)) {
    unit = absl::Nanoseconds(1);
  } else if (size < absl::Milliseconds(10)) {
    unit = absl::Microseconds(10);
  } else if (size < absl::Seconds(1)) {
    unit = absl::Milliseconds(1);
  } else if (size < absl::Seconds(10)) {
    unit = absl::Milliseconds(10);
  } else if (size < absl::Minutes(1)) {
    unit = absl::Milliseconds(100);
  }
  return absl::FormatDuration(absl::Floor(duration + unit / 2, unit));
}

std::string IsoTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace waiter::cli
