// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Conversion of anything that a status function may return (classify.h)
// to a `Poll<T>`, for adapters that call functions of the user.

#ifndef WAITER_INTEROP_INTERNAL_TO_POLL_H_
#define WAITER_INTEROP_INTERNAL_TO_POLL_H_

#include <concepts>
#include <type_traits>
#include <utility>

#include "waiter/classify.h"
#include "waiter/internal/take_answer.h"
#include "waiter/poll.h"

namespace waiter::internal {

template <typename R>
concept Answer = requires {
  typename ValueOfAnswer<std::remove_cvref_t<R>>::type;
};

// The `Poll<T>` that has the same value as an answer of type `R`.
template <Answer R>
using PollFor = Poll<typename ValueOfAnswer<std::remove_cvref_t<R>>::type>;

template <Answer R>
PollFor<R> ToPoll(R&& answer) {
  if constexpr (std::same_as<std::remove_cvref_t<R>, bool>) {
    return answer ? PollStatus::kSuccess : PollStatus::kNotReady;
  } else if constexpr (std::convertible_to<R, PollFor<R>>) {
    return std::forward<R>(answer);
  } else {
    return FromStatus(std::forward<R>(answer));
  }
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_TO_POLL_H_
