// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/membership.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "waiter/crc32c.h"

namespace waiter::internal {

void Membership::AddPartition(const std::string& name, int index) {
  partitions_.push_back({absl::StrCat("/", name, "/", index)});
}

std::vector<size_t> Membership::OnWorkers(
    const std::vector<std::string>& workers) {
  std::vector<size_t> improved;
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const auto hash = [&suffix =
                           partitions_[i].suffix](const std::string& worker) {
      return Crc32c(absl::StrCat(worker, suffix));
    };
    const int64_t rank = std::count_if(
        workers.begin(), workers.end(),
        [&hash, own = hash(id_)](const auto& w) { return hash(w) > own; });
    if (rank < std::exchange(partitions_[i].rank, rank)) improved.push_back(i);
  }
  return improved;
}

}  // namespace waiter::internal
