// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Quantiles of measured values:
//
//   std::sort(delays.begin(), delays.end());
//   absl::Duration p95 = waiter::sim::Quantile(delays, 0.95);

#ifndef WAITER_CLI_SIM_QUANTILE_H_
#define WAITER_CLI_SIM_QUANTILE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace waiter::sim {

// Returns the least value that a share `quantile` of `sorted` does not exceed.
// Requires that `sorted` is in ascending order and not empty.
template <typename T>
const T& Quantile(const std::vector<T>& sorted, double quantile) {
  const auto size = static_cast<double>(sorted.size());
  return sorted[static_cast<size_t>(
      std::clamp(std::ceil(quantile * size) - 1, 0.0, size - 1))];
}

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_QUANTILE_H_
