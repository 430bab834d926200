// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/matchers.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::wait_result_matchers_test {
namespace {

using ::absl::Seconds;
using ::absl::ZeroDuration;
using ::testing::AllOf;
using ::testing::DescribeMatcher;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Lt;
using ::testing::Not;
using ::testing::Pointee;

class WaitResultMatchersTest : public testing::Test {
 protected:
  template <typename T>
  WaitResult<T> Wait(std::vector<typename ScriptedPoll<T>::Step> steps,
                     const waiter::stop_token& stop = {}) {
    SimulatedClock clock;
    ScriptedPoll<T> script(clock, std::move(steps));
    return Waiter(std::ref(script), {.name = "job",
                                     .timeout = Seconds(10),
                                     .backoff = {.initial_delay = Seconds(1),
                                                 .jitter = Jitter::None()},
                                     .hooks = {.history_limit = 4},
                                     .clock = &clock})
        .Wait(stop);
  }

  template <typename T, typename M>
  std::string Explain(const WaitResult<T>& result, const M& matcher) {
    testing::StringMatchResultListener why;
    EXPECT_FALSE(testing::ExplainMatchResult(matcher, result, &why));
    return why.str();
  }
};

TEST_F(WaitResultMatchersTest, SuccessMatchesIsReady) {
  const WaitResult<int> result = Wait<int>({NotReady(), Success(7)});

  EXPECT_THAT(result, IsReady());
  EXPECT_THAT(result, IsReadyWith(7));
  EXPECT_THAT(result, Not(IsReadyWith(Gt(7))));
  EXPECT_THAT(result, Not(TimedOut()));
  EXPECT_THAT(result, Not(FailedWith("")));
  EXPECT_THAT(result, LastFound(PollStatus::kSuccess));
  EXPECT_EQ(testing::PrintToString(result), "success after 2 polls in 1s");
}

TEST_F(WaitResultMatchersTest, DeadlineMatchesTimedOut) {
  const WaitResult<> result = Wait<void>({NotReady("CREATING")});

  EXPECT_THAT(result, TimedOut());
  EXPECT_THAT(result, Not(IsReady()));
  EXPECT_THAT(result, LastFound(PollStatus::kNotReady));
  EXPECT_EQ(testing::PrintToString(result),
            "deadline after 5 polls in 10s, DEADLINE_EXCEEDED: job: timeout of "
            "10s reached after 5 attempts in 10s; last poll: not ready: "
            "CREATING");
}

TEST_F(WaitResultMatchersTest, RequestedStopMatchesCancelled) {
  waiter::stop_source stop;
  stop.request_stop();
  const WaitResult<> result = Wait<void>({NotReady()}, stop.get_token());

  EXPECT_THAT(result, AllOf(Cancelled(), Attempts(0), PollTimes(IsEmpty())));
  EXPECT_THAT(result, Not(TimedOut()));
}

// This holds even if the error looks like a limit.
TEST_F(WaitResultMatchersTest, FailureMatchesOnlyFailedWith) {
  const WaitResult<> result =
      Wait<void>({Failed(absl::DeadlineExceededError("quota of today"))});

  EXPECT_THAT(result, FailedWith("quota of today"));
  EXPECT_THAT(result, FailedWith(HasSubstr("quota")));
  EXPECT_THAT(result, Not(FailedWith(HasSubstr("after 1 attempt"))));
  EXPECT_THAT(Wait<void>({Failed("broken")}), FailedWith("broken"));
  EXPECT_THAT(result, Not(FailedWith("no")));
  EXPECT_THAT(result, Not(TimedOut()));
}

TEST_F(WaitResultMatchersTest, AttemptsElapsedAndPollTimesMatchTheReport) {
  const WaitResult<> result =
      Wait<void>({NotReady(), {NotReady(), Seconds(2)}, Success()});

  EXPECT_THAT(result, Attempts(3));
  EXPECT_THAT(result, AllOf(Attempts(Le(5)), Elapsed(Lt(Seconds(6)))));
  EXPECT_THAT(result,
              PollTimes(ElementsAre(ZeroDuration(), Seconds(1), Seconds(5))));
  EXPECT_THAT(Explain(result, Attempts(Le(2))), IsEmpty());
}

TEST_F(WaitResultMatchersTest, TruncatedHistoryDoesNotMatchPollTimes) {
  EXPECT_THAT(
      Explain(Wait<void>({NotReady()}), PollTimes(testing::_)),
      HasSubstr("history of 4 of its polls alone; set hooks.history_limit"));
}

TEST_F(WaitResultMatchersTest, MoveOnlyValuesMatch) {
  SimulatedClock clock;
  Waiter wait([] { return Success(std::make_unique<int>(7)); },
              {.timeout = Seconds(1), .clock = &clock});

  EXPECT_THAT(wait.Wait(), IsReadyWith(Pointee(7)));
}

TEST_F(WaitResultMatchersTest, DescriptionsStateTheExpectation) {
  using Result = const WaitResult<int>&;
  EXPECT_EQ(DescribeMatcher<Result>(IsReady()), "ended with success");
  EXPECT_EQ(DescribeMatcher<Result>(Not(TimedOut())),
            "did not end with deadline");
  EXPECT_EQ(DescribeMatcher<Result>(IsReadyWith(Gt(7))),
            "is a success whose value is > 7");
  EXPECT_EQ(DescribeMatcher<Result>(FailedWith("x")),
            "is a failure whose message is equal to \"x\"");
  EXPECT_EQ(DescribeMatcher<Result>(Not(Attempts(Le(5)))),
            "whose number of polls isn't <= 5");
  EXPECT_EQ(DescribeMatcher<Result>(Elapsed(Seconds(5))),
            "whose time is equal to 5s");
  EXPECT_EQ(DescribeMatcher<Result>(LastFound(PollStatus::kThrottled)),
            "whose last poll found throttled");
  EXPECT_EQ(DescribeMatcher<Result>(PollTimes(IsEmpty())),
            "whose poll times is empty");
}

}  // namespace
}  // namespace waiter::wait_result_matchers_test
