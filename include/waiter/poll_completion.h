// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The completion of one asynchronous poll: the object through which the status
// function of an `AsyncWaiter` (async_waiter.h) answers.
//
//   [&](waiter::PollCompletion<Instance> done) {
//     client.GetAsync("i-0abc", [done](absl::StatusOr<Instance> got) {
//       if (!got.ok()) return done(got.status());
//       if (got->state != "RUNNING") return done(waiter::NotReady(got->state));
//       done(waiter::Success(*std::move(got)));
//     });
//   }

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

// `T` is the type of the value of a success, void if there is none. Copies
// stand for the same poll. Thread-safe.
//
// A completion may be called inside the status function or later, from any
// thread. After the wait or its engine has ended, a call does nothing. A
// completion that outlives the engine keeps the memory of the engine's waits
// from being freed.
//
// If no copy is ever called, the poll has no answer: the wait ends at its
// deadline or when it is cancelled, and not before.
template <typename T = void>
class PollCompletion {
 public:
  // Called by `AsyncWaiter` only.
  explicit PollCompletion(internal::EngineTicket ticket)
      : ticket_(std::move(ticket)) {}

  // Ends the poll with `answer`, of any type that a status function with a
  // value of type `T` may return (status_function.h). Only the first call for a
  // poll counts. Hands the answer to the engine's thread and returns; takes a
  // lock for a short time, and runs neither callbacks nor polls. The time of
  // the call is the end of the poll.
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

}  // namespace waiter

#endif  // WAITER_POLL_COMPLETION_H_
