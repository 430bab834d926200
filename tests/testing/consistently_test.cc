// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// CONSISTENTLY and NEVER.

#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/support/unowned.h"
#include "tests/testing/eventually_fixture.h"
#include "waiter/backoff.h"
#include "waiter/observer.h"
#include "waiter/result.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::consistently_test {
namespace {

using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;
using ::absl::ZeroDuration;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Ne;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Matches any OK `absl::StatusOr`.
MATCHER(IsOk, "") { return arg.ok(); }

class ConsistentlyTest : public EventuallyFixture {};

TEST_F(ConsistentlyTest, PollsFromTheStartToTheVeryEnd) {
  const auto elapsed = Elapsed();

  EXPECT_CONSISTENTLY(elapsed(), Ge(ZeroDuration()),
                      HoldFor(Milliseconds(2500)));
  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), Seconds(1), Seconds(2),
                                      Milliseconds(2500)));
}

TEST_F(ConsistentlyTest, CountsPolls) {
  const auto elapsed = Elapsed();
  EventuallyOptions options = {
      .backoff = kEverySecond, .successes_required = 4, .clock = &clock_};

  ASSERT_CONSISTENTLY(elapsed(), Ge(ZeroDuration()), options);
  EXPECT_THAT(polled_at_, SizeIs(4));
}

TEST_F(ConsistentlyTest, PollsTwiceEvenIfOnePollOutlastsIt) {
  const auto slow = [&] {
    clock_.AdvanceTime(Seconds(9));
    polled_at_.push_back(clock_.Elapsed());
    return true;
  };

  EXPECT_CONSISTENTLY(slow(), true, HoldFor(Seconds(2)));
  EXPECT_THAT(polled_at_, SizeIs(2));
}

TEST_F(ConsistentlyTest, FailsWithAnError) {
  EXPECT_THAT(
      FailureOf([&] {
        EXPECT_CONSISTENTLY(
            absl::StatusOr<int>(absl::UnavailableError("reset")), IsOk(),
            HoldFor(Seconds(2)));
      }),
      HasSubstr("did not hold at the first poll, but must hold for 2s"));
  EXPECT_EQ(clock_.Elapsed(), ZeroDuration());
}

TEST_F(ConsistentlyTest, NeverFailsOnAPollThatEndsLate) {
  const auto slow = Slow(Seconds(9));

  EXPECT_THAT(
      FailureOf([&] { EXPECT_NEVER(slow(), true, HoldFor(Seconds(2))); }),
      AllOf(HasSubstr("Never: is equal to true"), HasSubstr("Actual: true")));
}

TEST_F(ConsistentlyTest, NeverPassesIfNoPollMatches) {
  const auto elapsed = Elapsed();

  EXPECT_NEVER(elapsed(), Milliseconds(1500), HoldFor(Seconds(3)));
  EXPECT_THAT(polled_at_, SizeIs(4));
}

TEST_F(ConsistentlyTest, PassIfEndsConsistentlyAndNeverEarly) {
  clock_.CallAt(Milliseconds(1500), [&] { polled_at_.push_back(Seconds(99)); });
  const auto state = [&] {
    return std::string(polled_at_.empty() ? "RUNNING" : "DONE");
  };

  EXPECT_NEVER(state(), "FAILED", HoldFor(Minutes(1)), PassIf("DONE"));
  EXPECT_EQ(clock_.Elapsed(), Seconds(2));
  EXPECT_CONSISTENTLY(state(), Ne("FAILED"), HoldFor(Minutes(1)),
                      PassIf("DONE"));
  ASSERT_NEVER(state(), "FAILED", PassIf("DONE"));
  EXPECT_EQ(clock_.Elapsed(), Seconds(2));
}

TEST_F(ConsistentlyTest, PassIfThatNeverMatchesChangesNothing) {
  const auto elapsed = Elapsed();

  EXPECT_CONSISTENTLY(elapsed(), Ge(ZeroDuration()), HoldFor(Seconds(2)),
                      PassIf(Minutes(1)));
  EXPECT_THAT(polled_at_, SizeIs(3));
  EXPECT_THAT(
      FailureOf([&] {
        EXPECT_NEVER(elapsed(), Seconds(4), HoldFor(Minutes(1)),
                     PassIf(Minutes(1)));
      }),
      StartsWith("elapsed() matched after 2s (2 polls without a match), "
                 "but must not match for 1m"));
}

TEST_F(ConsistentlyTest, ViolationWinsOverPassIf) {
  EXPECT_THAT(
      FailureOf([&] { EXPECT_NEVER(1, 1, HoldFor(Minutes(1)), PassIf(1)); }),
      HasSubstr("matched at the first poll, but must not match for 1m"));
  EXPECT_THAT(
      FailureOf(
          [&] { EXPECT_CONSISTENTLY(1, 2, HoldFor(Minutes(1)), PassIf(1)); }),
      HasSubstr("did not hold at the first poll, but must hold for 1m"));
}

TEST_F(ConsistentlyTest, ObserverSeesAWaitThatPassIfEndsAsCancelled) {
  struct Ends : WaitObserver {
    void OnDone(const WaitIdentity& /*wait*/,
                const WaitReport& report) override {
      reasons.push_back(report.reason);
    }
    std::vector<StopReason> reasons;
  };
  Ends ends;
  EventuallyOptions options = HoldFor(Minutes(1));
  options.observer = Unowned(ends);

  EXPECT_CONSISTENTLY(1, 1, options, PassIf(1));
  EXPECT_CONSISTENTLY(1, 1, options, PassIf(2));
  EXPECT_THAT(ends.reasons,
              ElementsAre(StopReason::kCancelled, StopReason::kSuccess));
}

TEST_F(ConsistentlyTest, ExceptionFailsConsistentlyAndNever) {
  const auto get = []() -> int { throw std::runtime_error("reset"); };

  EXPECT_THAT(FailureOf([&] { EXPECT_NEVER(get(), 1, HoldFor(Seconds(3))); }),
              StartsWith("get() threw std::runtime_error: reset"));
  EXPECT_THAT(
      FailureOf([&] { EXPECT_CONSISTENTLY(get(), 1, HoldFor(Seconds(3))); }),
      HasSubstr("std::runtime_error: reset"));
}

TEST_F(ConsistentlyTest, TooShortForTwoPollsIsReported) {
  for (const absl::Duration time : {ZeroDuration(), -Seconds(1)}) {
    EXPECT_THAT(
        FailureOf([&] { EXPECT_CONSISTENTLY(Elapsed()(), _, HoldFor(time)); }),
        HasSubstr("too short for two polls"));
  }
  EXPECT_THAT(polled_at_, IsEmpty());
}

}  // namespace
}  // namespace waiter::consistently_test
