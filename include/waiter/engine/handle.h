// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Ownership of a wait that runs on a `WaitEngine` (engine/engine.h):
//
//   waiter::WaitHandle wait = engine.Start(wait_until_running, Use);
//   wait.PollNow();  // A webhook says that something has changed.
//   wait.Suspend(Store);  // `Store` gets a token, and `Use` is not called.
//   wait.Cancel();   // `Use` gets a result with the reason `kCancelled`.
//
// Keep the handle next to the objects that the status function and the callback
// refer to, and declare it after them. It is then destroyed first, and neither
// function runs afterwards:
//
//   class Provisioner {
//     ...
//     Client client_;             // Used by the status function.
//     waiter::WaitHandle wait_;
//   };
//
// Detach the wait instead if its functions own everything they use:
//
//   engine.Start(std::move(wait_until_running), Use).Detach();

#ifndef WAITER_ENGINE_HANDLE_H_
#define WAITER_ENGINE_HANDLE_H_

#include <utility>

#include "absl/functional/any_invocable.h"
#include "waiter/engine/internal/wait_canceller.h"
#include "waiter/token.h"
#include "waiter/version.h"

namespace waiter {

namespace internal {
class BatchStarter;
class CancelOnStop;
class PreparedStart;
template <typename T>
class WaitGroupState;
class WaitStarter;
}  // namespace internal

// Movable, 32 bytes. Thread-compatible, and not bound to a thread: calls are
// allowed on any thread, inside callbacks and status functions, and after the
// engine is gone. A handle that outlives its engine keeps the memory of the
// engine's waits from being freed.
class [[nodiscard]] WaitHandle {
 public:
  // Makes a handle that owns no wait; its functions do nothing.
  WaitHandle() = default;

  WaitHandle(WaitHandle&& other) noexcept
      : wait_(std::exchange(other.wait_, {})) {}

  // Cancels the wait that this owned before, as the destructor does.
  WaitHandle& operator=(WaitHandle&& other) noexcept {
    Destroy();
    wait_ = std::exchange(other.wait_, {});
    return *this;
  }

  // Cancels the wait without a callback, and frees the status function and the
  // callback. Does nothing if the wait has ended.
  //
  // Blocks while one of the two functions runs on another thread; so two waits
  // on different threads must not destroy each other's handles. Inside one of
  // the two functions it does not block, and the wait ends when that function
  // returns.
  ~WaitHandle() { Destroy(); }

  // Requests a stop and returns immediately. The callback still comes, with the
  // reason `kCancelled`, or with another reason if the wait ends on its own
  // before the engine handles the request.
  //
  // No poll starts after this call. A synchronous poll in progress is awaited,
  // and its success or failure wins; an asynchronous one is not awaited.
  void Cancel() { wait_.Cancel(); }

  // Ends the wait without its callback and without `WaitHooks::on_failure`, and
  // calls `suspended` with its state. `StartOptions::resume` or
  // `RunOptions::resume` continues the wait here or in another process: with
  // the same start, deadline, attempts, errors and growth of delays, and with
  // the next poll when it would have come. Returns without waiting for
  // `suspended`, and can be called inside any function or hook of the wait.
  //
  // No poll starts after this call. Then exactly one of two things happens:
  //
  //   * `suspended` is called once, instead of the callback, on the engine's
  //     thread and with the same guarantees: the destructor of the handle
  //     awaits it, and an exception goes to `on_callback_exception`.
  //   * The wait ends on its own, and the callback is called. A synchronous
  //     poll in progress is awaited, and its answer counts: if it ends the
  //     wait, the wait has ended; if not, the state includes that poll.
  //
  // An asynchronous poll in progress is not awaited: it gets a request to stop,
  // its answer is dropped, and the resumed wait makes it again. An answer that
  // was given before this call counts.
  //
  // If the wait has not begun, `suspended` gets an empty token, or the one that
  // the wait was to resume. Both `resume` options also take an empty one. The
  // `RetryQuota` tokens that pay for the next poll are not given back but are
  // part of the state, so that the resumed wait does not pay again. Observers
  // see `OnDone` with `kCancelled`, and `OnStart` when the wait is resumed.
  //
  // Does nothing, and destroys `suspended`, if the wait has ended or is about
  // to call back, or if `Cancel` or `Suspend` was called before: the first call
  // counts. If the handle is destroyed before `suspended` is called, neither it
  // nor the callback is. The destructor of the engine first carries out earlier
  // requests, so this stores all waits of an engine:
  //
  //   for (Job& job : jobs) {
  //     job.wait.Suspend([&](WaitToken token) { Store(job, token); });
  //   }
  //   engine.reset();
  //
  // Throws `std::bad_alloc` if memory runs out, and then has no effect.
  void Suspend(absl::AnyInvocable<void(WaitToken)> suspended);

  // Requests a poll now, for example because an event announced a change.
  // Returns immediately; the engine then ends the sleep of the wait, a first
  // delay included, and polls. Delays start over.
  //
  // Several calls before the poll begins cause one poll. A call during a poll
  // causes another poll after it. `BackoffOptions::min_delay`, the server's
  // `retry_after`, quotas and rate limiters apply, so the poll may come later.
  // Sleeps that confirm a success keep their length, and so do, with
  // `ReportLevel::kLean`, sleeps after a `retry_after` or on a backoff with a
  // `min_delay`. Does nothing if the wait has ended.
  //
  // `BatchPoller::Start` also returns a handle with this function. `Await`,
  // `StartFuture`, `WaitGroup` and `AsyncWait` return none: to be able to
  // notify a wait, start it with `WaitEngine::Start`.
  void PollNow() { wait_.PollNow(); }

  // Gives up ownership: the wait continues on its own until its callback has
  // run. Afterwards this handle owns no wait.
  void Detach();

  // Returns true until the wait has ended and its callback has returned. False
  // for a handle that owns no wait.
  bool pending() const;

 private:
  friend class internal::BatchStarter;
  friend class internal::CancelOnStop;
  friend class internal::PreparedStart;
  template <typename T>
  friend class internal::WaitGroupState;
  friend class internal::WaitStarter;

  explicit WaitHandle(internal::WaitCanceller wait) : wait_(std::move(wait)) {}

  void Destroy();

  internal::WaitCanceller wait_;
};

}  // namespace waiter

#endif  // WAITER_ENGINE_HANDLE_H_
