// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/observed_cells.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/learned/log_grid.h"

namespace waiter::internal {
namespace {

// An end with only an upper bound lies above this part of the bound.
constexpr float kLeastPart = 0.125F;
// A poll that came this little before an edge may have been after it: times are
// rounded.
constexpr float kCellRounding = 2e-6F;

double ProbabilityOf(const ObservedCells& cells,
                     absl::Span<const double> sums) {
  constexpr double kLeast = 1e-12;
  return std::max(sums[cells.last + 1] - sums[cells.first], kLeast);
}

}  // namespace

std::vector<ObservedCells> CellsOf(
    absl::Span<const DurationBounds> observations,
    absl::Span<const double> weights, const LogGrid& grid) {
  const auto clamped = [&grid](float time) {
    return static_cast<size_t>(
        std::clamp(grid.CellOf(time), 0, grid.size() - 1));
  };
  std::vector<ObservedCells> cells;
  cells.reserve(observations.size());
  for (size_t i = 0; i < observations.size(); ++i) {
    const DurationBounds& bounds = observations[i];
    const float low = bounds.has_end()
                          ? std::max(bounds.after, bounds.by * kLeastPart)
                          : bounds.after;
    const size_t first = clamped(low * (1 - kCellRounding));
    // An end at an edge lies in the cell before it.
    const size_t last =
        bounds.has_end()
            ? std::max(first, clamped(std::nextafter(bounds.by, 0.0F)))
            : static_cast<size_t>(grid.size());
    cells.push_back({.first = first, .last = last, .weight = weights[i]});
  }
  return cells;
}

std::vector<double> SumsOf(absl::Span<const double> mass) {
  std::vector<double> sums(mass.size() + 1, 0.0);
  std::partial_sum(mass.begin(), mass.end(), sums.begin() + 1);
  return sums;
}

std::vector<double> Factors(absl::Span<const ObservedCells> observed,
                            absl::Span<const double> sums) {
  std::vector<double> steps(sums.size(), 0.0);
  for (const ObservedCells& cells : observed) {
    const double factor = cells.weight / ProbabilityOf(cells, sums);
    steps[cells.first] += factor;
    steps[cells.last + 1] -= factor;
  }
  steps.pop_back();
  double factor = 0;
  for (double& step : steps) {
    factor += step;
    step = std::max(factor, 0.0);
  }
  return steps;
}

double LogLikelihood(absl::Span<const ObservedCells> observed,
                     absl::Span<const double> sums) {
  double sum = 0;
  for (const ObservedCells& cells : observed) {
    sum += cells.weight * std::log(ProbabilityOf(cells, sums));
  }
  return sum;
}

}  // namespace waiter::internal
