// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Each test prevents a complaint of users of similar libraries. Its name states
// the opposite.

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "tests/testing/eventually_fixture.h"
#include "waiter/clock.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::eventually_test {
namespace {

using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;
using ::absl::ZeroDuration;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;
using ::testing::NotNull;
using ::testing::Pointee;
using ::testing::SizeIs;
using ::testing::StartsWith;

class EventuallyTest : public EventuallyFixture {};

TEST_F(EventuallyTest, FirstPollIsAtOnce) {
  const auto elapsed = Elapsed();

  EXPECT_EVENTUALLY(elapsed(), Ge(ZeroDuration()), {.clock = &clock_});
  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration()));
}

TEST_F(EventuallyTest, LastPollIsExactlyAtTheLimit) {
  const auto elapsed = Elapsed();

  EXPECT_EVENTUALLY(elapsed(), Milliseconds(2500), Options(Milliseconds(2500)));
  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), Seconds(1), Seconds(2),
                                      Milliseconds(2500)));
}

TEST_F(EventuallyTest, LastPollIsMadeEvenIfTheNextDelayCrossesTheLimit) {
  const auto elapsed = Elapsed();
  EventuallyOptions options = Options(Seconds(5));
  options.backoff.multiplier = 3;
  options.backoff.max_delay = Minutes(1);

  EXPECT_EVENTUALLY(elapsed(), Seconds(5), options);
  EXPECT_THAT(polled_at_,
              ElementsAre(ZeroDuration(), Seconds(1), Seconds(4), Seconds(5)));
}

TEST_F(EventuallyTest, LimitOfZeroStillPollsOnce) {
  for (const absl::Duration timeout : {ZeroDuration(), -Seconds(1)}) {
    polled_at_.clear();
    const auto elapsed = Elapsed();

    EXPECT_EVENTUALLY(elapsed(), Ge(ZeroDuration()), Options(timeout));
    EXPECT_THAT(FailureOf([&] {
                  EXPECT_EVENTUALLY(elapsed(), Lt(ZeroDuration()),
                                    Options(timeout));
                }),
                StartsWith("elapsed() did not match within 0\n"));
    EXPECT_THAT(polled_at_, SizeIs(2));
  }
}

TEST_F(EventuallyTest, TinyLimitAndTinyDelayStillPollTwice) {
  const auto elapsed = Elapsed();

  EXPECT_EVENTUALLY(elapsed(), absl::Nanoseconds(1),
                    {.timeout = absl::Nanoseconds(1),
                     .backoff = {.initial_delay = absl::Nanoseconds(1),
                                 .jitter = Jitter::None()},
                     .clock = &clock_});
  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), absl::Nanoseconds(1)));
}

TEST_F(EventuallyTest, ExpressionIsEvaluatedAnewAtEachPoll) {
  int polls = 0;

  EXPECT_EVENTUALLY(++polls, 4, Options(Minutes(1)));
  EXPECT_EQ(polls, 4);
}

TEST_F(EventuallyTest, EveryPollRunsOnTheCallingThread) {
  std::vector<std::thread::id> threads;
  const auto note = [&] {
    threads.push_back(std::this_thread::get_id());
    return threads.size();
  };

  EXPECT_EVENTUALLY(note(), 3, Options(Minutes(1)));
  EXPECT_THAT(threads, testing::Each(std::this_thread::get_id()));
}

TEST_F(EventuallyTest, NoPollFollowsTheEnd) {
  const auto elapsed = Elapsed();
  EXPECT_EVENTUALLY(elapsed(), Seconds(2), Options(Seconds(5)));
  EXPECT_NE(FailureOf([&] {
              EXPECT_EVENTUALLY(elapsed(), ZeroDuration(), Options(Seconds(2)));
            }),
            "(no failure)");
  const size_t polls = polled_at_.size();

  clock_.AdvanceTime(Minutes(10));
  EXPECT_THAT(polled_at_, SizeIs(polls));
}

// Every poll sees another value; the message shows the last one.
TEST_F(EventuallyTest, VerdictAndMessageComeFromTheSamePoll) {
  int value = 40;
  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(++value, 44, Options(Seconds(2))); }),
      HasSubstr("Actual: 43 (poll 3, at 2s)"));
  EXPECT_EQ(value, 43);
}

// Matches a zero, and changes the variable under test.
MATCHER_P(IsBeforeIncrementing, atomic, "") {
  ++*atomic;
  return arg == 0;
}

TEST_F(EventuallyTest, AtomicIsReadOnceForVerdictAndMessage) {
  std::atomic<int> value = 7;

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(value, IsBeforeIncrementing(&value),
                                  Options(Seconds(1)));
              }),
              HasSubstr("Actual: 8 (poll 2, at 1s)"));
  EXPECT_EQ(value, 9);
}

TEST_F(EventuallyTest, TemporariesLiveAsLongAsTheyAreExamined) {
  struct Job {
    std::string text = "a text that is too long to be stored in place";
    const std::string& state() const { return text; }
    std::string&& take() && { return std::move(text); }
  };

  EXPECT_EVENTUALLY(Job().state(), HasSubstr("stored"));
  EXPECT_EVENTUALLY(Job().take(), HasSubstr("stored"));
  EXPECT_EVENTUALLY(Job().text, HasSubstr("stored"));
}

TEST_F(EventuallyTest, MoveOnlyValuesAndReferencesAreExaminedInPlace) {
  const std::unique_ptr<int> kept = std::make_unique<int>(7);

  const int array[] = {7, 8};  // NOLINT(modernize-avoid-c-arrays)

  EXPECT_EVENTUALLY(array, ElementsAre(7, 8));
  EXPECT_EVENTUALLY(kept, Pointee(7));
  EXPECT_EVENTUALLY(std::make_unique<int>(7), Pointee(7));
  ASSERT_EVENTUALLY(kept.get(), NotNull());
  EXPECT_EQ(Eventually([] { return std::make_unique<int>(7); }, Pointee(7))
                .value()
                .
                operator*(),
            7);
}

// A user's type with functions named like internal ones.
struct Printable {
  [[maybe_unused]] friend void Print(const Printable& /*value*/) {}
  [[maybe_unused]] friend void Snapshot(const Printable& /*value*/) {}
  [[maybe_unused]] friend void ErrorIn(const Printable& /*value*/) {}
};

TEST_F(EventuallyTest, FunctionsOfAUsersTypeDoNotInterfere) {
  EXPECT_EVENTUALLY(Printable(), _);
}

TEST_F(EventuallyTest, DelayRunsFromTheEndOfAPollToTheNext) {
  const auto elapsed = Elapsed();
  const auto slow = [&] {
    elapsed();
    clock_.AdvanceTime(Seconds(2));
    return polled_at_.size();
  };

  EXPECT_EVENTUALLY(slow(), 3, Options(Minutes(1)));
  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), Seconds(3), Seconds(6)));
}

TEST_F(EventuallyTest, SlowPollThatBeganInTimeAndMatchesPasses) {
  const auto slow = Slow(Seconds(9));

  EXPECT_EVENTUALLY(slow(), true, Options(Seconds(5)));
}

TEST_F(EventuallyTest, SlowPollFailsIfThePolicyIsStrict) {
  const auto slow = Slow(Seconds(9));
  const WaitOptions policy = {.timeout = Seconds(5),
                              .polls = {.strict_deadline = true}};

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(slow(), true,
                                  {.policy = policy, .clock = &clock_});
              }),
              AllOf(StartsWith("slow() gave up: timeout of 5s missed by 4s"),
                    HasSubstr("Actual: true (poll 1, at 0)")));
}

TEST_F(EventuallyTest, StepsOfTheWallClockChangeNothing) {
  const auto elapsed = Elapsed();
  clock_.CallAt(Seconds(1), [&] { clock_.StepWallClock(-absl::Hours(24)); });
  clock_.CallAt(Seconds(2), [&] { clock_.StepWallClock(absl::Hours(48)); });

  EXPECT_EVENTUALLY(elapsed(), Seconds(4), Options(Seconds(4)));
}

TEST_F(EventuallyTest, FailIfEndsTheWaitAtOnceOnTheSamePoll) {
  int polls = 0;
  std::string state = "CREATING";
  clock_.CallAt(Seconds(2), [&] { state = "FAILED"; });
  const auto get = [&] { return ++polls, state; };

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(get(), "DONE", Options(Minutes(1)),
                                  FailIf("FAILED"));
              }),
              AllOf(StartsWith("get() gave up at 2s: FailIf(is equal to "
                               "\"FAILED\")\n"),
                    HasSubstr("Actual: \"FAILED\" (poll 3, at 2s)")));
  EXPECT_EQ(polls, 3);
}

TEST_F(EventuallyTest, MatchWinsOverFailIf) {
  EventuallyOptions options = Options(Seconds(5));
  options.hold_for = Seconds(2);

  EXPECT_EVENTUALLY(std::string("DONE"), "DONE", FailIf(Not(IsEmpty())));
  EXPECT_EVENTUALLY(std::string("DONE"), "DONE", options,
                    FailIf(Not(IsEmpty())));
}

TEST_F(EventuallyTest, HoldForOutlastsFlapping) {
  const auto elapsed = Elapsed();
  const auto flaps = [&] {
    const absl::Duration now = elapsed();
    return now == Seconds(1) || now == Seconds(3) || now >= Seconds(5);
  };
  EventuallyOptions options = Options(Minutes(1));
  options.hold_for = Seconds(2);

  EXPECT_EVENTUALLY(flaps(), true, options);
  EXPECT_EQ(clock_.Elapsed(), Seconds(7));
}

TEST_F(EventuallyTest, ConsecutivePollsAreCountedFromTheLastMiss) {
  const auto elapsed = Elapsed();
  const auto flaps = [&] { return elapsed() != Seconds(1); };
  EventuallyOptions options = Options(Minutes(1));
  options.successes_required = 3;

  EXPECT_EVENTUALLY(flaps(), true, options);
  EXPECT_EQ(clock_.Elapsed(), Seconds(4));
}

TEST_F(EventuallyTest, TimeoutFailsTheAssertionAndNotTheProgram) {
  bool went_on = false;
  const std::vector<testing::TestPartResult> parts = PartsOf([&] {
    EXPECT_EVENTUALLY(1, 2, Options(Seconds(5)));
    went_on = true;
    ASSERT_EVENTUALLY(1, 2, Options(Seconds(5)));
    went_on = false;
  });

  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_TRUE(parts[0].nonfatally_failed());
  EXPECT_TRUE(parts[1].fatally_failed());
  EXPECT_THAT(parts[0].file_name(), testing::EndsWith("eventually_test.cc"));
  EXPECT_LT(parts[0].line_number(), parts[1].line_number());
  EXPECT_TRUE(went_on);
}

TEST_F(EventuallyTest, ThrownNonExceptionIsNamedByItsType) {
  const auto get = []() -> int { throw 7; };

  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(get(), 1, Options(Seconds(1))); }),
      HasSubstr("threw int\n"));
}

TEST_F(EventuallyTest, ListedExceptionsArePolledAgainAndShown) {
  int polls = 0;
  const auto get = [&]() -> int {
    if (++polls < 4) throw std::out_of_range("no job 42");
    return polls;
  };
  EventuallyOptions options = Options(Minutes(1));
  options.retry_exceptions = RetryOn<std::bad_alloc, std::logic_error>();

  EXPECT_EVENTUALLY(get(), 4, options);
  polls = -10;
  options.timeout = Seconds(2);
  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(get(), 4, options); }),
              HasSubstr("Actual: threw std::out_of_range: no job 42 (poll 3"));
}

// Matches any OK `absl::StatusOr`.
MATCHER(IsOk, "") { return arg.ok(); }

TEST_F(EventuallyTest, TransientErrorsArePolledAgainAndOthersEndTheWait) {
  std::vector<absl::Status> errors = {absl::NotFoundError("no such job"),
                                      absl::ResourceExhaustedError("busy"),
                                      absl::UnavailableError("starting")};
  const auto get = [&]() -> absl::StatusOr<int> {
    absl::Status error = errors.back();
    errors.pop_back();
    return error;
  };

  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(get(), IsOk(), Options(Minutes(1))); }),
      AllOf(StartsWith("get() gave up at 2s: options.errors classifies "
                       "NOT_FOUND as a final failure"),
            HasSubstr("Actual: NOT_FOUND: no such job")));
}

TEST_F(EventuallyTest, CallerChoosesWhichErrorsMeanNotYet) {
  const auto get = [&]() -> absl::Status {
    if (clock_.Elapsed() < Seconds(3)) return absl::NotFoundError("no job");
    return absl::OkStatus();
  };
  EventuallyOptions options = Options(Minutes(1));
  options.errors = ErrorClassifier::Http().With(absl::StatusCode::kNotFound,
                                                PollStatus::kNotReady);

  EXPECT_EVENTUALLY(get(), absl::OkStatus(), options);
  EXPECT_EQ(clock_.Elapsed(), Seconds(3));
}

TEST_F(EventuallyTest, ExpectedErrorIsAMatch) {
  EXPECT_EVENTUALLY(absl::NotFoundError("gone"),
                    StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(EventuallyTest, SharedOptionsServeAllTypesOfExpression) {
  const EventuallyOptions options = Options(Seconds(5));

  EXPECT_EVENTUALLY(clock_.Elapsed(), Seconds(2), options);
  EXPECT_EVENTUALLY(clock_.Elapsed() == Seconds(4), true, options);
  EXPECT_EVENTUALLY(std::string("x"), "x", options);
}

TEST_F(EventuallyTest, ProductionPolicyPacesThePolls) {
  const auto elapsed = Elapsed();
  const WaitOptions policy = {.timeout = Minutes(1),
                              .backoff = {.initial_delay = Seconds(3),
                                          .max_delay = Seconds(20),
                                          .jitter = Jitter::None()}};

  EXPECT_EVENTUALLY(elapsed(), Ge(Seconds(20)),
                    {.policy = policy, .clock = &clock_});
  EXPECT_THAT(polled_at_,
              ElementsAre(ZeroDuration(), Seconds(3), Seconds(9), Seconds(21)));
}

TEST_F(EventuallyTest, SeedOfAFailureRepeatsItsDelays) {
  EventuallyOptions options = {.timeout = Minutes(1), .clock = &clock_};
  options.backoff.jitter = Jitter::Full();
  options.seed = 42;
  std::string text;
  for (int i = 0; i < 2; ++i) {
    SimulatedClock clock;
    options.clock = &clock;
    const std::string again = FailureOf(
        [&] { EXPECT_EVENTUALLY(clock.Elapsed(), -Seconds(1), options); });
    EXPECT_THAT(again, HasSubstr(", jitter -100% +0%, seed 42\n"));
    EXPECT_TRUE(text.empty() || text == again) << text << again;
    text = again;
  }
}

TEST_F(EventuallyTest, ObserverSeesEveryPoll) {
  struct Count : WaitObserver {
    void AfterPoll(const PollEvent& /*poll*/) override { ++polls; }
    int polls = 0;
  };
  Count count;
  EventuallyOptions options = Options(Minutes(1));
  options.observer = Unowned(count);

  EXPECT_EVENTUALLY(clock_.Elapsed(), Seconds(3), options);
  EXPECT_EQ(count.polls, 4);
}

TEST_F(EventuallyTest, FirstPollWaitsForItsDelay) {
  const auto elapsed = Elapsed();
  EventuallyOptions options = Options(Minutes(1));
  options.first_poll_delay = Seconds(30);

  EXPECT_EVENTUALLY(elapsed(), Seconds(30), options);
  EXPECT_THAT(polled_at_, SizeIs(1));
}

TEST_F(EventuallyTest, FunctionFormReturnsTheValueThatMatched) {
  struct Job {
    std::string state;
    int64_t at;
  };
  const absl::StatusOr<Job> job = Eventually(
      [&] {
        return Job{clock_.Elapsed() < Seconds(3) ? "CREATING" : "DONE",
                   absl::ToInt64Seconds(clock_.Elapsed())};
      },
      Field(&Job::state, "DONE"), Options(Minutes(1)));

  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->at, 3);
}

TEST_F(EventuallyTest, FunctionFormReturnsTheCallersLineAndTheMessage) {
  const absl::StatusOr<int> got =
      Eventually([] { return 1; }, 2, Options(Seconds(5)));
  EXPECT_THAT(got.status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("eventually_test.cc:"),
                             HasSubstr(": the value did not match within 5s"),
                             HasSubstr("Actual: 1 (poll 6, at 5s)"))));

  EXPECT_THAT(
      Eventually([] { return 1; }, 2, Options(Seconds(5)), FailIf(1)).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("FailIf(is equal to 1)")));
}

TEST_F(EventuallyTest, FunctionFormReturnsOneLayerOfStatus) {
  const auto get = [&]() -> absl::StatusOr<int> {
    if (clock_.Elapsed() < Seconds(1)) return absl::UnavailableError("reset");
    return absl::NotFoundError("no job");
  };
  const absl::StatusOr<int> got = Eventually(get, IsOk(), Options(Seconds(5)));

  EXPECT_THAT(got.status(), StatusIs(absl::StatusCode::kNotFound,
                                     HasSubstr("NOT_FOUND: no job")));
}

// An assertion without a matcher would assert nothing.
template <typename F>
concept ChecksWithoutMatcher = requires(F f) {
  Eventually(f);
};
template <typename F>
concept Checks = requires(F f) {
  Eventually(f, 1);
};
using ReturnsInt = int (*)();
static_assert(Checks<ReturnsInt> && !ChecksWithoutMatcher<ReturnsInt>);

TEST_F(EventuallyTest, AssertFormsReturnAndExpectFormsGoOn) {
  int went_on = 0;
  const std::vector<testing::TestPartResult> parts = PartsOf([&] {
    EXPECT_CONSISTENTLY(1, 2, HoldFor(Seconds(2)));
    ++went_on;
    EXPECT_NEVER(1, 1, HoldFor(Seconds(2)));
    ++went_on;
    ASSERT_NEVER(1, 1, HoldFor(Seconds(2)));
    ++went_on;
  });
  const std::vector<testing::TestPartResult> others = PartsOf([&] {
    ASSERT_NEVER(1, 2, HoldFor(Seconds(2)));
    ++went_on;
    ASSERT_CONSISTENTLY(1, 2, HoldFor(Seconds(2)));
    ++went_on;
  });

  ASSERT_THAT(parts, SizeIs(3));
  EXPECT_TRUE(parts[0].nonfatally_failed());
  EXPECT_TRUE(parts[1].nonfatally_failed());
  EXPECT_TRUE(parts[2].fatally_failed());
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_TRUE(others[0].fatally_failed());
  EXPECT_EQ(went_on, 3);
}

// Block form.

TEST_F(EventuallyTest, FatalFailureEndsOnlyThatRunOfTheBlock) {
  int runs = 0;
  int whole_runs = 0;

  ASSERT_EVENTUALLY_PASSES(
      {
        const std::pair<int, int> both = {++runs, 4};  // Has a comma.
        ASSERT_EQ(both.first, both.second);
        ++whole_runs;
      },
      Options(Minutes(1)));
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(whole_runs, 1);
  EXPECT_EQ(clock_.Elapsed(), Seconds(3));
}

TEST_F(EventuallyTest, BlockThatAlwaysFailsShowsItsLastRun) {
  int runs = 0;
  const std::vector<testing::TestPartResult> parts = PartsOf([&] {
    ASSERT_EVENTUALLY_PASSES(
        {
          ++runs;
          EXPECT_TRUE(false) << "run " << runs;
          FAIL() << "fatal in run " << runs;
        },
        Options(Seconds(2)));
    runs = 100;
  });

  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_TRUE(parts[0].fatally_failed());
  EXPECT_THAT(parts[0].message(),
              AllOf(StartsWith("the block did not pass within 2s\n"),
                    HasSubstr("Actual: 2 failures (poll 3, at 2s):\n"),
                    HasSubstr("run 3\n"), HasSubstr("fatal in run 3\n")));
  EXPECT_EQ(runs, 3);
}

// Either flag would end the test at the first run.
TEST_F(EventuallyTest, BreakAndThrowOnFailureAreOffInABlock) {
  const bool breaks = GTEST_FLAG_GET(break_on_failure);
  const bool throws = GTEST_FLAG_GET(throw_on_failure);
  const absl::Cleanup restore = [&] {
    GTEST_FLAG_SET(break_on_failure, breaks);
    GTEST_FLAG_SET(throw_on_failure, throws);
  };
  for (const bool flag : {true, false}) {
    GTEST_FLAG_SET(break_on_failure, flag);
    GTEST_FLAG_SET(throw_on_failure, !flag);
    int runs = 0;

    EXPECT_EVENTUALLY_PASSES({ EXPECT_EQ(++runs, 2); }, Options(Minutes(1)));
    EXPECT_EQ(GTEST_FLAG_GET(break_on_failure), flag);
    EXPECT_EQ(GTEST_FLAG_GET(throw_on_failure), !flag);
  }
}

TEST_F(EventuallyTest, SkipInABlockSkipsTheTest) {
  const std::vector<testing::TestPartResult> parts = PartsOf([&] {
    EXPECT_EVENTUALLY_PASSES({ GTEST_SKIP() << "no network"; },
                             Options(Seconds(2)));
  });

  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_TRUE(parts[0].skipped());
  EXPECT_THAT(parts[0].message(), HasSubstr("no network"));
  EXPECT_EQ(clock_.Elapsed(), ZeroDuration());
}

// Misuses are reported before the first poll.

struct Misuse {
  EventuallyOptions options;
  std::string message;
};

TEST_F(EventuallyTest, MisusesOfEventuallyAreReported) {
  EventuallyOptions without_history = Options(Seconds(5));
  without_history.history_lines = -1;
  EventuallyOptions without_delay = Options(Seconds(5));
  without_delay.backoff = {.initial_delay = ZeroDuration()};
  EventuallyOptions shrinking = Options(Seconds(5));
  shrinking.backoff.multiplier = 0;
  for (const Misuse& misuse : std::vector<Misuse>{
           {Options(Milliseconds(500)),
            "the delay between polls, backoff.initial_delay of 1s, is longer "
            "than the timeout of 500ms; shorten the delay or lengthen the "
            "timeout"},
           {Options(absl::InfiniteDuration()), "the timeout is infinite"},
           {HoldFor(Minutes(1)),
            "hold_for of 1m is longer than the timeout of 5s"},
           {without_history, "history_lines is -1; it must be at least 0"},
           {without_delay, "polls without delay do not move a SimulatedClock"},
           {shrinking, "backoff.multiplier is 0"}}) {
    EXPECT_THAT(
        FailureOf([&] { EXPECT_EVENTUALLY(Elapsed()(), _, misuse.options); }),
        StartsWith("Elapsed()() was not polled: " + misuse.message));
  }
  EXPECT_THAT(polled_at_, IsEmpty());
}

TEST_F(EventuallyTest, DefaultDelayIsShortenedToAShortLimit) {
  EXPECT_EVENTUALLY(clock_.Elapsed(), Milliseconds(1),
                    {.timeout = Milliseconds(1), .clock = &clock_});
}

TEST_F(EventuallyTest, MisusesOfConsistentlyAndNeverAreReported) {
  EventuallyOptions retrying = HoldFor(Seconds(5));
  retrying.retry_exceptions = RetryOn<std::exception>();
  for (const Misuse& misuse : std::vector<Misuse>{
           {HoldFor(Milliseconds(500)),
            "of 1s, is longer than hold_for of 500ms"},
           {Options(Seconds(5)), "timeout is for EVENTUALLY; set hold_for"},
           {retrying, "retry_exceptions is for EVENTUALLY"}}) {
    EXPECT_THAT(
        FailureOf([&] { EXPECT_CONSISTENTLY(Elapsed()(), _, misuse.options); }),
        HasSubstr(misuse.message));
    EXPECT_THAT(
        FailureOf([&] { EXPECT_NEVER(Elapsed()(), _, misuse.options); }),
        HasSubstr(misuse.message));
  }
  EXPECT_THAT(polled_at_, IsEmpty());
}

TEST_F(EventuallyTest, PassIfOfAnEventuallyIsReported) {
  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(Elapsed()(), _, PassIf(Seconds(1))); }),
      StartsWith("Elapsed()() was not polled: PassIf is for "
                 "CONSISTENTLY and NEVER"));
  EXPECT_THAT(polled_at_, IsEmpty());
}

// In particular without jitter, so that runs on simulated time are equal.
TEST_F(EventuallyTest, AFieldOfTheBackoffSetAloneChangesNoOther) {
  using Kind = decltype(EventuallyOptions::backoff);
  const Kind documented = {.initial_delay = Milliseconds(10),
                           .max_delay = Milliseconds(500),
                           .multiplier = 1.5,
                           .jitter = Jitter::None(),
                           .min_delay = std::nullopt};
  const auto reset = [&](Kind kind, auto field) {
    EXPECT_NE(kind, documented);
    kind.*field = documented.*field;
    EXPECT_EQ(kind, documented);
  };

  EXPECT_EQ(EventuallyOptions().backoff, documented);
  reset({.initial_delay = Seconds(1)}, &Kind::initial_delay);
  reset({.max_delay = Seconds(1)}, &Kind::max_delay);
  reset({.multiplier = 3}, &Kind::multiplier);
  reset({.jitter = Jitter::Full()}, &Kind::jitter);
  reset({.min_delay = Milliseconds(1)}, &Kind::min_delay);
}

}  // namespace
}  // namespace waiter::eventually_test
