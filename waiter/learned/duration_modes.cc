// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/duration_modes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "absl/types/span.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/learned/log_grid.h"
#include "waiter/learned/observed_cells.h"

namespace waiter::internal {
namespace {

// The constants were chosen by `waiter simulate learned`.
constexpr size_t kMostModes = 8;
constexpr double kEndsPerMode = 4;
constexpr double kLeastEnds = 8;
constexpr int kModeRounds = 9;
constexpr int32_t kMaxModeCells = 256;
// The variance of a mode counts one more end than was seen, at a squared
// distance from the mean of `kUsualVariance`. If the intervals are narrow
// enough to show the width of the mode, the square is less: a multiple of their
// variance. A single mode may be an operation that always takes the same time.
constexpr double kUsualVariance = 0.1 * 0.1;
constexpr double kIntervalsOfOneMode = 1;
constexpr double kIntervalsOfSeveralModes = 30;
// Parts of equal mass between which a guess is divided into modes.
constexpr double kParts = 48;
constexpr double kLeastVariance = 1e-8;
constexpr double kLeastShare = 1e-9;
// If a fit scores this much less than the best one, more modes do not help.
constexpr double kHopeless = 3;
// Densities below e to this power count as zero.
constexpr double kFarAway = -40;

// Functions to the precision of a float, which is enough for densities. They
// take half as long as those for a double.
double QuickExp(double x) {
  return static_cast<double>(std::exp(static_cast<float>(x)));
}
double QuickPow(double base, double exponent) {
  return static_cast<double>(
      std::pow(static_cast<float>(base), static_cast<float>(exponent)));
}

// The cells of a grid on a logarithmic scale.
struct LogCells {
  explicit LogCells(const LogGrid& grid) {
    double low = std::log(grid.Edge(0));
    for (int32_t cell = 0; cell < grid.size(); ++cell) {
      const double high = std::log(grid.Edge(cell + 1));
      middles.push_back((low + high) / 2);
      widths.push_back(high - low);
      low = high;
    }
  }

  size_t size() const { return middles.size(); }

  std::vector<double> middles;
  std::vector<double> widths;
};

// Sums over a part of a distribution.
struct Moments {
  double mass = 0;
  double first = 0;
  double second = 0;

  void Add(double part, double value) {
    mass += part;
    first += part * value;
    second += part * value * value;
  }
  Moments operator-(const Moments& other) const {
    return {.mass = mass - other.mass,
            .first = first - other.first,
            .second = second - other.second};
  }
  double Mean() const { return first / mass; }
  double Variance() const {
    return std::max(second / mass - Mean() * Mean(), 0.0);
  }
};

// Divides a guess into one mode and more: for each number of them, the division
// that is most probable if every duration belongs to exactly one mode.
class Divider {
 public:
  Divider(absl::Span<const double> guess, const LogCells& cells) {
    double total = 0;
    for (size_t cell = 0; cell < cells.size(); ++cell) total += guess[cell];
    Moments sum;
    double next = 1;
    for (size_t cell = 0; cell < cells.size(); ++cell) {
      sum.Add(guess[cell] / total, cells.middles[cell]);
      if (sum.mass * kParts < next && cell + 1 < cells.size()) continue;
      if (sum.mass > sums_.back().mass) sums_.push_back(sum);
      next = std::floor(sum.mass * kParts) + 1;
    }
    costs_.assign(sums_.size(), kNever);
    costs_[0] = 0;
    for (size_t end = 1; end < sums_.size(); ++end) {
      for (size_t begin = 0; begin < end; ++begin) {
        mode_costs_.push_back(CostOf(sums_[end] - sums_[begin]));
      }
    }
  }

  // Returns the division into one mode more than the last call; at the first
  // call, into one mode.
  std::vector<DurationMode> Next() {
    std::vector<double> costs(sums_.size(), kNever);
    std::vector<size_t> begins(sums_.size(), 0);
    auto mode_cost = mode_costs_.begin();
    for (size_t end = 1; end < sums_.size(); ++end) {
      for (size_t begin = 0; begin < end; ++begin, ++mode_cost) {
        const double cost = costs_[begin] + *mode_cost;
        if (cost >= costs[end]) continue;
        costs[end] = cost;
        begins[end] = begin;
      }
    }
    costs_ = costs;
    begins_.push_back(begins);
    std::vector<DurationMode> modes;
    size_t end = sums_.size() - 1;
    for (size_t mode = begins_.size(); mode-- > 0;) {
      const size_t begin = begins_[mode][end];
      const Moments moments = sums_[end] - sums_[begin];
      modes.push_back({.share = moments.mass,
                       .mean = moments.Mean(),
                       .variance = moments.Variance() + kLeastSpread});
      end = begin;
    }
    return modes;
  }

  // The maximum number of modes of a division.
  size_t MostModes() const { return sums_.size() - 1; }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  // Variance below which modes cannot be distinguished.
  static constexpr double kLeastSpread = 1e-3;

  static double CostOf(const Moments& mode) {
    return mode.mass *
           (std::log(mode.Variance() + kLeastSpread) / 2 - std::log(mode.mass));
  }

  std::vector<Moments> sums_ = {{}};
  std::vector<double> mode_costs_;  // From each part to each later one.
  std::vector<double> costs_;
  std::vector<std::vector<size_t>> begins_;
};

// Returns one mode as narrow as the cells that the most weight covers: the
// shape of an operation whose duration is constant.
DurationMode NarrowMode(absl::Span<const ObservedCells> observed,
                        const LogCells& cells) {
  constexpr double kEqual = 1e-9;
  std::vector<double> steps(cells.size() + 2, 0.0);
  for (const ObservedCells& one : observed) {
    steps[one.first] += one.weight;
    steps[one.last + 1] -= one.weight;
  }
  double weight = 0;
  double most = 0;
  size_t first = 0;
  size_t last = 0;
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    weight += steps[cell];
    if (weight > most * (1 + kEqual)) {
      most = weight;
      first = last = cell;
    } else if (weight > most * (1 - kEqual) && last + 1 == cell) {
      last = cell;
    }
  }
  const double low = cells.middles[first] - cells.widths[first] / 2;
  const double high = cells.middles[last] + cells.widths[last] / 2;
  return {.mean = (low + high) / 2,
          .variance = (high - low) * (high - low) / 12};
}

// Expectation and maximization.
class Fitter {
 public:
  Fitter(absl::Span<const ObservedCells> observed, const LogCells& cells,
         double effective_ends)
      : observed_(observed),
        cells_(cells),
        ends_(effective_ends),
        mass_(cells.size() + 1),
        precise_(observed.begin(), observed.end()) {
    for (ObservedCells& one : precise_) {
      weight_ += one.weight;
      const size_t last = std::min(one.last, cells.size() - 1);
      const double width =
          cells.middles[last] - cells.middles[one.first] + cells.widths[last];
      one.weight *= 12 / (width * width);
    }
  }

  // Improves the given modes.
  ModesFit Fit(std::vector<DurationMode> modes) {
    for (int round = 0; round < kModeRounds; ++round) ImproveAll(modes);
    return Score(modes);
  }

 private:
  void ImproveAll(std::vector<DurationMode>& modes) {
    SpreadModes(modes);
    const std::vector<double> sums = SumsOf(mass_);
    const std::vector<double> factors = Factors(observed_, sums);
    const std::vector<double> precisions = Factors(precise_, sums);
    double total = 0;
    for (size_t cell = 0; cell < cells_.size(); ++cell) {
      total += mass_[cell] * factors[cell];
    }
    for (size_t i = 0; i < modes.size(); ++i) {
      modes[i] = Improve(parts_[i], factors, precisions, total);
    }
  }

  ModesFit Score(const std::vector<DurationMode>& modes) {
    SpreadModes(modes);
    const auto parameters = static_cast<double>(3 * modes.size() - 1);
    return {.modes = modes,
            .score = LogLikelihood(observed_, SumsOf(mass_)) * ends_ / weight_ -
                     PriceOf(parameters, ends_)};
  }

  void SpreadModes(absl::Span<const DurationMode> modes) {
    const double unseen = UnseenShare(ends_);
    std::fill(mass_.begin(), mass_.end(), 0.0);
    parts_.resize(modes.size());
    for (size_t i = 0; i < modes.size(); ++i) {
      const DurationMode& mode = modes[i];
      const double height = (1 - unseen) * mode.share /
                            std::sqrt(2 * std::numbers::pi * mode.variance);
      parts_[i].resize(cells_.size());
      for (size_t cell = 0; cell < cells_.size(); ++cell) {
        const double distance = cells_.middles[cell] - mode.mean;
        const double exponent = distance * distance / (-2 * mode.variance);
        const double part = exponent > kFarAway ? height * cells_.widths[cell] *
                                                      QuickExp(exponent)
                                                : 0;
        parts_[i][cell] = part;
        mass_[cell] += part;
      }
    }
    mass_.back() = unseen;
  }

  // `total` is the weight that is left to all modes.
  DurationMode Improve(absl::Span<const double> part,
                       absl::Span<const double> factors,
                       absl::Span<const double> precisions,
                       double total) const {
    Moments moments = {.mass = kLeastShare * total};
    double width = 0;
    double precision = kLeastShare;
    for (size_t cell = 0; cell < cells_.size(); ++cell) {
      moments.Add(part[cell] * factors[cell], cells_.middles[cell]);
      width += part[cell] * factors[cell] * cells_.widths[cell];
      precision += part[cell] * precisions[cell];
    }
    const double share = moments.mass / total;
    const double intervals =
        parts_.size() == 1 ? kIntervalsOfOneMode : kIntervalsOfSeveralModes;
    const double prior =
        std::min(kUsualVariance, intervals * moments.mass / precision);
    const double ends = share * ends_;
    // Grids cannot show anything much narrower than a cell.
    const double least = 0.3 * width / moments.mass;
    return {
        .share = share,
        .mean = moments.Mean(),
        .variance = std::max({(moments.Variance() * ends + prior) / (ends + 1),
                              least * least, kLeastVariance})};
  }

  const absl::Span<const ObservedCells> observed_;
  const LogCells& cells_;
  const double ends_;
  double weight_ = 0;
  std::vector<double> mass_;
  std::vector<std::vector<double>> parts_;  // The mass of each mode.
  // The observations, also weighted by how exactly each is known: one over the
  // variance of its interval.
  std::vector<ObservedCells> precise_;
};

}  // namespace

double PriceOf(double parameters, double effective_ends) {
  return parameters / 2 * std::log(effective_ends);
}

std::vector<ModesFit> FitModes(absl::Span<const DurationBounds> observations,
                               absl::Span<const double> weights,
                               const LogGrid& grid,
                               absl::Span<const double> guess,
                               double effective_ends) {
  std::vector<ModesFit> fits;
  if (effective_ends < kLeastEnds) return fits;
  const auto most = static_cast<size_t>(
      std::min(effective_ends / kEndsPerMode, double{kMostModes}));
  const LogGrid coarse =
      LogGrid::Over(grid.Edge(0), grid.Edge(grid.size() - 1), kMaxModeCells);
  const std::vector<ObservedCells> observed =
      CellsOf(observations, weights, coarse);
  const LogCells cells(coarse);
  Fitter fitter(observed, cells, effective_ends);
  fits.push_back(fitter.Fit({NarrowMode(observed, cells)}));
  Divider divider(guess, LogCells(grid));
  double best = fits.front().score;
  for (size_t i = 0; i < std::min(most, divider.MostModes()); ++i) {
    fits.push_back(fitter.Fit(divider.Next()));
    if (fits.back().score < best - kHopeless) break;
    best = std::max(best, fits.back().score);
  }
  return fits;
}

std::vector<double> PredictedMass(absl::Span<const ModesFit> fits,
                                  const LogGrid& grid, double effective_ends,
                                  absl::Span<const double> weights) {
  const LogCells cells(grid);
  std::vector<double> mass(cells.size(), 0.0);
  std::vector<double> part(cells.size());
  for (size_t i = 0; i < fits.size(); ++i) {
    if (weights[i] == 0) continue;
    for (const DurationMode& mode : fits[i].modes) {
      const double ends = std::max(mode.share * effective_ends, 1.5);
      const double freedom = std::max(ends - 1, 1.0);
      const double scale = mode.variance * (ends + 1);
      double sum = 0;
      for (size_t cell = 0; cell < cells.size(); ++cell) {
        const double distance = cells.middles[cell] - mode.mean;
        part[cell] =
            cells.widths[cell] *
            QuickPow(1 + distance * distance / scale, -(freedom + 1) / 2);
        sum += part[cell];
      }
      const double factor = weights[i] * mode.share / sum;
      for (size_t cell = 0; cell < cells.size(); ++cell) {
        mass[cell] += factor * part[cell];
      }
    }
  }
  return mass;
}

}  // namespace waiter::internal
