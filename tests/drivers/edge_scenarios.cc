// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Scenarios around the edges of every rule: exactly there, and a nanosecond
// before and after. Delays are the shortest that the jitter allows.

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/drivers/scenarios.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace {

using ::absl::Hours;
using ::absl::InfiniteDuration;
using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;
using ::absl::StatusCode;

constexpr absl::Duration kZero = absl::ZeroDuration();
constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr PollStatus kSuccess = PollStatus::kSuccess;
constexpr PollStatus kNotReady = PollStatus::kNotReady;
constexpr PollStatus kThrottled = PollStatus::kThrottled;
constexpr PollStatus kServerError = PollStatus::kServerError;
constexpr PollStatus kFailed = PollStatus::kFailed;

constexpr BackoffOptions Every(absl::Duration delay) {
  return {.initial_delay = delay,
          .max_delay = delay,
          .multiplier = 1,
          .jitter = Jitter::None()};
}
constexpr BackoffOptions kEverySecond = Every(Seconds(1));
constexpr BackoffOptions kOneTwoFour = {.initial_delay = Seconds(1),
                                        .max_delay = Seconds(4),
                                        .jitter = Jitter::None(),
                                        .min_delay = absl::ZeroDuration()};
constexpr BackoffOptions kTwoFourEight = {.initial_delay = Seconds(2),
                                          .max_delay = Seconds(8),
                                          .jitter = Jitter::None()};
constexpr BackoffOptions kThreeAtLeastTwo = {.initial_delay = Seconds(3),
                                             .max_delay = Seconds(4),
                                             .multiplier = 1,
                                             .jitter = Jitter::None(),
                                             .min_delay = Seconds(2)};

std::vector<Scenario> StartEdges() {
  return {
      {.name = "TimeoutZeroMaySucceed",
       .options = {.timeout = kZero},
       .script = {kSuccess},
       .polled_at = {kZero}},
      {.name = "TimeoutZeroMayFail",
       .options = {.timeout = kZero},
       .script = {kFailed},
       .polled_at = {kZero},
       .reason = StopReason::kFailed,
       .code = StatusCode::kUnknown},
      {.name = "NegativeTimeoutChecksOnce",
       .options = {.timeout = -Seconds(1)},
       .script = {kNotReady},
       .polled_at = {kZero},
       .reason = StopReason::kDeadline},
      {.name = "NegativeTimeoutMaySucceed",
       .options = {.timeout = -InfiniteDuration()},
       .script = {kSuccess},
       .polled_at = {kZero}},
      {.name = "TimeoutZeroLeavesNoTimeForAFirstDelay",
       .options = {.timeout = kZero, .polls = {.first_delay = Seconds(5)}},
       .script = {kNotReady},
       .polled_at = {kZero},
       .reason = StopReason::kDeadline},
      {.name = "SuccessAfterTheFirstDelay",
       .options = {.timeout = Hours(1), .polls = {.first_delay = Seconds(5)}},
       .script = {kSuccess},
       .polled_at = {Seconds(5)}},
      {.name = "FirstDelayEndsAtTheDeadline",
       .options = {.timeout = Seconds(4), .polls = {.first_delay = Seconds(5)}},
       .script = {kNotReady},
       .polled_at = {Seconds(4)},
       .reason = StopReason::kDeadline},
      {.name = "FirstDelayAsLongAsTheTimeoutPollsOnce",
       .options = {.timeout = Seconds(5), .polls = {.first_delay = Seconds(5)}},
       .script = {kNotReady},
       .polled_at = {Seconds(5)},
       .reason = StopReason::kDeadline},
      {.name = "TimeoutShorterThanTheDelayPollsTwice",
       .options = {.timeout = kNs,
                   .backoff = {.initial_delay = Seconds(1),
                               .jitter = Jitter::None(),
                               .min_delay = Seconds(1)}},
       .script = {kNotReady},
       .polled_at = {kZero, kNs},
       .reason = StopReason::kDeadline},
      {.name = "InfiniteTimeoutDoesNotOverflow",
       .options = {.timeout = InfiniteDuration(),
                   .backoff = Every(Hours(24 * 365 * 10))},
       .script = {kNotReady, kNotReady, kSuccess},
       .polled_at = {kZero, Hours(24 * 365 * 10), Hours(24 * 365 * 20)}},
      {.name = "EverythingInfiniteStillPollsOnce",
       .options = {.timeout = InfiniteDuration(),
                   .deadline = absl::InfiniteFuture()},
       .script = {kSuccess},
       .polled_at = {kZero}},
  };
}

std::vector<Scenario> DeadlineEdges() {
  return {
      {.name = "DelayThatEndsAtTheDeadlineIsTheLast",
       .options = {.timeout = Seconds(7), .backoff = kOneTwoFour},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(7)},
       .reason = StopReason::kDeadline},
      {.name = "DelayOneNanosecondShortLeavesRoomForTheLast",
       .options = {.timeout = Seconds(7) + kNs, .backoff = kOneTwoFour},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(7),
                     Seconds(7) + kNs},
       .reason = StopReason::kDeadline},
      {.name = "DelayOneNanosecondLongIsCut",
       .options = {.timeout = Seconds(7) - kNs, .backoff = kOneTwoFour},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(7) - kNs},
       .reason = StopReason::kDeadline},
      {.name = "RestAsLongAsMinDelayIsSleptAtOnce",
       .options = {.timeout = Seconds(8), .backoff = kThreeAtLeastTwo},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(3), Seconds(8)},
       .reason = StopReason::kDeadline},
      {.name = "RestShorterThanMinDelayIsSleptAtOnce",
       .options = {.timeout = Seconds(8) - kNs, .backoff = kThreeAtLeastTwo},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(3), Seconds(8) - kNs},
       .reason = StopReason::kDeadline},
      {.name = "RestLongerThanMinDelayIsSleptInTwo",
       .options = {.timeout = Seconds(8) + kNs, .backoff = kThreeAtLeastTwo},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(3), Seconds(6), Seconds(8) + kNs},
       .reason = StopReason::kDeadline},
      {.name = "LeadMakesNoSecondPollAtItsTime",
       .options = {.timeout = Seconds(13),
                   .backoff = kOneTwoFour,
                   .polls = {.last_lead = Seconds(2)}},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(7), Seconds(11)},
       .reason = StopReason::kDeadline},
      {.name = "SuccessAtTheDeadlineIsInTime",
       .options = {.timeout = Seconds(10), .polls = {.strict_deadline = true}},
       .script = {{kSuccess, Seconds(10)}},
       .polled_at = {kZero},
       .ends_at = Seconds(10)},
      {.name = "SuccessAfterTheDeadlineIsLate",
       .options = {.timeout = Seconds(10)},
       .script = {{kSuccess, Seconds(10) + kNs}},
       .polled_at = {kZero},
       .ends_at = Seconds(10) + kNs,
       .late = true},
      {.name = "SuccessMinutesAfterTheDeadlineIsLate",
       .options = {.timeout = Seconds(10), .backoff = kEverySecond},
       .script = {kNotReady, {kSuccess, Minutes(10)}},
       .polled_at = {kZero, Seconds(1)},
       .ends_at = Seconds(601),
       .late = true},
      {.name = "StrictDeadlineDropsALateSuccess",
       .options = {.timeout = Seconds(10), .polls = {.strict_deadline = true}},
       .script = {{kSuccess, Seconds(10) + kNs}},
       .polled_at = {kZero},
       .reason = StopReason::kDeadline,
       .ends_at = Seconds(10) + kNs,
       .late = true},
      {.name = "FailureAtTheLastPollIsKept",
       .options = {.timeout = Seconds(10), .backoff = Every(Minutes(1))},
       .script = {kNotReady, kFailed},
       .polled_at = {kZero, Seconds(10)},
       .reason = StopReason::kFailed,
       .code = StatusCode::kUnknown},
      {.name = "StrictDeadlineDropsALateFailure",
       .options = {.timeout = Seconds(10), .polls = {.strict_deadline = true}},
       .script = {{kFailed, Seconds(11)}},
       .polled_at = {kZero},
       .reason = StopReason::kDeadline,
       .ends_at = Seconds(11),
       .late = true},
      {.name = "LateNotReadyEndsTheWait",
       .options = {.timeout = Seconds(10)},
       .script = {{kNotReady, Seconds(15)}},
       .polled_at = {kZero},
       .reason = StopReason::kDeadline,
       .ends_at = Seconds(15)},
      {.name = "NotReadyAtTheDeadlineEndsTheWait",
       .options = {.timeout = Seconds(10)},
       .script = {{kNotReady, Seconds(10)}},
       .polled_at = {kZero},
       .reason = StopReason::kDeadline,
       .ends_at = Seconds(10)},
      {.name = "TenHoursWork",
       .options = {.timeout = Hours(10), .backoff = Every(Hours(3))},
       .script = {kNotReady, kNotReady, kNotReady, kNotReady, kSuccess},
       .polled_at = {kZero, Hours(3), Hours(6), Hours(9), Hours(10)}},
  };
}

// One poll that carries a hint, and the poll after it.
Scenario Hinted(std::string name, absl::Duration hint, absl::Duration next,
                RetryAfterOptions retry_after = {}) {
  return {.name = std::move(name),
          .options = {.timeout = Hours(1),
                      .backoff = kEverySecond,
                      .errors = {.retry_after = retry_after}},
          .script = {NotReady("", hint), kSuccess},
          .polled_at = {kZero, next}};
}

using Rule = RetryAfterOptions::Rule;
constexpr auto kPollAtDeadline =
    RetryAfterOptions::PastDeadline::kPollAtDeadline;

std::vector<Scenario> RetryAfterEdges() {
  return {
      Hinted("ShorterHintIsOutdone", Milliseconds(500), Seconds(1)),
      Hinted("LongerHintIsHonoured", Seconds(3), Seconds(3)),
      Hinted("HintMayExceedMaxDelay", Minutes(5), Minutes(5)),
      Hinted("LongHintCountsAsMaxRetryAfter", Hours(2), Seconds(5),
             {.max_retry_after = Seconds(5)}),
      Hinted("ZeroHintIsIgnored", kZero, Seconds(1)),
      Hinted("NegativeHintIsIgnored", -Seconds(1), Seconds(1)),
      Hinted("InfiniteHintIsIgnored", InfiniteDuration(), Seconds(1)),
      Hinted("InfinitelyNegativeHintIsIgnored", -InfiniteDuration(),
             Seconds(1)),
      Hinted("ReplaceTakesAShorterHint", Milliseconds(500), Milliseconds(500),
             {.rule = Rule::kReplace}),
      Hinted("ReplaceTakesALongerHint", Seconds(9), Seconds(9),
             {.rule = Rule::kReplace}),
      Hinted("SumAddsTheHint", Seconds(9), Seconds(10), {.rule = Rule::kSum}),
      Hinted("ClampTakesTheHint", Seconds(3), Seconds(3),
             {.rule = Rule::kClamp}),
      Hinted("ClampLiftsAShortHint", Milliseconds(500), Seconds(1),
             {.rule = Rule::kClamp}),
      Hinted("ClampCutsALongHint", Seconds(60), Seconds(3),
             {.rule = Rule::kClamp, .overshoot = Seconds(2)}),
      {.name = "HintWithServerErrorIsHonoured",
       .options = {.timeout = Hours(1),
                   .errors = {.server_error_backoff = kEverySecond}},
       .script = {ServerError("503", Seconds(3)), kSuccess},
       .polled_at = {kZero, Seconds(3)}},
      {.name = "HintWithThrottlingIsHonoured",
       .options = {.timeout = Hours(1),
                   .errors = {.throttled_backoff = kEverySecond}},
       .script = {Throttled("429", Seconds(3)), kSuccess},
       .polled_at = {kZero, Seconds(3)}},
      {.name = "HintWithFailureIsIgnored",
       .options = {.timeout = Hours(1)},
       .script = {Poll<>(kFailed, "gone", Seconds(3))},
       .polled_at = {kZero},
       .reason = StopReason::kFailed,
       .code = StatusCode::kUnknown},
      {.name = "HintWithSuccessIsIgnored",
       .options = {.timeout = Hours(1)},
       .script = {Poll<>(kSuccess, "", Seconds(3))},
       .polled_at = {kZero}},
      {.name = "HintWithUnconfirmedSuccessIsIgnored",
       .options = {.timeout = Hours(1),
                   .backoff = kEverySecond,
                   .confirm = {.successes = 2}},
       .script = {Poll<>(kSuccess, "", Seconds(3))},
       .polled_at = {kZero, Seconds(1)}},
      {.name = "HintRestartsTheGrowth",
       .options = {.timeout = Hours(1), .backoff = kOneTwoFour},
       .script = {kNotReady, kNotReady, NotReady("", Seconds(10)), kNotReady,
                  kSuccess},
       .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(13), Seconds(14)}},
      {.name = "HintAtTheDeadlinePollsThere",
       .options = {.timeout = Seconds(10), .backoff = kEverySecond},
       .script = {NotReady("", Seconds(10)), kNotReady},
       .polled_at = {kZero, Seconds(10)},
       .reason = StopReason::kDeadline},
      {.name = "HintBeyondTheDeadlineStops",
       .options = {.timeout = Seconds(10), .backoff = kEverySecond},
       .script = {NotReady("", Seconds(10) + kNs), kNotReady},
       .polled_at = {kZero},
       .reason = StopReason::kDeadline},
      {.name = "HintBeyondTheDeadlineMayPollThere",
       .options = {.timeout = Seconds(10),
                   .backoff = kEverySecond,
                   .errors = {.retry_after = {.past_deadline =
                                                  kPollAtDeadline}}},
       .script = {NotReady("", Minutes(5)), kNotReady},
       .polled_at = {kZero, Seconds(10)},
       .reason = StopReason::kDeadline},
      {.name = "CutHintFitsBeforeTheDeadline",
       .options = {.timeout = Seconds(10),
                   .backoff = Every(Minutes(1)),
                   .errors = {.retry_after = {.rule = Rule::kReplace,
                                              .max_retry_after = Seconds(4)}}},
       .script = {NotReady("", Hours(1)), kSuccess},
       .polled_at = {kZero, Seconds(4)}},
      {.name = "InfiniteHintCannotOutliveTheDeadline",
       .options = {.timeout = Seconds(2), .backoff = kEverySecond},
       .script = {NotReady("", InfiniteDuration())},
       .polled_at = {kZero, Seconds(1), Seconds(2)},
       .reason = StopReason::kDeadline},
  };
}

std::vector<Scenario> LimitsEdges() {
  return {
      {.name = "OneAttemptNeverSleeps",
       .options = {.timeout = Hours(1), .max_attempts = 1},
       .script = {kNotReady},
       .polled_at = {kZero},
       .reason = StopReason::kAttempts},
      {.name = "AttemptsCountTheFirstPoll",
       .options = {.timeout = Hours(1),
                   .max_attempts = 3,
                   .backoff = kEverySecond},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(1), Seconds(2)},
       .reason = StopReason::kAttempts},
      {.name = "AttemptsComeBeforeTheDeadline",
       .options = {.timeout = Seconds(1),
                   .max_attempts = 2,
                   .backoff = kEverySecond},
       .script = {kNotReady},
       .polled_at = {kZero, Seconds(1)},
       .reason = StopReason::kAttempts},
      {.name = "ConsecutiveLimitComesBeforeAttempts",
       .options = {.timeout = Hours(1),
                   .max_attempts = 2,
                   .errors = {.server_error_backoff = kEverySecond,
                              .max_consecutive_server_errors = 2}},
       .script = {kServerError},
       .polled_at = {kZero, Seconds(1)},
       .reason = StopReason::kConsecutiveLimit},
      {.name = "OneServerErrorAllowedEndsAtOnce",
       .options = {.timeout = Hours(1),
                   .errors = {.max_consecutive_server_errors = 1}},
       .script = {kServerError},
       .polled_at = {kZero},
       .reason = StopReason::kConsecutiveLimit},
  };
}

std::vector<Scenario> GrowthEdges() {
  return {
      {.name = "ThrottledDelayIsNoShorterThanTheOther",
       .options = {.timeout = Hours(1),
                   .backoff = Every(Seconds(5)),
                   .errors = {.throttled_backoff = kTwoFourEight}},
       .script = {kThrottled, kThrottled, kThrottled, kSuccess},
       .polled_at = {kZero, Seconds(5), Seconds(10), Seconds(18)}},
      {.name = "ThrottledDelayStartsAtASecondByDefault",
       .options = {.timeout = Hours(1)},
       .script = {kThrottled, kSuccess},
       .polled_at = {kZero, Seconds(1)}},
      {.name = "NotReadyRestartsThrottling",
       .options = {.timeout = Hours(1),
                   .backoff = kEverySecond,
                   .errors = {.throttled_backoff = kTwoFourEight}},
       .script = {kThrottled, kThrottled, kNotReady, kThrottled, kSuccess},
       .polled_at = {kZero, Seconds(2), Seconds(6), Seconds(7), Seconds(9)}},
      {.name = "NotReadyRestartsServerErrors",
       .options = {.timeout = Hours(1),
                   .backoff = kEverySecond,
                   .errors = {.server_error_backoff = kTwoFourEight}},
       .script = {kServerError, kServerError, kNotReady, kServerError,
                  kSuccess},
       .polled_at = {kZero, Seconds(2), Seconds(6), Seconds(7), Seconds(9)}},
  };
}

std::vector<Scenario> ConfirmingEdges() {
  return {
      {.name = "SuccessesInARowDoNotGrowTheDelay",
       .options = {.timeout = Hours(1),
                   .backoff = kOneTwoFour,
                   .confirm = {.successes = 4}},
       .script = {kSuccess},
       .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3)}},
      {.name = "HoldUntilTheDeadlineCounts",
       .options = {.timeout = Milliseconds(2500),
                   .backoff = kEverySecond,
                   .confirm = {.hold_for = Milliseconds(2500)}},
       .script = {kSuccess},
       .polled_at = {kZero, Seconds(1), Seconds(2), Milliseconds(2500)}},
      {.name = "HoldBeyondTheDeadlineFails",
       .options = {.timeout = Milliseconds(2500),
                   .backoff = kEverySecond,
                   .confirm = {.hold_for = Milliseconds(2500) + kNs}},
       .script = {kSuccess},
       .polled_at = {kZero, Seconds(1), Seconds(2), Milliseconds(2500)},
       .reason = StopReason::kDeadline},
      {.name = "FailureWhileConfirmingIsFinal",
       .options = {.timeout = Hours(1),
                   .backoff = kEverySecond,
                   .confirm = {.successes = 3}},
       .script = {kSuccess, kFailed},
       .polled_at = {kZero, Seconds(1)},
       .reason = StopReason::kFailed,
       .code = StatusCode::kUnknown},
      {.name = "AttemptsEndAConfirmation",
       .options = {.timeout = Hours(1),
                   .max_attempts = 2,
                   .backoff = kEverySecond,
                   .confirm = {.successes = 3}},
       .script = {kSuccess},
       .polled_at = {kZero, Seconds(1)},
       .reason = StopReason::kAttempts},
  };
}

}  // namespace

std::vector<Scenario> EdgeScenarios() {
  std::vector<Scenario> all;
  for (auto part : {StartEdges, DeadlineEdges, RetryAfterEdges, LimitsEdges,
                    GrowthEdges, ConfirmingEdges}) {
    for (Scenario& scenario : part()) all.push_back(std::move(scenario));
  }
  return all;
}

}  // namespace waiter
