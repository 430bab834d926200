// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Follows operations of a real server on a loopback port by libcurl. Skipped in
// builds without libcurl.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_CURL

#include <curl/curl.h>

#include <cstddef>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/interop/http_polls.h"
#include "tests/support/joining_thread.h"
#include "tests/support/socket_server.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/interop/http.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::http_operation_server_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Connection = SocketServer::Connection;

// Answers requests that begin with `request`, such as "POST /jobs".
struct Route {
  std::string request;
  std::vector<std::string> responses;  // In turn; the last one repeats.
};

// Serves one connection at a time, as the requests of one operation come.
SocketServer::Serve Serve(std::vector<Route> routes) {
  return AnswerEach(
      [routes = std::move(routes)](const std::string& head) mutable {
        std::string answer = Response("404 Not Found");
        for (Route& route : routes) {
          if (!absl::StartsWith(head, route.request + " ")) continue;
          answer = route.responses.front();
          if (route.responses.size() > 1) {
            route.responses.erase(route.responses.begin());
          }
        }
        return answer;
      });
}

WaitOptions Fast() {
  return {.timeout = kAmple,
          .poll_timeout = kAmple,
          .backoff = {.initial_delay = absl::Milliseconds(1),
                      .max_delay = absl::Milliseconds(1)}};
}

std::vector<std::string> LinesOf(const SocketServer& server) {
  std::vector<std::string> lines;
  for (const std::string& head : server.requests()) {
    lines.push_back(head.substr(0, head.find(" HTTP/")));
  }
  return lines;
}

// An operation of Azure whose PUT ends at the resource.
std::vector<Route> AzureRoutes() {
  return {{"PUT /vms/1",
           {Response("201 Created",
                     R"({"properties": {"provisioningState": "Creating"}})",
                     "Azure-AsyncOperation: /operations/1\r\n")}},
          {"GET /operations/1",
           {Response("200 OK", R"({"status": "InProgress"})"),
            Response("200 OK", R"({"status": "Succeeded"})")}},
          {"GET /vms/1", {Response("200 OK", R"({"id": "vm-1"})")}}};
}

TEST(HttpOperationServerTest, ServerMayHoldRequestsForTheStatusOnly) {
  const SocketServer server([](Connection& connection) {
    if (absl::StartsWith(connection.ReadRequest(), "GET")) {
      absl::SleepFor(absl::Milliseconds(600));
    }
    connection.Send(Response("202 Accepted", "", "Location: /jobs/1\r\n"));
    connection.AwaitClose();
  });
  HttpOperation operation(
      {.url = server.Url("/jobs"), .method = "POST", .body = "{}"},
      {.long_poll = {.hold = absl::Seconds(1)}});

  const Poll<HttpResponse> started = operation({.timeout = kAmple});
  const Poll<HttpResponse> held = operation({.timeout = kAmple});

  EXPECT_EQ(started.next_delay(), std::nullopt);
  EXPECT_EQ(held.status(), PollStatus::kNotReady) << held.error();
  EXPECT_EQ(held.next_delay(), absl::ZeroDuration());
  EXPECT_THAT(server.requests(), ElementsAre(Not(HasSubstr("Prefer: wait")),
                                             HasSubstr("Prefer: wait=1\r\n")));
}

TEST(HttpOperationServerTest, WaiterFollowsAnOperationToItsResult) {
  const SocketServer server(Serve(AzureRoutes()));
  Waiter wait(HttpOperation({.url = server.Url("/vms/1"),
                             .method = "PUT",
                             .headers = {{"Authorization", "Bearer t"}},
                             .body = "{}"}),
              Fast());

  const WaitResult<HttpResponse> result = wait.Wait();

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->body, R"({"id": "vm-1"})");
  EXPECT_EQ(result.report().attempts, 3);
  EXPECT_THAT(LinesOf(server), ElementsAre("PUT /vms/1", "GET /operations/1",
                                           "GET /operations/1", "GET /vms/1"));
  for (const std::string& head : server.requests()) {
    EXPECT_THAT(head, HasSubstr("Authorization: Bearer t"));
  }
}

TEST(HttpOperationServerTest, AsyncWaiterPollsOnAnotherThread) {
  const SocketServer server(Serve(AzureRoutes()));
  HttpOperation operation(
      {.url = server.Url("/vms/1"), .method = "PUT", .body = "{}"});
  std::vector<JoiningThread> threads;
  WaitEngine engine;
  std::future<WaitResult<HttpResponse>> future = StartFuture(
      engine,
      AsyncWaiter(
          [&](const PollContext& poll, PollCompletion<HttpResponse> done) {
            threads.emplace_back([&operation, poll, done = std::move(done)] {
              done(operation(poll));
            });
          },
          Fast()));

  const WaitResult<HttpResponse> result = future.get();

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->body, R"({"id": "vm-1"})");
}

TEST(HttpOperationServerTest, OperationThatFailsHasTheErrorOfTheServer) {
  const SocketServer server(Serve(
      {{"POST /jobs", {Response("202 Accepted", "", "Location: /jobs/7\r\n")}},
       {"GET /jobs/7",
        {Response("200 OK", R"({"status": "Failed", "error": {"code":)"
                            R"( "Quota", "message": "no disk"}})")}}}));
  Waiter wait(HttpOperation({.url = server.Url("/jobs"), .body = "{}"}),
              Fast());

  const WaitResult<HttpResponse> result = wait.Wait();

  EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(
      result.status().message(),
      HasSubstr("HTTP 200: Failed, Quota: no disk (accepted: HTTP 202)"));
}

TEST(HttpOperationServerTest, StartThatIsCutOffIsNotRepeated) {
  const SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Reset();
  });
  Waiter wait(HttpOperation({.url = server.Url("/jobs"), .body = "{}"}),
              Fast());

  const WaitResult<HttpResponse> result = wait.Wait();

  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(HttpOperationServerTest, OtherHostGetsNoCredentials) {
  const SocketServer other(Serve({{"GET /7", {Response("204 Done")}}}));
  const SocketServer server(Serve(
      {{"POST /jobs",
        {Response("202 Accepted", "",
                  absl::StrCat("Location: ", other.Url("/7"), "\r\n"))}}}));
  const HttpRequest request = {.url = server.Url("/jobs"),
                               .headers = {{"Authorization", "Bearer t"}},
                               .body = "{}"};
  EXPECT_TRUE(Waiter(HttpOperation(request), Fast()).Wait().ok());
  EXPECT_THAT(other.requests(), ElementsAre(Not(HasSubstr("Authorization"))));

  EXPECT_TRUE(
      Waiter(HttpOperation(request, {.trusted_origins = {other.Url("")}}),
             Fast())
          .Wait()
          .ok());
  EXPECT_THAT(other.requests().back(), HasSubstr("Authorization: Bearer t"));
}

TEST(HttpOperationServerTest, WaitThatTimesOutCancelsTheOperation) {
  const SocketServer server(Serve(
      {{"POST /jobs", {Response("202 Accepted", "", "Location: /jobs/7\r\n")}},
       {"GET /jobs/7", {Response("202 Accepted")}},
       {"DELETE /jobs/7", {Response("204 No Content")}}}));
  HttpOperation operation({.url = server.Url("/jobs"), .body = "{}"});
  absl::Status cancelled = absl::UnknownError("not called");
  WaitOptions options = Fast();
  options.timeout = absl::Milliseconds(200);
  options.hooks.on_failure = [&](const WaitFailure& end) {
    cancelled = operation.Cancel(end.timeout);
  };

  const WaitResult<HttpResponse> result =
      Waiter([&](const PollContext& poll) { return operation(poll); }, options)
          .Wait();

  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(cancelled.ok()) << cancelled;
  EXPECT_THAT(LinesOf(server).back(), "DELETE /jobs/7");
}

TEST(HttpOperationServerTest, RequestThatCancelsMayBeGiven) {
  const SocketServer server(
      Serve({{"GET /7", {Response("200 OK", R"({"status": "running"})")}},
             {"POST /stop", {Response("409 Conflict")}}}));
  HttpOperation operation(
      {.url = server.Url("/7")},
      {.cancel = HttpRequest{.url = server.Url("/stop"), .body = ""}});
  operation({.timeout = kAmple});

  EXPECT_EQ(
      operation.Cancel(kAmple),
      absl::AbortedError("the operation was not cancelled: HTTP 409 Conflict"));
}

// A durable wait polls from the saved state, on any worker.
TEST(HttpOperationServerTest, EachPollMayBeMadeByAnotherProcess) {
  const SocketServer server(Serve(AzureRoutes()));
  const HttpRequest request = {
      .url = server.Url("/vms/1"), .method = "PUT", .body = "{}"};
  std::vector<std::string> kept;
  const HttpOperationOptions options = {
      .keep = [&](const std::string& saved) { kept.push_back(saved); }};
  EXPECT_EQ(HttpOperation(request, options)({.timeout = kAmple}).status(),
            PollStatus::kNotReady);
  ASSERT_THAT(kept, SizeIs(2));  // Before the start was sent, and after it.

  for (const PollStatus expected :
       {PollStatus::kNotReady, PollStatus::kSuccess}) {
    absl::StatusOr<HttpOperation> operation =
        HttpOperation::Restore(request, kept.back(), options);
    ASSERT_TRUE(operation.ok()) << operation.status();
    EXPECT_EQ((*operation)({.timeout = kAmple}).status(), expected);
  }
  EXPECT_EQ(LinesOf(server).front(), "PUT /vms/1");
  EXPECT_THAT(LinesOf(server), SizeIs(4));

  // A process that died before it got the answer does not start again.
  EXPECT_THAT(LinesOf(server).back(), StartsWith("GET"));
}

TEST(HttpOperationServerTest, DurableWaitHasTheOperationInItsArgs) {
  const SocketServer server(Serve(AzureRoutes()));
  const HttpRequest request = {
      .url = server.Url("/vms/1"), .method = "PUT", .body = "{}"};
  HttpOperation started(request);
  EXPECT_EQ(started({.timeout = kAmple}).status(), PollStatus::kNotReady);
  const DurableFunction function =
      [&](const DurablePoll& poll) -> Poll<std::string> {
    auto operation = HttpOperation::Restore(request, poll.args);
    if (!operation.ok()) return Failed(operation.status());
    Poll<HttpResponse> found = (*operation)(poll.context);
    if (!found.has_value()) return Poll<>(std::move(found));
    return Success(std::move(found).value().body);
  };

  const std::string args = started.Save();
  const PollContext context = {.timeout = kAmple};
  const DurablePoll poll = {.name = "create",
                            .key = "vm-1",
                            .args = args,
                            .context = context,
                            .fence = 1};
  EXPECT_EQ(function(poll).status(), PollStatus::kNotReady);
  const Poll<std::string> found = function(poll);
  ASSERT_TRUE(found.has_value()) << found.error();
  EXPECT_EQ(found.value(), R"({"id": "vm-1"})");
}

TEST(HttpOperationServerTest, UnchangedStatusIsNotSentAgain) {
  int full = 0;
  const SocketServer server([&](Connection& connection) {
    for (std::string head = connection.ReadRequest(); !head.empty();
         head = connection.ReadRequest()) {
      const std::string tag = full < 1 ? "" : "\"1\"";
      if (!tag.empty() && absl::StrContains(head, "If-None-Match: \"1\"") &&
          connection.ordinal() == 1) {
        connection.Send("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n");
        continue;
      }
      ++full;
      connection.Send(
          Response("200 OK", R"({"status": "running"})", "ETag: \"1\"\r\n"));
    }
  });
  HttpOperation operation({.url = server.Url("/7")});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(operation({.timeout = kAmple}).status(), PollStatus::kNotReady);
  }
  EXPECT_EQ(full, 1);
}

HttpRequest Post(const SocketServer& server) {
  return {.url = server.Url("/jobs"), .body = "{}"};
}

TEST(HttpOperationServerTest, CancelBeforeTheStartSendsNothing) {
  const SocketServer server(Always(std::string(kOk)));
  HttpOperation job(Post(server),
                    {.cancel = HttpRequest{.url = server.Url("/cancel"),
                                           .method = "DELETE"}});
  EXPECT_EQ(job.Cancel(kAmple).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpOperationServerTest, StopBeforeAStartSendsNothingAndEndsNothing) {
  const SocketServer server(Always(std::string(kOk)));
  HttpOperation job(Post(server));
  stop_source stop;
  stop.request_stop();
  const Poll<HttpResponse> found =
      job({.timeout = kAmple, .stop_token = stop.get_token()});
  EXPECT_EQ(found.status(), PollStatus::kNotReady) << found.error();
  EXPECT_EQ(server.connections(), 0);
  EXPECT_EQ(job({.timeout = kAmple}).status(), PollStatus::kSuccess);
}

TEST(HttpOperationServerTest,
     StopDuringAStartEndsTheWaitAsCancelledAndIsNotRepeated) {
  stop_source stop;
  const SocketServer server([&](SocketServer::Connection& connection) {
    connection.ReadRequest();
    stop.request_stop();
    connection.AwaitClose();
  });
  HttpOperation job(Post(server));
  Waiter wait([&](const PollContext& poll) { return job(poll); },
              {.timeout = kAmple});
  const WaitResult<HttpResponse> end = wait.Wait({.stop = stop.get_token()});
  EXPECT_EQ(end.reason(), StopReason::kCancelled) << end.status();
  EXPECT_EQ(job({.timeout = kAmple}).status(), PollStatus::kFailed);
  EXPECT_EQ(server.connections(), 1);
}

// Addresses as libcurl reads them.

// Returns scheme, host and port that libcurl finds in a URL; "?" if none.
std::string OriginByLibcurl(const std::string& url) {
  CURLU* parsed = curl_url();
  std::string origin = "?";
  if (curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK) {
    origin.clear();
    for (const CURLUPart part :
         {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
      char* text = nullptr;
      if (curl_url_get(parsed, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        absl::StrAppend(&origin, text, " ");
      }
      curl_free(text);
    }
  }
  curl_url_cleanup(parsed);
  return absl::AsciiStrToLower(origin);
}

HttpOperationPlan PlanWithSecret() {
  return {.request = {.url = "https://job.example/jobs",
                      .headers = {{"Authorization", "secret"}},
                      .body = "{}"}};
}

void ExpectSafe(HttpOperationTracker& tracker) {
  const HttpRequest next = tracker.Next();
  const std::string origin = OriginByLibcurl(next.url);
  if (origin == "?") return;  // libcurl sends nothing.
  EXPECT_TRUE(absl::StartsWith(origin, "https ")) << next.url;
  EXPECT_TRUE(next.headers.empty() || origin == "https job.example 443 ")
      << next.url;
}

TEST(HttpOperationOriginTest, CredentialsStayAtTheOriginWhateverTheAddress) {
  const std::vector<std::string> parts = {
      "https:",     "http:", "HTTPS:", "ftp:",        "//",
      "/",          "\\",    "@",      ":443",        ":80",
      ":",          ".",     "..",     "?",           "#",
      "%2f",        "%40",   "%00",    " ",           "\t",
      "u:p@",       "\n",    "[::1]",  "job.example", "evil.example",
      "JOB.example"};
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 3000; ++i) {
    std::string location;
    for (size_t n = 1 + random() % 7; n > 0; --n) {
      location += parts[random() % parts.size()];
    }
    HttpOperationTracker tracker(PlanWithSecret());
    const std::string url = tracker.Next().url;
    tracker.Take(
        {.status = 202, .url = url, .headers = {{"Location", location}}},
        absl::Now());
    if (tracker.has_ended()) continue;
    ExpectSafe(tracker);
    absl::StatusOr<HttpOperationTracker> restored =
        HttpOperationTracker::Restore(PlanWithSecret(), tracker.Save());
    ASSERT_TRUE(restored.ok()) << location << restored.status();
    EXPECT_EQ(restored->Next().url, tracker.Next().url) << location;
  }
}

TEST(HttpOperationOriginTest, DamagedStateIsRefusedOrAsSafe) {
  HttpOperationTracker tracker(PlanWithSecret());
  const std::string url = tracker.Next().url;
  tracker.Take({.status = 202,
                .url = url,
                .headers = {{"Operation-Location", "/op/1"}},
                .body = R"({"status": "Running"})"},
               absl::Now());
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = tracker.Save();
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0) text.erase(at, random() % 3);
      text.insert(at, 1, std::string_view("019-\n\r /:@hs\x80")[random() % 13]);
    }
    absl::StatusOr<HttpOperationTracker> restored =
        HttpOperationTracker::Restore(PlanWithSecret(), text);
    if (!restored.ok()) {
      ASSERT_EQ(restored.status().code(), absl::StatusCode::kInvalidArgument)
          << restored.status();
    } else if (!restored->has_ended()) {
      ExpectSafe(*restored);
    }
  }
}

}  // namespace
}  // namespace waiter::http_operation_server_test

#endif  // WAITER_HAS_CURL
