// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durations as intervals of the cells of a grid, for estimates of how they are
// distributed. A distribution is the mass of each cell, and last the mass of
// all times after the grid:
//
//   const std::vector<ObservedCells> observed =
//       CellsOf(observations, weights, grid);
//   const std::vector<double> factors = Factors(observed, SumsOf(mass));
//   for (size_t i = 0; i < mass.size(); ++i) mass[i] *= factors[i];

#ifndef WAITER_LEARNED_OBSERVED_CELLS_H_
#define WAITER_LEARNED_OBSERVED_CELLS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/learned/log_grid.h"

namespace waiter::internal {

// The operation ended within one of the cells from `first` to `last`. The cell
// after the grid covers all times after it.
struct ObservedCells {
  size_t first;
  size_t last;
  double weight;
};

std::vector<ObservedCells> CellsOf(
    absl::Span<const DurationBounds> observations,
    absl::Span<const double> weights, const LogGrid& grid);

// Returns, for each cell, the mass of all cells before it, and, last, all mass.
std::vector<double> SumsOf(absl::Span<const double> mass);

// Returns the factors by which expectation and maximization multiply the mass
// of each cell. Each observation spreads its weight over its cells as the mass
// is spread there. `sums` are the sums of the mass.
std::vector<double> Factors(absl::Span<const ObservedCells> observed,
                            absl::Span<const double> sums);

// Returns the logarithm of the probability of the observations, with their
// weights.
double LogLikelihood(absl::Span<const ObservedCells> observed,
                     absl::Span<const double> sums);

// Returns the share of ends where none was seen: the share of half an
// observation (Krichevsky, Trofimov, "The Performance of Universal Encoding",
// 1981).
inline double UnseenShare(double effective_ends) {
  return 0.5 / (effective_ends + 1);
}

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_OBSERVED_CELLS_H_
