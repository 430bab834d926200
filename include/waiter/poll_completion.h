// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The answer of an asynchronous status function (async_waiter.h).
//
//   client.GetAsync("i-0abc", [done](absl::StatusOr<Instance> got) {
//     if (!got.ok()) return done(got.status());
//     done(waiter::Success(*std::move(got)));
//   });

#ifndef WAITER_POLL_COMPLETION_H_
#define WAITER_POLL_COMPLETION_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "waiter/internal/engine_step.h"
#include "waiter/poll.h"
#include "waiter/status_function.h"

namespace waiter {

// Takes the answer of one poll: anything that a status function may return. May
// be called inside the status function, later, from any thread, and after the
// wait or its engine is gone. Answers after the first are ignored. Copyable;
// never blocks for long.
template <typename T = void>
class PollCompletion {
 public:
  explicit PollCompletion(internal::EngineTicket ticket)
      : ticket_(std::move(ticket)) {}

  template <typename Answer>
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

}  // namespace waiter

#endif  // WAITER_POLL_COMPLETION_H_
