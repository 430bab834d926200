// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Signature of an asynchronous status function (async_waiter.h), deduced from
// the type of its call operator:
//
//   AsyncCallOf<F>::type           T of the `PollCompletion<T>` that it takes
//   AsyncCallOf<F>::kTakesContext  whether it takes a context, too
//
// Empty for every other type, generic lambdas included.

#ifndef WAITER_INTERNAL_ASYNC_CALL_H_
#define WAITER_INTERNAL_ASYNC_CALL_H_

#include "waiter/poll_completion.h"
#include "waiter/poll_context.h"

namespace waiter::internal {

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

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_ASYNC_CALL_H_
