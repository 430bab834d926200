// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/plan_output.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/sim/plan.h"
#include "cli/sim/trade_off.h"
#include "cli/text/json.h"
#include "cli/text/time_text.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

// Returns `points`, ordered by their mean number of polls.
std::vector<sim::TradeOff> Sorted(std::vector<sim::TradeOff> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const sim::TradeOff& a, const sim::TradeOff& b) {
                     return a.mean_polls < b.mean_polls;
                   });
  return points;
}

std::string TradeOffText(const std::vector<sim::TradeOff>& points) {
  std::string text =
      absl::StrFormat("  %-26s %7s %12s %12s %8s\n", "policy", "polls",
                      "late, median", "late, 95 %", "missed");
  for (const sim::TradeOff& point : points) {
    absl::StrAppendFormat(&text, "%s %-26s %7.1f %12s %12s %6.1f %%\n",
                          point.on_front ? "*" : " ", point.name,
                          point.mean_polls, TimeText(point.p50_delay),
                          TimeText(point.p95_delay), 100 * point.missed);
  }
  return absl::StrCat(text,
                      "polls: mean per wait; late: time from ready to the poll "
                      "that finds it;\nmissed: waits that reach their limit "
                      "first; *: any policy with fewer polls\nis later\n\n");
}

nlohmann::ordered_json PollRow(const sim::PlannedPoll& poll) {
  return {{"attempt", poll.attempt},
          {"shortest_delay_ms", JsonMilliseconds(poll.shortest_delay)},
          {"longest_delay_ms", JsonMilliseconds(poll.longest_delay)},
          {"p5_ms", JsonMilliseconds(poll.p5)},
          {"p50_ms", JsonMilliseconds(poll.p50)},
          {"p95_ms", JsonMilliseconds(poll.p95)},
          {"reached", JsonNumber(poll.reached)}};
}

nlohmann::ordered_json TradeOffRow(const sim::TradeOff& point) {
  return {{"policy", point.name},
          {"mean_polls", JsonNumber(point.mean_polls)},
          {"mean_delay_ms", JsonMilliseconds(point.mean_delay)},
          {"p50_delay_ms", JsonMilliseconds(point.p50_delay)},
          {"p95_delay_ms", JsonMilliseconds(point.p95_delay)},
          {"missed", JsonNumber(point.missed)},
          {"on_front", point.on_front}};
}

// An array of what `to_json` makes of each item.
template <typename Item, typename ToJson>
nlohmann::ordered_json Array(const std::vector<Item>& items, ToJson to_json) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Item& item : items) array.push_back(to_json(item));
  return array;
}

// Returns the part about durations of the operation, which are known.
std::string ComparisonText(const PlannedPolicy& planned) {
  const absl::Duration median = planned.ready->Median();
  std::string text = absl::StrCat(PlanScenario(planned), ":\n\n",
                                  TradeOffText(Sorted(planned.points)),
                                  "proposal: ", planned.proposal, "\n\n");
  if (planned.timeout < median) {
    absl::StrAppend(&text, "The limit of ", TimeText(planned.timeout),
                    " is shorter than half of these durations, so most waits "
                    "miss it; raise --timeout.\n\n");
  }
  return text;
}

}  // namespace

std::string DurationsText(const sim::DurationDistribution& durations) {
  const std::string median = TimeText(durations.Median());
  const std::string text = durations.ToString();
  return text == median ? median
                        : absl::StrCat(median, " (median; the distribution is ",
                                       text, ")");
}

std::string PlanScenario(const PlannedPolicy& planned) {
  return planned.ready.has_value()
             ? absl::StrCat("policies for an operation that takes ",
                            DurationsText(*planned.ready))
             : std::string();
}

std::string PlanText(const PlannedPolicy& planned, int rows) {
  std::string text = planned.ready.has_value() ? ComparisonText(planned) : "";
  const sim::Plan& plan = planned.plan;
  const absl::Duration end = planned.timeout == absl::InfiniteDuration()
                                 ? plan.example.back()
                                 : planned.timeout;
  return absl::StrCat(
      text, sim::PlanTable(plan, rows),
      absl::StrFormat("\none wait, with | for a poll and # for several:\n"
                      "0 %s %s\n",
                      sim::Timeline(plan.example, end, 64), TimeText(end)),
      absl::StrFormat(
          "a wait that reaches its limit makes %.1f polls%s on average\n",
          plan.mean_polls, plan.cut_off ? " or more" : ""));
}

std::string PlanJson(const PlannedPolicy& planned) {
  const sim::Plan& plan = planned.plan;
  nlohmann::ordered_json json = {
      {"v", 1},
      {"policy", planned.name},
      {"timeout_ms", JsonMilliseconds(planned.timeout)},
      {"mean_polls", JsonNumber(plan.mean_polls)},
      {"cut_off", plan.cut_off},
      {"example_ms", Array(plan.example, JsonMilliseconds)},
      {"polls", Array(plan.polls, PollRow)}};
  if (planned.ready.has_value()) {
    json["ready"] = planned.ready->ToString();
    json["proposal"] = planned.proposal;
    json["trade_offs"] = TradeOffsJson(planned.points);
  }
  return JsonText(json) + "\n";
}

nlohmann::ordered_json TradeOffsJson(const std::vector<sim::TradeOff>& points) {
  return Array(Sorted(points), TradeOffRow);
}

}  // namespace waiter::cli
