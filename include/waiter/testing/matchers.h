// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// GoogleMock matchers for the results of waits, in tests of policies and status
// functions:
//
//   EXPECT_THAT(wait.Wait(), waiter::IsReady());
//   EXPECT_THAT(wait.Wait(), AllOf(waiter::TimedOut(),
//                                  waiter::Attempts(Le(5))));
//   EXPECT_THAT(wait.Wait(), waiter::FailedWith(HasSubstr("quota")));
//
// With a history, `PollTimes` matches the exact times of the polls, here on a
// `SimulatedClock` and without jitter:
//
//   EXPECT_THAT(wait.Wait(), waiter::PollTimes(ElementsAre(
//       absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(3))));
//
// Each matcher takes any `WaitResult<T>`. An argument may be a value or a
// matcher, except in `EndedFor` and `LastFound`, which take a value. A mismatch
// prints the reason, the number of polls, the time and the error:
//
//   Expected: ended with success
//     Actual: deadline after 56 polls in 5m, DEADLINE_EXCEEDED: ...

#ifndef WAITER_TESTING_MATCHERS_H_
#define WAITER_TESTING_MATCHERS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "waiter/internal/string_views.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace internal {

// Returns the message of a failure as the status function gave it.
inline std::string FailureMessage(const WaitReport& report) {
  const Poll<>& last = report.last_poll;
  if (report.attempts > 0 && last.status() == PollStatus::kFailed &&
      !last.detail().empty()) {
    return std::string(last.detail());
  }
  return std::string(report.status.message());
}

}  // namespace internal

// Prints a report as "success after 3 polls in 2s", followed by its error if it
// has one. GoogleTest calls these.
inline void PrintTo(const WaitReport& report, std::ostream* os) {
  *os << StopReasonName(report.reason) << " after " << report.attempts
      << (report.attempts == 1 ? " poll in " : " polls in ") << report.elapsed;
  // Abseil of 2026 would add the source location of the status.
  if (!report.status.ok()) {
    *os << ", "
        << report.status.ToString(absl::StatusToStringMode::kWithNoExtraData);
  }
}
template <typename T>
void PrintTo(const WaitResult<T>& result, std::ostream* os) {
  PrintTo(result.report(), os);
}

// Matches a wait that ended for `reason`, a `StopReason`.
MATCHER_P(EndedFor, reason,
          absl::StrCat(negation ? "did not end" : "ended", " with ",
                       internal::ToAbsl(StopReasonName(reason)))) {
  return arg.reason() == reason;
}

// Match the most common reasons: success, deadline and cancellation.
inline auto IsReady() { return EndedFor(StopReason::kSuccess); }
inline auto TimedOut() { return EndedFor(StopReason::kDeadline); }
inline auto Cancelled() { return EndedFor(StopReason::kCancelled); }

// Matches a success whose value matches `value`. Not for `WaitResult<>`, which
// has no value.
MATCHER_P(IsReadyWith, value,
          absl::StrCat(
              negation ? "is not" : "is", " a success whose value ",
              testing::DescribeMatcher<
                  const typename std::decay_t<arg_type>::value_type&>(value))) {
  return arg.ok() && testing::ExplainMatchResult(value, *arg, result_listener);
}

// Matches a failure (`StopReason::kFailed`) whose error message, as the status
// function gave it, matches `message`: without the name, attempts and time that
// follow it in `status()`. An error of a limit does not match.
MATCHER_P(FailedWith, message,
          absl::StrCat(negation ? "is not" : "is", " a failure whose message ",
                       testing::DescribeMatcher<std::string>(message))) {
  return arg.reason() == StopReason::kFailed &&
         testing::ExplainMatchResult(
             message, internal::FailureMessage(arg.report()), result_listener);
}

// Each matcher below looks at one field of the report. They also match waits
// that did not succeed.

// Matches if the number of finished polls matches `count`.
MATCHER_P(Attempts, count,
          absl::StrCat("whose number of polls ",
                       testing::DescribeMatcher<int64_t>(count, negation))) {
  return testing::ExplainMatchResult(count, arg.report().attempts,
                                     result_listener);
}

// Matches if the time of the whole wait, an `absl::Duration`, matches `time`.
MATCHER_P(Elapsed, time,
          absl::StrCat("whose time ",
                       testing::DescribeMatcher<absl::Duration>(time,
                                                                negation))) {
  return testing::ExplainMatchResult(time, arg.report().elapsed,
                                     result_listener);
}

// Matches if the last poll found `status`, a `PollStatus`.
MATCHER_P(LastFound, status,
          absl::StrCat("whose last poll ",
                       negation ? "did not find " : "found ",
                       internal::ToAbsl(PollStatusName(status)))) {
  return arg.report().last_poll.status() == status;
}

// Matches if the starts of all polls, a `std::vector<absl::Duration>` of times
// since the start of the wait, match `times`. Requires a record of every poll:
// without a `WaitHooks::history_limit` of at least the number of polls, it
// does not match and says so.
MATCHER_P(PollTimes, times,
          absl::StrCat("whose poll times ",
                       testing::DescribeMatcher<std::vector<absl::Duration>>(
                           times, negation))) {
  const WaitReport& report = arg.report();
  if (static_cast<int64_t>(report.history.size()) < report.attempts) {
    *result_listener << "which has a history of " << report.history.size()
                     << " of its polls alone; set hooks.history_limit";
    return false;
  }
  std::vector<absl::Duration> started;
  for (const PollRecord& poll : report.history) started.push_back(poll.started);
  return testing::ExplainMatchResult(times, started, result_listener);
}

}  // namespace waiter

#endif  // WAITER_TESTING_MATCHERS_H_
