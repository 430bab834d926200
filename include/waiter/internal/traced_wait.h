// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Status functions that run in the span of their poll, and `MakeTraced`, which
// `Traced` (telemetry/traced.h) calls.

#ifndef WAITER_INTERNAL_TRACED_WAIT_H_
#define WAITER_INTERNAL_TRACED_WAIT_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "waiter/internal/async_call.h"
#include "waiter/internal/wait_tracer.h"
#include "waiter/internal/waiter_parts.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll_completion.h"
#include "waiter/poll_context.h"
#include "waiter/status_function.h"
#include "waiter/telemetry/tracer.h"
#include "waiter/wait_policy.h"

namespace waiter::internal {

// The status function of a traced wait.
template <Tracer T, typename F>
class TracedFunction {
 public:
  TracedFunction(std::shared_ptr<WaitTracer<T>> tracer, F function)
      : tracer_(std::move(tracer)), function_(std::move(function)) {}

  decltype(auto) operator()(const PollContext& context) {
    [[maybe_unused]] const auto scope = tracer_->Enter(context.wait_id);
    if constexpr (TakesContext<F>) {
      return std::invoke(function_, context);
    } else {
      return std::invoke(function_);
    }
  }

 private:
  std::shared_ptr<WaitTracer<T>> tracer_;
  F function_;
};

// The same for a function that takes a completion.
template <Tracer T, typename F>
class AsyncTracedFunction {
 public:
  AsyncTracedFunction(std::shared_ptr<WaitTracer<T>> tracer, F function)
      : tracer_(std::move(tracer)), function_(std::move(function)) {}

  void operator()(const PollContext& context,
                  PollCompletion<typename AsyncCallOf<F>::type> done) {
    [[maybe_unused]] const auto scope = tracer_->Enter(context.wait_id);
    if constexpr (AsyncCallOf<F>::kTakesContext) {
      std::invoke(function_, context, std::move(done));
    } else {
      std::invoke(function_, std::move(done));
    }
  }

  bool IsAwaited() const requires requires(const F& f) { f.IsAwaited(); }
  { return function_.IsAwaited(); }

 private:
  std::shared_ptr<WaitTracer<T>> tracer_;
  F function_;
};

// Returns `waiter` as a `Result`, whose function is a `Function` and whose
// observer is the one of the policy followed by a tracer.
template <typename Result, typename Function, Tracer T, typename W>
Result MakeTraced(T tracer, W waiter, const TraceOptions& trace_options) {
  const auto observer =
      std::make_shared<WaitTracer<T>>(std::move(tracer), trace_options);
  const WaitPolicy& policy = *WaiterParts<W>::Policy(waiter);
  WaitOptions options = policy.options();
  options.observer =
      std::make_shared<ObserverList>(std::vector<std::shared_ptr<WaitObserver>>{
          std::move(options.observer), observer});
  return Result(Function(observer, std::move(WaiterParts<W>::Function(waiter))),
                WaitPolicy::Make(std::move(options), policy.status()));
}

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_TRACED_WAIT_H_
