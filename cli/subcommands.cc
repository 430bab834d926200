// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/subcommands.h"

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "cli/commands/budgets_command.h"
#include "cli/commands/durable_command.h"
#include "cli/commands/mcp_command.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/report_command.h"
#include "cli/commands/simulate_command.h"
#include "cli/commands/subcommand.h"
#include "cli/commands/wait_arguments.h"
#include "cli/commands/wait_command.h"
#include "cli/flags/variables.h"
#include "cli/run/exit_code.h"
#include "cli/text/closest_name.h"
#include "waiter/version.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kVersionFlag = "--version";

using Subcommands = std::vector<std::unique_ptr<const Subcommand>>;

// The wait for targets comes first.
Subcommands MakeSubcommands() {
  using Kind = WaitArguments::Kind;
  Subcommands subcommands;
  subcommands.push_back(std::make_unique<WaitCommand>(Kind::kTargets));
  subcommands.push_back(std::make_unique<WaitCommand>(Kind::kExec));
  subcommands.push_back(std::make_unique<WaitCommand>(Kind::kOperation));
  subcommands.push_back(std::make_unique<PlanCommand>());
  subcommands.push_back(std::make_unique<ReportCommand>());
  subcommands.push_back(std::make_unique<SimulateCommand>());
  subcommands.push_back(std::make_unique<BudgetsCommand>());
  subcommands.push_back(std::make_unique<DurableCommand>());
  subcommands.push_back(std::make_unique<McpCommand>());
  return subcommands;
}

std::vector<std::string> FlagsOf(const Subcommands& subcommands) {
  std::vector<std::string> all;
  for (const auto& subcommand : subcommands) {
    const std::vector<std::string> flags = subcommand->FlagNames();
    all.insert(all.end(), flags.begin(), flags.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Returns the subcommand that `word` is a misspelled name of, or an empty text.
// A word like this is no target either.
std::string MeantSubcommand(const Subcommands& subcommands,
                            std::string_view word) {
  if (word.empty() || word.find_first_of(":/.=-") != std::string_view::npos) {
    return "";
  }
  std::vector<std::string> names;
  for (const auto& subcommand : subcommands) {
    names.emplace_back(subcommand->name());
  }
  return ClosestName(word, names);
}

void PrintSubcommands(const Subcommands& subcommands, std::ostream& out) {
  std::vector<std::string_view> names;
  for (const auto& subcommand : subcommands) {
    if (!subcommand->name().empty()) names.push_back(subcommand->name());
  }
  out << absl::StrFormat("  %-26s commands\n", absl::StrJoin(names, ", "));
  out << absl::StrFormat("  %-26s print the version\n", kVersionFlag);
}

void PrintVersion(std::ostream& out) {
  out << absl::StrFormat("waiter %d.%d.%d\n", WAITER_VERSION_MAJOR,
                         WAITER_VERSION_MINOR, WAITER_VERSION_PATCH);
}

}  // namespace

std::vector<std::string> AllFlags() { return FlagsOf(MakeSubcommands()); }

int RunWaiter(absl::Span<const std::string> args,
              absl::Span<const std::string> environment, std::ostream& out,
              std::ostream& err) {
  const Subcommands subcommands = MakeSubcommands();
  const Subcommand& wait = *subcommands.front();
  // An empty string literal here would make the result a temporary string.
  const std::string_view first =
      args.empty() ? std::string_view() : args.front();
  if (first == "help" || first == "--help" || first == "-h") {
    const std::array<std::string, 1> help = {"--help"};
    const int code = wait.Run({help, environment, out, err});
    if (code != 0) return code;
    PrintSubcommands(subcommands, out);
    return WrittenExitCode(out, "waiter", err);
  }
  if (first == kVersionFlag) {
    PrintVersion(out);
    return WrittenExitCode(out, "waiter", err);
  }
  if (HasOwnVariables(environment)) {
    WarnOfUnknownVariables(environment, FlagsOf(subcommands), err);
  }
  const Invocation invocation = {args, environment, out, err};
  for (const auto& subcommand : subcommands) {
    if (first.empty() || subcommand->name() != first) continue;
    const int code = subcommand->Run(invocation.AfterFirst());
    // Users run the other subcommands for their output, but not a wait.
    if (code != 0 || first == "exec" || first == "operation") return code;
    return WrittenExitCode(out, absl::StrCat("waiter ", first), err);
  }
  if (const std::string meant = MeantSubcommand(subcommands, first);
      !meant.empty()) {
    return ExitCode(
        absl::InvalidArgumentError(absl::StrCat(
            first, ": neither a command nor a target; did you mean ", meant,
            "?")),
        "waiter", err);
  }
  return wait.Run(invocation);
}

}  // namespace waiter::cli
