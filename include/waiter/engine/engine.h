// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Very many waits on few threads. An engine holds a million waits on one
// thread, and calls back when each ends:
//
//   waiter::WaitEngine engine;
//   waiter::WaitHandle wait =
//       engine.Start(wait_until_running,
//                    [](waiter::WaitResult<Instance> result) {
//                      if (result.ok()) Use(*result);
//                    });
//
// Waits with the same options should share a policy (policy.h).
//
// A program with an event loop can run the waits in the loop, without engine
// threads:
//
//   waiter::WaitEngine engine({.threads = 0, .wake = WakeLoop});
//   ...
//   waiter::MonotonicTime next = engine.RunDue();  // Call again then.
//
// engine/coroutine.h, engine/group.h and engine/batch_poller.h also start waits
// on an engine.

#ifndef WAITER_ENGINE_ENGINE_H_
#define WAITER_ENGINE_ENGINE_H_

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/batch_starter.h"
#include "waiter/engine/internal/cancel_on_stop.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_task.h"
#include "waiter/engine/internal/wait_starter.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"
#include "waiter/version.h"
#include "waiter/waiter.h"

namespace waiter {

// Options of a `WaitEngine`. The defaults suit thousands to millions of waits
// whose polls are quick. Millions of waits take a third less memory with a lean
// report:
//
//   waiter::WaitEngine engine({.report = waiter::ReportLevel::kLean});
//
// An event loop that runs the waits itself gets a call when it must run them
// again:
//
//   waiter::WaitEngine engine({.threads = 0, .wake = [&loop, &on_wake] {
//                                loop.Post(on_wake);  // Calls RunDue.
//                              }});
//
// Polls that block, such as calls of a synchronous client, belong on a thread
// pool:
//
//   waiter::WaitEngine engine(
//       {.executor = [&pool](absl::AnyInvocable<void()> poll) {
//          pool.Schedule(std::move(poll));
//        }});
//
// `CopyableExecutor` is for pools that take `std::function`.

class Clock;

// The part of its `WaitReport` that a wait keeps while it is pending.
enum class ReportLevel : uint8_t {
  // Keeps `attempts`, `elapsed` and the status of the last poll. Counts, sleeps
  // and errors stay empty. If a poll ends the wait, `last_poll` is complete.
  // The error has its usual text, except that a wait which is cancelled or ends
  // with the engine may have none. Waits that need more state than a lean
  // report (see `WaitEngine::Start`) keep everything.
  kLean,
  // Keeps everything that the blocking form keeps, for 64 bytes more per wait.
  kFull,
};

struct WaitEngineOptions {
  // Number of threads that poll and call back. Each has its own waits. Zero or
  // more. With zero, the waits run inside `WaitEngine::Run` and `RunDue`, on
  // the thread that calls them.
  int threads = 1;

  // Unit to which wake-ups are rounded up, so that one wake-up, which costs 20
  // to 40 us of processor time, serves many waits. Zero for exact times; Linux
  // then does not round up sleeps of the engine's threads, or of the thread
  // inside `Run`. Otherwise finite and at least 1 us. A tick of 1 ms makes
  // polls late by 0.7 ms (median), and a poll at a deadline by up to one tick.
  // With a tick, and without a `seed` or `gen` of the engine or the wait, the
  // delays drawn by jitter also end at instants that the waits of a thread
  // share: each within the jitter's interval, and at most 1/32 of it and 17 ms
  // from where it was drawn.
  Duration tick = absl::Milliseconds(1);

  // Share by which a delay may be lengthened, so that even a few waits wake up
  // together. Within [0, 1]. Never lengthens a delay beyond the deadline.
  double relative_slack = 0;

  // Part of the report that pending waits keep.
  ReportLevel report = ReportLevel::kFull;

  // Runs synchronous status functions instead of the engine's thread; unset:
  // that thread runs them. The executor gets one function for each poll and
  // should run it once, on any one thread and soon, because the wait continues
  // only afterwards. It may run the function before it returns. A poll that has
  // not begun at the deadline of its wait, or, if it is the last one,
  // `PollContext::timeout` later, is given up. A function that runs after its
  // wait or the engine has ended, or again, does nothing.
  //
  // If the executor destroys a function without running it, as pools that shut
  // down do, the wait ends with `StopReason::kFailed` and kUnavailable. If the
  // executor throws before the poll has begun, the wait ends with kUnknown and
  // that exception. The engine destroys its copies of the executor at its end.
  //
  // Callbacks and asynchronous status functions stay on the engine's thread.
  // Each wait is still polled by one thread at a time. Objects to which the
  // executor refers must outlive the engine.
  std::function<void(absl::AnyInvocable<void()>)> executor = nullptr;

  // Tells the event loop of an engine without threads to call
  // `WaitEngine::RunDue` before the time that it returned, because a wait was
  // started, cancelled, abandoned, told to poll now, or answered. Unset: no
  // calls. Requires `threads` of 0.
  //
  // Called inside the call that made the request and on its thread, with no
  // engine lock held. It may run on several threads concurrently, and on the
  // thread of the loop. Requests by a wait's functions inside `RunDue` do not
  // call it, because the time that `RunDue` returns accounts for them.
  //
  // Each request is followed by a call, unless one was made or is in progress
  // for an earlier request that no `RunDue` has taken yet. So a million
  // requests cause one call, and there may be a call after which `RunDue` finds
  // nothing to do. A loop that keeps a flag must clear it before `RunDue`, not
  // afterwards.
  //
  // It should do no more than wake the loop: write to an eventfd, post to an
  // `io_context`, call `uv_async_send`. It must not call `Run` or `RunDue` or
  // destroy the engine, which terminates the program with a message. Nor may it
  // wait for a thread that is inside a function of the engine or its handles,
  // or for a lock that such a thread holds. An exception terminates the
  // program. The destructor of the engine does not call it, but awaits calls on
  // other threads; none comes afterwards. Objects to which it refers must
  // outlive the engine.
  std::function<void()> wake = nullptr;

  // Called on the engine's thread with an exception that a callback threw.
  // Unset: the engine prints the exception and terminates the program. With
  // `-fno-exceptions` it is never called.
  std::function<void(std::exception_ptr)> on_callback_exception = nullptr;

  // Clock of the engine. Not owned; must outlive the engine. Null:
  // `GetRealClock()`. Waits whose `WaitOptions::clock` is not the same end with
  // kInvalidArgument.
  Clock* clock = nullptr;

  // Makes the delays the same each time, for waits that start and poll in the
  // same order. Unset: they differ each time. `WaitHooks::seed` does the same
  // for a single wait and overrides this.
  std::optional<uint64_t> seed = std::nullopt;

  // Generator from which the engine's thread draws the delays instead. For
  // tests of exact delays. Requires `threads` of 0 or 1. Not owned; must
  // outlive the engine.
  std::optional<absl::BitGenRef> gen = std::nullopt;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const WaitEngineOptions& options);

// Makes a `WaitEngineOptions::executor` from a thread pool that takes
// `std::function`, which cannot hold the polls of an engine directly because
// they are not copyable:
//
//   waiter::WaitEngine engine(
//       {.executor = waiter::CopyableExecutor(
//            [&pool](std::function<void()> poll) { pool.Post(poll); })});

// Returns an executor that passes its functions on to `executor` as copyable
// functions. Copies share one poll: run one of them once, on one thread, as
// `WaitEngineOptions::executor` says. A poll counts as destroyed without having
// run when its last copy is destroyed. Costs two allocations for each poll.
// Returns null if `executor` is.
inline std::function<void(absl::AnyInvocable<void()>)> CopyableExecutor(
    std::function<void(std::function<void()>)> executor) {
  if (executor == nullptr) return nullptr;
  return [executor = std::move(executor)](absl::AnyInvocable<void()> poll) {
    executor([poll = std::make_shared<absl::AnyInvocable<void()>>(
                  std::move(poll))] { (*poll)(); });
  };
}

// Numbers about the work of a `WaitEngine`, for metrics and logs:
//
//   const waiter::EngineStatistics now = engine.statistics();
//   std::cout << now.pending << " waits, " << now.polls << " polls\n";
//
// For the rate of polls, subtract two readings. telemetry/metrics.h exports
// these values.

// A value: sums over the threads of an engine. They are read one after the
// other while the engine runs, so they are not from exactly the same moment.
struct EngineStatistics {
  // Waits that an engine's thread has taken up and that have not ended.
  int64_t pending = 0;

  // Waits that were due in the last round of each thread. A round carries out
  // everything that is due; many waits in one mean that polls bunch, or that
  // the engine is busy.
  int64_t due = 0;

  // Polls that have begun since the engine was made.
  int64_t polls = 0;

  // Lateness of rounds: from the time of the earliest wait's timer, rounded up
  // to the engine's tick, to the beginning of the round. Each round with a
  // timer that was due counts in one element of `late_rounds`: the first whose
  // bound in `kLatenessBounds` its lateness does not exceed, or the last.
  static constexpr std::array<double, 8> kLatenessBounds = {
      0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1};  // Seconds.
  std::array<int64_t, kLatenessBounds.size() + 1> late_rounds = {};
  absl::Duration lateness;  // Sum over all rounds.
};

// Options of one start, for waits that share a policy:
//
//   engine.Start(wait, Use, {.name = "instance i-0abc", .stop = stop_token});
struct StartOptions {
  // Name of the wait in messages and hooks, instead of the policy's; empty: the
  // policy's. With `resume`, it must be the name of the token. Hooks that run
  // after the handle was destroyed get the name of the policy.
  std::string name = {};

  // A stop request ends the wait as `WaitHandle::Cancel` does, even once
  // detached. After an earlier request, the wait ends without a poll. Takes
  // memory for a stop callback until the wait ends.
  waiter::stop_token stop = {};

  // The saved wait to resume; see token.h. Empty: a new wait.
  WaitToken resume = {};
};

namespace internal {
class PreparedStart;
}  // namespace internal

// Whether `Callback` takes the result of a wait whose value has type `T`.
template <typename Callback, typename T>
concept WaitCallback = requires(Callback& callback, WaitResult<T>&& result) {
  callback(std::move(result));
};

// Whether `Callback` takes the index of a wait in its batch, and its result.
template <typename Callback, typename T>
concept WaitBatchCallback = std::copy_constructible<Callback> &&
    requires(Callback& callback, size_t index, WaitResult<T>&& result) {
  callback(index, std::move(result));
};

// Thread-safe, except for `Run` and `RunDue`. Memory grows with the number of
// pending waits and is reused, but not freed until the engine is destroyed.
//
// Status functions and callbacks run on a thread of the engine, one at a time
// on each thread, with no lock held, and never inside `Start`. They may start
// and cancel waits. A function that blocks holds up all waits of its thread:
// run it on a `WaitEngineOptions::executor`, or use an `AsyncWaiter`.
//
// A child of fork(2) lacks the threads of its parent's engine. It may destroy
// its copies of the engine, for example by exit(3), and of handles. This does
// not free the engine's memory. Other calls on the handles do nothing. The
// child must not start waits on it, but may make another engine.
//
// With several threads, waits are distributed in turn. A wait that is started
// inside a function of another wait stays on the thread of that wait.
class WaitEngine {
 public:
  // Starts the threads; throws `std::system_error` if one cannot be started. If
  // `options` are invalid, every wait ends with kInvalidArgument.
  explicit WaitEngine(const WaitEngineOptions& options = {});

  // Ends all pending waits with the reason `kShutDown`, and calls their
  // callbacks on their threads, or, without threads, inside this call. Requests
  // a stop of polls in progress through their `PollContext`, and awaits
  // synchronous polls, whose success or failure wins.
  //
  // While it runs, functions of waits may start and cancel waits, as at other
  // times. A wait that they start ends immediately with `kShutDown` and a
  // callback. A callback that always starts its wait again is called 32 more
  // times; the next wait is destroyed without a callback. Other threads may
  // destroy and cancel handles and answer polls, even afterwards, but must not
  // start waits.
  //
  // Terminates the program with a message if it is called inside a function of
  // one of the engine's waits or inside a destructor of its captures. Also does
  // so if such destructors start waits again and again.
  ~WaitEngine();

  WaitEngine(const WaitEngine&) = delete;
  WaitEngine& operator=(const WaitEngine&) = delete;

  // Starts `waiter`, a `Waiter` or an `AsyncWaiter` (engine/async_waiter.h),
  // and returns the handle of the wait, which owns the wait. Calls `callback`
  // exactly once with the `WaitResult`, unless the handle is destroyed first.
  // The engine destroys `waiter` and `callback` when the wait has ended.
  //
  // The wait, and its time, begins as soon as the engine's thread gets to it.
  // Waits on one thread begin in the order of their starts. The result's report
  // has any exception from the status function; an exception from the callback
  // goes to `WaitEngineOptions::on_callback_exception`. With `-fno-exceptions`,
  // exceptions terminate the program.
  //
  // Costs 100 to 200 ns. A pending wait takes 128 bytes, or 192 with a full
  // report, if the captures of both functions fit in 32 bytes. It takes more on
  // an executor, with a context or a completion, if the policy has more than
  // delays and limits, or if polls carry texts or errors.
  //
  // Throws `std::bad_alloc` if memory runs out, without starting anything; the
  // handle's calls, except `Suspend`, do not allocate. Running out of memory in
  // the engine itself ends the wait like an exception from its function, or
  // terminates the program.
  template <typename W, typename Callback>
  requires WaitCallback<Callback, typename W::value_type> WaitHandle
  Start(W waiter, Callback callback) {
    return StartPrepared(std::move(waiter), std::move(callback), Unprepared());
  }

  // Takes options that apply only to this wait.
  template <typename W, typename Callback>
  requires WaitCallback<Callback, typename W::value_type> WaitHandle
  Start(W waiter, Callback callback, StartOptions options) {
    using Named = internal::NamedPollAdapter<typename W::PollAdapter>;
    Named named{{std::move(waiter.function_)}, std::move(options.name)};
    if (options.resume.empty()) {
      return StartStoppable<typename W::value_type>(
          named, std::move(waiter.policy_), callback, std::move(options.stop));
    }
    internal::ResumedPollAdapter<Named> resumed{std::move(named),
                                                std::move(options.resume)};
    return StartStoppable<typename W::value_type>(
        resumed, std::move(waiter.policy_), callback, std::move(options.stop));
  }

  // Starts a wait for each of `waiters`, as `Start` does, and returns their
  // handles in the same order. Calls a copy of `callback` with the index of the
  // wait in `waiters`, from 0, and the result:
  //
  //   std::vector<waiter::WaitHandle> waits = engine.StartAll(
  //       std::move(waiters),
  //       [&](size_t i, const waiter::WaitResult<>& result) {
  //         Log(hosts[i], result);
  //       });
  //
  // Each thread of the engine gets its part as one request, so that a sleeping
  // thread is woken once. Several threads share a batch evenly, in contiguous
  // parts. The first callbacks may run before the call returns.
  //
  // If an exception leaves the call, because memory runs out or copying or
  // moving a function throws, no wait was started and all functions are
  // destroyed.
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

  // The same, and a stop request ends each wait as `WaitHandle::Cancel` does.
  // After an earlier request, the waits end without a poll.
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

  // Returns the number of times that a blocking wait slept inside a function of
  // one of this engine's waits, and so held up all waits of that thread. The
  // first time prints a line, or ends the program in a debug build.
  int64_t blocking_sleeps() const;

  // Returns numbers about the engine's work. Costs less than a microsecond per
  // thread, and blocks none of them.
  EngineStatistics statistics() const;

  // Polls and calls back on the calling thread until no wait is pending. One
  // thread at a time may call it. On an engine with threads, or inside a
  // function of a wait, it terminates the program with a message.
  void Run();

  // Makes the polls and callbacks that are due now. Returns the time of the
  // next ones on the engine's clock, including those of waits just started, or
  // `MonotonicTime::max()` if none. Call it again then, or earlier if
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

  // Starts a task that a request of `stop` cancels.
  template <typename T, typename PollAdapter, typename Callback>
  WaitHandle StartStoppable(PollAdapter& adapter,
                            std::shared_ptr<const WaitPolicy> policy,
                            Callback& callback, waiter::stop_token stop) {
    internal::CancelOnStop on_stop(std::move(stop));
    internal::StopLink* const link = on_stop.link();
    internal::StoppableCallback<Callback> stoppable{std::move(callback),
                                                    std::move(on_stop)};
    return StartTask<T>(adapter, std::move(policy), stoppable,
                        [link](const WaitHandle& wait) {
                          internal::CancelOnStop::Arm(link, wait);
                        });
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

// A wait on a `WaitEngine` whose result comes in a `std::future`, for code that
// has several things in progress and then blocks:
//
//   std::future<waiter::WaitResult<Instance>> first =
//       waiter::StartFuture(engine, wait_until_running);
//   ...
//   waiter::WaitResult<Instance> result = first.get();

// Starts `waiter`, a `Waiter` or an `AsyncWaiter`, and returns the future of
// its result. `get` throws an exception of the status function or the executor,
// as the blocking form does; every other end is a result.
//
// Destroying the future neither blocks nor ends the wait, so the functions must
// own everything they use, or outlive the engine. The end of the engine ends
// the wait, and then the result has the reason `kShutDown`. A future of a wait
// that is destroyed without a callback (see `~WaitEngine`) throws
// `std::future_error`.
//
// Do not block on the future inside a wait's function: its thread could not
// poll for other waits. Throws `std::bad_alloc` as `WaitEngine::Start` does.
template <typename W>
std::future<WaitResult<typename W::value_type>> StartFuture(
    WaitEngine& engine, W waiter, StartOptions options = {}) {
  using Result = WaitResult<typename W::value_type>;
  std::promise<Result> promise;
  std::future<Result> future = promise.get_future();
  engine
      .Start(
          std::move(waiter),
          [promise = std::move(promise)](Result result) mutable {
            if (result.report().exception != nullptr) {
              promise.set_exception(result.report().exception);
            } else {
              promise.set_value(std::move(result));
            }
          },
          std::move(options))
      .Detach();
  return future;
}

}  // namespace waiter

#endif  // WAITER_ENGINE_ENGINE_H_
