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
// poll is made immediately and the last one exactly at the limit; in between,
// `EventuallyOptions` gives the delays, 10 ms growing to 500 ms by default. A
// matching value passes even if it arrives after the limit, as long as its poll
// began before. A poll that hangs is not interrupted.
//
// An error or an exception ends an EVENTUALLY immediately, unless it is an
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
// The function `Eventually` does the same in helpers, and returns the value.
// docs/testing.md shows the messages of failures.

#ifndef WAITER_TESTING_EVENTUALLY_H_
#define WAITER_TESTING_EVENTUALLY_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/eventually_subject.h"

// Passes with the first value that matches. Takes an expression, then a value
// or a gMock matcher, and optionally `EventuallyOptions` and `FailIf(matcher)`.
// Text that is streamed into an assertion follows its message. In all macros
// here, ASSERT_ returns from the current function on failure, and EXPECT_
// continues.
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

// Returns whether polling should continue after an exception.
using ExceptionFilter = std::function<bool(const std::exception_ptr&)>;

// Short delays without jitter, so that runs on simulated time are equal.
struct EventuallyBackoffDefaults {
  static constexpr absl::Duration kInitialDelay = absl::Milliseconds(10);
  static constexpr absl::Duration kMaxDelay = absl::Milliseconds(500);
  static constexpr double kMultiplier = 1.5;
  static constexpr Jitter kJitter = Jitter::None();
  static constexpr OptionalDuration kMinDelay = std::nullopt;
};
using EventuallyBackoff = BasicBackoff<EventuallyBackoffDefaults>;

// Options of the assertions. The defaults suit most tests; a suite that needs
// others shares one object:
//
//   const waiter::EventuallyOptions kSlowDisk = {.timeout = absl::Seconds(30)};
//   EXPECT_EVENTUALLY(FileSize(path), Gt(0), kSlowDisk);
//
// A single assertion gives them in place. The value must match for 2 s:
//
//   EXPECT_EVENTUALLY(job.State(), "DONE", {.hold_for = absl::Seconds(2)});
//
// Hours of simulated time pass in milliseconds:
//
//   EXPECT_EVENTUALLY(job.State(), "DONE",
//                     {.timeout = absl::Hours(3), .clock = &clock});
//
// Fields with the name of a field of `WaitOptions` (options.h) have the same
// meaning and range. Options that contradict each other fail the assertion
// before its first poll, with a message that says what to change.
struct EventuallyOptions {
  // Name that precedes the expression in messages; may be empty.
  std::string name = {};

  // Limit of EVENTUALLY; an error for CONSISTENTLY and NEVER. Unset: 5 s. Zero
  // or less: polls once. Infinite: the rest of the time that Bazel gives the
  // test, and an error if it gives none. On every clock except a
  // `SimulatedClock`, it is scaled and cut as described above.
  OptionalDuration timeout = std::nullopt;

  // Delays between polls, whatever they find.
  EventuallyBackoff backoff = {};

  // Time for which the expression must match, and number of consecutive polls
  // in which it must. `hold_for` is the whole time of CONSISTENTLY and NEVER;
  // if both fields have their defaults, that is 100 ms.
  OptionalDuration hold_for = std::nullopt;
  int64_t successes_required = 1;

  // Options of a wait of your program, to poll as it does: its backoffs, limits
  // and budgets replace `backoff`. Its other options apply where the field of
  // the same name here has its default. Ignores its `name`, `deadline` and
  // `history_limit`.
  std::optional<WaitOptions> policy = std::nullopt;

  // Classification of an error that an expression of type `absl::Status` or
  // `StatusOr<T>` gives and that does not match: `kFailed` ends the assertion;
  // after everything else it continues.
  ErrorClassifier errors = ErrorClassifier::Http();

  // Exceptions after which EVENTUALLY continues; see `RetryOn`. All others, and
  // every one in CONSISTENTLY and NEVER, fail the assertion immediately.
  ExceptionFilter retry_exceptions = nullptr;

  // Delay before the first poll.
  Duration first_poll_delay = absl::ZeroDuration();

  // Maximum number of history lines in a message; zero for none. One line
  // stands for consecutive polls with the same value. If there are more, the
  // message shows the first half and the last half of this number.
  int history_lines = 8;

  // Hooks of the wait; see observer.h. Null: the hooks of `policy`, if any.
  std::shared_ptr<WaitObserver> observer = nullptr;

  // Not owned; must outlive the assertion. Null: the clock of `policy`,
  // otherwise the real clock.
  Clock* clock = nullptr;

  // Seed of jittered delays. Unset: a new one for each assertion. The message
  // of a failure contains it, so that the same delays can be repeated.
  std::optional<uint64_t> seed = std::nullopt;
};

// Returns a filter for `EventuallyOptions::retry_exceptions` that accepts
// exceptions of these types and of types derived from them:
//
//   const auto on_io_error = waiter::RetryOn<std::ios_base::failure>();
//   EXPECT_EVENTUALLY(Read(path), "done", {.retry_exceptions = on_io_error});
template <typename... Exceptions>
ExceptionFilter RetryOn() {
  return [](const std::exception_ptr& thrown) {
    const auto is = [&]<typename E>(const E*) {
      try {
        std::rethrow_exception(thrown);
      } catch (const E&) {
        return true;
      } catch (...) {
        return false;
      }
    };
    return (is(static_cast<const Exceptions*>(nullptr)) || ...);
  };
}

// A matcher or value that makes further polls pointless. If it matches a value
// that the assertion's own matcher rejected, the assertion fails immediately:
//
//   EXPECT_EVENTUALLY(job.State(), "DONE", waiter::FailIf("FAILED"));
template <typename M>
class FailIf {
 public:
  explicit FailIf(M matcher) : matcher_(std::move(matcher)) {}

  const M& matcher() const { return matcher_; }

 private:
  M matcher_;
};

// A matcher or value after which nothing can change any more. If it matches a
// value that satisfies CONSISTENTLY or NEVER, the assertion passes immediately
// instead of after `hold_for`, even with its first poll:
//
//   EXPECT_NEVER(job.State(), "FAILED", {.hold_for = absl::Seconds(30)},
//                waiter::PassIf("DONE"));
//
// A value that violates the assertion fails it, whatever this matches. In
// EVENTUALLY, which passes at the first match anyway, it is an error. A
// `WaitObserver` sees a wait that this ends as cancelled.
template <typename M>
class PassIf {
 public:
  explicit PassIf(M matcher) : matcher_(std::move(matcher)) {}

  const M& matcher() const { return matcher_; }

 private:
  M matcher_;
};

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
// test continues with. Returns the value that matched, or an error with the
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
