// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/run_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// A century. No run lasts longer.
constexpr double kLongestMs = 100 * 365.25 * 86400e3;

constexpr std::array<PollStatus, 5> kStatuses = {
    PollStatus::kSuccess, PollStatus::kNotReady, PollStatus::kThrottled,
    PollStatus::kServerError, PollStatus::kFailed};

// Reads the members of one line. Keeps the first error.
class Line {
 public:
  explicit Line(const nlohmann::json& value) : value_(value) {}

  std::optional<absl::Duration> Milliseconds(const char* name, bool required) {
    const std::optional<double> number = Number(name, required, 0, kLongestMs);
    if (!number.has_value()) return std::nullopt;
    return absl::Milliseconds(*number);
  }

  std::optional<double> Number(const char* name, bool required, double least,
                               double most) {
    const nlohmann::json* const member = FindMember(value_, name);
    if (member == nullptr || member->is_null()) {
      if (required) Fail(absl::StrCat("\"", name, "\" is missing"));
      return std::nullopt;
    }
    const std::optional<double> number = NumberOf(*member);
    if (!number.has_value() || *number < least || *number > most) {
      Fail(absl::StrCat("\"", name, "\" is not a number from ", least, " to ",
                        most));
      return std::nullopt;
    }
    return number;
  }

  std::string Text(const char* name, bool required) {
    const nlohmann::json* const member = FindMember(value_, name);
    if (member == nullptr || member->is_null()) {
      if (required) Fail(absl::StrCat("\"", name, "\" is missing"));
      return "";
    }
    const auto* const text = member->get_ptr<const std::string*>();
    if (text == nullptr) {
      Fail(absl::StrCat("\"", name, "\" is not a string"));
      return "";
    }
    return *text;
  }

  void Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  const std::string& error() const { return error_; }

 private:
  const nlohmann::json& value_;
  std::string error_;
};

PollStatus StatusOf(std::string_view log_class, Line& line) {
  for (const PollStatus status : kStatuses) {
    if (LogClass(status) == log_class) return status;
  }
  line.Fail(
      "\"class\" must be SUCCESS, NOT_READY, THROTTLED, SERVER_ERROR or FATAL");
  return PollStatus::kFailed;
}

class Reader {
 public:
  // Takes in one line. Returns its error; empty if it is valid.
  std::string Read(std::string_view text) {
    const absl::StatusOr<nlohmann::json> value = ParseJson(text);
    if (!value.ok()) return std::string(value.status().message());
    if (!value->is_object()) return "not a JSON object";
    Line line(*value);
    const double version =
        line.Number("v", /*required=*/false, 0, 1e9).value_or(1);
    if (version != 1) {
      line.Fail(absl::StrCat("version ", version,
                             " is unknown; this program reads version 1"));
    }
    const std::string event = line.Text("event", /*required=*/true);
    const absl::Duration elapsed =
        line.Milliseconds("elapsed_ms", /*required=*/true)
            .value_or(absl::ZeroDuration());
    log_.elapsed = std::max(log_.elapsed, elapsed);
    if (event == "poll") ReadPoll(elapsed, line);
    if (event == "summary") ReadSummary(line);
    return line.error();
  }

  RunLog Take() { return std::move(log_); }

 private:
  void ReadPoll(absl::Duration elapsed, Line& line) {
    LoggedPoll poll = {.target = line.Text("target", /*required=*/true),
                       .attempt = 0,
                       .elapsed = elapsed,
                       .status = StatusOf(line.Text("class", true), line),
                       .detail = line.Text("detail", false),
                       .latency = line.Milliseconds("latency_ms", false),
                       .next = line.Milliseconds("next_ms", false)};
    int64_t& attempts = attempts_[poll.target];
    attempts =
        static_cast<int64_t>(line.Number("attempt", false, 1, 1e15)
                                 .value_or(static_cast<double>(attempts) + 1));
    poll.attempt = attempts;
    log_.polls.push_back(std::move(poll));
  }

  void ReadSummary(Line& line) {
    const std::optional<double> code =
        line.Number("exit_code", /*required=*/true, 0, 255);
    if (code.has_value()) log_.exit_code = static_cast<int>(*code);
    log_.reason = line.Text("reason", /*required=*/false);
  }

  RunLog log_;
  std::map<std::string, int64_t> attempts_;
};

}  // namespace

std::string_view LogClass(PollStatus status) {
  switch (status) {
    case PollStatus::kSuccess:
      return "SUCCESS";
    case PollStatus::kNotReady:
      return "NOT_READY";
    case PollStatus::kThrottled:
      return "THROTTLED";
    case PollStatus::kServerError:
      return "SERVER_ERROR";
    case PollStatus::kFailed:
      break;
  }
  return "FATAL";
}

absl::StatusOr<RunLog> ParseRunLog(std::string_view text,
                                   std::string_view name) {
  Reader reader;
  int64_t number = 0;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::string error = reader.Read(line);
    if (!error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ":", number, ": ", error));
    }
  }
  return reader.Take();
}

}  // namespace waiter::cli
