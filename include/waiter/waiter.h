// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// START HERE. Polls a status function until its answer is final:
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
// A function without a value may return `bool`. Another thread can end the
// wait with a stop request:
//
//   waiter::stop_source stop;
//   waiter::Waiter wait_for_job([&] { return job.IsDone(); },
//                               {.timeout = absl::Hours(1)});
//   if (wait_for_job.Wait(stop.get_token()).ok()) Archive(job);
//
// See poll.h for a status function's answers, options.h for options, and
// result.h for results. For very many waits see engine/engine.h.

#ifndef WAITER_WAITER_H_
#define WAITER_WAITER_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/random/bit_gen_ref.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/internal/blocking_wait.h"
#include "waiter/internal/waiter_parts.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"

namespace waiter {

// Enables another thread, which knows when a poll is worthwhile, to cut short
// the sleep of a blocking wait:
//
//   waiter::PollNotifier changed;
//   std::jthread watcher([&](std::stop_token stop) {
//     WatchFolder(folder, stop, [&] { changed.PollNow(); });
//   });
//   waiter::WaitResult<> done = wait_for_file.Wait({.notifier = &changed});
//
// The wait also polls without notifications, so a lost one only delays the
// answer. A wait on an engine has `WaitHandle::PollNow` instead.

// Thread-safe. Any number of waits may use a notifier, at the same time too. It
// or a copy must outlive them: copies are the same notifier.
class PollNotifier {
 public:
  PollNotifier();

  // Ends the sleeps of the waits that use this, a first delay included, so that
  // they poll. Returns immediately, without calling status functions itself.
  //
  // Several calls before a poll begins cause one poll. A call during a poll
  // causes another poll after it. A call before the wait causes no extra poll.
  // Delays start over. `BackoffOptions::min_delay`, the server's `retry_after`,
  // quotas and rate limiters apply, so the poll may come later. Sleeps that
  // confirm a success keep their length.
  //
  // Takes a lock, so it must not be called in a signal handler.
  void PollNow() const;

  // Functions for drivers of a `WaitLoop` (loop.h).

  // Returns the number of calls of `PollNow` so far. Read it before a poll,
  // which serves all calls until then.
  uint64_t count() const;

  // Sleeps by `clock` as `Clock::SleepUntil` does, and also returns once the
  // number of calls is no longer `count`. Returns whether the number changed.
  bool SleepUntil(Clock& clock, MonotonicTime wake_up,
                  const waiter::stop_token& stop, std::string_view who,
                  uint64_t count) const;

 private:
  class State;

  std::shared_ptr<State> state_;
};

// Options of one blocking wait:
//
//   wait_for_file.Wait({.stop = stop_token, .notifier = &changed});
struct RunOptions {
  // A request ends the wait.
  waiter::stop_token stop = {};

  // Enables another thread to end the sleeps. Not owned; must outlive the wait.
  const PollNotifier* notifier = nullptr;

  // Generator of the delays, instead of the wait's own. For tests of exact
  // delays. Not owned; must outlive the wait.
  std::optional<absl::BitGenRef> gen = std::nullopt;

  // The saved wait to resume; see token.h. Empty: a new wait.
  WaitToken resume = {};
};

// A status function together with the policy by which to poll it. Copyable and
// movable if the function is. May be used for any number of waits, one after
// the other, and for concurrent waits on several threads if the function may be
// called concurrently.
//
// The waiter owns its copy of the function. Objects to which the function
// refers must outlive the waits.
template <typename F>
class Waiter {
  static_assert(StatusFunction<F>,
                "A status function takes nothing or a const PollContext&, and "
                "returns PollStatus, bool, Poll<T>, absl::Status or "
                "absl::StatusOr<T>");

 public:
  // Type of the value of a success, or void; see classify.h.
  using value_type = typename ValueOf<F>::type;

  // Never fails. If `options` are invalid, or `status_function` is an empty
  // `std::function` or a null pointer, `Wait` returns kInvalidArgument.
  Waiter(F status_function, WaitOptions options)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Make(std::move(options),
                                 internal::CheckNotEmpty(function_))) {}

  // Short for `{.timeout = timeout}`. `timeout` is an `absl::Duration` or a
  // `std::chrono` duration.
  template <internal::IsDuration Time>
  Waiter(F status_function, Time timeout)
      : Waiter(std::move(status_function), WaitOptions{.timeout = timeout}) {}
  template <internal::Arithmetic Number>
  Waiter(F, Number) = delete;  // A time has a unit: write absl::Seconds(5).

  // Shares `policy` with other waits, which saves the validation and the memory
  // of the options. `policy` must not be null. (This is a template so that
  // braces still make options.)
  template <std::same_as<std::shared_ptr<const WaitPolicy>> Policy>
  Waiter(F status_function, Policy policy)
      : function_(std::move(status_function)),
        policy_(WaitPolicy::Checked(std::move(policy),
                                    internal::CheckNotEmpty(function_))) {}

  // Polls on the calling thread until the answer is final, a limit is reached,
  // or `stop` is requested, and returns the outcome. `WaitResult::reason()` and
  // `status()` tell these apart.
  //
  // Makes at least one poll, even with a timeout of zero, unless `stop` was
  // already requested, the options are invalid, or a retry quota refuses the
  // `initial_cost` of the first poll. A request ends a sleep immediately. It
  // does not interrupt a poll: a success or failure that the poll finds still
  // wins, and no poll starts afterwards.
  //
  // An exception of the status function passes through unchanged and ends the
  // wait; the waiter can be used again. If the program is compiled with
  // `-fno-exceptions`, no function that a wait calls may throw.
  //
  // A wait whose first poll succeeds costs about 30 ns, and about 45 ns with a
  // deadline. Does not allocate unless it sleeps, fails, or carries a text
  // longer than 15 characters.
  WaitResult<value_type> Wait(const waiter::stop_token& stop = {}) {
    return Run(stop, std::nullopt, nullptr, nullptr);
  }

  // Takes options that apply only to this wait.
  WaitResult<value_type> Wait(const RunOptions& options) {
    return Run(options.stop, options.gen, options.notifier, &options.resume);
  }

 private:
  friend class WaitEngine;
  template <typename W>
  friend class WaitAwaiter;
  template <typename W>
  friend struct internal::WaiterParts;

  WaitResult<value_type> Run(const waiter::stop_token& stop,
                             std::optional<absl::BitGenRef> gen,
                             const PollNotifier* notifier,
                             const WaitToken* token) {
    WaitResult<value_type> result;
    const auto poll = [this, &result](const PollContext* context,
                                      Poll<>& found) {
      PollOnce(function_, context, found, result.value_);
    };
    if (token != nullptr && token->empty()) token = nullptr;
    internal::BlockingWait(*policy_,
                           {stop, gen, TakesContext<F>, notifier, token}, poll,
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

  // Form in which a `WaitEngine` holds and calls the status function.
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
