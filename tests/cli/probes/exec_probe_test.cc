// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/exec_probe.h"

#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/code_map.h"
#include "cli/probes/probe.h"
#include "cli/probes/probe_answer.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "gtest/gtest.h"
#include "tests/support/process_fixture.h"
#include "waiter/poll.h"

namespace waiter::cli::exec_probe_test {
namespace {

class ExecProbeTest : public ProcessFixture {
 protected:
  // Starts a poll whose finding ends up in `found_`.
  void Start(Probe& probe, const PollContext& context = {}) {
    found_ = std::nullopt;
    probe.Start(context, [this](Finding finding) {
      EXPECT_FALSE(found_.has_value());
      found_ = std::move(finding);
    });
  }

  Finding Finish() {
    RunUntil([&] { return found_.has_value(); });
    return found_.value_or(Finding());
  }

  Finding Poll(const ExecProbeOptions& options,
               const PollContext& context = {}) {
    ExecProbe probe(*reaper_, options);
    Start(probe, context);
    return Finish();
  }

  std::optional<Finding> found_;
};

TEST_F(ExecProbeTest, ExitCodesHaveTheirMeanings) {
  std::ofstream(Path("plain")) << "exit 0\n";
  struct Case {
    Command command;
    std::string map;  // Meanings of exit codes.
    PollStatus status;
    std::string detail;
    bool absent;
  };
  constexpr PollStatus kSuccess = PollStatus::kSuccess;
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  constexpr PollStatus kThrottled = PollStatus::kThrottled;
  constexpr PollStatus kServerError = PollStatus::kServerError;
  constexpr PollStatus kFailed = PollStatus::kFailed;
  const std::vector<Case> cases = {
      {ShellCommand("exit 0"), "", kSuccess, "exit code 0", false},
      {ShellCommand("echo up; echo bah >&2"), "", kSuccess, "up", false},
      {ShellCommand("exit 1"), "", kNotReady, "exit code 1", true},
      {ShellCommand("echo a; echo b; echo; exit 2"), "", kNotReady,
       "exit code 2: b", true},
      {ShellCommand("echo a; echo why >&2; exit 75"), "", kThrottled,
       "exit code 75: why", false},
      {ShellCommand("exit 70"), "", kServerError, "exit code 70", false},
      {ShellCommand("exit 78"), "", kFailed, "exit code 78", false},
      {ShellCommand("exit 9"), "0=error,9=success", kSuccess, "exit code 9",
       false},
      {ShellCommand("exit 78"), "@strict,78=not-ready", kNotReady,
       "exit code 78", true},
      {ShellCommand("kill -KILL $$"), "", kServerError,
       "killed by signal 9 (Killed)", false},
      {ShellCommand("kill -KILL $$"), "signal=not-ready", kNotReady,
       "killed by signal 9 (Killed)", false},
      {{{"no-such-command"}},
       "",
       kFailed,
       "no-such-command: command not found",
       false},
      {{{"no-such-command"}},
       "127=not-ready",
       kNotReady,
       "no-such-command: command not found",
       false},
      {{{"./plain"}}, "", kFailed, "./plain: Permission denied", false},
      {{{"test", "-e", "no such file"}}, "", kNotReady, "exit code 1", true},
  };
  for (const Case& test : cases) {
    ExecProbeOptions options = {.command = test.command};
    if (!test.map.empty()) options.codes = *CodeMap::Parse(test.map);
    const Finding found = Poll(options);
    EXPECT_EQ(found.status, test.status) << test.detail;
    EXPECT_EQ(found.detail, test.detail);
    EXPECT_EQ(found.absent, test.absent) << test.detail;
  }
}

TEST_F(ExecProbeTest, ShellCommandWithASyntaxErrorIsFailed) {
  const auto shell = [](const std::string& text) {
    return ExecProbeOptions{.command = ShellCommand(text),
                            .check = ShellSyntaxCheck(text)};
  };
  const Finding wrong = Poll(shell("if true; then"));
  EXPECT_EQ(wrong.status, PollStatus::kFailed);
  EXPECT_TRUE(absl::StrContains(absl::AsciiStrToLower(wrong.detail), "syntax"))
      << wrong.detail;
  EXPECT_FALSE(wrong.absent);

  // The check does not run the command.
  const Finding late = Poll(shell("echo a >>ran; exit 2"));
  EXPECT_EQ(late.status, PollStatus::kNotReady);
  EXPECT_EQ(late.detail, "exit code 2");
  EXPECT_EQ(std::filesystem::file_size(Path("ran")), 2U);
}

TEST_F(ExecProbeTest, AnswerOverridesTheExitCode) {
  const Finding found =
      Poll({.command = ShellCommand(
                "echo log; echo '{\"waiter\":\"throttled\",\"detail\":\"2/3\","
                "\"progress\":0.5,\"retry_after\":\"30s\"}'; echo; exit 78")});
  EXPECT_EQ(found.status, PollStatus::kThrottled);
  EXPECT_EQ(found.detail, "2/3");
  EXPECT_EQ(found.progress, 0.5);
  EXPECT_EQ(found.retry_after, absl::Seconds(30));
  EXPECT_FALSE(found.absent);
  EXPECT_TRUE(absl::StartsWith(found.output, "log\n{"));

  // Only the last line can be the answer, and a signal is not an exit.
  EXPECT_EQ(Poll({.command = ShellCommand(
                      "echo '{\"waiter\":\"failed\"}'; echo end; exit 1")})
                .status,
            PollStatus::kNotReady);
  EXPECT_EQ(Poll({.command = ShellCommand(
                      "echo '{\"waiter\":\"success\"}'; kill -KILL $$")})
                .status,
            PollStatus::kServerError);
  // An answer without a detail gets its detail from stderr.
  EXPECT_EQ(Poll({.command = ShellCommand(
                      "echo '{\"waiter\":\"not_ready\"}'; echo why >&2")})
                .detail,
            "why");
}

TEST_F(ExecProbeTest, CommandLearnsItsPollFromVariables) {
  ASSERT_EQ(setenv("WAITER_DEADLINE_MS", "of another waiter", 1), 0);
  const ExecProbeOptions options = {
      .command = ShellCommand("echo $WAITER_ATTEMPT $WAITER_ELAPSED_MS "
                              "${WAITER_DEADLINE_MS-none} \"$WAITER_TARGET\""),
      .target = "exec:'a  b'"};
  EXPECT_EQ(Poll(options, {.attempt = 3,
                           .elapsed = absl::Seconds(1.5),
                           .remaining = absl::Minutes(2)})
                .output,
            "3 1500 120000 exec:'a  b'\n");
  EXPECT_EQ(Poll(options, {.attempt = 1}).output, "1 0 none exec:'a  b'\n");
}

TEST_F(ExecProbeTest, TimeoutIsAnErrorOnceTheCommandIsGone) {
  ExecProbe probe(
      *reaper_,
      {.command = ShellCommand(absl::StrCat(
           "trap '' TERM; echo out; echo busy >&2; : >set; ", kHang))});
  probe.TimeOut(absl::Seconds(1));
  Start(probe);
  RunUntil([&] { return Exists("set"); });
  probe.TimeOut(absl::Seconds(10));
  EXPECT_FALSE(found_.has_value());

  const Finding found = Finish();
  EXPECT_EQ(found.status, PollStatus::kServerError);
  EXPECT_EQ(found.detail, "killed after 10s (probe timeout): busy");
  EXPECT_EQ(found.output, "out\n");
  EXPECT_FALSE(found.absent);
  EXPECT_TRUE(reaper_->idle());
}

TEST_F(ExecProbeTest, TimeoutIsAnErrorWhateverTheCommandAnswers) {
  ExecProbe probe(*reaper_,
                  {.command = ShellCommand(absl::StrCat(
                       "trap 'exit 0' TERM; echo '{\"waiter\":\"success\"}'; "
                       ": >set; ",
                       kHang))});
  Start(probe);
  RunUntil([&] { return Exists("set"); });
  probe.TimeOut(absl::Milliseconds(1500));
  const Finding found = Finish();
  EXPECT_EQ(found.status, PollStatus::kServerError);
  EXPECT_EQ(found.detail, "killed after 1.5s (probe timeout)");
}

TEST_F(ExecProbeTest, CancelledPollHasNoAnswerAndTheNextOneHas) {
  ExecProbe probe(*reaper_,
                  {.command = ShellCommand(absl::StrCat(
                       "[ $WAITER_ATTEMPT = 2 ] && exit 0; : >set; ", kHang))});
  Start(probe, {.attempt = 1});
  RunUntil([&] { return Exists("set"); });
  probe.Cancel();
  probe.Cancel();
  RunUntil([&] { return reaper_->idle(); });
  EXPECT_FALSE(found_.has_value());

  Start(probe, {.attempt = 2});
  EXPECT_EQ(Finish().status, PollStatus::kSuccess);
}

TEST_F(ExecProbeTest, AnswerMayEndTheProbeOrStartTheNextPoll) {
  auto probe = std::make_unique<ExecProbe>(
      *reaper_, ExecProbeOptions{.command = ShellCommand("exit 0")});
  int polls = 0;
  const Probe::Done done = [&](const Finding& /*finding*/) {
    if (++polls < 3) return probe->Start({}, done);
    probe = nullptr;
  };
  probe->Start({}, done);
  RunUntil([&] { return probe == nullptr; });
  EXPECT_EQ(polls, 3);
}

TEST_F(ExecProbeTest, LongOutputIsCutAndItsBytesAreKept) {
  const Finding found = Poll(
      {.command = ShellCommand("head -c 3000000 /dev/zero; printf '\\377end'; "
                               "head -c 3000000 /dev/zero >&2; exit 1")});
  EXPECT_EQ(found.output.size(), size_t{64} * 1024);
  EXPECT_TRUE(absl::EndsWith(found.output, "\377end"));
  EXPECT_EQ(found.detail,
            "exit code 1: " + std::string(kLongestDetail, '\0') + "...");
}

TEST(ProbeAnswerTest, AnswerIsAJsonLineWithWaiterInIt) {
  struct Case {
    std::string line;
    std::optional<PollStatus> status;
    std::string detail;
  };
  constexpr PollStatus kBroken = PollStatus::kServerError;
  const std::string broken = "invalid answer from the probe: ";
  const std::string words =
      "\"waiter\" must be one of success, not-ready, throttled, error and "
      "failed";
  const std::vector<Case> cases = {
      {"", std::nullopt, ""},
      {"waiter", std::nullopt, ""},
      {"[\"waiter\"]", std::nullopt, ""},
      {R"({"level":"info"})", std::nullopt, ""},
      {R"({"level":"info",)", std::nullopt, ""},
      {R"({"waiter":"success"})", PollStatus::kSuccess, ""},
      {R"({"waiter":"not_ready","new":[1]})", PollStatus::kNotReady, ""},
      {R"({"waiter":"not-ready","detail":"a"})", PollStatus::kNotReady, "a"},
      {R"({"waiter":"throttled"})", PollStatus::kThrottled, ""},
      {R"({"waiter":"error","detail":"b"})", PollStatus::kServerError, "b"},
      {R"({"waiter":"failed"})", PollStatus::kFailed, ""},
      {R"({"waiter":"success")", kBroken,
       broken + "at byte 19: unexpected end of input; expected '}'"},
      {R"({"waiter":"done"})", kBroken, broken + words},
      {R"({"waiter":null})", kBroken, broken + words},
      {R"({"waiter":"success","detail":1})", kBroken,
       broken + "\"detail\" is not a string"},
      {R"({"waiter":"success","progress":66})", kBroken,
       broken + "\"progress\" is not a number from 0 to 1"},
      {R"({"waiter":"success","progress":"0.5"})", kBroken,
       broken + "\"progress\" is not a number from 0 to 1"},
      {R"({"waiter":"success","retry_after":30})", kBroken,
       broken + "\"retry_after\" is not a string such as \"30s\""},
      {R"({"waiter":"success","retry_after":"soon"})", kBroken,
       broken +
           "\"retry_after\": not a duration; write it as 300ms, 5s or 1m30s"},
      {R"({"waiter":"success","retry_after":"inf"})", kBroken,
       broken + "\"retry_after\": it must be finite"},
  };
  for (const Case& test : cases) {
    const std::optional<Finding> found = ParseProbeAnswer(test.line);
    ASSERT_EQ(found.has_value(), test.status.has_value()) << test.line;
    if (!found.has_value()) continue;
    EXPECT_EQ(found->status, test.status) << test.line;
    EXPECT_EQ(found->detail, test.detail);
    EXPECT_EQ(found->absent, test.status == PollStatus::kNotReady);
  }
}

}  // namespace
}  // namespace waiter::cli::exec_probe_test
