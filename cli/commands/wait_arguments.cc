// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/wait_arguments.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "cli/flags/flags.h"
#include "cli/flags/variables.h"
#include "cli/probes/code_map.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/operation_probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/schemes/schemes.h"
#include "cli/probes/target.h"
#include "cli/text/files.h"
#include "waiter/interop/http.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kTargetsVariable = "WAITER_TARGETS";

// Maximum size of a file of targets, in bytes.
constexpr size_t kLargestFile = size_t{1} << 20;

constexpr char kTargetsNotes[] =
    "$0"
    "exit codes: 0 ready (with PROGRAM, its own); 1 failed; 2 usage; 3 polls "
    "or\n  errors used up; 124 timed out; 126, 127 PROGRAM cannot run\n"
    "flags, or variables such as WAITER_ANY=1; -t is --timeout, -q is "
    "--quiet\n";

constexpr std::string_view kExecNotes =
    "exit codes of PROBE: 0 ready; 75 throttled; 69, 70, 124, signals: error; "
    "64, 77,\n  78, 126, 127: failed; others: not ready. The last output line "
    "may add:\n"
    "  {\"waiter\":\"not_ready\",\"detail\":\"2 of "
    "3\",\"retry_after\":\"30s\"}\n"
    "PROBE can read WAITER_ATTEMPT, WAITER_ELAPSED_MS, WAITER_DEADLINE_MS\n"
    "flags, or variables such as WAITER_HOLD=5s; -t is --timeout, -q is "
    "--quiet\n";

constexpr std::string_view kOperationNotes =
    "Starts the operation if there is a --method or --data; otherwise, URL "
    "names a\nrunning one. Finds status and result by the server's convention: "
    "202 with\nLocation, Azure, Google, Kubernetes, batches, GitHub and "
    "others.\n"
    "exit codes: 0 succeeded (with PROGRAM, its own); 1 failed; 2 usage; 3 "
    "polls or\n  errors used up; 124 timed out; 126, 127 PROGRAM cannot run\n"
    "flags, or variables such as WAITER_DIALECT=azure; -t is --timeout\n";

Flags FlagsOf(WaitArguments::Kind kind) {
  switch (kind) {
    case WaitArguments::Kind::kExec:
      return {"waiter exec", "[FLAG...] -- PROBE [ARG...]",
              "Runs PROBE repeatedly until it succeeds."};
    case WaitArguments::Kind::kOperation:
      return {"waiter operation", "[FLAG...] URL [-- PROGRAM [ARG...]]",
              "Follows a long-running HTTP operation to its end, then becomes "
              "PROGRAM."};
    case WaitArguments::Kind::kTargets:
      break;
  }
  return {"waiter", "[FLAG...] TARGET... [-- PROGRAM [ARG...]]",
          "Waits until all targets are ready, then replaces itself with "
          "PROGRAM."};
}

std::string NotesOf(WaitArguments::Kind kind) {
  switch (kind) {
    case WaitArguments::Kind::kExec:
      return std::string(kExecNotes);
    case WaitArguments::Kind::kOperation:
      return std::string(kOperationNotes);
    case WaitArguments::Kind::kTargets:
      break;
  }
  return absl::Substitute(kTargetsNotes, SchemesSummary());
}

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

bool HasLogin(const Target& target) {
  const auto* const server = std::get_if<ServerTarget>(&target.what);
  return server != nullptr &&
         !(server->user.empty() && server->password.empty() &&
           server->database.empty());
}

// Removes repeated targets that are written the same way.
void RemoveRepeated(std::vector<Target>& targets) {
  std::multimap<std::string, size_t> known;
  std::vector<Target> kept;
  for (Target& target : targets) {
    const auto [begin, end] = known.equal_range(target.text);
    const bool is_known = std::any_of(begin, end, [&](const auto& entry) {
      const Target& other = kept[entry.second];
      return other.label == target.label && other.what == target.what;
    });
    if (is_known) continue;
    known.emplace(target.text, kept.size());
    kept.push_back(std::move(target));
  }
  targets = std::move(kept);
}

// Makes labels distinct if their URLs differ only in parts that are not shown.
void NumberEqualTexts(std::vector<Target>& targets) {
  std::map<std::string, std::set<std::string>> urls;
  for (Target& target : targets) {
    const auto* const http = std::get_if<HttpTarget>(&target.what);
    if (http == nullptr || target.label != target.text) continue;
    std::set<std::string>& known = urls[target.text];
    if (known.insert(http->url).second && known.size() > 1) {
      absl::StrAppend(&target.label, " (", known.size(), ")");
    }
  }
}

}  // namespace

WaitArguments::WaitArguments(Kind kind) : kind_(kind), flags_(FlagsOf(kind)) {
  flags_.SetNotes(NotesOf(kind));
  if (kind == Kind::kTargets) {
    flags_.AddRepeated("targets", "FILE",
                       "more targets, one per line; or set WAITER_TARGETS",
                       [this](std::string_view path) {
                         target_files_.emplace_back(path);
                         return absl::OkStatus();
                       });
    flags_.HasNoVariable("targets");
  }
  if (kind == Kind::kOperation) AddOperationFlags();
  wait_.AddTo(flags_);
  if (kind == Kind::kTargets) {
    flags_.BeginTopic("targets",
                      "kinds of targets; db=redis://HOST has the label db",
                      SchemesHelp);
  }
  flags_.BeginTopic("when", "delays, limits and exit codes");
  wait_.AddTimesTo(flags_);
  flags_.BeginTopic("probes",
                    "exit codes of probes, logins, when to give up early");
  flags_.Add("map", "@curl,5=failed",
             "meaning of exit codes, such as 0=success,*=error",
             Flags::Into(CodeMap::Parse, code_map_));
  if (kind == Kind::kTargets) {
    flags_.AddSwitch("login", "use the logins in redis: and postgres: URLs",
                     login_);
    flags_.Add("hold-open", "500ms",
               "how long a tcp: port must keep a connection open", hold_open_);
  }
  if (kind != Kind::kExec) http_.AddFamilyTo(flags_);
  guards_.AddTo(flags_);
  flags_.BeginTopic("output", "progress, messages and logs");
  output_.AddTo(flags_);
  flags_.AddShortForm('t', "timeout");
  flags_.AddShortForm('q', "quiet");
  if (kind == Kind::kExec) return;
  flags_.BeginTopic("http", "http targets; --header@LABEL is for one target");
  http_.AddTo(flags_);
}

void WaitArguments::AddOperationFlags() {
  flags_.Add("dialect", "azure",
             "server's convention, such as state:.job.state=DONE",
             Flags::Into(HttpDialect::Parse, operation_.dialect));
  flags_.AddRepeated("trust", "https://HOST",
                     "another origin to send --header and --bearer to",
                     [this](std::string_view text) {
                       operation_.trusted_origins.emplace_back(text);
                       return absl::OkStatus();
                     });
}

absl::Status WaitArguments::CheckOperation() const {
  const HttpTarget* const url = targets_.size() == 1
                                    ? std::get_if<HttpTarget>(&targets_[0].what)
                                    : nullptr;
  if (url == nullptr || !url->socket.empty() ||
      targets_[0].scheme->flags != RequestFlags::kAll) {
    return absl::InvalidArgumentError(
        "an operation has one URL, of http:// or https://");
  }
  for (const std::string_view name :
       {"gone", "status", "not-ready-on", "no-redirect"}) {
    if (!flags_.Given(name) || flags_.FromVariable(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, ": does not apply to operations; leave it out"));
  }
  const absl::StatusOr<HttpOptions> http =
      http_.Options(flags_, targets_[0].label);
  if (!http.ok()) return http.status();
  if (http->method == "HEAD") {
    return absl::InvalidArgumentError(
        "--method=HEAD: neither starts an operation nor returns its state; use "
        "GET or POST");
  }
  if (flags_.Given("state") && StartsOperation(*http)) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags_.Label("state"),
        ": a resumed run would start the operation again; start it without "
        "--state, then follow its status URL with --state"));
  }
  return absl::OkStatus();
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
    return kind_ != Kind::kExec && !has_words && FollowsProgram(args)
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
    return absl::InvalidArgumentError("PROGRAM is missing after --");
  }
  const absl::StatusOr<std::vector<GivenTarget>> given =
      GivenTargets(*rest, environment);
  if (!given.ok()) return given.status();
  absl::Status read = ReadTargets(*given);
  return read.ok() && kind_ == Kind::kOperation ? CheckOperation() : read;
}

absl::StatusOr<std::vector<WaitArguments::GivenTarget>>
WaitArguments::GivenTargets(const std::vector<std::string>& arguments,
                            absl::Span<const std::string> environment) const {
  std::vector<GivenTarget> given;
  given.reserve(arguments.size());
  for (const std::string& argument : arguments) {
    given.push_back({.text = argument, .where = ""});
  }
  for (const std::string& path : target_files_) {
    const absl::StatusOr<std::string> content =
        ReadTextFile(path, kLargestFile);
    if (!content.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--targets=", path, ": ", content.status().message()));
    }
    int number = 0;
    const std::string_view all = *content;
    const std::vector<std::string_view> lines = absl::StrSplit(all, '\n');
    for (const std::string_view line : lines) {
      ++number;
      const std::string_view text = absl::StripAsciiWhitespace(line);
      if (text.empty() || text[0] == '#') continue;
      given.push_back({.text = std::string(text),
                       .where = absl::StrCat(path, ":", number, ": ")});
    }
  }
  if (!arguments.empty() || !target_files_.empty()) return given;
  const std::vector<std::string> texts =
      absl::StrSplit(std::string(FindVariable(environment, kTargetsVariable)),
                     absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty());
  for (const std::string& text : texts) {
    given.push_back(
        {.text = text, .where = absl::StrCat(kTargetsVariable, ": ")});
  }
  return given;
}

absl::Status WaitArguments::ReadTargets(const std::vector<GivenTarget>& given) {
  if (given.empty()) {
    return absl::InvalidArgumentError(
        target_files_.empty()
            ? "nothing to wait for; give a target, such as "
              "tcp://localhost:5432"
            : absl::StrCat("--targets=", target_files_.front(),
                           ": the file has no targets; write one per line"));
  }
  for (const auto& [text, where] : given) {
    absl::StatusOr<Target> target = ParseTarget(text);
    if (!target.ok()) {
      const absl::Status status(target.status().code(),
                                absl::StrCat(where, target.status().message()));
      return words_.empty() && !targets_.empty() && !IsLikeTarget(text)
                 ? WithSeparatorHint(status)
                 : status;
    }
    targets_.push_back(*std::move(target));
  }
  if (login_ && std::none_of(targets_.begin(), targets_.end(), HasLogin)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags_.Label("login"),
                     ": no target is redis://USER:PASSWORD@HOST or "
                     "postgres://USER@HOST/DATABASE"));
  }
  RemoveRepeated(targets_);
  NumberEqualTexts(targets_);
  std::vector<std::string_view> labels;
  for (const Target& target : targets_) labels.push_back(target.label);
  std::sort(labels.begin(), labels.end());
  const auto twice = std::adjacent_find(labels.begin(), labels.end());
  if (twice != labels.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        *twice, ": two targets have this label; give each its own"));
  }
  return absl::OkStatus();
}

}  // namespace waiter::cli
