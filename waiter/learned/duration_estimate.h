// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The distribution of durations that are known as intervals: an operation was
// not done at one poll and done at the next.
//
//   const DurationEstimate estimate = EstimateDurations(observations);
//   estimate.mass[k];  // Probability of an end within cell k of the grid.
//
// The estimate is the average of a smooth one and of mixtures of modes
// (duration_modes.h). The smooth one is made by EMS: expectation, maximization
// and smoothing in turns (Silverman, Jones, Wilson, Nychka, "A Smoothed EM
// Approach to Indirect Estimation Problems", 1990). Without smoothing it
// converges to Turnbull's estimate (1976), which for durations without an upper
// end is Kaplan and Meier's. The smoothing at a time is as wide as the nearest
// neighbors there, so that two narrow modes far apart stay narrow.

#ifndef WAITER_LEARNED_DURATION_ESTIMATE_H_
#define WAITER_LEARNED_DURATION_ESTIMATE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/learned/log_grid.h"

namespace waiter::internal {

struct DurationEstimate {
  LogGrid grid;              // Empty if no duration has an end.
  std::vector<double> mass;  // Probability of each cell.
  double beyond = 1;         // Probability of an end after the grid.
  // Number of equally weighted ends with the same information. Below two, the
  // mass says little.
  double effective_ends = 0;
  // Weight of the observations before the last change, within [0, 1]; 1 if
  // there was no change.
  double trust_in_past = 1;
};

// Returns the estimate for `observations`, the newest one last. Weights halve
// with every 40 newer observations, and observations before an evident change
// of the durations count little. Takes about 0.6 ms.
DurationEstimate EstimateDurations(
    absl::Span<const DurationBounds> observations);

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_DURATION_ESTIMATE_H_
