// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/duration_text.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace waiter::cli {
namespace {

bool IsPlainNumber(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text,
                                                 bool may_be_infinite) {
  absl::Duration value;
  if (!absl::ParseDuration(IsPlainNumber(text) ? absl::StrCat(text, "s") : text,
                           &value)) {
    return absl::InvalidArgumentError(
        "not a duration; write it as 300ms, 5s or 1m30s");
  }
  if (value < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a duration must be at least zero");
  }
  if (value == absl::InfiniteDuration() && !may_be_infinite) {
    return absl::InvalidArgumentError("it must be finite");
  }
  return value;
}

}  // namespace waiter::cli
