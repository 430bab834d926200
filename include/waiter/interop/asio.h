// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits on a `WaitEngine` (engine/engine.h) as asynchronous operations of
// Boost.Asio, with any completion token:
//
//   boost::asio::awaitable<void> Provision(waiter::WaitEngine& engine) {
//     waiter::Waiter wait_until_running(..., {.timeout = absl::Minutes(5)});
//     waiter::WaitResult<Instance> got = co_await waiter::AsyncWait(
//         engine, std::move(wait_until_running), boost::asio::use_awaitable);
//     if (got.ok()) Use(*got);
//   }
//
// The engine may have its own threads, or run on an `io_context`:
//
//   boost::asio::io_context io;
//   waiter::AsioEngineDriver driver(io);
//   co_spawn(io, Provision(driver.engine()), boost::asio::detached);
//   io.run();
//
// Waiter does not depend on Boost; programs that include this header do. Tested
// with version 1.81.

#ifndef WAITER_INTEROP_ASIO_H_
#define WAITER_INTEROP_ASIO_H_

#include <concepts>
#include <memory>
#include <utility>

#include "boost/asio/any_io_executor.hpp"
#include "boost/asio/async_result.hpp"
#include "boost/asio/execution_context.hpp"
#include "waiter/engine/engine.h"
#include "waiter/interop/internal/asio_driver.h"
#include "waiter/interop/internal/asio_wait.h"
#include "waiter/result.h"

namespace waiter {

// Starts `waiter`, a `Waiter` or an `AsyncWaiter`, and completes with its
// `WaitResult`, no matter what ends it: the signature is `void(WaitResult<T>)`.
// An exception of the status function is in the report of the result.
//
// The associated executor calls the handler, never inside this call, nor inside
// functions of the engine: the handler may destroy the engine, and its
// exceptions leave `io_context::run`. A handler without an executor is called
// on the engine's thread, by the rules for callbacks of `WaitEngine::Start`,
// or, if an `AsioEngineDriver` runs the engine, as if by the driver's executor.
// A pending wait counts as work of the executor.
//
// All types of cancellation end the wait as `WaitHandle::Cancel` does; it then
// completes with the reason `kCancelled`, or with its result if it had already
// ended. As with all operations, emit the signal where the handler is called,
// for example on its strand.
//
// If the engine is destroyed, the wait completes with `kShutDown`. If the
// context of the executor is destroyed, the wait ends and the handler is
// destroyed without being called, as with Asio's own operations. The destructor
// of the context waits for the status function if it is running on another
// thread. Do not destroy the context inside a function of a wait.
//
// Thread-safe. Allocates memory for the handler, and, with the handler's
// associated allocator, for the executor's call. Throws `std::bad_alloc` as
// `WaitEngine::Start` does.
template <typename W, BOOST_ASIO_COMPLETION_TOKEN_FOR(
                          void(WaitResult<typename W::value_type>)) Token>
decltype(auto) AsyncWait(WaitEngine& engine, W waiter, Token&& token) {
  return boost::asio::async_initiate<Token,
                                     void(WaitResult<typename W::value_type>)>(
      internal::StartAsioWait{&engine}, token, std::move(waiter));
}

// An engine whose waits run on an Asio executor, such as an `io_context`'s,
// instead of on a thread: status functions and callbacks run there, one at a
// time. `WaitEngine::Start`, `Await` and groups can also use it.
//
// The context has work as long as a wait is pending. Any thread may use the
// engine, and several threads may run the context: no strand is needed.
class AsioEngineDriver {
 public:
  // Sets `options.threads`, `wake` and `clock` itself.
  explicit AsioEngineDriver(boost::asio::any_io_executor executor,
                            WaitEngineOptions options = {})
      : state_(
            std::make_shared<internal::AsioDriverState>(std::move(executor))),
        engine_(state_->MakeEngine(std::move(options))) {}

  template <typename Context>
  requires std::convertible_to<Context&, boost::asio::execution_context&>
  explicit AsioEngineDriver(Context& context, WaitEngineOptions options = {})
      : AsioEngineDriver(context.get_executor(), std::move(options)) {}

  AsioEngineDriver(const AsioEngineDriver&) = delete;
  AsioEngineDriver& operator=(const AsioEngineDriver&) = delete;

  // Destroys the engine, as `~WaitEngine` does: calls back pending waits inside
  // this call, and must not be called inside a function of a wait. A handler of
  // `AsyncWait` may call it. Blocks while another thread runs waits of this
  // engine. Must be called before the context is destroyed.
  ~AsioEngineDriver() { state_->Stop(); }

  WaitEngine& engine() { return engine_; }

 private:
  const std::shared_ptr<internal::AsioDriverState> state_;
  WaitEngine& engine_;
};

}  // namespace waiter

#endif  // WAITER_INTEROP_ASIO_H_
