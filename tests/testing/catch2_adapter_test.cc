// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the assertions of Catch2 with the texts that all frameworks share.
// Without Catch2, there is nothing to test. Debian 12 has Catch2 2; for Catch2
// 3, compile this file with -DWAITER_HAS_CATCH2 and link Catch2Main.

#ifndef WAITER_HAS_CATCH2

#include <cstdio>

int main() {
  std::puts("left out: Catch2 is not installed (Debian: catch2)");
  return 0;
}

#else

#include <string>
#include <vector>

#if __has_include("catch2/catch_all.hpp")
#include "catch2/catch_all.hpp"
#else
#define CATCH_CONFIG_MAIN
#include "catch2/catch.hpp"
#endif
#include "tests/testing/golden.h"
#include "waiter/testing/catch2.h"

#define EVENTUALLY(...) CHECK_EVENTUALLY(__VA_ARGS__)
#define CONSISTENTLY(...) CHECK_CONSISTENTLY(__VA_ARGS__)
#define NEVER(...) CHECK_NEVER(__VA_ARGS__)
#define PASSES(...) CHECK_EVENTUALLY_PASSES(__VA_ARGS__)
#define FATAL_EVENTUALLY(...) REQUIRE_EVENTUALLY(__VA_ARGS__)
#if WAITER_CATCH2_VERSION == 2
#define BLOCK_FAIL(text) FAIL_CHECK(text)
#define BLOCK_REQUIRE(condition) REQUIRE(condition)
#else
#define BLOCK_FAIL(text)                                                \
  ::waiter::internal::Catch2::Report(                                   \
      absl::UnknownError(text), "FAIL_CHECK", text, __FILE__, __LINE__, \
      ::Catch::ResultDisposition::ContinueOnFailure)
#define BLOCK_REQUIRE(condition) REQUIRE_POLLED(condition)
#endif
#include "tests/testing/assertion_scenarios.h"

namespace waiter {
namespace {

#if WAITER_CATCH2_VERSION == 2
using ::Catch::Matchers::Contains;
#else
auto Contains(const std::string& part) {
  return ::Catch::Matchers::ContainsSubstring(part);
}
#endif
using ::Catch::Matchers::StartsWith;

// Returns the failures of `code`, which do not count for the running test.
std::vector<std::string> FailuresOf(absl::FunctionRef<void()> code) {
  std::vector<std::string> texts;
  for (const auto& failure : internal::Catch2::RunRound(code).failures) {
    texts.push_back(failure.text);
  }
  return texts;
}

TEST_CASE("texts are those of all frameworks") {
  for (const Scenario& scenario : AllScenarios()) {
    ScenarioWorld world;
    const std::vector<std::string> failures =
        FailuresOf([&] { scenario.run(world); });
    const std::string difference =
        CompareWithGolden(scenario.name, TextOf(failures, world));
    INFO(difference);
    CHECK(difference.empty());
  }
}

TEST_CASE("assertions take matchers of Catch2") {
  ScenarioWorld world;
  const EventuallyOptions options = world.Within(absl::Seconds(3));
  CHECK_EVENTUALLY(world.State(), Contains("RUN") && StartsWith("R"), options);
  CHECK_NEVER(world.State(), Contains("FAIL"), world.HoldFor(absl::Seconds(2)),
              PassIf(Contains("DONE")));

  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY(world.State(), Contains("GONE"), options,
                     FailIf(StartsWith("DONE")));
  });
  REQUIRE(failures.size() == 1);
  CHECK_THAT(failures[0], Contains("FailIf(starts with: \"DONE\")"));
  CHECK_THAT(failures[0], Contains("Expected: contains: \"GONE\""));

  CHECK(Eventually([&] { return world.State(); }, Contains("ON"), options)
            .value() == "DONE");
}

TEST_CASE("values are printed by Catch2") {
  ScenarioWorld world;
  const std::vector<std::string> failures = FailuresOf([&] {
    const std::vector<int> numbers = {1, 2};
    CHECK_EVENTUALLY(numbers, std::vector<int>(1, 3),
                     world.Within(absl::ZeroDuration()));
    CHECK_EVENTUALLY(
        ScenarioSecret{1}, [](const ScenarioSecret&) { return false; },
        world.Within(absl::ZeroDuration()));
  });
  REQUIRE(failures.size() == 2);
  CHECK_THAT(failures[0], Contains("is equal to { 3 }"));
  CHECK_THAT(failures[0], Contains("Actual: { 1, 2 } (poll"));
  CHECK_THAT(failures[1], Contains("Actual: {?} (poll"));
}

TEST_CASE("a null pointer is printed by Catch2") {
  ScenarioWorld world;
  const int number = 0;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY(&number, nullptr, world.Within(absl::ZeroDuration()));
  });
  REQUIRE(failures.size() == 1);
  CHECK_THAT(failures[0], Contains("is equal to nullptr"));
}

#if WAITER_CATCH2_VERSION == 2

TEST_CASE("a block may hold a block") {
  ScenarioWorld world;
  int runs = 0;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY_PASSES(
        {
          INFO("in run " << ++runs);
          CHECK_EVENTUALLY_PASSES({ FAIL_CHECK("inner"); },
                                  world.Within(absl::Seconds(1)));
        },
        world.Within(absl::Seconds(3)));
  });
  REQUIRE(failures.size() == 1);
  CHECK_THAT(failures[0], StartsWith("the block did not pass within 3s\n"));
  CHECK_THAT(failures[0], Contains("inner\n"));
  CHECK_THAT(failures[0], Contains("in run 2\n"));
}

TEST_CASE("a block takes all kinds of assertions") {
  ScenarioWorld world;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY_PASSES(
        {
          CHECK_FALSE(world.Progress() == 0);
          CHECK_THROWS_AS(world.State(), std::logic_error);
          CHECK_NOTHROW(std::stoi("x"));
          CHECK_NOFAIL(false);
          WARN("is not written");
          REQUIRE_THAT(world.State(), Contains("DONE"));
          FAIL("is not reached");
        },
        world.Within(absl::ZeroDuration()));
  });
  REQUIRE(failures.size() == 1);
  CHECK_THAT(failures[0], Contains("4 failures"));
  CHECK_THAT(failures[0],
             Contains("CHECK_FALSE( world.Progress() == 0 ), with expansion: "
                      "!(0 == 0)"));
  CHECK_THAT(failures[0],
             Contains("CHECK_THROWS_AS( world.State(), std::logic_error ) "
                      "threw no exception"));
  CHECK_THAT(failures[0], !Contains("is not reached"));
}

TEST_CASE("an expression of an assertion in a block may stop trying") {
  ScenarioWorld world;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY_PASSES({ CHECK(ThrowFromDepth(3) == 1); },
                            world.Within(absl::Minutes(1)));
  });
  REQUIRE(failures.size() == 1);
  CHECK_THAT(failures[0], StartsWith("the block gave up at 0: StopTrying: "));
}

// testify#1396: an assertion that ends the test also does so in an expression.
TEST_CASE("an assertion of the expression ends the test") {
  ScenarioWorld world;
  int polls = 0;
  const std::vector<std::string> failures = FailuresOf([&] {
    const auto get = [&] {
      ++polls;
      REQUIRE(false);
      return 1;
    };
    CHECK_EVENTUALLY(get(), 2, world.Within(absl::Minutes(1)));
  });
  CHECK(failures.size() == 1);
  CHECK(polls == 1);
}

#else

TEST_CASE("a block takes the checks for blocks") {
  ScenarioWorld world;
  int runs = 0;
  CHECK_EVENTUALLY_PASSES(
      {
        CHECK_POLLED(++runs > 2);
        REQUIRE_POLLED(runs > 3);
      },
      world.Within(absl::Seconds(3)));
  CHECK(runs == 4);
}

#endif

}  // namespace
}  // namespace waiter

#endif  // WAITER_HAS_CATCH2
