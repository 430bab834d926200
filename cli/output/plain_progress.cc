// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/plain_progress.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/output/target_text.h"
#include "cli/run/run_state.h"
#include "cli/text/fitted_text.h"
#include "cli/text/time_text.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

constexpr absl::Duration kFirstGap = absl::Seconds(1);
constexpr absl::Duration kLongestGap = absl::Minutes(1);
constexpr int kLinesAtOnce = 100;
constexpr absl::Duration kLineEach = absl::Seconds(1);
constexpr size_t kNamed = 3;  // Targets in one line.
constexpr size_t kPlainDetailColumns = 200;
constexpr size_t kShortDetailColumns = 60;

absl::Duration HeartbeatAfter(absl::Duration elapsed) {
  for (const absl::Duration early :
       {absl::Seconds(10), absl::Seconds(30), absl::Minutes(1)}) {
    if (elapsed < early) return early;
  }
  return absl::Floor(elapsed, absl::Minutes(2)) + absl::Minutes(2);
}

// Returns ", resumed after 12s of 1m".
std::string ResumedText(const RunState& run) {
  std::string text = absl::StrCat(", resumed after ", TimeText(run.elapsed));
  if (run.timeout < absl::InfiniteDuration()) {
    absl::StrAppend(&text, " of ", TimeText(run.timeout));
  }
  if (*run.resumed_with != run.timeout) {
    absl::StrAppend(&text, "; the limit of ", TimeText(*run.resumed_with),
                    " is ignored, because the first call's limit applies");
  }
  return text;
}

std::string StartText(const RunState& run) {
  std::string text = run.gone ? "waiting until gone: " : "waiting for ";
  if (run.needed < run.targets.size()) {
    absl::StrAppend(&text, run.needed, " of ");
  }
  std::vector<std::string> names;
  for (const TargetState& target : run.targets) {
    if (names.size() == kNamed) {
      names.push_back(absl::StrCat(run.targets.size() - kNamed, " more"));
      break;
    }
    const std::string name = NameText(target);
    names.push_back(target.label == target.text
                        ? name
                        : absl::StrCat(name, " (",
                                       Fitted(target.text, kShortDetailColumns),
                                       ")"));
  }
  absl::StrAppend(&text, absl::StrJoin(names, ", "));
  if (run.resumed_with.has_value()) return text + ResumedText(run);
  if (run.timeout == absl::InfiniteDuration()) {
    return text + ", without a limit";
  }
  if (run.timeout == absl::ZeroDuration()) return text + ", polling once";
  return absl::StrCat(text, ", at most ", TimeText(run.timeout));
}

}  // namespace

void PlainProgress::Line(const RunState& run, std::string_view text) {
  err_ << absl::StrCat("waiter: ", TimeText(run.elapsed), ": ", text, "\n")
       << std::flush;
}

void PlainProgress::OnStart(const RunState& run) {
  told_.resize(run.targets.size());
  err_ << absl::StrCat("waiter: ", StartText(run), "\n") << std::flush;
}

void PlainProgress::OnPoll(const RunState& run, size_t target) {
  const TargetState& state = run.targets[target];
  if (lines_ == Lines::kPolls) return TellPoll(run, state);
  // `OnEnd` writes the line.
  if (state.phase == TargetState::Phase::kEnded &&
      state.last.status == PollStatus::kSuccess) {
    return;
  }

  Told& told = told_[target];
  std::string said = LastText(run, state, kPlainDetailColumns);
  if (said != told.said) {
    if (run.elapsed - told.changed >= kLongestGap) told.gap = kFirstGap;
    told.changed = run.elapsed;
    told.said = std::move(said);
  }
  const auto bit =
      static_cast<uint8_t>(1U << static_cast<unsigned>(state.last.status));
  if ((told.classes & bit) == 0) {
    told.classes |= bit;
    told.due = run.elapsed;
    told.gap = kFirstGap;
  }
  TellChange(run, target);
}

void PlainProgress::TellPoll(const RunState& run, const TargetState& target) {
  std::string text =
      absl::StrCat(NameText(target), ": poll ", target.attempts, ": ",
                   LastText(run, target, kPlainDetailColumns), " (took ",
                   TimeText(target.last_took));
  if (target.next_delay > absl::ZeroDuration()) {
    absl::StrAppend(&text, ", next in ", TimeText(target.next_delay));
  }
  Line(run, text + ")");
}

void PlainProgress::TellChange(const RunState& run, size_t target) {
  Told& told = told_[target];
  if (told.said == told.told || run.elapsed < told.due) return;
  const absl::Duration next =
      std::max(next_change_, run.elapsed - (kLinesAtOnce - 1) * kLineEach);
  if (run.elapsed < next) return;
  next_change_ = next + kLineEach;
  told.told = told.said;
  told.due = run.elapsed + told.gap;
  told.gap = std::min(2 * told.gap, kLongestGap);
  Line(run, absl::StrCat(NameText(run.targets[target]), ": ", told.told));
}

void PlainProgress::OnEnd(const RunState& run, size_t target) {
  const TargetState& state = run.targets[target];
  Told& told = told_[target];
  if (IsReady(state)) {
    Line(run, absl::StrCat(NameText(state), ": ", ReadyWord(run), " after ",
                           PollsText(state.attempts)));
  } else if (state.reason == StopReason::kFailed && told.told != told.said) {
    Line(run, absl::StrCat(NameText(state), ": ", told.said));
  }
  told.told = told.said;
}

void PlainProgress::OnTick(const RunState& run) {
  for (size_t i = 0; i < run.targets.size(); ++i) TellChange(run, i);
  if (run.elapsed >= next_heartbeat_) {
    TellHeartbeat(run);
    next_heartbeat_ = HeartbeatAfter(run.elapsed);
  }
}

void PlainProgress::TellHeartbeat(const RunState& run) {
  std::string text = absl::StrCat(ReadyCount(run), " of ", run.targets.size(),
                                  " ", ReadyWord(run));
  if (run.needed < run.targets.size()) {
    absl::StrAppend(&text, ", ", run.needed, " needed");
  }
  const size_t unready = run.targets.size() - ReadyCount(run);
  const std::vector<size_t> order = UnreadyFirst(run);
  for (size_t i = 0; i < std::min(unready, kNamed); ++i) {
    const TargetState& target = run.targets[order[i]];
    absl::StrAppend(&text, "; ", NameText(target), ": ",
                    LastText(run, target, kShortDetailColumns), " (",
                    ActivityText(run, target), ")");
  }
  if (unready > kNamed) {
    absl::StrAppend(&text, "; and ", unready - kNamed, " more");
  }
  Line(run, text);
}

void PlainProgress::OnSnapshot(const RunState& run) {
  err_ << SnapshotText(run) << std::flush;
}

void PlainProgress::OnDone(const RunState& run, const RunEnd& end) {
  if (end.reason != "ready" || run.targets.size() < 2) return;
  Line(run, absl::StrCat(ReadyCount(run), " of ", run.targets.size(),
                         " targets ", ReadyWord(run)));
}

}  // namespace waiter::cli
