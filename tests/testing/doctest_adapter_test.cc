// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the assertions of doctest with the texts that all frameworks share.
// Without doctest, there is nothing to test.

#ifndef WAITER_HAS_DOCTEST

#include <cstdio>

int main() {
  std::puts("left out: doctest is not installed (Debian: doctest-dev)");
  return 0;
}

#else

#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "doctest/doctest.h"
#include "tests/testing/golden.h"
#include "waiter/testing/doctest.h"

#define EVENTUALLY(...) CHECK_EVENTUALLY(__VA_ARGS__)
#define CONSISTENTLY(...) CHECK_CONSISTENTLY(__VA_ARGS__)
#define NEVER(...) CHECK_NEVER(__VA_ARGS__)
#define PASSES(...) CHECK_EVENTUALLY_PASSES(__VA_ARGS__)
#define FATAL_EVENTUALLY(...) REQUIRE_EVENTUALLY(__VA_ARGS__)
#define BLOCK_FAIL(text) FAIL_CHECK_POLLED(text)
#define BLOCK_REQUIRE(condition) REQUIRE_POLLED(condition)
#include "tests/testing/assertion_scenarios.h"

namespace waiter {
namespace {

using ::absl::StrContains;

// The texts of failures since the last clear.
std::vector<std::string>& Failures() {
  static auto* const failures = new std::vector<std::string>();
  return *failures;
}

// Keeps failures of assertions that poll.
class Listener : public doctest::IReporter {
 public:
  explicit Listener(const doctest::ContextOptions& /*options*/) {}

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData& message) override {
    Failures().emplace_back(message.m_string.c_str());
  }
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("waiter_failures", 1, Listener);

// doctest cannot take failures back, so tests with failing assertions may fail.
// The errors here must not happen.
std::vector<std::string>& Errors() {
  static auto* const errors = new std::vector<std::string>();
  return *errors;
}
void Expect(bool condition, const std::string& text) {
  if (!condition) Errors().push_back(text);
}

std::vector<std::string> FailuresOf(absl::FunctionRef<void()> code) {
  Failures().clear();
  try {
    code();
  } catch (const doctest::detail::TestFailureException&) {
    // A REQUIRE_ ended it.
  }
  return std::exchange(Failures(), {});
}

TEST_CASE("texts are those of all frameworks" * doctest::may_fail()) {
  for (const Scenario& scenario : AllScenarios()) {
    ScenarioWorld world;
    const std::vector<std::string> failures =
        FailuresOf([&] { scenario.run(world); });
    const std::string difference =
        CompareWithGolden(scenario.name, TextOf(failures, world));
    Expect(difference.empty(), difference);
  }
}

TEST_CASE("values are printed by doctest" * doctest::may_fail()) {
  ScenarioWorld world;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY(0.1, 0.25, world.Within(absl::ZeroDuration()));
    CHECK_EVENTUALLY(
        ScenarioSecret{1}, [](const ScenarioSecret&) { return false; },
        world.Within(absl::ZeroDuration()));
  });
  Expect(failures.size() == 2, "there are two failures");
  Expect(StrContains(failures.at(0), "Actual: 0.1 (poll"), failures.at(0));
  Expect(StrContains(failures.at(1), "Actual: {?} (poll"), failures.at(1));
}

TEST_CASE("a failed check of a block shows its values" * doctest::may_fail()) {
  ScenarioWorld world;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY_PASSES(
        {
          CHECK_POLLED(world.Progress() == 1);
          CHECK_POLLED(world.Progress() == 0);
          CHECK_POLLED(world.State() != "CREATING");
        },
        world.Within(absl::ZeroDuration()));
  });
  Expect(failures.size() == 1, "there is one failure");
  Expect(StrContains(failures.at(0), "2 failures"), failures.at(0));
  Expect(StrContains(failures.at(0),
                     "CHECK_POLLED( world.Progress() == 1 ) is NOT correct! "
                     "values: CHECK_POLLED( 0 == 1 )"),
         failures.at(0));
}

TEST_CASE("a check outside of a block fails the test" * doctest::may_fail()) {
  bool continued = false;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_POLLED(true);
    CHECK_POLLED(1 == 2);
    continued = true;
    REQUIRE_POLLED(1 == 3);
    continued = false;
  });
  Expect(failures.size() == 2, "there are two failures");
  Expect(continued, "the second one ends the test");
}

TEST_CASE("a null pointer is printed by doctest" * doctest::may_fail()) {
  ScenarioWorld world;
  const int number = 0;
  const std::vector<std::string> failures = FailuresOf([&] {
    CHECK_EVENTUALLY(&number, nullptr, world.Within(absl::ZeroDuration()));
  });
  Expect(failures.size() == 1, "there is one failure");
  Expect(StrContains(failures.at(0), "is equal to nullptr"), failures.at(0));
}

}  // namespace
}  // namespace waiter

int main(int argc, char** argv) {
  const int result = doctest::Context(argc, argv).run();
  for (const std::string& error : waiter::Errors()) {
    std::printf("ERROR: %s\n", error.c_str());
  }
  return waiter::Errors().empty() ? result : 1;
}

#endif  // WAITER_HAS_DOCTEST
