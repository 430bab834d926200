// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The `waiter` command: its subcommands, by name.

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "cli/command.h"
#include "cli/plan_command.h"
#include "cli/report_command.h"
#include "cli/simulate_command.h"

namespace {

constexpr std::string_view kUsage =
    "usage: waiter SUBCOMMAND [ARGUMENT...]\n"
    "\n"
    "  plan      when a policy polls, and what it costs\n"
    "  report    what happened in a run that was logged\n"
    "  simulate  what many clients do to a server\n"
    "\n"
    "waiter SUBCOMMAND --help shows the flags of a subcommand.\n";

int Run(const std::string& name, absl::Span<const std::string> args) {
  if (name == "plan") return waiter::RunPlan(args, std::cout, std::cerr);
  if (name == "report") return waiter::RunReport(args, std::cout, std::cerr);
  if (name == "simulate") {
    return waiter::RunSimulate(args, std::cout, std::cerr);
  }
  if (name == "help" || name == "--help" || name == "-h") {
    std::cout << kUsage;
    return 0;
  }
  std::cerr << "waiter: " << name
            << ": no such subcommand; see waiter --help\n";
  return waiter::kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  if (args.empty()) {
    std::cerr << kUsage;
    return waiter::kUsageError;
  }
  return Run(args[0], absl::MakeSpan(args).subspan(1));
}
