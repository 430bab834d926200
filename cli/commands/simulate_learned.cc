// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/simulate_learned.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "cli/charts/chart.h"
#include "cli/commands/chart_output.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/sim/clairvoyant.h"
#include "cli/sim/learned.h"

namespace waiter::cli {
namespace {

struct LearnedArguments {
  sim::LearnedStudyOptions options;
  ChartOutput charts;
};

Flags LearnedFlags(LearnedArguments& arguments) {
  Flags flags(
      "waiter simulate learned", "[FLAG...]",
      "Simulates waits whose delays are learned from earlier durations, and "
      "compares\nthem with other rules and with the optimum.");
  flags.Add("runs", "12", "models that learn, per figure",
            arguments.options.repetitions, 1, 10'000);
  flags.Add("seed", "1", "equal seeds give equal tables",
            arguments.options.seed);
  arguments.charts.AddTo(flags, {"learned", "learned_regret"});
  return flags;
}

// The targets, relative to the costs that they are compared with.
constexpr double kMostRegret = 0.15;
constexpr double kMostRegretOfHeavyTail = 0.25;
constexpr double kMostAfterChange = 1.1;

std::string_view Verdict(bool is_reached) {
  return is_reached ? "reached" : "missed";
}

std::string CostText(const sim::PollCost& cost) {
  return absl::StrFormat("%.1f %.1fs", cost.polls, cost.lateness);
}

std::string GuardText(double max_relative_lateness) {
  return std::isinf(max_relative_lateness)
             ? "no guard"
             : absl::StrFormat("guard %g", max_relative_lateness);
}

std::string SettingText(const sim::LearnedRuns& runs) {
  return absl::StrCat(runs.has_default_target ? "as late as the default backoff"
                                              : "a poll costs 1 s",
                      ", ", GuardText(runs.max_relative_lateness));
}

void PrintRules(absl::Span<const sim::LearnedRow> rows, std::ostream& out) {
  out << "Polls and mean lateness, guard 1\n"
      << absl::StrFormat("%-10s %10s %10s %11s %10s %11s %11s\n", "", "default",
                         "fixed", "EWMA", "median", "learned, 20", "optimum");
  for (const sim::LearnedRow& row : rows) {
    const sim::LearnedRuns& runs = row.learned.front();
    out << absl::StrFormat(
        "%-10s %10s %10s %11s %10s %11s %11s\n", row.name,
        CostText(row.default_curve), CostText(row.fixed), CostText(row.ewma),
        CostText(row.first_poll_at_median), CostText(runs.after[sim::kAfter20]),
        CostText(runs.best));
  }
  out << "\nCost compared with EWMA and a first poll at the median\n";
  for (const sim::LearnedRow& row : rows) {
    const sim::LearnedRuns& runs = row.learned.front();
    const double learned = runs.after[sim::kAfter20].At(runs.worth);
    const double ewma = learned / row.ewma.At(runs.worth);
    const double median = learned / row.first_poll_at_median.At(runs.worth);
    out << absl::StrFormat("%-10s %6.2fx of EWMA's %6.2fx of median's   %s\n",
                           row.name, ewma, median,
                           Verdict(ewma < 1 && median < 1));
  }
}

std::string ObservationsHead(std::string_view last) {
  std::string head = absl::StrFormat("%-10s", "");
  for (const int observations : sim::kObservations) {
    absl::StrAppendFormat(&head, " %10s", absl::StrCat("after ", observations));
  }
  return absl::StrCat(head, absl::StrFormat(" %11s\n", last));
}

void PrintLearned(absl::Span<const sim::LearnedRow> rows, std::ostream& out) {
  for (size_t setting = 0; setting < rows.front().learned.size(); ++setting) {
    out << "\nPolls and mean lateness, "
        << SettingText(rows.front().learned[setting]) << "\n"
        << ObservationsHead("optimum");
    for (const sim::LearnedRow& row : rows) {
      const sim::LearnedRuns& runs = row.learned[setting];
      out << absl::StrFormat("%-10s", row.name);
      for (const sim::PollCost& cost : runs.after) {
        out << absl::StrFormat(" %10s", CostText(cost));
      }
      out << absl::StrFormat(" %11s\n", CostText(runs.best));
    }
  }
}

void PrintRegret(absl::Span<const sim::LearnedRow> rows, std::ostream& out) {
  for (size_t setting = 0; setting < rows.front().learned.size(); ++setting) {
    out << "\nCost above the optimum, "
        << SettingText(rows.front().learned[setting]) << "\n"
        << ObservationsHead("from 20 on");
    for (const sim::LearnedRow& row : rows) {
      const sim::LearnedRuns& runs = row.learned[setting];
      const double most = row.heavy_tail ? kMostRegretOfHeavyTail : kMostRegret;
      bool is_reached = true;
      out << absl::StrFormat("%-10s", row.name);
      for (size_t i = 0; i < runs.after.size(); ++i) {
        out << absl::StrFormat(" %8.0f %%", 100 * runs.Regret(i));
        is_reached &= i < sim::kAfter20 || runs.Regret(i) <= most;
      }
      out << absl::StrFormat("  %2.0f %% %s\n", 100 * most,
                             Verdict(is_reached));
    }
  }
}

void PrintEqualLateness(absl::Span<const sim::EqualLatenessRow> rows,
                        std::ostream& out) {
  out << "\nPolls at the lateness of the default backoff, after 20\n"
      << absl::StrFormat("%-21s %8s %8s %8s %9s %7s\n", "", "lateness",
                         "default", "learned", "optimum", "target");
  for (const sim::EqualLatenessRow& row : rows) {
    const double share = row.polls / row.default_polls;
    const double target = row.name == "log-normal"                ? 0.65
                          : std::isinf(row.max_relative_lateness) ? 0.25
                                                                  : 0.35;
    out << absl::StrFormat(
        "%-21s %7.1fs %8.1f %7.2fx %8.2fx %6.2fx %s\n",
        absl::StrCat(row.name, ", ", GuardText(row.max_relative_lateness)),
        row.lateness, row.default_polls, share,
        row.best_polls / row.default_polls, target, Verdict(share <= target));
  }
}

void PrintChanges(absl::Span<const sim::ChangeRow> rows, std::ostream& out) {
  out << "\nCost of 20 waits after a change, and of the first 5, relative to "
         "the default\n"
      << absl::StrFormat("%-22s %17s  %19s\n", "", "as late",
                         "a poll costs 1 s");
  for (const sim::ChangeRow& row : rows) {
    out << absl::StrFormat(
        "%-22s %8.2fx %7.2fx %9.2fx %7.2fx  %.2fx %s\n", row.name,
        row.default_target, row.default_target_first, row.second_per_poll,
        row.second_per_poll_first, kMostAfterChange,
        Verdict(std::max(row.default_target, row.second_per_poll) <=
                kMostAfterChange));
  }
}

void PrintCrowds(absl::Span<const sim::CrowdRow> rows, std::ostream& out) {
  out << "\nMost polls in a second, and after the first second\n"
      << absl::StrFormat("%-12s %7s %14s %14s\n", "", "clients", "default",
                         "learned");
  for (const sim::CrowdRow& row : rows) {
    out << absl::StrFormat("%-12s %7d %7d %6d %7d %6d  %s\n", row.name,
                           row.clients, row.default_peak,
                           row.default_later_peak, row.peak, row.later_peak,
                           Verdict(row.peak <= row.default_peak));
  }
}

void PrintWorst(absl::Span<const sim::WorstRow> rows, std::ostream& out) {
  out << "\nWorst lateness that a search of durations just after polls found\n"
      << absl::StrFormat("%-12s %6s %14s %10s %9s %9s\n", "", "guard",
                         "late, relative", "at", "after", "tried");
  for (const sim::WorstRow& row : rows) {
    constexpr double kRounding = 1e-3;
    out << absl::StrFormat(
        "%-12s %6.1f %14.3f %9.1fs %9d %9d  %s\n", row.name,
        row.max_relative_lateness, row.relative_lateness, row.duration,
        row.observations, row.tried,
        Verdict(row.relative_lateness <=
                row.max_relative_lateness * (1 + kRounding)));
  }
}

charts::Chart RulesChart(absl::Span<const sim::LearnedRow> rows) {
  charts::Chart chart("learned");
  for (const sim::LearnedRow& row : rows) {
    const auto add = [&](std::string_view rule, const sim::PollCost& cost) {
      chart.Add("rules", {{"durations", row.name},
                          {"rule", rule},
                          {"polls", cost.polls},
                          {"lateness", cost.lateness}});
    };
    add("default backoff", row.default_curve);
    add("best fixed interval", row.fixed);
    add("EWMA", row.ewma);
    add("first poll at the median", row.first_poll_at_median);
    add("learned from 20 waits", row.learned.front().after[sim::kAfter20]);
    add("optimum", row.learned.front().best);
  }
  return chart;
}

charts::Chart RegretChart(absl::Span<const sim::LearnedRow> rows) {
  charts::Chart chart("learned_regret");
  for (const sim::LearnedRow& row : rows) {
    for (const sim::LearnedRuns& runs : row.learned) {
      if (!runs.has_default_target) continue;
      for (size_t i = 0; i < runs.after.size(); ++i) {
        chart.Add("costs", {{"durations", row.name},
                            {"guard", GuardText(runs.max_relative_lateness)},
                            {"observations", sim::kObservations[i]},
                            {"regret", runs.Regret(i)}});
      }
    }
  }
  return chart;
}

}  // namespace

std::vector<std::string> LearnedFlagNames() {
  LearnedArguments arguments;
  return LearnedFlags(arguments).Names();
}

absl::Status SimulateLearnedCommand(const Invocation& invocation) {
  LearnedArguments arguments;
  Flags flags = LearnedFlags(arguments);
  absl::Status parsed =
      flags.ParseFlagsOnly(invocation.args, invocation.environment);
  if (flags.ShowHelp(invocation.out)) return absl::OkStatus();
  if (!parsed.ok()) return parsed;
  const sim::LearnedStudyOptions& options = arguments.options;
  const std::vector<sim::LearnedRow> rows = sim::CompareLearned(options);
  const std::string scenario = absl::StrCat(
      "waits for operations with eight kinds of durations; means of ",
      options.repetitions, options.repetitions == 1 ? " run" : " runs");
  invocation.out << scenario << "\n\n";
  PrintRules(rows, invocation.out);
  PrintLearned(rows, invocation.out);
  PrintRegret(rows, invocation.out);
  PrintEqualLateness(sim::CompareAtEqualLateness(options), invocation.out);
  PrintChanges(sim::CompareAfterChanges(options), invocation.out);
  PrintCrowds(sim::CompareCrowds(options), invocation.out);
  PrintWorst(sim::FindWorst(options), invocation.out);
  return arguments.charts.Write({RulesChart(rows), RegretChart(rows)}, flags,
                                scenario);
}

}  // namespace waiter::cli
