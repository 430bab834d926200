// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/target_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "cli/text/fitted_text.h"
#include "waiter/wait_report.h"

namespace waiter::cli {

bool IsReady(const TargetState& target) {
  return target.reason == StopReason::kSuccess;
}

size_t ReadyCount(const RunState& run) {
  return static_cast<size_t>(
      std::count_if(run.targets.begin(), run.targets.end(), IsReady));
}

std::string ReadyWord(const RunState& run) {
  return run.gone ? "gone" : "ready";
}

std::string NameText(const TargetState& target) {
  return Fitted(target.label, kMostNameColumns);
}

std::string StateText(const RunState& run, const TargetState& target) {
  if (IsReady(target)) return absl::AsciiStrToUpper(ReadyWord(run));
  if (target.attempts == 0) return "STARTING";
  return std::string(LogClass(target.last.status));
}

std::string PollsText(int64_t polls) {
  return absl::StrCat(polls, polls == 1 ? " poll" : " polls");
}

std::string ActivityText(const RunState& run, const TargetState& target) {
  constexpr absl::Duration kSecond = absl::Seconds(1);
  switch (target.phase) {
    case TargetState::Phase::kStarting:
      return "not polled yet";
    case TargetState::Phase::kPolling: {
      std::string poll = absl::StrCat("poll ", target.attempts + 1);
      const absl::Duration took = run.elapsed - target.poll_started;
      if (took < kSecond) return poll;
      return absl::StrCat(poll, " for ",
                          absl::FormatDuration(absl::Floor(took, kSecond)));
    }
    case TargetState::Phase::kSleeping: {
      const absl::Duration left =
          std::max(target.last_ended + target.next_delay - run.elapsed,
                   absl::ZeroDuration());
      const std::string next = absl::StrCat(
          "next ", left == absl::ZeroDuration()
                       ? "now"
                       : absl::FormatDuration(absl::Ceil(left, kSecond)));
      return target.attempts == 0
                 ? next
                 : absl::StrCat("poll ", target.attempts, ", ", next);
    }
    case TargetState::Phase::kEnded:
      break;
  }
  return PollsText(target.attempts);
}

std::string FoundText(const Finding& found, size_t columns) {
  if (!found.progress.has_value()) return Fitted(found.detail, columns);
  const double share = std::clamp(*found.progress, 0.0, 1.0);
  std::string text = absl::StrCat(static_cast<int>(share * 100), "%");
  const size_t used = text.size() + 1;
  if (!found.detail.empty() && columns > used) {
    absl::StrAppend(&text, " ", Fitted(found.detail, columns - used));
  }
  return text;
}

std::string LastText(const RunState& run, const TargetState& target,
                     size_t columns) {
  std::string state = StateText(run, target);
  if (target.attempts == 0) return state;
  const std::string found = FoundText(target.last, columns);
  return found.empty() ? state : absl::StrCat(state, ": ", found);
}

std::vector<size_t> UnreadyFirst(const RunState& run) {
  std::vector<size_t> order(run.targets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t target) {
    return !IsReady(run.targets[target]);
  });
  return order;
}

}  // namespace waiter::cli
