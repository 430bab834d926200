// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// GoogleTest assertions that poll until they pass or a limit is reached:
//
//   EXPECT_EVENTUALLY(job.State(), "DONE");
//   ASSERT_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Minutes(1)},
//                     waiter::FailIf("FAILED")) << "job 42";
//   EXPECT_CONSISTENTLY(queue.size(), Le(10), {.hold_for = absl::Seconds(1)});
//   EXPECT_NEVER(job.State(), "FAILED", {.hold_for = absl::Seconds(30)},
//                waiter::PassIf("DONE"));
//   EXPECT_EVENTUALLY_PASSES({
//     ASSERT_TRUE(Exists(path));
//     EXPECT_EQ(Read(path), "done");
//   });
//
// Each poll evaluates the expression again, on the calling thread. The first
// poll is made at once and the last one exactly at the limit; in between,
// `EventuallyOptions` (testing/eventually_options.h) gives the delays, 10 ms
// growing to 500 ms by default. A matching value passes even if it arrives
// after the limit, as long as its poll began before. A poll that hangs is not
// interrupted.
//
// An error or an exception ends an EVENTUALLY at once, unless it is an
// `absl::Status` or `StatusOr` error that `options.errors` calls a server
// error, throttling or not ready, or an exception that
// `options.retry_exceptions` accepts.
//
// On every clock except a `SimulatedClock`, a limit is multiplied by the
// environment variable WAITER_TEST_TIMEOUT_SCALE and, under a sanitizer or
// Valgrind, by 3 to 20. It is then cut to the rest of Bazel's TEST_TIMEOUT,
// minus 2 s, so that the message is printed before the test is killed. Under a
// debugger it is ignored.
//
// An assertion that waits long says on the standard error stream what it waits
// for: after 10 s, 30 s and 1 min, and from then on after twice the time
// before, when a poll begins. On a `SimulatedClock` it says nothing.
//
// A test that passes records the largest share of a limit that it used as the
// property "eventually_limit_used"; tools/near_misses lists the highest ones.
//
// docs/testing.md shows the messages of failures.

#ifndef WAITER_TESTING_EVENTUALLY_H_
#define WAITER_TESTING_EVENTUALLY_H_

#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "waiter/testing/eventually_options.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/eventually_subject.h"

// Passes with the first value that matches. Takes an expression, then a value
// or a gMock matcher, and optionally `EventuallyOptions` and `FailIf(matcher)`.
// Text that is streamed into an assertion follows its message. In all macros
// here, ASSERT_ returns from the current function on failure, and EXPECT_ goes
// on.
#define EXPECT_EVENTUALLY(expression, ...)                          \
  WAITER_EVENTUALLY_(EXPECT_PRED_FORMAT1, kEventually, #expression, \
                     expression, __VA_ARGS__)
#define ASSERT_EVENTUALLY(expression, ...)                          \
  WAITER_EVENTUALLY_(ASSERT_PRED_FORMAT1, kEventually, #expression, \
                     expression, __VA_ARGS__)

// Passes if every poll, at least two of them, matches for the time of
// `EventuallyOptions::hold_for`, by default 100 ms. Fails with the first value
// that does not. `PassIf(matcher)` in place of `FailIf` passes early.
#define EXPECT_CONSISTENTLY(expression, ...)                          \
  WAITER_EVENTUALLY_(EXPECT_PRED_FORMAT1, kConsistently, #expression, \
                     expression, __VA_ARGS__)
#define ASSERT_CONSISTENTLY(expression, ...)                          \
  WAITER_EVENTUALLY_(ASSERT_PRED_FORMAT1, kConsistently, #expression, \
                     expression, __VA_ARGS__)

// Passes if no poll, of at least two, matches for the time of `hold_for`, or
// early with `PassIf`.
#define EXPECT_NEVER(expression, ...)                                      \
  WAITER_EVENTUALLY_(EXPECT_PRED_FORMAT1, kNever, #expression, expression, \
                     __VA_ARGS__)
#define ASSERT_NEVER(expression, ...)                                      \
  WAITER_EVENTUALLY_(ASSERT_PRED_FORMAT1, kNever, #expression, expression, \
                     __VA_ARGS__)

// Takes a block and optionally `EventuallyOptions`. Passes with the first run
// of the block in which all its assertions pass; only failures of the last run
// are reported. An ASSERT_ inside of the block ends that run only, and
// GTEST_SKIP ends the polling and marks the test as skipped. Failures on other
// threads are reported as without this macro.
#define EXPECT_EVENTUALLY_PASSES(...) \
  WAITER_PASSES_(EXPECT_PRED_FORMAT1, __VA_ARGS__)
#define ASSERT_EVENTUALLY_PASSES(...) \
  WAITER_PASSES_(ASSERT_PRED_FORMAT1, __VA_ARGS__)

// Implementation of the macros above; not for use elsewhere.
#define WAITER_EVENTUALLY_(assertion, kind, text, expression, ...)     \
  assertion(::waiter::internal::eventually::Predicate(                 \
                ::waiter::internal::eventually::RunExpression(         \
                    {::waiter::internal::eventually::Kind::kind, text, \
                     __FILE__, __LINE__},                              \
                    [&](const auto& waiter_look) {                     \
                      return waiter_look(expression);                  \
                    },                                                 \
                    __VA_ARGS__)),                                     \
            0)

#define WAITER_PASSES_(assertion, ...)                              \
  assertion(::waiter::internal::eventually::Predicate(              \
                ::waiter::internal::eventually::RunBlock(           \
                    {::waiter::internal::eventually::Kind::kPasses, \
                     "the block", __FILE__, __LINE__},              \
                    [&]() -> void __VA_ARGS__)),                    \
            0)

namespace waiter {

// Return type of `Eventually` for a function that returns `R`: a `StatusOr<R>`,
// or `R` itself if that is a `StatusOr`.
template <typename R>
struct EventualValue {
  using type = absl::StatusOr<R>;
};
template <typename T>
struct EventualValue<absl::StatusOr<T>> {
  using type = absl::StatusOr<T>;
};
template <typename F>
using EventualValueOf = typename EventualValue<std::invoke_result_t<F&>>::type;

// Polls `function` like EXPECT_EVENTUALLY, for helpers and for values that a
// test goes on with. Returns the value that matched, or an error with the
// message of EXPECT_EVENTUALLY and the code of the wait: kDeadlineExceeded at
// the limit, kInvalidArgument for options that are invalid or contradict each
// other. Never fails the test itself.
//
//   absl::StatusOr<Job> job = waiter::Eventually(
//       [&] { return client.GetJob(42); }, Field(&Job::state, "DONE"));
//
// `file` and `line` name the caller in messages; leave them out.
template <typename F, typename M, typename N = internal::eventually::Nothing>
[[nodiscard]] EventualValueOf<F> Eventually(
    F function, M matcher, const EventuallyOptions& options = {},
    const FailIf<N>& fail_if = FailIf(internal::eventually::Nothing()),
    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  std::optional<std::invoke_result_t<F&>> value;
  const auto evaluate = [&](const auto& look) {
    return look(value.emplace(function()));
  };
  absl::Status status = internal::eventually::RunExpression(
      {internal::eventually::Kind::kEventually, nullptr, file, line}, evaluate,
      std::move(matcher), options, fail_if);
  if (!status.ok()) return status;
  return *std::move(value);
}

}  // namespace waiter

#endif  // WAITER_TESTING_EVENTUALLY_H_
