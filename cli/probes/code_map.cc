// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/code_map.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

struct Preset {
  std::string_view name;
  std::string_view text;
};

// For curl, 1 to 4 and 48 are wrong or unknown options and URLs, and 43 is a
// misuse of the library. The errors are broken answers and failures of TLS.
constexpr auto kPresets = std::to_array<Preset>({
    {"@nagios", "0=success,1-2=not-ready,3=failed"},
    {"@pg_isready", "0=success,1-2=not-ready,3=failed"},
    {"@curl",
     "0=success,1-4=failed,43=failed,48=failed,8=error,16=error,18=error,"
     "35=error,51-52=error,55-56=error,60=error,92=error,*=not-ready"},
    {"@systemctl", "0=success,3=not-ready,4=failed"},
    {"@strict", "0=success,*=failed,signal=failed"},
});

absl::Status Invalid(std::string_view piece, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", piece, "\": ", why));
}

// Accepts digits only; SimpleAtoi also accepts signs and spaces.
std::optional<int> ParseCode(std::string_view text) {
  int code = 0;
  if (text.empty() || text.size() > 3 ||
      !std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &code) || code > 255) {
    return std::nullopt;
  }
  return code;
}

}  // namespace

std::optional<PollStatus> ParsePollStatus(std::string_view word) {
  using Word = std::pair<std::string_view, PollStatus>;
  constexpr auto kWords = std::to_array<Word>({
      {"success", PollStatus::kSuccess},
      {"not-ready", PollStatus::kNotReady},
      {"not_ready", PollStatus::kNotReady},
      {"throttled", PollStatus::kThrottled},
      {"error", PollStatus::kServerError},
      {"server_error", PollStatus::kServerError},
      {"failed", PollStatus::kFailed},
      {"fatal", PollStatus::kFailed},
  });
  for (const auto& [known, status] : kWords) {
    if (word == known) return status;
  }
  return std::nullopt;
}

CodeMap::CodeMap() {
  statuses_.fill(PollStatus::kNotReady);
  statuses_[0] = PollStatus::kSuccess;
  statuses_[75] = PollStatus::kThrottled;
  for (const int code : {69, 70, 124, kSignal}) {
    statuses_[static_cast<size_t>(code)] = PollStatus::kServerError;
  }
  for (const int code : {64, 77, 78, 126, 127}) {
    statuses_[static_cast<size_t>(code)] = PollStatus::kFailed;
  }
}

absl::StatusOr<CodeMap> CodeMap::Parse(std::string_view text) {
  CodeMap map;
  Named preset = {};
  Named named = {};
  const std::vector<std::string_view> pieces = absl::StrSplit(text, ',');
  const auto* const found = std::find_if(
      kPresets.begin(), kPresets.end(),
      [&](const Preset& known) { return known.name == pieces[0]; });
  absl::Span<const std::string_view> others = pieces;
  if (found != kPresets.end()) {
    const std::vector<std::string_view> known =
        absl::StrSplit(found->text, ',');
    const absl::Status read = map.ReadAll(known, Named(), preset);
    assert(read.ok());
    others.remove_prefix(1);
  }
  absl::Status read = map.ReadAll(others, preset, named);
  if (!read.ok()) return read;
  return map;
}

absl::Status CodeMap::ReadAll(absl::Span<const std::string_view> pieces,
                              const Named& preset, Named& named) {
  std::optional<PollStatus> others;
  for (const std::string_view piece : pieces) {
    absl::Status read = Read(piece, named, others);
    if (!read.ok()) return read;
  }
  for (size_t code = 0; code < kSignal && others.has_value(); ++code) {
    if (!named[code] && !preset[code] && code != 126 && code != 127) {
      statuses_[code] = *others;
    }
  }
  return absl::OkStatus();
}

absl::Status CodeMap::Read(std::string_view piece, Named& named,
                           std::optional<PollStatus>& others) {
  if (absl::StartsWith(piece, "@")) {
    return Invalid(
        piece,
        "a preset must come first and be one of @nagios, @pg_isready, "
        "@curl, @systemctl and @strict");
  }
  const std::vector<std::string_view> sides = absl::StrSplit(piece, '=');
  if (sides.size() != 2) {
    return Invalid(piece, "write it as CODES=MEANING, such as 75=throttled");
  }
  const std::optional<PollStatus> status = ParsePollStatus(sides[1]);
  if (!status.has_value()) {
    return Invalid(
        piece, absl::StrCat("the meaning must be one of ", kPollStatusWords));
  }
  if (sides[0] == "*") {
    if (others.has_value()) return Invalid(piece, "* is given twice");
    others = status;
    return absl::OkStatus();
  }
  std::optional<int> first;
  std::optional<int> last;
  if (sides[0] == "signal") {
    first = last = kSignal;
  } else {
    const std::pair<std::string_view, std::string_view> range =
        absl::StrSplit(sides[0], absl::MaxSplits('-', 1));
    first = ParseCode(range.first);
    last = absl::StrContains(sides[0], '-') ? ParseCode(range.second) : first;
  }
  if (!first.has_value() || !last.has_value() || *first > *last) {
    return Invalid(piece,
                   "the codes must be a number from 0 to 255, a range such as "
                   "2-9, * or signal");
  }
  for (int code = *first; code <= *last; ++code) {
    if (std::exchange(named[static_cast<size_t>(code)], true)) {
      return Invalid(piece, code == kSignal
                                ? "signal is given twice"
                                : absl::StrCat(code, " is given twice"));
    }
    statuses_[static_cast<size_t>(code)] = *status;
  }
  return absl::OkStatus();
}

PollStatus CodeMap::OfExitCode(int code) const {
  assert(code >= 0 && code < kSignal);
  return statuses_[static_cast<size_t>(code)];
}

PollStatus CodeMap::OfSignal() const { return statuses_[kSignal]; }

}  // namespace waiter::cli
