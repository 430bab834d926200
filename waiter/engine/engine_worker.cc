// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/engine_worker.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/timer_queue.h"
#include "waiter/internal/engine_ref.h"
#include "waiter/internal/engine_step.h"
#include "waiter/internal/engine_task.h"
#include "waiter/loop/next_step.h"
#include "waiter/loop/split_mix64.h"
#include "waiter/loop/wait_loop.h"
#include "waiter/loop/wait_state.h"
#include "waiter/options.h"
#include "waiter/poll_context.h"
#include "waiter/wait_engine_options.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"

namespace waiter::internal {
namespace {

using Phase = EngineRecord::Phase;
using std::chrono::nanoseconds;

// Polls that take less time than this share a reading of the clock.
constexpr std::chrono::microseconds kQuickPoll{1};
constexpr int kMostPollsPerReading = 16;

// Number of starts in a burst after which due timers take their turn.
constexpr int kStartsPerLook = 32;

thread_local EngineWorker* current_worker = nullptr;
// Says that this thread is inside of the task of a record. Scopes nest: a
// callback may free another task, and run another engine.
class TaskScope {
 public:
  explicit TaskScope(const EngineRecord& record)
      : record_(record), outer_(std::exchange(innermost_, this)) {}
  ~TaskScope() { innermost_ = outer_; }

  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  static bool IsInside(const EngineRecord& record) {
    for (const TaskScope* scope = innermost_; scope != nullptr;
         scope = scope->outer_) {
      if (&scope->record_ == &record) return true;
    }
    return false;
  }

 private:
  static thread_local const TaskScope* innermost_;

  const EngineRecord& record_;
  const TaskScope* const outer_;
};
thread_local const TaskScope* TaskScope::innermost_ = nullptr;

std::string WhatOf(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "";
  }
}

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "waiter: %s\n", message.c_str());
  std::abort();
}

uint64_t SeedOf(const WaitEngineOptions& options, int ordinal) {
  return options.seed.has_value()
             ? *options.seed + static_cast<uint64_t>(ordinal)
             : MakeSeededSplitMix64()();
}

// Number of records that are fetched from memory ahead of use.
constexpr size_t kPrefetch = 8;

// Empties a list, and frees the memory of a very long one.
template <typename T>
void Clear(std::vector<T>& list) {
  if (list.capacity() * sizeof(T) > (1 << 20)) {
    std::vector<T>().swap(list);
  } else {
    list.clear();
  }
}

// Destroys the task of a record that this thread has claimed.
void FreeTask(EngineRecord& record) {
  const TaskScope scope(record);
  record.ops->destroy(record.task.data());
}

}  // namespace

EngineWorker::EngineWorker(const WaitEngineOptions& options, int ordinal)
    : options_(options),
      status_(Validate(options)),
      clock_(options.clock != nullptr ? *options.clock : GetRealClock()),
      sleeps_on_condition_(&clock_ == &GetRealClock()),
      full_reports_(options.report == ReportLevel::kFull),
      slab_(full_reports_),
      timers_(clock_.MonotonicNow(),
              status_.ok() ? absl::ToChronoNanoseconds(options.tick)
                           : std::chrono::milliseconds(1)),
      own_gen_(SeedOf(options, ordinal)),
      gen_(options.gen.has_value() ? *options.gen : absl::BitGenRef(own_gen_)) {
}

EngineWorker* EngineWorker::Current() { return current_worker; }

// Requests of any thread.

template <typename Put>
void EngineWorker::Post(Put put) {
  if (current_worker == this) {
    put(local_);
    return;
  }
  std::unique_lock lock(mutex_);
  put(inbox_);
  if (has_mail_.load(std::memory_order_relaxed)) return;
  has_mail_.store(true, std::memory_order_release);
  if (idle_) {
    idle_ = false;
    lock.unlock();
    idle_ended_.notify_one();
  } else if (asleep_) {
    std::stop_source wake = wake_;
    lock.unlock();
    wake.request_stop();
  }
}

EngineRecord& EngineWorker::Allocate() {
  EngineRecord& record = TakeFree();
  return record;
}

EngineRecord& EngineWorker::TakeFree() {
  std::vector<EngineRecord*>* free = &free_records_;
  std::unique_lock<std::mutex> lock;
  if (current_worker != this || free_records_.empty()) {
    lock = std::unique_lock(mutex_);
    free = &spare_records_;
  }
  if (free->empty()) return slab_.Grow();
  EngineRecord& record = *free->back();
  free->pop_back();
  return record;
}

void EngineWorker::GiveBack(EngineRecord& record) {
  record.phase = Phase::kFree;
  const std::lock_guard lock(mutex_);
  spare_records_.push_back(&record);
}

void EngineWorker::Start(EngineRecord& record, PendingStart pending_start) {
  new (record.pending_start.data()) PendingStart(std::move(pending_start));
  Post([&](Inbox& inbox) { inbox.starts.Push(record); });
}

void EngineWorker::Cancel(EngineRecord& record, Generation generation) {
  if (!record.gate.RequestStop(generation)) return;
  Post([&](Inbox& inbox) { inbox.cancelled.push_back({&record, generation}); });
}

void EngineWorker::Answer(const EngineTicket& ticket,
                          std::unique_ptr<EngineAnswer> answer) {
  // A delay runs from here, whenever the worker processes the answer. An answer
  // that is given inside of the status function is in time.
  const bool at_once =
      current_worker == this && TaskScope::IsInside(*ticket.wait.record);
  const MonotonicTime at = clock_.MonotonicNow();
  Post([&](Inbox& inbox) {
    inbox.answers.push_back({{ticket.wait.record, ticket.wait.generation},
                             ticket.attempt,
                             at,
                             at_once,
                             std::move(answer)});
  });
}

void EngineWorker::Abandon(EngineRecord& record, Generation generation) {
  const bool in_task = TaskScope::IsInside(record);
  if (record.gate.Abandon(generation, in_task) != AbandonOutcome::kFree) return;
  FreeTask(record);
  record.gate.SetFreed();
  Post([&](Inbox& inbox) { inbox.abandoned.push_back({&record, generation}); });
}

void EngineWorker::RunOnExecutor(const EngineTicket& ticket,
                                 const PollContext* context) {
  EngineRecord& record = *ticket.wait.record;
  // The wait may have ended, or been told to, before its turn came.
  if (!record.gate.EnterToPoll(ticket.wait.generation)) return;
  std::unique_ptr<EngineAnswer> answer;
  {
    const TaskScope scope(record);
    try {
      answer = record.ops->poll_away(record.task.data(), context);
    } catch (...) {
      answer = std::make_unique<EngineAnswer>();
      answer->exception = std::current_exception();
    }
  }
  if (record.gate.Leave()) {
    Answer(ticket, std::move(answer));
    return;
  }
  FreeTask(record);
  record.gate.SetFreed();
  Post([&](Inbox& inbox) {
    inbox.abandoned.push_back({&record, ticket.wait.generation});
  });
}

// Rounds of the worker's thread.

// Marks this thread as the worker's until the result is destroyed.
auto EngineWorker::Enter() {
  if (current_worker == this) {
    Die("WaitEngine::Run or RunDue was called by one of its own waits; call it "
        "outside of status functions and callbacks");
  }
  return absl::Cleanup([previous = std::exchange(current_worker, this)] {
    current_worker = previous;
  });
}

void EngineWorker::RequireNoThread() const {
  if (thread_.joinable()) {
    Die("WaitEngine::Run and RunDue are for engines with 0 threads; this "
        "engine has threads that run its waits");
  }
}

void EngineWorker::StartThread() {
  thread_ = std::jthread([this] { Drive(/*until_shut_down=*/true); });
}

void EngineWorker::Run() {
  RequireNoThread();
  Drive(/*until_shut_down=*/false);
}

void EngineWorker::Drive(bool until_shut_down) {
  const auto entered = Enter();
  for (;;) {
    const MonotonicTime wake_up = RunRound();
    if (wake_up <= now_) continue;
    if (pending_ == 0) {
      const std::lock_guard lock(mutex_);
      if (!has_mail_ && (ending_ || !until_shut_down)) return;
    }
    Sleep(wake_up);
  }
}

MonotonicTime EngineWorker::RunDue() {
  RequireNoThread();
  const auto entered = Enter();
  return RunRound();
}

void EngineWorker::ShutDown() {
  if (current_worker == this) {
    Die("a WaitEngine was destroyed by one of its own waits; destroy it "
        "outside of status functions and callbacks");
  }
  {
    const std::lock_guard lock(mutex_);
    shutting_down_ = true;
    has_mail_ = true;
    idle_ = false;
    wake_.request_stop();
  }
  idle_ended_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Run();
  }
}

void EngineWorker::Sleep(MonotonicTime wake_up) {
  std::unique_lock lock(mutex_);
  if (has_mail_) return;
  if (pending_ == 0) wake_up = MonotonicTime::max();
  // A condition variable is as exact as the real clock's sleep, and does not
  // allocate.
  if (pending_ == 0 || sleeps_on_condition_) {
    idle_ = true;
    const auto woken = [&] { return !idle_; };
    if (wake_up == MonotonicTime::max()) {
      idle_ended_.wait(lock, woken);
    } else {
      idle_ended_.wait_until(lock, wake_up, woken);
    }
    idle_ = false;
    return;
  }
  asleep_ = true;
  const std::stop_token woken = wake_.get_token();
  lock.unlock();
  // A simulated clock runs other code in this call. That code must post to the
  // inbox, as another thread does, to wake the worker.
  current_worker = nullptr;
  clock_.SleepUntil(wake_up, woken, "WaitEngine");
  current_worker = this;
  lock.lock();
  asleep_ = false;
  if (woken.stop_requested()) wake_ = std::stop_source();
}

MonotonicTime EngineWorker::RunRound() {
  TakeInbox();
  now_ = clock_.MonotonicNow();
  polls_since_reading_ = 0;
  Process(taken_);
  ProcessLocal();
  BeginNew();
  const bool was_ending = ending_;
  if (was_ending) EndAll();

  std::swap(ready_, polling_);
  for (const WaitRef& wait : polling_) {
    if (IsPending(wait)) Fire(*wait.record);
  }
  Clear(polling_);
  // Answers that were given within status functions come before timers.
  if (!local_.answers.empty()) ProcessLocal();

  timers_.TakeDue(now_, due_);
  for (size_t i = 0; i < due_.size(); ++i) {
    if (i + kPrefetch < due_.size()) {
      slab_.Prefetch(slab_[due_[i + kPrefetch].index]);
    }
    EngineRecord& record = slab_[due_[i].index];
    if (!record.has_timer || record.stamp != due_[i].stamp) continue;
    if (record.phase != Phase::kAwaitingAnswer) {
      ClearTimer(record);
      Fire(record);
      continue;
    }
    // Polls of this round may have taken long, and the answer of this one may
    // have been given in time.
    if (has_mail_.load(std::memory_order_acquire) || !local_.answers.empty()) {
      TakeInbox();
      Process(taken_);
      ProcessLocal();
      if (!record.has_timer || record.stamp != due_[i].stamp) continue;
    }
    ClearTimer(record);
    EndFromOutside(record, StopReason::kDeadline);
  }
  Clear(due_);
  if (!ready_.empty() || !local_.empty() || !new_waits_.empty() ||
      ending_ != was_ending || has_mail_.load(std::memory_order_relaxed)) {
    return now_;
  }
  // Timers that are no longer wanted stay in the queue for a while.
  return timers_wanted_ == 0 ? MonotonicTime::max() : timers_.NextWakeUp();
}

void EngineWorker::TakeInbox() {
  if (!has_mail_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  std::swap(inbox_, taken_);
  has_mail_ = false;
  ending_ = shutting_down_;
  records_ = slab_.size();
  if (spare_records_.empty()) std::swap(spare_records_, free_records_);
}

void EngineWorker::Process(Inbox& inbox) {
  if (!inbox.answers.empty()) {
    for (GivenAnswer& given : inbox.answers) {
      if (IsPending(given.wait)) TakeAnswer(given);
    }
    Clear(inbox.answers);
  }
  for (size_t i = 0; i < inbox.cancelled.size(); ++i) {
    if (i + kPrefetch < inbox.cancelled.size()) {
      slab_.Prefetch(*inbox.cancelled[i + kPrefetch].record);
    }
    if (!IsPending(inbox.cancelled[i])) continue;
    EndFromOutside(*inbox.cancelled[i].record, StopReason::kCancelled);
  }
  Clear(inbox.cancelled);
  new_waits_.Append(std::exchange(inbox.starts, {}));
  for (const WaitRef& wait : inbox.abandoned) {
    if (IsPending(wait)) EndAbandoned(*wait.record);
  }
  Clear(inbox.abandoned);
}

// Begins new waits, but no more than a few if a timer is due.
void EngineWorker::BeginNew() {
  for (int begun = 1; !new_waits_.empty(); ++begun) {
    EngineRecord& record = *new_waits_.first;
    // The queue moves on first: `Fire` may end the wait and free its record.
    if (&record == new_waits_.last) {
      new_waits_ = {};
    } else {
      new_waits_.first = &slab_[record.stamp];
      slab_.Prefetch(*new_waits_.first);
    }
    Register(record);
    if (record.gate.freed()) {
      EndAbandoned(record);
    } else if (ending_) {
      EndFromOutside(record, StopReason::kShutDown);
    } else {
      Fire(record);
    }
    if (begun % kStartsPerLook == 0 && !ending_ &&
        timers_.NextWakeUp() <= now_) {
      return;
    }
  }
}

void EngineWorker::ProcessLocal() {
  std::swap(local_, taken_);
  Process(taken_);
}

inline bool EngineWorker::IsPending(const WaitRef& wait) {
  return wait.record->gate.generation() == wait.generation &&
         wait.record->phase != Phase::kFree;
}

void EngineWorker::EndAll() {
  for (uint32_t index = 0; index < records_; ++index) {
    EngineRecord& record = slab_[index];
    if (record.phase != Phase::kFree) {
      EndFromOutside(record, StopReason::kShutDown);
    }
  }
}

// Steps of one wait.

inline void EngineWorker::Register(EngineRecord& record) {
  auto* const place =
      reinterpret_cast<PendingStart*>(record.pending_start.data());
  PendingStart pending_start = std::move(*std::launder(place));
  std::destroy_at(std::launder(place));
  record.start = now_;
  record.deadline = MonotonicTime::max();
  record.attempts = 0;
  record.growth = {};
  record.last_status = PollStatus::kNotReady;
  record.has_timer = false;
  record.has_cold_state = false;
  record.final_poll = false;
  if (full_reports_) {
    auto& full = static_cast<FullEngineRecord&>(record);
    full.counts = {};
    full.step_started = now_;
    full.slept = full.longest_poll = nanoseconds::zero();
  }
  record.policy = AddPolicy(std::move(pending_start.policy));
  const WaitPolicy& policy = PolicyOf(record);
  if (NeedsColdState(*record.ops, policy)) {
    AddColdState(record, WaitReport(),
                 {.start = now_,
                  .deadline = MonotonicTime::max(),
                  .step_started = now_});
    if (policy.options().seed.has_value()) {
      record.cold->gen.emplace(*policy.options().seed);
    }
    record.cold->stop = std::move(pending_start.stop);
  }
  record.phase = Phase::kStarting;
  ++pending_;
}

bool EngineWorker::NeedsColdState(const EngineOps& ops,
                                  const WaitPolicy& policy) const {
  if (ops.takes_context || ops.is_asynchronous ||
      options_.executor != nullptr) {
    return true;
  }
  if (!policy.status().ok()) return false;
  const WaitOptions& options = policy.options();
  return policy.keeps_details() || policy.has_budgets() ||
         !policy.one_success_suffices() || options.seed.has_value() ||
         options.max_consecutive_server_errors.has_value() ||
         options.max_consecutive_throttles.has_value() ||
         options.max_server_error_time != absl::InfiniteDuration();
}

// Calls `body` with a step of the wait, whose task has been claimed.
template <typename Body>
void EngineWorker::WithLoop(EngineRecord& record, Body body) {
  const TaskScope scope(record);
  if (record.has_cold_state) {
    EngineStep step(*this, record, record.cold->loop, record.cold->report);
    body(step);
    return;
  }
  scratch_.attempts = record.attempts;
  scratch_.last_poll.set_status(record.last_status);
  if (full_reports_) {
    scratch_.counts = static_cast<FullEngineRecord&>(record).counts;
  }
  WaitLoop loop(PolicyOf(record), scratch_, [&] { return Unpack(record); });
  EngineStep step(*this, record, loop, scratch_);
  body(step);
}

inline WaitState EngineWorker::Unpack(const EngineRecord& record) const {
  WaitState state = {.start = record.start,
                     .deadline = record.deadline,
                     .step_started = now_,
                     .streak_status = record.last_status,
                     .final_poll = record.final_poll,
                     .asleep = record.phase == Phase::kSleeping,
                     .brief_report = !full_reports_,
                     .growth = record.growth};
  if (full_reports_) {
    const auto& full = static_cast<const FullEngineRecord&>(record);
    state.step_started = full.step_started;
    state.slept = full.slept;
    state.longest_poll = full.longest_poll;
  }
  return state;
}

// Packs the wait into its record until its next step. Details that do not fit
// move into a `ColdState`; for a brief report they are dropped.
inline void EngineWorker::Pack(EngineStep& step) {
  EngineRecord& record = step.record_;
  if (record.has_cold_state) return;
  const bool has_details = scratch_.last_poll.has_details();
  if (full_reports_ && (has_details || scratch_.first_error.has_value())) {
    PackIntoColdState(step);
    return;
  }
  if (has_details) scratch_.last_poll = waiter::Poll<>();
  const WaitState& state = step.loop_.state();
  record.start = state.start;
  record.deadline = state.deadline;
  record.attempts = scratch_.attempts;
  record.growth = state.growth;
  record.last_status = state.streak_status;
  record.final_poll = state.final_poll;
  if (full_reports_) {
    auto& full = static_cast<FullEngineRecord&>(record);
    full.counts = scratch_.counts;
    full.step_started = state.step_started;
    full.slept = state.slept;
    full.longest_poll = state.longest_poll;
  }
}

void EngineWorker::PackIntoColdState(EngineStep& step) {
  AddColdState(step.record_, std::exchange(scratch_, WaitReport()),
               step.loop_.state());
}

void EngineWorker::AddColdState(EngineRecord& record, WaitReport report,
                                const WaitState& state) {
  record.cold = new ColdState(PolicyOf(record), std::move(report), state);
  record.has_cold_state = true;
}

inline void EngineWorker::Fire(EngineRecord& record) {
  if (!EnterTask(record)) return;
  WithLoop(record, [&](EngineStep& step) {
    switch (record.phase) {
      case Phase::kStarting:
        step.next_ = Begin(step);
        break;
      case Phase::kReady:
        step.next_ = StopRequested(record)
                         ? step.loop_.End(now_, StopReason::kCancelled,
                                          /*unanswered=*/false)
                         : NextStep::Poll();
        break;
      default:
        step.next_ =
            step.loop_.OnWake(now_, [&] { return StopRequested(record); });
    }
    Execute(step);
  });
}

inline NextStep EngineWorker::Begin(EngineStep& step) {
  const WaitPolicy& policy = PolicyOf(step.record_);
  return step.loop_.Start(
      now_,
      policy.status().ok() ? policy.DeadlineFrom(now_) : MonotonicTime::max(),
      [&] { return StopRequested(step.record_); });
}

void EngineWorker::EndFromOutside(EngineRecord& record, StopReason reason) {
  // If a thread of the executor is in the task, its answer ends the wait.
  if (!EnterTask(record)) return;
  WithLoop(record, [&](EngineStep& step) {
    step.next_ =
        step.loop_.End(now_, reason, record.phase == Phase::kAwaitingAnswer);
    Execute(step);
  });
}

// Ends a wait without a callback. Only observers and budgets are told.
void EngineWorker::EndAbandoned(EngineRecord& record) {
  const WaitPolicy& policy = PolicyOf(record);
  if (policy.keeps_details() || policy.has_budgets()) {
    WithLoop(record, [&](EngineStep& step) {
      step.loop_.End(now_, StopReason::kCancelled,
                     record.phase == Phase::kAwaitingAnswer);
    });
  }
  Release(record);
}

void EngineWorker::TakeAnswer(GivenAnswer& given) {
  EngineRecord& record = *given.wait.record;
  if (record.phase != Phase::kAwaitingAnswer ||
      record.cold->report.attempts + 1 != given.attempt || !EnterTask(record)) {
    return;
  }
  ClearTimer(record);
  WithLoop(record, [&](EngineStep& step) {
    if (!given.at_once && !record.ops->is_awaited &&
        given.at > step.loop_.AnswerDeadline()) {
      step.next_ =
          step.loop_.End(now_, StopReason::kDeadline, /*unanswered=*/true);
      Park(step);
      return;
    }
    step.answered_at_ = given.at;
    if (given.answer->exception != nullptr) {
      OnException(step, given.answer->exception);
    } else {
      try {
        record.ops->take(record.task.data(), *given.answer, step);
      } catch (...) {
        OnException(step, std::current_exception());
      }
    }
    Park(step);
  });
}

// Carries out `step.next_`.
inline void EngineWorker::Execute(EngineStep& step) {
  if (step.next_.action() == NextStep::Action::kPoll) {
    // A hook may have destroyed the handle.
    if (step.record_.gate.abandoned()) {
      Park(step);
      return;
    }
    if (options_.executor != nullptr && !step.record_.ops->is_asynchronous) {
      PollOnExecutor(step);
      return;
    }
    Poll(step);
  }
  Park(step);
}

inline void EngineWorker::Poll(EngineStep& step) {
  if (step.record_.ops->takes_context) {
    PollWithContext(step);
  } else {
    CallStatusFunction(step);
  }
}

// A function of its own because a context is large.
void EngineWorker::PollWithContext(EngineStep& step) {
  const PollContext context = ContextOf(step);
  step.context_ = &context;
  CallStatusFunction(step);
}

inline void EngineWorker::CallStatusFunction(EngineStep& step) {
  EngineRecord& record = step.record_;
  try {
    record.ops->poll(record.task.data(), step);
  } catch (...) {
    OnException(step, std::current_exception());
  }
}

void EngineWorker::PollOnExecutor(EngineStep& step) {
  EngineRecord& record = step.record_;
  EngineTicket ticket = step.Defer();
  PollContext context;
  if (record.ops->takes_context) context = ContextOf(step);
  Park(step);
  try {
    options_.executor([ticket, context = std::move(context)] {
      ticket.wait.worker->RunOnExecutor(ticket, &context);
    });
  } catch (...) {
    auto answer = std::make_unique<EngineAnswer>();
    answer->exception = std::current_exception();
    Answer(ticket, std::move(answer));
  }
}

PollContext EngineWorker::ContextOf(EngineStep& step) {
  PollContext context = step.loop_.Context(clock_.TimeNow());
  context.stop_token = step.record_.cold->stop;
  return context;
}

bool EngineStep::Ends() {
  const MonotonicTime now =
      answered_at_.has_value() ? *answered_at_ : worker_.EndOfPoll();
  deferred_ = false;
  next_ = loop_.OnPoll(now, worker_.GenOf(record_),
                       [&] { return EngineWorker::StopRequested(record_); });
  called_back_ =
      next_.action() == NextStep::Action::kFinish && !record_.gate.abandoned();
  return called_back_;
}

EngineTicket EngineStep::Defer() {
  deferred_ = true;
  return {{EngineWorkerRef(worker_), &record_, record_.gate.generation()},
          report_.attempts + 1};
}

void EngineTicket::Give(std::unique_ptr<EngineAnswer> answer) const {
  wait.worker->Answer(*this, std::move(answer));
}

// Returns the time at the end of a poll. Quick polls share one reading, which
// is never older than a tick of the coarse clock.
inline MonotonicTime EngineWorker::EndOfPoll() {
  ++polls_since_reading_;
  if (polls_since_reading_ < polls_per_reading_ &&
      clock_.MonotonicNowBefore(MonotonicTime::max()) <= now_) {
    return now_;
  }
  const MonotonicTime now = clock_.MonotonicNow();
  polls_per_reading_ =
      now - now_ <= polls_since_reading_ * kQuickPoll
          ? std::min(2 * polls_per_reading_, kMostPollsPerReading)
          : 1;
  polls_since_reading_ = 0;
  now_ = now;
  return now;
}

inline absl::BitGenRef EngineWorker::GenOf(EngineRecord& record) {
  return record.has_cold_state && record.cold->gen.has_value()
             ? absl::BitGenRef(*record.cold->gen)
             : gen_;
}

inline bool EngineWorker::StopRequested(const EngineRecord& record) {
  return record.gate.stop_requested() ||
         (record.has_cold_state && record.cold->stop.stop_requested());
}

// Handles an exception of the callback if it has been called, and otherwise of
// the status function.
void EngineWorker::OnException(EngineStep& step, std::exception_ptr exception) {
  if (!step.called_back_) {
    step.deferred_ = false;
    step.loop_.EndWithException(now_, WhatOf(exception));
    step.report_.exception = std::move(exception);
    step.next_ = NextStep::Finish();
    return;
  }
  if (options_.on_callback_exception != nullptr) {
    options_.on_callback_exception(std::move(exception));
    return;
  }
  Die(absl::StrCat(
      "a callback of the wait \"", PolicyOf(step.record_).options().name,
      "\" threw an exception: ", WhatOf(exception),
      "; set WaitEngineOptions::on_callback_exception to handle exceptions of "
      "callbacks"));
}

// Puts a wait aside after a step: until its answer, its timer or the next
// round, or for good.
inline void EngineWorker::Park(EngineStep& step) {
  EngineRecord& record = step.record_;
  if (step.deferred_) {
    record.phase = Phase::kAwaitingAnswer;
    if (!record.ops->is_awaited) {
      const MonotonicTime end = step.loop_.AnswerDeadline();
      SetTimer(record, end, /*latest=*/end);
    }
  } else if (step.next_.action() == NextStep::Action::kFinish) {
    if (!step.called_back_) CallBack(step);
    if (!record.has_cold_state) {
      std::destroy_at(&scratch_);
      new (&scratch_) WaitReport;
    }
    Release(record);
    return;
  } else if (step.next_.action() == NextStep::Action::kPoll) {
    record.phase = Phase::kReady;
    ready_.push_back({&record, record.gate.generation()});
  } else {
    record.phase = Phase::kSleeping;
    // Slack delays neither the last poll nor a lead before the deadline.
    SetTimer(record, step.next_.wake_up(),
             step.loop_.state().final_poll ? step.next_.wake_up()
                                           : step.loop_.deadline());
  }
  Pack(step);
  LeaveTask(record);
}

// Calls back without a value, unless the wait was abandoned.
void EngineWorker::CallBack(EngineStep& step) {
  EngineRecord& record = step.record_;
  if (record.gate.abandoned()) return;
  step.called_back_ = true;
  try {
    record.ops->finish(record.task.data(), std::move(step.report_));
  } catch (...) {
    OnException(step, std::current_exception());
  }
}

inline void EngineWorker::SetTimer(EngineRecord& record, MonotonicTime wake_up,
                                   MonotonicTime latest) {
  if (wake_up == MonotonicTime::max()) return;
  nanoseconds slack = nanoseconds::zero();
  if (options_.relative_slack > 0) {
    slack = std::min(std::chrono::duration_cast<nanoseconds>(
                         (wake_up - now_) * options_.relative_slack),
                     std::max(latest - wake_up, nanoseconds::zero()));
  }
  if (timers_.size() > 2 * timers_wanted_ + 1024) {
    timers_.Sweep([&](TimerQueue::Timer timer) {
      const EngineRecord& owner = slab_[timer.index];
      return owner.has_timer && owner.stamp == timer.stamp;
    });
  }
  record.stamp = timers_.Add(record.index, wake_up, slack);
  record.has_timer = true;
  ++timers_wanted_;
}

inline void EngineWorker::ClearTimer(EngineRecord& record) {
  if (!record.has_timer) return;
  record.has_timer = false;
  --timers_wanted_;
}

inline bool EngineWorker::EnterTask(EngineRecord& record) {
  return record.gate.Enter(/*shared=*/options_.executor != nullptr);
}

inline void EngineWorker::LeaveTask(EngineRecord& record) {
  if (!record.gate.Leave()) EndAbandoned(record);
}

// Frees the task, then the record. All references to the wait become stale.
void EngineWorker::Release(EngineRecord& record) {
  if (!record.gate.freed()) FreeTask(record);
  ClearTimer(record);
  if (record.has_cold_state) delete record.cold;
  RemovePolicy(record.policy);
  record.phase = Phase::kFree;
  record.gate.Close();
  free_records_.push_back(&record);
  --pending_;
}

// Policies. Waits share them; most share the one that was added last.

uint32_t EngineWorker::AddPolicy(std::shared_ptr<const WaitPolicy> policy) {
  if (last_policy_ < policies_.size() &&
      policies_[last_policy_].policy == policy) {
    ++policies_[last_policy_].waits;
    return last_policy_;
  }
  if (policy->status().ok()) {
    if (!status_.ok()) {
      policy = WaitPolicy::Make(policy->options(), status_);
    } else if (&policy->clock() != &clock_) {
      policy = WaitPolicy::Make(
          policy->options(),
          absl::InvalidArgumentError("WaitOptions::clock is not the clock of "
                                     "the engine; set it to "
                                     "WaitEngineOptions::clock"));
    }
  }
  const auto [place, is_new] =
      policy_indexes_.try_emplace(policy.get(), policies_.size());
  if (is_new) {
    if (free_policies_.empty()) {
      policies_.emplace_back();
    } else {
      place->second = free_policies_.back();
      free_policies_.pop_back();
    }
    policies_[place->second].policy = std::move(policy);
  }
  last_policy_ = place->second;
  ++policies_[last_policy_].waits;
  return last_policy_;
}

void EngineWorker::RemovePolicy(uint32_t index) {
  if (--policies_[index].waits > 0) return;
  policy_indexes_.erase(policies_[index].policy.get());
  policies_[index].policy = nullptr;
  free_policies_.push_back(index);
}

}  // namespace waiter::internal
