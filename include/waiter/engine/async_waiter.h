// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits whose status function does not return its answer but takes a
// completion, for asynchronous clients:
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
// If no copy of the completion is ever called, the poll has no answer: the wait
// ends at its deadline or when it is cancelled, and not before. A poll that
// starts at the deadline gets the time in `PollContext::timeout`.

#ifndef WAITER_ENGINE_ASYNC_WAITER_H_
#define WAITER_ENGINE_ASYNC_WAITER_H_

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "waiter/classify.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/internal/take_answer.h"
#include "waiter/internal/waiter_parts.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"

namespace waiter {

// The completion of one asynchronous poll: the object through which the status
// function of an `AsyncWaiter` answers. `T` is the type of the value of a
// success, void if none. Copies answer the same poll. Thread-safe.
//
// A completion may be called inside the status function or later, from any
// thread. After the wait or its engine has ended, a call does nothing. A
// completion that outlives the engine keeps the memory of the engine's waits
// from being freed.
template <typename T = void>
class PollCompletion {
 public:
  // Called by `AsyncWaiter` only.
  explicit PollCompletion(internal::EngineTicket ticket)
      : ticket_(std::move(ticket)) {}

  // Ends the poll with `answer`, of any type that a status function with a
  // value of type `T` may return (classify.h). Only the first call for a poll
  // counts. Hands the answer to the engine's thread and returns; briefly takes
  // a lock, and runs neither callbacks nor polls. The time of the call is the
  // end of the poll.
  template <internal::AnswerFor<T> Answer>
  void operator()(Answer&& answer) const {
    auto given = std::make_unique<internal::EngineValueAnswer<T>>();
    if constexpr (std::is_void_v<T>) {
      internal::TakeAnswer(std::forward<Answer>(answer), given->found,
                           given->value);
    } else if constexpr (std::is_convertible_v<Answer, Poll<T>>) {
      internal::TakeAnswer(Poll<T>(std::forward<Answer>(answer)), given->found,
                           given->value);
    } else {
      internal::TakeAnswer(absl::StatusOr<T>(std::forward<Answer>(answer)),
                           given->found, given->value);
    }
    ticket_.Give(std::move(given));
  }

 private:
  internal::EngineTicket ticket_;
};

namespace internal {

// Signature of an asynchronous status function, deduced from the type of its
// call operator:
//
//   AsyncCallOf<F>::type           T of the `PollCompletion<T>` that it takes
//   AsyncCallOf<F>::kTakesContext  whether it takes a context, too
//
// Empty for every other type, generic lambdas included.
template <typename T>
struct AsyncCallOf {};
template <typename R, typename T>
struct AsyncCallOf<R(PollCompletion<T>)> {
  using type = T;
  static constexpr bool kTakesContext = false;
};
template <typename R, typename T>
struct AsyncCallOf<R(const PollContext&, PollCompletion<T>)> {
  using type = T;
  static constexpr bool kTakesContext = true;
};
template <typename R, typename T>
struct AsyncCallOf<R(const PollCompletion<T>&)>
    : AsyncCallOf<R(PollCompletion<T>)> {};
template <typename R, typename T>
struct AsyncCallOf<R(const PollContext&, const PollCompletion<T>&)>
    : AsyncCallOf<R(const PollContext&, PollCompletion<T>)> {};
template <bool kNoexcept, typename R, typename... Args>
struct AsyncCallOf<R (*)(Args...) noexcept(kNoexcept)>
    : AsyncCallOf<R(Args...)> {};
template <bool kNoexcept, typename R, typename C, typename... Args>
struct AsyncCallOf<R (C::*)(Args...) noexcept(kNoexcept)>
    : AsyncCallOf<R(Args...)> {};
template <bool kNoexcept, typename R, typename C, typename... Args>
struct AsyncCallOf<R (C::*)(Args...) const noexcept(kNoexcept)>
    : AsyncCallOf<R(Args...)> {};
template <typename F>
requires(requires { &F::operator(); }) struct AsyncCallOf<F>
    : AsyncCallOf<decltype(&F::operator())> {
};

}  // namespace internal

// Whether `F` is an asynchronous status function: a lambda or another type with
// one call operator, or a pointer to a function. It takes a
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
// outlive the wait, so its callback must not refer to objects destroyed with
// the wait. Calling the completion is always safe.
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

  // Short for `{.timeout = timeout}`. `timeout` is an `absl::Duration` or a
  // `std::chrono` duration.
  template <internal::IsDuration Time>
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

#endif  // WAITER_ENGINE_ASYNC_WAITER_H_
