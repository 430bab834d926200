// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs `waiter durable` with workers that are killed and a real Redis server.

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/loop/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/redis_cluster_servers.h"
#include "tests/support/redis_server.h"
#include "tests/support/scripted_server.h"
#include "tests/support/socket_server.h"
#include "waiter/testing/gtest.h"

namespace waiter::cli {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Matches;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* kName = "jobs";

class DurableCommandTest : public FolderFixture {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>();
    if (WaiterProcess probe({"budgets", server_->Url()}); probe.Wait() != 0) {
      EXPECT_THAT(probe.err(), HasSubstr("built without hiredis"));
      GTEST_SKIP() << probe.err();
    }
  }

  // Runs `waiter durable ACTION STORE_URL NAME ARGUMENT...` to its end.
  std::string Durable(const std::string& action,
                      const std::vector<std::string>& arguments = {},
                      int code = 0) const {
    std::vector<std::string> words = {"durable", action, server_->Url(), kName};
    words.insert(words.end(), arguments.begin(), arguments.end());
    WaiterProcess process(std::move(words));
    EXPECT_EQ(process.Wait(), code) << process.err();
    return process.out();
  }

  // A worker whose program does `script`.
  std::unique_ptr<WaiterProcess> Work(
      const std::string& script,
      const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> words = {
        "durable",       "work",          server_->Url(), kName,
        "--every=100ms", "--jitter=none", "--timeout=5m", "--lease=2s"};
    words.insert(words.end(), flags.begin(), flags.end());
    for (const std::string& word :
         {std::string("--"), std::string("sh"), std::string("-c"), script}) {
      words.push_back(word);
    }
    return std::make_unique<WaiterProcess>(std::move(words));
  }

  // A script that writes a line to the log.
  std::string Log(const std::string& worker) const {
    return absl::StrCat("echo \"", worker,
                        " $WAITER_KEY $WAITER_RESULT "
                        "$WAITER_IDEMPOTENCY_KEY\" >>",
                        Path("log"));
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::ifstream log(Path("log"));
    for (std::string line; std::getline(log, line);) lines.push_back(line);
    return lines;
  }

  // Returns the keys in the log, the second word of each line.
  std::set<std::string> Keys() const {
    std::set<std::string> keys;
    for (const std::string& line : Lines()) {
      keys.insert(std::vector<std::string>(absl::StrSplit(line, ' '))[1]);
    }
    return keys;
  }

  // A busy machine may take long.
  const ScopedEventuallyDefaults patience_{
      {.timeout = absl::Minutes(2),
       .backoff = {.max_delay = absl::Milliseconds(50)}}};
  std::unique_ptr<RedisServer> server_;
};

TEST_F(DurableCommandTest, StoreMayBeAClusterOfWhichOneNodeIsKnown) {
  const RedisClusterServers cluster;
  const std::string url = absl::StrReplaceAll(
      absl::StrCat(cluster.Urls()[4]), {{"redis://", "redis+cluster://"}});
  const std::string target = Path("target");
  WaiterProcess add(
      {"durable", "add", url, kName, "a=file:" + target, "b=file:" + target});
  EXPECT_EQ(add.Wait(), 0) << add.err();
  WaiterProcess worker({"durable", "work", url, kName, "--every=100ms", "--",
                        "sh", "-c", Log("one")});
  std::ofstream(target) << "x";
  EXPECT_EVENTUALLY(Keys().size() == 2) << worker.err();
  EXPECT_THAT(Call({"durable", "status", url, kName}),
              Ends(0, _, HasSubstr("2")));
}

TEST_F(DurableCommandTest, WaitsOutliveAWorkerThatIsKilled) {
  std::vector<std::string> files;
  std::vector<std::string> targets;
  for (int i = 0; i < 40; ++i) {
    files.push_back(Path(absl::StrCat("file", i)));
    targets.push_back(absl::StrCat("f", i, "=file:", files.back()));
  }
  const auto create = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) std::ofstream(files[i]) << "x";
  };

  const auto first = Work(Log("first"));
  EXPECT_EQ(Durable("add", targets), "40 added\n");
  EXPECT_EQ(Durable("add", targets), "0 added, 40 already known\n");
  create(0, 10);
  ASSERT_EVENTUALLY(Keys().size() == 10);
  // The first worker holds the other waits.
  const auto second = Work(Log("second"));
  first->Signal(SIGKILL);
  EXPECT_EQ(first->Wait(), 1000 + SIGKILL);
  create(10, 40);
  ASSERT_EVENTUALLY(Keys().size() == 40)
      << Durable("status") << Durable("list")
      << (second->Signal(SIGTERM), second->Wait()) << second->err();
  ASSERT_EVENTUALLY(Durable("status"), HasSubstr("pending          0\n"));

  // A program that ran again has the same idempotency key.
  std::map<std::string, std::set<std::string>> ends;
  for (const std::string& line : Lines()) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    ASSERT_THAT(words, SizeIs(4)) << line;
    EXPECT_EQ(words[2], "success") << line;
    ends[words[1]].insert(words[3]);
  }
  EXPECT_THAT(ends, SizeIs(40));
  for (const auto& [key, idempotency_keys] : ends) {
    EXPECT_THAT(idempotency_keys, SizeIs(1)) << key;
  }
  EXPECT_THAT(
      Durable("status", {"--json", "--max-overdue=0"}),
      AllOf(HasSubstr("\"pending\":0,\"overdue\":0"), HasSubstr("\"kept\":40"),
            HasSubstr("{\"enqueued\":40,\"success\":40}")));
  second->Signal(SIGTERM);
  EXPECT_EQ(second->Wait(), 0) << second->err();
}

TEST_F(DurableCommandTest, ProgramThatFailsRunsAgain) {
  std::ofstream(Path("file")) << "text";
  Durable("add", {"file:" + Path("file"), "--key=a"});
  const auto worker = Work(absl::StrCat(
      Log("it"), "; echo said; test $(wc -l <", Path("log"), ") -gt 1"));
  ASSERT_EVENTUALLY(Durable("list"),
                    HasSubstr("delivered  a  success after 1 poll: 4 bytes"));
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0], lines[1]);
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0);
  EXPECT_EQ(worker->out(), "said\nsaid\n");
  EXPECT_THAT(
      worker->err(),
      HasSubstr("waiter durable work: a: exit code 1; will run again later\n"));
}

// skypilot-org/skypilot#9996: the job has failed.
TEST_F(DurableCommandTest, ConditionsOfHttpEndAWaitAsFailed) {
  const auto answer = [](std::string_view body) {
    return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(),
                        "\r\n\r\n", body);
  };
  const SocketServer server([&](SocketServer::Connection& connection) {
    const bool failed = absl::StrContains(connection.ReadRequest(), "/bad");
    connection.Send(answer(failed ? R"({"state": "FAILED", "reason": "disk"})"
                                  : R"({"state": "DONE", "id": "i-7"})"));
  });
  Durable("add", {absl::StrCat("bad=", server.Url("/bad")),
                  absl::StrCat("good=", server.Url("/good"))});
  const auto worker =
      Work(absl::StrCat("echo \"$WAITER_KEY $WAITER_RESULT $WAITER_DETAIL\" >>",
                        Path("log")),
           {"--json=.state==\"DONE\"", "--fail-json=.state==\"FAILED\"",
            "--print=.id"});

  ASSERT_EVENTUALLY(Lines().size() == 2);
  EXPECT_THAT(Lines(), UnorderedElementsAre(
                           "bad failed HTTP 200, .state is \"FAILED\": disk",
                           "good success i-7"));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

TEST_F(DurableCommandTest, SignalLetsTheProgramFinish) {
  Durable("add", {"pid:1", "a=file:" + Path("none"), "--timeout=1h"});
  const auto worker =
      Work(absl::StrCat(Log("begins"), "; sleep 1; ", Log("ends")));
  ASSERT_EVENTUALLY(!Lines().empty());
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  EXPECT_THAT(Lines(), SizeIs(2));
  EXPECT_THAT(
      worker->err(),
      testing::MatchesRegex(
          "waiter durable work: serves jobs with 16 threads: 2 pending, 0 "
          "overdue\nwaiter durable work: jobs pid:1: success after 1 poll in "
          "[0-9.]+m?s\n"));
  EXPECT_THAT(Durable("show", {"pid:1"}), HasSubstr("phase            deliv"));
  // The worker gave the other one back, so any worker can claim it.
  EXPECT_THAT(
      Durable("show", {"--json", "a"}),
      AllOf(HasSubstr("\"phase\":\"pending\""), HasSubstr("\"held\":false")));
}

TEST_F(DurableCommandTest, SecondSignalKillsTheProgram) {
  Durable("add", {"pid:1", "a=file:" + Path("none"), "--timeout=1h"});
  const auto worker = Work(absl::StrCat(Log("begins"), "; sleep 1000"));
  const auto is_held = [&](const char* held) {
    return absl::StrContains(Durable("show", {"--json", "a"}),
                             absl::StrCat("\"held\":", held));
  };
  ASSERT_EVENTUALLY(!Lines().empty() && is_held("true"));
  worker->Signal(SIGTERM);
  // The first signal makes the worker give back its waits.
  ASSERT_EVENTUALLY(is_held("false"));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  EXPECT_THAT(Durable("show", {"pid:1"}), HasSubstr("phase            ended"));
}

TEST_F(DurableCommandTest, PollThatHangsEndsAtItsLimit) {
  const UniqueFd silent = BindTcp("127.0.0.1");
  ASSERT_EQ(listen(silent.get(), 10), 0);
  Durable("add", {absl::StrCat("a=redis://127.0.0.1:", PortOf(silent)),
                  "b=exec:true", "--timeout=1s"});
  const auto worker = Work(Log("it"), {"--probe-timeout=200ms"});
  ASSERT_EVENTUALLY(Keys().size() == 2);
  EXPECT_THAT(Durable("show", {"a"}),
              AllOf(HasSubstr("result           deadline"),
                    HasSubstr("no answer to PING"),
                    Not(HasSubstr("polls            1\n"))));
  EXPECT_THAT(
      Durable("show", {"b"}),
      AllOf(HasSubstr("result           failed"), HasSubstr("--allow-exec")));
}

TEST_F(DurableCommandTest, WaitCanBeCancelled) {
  Durable("add", {"file:" + Path("none"), "--key=a"});
  EXPECT_THAT(Durable("status", {"--max-overdue=1"}),
              HasSubstr("pending          1\n"));
  EXPECT_THAT(Durable("cancel", {"a"}),
              HasSubstr("a  0 polls, cancel requested"));
  EXPECT_THAT(Durable("cancel", {"a", "--json"}),
              AllOf(HasSubstr("{\"key\":\"a\",\"phase\":\"pending\","),
                    HasSubstr("\"cancelled\":true")));
  Durable("cancel", {"b"}, /*code=*/1);
  EXPECT_EQ(Durable("show", {"b"}, /*code=*/1),
            "key              b\nphase            unknown\n");
  const auto worker = Work(Log("it"));
  ASSERT_EVENTUALLY(!Lines().empty());
  EXPECT_THAT(Lines().front(), HasSubstr("it a cancelled "));
}

TEST_F(DurableCommandTest, CheckFindsEachKindOfDamageAndRepairsIt) {
  server_->Run({"CONFIG", "SET", "dir", folder()});
  server_->Run({"CONFIG", "SET", "appendonly", "yes"});
  const std::vector<std::string> division = {"--partitions=1"};
  std::vector<std::string> targets = division;
  for (const std::string key : {"a", "b", "c", "d", "e"}) {
    targets.push_back(absl::StrCat(key, "=file:", Path("none")));
  }
  Durable("add", targets);
  EXPECT_THAT(Durable("check", division),
              AllOf(HasSubstr("appendonly yes"),
                    HasSubstr("records          5, no damage\n")));

  const auto key = [](const std::string& part) {
    return absl::StrCat("waiter:{default/", kName, "/0}:", part);
  };
  server_->Run({"HDEL", key("rec"), "a"});
  server_->Run({"ZREM", key("due"), "b"});
  server_->Run({"HSET", key("rec"), "c", "25 damaged"});
  server_->Run({"ZADD", key("done"), "1", "d"});
  server_->Run({"ZADD", key("done"), "1", "f"});
  server_->Run({"SADD", key("cancel"), "g"});
  server_->Run({"HSET", key("meta"), "enqueued", "9"});
  const std::string found = Durable("check", division, /*code=*/1);
  for (const std::string line :
       {"no-record        a is due", "adrift           b has a record",
        "still-pending    c was delivered", "not-delivered    d is kept",
        "kept-nothing     f is kept", "leftover         a left",
        "leftover         g left", "miscounted       partition 0: 5 waits",
        "records          4, 8 findings; --repair fixes them"}) {
    EXPECT_THAT(found, HasSubstr(line));
  }
  EXPECT_EQ(Durable("check", division, /*code=*/1), found);
  EXPECT_THAT(Durable("check", {"--repair", "--json", division[0]}, 1),
              HasSubstr("\"found\":8,\"repaired\":8,"));
  EXPECT_THAT(Durable("check", {"--json", division[0]}),
              HasSubstr("{\"name\":\"jobs\",\"clean\":true,\"records\":4,"));
  EXPECT_THAT(Durable("show", {"b", division[0]}), HasSubstr("overdue by"));

  server_->Run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  EXPECT_THAT(
      Durable("check", division, /*code=*/1),
      AllOf(HasSubstr("setting          maxmemory-policy is allkeys-lru"),
            HasSubstr("records          4, no damage")));
  for (const std::string action : {"status", "work"}) {
    EXPECT_THAT(
        Call({"durable", action, server_->Url(), kName, "--partitions=1"}),
        Ends(125, HasSubstr("maxmemory-policy is allkeys-lru")));
  }
}

TEST_F(DurableCommandTest, CheckFindsNothingWhileWorkersAreBusy) {
  server_->Run({"CONFIG", "SET", "dir", folder()});
  server_->Run({"CONFIG", "SET", "appendonly", "yes"});
  auto first = Work("true", {"--retain=0s"});
  const auto second = Work("true");
  std::vector<std::string> targets;
  for (int i = 0; i < 200; ++i) {
    targets.push_back(absl::StrCat("f", i, "=file:", Path("file")));
  }
  for (int i = 0; i < 10; ++i) {
    Durable("add", targets);
    if (i == 5) {
      first->Signal(SIGKILL);
      (void)first->Wait();
      first = Work("true", {"--retain=0s"});
    }
    if (i == 2) std::ofstream(Path("file")) << "x";
    std::vector<std::string> flags;
    if (i % 2 == 1) flags.emplace_back("--repair");
    EXPECT_THAT(Durable("check", flags), HasSubstr("no damage"));
  }
}

TEST_F(DurableCommandTest, AddSaysInJsonWhatItAdded) {
  EXPECT_EQ(Durable("add", {"--json", "a=pid:1", "b=pid:1"}),
            "{\"name\":\"jobs\",\"added\":2,\"known\":0}\n");
  EXPECT_EQ(Durable("add", {"--json", "b=pid:1", "c=pid:1"}),
            "{\"name\":\"jobs\",\"added\":1,\"known\":1}\n");
}

TEST_F(DurableCommandTest, WatchedStatusShowsThePollsPerSecond) {
  Durable("add", {"--key=a", "file:" + Path("none")});
  const auto worker = Work(Log("it"));
  WaiterProcess status(
      {"durable", "status", server_->Url(), kName, "--watch", "--json"});
  ASSERT_TRUE(status.ReadUntil("\"polls_per_s\":null"));
  // The worker reports its polls to the store in each third of its lease of
  // 2 s, and the fourth look comes 6 s later.
  const auto shows_polls = [&] {
    return Matches(ContainsRegex("\"polls_per_s\":[0-9.]*[1-9]"))(status.out());
  };
  EXPECT_TRUE(status.ReadUntil([&] {
    return shows_polls() ||
           std::count(status.out().begin(), status.out().end(), '\n') >= 4;
  }));
  EXPECT_TRUE(shows_polls()) << status.out();
  status.Signal(SIGINT);
  EXPECT_EQ(status.Wait(), 1000 + SIGINT);
  EXPECT_THAT(status.out(), HasSubstr("\"workers\":1,"));
}

// One name has results that no program took, and one has 4 partitions.
TEST_F(DurableCommandTest, StatusShowsAllNames) {
  const auto status = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"durable", "status", server_->Url()};
    words.insert(words.end(), flags.begin(), flags.end());
    WaiterProcess process(std::move(words));
    EXPECT_EQ(process.Wait(), 0) << process.err();
    return process.out();
  };
  EXPECT_EQ(status({}), "no names\n");
  EXPECT_EQ(status({"--json"}), "");
  Durable("add", {"a=pid:1", "b=file:" + Path("none")});
  WaiterProcess other({"durable", "add", server_->Url(), "more", "pid:1",
                       "--partitions=4", "--first-delay=1h"});
  EXPECT_EQ(other.Wait(), 0) << other.err();
  const auto worker = Work("false");
  ASSERT_EVENTUALLY(status({"--json"}), HasSubstr("\"undelivered\":1,"));
  EXPECT_THAT(status({}),
              AllOf(HasSubstr("name             jobs\npending          2\n"),
                    HasSubstr("undelivered      1\n"),
                    HasSubstr("workers          1\n"),
                    HasSubstr("\n\nname             more\npending          1"),
                    Not(HasSubstr("polls/s"))));
}

TEST_F(DurableCommandTest, WorkersShareARate) {
  std::vector<std::string> targets;
  for (int i = 0; i < 20; ++i) {
    targets.push_back(absl::StrCat("f", i, "=file:", Path("none")));
  }
  Durable("add", targets);
  const std::string rate =
      absl::StrCat("--shared-rate=", server_->Url(), "/api?rate=20");
  const auto first = Work(Log("first"), {rate});
  const auto second = Work(Log("second"), {rate});
  const auto budgets = [&] {
    WaiterProcess process({"budgets", server_->Url(), "--json"});
    EXPECT_EQ(process.Wait(), 0) << process.err();
    return process.out();
  };
  EXPECT_EVENTUALLY(budgets(), HasSubstr("\"members\":2")) << budgets();
  // The waits want 200 polls per second.
  const auto polls = [&] {
    const std::vector<std::string> parts =
        absl::StrSplit(Durable("status", {"--json"}), "\"polls\":");
    return std::stoll(parts.at(1));
  };
  ASSERT_EVENTUALLY(polls() > 20);
  const auto begin = std::chrono::steady_clock::now();
  const int64_t before = polls();
  int64_t found = 0;
  // Without the rate, they would take half a second.
  EXPECT_EVENTUALLY(found = polls() - before, Ge(100));
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  // Workers report to the store each third of their lease of 2 s, or later.
  EXPECT_LE(found, 20 * (time.count() + 3)) << time.count();
}

TEST_F(DurableCommandTest, WorkersWithoutTheServerOfTheirRateSaySo) {
  const int port = FreePort(AF_INET);
  const auto worker =
      Work(Log("it"),
           {absl::StrCat("--shared-rate=redis://user:secret@127.0.0.1:", port,
                         "/api?rate=20")});
  EXPECT_TRUE(worker->ReadUntil("waiter durable work: --shared-rate: "));
  EXPECT_TRUE(worker->ReadUntil("this process uses its own rate"));
  EXPECT_THAT(worker->err(), Not(HasSubstr("secret")));
}

TEST_F(DurableCommandTest, OverdueWaitsAreAFailureOfStatus) {
  Durable("add", {"pid:1"});
  ASSERT_EVENTUALLY(WaiterProcess({"durable", "status", server_->Url(), kName,
                                   "--max-overdue=0"})
                        .Wait(),
                    1);
}

TEST_F(DurableCommandTest, ServerThatIsGoneIsSaidWithoutSecrets) {
  server_->Kill();
  for (const std::string action : {"status", "work", "list", "add", "check"}) {
    std::vector<std::string> words = {"durable", action,
                                      server_->Url("user:secret@"), kName};
    if (action == "add") words.emplace_back("pid:1");
    WaiterProcess process(std::move(words));
    EXPECT_EQ(process.Wait(), 125) << action;
    EXPECT_THAT(process.err(),
                HasSubstr(absl::StrCat("waiter durable ", action,
                                       ": Redis at 127.0.0.1:")));
    EXPECT_THAT(process.err(), Not(HasSubstr("secret")));
  }
}

TEST_F(DurableCommandTest, WorkerSurvivesItsServer) {
  const auto worker = Work(Log("it"));
  Durable("add", {"file:" + Path("file"), "--key=a"});
  // A worker that has not started yet needs the server.
  ASSERT_EVENTUALLY(Durable("list"), HasSubstr(" polls, held"));
  server_->Kill();
  EXPECT_TRUE(worker->ReadUntil("Redis at 127.0.0.1:")) << worker->err();
  server_->Start();  // Without data.
  std::ofstream(Path("file")) << "x";
  ASSERT_EVENTUALLY(WaiterProcess({"durable", "add", server_->Url(), kName,
                                   "file:" + Path("file"), "--key=a"})
                        .Wait(),
                    0);
  EXPECT_EVENTUALLY(!Lines().empty());
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

}  // namespace
}  // namespace waiter::cli
