// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/wait_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/run/exit_code.h"
#include "cli/run/run_state.h"
#include "cli/run/state_file.h"
#include "cli/run/target_wait.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::cli {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr int kUsedUpCode = 3;

RunState InitialState(const std::vector<WaitTarget>& targets,
                      const WaitRunOptions& options, absl::Time started) {
  RunState state;
  state.needed = options.needed;
  state.gone = options.rules.gone;
  state.timeout = options.policy.timeout.value_or(absl::InfiniteDuration());
  state.started = started;
  state.resumed_with = options.resumed_with;
  for (const WaitTarget& target : targets) {
    state.targets.push_back(
        {.label = target.label, .text = target.text, .usual = target.usual});
  }
  return state;
}

// Returns the number of polls that did not find the target ready.
int64_t Misses(const TargetState& target) {
  return target.attempts -
         target.counts[static_cast<size_t>(PollStatus::kSuccess)];
}

// Returns whether the wait for the target has ended without success.
bool HasFailed(const TargetState& target) {
  return target.reason.has_value() && target.reason != StopReason::kSuccess &&
         target.reason != StopReason::kCancelled;
}

// Returns the budget for the errors that a target may still have.
std::shared_ptr<RetryQuota> ErrorBudget(std::optional<int64_t> max_errors,
                                        const TargetState& target) {
  if (!max_errors.has_value()) return nullptr;
  const int64_t errors =
      target.counts[static_cast<size_t>(PollStatus::kServerError)];
  absl::StatusOr<std::shared_ptr<RetryQuota>> budget =
      RetryQuota::Make({.capacity = static_cast<double>(
                            std::max<int64_t>(0, *max_errors - errors)),
                        .success_increment = 0,
                        .retry_cost = 1,
                        .timeout_cost = 1,
                        .throttle_cost = 0});
  return budget.ok() ? *std::move(budget) : nullptr;
}

// Returns how long ago an earlier process began the run. A clock that was set
// back gives it no more time.
absl::Duration ElapsedBefore(const SavedRun& saved, absl::Time now) {
  if (saved.started == absl::InfinitePast()) return absl::ZeroDuration();
  return std::max(absl::ZeroDuration(), now - saved.started);
}

// Cheaper than an `absl::BitGen`, which is set up to draw many numbers.
uint64_t RandomSeed() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace

WaitRun::WaitRun(EventLoop& loop, std::vector<WaitTarget> targets,
                 const WaitRunOptions& options,
                 std::vector<RunListener*> listeners)
    : loop_(loop),
      options_(options),
      listeners_(std::move(listeners)),
      start_(loop.clock().MonotonicNow() -
             absl::ToChronoNanoseconds(
                 ElapsedBefore(options.saved, loop.clock().TimeNow()))),
      state_(InitialState(
          targets, options,
          loop.clock().TimeNow() -
              ElapsedBefore(options.saved, loop.clock().TimeNow()))),
      targets_(std::move(targets)),
      engine_({.threads = 0,
               .tick = absl::ZeroDuration(),
               .clock = &loop.clock(),
               .seed = options.policy.hooks.seed.value_or(RandomSeed())}) {
  waits_.resize(targets_.size());
  handles_.resize(targets_.size());
  saved_ = options_.saved;
  saved_.started = state_.started;
  saved_.targets.resize(targets_.size());
}

WaitOptions WaitRun::OptionsFor(size_t target) {
  WaitOptions options = options_.policy;
  options.name = targets_[target].label;
  options.operation = targets_[target].operation;
  options.clock = &loop_.clock();
  options.hooks.observer = waits_[target];
  options.poll_timeout =
      targets_[target].probe_timeout.value_or(options.poll_timeout);
  const TargetState& state = state_.targets[target];
  options.budgets.retry_quota = ErrorBudget(options_.max_errors, state);
  if (options_.state_file != nullptr) {
    options.hooks.on_checkpoint = [this, target](const WaitToken& token) {
      saved_.targets[target].wait = token;
      is_saved_ = false;
    };
  }
  // The time that is left, but a poll in any case.
  const absl::Duration elapsed = Elapsed();
  options.polls.first_delay =
      rounds_ > 0
          ? absl::ZeroDuration()
          : std::max(absl::ZeroDuration(), options.polls.first_delay - elapsed);
  if (rounds_ > 0 || options_.state_file != nullptr) {
    options.timeout =
        std::max(absl::ZeroDuration(),
                 options.timeout.value_or(absl::InfiniteDuration()) - elapsed);
  }
  if (rounds_ == 0) return options;
  // The target was ready before, so this round does not see how long it takes.
  if (options.delay_source != nullptr &&
      options.delay_source->records_durations()) {
    options.delay_source = nullptr;
  }
  if (options.max_attempts.has_value()) {
    options.max_attempts =
        std::max<int64_t>(1, *options.max_attempts - state.attempts);
  }
  return options;
}

RunEnd WaitRun::Run() {
  Tell([&](RunListener& listener) { listener.OnStart(state_); });
  Tick();
  if (options_.slice.has_value()) {
    slice_ = loop_.CallAfter(*options_.slice, [this] { EndSlice(); });
  }
  do {
    RunRound();
    ++rounds_;
  } while (MustLookAgain());
  tick_ = {};
  slice_ = {};
  if (options_.state_file != nullptr && end_->reason != "interrupted" &&
      end_->reason != "slice") {
    save_status_.Update(options_.state_file->Remove());
  }
  Tell([&](RunListener& listener) { listener.OnDone(state_, *end_); });
  return *end_;
}

void WaitRun::RunRound() {
  end_.reset();
  ready_ = unready_ = 0;
  misses_before_.clear();
  for (size_t i = 0; i < targets_.size(); ++i) {
    misses_before_.push_back(Misses(state_.targets[i]));
    if (HasFailed(state_.targets[i])) ++unready_;
    if (WasReady(i)) SkipReady(i);
  }
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (!HasFailed(state_.targets[i]) && !WasReady(i) && !end_.has_value()) {
      Start(i);
    }
  }
  MonotonicTime next = engine_.RunDue();
  Save();
  while (pending_ > 0) {
    loop_.RunOnce(next);
    next = engine_.RunDue();
    Save();
  }
}

bool WaitRun::WasReady(size_t target) const {
  return options_.state_file != nullptr && saved_.targets[target].ready;
}

void WaitRun::SkipReady(size_t target) {
  state_.targets[target].phase = TargetState::Phase::kEnded;
  state_.targets[target].reason = StopReason::kSuccess;
  state_.targets[target].attempts = saved_.targets[target].polls;
  WaitEnded(target);
}

void WaitRun::Start(size_t target) {
  TargetState& state = state_.targets[target];
  const WaitToken token = saved_.targets[target].wait;  // Empty without a file.
  waits_[target] = std::make_shared<TargetWait>(
      loop_, *targets_[target].probe, options_.rules, state,
      static_cast<TargetEvents&>(*this), target);
  if (!token.empty()) {
    const SavedWait saved = RestoreWait(
        token, {loop_.clock().MonotonicNow(), loop_.clock().TimeNow()});
    state.attempts = saved.report.attempts;
    state.counts = saved.report.counts;
    state.last = {.status = saved.report.last_poll.status(),
                  .detail = std::string(saved.report.last_poll.detail())};
  }
  state.reason.reset();
  state.phase = TargetState::Phase::kStarting;
  ++pending_;
  handles_[target] = engine_.Start(
      AsyncWaiter(waits_[target]->StatusFunction(), OptionsFor(target)),
      [this](const WaitResult<>&) { --pending_; }, {.resume = token});
}

void WaitRun::CancelAll() {
  for (WaitHandle& handle : handles_) handle.Cancel();
}

void WaitRun::Save() {
  if (options_.state_file == nullptr || is_saved_) return;
  is_saved_ = true;
  save_status_.Update(options_.state_file->Write(saved_));
}

bool WaitRun::MustLookAgain() const {
  if (!options_.at_once || end_->exit_code != 0 || options_.needed == 1) {
    return false;
  }
  for (size_t i = 0; i < targets_.size(); ++i) {
    const TargetState& target = state_.targets[i];
    if (target.reason == StopReason::kSuccess &&
        Misses(target) > misses_before_[i]) {
      return true;
    }
  }
  return false;
}

void WaitRun::Stop(const RunEnd& end) {
  if (!end_.has_value() || MustLookAgain()) end_ = end;
  CancelAll();
}

void WaitRun::Snapshot() {
  Tell([&](RunListener& listener) { listener.OnSnapshot(state_); });
}

absl::Duration WaitRun::Elapsed() const {
  return absl::FromChrono(loop_.clock().MonotonicNow() - start_);
}

void WaitRun::PollEnded(size_t target) {
  Tell([&](RunListener& listener) { listener.OnPoll(state_, target); });
}

void WaitRun::WaitEnded(size_t target) {
  Tell([&](RunListener& listener) { listener.OnEnd(state_, target); });
  const StopReason reason = *state_.targets[target].reason;
  ++(reason == StopReason::kSuccess ? ready_ : unready_);
  if (reason == StopReason::kSuccess) {
    saved_.targets[target].ready = true;
    saved_.targets[target].polls = state_.targets[target].attempts;
    is_saved_ = false;
  }
  if (end_.has_value()) return;
  if (ready_ >= options_.needed) {
    end_ = RunEnd{.exit_code = 0, .reason = "ready"};
  } else if (targets_.size() - unready_ < options_.needed) {
    // The first end that makes success impossible counts.
    end_ = EndFor(reason);
    // All targets share the limit. Each polls once more, and may say why it is
    // not ready.
    if (reason == StopReason::kDeadline) return;
  } else {
    return;
  }
  CancelAll();
}

RunEnd WaitRun::EndFor(StopReason reason) const {
  switch (reason) {
    case StopReason::kDeadline:
      return {.exit_code = options_.timeout_code, .reason = "deadline"};
    case StopReason::kAttempts:
      return {.exit_code = kUsedUpCode, .reason = "attempts"};
    case StopReason::kQuota:
      return {.exit_code = kUsedUpCode, .reason = "errors"};
    case StopReason::kInvalidOptions:
      return {.exit_code = kUsageError, .reason = "invalid"};
    default:
      return {.exit_code = options_.failure_code, .reason = "failed"};
  }
}

void WaitRun::EndSlice() {
  absl::Duration next = absl::InfiniteDuration();
  for (const TargetState& target : state_.targets) {
    if (target.phase == TargetState::Phase::kEnded) continue;
    const absl::Duration due =
        target.phase == TargetState::Phase::kSleeping
            ? target.last_ended + target.next_delay - Elapsed()
            : absl::ZeroDuration();
    next = std::min(next, std::max(due, absl::ZeroDuration()));
  }
  Stop({.exit_code = kSliceOver, .reason = "slice", .next_poll = next});
}

void WaitRun::Tick() {
  tick_ = loop_.CallAfter(kTick, [this] {
    Tell([&](RunListener& listener) { listener.OnTick(state_); });
    Tick();
  });
}

}  // namespace waiter::cli
