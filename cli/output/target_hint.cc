// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/target_hint.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/output/target_text.h"
#include "cli/run/run_state.h"
#include "waiter/poll_status.h"

namespace waiter::cli {
namespace {

// Returns what it means that a target was absent whenever it was looked for,
// where the probe does not say.
std::string HintForAbsent(std::string_view target) {
  if (absl::StartsWith(target, "file:") || absl::StartsWith(target, "unix:")) {
    return "it never existed: is the path right, and can it be seen from here?";
  }
  if (absl::StartsWith(target, "dns:")) {
    return "nobody knows the name: is it right, and is this the right "
           "resolver?";
  }
  return "";
}

}  // namespace

std::string HintFor(const RunState& run, const TargetState& target) {
  if (!target.last.hint.empty()) return target.last.hint;
  const auto count = [&](PollStatus status) {
    return target.counts[static_cast<size_t>(status)];
  };
  const auto always = [&](int64_t polls) {
    return target.attempts > 0 && polls == target.attempts;
  };
  if (target.attempts == 0) {
    return target.phase == TargetState::Phase::kStarting
               ? ""
               : "no poll ended: a shorter --probe-timeout, or a longer "
                 "--timeout";
  }
  if (always(target.timed_out)) {
    return "no poll ended in its time: a longer --probe-timeout, if it is slow";
  }
  if (count(PollStatus::kSuccess) > 0) {
    return absl::StrCat("it was ", ReadyWord(run), " in ",
                        count(PollStatus::kSuccess), " of ", target.attempts,
                        " polls, but not for long enough: see --hold and "
                        "--successes");
  }
  if (always(count(PollStatus::kThrottled))) {
    return "always throttled: a longer --backoff or --every";
  }
  if (always(target.absent)) return HintForAbsent(target.text);
  return "";
}

}  // namespace waiter::cli
