// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The status function that the rows of testing/benchmark.h poll.

#ifndef WAITER_TESTING_INTERNAL_BENCHMARK_SUBJECT_H_
#define WAITER_TESTING_INTERNAL_BENCHMARK_SUBJECT_H_

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/string_views.h"
#include "waiter/internal/take_answer.h"
#include "waiter/poll.h"

namespace waiter::internal::poll_benchmark {

// A status function as rows poll it. Thread-compatible.
template <StatusFunction F>
class Subject {
 public:
  explicit Subject(F function) : function_(std::move(function)) {}

  // Calls the function a few times. Returns the shortest time that a call took,
  // or ends the row.
  absl::Duration Check(benchmark::State& state, Clock& clock) {
    error_.clear();
    if (const absl::Status status = CheckNotEmpty(function_); !status.ok()) {
      error_ = std::string(status.message());
    }
    absl::Duration shortest = absl::InfiniteDuration();
    for (int i = 0; i < 3 && error_.empty(); ++i) {
      const MonotonicTime start = clock.MonotonicNow();
      WithContext([this](const auto&... context) { this->Poll(context...); });
      shortest =
          (std::min)(shortest, absl::FromChrono(clock.MonotonicNow() - start));
    }
    HasFailed(state);
    return shortest;
  }

  // Ends the row if a call has failed, and returns whether one has.
  bool HasFailed(benchmark::State& state) const {
    if (!error_.empty()) state.SkipWithError(error_.c_str());
    return !error_.empty();
  }

  // Calls `body` with a context if the function takes one, otherwise without.
  template <typename Body>
  static void WithContext(Body body) {
    if constexpr (TakesContext<F>) {
      body(PollContext());
    } else {
      body();
    }
  }

  // Calls the function as it is, with a context if it takes one.
  template <typename... Context>
  decltype(auto) Call(const Context&... context) {
    return std::invoke(function_, context...);
  }

  // Calls the function and returns its answer.
  template <typename... Context>
  waiter::Poll<> Poll(const Context&... context) {
    waiter::Poll<> found;
    WAITER_TRY {
      OptionalValue<typename ValueOf<F>::type> value;
      TakeAnswer(Call(context...), found, value);
      if (found.status() == PollStatus::kFailed) {
        Fail(absl::StrCat("the status function returned failure: ",
                          found.error().ok() ? ToAbsl(found.detail())
                                             : found.error().ToString()));
      }
    }
    WAITER_CATCH(...) { FailWithException(); }
    ++polls_;
    found_ = found.status();
    return found;
  }

  // Polls for a wait that continues unless this poll `is_last` or has failed.
  template <typename... Context>
  waiter::Poll<> PollOn(bool is_last, const Context&... context) {
    waiter::Poll<> found = Poll(context...);
    found.set_status(!error_.empty() ? PollStatus::kFailed
                     : is_last       ? PollStatus::kSuccess
                                     : PollStatus::kNotReady);
    return found;
  }

  // Returns a status function that polls on, until `is_last()` returns true. It
  // takes a context if the function does.
  template <typename IsLast>
  auto StatusFunctionUntil(IsLast is_last) {
    if constexpr (TakesContext<F>) {
      return [this, is_last](const PollContext& context) {
        return PollOn(is_last(), context);
      };
    } else {
      return [this, is_last] { return PollOn(is_last()); };
    }
  }

  void FailWithException() {
    Fail(absl::StrCat("the status function threw an exception: ",
                      WhatOf(std::current_exception())));
  }

  int64_t polls() const { return polls_; }
  PollStatus found() const { return found_; }
  bool failed() const { return !error_.empty(); }

 private:
  void Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
  }

  F function_;
  int64_t polls_ = 0;
  PollStatus found_ = PollStatus::kNotReady;
  std::string error_;
};

}  // namespace waiter::internal::poll_benchmark

#endif  // WAITER_TESTING_INTERNAL_BENCHMARK_SUBJECT_H_
