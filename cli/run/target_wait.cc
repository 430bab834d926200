// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/target_wait.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {

Finding Inverted(Finding finding) {
  if (finding.absent || finding.unmet) {
    finding.status = PollStatus::kSuccess;
  } else if (finding.status == PollStatus::kSuccess) {
    finding.status = PollStatus::kNotReady;
    finding.value.reset();
    finding.detail = finding.detail.empty()
                         ? "still there"
                         : absl::StrCat("still there: ", finding.detail);
  }
  return finding;
}

TargetWait::TargetWait(EventLoop& loop, Probe& probe, const FindingRules& rules,
                       TargetState& state, TargetEvents& events, size_t target)
    : loop_(loop),
      probe_(probe),
      rules_(rules),
      state_(state),
      events_(events),
      target_(target),
      earlier_attempts_(state.attempts),
      always_absent_(state.attempts == 0) {}

void TargetWait::Ask(const PollContext& context, PollCompletion<> done) {
  timeout_ = context.timeout;
  timed_out_ = false;
  if (timeout_ < absl::InfiniteDuration()) {
    time_out_ = loop_.CallAfter(timeout_, [this] {
      timed_out_ = true;
      probe_.TimeOut(timeout_);
    });
  }
  probe_.Start(context, [this, done = std::move(done)](Finding finding) {
    Answer(std::move(finding), done);
  });
}

void TargetWait::Apply(Finding& finding) {
  was_there_ |= finding.status == PollStatus::kSuccess || finding.unmet;
  always_absent_ &= finding.absent || finding.no_host;
  if (rules_.gone && was_there_) finding.absent |= finding.no_host;
  if (!rules_.gone && always_absent_ &&
      events_.Elapsed() >= rules_.absent_timeout) {
    finding.status = PollStatus::kFailed;
    finding.hint = "no poll found it within --absent-timeout";
  }
}

void TargetWait::Answer(Finding finding, const PollCompletion<>& done) {
  time_out_ = {};
  Apply(finding);
  if (rules_.gone) finding = Inverted(std::move(finding));
  if (rules_.ignore_retry_after) finding.retry_after = absl::ZeroDuration();
  Poll<> poll(finding.status, finding.detail, finding.retry_after);
  if (finding.was_held && finding.retry_after == absl::ZeroDuration()) {
    poll = std::move(poll).WithNextDelay(absl::ZeroDuration());
  }
  found_ = std::move(finding);
  if (!is_over_) done(std::move(poll));
}

bool TargetWait::TakeDropped(const PollEvent& poll) {
  if (!absl::IsDeadlineExceeded(poll.found.error())) return false;
  is_over_ = true;
  if (!found_.has_value()) {
    time_out_ = {};
    timed_out_ = true;
    probe_.TimeOut(timeout_);
  }
  return found_.has_value();
}

void TargetWait::BeforePoll(const WaitIdentity& /*wait*/, int64_t /*attempt*/) {
  TellOfPoll(absl::ZeroDuration());
  state_.phase = TargetState::Phase::kPolling;
  state_.poll_started = events_.Elapsed();
}

void TargetWait::AfterPoll(const PollEvent& poll) {
  if (!poll.answered && !TakeDropped(poll)) return;
  state_.attempts = earlier_attempts_ + poll.attempt;
  // A poll that was cut short by the end of the wait has no finding.
  state_.last = found_.has_value()
                    ? *std::move(found_)
                    : Finding{.status = poll.found.status(),
                              .detail = std::string(poll.found.detail())};
  found_.reset();
  ++state_.counts[static_cast<size_t>(state_.last.status)];
  state_.last_timed_out = timed_out_;
  if (timed_out_) {
    ++state_.timed_out;
  } else {
    state_.last_answer = state_.last;
  }
  if (state_.last.status == PollStatus::kSuccess ||
      state_.last.status == PollStatus::kNotReady) {
    state_.last_good = state_.last;
  }
  if (state_.last.absent) ++state_.absent;
  state_.last_ended = events_.Elapsed();
  state_.last_took = poll.took;
  poll_untold_ = true;
}

void TargetWait::BeforeSleep(const SleepEvent& sleep) {
  state_.phase = TargetState::Phase::kSleeping;
  TellOfPoll(sleep.delay);
}

void TargetWait::OnDone(const WaitIdentity& /*wait*/,
                        const WaitReport& report) {
  time_out_ = {};
  probe_.Cancel();
  state_.phase = TargetState::Phase::kEnded;
  TellOfPoll(absl::ZeroDuration());
  state_.reason = report.reason;
  state_.ended = events_.Elapsed();
  events_.WaitEnded(target_);
}

void TargetWait::TellOfPoll(absl::Duration next_delay) {
  state_.next_delay = next_delay;
  if (!poll_untold_) return;
  poll_untold_ = false;
  events_.PollEnded(target_);
}

}  // namespace waiter::cli
