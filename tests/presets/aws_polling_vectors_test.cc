// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The three programs of the AWS General Reference, wait by wait.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/delay_rule.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/wait_result.h"

namespace waiter {
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

// The waits before each poll, the first included.
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

class AwsPollingVectorsTest : public testing::Test {
 protected:
  static VectorFile& File() {
    static VectorFile file("aws_polling_seed.json");
    return file;
  }
  static void TearDownTestSuite() { File().Report(); }

  static PlayedWait NeverReady(const Program& program, int64_t max_retries,
                               absl::Duration cap = absl::InfiniteDuration()) {
    return Play(program.preset(max_retries, cap), {PollStatus::kNotReady});
  }

  static void CheckWaits(const Program& program, const Json& expected) {
    std::vector<absl::Duration> waits = Waits(NeverReady(program, 20));
    waits.resize(expected.array().size());
    EXPECT_EQ(waits, Durations(expected)) << program.name;
    File().Ran(std::ssize(waits));
  }

  static void CheckPolls(const Program& program) {
    for (const int64_t max_retries : {0, 1, 2, 3, 7}) {
      EXPECT_EQ(NeverReady(program, max_retries).report.attempts,
                program.polls(max_retries))
          << program.name << " " << max_retries;
    }
    File().Ran();
  }

  static void CheckRetried(const Program& program, const Json& statuses) {
    for (const Json& status : statuses.array()) {
      const PlayedWait played =
          Play(program.preset(5, absl::InfiniteDuration()),
               {Answer(status.string()), Success()});
      EXPECT_EQ(played.report.reason, StopReason::kSuccess);
      EXPECT_EQ(played.report.attempts, 2);
      File().Ran();
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
      File().Ran();
    }
  }

  static void CheckJava(const Program& program, const Json& expected) {
    CheckWaits(program, expected["waits_uncapped"]);
    EXPECT_EQ(NeverReady(program, 0).before_first_poll,
              Ms(expected["first_wait"]));
    File().Ran();
    EXPECT_EQ(expected["polls"].string(), "MAX_RETRIES+1");
    CheckPolls(program);
    CheckRetried(program, expected["retry_on"]);
    EXPECT_EQ(expected["cap"].string(), "min(wait, MAX_WAIT_INTERVAL)");
    for (const int cap : {0, 50, 100, 150, 5000}) {
      const std::vector<absl::Duration> waits =
          Waits(NeverReady(program, 8, absl::Milliseconds(cap)));
      const std::vector<absl::Duration> uncapped =
          Waits(NeverReady(program, 8));
      for (size_t i = 0; i < uncapped.size(); ++i) {
        EXPECT_EQ(waits[i], std::min(uncapped[i], absl::Milliseconds(cap)));
      }
    }
    File().Ran();
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
    File().Ran();
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
  File().Ran(2);
  EXPECT_EQ(expected["polls"].string(), "max(1, MAX_RETRIES)");
  CheckPolls(kPseudoCode);
  CheckRetried(kPseudoCode, expected["retry_on"]);
  CheckStopped(kPseudoCode, expected["stop_on"]);
}

TEST_F(AwsPollingVectorsTest, JavaOfTheJapaneseEdition) {
  const Json& expected = File()["java_ja"];

  CheckJava(kJavaJa, expected);
  EXPECT_EQ(NeverReady(kJavaJa, 1).delays[0], Ms(expected["second_wait"]));
  File().Ran();
  File().DoesNotApply("java_ja.exceptions",
                      "exceptions of the status function pass to the caller");
}

TEST_F(AwsPollingVectorsTest, JavaOfTheChineseEdition) {
  CheckJava(kJavaZh, File()["java_zh"]);
  File().DoesNotApply("java_zh.exceptions",
                      "exceptions of the status function pass to the caller");
}

TEST_F(AwsPollingVectorsTest, Examples) {
  for (const Program& program : {kPseudoCode, kJavaJa, kJavaZh}) {
    CheckExample(program, 3,
                 File()["example_max_retries_3_all_not_ready"][program.name]);
    CheckExample(program, 0, File()["example_max_retries_0"][program.name]);
  }
  for (const Program& program : {kJavaJa, kJavaZh}) {
    EXPECT_EQ(
        Waits(NeverReady(program, 8, absl::Seconds(5))),
        Durations(File()["example_cap_5000_max_retries_8"][program.name]));
    File().Ran();
  }
}

// Delays grow with all polls, not with those of a kind.
TEST_F(AwsPollingVectorsTest, MixedAnswersGrowTogether) {
  EXPECT_EQ(Waits(Play(AwsPollingJava(5, absl::Hours(1)),
                       {NotReady(), Throttled("", absl::Minutes(1)),
                        ServerError(), NotReady(), Success()})),
            (std::vector<absl::Duration>{
                absl::Milliseconds(100), absl::Milliseconds(200),
                absl::Milliseconds(400), absl::Milliseconds(800),
                absl::Milliseconds(1600)}));
}

// The Java programs wrap from the 57th wait on. These waits, of millions of
// years, are asked of the rule; a wait that makes them is cut to 73 years.
TEST_F(AwsPollingVectorsTest, SaturatesWhereJavaOverflows) {
  const DelayRule rule = AwsPollingJava(1, absl::InfiniteDuration()).delay_rule;
  const Poll<> found;
  const auto computed = [] { return absl::InfiniteDuration(); };
  PlayedDraws gen(kLowestDraws);
  const auto wait = [&](int64_t n) {
    return *rule({.found = found,
                  .attempt = n,
                  .elapsed = absl::ZeroDuration(),
                  .remaining = absl::InfiniteDuration(),
                  .computed = computed},
                 gen);
  };

  for (const auto& [text, value] : File()["java_overflow"]["values"].object()) {
    int64_t n = 0;
    ASSERT_TRUE(absl::SimpleAtoi(text, &n));
    if (n <= 56) {
      EXPECT_EQ(wait(n),
                absl::Milliseconds(static_cast<int64_t>(value.number())))
          << n;
    } else {
      EXPECT_EQ(wait(n), std::min(2 * wait(n - 1), wait(60))) << n;
    }
    File().Ran();
  }
  EXPECT_EQ(wait(std::numeric_limits<int64_t>::max()), wait(60));
  EXPECT_LT(wait(60), absl::InfiniteDuration());
}

}  // namespace
}  // namespace waiter
