// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/duration_text.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace waiter::cli {

absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text,
                                                 bool may_be_infinite) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value)) {
    double number = 0;
    return absl::InvalidArgumentError(
        absl::SimpleAtod(text, &number)
            ? absl::StrCat("a duration needs a unit, as ", text, "s or ", text,
                           "ms")
            : "no duration; write it as 300ms, 5s or 1m30s");
  }
  if (value < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a duration is at least zero");
  }
  if (value == absl::InfiniteDuration() && !may_be_infinite) {
    return absl::InvalidArgumentError("it must be finite");
  }
  return value;
}

}  // namespace waiter::cli
