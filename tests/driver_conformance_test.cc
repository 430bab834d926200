// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs every scenario through every driver. A driver decides nothing, so all
// must poll at the same times and come to the same end.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scenarios.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/testing/scripted_poll.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/wait_loop.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

// Draws the lower end of every window, so that delays are exact.
struct LowestBits {
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() {
    return std::numeric_limits<uint64_t>::max();
  }
  uint64_t operator()() const { return 0; }
};

absl::Duration EndOf(const Scenario& scenario) {
  return scenario.ends_at.has_value() ? *scenario.ends_at
                                      : scenario.polled_at.back();
}

struct Outcome {
  std::vector<absl::Duration> polled_at;
  WaitReport report;
};

// `Waiter::Wait` on the calling thread.
Outcome RunBlocking(const Scenario& scenario) {
  SimulatedClock clock;
  std::stop_source stop;
  if (scenario.stop_at == absl::ZeroDuration()) {
    stop.request_stop();
  } else if (scenario.stop_at.has_value()) {
    clock.CallAt(*scenario.stop_at, [&] { stop.request_stop(); });
  }
  std::vector<ScriptedPoll<>::Step> steps;
  for (const ScriptedAnswer& answer : scenario.script) {
    steps.emplace_back(answer.found, answer.takes);
  }
  ScriptedPoll<> script(clock, std::move(steps));
  WaitOptions options = scenario.options;
  options.clock = &clock;

  Waiter waiter(std::ref(script), options);
  LowestBits gen;
  const WaitResult<> result = waiter.Wait(stop.get_token(), gen);

  EXPECT_EQ(clock.Elapsed(), EndOf(scenario));
  return {script.polled_at(), result.report()};
}

// A driver of a dozen lines on a bare loop: time is a variable.
Outcome RunLoop(const Scenario& scenario) {
  SimulatedClock unused;
  WaitOptions options = scenario.options;
  options.clock = &unused;
  const std::shared_ptr<const WaitPolicy> policy = WaitPolicy::Make(options);
  const MonotonicTime start = unused.MonotonicNow();
  MonotonicTime now = start;
  const auto at = [&](absl::Duration time) {
    return start + absl::ToChronoNanoseconds(time);
  };
  const auto stopped = [&] {
    return scenario.stop_at.has_value() && now >= at(*scenario.stop_at);
  };
  LowestBits gen;
  Outcome outcome;
  WaitLoop loop(*policy, outcome.report);
  NextStep step = loop.Start(now, policy->DeadlineFrom(now), stopped);
  while (step.action() != NextStep::Action::kFinish) {
    if (step.action() == NextStep::Action::kPoll) {
      const ScriptedAnswer& answer = scenario.script[std::min(
          outcome.polled_at.size(), scenario.script.size() - 1)];
      outcome.polled_at.push_back(absl::FromChrono(now - start));
      now += absl::ToChronoNanoseconds(answer.takes);
      outcome.report.last_poll = answer.found;
      step = loop.OnPoll(now, gen, stopped);
    } else {
      now = scenario.stop_at.has_value()
                ? std::min(step.wake_up(), at(*scenario.stop_at))
                : step.wake_up();
      step = loop.OnWake(now, stopped);
    }
  }
  return outcome;
}

struct Driver {
  std::string name;
  std::function<Outcome(const Scenario&)> run;
};

class DriverConformanceTest
    : public testing::TestWithParam<std::tuple<Driver, Scenario>> {};

TEST_P(DriverConformanceTest, PollsAtTheSameTimesToTheSameEnd) {
  const auto& [driver, scenario] = GetParam();

  const Outcome outcome = driver.run(scenario);

  EXPECT_EQ(outcome.polled_at, scenario.polled_at);
  EXPECT_EQ(outcome.report.reason, scenario.reason)
      << StopReasonName(outcome.report.reason);
  EXPECT_EQ(outcome.report.status.code(),
            scenario.code.value_or(outcome.report.status.code()))
      << outcome.report.status;
  EXPECT_EQ(outcome.report.attempts,
            static_cast<int64_t>(scenario.polled_at.size()));
  EXPECT_EQ(
      std::reduce(outcome.report.counts.begin(), outcome.report.counts.end()),
      outcome.report.attempts);
  EXPECT_EQ(outcome.report.elapsed, EndOf(scenario));
  EXPECT_EQ(outcome.report.late, scenario.late);
}

std::string NameOf(
    const testing::TestParamInfo<std::tuple<Driver, Scenario>>& test) {
  return std::get<0>(test.param).name + "_" + std::get<1>(test.param).name;
}

const auto kDrivers = testing::Values(Driver{"Blocking", RunBlocking},
                                      Driver{"BareLoop", RunLoop});

INSTANTIATE_TEST_SUITE_P(Rules, DriverConformanceTest,
                         testing::Combine(kDrivers,
                                          testing::ValuesIn(RuleScenarios())),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Edges, DriverConformanceTest,
                         testing::Combine(kDrivers,
                                          testing::ValuesIn(EdgeScenarios())),
                         NameOf);

}  // namespace
}  // namespace waiter
