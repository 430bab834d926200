// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Matchers for how a wait ended, in tests of policies and status functions:
//
//   EXPECT_THAT(wait.Wait(), waiter::IsReady());
//   EXPECT_THAT(wait.Wait(), AllOf(waiter::TimedOut(),
//                                  waiter::Attempts(Le(5))));
//   EXPECT_THAT(wait.Wait(), waiter::PollTimes(ElementsAre(
//       absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(3))));
//
// Each takes any `WaitResult<T>`.

#ifndef WAITER_TESTING_WAIT_RESULT_MATCHERS_H_
#define WAITER_TESTING_WAIT_RESULT_MATCHERS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "waiter/poll_status.h"
#include "waiter/wait_report.h"
#include "waiter/wait_result.h"

namespace waiter {

// Prints as "success after 3 polls in 2s", or the error.
void PrintTo(const WaitReport& report, std::ostream* os);
template <typename T>
void PrintTo(const WaitResult<T>& result, std::ostream* os) {
  PrintTo(result.report(), os);
}

// Matches a wait that ended for `reason`.
MATCHER_P(EndedFor, reason,
          absl::StrCat(negation ? "did not end" : "ended", " with ",
                       StopReasonName(reason))) {
  return arg.reason() == reason;
}

inline auto IsReady() { return EndedFor(StopReason::kSuccess); }
inline auto TimedOut() { return EndedFor(StopReason::kDeadline); }
inline auto Cancelled() { return EndedFor(StopReason::kCancelled); }

// Matches a success whose value matches `value`.
MATCHER_P(IsReadyWith, value,
          absl::StrCat(
              negation ? "is not" : "is", " a success whose value ",
              testing::DescribeMatcher<
                  const typename std::decay_t<arg_type>::value_type&>(value))) {
  return arg.ok() && testing::ExplainMatchResult(value, *arg, result_listener);
}

// Matches a failure that the status function found, by the message of its
// error.
MATCHER_P(FailedWith, message,
          absl::StrCat(negation ? "is not" : "is", " a failure whose message ",
                       testing::DescribeMatcher<std::string>(message))) {
  return arg.reason() == StopReason::kFailed &&
         testing::ExplainMatchResult(
             message, std::string(arg.status().message()), result_listener);
}

// Each of these matches one entry of the report.

MATCHER_P(Attempts, count,
          absl::StrCat("whose number of polls ",
                       testing::DescribeMatcher<int64_t>(count, negation))) {
  return testing::ExplainMatchResult(count, arg.report().attempts,
                                     result_listener);
}

MATCHER_P(Elapsed, time,
          absl::StrCat("whose time ",
                       testing::DescribeMatcher<absl::Duration>(time,
                                                                negation))) {
  return testing::ExplainMatchResult(time, arg.report().elapsed,
                                     result_listener);
}

// What the last poll found, as a `PollStatus`.
MATCHER_P(LastFound, status,
          absl::StrCat("whose last poll ",
                       negation ? "did not find " : "found ",
                       PollStatusName(status))) {
  return arg.report().last_poll.status() == status;
}

// When each poll began, since the start of the wait. Needs a history of all:
// `WaitOptions::history_limit` no less than the number of polls.
MATCHER_P(PollTimes, times,
          absl::StrCat("whose poll times ",
                       testing::DescribeMatcher<std::vector<absl::Duration>>(
                           times, negation))) {
  const WaitReport& report = arg.report();
  if (static_cast<int64_t>(report.history.size()) < report.attempts) {
    *result_listener << "which has a history of " << report.history.size()
                     << " of its polls alone; set history_limit";
    return false;
  }
  std::vector<absl::Duration> started;
  for (const PollRecord& poll : report.history) started.push_back(poll.started);
  return testing::ExplainMatchResult(times, started, result_listener);
}

}  // namespace waiter

#endif  // WAITER_TESTING_WAIT_RESULT_MATCHERS_H_
