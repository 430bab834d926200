// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/output_flags.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/output/run_log.h"
#include "cli/output/terminal.h"
#include "cli/run/run_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/played_run.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli::output_flags_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Passes every event to all listeners.
class All : public RunListener {
 public:
  explicit All(RunListeners listeners) : listeners_(std::move(listeners)) {}

  void OnStart(const RunState& run) override {
    for (auto& listener : listeners_) listener->OnStart(run);
  }
  void OnPoll(const RunState& run, size_t target) override {
    for (auto& listener : listeners_) listener->OnPoll(run, target);
  }
  void OnEnd(const RunState& run, size_t target) override {
    for (auto& listener : listeners_) listener->OnEnd(run, target);
  }
  void OnTick(const RunState& run) override {
    for (auto& listener : listeners_) listener->OnTick(run);
  }
  void OnSnapshot(const RunState& run) override {
    for (auto& listener : listeners_) listener->OnSnapshot(run);
  }
  void OnDone(const RunState& run, const RunEnd& end) override {
    for (auto& listener : listeners_) listener->OnDone(run, end);
  }
  absl::Status status() const override {
    for (const auto& listener : listeners_) {
      if (!listener->status().ok()) return listener->status();
    }
    return absl::OkStatus();
  }

 private:
  RunListeners listeners_;
};

struct Told {
  absl::Status status;
  std::string out;
  std::string err;
};

// Plays a failing run to the listeners that the flags in `line` choose.
Told Tell(const std::string& line, const Terminal& terminal) {
  Flags flags("waiter", "TARGET...", "");
  OutputFlags output;
  output.AddTo(flags);
  const std::vector<std::string> args =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  const absl::Status parsed = flags.Parse(args).status();
  if (!parsed.ok()) return {parsed, "", ""};
  std::ostringstream out;
  std::ostringstream err;
  absl::StatusOr<RunListeners> listeners =
      output.Listeners(flags, terminal, out, err);
  if (!listeners.ok()) return {listeners.status(), "", ""};
  All all(*std::move(listeners));
  PlayedRun run(all, {"db"});
  run.Start();
  run.Poll(0, absl::Seconds(1), {.detail = "no", .output = "first\n"});
  run.Poll(0, absl::Seconds(2), {.detail = "no", .output = "a\x1b[2Jb\nc\n"});
  run.TickTo(absl::Seconds(3));
  run.Snapshot();
  run.End(0, StopReason::kDeadline);
  run.Done("deadline", 124);
  return {all.status(), out.str(), err.str()};
}

constexpr std::string_view kReason =
    "waiter: db was not ready when the limit of 5m was reached";
constexpr std::string_view kDetails = "  db  NOT_READY: no (2 polls";
constexpr std::string_view kSnapshot = "waiter: 3s of 5m: 0 of 1 ready\n";
constexpr std::string_view kPlain = "waiter: waiting for db";
constexpr std::string_view kPoll = "waiter: 2s: db: poll 2: NOT_READY: no";
constexpr std::string_view kTty = "\x1b[?7l";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kJson = R"("event":"summary")";

TEST(OutputFlagsTest, FlagsChooseTheOutput) {
  const Terminal none;
  const Terminal tty = {.out = true, .err = true, .unicode = true};
  const Terminal dumb = {.err = true, .dumb = true};
  struct Case {
    std::string flags;
    const Terminal* terminal;
    std::vector<std::string_view> err;
    std::vector<std::string_view> out;
  };
  const std::vector<Case> cases = {
      {"", &none, {kPlain, kSnapshot, kReason, kDetails}, {}},
      {"", &dumb, {kPlain, kSnapshot, kReason, kDetails}, {}},
      {"", &tty, {kTty, kSnapshot, kReason, kDetails}, {}},
      {"--progress=tty", &none, {kTty, kSnapshot, kReason, kDetails}, {}},
      {"--progress=plain", &tty, {kPlain, kSnapshot, kReason, kDetails}, {}},
      {"--verbose", &tty, {kPlain, kPoll, kSnapshot, kReason, kDetails}, {}},
      {"--progress=json", &tty, {kReason, kDetails}, {kJson}},
      {"--progress=none", &tty, {kSnapshot, kReason}, {}},
      {"--quiet", &tty, {kSnapshot, kReason}, {}},
      {"--quiet --print-last", &none, {kSnapshot, kReason}, {"a\x1b[2Jb\nc\n"}},
      {"--quiet --print-last", &tty, {kSnapshot, kReason}, {"a\\x1b[2Jb\nc\n"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.flags);
    const Told told = Tell(c.flags, *c.terminal);
    EXPECT_TRUE(told.status.ok()) << told.status;
    for (const std::string_view part :
         {kReason, kDetails, kSnapshot, kPlain, kPoll, kTty}) {
      const bool expected =
          std::find(c.err.begin(), c.err.end(), part) != c.err.end();
      EXPECT_EQ(absl::StrContains(told.err, part), expected) << part;
    }
    EXPECT_EQ(told.out.empty(), c.out.empty()) << told.out;
    for (const std::string_view part : c.out) {
      EXPECT_THAT(told.out, HasSubstr(std::string(part)));
    }
  }
}

// No output is lost between the last lines of progress and the message.
TEST(OutputFlagsTest, MessageComesLast) {
  const Told told = Tell("--progress=tty", {});
  EXPECT_THAT(told.err.substr(told.err.rfind("\x1b[?7h")),
              StartsWith("\x1b[?7h" + std::string(kReason)));
}

TEST(OutputFlagsTest, FlagsWinOverTheTerminalsColors) {
  const auto colors = [](const std::string& line, bool allowed) {
    Flags flags("waiter", "", "");
    OutputFlags output;
    output.AddTo(flags);
    EXPECT_TRUE(flags.Parse({line, "--progress=tty"}).ok());
    std::ostringstream err;
    All all(*output.Listeners(flags, {.colors = allowed}, err, err));
    PlayedRun run(all, {"db"});
    run.Start();
    run.LastPoll(0, absl::Seconds(1), {.status = PollStatus::kSuccess});
    run.Done("ready", 0);
    return absl::StrContains(err.str(), kGreen);
  };
  EXPECT_TRUE(colors("--color=auto", true));
  EXPECT_FALSE(colors("--color=auto", false));
  EXPECT_TRUE(colors("--color=always", false));
  EXPECT_FALSE(colors("--color=never", true));
}

TEST(OutputFlagsTest, ContradictionsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--progress=fancy",
       "--progress=fancy: it must be one of auto, tty, plain, json, none"},
      {"--color=red", "--color=red: it must be one of auto, always, never"},
      {"--quiet --verbose", "--verbose: contradicts --quiet"},
      {"--quiet --progress=plain", "--quiet: contradicts --progress"},
      {"--verbose --progress=tty", "--verbose: contradicts --progress"},
      {"--print-last --progress=json",
       "--print-last and --progress=json both write to standard output; "
       "--log-json=FILE writes to a file"},
      {"--log-json=/no/such/folder/log",
       "--log-json=/no/such/folder/log: No such file or directory"},
  };
  for (const auto& [line, message] : cases) {
    const absl::Status status = Tell(line, {}).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_EQ(status.message(), message);
  }
}

TEST(OutputFlagsTest, LogThatNobodyReadsIsRefused) {
  const std::string path = testing::TempDir() + "/log.fifo";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const absl::Status status = Tell("--log-json=" + path, {}).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "--log-json=" + path + ": No such device or address");
}

TEST(OutputFlagsTest, LogHoldsOnlyThisRun) {
  const std::string path = testing::TempDir() + "/log.jsonl";
  std::ofstream(path) << "of an earlier run\n";
  const Told told = Tell("--quiet --log-json=" + path, {});
  EXPECT_TRUE(told.status.ok()) << told.status;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const absl::StatusOr<RunLog> log = ParseRunLog(text.str(), path);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->polls.size(), 2);
  EXPECT_EQ(log->exit_code, 124);
}

TEST(OutputFlagsTest, UnwritableLogIsAFailure) {
  if (!std::ifstream("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Told told = Tell("--log-json=/dev/full", {});
  EXPECT_EQ(told.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(told.status.message(),
            "--log-json=/dev/full: No space left on device");
  EXPECT_THAT(told.err, HasSubstr(std::string(kReason)));
}

TEST(OutputFlagsTest, ClosedStandardOutputIsAFailure) {
  for (const std::string line : {"--progress=json", "--print-last"}) {
    Flags flags("waiter", "", "");
    OutputFlags output;
    output.AddTo(flags);
    ASSERT_TRUE(flags.Parse({line}).ok());
    std::ostringstream out;
    std::ostringstream err;
    All all(*output.Listeners(flags, {}, out, err));
    PlayedRun run(all, {"db"});
    run.Start();
    out.setstate(std::ios::badbit);
    run.Poll(0, absl::Seconds(1), {.output = "x"});
    run.Done("deadline", 124);
    EXPECT_EQ(all.status().code(), absl::StatusCode::kUnavailable) << line;
    EXPECT_THAT(std::string(all.status().message()), HasSubstr(line));
  }
}

}  // namespace
}  // namespace waiter::cli::output_flags_test
