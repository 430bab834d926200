// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/learned_name.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/text/percent.h"

namespace waiter::cli {

absl::StatusOr<LearnedName> ParseLearnedName(std::string_view text) {
  const size_t colon = text.find(':');
  LearnedName name = {.path = PercentDecoded(text.substr(0, colon))};
  if (colon != std::string_view::npos) {
    name.operation = std::string(text.substr(colon + 1));
  }
  if (name.path.empty()) {
    return absl::InvalidArgumentError(
        "it must begin with the name of a file, such as durations:build");
  }
  if (name.path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("it must not contain a zero byte");
  }
  return name;
}

std::string FormatLearnedName(const LearnedName& name) {
  const std::string path =
      absl::StrReplaceAll(name.path, {{"%", "%25"}, {":", "%3A"}});
  return name.operation.empty() ? path
                                : absl::StrCat(path, ":", name.operation);
}

}  // namespace waiter::cli
