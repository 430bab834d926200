// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A run of `waiter`: waits on one engine and one thread until as many targets
// as needed are ready, and calls its listeners.
//
//   waiter::cli::WaitRun run(loop, std::move(targets), options, {&progress});
//   waiter::cli::SignalWatch interrupted(loop, SIGINT, [&] {
//     run.Stop({.exit_code = 130, .reason = "interrupted"});
//   });
//   waiter::cli::RunEnd end = run.Run();

#ifndef WAITER_CLI_RUN_WAIT_RUN_H_
#define WAITER_CLI_RUN_WAIT_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "cli/run/state_file.h"
#include "cli/run/target_wait.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/result.h"

namespace waiter::cli {

struct WaitTarget {
  std::string label;  // Not empty.
  std::string text;   // The target as it was given.
  std::unique_ptr<Probe> probe;

  // The name of what happens there, for learned delays.
  std::string operation = {};

  // How long it usually takes until the target is ready, if that is known.
  std::optional<absl::Duration> usual = std::nullopt;

  // Replaces the `poll_timeout` of the policy.
  std::optional<absl::Duration> probe_timeout = std::nullopt;
};

struct WaitRunOptions {
  // The policy for each target. The run sets the name, the clock, the observer
  // and the quota.
  WaitOptions policy;

  // Number of targets that must be ready. The run ends as soon as that has
  // become impossible.
  size_t needed = 1;

  FindingRules rules = {};

  // Whether the needed targets must be ready at the same time. When they have
  // been ready one after another, the run waits for all of them again, until it
  // finds no target unready on the way.
  bool at_once = false;

  // Number of server errors of one target to tolerate; the next one ends its
  // wait.
  std::optional<int64_t> max_errors = std::nullopt;

  // If set, the run resumes from `saved`, which has all targets, and keeps its
  // state in this file, which must outlive the run. The file is removed when
  // the run ends, unless it can be resumed: after an interrupt or a slice.
  const StateFile* state_file = nullptr;
  SavedRun saved = {};

  // The limit that was asked for, if an earlier process started the run.
  std::optional<absl::Duration> resumed_with = std::nullopt;

  // If set, the run ends after this time with `kSliceOver` unless it has ended
  // before. Needs `state_file`.
  std::optional<absl::Duration> slice = std::nullopt;

  int timeout_code = 124;
  int failure_code = 1;
};

// Thread-compatible; runs on the thread that calls `Run`.
class WaitRun : private TargetEvents {
 public:
  // `options` must be valid. The listeners must outlive this.
  WaitRun(EventLoop& loop, std::vector<WaitTarget> targets,
          const WaitRunOptions& options, std::vector<RunListener*> listeners);

  // Waits, and returns how the run ended. Must be called at most once. All
  // probes have ended then; processes that they started may still be ending.
  RunEnd Run();

  // Ends the run immediately. `Run` returns `end`, unless the end of the run
  // was decided before. Must be called inside the loop.
  void Stop(const RunEnd& end);

  // Calls `OnSnapshot` of all listeners.
  void Snapshot();

  // Returns the first error of writing or removing the file of the state.
  const absl::Status& save_status() const { return save_status_; }

 private:
  absl::Duration Elapsed() const override;
  void PollEnded(size_t target) override;
  void WaitEnded(size_t target) override;

  WaitOptions OptionsFor(size_t target);

  // Waits for all targets whose waits have not failed.
  void RunRound();
  void Start(size_t target);
  void CancelAll();

  // For a target that an earlier process has found ready: returns whether it
  // is one, and ends the wait for it.
  bool WasReady(size_t target) const;
  void SkipReady(size_t target);

  // Writes the state of the run, if it has changed.
  void Save();

  // Returns whether all needed targets are ready and must be so at the same
  // time, but a poll of this round has found one of them unready.
  bool MustLookAgain() const;

  RunEnd EndFor(StopReason reason) const;
  void EndSlice();
  void Tick();

  template <typename Call>
  void Tell(Call call) {
    state_.elapsed = Elapsed();
    for (RunListener* listener : listeners_) call(*listener);
  }

  EventLoop& loop_;
  const WaitRunOptions options_;
  const std::vector<RunListener*> listeners_;
  const MonotonicTime start_;
  RunState state_;
  EventLoop::Watch tick_;
  EventLoop::Watch slice_;

  size_t rounds_ = 0;  // That have ended.

  // Set once the end of the run, or of a round, is decided.
  std::optional<RunEnd> end_;
  size_t ready_ = 0;  // Targets that this round has found ready.
  size_t unready_ = 0;
  std::vector<int64_t> misses_before_;  // By target, at the begin of the round.

  std::vector<WaitTarget> targets_;
  std::vector<std::shared_ptr<TargetWait>> waits_;
  std::vector<WaitHandle> handles_;  // The waits of this round.
  size_t pending_ = 0;               // The number that have not ended.

  SavedRun saved_;
  bool is_saved_ = true;
  absl::Status save_status_;

  WaitEngine engine_;  // Destroyed first, as it refers to the other members.
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_WAIT_RUN_H_
