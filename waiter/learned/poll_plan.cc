// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/poll_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/learned/duration_estimate.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/learned/poll_table.h"

namespace waiter::internal {
namespace {

// Polls that a poll may cost more than the best one, in exchange for jitter.
constexpr double kJitterCost = 0.02;
// Maximum part of its delay by which jitter moves a poll.
constexpr double kJitterWidth = 0.1;
// Part of a plan's cost that looks before all known durations may add. It
// bounds the cost of a model of another, longer operation.
constexpr double kEarlyLooks = 0.04;
// There are at most this many times the early looks that the limit of the ratio
// needs.
constexpr double kMostEarlyLooks = 2;
// Exploration for as long as a change of the durations is recent.
constexpr float kExplorationAfterChange = 0.25F;
// Rounds of bisection for a target. Each halves an interval of 2^40.
constexpr int kBisections = 10;
// The same within an interval of 2^8, for less lateness by a few more polls.
constexpr int kLateBisections = 4;
// Part of the polls of a target that less lateness may cost in addition: if
// polls hardly depend on lateness, there is no reason to be late.
constexpr double kPollsForLateness = 0.02;
// A poll at an edge comes later by this part, as times are rounded: it must not
// count as a poll before the edge.
constexpr double kRounding = 1e-6;

// Share of the rows of a table that are spread evenly; the others are where the
// operation may end.
constexpr double kEvenRows = 0.4;

// Returns the edges of the grid between which a plan chooses, at most
// `PollTable::kMaxSize` + 1.
std::vector<int32_t> ChooseEdges(const DurationEstimate& estimate) {
  const auto size = static_cast<double>(estimate.mass.size());
  const double mass =
      std::accumulate(estimate.mass.begin(), estimate.mass.end(), 0.0);
  std::vector<int32_t> edges = {0};
  double wanted = 0;
  for (size_t i = 0; i < estimate.mass.size(); ++i) {
    wanted += (PollTable::kMaxSize - 1) *
              (kEvenRows / size + (1 - kEvenRows) * estimate.mass[i] / mass);
    if (wanted < 1 && i + 1 < estimate.mass.size()) continue;
    wanted -= std::floor(wanted);
    edges.push_back(static_cast<int32_t>(i) + 1);
  }
  return edges;
}

// The plans of one estimate. Sums of probabilities and of the times weighted by
// them make the expected lateness between any two polls a subtraction.
class Planner {
 public:
  Planner(const DurationEstimate& estimate, double max_ratio)
      : max_ratio_(max_ratio) {
    double ended = 0;
    double moment = 0;
    int32_t cell = 0;
    for (const int32_t edge : ChooseEdges(estimate)) {
      for (; cell < edge; ++cell) {
        const double mass = estimate.mass[static_cast<size_t>(cell)];
        ended += mass;
        moment += mass *
                  (estimate.grid.Edge(cell) + estimate.grid.Edge(cell + 1)) / 2;
      }
      times_.push_back(estimate.grid.Edge(edge));
      ended_.push_back(ended);
      moments_.push_back(moment);
    }
    size_ = times_.size() - 1;
    costs_.resize(times_.size());
    next_.resize(times_.size());
    // The table holds for polls up to the next edge.
    for (size_t from = 0, limit = 0; from < size_; ++from) {
      const double farthest = times_[from + 1] * max_ratio_;
      while (limit < size_ && times_[limit + 1] <= farthest) ++limit;
      limits_.push_back(limit);
    }
  }

  // Computes the best poll after a poll at any edge of the grid.
  //
  // If a <= b <= c <= d, polls at c after a and at d after b are together not
  // later than polls at d after a and at c after b. So the best poll after an
  // edge is not after the best poll after the next edge (Hirschberg, Larmore,
  // "The Least Weight Subsequence Problem", 1987).
  void Solve(double seconds_worth_one_poll) {
    polls_per_second_ = 1 / seconds_worth_one_poll;
    costs_[size_] = Waiting(size_);
    size_t last = size_;
    for (size_t from = size_; from-- > 0;) {
      SolveFrom(from, std::min(last, limits_[from]), limits_[from]);
      last = next_[from].best;
    }
    // The first poll that the model wants has no limit; the poll at `First()`
    // keeps it.
    const Window limited = next_[0];
    SolveFrom(0, size_, size_);
    wanted_ = std::exchange(next_[0], limited);
    first_ = std::isinf(max_ratio_) ? 0 : times_[wanted_.high] / max_ratio_;
    looks_ = {.max_ratio = static_cast<float>(max_ratio_),
              .max_root_step = std::numeric_limits<float>::infinity()};
  }

  // Adds polls before the first one that the model wants, for a small part of
  // the cost: before all others first, and then between them.
  void AddEarlyLooks() {
    static const double shortest =
        absl::ToDoubleSeconds(BackoffOptions().initial_delay);
    if (first_ == 0) return;
    const double cost = Polls() + polls_per_second_ * Lateness();
    double left = std::floor(kEarlyLooks * cost);
    double looks = 1;
    for (; left > 0 && first_ / max_ratio_ > shortest; --left, ++looks) {
      first_ /= max_ratio_;
    }
    if (left > 0) {
      looks_.max_root_step =
          RootStepFor(std::min(looks + left, kMostEarlyLooks * looks));
    }
  }

  // Time of the first poll between the start and the poll that the model wants;
  // zero if no such poll is needed. From this time, the limit of their ratio
  // decides how many there are.
  double First() const { return first_; }

  // Calls `visit(from, to, time)` for each two consecutive polls of the best
  // path, by the edges between which the operation may end, and the time of the
  // second one. The first of all polls is at the start.
  void ForEachStep(
      absl::FunctionRef<void(size_t, size_t, double)> visit) const {
    size_t from = 0;
    size_t to = wanted_.best;
    auto time = static_cast<float>(first_);
    while (time > 0) {
      const size_t before = from;
      while (from < size_ && times_[from + 1] <= time) ++from;
      visit(before, from, time);
      if (times_[0] <= time) {
        to = next_[from].best;
        break;
      }
      if (ReachOf(time, looks_) >= times_[wanted_.low]) break;
      time = NextEarlyLook(time, TimeAt(wanted_.high), looks_);
    }
    for (; from < size_; from = to, to = next_[from].best) {
      visit(from, to, times_[to]);
      if (to == size_ || Waiting(to) <= 0) return;
    }
  }

  double Polls() const {
    double polls = 1;
    ForEachStep([&](size_t from, size_t, double) { polls += Waiting(from); });
    return polls;
  }

  double Lateness() const {
    double lateness = 0;
    ForEachStep([&](size_t from, size_t to, double time) {
      // Jitter also makes polls later than the best ones.
      const double jittered =
          (times_[next_[from].low] + times_[next_[from].high]) / 2;
      if (from > 0 && next_[from].best == to) time = std::max(time, jittered);
      lateness += LatenessOf(from, to, time);
    });
    return lateness;
  }

  // Returns the lateness that a share `percentile` of the waits that end on the
  // grid does not exceed.
  double LatenessAt(double percentile) const {
    std::vector<std::pair<double, double>> parts;  // Lateness and mass.
    ForEachStep([&](size_t from, size_t to, double time) {
      for (size_t cell = from; cell < to; ++cell) {
        parts.emplace_back(time - (times_[cell] + times_[cell + 1]) / 2,
                           ended_[cell + 1] - ended_[cell]);
      }
    });
    std::sort(parts.begin(), parts.end());
    double left = percentile * ended_[size_];
    for (const auto& [lateness, mass] : parts) {
      left -= mass;
      if (left <= 0) return lateness;
    }
    return parts.empty() ? 0 : parts.back().first;
  }

  // Returns the expected value of `function` of the duration, for durations
  // that end on the grid.
  double Expect(absl::FunctionRef<double(double)> function) const {
    double sum = 0;
    for (size_t i = 0; i < size_; ++i) {
      sum += (ended_[i + 1] - ended_[i]) *
             function((times_[i] + times_[i + 1]) / 2);
    }
    return sum;
  }

  double EndOfGrid() const { return times_[size_]; }

  void WriteTo(PollPlan& plan) const {
    PollTable& table = plan.table;
    table.max_ratio = static_cast<float>(max_ratio_);
    table.first = static_cast<float>(First());
    table.max_root_step = looks_.max_root_step;
    table.wanted_earliest = TimeAt(wanted_.low);
    table.wanted_latest = TimeAt(wanted_.high);
    table.end = static_cast<float>(times_[size_]);
    table.size = static_cast<int32_t>(size_);
    for (size_t i = 0; i < size_; ++i) {
      table.rows[i] = {.from = static_cast<float>(times_[i]),
                       .earliest = TimeAt(next_[i].low),
                       .latest = TimeAt(next_[i].high)};
    }
    double last = 0;
    double delay = 0;
    ForEachStep([&](size_t, size_t, double time) {
      plan.times.push_back(static_cast<float>(time));
      delay = time - std::exchange(last, time);
    });
    table.last_delay = static_cast<float>(delay);
    plan.polls = Polls();
    plan.lateness = Lateness();
    plan.seconds_of_delay_worth_one_poll = 1 / polls_per_second_;
  }

 private:
  // Returns the `max_root_step` with which there are about `looks` early looks.
  // The first ones keep the limit of the ratio, and the others the limit of the
  // root.
  float RootStepFor(double looks) const {
    const double last = std::sqrt(times_[wanted_.high]);
    const double step_of_one = std::sqrt(max_ratio_) - 1;
    // Between `low` and `high` is the root of the time at which both limits
    // reach equally far. Beyond `high`, more steps by the ratio would save
    // none.
    double low = std::sqrt(first_);
    double high = last * std::log(max_ratio_) / (2 * step_of_one);
    for (int round = 0; round < kBisections; ++round) {
      const double root = (low + high) / 2;
      const double count =
          std::log2(root * root / first_) / std::log2(max_ratio_) +
          (last - root) / (step_of_one * root);
      (count > looks ? low : high) = root;
    }
    return static_cast<float>(step_of_one * high);
  }

  // Returns when a poll at an edge comes.
  float TimeAt(size_t edge) const {
    return static_cast<float>(times_[edge] * (1 + kRounding));
  }

  // Probability that the operation has not ended at an edge.
  double Waiting(size_t edge) const { return 1 - ended_[edge]; }

  // Expected lateness of ends between two edges, with a poll at `time`.
  double LatenessOf(size_t from, size_t to, double time) const {
    return (ended_[to] - ended_[from]) * time - (moments_[to] - moments_[from]);
  }

  // Expected cost of a poll at `to` that follows one at `from`, and of all
  // later polls.
  double CostOf(size_t from, size_t to) const {
    return Waiting(from) +
           polls_per_second_ * LatenessOf(from, to, times_[to]) + costs_[to];
  }

  // Finds the best poll after one at edge `from`, at edge `last` or before, and
  // the polls up to edge `limit` that are nearly as good.
  void SolveFrom(size_t from, size_t last, size_t limit) {
    const double waiting = Waiting(from);
    double best = std::numeric_limits<double>::infinity();
    Window window;
    for (size_t to = from + 1; to <= last; ++to) {
      const double late = polls_per_second_ * LatenessOf(from, to, times_[to]);
      const double cost = waiting + late + costs_[to];
      if (cost < best) {
        best = cost;
        window.best = to;
      } else if (late > best) {
        break;  // Lateness only grows.
      }
    }
    costs_[from] = best;
    // Polls around the best one that cost little more are as good.
    const double most = best + kJitterCost * waiting;
    window.low = window.high = window.best;
    const double reach = kJitterWidth * (times_[window.best] - times_[from]);
    while (window.low - 1 > from && CostOf(from, window.low - 1) <= most &&
           times_[window.low - 1] >= times_[window.best] - reach) {
      --window.low;
    }
    while (window.high < limit && CostOf(from, window.high + 1) <= most &&
           times_[window.high + 1] <= times_[window.best] + reach) {
      ++window.high;
    }
    next_[from] = window;
  }

  // Polls by their edges: the best one, and the polls that cost little more.
  struct Window {
    size_t best = 0;
    size_t low = 0;
    size_t high = 0;
  };

  size_t size_ = 0;
  const double max_ratio_;
  double polls_per_second_ = 1;
  double first_ = 0;
  EarlyLooks looks_;             // From `first_`.
  Window wanted_;                // The first poll that the model wants.
  std::vector<double> times_;    // Edges of the grid.
  std::vector<double> ended_;    // Probability of an end before the edge.
  std::vector<double> moments_;  // The same, weighted by the times.
  std::vector<double> costs_;    // Expected, of all polls after it.
  std::vector<Window> next_;     // The polls after one at the edge.
  std::vector<size_t> limits_;   // The last edges that may follow each.
};

// Expected, of one wait.
struct WaitCost {
  double polls;     // With the one at the start.
  double lateness;  // In seconds.
};

// Returns the cost of an operation that ends at `duration` seconds and is
// polled by the default backoff of `WaitOptions`.
WaitCost FollowDefaultCurve(double duration) {
  static const Backoff& backoff = *new Backoff(BackoffOptions());
  // With equal jitter a delay is uniform on [c / 2, c]. An end within it is
  // late by half of its mean square over its mean.
  constexpr double kMean = 3.0 / 4;
  constexpr double kMeanSquare = 7.0 / 12;
  const auto ceiling_of = [](int64_t n) {
    return std::chrono::duration<double>(backoff.Ceiling(n)).count();
  };
  int64_t delays = 1;
  double ceiling = ceiling_of(delays);
  double poll = kMean * ceiling;
  while (poll < duration) {
    const double next = ceiling_of(delays + 1);
    if (next <= ceiling) break;  // At the cap.
    ++delays;
    ceiling = next;
    poll += kMean * ceiling;
  }
  const double lateness = ceiling * kMeanSquare / (2 * kMean);
  const double left = std::max(duration + lateness - poll, 0.0);
  return {.polls = static_cast<double>(1 + delays) + left / (kMean * ceiling),
          .lateness = lateness};
}

// Returns the largest worth of a poll for which `is_low` holds, and the next
// larger one that was tried. A cheaper poll means more polls and less lateness.
std::pair<double, double> Boundary(Planner& planner,
                                   absl::FunctionRef<bool()> is_low) {
  double low = std::log2(planner.EndOfGrid()) - 30;
  double high = low + 40;
  for (int round = 0; round < kBisections; ++round) {
    const double middle = (low + high) / 2;
    planner.Solve(std::exp2(middle));
    (is_low() ? low : high) = middle;
  }
  return {std::exp2(low), std::exp2(high)};
}

// Solves for a plan that is early enough with about as few polls as possible.
void SolveForLateness(Planner& planner, absl::FunctionRef<bool()> is_early) {
  double high = std::log2(Boundary(planner, is_early).first);
  double low = high - 8;
  planner.Solve(std::exp2(high));
  const double most_polls = planner.Polls() * (1 + kPollsForLateness);
  for (int round = 0; round < kLateBisections; ++round) {
    const double middle = (low + high) / 2;
    planner.Solve(std::exp2(middle));
    (planner.Polls() <= most_polls ? high : low) = middle;
  }
  planner.Solve(std::exp2(high));
}

// Solves for the target of the options.
void SolveFor(Planner& planner, const LearnedDelaysOptions& options) {
  if (options.seconds_of_delay_worth_one_poll.has_value()) {
    return planner.Solve(*options.seconds_of_delay_worth_one_poll);
  }
  if (options.expected_polls.has_value()) {
    const double most = *options.expected_polls;
    return planner.Solve(
        Boundary(planner, [&] { return planner.Polls() > most; }).second);
  }
  if (options.max_lateness.has_value()) {
    const double most = absl::ToDoubleSeconds(*options.max_lateness);
    return SolveForLateness(planner, [&] {
      return planner.LatenessAt(options.percentile) <= most;
    });
  }
  const double most = planner.Expect(
      [](double duration) { return FollowDefaultCurve(duration).lateness; });
  SolveForLateness(planner, [&] { return planner.Lateness() <= most; });
}

bool HasDefaultTarget(const LearnedDelaysOptions& options) {
  return !options.seconds_of_delay_worth_one_poll.has_value() &&
         !options.expected_polls.has_value() &&
         !options.max_lateness.has_value();
}

// Returns whether the default backoff makes fewer polls. It does if the
// durations are so long and so different that the rows of a table are too far
// apart.
bool IsDefaultCurveBetter(const Planner& planner) {
  const double polls = planner.Expect(
      [](double duration) { return FollowDefaultCurve(duration).polls; });
  return polls <= planner.Polls();
}

// Returns the weight of an estimate in decisions: none with two ends, all with
// `min_observations`.
float WeightOf(const DurationEstimate& estimate,
               const LearnedDelaysOptions& options) {
  constexpr double kNone = 2;
  return static_cast<float>(
      std::clamp((estimate.effective_ends - kNone) /
                     (static_cast<double>(options.min_observations) - kNone),
                 0.0, 1.0));
}

}  // namespace

PollPlan PlanPolls(const DurationEstimate& estimate,
                   const LearnedDelaysOptions& options) {
  PollPlan plan;
  const float weight = WeightOf(estimate, options);
  if (weight <= 0) return plan;
  Planner planner(estimate, 1 + options.max_relative_lateness);
  SolveFor(planner, options);
  if (HasDefaultTarget(options) && IsDefaultCurveBetter(planner)) return plan;
  // If the options ask for a number of polls, none is added.
  if (!options.expected_polls.has_value()) planner.AddEarlyLooks();
  planner.WriteTo(plan);
  plan.table.weight = weight;
  plan.table.exploration = static_cast<float>(options.exploration);
  if (estimate.trust_in_past < 0.5 && options.exploration > 0) {
    plan.table.exploration =
        std::max(plan.table.exploration, kExplorationAfterChange);
  }
  return plan;
}

}  // namespace waiter::internal
