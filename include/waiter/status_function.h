// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions that may be polled. A status function is anything callable that
// takes nothing or a `const PollContext&`, and returns one of
//
//   PollStatus           the bare status
//   bool                 true is success, false is not ready
//   Poll<T>              status, value, error, text, retry_after
//   absl::Status         classified by `FromStatus` (classify.h)
//   absl::StatusOr<T>    the same, with a value
//   absl::StatusOr<bool> the same; false is not ready
//
// All other types are rejected at compile time:
//
//   static_assert(waiter::StatusFunction<bool (*)()>);
//   static_assert(!waiter::StatusFunction<int (*)()>);
//
// Note that an `absl::Status` other than OK, kUnavailable and
// kResourceExhausted ends the wait as failed. A function for which kNotFound
// means "not yet" says so itself: `return waiter::NotReady(status);`.
//
// A wait calls its status function again only after the previous call has
// returned. An exception ends the wait and is never retried. async_waiter.h is
// for functions that take a completion instead of returning an answer.

#ifndef WAITER_STATUS_FUNCTION_H_
#define WAITER_STATUS_FUNCTION_H_

#include "waiter/internal/take_answer.h"

namespace waiter {

// Whether `F` can be called with a `const PollContext&`. If it can be called
// both ways, it gets the context. Waits that hand out no context are cheaper.
template <typename F>
concept TakesContext = internal::CallableWithContext<F>;

// Whether `F` can be polled. `F` is called as an lvalue that is not const, so
// that it may change its own state.
template <typename F>
concept StatusFunction = requires {
  typename internal::ValueOfAnswer<typename internal::AnswerOf<F>::type>::type;
};

// `ValueOf<F>::type` is the type of the value that a success of `F` brings: `T`
// in the list above, otherwise void. It is also void if `F` is not a status
// function, so that a class template can name it before it rejects `F`.
template <typename F>
struct ValueOf {
  using type = void;
};
template <StatusFunction F>
struct ValueOf<F>
    : internal::ValueOfAnswer<typename internal::AnswerOf<F>::type> {};

}  // namespace waiter

#endif  // WAITER_STATUS_FUNCTION_H_
