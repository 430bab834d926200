// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/subcommands.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "cli/command.h"
#include "cli/plan_command.h"
#include "cli/printable.h"
#include "cli/report_command.h"
#include "cli/simulate_command.h"
#include "cli/variables.h"

namespace waiter {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(absl::Span<const std::string> args,
             absl::Span<const std::string> environment, std::ostream& out,
             std::ostream& err);
  std::vector<std::string> (*flags)();
};

constexpr std::array kSubcommands = {
    Subcommand{.name = "plan",
               .summary = "when a policy polls, and what it costs",
               .run = RunPlan,
               .flags = PlanFlags},
    Subcommand{.name = "report",
               .summary = "what happened in a run that was logged",
               .run = RunReport,
               .flags = ReportFlags},
    Subcommand{.name = "simulate",
               .summary = "what many clients do to a server",
               .run = RunSimulate,
               .flags = SimulateFlags},
};

void PrintUsage(std::ostream& out) {
  out << "usage: waiter SUBCOMMAND [ARGUMENT...]\n\n";
  for (const Subcommand& subcommand : kSubcommands) {
    out << absl::StrFormat("  %-9s %s\n", subcommand.name, subcommand.summary);
  }
  out << "\nwaiter SUBCOMMAND --help shows the flags of a subcommand. Each is "
         "also a\nvariable of the environment: --max-attempts=3 is "
         "WAITER_MAX_ATTEMPTS=3.\n";
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
  if (args.empty()) {
    PrintUsage(err);
    return kUsageError;
  }
  const std::string& name = args[0];
  if (name == "help" || name == "--help" || name == "-h") {
    PrintUsage(out);
    return 0;
  }
  for (const Subcommand& subcommand : kSubcommands) {
    if (subcommand.name != name) continue;
    WarnOfUnknownVariables(environment, AllFlags(), err);
    return subcommand.run(args.subspan(1), environment, out, err);
  }
  err << "waiter: " << Printable(name)
      << ": no such subcommand; see waiter --help\n";
  return kUsageError;
}

}  // namespace waiter
