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
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/internal/engine_task.h"
#include "waiter/engine/stop_relay.h"
#include "waiter/engine/wait_timers.h"
#include "waiter/internal/blocked_engine.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/loop_steps.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"

namespace waiter::internal {
namespace {

using Phase = EngineRecord::Phase;
using std::chrono::nanoseconds;

// Number of starts in a burst after which due timers take their turn.
constexpr int kStartsPerLook = 32;

// Number of records that are fetched from memory at a time, ahead of use.
constexpr size_t kPrefetch = 8;

thread_local EngineWorker* current_worker = nullptr;

// Worker in whose `WaitEngineOptions::wake` this thread is.
thread_local const EngineWorker* waking_worker = nullptr;

// Says that this thread is inside of the task of a record. Scopes nest: a
// callback may free another task, and run another engine.
class TaskScope {
 public:
  TaskScope(const EngineWorker& worker, const EngineRecord& record)
      : worker_(worker),
        record_(record),
        outer_(std::exchange(innermost_, this)) {}
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

  // Returns the worker of the innermost task, or null.
  static const EngineWorker* worker() {
    return innermost_ == nullptr ? nullptr : &innermost_->worker_;
  }

  static bool IsInsideAnyOf(const EngineWorker& worker) {
    for (const TaskScope* scope = innermost_; scope != nullptr;
         scope = scope->outer_) {
      if (&scope->worker_ == &worker) return true;
    }
    return false;
  }

  // The thread is outside of the innermost task until this is destroyed.
  class Pause {
   public:
    Pause() : paused_(std::exchange(innermost_, innermost_->outer_)) {}
    ~Pause() { innermost_ = paused_; }

    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    const TaskScope* const paused_;
  };

 private:
  static thread_local const TaskScope* innermost_;

  const EngineWorker& worker_;
  const EngineRecord& record_;
  const TaskScope* const outer_;
};
thread_local const TaskScope* TaskScope::innermost_ = nullptr;

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "waiter: %s\n", message.c_str());
  std::abort();
}

uint64_t SeedOf(const WaitEngineOptions& options, int ordinal) {
  return options.seed.has_value()
             ? *options.seed + static_cast<uint64_t>(ordinal)
             : MakeSeededSplitMix64()();
}

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
void FreeTask(const EngineWorker& worker, EngineRecord& record) {
  const TaskScope scope(worker, record);
  record.ops->destroy(record.task.data());
}

}  // namespace

EngineWorker::EngineWorker(const WaitEngineOptions& options, int ordinal,
                           std::shared_ptr<const std::atomic<bool>> engine_ends)
    : options_(options),
      status_(Validate(options)),
      has_executor_(options.executor != nullptr),
      clock_(options.clock != nullptr ? *options.clock : GetRealClock()),
      sleeps_on_condition_(&clock_ == &GetRealClock()),
      engine_ends_(std::move(engine_ends)),
      pool_(/*full=*/options.report == ReportLevel::kFull),
      mailbox_(options.wake != nullptr && options.threads == 0
                   ? std::function<void()>([this] { WakeLoop(); })
                   : nullptr),
      poll_clock_(clock_),
      timers_(clock_.MonotonicNow(),
              status_.ok() ? absl::ToChronoNanoseconds(options.tick)
                           : std::chrono::milliseconds(1),
              status_.ok() ? options.relative_slack : 0, pool_),
      codec_(/*full_reports=*/options.report == ReportLevel::kFull,
             /*has_executor=*/has_executor_),
      own_gen_(SeedOf(options, ordinal)) {}

const EngineWorker* EngineWorker::Current() {
  return current_worker != nullptr ? current_worker : TaskScope::worker();
}

EngineWorker* EngineWorker::SetCurrent(EngineWorker* worker) {
  blocked_engine = worker == nullptr ? nullptr : &worker->blocking_sleeps_;
  return std::exchange(current_worker, worker);
}

// Requests of any thread.

void EngineWorker::WaitRefs::Push(EngineRecord& record,
                                  Generation generation) noexcept {
  WAITER_TRY { refs.push_back({&record, generation}); }
  WAITER_CATCH(const std::bad_alloc&) { overflown = true; }
}

template <typename Put>
void EngineWorker::Post(Put put) {
  // Mail of the worker must not overtake earlier mail of other threads.
  if (current_worker == this && !mailbox_.has_mail()) {
    put(local_);
  } else {
    mailbox_.Post(put);
  }
}

EngineRecord& EngineWorker::Allocate() {
  return current_worker == this ? pool_.TakeAsWorker() : pool_.Take();
}

void EngineWorker::Prepare(EngineRecord& record, PendingStart pending_start) {
  new (record.pending_start.data()) PendingStart(std::move(pending_start));
  record.shut_downs = current_worker == this ? shut_downs_ : uint8_t{0};
}

void EngineWorker::Start(EngineRecord& record, PendingStart pending_start) {
  Prepare(record, std::move(pending_start));
  Post([&](Mail& mail) { mail.starts.Push(record); });
}

void EngineWorker::StartAll(EngineQueue waits) {
  Post([&](Mail& mail) { mail.starts.Append(waits); });
}

EngineRecord& EngineWorker::Pop(EngineQueue& waits) const {
  EngineRecord& record = *waits.first;
  if (&record == waits.last) {
    waits = {};
  } else {
    waits.first = &pool_[record.stamp];
  }
  return record;
}

void EngineWorker::Cancel(EngineRecord& record, Generation generation) {
  if (!record.gate.RequestStop(generation)) return;
  Post([&](Mail& mail) { mail.cancelled.Push(record, generation); });
}

void EngineWorker::PollNow(EngineRecord& record, Generation generation) {
  if (!record.gate.RequestPoll(generation)) return;
  Post([&](Mail& mail) { mail.notified.Push(record, generation); });
}

void EngineWorker::Answer(const EngineTicket& ticket,
                          std::unique_ptr<EngineAnswer> answer) {
  answer->record = ticket.wait.record;
  answer->generation = ticket.wait.generation;
  answer->attempt = ticket.attempt;
  // An answer that is given inside of the status function is in time.
  answer->at_once =
      current_worker == this && TaskScope::IsInside(*ticket.wait.record);
  Post([&](Mail& mail) {
    // A delay runs from here, whenever the worker takes the answer. The clock
    // is read here because it may be gone once the mailbox is closed.
    answer->given = clock_.MonotonicNow();
    mail.answers.Push(std::move(answer));
  });
}

void EngineWorker::Abandon(EngineRecord& record, Generation generation) {
  const bool in_task = TaskScope::IsInside(record);
  if (record.gate.Abandon(generation, in_task) != AbandonOutcome::kFree) return;
  FreeTask(*this, record);
  record.gate.SetFreed();
  Post([&](Mail& mail) { mail.abandoned.Push(record, generation); });
}

// Polls on an executor.

// One poll, as the executor gets it. Gives the answer when it runs, and when it
// is destroyed without having run.
class EngineWorker::ExecutorPoll {
 public:
  ExecutorPoll(EngineTicket ticket, PollContext context,
               std::unique_ptr<EngineAnswer> answer)
      : ticket_(std::move(ticket)),
        context_(std::move(context)),
        answer_(std::move(answer)) {}

  ExecutorPoll(ExecutorPoll&&) noexcept = default;
  ExecutorPoll& operator=(ExecutorPoll&&) = delete;

  ~ExecutorPoll() {
    if (answer_ == nullptr) return;
    EngineWorker& worker = *ticket_.wait.worker.get();
    if (current_worker == &worker && worker.hand_over_ != nullptr &&
        worker.hand_over_->answer == answer_.get()) {
      worker.hand_over_->dropped = std::move(answer_);
      return;
    }
    answer_->failure = NotRun();
    worker.Answer(ticket_, std::move(answer_));
  }

  // Does nothing when called again.
  void operator()() {
    if (answer_ == nullptr) return;
    const EngineTicket ticket = std::move(ticket_);
    ticket.wait.worker->RunOnExecutor(ticket, context_, std::move(answer_));
  }

  static absl::Status NotRun() {
    return absl::UnavailableError(
        "WaitEngineOptions::executor destroyed a poll without running it; it "
        "must run every function that it is given");
  }

 private:
  EngineTicket ticket_;
  PollContext context_;
  std::unique_ptr<EngineAnswer> answer_;
};

void EngineWorker::PollOnExecutor(EngineStep& step) {
  EngineRecord& record = step.record_;
  EngineTicket ticket = step.Defer();
  PollContext context;
  if (record.ops->takes_context) context = ContextOf(step);
  std::unique_ptr<EngineAnswer> answer = record.ops->make_answer();
  Park(step);
  HandOver hand_over = {.answer = answer.get(), .dropped = nullptr};
  hand_over_ = &hand_over;
  std::exception_ptr exception;
  WAITER_TRY {
    // The executor may run another poll, which destroys the handle of this one.
    const TaskScope::Pause outside;
    options_.executor(
        ExecutorPoll(ticket, std::move(context), std::move(answer)));
  }
  WAITER_CATCH(...) { exception = std::current_exception(); }
  hand_over_ = nullptr;
  CountPollTime();
  if (hand_over.dropped == nullptr) {
    if (exception == nullptr) return;
    // If the poll has begun nevertheless, its own answer counts.
    hand_over.dropped = std::make_unique<EngineAnswer>();
  }
  hand_over.dropped->failure =
      exception == nullptr
          ? ExecutorPoll::NotRun()
          : absl::UnknownError(
                absl::StrCat("WaitEngineOptions::executor threw an exception: ",
                             WhatOf(exception)));
  hand_over.dropped->exception = exception;
  Answer(ticket, std::move(hand_over.dropped));
}

void EngineWorker::RunOnExecutor(const EngineTicket& ticket,
                                 const PollContext& context,
                                 std::unique_ptr<EngineAnswer> answer) {
  EngineRecord& record = *ticket.wait.record;
  // The wait may have ended, or been told to, before its turn came.
  if (!record.gate.EnterToPoll(ticket.wait.generation)) return;
  {
    const TaskScope scope(*this, record);
    WAITER_TRY { record.ops->poll_away(record.task.data(), &context, *answer); }
    WAITER_CATCH(...) { answer->exception = std::current_exception(); }
  }
  if (record.gate.Leave()) {
    Answer(ticket, std::move(answer));
    return;
  }
  FreeTask(*this, record);
  record.gate.SetFreed();
  Post(
      [&](Mail& mail) { mail.abandoned.Push(record, ticket.wait.generation); });
}

// `on_failure` of one wait, as the executor gets it. An executor that destroys
// it without running it has it called nevertheless.
class EngineWorker::ExecutorGiveUp {
 public:
  ExecutorGiveUp(std::shared_ptr<const WaitPolicy> policy,
                 std::string_view name, WaitReport report)
      : policy_(std::move(policy)), name_(name), report_(std::move(report)) {}

  ExecutorGiveUp(ExecutorGiveUp&&) noexcept = default;
  ExecutorGiveUp& operator=(ExecutorGiveUp&&) = delete;
  ~ExecutorGiveUp() { (*this)(); }

  void operator()() {
    const std::shared_ptr<const WaitPolicy> policy = std::move(policy_);
    if (policy != nullptr) policy->GiveUpAfter(name_, report_);
  }

 private:
  std::shared_ptr<const WaitPolicy> policy_;
  std::string name_;
  WaitReport report_;
};

inline void EngineWorker::GiveUp(EngineStep& step) {
  if (PolicyOf(step.record_).MustGiveUpAfter(step.report_)) CallOnGiveUp(step);
}

void EngineWorker::CallOnGiveUp(EngineStep& step) {
  const uint32_t policy = step.record_.policy;
  if (!has_executor_) {
    policies_[policy].GiveUpAfter(step.name(), step.report_);
    return;
  }
  WAITER_TRY {
    options_.executor(
        ExecutorGiveUp(policies_.Share(policy), step.name(), step.report_));
  }
  WAITER_CATCH(...) {
    // The executor has destroyed the function, which has called `on_failure`.
  }
}

// Rounds of the worker's thread.

// Marks this thread as the worker's until the result is destroyed.
auto EngineWorker::Enter() {
  // Another engine may run on this thread, inside of a function of this one.
  if (current_worker == this || in_round_) {
    Die("WaitEngine::Run or RunDue was called by one of its own waits; call it "
        "outside of status functions and callbacks");
  }
  if (waking_worker == this) {
    Die("WaitEngine::Run or RunDue was called by WaitEngineOptions::wake, "
        "which should only tell the event loop to call it");
  }
  return absl::Cleanup([previous = SetCurrent(this)] { SetCurrent(previous); });
}

void EngineWorker::RequireNoThread() const {
  if (thread_.joinable()) {
    Die("WaitEngine::Run and RunDue are for engines with 0 threads; this "
        "engine has threads that run its waits");
  }
}

void EngineWorker::RequireOutside() const {
  if (current_worker == this || TaskScope::IsInsideAnyOf(*this)) {
    Die("a WaitEngine was destroyed by one of its own waits; destroy it "
        "outside of status functions and callbacks");
  }
  if (waking_worker == this) {
    Die("a WaitEngine was destroyed by its WaitEngineOptions::wake, which "
        "should only tell the event loop to call RunDue");
  }
}

void EngineWorker::WakeLoop() noexcept {
  const EngineWorker* const outer = std::exchange(waking_worker, this);
  options_.wake();
  waking_worker = outer;
}

void EngineWorker::StartThread() {
  thread_ = std::thread([this] { Drive(/*until_shut_down=*/true); });
}

void EngineWorker::Run() {
  RequireNoThread();
  Drive(/*until_shut_down=*/false);
}

void EngineWorker::Drive(bool until_shut_down) {
  const auto entered = Enter();
  for (;;) {
    const MonotonicTime wake_up = RunRound();
    if (wake_up <= poll_clock_.now()) continue;
    if (counters_.pending.value() > 0) {
      Sleep(wake_up);
    } else if (until_shut_down ? !mailbox_.Rest() : !mailbox_.has_mail()) {
      return;
    }
  }
}

MonotonicTime EngineWorker::RunDue() {
  RequireNoThread();
  const auto entered = Enter();
  return RunRound();
}

void EngineWorker::BeginShutDown() {
  // Without a thread, `AwaitShutDown` does the work.
  if (thread_.joinable()) mailbox_.Post([](Mail&) {});
  stop_relay_.RequestStop();
}

bool EngineWorker::AwaitShutDown() {
  if (thread_.joinable()) return mailbox_.AwaitRest();
  Run();
  return false;
}

void EngineWorker::EndShutDown() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
  // This deletes nothing, as the engine still has its own reference.
  references_.fetch_add(handles_ - kManyHandles, std::memory_order_acq_rel);
  // Its tasks may hold references to this worker.
  options_.executor = nullptr;
  options_.wake = nullptr;
}

void EngineWorker::Sleep(MonotonicTime wake_up) noexcept {
  if (sleeps_on_condition_) {
    // As exact as the real clock's sleep, and allocates nothing.
    mailbox_.SleepUntil(wake_up);
    return;
  }
  mailbox_.SleepBy([&](const waiter::stop_token& woken) {
    // A simulated clock runs other code in this call. That code must post mail,
    // as another thread does, to wake the worker.
    SetCurrent(nullptr);
    clock_.SleepUntil(wake_up, woken, "WaitEngine");
    SetCurrent(this);
  });
}

MonotonicTime EngineWorker::RunRound() noexcept {
  in_round_ = true;
  const absl::Cleanup end_round = [this] { in_round_ = false; };
  const bool was_ending = ending_;
  TakeMail();
  poll_clock_.BeginRound();
  if (const MonotonicTime due = timers_.NextWakeUp();
      due <= poll_clock_.now()) {
    counters_.CountRound(poll_clock_.now() - due);
  }
  ProcessLocal();
  Process(taken_);
  ProcessLocal();
  BeginNew();
  if (ending_ && counters_.pending.value() > 0) EndAll();

  std::swap(ready_, polling_);
  for (const WaitRef& wait : polling_) {
    if (IsPending(wait)) Fire(*wait.record);
  }
  Clear(polling_);
  // Answers that were given within status functions come before timers.
  if (!local_.answers.empty()) ProcessLocal();
  FireTimers();
  if (!ready_.empty() || !local_.empty() || !new_waits_.empty() ||
      ending_ != was_ending || mailbox_.has_mail()) {
    return poll_clock_.now();
  }
  return timers_.NextWakeUp();
}

// Prefetches records for a loop over `size` of them, whose next one is at
// `place`. Works in groups, one group ahead of the loop: a processor looks up
// the pages of several addresses at once, but a prefetch waits for its page.
//
// Always inlined, because g++ 12 drops calls of functions that only prefetch.
template <typename RecordAt>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void EngineWorker::PrefetchAhead(
    size_t place, size_t size, RecordAt record_at) const {
  if (place % kPrefetch != 0) return;
  const size_t end = std::min(place + 2 * kPrefetch, size);
  for (size_t i = place == 0 ? 0 : place + kPrefetch; i < end; ++i) {
    pool_.Prefetch(record_at(i));
  }
}

void EngineWorker::FireTimers() {
  timers_.TakeDue(poll_clock_.now(), due_);
  counters_.due.Set(static_cast<int64_t>(due_.size()));
  for (size_t i = 0; i < due_.size(); ++i) {
    PrefetchAhead(i, due_.size(), [this](size_t place) -> EngineRecord& {
      return pool_[due_[place].index];
    });
    EngineRecord& record = pool_[due_[i].index];
    if (!WaitTimers::Counts(record, due_[i])) continue;
    if (record.phase != Phase::kAwaitingAnswer) {
      timers_.Clear(record);
      Fire(record);
      continue;
    }
    // Polls of this round may have taken long, and the answer of this one may
    // have been given in time.
    if (mailbox_.has_mail() || !local_.answers.empty()) {
      ProcessLocal();
      TakeMail();
      Process(taken_);
      ProcessLocal();
      if (!WaitTimers::Counts(record, due_[i])) continue;
    }
    timers_.Clear(record);
    if (!IsToAwait(record)) EndFromOutside(record, StopReason::kDeadline);
  }
  Clear(due_);
}

void EngineWorker::TakeMail() {
  if (mailbox_.has_mail()) {
    mailbox_.Take(taken_);
    pool_.Share();
  }
  // Read after the mail, which may be that of `BeginShutDown`: nothing else
  // wakes the worker for the end of its engine.
  ending_ = engine_ends_->load(std::memory_order_acquire);
}

void EngineWorker::ProcessLocal() {
  if (local_.empty()) return;
  std::swap(local_, local_taken_);
  Process(local_taken_);
}

void EngineWorker::Process(Mail& mail) {
  while (const std::unique_ptr<EngineAnswer> answer = mail.answers.Pop()) {
    TakeAnswer(*answer);
  }
  ProcessRequests(mail);
  new_waits_.Append(std::exchange(mail.starts, {}));
}

void EngineWorker::ProcessRequests(Mail& mail) {
  const std::vector<WaitRef>& cancelled = mail.cancelled.refs;
  for (size_t i = 0; i < cancelled.size(); ++i) {
    PrefetchAhead(i, cancelled.size(), [&](size_t place) -> EngineRecord& {
      return *cancelled[place].record;
    });
    if (!IsPending(cancelled[i])) continue;
    EndFromOutside(*cancelled[i].record, StopReason::kCancelled);
  }
  Clear(mail.cancelled.refs);
  for (const WaitRef& wait : mail.abandoned.refs) {
    if (IsPending(wait)) {
      EndWithoutCallback(*wait.record, StopReason::kCancelled);
    }
  }
  Clear(mail.abandoned.refs);
  for (const WaitRef& wait : mail.notified.refs) {
    if (IsPending(wait)) Notify(*wait.record);
  }
  Clear(mail.notified.refs);
  if (!mail.cancelled.overflown && !mail.abandoned.overflown &&
      !mail.notified.overflown) {
    return;
  }
  mail.cancelled.overflown = mail.abandoned.overflown =
      mail.notified.overflown = false;
  ForEachPending([this](EngineRecord& record) {
    if (record.gate.freed()) {
      EndWithoutCallback(record, StopReason::kCancelled);
    } else if (record.gate.stop_requested()) {
      EndFromOutside(record, StopReason::kCancelled);
    } else {
      Notify(record);
    }
  });
}

// Lets a requested poll end the sleep of a wait. A wait that does not sleep
// looks at the request when it is about to.
void EngineWorker::Notify(EngineRecord& record) {
  if (record.phase != Phase::kSleeping || !record.gate.poll_requested() ||
      !EnterTask(record)) {
    return;
  }
  WithLoop(record, [&](EngineStep& step) {
    if (!ShortenSleep(step)) {
      codec_.Pack(record, PolicyOf(record), step.loop_->state());
      LeaveTask(record);
      return;
    }
    timers_.Clear(record);
    Execute(step);
  });
}

// Begins new waits, but no more than a few if a timer is due.
void EngineWorker::BeginNew() {
  for (int begun = 1; !new_waits_.empty(); ++begun) {
    // The queue moves on first: `Fire` may end the wait and free its record.
    EngineRecord& record = Pop(new_waits_);
    if (!new_waits_.empty()) pool_.Prefetch(*new_waits_.first);
    Register(record);
    if (record.gate.freed()) {
      EndWithoutCallback(record, StopReason::kCancelled);
    } else if (record.shut_downs > kMostShutDowns) {
      if (EnterTask(record)) EndWithoutCallback(record, StopReason::kShutDown);
    } else if (!ending_) {
      // `EndAll` follows otherwise.
      Fire(record);
    }
    if (begun % kStartsPerLook == 0 && !ending_ &&
        timers_.HasDue(poll_clock_.now())) {
      return;
    }
  }
}

inline bool EngineWorker::IsPending(const WaitRef& wait) {
  return wait.record->gate.generation() == wait.generation &&
         wait.record->phase != Phase::kFree;
}

template <typename Body>
void EngineWorker::ForEachPending(Body body) {
  const uint32_t size = pool_.size();
  for (uint32_t index = 0; index < size; ++index) {
    EngineRecord& record = pool_[index];
    if (record.phase != Phase::kFree) body(record);
  }
}

void EngineWorker::EndAll() {
  ForEachPending([this](EngineRecord& record) {
    EndFromOutside(record, StopReason::kShutDown);
  });
}

// Steps of one wait.

inline void EngineWorker::Register(EngineRecord& record) {
  PendingStart pending_start = std::move(PendingStartOf(record));
  std::destroy_at(&PendingStartOf(record));
  record.policy = AddPolicy(std::move(pending_start.policy));
  codec_.Register(record, PolicyOf(record), poll_clock_.now(),
                  std::move(pending_start.stop));
  record.phase = Phase::kStarting;
  ++handles_;
  counters_.pending.Add(1);
}

// Returns the place of the policy in the table. If the policy does not suit the
// engine, adds one that fails in its place.
uint32_t EngineWorker::AddPolicy(std::shared_ptr<const WaitPolicy> policy) {
  if (policies_.AddToLast(*policy)) return policies_.last();
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
  return policies_.Add(std::move(policy));
}

// Calls `body` with a step of the wait, whose task has been claimed.
template <typename Body>
void EngineWorker::WithLoop(EngineRecord& record, Body body) {
  const TaskScope scope(*this, record);
  codec_.WithLoop(record, PolicyOf(record), poll_clock_.now(),
                  [&](WaitLoop& loop, WaitReport& report) {
                    EngineStep step(*this, record, &loop, report);
                    body(step);
                  });
}

inline void EngineWorker::Fire(EngineRecord& record) {
  if (!EnterTask(record)) return;
  if (record.is_plain && !StopRequested(record)) {
    FirePlain(record);
  } else {
    FireAny(record);
  }
}

void EngineWorker::FireAny(EngineRecord& record) {
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
inline void EngineWorker::FirePlain(EngineRecord& record) {
  const TaskScope scope(*this, record);
  if (record.phase == Phase::kStarting) {
    if (!BeginPlain(record)) return;
  } else if (record.phase == Phase::kSleeping) {
    const MonotonicTime now = poll_clock_.now();
    WaitLoop loop = codec_.MakePlainLoop(record, PolicyOf(record), now);
    // A poll follows, as no stop was requested.
    LoopSteps::OnWake<LoopRules::kPlainInRegisters>(loop, now,
                                                    [] { return false; });
    codec_.PackWakeUp(record, loop.state());
  }
  record.phase = Phase::kReady;
  record.gate.MeetPollRequest();
  counters_.polls.Add(1);
  EngineStep step(*this, record, /*loop=*/nullptr, codec_.plain_report());
  CallStatusFunction(step);
  if (step.next_.action() == NextStep::Action::kFinish) {
    FinishWait(step);
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

// Begins a plain wait. Returns whether its first poll follows at once.
bool EngineWorker::BeginPlain(EngineRecord& record) {
  bool polls = false;
  WithLoop(record, [&](EngineStep& step) {
    step.next_ = Begin(step);
    polls = step.next_.action() == NextStep::Action::kPoll;
    if (polls) {
      codec_.Pack(record, PolicyOf(record), step.loop_->state());
    } else {
      Park(step);
    }
  });
  return polls;
}

inline NextStep EngineWorker::Begin(EngineStep& step) {
  const EngineRecord& record = step.record_;
  const WaitPolicy& policy = PolicyOf(record);
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

// Until the result is destroyed, waits that this thread starts descend from
// `record`, if that ends with the engine.
auto EngineWorker::CountShutDown(const EngineRecord& record,
                                 StopReason reason) {
  const uint8_t outer = shut_downs_;
  if (reason == StopReason::kShutDown) {
    if (record.shut_downs == EngineRecord::kMaxShutDowns) {
      Die("a WaitEngine cannot end: destructors of captures start waits again "
          "and again; do not start waits there");
    }
    shut_downs_ = record.shut_downs + 1;
  }
  return absl::Cleanup([this, outer] { shut_downs_ = outer; });
}

// Returns whether the asynchronous poll of a record whose task has been claimed
// is awaited beyond the deadline.
inline bool EngineWorker::IsAwaited(const EngineRecord& record) {
  return record.ops->is_awaited != nullptr &&
         record.ops->is_awaited(record.task.data());
}

// Returns whether a poll at its deadline is awaited nevertheless. Also true if
// the wait ends meanwhile.
bool EngineWorker::IsToAwait(EngineRecord& record) {
  if (record.ops->is_awaited == nullptr || !EnterTask(record)) return false;
  const bool awaited = IsAwaited(record);
  LeaveTask(record);
  return awaited || record.phase == Phase::kFree;
}

void EngineWorker::EndFromOutside(EngineRecord& record, StopReason reason) {
  const auto restored = CountShutDown(record, reason);
  const bool awaits_answer = record.phase == Phase::kAwaitingAnswer;
  // Tells the poll, which an executor may be running.
  if (awaits_answer) waiter::stop_source(record.cold->stop).request_stop();
  // If a poll on the executor has begun, its answer comes first.
  if (!EnterTask(record)) return;
  WithLoop(record, [&](EngineStep& step) {
    step.next_ = step.loop_->End(poll_clock_.now(), reason, awaits_answer);
    Execute(step);
  });
}

// Ends a wait without a callback. Only observers and budgets are told. The task
// must have been freed, or claimed.
void EngineWorker::EndWithoutCallback(EngineRecord& record, StopReason reason) {
  const auto restored = CountShutDown(record, reason);
  const WaitPolicy& policy = PolicyOf(record);
  const bool in_vain = record.shut_downs > kMostShutDowns + 1;
  if (!in_vain && (policy.keeps_details() || policy.has_budgets())) {
    WithLoop(record, [&](EngineStep& step) {
      step.loop_->End(poll_clock_.now(), reason,
                      record.phase == Phase::kAwaitingAnswer);
    });
  }
  Release(record);
}

void EngineWorker::TakeAnswer(EngineAnswer& answer) {
  EngineRecord& record = *answer.record;
  if (!IsPending({&record, answer.generation}) ||
      record.phase != Phase::kAwaitingAnswer ||
      record.cold->report.attempts + 1 != answer.attempt) {
    return;
  }
  // An executor that fails does not win over a poll that has begun.
  if (answer.failure.ok() ? !record.gate.EnterForAnswer(has_executor_)
                          : !EnterTask(record)) {
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
}

// Carries out `step.next_`.
inline void EngineWorker::Execute(EngineStep& step) {
  if (step.next_.action() == NextStep::Action::kPoll) {
    // A hook may have destroyed the handle.
    if (step.record_.gate.abandoned()) {
      Park(step);
      return;
    }
    step.record_.gate.MeetPollRequest();
    counters_.polls.Add(1);
    if (has_executor_ && !step.record_.ops->is_asynchronous) {
      PollOnExecutor(step);
      return;
    }
    Poll(step);
    if (step.deferred_) CountPollTime();
  }
  Park(step);
}

// Counts the time of a poll that has not answered.
inline void EngineWorker::CountPollTime() {
  poll_clock_.EndOfPoll(/*exact=*/options_.tick == absl::ZeroDuration());
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
  const StopRelay::Scope under_way(stop_relay_, step.record_.cold->stop);
  CallStatusFunction(step);
}

inline void EngineWorker::CallStatusFunction(EngineStep& step) {
  EngineRecord& record = step.record_;
  WAITER_TRY { record.ops->poll(record.task.data(), step); }
  WAITER_CATCH(...) { OnException(step, std::current_exception()); }
}

PollContext EngineWorker::ContextOf(EngineStep& step) {
  PollContext context = step.loop_->Context(clock_.TimeNow());
  context.stop_token = step.record_.cold->stop.get_token();
  return context;
}

bool EngineStep::Ends() {
  deferred_ = false;
  next_ = loop_ != nullptr ? worker_.Decide(*this) : worker_.DecidePlain(*this);
  if (next_.action() == NextStep::Action::kFinish &&
      !record_.gate.abandoned()) {
    worker_.GiveUp(*this);
    called_back_ = !record_.gate.abandoned();
  }
  return called_back_;
}

// Feeds the answer of a poll to the loop of the step.
NextStep EngineWorker::Decide(EngineStep& step) {
  EngineRecord& record = step.record_;
  const MonotonicTime end = EndOfPoll(step);
  // An answer that was given earlier counts from then, and so do its hooks.
  const bool was_given =
      step.answered_at_.has_value() && PolicyOf(record).observer() != nullptr;
  const MonotonicTime taken =
      was_given ? poll_clock_.EndOfPoll(/*exact=*/true) : end;
  const auto read_clock = [&] {
    return end + (poll_clock_.EndOfPoll(/*exact=*/true) - taken);
  };
  auto gen = GenOf(record);
  return LoopSteps::OnPoll(
      *step.loop_, end, gen, [&] { return StopRequested(record); }, read_clock);
}

// The same for a plain wait, which is then suspended unless it ends.
inline NextStep EngineWorker::DecidePlain(EngineStep& step) {
  const MonotonicTime began = poll_clock_.now();
  const MonotonicTime end = EndOfPoll(step);
  if (LoopSteps::IsPlain(step.found())) {
    const NextStep next = DecideAndSuspend<LoopRules::kPlainInRegisters>(
        step.record_, began, end);
    if (next.action() != NextStep::Action::kFinish) return next;
  }
  return DecideAndSuspend<LoopRules::kAny>(step.record_, began, end);
}

template <LoopRules kRules>
inline NextStep EngineWorker::DecideAndSuspend(EngineRecord& record,
                                               MonotonicTime began,
                                               MonotonicTime end) {
  const WaitPolicy& policy = PolicyOf(record);
  codec_.RestoreReport(record);
  WaitLoop loop = codec_.MakePlainLoop(record, policy, began);
  if constexpr (kRules == LoopRules::kAny) RecordCodec::SetName(record, loop);
  auto gen = OwnGen();
  const NextStep next = LoopSteps::OnPoll<kRules>(
      loop, end, gen, [&] { return StopRequested(record); },
      [&] { return end; });
  if (next.action() == NextStep::Action::kFinish) return next;
  Suspend(record, next, loop);
  if constexpr (kRules == LoopRules::kPlainInRegisters) {
    codec_.PackAnswer(record, loop.state());
  } else {
    codec_.Pack(record, policy, loop.state());
  }
  return next;
}

std::string_view EngineStep::name() const {
  if (loop_ != nullptr) return loop_->name();
  WaitLoop loop = worker_.codec_.MakePlainLoop(
      record_, worker_.PolicyOf(record_), MonotonicTime());
  RecordCodec::SetName(record_, loop);
  return loop.name();
}

EngineTicket EngineStep::Defer() {
  deferred_ = true;
  return {{EngineWorkerRef(worker_), &record_, record_.gate.generation()},
          report_.attempts + 1};
}

void EngineTicket::Give(std::unique_ptr<EngineAnswer> answer) const {
  wait.worker->Answer(*this, std::move(answer));
}

inline MonotonicTime EngineWorker::EndOfPoll(const EngineStep& step) {
  return step.answered_at_.has_value()
             ? *step.answered_at_
             : poll_clock_.EndOfPoll(
                   /*exact=*/options_.tick == absl::ZeroDuration());
}

inline GivenOrOwnGen<SplitMix64> EngineWorker::GenOf(EngineRecord& record) {
  if (record.has_cold_state && record.cold->gen.has_value()) {
    return {nullptr, *record.cold->gen};
  }
  return OwnGen();
}

// Returns the generator of the waits that have none.
inline GivenOrOwnGen<SplitMix64> EngineWorker::OwnGen() {
  return {options_.gen.has_value() ? &*options_.gen : nullptr, own_gen_};
}

// Returns true if the handle was destroyed, too: no hook that announces another
// poll may follow.
inline bool EngineWorker::StopRequested(const EngineRecord& record) {
  return record.gate.must_end();
}

// Handles an exception of the callback if it has been called, and otherwise of
// the status function.
void EngineWorker::OnException(EngineStep& step, std::exception_ptr exception) {
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
      codec_.WithLoop(step.record_, PolicyOf(step.record_), end, close);
    }
    return;
  }
  if (options_.on_callback_exception != nullptr) {
    options_.on_callback_exception(std::move(exception));
    return;
  }
  Die(absl::StrCat(
      "a callback of the wait \"", ToAbsl(step.name()),
      "\" threw an exception: ", WhatOf(exception),
      "; set WaitEngineOptions::on_callback_exception to handle exceptions of "
      "callbacks"));
}

// Puts a wait aside after a step: until its answer, its timer or the next
// round, or for good.
inline void EngineWorker::Park(EngineStep& step) {
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
    FinishWait(step);
    return;
  } else {
    Suspend(record, step.next_, *step.loop_);
  }
  codec_.Pack(record, PolicyOf(record), step.loop_->state());
  LeaveTask(record);
}

// Puts a wait aside until its timer or the next round.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void EngineWorker::Suspend(
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

void EngineWorker::FinishWait(EngineStep& step) {
  if (!step.called_back_) CallBack(step);
  codec_.ClearReport(step.record_);
  Release(step.record_);
}

// Lets a requested poll take the place of a sleep, or of a part of it. Returns
// whether the step has changed.
bool EngineWorker::ShortenSleep(EngineStep& step) {
  const std::optional<NextStep> next = step.loop_->OnNotified(
      poll_clock_.now(), [&] { return StopRequested(step.record_); });
  if (next.has_value()) step.next_ = *next;
  return next.has_value();
}

// Calls back without a value, unless the wait was abandoned.
void EngineWorker::CallBack(EngineStep& step) {
  EngineRecord& record = step.record_;
  if (record.gate.abandoned()) return;
  GiveUp(step);
  if (record.gate.abandoned()) return;
  step.called_back_ = true;
  WAITER_TRY {
    record.ops->finish(record.task.data(), std::move(step.report_));
  }
  WAITER_CATCH(...) { OnException(step, std::current_exception()); }
}

inline bool EngineWorker::EnterTask(EngineRecord& record) const {
  return record.gate.Enter(/*shared=*/has_executor_);
}

inline void EngineWorker::LeaveTask(EngineRecord& record) {
  if (!record.gate.Leave()) EndWithoutCallback(record, StopReason::kCancelled);
}

// Frees the task, then the record. All references to the wait become stale.
void EngineWorker::Release(EngineRecord& record) {
  if (!record.gate.freed()) FreeTask(*this, record);
  timers_.Clear(record);
  RecordCodec::Clear(record);
  policies_.Remove(record.policy);
  record.phase = Phase::kFree;
  if (record.gate.Close()) --handles_;
  pool_.Free(record);
  counters_.pending.Add(-1);
}

}  // namespace waiter::internal
