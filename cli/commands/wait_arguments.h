// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parses the command line of a wait: flags, targets or a probe, and PROGRAM.
// Targets may also come from files and from the variable WAITER_TARGETS.
//
//   using waiter::cli::WaitArguments;
//   WaitArguments arguments(WaitArguments::Kind::kTargets);
//   absl::Status status = arguments.Parse(args, environment);
//   for (const waiter::cli::Target& target : arguments.targets()) { ... }

#ifndef WAITER_CLI_COMMANDS_WAIT_ARGUMENTS_H_
#define WAITER_CLI_COMMANDS_WAIT_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/flags/flags.h"
#include "cli/flags/guard_flags.h"
#include "cli/flags/http_flags.h"
#include "cli/flags/output_flags.h"
#include "cli/flags/wait_flags.h"
#include "cli/probes/code_map.h"
#include "cli/probes/http/operation_probe.h"
#include "cli/probes/target.h"

namespace waiter::cli {

// Thread-compatible.
class WaitArguments {
 public:
  // `waiter TARGET... [-- PROGRAM]`, `waiter exec -- PROBE`, or
  // `waiter operation URL [-- PROGRAM]`.
  enum class Kind : uint8_t { kTargets, kExec, kOperation };

  explicit WaitArguments(Kind kind);
  WaitArguments(const WaitArguments&) = delete;
  WaitArguments& operator=(const WaitArguments&) = delete;

  // Returns kInvalidArgument with one line that names what makes no sense. Must
  // be called at most once. If the help is wanted, sets only the flags.
  absl::Status Parse(absl::Span<const std::string> args,
                     absl::Span<const std::string> environment);

  const Flags& flags() const { return flags_; }
  const WaitFlags& wait() const { return wait_; }
  const GuardFlags& guards() const { return guards_; }
  const OutputFlags& output() const { return output_; }
  const HttpFlags& http() const { return http_; }
  const CodeMap& code_map() const { return code_map_; }

  // How the target of `waiter operation` is followed; unset for others.
  std::optional<OperationOptions> operation() const {
    if (kind_ != Kind::kOperation) return std::nullopt;
    return operation_;
  }

  // Whether probes log in with the user and password of their target.
  bool login() const { return login_; }

  // How long connections of tcp: and unix: targets must stay open.
  absl::Duration hold_open() const { return hold_open_; }

  // The targets, each with its own label, and none twice. Empty for `waiter
  // exec`.
  const std::vector<Target>& targets() const { return targets_; }

  // The words after `--`: PROGRAM, which is empty if none, or PROBE.
  const std::vector<std::string>& words() const { return words_; }

 private:
  // A target that is not parsed yet.
  struct GivenTarget {
    std::string text;
    std::string where;  // Such as "FILE:3: "; empty for the command line.
  };

  // Returns the targets of the command line and of --targets or, if these name
  // no target, the ones in WAITER_TARGETS.
  absl::StatusOr<std::vector<GivenTarget>> GivenTargets(
      const std::vector<std::string>& arguments,
      absl::Span<const std::string> environment) const;

  absl::Status ReadTargets(const std::vector<GivenTarget>& given);

  void AddOperationFlags();
  absl::Status CheckOperation() const;

  const Kind kind_;
  Flags flags_;
  WaitFlags wait_;
  GuardFlags guards_;
  OutputFlags output_;
  HttpFlags http_;
  CodeMap code_map_;
  OperationOptions operation_;
  std::vector<std::string> target_files_;
  bool login_ = false;
  absl::Duration hold_open_;
  std::vector<Target> targets_;
  std::vector<std::string> words_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_WAIT_ARGUMENTS_H_
