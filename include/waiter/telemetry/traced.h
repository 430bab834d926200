// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Traces of waits: a span for each wait, with a span for each of its polls.
//
//   waiter::WaitResult<Instance> result =
//       waiter::Traced(tracer, waiter::Waiter(GetInstance, options)).Wait();
//
//   waiter::WaitHandle handle =
//       engine.Start(waiter::Traced(tracer, wait_until_running), Use);
//
// The span of a poll is current while the status function runs, on whichever
// thread, so that the spans of the client that it calls become its children.
// The span of the wait is a child of the span that was current at the call of
// `Traced`.
//
// docs/observability.md has the class that connects this to opentelemetry-cpp;
// Waiter itself depends on no tracing library.

#ifndef WAITER_TELEMETRY_TRACED_H_
#define WAITER_TELEMETRY_TRACED_H_

#include <utility>

#include "waiter/async_waiter.h"
#include "waiter/internal/traced_wait.h"
#include "waiter/telemetry/tracer.h"
#include "waiter/waiter.h"

namespace waiter {

// Returns a waiter that does what `waiter` does and traces each of its waits.
// Takes about 1 KB for each pending wait. The observer of the options, if there
// is one, is called before the tracer.
//
// The span of a wait is named "wait OPERATION", or "wait" without an operation,
// and has the attributes
//
//   waiter.name                        of the options or of `Start`
//   waiter.operation                   unless it is empty
//   waiter.timeout                     seconds, unless infinite
//   waiter.polls, waiter.stop_reason   at its end
//   error.type                         the code, if the wait did not succeed
//
// Only if the wait did not succeed, the span has the status "error": a poll
// that finds "not ready" is not an error of the operation. The first and the
// last eight polls (see `TraceOptions`) are also events "waiter.poll" of this
// span, with `attempt`, `status`, `detail`, `delay` in seconds and `reason`.
// The span of a poll is named "poll OPERATION" and has the attributes
// `waiter.poll.attempt` and `waiter.poll.status`; a poll that fails the wait
// has the status "error".
//
// The functions of `tracer` must not throw.
template <Tracer T, typename F>
Waiter<internal::TracedFunction<T, F>> Traced(
    T tracer, Waiter<F> waiter, const TraceOptions& options = {}) {
  using Function = internal::TracedFunction<T, F>;
  return internal::MakeTraced<Waiter<Function>, Function>(
      std::move(tracer), std::move(waiter), options);
}

// The same for a function that takes a completion. The span of a poll is
// current until the function returns, and ends when the poll is answered.
template <Tracer T, typename F>
AsyncWaiter<internal::AsyncTracedFunction<T, F>> Traced(
    T tracer, AsyncWaiter<F> waiter, const TraceOptions& options = {}) {
  using Function = internal::AsyncTracedFunction<T, F>;
  return internal::MakeTraced<AsyncWaiter<Function>, Function>(
      std::move(tracer), std::move(waiter), options);
}

}  // namespace waiter

#endif  // WAITER_TELEMETRY_TRACED_H_
