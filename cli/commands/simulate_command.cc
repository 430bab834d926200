// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/simulate_command.h"

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
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/charts/chart.h"
#include "cli/commands/chart_output.h"
#include "cli/commands/plan_output.h"
#include "cli/commands/simulate_budgets.h"
#include "cli/commands/simulate_learned.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/flags/policy_flags.h"
#include "cli/run/exit_code.h"
#include "cli/sim/contention_table.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/fleet.h"
#include "cli/sim/network.h"
#include "cli/text/time_text.h"
#include "waiter/backoff.h"
#include "waiter/options.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kSimulateCommand = "waiter simulate";
constexpr std::string_view kSimulateUsage =
    "usage: waiter simulate MODEL [FLAG...]\n"
    "Simulates many clients and the server that they poll.\n"
    "\n"
    "  budgets     processes with and without a shared limit of an API\n"
    "  fleet       clients that poll until something is ready\n"
    "  contention  clients that compete to update one row\n"
    "  learned     waits that learn how long an operation takes\n"
    "\n"
    "waiter simulate MODEL --help shows the flags of a model.\n";

absl::Status ReadClients(std::string_view text, std::vector<int>& clients) {
  clients.clear();
  for (const std::string_view part : absl::StrSplit(text, ',')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' must be a number of clients, at least 1"));
    }
    clients.push_back(number);
  }
  return absl::OkStatus();
}

charts::Chart ContentionChart(absl::Span<const sim::ContentionRow> rows) {
  charts::Chart chart("contention");
  for (const sim::ContentionRow& row : rows) {
    chart.Add("rows", {{"rule", row.rule},
                       {"clients", row.clients},
                       {"calls", row.calls},
                       {"seconds", row.time_ms / 1000}});
  }
  return chart;
}

struct ContentionArguments {
  sim::ContentionTableOptions options;
  ChartOutput charts;
};

Flags ContentionFlags(ContentionArguments& arguments) {
  Flags flags("waiter simulate contention", "[FLAG...]",
              "Simulates clients that compete to update one row, under the "
              "rules of\n\"Exponential Backoff And Jitter\" (AWS Architecture "
              "Blog, 2015).");
  sim::ContentionTableOptions& options = arguments.options;
  flags.Add(
      "clients", "10,50,100", "numbers of clients; default 10, 20, ..., 190",
      [&](std::string_view text) { return ReadClients(text, options.sizes); });
  flags.Add("runs", "100", "runs per rule and number of clients", options.runs,
            1, 1'000'000);
  flags.Add("threads", "1", "threads to run on", options.threads, 1, 256);
  flags.Add("seed", "1", "equal seeds give equal tables", options.seed);
  arguments.charts.AddTo(flags, {"contention"});
  return flags;
}

absl::Status SimulateContention(const Invocation& invocation) {
  ContentionArguments arguments;
  Flags flags = ContentionFlags(arguments);
  absl::Status status =
      flags.ParseFlagsOnly(invocation.args, invocation.environment);
  if (flags.ShowHelp(invocation.out)) return absl::OkStatus();
  if (!status.ok()) return status;

  const absl::StatusOr<std::vector<sim::ContentionRow>> rows =
      sim::SimulateContentionTable(arguments.options);
  if (!rows.ok()) return rows.status();
  const std::string scenario = absl::StrCat(
      "all clients update one row at the same time; means of ",
      arguments.options.runs, arguments.options.runs == 1 ? " run" : " runs");
  invocation.out << scenario << "\n\n"
                 << absl::StrFormat("%7s  %-12s %12s %12s\n", "clients", "rule",
                                    "all done", "calls");
  for (const sim::ContentionRow& row : *rows) {
    invocation.out << absl::StrFormat(
        "%7d  %-12s %12s %12.1f\n", row.clients, row.rule,
        TimeText(absl::Milliseconds(row.time_ms)), row.calls);
  }
  return arguments.charts.Write({ContentionChart(*rows)}, flags, scenario);
}

struct NamedRun {
  std::string name;
  sim::FleetRun run;
};

charts::Chart FleetChart(absl::Span<const NamedRun> runs) {
  charts::Chart chart("fleet");
  for (const auto& [name, run] : runs) {
    for (size_t i = 0; i < run.seconds.size(); ++i) {
      chart.Add("seconds", {{"jitter", name},
                            {"second", i},
                            {"polls", run.seconds[i].polls},
                            {"throttled", run.seconds[i].throttled}});
    }
  }
  return chart;
}

void PrintRuns(absl::Span<const NamedRun> runs, int clients,
               std::ostream& out) {
  out << absl::StrFormat("%-14s %9s %21s %9s %20s %7s\n", "", "polls per",
                         "most polls in a second", "", "from ready to seen",
                         "gave")
      << absl::StrFormat("%-14s %9s %6s %7s %7s %10s %9s %10s %7s\n", "jitter",
                         "client", "of all", "10 s on", "60 s on", "throttled",
                         "median", "95 %", "up");
  for (const auto& [name, run] : runs) {
    out << absl::StrFormat(
        "%-14s %9.1f %6d %7d %7d %8.1f %% %9s %10s %7d\n", name,
        static_cast<double>(run.polls) / clients, sim::PeakPolls(run.seconds),
        sim::PeakPolls(run.seconds, 10), sim::PeakPolls(run.seconds, 60),
        100 * run.throttled_share(), TimeText(run.DetectionDelay(0.5)),
        TimeText(run.DetectionDelay(0.95)), run.gave_up);
  }
}

// The command line of `waiter simulate fleet`.
struct FleetArguments {
  sim::FleetOptions options;
  PolicyFlags policy;
  ChartOutput charts;
  uint64_t seed = 1;
  bool shared_ready = false;
};

Flags FleetFlags(FleetArguments& arguments) {
  Flags flags(
      "waiter simulate fleet", "[FLAG...]",
      "Simulates clients that poll until something is ready, under each "
      "kind of\njitter unless --jitter chooses one.");
  sim::FleetOptions& options = arguments.options;
  flags.Add("clients", "500", "number of clients", options.clients, 1, 100'000);
  flags.Add("polls-per-second", "100",
            "rate that the server accepts; default unlimited",
            [&](std::string_view text) {
              return absl::SimpleAtod(text, &options.server.polls_per_second) &&
                             options.server.polls_per_second > 0
                         ? absl::OkStatus()
                         : absl::InvalidArgumentError(
                               "it must be a number above zero");
            });
  flags.Add("retry-after", "5s",
            "Retry-After of throttled answers; default none",
            options.server.retry_after);
  flags.Add("ready", "lognormal:60s,0.6",
            "time until ready; or 45s, uniform:30s,90s",
            Flags::Into(sim::DurationDistribution::Parse, options.ready_after));
  flags.AddSwitch("shared-ready", "all clients wait for the same operation",
                  arguments.shared_ready);
  flags.Add("start-spread", "10s", "time within which clients start; default 0",
            options.start_spread);
  flags.Add("network", "10ms", "mean network latency, one way",
            options.network.mean);
  flags.Add("seed", "1", "equal seeds give equal runs", arguments.seed);
  arguments.policy.AddTo(flags);
  arguments.charts.AddTo(flags, {"fleet"});
  return flags;
}

std::string FleetScenario(const sim::FleetOptions& options) {
  return absl::StrCat(
      options.clients, " clients wait up to ",
      TimeText(*options.policy.timeout), ", for ",
      options.readiness == sim::FleetOptions::Readiness::kShared
          ? "one operation that takes\n"
          : "operations that take\n",
      DurationsText(options.ready_after), "; the server accepts ",
      std::isfinite(options.server.polls_per_second)
          ? absl::StrCat(options.server.polls_per_second, " polls per second")
          : "all polls");
}

absl::Status SimulateFleets(const Invocation& invocation) {
  FleetArguments arguments;
  Flags flags = FleetFlags(arguments);
  absl::Status status =
      flags.ParseFlagsOnly(invocation.args, invocation.environment);
  if (flags.ShowHelp(invocation.out)) return absl::OkStatus();
  if (!status.ok()) return status;
  const absl::StatusOr<WaitOptions> policy = arguments.policy.Options(flags);
  if (!policy.ok()) return policy.status();
  sim::FleetOptions& options = arguments.options;
  options.policy = *policy;
  options.network.deviation = options.network.mean / 5;
  options.readiness = arguments.shared_ready
                          ? sim::FleetOptions::Readiness::kShared
                          : sim::FleetOptions::Readiness::kOwn;

  std::vector<std::pair<std::string, Jitter>> kinds = {
      {"none", Jitter::None()},
      {"20 %", Jitter::Proportional(0.2)},
      {"equal", Jitter::Equal()},
      {"full", Jitter::Full()},
      {"decorrelated", Jitter::Decorrelated()}};
  if (flags.Given("jitter") || flags.Given("intervals")) {
    kinds = {{"given policy", policy->backoff.jitter}};
  }
  std::vector<NamedRun> runs;
  for (const auto& [name, jitter] : kinds) {
    options.policy.backoff.jitter = jitter;
    absl::StatusOr<sim::FleetRun> run =
        sim::SimulateFleet(options, arguments.seed);
    if (!run.ok()) return run.status();
    runs.push_back({name, *std::move(run)});
  }
  const std::string scenario = FleetScenario(options);
  invocation.out << scenario << "\n\n";
  PrintRuns(runs, options.clients, invocation.out);
  return arguments.charts.Write({FleetChart(runs)}, flags, scenario);
}

absl::Status RunSimulate(const Invocation& invocation) {
  if (invocation.args.empty()) {
    return absl::InvalidArgumentError(
        "give a model, budgets, fleet, contention or learned; see waiter "
        "simulate --help");
  }
  const std::string& model = invocation.args[0];
  if (model == "budgets") {
    return SimulateBudgetsCommand(invocation.AfterFirst());
  }
  if (model == "fleet") return SimulateFleets(invocation.AfterFirst());
  if (model == "contention") {
    return SimulateContention(invocation.AfterFirst());
  }
  if (model == "learned") {
    return SimulateLearnedCommand(invocation.AfterFirst());
  }
  if (model == "--help" || model == "-h" || model == "help") {
    invocation.out << kSimulateUsage;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      model,
      ": no such model; the models are budgets, fleet, contention and "
      "learned"));
}

}  // namespace

std::vector<std::string> SimulateCommand::FlagNames() const {
  FleetArguments fleet;
  ContentionArguments contention;
  std::vector<std::string> names = FleetFlags(fleet).Names();
  for (std::string& name : ContentionFlags(contention).Names()) {
    names.push_back(std::move(name));
  }
  for (std::string& name : BudgetsFlagNames()) {
    names.push_back(std::move(name));
  }
  for (std::string& name : LearnedFlagNames()) {
    names.push_back(std::move(name));
  }
  return names;
}

int SimulateCommand::Run(const Invocation& invocation) const {
  return ExitCode(RunSimulate(invocation), kSimulateCommand, invocation.err);
}

}  // namespace waiter::cli
