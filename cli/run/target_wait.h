// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The wait for one target: makes a probe an asynchronous status function, and
// observes the wait to keep the state of the target up to date.
//
//   auto wait = std::make_shared<waiter::cli::TargetWait>(
//       loop, *probe, rules, state, events, /*target=*/0);
//   options.hooks.observer = wait;
//   engine.Start(waiter::AsyncWaiter(wait->StatusFunction(), options), Use);

#ifndef WAITER_CLI_RUN_TARGET_WAIT_H_
#define WAITER_CLI_RUN_TARGET_WAIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {

// How a wait interprets the findings of a probe.
struct FindingRules {
  // Whether the wait succeeds when the target is absent.
  bool gone = false;

  // A target that no poll has found fails if it is still absent this long after
  // the start of the run.
  absl::Duration absent_timeout = absl::InfiniteDuration();

  // Whether to ignore the target's hints about when to poll again.
  bool ignore_retry_after = false;
};

// Returns what `finding` means for a wait for absence. A target that is absent,
// or whose answer no longer meets the conditions, is a success, and a target
// that is ready is not gone yet. Other findings, such as errors, keep their
// status, as they do not show that the target is gone.
Finding Inverted(Finding finding);

// Receives the changes of the state of targets.
class TargetEvents {
 public:
  virtual ~TargetEvents() = default;

  // Returns the time since the start of the run.
  virtual absl::Duration Elapsed() const = 0;

  // Called at the same times as `OnPoll` and `OnEnd` of `RunListener`.
  virtual void PollEnded(size_t target) = 0;
  virtual void WaitEnded(size_t target) = 0;
};

// Thread-compatible; runs on the thread of the loop. The arguments of the
// constructor must outlive this, and this must outlive the wait.
class TargetWait : public WaitObserver {
 public:
  // A status function that refers to the `TargetWait`. Copyable.
  struct AskTarget {
    void operator()(const PollContext& context, PollCompletion<> done) const {
      wait->Ask(context, std::move(done));
    }
    TargetWait* wait;
  };

  // `target` is the index that is passed to `events`.
  TargetWait(EventLoop& loop, Probe& probe, const FindingRules& rules,
             TargetState& state, TargetEvents& events, size_t target);

  AskTarget StatusFunction() { return {this}; }

  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override;
  void AfterPoll(const PollEvent& poll) override;
  void BeforeSleep(const SleepEvent& sleep) override;
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override;

 private:
  void Ask(const PollContext& context, PollCompletion<> done);
  // Judges what only a series of polls can show.
  void Apply(Finding& finding);
  void Answer(Finding finding, const PollCompletion<>& done);

  // Takes the finding of a poll that the limit has ended. The engine drops its
  // answer, which comes a moment too late at best; users want to know why it
  // is missing. Returns false if there is no finding.
  bool TakeDropped(const PollEvent& poll);

  // Reports the last poll, unless it has been reported.
  void TellOfPoll(absl::Duration next_delay);

  EventLoop& loop_;
  Probe& probe_;
  const FindingRules rules_;
  TargetState& state_;
  TargetEvents& events_;
  const size_t target_;
  const int64_t earlier_attempts_;  // From earlier waits for the target.

  EventLoop::Watch time_out_;
  std::optional<Finding> found_;  // The answer that is not yet in `state_`.
  absl::Duration timeout_;        // For the poll in progress.
  bool is_over_ = false;          // The engine wants no more answers.
  bool timed_out_ = false;        // The poll in progress, or the last one.
  bool poll_untold_ = false;
  bool was_there_ = false;  // A poll has found the target.
  bool always_absent_;      // No poll has found anything of it.
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_TARGET_WAIT_H_
