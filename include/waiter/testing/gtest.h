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
// testing/eventually.h describes their options, and the rules for all
// frameworks. Matchers are gMock's.
//
// A test that passes records the largest share of a limit that it used as the
// property "eventually_limit_used"; tools/near_misses lists the highest ones.

#ifndef WAITER_TESTING_GTEST_H_
#define WAITER_TESTING_GTEST_H_

#include <concepts>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/gtest_framework.h"

// Pass with the first value that matches. Take an expression, then a value or a
// gMock matcher, and optionally `EventuallyOptions` and `FailIf(matcher)`. Text
// that is streamed into an assertion follows its message. In all macros here,
// ASSERT_ returns from the current function on failure, and EXPECT_ continues.
#define EXPECT_EVENTUALLY(expression, ...)                     \
  WAITER_GTEST_(EXPECT_PRED_FORMAT1, kEventually, #expression, \
                expression __VA_OPT__(, ) __VA_ARGS__)
#define ASSERT_EVENTUALLY(expression, ...)                     \
  WAITER_GTEST_(ASSERT_PRED_FORMAT1, kEventually, #expression, \
                expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if all polls, at least two, match throughout
// `EventuallyOptions::hold_for`, by default 100 ms. Fail with the first value
// that does not. `PassIf(matcher)` instead of `FailIf` passes early.
#define EXPECT_CONSISTENTLY(expression, ...)                     \
  WAITER_GTEST_(EXPECT_PRED_FORMAT1, kConsistently, #expression, \
                expression __VA_OPT__(, ) __VA_ARGS__)
#define ASSERT_CONSISTENTLY(expression, ...)                     \
  WAITER_GTEST_(ASSERT_PRED_FORMAT1, kConsistently, #expression, \
                expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if none of the polls, at least two, matches during `hold_for`, or early
// with `PassIf`.
#define EXPECT_NEVER(expression, ...)                     \
  WAITER_GTEST_(EXPECT_PRED_FORMAT1, kNever, #expression, \
                expression __VA_OPT__(, ) __VA_ARGS__)
#define ASSERT_NEVER(expression, ...)                     \
  WAITER_GTEST_(ASSERT_PRED_FORMAT1, kNever, #expression, \
                expression __VA_OPT__(, ) __VA_ARGS__)
// Both take a block and optionally `EventuallyOptions`. They pass with the
// first run of the block in which all assertions pass; only failures of the
// last run are reported, with how often each assertion failed. In a block,
//
// * side effects happen once for each run;
// * an ASSERT_ ends that run only;
// * an exception fails the assertion immediately, unless `retry_exceptions`
//   accepts it;
// * a nested block may be used; if it fails, so does the run;
// * GTEST_SKIP ends the polling and marks the test as skipped;
// * failures on other threads are reported as without this macro.
#define EXPECT_EVENTUALLY_PASSES(...)                                   \
  EXPECT_PRED_FORMAT1(                                                  \
      ::waiter::internal::GoogleTest::Predicate(WAITER_INTERNAL_PASSES( \
          ::waiter::internal::GoogleTest, __VA_ARGS__)),                \
      0)
#define ASSERT_EVENTUALLY_PASSES(...)                                   \
  ASSERT_PRED_FORMAT1(                                                  \
      ::waiter::internal::GoogleTest::Predicate(WAITER_INTERNAL_PASSES( \
          ::waiter::internal::GoogleTest, __VA_ARGS__)),                \
      0)
// Implementation of the macros above; not for use elsewhere.
#define WAITER_GTEST_(assertion, kind, text, ...)                           \
  assertion(                                                                \
      ::waiter::internal::GoogleTest::Predicate(WAITER_INTERNAL_EVENTUALLY( \
          ::waiter::internal::GoogleTest, kind, text, __VA_ARGS__)),        \
      0)

namespace waiter {

// The function of testing/eventually.h for gMock matchers:
//
//   absl::StatusOr<Job> job = waiter::Eventually(
//       [&] { return client.GetJob(42); }, Field(&Job::state, "DONE"));
template <typename F, typename M, typename N = internal::eventually::Nothing>
requires(internal::GoogleTest::kMatches<internal::eventually::JudgedResult<F>,
                                        M>)  //
    [[nodiscard]] EventualValueOf<F> Eventually(
        F function, M matcher, const EventuallyOptions& options = {},
        const FailIf<N>& fail_if = FailIf(internal::eventually::Nothing()),
        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return internal::eventually::EventuallyBy<internal::GoogleTest,
                                            EventualValueOf<F>>(
      function, std::move(matcher), options, fail_if, file, line);
}

}  // namespace waiter

#endif  // WAITER_TESTING_GTEST_H_
