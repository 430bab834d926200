// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/plan_command.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/charts/chart.h"
#include "cli/commands/chart_output.h"
#include "cli/commands/learned_plan.h"
#include "cli/commands/plan_output.h"
#include "cli/commands/policy_charts.h"
#include "cli/commands/read_durations.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/flags/policy_flags.h"
#include "cli/run/exit_code.h"
#include "cli/run/learned_name.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/plan.h"
#include "cli/sim/trade_off.h"
#include "cli/text/duration_text.h"
#include "cli/text/printable.h"
#include "waiter/options.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kPlanCommand = "waiter plan";
constexpr std::string_view kPollCost = "poll-cost";

struct PlanArguments {
  PolicyFlags policy;
  ChartOutput charts;
  std::optional<sim::DurationDistribution> ready;
  std::optional<LearnedName> from;
  absl::Duration late;
  absl::Duration poll_cost;
  int rows = 16;
  bool json = false;
  uint64_t seed = 1;
};

void AddFlags(PlanArguments& arguments, Flags& flags) {
  arguments.policy.AddTo(flags);
  flags.Add("expect", "60s", "expected time until ready; proposes a policy",
            [&](std::string_view text) {
              const absl::StatusOr<absl::Duration> expected =
                  ParseDurationText(text);
              if (!expected.ok()) return expected.status();
              if (*expected == absl::ZeroDuration()) {
                return absl::InvalidArgumentError("it must be above zero");
              }
              arguments.ready = sim::DurationDistribution::About(*expected);
              return absl::OkStatus();
            });
  flags.Add("ready", "uniform:30s,90s",
            "distribution of that time; or lognormal:60s,0.6",
            Flags::Into(sim::DurationDistribution::Parse, arguments.ready));
  flags.Add("from", "FILE", "durations, from a --learn or log FILE[:OPERATION]",
            Flags::Into(ParseLearnedName, arguments.from));
  flags.Add("late", "6s", "how late one wait in twenty may be; default a tenth",
            arguments.late);
  flags.Add(std::string(kPollCost), "1s",
            "one poll costs as much as this delay", arguments.poll_cost);
  flags.Add("rows", "16", "maximum number of rows in the table", arguments.rows,
            1, 1000);
  flags.Add("seed", "1", "seed of the random draws", arguments.seed);
  flags.AddSwitch("json", "print the numbers of all tables as JSON",
                  arguments.json);
  flags.AddAlternatives({"ready", "expect", "from"});
  flags.AddAlternatives({"intervals", "from"}, ", which are used unchanged");
  arguments.charts.AddTo(flags,
                         {"schedule", "cumulative", "trade_off", "detection"});
}

Flags MakeFlags(PlanArguments& arguments) {
  Flags flags(std::string(kPlanCommand), "[FLAG...]",
              "Shows when a policy polls, and the cost.");
  AddFlags(arguments, flags);
  return flags;
}

// The policy to plan, given by flags or proposed, and the policies that it is
// compared with.
struct Comparison {
  std::vector<sim::NamedPolicy> policies;  // The policy to plan comes first.
  std::vector<sim::TradeOff> points;
};

absl::StatusOr<Comparison> Compare(const PlanArguments& arguments,
                                   const WaitOptions& policy, bool is_given) {
  const sim::DurationDistribution& ready = *arguments.ready;
  Comparison comparison;
  sim::NamedPolicy proposal =
      sim::ProposePolicy(ready, {.p95_delay = arguments.late,
                                 .timeout = *policy.timeout,
                                 .seed = arguments.seed});
  proposal.name = std::string(kProposal);
  proposal.policy.max_attempts = policy.max_attempts;
  if (is_given) {
    comparison.policies.push_back({std::string(kGivenPolicy), policy});
  }
  comparison.policies.push_back(std::move(proposal));
  for (sim::NamedPolicy& known :
       sim::KnownPolicies(ready.Median(), *policy.timeout)) {
    comparison.policies.push_back(std::move(known));
  }
  absl::StatusOr<std::vector<sim::TradeOff>> points = sim::CompareTradeOffs(
      comparison.policies, ready, {.seed = arguments.seed});
  if (!points.ok()) return points.status();
  comparison.points = *std::move(points);
  return comparison;
}

absl::StatusOr<std::vector<charts::Chart>> MakeCharts(
    const PlanArguments& arguments, const Comparison& comparison) {
  const absl::Duration timeout = *comparison.policies[0].policy.timeout;
  absl::Duration horizon = timeout;
  if (arguments.ready.has_value()) {
    horizon = std::min(horizon, 4 * arguments.ready->Median());
  }
  std::vector<NamedPlan> plans;
  std::vector<NamedWaits> seen;
  for (size_t i = 0; i < comparison.policies.size(); ++i) {
    const sim::NamedPolicy& policy = comparison.policies[i];
    const bool shown = policy.name == kGivenPolicy ||
                       policy.name == kProposal ||
                       policy.name == sim::kDefaultPolicyName;
    if (shown && arguments.ready.has_value()) {
      absl::StatusOr<std::vector<sim::PlayedWait>> waits =
          sim::PlayWaits(policy, *arguments.ready, {.seed = arguments.seed});
      if (!waits.ok()) return waits.status();
      seen.push_back({policy.name, *std::move(waits)});
    }
    if (!shown && !comparison.points[i].on_front) continue;
    absl::StatusOr<sim::Plan> plan =
        sim::MakePlan(policy.policy, {.seed = arguments.seed});
    if (!plan.ok()) return plan.status();
    plans.push_back({policy.name, *std::move(plan)});
  }
  if (horizon == absl::InfiniteDuration()) {
    horizon = plans[0].plan.polls.back().p95;
  }
  std::vector<charts::Chart> charts = {ScheduleChart(plans, horizon),
                                       CumulativeChart(plans, horizon)};
  if (!arguments.ready.has_value()) return charts;
  const absl::Duration poll_cost = arguments.poll_cost > absl::ZeroDuration()
                                       ? arguments.poll_cost
                                       : arguments.ready->Median() / 60;
  charts.insert(charts.begin(), TradeOffChart(comparison.points, poll_cost));
  charts.push_back(DetectionChart(seen));
  return charts;
}

// Shows the plan for a file of durations or a log, or its operations.
absl::Status RunFrom(const PlanArguments& arguments, const Flags& flags,
                     const WaitOptions& policy, std::ostream& out) {
  const std::string& path = arguments.from->path;
  const absl::StatusOr<KnownDurations> known = ReadDurations(path);
  if (!known.ok()) return known.status();
  const std::vector<std::string> operations = known->model->Operations();
  if (operations.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": it has no durations yet"));
  }
  const std::string& named = arguments.from->operation;
  if (named.empty() && operations.size() > 1) {
    if (arguments.charts.wanted()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has ", operations.size(),
                       " operations; name one for the chart, such as --from=",
                       FormatLearnedName({path, operations[0]})));
    }
    out << (arguments.json
                ? OperationsJson(*known)
                : absl::StrCat(
                      OperationsText(*known), "\nto show one, use --from=",
                      Printable(FormatLearnedName({path, operations[0]})),
                      "\n"));
    return absl::OkStatus();
  }
  LearnedPlanOptions options = {.policy = policy,
                                .is_given = PolicyFlags::ChoosesDelays(flags),
                                .seed = arguments.seed};
  // The known durations may be longer than the default.
  if (!flags.Given("timeout")) {
    options.policy.timeout = absl::InfiniteDuration();
  }
  if (flags.Given("poll-cost")) {
    options.learned.seconds_of_delay_worth_one_poll =
        absl::ToDoubleSeconds(arguments.poll_cost);
  }
  const absl::StatusOr<LearnedPlan> plan =
      MakeLearnedPlan(*known, named.empty() ? operations[0] : named, options);
  if (!plan.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", plan.status().message()));
  }
  if (arguments.charts.wanted() && plan->played.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": too few durations for a chart"));
  }
  out << (arguments.json ? LearnedPlanJson(*plan)
                         : LearnedPlanText(*plan, arguments.rows));
  if (!arguments.charts.wanted()) return absl::OkStatus();
  const absl::StatusOr<std::vector<charts::Chart>> charts =
      LearnedPlanCharts(*plan, arguments.seed);
  return charts.ok() ? arguments.charts.Write(*charts, flags, "")
                     : charts.status();
}

absl::Status RunPlan(const Invocation& invocation) {
  PlanArguments arguments;
  Flags flags = MakeFlags(arguments);
  absl::Status parsed =
      flags.ParseFlagsOnly(invocation.args, invocation.environment);
  if (flags.ShowHelp(invocation.out)) return absl::OkStatus();
  if (!parsed.ok()) return parsed;
  for (const std::string_view name : {std::string_view("late"), kPollCost}) {
    // A variable is not an error, as it may be meant for other command lines.
    if (flags.Given(name) && !flags.FromVariable(name) &&
        !arguments.ready.has_value() &&
        !(arguments.from.has_value() && name == kPollCost)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, ": it needs --expect or --ready"));
    }
  }
  const absl::StatusOr<WaitOptions> policy = arguments.policy.Options(flags);
  if (!policy.ok()) return policy.status();
  if (arguments.from.has_value()) {
    return RunFrom(arguments, flags, *policy, invocation.out);
  }

  Comparison comparison = {.policies = {{std::string(kGivenPolicy), *policy}},
                           .points = {}};
  if (arguments.ready.has_value()) {
    absl::StatusOr<Comparison> compared = Compare(
        arguments, *policy,
        PolicyFlags::ChoosesDelays(flags) || flags.Given("initial-delay"));
    if (!compared.ok()) return compared.status();
    comparison = *std::move(compared);
  }
  const sim::NamedPolicy& shown = comparison.policies[0];
  absl::StatusOr<sim::Plan> plan =
      sim::MakePlan(shown.policy, {.seed = arguments.seed});
  if (!plan.ok()) return plan.status();
  PlannedPolicy planned = {.name = shown.name,
                           .timeout = *shown.policy.timeout,
                           .plan = *std::move(plan),
                           .ready = arguments.ready,
                           .points = comparison.points};
  for (const sim::NamedPolicy& known : comparison.policies) {
    if (known.name == kProposal) planned.proposal = PolicyAsFlags(known.policy);
  }
  invocation.out << (arguments.json ? PlanJson(planned)
                                    : PlanText(planned, arguments.rows));

  if (!arguments.charts.wanted()) return absl::OkStatus();
  const absl::StatusOr<std::vector<charts::Chart>> charts =
      MakeCharts(arguments, comparison);
  return charts.ok()
             ? arguments.charts.Write(*charts, flags, PlanScenario(planned))
             : charts.status();
}

}  // namespace

std::vector<std::string> PlanCommand::FlagNames() const {
  PlanArguments arguments;
  return MakeFlags(arguments).Names();
}

int PlanCommand::Run(const Invocation& invocation) const {
  return ExitCode(RunPlan(invocation), kPlanCommand, invocation.err);
}

}  // namespace waiter::cli
