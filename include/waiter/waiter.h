// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// START HERE. Polls a function of yours until its answer is final:
//
//   waiter::Waiter wait_until_running(
//       [&]() -> waiter::Poll<Instance> {
//         absl::StatusOr<Instance> got = client.GetInstance("i-0abc");
//         if (!got.ok()) return waiter::FromStatus(got.status());
//         if (got->state != "RUNNING") return waiter::NotReady(got->state);
//         return waiter::Success(*std::move(got));
//       },
//       {.name = "instance i-0abc", .timeout = absl::Minutes(5)});
//
//   waiter::WaitResult<Instance> result = wait_until_running.Wait();
//   if (!result.ok()) return result.status();
//
// poll.h has what the function may answer, options.h every knob, wait_result.h
// what comes back.

#ifndef WAITER_WAITER_H_
#define WAITER_WAITER_H_

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/random/bit_gen_ref.h"
#include "waiter/classify.h"
#include "waiter/internal/blocking_wait.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/status_function.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_result.h"

namespace waiter {

// A status function and how to poll it. May be used for any number of waits,
// from several threads at once if the function allows that.
template <typename F>
class Waiter {
  static_assert(StatusFunction<F>,
                "A status function takes nothing or a const PollContext&, and "
                "returns PollStatus, bool, Poll<T>, absl::Status or "
                "absl::StatusOr<T>");

 public:
  using value_type = typename ValueOf<F>::type;

  // Invalid options, or an empty function, are reported by `Wait`.
  Waiter(F status_function, WaitOptions options)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Make(std::move(options),
                                 internal::CheckNotEmpty(function_))) {}

  // Shares `policy`, not null, with other waits. (A template, so that `{}` is
  // still the options.)
  template <std::same_as<std::shared_ptr<const WaitPolicy>> Policy>
  Waiter(F status_function, Policy policy)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Checked(std::move(policy),
                                    internal::CheckNotEmpty(function_))) {}

  // Polls on the calling thread until the answer is final, a limit is reached,
  // or `stop` is requested; a request ends a sleep at once. An exception of the
  // status function passes unchanged, and the waiter can be used again. Does
  // not allocate unless it sleeps, fails, or is given text that is long.
  WaitResult<value_type> Wait(const std::stop_token& stop = {}) {
    return Run(stop, std::nullopt);
  }

  // The same with delays drawn from `gen`, as for tests of exact delays.
  WaitResult<value_type> Wait(const std::stop_token& stop,
                              absl::BitGenRef gen) {
    return Run(stop, gen);
  }

 private:
  friend class WaitEngine;
  template <typename W>
  friend class WaitAwaiter;

  WaitResult<value_type> Run(const std::stop_token& stop,
                             std::optional<absl::BitGenRef> gen) {
    WaitResult<value_type> result;
    const auto poll = [this, &result](const PollContext* context,
                                      Poll<>& found) {
      PollOnce(function_, context, found, result.value_);
    };
    internal::BlockingWait(*policy_, {stop, gen, TakesContext<F>}, poll,
                           result.report_);
    if (!result.ok()) internal::DropValue(result.value_);
    return result;
  }

  template <typename Value>
  static void PollOnce(F& function, const PollContext* context, Poll<>& found,
                       Value& value) {
    if constexpr (TakesContext<F>) {
      internal::TakeAnswer(std::invoke(function, *context), found, value);
    } else {
      internal::TakeAnswer(std::invoke(function), found, value);
    }
  }

  // How an engine asks.
  struct PollAdapter {
    static constexpr bool kTakesContext = TakesContext<F>;
    static constexpr bool kIsAsynchronous = false;

    template <typename Value>
    void Poll(const PollContext* context, waiter::Poll<>& found, Value& value) {
      PollOnce(function, context, found, value);
    }

    F function;
  };

  F function_;
  std::shared_ptr<const WaitPolicy> policy_;
};

}  // namespace waiter

#endif  // WAITER_WAITER_H_
