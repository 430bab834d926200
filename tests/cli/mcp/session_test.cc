// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Plays sessions on simulated time. A test passes in the lines of the client
// and of the wait processes, and checks the answers.

#include "cli/mcp/session.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/mcp/wait_request.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "waiter/clock.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::cli::session_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class McpSessionTest : public testing::Test, protected McpHost {
 protected:
  static AllowedTargets HttpAndTcp() {
    AllowedTargets allowed;
    EXPECT_TRUE(allowed.Add("http,tcp").ok());
    return allowed;
  }

  void Send(std::string_view message) override {
    sent_.push_back(nlohmann::json::parse(message));
  }
  void StartWait(int64_t wait, const std::vector<std::string>& args) override {
    started_.push_back(absl::StrCat(wait, " ", absl::StrJoin(args, " ")));
  }
  void CancelWait(int64_t wait) override { cancelled_.push_back(wait); }

  void Call(int id, std::string_view method, std::string_view params) {
    session_.Receive(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id,
                                  R"(,"method":")", method, R"(","params":)",
                                  params, "}"));
  }
  void CallTool(int id, std::string_view tool, std::string_view arguments,
                std::string_view more = "") {
    Call(id, "tools/call",
         absl::StrCat(R"({"name":")", tool, R"(","arguments":)", arguments,
                      more, "}"));
  }

  // Returns the answers since the last call.
  std::vector<nlohmann::json> Take() { return std::exchange(sent_, {}); }
  nlohmann::json TakeOne() {
    const std::vector<nlohmann::json> all = Take();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? nlohmann::json() : all[0];
  }

  // Reports that the first poll of a wait for "db" has ended.
  void WriteFirstPoll(int64_t wait) {
    session_.WaitWrote(
        wait,
        R"({"event":"start","timeout_ms":60000,"targets":[{"target":"db"}]})");
    session_.WaitWrote(
        wait,
        R"({"event":"poll","target":"db","class":"NOT_READY","detail":"refused","next_ms":1500})");
  }
  void EndAsReady(int64_t wait) {
    session_.WaitWrote(wait, R"({"event":"ready","target":"db"})");
    session_.WaitWrote(wait,
                       R"({"event":"summary","exit_code":0,"reason":"ready"})");
    session_.WaitEnded(wait, 0, "");
  }

  // Advances the time, and calls `Tick` if it is due.
  void Pass(absl::Duration time) {
    clock_.AdvanceTime(time);
    if (session_.NextTime() <= clock_.MonotonicNow()) session_.Tick();
  }

  static constexpr std::string_view kDb = R"({"targets":["db=tcp://h:1"]})";

  SimulatedClock clock_;
  std::vector<nlohmann::json> sent_;
  std::vector<std::string> started_;
  std::vector<int64_t> cancelled_;
  McpSession session_{*this, clock_, HttpAndTcp()};
};

TEST_F(McpSessionTest, ServerAgreesToKnownRevisionsAndOffersItsNewest) {
  for (const auto& [wanted, agreed] :
       std::vector<std::pair<std::string, std::string>>{
           {"2025-11-25", "2025-11-25"},
           {"2024-11-05", "2024-11-05"},
           {"2031-01-01", "2025-11-25"}}) {
    Call(1, "initialize",
         absl::StrCat(R"({"protocolVersion":")", wanted, R"("})"));
    EXPECT_EQ(TakeOne()["result"]["protocolVersion"], agreed);
  }
  session_.Receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_THAT(Take(), IsEmpty());
  Call(2, "ping", "{}");
  EXPECT_EQ(TakeOne()["result"], nlohmann::json::object());
}

TEST_F(McpSessionTest, ToolsAreThree) {
  Call(1, "tools/list", "{}");
  std::vector<std::string> names;
  const nlohmann::json answer = TakeOne();
  for (const auto& tool : answer["result"]["tools"]) {
    names.push_back(tool["name"]);
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_EQ(tool["inputSchema"]["required"].size(), 1U);
  }
  EXPECT_THAT(names, ElementsAre("wait_for", "wait_status", "wait_cancel"));
}

TEST_F(McpSessionTest, CallReturnsWhenTheWaitEnds) {
  CallTool(1, "wait_for", kDb);
  EXPECT_THAT(started_, ElementsAre("1 db=tcp://h:1"));
  WriteFirstPoll(1);
  Pass(absl::Seconds(3));
  EXPECT_THAT(Take(), IsEmpty());
  EndAsReady(1);
  const nlohmann::json answer = TakeOne();
  EXPECT_EQ(answer["id"], 1);
  EXPECT_EQ(answer["result"]["isError"], false);
  EXPECT_EQ(answer["result"]["content"][0]["text"], "ready after 3s");
  const nlohmann::json& state = answer["result"]["structuredContent"];
  EXPECT_EQ(state["wait_id"], "w1");
  EXPECT_EQ(state["state"], "ready");
  EXPECT_EQ(state["targets"][0]["state"], "ready");
  EXPECT_EQ(session_.NextTime(), MonotonicTime::max());
}

TEST_F(McpSessionTest, SliceEndsACallAndStatusWaitsForAnother) {
  CallTool(1, "wait_for", R"({"targets":["db=tcp://h:1"],"slice":"5s"})");
  WriteFirstPoll(1);
  Pass(absl::Milliseconds(4999));
  EXPECT_THAT(Take(), IsEmpty());
  Pass(absl::Milliseconds(1));
  const nlohmann::json waiting = TakeOne();
  EXPECT_EQ(waiting["result"]["structuredContent"]["state"], "waiting");
  EXPECT_THAT(std::string(waiting["result"]["content"][0]["text"]),
              AllOf(HasSubstr("waiting after 5s of 1m; db: refused"),
                    HasSubstr("Call wait_status with wait_id w1")));

  CallTool(2, "wait_status", R"({"wait_id":"w1","slice":"0s"})");
  EXPECT_EQ(TakeOne()["result"]["structuredContent"]["state"], "waiting");
  CallTool(3, "wait_status", R"({"wait_id":"w1"})");
  Pass(absl::Seconds(24));
  EXPECT_THAT(Take(), IsEmpty());
  EndAsReady(1);
  EXPECT_EQ(TakeOne()["result"]["structuredContent"]["state"], "ready");
  CallTool(4, "wait_status", R"({"wait_id":"w1"})");
  EXPECT_EQ(TakeOne()["result"]["structuredContent"]["state"], "ready");
}

TEST_F(McpSessionTest, EndSaysWhy) {
  struct Row {
    std::string reason;
    int exit_code;
    std::string state;
    bool is_error;
  };
  for (const Row& row :
       std::vector<Row>{{"failed", 1, "failed", false},
                        {"deadline", 124, "timed_out", false},
                        {"errors", 3, "timed_out", false},
                        {"interrupted", 130, "cancelled", false},
                        {"", 2, "invalid", true}}) {
    CallTool(1, "wait_for", kDb);
    const auto wait = static_cast<int64_t>(started_.size());
    if (!row.reason.empty()) {
      session_.WaitWrote(wait, absl::StrCat(R"({"event":"summary","reason":")",
                                            row.reason, R"("})"));
    }
    session_.WaitEnded(wait, row.exit_code, "waiter: this is why\n");
    const nlohmann::json result = TakeOne()["result"];
    EXPECT_EQ(result["structuredContent"]["state"], row.state);
    EXPECT_EQ(result["isError"], row.is_error) << row.state;
    EXPECT_EQ(result["content"][0]["text"], "waiter: this is why");
  }
}

TEST_F(McpSessionTest, ClientThatAsksForProgressHearsOfEachPoll) {
  CallTool(1, "wait_for", kDb, R"(,"_meta":{"progressToken":"p"})");
  WriteFirstPoll(1);
  const nlohmann::json progress = TakeOne();
  EXPECT_EQ(progress["method"], "notifications/progress");
  EXPECT_EQ(progress["params"]["progressToken"], "p");
  EXPECT_EQ(progress["params"]["progress"], 1);
}

TEST_F(McpSessionTest, EveryCallThatAwaitsAWaitIsAnswered) {
  CallTool(1, "wait_for", kDb);
  CallTool(2, "wait_status", R"({"wait_id":"w1"})");
  CallTool(3, "wait_cancel", R"({"wait_id":"w1"})");
  session_.WaitWrote(1, R"({"event":"summary","reason":"interrupted"})");
  session_.WaitEnded(1, 143, "");
  const std::vector<nlohmann::json> answers = Take();
  ASSERT_EQ(answers.size(), 3U);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]["id"], i + 1);
    EXPECT_EQ(answers[i]["result"]["structuredContent"]["state"], "cancelled");
  }
}

TEST_F(McpSessionTest, CancelledRequestEndsItsWaitAndGetsNoAnswer) {
  CallTool(1, "wait_for", kDb);
  CallTool(2, "wait_status", R"({"wait_id":"w1"})");
  const auto cancel = [&](int id) {
    session_.Receive(absl::StrCat(
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)",
        id, "}}"));
  };
  cancel(2);
  EXPECT_THAT(cancelled_, IsEmpty());
  cancel(1);
  EXPECT_THAT(cancelled_, ElementsAre(1));
  session_.WaitEnded(1, 143, "");
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(McpSessionTest, WaitCancelAnswersWhenTheProcessHasEnded) {
  CallTool(1, "wait_for", R"({"targets":["tcp://h:1"],"slice":"0s"})");
  Take();
  CallTool(2, "wait_cancel", R"({"wait_id":"w1"})");
  EXPECT_THAT(cancelled_, ElementsAre(1));
  EXPECT_THAT(Take(), IsEmpty());
  session_.WaitWrote(1, R"({"event":"summary","reason":"interrupted"})");
  session_.WaitEnded(1, 143, "");
  EXPECT_EQ(TakeOne()["result"]["structuredContent"]["state"], "cancelled");
}

TEST_F(McpSessionTest, TaskIsPolledAtThePaceOfItsWait) {
  CallTool(1, "wait_for", kDb, R"(,"task":{"ttl":60000})");
  nlohmann::json task = TakeOne()["result"]["task"];
  EXPECT_EQ(task["taskId"], "w1");
  EXPECT_EQ(task["status"], "working");
  EXPECT_EQ(task["ttl"], 60000);
  EXPECT_EQ(task["pollInterval"], 500);
  WriteFirstPoll(1);
  Call(2, "tasks/get", R"({"taskId":"w1"})");
  EXPECT_EQ(TakeOne()["result"]["pollInterval"], 1500);
  Pass(absl::Seconds(1));
  Call(3, "tasks/get", R"({"taskId":"w1"})");
  task = TakeOne()["result"];
  EXPECT_EQ(task["pollInterval"], 500);
  EXPECT_EQ(task["statusMessage"], "waiting after 1s of 1m; db: refused");

  Call(4, "tasks/result", R"({"taskId":"w1"})");
  Pass(absl::Minutes(10));
  EXPECT_THAT(Take(), IsEmpty());
  EndAsReady(1);
  const nlohmann::json result = TakeOne();
  EXPECT_EQ(result["id"], 4);
  EXPECT_EQ(result["result"]["structuredContent"]["state"], "ready");
  EXPECT_EQ(result["result"]["_meta"]["io.modelcontextprotocol/related-task"]
                  ["taskId"],
            "w1");
}

TEST_F(McpSessionTest, TaskIsForgottenAfterItsTimeToLive) {
  CallTool(1, "wait_for", kDb, R"(,"task":{"ttl":60000})");
  Pass(absl::Seconds(61));
  Call(2, "tasks/get", R"({"taskId":"w1"})");  // It still runs.
  EndAsReady(1);
  Take();
  Call(3, "tasks/get", R"({"taskId":"w1"})");
  EXPECT_EQ(TakeOne()["error"]["code"], -32602);
}

TEST_F(McpSessionTest, TasksAreListedAndCancelled) {
  CallTool(1, "wait_for", kDb, R"(,"task":{})");
  CallTool(2, "wait_for", R"({"targets":["tcp://h:1"],"slice":"0s"})");
  Take();
  Call(3, "tasks/list", "{}");
  const nlohmann::json tasks = TakeOne()["result"]["tasks"];
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0]["taskId"], "w1");
  EXPECT_TRUE(tasks[0]["ttl"].is_null());
  Call(4, "tasks/cancel", R"({"taskId":"w1"})");
  EXPECT_EQ(TakeOne()["result"]["status"], "cancelled");
  EXPECT_THAT(cancelled_, ElementsAre(1));
  Call(5, "tasks/get", R"({"taskId":"w2"})");  // Is not a task.
  EXPECT_EQ(TakeOne()["error"]["code"], -32602);
}

TEST_F(McpSessionTest, ErrorsHaveTheirCodes) {
  for (const auto& [message, code] : std::vector<std::pair<std::string, int>>{
           {"{", -32700},
           {std::string(1000, '['), -32700},
           {"[]", -32600},
           {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", -32600},
           {R"({"jsonrpc":"2.0","id":1})", -32600},
           {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600},
           {R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})", -32601},
           {R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})", -32602},
           {R"({"id":1,"method":"tools/call","params":{"name":"rm"}})", -32602},
           {R"({"id":1,"method":"tasks/get","params":[]})", -32602}}) {
    session_.Receive(message);
    EXPECT_EQ(TakeOne()["error"]["code"], code) << message;
  }
  // Responses and unknown notifications need no answer.
  session_.Receive(R"({"jsonrpc":"2.0","id":1,"result":{}})");
  session_.Receive(R"({"jsonrpc":"2.0","method":"notifications/other"})");
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(McpSessionTest, UnknownWaitsAreErrorsOfTheTool) {
  for (const char* id : {"w1", "w0", "w", "w01", "w-1", "", "1"}) {
    CallTool(1, "wait_status", absl::StrCat(R"({"wait_id":")", id, R"("})"));
    const nlohmann::json result = TakeOne()["result"];
    EXPECT_EQ(result["isError"], true);
    EXPECT_EQ(result["content"][0]["text"], "no wait has this wait_id");
  }
}

TEST_F(McpSessionTest, RunningWaitsAndKeptResultsAreBounded) {
  for (size_t i = 0; i < McpSession::kMostRunning; ++i) {
    CallTool(1, "wait_for", kDb, R"(,"task":{})");
  }
  Take();
  CallTool(2, "wait_for", kDb);
  EXPECT_THAT(std::string(TakeOne()["result"]["content"][0]["text"]),
              HasSubstr("32 waits are running, which is the maximum"));
  session_.WaitEnded(1, 0, "");
  for (size_t i = 0; i < McpSession::kMostKept; ++i) {
    CallTool(3, "wait_for", kDb);
    session_.WaitEnded(static_cast<int64_t>(started_.size()), 0, "");
  }
  Take();
  CallTool(4, "wait_status", R"({"wait_id":"w1"})");
  EXPECT_EQ(TakeOne()["result"]["isError"], true);
  CallTool(5, "wait_status", R"({"wait_id":"w34"})");
  EXPECT_EQ(TakeOne()["result"]["structuredContent"]["state"], "ready");
}

TEST(WaitRequestTest, ArgumentsBecomeFlags) {
  AllowedTargets allowed;
  ASSERT_TRUE(allowed.Add("http,file").ok());
  const auto request = ParseWaitRequest(nlohmann::json::parse(R"({
        "targets": ["job=https://h/j", "file:/x"], "timeout": "5m", "slice": "3s",
        "any": true, "gone": false, "at_least": 1, "every": "2s", "hold": "1s",
        "json": [".a == 1", ".b.env"], "fail_json": ".s == \"FAILED\"",
        "status": "200", "fail_status": "410", "body_regex": "--gone",
        "fail_body_regex": ["x", "y"], "max_errors": 3})"),
                                        allowed);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->slice, absl::Seconds(3));
  EXPECT_THAT(request->args,
              ElementsAre("--any", "--at-least=1", "--body-regex=--gone",
                          "--every=2s", "--fail-body-regex=x",
                          "--fail-body-regex=y", "--fail-json=.s == \"FAILED\"",
                          "--fail-status=410", "--hold=1s", "--json=.a == 1",
                          "--json=.b.env", "--max-errors=3", "--status=200",
                          "--timeout=5m", "job=https://h/j", "file:/x"));
}

TEST(WaitRequestTest, BadArgumentsAreNamed) {
  AllowedTargets allowed;
  ASSERT_TRUE(allowed.Add("http,tcp").ok());
  for (const auto& [arguments, error] :
       std::vector<std::pair<std::string, std::string>>{
           {"[]", "the arguments must be an object"},
           {"{}", "targets: give 1 to 100 targets"},
           {R"({"targets":[]})", "targets: give 1 to 100 targets"},
           {R"({"targets":"tcp://h:1"})", "targets: give 1 to 100 targets"},
           {R"({"targets":[1]})", "targets: each must be a string"},
           {R"({"targets":["--allow=exec"]})", "must not begin with -"},
           {R"({"targets":["exec:rm -rf x"]})",
            "exec is not allowed; to allow it, start this server with "
            "--allow=exec"},
           {R"({"targets":["file:/etc/passwd"]})", "file is not allowed"},
           {R"({"targets":["x=unix:/s"]})", "unix is not allowed"},
           {R"({"targets":["tcp://h:1"],"slice":"1h"})", "at most 10m"},
           {R"({"targets":["tcp://h:1"],"slice":5})",
            "slice: it must be a string"},
           {R"({"targets":["tcp://h:1"],"any":"yes"})",
            "any: it must be true or false"},
           {R"({"targets":["tcp://h:1"],"at_least":-1})",
            "at_least: it must be a whole number"},
           {R"({"targets":["tcp://h:1"],"header":"a: b"})",
            "unknown argument header"},
           {R"({"targets":["tcp://h:1"],"json":"env.HOME == \"x\""})",
            "json: it must not use env"},
           {R"({"targets":["tcp://h:1"],"json":["$ENV.HOME"]})",
            "json: it must not use env"},
           {R"({"targets":["tcp://h:1"],"fail_json":["\"\\(env)\""]})",
            "fail_json: it must not use env"},
           {R"({"targets":["postgres://u:secret@h"]})",
            "postgres is not allowed"}}) {
    const auto request =
        ParseWaitRequest(nlohmann::json::parse(arguments), allowed);
    EXPECT_THAT(request.status().message(),
                AllOf(HasSubstr(error), Not(HasSubstr("secret"))))
        << arguments;
  }
  EXPECT_THAT(allowed.Add("htp").message(), HasSubstr("no scheme is called"));
}

}  // namespace
}  // namespace waiter::cli::session_test
