// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks rules that hold for every parsed log. libFuzzer looks for a text that
// breaks one.

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
#include "cli/output/run_log.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"
#include "tests/support/check_that.h"

namespace {

void CheckLog(std::string_view text) {
  const absl::StatusOr<waiter::cli::RunLog> log =
      waiter::cli::ParseRunLog(text, "log");
  if (!log.ok()) {
    CHECK_THAT(absl::IsInvalidArgument(log.status()));
    CHECK_THAT(absl::StartsWith(log.status().message(), "log:"));
    return;
  }
  for (const waiter::cli::LoggedPoll& poll : log->polls) {
    CHECK_THAT(poll.attempt >= 1);
    CHECK_THAT(poll.elapsed >= absl::ZeroDuration());
    CHECK_THAT(poll.elapsed <= log->elapsed);
  }
  CHECK_THAT(log->elapsed < absl::InfiniteDuration());

  // The same log twice has twice the polls.
  const absl::StatusOr<waiter::cli::RunLog> twice =
      waiter::cli::ParseRunLog(absl::StrCat(text, "\n", text), "log");
  CHECK_THAT(twice.ok());
  CHECK_THAT(twice->polls.size() == 2 * log->polls.size());
}

// Any text can be quoted, and the quoted text can be parsed.
void CheckJson(std::string_view text) {
  const std::string quoted = waiter::cli::JsonText(std::string(text));
  const absl::StatusOr<nlohmann::json> once = waiter::cli::ParseJson(quoted);
  CHECK_THAT(once.ok() && once->is_string());
  CHECK_THAT(waiter::cli::JsonText(once->get<std::string>()) == quoted);

  const absl::StatusOr<nlohmann::json> value = waiter::cli::ParseJson(text);
  if (!value.ok()) {
    CHECK_THAT(absl::StartsWith(value.status().message(), "at byte "));
    CHECK_THAT(value.status().message().size() < 200);
    return;
  }
  if (const std::optional<double> number = waiter::cli::NumberOf(*value)) {
    const std::string written =
        waiter::cli::JsonText(waiter::cli::JsonNumber(*number));
    CHECK_THAT(waiter::cli::NumberOf(*waiter::cli::ParseJson(written)) ==
               number);
  }
  // An array around it may exceed the nesting limit.
  const absl::StatusOr<nlohmann::json> nested =
      waiter::cli::ParseJson(absl::StrCat(" [", text, "]\n"));
  CHECK_THAT(nested.ok() || value->is_structured());
  CHECK_THAT(!nested.ok() || nested->at(0) == *value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  CheckLog(text);
  CheckJson(text);
  return 0;
}
