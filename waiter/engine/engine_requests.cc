// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/engine_requests.h"

#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_worker.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/task_gate.h"
#include "waiter/engine/worker_thread.h"
#include "waiter/internal/exceptions.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"

namespace waiter::internal {

void WaitRefs::Push(EngineRecord& record, Generation generation) noexcept {
  WAITER_TRY { refs.push_back({&record, generation}); }
  WAITER_CATCH(const std::bad_alloc&) { overflowed = true; }
}

EngineRequests::EngineRequests(EngineWorker& worker, Clock& clock,
                               std::function<void()> wake)
    : worker_(worker),
      clock_(clock),
      sleeps_on_condition_(&clock_ == &GetRealClock()),
      wake_(std::move(wake)),
      mailbox_(wake_ != nullptr ? std::function<void()>([this] { WakeLoop(); })
                                : nullptr) {}

template <typename Put>
void EngineRequests::Post(Put put) {
  if (worker_.IsGone()) return;
  if (WorkerThread::current() == &worker_ && !mailbox_.has_mail()) {
    put(own_);
  } else {
    mailbox_.Post(put);
  }
}

void EngineRequests::WakeLoop() noexcept {
  const auto waking = WorkerThread::EnterWake(worker_);
  wake_();
}

void EngineRequests::Start(EngineRecord& record) {
  Post([&](EngineMail& mail) { mail.starts.Push(record); });
}

void EngineRequests::StartAll(EngineQueue waits) {
  Post([&](EngineMail& mail) { mail.starts.Append(waits); });
}

void EngineRequests::Cancel(EngineRecord& record, Generation generation) {
  if (!record.gate.RequestStop(generation)) return;
  Post([&](EngineMail& mail) { mail.cancelled.Push(record, generation); });
}

void EngineRequests::Suspend(EngineRecord& record, Generation generation,
                             absl::AnyInvocable<void(WaitToken)> suspended) {
  auto request = std::make_unique<SuspendRequest>(
      SuspendRequest{.record = &record,
                     .generation = generation,
                     .suspended = std::move(suspended),
                     .next = nullptr});
  if (!record.gate.RequestSuspend(generation)) return;
  Post([&](EngineMail& mail) { mail.suspends.Push(std::move(request)); });
}

void EngineRequests::PollNow(EngineRecord& record, Generation generation) {
  if (!record.gate.RequestPoll(generation)) return;
  Post([&](EngineMail& mail) { mail.notified.Push(record, generation); });
}

void EngineRequests::Abandon(EngineRecord& record, Generation generation) {
  const bool in_task = TaskScope::IsInside(record);
  if (record.gate.Abandon(generation, in_task) == AbandonOutcome::kFree) {
    FreeAbandoned(record, generation);
  }
}

void EngineRequests::FreeAbandoned(EngineRecord& record,
                                   Generation generation) {
  FreeTask(worker_, record);
  record.gate.SetFreed();
  Post([&](EngineMail& mail) { mail.abandoned.Push(record, generation); });
}

void EngineRequests::Answer(const EngineTicket& ticket,
                            std::unique_ptr<EngineAnswer> answer) {
  answer->record = ticket.wait.record;
  answer->generation = ticket.wait.generation;
  answer->attempt = ticket.attempt;
  // An answer that is given inside the status function is in time.
  answer->at_once = WorkerThread::current() == &worker_ &&
                    TaskScope::IsInside(*ticket.wait.record);
  Post([&](EngineMail& mail) {
    // A delay runs from here, whenever the worker takes the answer. The clock
    // is read here because it may be gone once the mailbox is closed.
    answer->given = clock_.MonotonicNow();
    mail.answers.Push(std::move(answer));
  });
}

bool EngineRequests::FetchOthers() {
  if (!mailbox_.has_mail()) return false;
  mailbox_.Take(others_);
  return true;
}

EngineMail& EngineRequests::FetchOwn() {
  std::swap(own_, fetched_own_);
  return fetched_own_;
}

void EngineRequests::Sleep(MonotonicTime wake_up) noexcept {
  if (sleeps_on_condition_) {
    // As exact as the real clock's sleep, and allocates nothing.
    mailbox_.SleepUntil(wake_up);
    return;
  }
  mailbox_.SleepBy([&](const waiter::stop_token& woken) {
    // A simulated clock runs other code in this call. That code must post mail,
    // as another thread does, to wake the worker.
    const WorkerThread::Scope none(nullptr, nullptr);
    clock_.SleepUntil(wake_up, woken, "WaitEngine");
  });
}

void EngineRequests::Close() {
  mailbox_.Close();
  wake_ = nullptr;
}

}  // namespace waiter::internal
