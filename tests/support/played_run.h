// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Plays a run, step by step, to a listener:
//
//   waiter::PlayedRun run(listener, {"db=tcp://h:1", "file:/x"});
//   run.Start();
//   run.Poll(0, absl::Seconds(1), {.detail = "refused"}, absl::Seconds(2));
//   run.TickTo(absl::Seconds(3));
//   run.Done("deadline", 124);

#ifndef WAITER_TESTS_SUPPORT_PLAYED_RUN_H_
#define WAITER_TESTS_SUPPORT_PLAYED_RUN_H_

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {

class PlayedRun {
 public:
  // A target may have a label before "=". The limit is 5 min, and the run needs
  // every target; a test may change `state`.
  PlayedRun(RunListener& listener, const std::vector<std::string>& targets)
      : listener_(listener) {
    for (const std::string& target : targets) {
      const size_t equals = target.find('=');
      TargetState& added = state.targets.emplace_back();
      added.label = target.substr(0, equals);
      added.text =
          equals == std::string::npos ? target : target.substr(equals + 1);
    }
    state.needed = targets.size();
    state.timeout = absl::Minutes(5);
    state.started =
        absl::FromCivil(absl::CivilSecond(2026, 1, 1), absl::UTCTimeZone());
  }

  void Start() { listener_.OnStart(state); }

  void BeginPoll(size_t target, absl::Duration at) {
    state.elapsed = at;
    state.targets[target].phase = TargetState::Phase::kPolling;
    state.targets[target].poll_started = at;
  }

  // Ends a poll that took a millisecond at `at`, and begins a sleep.
  void Poll(size_t target, absl::Duration at, Finding found,
            absl::Duration next = absl::Seconds(1)) {
    Record(target, at, std::move(found), next);
    listener_.OnPoll(state, target);
  }

  // Ends a poll, and with it the wait for its target.
  void LastPoll(size_t target, absl::Duration at, Finding found,
                StopReason reason = StopReason::kSuccess) {
    Record(target, at, std::move(found), absl::ZeroDuration());
    state.targets[target].phase = TargetState::Phase::kEnded;
    listener_.OnPoll(state, target);
    End(target, reason);
  }

  void End(size_t target, StopReason reason) {
    state.targets[target].phase = TargetState::Phase::kEnded;
    state.targets[target].reason = reason;
    state.targets[target].ended = state.elapsed;
    listener_.OnEnd(state, target);
  }

  // Ticks every 100 ms, up to and including `at`.
  void TickTo(absl::Duration at) {
    while (state.elapsed < at) {
      const absl::Duration next = absl::Floor(state.elapsed, kTick) + kTick;
      state.elapsed = std::min(next, at);
      listener_.OnTick(state);
    }
  }

  void Snapshot() { listener_.OnSnapshot(state); }

  void Done(const std::string& reason, int exit_code,
            const std::string& detail = "") {
    listener_.OnDone(
        state, {.exit_code = exit_code, .reason = reason, .detail = detail});
  }

  RunState state;

 private:
  static constexpr absl::Duration kTick = absl::Milliseconds(100);

  void Record(size_t target, absl::Duration at, Finding found,
              absl::Duration next) {
    state.elapsed = at;
    TargetState& changed = state.targets[target];
    changed.phase = TargetState::Phase::kSleeping;
    ++changed.attempts;
    ++changed.counts[static_cast<size_t>(found.status)];
    if (found.absent) ++changed.absent;
    if (found.status <= PollStatus::kNotReady) changed.last_good = found;
    changed.last = std::move(found);
    changed.last_ended = at;
    changed.last_took = absl::Milliseconds(1);
    changed.poll_started = at - changed.last_took;
    changed.next_delay = next;
  }

  RunListener& listener_;
};

// Returns the targets t0, t1, ...
inline std::vector<std::string> Numbered(int count) {
  std::vector<std::string> targets;
  targets.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) targets.push_back(absl::StrCat("t", i));
  return targets;
}

// A listener that writes to `err`, with the run that it listens to. `args`
// follow the stream in the listener's constructor.
template <typename Listener>
struct Played {
  template <typename... Args>
  explicit Played(const std::vector<std::string>& targets, Args... args)
      : listener(err, args...), run(listener, targets) {}

  std::vector<std::string> Lines() const {
    return absl::StrSplit(err.str(), '\n', absl::SkipEmpty());
  }

  std::ostringstream err;
  Listener listener;
  PlayedRun run;
};

}  // namespace waiter::cli

#endif  // WAITER_TESTS_SUPPORT_PLAYED_RUN_H_
