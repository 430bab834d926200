// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/json_progress.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "cli/output/target_text.h"
#include "cli/run/run_state.h"
#include "json/json.h"
#include "waiter/poll_status.h"
#include "waiter/wait_report.h"

namespace waiter::cli {
namespace {

constexpr size_t kMostText = 4096;

// The members of one object, in order.
class Members {
 public:
  Members& Json(std::string_view name, std::string_view json) {
    absl::StrAppend(&text_, text_.empty() ? "" : ",", QuoteJson(name), ":",
                    json);
    return *this;
  }

  Members& Text(std::string_view name, std::string_view text) {
    if (text.size() <= kMostText) return Json(name, QuoteJson(text));
    size_t length = kMostText;
    // Not inside of a character, if it is UTF-8.
    for (int back = 0; back < 3 && (text[length] & '\xc0') == '\x80'; ++back) {
      --length;
    }
    return Json(name, QuoteJson(absl::StrCat(text.substr(0, length), "...")));
  }

  Members& Number(std::string_view name, int64_t number) {
    return Json(name, absl::StrCat(number));
  }

  // To the microsecond; null if it is infinite.
  Members& Milliseconds(std::string_view name, absl::Duration time) {
    if (time == absl::InfiniteDuration()) return Json(name, "null");
    const int64_t microseconds = absl::ToInt64Microseconds(time);
    std::string text =
        absl::StrFormat("%d.%03d", microseconds / 1000, microseconds % 1000);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return Json(name, text);
  }

  const std::string& text() const { return text_; }
  std::string Object() const { return absl::StrCat("{", text_, "}"); }

 private:
  std::string text_;
};

Members Event(const RunState& run, absl::Duration elapsed,
              std::string_view event) {
  Members members;
  members.Number("v", 1)
      .Text("t", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", run.started + elapsed,
                                  absl::UTCTimeZone()))
      .Milliseconds("elapsed_ms", elapsed)
      .Text("event", event);
  return members;
}

std::string_view PhaseName(TargetState::Phase phase) {
  switch (phase) {
    case TargetState::Phase::kStarting:
      return "starting";
    case TargetState::Phase::kPolling:
      return "polling";
    case TargetState::Phase::kSleeping:
      return "sleeping";
    case TargetState::Phase::kEnded:
      break;
  }
  return "ended";
}

void AddEnded(const TargetState& target, Members& members) {
  if (target.reason.has_value()) {
    members.Text("ended", StopReasonName(*target.reason));
  } else {
    members.Json("ended", "null");
  }
}

std::string PollsByClass(const TargetState& target) {
  Members polls;
  for (size_t i = 0; i < target.counts.size(); ++i) {
    if (target.counts[i] == 0) continue;
    polls.Number(LogClass(static_cast<PollStatus>(i)), target.counts[i]);
  }
  return polls.Object();
}

std::string Array(const std::vector<std::string>& elements) {
  return absl::StrCat("[", absl::StrJoin(elements, ","), "]");
}

}  // namespace

void JsonProgress::WriteLine(const std::string& members) {
  if (status_.ok()) status_ = write_(absl::StrCat("{", members, "}\n"));
}

void JsonProgress::OnStart(const RunState& run) {
  std::vector<std::string> targets;
  targets.reserve(run.targets.size());
  for (const TargetState& target : run.targets) {
    targets.push_back(Members()
                          .Text("target", target.label)
                          .Text("text", target.text)
                          .Object());
  }
  WriteLine(Event(run, run.elapsed, "start")
                .Json("targets", Array(targets))
                .Number("needed", static_cast<int64_t>(run.needed))
                .Json("gone", run.gone ? "true" : "false")
                .Milliseconds("timeout_ms", run.timeout)
                .text());
}

void JsonProgress::OnPoll(const RunState& run, size_t target) {
  const TargetState& state = run.targets[target];
  const Finding& found = state.last;
  Members members = Event(run, state.last_ended, "poll");
  members.Text("target", state.label)
      .Number("attempt", state.attempts)
      .Text("class", LogClass(found.status))
      .Text("detail", found.detail)
      .Milliseconds("latency_ms", state.last_took);
  if (state.phase != TargetState::Phase::kEnded) {
    members.Milliseconds("next_ms", state.next_delay);
  }
  if (found.retry_after > absl::ZeroDuration()) {
    members.Milliseconds("retry_after_ms", found.retry_after);
  }
  if (found.progress.has_value()) {
    members.Json("progress", JsonNumber(*found.progress));
  }
  WriteLine(members.text());
}

void JsonProgress::WriteState(const RunState& run, const TargetState& target) {
  Members members = Event(run, run.elapsed, "state");
  members.Text("target", target.label)
      .Text("phase", PhaseName(target.phase))
      .Number("attempts", target.attempts);
  AddEnded(target, members);
  WriteLine(members.text());
}

void JsonProgress::OnEnd(const RunState& run, size_t target) {
  const TargetState& state = run.targets[target];
  if (!IsReady(state)) return WriteState(run, state);
  WriteLine(Event(run, state.ended, "ready")
                .Text("target", state.label)
                .Number("attempts", state.attempts)
                .text());
}

void JsonProgress::OnSnapshot(const RunState& run) {
  for (const TargetState& target : run.targets) WriteState(run, target);
}

void JsonProgress::OnDone(const RunState& run, const RunEnd& end) {
  std::vector<std::string> targets;
  targets.reserve(run.targets.size());
  for (const TargetState& target : run.targets) {
    Members members;
    members.Text("target", target.label);
    AddEnded(target, members);
    if (target.reason.has_value()) {
      members.Milliseconds("ended_ms", target.ended);
    }
    targets.push_back(members.Number("attempts", target.attempts)
                          .Json("polls", PollsByClass(target))
                          .Object());
  }
  Members members = Event(run, run.elapsed, "summary");
  members.Number("exit_code", end.exit_code).Text("reason", end.reason);
  if (!end.detail.empty()) members.Text("detail", end.detail);
  WriteLine(members.Json("targets", Array(targets)).text());
}

}  // namespace waiter::cli
