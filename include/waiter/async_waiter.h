// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// For status functions that do not return an answer but take a completion, as
// those of asynchronous clients do:
//
//   waiter::AsyncWaiter wait_until_running(
//       [&](waiter::PollCompletion<Instance> done) {
//         client.GetAsync("i-0abc", [done](absl::StatusOr<Instance> got) {
//           if (!got.ok()) return done(got.status());
//           if (got->state != "RUNNING") return done(NotReady(got->state));
//           done(waiter::Success(*std::move(got)));
//         });
//       },
//       {.timeout = absl::Minutes(5), .poll_timeout = absl::Seconds(10)});
//
//   waiter::WaitHandle wait = engine.Start(wait_until_running, Use);
//
// A poll that has not answered ends with the wait: at the deadline, or when it
// is cancelled. The last poll, at the deadline, is given `poll_timeout`;
// without one only a completion inside of the function is in time.

#ifndef WAITER_ASYNC_WAITER_H_
#define WAITER_ASYNC_WAITER_H_

#include <concepts>
#include <memory>
#include <utility>

#include "waiter/internal/async_call.h"
#include "waiter/internal/engine_step.h"
#include "waiter/internal/take_answer.h"
#include "waiter/options.h"
#include "waiter/poll_completion.h"
#include "waiter/poll_context.h"
#include "waiter/status_function.h"
#include "waiter/wait_policy.h"

namespace waiter {

template <typename F>
concept AsyncStatusFunction = requires {
  typename internal::AsyncCallOf<F>::type;
};

// An asynchronous status function and how to poll it, as `Waiter` is for
// others. `F` is a lambda, or another type with one call operator, or a pointer
// to a function; it takes a `PollCompletion<T>`, or a `const PollContext&` and
// that.
template <typename F>
class AsyncWaiter {
  static_assert(AsyncStatusFunction<F>,
                "An asynchronous status function takes a PollCompletion<T>, or "
                "a const PollContext& and that; `auto` will not do");

 public:
  using value_type = typename internal::AsyncCallOf<F>::type;

  // Invalid options are reported by the callback, as is an empty function.
  AsyncWaiter(F status_function, WaitOptions options)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Make(std::move(options),
                                 internal::CheckNotEmpty(function_))) {}

  // Shares `policy`, not null, with other waits. (A template, so that `{}` is
  // still the options.)
  template <std::same_as<std::shared_ptr<const WaitPolicy>> Policy>
  AsyncWaiter(F status_function, Policy policy)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Checked(std::move(policy),
                                    internal::CheckNotEmpty(function_))) {}

 private:
  friend class WaitEngine;
  template <typename W>
  friend class WaitAwaiter;

  struct PollAdapter {
    static constexpr bool kTakesContext =
        internal::AsyncCallOf<F>::kTakesContext;
    static constexpr bool kIsAsynchronous = true;
    static constexpr bool kIsAwaited = requires { requires F::kIsAwaited; };

    void Begin(const PollContext* context, internal::EngineTicket ticket) {
      if constexpr (kTakesContext) {
        function(*context, PollCompletion<value_type>(std::move(ticket)));
      } else {
        function(PollCompletion<value_type>(std::move(ticket)));
      }
    }

    F function;
  };

  F function_;
  std::shared_ptr<const WaitPolicy> policy_;
};

}  // namespace waiter

#endif  // WAITER_ASYNC_WAITER_H_
