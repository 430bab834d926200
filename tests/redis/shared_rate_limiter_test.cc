// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Simulates processes that share a rate, on simulated time. Each has a limiter
// and waits, and all share a store in memory.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "cli/sim/memory_budget_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "tests/support/simulated_budget_store.h"
#include "tests/support/status_matchers.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::shared_rate_limiter_test {
namespace {

constexpr absl::Duration kHorizon = absl::Milliseconds(500);

// The polls of all processes, by time in seconds since the start.
struct PollLog {
  std::vector<double> times;
  std::vector<int> processes;

  int64_t Between(double from, double to) const {
    return std::lower_bound(times.begin(), times.end(), to) -
           std::lower_bound(times.begin(), times.end(), from);
  }
  std::vector<double> ByProcess(size_t count, double from, double to) const {
    std::vector<double> polls(count);
    for (size_t i = 0; i < times.size(); ++i) {
      if (times[i] >= from && times[i] < to) {
        ++polls[static_cast<size_t>(processes[i])];
      }
    }
    return polls;
  }
};

// Returns 1 if all values are equal, and 1/n if all but one are zero.
double JainIndex(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

// Returns the maximum by which polls in any interval exceed `rate` times its
// length. This is the smallest burst with which a bucket of that rate would let
// them pass.
double LeastBurst(const std::vector<double>& times, double rate) {
  double most = 0;
  double lowest = std::numeric_limits<double>::max();
  for (size_t i = 0; i < times.size(); ++i) {
    const auto count = static_cast<double>(i);
    lowest = std::min(lowest, count - rate * times[i]);
    most = std::max(most, count + 1 - rate * times[i] - lowest);
  }
  return most;
}

class Fleet;

// One process with a limiter, and waits that poll repeatedly.
class Process {
 public:
  Process(Fleet& fleet, int index, const SharedRateLimiterOptions& options);

  // Adds waits that poll `pause` after each poll.
  void Add(int waits, absl::Duration pause = absl::ZeroDuration());
  // Stops all polls, as if the process were killed. It does not leave the
  // budget.
  void Kill() {
    is_killed_ = true;
    store_->Cut();
  }
  // Stops all polls; the process is an idle member from now on.
  void Idle() { is_killed_ = true; }
  // Delays all polls that would come before `time` until then.
  void PauseUntil(absl::Duration time) { paused_until_ = time; }

  sim::MemoryBudgetStore& store() { return *store_; }
  SharedRateLimiter& limiter() { return *limiter_; }
  void Leave() {
    is_killed_ = true;
    limiter_ = nullptr;
  }

 private:
  void Run(absl::Duration pause);

  Fleet& fleet_;
  int index_;
  std::shared_ptr<sim::MemoryBudgetStore> store_;
  std::shared_ptr<SharedRateLimiter> limiter_;
  bool is_killed_ = false;
  absl::Duration paused_until_;
};

class Fleet {
 public:
  explicit Fleet(SharedRateLimiterOptions options)
      : options_(std::move(options)) {}

  Process& Add(int waits, absl::Duration pause = absl::ZeroDuration()) {
    processes_.push_back(std::make_unique<Process>(
        *this, static_cast<int>(processes_.size()), options_));
    processes_.back()->Add(waits, pause);
    return *processes_.back();
  }
  void Add(int processes, int waits) {
    for (int i = 0; i < processes; ++i) Add(waits);
  }

  void Run(absl::Duration time) { clock_.AdvanceTime(time); }

  SimulatedClock& clock() { return clock_; }
  std::shared_ptr<sim::BudgetBook> book() { return book_; }
  PollLog& log() { return log_; }
  Process& process(size_t index) { return *processes_[index]; }
  size_t size() const { return processes_.size(); }
  int64_t calls() const {
    int64_t calls = 0;
    for (const auto& process : processes_) calls += process->store().calls();
    return calls;
  }

  // The server's answer to a poll, "not ready" by default.
  std::function<PollStatus()> server = [] { return PollStatus::kNotReady; };

 private:
  SimulatedClock clock_{SimulatedClock::Mode::kManual};
  SharedRateLimiterOptions options_;
  std::shared_ptr<sim::BudgetBook> book_ = std::make_shared<sim::BudgetBook>();
  PollLog log_;
  std::vector<std::unique_ptr<Process>> processes_;
};

Process::Process(Fleet& fleet, int index,
                 const SharedRateLimiterOptions& options)
    : fleet_(fleet),
      index_(index),
      store_(
          std::make_shared<SimulatedBudgetStore>(fleet.clock(), fleet.book())),
      limiter_(*SharedRateLimiter::Make(store_, options)) {}

void Process::Add(int waits, absl::Duration pause) {
  for (int i = 0; i < waits; ++i) Run(pause);
}

void Process::Run(absl::Duration pause) {
  if (is_killed_) return;
  SimulatedClock& clock = fleet_.clock();
  const absl::Duration elapsed = clock.Elapsed();
  if (elapsed < paused_until_) {
    clock.CallAt(paused_until_, [this, pause] { Run(pause); });
    return;
  }
  const MonotonicTime now = clock.MonotonicNow();
  const MonotonicTime start = limiter_->Acquire(now);
  absl::Duration sleep = pause;
  if (start > now) {
    sleep = absl::FromChrono(start - now);
  } else {
    fleet_.log().times.push_back(absl::ToDoubleSeconds(elapsed));
    fleet_.log().processes.push_back(index_);
    limiter_->Update(now, fleet_.server());
    sleep += absl::Milliseconds(1);
  }
  clock.CallAt(elapsed + sleep, [this, pause] { Run(pause); });
}

class FleetSizeTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, FleetSizeTest, testing::Values(1, 2, 10, 100));

TEST_P(FleetSizeTest, BusyMembersUseTheRateEquallyAndNeverMore) {
  const int members = GetParam();
  constexpr double kRate = 1000;
  Fleet fleet({.name = "api", .rate = kRate, .horizon = kHorizon});
  fleet.Add(members, /*waits=*/1000 / members + 20);

  fleet.Run(absl::Seconds(22));

  const PollLog& log = fleet.log();
  EXPECT_GE(static_cast<double>(log.Between(2, 22)), 0.97 * kRate * 20);
  EXPECT_LE(LeastBurst(log.times, kRate),
            1 + kRate * absl::ToDoubleSeconds(kHorizon));
  EXPECT_GE(JainIndex(log.ByProcess(fleet.size(), 2, 7)), 0.98);
  EXPECT_GE(JainIndex(log.ByProcess(fleet.size(), 2, 22)), 0.98);
  EXPECT_LE(static_cast<double>(fleet.calls()), (22.0 * 4 + 5) * members);
}

// Simulates a fleet of random size, rate and load whose network is slow or cut
// at random, and whose members come, die and pause.
TEST(SharedRateLimiterTest, RateIsNeverExceededWhateverHappensToMembers) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    std::mt19937_64 gen(seed);
    const double rate = std::exp(absl::Uniform(gen, 0.0, 7.0));
    const double burst = std::exp(absl::Uniform(gen, 0.0, 5.0));
    Fleet fleet({.name = "api", .rate = rate, .burst = burst});
    fleet.Add(absl::Uniform(gen, 1, 10), absl::Uniform(gen, 1, 30));
    for (int i = 0; i < 40; ++i) {
      Process& process =
          fleet.process(absl::Uniform(gen, size_t{0}, fleet.size()));
      switch (absl::Uniform(gen, 0, 6)) {
        case 0:
          process.Kill();
          break;
        case 1:
          process.PauseUntil(fleet.clock().Elapsed() +
                             absl::Milliseconds(absl::Uniform(gen, 0, 20'000)));
          break;
        case 2:
          // This is shorter than an outage after which a member continues
          // alone.
          process.store().set_one_way(
              absl::Milliseconds(absl::Uniform(gen, 0.1, 100.0)));
          break;
        case 3:
          fleet.Add(absl::Uniform(gen, 1, 30),
                    absl::Seconds(absl::Uniform(gen, 0.0, 1.0)));
          break;
        case 4:
          fleet.Add(1, 1);
          break;
        default:
          process.store().Cut(/*loses_answers=*/true);
          fleet.Run(absl::Seconds(absl::Uniform(gen, 0.0, 1.5)));
          process.store().Heal();
      }
      fleet.Run(absl::Seconds(absl::Uniform(gen, 0.0, 3.0)));
    }
    const double horizon = std::max(0.5, 2 / rate);
    // Answers take up to 200 ms, so slots are at most that late.
    EXPECT_LE(LeastBurst(fleet.log().times, rate),
              1.001 * (burst + rate * (horizon + 0.2)) + 1);
    EXPECT_GT(fleet.log().times.size(), 10);
  }
}

TEST(SharedRateLimiterTest, OneBusyMemberAmongIdleOnesUsesTheWholeRate) {
  Fleet fleet({.name = "api", .rate = 100});
  fleet.Add(/*waits=*/50);
  for (int i = 0; i < 20; ++i) fleet.Add(/*waits=*/1, absl::Minutes(10));

  fleet.Run(absl::Seconds(30));

  EXPECT_GE(fleet.log().Between(2, 30), 0.97 * 100 * 28);
}

TEST(SharedRateLimiterTest, WhatMembersOfLittleLoadLeaveGoesToTheBusy) {
  Fleet fleet({.name = "api", .rate = 100});
  fleet.Add(/*waits=*/100);
  for (int i = 0; i < 9; ++i) fleet.Add(/*waits=*/1, absl::Seconds(1));

  fleet.Run(absl::Seconds(32));

  const std::vector<double> polls = fleet.log().ByProcess(10, 2, 32);
  EXPECT_GE(fleet.log().Between(2, 32), 0.9 * 100 * 30);
  for (size_t i = 1; i < 10; ++i) EXPECT_GE(polls[i], 20) << i;
}

TEST(SharedRateLimiterTest, MoreMembersThanSlotsStillGetEqualParts) {
  Fleet fleet({.name = "api", .rate = 10});
  fleet.Add(/*processes=*/50, /*waits=*/5);

  fleet.Run(absl::Seconds(620));

  EXPECT_GE(fleet.log().Between(20, 620), 0.97 * 10 * 600);
  EXPECT_GE(JainIndex(fleet.log().ByProcess(50, 20, 620)), 0.98);
  EXPECT_LE(static_cast<double>(fleet.calls()), 620.0 * 4 * 50);
}

TEST(SharedRateLimiterTest, SharesAreEqualTwoSecondsAfterMembersCome) {
  Fleet fleet({.name = "api", .rate = 1000});
  fleet.Add(/*processes=*/3, /*waits=*/400);
  fleet.Run(absl::Seconds(10));
  fleet.Add(/*processes=*/7, /*waits=*/400);
  fleet.Run(absl::Seconds(7));

  EXPECT_GE(JainIndex(fleet.log().ByProcess(10, 12, 17)), 0.98)
      << testing::PrintToString(fleet.log().ByProcess(10, 12, 17));
  EXPECT_GE(fleet.log().Between(10, 17), 0.97 * 1000 * 7);
}

TEST(SharedRateLimiterTest, SharesAreEqualTwoSecondsAfterMembersDieOrLeave) {
  Fleet fleet({.name = "api", .rate = 1000});
  fleet.Add(/*processes=*/10, /*waits=*/400);
  fleet.Run(absl::Seconds(10));
  for (size_t i = 0; i < 3; ++i) fleet.process(i).Kill();
  fleet.Run(absl::Seconds(10));
  for (size_t i = 3; i < 6; ++i) fleet.process(i).Leave();
  fleet.Run(absl::Seconds(10));

  std::vector<double> polls = fleet.log().ByProcess(10, 12, 17);
  polls.erase(polls.begin(), polls.begin() + 3);
  EXPECT_GE(JainIndex(polls), 0.98) << testing::PrintToString(polls);
  EXPECT_GE(fleet.log().Between(12, 17), 0.97 * 1000 * 5);
  polls = fleet.log().ByProcess(10, 22, 27);
  polls.erase(polls.begin(), polls.begin() + 6);
  EXPECT_GE(JainIndex(polls), 0.98) << testing::PrintToString(polls);
  EXPECT_GE(fleet.log().Between(22, 27), 0.97 * 1000 * 5);
}

TEST(SharedRateLimiterTest, SharesAreEqualTwoSecondsAfterTheLoadHasMoved) {
  Fleet fleet({.name = "api", .rate = 1000});
  fleet.Add(/*processes=*/5, /*waits=*/400);
  fleet.Add(/*processes=*/5, /*waits=*/0);
  fleet.Run(absl::Seconds(10));
  for (size_t i = 0; i < 4; ++i) fleet.process(i).Idle();
  for (size_t i = 5; i < 10; ++i) fleet.process(i).Add(400);
  fleet.Run(absl::Seconds(7));

  std::vector<double> polls = fleet.log().ByProcess(10, 12, 17);
  polls.erase(polls.begin(), polls.begin() + 4);
  EXPECT_GE(JainIndex(polls), 0.98) << testing::PrintToString(polls);
  EXPECT_GE(fleet.log().Between(12, 17), 0.97 * 1000 * 5);
}

TEST(SharedRateLimiterTest, RateOfAKilledMemberGoesToTheOthers) {
  Fleet fleet({.name = "api", .rate = 1000});
  fleet.Add(/*processes=*/4, /*waits=*/800);
  fleet.Run(absl::Seconds(10));
  fleet.process(0).Kill();
  fleet.process(1).Leave();
  fleet.Run(absl::Seconds(15));

  EXPECT_GE(fleet.log().Between(10, 13), 0.8 * 1000 * 3);
  EXPECT_GE(fleet.log().Between(13, 25), 0.97 * 1000 * 12);
  EXPECT_LE(LeastBurst(fleet.log().times, 1000), 502);
}

TEST(SharedRateLimiterTest, PausedMemberDoesNotUseItsOldSlots) {
  Fleet fleet({.name = "api", .rate = 100});
  fleet.Add(/*processes=*/2, /*waits=*/100);
  fleet.Run(absl::Seconds(10));
  fleet.process(0).PauseUntil(absl::Seconds(40));
  fleet.Run(absl::Seconds(40));

  EXPECT_LE(LeastBurst(fleet.log().times, 100), 52);
  EXPECT_GT(fleet.process(0).limiter().State().unused, 0);
}

TEST(SharedRateLimiterTest, BurstPassesAtOnceAfterAPause) {
  Fleet fleet({.name = "api", .rate = 20, .burst = 100});
  fleet.Add(/*waits=*/1, absl::Minutes(1));
  fleet.Run(absl::Seconds(20));
  fleet.process(0).Add(200);
  fleet.Run(absl::Seconds(1));

  EXPECT_GE(fleet.log().Between(20, 21), 100);
  EXPECT_LE(fleet.log().Between(20, 21), 100 + 20 * 1.5 + 1);
}

TEST(SharedRateLimiterTest, FirstPollOfAnIdleProcessWaitsForOneRoundTrip) {
  Fleet fleet({.name = "api", .rate = 20});
  fleet.Add(/*waits=*/0);
  fleet.Run(absl::Seconds(61));
  fleet.process(0).Add(1);
  fleet.Run(absl::Milliseconds(5));

  EXPECT_EQ(fleet.log().times.size(), 1);
}

TEST(SharedRateLimiterTest, PollJustAfterARequestOfAnIdleProcessWaitsAsLong) {
  // An idle process sends a request every 5 s.
  for (int64_t after = 0; after < 12; ++after) {
    SCOPED_TRACE(after);
    Fleet fleet({.name = "api", .rate = 20});
    fleet.Add(/*waits=*/0);
    fleet.Run(absl::Seconds(60) + absl::Milliseconds(after));
    fleet.process(0).Add(1);
    fleet.Run(absl::Milliseconds(30));

    EXPECT_EQ(fleet.log().times.size(), 1);
  }
}

TEST(SharedRateLimiterTest, IdleMemberCallsTheStoreOnceInFiveSeconds) {
  Fleet fleet({.name = "api", .rate = 20});
  fleet.Add(/*waits=*/0);
  fleet.Run(absl::Minutes(1));

  EXPECT_LE(fleet.calls(), 13);
  EXPECT_GE(fleet.calls(), 11);
}

TEST(SharedRateLimiterTest, WithoutTheStoreEachUsesItsPartAndTheyShareAgain) {
  Fleet fleet({.name = "api", .rate = 100});
  fleet.Add(/*processes=*/4, /*waits=*/50);
  fleet.Run(absl::Seconds(10));
  for (size_t i = 0; i < 4; ++i) fleet.process(i).store().Cut();
  fleet.Run(absl::Seconds(3));

  SharedRateLimiterState state = fleet.process(0).limiter().State();
  EXPECT_EQ(state.mode, SharedBudgetMode::kLocal);
  EXPECT_EQ(state.rate, 25);
  EXPECT_EQ(state.members, 4);
  EXPECT_THAT(state.last_error, StatusIs(absl::StatusCode::kUnavailable));
  fleet.Run(absl::Seconds(20));
  for (const double polls : fleet.log().ByProcess(4, 13, 33)) {
    EXPECT_NEAR(polls, 25 * 20, 2);
  }

  for (size_t i = 0; i < 4; ++i) fleet.process(i).store().Heal();
  fleet.Run(absl::Seconds(12));
  state = fleet.process(0).limiter().State();
  EXPECT_EQ(state.mode, SharedBudgetMode::kShared);
  EXPECT_EQ(state.rate, 100);
  EXPECT_TRUE(state.last_error.ok());
  EXPECT_NEAR(static_cast<double>(fleet.log().Between(34, 45)), 1100, 35);
  // The polls of 3 s without a store are missing, but the limit always holds.
  EXPECT_LE(LeastBurst(fleet.log().times, 100), 51 + 100 * 0.5 + 4);
}

TEST(SharedRateLimiterTest, MemberThatIsCutOffUsesItsPartBesideTheOthers) {
  Fleet fleet({.name = "api", .rate = 100});
  fleet.Add(/*processes=*/4, /*waits=*/150);
  fleet.Run(absl::Seconds(10));
  fleet.process(0).store().Cut();
  fleet.Run(absl::Seconds(30));

  // Rate x (1 + cut off / members).
  EXPECT_LE(fleet.log().Between(15, 40), 125 * 25 + 51);
  EXPECT_GE(fleet.log().Between(15, 40), 0.97 * 125 * 25);
}

TEST(SharedRateLimiterTest, LocalShareHoldsUntilTheStoreIsReached) {
  for (const double share : {0.0, 0.5, 1.0}) {
    SimulatedClock clock(SimulatedClock::Mode::kManual);
    const auto store = std::make_shared<SimulatedBudgetStore>(
        clock, std::make_shared<sim::BudgetBook>());
    store->Cut();
    const auto limiter = *SharedRateLimiter::Make(
        store, {.name = "api", .rate = 100, .local_share = share});
    clock.AdvanceTime(absl::Seconds(4));
    EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kLocal);
    int polls = 0;
    for (int i = 0; i < 10'000; ++i) {
      const MonotonicTime now = clock.MonotonicNow();
      polls += limiter->Acquire(now) == now ? 1 : 0;
      clock.AdvanceTime(absl::Milliseconds(1));
    }
    EXPECT_NEAR(polls, 1000 * share, 2);
  }
}

TEST(SharedRateLimiterTest, EmptiedStoreCostsOneHorizonAndOneBurst) {
  Fleet fleet({.name = "api", .rate = 100, .burst = 20});
  fleet.Add(/*processes=*/5, /*waits=*/100);
  fleet.Run(absl::Seconds(10));
  fleet.book()->Clear();
  fleet.Run(absl::Seconds(10));

  EXPECT_LE(LeastBurst(fleet.log().times, 100), 2 * (20 + 100 * 0.5) + 1);
  EXPECT_GE(fleet.log().Between(10, 20), 0.97 * 1000);
}

// The store forgets which slots it granted. It can grant again only the slots
// from a burst before now until a horizon after now.
TEST(SharedRateLimiterTest,
     StoreThatLosesItsLastSecondsCostsOneHorizonAndOneBurst) {
  constexpr double kRate = 100;
  for (const double burst : {1.0, 200.0}) {
    for (const absl::Duration lost :
         {absl::Milliseconds(300), absl::Seconds(2), absl::Seconds(30)}) {
      SCOPED_TRACE(testing::Message()
                   << "burst " << burst << ", lost " << lost);
      Fleet fleet({.name = "api", .rate = kRate, .burst = burst});
      for (int i = 0; i < 5; ++i) fleet.Add(/*waits=*/1, absl::Seconds(10));
      fleet.Run(absl::Seconds(20));
      const sim::BudgetBook copy = *fleet.book();
      for (size_t i = 0; i < 5; ++i) fleet.process(i).Add(100);
      fleet.Run(lost);
      const double back = absl::ToDoubleSeconds(fleet.clock().Elapsed());
      *fleet.book() = copy;
      fleet.Run(absl::Seconds(10));

      const double most = burst + kRate * 0.5;
      const PollLog& log = fleet.log();
      EXPECT_LE(LeastBurst(log.times, kRate), 2 * most + 1);
      if (burst > 1) {
        // The polls exceed the limit of normal work, but only once.
        EXPECT_GE(LeastBurst(log.times, kRate), most + 0.5 * burst);
      }
      const auto at =
          std::lower_bound(log.times.begin(), log.times.end(), back);
      EXPECT_LE(LeastBurst({log.times.begin(), at}, kRate), most + 1);
      EXPECT_LE(LeastBurst({at, log.times.end()}, kRate), most + 1);
      EXPECT_GE(log.Between(back, back + 10), 0.97 * kRate * 10);
    }
  }
}

TEST(SharedRateLimiterTest, MembersFindTheRateOfTheServerTogether) {
  for (const int processes : {2, 10, 40}) {
    for (const int waits : {5, 30}) {
      SCOPED_TRACE(testing::Message() << processes << " x " << waits);
      Fleet fleet({.name = "api"});
      // The server allows 100 polls per second.
      double tokens = 100;
      absl::Duration refilled;
      int64_t throttled = 0;
      fleet.server = [&] {
        const absl::Duration now = fleet.clock().Elapsed();
        tokens = std::min(100.0,
                          tokens + 100 * absl::ToDoubleSeconds(now - refilled));
        refilled = now;
        if (tokens < 1) {
          ++throttled;
          return PollStatus::kThrottled;
        }
        --tokens;
        return PollStatus::kNotReady;
      };
      fleet.Add(processes, waits);
      fleet.Run(absl::Seconds(20));
      throttled = 0;
      fleet.Run(absl::Seconds(60));

      EXPECT_GE(fleet.log().Between(20, 80) - throttled, 0.97 * 100 * 60);
      EXPECT_LE(throttled, 0.05 * 100 * 60);
      EXPECT_GE(JainIndex(fleet.log().ByProcess(static_cast<size_t>(processes),
                                                5, 65)),
                0.98);
    }
  }
}

TEST(SharedRateLimiterTest, EveryPollPassesUntilTheServerThrottles) {
  Fleet fleet({.name = "api"});
  fleet.Add(/*processes=*/2, /*waits=*/10);
  fleet.Run(absl::Seconds(2));
  EXPECT_EQ(fleet.process(0).limiter().State().rate, std::nullopt);
  EXPECT_EQ(fleet.process(0).limiter().Rate(), std::nullopt);
  // Each wait polls once per millisecond.
  EXPECT_GE(fleet.log().Between(1, 2), 19000);

  fleet.server = [] { return PollStatus::kThrottled; };
  fleet.Run(absl::Seconds(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NE(fleet.process(i).limiter().State().rate, std::nullopt) << i;
  }
}

TEST(SharedRateLimiterTest, AdaptiveMembersAdaptAloneWithoutTheStore) {
  Fleet fleet({.name = "api"});
  fleet.Add(/*processes=*/2, /*waits=*/10);
  fleet.Run(absl::Seconds(1));
  fleet.server = [] { return PollStatus::kThrottled; };
  fleet.Run(absl::Seconds(1));
  for (size_t i = 0; i < 2; ++i) fleet.process(i).store().Cut();
  const double rate = *fleet.process(0).limiter().Rate();
  fleet.Run(absl::Seconds(3));

  const SharedRateLimiterState state = fleet.process(0).limiter().State();
  EXPECT_EQ(state.mode, SharedBudgetMode::kLocal);
  ASSERT_NE(state.rate, std::nullopt);
  EXPECT_LE(*state.rate, rate);
  fleet.server = [] { return PollStatus::kNotReady; };
  fleet.Run(absl::Seconds(60));
  EXPECT_GT(*fleet.process(0).limiter().Rate(), rate);
}

TEST(SharedRateLimiterTest, LimiterAlikeSharesNothing) {
  Fleet fleet({.name = "api", .rate = 10, .burst = 3});
  fleet.Add(/*waits=*/0);
  const std::shared_ptr<RateLimiter> alike =
      fleet.process(0).limiter().MakeAlike();
  fleet.process(0).Leave();
  const int64_t calls = fleet.calls();
  const MonotonicTime now = fleet.clock().MonotonicNow();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(alike->Acquire(now), now) << i;
  EXPECT_EQ(alike->Acquire(now), now + std::chrono::milliseconds(100));
  EXPECT_EQ(alike->Rate(), 10);
  EXPECT_EQ(alike->MakeAlike()->Acquire(now), now);
  EXPECT_EQ(fleet.calls(), calls);
}

TEST(SharedRateLimiterTest, OptionsOutsideOfTheirRangesAreRefused) {
  const auto error = [](const SharedRateLimiterOptions& options) {
    return std::string(Validate(options).message());
  };
  EXPECT_EQ(error({.name = "a_Z.9-"}), "");
  EXPECT_EQ(error({.name = ""}),
            "name is \"\"; it must be 1 to 64 of the characters A-Z, a-z, 0-9, "
            "_, . and -");
  EXPECT_THAT(error({.name = "a}b"}), testing::HasSubstr("\"a}b\""));
  EXPECT_THAT(error({.name = std::string(65, 'a')}), testing::Not(""));
  EXPECT_EQ(error({.name = "a", .rate = 0}),
            "rate is 0; it must be within [0.001, 1000000]");
  EXPECT_THAT(error({.name = "a", .rate = NAN}), testing::HasSubstr("rate is"));
  EXPECT_EQ(error({.name = "a", .burst = 0.5}),
            "burst is 0.5; it must be within [1, 1000000]");
  EXPECT_THAT(error({.name = "a", .adaptive = {.beta = 2}}),
              testing::StartsWith("adaptive.beta is 2"));
  EXPECT_EQ(error({.name = "a", .horizon = absl::Seconds(11)}),
            "horizon is 11s; it must be within [50ms, 10s]");
  EXPECT_EQ(error({.name = "a", .local_share = -1}),
            "local_share is -1; it must be within [0, 1]");
  EXPECT_FALSE(SharedRateLimiter::Make(nullptr, {.name = "a"}).ok());
}

TEST(SharedRateLimiterTest, BoundsOfOptionsAreValidAndTheirNeighborsNot) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr absl::Duration kNs = absl::Nanoseconds(1);
  std::vector<SharedRateLimiterOptions> valid = {
      {.name = "a", .burst = 1},
      {.name = "a", .burst = 1e6},
      {.name = "a", .horizon = absl::Milliseconds(50)},
      {.name = "a", .horizon = absl::Seconds(10)},
      {.name = "a", .local_share = 0},
      {.name = "a", .local_share = 1},
      {.name = std::string(64, 'x')}};
  std::vector<SharedRateLimiterOptions> invalid = {
      {.name = "a", .burst = 1e6 + 0.1},
      {.name = "a", .burst = NAN},
      {.name = "a", .horizon = absl::Milliseconds(50) - kNs},
      {.name = "a", .horizon = absl::Seconds(10) + kNs},
      {.name = "a", .horizon = -absl::InfiniteDuration()},
      {.name = "a", .local_share = 1.01},
      {.name = "a", .local_share = NAN}};
  for (const double rate : {0.001, 1e6}) {
    valid.push_back({.name = "a", .rate = rate});
    valid.push_back({.name = "a", .adaptive = {.min_fill_rate = rate}});
  }
  for (const double rate : {0.0009, 1e6 + 0.1, -1.0, kInfinity, double{NAN}}) {
    invalid.push_back({.name = "a", .rate = rate});
    invalid.push_back({.name = "a", .adaptive = {.min_fill_rate = rate}});
  }
  for (int letter = 0; letter < 256; ++letter) {
    const bool is_allowed =
        absl::ascii_isalnum(static_cast<unsigned char>(letter)) ||
        letter == '_' || letter == '.' || letter == '-';
    (is_allowed ? valid : invalid)
        .push_back({.name = std::string(1, static_cast<char>(letter))});
  }
  for (size_t i = 0; i < valid.size(); ++i) {
    EXPECT_TRUE(Validate(valid[i]).ok()) << i << Validate(valid[i]);
  }
  for (size_t i = 0; i < invalid.size(); ++i) {
    EXPECT_THAT(Validate(invalid[i]),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << i;
  }
}

}  // namespace
}  // namespace waiter::shared_rate_limiter_test
