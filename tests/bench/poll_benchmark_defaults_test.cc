// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Rows that the macro registers, in a program that does not count allocations.

#include <array>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/benchmark.h"

namespace waiter {
namespace {

using ::testing::ElementsAre;

bool Never() { return false; }
WAITER_BENCHMARK(Never);

bool Always() { return true; }
WAITER_BENCHMARK(Always, {.wait_delay = absl::Milliseconds(2),
                          .engine_loads = {{1, absl::Milliseconds(1)},
                                           {2, absl::Milliseconds(1)}}});

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      names.push_back(run.benchmark_name());
      counters.push_back(run.counters);
    }
  }

  std::vector<std::string> names;
  std::vector<benchmark::UserCounters> counters;
};

class PollBenchmarkDefaultsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string program = "test";
    std::string time = "--benchmark_min_time=0.001";
    std::array<char*, 3> arguments = {program.data(), time.data(), nullptr};
    int count = 2;
    benchmark::Initialize(&count, arguments.data());
  }
};

TEST_F(PollBenchmarkDefaultsTest, LineRegistersTheRows) {
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, "Never/(alone|wait)|Always/");

  EXPECT_THAT(
      collector.names,
      ElementsAre("Never/alone/real_time", "Never/wait/real_time",
                  "Never/wait/delay:1ms/real_time", "Always/alone/real_time",
                  "Always/wait/real_time", "Always/wait/delay:2ms/real_time",
                  "Always/engine/waits:1/delay:1ms/real_time",
                  "Always/engine/waits:2/delay:1ms/real_time"));
}

TEST_F(PollBenchmarkDefaultsTest, AllocationsAreAbsentUnlessCounted) {
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, "Never/alone");

  ASSERT_EQ(collector.counters.size(), 1);
  EXPECT_TRUE(collector.counters[0].contains("cpu_ns"));
  EXPECT_FALSE(collector.counters[0].contains("allocs"));
}

}  // namespace
}  // namespace waiter
