// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/duration_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "waiter/learned/duration_modes.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/learned/log_grid.h"
#include "waiter/learned/observed_cells.h"

namespace waiter::internal {
namespace {

constexpr int32_t kMaxCells = 1024;
constexpr int32_t kMaxCellsOfPast = 128;  // Enough to see a change.
constexpr int kRounds = 6;
// Passes of a box filter. Three make nearly a normal distribution.
constexpr int kSmoothingPasses = 3;
// Share of the mass that a box reaches, for one observation; it falls with the
// fourth root of their number. Chosen by `waiter simulate learned`.
constexpr double kNeighbours = 0.5;
// The grid goes this far beyond the observations.
constexpr float kMargin = 1.3F;
// Intervals count as at least this wide when changes are looked for.
constexpr float kNarrowest = 0.75F;
// Estimates that are less probable, compared with the best one, are left out.
constexpr double kLeastProbability = 0.01;
// Surprise that chance alone explains: the square of a standard score.
constexpr double kExplainedByChance = 12;
// A past with less trust than this is forgotten.
constexpr double kLeastTrust = 0.25;
// Weights halve with every so many newer observations.
constexpr double kHalfLife = 40;
// Observations of less weight are left out.
constexpr double kLeastWeight = 0.01;

// Spreads the mass of each cell over its neighbors, as far as a box around it
// holds `share` of all mass.
void Smooth(std::vector<double>& mass, double share) {
  const auto size = static_cast<int32_t>(mass.size());
  const std::vector<double> sums = SumsOf(mass);
  const double needed = share * sums.back();
  const auto within = [&](int32_t cell, int32_t reach) {
    const auto low = static_cast<size_t>(std::max(cell - reach, 0));
    const auto high = static_cast<size_t>(std::min(cell + reach, size - 1));
    return sums[high + 1] - sums[low];
  };
  std::vector<double> steps(mass.size() + 1, 0.0);
  int32_t reach = 0;
  for (int32_t cell = 0; cell < size; ++cell) {
    const double own = mass[static_cast<size_t>(cell)];
    if (own <= 0) continue;
    while (reach > 0 && within(cell, reach - 1) >= needed) --reach;
    while (reach < size && within(cell, reach) < needed) ++reach;
    const auto low = static_cast<size_t>(std::max(cell - reach, 0));
    const auto high = static_cast<size_t>(std::min(cell + reach, size - 1));
    const double part = own / static_cast<double>(high - low + 1);
    steps[low] += part;
    steps[high + 1] -= part;
  }
  double sum = 0;
  for (size_t cell = 0; cell < mass.size(); ++cell) {
    sum += steps[cell];
    mass[cell] = std::max(sum, 0.0);
  }
}

// Returns the share of the mass that a box reaches.
double ShareOfBox(double effective_ends) {
  return std::min(1.0, kNeighbours * std::pow(effective_ends, -0.25));
}

// Returns the mass of each cell, and last the mass of all later times.
std::vector<double> SmoothEstimate(absl::Span<const ObservedCells> observed,
                                   size_t size, double effective_ends) {
  const double share = ShareOfBox(effective_ends);
  const double unseen = UnseenShare(effective_ends);
  std::vector<double> mass(size + 1, 1 / static_cast<double>(size + 1));
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<double> factors = Factors(observed, SumsOf(mass));
    for (size_t i = 0; i <= size; ++i) mass[i] *= factors[i];
    const double after_grid = mass.back();
    mass.pop_back();
    for (int pass = 0; pass < kSmoothingPasses; ++pass) Smooth(mass, share);
    mass.push_back(after_grid);
    const double sum = std::accumulate(mass.begin(), mass.end(), 0.0);
    for (double& part : mass) part *= (1 - unseen) / sum;
    mass.back() += unseen;
  }
  return mass;
}

// Returns the number of equally weighted ends that tell as much as these.
double EffectiveEnds(absl::Span<const DurationBounds> observations,
                     absl::Span<const double> weights) {
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < observations.size(); ++i) {
    if (!observations[i].has_end()) continue;
    sum += weights[i];
    squares += weights[i] * weights[i];
  }
  return squares > 0 ? sum * sum / squares : 0;
}

// Returns the range of the observations that have an end.
std::optional<std::pair<float, float>> Range(
    absl::Span<const DurationBounds> observations) {
  std::optional<std::pair<float, float>> range;
  for (const DurationBounds& bounds : observations) {
    if (!bounds.has_end()) continue;
    const float low = std::max(bounds.after, bounds.by / 4);
    if (!range.has_value()) range = {low, bounds.by};
    range->first = std::min(range->first, low);
    range->second = std::max(range->second, bounds.by);
  }
  return range;
}

// Where the durations changed, and the weight of the durations before.
struct Change {
  size_t newest = 0;  // Number of observations after the change.
  double trust_in_past = 1;
};

// Returns how much less probable the newest observations are, given the past,
// than the past itself, as the square of a standard score. Returns 0 if they
// are not less probable.
double Surprise(absl::Span<const ObservedCells> past,
                absl::Span<const ObservedCells> newest, size_t size) {
  constexpr double kLeastDeviation = 1;
  const auto ends = static_cast<double>(past.size());
  const std::vector<double> sums = SumsOf(SmoothEstimate(past, size, ends));
  // An end where none was seen has a part of the mass of the unseen ends.
  const double unseen = 0.25 / (ends + 1);
  const auto log_probability = [&](const ObservedCells& cells) {
    return std::log(sums[cells.last + 1] - sums[cells.first] + unseen);
  };
  double mean = 0;
  double squares = 0;
  for (const ObservedCells& cells : past) {
    const double value = log_probability(cells);
    mean += value / ends;
    squares += value * value / ends;
  }
  const double deviation = std::max(
      std::sqrt(std::max(squares - mean * mean, 0.0)), kLeastDeviation);
  double missing = 0;
  for (const ObservedCells& cells : newest) {
    missing += mean - log_probability(cells);
  }
  if (missing <= 0) return 0;
  const auto count = static_cast<double>(newest.size());
  const double score =
      missing / (deviation * std::sqrt(count * (1 + count / ends)));
  return score * score;
}

// Returns where the newest observations begin, at least `newest` of them. Waits
// that run side by side end in the order of their durations. So a long rising
// run may have no order in time, and no change is looked for inside.
size_t SplitBefore(absl::Span<const DurationBounds> ended, size_t newest) {
  constexpr size_t kLongRun = 5;
  const size_t split = ended.size() - newest;
  const auto rises = [&](size_t i) { return ended[i - 1].by <= ended[i].by; };
  size_t begin = split;
  while (begin > 0 && rises(begin)) --begin;
  size_t end = split;
  while (end + 1 < ended.size() && rises(end + 1)) ++end;
  return begin < split && end + 1 - begin >= kLongRun ? begin : split;
}

// Looks for the split between the newest observations and the others that
// chance explains least.
class ChangeFinder {
 public:
  ChangeFinder(absl::Span<const DurationBounds> observations,
               const std::pair<float, float>& range) {
    constexpr size_t kMost = 64;
    for (DurationBounds bounds : observations) {
      if (!bounds.has_end()) continue;
      // A narrow interval is less probable than a wide one without being a
      // surprise.
      bounds.after = std::min(bounds.after, bounds.by * kNarrowest);
      ended_.push_back(bounds);
    }
    if (ended_.size() > kMost) {
      ended_.erase(ended_.begin(), ended_.end() - kMost);
    }
    const LogGrid grid = LogGrid::Over(range.first / kMargin,
                                       range.second * kMargin, kMaxCellsOfPast);
    size_ = static_cast<size_t>(grid.size());
    cells_ = CellsOf(ended_, std::vector<double>(ended_.size(), 1.0), grid);
  }

  // Tries some numbers of newest observations, and then the numbers around the
  // best one: a split near the change, but not at it, mixes both kinds.
  Change Find() {
    // The first and the last one are only bounds for the second search.
    constexpr std::array<size_t, 8> kNewest = {1, 2, 3, 4, 6, 9, 13, 20};
    size_t best = 0;
    for (size_t i = 1; i + 1 < kNewest.size(); ++i) {
      if (Try(kNewest[i])) best = i;
    }
    if (best == 0) return {};
    for (size_t newest = kNewest[best - 1] + 1; newest < kNewest[best + 1];
         ++newest) {
      Try(newest);
    }
    LeaveToPast();
    const double trust = std::exp((kExplainedByChance - largest_) / 2);
    return {.newest = newest_,
            .trust_in_past = trust < kLeastTrust ? 0 : trust};
  }

 private:
  // Returns whether this split surprises more than those before.
  bool Try(size_t newest) {
    constexpr size_t kLeastPast = 4;
    if (newest + kLeastPast > cells_.size()) return false;
    const size_t split = SplitBefore(ended_, newest);
    if (split < kLeastPast) return false;
    const absl::Span<const ObservedCells> all = cells_;
    const double surprise =
        Surprise(all.first(split), all.subspan(split), size_);
    if (surprise <= largest_) return false;
    largest_ = surprise;
    newest_ = cells_.size() - split;
    return true;
  }

  // Moves the split forward while the first observation after it is more
  // probable given the past than given the later ones. One such observation
  // among the newest hardly lessens their surprise, but would keep the past
  // alive.
  void LeaveToPast() {
    constexpr size_t kFewest = 2;
    const absl::Span<const ObservedCells> all = cells_;
    for (; newest_ > kFewest; --newest_) {
      const size_t split = cells_.size() - newest_;
      const ObservedCells& first = cells_[split];
      if (ProbabilityOf(first, all.first(split)) <=
          ProbabilityOf(first, all.subspan(split + 1))) {
        return;
      }
    }
  }

  double ProbabilityOf(const ObservedCells& cells,
                       absl::Span<const ObservedCells> by) const {
    const std::vector<double> sums =
        SumsOf(SmoothEstimate(by, size_, static_cast<double>(by.size())));
    return sums[cells.last + 1] - sums[cells.first];
  }

  std::vector<DurationBounds> ended_;
  std::vector<ObservedCells> cells_;
  size_t size_ = 0;  // Number of cells of the grid.
  double largest_ = kExplainedByChance;
  size_t newest_ = 0;
};

std::vector<double> Weights(absl::Span<const DurationBounds> observations,
                            const Change& change) {
  std::vector<double> weights(observations.size());
  size_t newer_ends = 0;
  for (size_t i = observations.size(); i-- > 0;) {
    const auto age = static_cast<double>(observations.size() - 1 - i);
    weights[i] = std::exp2(-age / kHalfLife);
    if (newer_ends >= change.newest) weights[i] *= change.trust_in_past;
    if (observations[i].has_end()) ++newer_ends;
  }
  return weights;
}

// Returns the average of a smooth estimate and of mixtures of modes, weighted
// by how well each explains the observations.
std::vector<double> AverageEstimate(
    absl::Span<const DurationBounds> observations,
    absl::Span<const double> weights, const LogGrid& grid,
    double effective_ends) {
  const std::vector<ObservedCells> observed =
      CellsOf(observations, weights, grid);
  std::vector<double> smooth = SmoothEstimate(
      observed, static_cast<size_t>(grid.size()), effective_ends);
  const std::vector<ModesFit> fits =
      FitModes(observations, weights, grid, smooth, effective_ends);
  if (fits.empty()) return smooth;
  // Each box is a parameter.
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double smooth_score =
      LogLikelihood(observed, SumsOf(smooth)) * effective_ends / total -
      PriceOf(1 / ShareOfBox(effective_ends), effective_ends);
  double best = smooth_score;
  for (const ModesFit& fit : fits) best = std::max(best, fit.score);

  double sum = std::exp(smooth_score - best);
  std::vector<double> average = smooth;
  for (double& part : average) part *= sum;
  const double beyond = smooth.back();
  std::vector<double> probabilities;
  for (const ModesFit& fit : fits) {
    const double probability = std::exp(fit.score - best);
    probabilities.push_back(probability < kLeastProbability ? 0 : probability);
    sum += probabilities.back();
    average.back() += probabilities.back() * beyond;
  }
  const std::vector<double> mass =
      PredictedMass(fits, grid, effective_ends, probabilities);
  for (size_t i = 0; i < mass.size(); ++i) average[i] += mass[i] * (1 - beyond);
  for (double& part : average) part /= sum;
  return average;
}

}  // namespace

DurationEstimate EstimateDurations(
    absl::Span<const DurationBounds> observations) {
  DurationEstimate estimate;
  std::optional<std::pair<float, float>> range = Range(observations);
  if (!range.has_value()) return estimate;
  const Change change = ChangeFinder(observations, *range).Find();
  estimate.trust_in_past = change.trust_in_past;
  std::vector<DurationBounds> counted;
  std::vector<double> weights;
  const std::vector<double> all_weights = Weights(observations, change);
  for (size_t i = 0; i < observations.size(); ++i) {
    if (all_weights[i] < kLeastWeight) continue;
    counted.push_back(observations[i]);
    weights.push_back(all_weights[i]);
  }
  range = Range(counted);
  if (!range.has_value()) return estimate;
  estimate.effective_ends = EffectiveEnds(counted, weights);
  estimate.grid =
      LogGrid::Over(range->first / kMargin, range->second * kMargin, kMaxCells);
  estimate.mass =
      AverageEstimate(counted, weights, estimate.grid, estimate.effective_ends);
  estimate.beyond = estimate.mass.back();
  estimate.mass.pop_back();
  return estimate;
}

}  // namespace waiter::internal
