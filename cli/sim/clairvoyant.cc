// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/clairvoyant.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace waiter::sim {
namespace {

// Times of polls: as many durations, and as many times spread evenly on a
// logarithmic scale.
constexpr size_t kFromDurations = 1500;
constexpr size_t kEven = 300;

}  // namespace

Clairvoyant::Clairvoyant(std::vector<double> durations)
    : durations_(std::move(durations)) {
  sums_.push_back(0);
  for (const double duration : durations_) {
    sums_.push_back(sums_.back() + duration);
  }
  const size_t size = durations_.size();
  for (size_t i = 1; i <= kFromDurations; ++i) {
    // There may be fewer durations than times.
    times_.push_back(
        durations_[std::max<size_t>(i * size / kFromDurations, 1) - 1]);
  }
  const double first = durations_.front();
  const double last = durations_.back();
  for (size_t i = 0; i < kEven; ++i) {
    times_.push_back(first *
                     std::pow(last / first, static_cast<double>(i) / kEven));
  }
  std::sort(times_.begin(), times_.end());
  times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
  for (const double time : times_) parts_.push_back(By(time));
}

Clairvoyant::Part Clairvoyant::By(double time) const {
  const auto count = static_cast<size_t>(
      std::upper_bound(durations_.begin(), durations_.end(), time) -
      durations_.begin());
  const auto size = static_cast<double>(durations_.size());
  return {.ended = static_cast<double>(count) / size,
          .moment = sums_[count] / size};
}

PollCost Clairvoyant::At(double seconds_worth_one_poll,
                         double max_ratio) const {
  // Cost of all polls after one at each time, if nothing ended later.
  std::vector<PollCost> costs(times_.size());
  const auto lateness = [](const Part& from, const Part& to, double time) {
    return (to.ended - from.ended) * time - (to.moment - from.moment);
  };
  for (size_t from = times_.size() - 1; from-- > 0;) {
    double best = std::numeric_limits<double>::infinity();
    for (size_t to = from + 1; to < times_.size(); ++to) {
      // The next time at least can be reached.
      if (to > from + 1 && times_[to] > times_[from] * max_ratio) break;
      const double late = lateness(parts_[from], parts_[to], times_[to]);
      if (late / seconds_worth_one_poll >= best) break;  // It only grows.
      const PollCost cost = {.polls = 1 - parts_[from].ended + costs[to].polls,
                             .lateness = late + costs[to].lateness};
      if (cost.At(seconds_worth_one_poll) >= best) continue;
      best = cost.At(seconds_worth_one_poll);
      costs[from] = cost;
    }
  }
  PollCost least = {.polls = std::numeric_limits<double>::infinity()};
  for (size_t to = 0; to < times_.size(); ++to) {
    const double second = std::isinf(max_ratio) ? 0 : times_[to] / max_ratio;
    const Part by_second = second > 0 ? By(second) : Part();
    const PollCost cost = {
        .polls = (second > 0 ? 2 : 1) + 1 - by_second.ended + costs[to].polls,
        .lateness = lateness(Part(), by_second, second) +
                    lateness(by_second, parts_[to], times_[to]) +
                    costs[to].lateness};
    if (cost.At(seconds_worth_one_poll) < least.At(seconds_worth_one_poll)) {
      least = cost;
    }
  }
  return least;
}

double Clairvoyant::WorthFor(double lateness, double max_ratio) const {
  double low = 1e-3;
  double high = kMostWorth;
  for (int round = 0; round < 14; ++round) {
    const double middle = std::sqrt(low * high);
    (At(middle, max_ratio).lateness < lateness ? low : high) = middle;
  }
  return low;
}

}  // namespace waiter::sim
