// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/executor_bridge.h"

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_requests.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/worker_thread.h"
#include "waiter/internal/exceptions.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

// One poll, as the executor gets it. Gives the answer when it runs, and when it
// is destroyed without having run. Its ticket keeps the bridge.
class ExecutorBridge::PollTask {
 public:
  PollTask(ExecutorBridge& bridge, EngineTicket ticket, PollContext context,
           std::unique_ptr<EngineAnswer> answer)
      : bridge_(&bridge),
        ticket_(std::move(ticket)),
        context_(std::move(context)),
        answer_(std::move(answer)) {}

  PollTask(PollTask&&) noexcept = default;
  PollTask& operator=(PollTask&&) = delete;

  ~PollTask() {
    if (answer_ != nullptr) bridge_->Drop(ticket_, std::move(answer_));
  }

  // Does nothing when called again.
  void operator()() {
    if (answer_ == nullptr) return;
    const EngineTicket ticket = std::move(ticket_);
    bridge_->RunPoll(ticket, context_, std::move(answer_));
  }

 private:
  ExecutorBridge* bridge_;
  EngineTicket ticket_;
  PollContext context_;
  std::unique_ptr<EngineAnswer> answer_;
};

absl::Status ExecutorBridge::NotRun() {
  return absl::UnavailableError(
      "WaitEngineOptions::executor destroyed a poll without running it; it "
      "must run every function that it is given");
}

void ExecutorBridge::Poll(const EngineTicket& ticket, PollContext context,
                          std::unique_ptr<EngineAnswer> answer) {
  HandOver hand_over = {.answer = answer.get(), .dropped = nullptr};
  hand_over_ = &hand_over;
  std::exception_ptr exception;
  WAITER_TRY {
    // The executor may run another poll, which destroys the handle of this one.
    const auto outside = TaskScope::Pause();
    executor_(PollTask(*this, ticket, std::move(context), std::move(answer)));
  }
  WAITER_CATCH(...) { exception = std::current_exception(); }
  hand_over_ = nullptr;
  if (hand_over.dropped == nullptr) {
    if (exception == nullptr) return;
    // If the poll has begun nevertheless, its own answer counts.
    hand_over.dropped = std::make_unique<EngineAnswer>();
  }
  hand_over.dropped->failure =
      exception == nullptr
          ? NotRun()
          : absl::UnknownError(
                absl::StrCat("WaitEngineOptions::executor threw an exception: ",
                             WhatOf(exception)));
  hand_over.dropped->exception = exception;
  requests_.Answer(ticket, std::move(hand_over.dropped));
}

void ExecutorBridge::Drop(const EngineTicket& ticket,
                          std::unique_ptr<EngineAnswer> answer) {
  if (WorkerThread::current() == &worker_ && hand_over_ != nullptr &&
      hand_over_->answer == answer.get()) {
    hand_over_->dropped = std::move(answer);
    return;
  }
  answer->failure = NotRun();
  requests_.Answer(ticket, std::move(answer));
}

void ExecutorBridge::RunPoll(const EngineTicket& ticket,
                             const PollContext& context,
                             std::unique_ptr<EngineAnswer> answer) {
  EngineRecord& record = *ticket.wait.record;
  // The wait may have ended or been cancelled before its turn came.
  if (!record.gate.EnterToPoll(ticket.wait.generation)) return;
  {
    const TaskScope scope(worker_, record);
    WAITER_TRY { record.ops->poll_away(record.task.data(), &context, *answer); }
    WAITER_CATCH(...) { answer->exception = std::current_exception(); }
  }
  if (record.gate.Leave()) {
    requests_.Answer(ticket, std::move(answer));
  } else {
    requests_.FreeAbandoned(record, ticket.wait.generation);
  }
}

// `on_failure` of one wait, as the executor gets it. If the executor destroys
// it without running it, it is called nevertheless.
class ExecutorBridge::OnFailureTask {
 public:
  OnFailureTask(std::shared_ptr<const WaitPolicy> policy, std::string_view name,
                WaitReport report)
      : policy_(std::move(policy)), name_(name), report_(std::move(report)) {}

  OnFailureTask(OnFailureTask&&) noexcept = default;
  OnFailureTask& operator=(OnFailureTask&&) = delete;
  ~OnFailureTask() { (*this)(); }

  void operator()() {
    const std::shared_ptr<const WaitPolicy> policy = std::move(policy_);
    if (policy != nullptr) policy->CallOnFailureAfter(name_, report_);
  }

 private:
  std::shared_ptr<const WaitPolicy> policy_;
  std::string name_;
  WaitReport report_;
};

void ExecutorBridge::CallOnFailure(std::shared_ptr<const WaitPolicy> policy,
                                   std::string_view name,
                                   const WaitReport& report) {
  WAITER_TRY { executor_(OnFailureTask(std::move(policy), name, report)); }
  WAITER_CATCH(...) {
    // The executor has destroyed the function, which has called `on_failure`.
  }
}

}  // namespace waiter::internal
