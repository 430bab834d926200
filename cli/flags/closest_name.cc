// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/closest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {
namespace {

constexpr size_t kMostEdits = 2;

// Returns the Levenshtein distance. `row` has the distances of the prefixes of
// `to` from the characters of `from` so far.
size_t Distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (const char c : from) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (c == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string ClosestName(std::string_view written,
                        absl::Span<const std::string> names) {
  std::string closest;
  size_t least = std::min(kMostEdits, written.size() / 2) + 1;
  for (const std::string& name : names) {
    const size_t distance = Distance(written, name);
    if (distance >= least) continue;
    least = distance;
    closest = name;
  }
  return closest;
}

}  // namespace waiter::cli
