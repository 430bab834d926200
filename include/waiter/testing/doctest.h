// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// doctest assertions that poll until they pass or a limit is reached:
//
//   CHECK_EVENTUALLY(job.IsDone());
//   REQUIRE_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Minutes(1)},
//                      waiter::FailIf("FAILED"));
//   CHECK_CONSISTENTLY(queue.size() <= 10, {.hold_for = absl::Seconds(1)});
//   CHECK_NEVER(job.State(), "FAILED", {.hold_for = absl::Seconds(30)},
//               waiter::PassIf("DONE"));
//   CHECK_EVENTUALLY_PASSES({
//     REQUIRE_POLLED(Exists(path));
//     CHECK_POLLED(Read(path) == "done");
//   });
//
// testing/eventually.h describes their options, and the rules for all
// frameworks. A matcher is a value or a function that returns a `bool`. Values
// are printed by doctest's `toString`, except text.
//
// Your program must depend on doctest.

#ifndef WAITER_TESTING_DOCTEST_H_
#define WAITER_TESTING_DOCTEST_H_

#include "waiter/testing/eventually.h"
#include "waiter/testing/internal/doctest_framework.h"
#include "waiter/testing/internal/eventually_parts.h"

// Pass with the first value that matches; see testing/eventually.h. In all
// macros here, CHECK_ continues after a failure, and REQUIRE_ ends the test.
#define CHECK_EVENTUALLY(expression, ...)          \
  WAITER_DOCTEST_(kEventually, false, #expression, \
                  expression __VA_OPT__(, ) __VA_ARGS__)
#define REQUIRE_EVENTUALLY(expression, ...)       \
  WAITER_DOCTEST_(kEventually, true, #expression, \
                  expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if all polls, at least two, match throughout `hold_for`.
#define CHECK_CONSISTENTLY(expression, ...)          \
  WAITER_DOCTEST_(kConsistently, false, #expression, \
                  expression __VA_OPT__(, ) __VA_ARGS__)
#define REQUIRE_CONSISTENTLY(expression, ...)       \
  WAITER_DOCTEST_(kConsistently, true, #expression, \
                  expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if none of the polls, at least two, matches during `hold_for`.
#define CHECK_NEVER(expression, ...)          \
  WAITER_DOCTEST_(kNever, false, #expression, \
                  expression __VA_OPT__(, ) __VA_ARGS__)
#define REQUIRE_NEVER(expression, ...)       \
  WAITER_DOCTEST_(kNever, true, #expression, \
                  expression __VA_OPT__(, ) __VA_ARGS__)
// Both take a block and optionally `EventuallyOptions`. They pass with the
// first run of the block in which all checks pass; only failures of the last
// run are reported, with how often each check failed.
//
// The checks are CHECK_POLLED and REQUIRE_POLLED. Other assertions of doctest
// cannot be intercepted: they fail the test in the first run in which they
// fail. In a block,
//
// * side effects happen once for each run;
// * a REQUIRE_POLLED ends that run only, also from functions that it calls;
// * an exception fails the macro immediately, unless `retry_exceptions` accepts
//   it;
// * assertions that poll and blocks may be nested; their failures fail the run;
// * doctest has no way to skip a test.
#define CHECK_EVENTUALLY_PASSES(...)                                    \
  ::waiter::internal::Doctest::Report(                                  \
      WAITER_INTERNAL_PASSES(::waiter::internal::Doctest, __VA_ARGS__), \
      __FILE__, __LINE__, false)
#define REQUIRE_EVENTUALLY_PASSES(...)                                  \
  ::waiter::internal::Doctest::Report(                                  \
      WAITER_INTERNAL_PASSES(::waiter::internal::Doctest, __VA_ARGS__), \
      __FILE__, __LINE__, true)
// As CHECK, REQUIRE and FAIL_CHECK, within a block. Elsewhere they fail the
// test.
#define CHECK_POLLED(...) \
  WAITER_DOCTEST_CHECK_("CHECK_POLLED", false, __VA_ARGS__)
#define REQUIRE_POLLED(...) \
  WAITER_DOCTEST_CHECK_("REQUIRE_POLLED", true, __VA_ARGS__)
#define FAIL_CHECK_POLLED(text) \
  ::waiter::internal::Doctest::Fail(text, __FILE__, __LINE__, false)

// Implementation of the macros above; not for use elsewhere.
#define WAITER_DOCTEST_(kind, ends_test, text, ...)                       \
  ::waiter::internal::Doctest::Report(                                    \
      WAITER_INTERNAL_EVENTUALLY(::waiter::internal::Doctest, kind, text, \
                                 __VA_ARGS__),                            \
      __FILE__, __LINE__, ends_test)
#define WAITER_DOCTEST_CHECK_(macro, ends_round, ...)         \
  do {                                                        \
    DOCTEST_CLANG_SUPPRESS_WARNING_WITH_PUSH(                 \
        "-Woverloaded-shift-op-parentheses")                  \
    ::waiter::internal::Doctest::Check(                       \
        ::doctest::detail::ExpressionDecomposer(              \
            ::doctest::assertType::DT_CHECK)                  \
            << __VA_ARGS__,                                   \
        macro, #__VA_ARGS__, __FILE__, __LINE__, ends_round); \
    DOCTEST_CLANG_SUPPRESS_WARNING_POP                        \
  } while (false)

#endif  // WAITER_TESTING_DOCTEST_H_
