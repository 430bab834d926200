// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/failure_message.h"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/output/target_hint.h"
#include "cli/output/target_text.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "cli/text/fitted_text.h"
#include "cli/text/time_text.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

constexpr size_t kMostTargets = 20;
constexpr size_t kTextColumns = 100;
constexpr size_t kDetailColumns = 300;

// Returns "1 of 2 targets was not ready".
std::string UnreadyText(const RunState& run) {
  const std::string ready = ReadyWord(run);
  const size_t all = run.targets.size();
  const size_t unready = all - ReadyCount(run);
  if (run.needed < all) {
    return absl::StrCat(ReadyCount(run), " of ", all, " targets were ", ready,
                        " (", run.needed, " needed)");
  }
  if (all == 1) {
    return absl::StrCat(NameText(run.targets[0]), " was not ", ready);
  }
  return absl::StrCat(unready, " of ", all, " targets ",
                      unready == 1 ? "was" : "were", " not ", ready);
}

std::string AfterText(const RunState& run) {
  std::string text = absl::StrCat(" after ", TimeText(run.elapsed));
  if (run.timeout < absl::InfiniteDuration()) {
    absl::StrAppend(&text, " of ", TimeText(run.timeout));
  }
  return text;
}

bool HasFailed(const TargetState& target) {
  return target.reason == StopReason::kFailed;
}

std::vector<const TargetState*> UnreadyTargets(const RunState& run) {
  std::vector<const TargetState*> unready;
  for (const TargetState& target : run.targets) {
    if (!IsReady(target)) unready.push_back(&target);
  }
  std::stable_partition(
      unready.begin(), unready.end(),
      [](const TargetState* target) { return HasFailed(*target); });
  return unready;
}

// Returns "97 polls: 95 not ready, 2 server error; last 3s ago".
std::string PollsByClass(const RunState& run, const TargetState& target) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < target.counts.size(); ++i) {
    if (target.counts[i] == 0) continue;
    parts.push_back(absl::StrCat(target.counts[i], " ",
                                 PollStatusName(static_cast<PollStatus>(i))));
  }
  std::string text = absl::StrCat(PollsText(target.attempts), ": ",
                                  absl::StrJoin(parts, ", "));
  if (target.last.retry_after > absl::ZeroDuration()) {
    absl::StrAppend(&text, "; it asked to wait ",
                    TimeText(target.last.retry_after));
    if (!target.last.retry_after_source.empty()) {
      absl::StrAppend(&text, " (", target.last.retry_after_source, ")");
    }
  }
  const absl::Duration ago = run.elapsed - target.last_ended;
  if (ago >= absl::Seconds(1)) {
    absl::StrAppend(&text, "; last ", TimeText(ago), " ago");
  }
  return text;
}

// Returns which limit of `target` alone ended its wait, if one did.
std::string_view OwnLimit(const TargetState& target) {
  if (target.reason == StopReason::kAttempts) return "; --max-attempts reached";
  if (target.reason == StopReason::kQuota) return "; --max-errors reached";
  return "";
}

std::string TargetLine(const RunState& run, const TargetState& target) {
  std::string line = absl::StrCat("  ", NameText(target), "  ");
  if (target.text != target.label) {
    absl::StrAppend(&line, Fitted(target.text, kTextColumns), "  ");
  }
  if (target.attempts > 0) {
    absl::StrAppend(&line, LastText(run, target, kDetailColumns), " (",
                    PollsByClass(run, target), OwnLimit(target), ")");
    return line;
  }
  absl::StrAppend(&line, "no poll has ended");
  if (target.phase == TargetState::Phase::kPolling) {
    absl::StrAppend(&line, "; the first has taken ",
                    TimeText(run.elapsed - target.poll_started), " so far");
  }
  return line;
}

// Returns the last answer before the time-out or the errors that `target` ended
// with; null if none.
const Finding* AnswerBefore(const TargetState& target) {
  if (target.attempts == 0) return nullptr;
  if (target.last_timed_out) {
    return target.last_answer.has_value() ? &*target.last_answer : nullptr;
  }
  const bool is_error = target.last.status != PollStatus::kSuccess &&
                        target.last.status != PollStatus::kNotReady;
  return is_error && target.last_good.has_value() ? &*target.last_good
                                                  : nullptr;
}

std::string FoundBefore(const TargetState& target) {
  const Finding* const answer = AnswerBefore(target);
  if (answer == nullptr) return "";
  return absl::StrCat("before: ", PollStatusName(answer->status),
                      answer->detail.empty() ? "" : ": ",
                      FoundText(*answer, kDetailColumns));
}

}  // namespace

std::string FailureReason(const RunState& run, const RunEnd& end) {
  const std::string detail = Fitted(end.detail, kDetailColumns);
  const std::string because = detail.empty() ? "" : absl::StrCat(": ", detail);
  const std::string unready = UnreadyText(run);
  if (end.reason == "deadline") {
    return run.timeout == absl::ZeroDuration()
               ? absl::StrCat(unready, " at the only poll")
               : absl::StrCat(unready, " when the limit of ",
                              TimeText(run.timeout), " was reached");
  }
  if (end.reason == "attempts") {
    return absl::StrCat(unready, " when --max-attempts was reached,",
                        AfterText(run));
  }
  if (end.reason == "errors") {
    return absl::StrCat(unready, " when --max-errors was reached,",
                        AfterText(run));
  }
  if (end.reason == "slice") {
    return absl::StrCat(unready, AfterText(run));
  }
  if (end.reason == "failed") {
    const auto failed =
        std::count_if(run.targets.begin(), run.targets.end(), HasFailed);
    const std::string failures =
        run.targets.size() == 1
            ? "it"
            : absl::StrCat(failed, failed == 1 ? " target" : " targets");
    return absl::StrCat(unready, AfterText(run),
                        failed == 0 ? ""
                                    : absl::StrCat(", because ", failures,
                                                   " failed permanently"),
                        because);
  }
  if (end.reason == "guard") {
    return absl::StrCat("the guard ended the wait", AfterText(run), because,
                        "; ", unready);
  }
  if (end.reason == "interrupted") {
    return absl::StrCat("interrupted", detail.empty() ? "" : " by ", detail,
                        AfterText(run), "; ", unready);
  }
  return absl::StrCat("ended", AfterText(run), " (", end.reason, ")", because,
                      "; ", unready);
}

std::string FailureText(const RunState& run, const RunEnd& end) {
  std::string text = absl::StrCat("waiter: ", FailureReason(run, end), "\n");
  const std::vector<const TargetState*> unready = UnreadyTargets(run);
  std::string last_hint;
  for (size_t i = 0; i < std::min(unready.size(), kMostTargets); ++i) {
    const TargetState& target = *unready[i];
    absl::StrAppend(&text, TargetLine(run, target), "\n");
    const std::string before = FoundBefore(target);
    if (!before.empty()) absl::StrAppend(&text, "      ", before, "\n");
    std::string hint = Fitted(HintFor(run, target), kDetailColumns);
    // Consecutive targets often have the same hint, which is shown once.
    if (!hint.empty() && hint != last_hint) {
      absl::StrAppend(&text, "      ", hint, "\n");
    }
    last_hint = std::move(hint);
  }
  if (unready.size() > kMostTargets) {
    absl::StrAppend(&text, "  ... and ", unready.size() - kMostTargets,
                    " more\n");
  }
  return text;
}

std::string FailureLine(const RunState& run, const RunEnd& end) {
  std::string line = absl::StrCat("waiter: ", FailureReason(run, end));
  const std::vector<const TargetState*> unready = UnreadyTargets(run);
  if (!unready.empty()) {
    const TargetState& first = *unready.front();
    absl::StrAppend(&line, "; ",
                    run.targets.size() > 1 ? NameText(first) + " " : "",
                    LastText(run, first, kDetailColumns));
  }
  if (end.reason == "slice") {
    absl::StrAppend(&line, "; to continue, run this command again",
                    end.next_poll >= absl::Seconds(1)
                        ? absl::StrCat(" in ", TimeText(end.next_poll))
                        : "");
  }
  return line + "\n";
}

void FailureMessage::OnDone(const RunState& run, const RunEnd& end) {
  if (end.reason == "ready") return;
  const bool in_full = extent_ == Extent::kAll && end.reason != "slice";
  err_ << (in_full ? FailureText(run, end) : FailureLine(run, end))
       << std::flush;
}

}  // namespace waiter::cli
