// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How an assertion of testing/eventually.h waits. The defaults suit most tests;
// a suite with needs of its own shares one object:
//
//   const waiter::EventuallyOptions kSlowDisk = {.timeout = absl::Seconds(30)};
//   EXPECT_EVENTUALLY(FileSize(path), Gt(0), kSlowDisk);
//   EXPECT_EVENTUALLY(job.State(), "DONE", {.hold_for = absl::Seconds(2)});

#ifndef WAITER_TESTING_EVENTUALLY_OPTIONS_H_
#define WAITER_TESTING_EVENTUALLY_OPTIONS_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "waiter/backoff_options.h"
#include "waiter/error_classifier.h"
#include "waiter/options.h"

namespace waiter {

// Says of an exception whether the next poll may do better.
using ExceptionFilter = std::function<bool(const std::exception_ptr&)>;

// What a wait has under the same name (options.h) means the same here.
struct EventuallyOptions {
  // Stands before the expression in messages.
  std::string name = {};

  // The limit. Unset: 5 s. Zero or less polls once. Infinite: as long as the
  // test itself may run. On any clock but a `SimulatedClock` it is stretched
  // and cut as testing/eventually.h says. Not for CONSISTENTLY and NEVER.
  std::optional<absl::Duration> timeout = std::nullopt;

  BackoffOptions backoff = {.initial_delay = absl::Milliseconds(10),
                            .max_delay = absl::Milliseconds(500),
                            .multiplier = 1.5,
                            .jitter = Jitter::None()};

  // For how long, and in how many polls in a row, it must match. `hold_for` is
  // the whole time of CONSISTENTLY and NEVER; for them, unset and with one
  // success required, it is 100 ms.
  std::optional<absl::Duration> hold_for = std::nullopt;
  int64_t successes_required = 1;

  // Poll as this wait of your program does: its curves, limits and budgets in
  // place of `backoff`, and its timeout if none is set above.
  std::optional<WaitOptions> policy = std::nullopt;

  // What it means that an expression of type `absl::Status` or `StatusOr<T>`
  // gives an error that does not match: failed ends the assertion.
  ErrorClassifier errors = ErrorClassifier::Http();

  // Exceptions after which EVENTUALLY polls on; see `RetryOn`. All others fail
  // the assertion at once.
  ExceptionFilter retry_exceptions = nullptr;

  absl::Duration first_poll_delay = absl::ZeroDuration();

  // Most lines of history in a message. Even: half are the first values seen.
  int history_lines = 8;

  WaitObserver* observer = nullptr;
  Clock* clock = nullptr;

  // Unset: drawn, if the delays are jittered, and told in the message.
  std::optional<uint64_t> seed = std::nullopt;
};

// Polls on after exceptions of these types, and those derived from them.
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

// What makes it pointless to go on, judged on the same value as the matcher:
//
//   EXPECT_EVENTUALLY(job.State(), "DONE", FailIf("FAILED"));
template <typename M>
class FailIf {
 public:
  explicit FailIf(M matcher) : matcher_(std::move(matcher)) {}
  const M& matcher() const { return matcher_; }

 private:
  M matcher_;
};

}  // namespace waiter

#endif  // WAITER_TESTING_EVENTUALLY_OPTIONS_H_
