// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Boost.Test assertions that poll until they pass or a limit is reached:
//
//   BOOST_CHECK_EVENTUALLY(job.IsDone());
//   BOOST_REQUIRE_EVENTUALLY(job.State(), "DONE",
//                            {.timeout = absl::Minutes(1)},
//                            waiter::FailIf("FAILED"));
//   BOOST_CHECK_CONSISTENTLY(queue.size() <= 10,
//                            {.hold_for = absl::Seconds(1)});
//   BOOST_CHECK_NEVER(job.State(), "FAILED", {.hold_for = absl::Seconds(30)},
//                     waiter::PassIf("DONE"));
//   BOOST_CHECK_EVENTUALLY_PASSES({
//     BOOST_REQUIRE(Exists(path));
//     BOOST_TEST(Read(path) == "done");
//   });
//
// testing/eventually.h describes their options, and the rules for all
// frameworks. A matcher is a value or a function that returns a `bool`. Values
// are printed by Boost.Test's `print_log_value`, except text and values that it
// cannot print.
//
// Your program must depend on Boost 1.73 or newer: link the library or use the
// headers in boost/test/included/. Include this header after Boost's. Use the
// assertions only on the thread of the test, like Boost.Test's own.

#ifndef WAITER_TESTING_BOOST_TEST_H_
#define WAITER_TESTING_BOOST_TEST_H_

#include <string>

#include "absl/status/status.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/internal/boost_test_framework.h"
#include "waiter/testing/internal/eventually_parts.h"

// Pass with the first value that matches; see testing/eventually.h. In all
// macros here, BOOST_CHECK_ continues after a failure, and BOOST_REQUIRE_ ends
// the test.
#define BOOST_CHECK_EVENTUALLY(expression, ...)                     \
  WAITER_BOOST_TEST_(BOOST_CHECK_MESSAGE, kEventually, #expression, \
                     expression __VA_OPT__(, ) __VA_ARGS__)
#define BOOST_REQUIRE_EVENTUALLY(expression, ...)                     \
  WAITER_BOOST_TEST_(BOOST_REQUIRE_MESSAGE, kEventually, #expression, \
                     expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if all polls, at least two, match throughout `hold_for`.
#define BOOST_CHECK_CONSISTENTLY(expression, ...)                     \
  WAITER_BOOST_TEST_(BOOST_CHECK_MESSAGE, kConsistently, #expression, \
                     expression __VA_OPT__(, ) __VA_ARGS__)
#define BOOST_REQUIRE_CONSISTENTLY(expression, ...)                     \
  WAITER_BOOST_TEST_(BOOST_REQUIRE_MESSAGE, kConsistently, #expression, \
                     expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if none of the polls, at least two, matches during `hold_for`.
#define BOOST_CHECK_NEVER(expression, ...)                     \
  WAITER_BOOST_TEST_(BOOST_CHECK_MESSAGE, kNever, #expression, \
                     expression __VA_OPT__(, ) __VA_ARGS__)
#define BOOST_REQUIRE_NEVER(expression, ...)                     \
  WAITER_BOOST_TEST_(BOOST_REQUIRE_MESSAGE, kNever, #expression, \
                     expression __VA_OPT__(, ) __VA_ARGS__)
// Both take a block and optionally `EventuallyOptions`. They pass with the
// first run of the block in which all assertions pass; only failures of the
// last run are reported, with how often each assertion failed. In a block,
//
// * side effects happen once for each run;
// * a BOOST_REQUIRE ends that run only;
// * an exception fails the macro immediately, unless `retry_exceptions` accepts
//   it;
// * a nested block may be used; if it fails, so does the run;
// * warnings and messages are not written;
// * if the program has its own log formatter, the texts of failures in the
//   block are left out;
// * a test cannot be skipped: Boost.Test offers no way.
#define BOOST_CHECK_EVENTUALLY_PASSES(...) \
  WAITER_BOOST_TEST_REPORT_(               \
      BOOST_CHECK_MESSAGE,                 \
      WAITER_INTERNAL_PASSES(::waiter::internal::BoostTest, __VA_ARGS__))
#define BOOST_REQUIRE_EVENTUALLY_PASSES(...) \
  WAITER_BOOST_TEST_REPORT_(                 \
      BOOST_REQUIRE_MESSAGE,                 \
      WAITER_INTERNAL_PASSES(::waiter::internal::BoostTest, __VA_ARGS__))

// Implementation of the macros above; not for use elsewhere.
#define WAITER_BOOST_TEST_(assertion, kind, text, ...)                     \
  WAITER_BOOST_TEST_REPORT_(                                               \
      assertion, WAITER_INTERNAL_EVENTUALLY(::waiter::internal::BoostTest, \
                                            kind, text, __VA_ARGS__))
#define WAITER_BOOST_TEST_REPORT_(assertion, ...)                          \
  [](const ::absl::Status& waiter_status) {                                \
    assertion(waiter_status.ok(), ::std::string(waiter_status.message())); \
  }(__VA_ARGS__)

#endif  // WAITER_TESTING_BOOST_TEST_H_
