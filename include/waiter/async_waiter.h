// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits whose status function does not return its answer but takes a
// completion, as asynchronous clients need it:
//
//   waiter::AsyncWaiter wait_until_running(
//       [&](waiter::PollCompletion<Instance> done) {
//         client.GetAsync("i-0abc", [done](absl::StatusOr<Instance> got) {
//           if (!got.ok()) return done(got.status());
//           if (got->state != "RUNNING") {
//             return done(waiter::NotReady(got->state));
//           }
//           done(waiter::Success(*std::move(got)));
//         });
//       },
//       {.timeout = absl::Minutes(5), .poll_timeout = absl::Seconds(10)});
//
//   waiter::WaitHandle wait = engine.Start(wait_until_running, Use);
//
// A function that also takes the context can pass its deadline on:
//
//   [&](const waiter::PollContext& context, waiter::PollCompletion<> done) {
//     client.PingAsync(context.deadline, done);
//   }
//
// A poll that does not answer ends with the wait: at the deadline, or when the
// wait is cancelled. A poll that starts at the deadline gets the time that
// `PollContext::timeout` says.

#ifndef WAITER_ASYNC_WAITER_H_
#define WAITER_ASYNC_WAITER_H_

#include <concepts>
#include <memory>
#include <utility>

#include "waiter/internal/async_call.h"
#include "waiter/internal/engine_step.h"
#include "waiter/internal/take_answer.h"
#include "waiter/internal/waiter_parts.h"
#include "waiter/options.h"
#include "waiter/poll_completion.h"
#include "waiter/poll_context.h"
#include "waiter/status_function.h"
#include "waiter/timeout.h"
#include "waiter/wait_policy.h"

namespace waiter {

// Whether `F` is an asynchronous status function: a lambda or another type with
// one call operator, or a pointer to a function, that takes a
// `PollCompletion<T>`, or a `const PollContext&` followed by a
// `PollCompletion<T>`, which may also be a const reference. Its return value is
// ignored.
template <typename F>
concept AsyncStatusFunction = requires {
  typename internal::AsyncCallOf<F>::type;
};

// An asynchronous status function together with the policy by which to poll it.
// `WaitEngine::Start`, `Await` and `WaitGroup` run the wait. Thread-compatible.
// Copyable and movable if the function is.
//
// The engine calls the function on its own thread, even if it has an executor,
// so the function must not block. It calls the function again only after the
// previous poll has answered. An exception that the function throws ends the
// wait, even if the function has answered before.
//
// Objects to which the function refers must outlive the wait, which ends when
// its `WaitHandle` is destroyed. A client call that the function started may
// outlive the wait, so its callback must not refer to objects that end with the
// wait. Calling the completion is always safe.
template <typename F>
class AsyncWaiter {
  static_assert(AsyncStatusFunction<F>,
                "An asynchronous status function takes a PollCompletion<T>, or "
                "a const PollContext& and a PollCompletion<T>; a parameter of "
                "type auto is not accepted");

 public:
  // Type `T` of the completion; void if a success has no value.
  using value_type = typename internal::AsyncCallOf<F>::type;

  // Never fails. If `options` are invalid, or `status_function` is an empty
  // `std::function` or a null pointer, the wait ends with kInvalidArgument.
  AsyncWaiter(F status_function, WaitOptions options)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Make(std::move(options),
                                 internal::CheckNotEmpty(function_))) {}

  // The same with `{.timeout = timeout}`, an `absl::Duration` or a
  // `std::chrono` duration.
  template <Duration Time>
  AsyncWaiter(F status_function, Time timeout)
      : AsyncWaiter(std::move(status_function),
                    WaitOptions{.timeout = timeout}) {}
  template <internal::Arithmetic Number>
  AsyncWaiter(F,
              Number) = delete;  // A time has a unit: write absl::Seconds(5).

  // Shares `policy` with other waits. `policy` must not be null. (This is a
  // template so that braces still make options.)
  template <std::same_as<std::shared_ptr<const WaitPolicy>> Policy>
  AsyncWaiter(F status_function, Policy policy)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Checked(std::move(policy),
                                    internal::CheckNotEmpty(function_))) {}

 private:
  friend class WaitEngine;
  template <typename W>
  friend class WaitAwaiter;
  template <typename W>
  friend struct internal::WaiterParts;

  // Form in which a `WaitEngine` holds and calls the status function.
  struct PollAdapter {
    static constexpr bool kTakesContext =
        internal::AsyncCallOf<F>::kTakesContext;
    static constexpr bool kIsAsynchronous = true;

    void Begin(const PollContext* context, internal::EngineTicket ticket) {
      if constexpr (kTakesContext) {
        function(*context, PollCompletion<value_type>(std::move(ticket)));
      } else {
        function(PollCompletion<value_type>(std::move(ticket)));
      }
    }

    bool IsAwaited() const requires requires(const F& f) { f.IsAwaited(); }
    { return function.IsAwaited(); }

    F function;
  };

  F function_;
  std::shared_ptr<const WaitPolicy> policy_;
};

}  // namespace waiter

#endif  // WAITER_ASYNC_WAITER_H_
