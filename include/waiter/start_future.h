// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A wait on a `WaitEngine` (wait_engine.h) whose result comes in a
// `std::future`, for code that has several things under way and then blocks:
//
//   std::future<waiter::WaitResult<Instance>> first =
//       waiter::StartFuture(engine, wait_until_running);
//   ...
//   waiter::WaitResult<Instance> result = first.get();

#ifndef WAITER_START_FUTURE_H_
#define WAITER_START_FUTURE_H_

#include <future>
#include <utility>

#include "waiter/stop_token.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_result.h"

namespace waiter {

// Starts `waiter`, a `Waiter` or an `AsyncWaiter`, and returns the future of
// its result. `get` throws an exception of the status function or the executor,
// as the blocking form does; every other end is a result.
//
// Destroying the future neither blocks nor ends the wait, so the functions must
// own what they use, or outlive the engine. A request of `stop` ends the wait
// as `WaitHandle::Cancel` does. The end of the engine ends it, too, and then
// the result has the reason `kShutDown`. A future of a wait that is destroyed
// without a callback (see `~WaitEngine`) throws `std::future_error`.
//
// Do not block on the future inside of a function of a wait: the thread cannot
// make the polls of others then. Throws `std::bad_alloc` as
// `WaitEngine::Start` does.
template <typename W>
std::future<WaitResult<typename W::value_type>> StartFuture(
    WaitEngine& engine, W waiter, waiter::stop_token stop = {}) {
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
          std::move(stop))
      .Detach();
  return future;
}

}  // namespace waiter

#endif  // WAITER_START_FUTURE_H_
