// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/learned_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/charts/chart.h"
#include "cli/commands/plan_output.h"
#include "cli/commands/policy_charts.h"
#include "cli/commands/read_durations.h"
#include "cli/sim/plan.h"
#include "cli/sim/trade_off.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "cli/text/time_text.h"
#include "nlohmann/json.hpp"
#include "waiter/backoff.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"

namespace waiter::cli {
namespace {

constexpr std::array kShares = {0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
constexpr int kWaits = 1000;
constexpr int kTimelineColumns = 64;

double KnownShare(const LearnedSchedule& schedule) {
  return schedule.distribution.empty()
             ? 0
             : schedule.distribution.back().probability;
}

// Returns the time by which a share of the operations has ended; infinite if
// that is longer than all known durations.
absl::Duration TimeAt(const LearnedSchedule& schedule, double share) {
  const std::vector<LearnedSchedule::Point>& points = schedule.distribution;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].probability < share) continue;
    if (i == 0) return points[i].time;
    const LearnedSchedule::Point& before = points[i - 1];
    const double part = (share - before.probability) /
                        (points[i].probability - before.probability);
    return before.time + (points[i].time - before.time) * part;
  }
  return absl::InfiniteDuration();
}

// Returns the share of the operations that has ended by a time.
double ShareBy(const LearnedSchedule& schedule, absl::Duration time) {
  double share = 0;
  for (const LearnedSchedule::Point& point : schedule.distribution) {
    if (point.time > time) break;
    share = point.probability;
  }
  return share;
}

// Returns durations that are spread like the known ones.
std::vector<absl::Duration> TypicalDurations(const LearnedSchedule& schedule) {
  std::vector<absl::Duration> durations;
  durations.reserve(kWaits);
  const double known = KnownShare(schedule);
  for (int i = 0; i < kWaits; ++i) {
    durations.push_back(TimeAt(schedule, known * (i + 0.5) / kWaits));
  }
  return durations;
}

// Returns the constant delay with the least cost of polls and lateness.
absl::Duration BestInterval(const std::vector<absl::Duration>& durations,
                            double seconds_worth_one_poll) {
  constexpr int kTries = 400;
  std::vector<double> seconds;
  seconds.reserve(durations.size());
  for (const absl::Duration duration : durations) {
    seconds.push_back(absl::ToDoubleSeconds(duration));
  }
  const double longest = seconds.back();
  double best = longest;
  double least_cost = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kTries; ++i) {
    // From a ten thousandth of the longest duration to all of it.
    const double interval = longest * std::pow(1e-4, 1.0 * i / kTries);
    double cost = 0;
    for (const double time : seconds) {
      const double polls = std::ceil(time / interval);
      cost += polls + (polls * interval - time) / seconds_worth_one_poll;
    }
    if (cost < least_cost) {
      least_cost = cost;
      best = interval;
    }
  }
  return std::max(absl::Milliseconds(1), absl::Seconds(best));
}

sim::NamedPolicy EveryPolicy(absl::Duration interval, const WaitOptions& like) {
  sim::NamedPolicy policy = {
      absl::StrCat("every ", TimeText(interval), " (the best)"), like};
  policy.policy.backoff = {.initial_delay = interval,
                           .max_delay = interval,
                           .multiplier = 1,
                           .jitter = Jitter::None()};
  return policy;
}

// Returns polls and lateness in one number, in polls.
double CostOf(const LearnedPlan& plan, const sim::TradeOff& point) {
  return point.mean_polls + absl::ToDoubleSeconds(point.mean_delay) /
                                plan.schedule.seconds_of_delay_worth_one_poll;
}

int64_t CountEnds(const std::vector<ObservedDuration>& durations) {
  return std::count_if(durations.begin(), durations.end(),
                       [](const ObservedDuration& duration) {
                         return duration.by < absl::InfiniteDuration();
                       });
}

std::string CountText(int64_t durations, int64_t ends) {
  return absl::StrCat(durations, durations == 1 ? " duration" : " durations",
                      ", ", ends, " of them complete");
}

}  // namespace

absl::StatusOr<LearnedPlan> MakeLearnedPlan(const KnownDurations& known,
                                            const std::string& operation,
                                            const LearnedPlanOptions& options) {
  const std::vector<ObservedDuration> durations =
      known.model->Durations(operation);
  if (durations.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no durations of ", operation));
  }
  const absl::StatusOr<std::shared_ptr<LearnedDelays>> delays =
      LearnedDelays::Make(known.model, options.learned);
  if (!delays.ok()) return delays.status();
  LearnedPlan plan = {
      .operation = operation,
      .durations = static_cast<int64_t>(durations.size()),
      .ends = CountEnds(durations),
      .damaged_lines = known.damaged_lines,
      .schedule = (*delays)->Schedule(operation),
  };
  if (plan.schedule.polls.empty() || KnownShare(plan.schedule) <= 0) {
    return plan;
  }
  const std::vector<absl::Duration> ready = TypicalDurations(plan.schedule);
  WaitOptions learned = options.policy;
  learned.operation = operation;
  learned.delay_source = *delays;
  std::vector<sim::NamedPolicy> policies = {{"learned", learned}};
  if (options.is_given) {
    policies.push_back({std::string(kGivenPolicy), options.policy});
  }
  policies.push_back({std::string(sim::kDefaultPolicyName),
                      {.timeout = options.policy.timeout,
                       .max_attempts = options.policy.max_attempts}});
  policies.push_back(EveryPolicy(
      BestInterval(ready, plan.schedule.seconds_of_delay_worth_one_poll),
      policies.back().policy));
  for (sim::NamedPolicy& policy : policies) {
    absl::StatusOr<std::vector<sim::PlayedWait>> waits =
        sim::PlayWaits(policy, ready, options.seed);
    // Years of short delays are too many to play.
    if (!waits.ok() && policy.name != "learned") continue;
    if (!waits.ok()) return waits.status();
    plan.points.push_back(sim::Summarize(policy.name, *waits));
    plan.played.push_back({std::move(policy), *std::move(waits)});
  }
  sim::MarkFront(plan.points);
  return plan;
}

std::string LearnedPlanText(const LearnedPlan& plan, int rows) {
  const LearnedSchedule& schedule = plan.schedule;
  std::string text = absl::StrCat(Printable(plan.operation), ": ",
                                  CountText(plan.durations, plan.ends), "\n");
  if (plan.damaged_lines > 0) {
    absl::StrAppend(&text, plan.damaged_lines,
                    plan.damaged_lines == 1 ? " damaged line was left out\n"
                                            : " damaged lines were left out\n");
  }
  if (!schedule.distribution.empty()) {
    std::string times;
    text += "\nended";
    for (const double share : kShares) {
      const absl::Duration time = TimeAt(schedule, share);
      absl::StrAppendFormat(&text, " %7.0f %%", 100 * share);
      absl::StrAppendFormat(
          &times, " %9s",
          time == absl::InfiniteDuration() ? "later" : TimeText(time));
    }
    absl::StrAppend(&text, "\nafter", times, "\n");
  }
  if (plan.points.empty()) {
    return absl::StrCat(text,
                        "\ntoo few to learn from; until there are more, waits "
                        "use ordinary delays\n");
  }

  absl::StrAppendFormat(&text, "\n%-26s %7s %12s %12s %7s\n", "policy", "polls",
                        "late, mean", "late, 95 %", "cost");
  for (const sim::TradeOff& point : plan.points) {
    absl::StrAppendFormat(&text, "%-26s %7.1f %12s %12s %7.1f\n", point.name,
                          point.mean_polls, TimeText(point.mean_delay),
                          TimeText(point.p95_delay), CostOf(plan, point));
  }
  absl::StrAppend(
      &text, "cost: polls, plus one for each ",
      TimeText(absl::Seconds(schedule.seconds_of_delay_worth_one_poll)),
      " of lateness\n");
  if (schedule.weight < 1) {
    absl::StrAppendFormat(&text,
                          "with so few durations, learned delays have a weight "
                          "of %.0f %%, ordinary delays the rest\n",
                          100 * schedule.weight);
  }

  std::vector<absl::Duration> polls = {absl::ZeroDuration()};
  polls.insert(polls.end(), schedule.polls.begin(), schedule.polls.end());
  absl::StrAppendFormat(&text, "\n%4s %9s  %s\n", "poll", "time",
                        "ended by then");
  for (size_t i = 0; i < polls.size() && i < static_cast<size_t>(rows); ++i) {
    absl::StrAppendFormat(&text, "%4d %9s %8.1f %%\n", i + 1,
                          TimeText(polls[i]),
                          100 * ShareBy(schedule, polls[i]));
  }
  absl::StrAppendFormat(&text, "\n0 %s %s\n",
                        sim::Timeline(polls, polls.back(), kTimelineColumns),
                        TimeText(polls.back()));
  return text;
}

std::string LearnedPlanJson(const LearnedPlan& plan) {
  nlohmann::ordered_json quantiles = nlohmann::ordered_json::array();
  for (const double share : kShares) {
    quantiles.push_back(
        {{"share", share},
         {"ms", JsonMilliseconds(TimeAt(plan.schedule, share))}});
  }
  nlohmann::ordered_json polls = nlohmann::ordered_json::array();
  if (!plan.schedule.polls.empty()) polls.push_back(0);
  for (const absl::Duration time : plan.schedule.polls) {
    polls.push_back(JsonMilliseconds(time));
  }
  const nlohmann::ordered_json json = {
      {"v", 1},
      {"operation", plan.operation},
      {"durations", plan.durations},
      {"ends", plan.ends},
      {"damaged_lines", plan.damaged_lines},
      {"weight", JsonNumber(plan.schedule.weight)},
      {"poll_cost_ms",
       JsonNumber(1000 * plan.schedule.seconds_of_delay_worth_one_poll)},
      {"quantiles", std::move(quantiles)},
      {"polls_ms", std::move(polls)},
      {"trade_offs", TradeOffsJson(plan.points)}};
  return JsonText(json) + "\n";
}

absl::StatusOr<std::vector<charts::Chart>> LearnedPlanCharts(
    const LearnedPlan& plan, uint64_t seed) {
  absl::Duration horizon = plan.schedule.polls.back();
  std::vector<NamedPlan> plans;
  std::vector<NamedWaits> waits;
  for (const PlayedPolicy& played : plan.played) {
    absl::StatusOr<sim::Plan> made = sim::MakePlan(
        played.policy.policy, {.max_polls = 300, .waits = 300, .seed = seed});
    if (!made.ok()) return made.status();
    plans.push_back({played.policy.name, *std::move(made)});
    waits.push_back({played.policy.name, played.waits});
  }
  const absl::Duration poll_cost =
      absl::Seconds(plan.schedule.seconds_of_delay_worth_one_poll);
  return std::vector<charts::Chart>{
      TradeOffChart(plan.points, poll_cost), ScheduleChart(plans, horizon),
      CumulativeChart(plans, horizon), DetectionChart(waits)};
}

std::string OperationsText(const KnownDurations& known) {
  std::string text =
      absl::StrFormat("%9s %9s  %s\n", "durations", "ends", "operation");
  for (const std::string& operation : known.model->Operations()) {
    const std::vector<ObservedDuration> durations =
        known.model->Durations(operation);
    absl::StrAppendFormat(&text, "%9d %9d  %s\n", durations.size(),
                          CountEnds(durations), Printable(operation));
  }
  return text;
}

std::string OperationsJson(const KnownDurations& known) {
  nlohmann::ordered_json operations = nlohmann::ordered_json::array();
  for (const std::string& operation : known.model->Operations()) {
    const std::vector<ObservedDuration> durations =
        known.model->Durations(operation);
    operations.push_back({{"operation", operation},
                          {"durations", durations.size()},
                          {"ends", CountEnds(durations)}});
  }
  return JsonText({{"v", 1}, {"operations", std::move(operations)}}) + "\n";
}

}  // namespace waiter::cli
