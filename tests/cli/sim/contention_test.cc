// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/contention.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/sim/contention_table.h"
#include "cli/sim/network.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/backoff.h"

namespace waiter::sim::contention_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr NetworkOptions kTenMilliseconds = {.mean = absl::Milliseconds(10),
                                             .deviation = absl::ZeroDuration()};

// Both clients read at 10 and write at 30. The second one loses, learns this at
// 40, delays for 5, reads at 55 and writes at 75.
TEST(ContentionTest, LoserDelaysAndStartsOver) {
  const absl::StatusOr<ContentionModel> model =
      ContentionModel::Make({.clients = 2,
                             .backoff = {.initial_delay = absl::Milliseconds(5),
                                         .jitter = Jitter::None()},
                             .network = kTenMilliseconds});
  SplitMix64 gen(1);
  std::vector<int64_t> writes;

  const ContentionRun run = model->Run(gen, [&](std::chrono::nanoseconds time) {
    writes.push_back(time / std::chrono::milliseconds(1));
  });

  EXPECT_EQ(run.time, absl::Milliseconds(85));
  EXPECT_EQ(run.calls, 3);
  EXPECT_THAT(writes, ElementsAre(30, 30, 75));
}

// Without jitter and on a network without variance, one remaining client
// succeeds in each round.
TEST(ContentionTest, CallsGrowWithTheSquareWithoutVariance) {
  const absl::StatusOr<ContentionModel> model =
      ContentionModel::Make({.clients = 40,
                             .backoff = {.initial_delay = absl::ZeroDuration(),
                                         .jitter = Jitter::None()},
                             .network = kTenMilliseconds});
  SplitMix64 gen(1);

  const ContentionRun run = model->Run(gen);

  EXPECT_EQ(run.calls, 40 * 41 / 2);
  EXPECT_EQ(run.time, 40 * absl::Milliseconds(40));
}

TEST(ContentionTest, EqualSeedsGiveEqualRuns) {
  const absl::StatusOr<ContentionModel> model =
      ContentionModel::Make({.clients = 50});
  SplitMix64 gen(7);
  SplitMix64 same(7);
  SplitMix64 other(8);

  const ContentionRun run = model->Run(gen);

  EXPECT_EQ(run.time, model->Run(same).time);
  EXPECT_NE(run.time, model->Run(other).time);
}

TEST(ContentionTest, ImpossibleOptionsAreNamed) {
  const std::vector<std::pair<ContentionOptions, std::string>> cases = {
      {{.clients = 0}, "clients is 0; it must be between 1 and 10000"},
      {{.clients = 10'001}, "clients is 10001"},
      {{.backoff = {.multiplier = 0.5}}, "backoff.multiplier is 0.5"},
      {{.backoff = {.max_delay = absl::InfiniteDuration()}},
       "backoff.max_delay is inf; a run of 100 clients could last longer"},
      {{.network = {.mean = -absl::Seconds(1)}}, "network.mean is -1s"},
      {{.network = {.deviation = absl::Hours(2)}}, "network.deviation is 2h"},
  };
  for (const auto& [options, message] : cases) {
    const absl::Status status = ContentionModel::Make(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  EXPECT_THAT(
      std::string(
          SimulateContentionTable({.sizes = {10, -1}}).status().message()),
      HasSubstr("clients is -1"));
}

TEST(ContentionTableTest, RowsDoNotDependOnThreads) {
  ContentionTableOptions options = {.sizes = {10, 20, 30}, .runs = 5};
  const absl::StatusOr<std::vector<ContentionRow>> one =
      SimulateContentionTable(options);
  options.threads = 3;
  const absl::StatusOr<std::vector<ContentionRow>> three =
      SimulateContentionTable(options);

  ASSERT_TRUE(one.ok() && three.ok());
  ASSERT_EQ(one->size(), 15);
  ASSERT_EQ(three->size(), 15);
  for (size_t i = 0; i < one->size(); ++i) {
    EXPECT_EQ((*one)[i].rule, (*three)[i].rule);
    EXPECT_EQ((*one)[i].clients, (*three)[i].clients);
    EXPECT_EQ((*one)[i].time_ms, (*three)[i].time_ms);
    EXPECT_EQ((*one)[i].calls, (*three)[i].calls);
  }
}

// Compares the mean of 100 runs with the reference's mean of 1000 runs. A limit
// of 4.5 deviations refuses fewer than 0.1 % of all seeds.
void ExpectAgrees(double mean, const Json& reference,
                  const Json& deviation_of_a_run) {
  const double deviation =
      deviation_of_a_run.number() * std::sqrt(1.0 / 100 + 1.0 / 1000);
  EXPECT_NEAR(mean, reference.number(), 4.5 * deviation);
}

class ContentionVectorsTest : public testing::Test {
 protected:
  static VectorFile& File() {
    static constexpr char kName[] = "backoff_simulation_reference.csv";
    static VectorFile file(kName, CsvVectors(kName), /*cases=*/35);
    return file;
  }
  static void TearDownTestSuite() { File().Report(); }
};

TEST_F(ContentionVectorsTest, AgreesWithTheProgramOfTheArticle) {
  ContentionTableOptions options;
  options.sizes.clear();
  std::map<std::pair<int, std::string>, const Json*> reference;
  for (const Json& row : File().all().array()) {
    const int clients = static_cast<int>(row["clients"].number());
    const std::string& algorithm = row["algorithm"].string();
    reference[{clients, algorithm}] = &row;
    if (algorithm == "None") options.sizes.push_back(clients);
  }

  const absl::StatusOr<std::vector<ContentionRow>> rows =
      SimulateContentionTable(options);

  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), reference.size());
  for (const ContentionRow& row : *rows) {
    SCOPED_TRACE(absl::StrCat(row.clients, " clients, ", row.rule, ", seed ",
                              options.seed));
    const auto found = reference.find({row.clients, row.rule});
    ASSERT_NE(found, reference.end());
    const Json& expected = *found->second;
    ExpectAgrees(row.time_ms, expected["time"], expected["time_sd_single_run"]);
    ExpectAgrees(row.calls, expected["calls"], expected["calls_sd_single_run"]);
    // 100 runs estimate a deviation to about 7 %. The limit is about 4.5 times
    // that.
    EXPECT_NEAR(row.calls_deviation / expected["calls_sd_single_run"].number(),
                1, 0.35);
    File().Ran(expected);
  }
}

}  // namespace
}  // namespace waiter::sim::contention_test
