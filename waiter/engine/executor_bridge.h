// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs on the user's executor, for a worker: synchronous polls, and
// `on_failure`.
//
//   bridge.Poll(ticket, std::move(context), std::move(answer));
//   ...
//   worker.Answer(...)  // The answer comes as a request.
//
// Invariants:
//  * Each poll is answered exactly once: with the result of the status
//    function, or with a failure if the executor destroys or refuses it; never
//    if its wait ended, or must end, before the poll began.
//  * If the executor destroys a poll inside `Poll`, the answer is given after
//    the executor has returned, with its exception if it threw one.
//  * `on_failure` is called exactly once, whatever the executor does.

#ifndef WAITER_ENGINE_EXECUTOR_BRIDGE_H_
#define WAITER_ENGINE_EXECUTOR_BRIDGE_H_

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "waiter/engine/engine_requests.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

// `Poll`, `CallOnFailure` and `Forget` are for the worker's thread.
class ExecutorBridge {
 public:
  using Executor = std::function<void(absl::AnyInvocable<void()>)>;

  // If `executor` is null, `Poll` must not be called.
  ExecutorBridge(EngineWorker& worker, EngineRequests& requests,
                 Executor executor)
      : worker_(worker),
        requests_(requests),
        has_executor_(executor != nullptr),
        executor_(std::move(executor)) {}

  ExecutorBridge(const ExecutorBridge&) = delete;
  ExecutorBridge& operator=(const ExecutorBridge&) = delete;

  // Whether there is, or before `Forget` was, an executor.
  bool has_executor() const { return has_executor_; }

  // Hands a poll to the executor. Its wait has been put aside, and its
  // `make_answer` made `answer`.
  void Poll(const EngineTicket& ticket, PollContext context,
            std::unique_ptr<EngineAnswer> answer);

  // Calls `on_failure` of a wait on the executor.
  void CallOnFailure(std::shared_ptr<const WaitPolicy> policy,
                     std::string_view name, const WaitReport& report);

  // Destroys the executor, whose tasks may hold references to the worker.
  void Forget() { executor_ = nullptr; }

 private:
  class PollTask;
  class OnFailureTask;

  // The answer of the poll that the executor is being handed. `dropped` owns it
  // if the executor destroys the poll during the call.
  struct HandOver {
    const EngineAnswer* answer;
    std::unique_ptr<EngineAnswer> dropped;
  };

  static absl::Status NotRun();
  void RunPoll(const EngineTicket& ticket, const PollContext& context,
               std::unique_ptr<EngineAnswer> answer);
  void Drop(const EngineTicket& ticket, std::unique_ptr<EngineAnswer> answer);

  EngineWorker& worker_;
  EngineRequests& requests_;
  const bool has_executor_;
  Executor executor_;
  HandOver* hand_over_ = nullptr;  // Set while the executor is handed a poll.
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_EXECUTOR_BRIDGE_H_
