// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/wait_arguments.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cli/flags/flags.h"
#include "cli/probes/code_map.h"
#include "cli/probes/target.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kTargetsNotes =
    "targets, with labels if wanted, as db=tcp://localhost:5432\n"
    "  tcp://HOST:PORT  unix:PATH  http://HOST/PATH  https://...  "
    "redis://HOST\n"
    "  postgres://HOST  mysql://HOST  dns:NAME[?type=MX]  pid:NUMBER\n"
    "  file:PATH[?stable=2s]  exec:'SHELL WORDS'\n"
    "exit codes: 0 ready, or COMMAND's own; 1 failed; 2 usage; 3 attempts or\n"
    "  errors used up; 124 limit reached; 126, 127 COMMAND cannot run\n"
    "flags, each also a variable: --at-least=2 is WAITER_AT_LEAST=2\n";

constexpr std::string_view kExecNotes =
    "exit codes of PROBE: 0 ready; 75 throttled; 69, 70, 124 or a signal "
    "error;\n"
    "  64, 77, 78, 126, 127 failed; others not ready. Its last line may say "
    "more:\n"
    "  {\"waiter\":\"not_ready\",\"detail\":\"2 of "
    "3\",\"retry_after\":\"30s\"}\n"
    "it is told WAITER_ATTEMPT, WAITER_ELAPSED_MS, WAITER_DEADLINE_MS\n"
    "flags, each also a variable: --hold=5s is WAITER_HOLD=5s\n";

}  // namespace

WaitArguments::WaitArguments(Kind kind)
    : kind_(kind),
      flags_(kind == Kind::kExec
                 ? Flags("waiter exec", "[FLAG...] -- PROBE [ARGUMENT...]",
                         "Runs PROBE again and again until it succeeds.")
                 : Flags("waiter",
                         "[FLAG...] TARGET... [-- COMMAND [ARGUMENT...]]",
                         "Waits until all targets are ready, and then becomes "
                         "COMMAND.")) {
  flags_.SetNotes(
      std::string(kind == Kind::kExec ? kExecNotes : kTargetsNotes));
  wait_.AddTo(flags_);
  flags_.BeginTopic("when", "delays, limits and exit codes");
  wait_.AddTimesTo(flags_);
  flags_.BeginTopic("probes", "what exit codes mean, and when to give up");
  flags_.Add("map", "@curl,5=failed",
             "meaning of exit codes, as 0=success,2-9=error,*=not-ready",
             [this](std::string_view text) {
               absl::StatusOr<CodeMap> map = CodeMap::Parse(text);
               if (!map.ok()) return map.status();
               code_map_ = *std::move(map);
               return absl::OkStatus();
             });
  guards_.AddTo(flags_);
  flags_.BeginTopic("output", "what is told, and where");
  output_.AddTo(flags_);
  if (kind == Kind::kExec) return;
  flags_.BeginTopic("http",
                    "what is asked of http:// and https://, and expected");
  http_.AddTo(flags_);
}

absl::Status WaitArguments::Parse(absl::Span<const std::string> args,
                                  absl::Span<const std::string> environment) {
  const auto* const separator = std::find(args.begin(), args.end(), "--");
  const bool has_words = separator != args.end();
  if (has_words) words_.assign(separator + 1, args.end());
  const absl::StatusOr<std::vector<std::string>> rest = flags_.Parse(
      args.subspan(0, static_cast<size_t>(separator - args.begin())),
      environment);
  if (!rest.ok()) return rest.status();
  if (flags_.HelpWanted()) return absl::OkStatus();
  if (kind_ == Kind::kExec) {
    if (!rest->empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          rest->front(), ": not expected; the probe comes after --"));
    }
    if (words_.empty()) {
      return absl::InvalidArgumentError(
          "no probe; write waiter exec -- PROBE [ARGUMENT...]");
    }
    return absl::OkStatus();
  }
  if (has_words && words_.empty()) {
    return absl::InvalidArgumentError("--: COMMAND is missing after it");
  }
  return ReadTargets(*rest);
}

absl::Status WaitArguments::ReadTargets(
    const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError(
        "nothing to wait for; name a target, as tcp://localhost:5432");
  }
  for (const std::string& argument : arguments) {
    absl::StatusOr<Target> target = ParseTarget(argument);
    if (!target.ok()) return target.status();
    targets_.push_back(*std::move(target));
  }
  std::vector<std::string_view> labels;
  for (const Target& target : targets_) labels.push_back(target.label);
  std::sort(labels.begin(), labels.end());
  const auto twice = std::adjacent_find(labels.begin(), labels.end());
  if (twice != labels.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        *twice, ": given twice; two targets need two labels, as a=... b=..."));
  }
  return absl::OkStatus();
}

}  // namespace waiter::cli
