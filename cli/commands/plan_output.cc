// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/plan_output.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "charts/chart.h"
#include "cli/text/time_text.h"
#include "json/json.h"
#include "sim/plan.h"
#include "sim/trade_off.h"

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
  return absl::StrCat(text, "* no other has fewer polls and is no later\n\n");
}

charts::ChartRow PollRow(const sim::PlannedPoll& poll) {
  charts::ChartRow row;
  row.Number("attempt", static_cast<double>(poll.attempt))
      .Number("shortest_delay_ms",
              absl::ToDoubleMilliseconds(poll.shortest_delay))
      .Number("longest_delay_ms",
              absl::ToDoubleMilliseconds(poll.longest_delay))
      .Number("p5_ms", absl::ToDoubleMilliseconds(poll.p5))
      .Number("p50_ms", absl::ToDoubleMilliseconds(poll.p50))
      .Number("p95_ms", absl::ToDoubleMilliseconds(poll.p95))
      .Number("reached", poll.reached);
  return row;
}

charts::ChartRow TradeOffRow(const sim::TradeOff& point) {
  charts::ChartRow row;
  row.Text("policy", point.name)
      .Number("mean_polls", point.mean_polls)
      .Number("mean_delay_ms", absl::ToDoubleMilliseconds(point.mean_delay))
      .Number("p50_delay_ms", absl::ToDoubleMilliseconds(point.p50_delay))
      .Number("p95_delay_ms", absl::ToDoubleMilliseconds(point.p95_delay))
      .Number("missed", point.missed)
      .Boolean("on_front", point.on_front);
  return row;
}

// A JSON array of what `to_row` makes of each item.
template <typename Item>
std::string Rows(const std::vector<Item>& items,
                 charts::ChartRow (*to_row)(const Item& item)) {
  return absl::StrCat("[",
                      absl::StrJoin(items, ",",
                                    [&](std::string* out, const Item& item) {
                                      absl::StrAppend(out,
                                                      to_row(item).ToJson());
                                    }),
                      "]");
}

}  // namespace

std::string PlanText(const PlannedPolicy& planned, int rows) {
  std::string text;
  if (planned.ready.has_value()) {
    absl::StrAppend(&text, "what takes ", planned.ready->ToString(), "\n\n",
                    TradeOffText(Sorted(planned.points)),
                    "proposal: ", planned.proposal, "\n\n");
  }
  const sim::Plan& plan = planned.plan;
  const absl::Duration end = planned.timeout == absl::InfiniteDuration()
                                 ? plan.example.back()
                                 : planned.timeout;
  return absl::StrCat(
      text, sim::PlanTable(plan, rows),
      absl::StrFormat("\n0 %s %s\n", sim::Timeline(plan.example, end, 64),
                      TimeText(end)),
      absl::StrFormat("%.1f polls%s in a wait that goes on to its end\n",
                      plan.mean_polls, plan.cut_off ? " or more" : ""));
}

std::string PlanJson(const PlannedPolicy& planned) {
  const sim::Plan& plan = planned.plan;
  std::string json = absl::StrCat(
      R"({"v":1,"policy":)", QuoteJson(planned.name), R"(,"timeout_ms":)",
      JsonNumber(absl::ToDoubleMilliseconds(planned.timeout)),
      R"(,"mean_polls":)", JsonNumber(plan.mean_polls), R"(,"cut_off":)",
      plan.cut_off ? "true" : "false", R"(,"example_ms":[)",
      absl::StrJoin(plan.example, ",",
                    [](std::string* out, absl::Duration poll) {
                      absl::StrAppend(
                          out, JsonNumber(absl::ToDoubleMilliseconds(poll)));
                    }),
      R"(],"polls":)", Rows(plan.polls, PollRow));
  if (planned.ready.has_value()) {
    absl::StrAppend(&json, R"(,"ready":)", QuoteJson(planned.ready->ToString()),
                    R"(,"proposal":)", QuoteJson(planned.proposal),
                    R"(,"trade_offs":)",
                    Rows(Sorted(planned.points), TradeOffRow));
  }
  return absl::StrCat(json, "}\n");
}

}  // namespace waiter::cli
