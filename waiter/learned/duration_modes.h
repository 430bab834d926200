// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durations as a mixture of log-normal modes, one for each way in which an
// operation may go: from the cache or from afar, one kind of machine or
// another.
//
//   const std::vector<ModesFit> fits = FitModes(observed, weights, grid, guess,
//                                               ends);
//   fits[0].score;  // How probable the fit is, relative to others.
//   PredictedMass(fits, grid, ends, /*weights=*/{0.2, 0.7, 0.1});

#ifndef WAITER_LEARNED_DURATION_MODES_H_
#define WAITER_LEARNED_DURATION_MODES_H_

#include <vector>

#include "absl/types/span.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/learned/log_grid.h"

namespace waiter::internal {

// One mode, by the logarithms of its seconds.
struct DurationMode {
  double share = 1;  // Share of all durations.
  double mean = 0;
  double variance = 1;
};

struct ModesFit {
  std::vector<DurationMode> modes;
  // Logarithm of the probability of the observations, less the cost of the
  // number of parameters (Schwarz, "Estimating the Dimension of a Model",
  // 1978).
  double score = 0;
};

// Returns fits of one mode and more, as many as `effective_ends` equally
// weighted ends can tell apart: none below eight. The first fit has one mode,
// which may be as narrow as the intervals allow. `guess` is a distribution on
// `grid`, from which the fits begin.
std::vector<ModesFit> FitModes(absl::Span<const DurationBounds> observations,
                               absl::Span<const double> weights,
                               const LogGrid& grid,
                               absl::Span<const double> guess,
                               double effective_ends);

// Returns the mass of each cell of a grid, the sum over `fits` with a weight
// for each. A mode that few ends have shown is wider than it fits best:
// Student's distribution.
std::vector<double> PredictedMass(absl::Span<const ModesFit> fits,
                                  const LogGrid& grid, double effective_ends,
                                  absl::Span<const double> weights);

// Returns what `parameters` cost in a score.
double PriceOf(double parameters, double effective_ends);

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_DURATION_MODES_H_
