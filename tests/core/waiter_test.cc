// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/waiter.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "tests/support/vectors.h"
#include "waiter/backoff.h"
#include "waiter/classify.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::waiter_test {
namespace {

using ::absl::Hours;
using ::absl::InfiniteDuration;
using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Nanoseconds;
using ::absl::Seconds;
using ::absl::StatusCode;
using ::absl::ZeroDuration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Delays without jitter, so that every expected delay is exact.
constexpr BackoffOptions kEverySecond = Every(Seconds(1));
constexpr BackoffOptions kOneTwoFour = {.initial_delay = Seconds(1),
                                        .max_delay = Seconds(4),
                                        .jitter = Jitter::None()};

constexpr absl::Duration kNs = Nanoseconds(1);
constexpr PollStatus kSuccess = PollStatus::kSuccess;
constexpr PollStatus kNotReady = PollStatus::kNotReady;
constexpr PollStatus kServerError = PollStatus::kServerError;
constexpr PollStatus kFailed = PollStatus::kFailed;

// Types that are status functions, and types that are not.

template <typename F, typename T>
concept Finds = StatusFunction<F> && std::same_as<typename ValueOf<F>::type, T>;

struct PollsWithContext {
  bool operator()(const PollContext&) { return true; }
};
struct PollsOnceOnly {
  bool operator()() && { return true; }
};
struct PollsEitherWay {
  bool operator()() { return false; }
  Poll<int> operator()(const PollContext&) { return Success(1); }
};

static_assert(Finds<bool (*)(), void>);
static_assert(!StatusFunction<int (*)()>);
static_assert(!StatusFunction<bool* (*)()>);
static_assert(Finds<PollStatus (*)(), void>);
static_assert(!StatusFunction<void (*)()>);
static_assert(Finds<Poll<> (*)(), void>);
static_assert(Finds<Poll<int> (*)(), int>);
static_assert(!StatusFunction<std::optional<int> (*)()>);
static_assert(Finds<absl::Status (*)(), void>);
static_assert(!StatusFunction<absl::StatusCode (*)()>);
static_assert(Finds<absl::StatusOr<std::string> (*)(), std::string>);
static_assert(!StatusFunction<std::string (*)()>);
static_assert(Finds<const bool& (*)(), void>);
static_assert(Finds<const Poll<int> (*)(), int>);
static_assert(Finds<bool (*)(const PollContext&), void>);
static_assert(!StatusFunction<bool (*)(PollContext&)>);
static_assert(Finds<bool (*)(PollContext), void>);
static_assert(!StatusFunction<bool (*)(int)>);
static_assert(!StatusFunction<bool (*)(const PollContext&, int)>);
static_assert(Finds<PollsWithContext, void>);
static_assert(!StatusFunction<PollsOnceOnly>);
static_assert(Finds<PollsEitherWay, int>);
static_assert(Finds<std::function<Poll<int>()>, int>);
static_assert(!StatusFunction<std::function<int()>>);
static_assert(Finds<Poll<std::unique_ptr<int>> (*)(), std::unique_ptr<int>>);
static_assert(Finds<std::reference_wrapper<ScriptedPoll<int>>, int>);
static_assert(!StatusFunction<bool>);

TEST(WaiterTest, WaiterAcceptsEveryKindOfAnswer) {
  const WaitOptions once = {.timeout = ZeroDuration()};
  const auto reason = [&](auto answer) {
    return Waiter([answer] { return answer; }, once).Wait().reason();
  };

  EXPECT_EQ(reason(PollStatus::kSuccess), StopReason::kSuccess);
  EXPECT_EQ(reason(PollStatus::kServerError), StopReason::kDeadline);
  EXPECT_EQ(reason(PollStatus::kFailed), StopReason::kFailed);
  EXPECT_EQ(reason(true), StopReason::kSuccess);
  EXPECT_EQ(reason(false), StopReason::kDeadline);
  EXPECT_EQ(reason(Success()), StopReason::kSuccess);
  EXPECT_EQ(reason(Success(1)), StopReason::kSuccess);
  EXPECT_EQ(reason(Failed("no")), StopReason::kFailed);
  EXPECT_EQ(reason(absl::OkStatus()), StopReason::kSuccess);
  EXPECT_EQ(reason(absl::UnavailableError("")), StopReason::kDeadline);
  EXPECT_EQ(reason(absl::NotFoundError("")), StopReason::kFailed);
  EXPECT_EQ(reason(absl::StatusOr<int>(1)), StopReason::kSuccess);
  EXPECT_EQ(reason(absl::StatusOr<int>(absl::NotFoundError(""))),
            StopReason::kFailed);
}

TEST(WaiterTest, ResultConvertsToStatusOr) {
  Waiter found([] { return absl::StatusOr<int>(7); }, {.timeout = Seconds(1)});
  const absl::StatusOr<int> value = found.Wait();
  EXPECT_EQ(*value, 7);

  Waiter failed([]() -> Poll<int> { return Failed(absl::NotFoundError("x")); },
                {.timeout = Seconds(1)});
  const absl::StatusOr<int> error = failed.Wait();
  EXPECT_THAT(error.status(),
              StatusIs(StatusCode::kNotFound, StartsWith("x (wait, after ")));

  Waiter no_value([] { return absl::NotFoundError("y"); },
                  {.timeout = Seconds(1)});
  const absl::Status status = no_value.Wait();
  EXPECT_THAT(status,
              StatusIs(StatusCode::kNotFound, StartsWith("y (wait, after ")));
}

TEST(WaiterTest, CallWithContextIsPreferred) {
  Waiter wait(PollsEitherWay(), {.timeout = ZeroDuration()});

  EXPECT_EQ(*wait.Wait(), 1);
}

// A value that is neither copyable nor default-constructible.
struct Instance {
  explicit Instance(int n) : number(std::make_unique<int>(n)) {}
  std::unique_ptr<int> number;
};

TEST(WaiterTest, ValueAndFunctionMayBeMoveOnly) {
  Waiter wait([n = std::make_unique<int>(
                   7)]() -> Poll<Instance> { return Success(Instance(*n)); },
              {.timeout = Seconds(1)});

  WaitResult<Instance> result = wait.Wait();
  Instance instance = *std::move(result);
  EXPECT_EQ(*instance.number, 7);
  EXPECT_EQ(*wait.Wait()->number, 7);
}

struct CountsCopies {
  explicit CountsCopies(int& n) : copies(n) {}
  CountsCopies(const CountsCopies& other) : copies(other.copies) { ++copies; }
  CountsCopies(CountsCopies&&) = default;
  int& copies;
};

TEST(WaiterTest, ValueIsNeverCopied) {
  int copies = 0;
  int polls = 0;
  Waiter wait(
      [&]() -> Poll<CountsCopies> {
        if (++polls < 3) return NotReady();
        return Success(CountsCopies(copies));
      },
      {.timeout = Seconds(1), .backoff = Every(ZeroDuration())});

  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_EQ(copies, 0);
}

TEST(WaiterTest, EmptyFunctionIsInvalid) {
  const WaitOptions options = {.name = "w", .timeout = Seconds(1)};
  Waiter function(std::function<bool()>(), options);
  Waiter takes_context(std::function<Poll<int>(const PollContext&)>(), options);
  Waiter pointer(static_cast<bool (*)()>(nullptr), options);

  EXPECT_EQ(function.Wait().reason(), StopReason::kInvalidOptions);
  EXPECT_THAT(function.Wait().status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(takes_context.Wait().status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(pointer.Wait().status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
}

bool Yes() { return true; }

TEST(WaiterTest, PointersAndStdFunctionsArePolled) {
  EXPECT_TRUE(Waiter(&Yes, {.timeout = ZeroDuration()}).Wait().ok());
  EXPECT_TRUE(Waiter(Yes, {.timeout = ZeroDuration()}).Wait().ok());
  EXPECT_TRUE(Waiter(std::function<bool()>(Yes), {.timeout = ZeroDuration()})
                  .Wait()
                  .ok());
}

// Deadlines and hints. The driver scenarios check the rest.

TEST(WaiterTest, JitterOfAHintIsAQuarterAtMost) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock,
                        {NotReady("", Seconds(4)), NotReady("", Seconds(8)),
                         NotReady("", Seconds(100)), kSuccess});
  Waiter wait(
      std::ref(script),
      {.timeout = Seconds(20),
       .errors = {.retry_after =
                      {.max_retry_after = Seconds(9),
                       .past_deadline =
                           RetryAfterOptions::PastDeadline::kPollAtDeadline}},
       .clock = &clock});
  PlayedDraws gen(kHighestDraws);

  EXPECT_TRUE(wait.Wait({.gen = gen}).ok());
  // The longest delays allowed, 4 + 1 and 8 + 1, and then the time left.
  EXPECT_THAT(script.polled_at(), ElementsAre(ZeroDuration(), Seconds(5),
                                              Seconds(14), Seconds(20)));
}

TEST(WaiterTest, HintThatFitsOnlyWithoutJitterIsHonored) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {NotReady("", Seconds(10)), kSuccess});
  Waiter wait(std::ref(script), {.timeout = Seconds(10), .clock = &clock});
  PlayedDraws gen(kHighestDraws);

  EXPECT_TRUE(wait.Wait({.gen = gen}).ok());
  EXPECT_THAT(script.polled_at(), ElementsAre(ZeroDuration(), Seconds(10)));
}

TEST(WaiterTest, DeadlineMayBeAPointInTime) {
  const auto polled_at = [](absl::Duration timeout, absl::Time deadline) {
    SimulatedClock clock;
    ScriptedPoll<> script(clock, {kNotReady});
    Waiter wait(std::ref(script), {.timeout = timeout,
                                   .deadline = deadline,
                                   .backoff = Every(Minutes(1)),
                                   .clock = &clock});
    EXPECT_EQ(wait.Wait().reason(), StopReason::kDeadline);
    return script.polled_at();
  };
  const absl::Time start = SimulatedClock().TimeNow();
  const absl::Duration zero = ZeroDuration();

  EXPECT_THAT(polled_at(InfiniteDuration(), start + Seconds(9)),
              ElementsAre(zero, Seconds(9)));
  EXPECT_THAT(polled_at(Seconds(8), start + Seconds(9)),
              ElementsAre(zero, Seconds(8)));
  EXPECT_THAT(polled_at(Seconds(9), start + Seconds(8)),
              ElementsAre(zero, Seconds(8)));
  EXPECT_THAT(polled_at(Seconds(9), absl::InfiniteFuture()),
              ElementsAre(zero, Seconds(9)));
  EXPECT_THAT(
      polled_at(Seconds(9), absl::FromCivil(absl::CivilSecond(9999, 12, 31),
                                            absl::UTCTimeZone())),
      ElementsAre(zero, Seconds(9)));
  EXPECT_THAT(polled_at(Seconds(9), start - kNs), ElementsAre(zero));
  EXPECT_THAT(polled_at(Seconds(9), absl::UnixEpoch() - Hours(1)),
              ElementsAre(zero));
  EXPECT_THAT(polled_at(Seconds(9), absl::InfinitePast()), ElementsAre(zero));
}

TEST(WaiterTest, PastDeadlineStillAllowsASuccess) {
  for (const absl::Time deadline :
       {absl::InfinitePast(), absl::UnixEpoch(), SimulatedClock().TimeNow()}) {
    SimulatedClock clock;
    ScriptedPoll<> script(clock, {kSuccess});
    Waiter wait(std::ref(script), {.deadline = deadline, .clock = &clock});

    EXPECT_TRUE(wait.Wait().ok());
  }
}

TEST(WaiterTest, WallClockStepsChangeNothing) {
  for (const absl::Duration step : {Hours(1), -Hours(1)}) {
    SimulatedClock clock;
    std::vector<absl::Duration> polled_at;
    Waiter wait(
        [&] {
          polled_at.push_back(clock.Elapsed());
          if (polled_at.size() == 2) clock.StepWallClock(step);
          return false;
        },
        {.deadline = clock.TimeNow() + Seconds(7),
         .backoff = kOneTwoFour,
         .clock = &clock});
    clock.CallAt(Milliseconds(500), [&] { clock.StepWallClock(step); });

    const WaitResult<> result = wait.Wait();

    EXPECT_THAT(polled_at, ElementsAre(ZeroDuration(), Seconds(1), Seconds(3),
                                       Seconds(7)));
    EXPECT_EQ(result.report().elapsed, Seconds(7));
    EXPECT_EQ(result.report().slept, Seconds(7));
  }
}

TEST(WaiterTest, ContextDescribesTheWaitToEachPoll) {
  SimulatedClock clock;
  const absl::Time start = clock.TimeNow();
  const waiter::stop_source stop;
  std::vector<PollContext> seen;
  Waiter wait(
      [&](const PollContext& context) {
        seen.push_back(context);
        clock.AdvanceTime(Seconds(1));
        return seen.size() == 1 ? kServerError : kNotReady;
      },
      {.timeout = Seconds(10),
       .poll_timeout = Seconds(3),
       .backoff = Every(Seconds(7)),
       .errors = {.server_error_backoff = kEverySecond},
       .clock = &clock});

  EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kDeadline);

  ASSERT_EQ(seen.size(), 3);
  EXPECT_EQ(seen[0].attempt, 1);
  EXPECT_EQ(seen[0].elapsed, ZeroDuration());
  EXPECT_EQ(seen[0].remaining, Seconds(10));
  EXPECT_EQ(seen[0].timeout, Seconds(3));
  EXPECT_EQ(seen[0].deadline, start + Seconds(3));
  EXPECT_EQ(seen[0].stop_token, stop.get_token());
  EXPECT_EQ(seen[0].last_status, std::nullopt);
  EXPECT_EQ(seen[1].attempt, 2);
  EXPECT_EQ(seen[1].elapsed, Seconds(2));
  EXPECT_EQ(seen[1].remaining, Seconds(8));
  EXPECT_EQ(seen[1].deadline, start + Seconds(5));
  EXPECT_EQ(seen[1].last_status, kServerError);
  EXPECT_EQ(seen[2].attempt, 3);
  EXPECT_EQ(seen[2].elapsed, Seconds(10));
  EXPECT_EQ(seen[2].remaining, ZeroDuration());
  EXPECT_EQ(seen[2].timeout, Seconds(3));
  EXPECT_EQ(seen[2].deadline, start + Seconds(13));
  EXPECT_EQ(seen[2].last_status, kNotReady);
}

TEST(WaiterTest, ContextOfAnEndlessWaitIsInfinite) {
  SimulatedClock clock;
  PollContext seen;
  Waiter wait(
      [&](const PollContext& context) {
        seen = context;
        return context.attempt == 3;
      },
      {.timeout = InfiniteDuration(), .clock = &clock});

  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_EQ(seen.remaining, InfiniteDuration());
  EXPECT_EQ(seen.timeout, InfiniteDuration());
  EXPECT_EQ(seen.deadline, absl::InfiniteFuture());
  EXPECT_FALSE(seen.stop_token.stop_possible());
}

TEST(WaiterTest, RemainingTimeIsNeverNegative) {
  SimulatedClock clock;
  for (const absl::Duration timeout : {-Seconds(1), -InfiniteDuration()}) {
    PollContext seen;
    Waiter wait(
        [&](const PollContext& context) {
          seen = context;
          return false;
        },
        {.timeout = timeout, .poll_timeout = Seconds(3), .clock = &clock});

    EXPECT_EQ(wait.Wait().reason(), StopReason::kDeadline);
    EXPECT_EQ(seen.remaining, ZeroDuration());
    EXPECT_EQ(seen.timeout, Seconds(3));
  }
}

TEST(WaiterTest, PollTimeoutHoldsWithoutADeadline) {
  SimulatedClock clock;
  Waiter wait(
      [&](const PollContext& context) {
        return context.timeout == Seconds(3) &&
               context.deadline == clock.TimeNow() + Seconds(3);
      },
      {.timeout = InfiniteDuration(),
       .max_attempts = 1,
       .poll_timeout = Seconds(3),
       .clock = &clock});

  EXPECT_TRUE(wait.Wait().ok());
}

TEST(WaiterTest, OverrunningPollIsAwaitedAndReported) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {{kNotReady, Seconds(4)}, kSuccess});
  Waiter wait(std::ref(script), {.timeout = Minutes(1),
                                 .poll_timeout = Seconds(1),
                                 .backoff = kEverySecond,
                                 .clock = &clock});

  const WaitResult<> result = wait.Wait();
  EXPECT_EQ(result.report().longest_poll, Seconds(4));
  EXPECT_THAT(script.polled_at(), ElementsAre(ZeroDuration(), Seconds(5)));
}

// Ends of a wait.

TEST(WaiterTest, FailureKeepsItsCodeAndMessageAndNamesTheWait) {
  for (const absl::Status& error :
       {absl::CancelledError("mine"), absl::DeadlineExceededError("mine"),
        absl::InvalidArgumentError("mine"), absl::AbortedError("")}) {
    SimulatedClock clock;
    Waiter wait([&] { return error; },
                {.timeout = Seconds(1), .clock = &clock});

    const WaitResult<> result = wait.Wait();

    EXPECT_EQ(result.reason(), StopReason::kFailed);
    EXPECT_EQ(result.status().code(), error.code());
    EXPECT_TRUE(absl::StartsWith(result.status().message(), error.message()))
        << result.status();
    EXPECT_TRUE(absl::EndsWith(result.status().message(),
                               "(wait, after 1 attempt in 0)"))
        << result.status();
    EXPECT_EQ(result.report().last_poll.error(), error);
    EXPECT_EQ(result.report().attempts, 1);
  }
}

TEST(WaiterTest, ContradictionsBecomeInternalFailures) {
  for (const Poll<>& found :
       {Failed(absl::OkStatus()), ServerError(absl::OkStatus()),
        Throttled(absl::OkStatus()), Poll<>(static_cast<PollStatus>(99)),
        Poll<>(static_cast<PollStatus>(99), "?"),
        Poll<>(static_cast<PollStatus>(99), absl::UnavailableError("?"))}) {
    Waiter wait([&] { return found; }, {.timeout = Seconds(1)});

    const WaitResult<> result = wait.Wait();

    EXPECT_EQ(result.reason(), StopReason::kFailed);
    EXPECT_EQ(result.report().attempts, 1);
    EXPECT_EQ(result.report().count(kFailed), 1);
  }
  Waiter bare([] { return static_cast<PollStatus>(5); },
              {.timeout = Seconds(1)});
  EXPECT_THAT(bare.Wait().status(), StatusIs(StatusCode::kInternal));
}

struct Thrown {};

TEST(WaiterTest, ExceptionsPropagateAndTheWaiterStaysUsable) {
  SimulatedClock clock;
  for (const int64_t throws_at : {1, 2, 3}) {
    bool throws = true;
    int polls = 0;
    Waiter wait(
        [&](const PollContext& context) {
          ++polls;
          if (throws && context.attempt == throws_at) throw Thrown();
          return context.attempt == 3;
        },
        {.timeout = Seconds(2), .backoff = kEverySecond, .clock = &clock});

    EXPECT_THROW((void)wait.Wait(), Thrown);
    EXPECT_EQ(polls, throws_at);
    throws = false;
    EXPECT_TRUE(wait.Wait().ok());
  }
}

TEST(WaiterTest, ExceptionAfterStopOrDeadlinePropagates) {
  SimulatedClock clock;
  waiter::stop_source stop;
  Waiter wait(
      [&]() -> bool {
        stop.request_stop();
        clock.AdvanceTime(Hours(1));
        throw Thrown();
      },
      {.timeout = Seconds(1), .clock = &clock});

  EXPECT_THROW((void)wait.Wait(stop.get_token()), Thrown);
}

struct FailingWait {
  WaitOptions options;
  std::vector<ScriptedPoll<>::Step> script;
  std::string_view status;
};

// Waits that poll every second until a stop is requested after an hour.
std::vector<FailingWait> FailingWaits() {
  return {
      {{.timeout = Seconds(3)},
       {NotReady("CREATING")},
       "DEADLINE_EXCEEDED: job 7: timeout of 3s reached after 4 attempts in "
       "3s; last poll: not ready: CREATING"},
      {{.timeout = Seconds(3)},
       {kNotReady, {Throttled("429"), Seconds(9)}},
       "DEADLINE_EXCEEDED: job 7: timeout of 3s reached after 2 attempts in "
       "10s; last poll: throttled: 429"},
      {{.deadline = absl::UnixEpoch()},
       {kNotReady},
       "DEADLINE_EXCEEDED: job 7: deadline of 1970-01-01T00:00:00+00:00 "
       "reached after 1 attempt in 0; last poll: not ready"},
      {{.timeout = Hours(1), .deadline = absl::UnixEpoch()},
       {ServerError(absl::UnavailableError("connection refused"))},
       "DEADLINE_EXCEEDED: job 7: deadline of 1970-01-01T00:00:00+00:00 "
       "reached after 1 attempt in 0; last poll: server error: UNAVAILABLE: "
       "connection refused"},
      {{.timeout = Seconds(3), .polls = {.strict_deadline = true}},
       {{kSuccess, Seconds(4)}},
       "DEADLINE_EXCEEDED: job 7: timeout of 3s missed by 1s "
       "(strict_deadline) after 1 attempt in 4s; last poll: success"},
      {{.timeout = Seconds(3), .confirm = {.hold_for = Seconds(9)}},
       {{kSuccess, Seconds(1)}},
       "DEADLINE_EXCEEDED: job 7: timeout of 3s reached after 2 attempts in "
       "3s; last poll: success, 2 in a row for 3s"},
      {{.timeout = Seconds(20)},
       {{Throttled("429", Hours(1)), Seconds(3)}},
       "DEADLINE_EXCEEDED: job 7: the server's retry_after of 1h exceeds the "
       "remaining 17s (timeout of 20s), gave up after 1 attempt in 3s; last "
       "poll: throttled: 429"},
      {{.timeout = Seconds(3)},
       {{NotReady("CREATING", Seconds(9))}},
       "DEADLINE_EXCEEDED: job 7: the server's retry_after of 9s exceeds the "
       "remaining 3s (timeout of 3s), gave up after 1 attempt in 0; last poll: "
       "not ready: CREATING"},
      {{.timeout = Hours(2), .max_attempts = 2},
       {ServerError(absl::UnavailableError("503"))},
       "RESOURCE_EXHAUSTED: job 7: max_attempts of 2 reached after 2 attempts "
       "in 1s; last poll: server error: UNAVAILABLE: 503"},
      {{.timeout = Hours(2), .errors = {.max_consecutive_server_errors = 2}},
       {ServerError("reset")},
       "RESOURCE_EXHAUSTED: job 7: max_consecutive_server_errors of 2 reached "
       "after 2 attempts in 1s; last poll: server error: reset"},
      {{.timeout = Hours(2)},
       {NotReady("CREATING")},
       "CANCELLED: job 7: stop requested after 3600 attempts in 1h; last poll: "
       "not ready: CREATING"},
      {{.timeout = Hours(2), .polls = {.first_delay = Hours(1)}},
       {kSuccess},
       "CANCELLED: job 7: stop requested after 0 attempts in 1h; no poll was "
       "made"},
  };
}

// Name, limit, attempts, time and last poll.
TEST(WaiterTest, EveryFailingMessageHasOneShape) {
  for (const auto& [given, script, status] : FailingWaits()) {
    SimulatedClock clock;
    ScriptedPoll<> play(clock, script);
    waiter::stop_source stop;
    clock.CallAt(Hours(1), [&] { stop.request_stop(); });
    WaitOptions options = given;
    options.name = "job 7";
    options.backoff = options.errors.server_error_backoff =
        options.errors.throttled_backoff = kEverySecond;
    options.clock = &clock;

    const WaitResult<> result =
        Waiter(std::ref(play), options).Wait(stop.get_token());

    EXPECT_EQ(
        result.status().ToString(absl::StatusToStringMode::kWithNoExtraData),
        status);
  }
}

TEST(WaiterTest, ReportIsExactToTheNanosecond) {
  SimulatedClock clock;
  ScriptedPoll<> script(
      clock, {{NotReady("CREATING"), Nanoseconds(3)},
              {ServerError(absl::UnavailableError("503")), Nanoseconds(50)},
              {Throttled("429", Seconds(3)), Nanoseconds(700)},
              {ServerError("last"), Nanoseconds(11)},
              {NotReady("later"), Nanoseconds(17)},
              {kSuccess, Nanoseconds(13)}});
  Waiter wait(std::ref(script),
              {.timeout = Minutes(1),
               .backoff = Every(Nanoseconds(1001)),
               .errors = {.server_error_backoff = Every(Nanoseconds(2003)),
                          .throttled_backoff = Every(Nanoseconds(5))},
               .clock = &clock});
  PlayedDraws gen(kLowestDraws);

  const WaitResult<> result = wait.Wait({.gen = gen});
  const WaitReport& report = result.report();

  EXPECT_EQ(report.attempts, 6);
  EXPECT_THAT(report.counts, ElementsAre(1, 2, 1, 2, 0));
  EXPECT_EQ(report.slept, Seconds(3) + Nanoseconds(2 * 1001 + 2 * 2003));
  EXPECT_EQ(report.elapsed,
            report.slept + Nanoseconds(3 + 50 + 700 + 11 + 17 + 13));
  EXPECT_EQ(report.elapsed, clock.Elapsed());
  EXPECT_EQ(report.longest_poll, Nanoseconds(700));
  EXPECT_THAT(report.first_error->error(),
              StatusIs(StatusCode::kUnavailable, "503"));
  EXPECT_EQ(report.last_error->detail(), "last");
  EXPECT_EQ(report.last_poll.status(), kSuccess);
  EXPECT_FALSE(report.late);
  EXPECT_TRUE(report.history.empty());
}

TEST(WaiterTest, WaitWithoutErrorsReportsNone) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {kNotReady, kSuccess});
  Waiter wait(std::ref(script), {.timeout = Minutes(1), .clock = &clock});

  const WaitResult<> result = wait.Wait();
  EXPECT_EQ(result.report().first_error, std::nullopt);
  EXPECT_EQ(result.report().last_error, std::nullopt);
}

TEST(WaiterTest, HistoryKeepsTheLastPolls) {
  SimulatedClock clock;
  ScriptedPoll<> script(
      clock,
      {NotReady("A"), NotReady("B"), {ServerError("C"), Seconds(2)}, kSuccess});
  Waiter wait(std::ref(script),
              {.timeout = Minutes(1),
               .backoff = kOneTwoFour,
               .errors = {.server_error_backoff = kEverySecond},
               .hooks = {.history_limit = 3},
               .clock = &clock});

  const WaitResult<> result = wait.Wait();
  const std::vector<PollRecord>& history = result.report().history;

  ASSERT_EQ(history.size(), 3);
  EXPECT_EQ(history[0].attempt, 2);
  EXPECT_EQ(history[0].started, Seconds(1));
  EXPECT_EQ(history[0].took, ZeroDuration());
  EXPECT_EQ(history[0].status, kNotReady);
  EXPECT_EQ(history[0].detail, "B");
  EXPECT_EQ(history[0].delay, Seconds(2));
  EXPECT_EQ(history[1].attempt, 3);
  EXPECT_EQ(history[1].started, Seconds(3));
  EXPECT_EQ(history[1].took, Seconds(2));
  EXPECT_EQ(history[1].status, kServerError);
  EXPECT_EQ(history[1].delay, Seconds(1));
  EXPECT_EQ(history[2].attempt, 4);
  EXPECT_EQ(history[2].started, Seconds(6));
  EXPECT_EQ(history[2].status, kSuccess);
  EXPECT_EQ(history[2].delay, ZeroDuration());
}

TEST(WaiterTest, HistoryOfAnImmediateSuccessHasItsPoll) {
  SimulatedClock clock;
  Waiter wait(
      [] { return true; },
      {.timeout = Minutes(1), .hooks = {.history_limit = 1}, .clock = &clock});

  const WaitResult<> result = wait.Wait();

  ASSERT_EQ(result.report().history.size(), 1);
  EXPECT_EQ(result.report().history[0].attempt, 1);
  EXPECT_EQ(result.report().history[0].status, kSuccess);
}

TEST(WaiterTest, HistoryOfALongWaitStaysBounded) {
  SimulatedClock clock;
  for (const int64_t limit : {1, 7, 1000}) {
    Waiter wait(
        [](const PollContext& context) { return context.attempt == 100; },
        {.timeout = InfiniteDuration(),
         .hooks = {.history_limit = limit},
         .clock = &clock});

    const WaitResult<> result = wait.Wait();
    const std::vector<PollRecord>& history = result.report().history;

    ASSERT_EQ(history.size(), std::min<int64_t>(limit, 100));
    EXPECT_EQ(history.back().attempt, 100);
    EXPECT_EQ(history.front().attempt, std::max<int64_t>(101 - limit, 1));
  }
}

// Uses of a waiter.

TEST(WaiterTest, SeedRepeatsTheDelaysOfEveryWait) {
  SimulatedClock clock;
  const auto delays = [&](std::optional<uint64_t> seed) {
    Waiter wait([](const PollContext& context) { return context.attempt == 9; },
                {.timeout = Hours(1),
                 .hooks = {.history_limit = 9, .seed = seed},
                 .clock = &clock});
    std::vector<absl::Duration> result;
    for (int i = 0; i < 2; ++i) {
      const WaitResult<> waited = wait.Wait();
      for (const PollRecord& poll : waited.report().history) {
        result.push_back(poll.delay);
      }
    }
    return result;
  };

  const std::vector<absl::Duration> seeded = delays(42);
  EXPECT_EQ(seeded, delays(42));
  EXPECT_NE(seeded, delays(43));
  EXPECT_TRUE(std::equal(seeded.begin(), seeded.begin() + 9, seeded.begin() + 9,
                         seeded.end()));
  const std::vector<absl::Duration> unseeded = delays(std::nullopt);
  EXPECT_NE(unseeded, delays(std::nullopt));
  EXPECT_FALSE(std::equal(unseeded.begin(), unseeded.begin() + 9,
                          unseeded.begin() + 9, unseeded.end()));
}

TEST(WaiterTest, SecondWaitStartsAfresh) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {kServerError});
  Waiter wait(std::ref(script), {.timeout = Seconds(7),
                                 .errors = {.server_error_backoff = kOneTwoFour,
                                            .max_consecutive_server_errors = 3},
                                 .clock = &clock});

  EXPECT_EQ(wait.Wait().report().attempts, 3);
  EXPECT_EQ(wait.Wait().report().attempts, 3);
  EXPECT_THAT(script.polled_at(),
              ElementsAre(ZeroDuration(), Seconds(1), Seconds(3), Seconds(3),
                          Seconds(4), Seconds(6)));
}

TEST(WaiterTest, WaitMayRunInsideAStatusFunction) {
  SimulatedClock clock;
  Waiter inner(
      [](const PollContext& context) { return context.attempt == 3; },
      {.timeout = Minutes(1), .backoff = kEverySecond, .clock = &clock});
  Waiter outer(
      [&](const PollContext& context) {
        EXPECT_TRUE(inner.Wait().ok());
        return context.attempt == 2;
      },
      {.timeout = Minutes(1), .backoff = Every(Seconds(10)), .clock = &clock});

  const WaitResult<> result = outer.Wait();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.report().elapsed, Seconds(2 + 10 + 2));
  EXPECT_EQ(result.report().longest_poll, Seconds(2));
}

TEST(WaiterTest, TwoThreadsMayShareAWaiter) {
  SimulatedClock clock;
  Waiter wait([](const PollContext& context) { return context.attempt == 100; },
              {.timeout = Hours(10), .backoff = kEverySecond, .clock = &clock});
  WaitResult<> results[] = {wait.Wait(), wait.Wait()};
  std::latch ready(2);
  {
    std::vector<JoiningThread> threads;
    for (WaitResult<>& result : results) {
      threads.emplace_back([&] {
        const SimulatedClock::Participant participant(clock);
        ready.arrive_and_wait();
        result = wait.Wait();
      });
    }
  }

  for (const WaitResult<>& result : results) {
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.report().attempts, 100);
    EXPECT_EQ(result.report().elapsed, Seconds(99));
  }
}

TEST(WaiterTest, MillionPollsAreCounted) {
  SimulatedClock clock;
  Waiter wait([] { return false; }, {.timeout = InfiniteDuration(),
                                     .max_attempts = 1'000'000,
                                     .backoff = Every(ZeroDuration()),
                                     .clock = &clock});

  const WaitResult<> result = wait.Wait();
  EXPECT_EQ(result.reason(), StopReason::kAttempts);
  EXPECT_EQ(result.report().attempts, 1'000'000);
  EXPECT_EQ(result.report().count(kNotReady), 1'000'000);
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
}

TEST(WaiterTest, ElapsedCountsTheFirstPollAlsoWithoutADeadline) {
  for (const absl::Duration timeout : {InfiniteDuration(), Hours(1)}) {
    SimulatedClock clock;
    ScriptedPoll<> at_once(clock, {{kSuccess, Seconds(3)}});
    ScriptedPoll<> later(clock, {{kNotReady, Seconds(3)}, kSuccess});
    const WaitOptions options = {
        .timeout = timeout, .backoff = kEverySecond, .clock = &clock};

    EXPECT_EQ(Waiter(std::ref(at_once), options).Wait().report().elapsed,
              Seconds(3));
    const WaitReport report = Waiter(std::ref(later), options).Wait().report();
    EXPECT_EQ(report.elapsed, Seconds(4));
    EXPECT_EQ(report.longest_poll, Seconds(3));
  }
}

}  // namespace
}  // namespace waiter::waiter_test
