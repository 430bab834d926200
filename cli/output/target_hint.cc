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
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

// Returns the hint for a target that was absent at every poll, if its probe has
// no hint.
std::string HintForAbsent(std::string_view target) {
  if (absl::StartsWith(target, "file:") || absl::StartsWith(target, "unix:")) {
    return "it never existed: is the path right, and visible from here?";
  }
  if (absl::StartsWith(target, "dns:")) {
    return "the name was never found: is it spelled right, and is this the "
           "right resolver?";
  }
  return "";
}

}  // namespace

std::string HintFor(const RunState& run, const TargetState& target) {
  const bool has_answer =
      target.last_timed_out && target.last_answer.has_value();
  const Finding& answer = has_answer ? *target.last_answer : target.last;
  if (!answer.hint.empty()) return answer.hint;
  const auto count = [&](PollStatus status) {
    return target.counts[static_cast<size_t>(status)];
  };
  const auto always = [&](int64_t polls) {
    return target.attempts > 0 && polls == target.attempts;
  };
  if (target.attempts == 0) {
    // A wait that was interrupted was not too short.
    return target.phase == TargetState::Phase::kStarting ||
                   target.reason == StopReason::kCancelled
               ? ""
               : "no poll has ended: try a shorter --probe-timeout or a "
                 "longer --timeout";
  }
  if (always(target.timed_out)) {
    return "every poll timed out: if the target is slow, try a longer "
           "--probe-timeout";
  }
  if (count(PollStatus::kSuccess) > 0) {
    return absl::StrCat("it was ", ReadyWord(run), " in ",
                        count(PollStatus::kSuccess), " of ", target.attempts,
                        " polls, but not for long enough: see --hold and "
                        "--successes");
  }
  if (answer.retry_after > run.timeout) {
    return "it asked for a delay beyond the limit: try a longer --timeout, or "
           "--retry-after=ignore";
  }
  if (always(count(PollStatus::kThrottled))) {
    return "every poll was throttled: try longer delays with --backoff or "
           "--every";
  }
  if (always(target.absent)) return HintForAbsent(target.text);
  return "";
}

}  // namespace waiter::cli
