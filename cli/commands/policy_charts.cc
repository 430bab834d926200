// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/policy_charts.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/charts/chart.h"
#include "cli/sim/plan.h"
#include "cli/sim/quantile.h"
#include "cli/sim/trade_off.h"

namespace waiter::cli {
namespace {

// Number of points of a curve, and the share where it ends: the longest one in
// a hundred would leave no room for the others.
constexpr int kCurvePoints = 200;
constexpr double kLastShare = 0.99;

void AddCurve(std::string_view line, std::vector<absl::Duration> times,
              charts::Chart& chart) {
  std::sort(times.begin(), times.end());
  const auto add = [&](absl::Duration time, double share) {
    chart.Add(
        "shares",
        {{"line", line}, {"t", absl::ToDoubleSeconds(time)}, {"share", share}});
  };
  add(absl::ZeroDuration(), 0);
  for (int i = 1; i <= kCurvePoints; ++i) {
    const double share = kLastShare * i / kCurvePoints;
    const absl::Duration time = sim::Quantile(times, share);
    if (time == absl::InfiniteDuration()) break;
    add(time, share);
  }
}

std::string KindOf(const sim::TradeOff& point) {
  if (point.name == kGivenPolicy || point.name == kProposal) return point.name;
  return point.on_front ? "Pareto front" : "other policies";
}

}  // namespace

charts::Chart ScheduleChart(absl::Span<const NamedPlan> plans,
                            absl::Duration horizon) {
  charts::Chart chart("schedule");
  for (const auto& [name, plan] : plans) {
    for (size_t i = 0; i < plan.polls.size(); ++i) {
      const sim::PlannedPoll& poll = plan.polls[i];
      if (poll.p5 > horizon) break;
      const bool in_example =
          i < plan.example.size() && plan.example[i] <= horizon;
      chart.Add("polls",
                {{"policy", name},
                 {"attempt", poll.attempt},
                 {"t", in_example ? absl::ToDoubleSeconds(plan.example[i])
                                  : std::numeric_limits<double>::quiet_NaN()},
                 {"p5", absl::ToDoubleSeconds(poll.p5)},
                 {"p95", absl::ToDoubleSeconds(std::min(poll.p95, horizon))}});
    }
  }
  return chart;
}

charts::Chart CumulativeChart(absl::Span<const NamedPlan> plans,
                              absl::Duration horizon) {
  charts::Chart chart("cumulative");
  for (const auto& [name, plan] : plans) {
    for (const sim::PlannedPoll& poll : plan.polls) {
      if (poll.p50 > horizon || poll.reached < 0.5) break;
      chart.Add("polls",
                {{"policy", name},
                 {"attempt", poll.attempt},
                 {"p5", absl::ToDoubleSeconds(poll.p5)},
                 {"p50", absl::ToDoubleSeconds(poll.p50)},
                 {"p95", absl::ToDoubleSeconds(std::min(poll.p95, horizon))}});
    }
  }
  return chart;
}

charts::Chart TradeOffChart(absl::Span<const sim::TradeOff> points,
                            absl::Duration poll_cost) {
  charts::Chart chart("trade_off");
  std::vector<double> costs;
  double fewest = std::numeric_limits<double>::infinity();
  double most = 0;
  double least_delay = std::numeric_limits<double>::infinity();
  const double seconds_per_poll = absl::ToDoubleSeconds(poll_cost);
  for (const sim::TradeOff& point : points) {
    if (point.p95_delay == absl::InfiniteDuration()) continue;
    const double p95 = absl::ToDoubleSeconds(point.p95_delay);
    chart.Add("policies", {{"policy", point.name},
                           {"kind", KindOf(point)},
                           {"polls", point.mean_polls},
                           {"p50", absl::ToDoubleSeconds(point.p50_delay)},
                           {"p95", p95},
                           {"missed", point.missed},
                           {"front", point.on_front}});
    fewest = std::min(fewest, point.mean_polls);
    most = std::max(most, point.mean_polls);
    least_delay = std::min(least_delay, p95);
    costs.push_back(point.mean_polls * seconds_per_poll + p95);
  }
  if (costs.empty()) return chart;
  std::sort(costs.begin(), costs.end());
  for (const double share : {0.0, 0.5, 0.8}) {
    const double cost = sim::Quantile(costs, share);
    for (int i = 0; i <= 60; ++i) {
      const double polls = fewest + (most - fewest) * i * i / 3600;
      const double p95 = cost - polls * seconds_per_poll;
      if (p95 < least_delay) break;
      chart.Add("costs", {{"cost", cost}, {"polls", polls}, {"p95", p95}});
    }
  }
  return chart;
}

charts::Chart DetectionChart(absl::Span<const NamedWaits> policies) {
  charts::Chart chart("detection");
  for (const NamedWaits& policy : policies) {
    std::vector<absl::Duration> ready_times;
    std::vector<absl::Duration> detected_times;
    for (const sim::PlayedWait& wait : policy.waits) {
      ready_times.push_back(wait.ready);
      detected_times.push_back(wait.detected);
    }
    // All policies meet the same draws, so one curve is enough.
    if (&policy == &policies.front()) AddCurve("ready", ready_times, chart);
    AddCurve("seen: " + policy.name, detected_times, chart);
  }
  return chart;
}

}  // namespace waiter::cli
