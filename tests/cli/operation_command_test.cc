// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs `waiter operation` with servers that answer as in public reports and
// documented interfaces.

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/socket_server.h"

namespace waiter::cli::operation_command_test {
namespace {

using ::testing::_;
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

// Answers requests that begin with `request` in turn. The last answer repeats.
struct Route {
  std::string request;
  std::vector<std::string> responses;
};

SocketServer::Serve Serve(std::vector<Route> routes) {
  return [routes = std::move(routes)](Connection& connection) mutable {
    const std::string head = connection.ReadRequest();
    for (Route& route : routes) {
      if (!absl::StartsWith(head, route.request + " ")) continue;
      connection.Send(route.responses.front());
      if (route.responses.size() > 1) {
        route.responses.erase(route.responses.begin());
      }
      return;
    }
    connection.Send(Response("404 Not Found"));
  };
}

std::vector<std::string> LinesOf(const SocketServer& server) {
  std::vector<std::string> lines;
  for (const std::string& head : server.requests()) {
    lines.push_back(head.substr(0, head.find(" HTTP/")));
  }
  return lines;
}

class OperationCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasHttp()) GTEST_SKIP() << "no libcurl here";
  }
};

TEST_F(OperationCommandTest, StartedOperationIsFollowedToItsResult) {
  const SocketServer server(
      Serve({{"PUT /vms/1",
              {Response("201 Created",
                        R"({"properties": {"provisioningState": "Creating"}})",
                        "Azure-AsyncOperation: /operations/1\r\n")}},
             {"GET /operations/1",
              {Response("200 OK", R"({"status": "InProgress"})"),
               Response("200 OK", R"({"status": "Succeeded"})")}},
             {"GET /vms/1", {Response("200 OK", R"({"id": "vm-1"})")}}}));
  EXPECT_THAT(
      Call({"operation", "--method=PUT", "--data={}", "--header=X-Key: k",
            server.Url("/vms/1"), "--every=10ms", "--verbose", "--print=.id",
            "--", "sh", "-c", "echo program"}),
      Ends(0, HasSubstr("InProgress (azure: header Azure-AsyncOperation)"),
           "vm-1\nprogram\n"));
  EXPECT_THAT(LinesOf(server), ElementsAre("PUT /vms/1", "GET /operations/1",
                                           "GET /operations/1", "GET /vms/1"));
  for (const std::string& head : server.requests()) {
    EXPECT_THAT(head, HasSubstr("X-Key: k"));
  }
}

// Azure/msrestazure-for-python#157.
TEST_F(OperationCommandTest, FailureInTheBodyEndsTheWaitWithItsCodeAndMessage) {
  const SocketServer server(Serve(
      {{"DELETE /disks/1",
        {Response("202 Accepted", "", "Location: /operations/9\r\n")}},
       {"GET /operations/9",
        {Response("200 OK", R"({"status": "Failed", "error": {"code":)"
                            R"( "ExecutionFailure", "message": "busy"}})")}}}));
  EXPECT_THAT(
      Call({"operation", "--method=DELETE", server.Url("/disks/1"),
            "--every=10ms", "--timeout=10m"}),
      Ends(1, HasSubstr("FATAL: HTTP 200: Failed, ExecutionFailure: busy "
                        "(accepted: HTTP 202)")));
}

TEST_F(OperationCommandTest, OperationThatRunsIsAdopted) {
  const SocketServer server(
      Serve({{"GET /v1/batches/1",
              {Response("200 OK", R"({"object": "batch", "status":)"
                                  R"( "in_progress"})"),
               Response("200 OK", R"({"object": "batch", "status":)"
                                  R"( "finalizing"})"),
               Response("200 OK", R"({"object": "batch", "status":)"
                                  R"( "completed", "output_file_id":)"
                                  R"( "file-1"})")}}}));
  EXPECT_THAT(Call({"operation", server.Url("/v1/batches/1"), "--every=10ms",
                    "--print=.output_file_id"}),
              Ends(0, _, "file-1\n"));
}

TEST_F(OperationCommandTest, StartThatIsCutOffIsNotRepeated) {
  const SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Reset();
  });
  EXPECT_THAT(Call({"operation", "--data={}", server.Url("/jobs"),
                    "--every=10ms", "--timeout=10m"}),
              Ends(1, HasSubstr("is not started again")));
  EXPECT_EQ(server.requests().size(), 1);
}

TEST_F(OperationCommandTest, StartThatTakesTooLongIsNotRepeated) {
  const SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.AwaitClose();
  });
  EXPECT_THAT(
      Call({"operation", "--data={}", server.Url("/jobs"), "--every=10ms",
            "--probe-timeout=200ms", "--timeout=10m"}),
      Ends(1, HasSubstr("POST got no answer (connected, no answer within")));
  EXPECT_EQ(server.requests().size(), 1);
}

TEST_F(OperationCommandTest, ServerThatIsNotThereIsAwaited) {
  const std::string url =
      absl::StrCat("http://127.0.0.1:", FreePort(AF_INET), "/jobs");
  EXPECT_THAT(
      Call({"operation", "--data={}", url, "--every=10ms", "--timeout=200ms"}),
      Ends(124, HasSubstr("refused")));
}

TEST_F(OperationCommandTest, OtherHostGetsNoCredentialsUnlessTrusted) {
  const SocketServer other(Serve({{"GET /7", {Response("204 Done")}}}));
  const SocketServer server(Serve(
      {{"POST /jobs",
        {Response("202 Accepted", "",
                  absl::StrCat("Location: ", other.Url("/7"), "\r\n"))}}}));
  std::vector<std::string> arguments = {"operation", "--data={}",
                                        "--header=Authorization: Bearer t",
                                        "--every=10ms", server.Url("/jobs")};
  EXPECT_EQ(WaiterProcess(arguments).Wait(), 0);
  EXPECT_THAT(other.requests().back(), Not(HasSubstr("Authorization")));

  arguments.push_back(absl::StrCat("--trust=", other.Url("")));
  EXPECT_EQ(WaiterProcess(arguments).Wait(), 0);
  EXPECT_THAT(other.requests().back(), HasSubstr("Authorization: Bearer t"));
}

TEST_F(OperationCommandTest, DialectMayBeTold) {
  const SocketServer server(Serve(
      {{"GET /list",
        {Response("200 OK",
                  R"({"Instances": [{"State": {"Name": "pending"}}]})"),
         Response("200 OK",
                  R"({"Instances": [{"State": {"Name": "running"}}]})")}}}));
  WaiterProcess waiter({"operation", server.Url("/list"), "--every=10ms",
                        "--dialect=state:Instances.State.Name=running"});
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();

  const SocketServer page(Serve({{"GET /", {Response("200 OK", "<html>")}}}));
  EXPECT_THAT(Call({"operation", page.Url("/")}),
              Ends(1, HasSubstr("in an unknown dialect")));
  EXPECT_EQ(
      WaiterProcess({"operation", page.Url("/"), "--dialect=accepted"}).Wait(),
      0);
}

TEST_F(OperationCommandTest, ConditionsOfTheUserDecide) {
  const SocketServer server(
      Serve({{"GET /7",
              {Response("200 OK", R"({"status": "done", "shards": 1})"),
               Response("200 OK", R"({"status": "done", "shards": 3})")}}}));
  WaiterProcess waiter(
      {"operation", server.Url("/7"), "--every=10ms", "--json=.shards==3"});
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_EQ(server.requests().size(), 2);

  EXPECT_THAT(Call({"operation", server.Url("/7"), "--json=.a==1",
                    "--fail-json=.shards==3"}),
              Ends(1, HasSubstr(".shards is 3")));
}

TEST_F(OperationCommandTest, ResultWithoutTheValueToPrintIsAFailure) {
  const SocketServer server(Serve({{"GET /7", {Response("200 OK", "rows")}}}));
  EXPECT_THAT(
      Call(
          {"operation", server.Url("/7"), "--dialect=accepted", "--print=.id"}),
      Ends(1, HasSubstr("--print finds nothing in its result"), IsEmpty()));
}

TEST(OperationCommandLineTest, WhatHasNoMeaningIsAUsageError) {
  const std::string url = "http://127.0.0.1:1/";
  struct Row {
    std::vector<std::string> arguments;
    std::string_view text;
  };
  const std::vector<Row> rows = {
      {{}, "nothing to wait for"},
      {{url, url + "2"}, "an operation has one URL"},
      {{"tcp://127.0.0.1:1"}, "an operation has one URL"},
      {{url, "--gone"}, "--gone: does not apply to operations; leave it out"},
      {{url, "--status=200"}, "--status: does not apply"},
      {{url, "--method=HEAD"}, "--method=HEAD: neither starts"},
      {{url, "--data={}", "--state=/tmp/s"}, "would start the operation again"},
      {{url, "--dialect=aws"},
       "unknown dialect \"aws\"; it must be auto, accepted"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = {"operation"};
    arguments.insert(arguments.end(), row.arguments.begin(),
                     row.arguments.end());
    EXPECT_THAT(Call(arguments), Ends(2, HasSubstr(std::string(row.text))));
  }
}

TEST(OperationCommandLineTest, HelpHasTheFlags) {
  WaiterProcess waiter({"operation", "--help"});

  EXPECT_EQ(waiter.Wait(), 0);
  EXPECT_THAT(waiter.out(), HasSubstr("usage: waiter operation [FLAG...] URL"));
  EXPECT_THAT(waiter.out(), HasSubstr("--dialect=azure"));
}

}  // namespace
}  // namespace waiter::cli::operation_command_test
