// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks rules that every parsed log keeps. libFuzzer looks for a text that
// breaks one.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "json/json.h"

namespace {

#define CHECK_THAT(rule)                                                \
  do {                                                                  \
    if (!(rule)) {                                                      \
      std::fprintf(stderr, "line %d, not kept: " #rule "\n", __LINE__); \
      std::abort();                                                     \
    }                                                                   \
  } while (false)

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

// Any parsed text can be quoted, and any quoted text parsed.
void CheckJson(std::string_view text) {
  const absl::StatusOr<waiter::JsonValue> quoted =
      waiter::ParseJson(waiter::QuoteJson(text));
  CHECK_THAT(quoted.ok() && quoted->string() != nullptr);
  const std::string once = *quoted->string();
  CHECK_THAT(*waiter::ParseJson(waiter::QuoteJson(once))->string() == once);

  const absl::StatusOr<waiter::JsonValue> value = waiter::ParseJson(text);
  if (!value.ok()) return;
  if (const double* const number = value->number()) {
    CHECK_THAT(*waiter::ParseJson(waiter::JsonNumber(*number))->number() ==
               *number);
  }
  CHECK_THAT(waiter::ParseJson(absl::StrCat(" [", text, "]\n")).ok() ||
             absl::StartsWith(text, "["));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  CheckLog(text);
  CheckJson(text);
  return 0;
}
