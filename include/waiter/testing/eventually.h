// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Assertions that poll, for every test framework. Tests include the header of
// their framework, which includes this one:
//
//   testing/gtest.h        EXPECT_EVENTUALLY(job.State(), "DONE");
//   testing/catch2.h       CHECK_EVENTUALLY(job.State() == "DONE");
//   testing/doctest.h      CHECK_EVENTUALLY(job.State(), "DONE");
//   testing/boost_test.h   BOOST_CHECK_EVENTUALLY(job.State(), "DONE");
//
// Each has four assertions, in two forms: after a failure, one continues the
// test, and one ends it.
//
//   EVENTUALLY(expression, matcher)     passes with the first value that
//                                       matches
//   CONSISTENTLY(expression, matcher)   passes if all polls, at least two,
//                                       match throughout
//                                       `EventuallyOptions::hold_for`
//   NEVER(expression, matcher)          passes if none of the polls, at least
//                                       two, matches during that time
//   EVENTUALLY_PASSES({ ... })          passes with the first run of the block
//                                       in which all assertions pass
//
// The matcher is a value, a function that takes the value and returns a `bool`,
// or a matcher of the framework. Without a matcher, the expression must be
// true. `EventuallyOptions` and `FailIf` or `PassIf` may follow:
//
//   CHECK_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Minutes(1)},
//                    waiter::FailIf("FAILED"));
//
// Each poll evaluates the expression again, on the calling thread. The first
// poll is made immediately and the last one exactly at the limit; in between,
// `EventuallyOptions` sets the delays, 10 ms growing to 500 ms by default. A
// matching value passes even if it arrives after the limit, as long as its poll
// began before. A poll that hangs is not interrupted.
//
// An expression may also be a status function. A `Poll<T>` that is not ready,
// throttled or a server error is polled again. The assertion fails immediately
// for `Failed` and `StopTrying`, and matches the value of a success. A `Poll<>`
// without value counts as `true` when it is a success.
//
// An error or an exception ends an EVENTUALLY immediately, unless it is an
// `absl::Status` or `StatusOr` error that `options.errors` classifies as a
// server error, throttled or not ready, or an exception that
// `options.retry_exceptions` accepts. From any depth, even within a block,
// `throw waiter::StopTrying("reason")` fails the assertion immediately, and
// `throw waiter::TryAgainAfter(absl::Seconds(2))` sets the delay before the
// next poll of an EVENTUALLY.
//
// On every clock except a `SimulatedClock`, a limit is multiplied by the
// environment variable WAITER_TEST_TIMEOUT_SCALE and, under a sanitizer or
// Valgrind, by 3 to 20. The limit is then cut to the rest of Bazel's
// TEST_TIMEOUT, minus 2 s, so that the message is printed before the test is
// killed. Under a debugger, limits are ignored. A sleep that ends more than a
// second late does not count against the limit: the program was stopped, or its
// machine was suspended.
//
// A long wait is reported on the standard error stream when a poll begins after
// 10 s, 30 s and 1 min, and then whenever the elapsed time has doubled. When
// the program ends, it prints a line for each assertion that took more than 80%
// of its limit to pass, with a limit that would have been safe. On a
// `SimulatedClock` there are no such lines.
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
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter {

// Returns whether polling should continue after an exception.
using ExceptionFilter = std::function<bool(const std::exception_ptr&)>;

// Short delays without jitter, so that runs on simulated time are identical.
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
// A single assertion can have its own. Here, the value must match for 2 s:
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
// before its first poll, with a message that says what to change. For a field
// that has its default, the value in `ScopedEventuallyDefaults` applies, if
// any.
struct EventuallyOptions {
  // Name that precedes the expression in messages; may be empty.
  std::string name = {};

  // Limit of EVENTUALLY; an error for CONSISTENTLY and NEVER. Unset: the
  // environment variable WAITER_TEST_TIMEOUT, otherwise 5 s. Zero or less:
  // polls once. Infinite: the rest of the time that Bazel gives the
  // test, and an error if it gives none. On every clock except a
  // `SimulatedClock`, it is scaled and cut as described above.
  OptionalDuration timeout = std::nullopt;

  // Delays between polls, after any answer.
  EventuallyBackoff backoff = {};

  // Delays that replace `backoff`, such as a list whose last delay repeats:
  //
  //   {.delay_source = waiter::DelayList({100ms, 250ms, 500ms, 1s})}
  SharedDelaySource delay_source = nullptr;

  // How long, and in how many consecutive polls, the expression must match.
  // `hold_for` is the whole time of CONSISTENTLY and NEVER; if both fields have
  // their defaults, it is the environment variable WAITER_TEST_HOLD_FOR,
  // otherwise 100 ms.
  OptionalDuration hold_for = std::nullopt;
  int64_t successes_required = 1;

  // Options of a wait of your program, to poll as it does: its backoffs, limits
  // and budgets replace `backoff`. Its other options apply where the field of
  // the same name here has its default. Its `name`, `deadline` and
  // `history_limit` are ignored.
  std::optional<WaitOptions> policy = std::nullopt;

  // Classifies an error from an expression of type `absl::Status` or
  // `StatusOr<T>` that does not match: `kFailed` ends the assertion; after any
  // other class it continues.
  ErrorClassifier errors = ErrorClassifier::Http();

  // Exceptions after which EVENTUALLY continues; see `RetryOn`. All others, and
  // in CONSISTENTLY and NEVER all exceptions, fail the assertion immediately.
  ExceptionFilter retry_exceptions = nullptr;

  // Delay before the first poll.
  Duration first_poll_delay = absl::ZeroDuration();

  // Maximum number of history lines in a message; zero for none. Consecutive
  // polls with the same value share a line. If there are more lines, the
  // message shows the first and last half of this number.
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
    return (internal::eventually::Is<Exceptions>(thrown) || ...);
  };
}

// Fails the assertion that polls, immediately and with `reason` in its message.
// Returned by a function whose result is a `Poll`, or thrown from any depth of
// the polled expression or block:
//
//   std::string StateOf(const Job& job) {
//     if (job.is_deleted()) throw waiter::StopTrying("job 42 was deleted");
//     return job.state();
//   }
//   EXPECT_EVENTUALLY(StateOf(job), "DONE");
//
// It is `Failed` (poll.h), so a status function outside of tests may also
// return it. `TryAgainAfter` (poll.h) sets the delay before the next poll in
// the same two ways. Neither is a `std::exception`, so code that catches
// exceptions of that type passes them on.
inline Poll<> StopTrying(std::string_view reason) { return Failed(reason); }

// Options for all assertions that begin while this object exists, on any
// thread. An assertion's own options take precedence, field by field. A newer
// object takes precedence over older ones until it is destroyed.
//
//   class DiskTest : public testing::Test {
//     waiter::SimulatedClock clock_;
//     waiter::ScopedEventuallyDefaults defaults_{
//         {.timeout = absl::Seconds(30), .clock = &clock_}};
//   };
//
// `timeout` and `retry_exceptions` apply only to EVENTUALLY, `hold_for` and
// `successes_required` only to CONSISTENTLY and NEVER, and `name` and `errors`
// have no effect. Other threads see a change of the defaults from their next
// assertion on. Thread-safe.
class ScopedEventuallyDefaults {
 public:
  explicit ScopedEventuallyDefaults(EventuallyOptions defaults);
  ~ScopedEventuallyDefaults();
  ScopedEventuallyDefaults(const ScopedEventuallyDefaults&) = delete;
  ScopedEventuallyDefaults& operator=(const ScopedEventuallyDefaults&) = delete;

 private:
  const std::shared_ptr<const EventuallyOptions> defaults_;
};

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

// A matcher or value after which nothing can change. If it matches a value that
// satisfies CONSISTENTLY or NEVER, the assertion passes immediately instead of
// after `hold_for`, even with its first poll:
//
//   EXPECT_NEVER(job.State(), "FAILED", {.hold_for = absl::Seconds(30)},
//                waiter::PassIf("DONE"));
//
// A value that violates the assertion fails it, even if this matches. In
// EVENTUALLY, which passes at the first match anyway, it is an error. To a
// `WaitObserver`, a wait that this ends is cancelled.
template <typename M>
class PassIf {
 public:
  explicit PassIf(M matcher) : matcher_(std::move(matcher)) {}

  const M& matcher() const { return matcher_; }

 private:
  M matcher_;
};

// Return type of `Eventually` for a function that returns `R`: a `StatusOr<R>`,
// or `R` itself if that is a `StatusOr`, or a `StatusOr<T>` if `R` is a
// `Poll<T>`.
template <typename R>
struct EventualValue {
  using type = absl::StatusOr<R>;
};
template <typename T>
struct EventualValue<absl::StatusOr<T>> {
  using type = absl::StatusOr<T>;
};
template <typename T>
requires(!std::is_void_v<T>) struct EventualValue<Poll<T>> {
  using type = absl::StatusOr<T>;
};
template <typename F>
using EventualValueOf = typename EventualValue<std::invoke_result_t<F&>>::type;

// Polls `function` like EVENTUALLY, for helpers and for values that a test
// continues with. Returns the value that matched, or an error with the message
// of EVENTUALLY and the code of the wait: kDeadlineExceeded at the limit,
// kInvalidArgument for options that are invalid or contradict each other. Never
// fails the test itself.
//
//   absl::StatusOr<Job> job = waiter::Eventually(
//       [&] { return client.GetJob(42); },
//       [](const Job& job) { return job.state == "DONE"; });
//
// `matcher` is a value or a function. With the header of a framework that has
// matchers, it may be one of those. `file` and `line` name the caller in
// messages; leave them out.
template <typename F, typename M, typename N = internal::eventually::Nothing>
[[nodiscard]] EventualValueOf<F> Eventually(
    F function, M matcher, const EventuallyOptions& options = {},
    const FailIf<N>& fail_if = FailIf(internal::eventually::Nothing()),
    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return internal::eventually::EventuallyBy<internal::eventually::NoFramework,
                                            EventualValueOf<F>>(
      function, std::move(matcher), options, fail_if, file, line);
}

}  // namespace waiter

#endif  // WAITER_TESTING_EVENTUALLY_H_
