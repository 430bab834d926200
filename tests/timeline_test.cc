// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When a blocking wait polls and how it ends, one line of time for each rule.
// Delays are the shortest that the jitter allows.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff_options.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/scripted_poll.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::absl::Hours;
using ::absl::InfiniteDuration;
using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;

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
                                        .jitter = Jitter::None()};
constexpr BackoffOptions kTwoFourEight = {.initial_delay = Seconds(2),
                                          .max_delay = Seconds(8),
                                          .jitter = Jitter::None()};
constexpr BackoffOptions kThreeAtLeastTwo = {.initial_delay = Seconds(3),
                                             .max_delay = Seconds(4),
                                             .multiplier = 1,
                                             .jitter = Jitter::None(),
                                             .min_delay = Seconds(2)};

struct ShortestGen {
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() {
    return std::numeric_limits<uint64_t>::max();
  }
  uint64_t operator()() { return 0; }
};

using Script = std::vector<ScriptedPoll<>::Step>;

struct Timeline {
  std::string name;
  WaitOptions options;
  Script script;
  std::vector<absl::Duration> polled_at;
  StopReason reason = StopReason::kSuccess;
  std::optional<absl::Duration> ends_at = std::nullopt;  // the last poll
  bool late = false;
};

void PrintTo(const Timeline& timeline, std::ostream* out) {
  *out << timeline.name;
}

class TimelineTest : public testing::TestWithParam<Timeline> {};

TEST_P(TimelineTest, IsExact) {
  const Timeline& want = GetParam();
  SimulatedClock clock;
  ScriptedPoll<> script(clock, want.script);
  WaitOptions options = want.options;
  options.clock = &clock;
  ShortestGen gen;

  const WaitResult<> result = Waiter(std::ref(script), options).Wait({}, gen);

  EXPECT_EQ(script.polled_at(), want.polled_at);
  EXPECT_EQ(result.reason(), want.reason) << result.status();
  EXPECT_EQ(clock.Elapsed(), want.ends_at.value_or(want.polled_at.back()));
  EXPECT_EQ(result.report().late, want.late);
}

std::string NameOf(const testing::TestParamInfo<Timeline>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Start, TimelineTest,
    testing::ValuesIn(std::vector<Timeline>{
        {.name = "FirstPollIsImmediate",
         .options = {.timeout = Hours(1)},
         .script = {kSuccess},
         .polled_at = {kZero}},
        {.name = "TimeoutZeroChecksOnce",
         .options = {.timeout = kZero},
         .script = {kNotReady},
         .polled_at = {kZero},
         .reason = StopReason::kDeadline},
        {.name = "TimeoutZeroMaySucceed",
         .options = {.timeout = kZero},
         .script = {kSuccess},
         .polled_at = {kZero}},
        {.name = "TimeoutZeroMayFail",
         .options = {.timeout = kZero},
         .script = {kFailed},
         .polled_at = {kZero},
         .reason = StopReason::kFailed},
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
         .options = {.timeout = kZero, .first_poll_delay = Seconds(5)},
         .script = {kNotReady},
         .polled_at = {kZero},
         .reason = StopReason::kDeadline},
        {.name = "FirstPollMayBeDelayed",
         .options = {.timeout = Hours(1), .first_poll_delay = Seconds(5)},
         .script = {kSuccess},
         .polled_at = {Seconds(5)}},
        {.name = "FirstDelayEndsAtTheDeadline",
         .options = {.timeout = Seconds(4), .first_poll_delay = Seconds(5)},
         .script = {kNotReady},
         .polled_at = {Seconds(4)},
         .reason = StopReason::kDeadline},
        {.name = "FirstDelayAsLongAsTheTimeoutPollsOnce",
         .options = {.timeout = Seconds(5), .first_poll_delay = Seconds(5)},
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
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Deadline, TimelineTest,
    testing::ValuesIn(std::vector<Timeline>{
        {.name = "DelaysDoubleUpToTheCapAndEndAtTheDeadline",
         .options = {.timeout = Seconds(13), .backoff = kOneTwoFour},
         .script = {kNotReady},
         .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(7), Seconds(11),
                       Seconds(13)},
         .reason = StopReason::kDeadline},
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
        {.name = "LeadPutsTheLastPollBeforeTheDeadline",
         .options = {.timeout = Seconds(13),
                     .backoff = kOneTwoFour,
                     .final_poll_lead = Seconds(1)},
         .script = {kNotReady,
                    kNotReady,
                    kNotReady,
                    kNotReady,
                    kNotReady,
                    {kSuccess, Seconds(1)}},
         .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(7), Seconds(11),
                       Seconds(12)},
         .ends_at = Seconds(13)},
        {.name = "LeadMakesNoSecondPollAtItsTime",
         .options = {.timeout = Seconds(13),
                     .backoff = kOneTwoFour,
                     .final_poll_lead = Seconds(2)},
         .script = {kNotReady},
         .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(7), Seconds(11)},
         .reason = StopReason::kDeadline},
        {.name = "SlowPollsMakeNoBurst",
         .options = {.timeout = Seconds(10), .backoff = kEverySecond},
         .script = {{kNotReady, Seconds(6)}, kNotReady, kSuccess},
         .polled_at = {kZero, Seconds(7), Seconds(8)}},
        {.name = "SuccessAtTheDeadlineIsInTime",
         .options = {.timeout = Seconds(10), .strict_deadline = true},
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
         .options = {.timeout = Seconds(10), .strict_deadline = true},
         .script = {{kSuccess, Seconds(10) + kNs}},
         .polled_at = {kZero},
         .reason = StopReason::kDeadline,
         .ends_at = Seconds(10) + kNs,
         .late = true},
        {.name = "FailureAtTheLastPollIsKept",
         .options = {.timeout = Seconds(10), .backoff = Every(Minutes(1))},
         .script = {kNotReady, kFailed},
         .polled_at = {kZero, Seconds(10)},
         .reason = StopReason::kFailed},
        {.name = "FailureAfterTheDeadlineIsLate",
         .options = {.timeout = Seconds(10)},
         .script = {{kFailed, Seconds(11)}},
         .polled_at = {kZero},
         .reason = StopReason::kFailed,
         .ends_at = Seconds(11),
         .late = true},
        {.name = "StrictDeadlineDropsALateFailure",
         .options = {.timeout = Seconds(10), .strict_deadline = true},
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
    }),
    NameOf);

// One poll that carries a hint, and the poll after it.
Timeline Hinted(std::string name, absl::Duration hint, absl::Duration next,
                RetryAfterOptions retry_after = {}) {
  return {.name = std::move(name),
          .options = {.timeout = Hours(1),
                      .backoff = kEverySecond,
                      .retry_after = retry_after},
          .script = {NotReady("", hint), kSuccess},
          .polled_at = {kZero, next}};
}

using Rule = RetryAfterOptions::Rule;
constexpr auto kPollAtDeadline =
    RetryAfterOptions::PastDeadline::kPollAtDeadline;

INSTANTIATE_TEST_SUITE_P(
    RetryAfter, TimelineTest,
    testing::ValuesIn(std::vector<Timeline>{
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
         .options = {.timeout = Hours(1), .server_error = kEverySecond},
         .script = {ServerError("503", Seconds(3)), kSuccess},
         .polled_at = {kZero, Seconds(3)}},
        {.name = "HintWithThrottlingIsHonoured",
         .options = {.timeout = Hours(1), .throttled = kEverySecond},
         .script = {Throttled("429", Seconds(3)), kSuccess},
         .polled_at = {kZero, Seconds(3)}},
        {.name = "HintWithFailureIsIgnored",
         .options = {.timeout = Hours(1)},
         .script = {Poll<>(kFailed, "gone", Seconds(3))},
         .polled_at = {kZero},
         .reason = StopReason::kFailed},
        {.name = "HintWithSuccessIsIgnored",
         .options = {.timeout = Hours(1)},
         .script = {Poll<>(kSuccess, "", Seconds(3))},
         .polled_at = {kZero}},
        {.name = "HintWithUnconfirmedSuccessIsIgnored",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .successes_required = 2},
         .script = {Poll<>(kSuccess, "", Seconds(3))},
         .polled_at = {kZero, Seconds(1)}},
        {.name = "HintRestartsTheGrowth",
         .options = {.timeout = Hours(1), .backoff = kOneTwoFour},
         .script = {kNotReady, kNotReady, NotReady("", Seconds(10)), kNotReady,
                    kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(13),
                       Seconds(14)}},
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
                     .retry_after = {.past_deadline = kPollAtDeadline}},
         .script = {NotReady("", Minutes(5)), kNotReady},
         .polled_at = {kZero, Seconds(10)},
         .reason = StopReason::kDeadline},
        {.name = "CutHintFitsBeforeTheDeadline",
         .options = {.timeout = Seconds(10),
                     .backoff = Every(Minutes(1)),
                     .retry_after = {.rule = Rule::kReplace,
                                     .max_retry_after = Seconds(4)}},
         .script = {NotReady("", Hours(1)), kSuccess},
         .polled_at = {kZero, Seconds(4)}},
        {.name = "InfiniteHintCannotOutliveTheDeadline",
         .options = {.timeout = Seconds(2), .backoff = kEverySecond},
         .script = {NotReady("", InfiniteDuration())},
         .polled_at = {kZero, Seconds(1), Seconds(2)},
         .reason = StopReason::kDeadline},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Limits, TimelineTest,
    testing::ValuesIn(std::vector<Timeline>{
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
        {.name = "LastAttemptMaySucceed",
         .options = {.timeout = Hours(1),
                     .max_attempts = 2,
                     .backoff = kEverySecond},
         .script = {kNotReady, kSuccess},
         .polled_at = {kZero, Seconds(1)}},
        {.name = "AttemptsComeBeforeTheDeadline",
         .options = {.timeout = Seconds(1),
                     .max_attempts = 2,
                     .backoff = kEverySecond},
         .script = {kNotReady},
         .polled_at = {kZero, Seconds(1)},
         .reason = StopReason::kAttempts},
        {.name = "ClassLimitComesBeforeAttempts",
         .options = {.timeout = Hours(1),
                     .max_attempts = 2,
                     .max_consecutive_server_errors = 2,
                     .server_error = kEverySecond},
         .script = {kServerError},
         .polled_at = {kZero, Seconds(1)},
         .reason = StopReason::kClassLimit},
        {.name = "ServerErrorsInARowAreLimited",
         .options = {.timeout = Hours(1),
                     .max_consecutive_server_errors = 2,
                     .backoff = kEverySecond,
                     .server_error = kEverySecond},
         .script = {kServerError, kNotReady, kServerError, kServerError},
         .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3)},
         .reason = StopReason::kClassLimit},
        {.name = "ThrottlesInARowAreLimited",
         .options = {.timeout = Hours(1),
                     .max_consecutive_throttles = 2,
                     .backoff = kEverySecond,
                     .server_error = kEverySecond,
                     .throttled = kEverySecond},
         .script = {kThrottled, kServerError, kThrottled, kThrottled},
         .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3)},
         .reason = StopReason::kClassLimit},
        {.name = "ServerErrorTimeIsLimited",
         .options = {.timeout = Hours(1),
                     .max_server_error_time = Seconds(2),
                     .server_error = kEverySecond},
         .script = {kServerError},
         .polled_at = {kZero, Seconds(1), Seconds(2)},
         .reason = StopReason::kClassLimit},
        {.name = "AnotherAnswerRestartsServerErrorTime",
         .options = {.timeout = Hours(1),
                     .max_server_error_time = Seconds(2),
                     .backoff = kEverySecond,
                     .server_error = kEverySecond},
         .script = {kServerError, kServerError, kNotReady, kServerError},
         .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3), Seconds(4),
                       Seconds(5)},
         .reason = StopReason::kClassLimit},
        {.name = "OneServerErrorAllowedEndsAtOnce",
         .options = {.timeout = Hours(1), .max_consecutive_server_errors = 1},
         .script = {kServerError},
         .polled_at = {kZero},
         .reason = StopReason::kClassLimit},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Growth, TimelineTest,
    testing::ValuesIn(std::vector<Timeline>{
        {.name = "ThrottledDelayIsNoShorterThanTheOther",
         .options = {.timeout = Hours(1),
                     .backoff = Every(Seconds(5)),
                     .throttled = kTwoFourEight},
         .script = {kThrottled, kThrottled, kThrottled, kSuccess},
         .polled_at = {kZero, Seconds(5), Seconds(10), Seconds(18)}},
        {.name = "ThrottledDelayStartsAtASecondByDefault",
         .options = {.timeout = Hours(1)},
         .script = {kThrottled, kSuccess},
         .polled_at = {kZero, Seconds(1)}},
        {.name = "NotReadyRestartsThrottling",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .throttled = kTwoFourEight},
         .script = {kThrottled, kThrottled, kNotReady, kThrottled, kSuccess},
         .polled_at = {kZero, Seconds(2), Seconds(6), Seconds(7), Seconds(9)}},
        {.name = "NotReadyRestartsServerErrors",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .server_error = kTwoFourEight},
         .script = {kServerError, kServerError, kNotReady, kServerError,
                    kSuccess},
         .polled_at = {kZero, Seconds(2), Seconds(6), Seconds(7), Seconds(9)}},
        {.name = "ServerErrorLeavesNotReadyGrowing",
         .options = {.timeout = Hours(1),
                     .backoff = kOneTwoFour,
                     .server_error = kEverySecond},
         .script = {kNotReady, kNotReady, kServerError, kNotReady, kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(3), Seconds(4), Seconds(8)}},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Confirming, TimelineTest,
    testing::ValuesIn(std::vector<Timeline>{
        {.name = "SuccessesInARowDoNotGrowTheDelay",
         .options = {.timeout = Hours(1),
                     .backoff = kOneTwoFour,
                     .successes_required = 4},
         .script = {kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3)}},
        {.name = "NotReadyStartsOver",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .successes_required = 2},
         .script = {kSuccess, kNotReady, kSuccess, kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3)}},
        {.name = "ThrottlingStartsOver",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .throttled = kEverySecond,
                     .successes_required = 2},
         .script = {kSuccess, kThrottled, kSuccess, kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3)}},
        {.name = "ServerErrorStartsTheHoldOver",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .server_error = kEverySecond,
                     .hold_for = Seconds(2)},
         .script = {kSuccess, kSuccess, kServerError, kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(2), Seconds(3), Seconds(4),
                       Seconds(5)}},
        {.name = "HoldUntilTheDeadlineCounts",
         .options = {.timeout = Milliseconds(2500),
                     .backoff = kEverySecond,
                     .hold_for = Milliseconds(2500)},
         .script = {kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(2), Milliseconds(2500)}},
        {.name = "HoldBeyondTheDeadlineFails",
         .options = {.timeout = Milliseconds(2500),
                     .backoff = kEverySecond,
                     .hold_for = Milliseconds(2500) + kNs},
         .script = {kSuccess},
         .polled_at = {kZero, Seconds(1), Seconds(2), Milliseconds(2500)},
         .reason = StopReason::kDeadline},
        {.name = "HoldTakesTwoPolls",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .hold_for = Seconds(1)},
         .script = {{kSuccess, Seconds(5)}, kSuccess},
         .polled_at = {kZero, Seconds(6)}},
        {.name = "FailureWhileConfirmingIsFinal",
         .options = {.timeout = Hours(1),
                     .backoff = kEverySecond,
                     .successes_required = 3},
         .script = {kSuccess, kFailed},
         .polled_at = {kZero, Seconds(1)},
         .reason = StopReason::kFailed},
        {.name = "AttemptsEndAConfirmation",
         .options = {.timeout = Hours(1),
                     .max_attempts = 2,
                     .backoff = kEverySecond,
                     .successes_required = 3},
         .script = {kSuccess},
         .polled_at = {kZero, Seconds(1)},
         .reason = StopReason::kAttempts},
    }),
    NameOf);

}  // namespace
}  // namespace waiter
