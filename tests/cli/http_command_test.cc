// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the `waiter` program with HTTP servers that answer as in public reports.

#include <cstdio>
#include <fstream>
#include <iterator>
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
#include "tests/support/socket_server.h"

namespace waiter::cli::http_command_test {
namespace {

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

class HttpCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    if (WaiterProcess({"http://127.0.0.1:1", "--timeout=0"}).Wait() != 124) {
      GTEST_SKIP() << "no libcurl here";
    }
  }
};

// kubernetes/kubectl#1482, skypilot-org/skypilot#9996, cdap#13476: their
// waiters keep polling until the timeout.
TEST_F(HttpCommandTest, JobThatFailsEndsTheWaitAtOnce) {
  SocketServer server(
      InTurn({Response("200 OK", R"({"status": "RUNNING"})"),
              Response("200 OK", R"({"status": "FAILED",)"
                                 R"("error": {"message": "disk quota"}})")}));
  WaiterProcess waiter({server.Url("/jobs/7"), "--every=10ms", "--timeout=10m",
                        "--json=.status==\"SUCCEEDED\"",
                        "--fail-json=.status==\"FAILED\""});

  EXPECT_EQ(waiter.Wait(), 1);
  EXPECT_THAT(waiter.err(),
              HasSubstr("FATAL: HTTP 200, .status is \"FAILED\": disk quota"));
  EXPECT_EQ(server.connections(), 2);
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
  const std::string path = absl::StrCat(testing::TempDir(), "/netrc");
  std::ofstream(path) << "machine 127.0.0.1 login anna password secret\n";
  WaiterProcess waiter({server.Url("/"), absl::StrCat("--netrc=", path)});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_THAT(server.requests(),
              ElementsAre(HasSubstr("Authorization: Basic YW5uYTpzZWNyZXQ=")));
}

TEST_F(HttpCommandTest, StatusOrLineMayMeanFailed) {
  const SocketServer gone(InTurn({Response("410 Gone")}));
  WaiterProcess by_status({gone.Url("/"), "--fail-status=410"});
  EXPECT_EQ(by_status.Wait(), 1);
  EXPECT_THAT(by_status.err(), HasSubstr("FATAL: HTTP 410 Gone"));

  const SocketServer page(InTurn({Response("200 OK", "a\nerror: disk\n")}));
  WaiterProcess by_line(
      {page.Url("/"), "--body-regex=done", "--fail-body-regex=^error:"});
  EXPECT_EQ(by_line.Wait(), 1);
  EXPECT_THAT(by_line.err(), HasSubstr("body matches /^error:/"));
}

TEST_F(HttpCommandTest, FailureMayBeThatOfOneTarget) {
  const SocketServer server(InTurn({Response("200 OK", R"({"a": 1})")}));
  WaiterProcess waiter({absl::StrCat("one=", server.Url("/1")),
                        absl::StrCat("two=", server.Url("/2")), "--any",
                        "--fail-json@one=.a==1", "--print@two=.a"});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(waiter.out(), "1\n");
}

TEST_F(HttpCommandTest, ValueOfTheSuccessIsPrintedForScripts) {
  const std::string done =
      Response("200 OK", R"({"done": true, "id": "i-0abc"})");
  const SocketServer server(
      InTurn({Response("200 OK", R"({"done": false, "id": "none"})"), done}));
  WaiterProcess waiter({server.Url("/"), "--every=10ms", "--json=.done==true",
                        "--print=.id", "--", "sh", "-c", "echo program"});
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(waiter.out(), "i-0abc\nprogram\n");

  WaiterProcess late(
      {server.Url("/"), "--timeout=0", "--json=.done==false", "--print=.id"});
  EXPECT_EQ(late.Wait(), 124);
  EXPECT_THAT(late.out(), IsEmpty());

  WaiterProcess both({server.Url("/"), "--print=.id", "--progress=json"});
  EXPECT_EQ(both.Wait(), 2);
  EXPECT_THAT(both.err(), HasSubstr("--print and --progress=json both write"));
}

// kubernetes/kubectl#1878: the wait is for the end of a condition, regardless
// of the next state.
TEST_F(HttpCommandTest, GoneWaitsForTheEndOfACondition) {
  SocketServer server(InTurn({Response("200 OK", R"({"phase": "Terminating"})"),
                              Response("500 Oops", R"({"phase": "none"})"),
                              Response("200 OK", R"({"phase": "Active"})")}));
  WaiterProcess waiter({server.Url("/"), "--gone", "--every=10ms",
                        "--json=.phase==\"Terminating\""});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(server.connections(), 3);
}

// kubernetes/kubernetes#95759: conditions that hold in different answers.
TEST_F(HttpCommandTest, AllConditionsMustHoldInOneAnswer) {
  SocketServer server(InTurn({Response("200 OK", R"({"a": 1, "b": 0})"),
                              Response("200 OK", R"({"a": 0, "b": 1})"),
                              Response("200 OK", R"({"a": 1, "b": 1})")}));
  WaiterProcess waiter(
      {server.Url("/"), "--every=10ms", "--json=.a==1", "--json=.b==1"});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(server.connections(), 3);
}

// hub4j/github-api#220: "failed permanently" and "asked to wait" in one
// message.
TEST_F(HttpCommandTest, RefusalWithADelayIsThrottled) {
  SocketServer server(
      InTurn({Response("403 Forbidden", "", "Retry-After: 0.1\r\n"),
              Response("200 OK")}));
  WaiterProcess waiter({server.Url("/"), "--every=10ms"});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(server.connections(), 2);
}

// xllamacpp#155, moneysnake#24.
TEST_F(HttpCommandTest, HintThatIsNoTimeOfTheServerEndsNoWait) {
  SocketServer server(
      InTurn({Response("503 Busy", "",
                       "Date: Fri, 02 Jan 2048 04:04:05 GMT\r\n"
                       "Retry-After: Fri, 02 Jan 2048 04:04:05 GMT\r\n"),
              Response("503 Busy", "", "Retry-After: 99999999999999\r\n"),
              Response("503 Busy", "",
                       "Retry-After: Fri, 02 Jan 2048 04:04:05 GMT\r\n"),
              Response("200 OK")}));
  WaiterProcess waiter(
      {server.Url("/"), "--every=10ms", "--timeout=1m", "--verbose"});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(server.connections(), 4);
  EXPECT_THAT(waiter.err(), HasSubstr("(ignored Retry-After: 999"));
}

TEST_F(HttpCommandTest, MessageSaysWhichFieldAskedToWait) {
  const SocketServer server(
      InTurn({Response("404 Not Found", "", "X-Poll-Interval: 60\r\n")}));
  WaiterProcess waiter({server.Url("/"), "--every=10ms", "--timeout=1s"});

  EXPECT_EQ(waiter.Wait(), 124);
  EXPECT_THAT(waiter.err(),
              HasSubstr("it asked to wait 1m (X-Poll-Interval: 60)"));
}

TEST_F(HttpCommandTest, BodyIsReadAsServersWriteIt) {
  const std::string_view up_in_gzip(
      "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xAB\x56\x2A\x2E\x49\x2C\x29"
      "\x2D\x56\xB2\x52\x50\x0A\x0D\x50\xAA\x05\x00\x4C\x10\xC0\x93\x10\x00"
      "\x00\x00",
      36);
  struct Row {
    std::string response;
    std::string flag;
    int code;
    std::string_view text;
  };
  const std::string json = "--json=.status==\"UP\"";
  const std::vector<Row> rows = {
      {Response("200 OK", up_in_gzip, "Content-Encoding: gzip\r\n"), json, 0,
       "ready"},
      {Response("200 OK", "x", "Content-Encoding: nonesuch\r\n"), json, 124,
       "HTTP 200, body cannot be decoded, Content-Encoding: nonesuch"},
      {Response("200 OK", "\xEF\xBB\xBF{\"status\": \"UP\"}"), json, 0,
       "ready"},
      {Response("200 OK", "\xFF\xFE{"), json, 124, "the body is in UTF-16"},
      {Response("204 No Content"), json, 124, "status 204 has no body"},
      {Response("200 OK", "a\r\nUP\r\n"), "--body-regex=^UP$", 0, "ready"},
  };
  for (const Row& row : rows) {
    const SocketServer server(InTurn({row.response}));
    WaiterProcess waiter({server.Url("/"), row.flag, "--timeout=0"});
    EXPECT_EQ(waiter.Wait(), row.code) << waiter.err();
    EXPECT_THAT(waiter.err(), HasSubstr(std::string(row.text)));
  }
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
  WaiterProcess waiter(
      {server.Url("/"), "--every=10ms",
       R"(--json=any(.status.conditions[]; .type == "Ready" and .status == "True"))",
       R"(--fail-json=any(.status.conditions[]; .type == "Failed"))",
       R"(--print=.metadata | .name + "!")"});

  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(waiter.out(), "web-1!\n");
}

TEST_F(JqCommandTest, RunawayExpressionEndsTheWaitWithAClearError) {
  const SocketServer server(InTurn({Response("200 OK", "{}")}));
  WaiterProcess waiter({server.Url("/"), "--json=last(range(infinite))"});

  EXPECT_EQ(waiter.Wait(), 1);
  EXPECT_THAT(waiter.err(),
              HasSubstr("last(range(infinite)): takes longer than 1s"));
}

// A file that is removed with the object.
class SecretFile {
 public:
  explicit SecretFile(std::string_view text)
      : path_(absl::StrCat(testing::TempDir(), "/secret")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~SecretFile() { std::remove(path_.c_str()); }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST_F(HttpCommandTest, TokenIsSentToItsHostAloneAndNeverPrinted) {
  SocketServer other(InTurn({Response("503 Busy")}));
  SocketServer server(InTurn(
      {Response("302 Found", "",
                absl::StrCat("Location: ", other.Url("/there"), "\r\n"))}));
  const SecretFile file("s3cret\n");
  const std::string log = absl::StrCat(testing::TempDir(), "/run.jsonl");
  WaiterProcess waiter({server.Url("/"), "--bearer=@" + file.path(),
                        "--timeout=0", "--verbose", "--log-json=" + log});
  EXPECT_EQ(waiter.Wait(), 124);

  EXPECT_THAT(server.requests().at(0),
              HasSubstr("\r\nAuthorization: Bearer s3cret\r\n"));
  EXPECT_THAT(other.requests().at(0), Not(HasSubstr("s3cret")));
  std::ifstream lines(log);
  const std::string logged(std::istreambuf_iterator<char>(lines), {});
  EXPECT_THAT(logged, AllOf(HasSubstr("503"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(absl::StrCat(waiter.err(), waiter.out()),
              Not(HasSubstr("s3cret")));
}

TEST_F(HttpCommandTest, CredentialsComeFromFilesAndVariables) {
  SocketServer server(InTurn({Response("200 OK")}));
  const SecretFile file("X-One: 1\r\n\nX-Two: 2");
  WaiterProcess waiter({server.Url("/"), "--header=@" + file.path(),
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
