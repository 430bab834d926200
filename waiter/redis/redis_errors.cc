// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/redis_errors.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

struct Meaning {
  std::string_view word;
  absl::StatusCode code;
};

constexpr auto kMeanings = std::to_array<Meaning>({
    {"LOADING", absl::StatusCode::kAborted},
    {"BUSY", absl::StatusCode::kAborted},
    {"READONLY", absl::StatusCode::kAborted},
    {"MASTERDOWN", absl::StatusCode::kAborted},
    {"CLUSTERDOWN", absl::StatusCode::kAborted},
    {"TRYAGAIN", absl::StatusCode::kAborted},
    {"NOREPLICAS", absl::StatusCode::kAborted},
    {"OOM", absl::StatusCode::kResourceExhausted},
    {"FULL", absl::StatusCode::kResourceExhausted},
    {"NOAUTH", absl::StatusCode::kUnauthenticated},
    {"WRONGPASS", absl::StatusCode::kUnauthenticated},
    {"NOPERM", absl::StatusCode::kPermissionDenied},
    {"WRONGTYPE", absl::StatusCode::kFailedPrecondition},
    {"EVICTS", absl::StatusCode::kFailedPrecondition},
    {"MOVED", absl::StatusCode::kFailedPrecondition},
    {"ASK", absl::StatusCode::kFailedPrecondition},
    {"CROSSSLOT", absl::StatusCode::kFailedPrecondition},
});

std::string_view FirstWord(std::string_view error) {
  return error.substr(0, error.find(' '));
}

}  // namespace

bool IsUnknownScript(std::string_view error) {
  return FirstWord(error) == "NOSCRIPT";
}

absl::Status StatusOfError(std::string_view error, std::string_view address) {
  const auto* const found =
      std::find_if(kMeanings.begin(), kMeanings.end(),
                   [word = FirstWord(error)](const Meaning& meaning) {
                     return meaning.word == word;
                   });
  return {found == kMeanings.end() ? absl::StatusCode::kInternal : found->code,
          absl::StrCat("Redis at ", ToAbsl(address), ": ", ToAbsl(error))};
}

}  // namespace waiter::internal
