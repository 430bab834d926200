// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The three programs of the AWS General Reference, wait by wait.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/result.h"

namespace waiter::aws_polling_vectors_test {
namespace {

struct Program {
  std::string_view name;  // In the examples.
  std::function<WaitOptions(int64_t max_retries, absl::Duration cap)> preset;
  std::function<int64_t(int64_t max_retries)> polls;
};

const Program kPseudoCode = {
    "pseudo", AwsPollingPseudoCode,
    [](int64_t max_retries) { return std::max<int64_t>(1, max_retries); }};
const Program kJavaJa = {"java_ja", AwsPollingJavaPollingFirst,
                         [](int64_t max_retries) { return max_retries + 1; }};
const Program kJavaZh = {"java_zh", AwsPollingJava,
                         [](int64_t max_retries) { return max_retries + 1; }};

Poll<> Answer(std::string_view status) {
  if (status == "SUCCESS") return PollStatus::kSuccess;
  if (status == "NOT_READY") return PollStatus::kNotReady;
  if (status == "THROTTLED") return PollStatus::kThrottled;
  if (status == "SERVER_ERROR") return PollStatus::kServerError;
  EXPECT_EQ(status, "other");
  return PollStatus::kFailed;
}

// The waits before each poll, including the first.
std::vector<absl::Duration> Waits(const PlayedWait& played) {
  std::vector<absl::Duration> waits = played.delays;
  waits.insert(waits.begin(), played.before_first_poll);
  return waits;
}

std::vector<absl::Duration> Durations(const Json& milliseconds) {
  std::vector<absl::Duration> durations;
  for (const Json& wait : milliseconds.array()) durations.push_back(Ms(wait));
  return durations;
}

class AwsPollingVectorsTest
    : public VectorTest<"aws_polling_seed.json", /*cases=*/72> {
 protected:
  static PlayedWait NeverReady(const Program& program, int64_t max_retries,
                               absl::Duration cap = absl::InfiniteDuration()) {
    return Play(program.preset(max_retries, cap), {PollStatus::kNotReady});
  }

  static void CheckWaits(const Program& program, const Json& expected) {
    std::vector<absl::Duration> waits = Waits(NeverReady(program, 20));
    ASSERT_GE(waits.size(), expected.array().size());
    waits.resize(expected.array().size());
    EXPECT_EQ(waits, Durations(expected)) << program.name;
    File().RanEach(expected);
  }

  static void CheckPolls(const Program& program, const Json& expected,
                         std::string_view rule) {
    EXPECT_EQ(expected.string(), rule);
    for (const int64_t max_retries : {0, 1, 2, 3, 7}) {
      EXPECT_EQ(NeverReady(program, max_retries).report.attempts,
                program.polls(max_retries))
          << program.name << " " << max_retries;
    }
    File().Ran(expected);
  }

  static void CheckRetried(const Program& program, const Json& statuses) {
    for (const Json& status : statuses.array()) {
      const PlayedWait played =
          Play(program.preset(5, absl::InfiniteDuration()),
               {Answer(status.string()), Success()});
      EXPECT_EQ(played.report.reason, StopReason::kSuccess);
      EXPECT_EQ(played.report.attempts, 2);
      File().Ran(status);
    }
  }

  static void CheckStopped(const Program& program, const Json& statuses) {
    for (const Json& status : statuses.array()) {
      const PlayedWait played =
          Play(program.preset(5, absl::InfiniteDuration()),
               {Answer(status.string())});
      EXPECT_EQ(played.report.attempts, 1) << status.string();
      EXPECT_EQ(played.report.last_poll.status(),
                Answer(status.string()).status());
      File().Ran(status);
    }
  }

  static void CheckJava(const Program& program, const Json& expected) {
    CheckWaits(program, expected["waits_uncapped"]);
    EXPECT_EQ(NeverReady(program, 0).before_first_poll,
              Ms(expected["first_wait"]));
    File().Ran(expected["first_wait"]);
    CheckPolls(program, expected["polls"], "MAX_RETRIES+1");
    CheckRetried(program, expected["retry_on"]);
    EXPECT_EQ(expected["cap"].string(), "min(wait, MAX_WAIT_INTERVAL)");
    for (const int cap : {0, 50, 100, 150, 5000}) {
      const std::vector<absl::Duration> waits =
          Waits(NeverReady(program, 8, absl::Milliseconds(cap)));
      const std::vector<absl::Duration> uncapped =
          Waits(NeverReady(program, 8));
      ASSERT_EQ(waits.size(), 9);
      ASSERT_EQ(uncapped.size(), 9);
      for (size_t i = 0; i < uncapped.size(); ++i) {
        EXPECT_EQ(waits[i], std::min(uncapped[i], absl::Milliseconds(cap)));
      }
    }
    File().Ran(expected["cap"]);
  }

  // `expected` has polls, waits, and sometimes their total.
  static void CheckExample(const Program& program, int64_t max_retries,
                           const Json& expected) {
    const PlayedWait played = NeverReady(program, max_retries);
    EXPECT_EQ(played.report.attempts, expected["polls"].number());
    EXPECT_EQ(Waits(played), Durations(expected["waits"]));
    EXPECT_EQ(played.report.slept,
              absl::Milliseconds(
                  expected.number_or("total", expected["waits"][0].number())));
    EXPECT_EQ(played.report.reason, StopReason::kAttempts);
    File().Ran(expected);
  }
};

TEST_F(AwsPollingVectorsTest, PseudoCode) {
  File().Describes({"source", "units"});
  const Json& expected = File()["pseudo_code"];

  CheckWaits(kPseudoCode, expected["waits"]);
  EXPECT_EQ(NeverReady(kPseudoCode, 1).before_first_poll,
            Ms(expected["first_wait"]));
  EXPECT_TRUE(expected["cap"].is_null());
  EXPECT_EQ(Waits(Play(AwsPollingPseudoCode(20), {NotReady()})),
            Waits(NeverReady(kPseudoCode, 20)));
  File().Ran(expected["first_wait"]);
  File().Ran(expected["cap"]);
  CheckPolls(kPseudoCode, expected["polls"], "max(1, MAX_RETRIES)");
  CheckRetried(kPseudoCode, expected["retry_on"]);
  CheckStopped(kPseudoCode, expected["stop_on"]);
}

TEST_F(AwsPollingVectorsTest, JavaOfTheJapaneseEdition) {
  const Json& expected = File()["java_ja"];

  CheckJava(kJavaJa, expected);
  EXPECT_EQ(NeverReady(kJavaJa, 1).delays[0], Ms(expected["second_wait"]));
  File().Ran(expected["second_wait"]);
  File().NotRun(expected["exceptions"],
                "exceptions of the status function pass to the caller");
}

TEST_F(AwsPollingVectorsTest, JavaOfTheChineseEdition) {
  const Json& expected = File()["java_zh"];

  CheckJava(kJavaZh, expected);
  File().NotRun(expected["exceptions"],
                "exceptions of the status function pass to the caller");
}

TEST_F(AwsPollingVectorsTest, Examples) {
  for (const Program& program : {kPseudoCode, kJavaJa, kJavaZh}) {
    CheckExample(program, 3,
                 File()["example_max_retries_3_all_not_ready"][program.name]);
    CheckExample(program, 0, File()["example_max_retries_0"][program.name]);
  }
  for (const Program& program : {kJavaJa, kJavaZh}) {
    const Json& expected =
        File()["example_cap_5000_max_retries_8"][program.name];
    EXPECT_EQ(Waits(NeverReady(program, 8, absl::Seconds(5))),
              Durations(expected));
    File().Ran(expected);
  }
}

// Delays grow with every poll, with any status.
TEST_F(AwsPollingVectorsTest, MixedAnswersGrowTogether) {
  EXPECT_EQ(Waits(Play(AwsPollingJava(5, absl::Hours(1)),
                       {NotReady(), Throttled("", absl::Minutes(1)),
                        ServerError(), NotReady(), Success()})),
            (std::vector<absl::Duration>{
                absl::Milliseconds(100), absl::Milliseconds(200),
                absl::Milliseconds(400), absl::Milliseconds(800),
                absl::Milliseconds(1600)}));
}

// Returns the nth wait of the Java programs, in milliseconds:
// `(long) Math.pow(2, n) * 100`. The conversion stops at the largest long, and
// the product wraps.
int64_t WrappedWait(int64_t n) {
  const uint64_t power =
      n < 63 ? uint64_t{1} << n : uint64_t{std::numeric_limits<int64_t>::max()};
  return static_cast<int64_t>(power * 100);
}

// 100 * 2^n ms, exactly.
absl::Duration ExactWait(int64_t n) {
  const absl::uint128 milliseconds = absl::uint128(100) << static_cast<int>(n);
  return absl::Seconds(static_cast<int64_t>(milliseconds / 1000)) +
         absl::Milliseconds(static_cast<int64_t>(milliseconds % 1000));
}

// The Java programs wrap from the 57th wait on; the presets grow up to the 60th
// and stay there. The test asks the rule for these waits of millions of years,
// because the loop cuts them to 73 years.
TEST_F(AwsPollingVectorsTest, SaturatesWhereJavaOverflows) {
  constexpr int64_t kLastCorrectInJava = 56;
  constexpr int64_t kLastDoubling = 60;
  const SharedDelaySource source =
      AwsPollingJava(1, absl::InfiniteDuration()).delay_source;
  const Poll<> found;
  const auto computed = [] { return absl::InfiniteDuration(); };
  PlayedDraws gen(kLowestDraws);
  const auto wait = [&](int64_t n) {
    return *source->NextDelay({.found = found,
                               .attempt = n,
                               .elapsed = absl::ZeroDuration(),
                               .remaining = absl::InfiniteDuration(),
                               .computed = computed},
                              gen);
  };

  const Json& overflow = File()["java_overflow"];
  File().Describes(overflow["note"]);
  for (const auto& [text, value] : overflow["values"].object()) {
    SCOPED_TRACE(text);
    int64_t n = 0;
    ASSERT_TRUE(absl::SimpleAtoi(text, &n));
    const auto in_java = static_cast<int64_t>(value.number());
    EXPECT_EQ(in_java, WrappedWait(n));
    EXPECT_EQ(ExactWait(std::min(n, kLastCorrectInJava)) ==
                  absl::Milliseconds(in_java),
              n <= kLastCorrectInJava);
    EXPECT_EQ(wait(n), ExactWait(std::min(n, kLastDoubling)));
    File().Ran(value);
  }
  EXPECT_EQ(wait(std::numeric_limits<int64_t>::max()),
            ExactWait(kLastDoubling));
}

}  // namespace
}  // namespace waiter::aws_polling_vectors_test
