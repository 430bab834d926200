// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks rules that hold for every --map and every output of a probe. libFuzzer
// looks for a text that breaks one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/code_map.h"
#include "cli/probes/probe.h"
#include "cli/probes/probe_answer.h"
#include "cli/process/process.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "nlohmann/json.hpp"
#include "tests/support/check_that.h"
#include "waiter/poll.h"

namespace {

void CheckMap(std::string_view text) {
  const absl::StatusOr<waiter::cli::CodeMap> map =
      waiter::cli::CodeMap::Parse(text);
  if (!map.ok()) {
    CHECK_THAT(absl::IsInvalidArgument(map.status()));
    CHECK_THAT(absl::StartsWith(map.status().message(), "\""));
    return;
  }
  const waiter::cli::CodeMap usual;
  for (int code = 0; code < 256; ++code) {
    CHECK_THAT(map->OfExitCode(code) <= waiter::PollStatus::kFailed);
    // A code can be named only once. A code that is not named keeps its usual
    // meaning.
    const bool taken =
        !waiter::cli::CodeMap::Parse(absl::StrCat(text, ",", code, "=error"))
             .ok();
    CHECK_THAT(taken || absl::StrContains(text, "*") ||
               absl::StartsWith(text, "@") ||
               map->OfExitCode(code) == usual.OfExitCode(code));
  }
}

void CheckAnswer(std::string_view text) {
  const std::string_view line = waiter::cli::LastLine(text);
  CHECK_THAT(line.find_first_of("\r\n") == std::string_view::npos);
  CHECK_THAT(waiter::cli::Shortened(line, 9).size() <= 12);
  const std::optional<waiter::cli::Finding> found =
      waiter::cli::ParseProbeAnswer(line);
  const absl::StatusOr<nlohmann::json> json = waiter::cli::ParseJson(line);
  if (json.ok()) {
    CHECK_THAT(found.has_value() == json->contains("waiter"));
  }
  if (!found.has_value()) return;
  CHECK_THAT(json.ok() || found->status == waiter::PollStatus::kServerError);
  CHECK_THAT(found->absent == (found->status == waiter::PollStatus::kNotReady));
  CHECK_THAT(found->retry_after >= absl::ZeroDuration());
  CHECK_THAT(found->retry_after < absl::InfiniteDuration());
  CHECK_THAT(!found->progress.has_value() ||
             (*found->progress >= 0 && *found->progress <= 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  CheckMap(text);
  CheckAnswer(text);
  return 0;
}
