// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the `waiter` program with HTTP servers that answer as in public reports.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/socket_server.h"

namespace waiter::cli::http_command_test {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Connection = SocketServer::Connection;

std::string Response(std::string_view status_line, std::string_view body = "",
                     std::string_view fields = "") {
  return absl::StrCat("HTTP/1.1 ", status_line, "\r\n", fields,
                      "Content-Length: ", body.size(), "\r\n\r\n", body);
}

// Answers each request with the next response, and then with the last one.
SocketServer::Serve InTurn(std::vector<std::string> responses) {
  return [responses = std::move(responses)](Connection& connection) {
    const auto turn = static_cast<size_t>(connection.ordinal()) - 1;
    connection.ReadRequest();
    connection.Send(turn < responses.size() ? responses[turn]
                                            : responses.back());
  };
}

// A wait for a server that answers in turn.
struct Row {
  std::string_view claim;
  std::vector<std::string> responses;
  std::vector<std::string> flags;
  int code;
  testing::Matcher<int> requests;
  std::string_view message;  // On standard error.
};

std::vector<Row> Waits() {
  return {
      // kubernetes/kubectl#1482, skypilot-org/skypilot#9996, cdap#13476: their
      // waiters keep polling until the timeout.
      {"a job that fails ends the wait immediately",
       {Response("200 OK", R"({"status": "RUNNING"})"),
        Response("200 OK", R"({"status": "FAILED",)"
                           R"("error": {"message": "disk quota"}})")},
       {"--every=10ms", "--timeout=10m", "--json=.status==\"SUCCEEDED\"",
        "--fail-json=.status==\"FAILED\""},
       1,
       2,
       "FATAL: HTTP 200, .status is \"FAILED\": disk quota"},
      {"a status may mean failed",
       {Response("410 Gone")},
       {"--fail-status=410"},
       1,
       1,
       "FATAL: HTTP 410 Gone"},
      {"a line may mean failed",
       {Response("200 OK", "a\nerror: disk\n")},
       {"--body-regex=done", "--fail-body-regex=^error:"},
       1,
       1,
       "body matches /^error:/"},
      // kubernetes/kubectl#1878: the wait is for the end of a condition,
      // regardless of the next state.
      {"--gone waits for the end of a condition",
       {Response("200 OK", R"({"phase": "Terminating"})"),
        Response("500 Oops", R"({"phase": "none"})"),
        Response("200 OK", R"({"phase": "Active"})")},
       {"--gone", "--every=10ms", "--json=.phase==\"Terminating\""},
       0,
       3,
       ""},
      // kubernetes/kubernetes#95759: conditions that hold in different answers.
      {"all conditions must hold in one answer",
       {Response("200 OK", R"({"a": 1, "b": 0})"),
        Response("200 OK", R"({"a": 0, "b": 1})"),
        Response("200 OK", R"({"a": 1, "b": 1})")},
       {"--every=10ms", "--json=.a==1", "--json=.b==1"},
       0,
       3,
       ""},
      // hub4j/github-api#220: "failed permanently" and "asked to wait" in one
      // message.
      {"a refusal with a delay is throttled",
       {Response("403 Forbidden", "", "Retry-After: 0.1\r\n"),
        Response("200 OK")},
       {"--every=10ms"},
       0,
       2,
       ""},
      // xllamacpp#155, moneysnake#24.
      {"a hint that is no time of the server ends no wait",
       {Response("503 Busy", "",
                 "Date: Fri, 02 Jan 2048 04:04:05 GMT\r\n"
                 "Retry-After: Fri, 02 Jan 2048 04:04:05 GMT\r\n"),
        Response("503 Busy", "", "Retry-After: 99999999999999\r\n"),
        Response("503 Busy", "",
                 "Retry-After: Fri, 02 Jan 2048 04:04:05 GMT\r\n"),
        Response("200 OK")},
       {"--every=10ms", "--timeout=1m", "--verbose"},
       0,
       4,
       "(ignored Retry-After: 999"},
      {"the message says which field asked to wait",
       {Response("404 Not Found", "", "X-Poll-Interval: 60\r\n")},
       {"--every=10ms", "--timeout=1s"},
       124,
       _,
       "it asked to wait 1m (X-Poll-Interval: 60)"},
  };
}

// Returns polls of bodies as servers write them.
std::vector<Row> Bodies() {
  const std::string_view up_in_gzip(
      "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xAB\x56\x2A\x2E\x49\x2C\x29"
      "\x2D\x56\xB2\x52\x50\x0A\x0D\x50\xAA\x05\x00\x4C\x10\xC0\x93\x10\x00"
      "\x00\x00",
      36);
  const auto poll = [](std::string_view claim, std::string response, int code,
                       std::string_view message,
                       std::string_view flag = "--json=.status==\"UP\"") {
    return Row{claim,
               {std::move(response)},
               {std::string(flag), "--timeout=0"},
               code,
               1,
               message};
  };
  return {
      poll("gzip", Response("200 OK", up_in_gzip, "Content-Encoding: gzip\r\n"),
           0, "ready"),
      poll("an unknown encoding",
           Response("200 OK", "x", "Content-Encoding: nonesuch\r\n"), 124,
           "HTTP 200, body cannot be decoded, Content-Encoding: nonesuch"),
      poll("a byte order mark",
           Response("200 OK", "\xEF\xBB\xBF{\"status\": \"UP\"}"), 0, "ready"),
      poll("UTF-16", Response("200 OK", "\xFF\xFE{"), 124,
           "the body is in UTF-16"),
      poll("no body", Response("204 No Content"), 124,
           "status 204 has no body"),
      poll("lines of Windows", Response("200 OK", "a\r\nUP\r\n"), 0, "ready",
           "--body-regex=^UP$"),
  };
}

class HttpCommandTest : public FolderFixture {
 protected:
  void SetUp() override {
    if (!HasHttp()) GTEST_SKIP() << "no libcurl here";
  }
};

TEST_F(HttpCommandTest, AnswersInTurnDecideHowAWaitEnds) {
  for (const std::vector<Row>& rows : {Waits(), Bodies()}) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.claim);
      const SocketServer server(InTurn(row.responses));
      std::vector<std::string> arguments = row.flags;
      arguments.push_back(server.Url("/jobs/7"));
      const Ended ended = Call(arguments);
      EXPECT_EQ(ended.code, row.code) << ended.err;
      EXPECT_THAT(server.connections(), row.requests);
      EXPECT_THAT(ended.err, HasSubstr(std::string(row.message)));
    }
  }
}

// Holds each request but the first for 600 ms.
void Hold(Connection& connection) {
  connection.ReadRequest();
  if (connection.ordinal() > 1) absl::SleepFor(absl::Milliseconds(600));
  connection.Send(Response("200 OK", connection.ordinal() > 2
                                         ? R"({"state": "DONE"})"
                                         : R"({"state": "RUNNING"})"));
}

TEST_F(HttpCommandTest, HeldRequestIsFollowedByTheNextWithoutADelay) {
  const SocketServer server(Hold);
  WaiterProcess waiter({server.Url("/jobs/7"), "--intervals=10ms,10m",
                        "--timeout=inf", "--probe-timeout=20s",
                        "--long-poll=1s:timeout", "--json=.state==\"DONE\""});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_THAT(server.requests(),
              Each(HasSubstr("GET /jobs/7?timeout=1 HTTP/1.1")));
  EXPECT_EQ(server.connections(), 3);
}

TEST_F(HttpCommandTest, LoginsMayComeFromAFile) {
  const SocketServer server(InTurn({Response("200 OK")}));
  const std::string path =
      Write("netrc", "machine 127.0.0.1 login anna password secret\n");
  WaiterProcess waiter({server.Url("/"), absl::StrCat("--netrc=", path)});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_THAT(server.requests(),
              ElementsAre(HasSubstr("Authorization: Basic YW5uYTpzZWNyZXQ=")));
}

TEST_F(HttpCommandTest, FailureMayBeThatOfOneTarget) {
  const SocketServer server(InTurn({Response("200 OK", R"({"a": 1})")}));
  EXPECT_THAT(Call({absl::StrCat("one=", server.Url("/1")),
                    absl::StrCat("two=", server.Url("/2")), "--any",
                    "--fail-json@one=.a==1", "--print@two=.a"}),
              Ends(0, _, "1\n"));
}

TEST_F(HttpCommandTest, ValueOfTheSuccessIsPrintedForScripts) {
  const std::string done =
      Response("200 OK", R"({"done": true, "id": "i-0abc"})");
  const SocketServer server(
      InTurn({Response("200 OK", R"({"done": false, "id": "none"})"), done}));
  EXPECT_THAT(Call({server.Url("/"), "--every=10ms", "--json=.done==true",
                    "--print=.id", "--", "sh", "-c", "echo program"}),
              Ends(0, _, "i-0abc\nprogram\n"));

  EXPECT_THAT(Call({server.Url("/"), "--timeout=0", "--json=.done==false",
                    "--print=.id"}),
              Ends(124, _, IsEmpty()));

  EXPECT_THAT(Call({server.Url("/"), "--print=.id", "--progress=json"}),
              Ends(2, HasSubstr("--print and --progress=json both write")));
}

TEST_F(HttpCommandTest, UnchangedAnswerIsNotSentAgain) {
  int full = 0;
  SocketServer server([&](Connection& connection) {
    const std::string head = connection.ReadRequest();
    const std::string state = connection.ordinal() < 10 ? "1" : "2";
    const std::string tag = absl::StrCat("ETag: \"", state, "\"\r\n");
    if (absl::StrContains(head,
                          absl::StrCat("If-None-Match: \"", state, "\""))) {
      connection.Send(
          absl::StrCat("HTTP/1.1 304 Not Modified\r\n", tag, "\r\n"));
      return;
    }
    ++full;
    connection.Send(
        Response("200 OK", absl::StrCat("{\"state\": ", state, "}"), tag));
  });
  WaiterProcess waiter(
      {server.Url("/"), "--every=10ms", "--json=.state==2", "--successes=3"});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(server.connections(), 12);
  EXPECT_EQ(full, 2);
}

class JqCommandTest : public HttpCommandTest {
 protected:
  void SetUp() override {
    HttpCommandTest::SetUp();
    if (WaiterProcess({"http://127.0.0.1:1", "--json=length", "--timeout=0"})
            .Wait() == 2) {
      GTEST_SKIP() << "no libjq here";
    }
  }
};

TEST_F(JqCommandTest, ConditionsOfKubernetesCanBeAskedFor) {
  const auto pod = [](std::string_view ready) {
    return Response("200 OK",
                    absl::StrCat(R"({"status": {"conditions": [)",
                                 R"({"type": "Ready", "status": ")", ready,
                                 R"("}]}, "metadata": {"name": "web-1"}})"));
  };
  const SocketServer server(InTurn({pod("False"), pod("True")}));
  EXPECT_THAT(
      Call(
          {server.Url("/"), "--every=10ms",
           R"(--json=any(.status.conditions[]; .type == "Ready" and .status == "True"))",
           R"(--fail-json=any(.status.conditions[]; .type == "Failed"))",
           R"(--print=.metadata | .name + "!")"}),
      Ends(0, _, "web-1!\n"));
}

TEST_F(JqCommandTest, RunawayExpressionEndsTheWaitWithAClearError) {
  const SocketServer server(InTurn({Response("200 OK", "{}")}));
  EXPECT_THAT(
      Call({server.Url("/"), "--json=last(range(infinite))"}),
      Ends(1, HasSubstr("last(range(infinite)): takes longer than 1s")));
}

TEST_F(HttpCommandTest, TokenIsSentToItsHostAloneAndNeverPrinted) {
  SocketServer other(InTurn({Response("503 Busy")}));
  SocketServer server(InTurn(
      {Response("302 Found", "",
                absl::StrCat("Location: ", other.Url("/there"), "\r\n"))}));
  const std::string file = Write("secret", "s3cret\n");
  const std::string log = Path("run.jsonl");
  WaiterProcess waiter({server.Url("/"), "--bearer=@" + file, "--timeout=0",
                        "--verbose", "--log-json=" + log});
  EXPECT_EQ(waiter.Wait(), 124);

  EXPECT_THAT(server.requests().at(0),
              HasSubstr("\r\nAuthorization: Bearer s3cret\r\n"));
  EXPECT_THAT(other.requests().at(0), Not(HasSubstr("s3cret")));
  EXPECT_THAT(Read(log), AllOf(HasSubstr("503"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(absl::StrCat(waiter.err(), waiter.out()),
              Not(HasSubstr("s3cret")));
}

TEST_F(HttpCommandTest, CredentialsComeFromFilesAndVariables) {
  SocketServer server(InTurn({Response("200 OK")}));
  const std::string file = Write("fields", "X-One: 1\r\n\nX-Two: 2");
  WaiterProcess waiter({server.Url("/"), "--header=@" + file,
                        "--bearer=env:TOKEN", "--timeout=0"},
                       {.environment = {"TOKEN=s3cret"}});
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_THAT(
      server.requests().at(0),
      AllOf(HasSubstr("\r\nX-One: 1\r\n"), HasSubstr("\r\nX-Two: 2\r\n"),
            HasSubstr("\r\nAuthorization: Bearer s3cret\r\n")));
}

}  // namespace
}  // namespace waiter::cli::http_command_test
