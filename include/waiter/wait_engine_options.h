// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of a `WaitEngine` (wait_engine.h). The defaults suit thousands to
// millions of waits whose polls are quick. Millions of waits take a third less
// memory with a lean report:
//
//   waiter::WaitEngine engine({.report = waiter::ReportLevel::kLean});
//
// An event loop that runs the waits itself gets a call when it must look at
// them again:
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
// copyable_executor.h is for pools that take `std::function`.

#ifndef WAITER_WAIT_ENGINE_OPTIONS_H_
#define WAITER_WAIT_ENGINE_OPTIONS_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

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
  // Number of threads that poll and call back, each with waits of its own. Zero
  // or more. With zero, the waits run inside of `WaitEngine::Run` and `RunDue`,
  // on the thread that calls them.
  int threads = 1;

  // Unit to which wake-ups are rounded up, so that one wake-up, which costs 20
  // to 40 us of processor time, serves many waits. Zero for exact times,
  // otherwise finite and at least 1 us. A tick of 1 ms makes polls late by
  // 0.6 ms (median), and a poll at a deadline by up to one tick.
  absl::Duration tick = absl::Milliseconds(1);

  // Share of a delay by which it may be longer, so that even a few waits wake
  // up together. Within [0, 1]. No delay becomes longer than the deadline
  // allows.
  double relative_slack = 0;

  // Part of the report that pending waits keep.
  ReportLevel report = ReportLevel::kFull;

  // Runs synchronous status functions in place of the engine's thread; unset:
  // that thread runs them. The executor gets one function for each poll and
  // should run it once, on any one thread and soon, because the wait goes on
  // only afterwards. It may run it inside of its own call. A poll that has not
  // begun at the deadline of its wait, or, if it is the last one,
  // `PollContext::timeout` later, is given up. A function that runs after its
  // wait or the engine has ended, or again, does nothing.
  //
  // If the executor destroys a function without running it, as pools do that
  // shut down, the wait ends with `StopReason::kFailed` and kUnavailable. If
  // the executor throws before the poll has begun, the wait ends with kUnknown
  // and that exception. The engine destroys its copies of the executor at its
  // end.
  //
  // Callbacks and asynchronous status functions stay on the engine's thread.
  // Each wait is still polled by one thread at a time. Objects to which the
  // executor refers must outlive the engine.
  std::function<void(absl::AnyInvocable<void()>)> executor = nullptr;

  // Tells the event loop that turns an engine without threads to call
  // `WaitEngine::RunDue` again, before the time that it returned: a wait was
  // started, cancelled, abandoned, told to poll now, or answered. Unset: no
  // calls. Requires `threads` of 0.
  //
  // Called inside of the call that made the request and on its thread, under no
  // lock of the engine. It may run on several threads at once, and on the
  // thread of the loop. Requests of functions of a wait inside of `RunDue` do
  // not call it, because the time that `RunDue` returns accounts for them.
  //
  // Each request is followed by a call, unless one was made or is under way for
  // an earlier request that no `RunDue` has taken yet. So a million requests
  // are one call, and there may be a call after which `RunDue` finds nothing to
  // do. A loop that keeps a flag must clear it before `RunDue`, not afterwards.
  //
  // It should do no more than wake the loop: write to an eventfd, post to an
  // `io_context`, call `uv_async_send`. It must not call `Run` or `RunDue` or
  // destroy the engine, which terminates the program with a message, nor wait
  // for a thread that is inside of a function of the engine or its handles,
  // also by a lock that such a thread holds. An exception terminates the
  // program. The destructor of the engine does not call it, but awaits calls of
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
  // same order. Unset: they differ each time. `WaitOptions::seed` does the same
  // for a single wait and wins over this.
  std::optional<uint64_t> seed = std::nullopt;

  // Generator from which the engine's thread draws the delays instead. For
  // tests of exact delays. Requires `threads` of 0 or 1. Not owned; must
  // outlive the engine.
  std::optional<absl::BitGenRef> gen = std::nullopt;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const WaitEngineOptions& options);

}  // namespace waiter

#endif  // WAITER_WAIT_ENGINE_OPTIONS_H_
