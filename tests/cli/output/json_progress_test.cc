// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/json_progress.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "cli/text/json.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/first_seed.h"
#include "tests/support/played_run.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli::json_progress_test {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

struct Played {
  explicit Played(const std::vector<std::string>& targets)
      : progress([this](std::string_view line) {
          log += line;
          return absl::OkStatus();
        }),
        run(progress, targets) {}

  std::string log;
  JsonProgress progress;
  PlayedRun run;
};

// Returns `text` as a reader sees it, with U+FFFD for bytes that are not UTF-8.
std::string AsUtf8(std::string_view text) {
  return nlohmann::json::parse(JsonText(std::string(text))).get<std::string>();
}

// Rounds to microseconds, because a double of milliseconds is not exact.
absl::Duration Microseconds(absl::Duration read) {
  return absl::Floor(read + absl::Nanoseconds(500), absl::Microseconds(1));
}

TEST(JsonProgressTest, EachEventIsALine) {
  Played played({"db=tcp://127.0.0.1:5432", "web=http://web/"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, absl::Microseconds(1500), {.detail = "refused \"x\""},
           2 * kSecond);
  run.BeginPoll(1, 2 * kSecond);
  run.Snapshot();
  run.Poll(1, 3 * kSecond,
           {.status = PollStatus::kThrottled,
            .retry_after = 30 * kSecond,
            .progress = 0.5},
           30 * kSecond);
  run.LastPoll(0, 4 * kSecond, {.status = PollStatus::kSuccess});
  run.End(1, StopReason::kDeadline);
  run.Done("deadline", 124);

  EXPECT_EQ(
      played.log,
      R"({"v":1,"t":"2026-01-01T00:00:00.000Z","elapsed_ms":0,"event":"start","targets":[{"target":"db","text":"tcp://127.0.0.1:5432"},{"target":"web","text":"http://web/"}],"needed":2,"gone":false,"timeout_ms":300000}
{"v":1,"t":"2026-01-01T00:00:00.001Z","elapsed_ms":1.5,"event":"poll","target":"db","attempt":1,"class":"NOT_READY","detail":"refused \"x\"","latency_ms":1,"next_ms":2000}
{"v":1,"t":"2026-01-01T00:00:02.000Z","elapsed_ms":2000,"event":"state","target":"db","phase":"sleeping","attempts":1,"ended":null}
{"v":1,"t":"2026-01-01T00:00:02.000Z","elapsed_ms":2000,"event":"state","target":"web","phase":"polling","attempts":0,"ended":null}
{"v":1,"t":"2026-01-01T00:00:03.000Z","elapsed_ms":3000,"event":"poll","target":"web","attempt":1,"class":"THROTTLED","detail":"","latency_ms":1,"next_ms":30000,"retry_after_ms":30000,"progress":0.5}
{"v":1,"t":"2026-01-01T00:00:04.000Z","elapsed_ms":4000,"event":"poll","target":"db","attempt":2,"class":"SUCCESS","detail":"","latency_ms":1}
{"v":1,"t":"2026-01-01T00:00:04.000Z","elapsed_ms":4000,"event":"ready","target":"db","attempts":2}
{"v":1,"t":"2026-01-01T00:00:04.000Z","elapsed_ms":4000,"event":"state","target":"web","phase":"ended","attempts":1,"ended":"deadline"}
{"v":1,"t":"2026-01-01T00:00:04.000Z","elapsed_ms":4000,"event":"summary","exit_code":124,"reason":"deadline","targets":[{"target":"db","ended":"success","ended_ms":4000,"attempts":2,"polls":{"SUCCESS":1,"NOT_READY":1}},{"target":"web","ended":"deadline","ended_ms":4000,"attempts":1,"polls":{"THROTTLED":1}}]}
)");
}

TEST(JsonProgressTest, ErrorEndsTheOutput) {
  int lines = 0;
  JsonProgress progress([&](std::string_view) {
    ++lines;
    return lines == 2 ? absl::UnavailableError("disk full") : absl::OkStatus();
  });
  PlayedRun run(progress, {"db"});
  run.Start();
  EXPECT_TRUE(progress.status().ok());
  run.Poll(0, kSecond, {});
  EXPECT_EQ(progress.status().message(), "disk full");
  run.Poll(0, 2 * kSecond, {});
  run.Done("deadline", 124);
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(progress.status().message(), "disk full");
}

TEST(JsonProgressTest, LongTextIsCut) {
  Played played({"db"});
  played.run.Start();
  played.run.Poll(0, kSecond, {.detail = std::string(1 << 20, 'x')});
  // The cut falls between characters.
  played.run.Poll(0, kSecond, {.detail = std::string(4095, 'x') + "日日"});
  const RunLog log = ValueOrFail(ParseRunLog(played.log, "log"));
  EXPECT_EQ(log.polls[0].detail, std::string(4096, 'x') + "...");
  EXPECT_EQ(log.polls[1].detail, std::string(4095, 'x') + "...");
}

std::string AnyText(SplitMix64& gen) {
  std::string text;
  for (size_t length = gen() % 60; length > 0; --length) {
    constexpr std::string_view kHostile("\"\\\n\r<\x7f\0", 7);
    text.push_back(gen() % 3 == 0 ? kHostile[gen() % kHostile.size()]
                                  : static_cast<char>(gen()));
  }
  return text;
}

// A reader must get the same events, with any texts.
TEST(JsonProgressTest, WrittenLogReadsBack) {
  SplitMix64 gen(FirstSeed());
  for (int round = 0; round < 200; ++round) {
    Played played({"a", "b"});
    PlayedRun& run = played.run;
    run.state.targets[0].label = AnyText(gen);
    run.state.targets[1].label = absl::StrCat("other", AnyText(gen));
    if (gen() % 2 == 0) run.state.timeout = absl::InfiniteDuration();
    run.Start();
    struct Expected {
      size_t target;
      int64_t attempt;
      absl::Duration elapsed;
      PollStatus status;
      std::string detail;
      absl::Duration next;
    };
    std::vector<Expected> expected;
    for (int i = 0; i < 10; ++i) {
      const size_t target = gen() % 2;
      Expected poll = {.target = target,
                       .attempt = run.state.targets[target].attempts + 1,
                       .elapsed = run.state.elapsed +
                                  absl::Microseconds(gen() % 100'000'000),
                       .status = static_cast<PollStatus>(gen() % 5),
                       .detail = AnyText(gen),
                       .next = absl::Microseconds(gen() % 100'000'000)};
      run.Poll(target, poll.elapsed,
               {.status = poll.status,
                .detail = poll.detail,
                .retry_after = absl::Microseconds(gen() % 1000),
                .progress = static_cast<double>(gen() % 1000) / 1000},
               poll.next);
      if (gen() % 4 == 0) run.Snapshot();
      expected.push_back(std::move(poll));
    }
    run.Done("deadline", 124, AnyText(gen));

    const RunLog log = ValueOrFail(ParseRunLog(played.log, "log"));
    ASSERT_EQ(log.polls.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const LoggedPoll& read = log.polls[i];
      EXPECT_EQ(read.target,
                AsUtf8(run.state.targets[expected[i].target].label));
      EXPECT_EQ(read.attempt, expected[i].attempt);
      EXPECT_EQ(Microseconds(read.elapsed), expected[i].elapsed);
      EXPECT_EQ(read.status, expected[i].status);
      EXPECT_EQ(read.detail, AsUtf8(expected[i].detail));
      EXPECT_EQ(Microseconds(*read.next), expected[i].next);
      EXPECT_EQ(read.latency, absl::Milliseconds(1));
    }
    EXPECT_EQ(log.exit_code, 124);
    EXPECT_EQ(log.reason, "deadline");
  }
}

}  // namespace
}  // namespace waiter::cli::json_progress_test
