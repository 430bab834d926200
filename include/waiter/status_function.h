// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What may be polled. A status function is anything callable that takes nothing
// or a `const PollContext&`, and returns one of
//
//   PollStatus           the bare status
//   bool                 true is success, false is not ready
//   Poll<T>              status, value, error, text, retry_after
//   absl::Status         classified by classify.h
//   absl::StatusOr<T>    the same, with a value
//
//   static_assert(waiter::StatusFunction<bool (*)()>);
//   static_assert(!waiter::StatusFunction<int (*)()>);

#ifndef WAITER_STATUS_FUNCTION_H_
#define WAITER_STATUS_FUNCTION_H_

#include <concepts>

#include "waiter/internal/take_answer.h"
#include "waiter/poll_context.h"

namespace waiter {

// Whether `F` takes a `const PollContext&`; preferred where it can do both.
template <typename F>
concept TakesContext = std::invocable<F&, const PollContext&>;

template <typename F>
concept StatusFunction = requires {
  typename internal::ValueOfAnswer<typename internal::AnswerOf<F>::type>::type;
};

// What a success of `F` brings; void if nothing, or if `F` is none.
template <typename F>
struct ValueOf {
  using type = void;
};
template <StatusFunction F>
struct ValueOf<F>
    : internal::ValueOfAnswer<typename internal::AnswerOf<F>::type> {};

}  // namespace waiter

#endif  // WAITER_STATUS_FUNCTION_H_
