// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/known_durations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace waiter::sim {
namespace {

// Share from which on heavy tails are cut off, as a timeout does.
constexpr double kLastShare = 0.999;

// Returns the time at which `share_by` reaches `share`.
double Solve(const std::function<double(double)>& share_by, double share,
             double low, double high) {
  for (int round = 0; round < 40; ++round) {
    const double middle = std::sqrt(low * high);
    (share_by(middle) < share ? low : high) = middle;
  }
  return high;
}

// Share of the log-normal durations that `time` is not below.
double LognormalShare(double time, double median, double sigma) {
  return std::erfc(-std::log(time / median) / (sigma * std::numbers::sqrt2)) /
         2;
}

// One kind of durations of a mixture, with a share of all.
struct Part {
  double median;
  double share;
};

KnownDurations Mixture(std::vector<Part> parts, double sigma) {
  double low = parts.front().median;
  double high = low;
  for (const Part& part : parts) {
    low = std::min(low, part.median);
    high = std::max(high, part.median);
  }
  low *= std::exp(-6 * sigma);
  high *= std::exp(6 * sigma);
  return {.name = "mixture", .quantile = [=](double share) {
            return Solve(
                [&](double time) {
                  double sum = 0;
                  for (const Part& part : parts) {
                    sum +=
                        part.share * LognormalShare(time, part.median, sigma);
                  }
                  return sum;
                },
                share, low, high);
          }};
}

KnownDurations Named(std::string name, KnownDurations durations,
                     bool heavy_tail = false) {
  durations.name = std::move(name);
  durations.heavy_tail = heavy_tail;
  return durations;
}

KnownDurations VirtualMachineStarts() {
  std::vector<Part> parts;
  for (const double mean : {44.2, 96.9, 356.6, 374.8, 406.2, 429.2, 810.2}) {
    parts.push_back({.median = mean, .share = 1.0 / 7});
  }
  return Mixture(std::move(parts), 0.1);
}

KnownDurations CiRuns() {
  struct Point {
    double share;
    double seconds;
  };
  static constexpr std::array<Point, 4> kPoints = {
      {{0.05, 12}, {0.5, 3.96 * 60}, {0.9, 21.35 * 60}, {0.95, 34.01 * 60}}};
  return {.name = "CI runs", .quantile = [](double share) {
            size_t i = 1;
            while (i + 1 < kPoints.size() && share > kPoints[i].share) ++i;
            const Point& low = kPoints[i - 1];
            const Point& high = kPoints[i];
            const double part = (share - low.share) / (high.share - low.share);
            return low.seconds * std::pow(high.seconds / low.seconds, part);
          }};
}

}  // namespace

KnownDurations KnownDurations::Times(double factor) const {
  KnownDurations times = *this;
  times.quantile = [factor, quantile = quantile](double share) {
    return factor * quantile(share);
  };
  return times;
}

std::vector<double> KnownDurations::Sample(int count) const {
  std::vector<double> sample;
  for (int i = 0; i < count; ++i) sample.push_back(quantile((i + 0.5) / count));
  return sample;
}

KnownDurations Lognormal(double median, double sigma) {
  return Named("log-normal", Mixture({{.median = median, .share = 1}}, sigma));
}

KnownDurations Weibull(double scale, double shape) {
  return {.name = "Weibull", .quantile = [=](double share) {
            return scale * std::pow(-std::log1p(-share), 1 / shape);
          }};
}

KnownDurations Gamma3(double mean) {
  return {.name = "gamma", .quantile = [=](double share) {
            return Solve(
                [&](double time) {
                  const double x = 3 * time / mean;
                  return 1 - std::exp(-x) * (1 + x + x * x / 2);
                },
                share, mean * 1e-3, mean * 1e2);
          }};
}

KnownDurations Pareto(double least, double shape) {
  return {.name = "Pareto",
          .quantile =
              [=](double share) {
                return least *
                       std::pow(1 - std::min(share, kLastShare), -1 / shape);
              },
          .heavy_tail = true};
}

KnownDurations ConstantDuration(double seconds) {
  return {.name = "constant",
          .quantile = [seconds](double) { return seconds; }};
}

KnownDurations Bimodal(double first, double first_share, double second,
                       double sigma) {
  return Named("bimodal",
               Mixture({{.median = first, .share = first_share},
                        {.median = second, .share = 1 - first_share}},
                       sigma));
}

std::vector<KnownDurations> AllKnownDurations() {
  return {Lognormal(60, 0.6),
          Weibull(60, 1.5),
          Gamma3(60),
          Bimodal(5, 0.6, 300, 0.15),
          Pareto(20, 1.5),
          ConstantDuration(60),
          Named("VM starts", VirtualMachineStarts()),
          CiRuns()};
}

}  // namespace waiter::sim
