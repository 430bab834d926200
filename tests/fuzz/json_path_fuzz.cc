// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that any text for --json is either refused, with the position of the
// error, or applied to a document without harm. libFuzzer looks for a text that
// breaks this. The first line is the expression, and the rest is the document.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/probes/http/json_path.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"
#include "tests/support/check_that.h"

namespace {

void Check(std::string_view expression, std::string_view text) {
  const absl::StatusOr<waiter::cli::JsonPath> path =
      waiter::cli::JsonPath::Parse(expression);
  if (!path.ok()) {
    CHECK_THAT(absl::IsInvalidArgument(path.status()));
    CHECK_THAT(absl::StartsWith(path.status().message(), "at character "));
    return;
  }
  // Surrounding spaces change nothing.
  const absl::StatusOr<waiter::cli::JsonPath> spaced =
      waiter::cli::JsonPath::Parse(absl::StrCat(" ", expression, "\t"));
  CHECK_THAT(spaced.ok());

  const absl::StatusOr<nlohmann::json> document = waiter::cli::ParseJson(text);
  if (!document.ok()) return;
  CHECK_THAT(path->Holds(*document) == spaced->Holds(*document));
  CHECK_THAT(path->Found(*document) == spaced->Found(*document));
  CHECK_THAT(path->Found(*document).size() <= expression.size() + 400);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  Check(parts.first, parts.second);
  return 0;
}
