// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The wait for one target: a probe as an asynchronous status function, and an
// observer that keeps the state of the target up to date.
//
//   waiter::cli::TargetWait wait(loop, *probe, {.gone = true}, state, events,
//   0); options.observer = &wait;
//   engine.Start(waiter::AsyncWaiter(wait.StatusFunction(), options), Use);

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
#include "waiter/observer.h"
#include "waiter/poll_completion.h"
#include "waiter/poll_context.h"
#include "waiter/wait_report.h"

namespace waiter::cli {

// What is made of the findings of a probe.
struct FindingRules {
  // Wait for the target to be absent.
  bool gone = false;

  // Take no hints of when to ask again.
  bool ignore_retry_after = false;
};

// Returns what `finding` means to a wait for absence: an error tells nothing,
// whatever it says, and what is there, or cannot be told, is not gone yet.
Finding Inverted(Finding finding);

// Is told when the state of a target has changed.
class TargetEvents {
 public:
  virtual ~TargetEvents() = default;

  // Time since the start of the run.
  virtual absl::Duration Elapsed() const = 0;

  // As of `RunListener`.
  virtual void PollEnded(size_t target) = 0;
  virtual void WaitEnded(size_t target) = 0;
};

// Thread-compatible; runs on the loop's thread. All that it is given must
// outlive it, and it its wait.
class TargetWait : public WaitObserver {
 public:
  // Copyable; refers to the `TargetWait`.
  struct AskTarget {
    void operator()(const PollContext& context, PollCompletion<> done) const {
      wait->Ask(context, std::move(done));
    }
    TargetWait* wait;
  };

  // `target` is the index that `events` is given.
  TargetWait(EventLoop& loop, Probe& probe, const FindingRules& rules,
             TargetState& state, TargetEvents& events, size_t target);

  AskTarget StatusFunction() { return {this}; }

  void BeforePoll(std::string_view name, int64_t attempt) override;
  void AfterPoll(const PollEvent& poll) override;
  void BeforeSleep(const SleepEvent& sleep) override;
  void OnDone(std::string_view name, const WaitReport& report) override;

 private:
  void Ask(const PollContext& context, PollCompletion<> done);
  void Answer(Finding finding, const PollCompletion<>& done);

  // Tells of a poll as soon as it is known what comes after it.
  void TellOfPoll(absl::Duration next_delay);

  EventLoop& loop_;
  Probe& probe_;
  const FindingRules rules_;
  TargetState& state_;
  TargetEvents& events_;
  const size_t target_;

  EventLoop::Watch time_out_;
  std::optional<Finding> found_;  // What the probe answered, untold.
  bool poll_untold_ = false;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_TARGET_WAIT_H_
