// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests every kind of message, word for word.

#include <ostream>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::eventually_message_test {
namespace {

using ::absl::Hours;
using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;
using ::testing::EndsWith;
using ::testing::Field;

struct Job {
  std::string state;
  int progress;

  friend std::ostream& operator<<(std::ostream& os, const Job& job) {
    return os << job.state << " at " << job.progress << "%";
  }
};

MATCHER_P(Holds, value, absl::StrCat("holds ", value)) {
  return arg.ok() && *arg == value;
}

// Simulates a job that is created for half an hour, and then updated.
class EventuallyMessageTest : public testing::Test {
 protected:
  EventuallyMessageTest() {
    clock_.CallAt(Minutes(30), [this] { job_ = {"UPDATING", 10}; });
    clock_.CallAt(Minutes(100), [this] { job_ = {"UPDATING", 60}; });
  }

  const Job& GetJob() const { return job_; }

  EventuallyOptions Options(absl::Duration timeout) {
    return {.timeout = timeout,
            .backoff = {.initial_delay = Seconds(1),
                        .max_delay = Minutes(5),
                        .multiplier = 2},
            .clock = &clock_};
  }
  EventuallyOptions HoldFor(absl::Duration time) {
    return {.backoff = {.initial_delay = Minutes(1),
                        .max_delay = Minutes(1),
                        .multiplier = 2},
            .hold_for = time,
            .clock = &clock_};
  }

  SimulatedClock clock_;
  Job job_ = {"CREATING", 0};
};

TEST_F(EventuallyMessageTest, TimeoutShowsPollsDelaysAndHistory) {
  EventuallyOptions options = Options(Hours(3));
  options.name = "job 42";

  const std::string text = FailureOf([&] {
    EXPECT_EVENTUALLY(GetJob(), Field("state", &Job::state, "DONE"), options)
        << "nightly, in zone " << 7;
  });
  EXPECT_EQ(text, R"(job 42: GetJob() did not match within 3h
  Expected: is an object whose field `state` is equal to "DONE"
    Actual: UPDATING at 60%, whose field `state` is "UPDATING" (poll 45, at 3h)
     Polls: 45 in 3h, limit 3h, simulated clock
    Delays: 1s, x2, up to 5m, no jitter
   History: 14x from 0: CREATING at 0%, whose field `state` is "CREATING"
            14x from 33m31s: UPDATING at 10%, whose field `state` is "UPDATING"
            17x from 1h43m31s: UPDATING at 60%, whose field `state` is "UPDATING"
nightly, in zone 7)");
}

TEST_F(EventuallyMessageTest, SinglePollHasNoHistory) {
  const std::string text = FailureOf([&] {
    EXPECT_EVENTUALLY(GetJob().progress, 100, Options(absl::ZeroDuration()));
  });
  EXPECT_EQ(text, R"(GetJob().progress did not match within 0
  Expected: is equal to 100
    Actual: 0 (poll 1, at 0)
     Polls: 1 in 0, limit 0, simulated clock
    Delays: 1s, x2, up to 5m, no jitter)");
}

TEST_F(EventuallyMessageTest, ManyValuesAreCutInTheMiddle) {
  int count = 0;
  EventuallyOptions options = Options(Minutes(1));
  options.backoff.max_delay = Seconds(1);
  options.history_lines = 4;

  const std::string text =
      FailureOf([&] { EXPECT_EVENTUALLY(++count / 3, 100, options); });
  EXPECT_EQ(text, R"(++count / 3 did not match within 1m
  Expected: is equal to 100
    Actual: 20 (poll 61, at 1m)
     Polls: 61 in 1m, limit 1m, simulated clock
    Delays: 1s, no jitter
   History: 2x from 0: 0
            3x from 2s: 1
            ... 17 lines omitted (51 polls) ...
            3x from 56s: 19
            2x from 59s: 20)");
}

// The cut falls between characters. Values count as equal only in full.
TEST_F(EventuallyMessageTest, LongValuesAreCutInTheHistory) {
  const std::string x(95, 'x');
  job_.state = x + "\n\u00e4\u00f6";

  const std::string text = FailureOf([&] {
    EXPECT_EVENTUALLY((++job_.progress, GetJob()), Field(&Job::progress, 100),
                      Options(Milliseconds(2500)));
  });
  EXPECT_THAT(text,
              EndsWith(absl::StrCat("   History: 1x from 0: ", x, " ...\n",
                                    "            1x from 1s: ", x, " ...\n",
                                    "            1x from 2.5s: ", x, " ...")));
}

TEST_F(EventuallyMessageTest, HistoryCanBeSwitchedOff) {
  EventuallyOptions options = Options(Seconds(5));
  options.history_lines = 0;

  const std::string text =
      FailureOf([&] { EXPECT_EVENTUALLY(GetJob().progress, 100, options); });
  EXPECT_EQ(text, R"(GetJob().progress did not match within 5s
  Expected: is equal to 100
    Actual: 0 (poll 4, at 5s)
     Polls: 4 in 5s, limit 5s, simulated clock
    Delays: 1s, x2, up to 5m, no jitter)");
}

TEST_F(EventuallyMessageTest, FailIfNamesItsMatcher) {
  const std::string text = FailureOf([&] {
    EXPECT_EVENTUALLY(GetJob().state, "DONE", Options(Hours(3)),
                      FailIf("UPDATING"));
  });
  EXPECT_EQ(text,
            R"(GetJob().state gave up at 33m31s: FailIf(is equal to "UPDATING")
  Expected: is equal to "DONE"
    Actual: "UPDATING" (poll 15, at 33m31s)
     Polls: 15 in 33m31s, limit 3h, simulated clock
    Delays: 1s, x2, up to 5m, no jitter
   History: 14x from 0: "CREATING"
            1x from 33m31s: "UPDATING")");
}

TEST_F(EventuallyMessageTest, LastGoodValueIsShownAfterAnError) {
  const auto get = [&]() -> absl::StatusOr<int> {
    if (clock_.Elapsed() < Minutes(30)) return job_.progress;
    return absl::UnavailableError("connection reset");
  };

  const std::string text = FailureOf(
      [&] { EXPECT_EVENTUALLY(get(), Holds(100), Options(Hours(1))); });
  EXPECT_EQ(text, R"(get() did not match within 1h
  Expected: holds 100
    Actual: UNAVAILABLE: connection reset (poll 28, at 1h)
 Last good: 0 (poll 14, at 28m31s)
     Polls: 28 in 1h, limit 1h, simulated clock
    Delays: 1s, x2, up to 5m, no jitter
   History: 14x from 0: 0
            14x from 33m31s: UNAVAILABLE: connection reset)");
}

TEST_F(EventuallyMessageTest, FinalErrorNamesItsCode) {
  const auto get = [] { return absl::PermissionDeniedError("no access"); };

  const std::string text = FailureOf(
      [&] { EXPECT_EVENTUALLY(get(), absl::OkStatus(), Options(Hours(1))); });
  EXPECT_EQ(
      text,
      R"(get() gave up at 0: options.errors classifies PERMISSION_DENIED as a final failure
  Expected: is equal to OK
    Actual: PERMISSION_DENIED: no access (poll 1, at 0)
     Polls: 1 in 0, limit 1h, simulated clock
    Delays: 1s, x2, up to 5m, no jitter)");
}

TEST_F(EventuallyMessageTest, ExceptionIsNamedByTypeAndText) {
  const auto get = []() -> int { throw std::runtime_error("no route"); };

  const std::string text =
      FailureOf([&] { EXPECT_EVENTUALLY(get(), 1, Options(Hours(1))); });
  EXPECT_EQ(text, R"(get() gave up at 0: threw std::runtime_error: no route
  Expected: is equal to 1
    Actual: threw std::runtime_error: no route (poll 1, at 0)
     Polls: 1 in 0, limit 1h, simulated clock
    Delays: 1s, x2, up to 5m, no jitter)");
}

TEST_F(EventuallyMessageTest, HoldNamesItsTimeAndNumberOfPolls) {
  EventuallyOptions options = Options(Minutes(40));
  options.hold_for = Minutes(20);
  options.successes_required = 3;

  const std::string text = FailureOf(
      [&] { EXPECT_EVENTUALLY(GetJob().state, "UPDATING", options); });
  EXPECT_EQ(
      text,
      R"(GetJob().state did not match for 20m and in 3 polls in a row within 40m
  Expected: is equal to "UPDATING"
    Actual: "UPDATING" (poll 404, at 40m)
     Polls: 404 in 40m, limit 40m, simulated clock
    Delays: 1s, x2, up to 5m, no jitter
   History: 14x from 0: "CREATING"
            390x from 33m31s: "UPDATING")");
}

TEST_F(EventuallyMessageTest, JitterAndSeedAreShown) {
  EventuallyOptions options = Options(Seconds(2));
  options.backoff.jitter = Jitter::Proportional(0.25);
  options.seed = 42;

  const std::string text =
      FailureOf([&] { EXPECT_EVENTUALLY(GetJob().progress, 100, options); });
  EXPECT_THAT(
      text, testing::HasSubstr(
                "\n    Delays: 1s, x2, up to 5m, jitter -25% +25%, seed 42\n"));
}

TEST_F(EventuallyMessageTest, LimitOfThePolicyIsNamed) {
  const WaitOptions policy = {
      .timeout = Hours(1),
      .max_attempts = 2,
      .backoff = {.max_delay = Seconds(10), .jitter = Jitter::None()}};

  const std::string text = FailureOf([&] {
    EXPECT_EVENTUALLY(GetJob().progress, 100,
                      {.policy = policy, .clock = &clock_, .seed = 1});
  });
  EXPECT_EQ(
      text,
      R"(GetJob().progress gave up: max_attempts of 2 reached after 2 attempts in 100ms; last poll: not ready
  Expected: is equal to 100
    Actual: 0 (poll 2, at 100ms)
     Polls: 2 in 100ms, limit 1h, simulated clock
    Delays: 100ms, x2, up to 10s, no jitter, seed 1
   History: 2x from 0: 0)");
}

TEST_F(EventuallyMessageTest, SlowPollIsNamed) {
  const auto get = [&] {
    clock_.AdvanceTime(Seconds(3));
    return 1;
  };

  const std::string text =
      FailureOf([&] { EXPECT_EVENTUALLY(get(), 2, Options(Seconds(5))); });
  EXPECT_EQ(text, R"(get() did not match within 5s
  Expected: is equal to 2
    Actual: 1 (poll 2, at 4s)
     Polls: 2 in 7s, limit 5s, one of which took 3s, simulated clock
    Delays: 1s, x2, up to 5m, no jitter
   History: 2x from 0: 1)");
}

TEST_F(EventuallyMessageTest, ConsistentlyShowsHowLongTheValueHeld) {
  const std::string text = FailureOf([&] {
    EXPECT_CONSISTENTLY(GetJob().state, "CREATING", HoldFor(Hours(1)));
  });
  EXPECT_EQ(text,
            R"(GetJob().state held for 30m (30 polls), but must hold for 1h
  Expected: is equal to "CREATING"
    Actual: "UPDATING" (poll 31, at 30m)
     Polls: 31 in 30m, simulated clock
    Delays: 1m, no jitter
   History: 30x from 0: "CREATING"
            1x from 30m: "UPDATING")");
}

TEST_F(EventuallyMessageTest, ConsistentlyNamesAFailureAtTheFirstPoll) {
  const std::string text = FailureOf(
      [&] { EXPECT_CONSISTENTLY(GetJob().state, "DONE", HoldFor(Hours(1))); });
  EXPECT_EQ(
      text,
      R"(GetJob().state did not hold at the first poll, but must hold for 1h
  Expected: is equal to "DONE"
    Actual: "CREATING" (poll 1, at 0)
     Polls: 1 in 0, simulated clock
    Delays: 1m, no jitter)");
}

TEST_F(EventuallyMessageTest, NeverShowsTheForbiddenValue) {
  const std::string text = FailureOf(
      [&] { EXPECT_NEVER(GetJob().state, "UPDATING", HoldFor(Hours(1))); });
  EXPECT_EQ(
      text,
      R"(GetJob().state matched after 30m (30 polls without a match), but must not match for 1h
     Never: is equal to "UPDATING"
    Actual: "UPDATING" (poll 31, at 30m)
     Polls: 31 in 30m, simulated clock
    Delays: 1m, no jitter
   History: 30x from 0: "CREATING"
            1x from 30m: "UPDATING")");
}

TEST_F(EventuallyMessageTest, BlockShowsTheFailuresOfItsLastRun) {
  EventuallyOptions options = Options(Hours(1));
  options.name = "job 42";

  const std::string text = FailureOf([&] {
    EXPECT_EVENTUALLY_PASSES(
        {
          ADD_FAILURE_AT("a.cc", 7) << "at " << GetJob().progress << "%";
          GTEST_FAIL_AT("a.cc", 8) << "not done";
        },
        options);
  });
  EXPECT_EQ(text, R"(job 42: the block did not pass within 1h
  Expected: all assertions of the block pass in one run
    Actual: 2 failures (poll 21, at 1h):
      a.cc:7: at 10%
      a.cc:8: not done
     Polls: 21 in 1h, limit 1h, simulated clock
    Delays: 1s, x2, up to 5m, no jitter
    Failed: 21 of 21 runs: a.cc:7
            21 of 21 runs: a.cc:8
   History: 14x from 0: 2 failures: a.cc:7: at 0% a.cc:8: not done
            7x from 33m31s: 2 failures: a.cc:7: at 10% a.cc:8: not done)");
}

TEST_F(EventuallyMessageTest, FunctionFormHasFileLineAndMessage) {
  EventuallyOptions options = Options(Seconds(5));
  options.name = "job 42";

  const int line = __LINE__ + 1;
  const absl::StatusOr<int> got = Eventually([] { return 0; }, 100, options);
  EXPECT_EQ(got.status().message(),
            absl::StrCat(__FILE__, ":", line,
                         R"(: job 42 did not match within 5s
  Expected: is equal to 100
    Actual: 0 (poll 4, at 5s)
     Polls: 4 in 5s, limit 5s, simulated clock
    Delays: 1s, x2, up to 5m, no jitter
   History: 4x from 0: 0)"));
}

TEST_F(EventuallyMessageTest, MisuseNamesTheConflictingOptions) {
  EventuallyOptions options = Options(Milliseconds(500));
  options.name = "job 42";

  const std::string text =
      FailureOf([&] { EXPECT_EVENTUALLY(GetJob().progress, 100, options); });
  EXPECT_EQ(text,
            "job 42: GetJob().progress was not polled: the delay between "
            "polls, backoff.initial_delay of 1s, is longer than the timeout of "
            "500ms; shorten the delay or lengthen the timeout");
}

}  // namespace
}  // namespace waiter::eventually_message_test
