// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/engine_worker.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/cleanup/cleanup.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_requests.h"
#include "waiter/engine/exact_sleeps.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/wait_timers.h"
#include "waiter/engine/worker_thread.h"
#include "waiter/result.h"

namespace waiter::internal {
namespace {

// Number of starts in a burst after which due timers take their turn.
constexpr int kStartsPerLook = 32;

// Number of records that are fetched from memory at a time, ahead of use.
constexpr size_t kPrefetch = 8;

Clock& ClockOf(const WaitEngineOptions& options) {
  return options.clock != nullptr ? *options.clock : GetRealClock();
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

}  // namespace

EngineWorker::EngineWorker(const WaitEngineOptions& options, int ordinal,
                           std::shared_ptr<const std::atomic<bool>> engine_ends)
    : pool_(/*full=*/options.report == ReportLevel::kFull),
      shut_down_(std::move(engine_ends)),
      requests_(*this, ClockOf(options),
                options.threads == 0 ? options.wake : nullptr),
      executor_(*this, requests_, options.executor),
      stepper_({.worker = *this,
                .pool = pool_,
                .counters = counters_,
                .references = references_,
                .shut_down = shut_down_,
                .executor = executor_},
               options, ClockOf(options), SeedOf(options, ordinal)) {}

const EngineWorker* EngineWorker::Current() {
  const EngineWorker* const current = WorkerThread::current();
  return current != nullptr ? current : TaskScope::worker();
}

// Starts, on any thread.

EngineRecord& EngineWorker::Allocate() {
  return WorkerThread::current() == this ? pool_.TakeAsWorker() : pool_.Take();
}

void EngineWorker::Prepare(EngineRecord& record, PendingStart pending_start) {
  new (record.pending_start.data()) PendingStart(std::move(pending_start));
  record.shut_downs =
      WorkerThread::current() == this ? shut_down_.ancestors() : uint8_t{0};
}

void EngineWorker::Start(EngineRecord& record, PendingStart pending_start) {
  Prepare(record, std::move(pending_start));
  requests_.Start(record);
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

// References to the worker and its waits, on any thread.

EngineWorkerRef::EngineWorkerRef(EngineWorker& worker) : worker_(&worker) {
  worker.AddReference();
}

EngineWorkerRef::EngineWorkerRef(const EngineWorkerRef& other)
    : worker_(other.worker_) {
  if (worker_ != nullptr) worker_->AddReference();
}

void EngineWorkerRef::Release() { worker_->RemoveReference(); }

void EngineTicket::Give(std::unique_ptr<EngineAnswer> answer) const {
  wait.worker->requests().Answer(*this, std::move(answer));
}

// The thread, and the end.

// Marks this thread as the worker's until the result is destroyed.
WorkerThread::Scope EngineWorker::Enter() {
  // Another engine may run on this thread, inside a function of this one.
  if (WorkerThread::current() == this || in_round_) {
    Die("WaitEngine::Run or RunDue was called by one of its own waits; call it "
        "outside of status functions and callbacks");
  }
  if (WorkerThread::waking() == this) {
    Die("WaitEngine::Run or RunDue was called by WaitEngineOptions::wake, "
        "which should only tell the event loop to call it");
  }
  return {this, &blocking_sleeps_};
}

void EngineWorker::RequireNoThread() const {
  if (thread_.has_started()) {
    Die("WaitEngine::Run and RunDue are for engines with 0 threads; this "
        "engine has threads that run its waits");
  }
}

void EngineWorker::StartThread() {
  thread_.Start([this] { Drive(/*until_shut_down=*/true); });
}

void EngineWorker::Run() {
  RequireNoThread();
  Drive(/*until_shut_down=*/false);
}

MonotonicTime EngineWorker::RunDue() {
  RequireNoThread();
  const auto entered = Enter();
  return RunRound();
}

void EngineWorker::Drive(bool until_shut_down) {
  const auto entered = Enter();
  const auto exact_sleeps = SleepExactly(stepper_.timers().is_exact());
  for (;;) {
    const MonotonicTime wake_up = RunRound();
    if (wake_up <= stepper_.poll_clock().now()) continue;
    if (counters_.pending.value() > 0) {
      requests_.Sleep(wake_up);
    } else if (until_shut_down ? !requests_.Rest() : !requests_.has_mail()) {
      return;
    }
  }
}

void EngineWorker::RequireOutside() const {
  if (WorkerThread::current() == this || TaskScope::IsInsideAnyOf(*this)) {
    Die("a WaitEngine was destroyed by one of its own waits; destroy it "
        "outside of status functions and callbacks");
  }
  if (WorkerThread::waking() == this) {
    Die("a WaitEngine was destroyed by its WaitEngineOptions::wake, which "
        "should only tell the event loop to call RunDue");
  }
}

void EngineWorker::BeginShutDown() {
  // Without a thread, `AwaitShutDown` does the work.
  if (thread_.has_started()) requests_.WakeThread();
  shut_down_.Begin();
}

bool EngineWorker::AwaitShutDown() {
  if (thread_.has_started()) return requests_.AwaitRest();
  Run();
  return false;
}

void EngineWorker::EndShutDown() {
  requests_.Close();
  if (thread_.has_started()) thread_.End();
  references_.Settle();
  executor_.Forget();
}

// Rounds of the worker's thread.

MonotonicTime EngineWorker::RunRound() noexcept {
  in_round_ = true;
  const absl::Cleanup end_round = [this] { in_round_ = false; };
  const bool was_ending = shut_down_.has_begun();
  PollClock& clock = stepper_.poll_clock();
  FetchMail();
  clock.BeginRound();
  if (const MonotonicTime due = stepper_.timers().NextWakeUp();
      due <= clock.now()) {
    counters_.CountRound(clock.now() - due);
  }
  ProcessOwn();
  Process(requests_.others());
  ProcessOwn();
  BeginNew();
  if (shut_down_.has_begun() && counters_.pending.value() > 0) {
    // A suspension that was requested before comes first. Its mail may have
    // come after the round's was taken, and before the end was noticed.
    ProcessOwn();
    ProcessLateMail();
    ForEachPending([this](EngineRecord& record) { stepper_.ShutDown(record); });
  }
  PollReady();
  // Answers that were given within status functions come before timers.
  if (requests_.has_own_answers()) ProcessOwn();
  FireTimers();
  if (!stepper_.ready().empty() || requests_.has_own() || !new_waits_.empty() ||
      shut_down_.has_begun() != was_ending || requests_.has_mail()) {
    return clock.now();
  }
  return stepper_.timers().NextWakeUp();
}

// Prefetches records for a loop over `size` of them, whose next one is at
// `place`. Works in groups, one group ahead of the loop: a processor looks up
// the pages of several addresses concurrently, but a prefetch waits for its
// page.
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

void EngineWorker::FetchMail() {
  if (requests_.FetchOthers()) pool_.Share();
  // Looks after taking the mail: `BeginShutDown` may have posted it, and
  // nothing else wakes the worker for the end of its engine.
  shut_down_.Look();
}

void EngineWorker::ProcessOwn() {
  if (requests_.has_own()) Process(requests_.FetchOwn());
}

void EngineWorker::Process(EngineMail& mail) {
  while (const std::unique_ptr<EngineAnswer> answer = mail.answers.Pop()) {
    stepper_.Answer(*answer);
  }
  ProcessHandles(mail);
  new_waits_.Append(std::exchange(mail.starts, {}));
}

// Processes the requests of the owners of handles.
void EngineWorker::ProcessHandles(EngineMail& mail) {
  const std::vector<WaitRef>& cancelled = mail.cancelled.refs;
  for (size_t i = 0; i < cancelled.size(); ++i) {
    PrefetchAhead(i, cancelled.size(), [&](size_t place) -> EngineRecord& {
      return *cancelled[place].record;
    });
    if (cancelled[i].IsPending()) stepper_.Cancel(*cancelled[i].record);
  }
  Clear(mail.cancelled.refs);
  for (const WaitRef& wait : mail.abandoned.refs) {
    if (!wait.IsPending()) continue;
    stepper_.Abandon(*wait.record, StopReason::kCancelled);
  }
  Clear(mail.abandoned.refs);
  for (const WaitRef& wait : mail.notified.refs) {
    if (wait.IsPending()) stepper_.Notify(*wait.record);
  }
  Clear(mail.notified.refs);
  while (std::unique_ptr<SuspendRequest> request = mail.suspends.Pop()) {
    Suspend(std::move(request));
  }
  if (mail.cancelled.overflowed || mail.abandoned.overflowed ||
      mail.notified.overflowed) {
    mail.cancelled.overflowed = mail.abandoned.overflowed =
        mail.notified.overflowed = false;
    LookAtAll();
  }
}

void EngineWorker::Suspend(std::unique_ptr<SuspendRequest> request) {
  const EngineRecord& record = *request->record;
  if (record.gate.generation() != request->generation) return;
  if (record.phase == EngineRecord::Phase::kFree) {
    // Its start comes after requests, in this round or a later one.
    requests_.SuspendLater(std::move(request));
  } else {
    stepper_.Suspend(std::move(request));
  }
}

// Processes requests that did not fit into their lists for lack of memory.
void EngineWorker::LookAtAll() {
  ForEachPending([this](EngineRecord& record) {
    if (record.gate.freed()) {
      stepper_.Abandon(record, StopReason::kCancelled);
    } else if (record.gate.stop_requested()) {
      stepper_.Cancel(record);
    } else {
      stepper_.Notify(record);
    }
  });
}

// Begins new waits, but no more than a few if a timer is due.
void EngineWorker::BeginNew() {
  for (int begun = 1; !new_waits_.empty(); ++begun) {
    // The queue moves on first: `Start` may end the wait and free its record.
    EngineRecord& record = Pop(new_waits_);
    if (!new_waits_.empty()) pool_.Prefetch(*new_waits_.first);
    stepper_.Start(record);
    if (begun % kStartsPerLook == 0 && !shut_down_.has_begun() &&
        stepper_.timers().HasDue(stepper_.poll_clock().now())) {
      return;
    }
  }
}

void EngineWorker::PollReady() {
  std::swap(stepper_.ready(), polling_);
  for (const WaitRef& wait : polling_) {
    if (wait.IsPending()) stepper_.Step(*wait.record);
  }
  Clear(polling_);
}

void EngineWorker::FireTimers() {
  WaitTimers& timers = stepper_.timers();
  timers.TakeDue(stepper_.poll_clock().now(), due_);
  counters_.due.Set(static_cast<int64_t>(due_.size()));
  for (size_t i = 0; i < due_.size(); ++i) {
    PrefetchAhead(i, due_.size(), [this](size_t place) -> EngineRecord& {
      return pool_[due_[place].index];
    });
    EngineRecord& record = pool_[due_[i].index];
    if (!WaitTimers::Counts(record, due_[i])) continue;
    if (record.phase != EngineRecord::Phase::kAwaitingAnswer) {
      stepper_.Step(record);
    } else {
      ProcessLateMail();
      if (WaitTimers::Counts(record, due_[i])) stepper_.Expire(record);
    }
  }
  Clear(due_);
}

// Processes the requests that came during this round. Its polls may have taken
// long, and an answer may have been given in time.
void EngineWorker::ProcessLateMail() {
  if (!requests_.has_mail() && !requests_.has_own_answers()) return;
  ProcessOwn();
  FetchMail();
  Process(requests_.others());
  ProcessOwn();
}

template <typename Body>
void EngineWorker::ForEachPending(Body body) {
  const uint32_t size = pool_.size();
  for (uint32_t index = 0; index < size; ++index) {
    EngineRecord& record = pool_[index];
    if (record.phase != EngineRecord::Phase::kFree) body(record);
  }
}

}  // namespace waiter::internal
