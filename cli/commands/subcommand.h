// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The interface of a subcommand of `waiter`.
//
//   class PlanCommand : public waiter::cli::Subcommand {
//    public:
//     std::string_view name() const override { return "plan"; }
//     std::vector<std::string> FlagNames() const override;
//     int Run(const waiter::cli::Invocation& invocation) const override;
//   };

#ifndef WAITER_CLI_COMMANDS_SUBCOMMAND_H_
#define WAITER_CLI_COMMANDS_SUBCOMMAND_H_

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// The arguments, environment and streams of one call of a subcommand. All of
// them must outlive the call.
struct Invocation {
  // The arguments after the name of the subcommand.
  absl::Span<const std::string> args;

  // The variables that may replace flags, as in cli/flags/variables.h.
  absl::Span<const std::string> environment;

  std::ostream& out;
  std::ostream& err;

  // Returns the same without the first argument. There must be one.
  Invocation AfterFirst() const {
    return {args.subspan(1), environment, out, err};
  }
};

class Subcommand {
 public:
  virtual ~Subcommand() = default;

  // Returns the word after `waiter` that selects this subcommand. Empty for the
  // wait for targets, which runs if no word selects another.
  virtual std::string_view name() const = 0;

  // Returns the names of all flags, without dashes.
  virtual std::vector<std::string> FlagNames() const = 0;

  // Runs the subcommand and returns the exit code of the process: 0,
  // `kUsageError` or `kOwnFailure` (cli/run/exit_code.h), or a code that the
  // header of the subcommand lists.
  virtual int Run(const Invocation& invocation) const = 0;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_SUBCOMMAND_H_
