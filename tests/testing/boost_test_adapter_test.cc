// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the assertions of Boost.Test with the texts that all frameworks
// share. Without Boost, there is nothing to test.

#ifndef WAITER_HAS_BOOST

#include <cstdio>

int main() {
  std::puts("left out: Boost is not installed (Debian: libboost1.81-dev)");
  return 0;
}

#else

#define BOOST_TEST_MODULE boost_test_adapter
#include <boost/test/included/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/testing/golden.h"
#include "waiter/testing/boost_test.h"

#define EVENTUALLY(...) BOOST_CHECK_EVENTUALLY(__VA_ARGS__)
#define CONSISTENTLY(...) BOOST_CHECK_CONSISTENTLY(__VA_ARGS__)
#define NEVER(...) BOOST_CHECK_NEVER(__VA_ARGS__)
#define PASSES(...) BOOST_CHECK_EVENTUALLY_PASSES(__VA_ARGS__)
#define FATAL_EVENTUALLY(...) BOOST_REQUIRE_EVENTUALLY(__VA_ARGS__)
#define BLOCK_FAIL(text) BOOST_ERROR(text)
#define BLOCK_REQUIRE(condition) BOOST_REQUIRE(condition)
#include "tests/testing/assertion_scenarios.h"

namespace waiter {
namespace {

using ::absl::StrContains;

// Returns the failures of `code`, which do not count for the running test.
std::vector<std::string> FailuresOf(absl::FunctionRef<void()> code) {
  std::vector<std::string> texts;
  for (const auto& failure : internal::BoostTest::RunRound(code).failures) {
    texts.push_back(failure.text);
  }
  return texts;
}

BOOST_AUTO_TEST_CASE(TextsAreThoseOfAllFrameworks) {
  for (const Scenario& scenario : AllScenarios()) {
    ScenarioWorld world;
    const std::vector<std::string> failures =
        FailuresOf([&] { scenario.run(world); });
    const std::string difference =
        CompareWithGolden(scenario.name, TextOf(failures, world));
    BOOST_CHECK_MESSAGE(difference.empty(), difference);
  }
}

BOOST_AUTO_TEST_CASE(ValuesArePrintedByBoostTest) {
  ScenarioWorld world;
  const std::vector<std::string> failures = FailuresOf([&] {
    BOOST_CHECK_EVENTUALLY(0.1, 0.25, world.Within(absl::ZeroDuration()));
    BOOST_CHECK_EVENTUALLY(
        ScenarioSecret{1}, [](const ScenarioSecret&) { return false; },
        world.Within(absl::ZeroDuration()));
  });
  BOOST_REQUIRE_EQUAL(failures.size(), 2);
  BOOST_CHECK(StrContains(failures[0], "Actual: 0.10000000000000001 (poll"));
  BOOST_CHECK(StrContains(failures[1], "Actual: {?} (poll"));
}

BOOST_AUTO_TEST_CASE(NullPointerIsPrintedByBoostTest) {
  ScenarioWorld world;
  const int number = 0;
  const std::vector<std::string> failures = FailuresOf([&] {
    BOOST_CHECK_EVENTUALLY(&number, nullptr,
                           world.Within(absl::ZeroDuration()));
  });
  BOOST_REQUIRE_EQUAL(failures.size(), 1);
  BOOST_CHECK(StrContains(failures[0], "is equal to nullptr"));
}

BOOST_AUTO_TEST_CASE(BlockMayHoldABlock) {
  ScenarioWorld world;
  int runs = 0;
  const std::vector<std::string> failures = FailuresOf([&] {
    BOOST_CHECK_EVENTUALLY_PASSES(
        {
          BOOST_TEST_CONTEXT("in run " << ++runs) {
            BOOST_CHECK_EVENTUALLY_PASSES({
      BOOST_ERROR("inner"); },
                                          world.Within(absl::Seconds(1)));
          }
},
        world.Within(absl::Seconds(3)));
});
BOOST_REQUIRE_EQUAL(failures.size(), 1);
BOOST_CHECK(failures[0].starts_with("the block did not pass within 3s\n"));
BOOST_CHECK(StrContains(failures[0], "inner\n"));
BOOST_CHECK(StrContains(failures[0], "in run 2"));
}

BOOST_AUTO_TEST_CASE(BlockTakesAllKindsOfAssertions) {
  ScenarioWorld world;
  const std::vector<std::string> failures = FailuresOf([&] {
    BOOST_CHECK_EVENTUALLY_PASSES(
        {
          BOOST_TEST(world.Progress() == 1);
          BOOST_CHECK_EQUAL(world.Progress(), 2);
          BOOST_CHECK_THROW(world.State(), std::logic_error);
          BOOST_WARN(false);
          BOOST_TEST_MESSAGE("is not written");
          BOOST_REQUIRE_EQUAL(world.State(), "DONE");
          BOOST_FAIL("is not reached");
        },
        world.Within(absl::ZeroDuration()));
  });
  BOOST_REQUIRE_EQUAL(failures.size(), 1);
  BOOST_CHECK(StrContains(failures[0], "4 failures"));
  BOOST_CHECK(StrContains(failures[0],
                          "check world.Progress() == 1 has failed [0 != 1]"));
  BOOST_CHECK(!StrContains(failures[0], "is not"));
}

// The results of other assertions count as before.
BOOST_AUTO_TEST_CASE(FailureAfterABlockFailsTheTest,
                     *boost::unit_test::expected_failures(1)) {
  ScenarioWorld world;
  BOOST_CHECK_EVENTUALLY_PASSES({ BOOST_TEST(world.Progress() == 20); },
                                world.Within(absl::Minutes(1)));
  BOOST_ERROR("is expected");
}

}  // namespace
}  // namespace waiter

#endif  // WAITER_HAS_BOOST
