// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Catch2 assertions that poll until they pass or a limit is reached:
//
//   CHECK_EVENTUALLY(job.IsDone());
//   REQUIRE_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Minutes(1)},
//                      waiter::FailIf("FAILED"));
//   CHECK_CONSISTENTLY(queue.size() <= 10, {.hold_for = absl::Seconds(1)});
//   CHECK_NEVER(job.State(), Catch::Matchers::Contains("FAIL"));
//   CHECK_EVENTUALLY_PASSES({
//     REQUIRE(Exists(path));
//     CHECK(Read(path) == "done");
//   });
//
// testing/eventually.h describes their options, and the rules for all
// frameworks. A matcher is a value, a function that returns a `bool`, or a
// matcher of Catch2. Values are printed by `Catch::StringMaker`, except text.
//
// For Catch2 2.13 and 3, on which your program must depend. Use the assertions
// only on the thread of the test, like Catch2's own.

#ifndef WAITER_TESTING_CATCH2_H_
#define WAITER_TESTING_CATCH2_H_

#include "waiter/testing/eventually.h"
#include "waiter/testing/internal/catch2_framework.h"
#include "waiter/testing/internal/eventually_parts.h"

// Pass with the first value that matches; see testing/eventually.h. In all
// macros here, CHECK_ continues after a failure, and REQUIRE_ ends the test.
#define CHECK_EVENTUALLY(expression, ...)                            \
  WAITER_CATCH2_("CHECK_EVENTUALLY", ContinueOnFailure, kEventually, \
                 #expression, expression __VA_OPT__(, ) __VA_ARGS__)
#define REQUIRE_EVENTUALLY(expression, ...)                              \
  WAITER_CATCH2_("REQUIRE_EVENTUALLY", Normal, kEventually, #expression, \
                 expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if all polls, at least two, match throughout `hold_for`.
#define CHECK_CONSISTENTLY(expression, ...)                              \
  WAITER_CATCH2_("CHECK_CONSISTENTLY", ContinueOnFailure, kConsistently, \
                 #expression, expression __VA_OPT__(, ) __VA_ARGS__)
#define REQUIRE_CONSISTENTLY(expression, ...)                                \
  WAITER_CATCH2_("REQUIRE_CONSISTENTLY", Normal, kConsistently, #expression, \
                 expression __VA_OPT__(, ) __VA_ARGS__)
// Pass if none of the polls, at least two, matches during `hold_for`.
#define CHECK_NEVER(expression, ...)                                    \
  WAITER_CATCH2_("CHECK_NEVER", ContinueOnFailure, kNever, #expression, \
                 expression __VA_OPT__(, ) __VA_ARGS__)
#define REQUIRE_NEVER(expression, ...)                         \
  WAITER_CATCH2_("REQUIRE_NEVER", Normal, kNever, #expression, \
                 expression __VA_OPT__(, ) __VA_ARGS__)

#if WAITER_CATCH2_VERSION == 2
// Both take a block and optionally `EventuallyOptions`. They pass with the
// first run of the block in which all assertions pass; only failures of the
// last run are reported, with how often each assertion failed. In a block,
//
// * side effects happen once for each run;
// * a REQUIRE ends that run only;
// * an exception outside of an assertion fails the macro immediately, unless
//   `retry_exceptions` accepts it;
// * a nested block may be used; if it fails, so does the run;
// * messages of INFO belong to the run, and WARN is not written;
// * a SECTION is not supported.
//
// Catch2 2 has no SKIP.
#else
// Both take a block and optionally `EventuallyOptions`. They pass with the
// first run of the block in which all checks pass. Its checks are CHECK_POLLED
// and REQUIRE_POLLED: other assertions of Catch2 3 cannot be intercepted, and
// fail the test in the first run that they fail in. In a block,
//
// * side effects happen once for each run;
// * a REQUIRE_POLLED ends that run only, also from functions that it calls;
// * an exception fails the macro immediately, unless `retry_exceptions` accepts
//   it;
// * assertions that poll and blocks may be nested; their failures fail the run;
// * SKIP ends the test as skipped.
#define CHECK_POLLED(...)                                               \
  ::waiter::internal::Catch2::Check(static_cast<bool>(__VA_ARGS__),     \
                                    "CHECK_POLLED( " #__VA_ARGS__ " )", \
                                    __FILE__, __LINE__, false)
#define REQUIRE_POLLED(...)                                               \
  ::waiter::internal::Catch2::Check(static_cast<bool>(__VA_ARGS__),       \
                                    "REQUIRE_POLLED( " #__VA_ARGS__ " )", \
                                    __FILE__, __LINE__, true)
#endif
#define CHECK_EVENTUALLY_PASSES(...)                                 \
  WAITER_CATCH2_BLOCK_("CHECK_EVENTUALLY_PASSES", ContinueOnFailure, \
                       __VA_ARGS__)
#define REQUIRE_EVENTUALLY_PASSES(...) \
  WAITER_CATCH2_BLOCK_("REQUIRE_EVENTUALLY_PASSES", Normal, __VA_ARGS__)

// Implementation of the macros above; not for use elsewhere.
#define WAITER_CATCH2_(macro, disposition, kind, text, ...)              \
  ::waiter::internal::Catch2::Report(                                    \
      WAITER_INTERNAL_EVENTUALLY(::waiter::internal::Catch2, kind, text, \
                                 __VA_ARGS__),                           \
      macro, text, __FILE__, __LINE__,                                   \
      ::Catch::ResultDisposition::disposition)
#define WAITER_CATCH2_BLOCK_(macro, disposition, ...)                         \
  ::waiter::internal::Catch2::Report(                                         \
      WAITER_INTERNAL_PASSES(::waiter::internal::Catch2, __VA_ARGS__), macro, \
      "the block", __FILE__, __LINE__,                                        \
      ::Catch::ResultDisposition::disposition)

namespace waiter {

// The function of testing/eventually.h for matchers of Catch2.
template <typename F, typename M, typename N = internal::eventually::Nothing>
requires(internal::Catch2::kIsMatcher<internal::eventually::JudgedResult<F>, M>)
    [[nodiscard]] EventualValueOf<F> Eventually(
        F function, M matcher, const EventuallyOptions& options = {},
        const FailIf<N>& fail_if = FailIf(internal::eventually::Nothing()),
        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return internal::eventually::EventuallyBy<internal::Catch2,
                                            EventualValueOf<F>>(
      function, std::move(matcher), options, fail_if, file, line);
}

}  // namespace waiter

#endif  // WAITER_TESTING_CATCH2_H_
