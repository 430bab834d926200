// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/budgets.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/network.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter::sim::budgets_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

BudgetsRun Play(const BudgetsOptions& options, Limiting limiting,
                uint64_t seed = 1) {
  absl::StatusOr<BudgetsRun> run = SimulateBudgets(options, limiting, seed);
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? *std::move(run) : BudgetsRun{};
}

std::vector<BudgetEvent> Events(std::string_view text) {
  const absl::StatusOr<std::vector<BudgetEvent>> events =
      ParseBudgetEvents(text);
  EXPECT_TRUE(events.ok()) << events.status();
  return events.ok() ? *events : std::vector<BudgetEvent>{};
}

BudgetsOptions TwoMinutes(std::string_view events) {
  return {.duration = absl::Minutes(2), .events = Events(events)};
}

TEST(BudgetsTest, WaitsPollAsOftenAsTheyShallBelowTheLimit) {
  for (const Limiting limiting : AllLimiting()) {
    SCOPED_TRACE(ToString(limiting));
    const BudgetsRun run = Play({.processes = 10,
                                 .busy = 10,
                                 .waits = 5,
                                 .every = absl::Seconds(2),
                                 .duration = absl::Minutes(10)},
                                limiting);
    // The network takes 20 ms, and slots take a little.
    EXPECT_GE(static_cast<double>(run.total.polls), 0.95 * 25 * 600);
    EXPECT_LE(static_cast<double>(run.total.polls), 25 * 600 + 50);
    EXPECT_EQ(run.total.throttled, 0);
    EXPECT_GE(run.total.fairness, 0.999);
    EXPECT_THAT(run.seconds, SizeIs(600));
  }
}

TEST(BudgetsTest, WholeRateForEachIsThrottledAndPartsLieIdle) {
  const BudgetsOptions options = TwoMinutes("none");
  const BudgetsRun whole = Play(options, Limiting::kWhole);
  EXPECT_GE(whole.total.throttled_share(), 0.3);
  EXPECT_GE(PeakPolls(whole.seconds), 300);

  // 40 of 100 processes have waits.
  const BudgetsRun part = Play(options, Limiting::kPart);
  EXPECT_NEAR(part.total.used, 0.4, 0.01);
  EXPECT_EQ(part.total.throttled, 0);
  EXPECT_EQ(part.store_calls_per_second, 0);
}

TEST(BudgetsTest, SharedRateIsUsedWhereTheLoadIs) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    const BudgetsRun run =
        Play(TwoMinutes("60s:move:40"), Limiting::kShared, seed);
    ASSERT_THAT(run.phases, SizeIs(2));
    for (const BudgetsPart& phase : run.phases) {
      EXPECT_GE(phase.used, 0.97);
      EXPECT_EQ(phase.throttled, 0);
      EXPECT_GE(phase.fairness, 0.98);
    }
    EXPECT_LE(run.store_calls_per_second, 40 * 4 + 60);
    EXPECT_GE(run.store_calls_per_second, 40);
  }
}

TEST(BudgetsTest, MembersThatComeAndDieCostLittle) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    const BudgetsOptions options = TwoMinutes("30s:join:50,75s:die:50");
    const BudgetsRun shared = Play(options, Limiting::kShared, seed);
    EXPECT_GE(shared.total.used, 0.97);
    EXPECT_GE(shared.total.fairness, 0.98);
    EXPECT_EQ(shared.total.throttled, 0);

    const BudgetsRun adaptive = Play(options, Limiting::kSharedAdaptive, seed);
    EXPECT_GE(adaptive.total.used, 0.93);
    EXPECT_GE(adaptive.total.fairness, 0.97);
    EXPECT_LE(adaptive.total.throttled_share(), 0.1);
  }
}

TEST(BudgetsTest, WithoutTheStoreEachHasItsPartAndTheySoonShareAgain) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    const BudgetsOptions options = TwoMinutes("30s:store-lost,60s:store-back");
    const BudgetsRun shared = Play(options, Limiting::kShared, seed);
    ASSERT_THAT(shared.phases, SizeIs(3));
    EXPECT_NEAR(shared.phases[1].used, 0.4, 0.05);
    EXPECT_GE(shared.phases[2].used, 0.97);
    EXPECT_EQ(shared.total.throttled, 0);

    // The store has forgotten the rate.
    const BudgetsRun adaptive = Play(options, Limiting::kSharedAdaptive, seed);
    EXPECT_GE(adaptive.phases[2].used, 0.95);
    EXPECT_LE(adaptive.phases[2].throttled_share(), 0.15);
  }
}

TEST(BudgetsTest, PhasesAndSecondsAddUpToTheWhole) {
  BudgetsOptions options;
  options.events = DefaultBudgetEvents(options);
  const BudgetsRun run = Play(options, Limiting::kAdaptive);
  ASSERT_THAT(run.phases, SizeIs(6));
  int64_t polls = 0;
  int64_t throttled = 0;
  absl::Duration end;
  for (const BudgetsPart& phase : run.phases) {
    EXPECT_EQ(phase.begin, end);
    end = phase.end;
    polls += phase.polls;
    throttled += phase.throttled;
  }
  EXPECT_EQ(end, options.duration);
  EXPECT_EQ(polls, run.total.polls);
  EXPECT_EQ(throttled, run.total.throttled);
  for (const PollCounts& second : run.seconds) {
    polls -= second.polls;
    throttled -= second.throttled;
  }
  EXPECT_EQ(polls, 0);
  EXPECT_EQ(throttled, 0);
  EXPECT_NEAR(
      run.total.used,
      static_cast<double>(run.total.polls - run.total.throttled) / (100 * 240),
      1e-9);
}

TEST(BudgetsTest, KilledProcessesPollNoMore) {
  const BudgetsRun run = Play(TwoMinutes("60s:die:40"), Limiting::kPart);
  EXPECT_GT(run.seconds[58].polls, 30);
  for (size_t i = 61; i < run.seconds.size(); ++i) {
    EXPECT_EQ(run.seconds[i].polls, 0) << i;
  }
  EXPECT_EQ(run.phases[1].fairness, 0);
}

TEST(BudgetsTest, EqualSeedsGiveEqualRuns) {
  BudgetsOptions options = {.processes = 20,
                            .busy = 10,
                            .polls_per_second = 20,
                            .duration = absl::Minutes(1)};
  options.events = DefaultBudgetEvents(options);
  for (const Limiting limiting : AllLimiting()) {
    SCOPED_TRACE(ToString(limiting));
    const BudgetsRun run = Play(options, limiting, /*seed=*/5);
    const BudgetsRun again = Play(options, limiting, /*seed=*/5);
    const BudgetsRun other = Play(options, limiting, /*seed=*/6);
    ASSERT_EQ(run.seconds.size(), again.seconds.size());
    bool differs = false;
    for (size_t i = 0; i < run.seconds.size(); ++i) {
      EXPECT_EQ(run.seconds[i].polls, again.seconds[i].polls) << i;
      EXPECT_EQ(run.seconds[i].throttled, again.seconds[i].throttled) << i;
      differs |= run.seconds[i].polls != other.seconds[i].polls;
    }
    EXPECT_EQ(run.total.fairness, again.total.fairness);
    EXPECT_EQ(run.store_calls_per_second, again.store_calls_per_second);
    // Waits that no limiter delays keep their pace with any seed.
    EXPECT_TRUE(differs || limiting == Limiting::kPart);
  }
}

TEST(BudgetsTest, EventsAreReadAsTheyAreWritten) {
  for (const std::string text : {"1m:move:20", "1m30s:store-lost",
                                 "2m:store-back", "500ms:join:5", "4m:die:1"}) {
    const std::vector<BudgetEvent> events = Events(text);
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_EQ(events[0].ToString(), text);
  }
  EXPECT_THAT(Events("1s:join:1,2s:die:1"), SizeIs(2));
  EXPECT_THAT(Events("none"), SizeIs(0));
  for (const char* text :
       {"", "1s", "1s:sleep", "1s:join", "1s:join:0", "1s:join:x",
        "1s:store-lost:1", "-1s:join:1", "inf:join:1", "1:join:1", ":join:1",
        "1s:join:1,", "1s:join:1:1"}) {
    EXPECT_THAT(std::string(ParseBudgetEvents(text).status().message()),
                HasSubstr("is not an event; write 60s:store-lost"))
        << text;
  }
}

TEST(BudgetsTest, DefaultEventsFitEverySize) {
  for (const int processes : {1, 2, 7, 100, 999, 1000}) {
    for (const int busy : {0, 1, processes / 2, processes}) {
      BudgetsOptions options = {.processes = processes, .busy = busy};
      options.events = DefaultBudgetEvents(options);
      EXPECT_EQ(Validate(options), absl::OkStatus())
          << processes << " " << busy;
    }
  }
}

TEST(BudgetsTest, OptionsOutsideOfTheirRangesAreRefused) {
  const auto error = [](const BudgetsOptions& options) {
    EXPECT_EQ(SimulateBudgets(options, Limiting::kShared, 1).status(),
              Validate(options));
    return std::string(Validate(options).message());
  };
  EXPECT_EQ(error({.processes = 0}),
            "processes is 0; it must be between 1 and 1000");
  EXPECT_EQ(error({.processes = 1001}),
            "processes is 1001; it must be between 1 and 1000");
  EXPECT_EQ(error({.busy = 101}),
            "busy is 101; it must be between 0 and 100, the number of "
            "processes");
  EXPECT_EQ(error({.waits = 0}), "waits is 0; it must be between 1 and 1000");
  EXPECT_EQ(error({.every = absl::ZeroDuration()}),
            "every is 0; it must be between 100ms and 1h");
  EXPECT_EQ(error({.polls_per_second = 0}),
            "polls_per_second is 0; it must be between 0.1 and 100000");
  EXPECT_EQ(error({.burst = 0.5}),
            "burst is 0.5; it must be between 1 and 1000000");
  EXPECT_EQ(error({.duration = absl::Hours(2)}),
            "duration is 2h; it must be between 1s and 1h");
  EXPECT_THAT(error({.network = {.mean = -absl::Seconds(1)}}),
              HasSubstr("network.mean"));
  EXPECT_EQ(error({.events = Events("5s:join:1,4s:join:1")}),
            "events is 4s:join:1; it must be after the previous event, and "
            "within the duration");
  EXPECT_THAT(error({.events = Events("5m:join:1")}),
              HasSubstr("within the duration"));
  EXPECT_EQ(error({.events = Events("5s:die:41")}),
            "events is 5s:die:41; it must be for at most 40 processes, as many "
            "as have waits then");
  EXPECT_EQ(error({.busy = 60, .events = Events("5s:move:41")}),
            "events is 5s:move:41; it must be for at most 40 processes, as "
            "many as have no waits then");
  EXPECT_EQ(error({.events = Events("5s:die:40,6s:join:40,7s:die:40")}), "");
  EXPECT_THAT(error({.events = Events("5s:join:901")}),
              HasSubstr("at most 1000 processes in all"));
}

}  // namespace
}  // namespace waiter::sim::budgets_test
