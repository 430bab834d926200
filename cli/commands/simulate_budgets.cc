// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/simulate_budgets.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/charts/chart.h"
#include "cli/commands/chart_output.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/sim/budgets.h"
#include "cli/sim/network.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

struct LimitersRun {
  std::string limiters;
  sim::BudgetsRun run;
};

struct BudgetsArguments {
  sim::BudgetsOptions options;
  ChartOutput charts;
  uint64_t seed = 1;
  bool json = false;
};

Flags::Reader ReadNumber(double& value) {
  return [&value](std::string_view text) {
    return absl::SimpleAtod(text, &value) && std::isfinite(value)
               ? absl::OkStatus()
               : absl::InvalidArgumentError("it must be a number");
  };
}

Flags BudgetsFlags(BudgetsArguments& arguments) {
  Flags flags("waiter simulate budgets", "[FLAG...]",
              "Simulates processes that poll one API, each with its own "
              "limiter, and then all\nwith one shared limiter.");
  sim::BudgetsOptions& options = arguments.options;
  flags.Add("processes", "100", "number of processes", options.processes, 1,
            1000);
  flags.Add("busy", "40", "processes that have waits at the start",
            options.busy, 0, 1000);
  flags.Add("waits", "10", "waits of each busy process", options.waits, 1,
            1000);
  flags.Add("every", "1s", "mean time between the polls of a wait",
            options.every);
  flags.Add("polls-per-second", "100", "rate limit of the API",
            ReadNumber(options.polls_per_second));
  flags.Add("burst", "100", "polls that the API accepts at once after a pause",
            ReadNumber(options.burst));
  flags.Add("duration", "4m", "time to simulate", options.duration);
  flags.Add("events", "60s:move:40,...",
            "what happens, or none; default all kinds",
            Flags::Into(sim::ParseBudgetEvents, options.events));
  flags.Add("network", "10ms", "mean network latency, one way",
            options.network.mean);
  flags.Add("seed", "1", "equal seeds give equal runs", arguments.seed);
  flags.AddSwitch("json", "print the numbers as one JSON object",
                  arguments.json);
  arguments.charts.AddTo(flags, {"budgets"});
  flags.SetNotes(
      "Events are TIME:store-lost, TIME:store-back, TIME:join:N, TIME:die:N "
      "and\nTIME:move:N, which moves the waits of N processes to others.\n");
  return flags;
}

// Returns the events at which a phase begins.
std::vector<std::string> EventsAt(const sim::BudgetsOptions& options,
                                  absl::Duration time) {
  std::vector<std::string> events;
  for (const sim::BudgetEvent& event : options.events) {
    if (event.time == time) events.push_back(event.ToString());
  }
  return events;
}

void PrintTables(absl::Span<const LimitersRun> runs,
                 const sim::BudgetsOptions& options, std::ostream& out) {
  out << absl::StrFormat("%-18s %8s %8s %10s %8s %9s %13s\n", "limiters",
                         "polls/s", "most/s", "throttled", "used", "fairness",
                         "store calls/s");
  const double seconds = absl::ToDoubleSeconds(options.duration);
  for (const auto& [limiters, run] : runs) {
    const auto polls = static_cast<double>(run.total.polls);
    out << absl::StrFormat(
        "%-18s %8.1f %8d %8.1f %% %6.1f %% %9.3f %13.1f\n", limiters,
        polls / seconds, sim::PeakPolls(run.seconds),
        100 * run.total.throttled_share(), 100 * run.total.used,
        run.total.fairness, run.store_calls_per_second);
  }

  out << absl::StrFormat("\n%-20s", "used, throttled (%)");
  for (const auto& [limiters, run] : runs) {
    const size_t comma = limiters.find(',');
    out << absl::StrFormat("%11s", limiters.substr(0, comma));
  }
  out << absl::StrFormat("\n%-20s", "from");
  for (const auto& [limiters, run] : runs) {
    const size_t comma = limiters.find(',');
    out << absl::StrFormat(
        "%11s", comma == std::string::npos ? "" : limiters.substr(comma + 2));
  }
  for (size_t i = 0; i < runs[0].run.phases.size(); ++i) {
    const std::string events =
        absl::StrJoin(EventsAt(options, runs[0].run.phases[i].begin), " ");
    out << absl::StrFormat("\n%-20s", events.empty() ? "0s" : events);
    for (const LimitersRun& named : runs) {
      const sim::BudgetsPart& phase = named.run.phases[i];
      out << absl::StrFormat("%11s",
                             absl::StrFormat("%.0f, %.0f", 100 * phase.used,
                                             100 * phase.throttled_share()));
    }
  }
  out << "\n";
}

nlohmann::ordered_json PartJson(const sim::BudgetsPart& part,
                                const sim::BudgetsOptions& options) {
  return {{"begin_ms", JsonMilliseconds(part.begin)},
          {"end_ms", JsonMilliseconds(part.end)},
          {"events", EventsAt(options, part.begin)},
          {"polls", part.polls},
          {"throttled", part.throttled},
          {"used", JsonNumber(part.used)},
          {"fairness", JsonNumber(part.fairness)}};
}

std::string BudgetsJson(absl::Span<const LimitersRun> runs,
                        const BudgetsArguments& arguments) {
  const sim::BudgetsOptions& options = arguments.options;
  nlohmann::ordered_json all = {
      {"v", 1},
      {"processes", options.processes},
      {"busy", options.busy},
      {"waits", options.waits},
      {"every_ms", JsonMilliseconds(options.every)},
      {"polls_per_second", JsonNumber(options.polls_per_second)},
      {"burst", JsonNumber(options.burst)},
      {"duration_ms", JsonMilliseconds(options.duration)},
      {"seed", arguments.seed},
      {"limiters", nlohmann::ordered_json::array()}};
  for (const auto& [limiters, run] : runs) {
    nlohmann::ordered_json phases = nlohmann::ordered_json::array();
    for (const sim::BudgetsPart& phase : run.phases) {
      phases.push_back(PartJson(phase, options));
    }
    std::vector<int64_t> polls;
    std::vector<int64_t> throttled;
    for (const sim::PollCounts& second : run.seconds) {
      polls.push_back(second.polls);
      throttled.push_back(second.throttled);
    }
    nlohmann::ordered_json total = PartJson(run.total, options);
    total.erase("events");
    all["limiters"].push_back(
        {{"limiters", limiters},
         {"total", std::move(total)},
         {"peak_polls", sim::PeakPolls(run.seconds)},
         {"store_calls_per_second", JsonNumber(run.store_calls_per_second)},
         {"phases", std::move(phases)},
         {"polls", polls},
         {"throttled", throttled}});
  }
  return absl::StrCat(JsonText(all), "\n");
}

std::string EventText(const sim::BudgetEvent& event) {
  switch (event.kind) {
    case sim::BudgetEvent::Kind::kStoreLost:
      return "store lost";
    case sim::BudgetEvent::Kind::kStoreBack:
      return "store back";
    case sim::BudgetEvent::Kind::kJoin:
      return absl::StrCat(event.processes, " join");
    case sim::BudgetEvent::Kind::kDie:
      return absl::StrCat(event.processes, " die");
    case sim::BudgetEvent::Kind::kMove:
      break;
  }
  return absl::StrCat("load of ", event.processes, " moves");
}

charts::Chart BudgetsChart(absl::Span<const LimitersRun> runs,
                           const sim::BudgetsOptions& options) {
  charts::Chart chart("budgets");
  for (const auto& [limiters, run] : runs) {
    for (size_t i = 0; i < run.seconds.size(); ++i) {
      chart.Add("seconds", {{"limiters", limiters},
                            {"second", i},
                            {"polls", run.seconds[i].polls},
                            {"throttled", run.seconds[i].throttled}});
    }
  }
  for (const sim::BudgetEvent& event : options.events) {
    chart.Add("events", {{"second", absl::ToDoubleSeconds(event.time)},
                         {"event", EventText(event)}});
  }
  chart.Add("limit", {{"polls", options.polls_per_second}});
  return chart;
}

std::string BudgetsScenario(const sim::BudgetsOptions& options) {
  return absl::StrCat(
      options.busy, " of ", options.processes, " processes have ",
      options.waits, " waits each, which poll every ",
      absl::FormatDuration(options.every), " on average;\nthe API accepts ",
      options.polls_per_second, " polls per second");
}

}  // namespace

std::vector<std::string> BudgetsFlagNames() {
  BudgetsArguments arguments;
  return BudgetsFlags(arguments).Names();
}

absl::Status SimulateBudgetsCommand(const Invocation& invocation) {
  BudgetsArguments arguments;
  Flags flags = BudgetsFlags(arguments);
  absl::Status parsed =
      flags.ParseFlagsOnly(invocation.args, invocation.environment);
  if (flags.ShowHelp(invocation.out)) return absl::OkStatus();
  if (!parsed.ok()) return parsed;
  sim::BudgetsOptions& options = arguments.options;
  options.network.deviation = options.network.mean / 5;
  if (!flags.Given("events")) {
    options.events = sim::DefaultBudgetEvents(options);
  }

  std::vector<LimitersRun> runs;
  for (const sim::Limiting limiting : sim::AllLimiting()) {
    absl::StatusOr<sim::BudgetsRun> run =
        sim::SimulateBudgets(options, limiting, arguments.seed);
    if (!run.ok()) return run.status();
    runs.push_back({std::string(sim::ToString(limiting)), *std::move(run)});
  }
  if (arguments.json) {
    invocation.out << BudgetsJson(runs, arguments);
  } else {
    invocation.out << BudgetsScenario(options) << "\n\n";
    PrintTables(runs, options, invocation.out);
  }
  return arguments.charts.Write({BudgetsChart(runs, options)}, flags,
                                BudgetsScenario(options));
}

}  // namespace waiter::cli
