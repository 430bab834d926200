// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the `waiter` program with a file that it learns from: --learn, `waiter
// plan --from`, and the reports of `waiter report` about it.

#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/text/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/waiter_process.h"
#include "tests/support/folder_fixture.h"

namespace waiter::cli::learn_command_test {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kHeader = "waiter durations 1\n";

int Count(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

class LearnCommandTest : public FolderFixture {
 protected:
  // Returns a target that is never ready.
  std::string Missing(const std::string& name = "missing") const {
    return absl::StrCat("file:", Path(name));
  }
};

// Lines of durations that end within a second after each of 20 times.
std::string Durations(std::string_view operation, double first_seconds) {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&lines, first_seconds + i, "\t", first_seconds + i + 1,
                    "\t", operation, "\t.\n");
  }
  return lines;
}

TEST_F(LearnCommandTest, WaitPollsByWhatTheFileKnows) {
  const std::string file =
      Write("durations", absl::StrCat(kHeader, Durations("build", 3600)));
  // A learned wait does not poll before the limit. An ordinary wait keeps
  // polling.
  const Ended learned =
      Call({Missing(), absl::StrCat("--learn=", file, ":build"),
            "--timeout=400ms", "--progress=json"});
  EXPECT_EQ(learned.code, 124) << learned.err;
  EXPECT_EQ(Count(learned.out, "\"event\":\"poll\""), 2);
  const Ended ordinary =
      Call({Missing(), absl::StrCat("--learn=", file, ":another operation"),
            "--timeout=400ms", "--progress=json"});
  EXPECT_GE(Count(ordinary.out, "\"event\":\"poll\""), 3);
}

TEST_F(LearnCommandTest, ProgressSaysHowLongItUsuallyTakes) {
  const std::string file =
      Write("durations", absl::StrCat(kHeader, Durations("build", 40)));
  const auto progress_of = [&](std::string_view operation) {
    return Call({Missing(), absl::StrCat("--learn=", file, ":", operation),
                 "--timeout=400ms", "--progress=tty"})
        .err;
  };
  EXPECT_THAT(progress_of("build"), HasSubstr(", usually 50.5s"));
  EXPECT_THAT(progress_of("another operation"), Not(HasSubstr("usually")));
}

TEST_F(LearnCommandTest, FileGetsTheDurationOfATarget) {
  const std::string file = Path("durations");
  WaiterProcess waiter({absl::StrCat("late=", Missing()),
                        absl::StrCat("--learn=", file), "--verbose"});
  ASSERT_TRUE(waiter.ReadUntil("NOT_READY"));
  Write("missing", "");
  EXPECT_EQ(waiter.Wait(), 0);
  EXPECT_THAT(Read(file), StartsWith(kHeader));
  EXPECT_THAT(Read(file), HasSubstr(absl::StrCat("\t", Missing(), "\t.\n")));
}

TEST_F(LearnCommandTest, EndIsAnotherOperationThanAStart) {
  const std::string file = Path("durations");
  const std::string present = absl::StrCat("file:", Write("present", ""));
  EXPECT_THAT(Call({present, "--gone", "--timeout=100ms",
                    absl::StrCat("--learn=", file)}),
              Ends(124));
  EXPECT_THAT(Read(file),
              HasSubstr(absl::StrCat("\t-\tgone ", present, "\t.\n")));
}

TEST_F(LearnCommandTest, NoSecretGetsIntoTheFileOrAMessage) {
  const std::string file = Path("durations");
  const int port = FreePort(AF_INET);
  const std::string host = absl::StrCat("127.0.0.1:", port);
  const Ended ended =
      Call({absl::StrCat("redis://me:secret@", host, "/0"),
            absl::StrCat("postgres://me:secret@", host, "/db?password=secret"),
            "--timeout=100ms", "--verbose"},
           {.environment = {absl::StrCat("WAITER_LEARN=", file)}});
  EXPECT_EQ(ended.code, 124) << ended.err;
  EXPECT_THAT(Read(file), AllOf(HasSubstr(absl::StrCat("\tredis://", host)),
                                HasSubstr(absl::StrCat("\tpostgres://", host)),
                                Not(HasSubstr("secret"))));
  EXPECT_THAT(ended.err, Not(HasSubstr("secret")));
}

TEST_F(LearnCommandTest, BadInputIsOneErrorBeforeTheFirstPoll) {
  const std::string foreign = Write("foreign", "a list of things\n");
  const std::string newer = Write("newer", "waiter durations 2\n1\t2\n");
  const std::string empty = Write("empty", kHeader);
  const std::string two =
      Write("two", absl::StrCat(kHeader, "1\t2\ta\t.\n1\t2\t\\033[2Jb\t.\n"));
  const std::string broken = Write("log", "{\"event\":\"poll\"\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--learn=", Missing()}, "--learn=: it must begin with the name"},
      {{"--learn=:build", Missing()}, "it must begin with the name of a file"},
      {{absl::StrCat("--learn=", foreign), Missing()},
       absl::StrCat("waiter: --learn: ", foreign,
                    " is not a list of durations")},
      {{absl::StrCat("--learn=", newer, ":build"), Missing()},
       "newer has durations of version 2; this program reads version 1"},
      {{absl::StrCat("--learn=", folder()), Missing()},
       absl::StrCat(folder(), " is not a regular file")},
      {{absl::StrCat("--learn=", folder(), "/no/durations"), Missing()},
       "no/durations: cannot open it: No such file or directory"},
      {{absl::StrCat("--learn=", foreign, "/durations"), Missing()},
       "cannot open it: Not a directory"},
      {{"--learn=/dev/zero", Missing()}, "/dev/zero is not a regular file"},
      {{absl::StrCat("--learn=", empty), "--intervals=1s,2s", Missing()},
       "--learn: contradicts --intervals, which are used unchanged"},
      {{absl::StrCat("--learn=", empty), "--poll-cost=0", Missing()},
       "--poll-cost=0: it must be above zero"},
      {{absl::StrCat("--learn=", empty), "--poll-cost=cheap", Missing()},
       "--poll-cost=cheap: not a duration"},
      {{"--poll-cost=2s", Missing()}, "--poll-cost: it needs --learn"},
      {{"plan", absl::StrCat("--from=", Path("none"))},
       "none: cannot be read: No such file or directory"},
      {{"plan", absl::StrCat("--from=", foreign)},
       "foreign is not a list of durations: its first line is not \"waiter "
       "durations 1\", and the file is not a log of waiter --log-json"},
      {{"plan", absl::StrCat("--from=", newer)}, "durations of version 2"},
      {{"plan", absl::StrCat("--from=", broken)}, "log:1: at byte 15"},
      {{"plan", absl::StrCat("--from=", empty)}, "empty: it has no durations"},
      {{"plan", absl::StrCat("--from=", two, ":c")}, "two: no durations of c"},
      {{"plan", absl::StrCat("--from=", two), "--vega=x"},
       "two has 2 operations; name one for the chart, such as --from="},
      {{"plan", absl::StrCat("--from=", two, ":a"), "--vega=x"},
       "two: too few durations for a chart"},
      {{"plan", absl::StrCat("--from=", two), "--expect=1m"},
       "--from: contradicts --expect"},
      {{"plan", "--from=:a"}, "it must begin with the name of a file"},
  };
  for (const auto& [arguments, message] : cases) {
    const Ended ended = Call(arguments);
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_EQ(Count(ended.err, "\n"), 1) << ended.err;
    EXPECT_THAT(ended.out, IsEmpty()) << message;
  }
  EXPECT_EQ(Read(foreign), "a list of things\n");
}

TEST_F(LearnCommandTest, TornLinesAreLeftOutAndCounted) {
  const std::string file = Write(
      "durations", absl::StrCat(kHeader, "1\t2\tbuild\t.\nnonsense\n3\t4\tbu"));
  const std::vector<std::string> arguments = {
      Missing(), absl::StrCat("--learn=", file, ":build"), "--timeout=100ms"};
  std::vector<std::string> verbose = arguments;
  verbose.push_back("--verbose");
  EXPECT_THAT(Call(verbose),
              Ends(124, HasSubstr(absl::StrCat("waiter: --learn: ", file,
                                               ": left out 2 damaged lines"))));
  EXPECT_THAT(Call(arguments).err, Not(HasSubstr("damaged")));
  const Ended plan = Call({"plan", absl::StrCat("--from=", file)});
  EXPECT_THAT(plan.out, StartsWith("build: 3 durations, 1 of them complete\n"
                                   "2 damaged lines were left out\n"));
}

TEST_F(LearnCommandTest, FullDiskIsOneWarning) {
  const std::string file = Write("durations", kHeader);
  const Ended ended =
      Call({"-c", "ulimit -f 0; exec \"$0\" \"$@\"", WaiterPath(), Missing("a"),
            Missing("b"), Missing("c"), absl::StrCat("--learn=", file),
            "--timeout=100ms"},
           {.program = "/bin/sh", .ignored_signals = {SIGXFSZ}});
  EXPECT_EQ(ended.code, 124) << ended.err;
  EXPECT_EQ(Count(ended.err, "waiter: --learn: "), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("durations: cannot write to it: File too"));
  EXPECT_EQ(Read(file), kHeader);
}

TEST_F(LearnCommandTest, ProcessesThatAddAtOnceLoseNothing) {
  constexpr int kProcesses = 4;
  constexpr int kTargets = 10;
  const std::string file = Path("durations");
  const auto start = [&](const std::string& operation) {
    std::vector<std::string> arguments = {
        absl::StrCat("--learn=", file, ":", operation), "--every=50ms",
        "--max-attempts=3", "--progress=json"};
    for (int i = 0; i < kTargets; ++i) {
      arguments.push_back(absl::StrCat("t", i, "=", Missing()));
    }
    return std::make_unique<WaiterProcess>(std::move(arguments));
  };
  std::vector<std::unique_ptr<WaiterProcess>> writers;
  std::vector<std::unique_ptr<WaiterProcess>> victims;
  for (int i = 0; i < kProcesses; ++i) {
    writers.push_back(start(absl::StrCat("writer ", i)));
    victims.push_back(start("victim"));
  }
  // Each victim is killed while it writes, or just before or after.
  for (const auto& victim : victims) {
    EXPECT_TRUE(victim->ReadUntil("\"attempt\":3"));
    victim->Signal(SIGKILL);
  }
  for (const auto& writer : writers) EXPECT_EQ(writer->Wait(), 3);
  for (const auto& victim : victims) victim->Wait();

  const Ended plan = Call({"plan", absl::StrCat("--from=", file), "--json"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  const nlohmann::json listed = *ParseJson(plan.out);
  int complete = 0;
  for (const nlohmann::json& operation : listed.at("operations")) {
    if (operation.at("operation") == "victim") continue;
    ++complete;
    EXPECT_EQ(operation.at("durations"), kTargets) << operation;
    EXPECT_EQ(operation.at("ends"), 0) << operation;
  }
  EXPECT_EQ(complete, kProcesses);
}

TEST_F(LearnCommandTest, PlanComparesLearnedDelaysWithOthers) {
  const std::string file = Write(
      "durations", absl::StrCat(kHeader, Durations("create instance", 50)));
  const Ended text = Call({"plan", absl::StrCat("--from=", file)});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(
      text.out,
      AllOf(StartsWith(
                "create instance: 20 durations, 20 of them complete\n\nended"),
            HasSubstr("\nlearned "), HasSubstr("\nWaiter's default "),
            HasSubstr("\nevery "), HasSubstr("ended by then")));

  const Ended json = Call({"plan",
                           absl::StrCat("--from=", file,
                                        ":create "
                                        "instance"),
                           "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  const nlohmann::json plan = *ParseJson(json.out);
  EXPECT_EQ(plan.at("operation"), "create instance");
  EXPECT_EQ(plan.at("weight"), 1);
  EXPECT_EQ(plan.at("polls_ms").at(0), 0);
  const double median = plan.at("quantiles").at(2).at("ms");
  EXPECT_GT(median, 55'000);
  EXPECT_LT(median, 66'000);
  double learned_cost = 0;
  double least_other = 1e9;
  for (const nlohmann::json& row : plan.at("trade_offs")) {
    const double cost = row.at("mean_polls").get<double>() +
                        row.at("mean_delay_ms").get<double>() /
                            plan.at("poll_cost_ms").get<double>();
    if (row.at("policy") == "learned") {
      learned_cost = cost;
    } else {
      least_other = std::min(least_other, cost);
    }
  }
  EXPECT_LT(learned_cost, least_other);
}

TEST_F(LearnCommandTest, PlanAimsAtTheCostOfAPoll) {
  const std::string file =
      Write("durations", absl::StrCat(kHeader, Durations("build", 50)));
  const auto polls = [&](const std::string& cost) {
    const Ended json = Call({"plan", absl::StrCat("--from=", file), "--json",
                             absl::StrCat("--poll-cost=", cost)});
    EXPECT_EQ(json.code, 0) << json.err;
    return ParseJson(json.out)->at("polls_ms").size();
  };
  EXPECT_GT(polls("100ms"), polls("1s"));
  EXPECT_GT(polls("1s"), polls("1m"));
}

TEST_F(LearnCommandTest, PlanHasAChartOfEachKind) {
  const std::string file =
      Write("durations", absl::StrCat(kHeader, Durations("build", 50)));
  for (const char* chart :
       {"trade_off", "schedule", "cumulative", "detection"}) {
    const std::string spec = Path(chart);
    EXPECT_THAT(
        Call({"plan", absl::StrCat("--from=", file),
              absl::StrCat("--chart=", chart), absl::StrCat("--vega=", spec)}),
        Ends(0));
    const absl::StatusOr<nlohmann::json> json = ParseJson(Read(spec));
    ASSERT_TRUE(json.ok()) << chart;
    for (const auto& [name, rows] : json->at("datasets").items()) {
      EXPECT_GE(rows.size(), 3) << chart << " " << name;
    }
  }
}

TEST_F(LearnCommandTest, PlanListsTheOperationsIfNoneIsNamed) {
  const std::string file =
      Write("a:b", absl::StrCat(kHeader, Durations("tcp://db:5432", 1),
                                "5\t-\tgone \\033[2Jx\t.\n"));
  const std::string name = absl::StrCat(folder(), "/a%3Ab");
  EXPECT_THAT(Call({"plan", absl::StrCat("--from=", name)}),
              Ends(0, _,
                   AllOf(HasSubstr("       20        20  tcp://db:5432\n"),
                         HasSubstr("        1         0  gone \\x1b[2Jx\n"),
                         HasSubstr(absl::StrCat("--from=", name, ":")))));
  EXPECT_THAT(
      Call({"plan", absl::StrCat("--from=", name, ":tcp://db:5432")}).out,
      StartsWith("tcp://db:5432: 20 durations"));
}

TEST_F(LearnCommandTest, PlanSaysIfThereAreTooFew) {
  const std::string file =
      Write("durations", absl::StrCat(kHeader, "1\t2\tbuild\t.\n"));
  EXPECT_THAT(Call({"plan", absl::StrCat("--from=", file)}),
              Ends(0, _,
                   AllOf(StartsWith("build: 1 duration, 1 of them complete\n"),
                         HasSubstr("too few to learn from"))));
}

// The logs of ten runs, polled every 2 s, in which a target becomes ready after
// 50 s to 68 s.
std::string LogOfTenRuns(bool one_target) {
  std::string log;
  for (int run = 0; run < 10; ++run) {
    const int ready = 50 + 2 * run;
    for (int time = 1, attempt = 1;; time += 2, ++attempt) {
      absl::StrAppend(&log, R"({"event":"poll","latency_ms":0,"target":"db)",
                      one_target ? "" : absl::StrCat(run), R"(","attempt":)",
                      attempt, R"(,"elapsed_ms":)", 1000 * time,
                      R"(,"class":")", time < ready ? "NOT_READY" : "SUCCESS",
                      "\"}\n");
      if (time >= ready) break;
    }
  }
  return log;
}

TEST_F(LearnCommandTest, PlanTakesDurationsFromALog) {
  const std::string log = LogOfTenRuns(/*one_target=*/true);
  EXPECT_THAT(
      Call({"plan", "--from=-:db"}, {.input = log}),
      Ends(0, _, StartsWith("db: 10 durations, 10 of them complete\n")));
}

TEST_F(LearnCommandTest, ReportSaysWhatLearnedDelaysWouldHaveSaved) {
  const std::string one = Write("one", LogOfTenRuns(/*one_target=*/true));
  EXPECT_THAT(
      Call({"report", one}),
      Ends(0, _,
           AllOf(HasSubstr("\nwith learned delays, a wait would have made "),
                 HasSubstr(" polls instead of 30.5, and been "),
                 HasSubstr("(means of 10 waits, "),
                 HasSubstr("\n  waiter --learn=FILE --poll-cost="))));
  const std::string many = Write("many", LogOfTenRuns(/*one_target=*/false));
  EXPECT_THAT(Call({"report", many}).out,
              HasSubstr("\n  waiter --learn=FILE:OPERATION --poll-cost="));
}

TEST_F(LearnCommandTest, ReportOfFewWaitsPromisesNothing) {
  const std::string log = LogOfTenRuns(/*one_target=*/true);
  const std::vector<std::string> lines = absl::StrSplit(log, '\n');
  std::string few;
  for (size_t i = 0; i < 100; ++i) absl::StrAppend(&few, lines[i], "\n");
  EXPECT_THAT(Call({"report", Write("few", few)}).out,
              Not(HasSubstr("learned")));
}

}  // namespace
}  // namespace waiter::cli::learn_command_test
