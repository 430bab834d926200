// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/mcp/wait_progress.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/run/exit_code.h"
#include "cli/text/json.h"
#include "cli/text/time_text.h"
#include "nlohmann/json.hpp"
#include "waiter/clock.h"

namespace waiter::cli {
namespace {

// Until the first poll has ended, the pace of the wait is unknown.
constexpr absl::Duration kFirstLook = absl::Milliseconds(500);

// Returns "not ready" for "NOT_READY".
std::string StateOf(std::string_view log_class) {
  std::string state = absl::AsciiStrToLower(log_class);
  std::replace(state.begin(), state.end(), '_', ' ');
  return state;
}

WaitProgress::State EndState(int exit_code, std::string_view reason) {
  using State = WaitProgress::State;
  if (exit_code == 0) return State::kReady;
  if (reason == "interrupted") return State::kCancelled;
  if (reason == "deadline" || reason == "attempts" || reason == "errors") {
    return State::kTimedOut;
  }
  return reason == "failed" ? State::kFailed : State::kInvalid;
}

int64_t Milliseconds(absl::Duration time) {
  return absl::ToInt64Milliseconds(time);
}

}  // namespace

std::string_view StateName(WaitProgress::State state) {
  using State = WaitProgress::State;
  switch (state) {
    case State::kWaiting:
      return "waiting";
    case State::kReady:
      return "ready";
    case State::kFailed:
      return "failed";
    case State::kTimedOut:
      return "timed_out";
    case State::kCancelled:
      return "cancelled";
    case State::kInvalid:
      break;
  }
  return "invalid";
}

void WaitProgress::Add(std::string_view line, MonotonicTime now) {
  const absl::StatusOr<nlohmann::json> event = ParseJson(line);
  if (!event.ok()) return;
  const std::string_view kind = TextOf(*event, "event");
  if (kind == "start") {
    AddStart(*event);
  } else if (kind == "poll") {
    AddPoll(*event, now);
  } else if (kind == "ready") {
    if (Target* const target = Find(*event); target != nullptr) {
      target->is_ready = true;
      target->state = "ready";
      target->detail.clear();
    }
  } else if (kind == "summary") {
    reason_ = TextOf(*event, "reason");
  }
}

void WaitProgress::AddStart(const nlohmann::json& event) {
  if (const auto timeout = FindNumber(event, "timeout_ms");
      timeout.has_value()) {
    timeout_ = absl::Milliseconds(*timeout);
  }
  const nlohmann::json* const targets = FindMember(event, "targets");
  if (targets == nullptr || !targets->is_array()) return;
  for (const nlohmann::json& target : *targets) {
    targets_.push_back({.name = std::string(TextOf(target, "target"))});
  }
}

void WaitProgress::AddPoll(const nlohmann::json& event, MonotonicTime now) {
  Target* const target = Find(event);
  if (target == nullptr) return;
  ++polls_;
  ++target->polls;
  target->state = StateOf(TextOf(event, "class"));
  target->detail = TextOf(event, "detail");
  target->next_poll.reset();
  if (const auto next = FindNumber(event, "next_ms"); next.has_value()) {
    target->next_poll =
        now + absl::ToChronoNanoseconds(absl::Milliseconds(*next));
  }
}

WaitProgress::Target* WaitProgress::Find(const nlohmann::json& event) {
  const std::string_view name = TextOf(event, "target");
  const auto found =
      std::find_if(targets_.begin(), targets_.end(),
                   [&](const Target& target) { return target.name == name; });
  return found == targets_.end() ? nullptr : &*found;
}

void WaitProgress::End(int exit_code, std::string_view message,
                       MonotonicTime now) {
  state_ = EndState(exit_code, reason_);
  ended_ = now;
  message_ = std::string(absl::StripAsciiWhitespace(message));
}

absl::Duration WaitProgress::Elapsed(MonotonicTime now) const {
  return absl::FromChrono((has_ended() ? ended_ : now) - start_);
}

absl::Duration WaitProgress::UntilNextPoll(MonotonicTime now) const {
  if (polls_ == 0) return kFirstLook;
  absl::Duration next = absl::InfiniteDuration();
  for (const Target& target : targets_) {
    if (target.is_ready) continue;
    next = std::min(next, target.next_poll.has_value()
                              ? absl::FromChrono(*target.next_poll - now)
                              : absl::ZeroDuration());
  }
  return next == absl::InfiniteDuration()
             ? absl::ZeroDuration()
             : std::max(next, absl::ZeroDuration());
}

std::string WaitProgress::Text(MonotonicTime now) const {
  if (has_ended() && !message_.empty() && state_ != State::kReady) {
    return message_;
  }
  std::string text =
      absl::StrCat(StateName(state_), " after ", TimeText(Elapsed(now)));
  if (has_ended()) return text;
  if (timeout_.has_value()) {
    absl::StrAppend(&text, " of ", TimeText(*timeout_));
  }
  std::vector<std::string> missing;
  for (const Target& target : targets_) {
    if (target.is_ready) continue;
    missing.push_back(
        absl::StrCat(target.name, ": ",
                     target.detail.empty() ? target.state : target.detail));
  }
  absl::StrAppend(&text, "; ", absl::StrJoin(missing, "; "));
  return text;
}

nlohmann::ordered_json WaitProgress::Json(MonotonicTime now) const {
  nlohmann::ordered_json targets = nlohmann::ordered_json::array();
  for (const Target& target : targets_) {
    nlohmann::ordered_json json = {{"target", target.name},
                                   {"state", target.state},
                                   {"polls", target.polls}};
    if (!target.detail.empty()) json["detail"] = target.detail;
    targets.push_back(std::move(json));
  }
  nlohmann::ordered_json json = {{"state", StateName(state_)},
                                 {"elapsed_ms", Milliseconds(Elapsed(now))}};
  if (timeout_.has_value()) json["timeout_ms"] = Milliseconds(*timeout_);
  if (!has_ended()) json["next_poll_ms"] = Milliseconds(UntilNextPoll(now));
  json["targets"] = std::move(targets);
  return json;
}

}  // namespace waiter::cli
