// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Very many waits on few threads: an engine holds a million waits on one
// thread, and calls back when each ends:
//
//   waiter::WaitEngine engine;
//   waiter::WaitHandle wait =
//       engine.Start(wait_until_running,
//                    [](waiter::WaitResult<Instance> result) {
//                      if (result.ok()) Use(*result);
//                    });
//
// Waits with the same options should share a policy (wait_policy.h).
//
// A program with an event loop of its own gives the engine no thread, and runs
// the waits in the loop:
//
//   waiter::WaitEngine engine({.threads = 0, .wake = WakeLoop});
//   ...
//   waiter::MonotonicTime next = engine.RunDue();  // Call again then.
//
// coroutine.h, wait_group.h and batch_poller.h also start waits on an engine.

#ifndef WAITER_WAIT_ENGINE_H_
#define WAITER_WAIT_ENGINE_H_

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "waiter/async_waiter.h"
#include "waiter/clock.h"
#include "waiter/internal/batch_starter.h"
#include "waiter/internal/cancel_on_stop.h"
#include "waiter/internal/engine_ref.h"
#include "waiter/internal/engine_task.h"
#include "waiter/internal/wait_starter.h"
#include "waiter/stop_token.h"
#include "waiter/wait_engine_options.h"
#include "waiter/wait_engine_statistics.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_result.h"
#include "waiter/wait_token.h"
#include "waiter/waiter.h"

namespace waiter {

namespace internal {
class PreparedStart;
}  // namespace internal

// Whether `Callback` takes the result of a wait whose value has type `T`.
template <typename Callback, typename T>
concept WaitCallback = requires(Callback& callback, WaitResult<T>&& result) {
  callback(std::move(result));
};

// The same for the waits of a batch, with the place of the wait.
template <typename Callback, typename T>
concept WaitBatchCallback = std::copy_constructible<Callback> &&
    requires(Callback& callback, size_t index, WaitResult<T>&& result) {
  callback(index, std::move(result));
};

// Thread-safe, except for `Run` and `RunDue`. Memory grows with the number of
// pending waits and is reused, but not returned before the engine is destroyed.
//
// Status functions and callbacks run on a thread of the engine, one at a time
// on each thread, under no lock, and never inside of `Start`. They may start
// and cancel waits. A function that blocks holds up all waits of its thread:
// run it on an executor (wait_engine_options.h), or use an `AsyncWaiter`.
//
// With several threads, waits are distributed in turn. A wait that is started
// inside of a function of another wait stays on the thread of that wait.
class WaitEngine {
 public:
  // Starts the threads; throws `std::system_error` if one cannot be started. If
  // `options` are invalid, every wait ends with kInvalidArgument.
  explicit WaitEngine(const WaitEngineOptions& options = {});

  // Ends all pending waits with the reason `kShutDown`, and calls their
  // callbacks on their threads, or, without threads, inside of this call.
  // Requests a stop of polls under way through their `PollContext`, and awaits
  // synchronous polls, whose success or failure wins.
  //
  // Functions of waits may start and cancel waits meanwhile, as at other times.
  // A wait that they start ends at once with `kShutDown` and a callback. A
  // callback that always starts its wait again is called 32 times more; the
  // next wait is destroyed without a callback. Other threads may destroy and
  // cancel handles and answer polls, also afterwards, but must not start waits.
  //
  // Terminates the program with a message if it is called inside of a function
  // of one of the engine's waits or of a destructor of their captures, or if
  // such destructors start waits again and again.
  ~WaitEngine();

  WaitEngine(const WaitEngine&) = delete;
  WaitEngine& operator=(const WaitEngine&) = delete;

  // Starts a wait and returns its handle, which owns the wait. Calls `callback`
  // exactly once with the `WaitResult`, whatever ends the wait, unless the
  // handle is destroyed before. The engine destroys `waiter` and `callback`
  // when the wait has ended.
  //
  // The wait, and its time, begins as soon as the engine's thread gets to it.
  // Waits on one thread begin in the order of their starts. The report of the
  // result has an exception of the status function; an exception of the
  // callback goes to `WaitEngineOptions::on_callback_exception`. With
  // `-fno-exceptions`, exceptions terminate the program.
  //
  // Costs 100 to 200 ns. A pending wait takes 128 bytes, or 192 with a full
  // report, if the captures of both functions fit in 32 bytes. It takes more on
  // an executor, with a context or a completion, if the policy has more than
  // delays and limits, or if polls carry texts or errors.
  //
  // Throws `std::bad_alloc` if memory runs out, and has then started nothing;
  // calls of the handle need none. Memory that runs out in the engine itself
  // ends the wait like an exception of its function, or terminates the program.
  template <typename F, typename Callback>
  requires WaitCallback<Callback, typename Waiter<F>::value_type> WaitHandle
  Start(Waiter<F> waiter, Callback callback) {
    return StartPrepared(std::move(waiter), std::move(callback), Unprepared());
  }

  // Starts a wait whose status function takes a completion (async_waiter.h).
  template <typename F, typename Callback>
  requires WaitCallback<Callback, typename AsyncWaiter<F>::value_type>
      WaitHandle Start(AsyncWaiter<F> waiter, Callback callback) {
    return StartPrepared(std::move(waiter), std::move(callback), Unprepared());
  }

  // Starts a `Waiter` or an `AsyncWaiter` that a request of `stop` ends as
  // `WaitHandle::Cancel` does, also once it is detached. After an earlier
  // request, the wait ends without a poll. Takes memory for a stop callback
  // until the wait ends.
  template <typename W, typename Callback>
  requires WaitCallback<Callback, typename W::value_type> WaitHandle
  Start(W waiter, Callback callback, waiter::stop_token stop) {
    internal::CancelOnStop on_stop(std::move(stop));
    internal::StopLink* const link = on_stop.link();
    return StartPrepared(std::move(waiter),
                         internal::StoppableCallback<Callback>{
                             std::move(callback), std::move(on_stop)},
                         [link](const WaitHandle& wait) {
                           internal::CancelOnStop::Arm(link, wait);
                         });
  }

  // Starts a wait for each of `waiters`, as `Start` does, and returns their
  // handles in the same order. Calls a copy of `callback` with the place of the
  // wait in `waiters`, from 0, and the result:
  //
  //   std::vector<waiter::WaitHandle> waits = engine.StartAll(
  //       std::move(waiters),
  //       [&](size_t i, waiter::WaitResult<> result) { Log(hosts[i], result);
  //       });
  //
  // Each thread of the engine is told of the batch once, so that a thread that
  // sleeps is woken once. Several threads share a batch evenly, each a run of
  // neighbours. The first callbacks may run before the call returns.
  //
  // If an exception leaves the call, for lack of memory or of a copy or move of
  // a function, no wait was started and all functions are destroyed.
  template <typename W, typename Callback>
  requires WaitBatchCallback<Callback, typename W::value_type>
      std::vector<WaitHandle> StartAll(std::vector<W> waiters,
                                       Callback callback) {
    return StartBatch(
        std::move(waiters),
        [&](size_t i) {
          return internal::IndexedCallback<Callback>{callback, i};
        },
        [](const std::vector<WaitHandle>&) {});
  }

  // The same, and a request of `stop` ends each wait as `WaitHandle::Cancel`
  // does. After an earlier request, the waits end without a poll.
  template <typename W, typename Callback>
  requires WaitBatchCallback<Callback, typename W::value_type>
      std::vector<WaitHandle> StartAll(std::vector<W> waiters,
                                       Callback callback,
                                       const waiter::stop_token& stop) {
    using Indexed = internal::IndexedCallback<Callback>;
    std::vector<internal::StopLink*> links;
    links.reserve(waiters.size());
    return StartBatch(
        std::move(waiters),
        [&](size_t i) {
          internal::CancelOnStop on_stop(stop);
          links.push_back(on_stop.link());
          return internal::StoppableCallback<Indexed>{{callback, i},
                                                      std::move(on_stop)};
        },
        [&](const std::vector<WaitHandle>& waits) {
          for (size_t i = 0; i < waits.size(); ++i) {
            internal::CancelOnStop::Arm(links[i], waits[i]);
          }
        });
  }

  // The same as the first two, with a name of this wait alone in messages and
  // hooks, for waits that share a policy. Takes memory for the name. Hooks that
  // run after the handle was destroyed get the name of the policy.
  template <typename W, typename Callback>
  requires WaitCallback<Callback, typename W::value_type> WaitHandle
  Start(std::string name, W waiter, Callback callback) {
    internal::NamedPollAdapter<typename W::PollAdapter> adapter{
        {std::move(waiter.function_)}, std::move(name)};
    return StartTask<typename W::value_type>(adapter, std::move(waiter.policy_),
                                             callback, Unprepared());
  }

  // Goes on with the wait of `token`, or starts one if that is empty; see
  // wait_token.h. Otherwise like the first two. Takes memory for the token.
  template <typename W, typename Callback>
  requires WaitCallback<Callback, typename W::value_type> WaitHandle
  Resume(W waiter, WaitToken token, Callback callback) {
    if (token.empty()) return Start(std::move(waiter), std::move(callback));
    internal::ResumedPollAdapter<typename W::PollAdapter> adapter{
        {std::move(waiter.function_)}, std::move(token)};
    return StartTask<typename W::value_type>(adapter, std::move(waiter.policy_),
                                             callback, Unprepared());
  }

  // The same with a name of this wait alone, which must be that of the token.
  template <typename W, typename Callback>
  requires WaitCallback<Callback, typename W::value_type> WaitHandle
  Resume(std::string name, W waiter, WaitToken token, Callback callback) {
    if (token.empty()) {
      return Start(std::move(name), std::move(waiter), std::move(callback));
    }
    using Named = internal::NamedPollAdapter<typename W::PollAdapter>;
    internal::ResumedPollAdapter<Named> adapter{
        {{std::move(waiter.function_)}, std::move(name)}, std::move(token)};
    return StartTask<typename W::value_type>(adapter, std::move(waiter.policy_),
                                             callback, Unprepared());
  }

  // Returns the number of times that a blocking wait slept inside of a function
  // of one of this engine's waits, and so held up all waits of that thread. The
  // first time prints a line, or ends the program in a debug build.
  int64_t blocking_sleeps() const;

  // Returns numbers about the engine's work. Costs less than a microsecond for
  // each thread, and blocks none of them.
  EngineStatistics statistics() const;

  // Polls and calls back on the calling thread until no wait is pending. One
  // thread at a time may call it. On an engine with threads, or inside of a
  // function of a wait, it terminates the program with a message.
  void Run();

  // Makes the polls and callbacks that are due now. Returns the time of the
  // next ones on the engine's clock, also of waits that these started, or
  // `MonotonicTime::max()` if there is none. Call it again then, or earlier if
  // `WaitEngineOptions::wake` is called. Same requirements as for `Run`.
  MonotonicTime RunDue();

 private:
  friend class internal::PreparedStart;
  template <typename W>
  friend class WaitAwaiter;

  struct Unprepared {
    void operator()(const WaitHandle&) const {}
  };

  template <typename W, typename Callback, typename Prepare>
  WaitHandle StartPrepared(W waiter, Callback callback, Prepare prepare) {
    typename W::PollAdapter adapter{std::move(waiter.function_)};
    return StartTask<typename W::value_type>(adapter, std::move(waiter.policy_),
                                             callback, std::move(prepare));
  }

  // Moves `adapter` and `callback` into the engine. Calls `prepare`, which must
  // not throw, with the handle before the wait begins. It may move the handle
  // away.
  template <typename T, typename PollAdapter, typename Callback,
            typename Prepare>
  WaitHandle StartTask(PollAdapter& adapter,
                       std::shared_ptr<const WaitPolicy> policy,
                       Callback& callback, Prepare prepare) {
    using Task = internal::EngineTask<PollAdapter, T, Callback>;
    internal::WaitStarter starter(ChooseWorker());
    Task::Create(starter.storage(), std::move(adapter), std::move(callback));
    WaitHandle wait = starter.MakeHandle(Task::kOps);
    prepare(wait);
    starter.Start(std::move(policy));
    return wait;
  }

  // Starts a wait with each of `waiters` and the callback that
  // `make_callback(place)` returns. Calls `prepare`, which must not throw, with
  // the handles before the waits begin.
  template <typename W, typename MakeCallback, typename Prepare>
  std::vector<WaitHandle> StartBatch(std::vector<W> waiters,
                                     MakeCallback make_callback,
                                     Prepare prepare) {
    using Adapter = typename W::PollAdapter;
    using Callback = decltype(make_callback(size_t{0}));
    using Task =
        internal::EngineTask<Adapter, typename W::value_type, Callback>;
    std::vector<WaitHandle> waits;
    waits.reserve(waiters.size());
    internal::BatchStarter batch(Divide(waiters.size()));
    for (size_t i = 0; i < waiters.size(); ++i) {
      Task::Create(batch.NextStorage(),
                   Adapter{std::move(waiters[i].function_)}, make_callback(i));
      waits.push_back(batch.Add(Task::kOps, std::move(waiters[i].policy_)));
    }
    prepare(waits);
    batch.Start();
    return waits;
  }

  // Returns the workers for a batch, and how many waits each gets.
  std::vector<internal::BatchStarter::Part> Divide(size_t waits);

  // Returns this thread's worker or the only one, otherwise null.
  internal::EngineWorker* OwnWorker();
  // Returns `OwnWorker()`, or the next worker in turn.
  internal::EngineWorker& ChooseWorker();

  void ShutDown();

  std::vector<internal::EngineWorkerRef> workers_;
  // True once the engine ends. All workers share it.
  const std::shared_ptr<std::atomic<bool>> ends_;
  std::atomic<size_t> next_worker_ = 0;
};

}  // namespace waiter

#endif  // WAITER_WAIT_ENGINE_H_
