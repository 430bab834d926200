// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/json_progress.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "cli/output/target_text.h"
#include "cli/run/run_state.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "cli/text/time_text.h"
#include "nlohmann/json.hpp"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

constexpr size_t kMostText = 4096;

using Json = nlohmann::ordered_json;

Json Text(std::string_view text) { return Shortened(text, kMostText); }

// To the microsecond; null if it is infinite.
Json Milliseconds(absl::Duration time) {
  if (time == absl::InfiniteDuration()) return nullptr;
  return JsonNumber(static_cast<double>(absl::ToInt64Microseconds(time)) /
                    1000);
}

Json Event(const RunState& run, absl::Duration elapsed,
           std::string_view event) {
  return {{"v", 1},
          {"t", IsoTime(run.started + elapsed)},
          {"elapsed_ms", Milliseconds(elapsed)},
          {"event", event}};
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

Json Ended(const TargetState& target) {
  if (!target.reason.has_value()) return nullptr;
  return StopReasonName(*target.reason);
}

Json PollsByClass(const TargetState& target) {
  Json polls = Json::object();
  for (size_t i = 0; i < target.counts.size(); ++i) {
    if (target.counts[i] == 0) continue;
    polls[LogClass(static_cast<PollStatus>(i))] = target.counts[i];
  }
  return polls;
}

}  // namespace

void JsonProgress::WriteLine(const Json& event) {
  if (status_.ok()) status_ = write_(JsonText(event) + "\n");
}

void JsonProgress::OnStart(const RunState& run) {
  Json targets = Json::array();
  for (const TargetState& target : run.targets) {
    targets.push_back(
        {{"target", Text(target.label)}, {"text", Text(target.text)}});
  }
  Json event = Event(run, run.elapsed, "start");
  event["targets"] = std::move(targets);
  event["needed"] = run.needed;
  event["gone"] = run.gone;
  event["timeout_ms"] = Milliseconds(run.timeout);
  WriteLine(event);
}

void JsonProgress::OnPoll(const RunState& run, size_t target) {
  const TargetState& state = run.targets[target];
  const Finding& found = state.last;
  Json event = Event(run, state.last_ended, "poll");
  event["target"] = Text(state.label);
  event["attempt"] = state.attempts;
  event["class"] = LogClass(found.status);
  event["detail"] = Text(found.detail);
  event["latency_ms"] = Milliseconds(state.last_took);
  if (state.phase != TargetState::Phase::kEnded) {
    event["next_ms"] = Milliseconds(state.next_delay);
  }
  if (found.retry_after > absl::ZeroDuration()) {
    event["retry_after_ms"] = Milliseconds(found.retry_after);
  }
  if (found.progress.has_value()) {
    event["progress"] = JsonNumber(*found.progress);
  }
  WriteLine(event);
}

void JsonProgress::WriteState(const RunState& run, const TargetState& target) {
  Json event = Event(run, run.elapsed, "state");
  event["target"] = Text(target.label);
  event["phase"] = PhaseName(target.phase);
  event["attempts"] = target.attempts;
  event["ended"] = Ended(target);
  WriteLine(event);
}

void JsonProgress::OnEnd(const RunState& run, size_t target) {
  const TargetState& state = run.targets[target];
  if (!IsReady(state)) return WriteState(run, state);
  Json event = Event(run, state.ended, "ready");
  event["target"] = Text(state.label);
  event["attempts"] = state.attempts;
  WriteLine(event);
}

void JsonProgress::OnSnapshot(const RunState& run) {
  for (const TargetState& target : run.targets) WriteState(run, target);
}

void JsonProgress::OnDone(const RunState& run, const RunEnd& end) {
  Json targets = Json::array();
  for (const TargetState& state : run.targets) {
    Json target = {{"target", Text(state.label)}, {"ended", Ended(state)}};
    if (state.reason.has_value()) {
      target["ended_ms"] = Milliseconds(state.ended);
    }
    target["attempts"] = state.attempts;
    target["polls"] = PollsByClass(state);
    targets.push_back(std::move(target));
  }
  Json event = Event(run, run.elapsed, "summary");
  event["exit_code"] = end.exit_code;
  event["reason"] = Text(end.reason);
  if (!end.detail.empty()) event["detail"] = Text(end.detail);
  if (end.reason == "slice") event["next_ms"] = Milliseconds(end.next_poll);
  event["targets"] = std::move(targets);
  WriteLine(event);
}

}  // namespace waiter::cli
