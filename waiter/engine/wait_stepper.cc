// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/wait_stepper.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/decide.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/record_codec.h"
#include "waiter/engine/wait_timers.h"
#include "waiter/engine/worker_shut_down.h"
#include "waiter/engine/worker_thread.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/loop_steps.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"

namespace waiter::internal {
namespace {

using Phase = EngineRecord::Phase;

// Also returns true if the handle was destroyed: no hook that announces another
// poll may follow.
inline bool StopRequested(const EngineRecord& record) {
  return record.gate.must_end();
}

// Returns whether the asynchronous poll of a record whose task has been claimed
// is awaited beyond the deadline.
inline bool IsAwaited(const EngineRecord& record) {
  return record.ops->is_awaited != nullptr &&
         record.ops->is_awaited(record.task.data());
}

}  // namespace

WaitStepper::WaitStepper(const Parts& parts, const WaitEngineOptions& options,
                         Clock& clock, uint64_t seed)
    : worker_(parts.worker),
      counters_(parts.counters),
      shut_down_(parts.shut_down),
      executor_(parts.executor),
      clock_(clock),
      has_executor_(parts.executor.has_executor()),
      exact_polls_(options.tick == absl::ZeroDuration()),
      gen_(options.gen),
      on_callback_exception_(options.on_callback_exception),
      poll_clock_(clock),
      waits_(options, clock, parts.pool, parts.counters, parts.references),
      timers_(clock.MonotonicNow(),
              Validate(options).ok() ? absl::ToChronoNanoseconds(options.tick)
                                     : std::chrono::milliseconds(1),
              Validate(options).ok() ? options.relative_slack : 0, parts.pool),
      own_gen_(seed) {
  // Workers differ, so that not all programs of a machine poll at once.
  if (!exact_polls_ && !options.seed.has_value()) {
    phase_ = std::chrono::nanoseconds(own_gen_() >> 40);
  }
}

// Start.

void WaitStepper::Start(EngineRecord& record) {
  waits_.Register(record, poll_clock_.now());
  if (record.gate.freed()) {
    Abandon(record, StopReason::kCancelled);
  } else if (WorkerShutDown::ForbidsCallback(record)) {
    if (record.gate.Enter(has_executor_)) {
      Abandon(record, StopReason::kShutDown);
    }
  } else if (!shut_down_.has_begun()) {
    // `ShutDown` follows otherwise.
    Step(record);
  }
}

inline NextStep WaitStepper::Begin(EngineStep& step) {
  const EngineRecord& record = step.record_;
  const WaitPolicy& policy = waits_.PolicyOf(record);
  const MonotonicTime now = poll_clock_.now();
  const auto stop_requested = [&] { return StopRequested(record); };
  if (record.ops->token != nullptr) {
    return step.loop_->Resume(now,
                              RestoreWait(record.ops->token(record.task.data()),
                                          {now, clock_.TimeNow()}),
                              stop_requested);
  }
  return step.loop_->Start(
      now,
      policy.status().ok() ? policy.DeadlineFrom(now) : MonotonicTime::max(),
      stop_requested);
}

// Steps.

// Calls `body` with a step of the wait, whose task has been claimed.
template <typename Body>
void WaitStepper::WithLoop(EngineRecord& record, Body body) {
  const TaskScope scope(worker_, record);
  waits_.WithLoop(record, poll_clock_.now(),
                  [&](WaitLoop& loop, WaitReport& report) {
                    EngineStep step(*this, record, &loop, report);
                    body(step);
                  });
}

void WaitStepper::Step(EngineRecord& record) {
  if (!record.gate.Enter(has_executor_)) return;
  if (record.is_plain && !record.gate.must_not_poll()) {
    timers_.Clear(record);
    StepPlain(record);
  } else if (record.gate.suspend_requested()) {
    // The request follows, and needs to know the timer.
    LeaveTask(record);
  } else {
    timers_.Clear(record);
    StepAny(record);
  }
}

void WaitStepper::StepAny(EngineRecord& record) {
  WithLoop(record, [&](EngineStep& step) {
    switch (record.phase) {
      case Phase::kStarting:
        step.next_ = Begin(step);
        break;
      case Phase::kReady:
        step.next_ =
            StopRequested(record)
                ? step.loop_->End(poll_clock_.now(), StopReason::kCancelled,
                                  /*unanswered=*/false)
                : NextStep::Poll();
        break;
      default:
        step.next_ = LoopSteps::OnWake(*step.loop_, poll_clock_.now(),
                                       [&] { return StopRequested(record); });
    }
    Execute(step);
  });
}

// Takes a step of a plain wait. Most waits are plain, so their loop is made for
// each of its calls, in registers, and not in memory for a whole step.
inline void WaitStepper::StepPlain(EngineRecord& record) {
  const TaskScope scope(worker_, record);
  RecordCodec& codec = waits_.codec();
  if (record.phase == Phase::kStarting) {
    if (!BeginPlain(record)) return;
  } else if (record.phase == Phase::kSleeping) {
    const MonotonicTime now = poll_clock_.now();
    WaitLoop loop = codec.MakePlainLoop(record, waits_.PolicyOf(record), now);
    // A poll follows, as no stop was requested.
    LoopSteps::OnPlainWake(loop, now);
    codec.PackWakeUp(record, loop.state());
  }
  record.phase = Phase::kReady;
  record.gate.MeetPollRequest();
  counters_.polls.Add(1);
  EngineStep step(*this, record, /*loop=*/nullptr, codec.plain_report());
  CallStatusFunction(step);
  if (step.next_.action() == NextStep::Action::kFinish) {
    Finish(step);
  } else if (record.phase == Phase::kSleeping && record.gate.poll_requested()) {
    // A poll was requested during this one, as in `Park`.
    timers_.Clear(record);
    WithLoop(record, [&](EngineStep& notified) {
      notified.next_ = step.next_;
      Park(notified);
    });
  } else {
    LeaveTask(record);
  }
}

// Begins a plain wait. Returns whether its first poll follows immediately.
bool WaitStepper::BeginPlain(EngineRecord& record) {
  bool polls = false;
  WithLoop(record, [&](EngineStep& step) {
    step.next_ = Begin(step);
    polls = step.next_.action() == NextStep::Action::kPoll;
    if (polls) {
      waits_.Pack(record, *step.loop_);
    } else {
      Park(step);
    }
  });
  return polls;
}

// Ends the sleep of a wait for a requested poll. A wait that does not sleep
// looks at the request when it is about to.
void WaitStepper::Notify(EngineRecord& record) {
  if (record.phase != Phase::kSleeping || !record.gate.poll_requested() ||
      !record.gate.Enter(has_executor_)) {
    return;
  }
  WithLoop(record, [&](EngineStep& step) {
    if (!ShortenSleep(step)) {
      waits_.Pack(record, *step.loop_);
      LeaveTask(record);
      return;
    }
    timers_.Clear(record);
    Execute(step);
  });
}

// Poll.

// Carries out `step.next_`.
inline void WaitStepper::Execute(EngineStep& step) {
  const TaskGate& gate = step.record_.gate;
  // A hook may have destroyed the handle, or suspended the wait.
  if (step.next_.action() == NextStep::Action::kPoll && !gate.abandoned() &&
      !gate.suspend_requested()) {
    Poll(step);
  } else {
    Park(step);
  }
}

inline void WaitStepper::Poll(EngineStep& step) {
  EngineRecord& record = step.record_;
  record.gate.MeetPollRequest();
  counters_.polls.Add(1);
  if (has_executor_ && !record.ops->is_asynchronous) {
    PollOnExecutor(step);
    return;
  }
  if (record.ops->takes_context) {
    PollWithContext(step);
  } else {
    CallStatusFunction(step);
  }
  // The time of a poll that has not answered.
  if (step.deferred_) poll_clock_.EndOfPoll(exact_polls_);
  Park(step);
}

// A separate function because a context is large.
void WaitStepper::PollWithContext(EngineStep& step) {
  const PollContext context = ContextOf(step);
  step.context_ = &context;
  const auto under_way = shut_down_.BeginPoll(step.record_.cold->stop);
  CallStatusFunction(step);
}

void WaitStepper::PollOnExecutor(EngineStep& step) {
  EngineRecord& record = step.record_;
  const EngineTicket ticket = step.Defer();
  PollContext context;
  if (record.ops->takes_context) context = ContextOf(step);
  std::unique_ptr<EngineAnswer> answer = record.ops->make_answer();
  Park(step);
  executor_.Poll(ticket, std::move(context), std::move(answer));
  poll_clock_.EndOfPoll(exact_polls_);
}

inline void WaitStepper::CallStatusFunction(EngineStep& step) {
  EngineRecord& record = step.record_;
  WAITER_TRY { record.ops->poll(record.task.data(), step); }
  WAITER_CATCH(...) { OnException(step, std::current_exception()); }
}

PollContext WaitStepper::ContextOf(EngineStep& step) {
  PollContext context = step.loop_->Context(clock_.TimeNow());
  context.stop_token = step.record_.cold->stop.get_token();
  return context;
}

EngineTicket EngineStep::Defer() {
  deferred_ = true;
  return {
      {EngineWorkerRef(stepper_.worker_), &record_, record_.gate.generation()},
      report_.attempts + 1};
}

void WaitStepper::Answer(EngineAnswer& answer) {
  EngineRecord& record = *answer.record;
  const WaitRef wait = {&record, answer.generation};
  if (!wait.IsPending() || record.phase != Phase::kAwaitingAnswer ||
      record.cold->report.attempts + 1 != answer.attempt) {
    return;
  }
  // If the poll has begun, its answer counts, not the executor's failure.
  if (answer.failure.ok() ? !record.gate.EnterForAnswer(has_executor_)
                          : !record.gate.Enter(has_executor_)) {
    return;
  }
  timers_.Clear(record);
  WithLoop(record, [&](EngineStep& step) {
    step.answered_at_ = answer.given;
    if (!answer.failure.ok()) {
      step.deferred_ = false;
      step.report_.exception = answer.exception;
      step.loop_->EndWithError(answer.given, std::move(answer.failure));
      step.next_ = NextStep::Finish();
    } else if (answer.exception != nullptr) {
      OnException(step, answer.exception);
    } else if (!answer.at_once && record.ops->is_asynchronous &&
               answer.given > step.loop_->AnswerDeadline() &&
               !IsAwaited(record)) {
      step.next_ = step.loop_->End(poll_clock_.now(), StopReason::kDeadline,
                                   /*unanswered=*/true);
    } else {
      WAITER_TRY { record.ops->take(record.task.data(), answer, step); }
      WAITER_CATCH(...) { OnException(step, std::current_exception()); }
    }
    Park(step);
  });
  if (wait.IsPending() && record.cold->suspend != nullptr) {
    Suspend(std::move(record.cold->suspend));
  }
}

// Decide.

void EngineStep::Decide() { stepper_.Decide(*this); }

inline void WaitStepper::Decide(EngineStep& step) {
  step.deferred_ = false;
  step.next_ = step.loop_ != nullptr ? DecideAny(step) : DecidePlain(step);
  if (step.next_.action() == NextStep::Action::kFinish &&
      !step.record_.gate.abandoned()) {
    CallOnFailure(step);
    step.called_back_ = !step.record_.gate.abandoned();
  }
}

// Feeds the answer of a poll to the loop of the step.
NextStep WaitStepper::DecideAny(EngineStep& step) {
  EngineRecord& record = step.record_;
  const MonotonicTime end = step.answered_at_.has_value()
                                ? *step.answered_at_
                                : poll_clock_.EndOfPoll(exact_polls_);
  // If the answer was given earlier, its delay and its hooks count from then.
  const bool was_given = step.answered_at_.has_value() &&
                         waits_.PolicyOf(record).observer() != nullptr;
  const MonotonicTime taken =
      was_given ? poll_clock_.EndOfPoll(/*exact=*/true) : end;
  const auto read_clock = [&] {
    return end + (poll_clock_.EndOfPoll(/*exact=*/true) - taken);
  };
  auto gen = record.has_cold_state && record.cold->gen.has_value()
                 ? GivenOrOwnGen<SplitMix64>(nullptr, *record.cold->gen)
                 : OwnGen();
  return LoopSteps::OnPoll(
      *step.loop_, end, gen, [&] { return StopRequested(record); }, read_clock);
}

// The same for a plain wait, which then sleeps unless it ends.
inline NextStep WaitStepper::DecidePlain(EngineStep& step) {
  EngineRecord& record = step.record_;
  const WaitPolicy& policy = waits_.PolicyOf(record);
  const MonotonicTime began = poll_clock_.now();
  const MonotonicTime end = poll_clock_.EndOfPoll(exact_polls_);
  const auto stop_requested = [&] { return StopRequested(record); };
  RecordCodec& codec = waits_.codec();
  auto gen = OwnGen();
  codec.RestoreReport(record);
  if (IsPlain(step.found())) {
    WaitLoop loop = codec.MakePlainLoop(record, policy, began);
    if (const std::optional<NextStep> next =
            LoopSteps::OnPlainPoll(loop, end, gen, stop_requested)) {
      Sleep(record, *next, loop);
      codec.PackAnswer(record, loop.state());
      return *next;
    }
    codec.RestoreReport(record);
  }
  WaitLoop loop = codec.MakePlainLoop(record, policy, began);
  RecordCodec::SetName(record, loop);
  const NextStep next =
      LoopSteps::OnPoll(loop, end, gen, stop_requested, [&] { return end; });
  if (next.action() == NextStep::Action::kFinish) return next;
  Sleep(record, next, loop);
  codec.Pack(record, policy, loop.state());
  return next;
}

// Returns the generator for waits whose policy has no seed.
inline GivenOrOwnGen<SplitMix64> WaitStepper::OwnGen() {
  GivenOrOwnGen<SplitMix64> gen(gen_.has_value() ? &*gen_ : nullptr, own_gen_);
  if (phase_.has_value()) gen.ShareInstants(*phase_);
  return gen;
}

std::string_view EngineStep::name() const {
  if (loop_ != nullptr) return loop_->name();
  WaitLoop loop = stepper_.waits_.codec().MakePlainLoop(
      record_, stepper_.waits_.PolicyOf(record_), MonotonicTime());
  RecordCodec::SetName(record_, loop);
  return loop.name();
}

// Handles an exception of the callback if it has been called, and otherwise of
// the status function.
void WaitStepper::OnException(EngineStep& step, std::exception_ptr exception) {
  if (!step.called_back_) {
    step.deferred_ = false;
    step.next_ = NextStep::Finish();
    const MonotonicTime end = step.answered_at_.has_value()
                                  ? *step.answered_at_
                                  : poll_clock_.EndOfPoll(/*exact=*/true);
    const auto close = [&](WaitLoop& loop, WaitReport& report) {
      report.exception = exception;
      loop.EndWithException(end, WhatOf(exception));
    };
    if (step.loop_ != nullptr) {
      close(*step.loop_, step.report_);
    } else {
      waits_.WithLoop(step.record_, end, close);
    }
    return;
  }
  if (on_callback_exception_ != nullptr) {
    on_callback_exception_(std::move(exception));
    return;
  }
  Die(absl::StrCat(
      "a callback of the wait \"", ToAbsl(step.name()),
      "\" threw an exception: ", WhatOf(exception),
      "; set WaitEngineOptions::on_callback_exception to handle exceptions of "
      "callbacks"));
}

// Sleep.

// Puts a wait aside after a step: until its answer, its timer or the next
// round, or for good.
inline void WaitStepper::Park(EngineStep& step) {
  EngineRecord& record = step.record_;
  if (!step.deferred_ && step.next_.action() == NextStep::Action::kSleep &&
      record.gate.poll_requested()) {
    ShortenSleep(step);
  }
  if (step.deferred_) {
    record.phase = Phase::kAwaitingAnswer;
    // A poll on an executor is awaited once it has begun.
    if (!record.ops->is_asynchronous || !IsAwaited(record)) {
      const MonotonicTime end = step.loop_->AnswerDeadline();
      timers_.Set(record, poll_clock_.now(), end, /*latest=*/end);
    }
  } else if (step.next_.action() == NextStep::Action::kFinish) {
    Finish(step);
    return;
  } else {
    Sleep(record, step.next_, *step.loop_);
  }
  waits_.Pack(record, *step.loop_);
  LeaveTask(record);
}

// Puts a wait aside until its timer or the next round.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void WaitStepper::Sleep(
    EngineRecord& record, NextStep next, const WaitLoop& loop) noexcept {
  if (next.action() == NextStep::Action::kPoll) {
    record.phase = Phase::kReady;
    ready_.push_back({&record, record.gate.generation()});
    return;
  }
  record.phase = Phase::kSleeping;
  const MonotonicTime now = poll_clock_.now();
  MonotonicTime wake_up = next.wake_up();
  // Slack delays neither the last poll nor a lead before the deadline.
  const MonotonicTime latest =
      loop.state().final_poll ? wake_up : loop.deadline();
  if (poll_clock_.is_shared() && loop.NeedsExactDelay(wake_up - now)) {
    wake_up = std::min(SaturatingAdd(wake_up, poll_clock_.Refresh()), latest);
  }
  timers_.Set(record, now, wake_up, latest);
}

// Replaces a sleep, or a part of it, by a requested poll. Returns whether the
// step has changed.
bool WaitStepper::ShortenSleep(EngineStep& step) {
  const std::optional<NextStep> next = step.loop_->OnNotified(
      poll_clock_.now(), [&] { return StopRequested(step.record_); });
  if (next.has_value()) step.next_ = *next;
  return next.has_value();
}

// Finish.

void WaitStepper::Expire(EngineRecord& record) {
  timers_.Clear(record);
  if (record.ops->is_awaited != nullptr && record.gate.Enter(has_executor_)) {
    const bool is_awaited = IsAwaited(record);
    LeaveTask(record);
    // Leaving ends the wait if its handle was destroyed.
    if (is_awaited || record.phase == Phase::kFree) return;
  }
  End(record, StopReason::kDeadline);
}

// Ends a wait from outside of its steps, with a callback.
void WaitStepper::End(EngineRecord& record, StopReason reason) {
  const auto ancestry = shut_down_.Enter(record, reason);
  const bool awaits_answer = record.phase == Phase::kAwaitingAnswer;
  // Notifies the poll, which an executor may be running.
  if (awaits_answer) waiter::stop_source(record.cold->stop).request_stop();
  // If a poll on the executor has begun, its answer comes first.
  if (!record.gate.Enter(has_executor_)) return;
  WithLoop(record, [&](EngineStep& step) {
    step.next_ = step.loop_->End(poll_clock_.now(), reason, awaits_answer);
    Execute(step);
  });
}

void WaitStepper::Suspend(std::unique_ptr<SuspendRequest> request) {
  EngineRecord& record = *request->record;
  // Waits that `suspended` starts must not keep the engine from ending.
  const auto ancestry =
      shut_down_.Enter(record, shut_down_.has_begun() ? StopReason::kShutDown
                                                      : StopReason::kCancelled);
  const bool awaits_answer = record.phase == Phase::kAwaitingAnswer;
  if (awaits_answer && record.ops->is_asynchronous) {
    waiter::stop_source(record.cold->stop).request_stop();
  }
  if (!record.gate.Enter(has_executor_)) {
    if (awaits_answer) record.cold->suspend = std::move(request);
    return;
  }
  WithLoop(record, [&](EngineStep& step) {
    WaitToken token = Save(step);
    step.loop_->EndSuspended(poll_clock_.now(), awaits_answer);
    step.called_back_ = true;
    if (!record.gate.abandoned()) {
      WAITER_TRY { request->suspended(std::move(token)); }
      WAITER_CATCH(...) { OnException(step, std::current_exception()); }
    }
    // Inside the task, so that the destructor of the handle awaits it.
    request = nullptr;
    Finish(step);
  });
}

// Returns the state of a wait between its steps.
WaitToken WaitStepper::Save(EngineStep& step) {
  const EngineRecord& record = step.record_;
  if (record.phase == Phase::kStarting) {
    return record.ops->token == nullptr ? WaitToken()
                                        : record.ops->token(record.task.data());
  }
  const ClockReading now = {clock_.MonotonicNow(), clock_.TimeNow()};
  const MonotonicTime wake_up = record.phase == Phase::kSleeping
                                    ? timers_.TimeOf(record, now.monotonic)
                                    : now.monotonic;
  return SaveWait(step.loop_->state(), step.report_, step.name(), wake_up, now);
}

void WaitStepper::Abandon(EngineRecord& record, StopReason reason) {
  const auto ancestry = shut_down_.Enter(record, reason);
  const WaitPolicy& policy = waits_.PolicyOf(record);
  if (!WorkerShutDown::ForbidsHooks(record) &&
      (policy.keeps_details() || policy.has_budgets())) {
    WithLoop(record, [&](EngineStep& step) {
      step.loop_->End(poll_clock_.now(), reason,
                      record.phase == Phase::kAwaitingAnswer);
    });
  }
  Release(record);
}

// Calls back without a value, unless that has been done or the wait was
// abandoned.
void WaitStepper::Finish(EngineStep& step) {
  EngineRecord& record = step.record_;
  if (!step.called_back_ && !record.gate.abandoned()) CallOnFailure(step);
  if (!step.called_back_ && !record.gate.abandoned()) {
    step.called_back_ = true;
    WAITER_TRY {
      record.ops->finish(record.task.data(), std::move(step.report_));
    }
    WAITER_CATCH(...) { OnException(step, std::current_exception()); }
  }
  waits_.codec().ClearReport(record);
  Release(record);
}

// Calls `on_failure` if the wait has failed.
void WaitStepper::CallOnFailure(EngineStep& step) {
  const WaitPolicy& policy = waits_.PolicyOf(step.record_);
  if (!policy.CallsOnFailureAfter(step.report_)) return;
  if (has_executor_) {
    executor_.CallOnFailure(waits_.SharePolicyOf(step.record_), step.name(),
                            step.report_);
  } else {
    policy.CallOnFailureAfter(step.name(), step.report_);
  }
}

inline void WaitStepper::LeaveTask(EngineRecord& record) {
  if (!record.gate.Leave()) Abandon(record, StopReason::kCancelled);
}

// Frees the task, then the record.
void WaitStepper::Release(EngineRecord& record) {
  if (!record.gate.freed()) FreeTask(worker_, record);
  timers_.Clear(record);
  waits_.Release(record);
}

}  // namespace waiter::internal
