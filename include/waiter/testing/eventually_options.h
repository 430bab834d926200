// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of the assertions in testing/eventually.h. The defaults suit most
// tests; a suite with needs of its own shares one object:
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

#ifndef WAITER_TESTING_EVENTUALLY_OPTIONS_H_
#define WAITER_TESTING_EVENTUALLY_OPTIONS_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "waiter/backoff_options.h"
#include "waiter/error_classifier.h"
#include "waiter/options.h"
#include "waiter/timeout.h"

namespace waiter {

// Returns whether polling should go on after an exception.
using ExceptionFilter = std::function<bool(const std::exception_ptr&)>;

// Fields with the name of a field of `WaitOptions` (options.h) have the same
// meaning and range. Options that contradict each other fail the assertion
// before its first poll, with a message that says what to change.
struct EventuallyOptions {
  // Name that precedes the expression in messages; may be empty.
  std::string name = {};

  // Limit of EVENTUALLY; an error for CONSISTENTLY and NEVER. Unset: 5 s. Zero
  // or less: polls once. Infinite: the rest of the time that Bazel gives the
  // test, and an error if it gives none. On every clock except a
  // `SimulatedClock`, it is scaled and cut as testing/eventually.h describes.
  Timeout timeout = std::nullopt;

  // Delays between polls, whatever they find.
  BackoffOptions backoff = {.initial_delay = absl::Milliseconds(10),
                            .max_delay = absl::Milliseconds(500),
                            .multiplier = 1.5,
                            .jitter = Jitter::None()};

  // Time for which the expression must match, and number of consecutive polls
  // in which it must. `hold_for` is the whole time of CONSISTENTLY and NEVER;
  // if both fields have their defaults, that is 100 ms.
  std::optional<absl::Duration> hold_for = std::nullopt;
  int64_t successes_required = 1;

  // Options of a wait of your program, to poll as it does: its curves, limits
  // and budgets replace `backoff`. Its other options apply where the field of
  // the same name here has its default. Ignores its `name`, `deadline` and
  // `history_limit`.
  std::optional<WaitOptions> policy = std::nullopt;

  // Classification of an error that an expression of type `absl::Status` or
  // `StatusOr<T>` gives and that does not match: `kFailed` ends the assertion,
  // everything else goes on.
  ErrorClassifier errors = ErrorClassifier::Http();

  // Exceptions after which EVENTUALLY polls on; see `RetryOn`. All others, and
  // every one in CONSISTENTLY and NEVER, fail the assertion at once.
  ExceptionFilter retry_exceptions = nullptr;

  // Delay before the first poll.
  absl::Duration first_poll_delay = absl::ZeroDuration();

  // Largest number of history lines in a message; zero for none. One line
  // stands for consecutive polls with the same value. If there are more, the
  // message shows the first half and the last half of this number.
  int history_lines = 8;

  // Hooks of the wait; see observer.h. Null: those of `policy`, if any.
  std::shared_ptr<WaitObserver> observer = nullptr;

  // Not owned; must outlive the assertion. Null: that of `policy`, otherwise
  // the real clock.
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
// that the assertion's own matcher rejected, the assertion fails at once:
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
// value that satisfies CONSISTENTLY or NEVER, the assertion passes at once
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

}  // namespace waiter

#endif  // WAITER_TESTING_EVENTUALLY_OPTIONS_H_
