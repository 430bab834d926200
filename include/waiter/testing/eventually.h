// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Assertions that come true in time:
//
//   EXPECT_EVENTUALLY(job.State(), "DONE");
//   ASSERT_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Minutes(1)},
//                     waiter::FailIf("FAILED")) << "job 42";
//   EXPECT_CONSISTENTLY(queue.size(), Le(10), {.hold_for = absl::Seconds(1)});
//   EXPECT_NEVER(server.Errors(), Gt(0));
//   EXPECT_EVENTUALLY_PASSES({
//     ASSERT_TRUE(Exists(path));
//     EXPECT_EQ(Read(path), "done");
//   });
//
// The expression is evaluated anew at each poll, on the calling thread: at
// once, then as `EventuallyOptions` (eventually_options.h) and the loop behind
// `Waiter` say, the last time exactly at the limit. A value that was asked for
// before the limit and matches is a success. What an EVENTUALLY gets besides a
// value ends it, but for `absl::Status` and `StatusOr` errors that are server
// errors or throttling by `options.errors`, and `options.retry_exceptions`.
//
// On any clock but a `SimulatedClock` a limit is multiplied by the
// environment's WAITER_TEST_TIMEOUT_SCALE and, under a sanitizer or Valgrind,
// by 3 to 20; cut to what is left of Bazel's TEST_TIMEOUT, minus 2 s, so that
// the message is printed before the test is killed; and ignored under a
// debugger. A test that passes records the largest share of a limit that it
// used as the property «eventually_limit_used»; tools/near_misses lists the
// worst.

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

// Each takes an expression, a gMock matcher or value, and may take options and
// `FailIf(matcher)`. Text streamed in follows the message.
#define EXPECT_EVENTUALLY(expression, ...)                          \
  WAITER_EVENTUALLY_(EXPECT_PRED_FORMAT1, kEventually, #expression, \
                     expression, __VA_ARGS__)
#define ASSERT_EVENTUALLY(expression, ...)                          \
  WAITER_EVENTUALLY_(ASSERT_PRED_FORMAT1, kEventually, #expression, \
                     expression, __VA_ARGS__)

// Passes if every poll matches, two at least, for `hold_for`.
#define EXPECT_CONSISTENTLY(expression, ...)                          \
  WAITER_EVENTUALLY_(EXPECT_PRED_FORMAT1, kConsistently, #expression, \
                     expression, __VA_ARGS__)
#define ASSERT_CONSISTENTLY(expression, ...)                          \
  WAITER_EVENTUALLY_(ASSERT_PRED_FORMAT1, kConsistently, #expression, \
                     expression, __VA_ARGS__)

// Passes if no poll matches, of two at least, for `hold_for`.
#define EXPECT_NEVER(expression, ...)                                      \
  WAITER_EVENTUALLY_(EXPECT_PRED_FORMAT1, kNever, #expression, expression, \
                     __VA_ARGS__)

// Takes a block, and may take options. Passes with the first run in which all
// assertions of the block pass; those of other threads count as ever. ASSERT_
// in it ends that run alone, GTEST_SKIP the assertion.
#define EXPECT_EVENTUALLY_PASSES(...) \
  WAITER_PASSES_(EXPECT_PRED_FORMAT1, __VA_ARGS__)
#define ASSERT_EVENTUALLY_PASSES(...) \
  WAITER_PASSES_(ASSERT_PRED_FORMAT1, __VA_ARGS__)

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

// What `Eventually` returns for a function that returns `R`.
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

// The function form, for helpers: returns the value that matched, or an error
// with the message of EXPECT_EVENTUALLY, kDeadlineExceeded if it timed out.
//
//   absl::StatusOr<Job> job = waiter::Eventually(
//       [&] { return client.GetJob(42); }, Field(&Job::state, "DONE"));
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
