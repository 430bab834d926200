// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Calls the subcommands that plan, simulate and report as a shell does.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/flags/variables.h"
#include "cli/sim/plan.h"
#include "cli/subcommands.h"
#include "cli/text/json.h"
#include "cli/text/time_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "waiter/version.h"

namespace waiter::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

struct Ended {
  int code;
  std::string out;
  std::string err;
};

// Runs a command line such as "plan --every=1s" with variables such as
// "WAITER_TIMEOUT=1m".
Ended Call(const std::string& line,
           const std::vector<std::string>& environment = {}) {
  const std::vector<std::string> words =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunWaiter(words, environment, out, err);
  return {code, out.str(), err.str()};
}

std::string WriteTemporary(const std::string& name, std::string_view text) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::pair<std::string, std::string>> Mistakes() {
  const std::string folder = testing::TempDir();
  const std::string broken = WriteTemporary(
      "broken.jsonl",
      "{\"event\":\"ready\",\"elapsed_ms\":1}\n\n{\"event\":\"poll\"\n");
  const std::string nothing = WriteTemporary("nothing.jsonl", "");
  return {
      {"plan --timeout=1sec",
       "waiter plan: --timeout=1sec: not a duration; write it as 300ms, 5s or "
       "1m30s"},
      {"plan --timeout -5s", "--timeout -5s: a duration must be at least zero"},
      {"plan --every=soon", "--every=soon: not a duration; write it as 300ms"},
      {"plan --every=inf", "--every=inf: it must be finite"},
      {"plan --every", "--every: it needs a value, such as --every=1s"},
      {"plan --every=1s --every=2s", "--every=2s: given twice"},
      {"plan --bogus=1", "--bogus: no such flag; see waiter plan --help"},
      {"plan --tiemout=5s", "--tiemout: no such flag; did you mean --timeout?"},
      {"pid:1 --header=secret", "waiter: --header=...: it must have the form"},
      {"pid:1 --header secret", "waiter: --header=...: it must have the form"},
      {"pid:1 --haeder=secret", "--haeder: no such flag; did you mean --head"},
      {"pid:1 --hold=10s --timeout=5s",
       "--hold=10s: longer than the whole wait may take, 5s; shorten it"},
      {"pid:1 --hold=6m", "--hold=6m: longer than the whole wait may take"},
      {"pid:1 --hold=1s --max-attempts=1",
       "--hold: it needs 2 polls; --max-attempts allows 1"},
      {"pid:1 --successes=3 --max-attempts=2",
       "--successes: it needs 3 polls; --max-attempts allows 2"},
      {"pid:1 --successes=2 --timeout=0",
       "--successes: it needs 2 polls; --timeout=0 polls once"},
      {"web=http://a/ --header@wbe=A:b",
       "--header@wbe: no http target has this label"},
      {"db=pid:1 --header@db=A:b",
       "--header@db: no http target has this label"},
      {"pid:1 --probe-timeout@db=1s", "--probe-timeout@db: no target has this"},
      {"pid:1 --probe-timeout@db=0s",
       "--probe-timeout@db=0s: it must be above zero"},
      {"http://a/ http://b/ --header=A:secret", "--header: it would go to 2"},
      {"pid:1 ./serve",
       "./serve: no scheme; write it as file:./serve; PROGRAM "
       "comes after --"},
      {"pid:1 ./serve --port=80", "; PROGRAM comes after --"},
      {"plan now", "now: unexpected argument; only flags are allowed"},
      {"plan --every=1s --backoff=1s,2,9s", "--backoff: contradicts --every"},
      {"plan --intervals=1s --jitter=full", "--jitter: contradicts --inter"},
      {"plan --every=1s --jitter=decorrelated", "contradicts --every"},
      {"plan --intervals=1s,-2", "--intervals=1s,-2: "},
      {"plan --backoff=1s,2", "--backoff=1s,2: it needs three parts"},
      {"plan --backoff=1s,x,9s", "the factor 'x' is not a number"},
      {"plan --backoff=9s,2,1s",
       "backoff.max_delay is 1s; it must be at least"},
      {"plan --backoff=1s,nan,9s", "backoff.multiplier is nan"},
      {"plan --jitter=101%", "--jitter=101%: it must be none, full, equal"},
      {"plan --max-attempts=0", "--max-attempts=0: it must be a whole number"},
      {"plan --expect=1m --ready=1m", "--expect: contradicts --ready"},
      {"plan --ready=often", "--ready=often: 'often' is not a duration"},
      {"plan --expect=0s", "--expect=0s: it must be above zero"},
      {"plan --late=1s", "--late: it needs --expect or --ready"},
      {"plan --rows=0", "--rows=0: it must be a whole number from 1 to 1000"},
      {"plan --seed=-1", "--seed=-1: it must be a whole number, zero or more"},
      {"plan --chart=pie",
       "--chart=pie: there is no such chart; choose one of"},
      {"plan --vega=" + folder + "/v --chart=detection",
       "--chart=detection: it needs --expect or --ready"},
      {"simulate",
       "waiter simulate: give a model, budgets, fleet, contention or"},
      {"simulate herd", "herd: no such model"},
      {"simulate fleet --clients=0", "--clients=0: it must be a whole number"},
      {"simulate fleet --polls-per-second=nan", "a number above zero"},
      {"simulate fleet --noseed", "--noseed: no such flag"},
      {"simulate fleet --shared-ready=1", "this flag takes no value"},
      {"simulate fleet --timeout=inf", "policy.timeout is inf"},
      {"simulate fleet --network=0s", "network.mean is 0"},
      {"simulate fleet 5", "5: unexpected argument; only flags are allowed"},
      {"simulate budgets --processes=0", "it must be a whole number from 1"},
      {"simulate budgets --busy=101", "busy is 101; it must be between 0"},
      {"simulate budgets --every=1ms", "every is 1ms; it must be between"},
      {"simulate budgets --polls-per-second=x", "=x: it must be a number"},
      {"simulate budgets --burst=inf", "--burst=inf: it must be a number"},
      {"simulate budgets --events=1m:rain", "'1m:rain' is not an event; write"},
      {"simulate budgets --events=9m:join:1", "events is 9m:join:1; it must"},
      {"simulate budgets 5", "5: unexpected argument; only flags are allowed"},
      {"simulate learned --runs=0", "it must be a whole number from 1"},
      {"simulate learned 5", "5: unexpected argument; only flags are allowed"},
      {"simulate contention --clients=10,,20",
       "'' must be a number of clients, at least 1"},
      {"simulate contention --clients=99999", "between 1 and 10000"},
      {"simulate contention --runs=0", "--runs=0: it must be"},
      {"simulate contention --threads=0", "--threads=0: it must be"},
      {"plna --every=1s",
       "waiter: plna: neither a command nor a target; did you mean plan?"},
      {"simulat fleet", "did you mean simulate?"},
      {"durable", "waiter durable: give an action, such as add or work"},
      {"durable redis://u:secret@h", "no such action; the actions are add,"},
      {"durable add redis://h jobs", "usage: waiter durable add --store=FILE"},
      {"durable add redis://h jobs nothing", "nothing: no scheme"},
      {"durable add redis://h jobs pid:1 pid:1",
       "pid:1: two targets have this key"},
      {"durable add redis://h jobs pid:1 pid:2 --key=a",
       "--key: give only one target"},
      {"durable add redis://h jobs http://u:secret@a/",
       "http://a/: the store would keep its user and password"},
      {"durable add redis://h jobs http://a/?secret=1",
       "http://a/?...: keys omit what follows"},
      {"durable add redis://h jobs file:/a?stable=2s",
       "file:/a?stable=2s: durable waits do not support"},
      {"durable add redis://h jobs pid:1 --timeout=inf", "it must be finite"},
      {"durable list redis://u:secret@h", "usage: waiter durable list"},
      {"durable status jobs redis://u:secret@h",
       "name the store: --store=FILE"},
      {"durable status --store=a.db redis://u:secret@h", "give only one"},
      {"durable status --store=a.db a/b", "NAME must be 1 to 64 of"},
      {"durable status redis://h jobs --watch --max-overdue=1",
       "--max-overdue: contradicts --watch"},
      {"durable status redis://h jobs --partitions=0", "from 1 to 4096"},
      {"durable check redis://h", "usage: waiter durable check --store=FILE"},
      {"durable show redis://h jobs", "usage: waiter durable show"},
      {"durable work redis://u:secret@h", "give a store and a name"},
      {"durable work redis://h redis://u:secret@h", "NAME must be 1 to 64 of"},
      {"durable work redis://h jobs --", "PROGRAM is missing after --"},
      {"durable work redis://h jobs --probe-timeout=0",
       "it must be above zero"},
      {"durable work redis://h jobs --header@a=B:secret",
       "--header@a: workers do not know labels; leave out the @LABEL"},
      {"report", "waiter report: give one file, such as run.jsonl"},
      {"report a b", "b: give only one file"},
      {"report " + folder + "/none", "/none: cannot be read: No such file"},
      {"report " + folder, "cannot be read: Is a directory"},
      {"report " + broken, "/broken.jsonl:3: at byte 15: "},
      {"report " + nothing, "/nothing.jsonl: the log has no polls"},
      {"report \x1b[2J", "waiter report: \\x1b[2J: cannot be read"},
  };
}

TEST(CliTest, ErrorIsOneLineThatNamesTheArgument) {
  for (const auto& [line, message] : Mistakes()) {
    const Ended ended = Call(line);
    EXPECT_EQ(ended.code, 2) << line;
    EXPECT_THAT(ended.err, HasSubstr(message)) << line;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << line;
    EXPECT_TRUE(absl::EndsWith(ended.err, "\n")) << line;
    EXPECT_THAT(ended.err, Not(HasSubstr("secret"))) << line;
  }
}

TEST(CliTest, EveryFlagOfEverySubcommandIsAlsoAVariable) {
  const std::vector<std::string> flags = AllFlags();
  EXPECT_THAT(flags, IsSupersetOf({"timeout", "max-attempts", "poll-cost",
                                   "shared-ready", "runs", "vega"}));
  EXPECT_EQ(VariableOf("max-attempts"), "WAITER_MAX_ATTEMPTS");
  for (const std::string& flag : flags) {
    EXPECT_THAT(Call("report none", {VariableOf(flag) + "=x"}).err,
                Not(HasSubstr("ignored")))
        << flag;
  }
}

TEST(CliTest, CommandLineWinsOverVariables) {
  struct Case {
    std::string line;
    std::vector<std::string> environment;
    std::string same_as;
  };
  const std::vector<Case> cases = {
      {"plan --every=5s",
       {"WAITER_TIMEOUT=1m"},
       "plan --every=5s --timeout=1m"},
      {"plan", {"WAITER_MAX_ATTEMPTS=3"}, "plan --max-attempts=3"},
      {"plan --timeout=1m", {"WAITER_TIMEOUT=9m"}, "plan --timeout=1m"},
      {"plan --timeout 1m", {"WAITER_TIMEOUT=soon"}, "plan --timeout=1m"},
      {"plan", {"WAITER_TIMEOUT="}, "plan"},
      {"plan",
       {"WAITER_TIMEOUTS_=1m", "WAITER_TIMEOUT=1m"},
       "plan --timeout=1m"},
      // A variable that contradicts the command line is not even read.
      {"plan --every=5s", {"WAITER_BACKOFF=1s,2,9s"}, "plan --every=5s"},
      {"plan --every=5s", {"WAITER_BACKOFF=bad"}, "plan --every=5s"},
      {"plan --backoff=1s,2,9s",
       {"WAITER_EVERY=5s", "WAITER_INTERVALS=1s"},
       "plan --backoff=1s,2,9s"},
      {"plan --intervals=1s,2s",
       {"WAITER_JITTER=full", "WAITER_EVERY=5s"},
       "plan --intervals=1s,2s"},
      {"plan --jitter=none", {"WAITER_INTERVALS=1s"}, "plan --jitter=none"},
      {"plan --every=5s", {"WAITER_JITTER=decorrelated"}, "plan --every=5s"},
      {"plan --jitter=decorrelated",
       {"WAITER_EVERY=5s"},
       "plan --jitter=decorrelated"},
      {"plan --ready=45s", {"WAITER_EXPECT=9m"}, "plan --ready=45s"},
      // A variable that does not contradict it also applies.
      {"plan --every=5s",
       {"WAITER_JITTER=50%"},
       "plan --every=5s --jitter=50%"},
      {"plan --jitter=50%",
       {"WAITER_EVERY=5s"},
       "plan --every=5s --jitter=50%"},
      // Other command lines and subcommands may use a variable.
      {"plan", {"WAITER_LATE=1s", "WAITER_POLL_COST=1s"}, "plan"},
      {"plan", {"WAITER_CLIENTS=none", "WAITER_SHARED_READY=maybe"}, "plan"},
      {"plan", {"WAITER_CHART=detection"}, "plan"},
  };
  for (const Case& test : cases) {
    const Ended ended = Call(test.line, test.environment);
    const std::string what = test.line + " with " + test.environment[0];
    EXPECT_EQ(ended.code, 0) << what << ": " << ended.err;
    EXPECT_EQ(ended.out, Call(test.same_as).out) << what;
  }
}

TEST(CliTest, SwitchIsAVariableWithAnyWordForYesAndNo) {
  const std::string line = "simulate fleet --clients=20 --jitter=full";
  const std::string on = Call(line + " --shared-ready").out;
  const std::string off = Call(line).out;
  ASSERT_NE(on, off);
  for (const char* yes : {"true", "1", "yes", "TRUE"}) {
    EXPECT_EQ(Call(line, {std::string("WAITER_SHARED_READY=") + yes}).out, on);
  }
  for (const char* no : {"false", "0", "no"}) {
    EXPECT_EQ(Call(line, {std::string("WAITER_SHARED_READY=") + no}).out, off);
  }
  EXPECT_EQ(Call(line + " --noshared-ready", {"WAITER_SHARED_READY=1"}).out,
            off);
}

TEST(CliTest, ErrorNamesTheVariable) {
  struct Case {
    std::string line;
    std::vector<std::string> environment;
    std::string message;
  };
  const std::string folder = testing::TempDir();
  for (const Case& test : std::vector<Case>{
           {"plan",
            {"WAITER_TIMEOUT=6o"},
            "waiter plan: WAITER_TIMEOUT=6o: not a duration; write it as "
            "300ms"},
           {"plan",
            {"WAITER_JITTER=101%"},
            "WAITER_JITTER=101%: it must be none"},
           {"plan",
            {"WAITER_EVERY=1s", "WAITER_BACKOFF=1s,2,9s"},
            "WAITER_BACKOFF: contradicts WAITER_EVERY"},
           {"plan",
            {"WAITER_INTERVALS=1s", "WAITER_JITTER=full"},
            "WAITER_JITTER: contradicts WAITER_INTERVALS, which are used"},
           {"plan",
            {"WAITER_EVERY=1s", "WAITER_JITTER=decorrelated"},
            "WAITER_JITTER=decorrelated: contradicts WAITER_EVERY, because"},
           {"plan --every=1s --backoff=1s,2,9s",
            {"WAITER_INTERVALS=1s"},
            "--backoff: contradicts --every"},
           {"plan",
            {"WAITER_CHART=detection", "WAITER_VEGA=" + folder + "/v"},
            "WAITER_CHART=detection: it needs --expect or --ready"},
           {"pid:1",
            {"WAITER_HEADER=secret"},
            "WAITER_HEADER=...: it must have the form"},
           {"simulate fleet",
            {"WAITER_SHARED_READY=maybe"},
            "WAITER_SHARED_READY=maybe: it must be true, false, 1, 0, yes or"},
       }) {
    const Ended ended = Call(test.line, test.environment);
    EXPECT_EQ(ended.code, 2) << test.message;
    EXPECT_THAT(ended.err, HasSubstr(test.message));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1);
  }
  const Ended ended = Call("plan", {"WAITER_VEGA=/nonexistent/x"});
  EXPECT_EQ(ended.code, 125);
  EXPECT_THAT(ended.err, HasSubstr("WAITER_VEGA=/nonexistent/x: cannot be"));
}

TEST(CliTest, UnknownVariableIsReportedOnce) {
  const Ended ended = Call(
      "plan --every=5s",
      {"WAITER_TIMEOT=1m", "HOME=/", "WAITER_ATTEMPT=3", "WAITER_ELAPSED_MS=1",
       "WAITER_DEADLINE_MS=2", "WAITER_TARGET=db", "WAITER_TEST_SEED=4",
       "WAITER_CLIENTS=10", "WAITER_EMPTY=", "WAITERS=1", "WAITER_\x1b=1",
       "WAITER_SERVICE_HOST=10.0.0.1", "WAITER_SERVICE_PORT=80",
       "WAITER_SERVICE_PORT_HTTP=80", "WAITER_PORT=tcp://10.0.0.1:80",
       "WAITER_PORT_80_TCP_ADDR=10.0.0.1"});

  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err,
            "waiter: WAITER_TIMEOT: ignored, because no flag has this name\n"
            "waiter: WAITER_\\x1b: ignored, because no flag has this name\n");
}

TEST(CliTest, HelpFitsOneScreen) {
  for (const char* line : {"--help",
                           "operation --help",
                           "plan --help",
                           "plan --every=1s -h",
                           "simulate --help",
                           "simulate fleet --help",
                           "simulate contention --help",
                           "simulate budgets --help",
                           "simulate learned --help",
                           "report --help",
                           "durable --help",
                           "durable add --help",
                           "durable work --help",
                           "durable status -h",
                           "durable list --help",
                           "durable show --help",
                           "durable notify --help",
                           "durable cancel --help",
                           "durable forget --help",
                           "durable move --help",
                           "durable check --help"}) {
    const Ended help = Call(line);
    EXPECT_EQ(help.code, 0) << line;
    EXPECT_THAT(help.err, IsEmpty()) << line;
    EXPECT_THAT(help.out, HasSubstr("usage: waiter ")) << line;
    EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 24) << line;
    for (const std::string& text :
         std::vector<std::string>(absl::StrSplit(help.out, '\n'))) {
      EXPECT_LE(text.size(), 80) << text;
    }
  }
}

TEST(CliTest, VersionIsThatOfTheLibrary) {
  // A variable without a flag is ignored here.
  const Ended version = Call("--version", {"WAITER_TIMEOT=1m"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out,
            absl::StrFormat("waiter %d.%d.%d\n", WAITER_VERSION_MAJOR,
                            WAITER_VERSION_MINOR, WAITER_VERSION_PATCH));
  EXPECT_THAT(version.err, IsEmpty());
}

TEST(CliTest, UnwritableFileHasItsOwnExitCode) {
  const Ended ended = Call("plan --vega=/nonexistent/x");
  EXPECT_EQ(ended.code, 125);
  EXPECT_THAT(ended.err, HasSubstr("=/nonexistent/x: cannot be written: No"));
}

TEST(CliTest, PlanSaysThatTheLimitIsTooShort) {
  EXPECT_THAT(Call("plan --expect=60s --timeout=10s").out,
              HasSubstr("The limit of 10s is shorter than half of these "
                        "durations, so most waits miss it; raise --timeout."));
  EXPECT_THAT(Call("plan --expect=60s --timeout=5m").out,
              Not(HasSubstr("The limit of")));
}

TEST(CliTest, PageThatCannotBeMadeIsRefusedBeforeAnythingRuns) {
  const Ended ended = Call("plan --html=" + testing::TempDir() + "/x.html");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.out, IsEmpty());
  EXPECT_THAT(ended.err, HasSubstr("tools/page of Waiter's source"));
}

TEST(CliTest, OutputThatCannotBeWrittenIsAFailure) {
  for (const std::string_view line :
       {"--help", "plan --help", "exec --help", "pid:1 --help=when", "plan"}) {
    const std::vector<std::string> args = absl::StrSplit(line, ' ');
    std::ostringstream out;
    std::ostringstream err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(RunWaiter(args, {}, out, err), 125) << line;
    EXPECT_THAT(err.str(), HasSubstr("cannot write to standard output"));
  }
}

TEST(PlanCommandTest, PlanShowsTheRequestedSchedule) {
  const Ended ended =
      Call("plan --backoff=1s,2,10s --jitter=none --timeout=30s");

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\n      6  10s                  25s "));
  EXPECT_THAT(ended.out, HasSubstr("\n      7  10s                  30s "));
  EXPECT_THAT(ended.out, HasSubstr("\n0 |.|...|.......|.................|"
                                   "....................|.........| 30s"));
  EXPECT_THAT(ended.out, HasSubstr("makes 7.0 polls on average"));
}

TEST(PlanCommandTest, EveryIsTheMeanOfItsDelays) {
  EXPECT_THAT(Call("plan --every=10s --timeout=1m").out,
              HasSubstr("  2  8s - 12s  "));
  EXPECT_THAT(Call("plan --every=10s --jitter=none --timeout=1m").out,
              HasSubstr("  2  10s       "));
}

TEST(PlanCommandTest, NoDelayIsShorterThanTenMilliseconds) {
  for (const char* delays : {"--every=0s --jitter=none", "--intervals=0s,1ms",
                             "--backoff=0s,1,0s --jitter=none"}) {
    EXPECT_THAT(Call(absl::StrCat("plan --timeout=1s ", delays)).out,
                AllOf(HasSubstr("  2  10ms "), HasSubstr("  3  10ms ")))
        << delays;
  }
}

TEST(PlanCommandTest, IntervalsHaveNoJitter) {
  const Ended ended = Call("plan --intervals=1s,2s,5s --timeout=14s");

  EXPECT_THAT(ended.out, HasSubstr("\n      4  5s                   8s "));
  EXPECT_THAT(ended.out, HasSubstr("\n      5  5s                   13s "));
  EXPECT_THAT(ended.out, HasSubstr("\n      6  5s                   14s "));
}

TEST(PlanCommandTest, EndlessWaitIsShownInPart) {
  const Ended ended = Call("plan --every=1s --timeout=inf");

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("1000.0 polls or more"));
}

TEST(PlanCommandTest, ExpectationProposesAPolicy) {
  const Ended ended = Call("plan --expect=60s --timeout=3m");

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("proposal: --"));
  EXPECT_THAT(ended.out, HasSubstr("\n* proposal "));
  EXPECT_THAT(ended.out, Not(HasSubstr("given policy")));

  // The printed proposal is valid as flags.
  const size_t at = ended.out.find("proposal: ") + 10;
  const std::string flags = ended.out.substr(at, ended.out.find('\n', at) - at);
  const Ended again = Call("plan " + flags + " --expect=60s --timeout=3m");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("given policy"));
}

absl::Duration Ms(const nlohmann::json& row, std::string_view field) {
  const std::optional<double> number = FindNumber(row, field);
  return number.has_value() ? absl::Milliseconds(*number)
                            : absl::InfiniteDuration();
}

// The functions below build the tables from the JSON alone.
sim::Plan PlanOf(const nlohmann::json& json) {
  sim::Plan plan;
  for (const nlohmann::json& row : json.at("polls")) {
    plan.polls.push_back(
        {.attempt = static_cast<int64_t>(*FindNumber(row, "attempt")),
         .shortest_delay = Ms(row, "shortest_delay_ms"),
         .longest_delay = Ms(row, "longest_delay_ms"),
         .p5 = Ms(row, "p5_ms"),
         .p50 = Ms(row, "p50_ms"),
         .p95 = Ms(row, "p95_ms"),
         .reached = *FindNumber(row, "reached")});
  }
  return plan;
}

std::string TradeOffsOf(const nlohmann::json& json) {
  std::string lines;
  for (const nlohmann::json& row : json.at("trade_offs")) {
    absl::StrAppendFormat(
        &lines, "%s %-26s %7.1f %12s %12s %6.1f %%\n",
        row.at("on_front").get<bool>() ? "*" : " ", *FindString(row, "policy"),
        *FindNumber(row, "mean_polls"), TimeText(Ms(row, "p50_delay_ms")),
        TimeText(Ms(row, "p95_delay_ms")), 100 * *FindNumber(row, "missed"));
  }
  return lines;
}

TEST(PlanCommandTest, JsonHasTheNumbersOfTheTables) {
  for (const char* const line :
       {"plan --timeout=90s", "plan --timeout=2s --expect=20s",
        "plan --every=3s --timeout=inf"}) {
    const Ended text = Call(std::string(line) + " --rows=1000");
    const Ended ended = Call(std::string(line) + " --json");

    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 1);
    const absl::StatusOr<nlohmann::json> json = ParseJson(ended.out);
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_THAT(text.out, HasSubstr(sim::PlanTable(PlanOf(*json), 1000)));
    EXPECT_THAT(
        text.out,
        HasSubstr(absl::StrFormat(
            "makes %.1f polls%s on average", *FindNumber(*json, "mean_polls"),
            json->at("cut_off").get<bool>() ? " or more" : "")));
    std::vector<absl::Duration> example;
    for (const nlohmann::json& poll : json->at("example_ms")) {
      example.push_back(absl::Milliseconds(poll.get<double>()));
    }
    absl::Duration end = Ms(*json, "timeout_ms");
    if (end == absl::InfiniteDuration()) end = example.back();
    EXPECT_THAT(text.out,
                HasSubstr("0 " + sim::Timeline(example, end, 64) + " "));

    const bool compared = json->contains("ready");
    EXPECT_EQ(compared,
              absl::StrContains(text.out, "policies for an operation that"));
    EXPECT_EQ(compared, json->contains("trade_offs"));
    if (!compared) continue;
    EXPECT_THAT(
        text.out,
        AllOf(HasSubstr("the distribution is " + *FindString(*json, "ready")),
              HasSubstr("missed\n" + TradeOffsOf(*json) + "polls: mean"),
              HasSubstr("proposal: " + *FindString(*json, "proposal"))));
  }
}

TEST(PlanCommandTest, EveryChartIsFilledAndIsJson) {
  const std::string file = testing::TempDir() + "/plan.vl.json";
  for (const auto& [chart, what] :
       std::vector<std::pair<std::string, std::string>>{
           {"schedule", ""},
           {"cumulative", ""},
           {"trade_off", " --ready=45s"},
           {"detection", " --ready=45s"}}) {
    const Ended ended =
        Call(absl::StrCat("plan --every=7s --timeout=2m", what,
                          " --vega=", file, " --chart=", chart));
    ASSERT_EQ(ended.code, 0) << ended.err;
    const absl::StatusOr<nlohmann::json> spec = ParseJson(ReadFile(file));
    ASSERT_TRUE(spec.ok()) << chart << spec.status();
    ASSERT_FALSE(spec->at("datasets").empty()) << chart;
    for (const auto& [name, rows] : spec->at("datasets").items()) {
      EXPECT_GT(rows.size(), 2) << chart << " " << name;
    }
  }
}

TEST(SimulateCommandTest, FleetIsShownForEachKindOfJitter) {
  const std::string file = testing::TempDir() + "/fleet.vl.json";
  const std::string line =
      "simulate fleet --clients=50 --polls-per-second=10 --ready=20s "
      "--backoff=1s,2,9s --retry-after=2s --start-spread=1s --shared-ready "
      "--vega=" +
      file;
  const Ended ended = Call(line);

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              StartsWith("50 clients wait up to 5m, for one operation that "
                         "takes\n20s; the server accepts 10 polls per second\n"
                         "\n"));
  EXPECT_THAT(Call("simulate fleet --clients=2").out,
              StartsWith("2 clients wait up to 5m, for operations that take\n"
                         "1m (median; the distribution is lognormal:1m,0.6); "
                         "the server accepts all polls\n\n"));
  for (const char* kind :
       {"\nnone ", "\n20 % ", "\nequal ", "\nfull ", "\ndecorrelated "}) {
    EXPECT_THAT(ended.out, HasSubstr(kind));
  }
  EXPECT_EQ(ended.out, Call(line).out);
  EXPECT_NE(ended.out, Call(line + " --seed=2").out);
  const nlohmann::json spec = *ParseJson(ReadFile(file));
  EXPECT_GT(spec.at("datasets").at("seconds").size(), 100);
  EXPECT_THAT(Call(line + " --jitter=30%").out,
              AllOf(HasSubstr("\ngiven policy "), Not(HasSubstr("\nfull "))));
}

constexpr std::string_view kBudgets =
    "simulate budgets --processes=10 --busy=4 --waits=5 --polls-per-second=5 "
    "--burst=5 --duration=40s --events=20s:join:2,30s:die:1";

TEST(SimulateCommandTest, BudgetsHaveARowForEachKindOfLimiter) {
  const std::string file = testing::TempDir() + "/budgets.vl.json";
  const std::string line = absl::StrCat(kBudgets, " --vega=", file);
  const Ended ended = Call(line);

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              StartsWith("4 of 10 processes have 5 waits each, which poll "
                         "every 1s on average;\nthe API accepts 5 polls per "
                         "second\n\n"));
  for (const char* limiters :
       {"\nown, adaptive ", "\nown, whole rate ", "\nown, rate / n ",
        "\nshared ", "\nshared, adaptive ", "\n0s ", "\n20s:join:2 ",
        "\n30s:die:1 "}) {
    EXPECT_THAT(ended.out, HasSubstr(limiters));
  }
  for (const std::string& text :
       std::vector<std::string>(absl::StrSplit(ended.out, '\n'))) {
    EXPECT_LE(text.size(), 80) << text;
  }
  EXPECT_EQ(ended.out, Call(line).out);
  EXPECT_NE(ended.out, Call(line + " --seed=2").out);
  const nlohmann::json spec = *ParseJson(ReadFile(file));
  const nlohmann::json& data = spec.at("datasets");
  EXPECT_EQ(data.at("seconds").size(), 5 * 40);
  ASSERT_EQ(data.at("events").size(), 2);
  EXPECT_EQ(data.at("events")[0].at("event"), "2 join");
  EXPECT_EQ(data.at("limit")[0].at("polls"), 5);
}

TEST(SimulateCommandTest, JsonOfBudgetsHasTheNumbersOfTheTables) {
  const Ended text = Call(std::string(kBudgets));
  const Ended ended = Call(absl::StrCat(kBudgets, " --json"));

  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 1);
  const nlohmann::json json = *ParseJson(ended.out);
  EXPECT_EQ(json.at("polls_per_second"), 5);
  ASSERT_EQ(json.at("limiters").size(), 5);
  std::string from_start = absl::StrFormat("\n%-20s", "0s");
  for (const nlohmann::json& run : json.at("limiters")) {
    const auto throttled_percent = [](const nlohmann::json& part) {
      return 100 * *FindNumber(part, "throttled") / *FindNumber(part, "polls");
    };
    const nlohmann::json& total = run.at("total");
    EXPECT_THAT(
        text.out,
        HasSubstr(absl::StrFormat(
            "\n%-18s %8.1f %8.0f %8.1f %% %6.1f %% %9.3f %13.1f\n",
            *FindString(run, "limiters"), *FindNumber(total, "polls") / 40,
            *FindNumber(run, "peak_polls"), throttled_percent(total),
            100 * *FindNumber(total, "used"), *FindNumber(total, "fairness"),
            *FindNumber(run, "store_calls_per_second"))));
    ASSERT_EQ(run.at("phases").size(), 3);
    const nlohmann::json& start = run.at("phases")[0];
    EXPECT_EQ(start.at("end_ms"), 20'000);
    EXPECT_EQ(run.at("phases")[2].at("events")[0], "30s:die:1");
    absl::StrAppendFormat(
        &from_start, "%11s",
        absl::StrFormat("%.0f, %.0f", 100 * *FindNumber(start, "used"),
                        throttled_percent(start)));
    EXPECT_EQ(run.at("polls").size(), 40);
    EXPECT_EQ(run.at("throttled").size(), 40);
  }
  EXPECT_THAT(text.out, HasSubstr(from_start));
}

TEST(SimulateCommandTest, ContentionHasARowForEachSizeAndRule) {
  const std::string file = testing::TempDir() + "/contention.vl.json";
  const Ended ended =
      Call("simulate contention --clients=10,20 --runs=3 --threads=2 --vega=" +
           file);

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("all clients update one row at the same "
                                    "time; means of 3 runs\n\nclients "));
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 3 + 2 * 5);
  const nlohmann::json spec = *ParseJson(ReadFile(file));
  EXPECT_EQ(spec.at("datasets").at("rows").size(), 10);
}

constexpr std::string_view kLog =
    R"({"v":1,"t":"x","elapsed_ms":0,"event":"poll","target":"db","attempt":1,"class":"NOT_READY","detail":"refused","latency_ms":1.5,"next_ms":1000}
{"v":1,"elapsed_ms":5000,"event":"poll","target":"db","attempt":2,"class":"SERVER_ERROR","detail":"\u001b[2Jbang","latency_ms":30}
{"v":1,"elapsed_ms":5000,"event":"poll","target":"web","class":"THROTTLED","next_ms":null}

{"v":1,"elapsed_ms":9000,"event":"state","target":"db","from":"SERVER_ERROR"}
{"v":1,"elapsed_ms":10000,"event":"poll","target":"db","attempt":3,"class":"SUCCESS"}
{"v":1,"elapsed_ms":12000,"event":"summary","exit_code":124,"reason":"limit reached"}
)";

TEST(ReportCommandTest, EachTargetHasALane) {
  const Ended ended = Call("report " + WriteTemporary("run.jsonl", kLog));

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              HasSubstr("exit code 124, limit reached, after 12s\n\n"
                        "db: 3 polls (1 SUCCESS, 1 NOT_READY, 1 SERVER_ERROR); "
                        "polls took 1.5ms at the median, and at most 30ms\n"
                        "  |.                        e                        "
                        "S         |\n"
                        "  last at 10s: SUCCESS\n\n"
                        "web: 1 poll (1 THROTTLED)\n"));
}

TEST(ReportCommandTest, DetailsCannotMoveTheCursor) {
  const std::string log(kLog);
  const Ended ended = Call(
      "report " +
      WriteTemporary("cut.jsonl", log.substr(0, log.find("{\"v\":1,\"elapsed_ms"
                                                         "\":9000"))));

  EXPECT_THAT(ended.out,
              HasSubstr("no summary: the run was cut off, after 5s"));
  EXPECT_THAT(ended.out, HasSubstr("SERVER_ERROR \\x1b[2Jbang\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("\x1b")));
}

TEST(ReportCommandTest, ChartHasARowForEachPoll) {
  const std::string file = testing::TempDir() + "/report.vl.json";
  const Ended ended =
      Call("report " + WriteTemporary("run.jsonl", kLog) + " --vega=" + file);

  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json spec = *ParseJson(ReadFile(file));
  const nlohmann::json& polls = spec.at("datasets").at("polls");
  ASSERT_EQ(polls.size(), 4);
  EXPECT_EQ(polls[0].at("until"), 5);
  EXPECT_EQ(polls[2].at("until"), 10);  // Success is final.
  EXPECT_EQ(polls[3].at("until"), 12);  // Web stays throttled.
}

}  // namespace
}  // namespace waiter::cli
