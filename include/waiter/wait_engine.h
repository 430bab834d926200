// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Very many waits on few threads. What `Waiter::Wait` does to one thread, an
// engine does for a million waits on one thread, with a callback for each:
//
//   waiter::WaitEngine engine;
//   waiter::WaitHandle wait =
//       engine.Start(wait_until_running,
//                    [](waiter::WaitResult<Instance> result) {
//                      if (result.ok()) Use(*result);
//                    });
//
// Waits with the same options should share them:
//
//   auto policy = waiter::WaitPolicy::Make({.timeout = absl::Minutes(5)});
//   for (Job& job : jobs) {
//     engine.Start(waiter::Waiter([&job] { return job.Ask(); }, policy), Log)
//         .Detach();
//   }

#ifndef WAITER_WAIT_ENGINE_H_
#define WAITER_WAIT_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "waiter/async_waiter.h"
#include "waiter/clock.h"
#include "waiter/internal/engine_ref.h"
#include "waiter/internal/engine_task.h"
#include "waiter/internal/wait_starter.h"
#include "waiter/wait_engine_options.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {

// What takes the result of a wait.
template <typename Callback, typename T>
concept WaitCallback = requires(Callback& callback, WaitResult<T>&& result) {
  callback(std::move(result));
};

// Thread-safe, but for `Run` and `RunDue`. Keeps the memory of the most waits
// that it ever had.
//
// Status functions and callbacks run on the engine's thread, one at a time,
// under no lock, and never inside of `Start`. They may start and cancel waits.
// What blocks for long belongs on an executor (wait_engine_options.h).
class WaitEngine {
 public:
  // Invalid options are reported by every wait.
  explicit WaitEngine(const WaitEngineOptions& options = {});

  // Ends the waits that are pending, with callbacks: the reason is `kShutDown`,
  // as it is for waits that those callbacks start. Awaits the polls under way.
  // Must not run on a thread of the engine.
  ~WaitEngine();

  WaitEngine(const WaitEngine&) = delete;
  WaitEngine& operator=(const WaitEngine&) = delete;

  // Starts a wait and calls back exactly once with its `WaitResult`, whatever
  // ends it. Its first poll is made, and its time begins, as soon as the engine
  // comes to it. The handle owns the wait: if it is destroyed, nothing is
  // called back.
  //
  // About 100 ns. A wait takes 128 bytes, or 192 with a full report, if what
  // the two functions capture fits in 32 bytes; more if the policy asks for
  // more than limits of time and number, or polls have details to keep.
  template <typename F, typename Callback>
  requires std::invocable<Callback&, WaitResult<typename Waiter<F>::value_type>>
      WaitHandle Start(Waiter<F> waiter, Callback callback) {
    return StartTask<typename Waiter<F>::PollAdapter,
                     typename Waiter<F>::value_type>(
        {std::move(waiter.function_)}, std::move(waiter.policy_),
        std::move(callback));
  }

  // The same for a status function that takes a completion.
  template <typename F, typename Callback>
  requires WaitCallback<Callback, typename AsyncWaiter<F>::value_type>
      WaitHandle Start(AsyncWaiter<F> waiter, Callback callback) {
    return StartTask<typename AsyncWaiter<F>::PollAdapter,
                     typename AsyncWaiter<F>::value_type>(
        {std::move(waiter.function_)}, std::move(waiter.policy_),
        std::move(callback));
  }

  // For an engine without threads: polls and calls back on the calling thread
  // until no wait is pending.
  void Run();

  // The same, for what is due now. Returns when to call it next, `max()` if no
  // wait is pending; a wait that is started or cancelled until then is due at
  // once.
  MonotonicTime RunDue();

 private:
  template <typename W>
  friend class WaitAwaiter;

  template <typename PollAdapter, typename T, typename Callback>
  WaitHandle StartTask(PollAdapter adapter,
                       std::shared_ptr<const WaitPolicy> policy,
                       Callback callback) {
    using Task = internal::EngineTask<PollAdapter, T, Callback>;
    internal::WaitStarter slot(ChooseWorker());
    Task::Create(slot.storage(), std::move(adapter), std::move(callback));
    WaitHandle wait = slot.MakeHandle(Task::kOps);
    slot.Start(std::move(policy));
    return wait;
  }

  internal::EngineWorker& ChooseWorker();

  std::vector<internal::EngineWorkerRef> workers_;
  std::atomic<size_t> next_worker_ = 0;
};

}  // namespace waiter

#endif  // WAITER_WAIT_ENGINE_H_
