// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/closest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {
namespace {

constexpr size_t kMostEdits = 2;

// Returns the Levenshtein distance, in which an exchange of two neighbors
// counts as one edit. A row has the distances of the prefixes of `to` from a
// prefix of `from`: `row` from the current one, `last` and `before` from the
// two shorter ones.
size_t Distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  std::vector<size_t> last = row;
  for (size_t i = 0; i < from.size(); ++i) {
    const std::vector<size_t> before = std::exchange(last, row);
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      row[j + 1] = std::min(
          {last[j] + (from[i] == to[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j]) {
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
      }
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
