// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests that each check accepts a history without defects, and finds a planted
// defect.

#include "tests/redis/chaos/checker.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/redis/chaos/history.h"
#include "tests/support/first_seed.h"

namespace waiter::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kWorkers = 4;

// Tests use a history of one minute with four workers.
class CheckerTest : public testing::Test {
 protected:
  CheckerTest() {
    history_.end = 60;
    for (int worker = 0; worker < kWorkers; ++worker) {
      history_.workers.push_back({.worker = worker});
    }
  }

  // Adds polls of the `workers` in turn, `rate` per second in all.
  void Poll(double from, double to, double rate,
            const std::vector<int>& workers = {0, 1, 2, 3},
            Claim claim = Claim::kShared, int64_t members = kWorkers) {
    const auto count = static_cast<size_t>(std::lround((to - from) * rate));
    for (size_t i = 0; i < count; ++i) {
      history_.polls.push_back({.time = from + static_cast<double>(i) / rate,
                                .worker = workers[i % workers.size()],
                                .claim = claim,
                                .members = members});
    }
    std::stable_sort(
        history_.polls.begin(), history_.polls.end(),
        [](const auto& a, const auto& b) { return a.time < b.time; });
  }
  // Adds `count` polls at the same time.
  void PollAtOnce(double time, int count) {
    Poll(time, time + 1e-6, count * 1e6);
  }
  void AddFault(FaultKind kind, double from, double to,
                int place = kAllPlaces) {
    history_.faults.push_back({kind, from, to, place});
  }

  History history_;
};

TEST_F(CheckerTest, HistoryWithoutDefectPasses) {
  Poll(0, 60, 200);
  EXPECT_THAT(CheckAll(history_), IsEmpty());
  const Figures figures = Measure(history_);
  EXPECT_NEAR(figures.use, 1, 0.01);
  EXPECT_NEAR(figures.most_above, 1, 0.1);
  EXPECT_EQ(figures.quiet_seconds, 50);
}

TEST_F(CheckerTest, WorstExcessIsThatOfAllIntervals) {
  const uint64_t seed = FirstSeed();
  SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
  std::mt19937_64 gen(seed);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(gen);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> events(30);
    for (Event& event : events) event = {uniform(0, 10), uniform(-1, 3)};
    std::sort(events.begin(), events.end(),
              [](const Event& a, const Event& b) { return a.time < b.time; });
    Allowance allowance = {.rate = uniform(0, 3), .constant = uniform(0, 5)};
    for (int i = 0; i < 3; ++i) {
      const double from = uniform(-1, 10);
      allowance.extras.push_back({from, from + uniform(0, 4), uniform(0, 5)});
      const double begin = uniform(-1, 10);
      allowance.surplus.push_back(
          {begin, begin + uniform(0, 4), uniform(-1, 2)});
    }
    double worst = -std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < events.size(); ++a) {
      double sum = 0;
      for (size_t b = a; b < events.size(); ++b) {
        const double from = events[a].time;
        const double to = events[b].time;
        sum += events[b].amount;
        double allowed = allowance.rate * (to - from) + allowance.constant;
        for (const auto& extra : allowance.extras) {
          if (extra.from <= to && extra.to >= from) allowed += extra.amount;
        }
        for (const auto& surplus : allowance.surplus) {
          allowed +=
              surplus.rate * std::max(0.0, std::min(to, surplus.to) -
                                               std::max(from, surplus.from));
        }
        worst = std::max(worst, sum - allowed);
      }
    }
    EXPECT_NEAR(WorstExcess(events, allowance).amount, worst, 1e-9);
  }
}

TEST_F(CheckerTest, TooManySharedPollsAreFound) {
  Poll(0, 60, 200);
  // The maximum is half a second of the rate, the burst, and one poll of each
  // worker.
  PollAtOnce(30, 200 / 2 + 20 + kWorkers - 1);
  EXPECT_THAT(CheckShared(history_), IsEmpty());
  EXPECT_THAT(CheckRate(history_), IsEmpty());
  PollAtOnce(30, 2);
  EXPECT_THAT(CheckShared(history_), ElementsAre(HasSubstr(" 2.0 too many")));
  EXPECT_THAT(CheckRate(history_), ElementsAre(HasSubstr(" 2.0 too many")));
}

TEST_F(CheckerTest, RateThatIsSlightlyTooHighIsFound) {
  Poll(0, 60, 203);
  EXPECT_THAT(CheckShared(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, EmptiedStoreExplainsOneHorizonAndOneBurstOnce) {
  Poll(0, 60, 200);
  AddFault(FaultKind::kStoreEmptied, 30, 30);
  PollAtOnce(30.2, 2 * 120);
  EXPECT_THAT(CheckShared(history_), IsEmpty());
  PollAtOnce(31, 120);
  EXPECT_THAT(CheckShared(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, KilledStoreExplainsOneHorizonAndOneBurst) {
  Poll(0, 60, 200);
  AddFault(FaultKind::kStoreKilled, 30, 30.1);
  PollAtOnce(30.2, 2 * 120);
  EXPECT_THAT(CheckShared(history_), IsEmpty());
  PollAtOnce(30.2, 50);
  EXPECT_THAT(CheckShared(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, RewoundStoreExplainsNoPollsWithoutItsEnd) {
  Poll(0, 60, 200);
  AddFault(FaultKind::kStoreRewound, 20, 30);
  PollAtOnce(30.2, 120);
  EXPECT_THAT(CheckShared(history_), IsEmpty());
  PollAtOnce(30.2, 50);
  EXPECT_THAT(CheckShared(history_), Not(IsEmpty()));
  AddFault(FaultKind::kStoreKilled, 30, 30.1);
  EXPECT_THAT(CheckShared(history_), IsEmpty());
}

TEST_F(CheckerTest, StoreThatIsAwayGrantsNothing) {
  Poll(0, 20, 200);
  AddFault(FaultKind::kStoreStopped, 20, 30);
  // These polls have slots that were granted before, as many as normal work
  // allows.
  Poll(20, 20.5, 200);
  PollAtOnce(10, 120);
  Poll(30, 60, 200);
  EXPECT_THAT(CheckShared(history_), IsEmpty());
  Poll(23, 27, 200);
  EXPECT_THAT(CheckShared(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, MembersThatAreAloneUseTheirPartsAndNoMore) {
  Poll(0, 20, 200);
  AddFault(FaultKind::kStoreStopped, 20, 30);
  Poll(22, 31, 200, {0, 1, 2, 3}, Claim::kLocal);
  Poll(31, 60, 200);
  EXPECT_THAT(CheckAll(history_), IsEmpty());
  Poll(24, 28, 20, {1}, Claim::kLocal);
  EXPECT_THAT(CheckLocal(history_), ElementsAre(HasSubstr("worker 1")));
}

TEST_F(CheckerTest, MemberThatWasNeverConnectedUsesItsLocalShare) {
  AddFault(FaultKind::kRefused, 0, 50, 1);
  Poll(3, 50, 50, {1}, Claim::kNeverReached, 1);
  EXPECT_THAT(CheckLocal(history_), IsEmpty());
  Poll(10, 20, 15, {1}, Claim::kNeverReached, 1);
  EXPECT_THAT(CheckLocal(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, MembersThatTakeTheWholeRateWithoutTheStoreAreFound) {
  AddFault(FaultKind::kStoreStopped, 20, 40);
  for (const int worker : {0, 1}) {
    // Each worker believes that it is the only one.
    Poll(22, 40, 200, {worker}, Claim::kLocal, 1);
  }
  EXPECT_THAT(CheckLocal(history_), IsEmpty());
  EXPECT_THAT(CheckRate(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, MemberThatCountsTooFewOthersIsFound) {
  AddFault(FaultKind::kStoreStopped, 20, 40);
  Poll(22, 40, 150, {0, 1, 2}, Claim::kLocal);
  Poll(22, 40, 50, {3}, Claim::kLocal);
  EXPECT_THAT(CheckAway(history_), IsEmpty());
  Poll(22, 40, 50, {3}, Claim::kLocal, 2);
  EXPECT_THAT(CheckAway(history_), Not(IsEmpty()));
  // Other members may not know a member that has just joined.
  AddFault(FaultKind::kWorkerJoined, 19, 19, 3);
  EXPECT_THAT(CheckAway(history_), IsEmpty());
  Poll(22, 40, 100, {3}, Claim::kLocal, 1);
  EXPECT_THAT(CheckAway(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, CutOffMemberThatTakesMoreThanItsPartIsFound) {
  AddFault(FaultKind::kRefused, 10, 40, 3);
  Poll(0, 60, 200, {0, 1, 2});
  Poll(12, 42, 50, {3}, Claim::kLocal);
  Poll(42, 60, 1, {3});
  EXPECT_THAT(CheckAll(history_), IsEmpty());
  // CheckRate does not depend on the members that the worker reports.
  Poll(12, 42, 20, {3}, Claim::kLocal, 1);
  EXPECT_THAT(CheckLocal(history_), IsEmpty());
  EXPECT_THAT(CheckRate(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, AllThatAreCutOffMayUseTheRateOnceMore) {
  AddFault(FaultKind::kRefused, 10, 40);
  Poll(0, 60, 200);
  Poll(12, 42, 180, {0, 1, 2, 3}, Claim::kLocal);
  EXPECT_THAT(CheckRate(history_), IsEmpty());
  Poll(12, 42, 50, {0, 1, 2, 3}, Claim::kLocal);
  EXPECT_THAT(CheckRate(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, MemberThatHasJustComeMayCountNobodyInAnEmptyStore) {
  history_.workers[3].from = 15;
  AddFault(FaultKind::kRefused, 20, 50, 3);
  Poll(0, 60, 200, {0, 1, 2});
  Poll(22, 52, 190, {3}, Claim::kLocal, 1);
  EXPECT_THAT(CheckRate(history_), Not(IsEmpty()));
  AddFault(FaultKind::kStoreEmptied, 14, 14);
  EXPECT_THAT(CheckRate(history_), IsEmpty());
}

TEST_F(CheckerTest, MemberThatIsCutOffByItselfIsNotCountedByOthers) {
  AddFault(FaultKind::kRefused, 10, 40, 3);
  AddFault(FaultKind::kRefused, 22, 40, 2);
  Poll(0, 60, 200, {0, 1});
  Poll(12, 42, 50, {3}, Claim::kLocal);
  Poll(24, 42, 200.0 / 3, {2}, Claim::kLocal, 3);
  EXPECT_THAT(CheckRate(history_), IsEmpty());
  Poll(24, 42, 50, {2}, Claim::kLocal, 2);
  EXPECT_THAT(CheckRate(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, MemberThatIsAloneWithoutAFaultIsFound) {
  Poll(0, 60, 200);
  AddFault(FaultKind::kCut, 20, 20, 2);
  // Worker 102 has taken the place of worker 2.
  Poll(21.5, 29.5, 50, {102}, Claim::kLocal);
  EXPECT_THAT(CheckModes(history_), IsEmpty());
  Poll(22, 22.5, 50, {1}, Claim::kLocal);
  Poll(31, 31.5, 50, {2}, Claim::kLocal);
  AddFault(FaultKind::kStoreEmptied, 22, 22);
  EXPECT_THAT(CheckModes(history_),
              ElementsAre(HasSubstr("worker 1 "), HasSubstr("worker 2 ")));
}

TEST_F(CheckerTest, MemberThatGoesOnAloneAtOnceIsFound) {
  Poll(0, 60, 200);
  AddFault(FaultKind::kStoreStopped, 20, 30);
  Poll(20.5, 20.9, 50, {1}, Claim::kLocal);
  EXPECT_THAT(CheckModes(history_), ElementsAre(HasSubstr("20.5")));
}

TEST_F(CheckerTest, WorkerThatDoesNotPollAgainIsFound) {
  AddFault(FaultKind::kStoreKilled, 20, 25);
  Poll(0, 20, 200);
  Poll(30, 60, 150, {0, 1, 2});
  EXPECT_THAT(CheckLiveness(history_), ElementsAre(HasSubstr("worker 3 ")));
  Poll(39.9, 60, 50, {3});
  EXPECT_THAT(CheckLiveness(history_), IsEmpty());
}

TEST_F(CheckerTest, GapInAQuietPhaseIsFound) {
  Poll(0, 30, 200);
  Poll(30, 35.1, 150, {0, 1, 2});
  Poll(35.1, 60, 200);
  EXPECT_THAT(CheckLiveness(history_), ElementsAre(HasSubstr("worker 3 ")));
}

TEST_F(CheckerTest, WaitThatIsNotPolledAgainIsFound) {
  Poll(0, 60, 200);
  history_.answers.push_back({20, 1, 7, Answer::kNotReady});
  for (int i = 0; i < kMostOthers; ++i) {
    history_.answers.push_back(
        {20 + i * 0.01, 1, 8 + i % 99, Answer::kNotReady});
    history_.answers.push_back({20 + i * 0.01, 2, 7, Answer::kNotReady});
  }
  EXPECT_THAT(CheckAll(history_), IsEmpty());
  history_.answers.push_back({45, 1, 8, Answer::kNotReady});
  EXPECT_THAT(CheckAll(history_),
              ElementsAre(HasSubstr("wait 7 of worker 1 is not polled from "
                                    "20.000 to 60.000")));
  // A late poll is also a defect.
  history_.answers.push_back({50, 1, 7, Answer::kSuccess});
  EXPECT_THAT(CheckAll(history_), ElementsAre(HasSubstr("to 50.000")));
}

TEST_F(CheckerTest, WaitThatMayHaveEndedNeedNotBePolled) {
  history_.answers.push_back({20, 1, 5, Answer::kSuccess});
  // The quota may have ended this wait.
  history_.answers.push_back({20, 1, 6, Answer::kError});
  for (int i = 0; i < 2 * kMostOthers; ++i) {
    history_.answers.push_back({21, 1, 7, Answer::kNotReady});
  }
  EXPECT_THAT(CheckWaits(history_), IsEmpty());
}

TEST_F(CheckerTest, WorkerThatEndsNeedNotPoll) {
  history_.workers[3].to = 40;
  Poll(0, 40, 200);
  Poll(40, 60, 200, {0, 1, 2});
  AddFault(FaultKind::kWorkerKilled, 40, 40, 3);
  EXPECT_THAT(CheckLiveness(history_), IsEmpty());
}

TEST_F(CheckerTest, RunWithoutAQuietPhaseIsFound) {
  Poll(0, 60, 200);
  for (int i = 0; i < 6; ++i) AddFault(FaultKind::kCut, 10 * i, 10 * i);
  EXPECT_THAT(CheckLiveness(history_), ElementsAre(HasSubstr("quiet")));
  AddFault(FaultKind::kMachineStalled, 30, 31);
  EXPECT_THAT(CheckLiveness(history_), IsEmpty());
}

// Adds retries of a wait, each after an error.
void AddRetries(History& history, double time, int count) {
  for (int i = 0; i < count; ++i) {
    history.answers.push_back({time, 0, 1, Answer::kError});
  }
  history.answers.push_back({time, 0, 1, Answer::kNotReady});
}

TEST_F(CheckerTest, RetriesBeyondTheQuotaAreFound) {
  const Budgets& budgets = history_.budgets;
  // A call of each worker may be in progress.
  const auto most = static_cast<int>(
      (budgets.capacity + 16 * budgets.retry_cost) / budgets.retry_cost);
  AddRetries(history_, 30, most);
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
  AddRetries(history_, 30.1, 1);
  EXPECT_THAT(CheckQuota(history_), ElementsAre(HasSubstr("tokens")));
  AddFault(FaultKind::kStoreEmptied, 30, 30);
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
}

TEST_F(CheckerTest, RewoundStoreExplainsOneCapacity) {
  const auto most = static_cast<int>((500 + 16 * 14) / 14);
  AddRetries(history_, 30, most + 500 / 14);
  EXPECT_THAT(CheckQuota(history_), Not(IsEmpty()));
  AddFault(FaultKind::kStoreRewound, 20, 29);
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
  AddRetries(history_, 30, 2);
  EXPECT_THAT(CheckQuota(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, MemberThatIsCutOffExplainsItsPartAndNotAll) {
  const auto most = static_cast<int>((500 + 16 * 14) / 14);
  AddFault(FaultKind::kRefused, 20, 28, 3);
  // The member spends the tokens it held, and a quarter of the capacity at the
  // end of its lease.
  AddRetries(history_, 30, most + 2 * 500 / 4 / 14);
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
  AddRetries(history_, 30, 3);
  EXPECT_THAT(CheckQuota(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, RefillPaysForRetries) {
  for (int second = 0; second < 60; ++second) {
    AddRetries(history_, second, second % 3 == 0 ? 1 : 0);
  }
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
}

TEST_F(CheckerTest, SuccessReturnsWhatTheLastRetryCost) {
  for (int64_t wait = 0; wait < 200; ++wait) {
    history_.answers.push_back({20, 0, wait, Answer::kError});
    history_.answers.push_back({20, 0, wait, Answer::kSuccess});
  }
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
  // One of two retries is not paid back.
  for (int64_t wait = 200; wait < 260; ++wait) {
    history_.answers.push_back({40, 0, wait, Answer::kError});
    history_.answers.push_back({40, 0, wait, Answer::kError});
    history_.answers.push_back({40, 0, wait, Answer::kSuccess});
  }
  EXPECT_THAT(CheckQuota(history_), Not(IsEmpty()));
}

TEST_F(CheckerTest, ErrorThatIsNotRetriedCostsNothing) {
  for (int64_t wait = 0; wait < 1000; ++wait) {
    history_.answers.push_back({30, 0, wait, Answer::kError});
  }
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
}

TEST_F(CheckerTest, KilledWorkerExplainsItsTokens) {
  const int most = static_cast<int>((500 + 16 * 14) / 14);
  AddRetries(history_, 30, most + 10);
  EXPECT_THAT(CheckQuota(history_), Not(IsEmpty()));
  AddFault(FaultKind::kWorkerKilled, 20, 20, 0);
  EXPECT_THAT(CheckQuota(history_), IsEmpty());
  AddRetries(history_, 30, 20);
  EXPECT_THAT(CheckQuota(history_), Not(IsEmpty()));
}

}  // namespace
}  // namespace waiter::chaos
