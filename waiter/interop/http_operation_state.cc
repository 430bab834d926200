// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Saves a tracker as text, one member in a line: a name, a blank, the value.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/http_url.h"
#include "waiter/interop/internal/http_operation.h"
#include "waiter/interop/printable.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

constexpr std::string_view kFirstLine = "waiter operation 1";
constexpr std::string_view kPhases = "ABC";
constexpr std::string_view kSources = "ABCD";
constexpr size_t kMaxEndText = 1000;

absl::Status NotAState() {
  return absl::InvalidArgumentError("truncated, or not a saved operation");
}

absl::Status NotAllowed(const absl::Status& error) {
  return absl::InvalidArgumentError(error.message());
}

// Takes the value of the next line, which must begin with `name`.
bool TakeLine(std::string_view& rest, std::string_view name,
              std::string_view& value) {
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  if (!line.starts_with(' ')) return false;
  value = line.substr(1);
  return true;
}

constexpr std::array<std::string_view, 9> kMembers = {
    "phase",  "source", "flags",  "started", "dialect",
    "reason", "status", "result", "end"};
using Values = std::array<std::string_view, kMembers.size()>;

// Returns the values of `kMembers`, or nothing.
std::optional<Values> ValuesOf(std::string_view saved) {
  if (!saved.starts_with(kFirstLine) ||
      saved.substr(kFirstLine.size(), 1) != "\n") {
    return std::nullopt;
  }
  saved.remove_prefix(kFirstLine.size() + 1);
  Values values;
  for (size_t i = 0; i < kMembers.size(); ++i) {
    if (!TakeLine(saved, kMembers[i], values[i])) return std::nullopt;
  }
  if (!saved.empty()) return std::nullopt;
  return values;
}

// Writes the end of an operation as the number of its code and its text.
std::string EndText(const std::optional<Poll<>>& end) {
  if (!end.has_value()) return "-";
  const std::string text(end->detail());
  return absl::StrCat(static_cast<int>(end->error().code()), " ",
                      internal::PrintableAscii(text, kMaxEndText));
}

// Reads it. Returns false if it is damaged.
bool ReadEnd(std::string_view text, std::optional<Poll<>>& end) {
  if (text == "-") return true;
  const size_t blank = text.find(' ');
  int code = 0;
  if (blank == std::string_view::npos ||
      !absl::SimpleAtoi(internal::ToAbsl(text.substr(0, blank)), &code) ||
      code < 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return false;
  }
  text.remove_prefix(blank + 1);
  if (code == 0) {
    end = Poll<>(PollStatus::kSuccess, text);
  } else {
    end = Failed(absl::Status(static_cast<absl::StatusCode>(code),
                              internal::ToAbsl(text)));
  }
  return true;
}

// Returns the place of a letter, or nothing.
template <typename T>
std::optional<T> LetterOf(std::string_view letters, std::string_view text) {
  const size_t at =
      text.size() == 1 ? letters.find(text) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<T>(at);
}

}  // namespace

std::string HttpOperationTracker::Save() const {
  const auto letter = [](std::string_view letters, auto value) {
    return std::string(1, letters[static_cast<size_t>(value)]);
  };
  const int64_t started =
      started_ == absl::InfinitePast() ? 0 : absl::ToUnixMillis(started_);
  const auto flag = [](bool value) { return value ? "1" : "0"; };
  return absl::StrCat(
      internal::ToAbsl(kFirstLine), "\nphase ", letter(kPhases, phase_),
      "\nsource ", letter(kSources, source_), "\nflags ", flag(was_sent_),
      flag(has_run_), flag(has_word_), flag(may_be_done_), flag(offers_wait_),
      "\nstarted ", started, "\ndialect ", dialect_.ToString(), "\nreason ",
      reason_, "\nstatus ", url_, "\nresult ", result_url_, "\nend ",
      EndText(end_), "\n");
}

absl::StatusOr<HttpOperationTracker> HttpOperationTracker::Restore(
    HttpOperationPlan plan, std::string_view saved) {
  const std::optional<Values> values = ValuesOf(saved);
  if (!values.has_value()) return NotAState();
  const auto& [phase, source, flags, started, dialect, reason, status, result,
               end] = *values;
  HttpOperationTracker tracker(std::move(plan));
  const std::optional<Phase> known_phase = LetterOf<Phase>(kPhases, phase);
  const std::optional<Source> known_source = LetterOf<Source>(kSources, source);
  int64_t started_ms = 0;
  absl::StatusOr<HttpDialect> known_dialect = HttpDialect::Parse(dialect);
  if (!known_phase || !known_source || flags.size() != 5 ||
      flags.find_first_not_of("01") != std::string_view::npos ||
      !absl::SimpleAtoi(internal::ToAbsl(started), &started_ms) ||
      !known_dialect.ok() || status.empty()) {
    return NotAState();
  }
  // The address of the request is the base by which these are checked.
  absl::StatusOr<std::string> url = tracker.Resolve(status, "status");
  if (!url.ok()) return NotAllowed(url.status());
  if (!result.empty()) {
    absl::StatusOr<std::string> found = tracker.Resolve(result, "result");
    if (!found.ok()) return NotAllowed(found.status());
    tracker.result_url_ = *std::move(found);
  }
  if (known_phase == Phase::kResult && result.empty()) return NotAState();
  if (!ReadEnd(end, tracker.end_)) return NotAState();
  tracker.url_ = *std::move(url);
  tracker.phase_ = *known_phase;
  tracker.source_ = *known_source;
  tracker.dialect_ = *std::move(known_dialect);
  tracker.reason_ = reason;
  tracker.was_sent_ = flags[0] == '1';
  tracker.has_run_ = flags[1] == '1';
  tracker.has_word_ = flags[2] == '1';
  tracker.may_be_done_ = flags[3] == '1';
  tracker.offers_wait_ = flags[4] == '1';
  if (started_ms > 0) tracker.started_ = absl::FromUnixMillis(started_ms);
  // The process ended before it had the answer to the start.
  if (tracker.phase_ == Phase::kStart && tracker.was_sent_) {
    tracker.TakeFailure({PollStatus::kServerError, "the process ended"},
                        /*was_sent=*/true);
  }
  return tracker;
}

}  // namespace waiter
