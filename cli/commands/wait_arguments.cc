// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/wait_arguments.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cli/flags/flags.h"
#include "cli/probes/code_map.h"
#include "cli/probes/target.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kTargetsNotes =
    "targets, with a label if you like, such as db=tcp://localhost:5432\n"
    "  tcp://HOST:PORT  unix:PATH  http[s]://HOST/PATH  "
    "http+unix://SOCKET/PATH\n"
    "  dns:NAME  file:PATH  pid:N  systemd:UNIT  docker:CONTAINER  "
    "exec:'COMMAND'\n"
    "  redis://HOST, and grpc, postgres, mysql, mongodb, memcached, amqp, "
    "kafka, "
    "nats\n"
    "exit codes: 0 ready, or PROGRAM's own; 1 failed; 2 usage; 3 attempts or\n"
    "  errors used up; 124 limit reached; 126, 127 PROGRAM cannot run\n"
    "flags, each also a variable: --at-least=2 is WAITER_AT_LEAST=2\n";

constexpr std::string_view kExecNotes =
    "exit codes of PROBE: 0 ready; 75 throttled; 69, 70, 124 or a signal "
    "error;\n"
    "  64, 77, 78, 126, 127 failed; others not ready. The last output line may "
    "add:\n"
    "  {\"waiter\":\"not_ready\",\"detail\":\"2 of "
    "3\",\"retry_after\":\"30s\"}\n"
    "PROBE can read WAITER_ATTEMPT, WAITER_ELAPSED_MS, WAITER_DEADLINE_MS\n"
    "flags, each also a variable: --hold=5s is WAITER_HOLD=5s\n";

bool IsLikeTarget(std::string_view argument) {
  return absl::StrContains(argument, ':');
}

// Returns whether a word that is neither a target nor a flag comes after a
// target. It is probably the PROGRAM, whose flags were read as flags of this.
bool FollowsProgram(absl::Span<const std::string> args) {
  const auto* const target =
      std::find_if(args.begin(), args.end(), [](const std::string& argument) {
        return !absl::StartsWith(argument, "-") && IsLikeTarget(argument);
      });
  return std::any_of(target, args.end(), [](const std::string& argument) {
    return !absl::StartsWith(argument, "-") && !IsLikeTarget(argument);
  });
}

absl::Status WithSeparatorHint(const absl::Status& status) {
  return {status.code(),
          absl::StrCat(status.message(), "; PROGRAM comes after --")};
}

// Makes the labels of URLs differ that differ only in parts that are not shown.
void NumberEqualTexts(std::vector<Target>& targets) {
  std::map<std::string, std::set<std::string>> urls;
  for (Target& target : targets) {
    if (target.url.empty() || target.label != target.text) continue;
    std::set<std::string>& known = urls[target.text];
    if (known.insert(target.url).second && known.size() > 1) {
      absl::StrAppend(&target.label, " (", known.size(), ")");
    }
  }
}

}  // namespace

WaitArguments::WaitArguments(Kind kind)
    : kind_(kind),
      flags_(
          kind == Kind::kExec
              ? Flags("waiter exec", "[FLAG...] -- PROBE [ARG...]",
                      "Runs PROBE again and again until it succeeds.")
              : Flags("waiter", "[FLAG...] TARGET... [-- PROGRAM [ARG...]]",
                      "Waits until all targets are ready, then replaces itself "
                      "with PROGRAM.")) {
  flags_.SetNotes(
      std::string(kind == Kind::kExec ? kExecNotes : kTargetsNotes));
  wait_.AddTo(flags_);
  flags_.BeginTopic("when", "delays, limits and exit codes");
  wait_.AddTimesTo(flags_);
  flags_.BeginTopic("probes", "meaning of exit codes, and when to give up");
  flags_.Add("map", "@curl,5=failed",
             "meaning of exit codes, such as 0=success,*=error",
             [this](std::string_view text) {
               absl::StatusOr<CodeMap> map = CodeMap::Parse(text);
               if (!map.ok()) return map.status();
               code_map_ = *std::move(map);
               return absl::OkStatus();
             });
  guards_.AddTo(flags_);
  flags_.BeginTopic("output", "progress, messages and logs");
  output_.AddTo(flags_);
  if (kind == Kind::kExec) return;
  flags_.BeginTopic("http", "http targets; --header@LABEL and so on for one");
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
  if (!rest.ok()) {
    return kind_ == Kind::kTargets && !has_words && FollowsProgram(args)
               ? WithSeparatorHint(rest.status())
               : rest.status();
  }
  if (flags_.HelpWanted()) return absl::OkStatus();
  if (kind_ == Kind::kExec) {
    if (!rest->empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          rest->front(), ": unexpected argument; PROBE comes after --"));
    }
    if (words_.empty()) {
      return absl::InvalidArgumentError(
          "PROBE is missing; write waiter exec -- PROBE [ARG...]");
    }
    return absl::OkStatus();
  }
  if (has_words && words_.empty()) {
    return absl::InvalidArgumentError("--: PROGRAM is missing after it");
  }
  return ReadTargets(*rest);
}

absl::Status WaitArguments::ReadTargets(
    const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError(
        "nothing to wait for; give a target, such as tcp://localhost:5432");
  }
  for (const std::string& argument : arguments) {
    absl::StatusOr<Target> target = ParseTarget(argument);
    if (!target.ok()) {
      return words_.empty() && !targets_.empty() && !IsLikeTarget(argument)
                 ? WithSeparatorHint(target.status())
                 : target.status();
    }
    targets_.push_back(*std::move(target));
  }
  NumberEqualTexts(targets_);
  std::vector<std::string_view> labels;
  for (const Target& target : targets_) labels.push_back(target.label);
  std::sort(labels.begin(), labels.end());
  const auto twice = std::adjacent_find(labels.begin(), labels.end());
  if (twice != labels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(*twice, ": given twice; add labels, such as a=... b=..."));
  }
  return absl::OkStatus();
}

}  // namespace waiter::cli
