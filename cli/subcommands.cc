// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/subcommands.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/report_command.h"
#include "cli/commands/simulate_command.h"
#include "cli/commands/wait_command.h"
#include "cli/flags/variables.h"

namespace waiter::cli {
namespace {

struct Subcommand {
  std::string_view name;
  int (*run)(absl::Span<const std::string> args,
             absl::Span<const std::string> environment, std::ostream& out,
             std::ostream& err);
  std::vector<std::string> (*flags)();
};

constexpr std::array kSubcommands = {
    Subcommand{.name = "exec", .run = RunExec, .flags = WaitFlagNames},
    Subcommand{.name = "plan", .run = RunPlan, .flags = PlanFlags},
    Subcommand{.name = "report", .run = RunReport, .flags = ReportFlags},
    Subcommand{.name = "simulate", .run = RunSimulate, .flags = SimulateFlags},
};

void PrintSubcommands(std::ostream& out) {
  const auto name = [](std::string* text, const Subcommand& subcommand) {
    absl::StrAppend(text, subcommand.name);
  };
  out << absl::StrFormat("  %-26s other uses; each has a --help of its own\n",
                         absl::StrJoin(kSubcommands, ", ", name));
}

}  // namespace

std::vector<std::string> AllFlags() {
  std::vector<std::string> all;
  for (const Subcommand& subcommand : kSubcommands) {
    const std::vector<std::string> flags = subcommand.flags();
    all.insert(all.end(), flags.begin(), flags.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

int RunWaiter(absl::Span<const std::string> args,
              absl::Span<const std::string> environment, std::ostream& out,
              std::ostream& err) {
  if (!args.empty() &&
      (args[0] == "help" || args[0] == "--help" || args[0] == "-h")) {
    const std::vector<std::string> help = {"--help"};
    const int code = RunWait(help, environment, out, err);
    PrintSubcommands(out);
    return code;
  }
  if (HasOwnVariables(environment)) {
    WarnOfUnknownVariables(environment, AllFlags(), err);
  }
  for (const Subcommand& subcommand : kSubcommands) {
    if (args.empty() || subcommand.name != args[0]) continue;
    return subcommand.run(args.subspan(1), environment, out, err);
  }
  return RunWait(args, environment, out, err);
}

}  // namespace waiter::cli
