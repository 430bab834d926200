// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/drivers/scenarios.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace {

using absl::Milliseconds;
using absl::Seconds;
using absl::StatusCode;

constexpr absl::Duration k0 = absl::ZeroDuration();

// 1 s, 2 s, 4 s, 4 s, ... after polls that are not ready, half of that after
// server errors, and 8 s, 16 s, 16 s after throttled ones.
WaitOptions Options(absl::Duration timeout) {
  return {
      .timeout = timeout,
      .backoff = {.initial_delay = Seconds(1),
                  .max_delay = Seconds(4),
                  .jitter = Jitter::None()},
      .errors = {.server_error_backoff = {.initial_delay = Milliseconds(500),
                                          .max_delay = Seconds(2),
                                          .jitter = Jitter::None()},
                 .throttled_backoff = {.initial_delay = Seconds(8),
                                       .max_delay = Seconds(16),
                                       .jitter = Jitter::None()}}};
}

template <typename Change>
WaitOptions Options(absl::Duration timeout, Change change) {
  WaitOptions options = Options(timeout);
  change(options);
  return options;
}

using Rule = RetryAfterOptions::Rule;
using PastDeadline = RetryAfterOptions::PastDeadline;

WaitOptions OptionsWithRule(absl::Duration timeout, Rule rule) {
  return Options(timeout,
                 [rule](auto& o) { o.errors.retry_after.rule = rule; });
}

std::vector<Scenario> StartScenarios() {
  return {
      {.name = "SuccessOnTheFirstPollEndsAtOnce",
       .options = Options(Seconds(60)),
       .script = {Success()},
       .polled_at = {k0}},
      {.name = "TimeoutOfZeroChecksOnce",
       .options = Options(k0),
       .script = {NotReady()},
       .polled_at = {k0},
       .reason = StopReason::kDeadline},
      {.name = "NegativeTimeoutChecksOnce",
       .options = Options(-Seconds(5)),
       .script = {Success()},
       .polled_at = {k0}},
      {.name = "DeadlineInThePastChecksOnce",
       .options = Options(Seconds(60),
                          [](auto& o) { o.deadline = absl::InfinitePast(); }),
       .script = {NotReady()},
       .polled_at = {k0},
       .reason = StopReason::kDeadline},
      {.name = "TimeoutBelowTheFirstDelayPollsAtItsEnd",
       .options = Options(Milliseconds(300)),
       .script = {NotReady()},
       .polled_at = {k0, Milliseconds(300)},
       .reason = StopReason::kDeadline},
      {.name = "FirstPollDelayComesBeforeTheFirstPoll",
       .options = Options(Seconds(60),
                          [](auto& o) { o.polls.first_delay = Seconds(5); }),
       .script = {NotReady(), Success()},
       .polled_at = {Seconds(5), Seconds(6)}},
      {.name = "StopBeforeTheStartPollsNever",
       .options = Options(Seconds(60)),
       .script = {Success()},
       .stop_at = k0,
       .polled_at = {},
       .reason = StopReason::kCancelled,
       .ends_at = k0},
      {.name = "StopInTheFirstPollDelayPollsNever",
       .options = Options(Seconds(60),
                          [](auto& o) { o.polls.first_delay = Seconds(5); }),
       .script = {Success()},
       .stop_at = Seconds(2),
       .polled_at = {},
       .reason = StopReason::kCancelled,
       .ends_at = Seconds(2)},
      {.name = "InvalidOptionsPollNever",
       .options = Options(Seconds(60), [](auto& o) { o.max_attempts = 0; }),
       .script = {Success()},
       .polled_at = {},
       .reason = StopReason::kInvalidOptions,
       .ends_at = k0},
  };
}

std::vector<Scenario> DelayScenarios() {
  return {
      {.name = "DelaysDoubleUpToTheCap",
       .options = Options(Seconds(60)),
       .script = {NotReady(), NotReady(), NotReady(), NotReady(), NotReady(),
                  Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7), Seconds(11),
                     Seconds(15)}},
      {.name = "DelaysRunFromTheEndOfThePoll",
       .options = Options(Seconds(60)),
       .script = {{NotReady(), Seconds(5)},
                  {NotReady(), Seconds(7)},
                  {Success(), Seconds(1)}},
       .polled_at = {k0, Seconds(6), Seconds(15)},
       .ends_at = Seconds(16)},
      {.name = "EachClassGrowsOnItsOwn",
       .options = Options(Seconds(60)),
       // 1 s, 0.5 s, 1 s, then not ready continues at 2 s.
       .script = {NotReady(), ServerError(), ServerError(), NotReady(),
                  Success()},
       .polled_at = {k0, Seconds(1), Milliseconds(1500), Milliseconds(2500),
                     Milliseconds(4500)}},
      {.name = "AHealthierAnswerRestartsTheWorseBackoffs",
       .options = Options(Seconds(200)),
       // Throttled 8 s, not ready 1 s, throttled 8 s again, 16 s.
       .script = {Throttled(), NotReady(), Throttled(), Throttled(), Success()},
       .polled_at = {k0, Seconds(8), Seconds(9), Seconds(17), Seconds(33)}},
      {.name = "ThrottlingRestartsServerErrors",
       .options = Options(Seconds(200)),
       .script = {ServerError(), ServerError(), Throttled(), ServerError(),
                  Success()},
       .polled_at = {k0, Milliseconds(500), Milliseconds(1500),
                     Milliseconds(9500), Seconds(10)}},
      {.name = "ThrottledIsNeverFasterThanNotReady",
       .options = Options(Seconds(60),
                          [](auto& o) {
                            o.errors.throttled_backoff = {
                                .initial_delay = Milliseconds(10),
                                .max_delay = Milliseconds(10),
                                .jitter = Jitter::None(),
                                .min_delay = absl::ZeroDuration()};
                          }),
       .script = {NotReady(), Throttled(), Throttled(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(5)}},
      {.name = "ZeroDelaysPollAtOnce",
       .options = Options(Seconds(60),
                          [](auto& o) {
                            o.backoff.initial_delay = k0;
                            o.max_attempts = 3;
                          }),
       .script = {NotReady()},
       .polled_at = {k0, k0, k0},
       .reason = StopReason::kAttempts},
  };
}

std::vector<Scenario> RetryAfterScenarios() {
  return {
      {.name = "AReplacingHintRestartsTheGrowth",
       .options = OptionsWithRule(Seconds(60), Rule::kReplace),
       .script = {NotReady(), NotReady(), NotReady("", Seconds(3)), NotReady(),
                  Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(6), Seconds(7)}},
      {.name = "AHintIsAdded",
       .options = OptionsWithRule(Seconds(60), Rule::kSum),
       .script = {ServerError("", Seconds(9)), ServerError("", Seconds(9)),
                  Success()},
       .polled_at = {k0, Milliseconds(9500), Milliseconds(19500)}},
      {.name = "AHintIsClampedToTheOvershoot",
       .options = OptionsWithRule(Seconds(90), Rule::kClamp),
       .script = {NotReady("", Seconds(60)), NotReady("", Milliseconds(10)),
                  Success()},
       .polled_at = {k0, Seconds(6), Seconds(8)}},
      {.name = "MeaninglessHintsAreIgnored",
       .options = OptionsWithRule(Seconds(60), Rule::kReplace),
       .script = {NotReady("", k0), NotReady("", -Seconds(1)),
                  NotReady("", absl::InfiniteDuration()),
                  NotReady("", -absl::InfiniteDuration()), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7), Seconds(11)}},
      {.name = "AHintBeyondTheDeadlineStopsAtOnce",
       .options = Options(Seconds(20)),
       .script = {NotReady(), Throttled("", Seconds(30))},
       .polled_at = {k0, Seconds(1)},
       .reason = StopReason::kDeadline},
      {.name = "AHintBeyondTheDeadlineMayPollAtTheDeadline",
       .options = Options(Seconds(20),
                          [](auto& o) {
                            o.errors.retry_after.past_deadline =
                                PastDeadline::kPollAtDeadline;
                          }),
       .script = {NotReady(), Throttled("", Seconds(30)), Success()},
       .polled_at = {k0, Seconds(1), Seconds(20)}},
      {.name = "AHintThatEndsAtTheDeadlinePollsThere",
       .options = Options(Seconds(20)),
       .script = {Throttled("", Seconds(20))},
       .polled_at = {k0, Seconds(20)},
       .reason = StopReason::kDeadline},
  };
}

std::vector<Scenario> DeadlineScenarios() {
  const auto lead = [](auto& o) { o.polls.last_lead = Seconds(2); };
  return {
      {.name = "TheLastPollIsAtTheDeadlineAndTheOnlyOne",
       .options = Options(Seconds(10)),
       .script = {NotReady()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7), Seconds(10)},
       .reason = StopReason::kDeadline},
      {.name = "TheLeadGetsTheLastAnswerInByTheDeadline",
       .options = Options(Seconds(12), lead),
       .script = {NotReady(),
                  NotReady(),
                  NotReady(),
                  NotReady(),
                  {Success(), Seconds(2)}},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7), Seconds(10)},
       .ends_at = Seconds(12)},
      {.name = "NoPollFollowsTheOneWithTheLead",
       .options = Options(Seconds(12), lead),
       .script = {NotReady()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7), Seconds(10)},
       .reason = StopReason::kDeadline},
      {.name = "SuccessExactlyAtTheDeadlineIsInTime",
       .options = Options(Seconds(3)),
       .script = {{NotReady(), Seconds(1)}, {Success(), Seconds(1)}},
       .polled_at = {k0, Seconds(2)},
       .ends_at = Seconds(3)},
      {.name = "FailureAfterTheDeadlineIsLateAndKeepsItsCode",
       .options = Options(Seconds(3)),
       .script = {{Failed(absl::AbortedError("broken")), Seconds(4)}},
       .polled_at = {k0},
       .reason = StopReason::kFailed,
       .code = StatusCode::kAborted,
       .ends_at = Seconds(4),
       .late = true},
  };
}

std::vector<Scenario> DelaySourceScenarios() {
  const auto rule = [](DelayFunction function) {
    return Options(Seconds(60), [&](auto& o) {
      o.delay_source = function;
      o.errors.retry_after.rule = Rule::kReplace;
    });
  };
  return {
      {.name = "ADelayFunctionDecidesByWhatItSees",
       .options = rule([](const DelayRequest& request, absl::BitGenRef) {
         return request.found.status() == PollStatus::kThrottled
                    ? request.attempt * Seconds(10)
                    : request.elapsed + Seconds(1);
       }),
       .script = {NotReady(), NotReady(), Throttled("", Seconds(3)), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(33)}},
      {.name = "TheBackoffsAdvanceOnceForASourceThatCallsAndReturnsNonsense",
       .options = rule([](const DelayRequest& request, absl::BitGenRef) {
         return request.computed() + request.computed() -
                absl::InfiniteDuration();
       }),
       .script = {NotReady(), NotReady(), NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7)}},
      {.name = "ADelayFunctionMayEndTheWait",
       .options = rule([](const DelayRequest& request,
                          absl::BitGenRef) -> std::optional<absl::Duration> {
         if (request.remaining < Seconds(56)) return std::nullopt;
         return Seconds(3);
       }),
       .script = {NotReady()},
       .polled_at = {k0, Seconds(3), Seconds(6)},
       .reason = StopReason::kDelaySource},
      {.name = "InvalidAnswersOfADelayFunctionFallBack",
       .options = rule([](const DelayRequest& request, absl::BitGenRef) {
         return request.attempt == 1   ? -Seconds(1)
                : request.attempt == 2 ? absl::InfiniteDuration()
                                       : -absl::InfiniteDuration();
       }),
       .script = {NotReady(), NotReady(), NotReady("", Seconds(4)), Success()},
       // 1 s, 2 s, and the retry_after.
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7)}},
      {.name = "ADelayFunctionCannotPassTheDeadline",
       .options = rule([](const DelayRequest&, absl::BitGenRef) {
         return absl::Hours(1000000);
       }),
       .script = {NotReady()},
       .polled_at = {k0, Seconds(60)},
       .reason = StopReason::kDeadline},
      {.name = "ADelayListRepeatsItsLastDelayAndHeedsRetryAfter",
       .options = Options(
           Seconds(60),
           [](auto& o) {
             o.delay_source = DelayList({Seconds(1), std::chrono::seconds(2)});
             o.errors.retry_after.max_retry_after = Seconds(20);
           }),
       .script = {NotReady(), Throttled(), NotReady("", Seconds(5)),
                  NotReady("", absl::Hours(1)), NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(8), Seconds(28),
                     Seconds(30)}},
      {.name = "AnEmptyDelayListLeavesTheDelaysToTheOptions",
       .options = rule(DelayList({})),
       .script = {NotReady(), NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3)}},
      {.name = "ANegativeDelayOfAListIsReplaced",
       .options = rule(DelayList({Seconds(5), -Seconds(1)})),
       .script = {NotReady(), NotReady(), Success()},
       .polled_at = {k0, Seconds(5), Seconds(6)}},
      {.name = "ConfirmingIsNotForTheDelaySource",
       .options = Options(Seconds(60),
                          [](auto& o) {
                            o.confirm.successes = 2;
                            o.delay_source = [](const DelayRequest&,
                                                absl::BitGenRef) {
                              return std::nullopt;
                            };
                          }),
       .script = {Success()},
       .polled_at = {k0, Seconds(1)}},
  };
}

std::vector<Scenario> TryAgainAfterScenarios() {
  return {
      {.name = "AnAnswerSetsItsDelayAndGrowthRestarts",
       .options = Options(Seconds(60)),
       .script = {NotReady(), NotReady(), TryAgainAfter(Seconds(10)),
                  NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(13), Seconds(14)}},
      {.name = "AnAnswerMayPollAgainImmediatelyAfterAPollThatWasHeld",
       .options =
           Options(Seconds(60), [](auto& o) { o.backoff.min_delay = k0; }),
       .script = {{TryAgainAfter(k0), Seconds(5)},
                  {TryAgainAfter(k0), Seconds(5)},
                  NotReady(),
                  Success()},
       .polled_at = {k0, Seconds(5), Seconds(10), Seconds(11)}},
      {.name = "AnAnswerSetsItsDelayInPlaceOfADelaySource",
       .options = Options(Seconds(60),
                          [](auto& o) {
                            o.delay_source = [](const DelayRequest&,
                                                absl::BitGenRef) {
                              return std::nullopt;
                            };
                          }),
       .script = {TryAgainAfter(Seconds(2)), Success()},
       .polled_at = {k0, Seconds(2)}},
      {.name = "MinDelayIsALowerBoundOfTheDelayOfAnAnswer",
       .options = Options(Seconds(60),
                          [](auto& o) { o.backoff.min_delay = Seconds(1); }),
       .script = {TryAgainAfter(Milliseconds(1)), Success()},
       .polled_at = {k0, Seconds(1)}},
      {.name = "TheDelayOfAnAnswerEndsAtTheDeadline",
       .options = Options(Seconds(20)),
       .script = {TryAgainAfter(absl::Hours(1))},
       .polled_at = {k0, Seconds(20)},
       .reason = StopReason::kDeadline},
      {.name = "MeaninglessDelaysOfAnswersAreIgnored",
       .options = Options(Seconds(60)),
       .script = {TryAgainAfter(-Seconds(1)),
                  TryAgainAfter(absl::InfiniteDuration()), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3)}},
  };
}

// Replaces the delays after "not ready" by what `function` returns.
WaitOptions OptionsWithSourceOfBackoff(DelayFunction function) {
  class Source : public DelaySource {
   public:
    explicit Source(DelayFunction function) : function_(std::move(function)) {}
    Replaces replaces() const override { return Replaces::kBackoff; }
    std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                            absl::BitGenRef gen) override {
      return function_(request, gen);
    }

   private:
    const DelayFunction function_;
  };
  return Options(Seconds(60), [&](auto& o) {
    o.delay_source = std::make_shared<Source>(std::move(function));
  });
}

std::vector<Scenario> SourceOfBackoffScenarios() {
  return {
      {.name = "ASourceOfTheBackoffLeavesThrottlingAndErrorsAlone",
       .options = OptionsWithSourceOfBackoff(
           [](const DelayRequest&, absl::BitGenRef) { return Seconds(10); }),
       .script = {NotReady(), Throttled(), ServerError(), NotReady(),
                  Success()},
       .polled_at = {k0, Seconds(10), Seconds(18), Milliseconds(18500),
                     Milliseconds(28500)}},
      {.name = "ASourceOfTheBackoffMayLeaveADelayToIt",
       .options = OptionsWithSourceOfBackoff(
           [](const DelayRequest& request,
              absl::BitGenRef) -> std::optional<absl::Duration> {
             if (request.attempt % 2 == 0) return std::nullopt;
             return Seconds(3);
           }),
       // The fourth poll is at 7 s, as with delays of 1 s, 2 s and 4 s.
       .script = {NotReady(), NotReady(), NotReady(), NotReady(), Success()},
       .polled_at = {k0, Seconds(3), Seconds(4), Seconds(7), Seconds(11)}},
      {.name = "RetryAfterAndMinDelayHoldForASourceOfTheBackoff",
       .options = OptionsWithSourceOfBackoff(
           [](const DelayRequest&, absl::BitGenRef) { return k0; }),
       .script = {NotReady(), NotReady("", Seconds(4)), Success()},
       .polled_at = {k0, Milliseconds(10), Milliseconds(4010)}},
      {.name = "InvalidAnswersOfASourceOfTheBackoffFallBack",
       .options = OptionsWithSourceOfBackoff([](const DelayRequest& request,
                                                absl::BitGenRef) {
         return request.attempt == 1 ? -Seconds(1) : absl::InfiniteDuration();
       }),
       .script = {NotReady(), NotReady(), NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3), Seconds(7)}},
  };
}

std::vector<Scenario> LimitScenarios() {
  return {
      {.name = "SuccessOnTheLastAttemptIsSuccess",
       .options = Options(Seconds(60), [](auto& o) { o.max_attempts = 3; }),
       .script = {NotReady(), NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(3)}},
      {.name = "ServerErrorsInARowAreLimited",
       .options =
           Options(Seconds(60),
                   [](auto& o) { o.errors.max_consecutive_server_errors = 2; }),
       .script = {ServerError(), NotReady(), ServerError(), ServerError()},
       .polled_at = {k0, Milliseconds(500), Milliseconds(1500), Seconds(2)},
       .reason = StopReason::kConsecutiveLimit},
      {.name = "FailureKeepsItsCode",
       .options = Options(Seconds(60)),
       .script = {NotReady(), Failed(absl::DataLossError("gone"))},
       .polled_at = {k0, Seconds(1)},
       .reason = StopReason::kFailed,
       .code = StatusCode::kDataLoss},
      {.name = "ItsOwnCancelledIsAFailure",
       .options = Options(Seconds(60)),
       .script = {Failed(absl::CancelledError("by the server"))},
       .polled_at = {k0},
       .reason = StopReason::kFailed,
       .code = StatusCode::kCancelled},
      {.name = "AnUnknownStatusIsAFailure",
       .options = Options(Seconds(60)),
       .script = {Poll<>(static_cast<PollStatus>(9))},
       .polled_at = {k0},
       .reason = StopReason::kFailed,
       .code = StatusCode::kInternal},
  };
}

std::vector<Scenario> StopScenarios() {
  // A stop during the first poll.
  const auto in_a_poll = [](std::string name, const WaitOptions& options,
                            const Poll<>& found, StopReason reason,
                            StatusCode code) {
    return Scenario{.name = std::move(name),
                    .options = options,
                    .script = {{found, Seconds(2)}},
                    .stop_at = Seconds(1),
                    .polled_at = {k0},
                    .reason = reason,
                    .code = code,
                    .ends_at = Seconds(2)};
  };
  return {
      in_a_poll("StopInAPollThatIsThrottledIsCancelled", Options(Seconds(60)),
                Throttled(), StopReason::kCancelled, StatusCode::kCancelled),
      in_a_poll("StopInAPollThatFindsAServerErrorIsCancelled",
                Options(Seconds(60)), ServerError(), StopReason::kCancelled,
                StatusCode::kCancelled),
      in_a_poll("StopInAPollWhoseSuccessIsNotConfirmedIsCancelled",
                Options(Seconds(60), [](auto& o) { o.confirm.successes = 2; }),
                Success(), StopReason::kCancelled, StatusCode::kCancelled),
      in_a_poll("StopInTheLastPollOfALimitIsTheLimit",
                Options(Seconds(60), [](auto& o) { o.max_attempts = 1; }),
                NotReady(), StopReason::kAttempts,
                StatusCode::kResourceExhausted),
      {.name = "StopAtTheEndOfTheLastSleepIsCancelled",
       .options = Options(Milliseconds(2500)),
       .script = {NotReady()},
       .stop_at = Milliseconds(2500),
       .polled_at = {k0, Seconds(1)},
       .reason = StopReason::kCancelled,
       .code = StatusCode::kCancelled,
       .ends_at = Milliseconds(2500)},
      {.name = "StopInASleepEndsItAtOnce",
       .options = Options(Seconds(60)),
       .script = {NotReady()},
       .stop_at = Milliseconds(3500),
       .polled_at = {k0, Seconds(1), Seconds(3)},
       .reason = StopReason::kCancelled,
       .ends_at = Milliseconds(3500)},
      {.name = "StopInAPollThatSucceedsIsSuccess",
       .options = Options(Seconds(60)),
       .script = {{Success(), Seconds(2)}},
       .stop_at = Seconds(1),
       .polled_at = {k0},
       .ends_at = Seconds(2)},
      {.name = "StopInAPollThatFailsIsItsFailure",
       .options = Options(Seconds(60)),
       .script = {{Failed(absl::AbortedError("broken")), Seconds(2)}},
       .stop_at = Seconds(1),
       .polled_at = {k0},
       .reason = StopReason::kFailed,
       .code = StatusCode::kAborted,
       .ends_at = Seconds(2)},
      {.name = "StopInAPollThatIsNotReadyIsCancelled",
       .options = Options(Seconds(60)),
       .script = {{NotReady(), Seconds(2)}},
       .stop_at = Seconds(1),
       .polled_at = {k0},
       .reason = StopReason::kCancelled,
       .ends_at = Seconds(2)},
      {.name = "StopAtTheDeadlineIsCancelled",
       .options = Options(Seconds(3)),
       .script = {NotReady(), {NotReady(), Seconds(2)}},
       .stop_at = Seconds(3),
       .polled_at = {k0, Seconds(1)},
       .reason = StopReason::kCancelled,
       .ends_at = Seconds(3)},
      {.name = "StopAtTheEndOfASleepPollsNoMore",
       .options = Options(Seconds(60)),
       .script = {NotReady()},
       .stop_at = Seconds(1),
       .polled_at = {k0},
       .reason = StopReason::kCancelled,
       .ends_at = Seconds(1)},
  };
}

std::vector<Scenario> HoldScenarios() {
  const auto three = [](auto& o) { o.confirm.successes = 3; };
  return {
      {.name = "SuccessesMustBeInARowAndDoNotGrow",
       .options = Options(Seconds(60), three),
       .script = {Success(), Success(), NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(2), Seconds(3), Seconds(4),
                     Seconds(5)}},
      {.name = "ThrottlingStartsTheConfirmationOver",
       .options =
           Options(Seconds(60), [](auto& o) { o.confirm.successes = 2; }),
       .script = {Success(), Throttled(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(9), Seconds(10)}},
      {.name = "AHoldEndsWithAPollExactlyAtItsEnd",
       .options =
           Options(Seconds(60),
                   [](auto& o) { o.confirm.hold_for = Milliseconds(2500); }),
       .script = {NotReady(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(2), Seconds(3),
                     Milliseconds(3500)}},
      {.name = "AHoldThatIsBrokenStartsOver",
       .options = Options(Seconds(60),
                          [](auto& o) { o.confirm.hold_for = Seconds(2); }),
       .script = {Success(), Success(), ServerError(), Success()},
       .polled_at = {k0, Seconds(1), Seconds(2), Milliseconds(2500),
                     Milliseconds(3500), Milliseconds(4500)}},
      {.name = "OneSlowPollIsNoHold",
       .options = Options(Seconds(60),
                          [](auto& o) { o.confirm.hold_for = Seconds(2); }),
       .script = {{Success(), Seconds(5)}, Success()},
       .polled_at = {k0, Seconds(6)}},
  };
}

}  // namespace

std::vector<Scenario> RuleScenarios() {
  std::vector<Scenario> all;
  for (auto part :
       {StartScenarios, DelayScenarios, RetryAfterScenarios,
        DelaySourceScenarios, TryAgainAfterScenarios, SourceOfBackoffScenarios,
        DeadlineScenarios, LimitScenarios, StopScenarios, HoldScenarios}) {
    for (Scenario& scenario : part()) all.push_back(std::move(scenario));
  }
  return all;
}

}  // namespace waiter
