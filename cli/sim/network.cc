// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/network.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace waiter::sim {

absl::Status Validate(const NetworkOptions& options) {
  const auto check = [](const char* name, absl::Duration value) {
    if (value >= absl::ZeroDuration() && value <= absl::Hours(1)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("network.", name, " is ", absl::FormatDuration(value),
                     "; it must be between 0 and 1h"));
  };
  absl::Status status = check("mean", options.mean);
  if (status.ok()) status = check("deviation", options.deviation);
  return status;
}

bool TokenBucket::Take(std::chrono::nanoseconds now) {
  if (!std::isfinite(rate_)) return true;
  const double seconds = std::chrono::duration<double>(now - last_).count();
  tokens_ = std::min(capacity_, tokens_ + rate_ * seconds);
  last_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void PollCounts::Add(bool is_throttled) {
  ++polls;
  if (is_throttled) ++throttled;
}

double PollCounts::throttled_share() const {
  return polls == 0
             ? 0
             : static_cast<double>(throttled) / static_cast<double>(polls);
}

int64_t PeakPolls(absl::Span<const PollCounts> seconds, size_t first) {
  int64_t peak = 0;
  for (size_t i = first; i < seconds.size(); ++i) {
    peak = std::max(peak, seconds[i].polls);
  }
  return peak;
}

}  // namespace waiter::sim
