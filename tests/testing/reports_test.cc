// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Requests and reports of users of other libraries for assertions that poll,
// one test each. The scenarios of assertion_scenarios.h hold in all frameworks.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::reports_test {
namespace {

using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ReportsTest : public testing::Test {
 protected:
  std::string State() {
    return clock_.Elapsed() >= Seconds(5) ? "DONE" : "RUNNING";
  }

  SimulatedClock clock_;
  ScopedEventuallyDefaults defaults_{
      {.backoff = {.initial_delay = Seconds(1), .max_delay = Seconds(1)},
       .clock = &clock_}};
};

// TUnit#4762: instead of a loop with a deadline, a poll waits until an order
// has a state, and returns the value to continue with.
TEST_F(ReportsTest, AStateIsAwaitedInOneLineThatReturnsIt) {
  const absl::StatusOr<std::string> state =
      Eventually([&] { return State(); },
                 [](const std::string& text) { return text.size() == 4; },
                 {.timeout = Seconds(25)});

  EXPECT_EQ(state.value(), "DONE");
}

// fluentassertions#3263: an assertion is repeated until it passes, on a clock
// that a test can set, and its last failure is reported.
TEST_F(ReportsTest, AssertionsAreRepeatedOnAnInjectedClock) {
  EXPECT_EVENTUALLY_PASSES({ EXPECT_EQ(State(), "DONE"); });
  EXPECT_EQ(clock_.Elapsed(), Seconds(5));
  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY_PASSES({
                  EXPECT_EQ(State(), "GONE") << "at " << clock_.Elapsed();
                });
              }),
              AllOf(HasSubstr("at 10s"), testing::Not(HasSubstr("at 9s"))));
}

// playwright-dotnet#2314: polls at intervals of a list.
TEST_F(ReportsTest, IntervalsAreAList) {
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""s;
  std::vector<absl::Duration> times;
  const auto get = [&] {
    times.push_back(clock_.Elapsed());
    return times.size();
  };

  EXPECT_EVENTUALLY(get(), 6,
                    {.delay_source = DelayList({100ms, 250ms, 500ms, 1s})});
  EXPECT_THAT(times, ElementsAre(absl::ZeroDuration(), Milliseconds(100),
                                 Milliseconds(350), Milliseconds(850),
                                 Milliseconds(1850), Milliseconds(2850)));
}

// kmtest#21: awaits a condition of another thread without a sleep of a guessed
// length.
TEST_F(ReportsTest, AChangeByAnotherThreadIsAwaited) {
  std::atomic<bool> done = false;
  std::thread other([&] { done = true; });

  EXPECT_EVENTUALLY(done, {.clock = &GetRealClock()});
  other.join();
}

// gomega#386: a cluster that failed will not heal, so waiting is pointless.
TEST_F(ReportsTest, AFunctionEndsTheWaitWhenItIsHopeless) {
  const auto state_of_cluster = [&]() -> Poll<std::string> {
    if (clock_.Elapsed() < Seconds(2)) return Success("CREATING");
    return StopTrying("the cluster is CREATE_FAILED");
  };

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(state_of_cluster(), "ACTIVE",
                                  {.timeout = Minutes(20)});
              }),
              StartsWith("state_of_cluster() gave up at 2s: StopTrying: the "
                         "cluster is CREATE_FAILED\n"));
}

// kotest#145: a failed assertion in the block is retried like an exception.
TEST_F(ReportsTest, AFailedAssertionInABlockIsRetried) {
  int runs = 0;
  EXPECT_EVENTUALLY_PASSES({ ASSERT_EQ(++runs, 3); });
  EXPECT_EQ(runs, 3);
}

// varlog#1214: the first unsuccessful check marks the test as failed, although
// a later one succeeds.
TEST_F(ReportsTest, AFailedRunDoesNotFailATestThatPassesLater) {
  EXPECT_THAT(PartsOf([&] {
                EXPECT_EVENTUALLY_PASSES({ EXPECT_EQ(State(), "DONE"); });
              }),
              IsEmpty());
}

// testify#1611: a condition continues after its assertion has ended, on a
// thread that races with the rest of the test.
TEST_F(ReportsTest, NoPollOutlivesTheAssertion) {
  std::vector<std::thread::id> threads;
  int running = 0;
  const auto get = [&] {
    threads.push_back(std::this_thread::get_id());
    ++running;
    clock_.AdvanceTime(Seconds(20));
    --running;
    return false;
  };

  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(get(), {.timeout = Seconds(5)}); }),
      HasSubstr("one of which took 20s"));
  EXPECT_EQ(running, 0);
  EXPECT_THAT(threads, ElementsAre(std::this_thread::get_id()));
}

// A limiter that blocks every poll.
class NoPolls final : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override { return now + Seconds(1); }
  void Update(MonotonicTime /*now*/, PollStatus /*status*/) override {}
  std::optional<double> Rate() const override { return 0; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<NoPolls>();
  }
};

// testify#1652: the limit passes before the condition was evaluated once. Even
// a limiter that blocks every poll does not prevent the one at the limit.
TEST_F(ReportsTest, ALimitNeverPassesWithoutAPoll) {
  const WaitOptions policy = {
      .timeout = Seconds(5),
      .budgets = {.rate_limiter = std::make_shared<NoPolls>()}};
  int polls = 0;
  const auto get = [&] { return ++polls; };

  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(get(), 7, {.policy = policy}); }),
      AllOf(StartsWith("get() did not match within 5s\n"),
            HasSubstr("Actual: 1 (poll 1, at 5s)\n"),
            HasSubstr("Polls: 1 in 5s")));
  EXPECT_EQ(polls, 1);
}

// testify#1439: a fatal assertion in a function that the block calls ends only
// that run.
TEST_F(ReportsTest, AFatalAssertionDeepInABlockEndsThatRunAlone) {
  int runs = 0;
  const auto check = [&] { ASSERT_EQ(State(), "DONE"); };
  EXPECT_EVENTUALLY_PASSES({
    ++runs;
    ASSERT_NO_FATAL_FAILURE(check());
  });
  EXPECT_EQ(runs, 6);
}

// An assertion in another thread fails the test as it does elsewhere.
TEST_F(ReportsTest, AnAssertionOfAnotherThreadFailsTheTest) {
  testing::TestPartResultArray parts;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS,
        &parts);
    std::thread([&] {
      EXPECT_EVENTUALLY(1, 2, {.timeout = Seconds(1)});
    }).join();
  }
  ASSERT_EQ(parts.size(), 1);
  EXPECT_THAT(parts.GetTestPartResult(0).message(),
              StartsWith("1 did not match within 1s\n"));
}

}  // namespace
}  // namespace waiter::reports_test
