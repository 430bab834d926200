// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/budget_member.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/text.h"

namespace waiter::internal {
namespace {

constexpr size_t kLongestName = 64;

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '-';
}

}  // namespace

BudgetMember NewMember(std::string_view name) {
  absl::BitGen gen;
  std::string id =
      absl::StrCat(absl::Hex(absl::Uniform<uint64_t>(gen), absl::kZeroPad16),
                   absl::Hex(absl::Uniform<uint64_t>(gen), absl::kZeroPad16));
  return {.budget = std::string(name), .id = std::move(id)};
}

absl::Status CheckName(std::string_view name, std::string_view field) {
  if (!name.empty() && name.size() <= kLongestName &&
      std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return InvalidOption(field,
                       absl::StrCat("\"", absl::CEscape(ToAbsl(name)), "\""),
                       "1 to 64 of the characters A-Z, a-z, 0-9, _, . and -");
}

}  // namespace waiter::internal
