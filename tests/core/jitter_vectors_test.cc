// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the kinds of jitter with delays that others have published.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/poll.h"

namespace waiter::jitter_vectors_test {
namespace {

// Delays are whole nanoseconds, and earlier delays add to the error.
constexpr absl::Duration kTolerance = absl::Nanoseconds(2);

void ExpectNear(absl::Duration actual, absl::Duration expected) {
  EXPECT_LE(absl::AbsDuration(actual - expected), kTolerance)
      << actual << " instead of " << expected;
}

class JitterVectorsTest
    : public VectorTest<"jitter_js_seed.json", /*cases=*/60> {
 protected:
  static BackoffOptions Curve(Jitter jitter) {
    return {.initial_delay = Ms(File()["base"]),
            .max_delay = Ms(File()["cap"]),
            .jitter = jitter,
            .min_delay = absl::ZeroDuration()};
  }

  static std::vector<absl::Duration> Delays(const BackoffOptions& backoff,
                                            const std::vector<uint64_t>& draws,
                                            size_t count) {
    return Play({.max_attempts = static_cast<int64_t>(count) + 1,
                 .backoff = backoff},
                {NotReady()}, draws)
        .delays;
  }

  static void CheckPrinted(Jitter jitter, const Json& expected) {
    std::vector<uint64_t> draws;
    for (const Json& r : expected["recovered_r"].array()) {
      draws.push_back(DrawOf(r.number()));
    }
    const std::vector<absl::Duration> delays =
        Delays(Curve(jitter), draws, draws.size());
    ASSERT_EQ(delays.size(), draws.size());
    for (size_t i = 0; i < draws.size(); ++i) {
      const Json& printed = expected["printed"][static_cast<int>(i)];
      ExpectNear(delays[i], Ms(printed));
      File().Ran(printed);
    }
    File().Describes(expected["formula"]);
    File().Describes(expected["recovered_r"]);
  }

  // Returns the delay that follows a delay of `previous`, which draws reach
  // first.
  static absl::Duration DecorrelatedAfter(absl::Duration previous, double r) {
    const absl::Duration base = Ms(File()["base"]);
    const absl::Duration cap = Ms(File()["cap"]);
    std::vector<uint64_t> draws;
    absl::Duration reached = base;
    while (3 * reached < previous) {
      draws.push_back(PlayedDraws::max());
      reached = std::min(cap, 3 * reached);
    }
    draws.push_back(DrawFor(previous, base, 3 * reached));
    draws.push_back(DrawOf(r));
    const std::vector<absl::Duration> delays =
        Delays(Curve(Jitter::Decorrelated()), draws, draws.size());
    ExpectNear(delays[draws.size() - 2], previous);
    return delays.back();
  }
};

TEST_F(JitterVectorsTest, None) {
  File().Describes({"source", "units", "r_values", "base", "cap", "attempts"});
  const Json& ceilings = File()["exp_cap"];
  const std::vector<absl::Duration> delays =
      Delays(Curve(Jitter::None()), kLowestDraws, ceilings.array().size());
  for (const Json& attempt : File()["attempts"].array()) {
    const auto i = static_cast<int>(attempt.number());
    EXPECT_EQ(delays.at(static_cast<size_t>(i)), Ms(ceilings[i]));
    File().Ran(ceilings[i]);
  }
}

TEST_F(JitterVectorsTest, Full) {
  CheckPrinted(Jitter::Full(), File()["full"]);
}

TEST_F(JitterVectorsTest, Equal) {
  CheckPrinted(Jitter::Equal(), File()["equal"]);
}

// The article's JavaScript starts from a delay of 0, which reverses the
// interval of the first delays, so they are below the base. Waiter starts from
// the base, as the simulator of the same article does. Once a delay is at least
// the base, both agree.
TEST_F(JitterVectorsTest, Decorrelated) {
  const Json& expected = File()["decorrelated"];
  const absl::Duration base = Ms(File()["base"]);
  absl::Duration previous = absl::ZeroDuration();
  for (size_t i = 0; i < expected["printed"].array().size(); ++i) {
    const Json& entry = expected["printed"][static_cast<int>(i)];
    const absl::Duration printed = Ms(entry);
    if (previous < base) {
      File().NotRun(
          entry,
          "follows a delay below the base, which only a start from 0 makes");
    } else {
      const Json& r = expected["recovered_r"][static_cast<int>(i)];
      const double lower_bound = expected["index8_r_lower_bound"].number();
      ExpectNear(
          DecorrelatedAfter(previous, r.is_null() ? lower_bound : r.number()),
          printed);
      if (r.is_null()) {
        ExpectNear(DecorrelatedAfter(previous, 0.999), printed);
        EXPECT_LT(DecorrelatedAfter(previous, lower_bound - 1e-6), printed);
      }
      File().Ran(entry);
    }
    previous = printed;
  }
  for (const char* text :
       {"formula", "recovered_r", "index8_r_lower_bound", "note"}) {
    File().Describes(expected[text]);
  }
}

TEST_F(JitterVectorsTest, FirstIntervalOfDecorrelated) {
  const Json& quirk = File()["decorrelated_quirk"];
  const BackoffOptions curve = Curve(Jitter::Decorrelated());

  EXPECT_EQ(Delays(curve, kLowestDraws, 1)[0],
            Ms(quirk["first_range_aws_prev0_base"][0]));
  EXPECT_EQ(Delays(curve, kHighestDraws, 1)[0],
            Ms(quirk["first_range_aws_prev0_base"][1]));
  File().Ran(quirk["first_range_aws_prev0_base"]);
  File().NotRun(quirk["first_range_prev0_zero"],
                "we start from the base, not from 0");
  File().Describes(quirk["note"]);
}

TEST_F(JitterVectorsTest, InjectedDraws) {
  const Json& injected = File()["injected_r"];
  std::vector<uint64_t> draws;
  for (const Json& r : injected["r"].array()) {
    draws.push_back(DrawOf(r.number()));
  }
  const std::vector<absl::Duration> delays =
      Delays(Curve(Jitter::Decorrelated()), draws, draws.size());
  absl::Duration js_previous = absl::ZeroDuration();
  for (size_t i = 0; i < draws.size(); ++i) {
    const int index = static_cast<int>(i);
    const Json& entry = injected["aws_prev0_base"][index];
    ExpectNear(delays.at(i), Ms(entry));
    File().Ran(entry);

    const Json& js_entry = injected["js_prev0_0"][index];
    const absl::Duration js = Ms(js_entry);
    if (js_previous < Ms(File()["base"])) {
      File().NotRun(
          js_entry,
          "follows a delay below the base, which only a start from 0 makes");
    } else {
      ExpectNear(DecorrelatedAfter(js_previous, injected["r"][index].number()),
                 js);
      File().Ran(js_entry);
    }
    js_previous = js;
  }
  File().Describes(injected["r"]);
}

TEST_F(JitterVectorsTest, ParametersOfTheSimulator) {
  const Json& simulator = File()["simulator"];
  BackoffOptions curve = {.initial_delay = Ms(simulator["base"]),
                          .max_delay = Ms(simulator["cap"]),
                          .jitter = Jitter::Decorrelated()};

  EXPECT_EQ(Delays(curve, kLowestDraws, 1)[0],
            Ms(simulator["first_decorr_range"][0]));
  EXPECT_EQ(Delays(curve, kHighestDraws, 1)[0],
            Ms(simulator["first_decorr_range"][1]));
  File().Ran(simulator["first_decorr_range"]);

  // The simulator's count of attempts is one ahead: it starts at twice the
  // base.
  curve.jitter = Jitter::None();
  curve.initial_delay *= 2;
  const std::vector<absl::Duration> delays = Delays(curve, kLowestDraws, 9);
  ASSERT_EQ(delays.size(), 9);
  EXPECT_EQ(delays[0], Ms(simulator["first_exponential_delay"]));
  EXPECT_EQ(delays[7], absl::Milliseconds(1280));
  EXPECT_EQ(delays[8], absl::Milliseconds(2000));
  File().Ran(simulator["first_exponential_delay"]);
  for (const char* text : {"base", "cap", "note"}) {
    File().Describes(simulator[text]);
  }
}

}  // namespace
}  // namespace waiter::jitter_vectors_test
