// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the assertions of GoogleTest with the texts that all frameworks
// share.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/testing/golden.h"
#include "waiter/testing/gtest.h"

#define EVENTUALLY(...) EXPECT_EVENTUALLY(__VA_ARGS__)
#define CONSISTENTLY(...) EXPECT_CONSISTENTLY(__VA_ARGS__)
#define NEVER(...) EXPECT_NEVER(__VA_ARGS__)
#define PASSES(...) EXPECT_EVENTUALLY_PASSES(__VA_ARGS__)
#define FATAL_EVENTUALLY(...) ASSERT_EVENTUALLY(__VA_ARGS__)
#define BLOCK_FAIL(text) ADD_FAILURE() << (text)
#define BLOCK_REQUIRE(condition) ASSERT_TRUE(condition)
#include "tests/testing/assertion_scenarios.h"

namespace waiter {
namespace {

TEST(GtestAdapterTest, TextsAreThoseOfAllFrameworks) {
  for (const Scenario& scenario : AllScenarios()) {
    ScenarioWorld world;
    std::vector<std::string> failures;
    for (const testing::TestPartResult& part :
         PartsOf([&] { scenario.run(world); })) {
      failures.emplace_back(absl::StripTrailingAsciiWhitespace(part.message()));
    }
    EXPECT_EQ(CompareWithGolden(scenario.name, TextOf(failures, world)), "");
  }
}

// The failure of the inner block counts as a failure of the run.
TEST(GtestAdapterTest, BlockMayHoldABlock) {
  ScenarioWorld world;
  int runs = 0;
  EXPECT_THAT(
      FailureOf([&] {
        EXPECT_EVENTUALLY_PASSES(
            {
              ++runs;
              EXPECT_EVENTUALLY_PASSES(
                  { ADD_FAILURE() << "inner, in run " << runs; },
                  world.Within(absl::Seconds(1)));
            },
            world.Within(absl::Seconds(3)));
      }),
      testing::AllOf(testing::StartsWith("the block did not pass within 3s\n"),
                     testing::HasSubstr("inner, in run 2")));
}

TEST(GtestAdapterTest, ConditionsNeedNotBeCopyable) {
  ScenarioWorld world;
  const auto is = [](std::string wanted) {
    return [wanted = std::make_unique<std::string>(std::move(wanted))](
               const std::string& text) { return text == *wanted; };
  };
  EXPECT_EVENTUALLY(world.State(), is("DONE"), world.Within(absl::Minutes(1)),
                    FailIf(is("FAILED")));
}

TEST(GtestAdapterTest, FunctionTakesMatchersValuesAndFunctions) {
  ScenarioWorld world;
  const auto state = [&] { return world.State(); };
  const EventuallyOptions options = world.Within(absl::Minutes(1));

  EXPECT_EQ(Eventually(state, testing::HasSubstr("RUN"), options).value(),
            "RUNNING");
  EXPECT_EQ(Eventually(state, "DONE", options).value(), "DONE");
  EXPECT_EQ(Eventually(
                state, [](const std::string& text) { return text == "DONE"; },
                options)
                .value(),
            "DONE");
  const auto poll = [&]() -> Poll<std::string> { return Success("a"); };
  EXPECT_EQ(Eventually(poll, "a", options).value(), "a");
}

}  // namespace
}  // namespace waiter
