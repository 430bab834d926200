// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs probes and servers on one loop, over real sockets.

#include "cli/probes/http/http_probe.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/flags/http_flags.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/http/grpc_health.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_server.h"
#include "tests/support/run_until.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter::cli::http_probe_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Then = HttpReply::Then;

std::shared_ptr<const HttpOptions> OptionsOf(std::string_view flags_text) {
  Flags flags("waiter", "", "");
  HttpFlags http;
  http.AddTo(flags);
  http.AddFamilyTo(flags);
  const std::vector<std::string> args =
      absl::StrSplit(flags_text, ' ', absl::SkipEmpty());
  EXPECT_TRUE(flags.Parse(args).ok()) << flags_text;
  return std::make_shared<const HttpOptions>(*http.Options(flags));
}

// Sets a variable of the environment, or removes it.
void SetVariable(const char* name, const char* value) {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread reads it
  value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

class HttpProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* const name :
         {"http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}) {
      SetVariable(name, nullptr);
    }
    absl::StatusOr<std::unique_ptr<HttpClient>> client =
        HttpClient::Make(loop_);
    if (!client.ok()) GTEST_SKIP() << client.status().message();
    client_ = *std::move(client);
    ASSERT_TRUE(server_.listens());
  }

  std::unique_ptr<Probe> MakeProbe(HttpDestination destination,
                                   std::string_view flags = "") {
    absl::StatusOr<std::unique_ptr<Probe>> probe =
        MakeHttpProbe(*client_, std::move(destination), OptionsOf(flags));
    EXPECT_TRUE(probe.ok()) << probe.status();
    return *std::move(probe);
  }

  // Makes one poll.
  Finding Poll(Probe& probe) {
    std::optional<Finding> found;
    probe.Start({}, [&](Finding finding) { found = std::move(finding); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return found.has_value(); }))
        << "the poll hangs";
    return found.value_or(Finding());
  }
  Finding Poll(HttpDestination destination, std::string_view flags = "") {
    return Poll(*MakeProbe(std::move(destination), flags));
  }
  Finding Poll(std::string url, std::string_view flags = "") {
    return Poll(HttpDestination{.url = std::move(url)}, flags);
  }

  // Returns an unused path. The test removes it at the end.
  std::string NewSocketPath() {
    std::string path = absl::StrCat(testing::TempDir(), "/s", getpid());
    if (path.size() > 80) path = absl::StrCat("s", getpid());
    unlink(path.c_str());
    sockets_.push_back(path);
    return path;
  }

  void TearDown() override {
    for (const std::string& path : sockets_) unlink(path.c_str());
  }

  EventLoop loop_;
  HttpServer server_{loop_};
  std::unique_ptr<HttpClient> client_;
  std::vector<std::string> sockets_;
};

struct Row {
  std::string_view name;
  HttpReply reply;
  std::string_view flags;
  PollStatus found;
  std::string_view detail;
};

std::vector<Row> Behaviors() {
  constexpr PollStatus kSuccess = PollStatus::kSuccess;
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  constexpr PollStatus kServerError = PollStatus::kServerError;
  const std::string many_headers = [] {
    std::string text = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 6000; ++i) {
      absl::StrAppend(&text, "X-", i, ": ", std::string(60, 'v'), "\r\n");
    }
    return text + "\r\n";
  }();
  return {
      {"answers",
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nready"},
       "--body-regex=^ready$",
       kSuccess,
       "HTTP 200 OK"},
      {"answers until it closes",
       {"HTTP/1.0 200 OK\r\n\r\n{\"a\": 1}"},
       "--json=.a==1",
       kSuccess,
       "HTTP 200 OK"},
      {"answers byte by byte",
       {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nready",
        .byte_by_byte = true},
       "--body-regex=^ready$",
       kSuccess,
       "HTTP 200 OK"},
      {"answers in chunks, and a trailer",
       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n"
        "2\r\nre\r\n3\r\nady\r\n0\r\nX-A: c\r\n\r\n"},
       "--body-regex=^ready$ --expect-header=X-A=^b$",
       kSuccess,
       "HTTP 200 OK"},
      {"has a status line for a trailer",
       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nup\r\n0\r\nHTTP/1.1 500 Oops: x\r\n\r\n"},
       "--body-regex=^up$",
       kSuccess,
       "HTTP 200 OK"},
      {"has a header in the trailer alone",
       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nup\r\n0\r\nX-A: b\r\n\r\n"},
       "--expect-header=X-A=b",
       kNotReady,
       "HTTP 200, no header X-A"},
      {"answers without a body",
       {"HTTP/1.1 204 No Content\r\n\r\n"},
       "",
       kSuccess,
       "HTTP 204 No Content"},
      {"sends an interim answer first",
       {"HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n"
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"},
       "",
       kNotReady,
       "HTTP 503 Service Unavailable"},
      {"has no reason to say",
       {"HTTP/1.1 500\r\nContent-Length: 0\r\n\r\n"},
       "",
       kServerError,
       "HTTP 500"},
      {"asks for less",
       {"HTTP/1.1 429 Slow Down\r\nRetry-After: 3\r\nContent-Length: "
        "0\r\n\r\n"},
       "",
       PollStatus::kThrottled,
       "HTTP 429 Slow Down"},
      {"has another body",
       {"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nstarting"},
       "--body-regex=ready",
       kNotReady,
       "HTTP 200, body does not match /ready/"},
      {"sends garbage",
       {"220 smtp.example.com ESMTP\r\n"},
       "",
       kServerError,
       "the answer is not HTTP"},
      {"sends garbage for a status",
       {"HTTP/1.1 2x0 OK\r\n\r\n"},
       "",
       kServerError,
       "the answer is not HTTP"},
      {"closes immediately",
       {""},
       "",
       kServerError,
       "connection closed without an answer"},
      {"resets", {.then = Then::kReset}, "", kServerError, ""},
      {"closes in the headers",
       {"HTTP/1.1 200 OK\r\nContent-Le"},
       "",
       kServerError,
       "connection closed before the headers ended"},
      {"closes after an interim answer",
       {"HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n"},
       "",
       kServerError,
       ""},
      {"closes in the body",
       {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nready"},
       "--body-regex=ready",
       kServerError,
       "HTTP 200, connection closed before the body ended"},
      {"closes in a chunk",
       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nre"},
       "",
       kServerError,
       ""},
      {"has a huge body",
       {.bytes = "HTTP/1.1 200 OK\r\n\r\nready\n", .then = Then::kSendForever},
       "--body-regex=^ready$",
       kSuccess,
       "HTTP 200 OK"},
      {"has a huge body in which nothing is found",
       {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        .then = Then::kSendForever},
       "--body-regex=ready",
       kNotReady,
       "HTTP 200, body, of which the first 1 MiB was read, does not match "
       "/ready/"},
      {"has endless headers",
       {.bytes = many_headers, .then = Then::kHang},
       "",
       kServerError,
       "the HTTP header is too large"},
      {"has an endless header",
       {.bytes = "HTTP/1.1 200 OK\r\nX: ", .then = Then::kSendForever},
       "",
       kServerError,
       "the HTTP header is too large"},
      {"redirects forever",
       {"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"},
       "",
       kServerError,
       "more than 10 redirects, the last with HTTP 302"},
      {"redirects, and must not be followed",
       {"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"},
       "--no-redirect --status=302",
       kSuccess,
       "HTTP 302 Found"},
      {"speaks no HTTP/2",
       {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
       "--http2",
       kServerError,
       "connection closed without an HTTP/2 response"},
      {"redirects to a file",
       {"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
        "Content-Length: 0\r\n\r\n"},
       "--body-regex=root",
       kServerError,
       "redirected to a URL that is neither http nor https"},
      {"has no body for HEAD",
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\n"},
       "--method=HEAD --expect-header=X-A=b",
       kSuccess,
       "HTTP 200 OK"},
  };
}

TEST_F(HttpProbeTest, EveryBehaviorOfAServerIsAFinding) {
  for (const Row& row : Behaviors()) {
    SCOPED_TRACE(row.name);
    HttpServer server(loop_);
    server.Play(row.reply);
    const Finding finding = Poll(server.Url("/ready"), row.flags);
    EXPECT_EQ(finding.status, row.found)
        << PollStatusName(finding.status) << ": " << finding.detail;
    if (row.detail.empty()) {
      EXPECT_THAT(finding.detail, Not(HasSubstr("HTTP/")));
      EXPECT_FALSE(finding.detail.empty());
    } else {
      EXPECT_EQ(finding.detail, row.detail);
    }
    EXPECT_FALSE(finding.absent);
    // The probe reads no further.
    EXPECT_TRUE(RunUntil(loop_, [&] { return server.connections() == 0; }));
  }
}

TEST_F(HttpProbeTest, RequestFollowsTheFlags) {
  server_.Play({.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});

  Poll(server_.Url("/a?b=c"));
  Poll(server_.Url("/"), "--header=X-A:b --header=Host:example.com");
  Poll(server_.Url("/"), "--header=X-Empty: --header=Accept:text/plain");
  Poll(server_.Url("/"), "--data=a&b");
  Poll(server_.Url("/"), "--data=a --method=PUT");
  Poll(server_.Url("/"), "--data= --method=POST");
  Poll(server_.Url("/"), "--method=DELETE");
  Poll(server_.Url("/"), "--method=POST");
  Poll(absl::StrCat("http://user:pass@127.0.0.1:", server_.port(), "/"));

  const std::vector<std::string>& requests = server_.requests();
  ASSERT_EQ(requests.size(), 9U);
  EXPECT_THAT(requests[0], StartsWith("GET /a?b=c HTTP/1.1\r\n"));
  EXPECT_THAT(requests[0], HasSubstr("\r\nUser-Agent: waiter\r\n"));
  EXPECT_THAT(requests[0], Not(HasSubstr("Expect:")));
  EXPECT_THAT(requests[1], HasSubstr("\r\nX-A: b\r\n"));
  EXPECT_THAT(requests[1], HasSubstr("\r\nHost: example.com\r\n"));
  EXPECT_THAT(requests[2], HasSubstr("\r\nX-Empty:\r\n"));
  EXPECT_THAT(requests[2], HasSubstr("\r\nAccept: text/plain\r\n"));
  EXPECT_THAT(requests[2], Not(HasSubstr("*/*")));
  EXPECT_THAT(requests[3], StartsWith("POST / "));
  EXPECT_THAT(requests[3], HasSubstr("\r\n\r\na&b"));
  EXPECT_THAT(requests[4], StartsWith("PUT / "));
  EXPECT_THAT(requests[4], HasSubstr("\r\nContent-Length: 1\r\n"));
  EXPECT_THAT(requests[5], StartsWith("POST / "));
  EXPECT_THAT(requests[5], HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_THAT(requests[6], StartsWith("DELETE / "));
  EXPECT_THAT(requests[7], StartsWith("POST / "));
  EXPECT_THAT(requests[7], HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_THAT(requests[8],
              HasSubstr("\r\nAuthorization: Basic dXNlcjpwYXNz\r\n"));
}

TEST_F(HttpProbeTest, EachPollSendsTheWholeRequestOnItsOwnConnection) {
  // The server would keep the connection alive.
  server_.Play({.bytes = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
                .then = Then::kHang});
  server_.Play({.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                .then = Then::kHang});
  const std::unique_ptr<Probe> probe =
      MakeProbe({server_.Url("/")}, "--data=the-body");

  EXPECT_EQ(Poll(*probe).status, PollStatus::kNotReady);
  EXPECT_TRUE(RunUntil(loop_, [&] { return server_.connections() == 0; }));
  EXPECT_EQ(Poll(*probe).status, PollStatus::kSuccess);

  ASSERT_EQ(server_.requests().size(), 2U);
  EXPECT_THAT(server_.requests()[0], HasSubstr("\r\n\r\nthe-body"));
  EXPECT_EQ(server_.requests()[0], server_.requests()[1]);
}

TEST_F(HttpProbeTest, AnswerIsThatAfterTheRedirects) {
  server_.Play(
      {"HTTP/1.1 301 Moved\r\nLocation: /b\r\nX-A: first\r\n"
       "Content-Length: 3\r\n\r\nold"});
  server_.Play(
      {"HTTP/1.1 200 OK\r\nX-A: second\r\nContent-Length: 3\r\n\r\n"
       "new"});

  const Finding finding =
      Poll(server_.Url("/a"), "--body-regex=^new$ --expect-header=X-A=first");

  EXPECT_EQ(finding.detail, "HTTP 200, X-A: second does not match /first/");
  EXPECT_THAT(server_.requests(),
              ElementsAre(StartsWith("GET /a "), StartsWith("GET /b ")));
}

TEST_F(HttpProbeTest, RedirectToAnotherHostGetsNoSecrets) {
  HttpServer other(loop_);
  other.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  const auto redirect = [](HttpServer& from, std::string_view status,
                           std::string_view url) {
    from.Play({absl::StrCat("HTTP/1.1 ", status, "\r\nLocation: ", url,
                            "\r\nContent-Length: 0\r\n\r\n")});
  };
  redirect(server_, "302 Found", "/b");
  redirect(server_, "302 Found", other.Url("/c"));
  EXPECT_EQ(Poll(server_.Url("/a"), "--header=X-Key:secret").detail,
            "HTTP 200 OK");
  ASSERT_EQ(server_.requests().size(), 2U);
  EXPECT_THAT(server_.requests()[1], HasSubstr("X-Key: secret"))
      << "the host is the same";
  ASSERT_EQ(other.requests().size(), 1U);
  EXPECT_THAT(other.requests()[0], Not(HasSubstr("secret")));

  for (const char* const status :
       {"300 Multiple Choices", "307 Temporary Redirect",
        "308 Permanent Redirect"}) {
    SCOPED_TRACE(status);
    HttpServer repeating(loop_);
    redirect(repeating, status, other.Url("/c"));
    EXPECT_EQ(Poll(repeating.Url("/a"), "--data=secret").detail,
              "redirected to another host, to which --data is not sent");
  }
  EXPECT_EQ(other.requests().size(), 1U);

  // The request after a 303 has no body to repeat.
  redirect(server_, "303 See Other", "/b");
  redirect(server_, "307 Temporary Redirect", other.Url("/c"));
  EXPECT_EQ(Poll(server_.Url("/a"), "--data=secret").detail, "HTTP 200 OK");
  EXPECT_THAT(other.requests().back(), Not(HasSubstr("secret")));
}

TEST_F(HttpProbeTest, OddLocationsGetNoSecrets) {
  HttpServer other(loop_);
  other.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  for (const char* const before :
       {"Location:\r\n", "Location : /same\r\n", "X: y\r\n Location: /same\r\n",
        "X: y\r\n \r\n", "location: /same\r\n"}) {
    SCOPED_TRACE(before);
    HttpServer server(loop_);
    server.Play({absl::StrCat("HTTP/1.1 302 Found\r\n", before,
                              "Location: ", other.Url("/c"),
                              "\r\nContent-Length: 0\r\n\r\n")});
    server.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});

    EXPECT_EQ(Poll(server.Url("/a"), "--header=X-Key:secret").detail,
              "HTTP 200 OK");
  }
  HttpServer cut(loop_);
  cut.Play({absl::StrCat("HTTP/1.1 302 Found\r\nLocation: ", other.Url("/c"),
                         "\r\n")});
  EXPECT_EQ(Poll(cut.Url("/a"), "--header=X-Key:secret").detail, "HTTP 200 OK");
  EXPECT_FALSE(other.requests().empty());
  EXPECT_THAT(other.requests(), Each(Not(HasSubstr("secret"))));
}

TEST_F(HttpProbeTest, LocationMayHaveASpace) {
  server_.Play(
      {absl::StrCat("HTTP/1.1 302 Found\r\nLocation: ", server_.Url("/b c"),
                    "\r\nContent-Length: 0\r\n\r\n")});
  server_.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});

  EXPECT_EQ(Poll(server_.Url("/a"), "--header=X-Key:secret").detail,
            "HTTP 200 OK");
  EXPECT_THAT(
      server_.requests(),
      ElementsAre(StartsWith("GET /a "), AllOf(StartsWith("GET /b%20c "),
                                               HasSubstr("X-Key: secret"))));
}

TEST_F(HttpProbeTest, RefusalIsAbsent) {
  std::string url;
  std::string address;
  {
    const HttpServer gone(loop_);
    url = gone.Url("/");
    address = absl::StrCat("127.0.0.1:", gone.port());
  }

  const Finding finding = Poll(url);

  EXPECT_EQ(finding.status, PollStatus::kNotReady);
  EXPECT_EQ(finding.detail, absl::StrCat("refused by ", address));
  EXPECT_TRUE(finding.absent);
}

TEST_F(HttpProbeTest, UnknownNameIsNotAbsent) {
  // The name exceeds the limit on a label, so that no server is queried.
  const std::string name(64, 'a');

  const Finding finding = Poll(absl::StrCat("http://user:pass@", name, "/"));

  EXPECT_EQ(finding.status, PollStatus::kNotReady);
  EXPECT_EQ(finding.detail, absl::StrCat("name not found: ", name));
  EXPECT_FALSE(finding.absent);
}

TEST_F(HttpProbeTest, NotFoundIsAbsent) {
  server_.Play({"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"});

  EXPECT_TRUE(Poll(server_.Url("/")).absent);
}

TEST_F(HttpProbeTest, BothFamiliesAreTried) {
  HttpServer server(loop_, HttpServer::Family::kIpv6);
  if (!server.listens()) GTEST_SKIP() << "no IPv6 loopback address here";
  server.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  const std::string by_name =
      absl::StrCat("http://localhost:", server.port(), "/");

  EXPECT_EQ(Poll(server.Url("/")).status, PollStatus::kSuccess);
  EXPECT_EQ(Poll(by_name).status, PollStatus::kSuccess);
  EXPECT_EQ(Poll(by_name, "--ipv6").status, PollStatus::kSuccess);
  const Finding finding = Poll(by_name, "--ipv4");
  EXPECT_EQ(finding.detail,
            absl::StrCat("refused by 127.0.0.1:", server.port()));
}

TEST_F(HttpProbeTest, LoopbackBypassesTheProxy) {
  server_.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  SetVariable("http_proxy", "http://127.0.0.1:1/");

  const Finding finding = Poll(server_.Url("/"));

  SetVariable("http_proxy", nullptr);
  EXPECT_EQ(finding.status, PollStatus::kSuccess) << finding.detail;
}

TEST_F(HttpProbeTest, OtherHostsGoThroughTheProxyOfTheEnvironment) {
  server_.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  SetVariable("http_proxy", server_.Url("").c_str());

  const Finding finding = Poll("http://example.invalid/ready");

  SetVariable("http_proxy", nullptr);
  EXPECT_EQ(finding.status, PollStatus::kSuccess) << finding.detail;
  EXPECT_THAT(server_.requests(),
              ElementsAre(StartsWith("GET http://example.invalid/ready ")));
}

TEST_F(HttpProbeTest, TimeoutSaysHowFarTheServerCame) {
  const auto time_out = [&](HttpReply reply) {
    HttpServer server(loop_);
    server.Play(std::move(reply));
    const std::unique_ptr<Probe> probe = MakeProbe({server.Url("/")});
    std::optional<Finding> found;
    probe->Start({}, [&](Finding finding) { found = std::move(finding); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return !server.requests().empty(); }));
    // Sent bytes arrive in the next round.
    for (int round = 0; round < 10; ++round) {
      loop_.RunOnce(GetRealClock().MonotonicNow());
    }
    probe->TimeOut(absl::Seconds(10));
    EXPECT_TRUE(found.has_value());
    EXPECT_TRUE(RunUntil(loop_, [&] { return server.connections() == 0; }));
    return found.value_or(Finding());
  };

  for (const char* const interim :
       {"", "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n"}) {
    SCOPED_TRACE(interim);
    const Finding silent = time_out({.bytes = interim, .then = Then::kHang});
    EXPECT_EQ(silent.status, PollStatus::kServerError);
    EXPECT_EQ(silent.detail, "connected, no answer within 10s");
  }

  const Finding half =
      time_out({.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nready",
                .then = Then::kHang});
  EXPECT_EQ(half.status, PollStatus::kServerError);
  EXPECT_EQ(half.detail, "HTTP 200, body not complete within 10s");
}

TEST_F(HttpProbeTest, FullBacklogIsNotAConnection) {
  // Linux drops connection attempts beyond a full backlog.
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, generic, size), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  ASSERT_EQ(getsockname(listener, generic, &size), 0);
  std::array<int, 4> fillers = {};
  for (int& filler : fillers) {
    filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)connect(filler, generic, size);
  }
  const std::string where = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  const std::unique_ptr<Probe> probe = MakeProbe({"http://" + where});
  std::optional<Finding> found;

  probe->Start({}, [&](Finding finding) { found = std::move(finding); });
  for (int round = 0; round < 100; ++round) {
    loop_.RunOnce(GetRealClock().MonotonicNow());
  }
  probe->TimeOut(absl::Seconds(10));

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->status, PollStatus::kNotReady);
  EXPECT_EQ(found->detail,
            absl::StrCat("no answer from ", where, " within 10s"));
  for (const int filler : fillers) close(filler);
  close(listener);
}

TEST_F(HttpProbeTest, CancelledPollDoesNotAnswer) {
  server_.Play({.then = Then::kHang});
  server_.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  const std::unique_ptr<Probe> probe = MakeProbe({server_.Url("/")});
  bool answered = false;
  probe->Start({}, [&](const Finding& /*finding*/) { answered = true; });
  ASSERT_TRUE(RunUntil(loop_, [&] { return !server_.requests().empty(); }));

  probe->Cancel();

  EXPECT_TRUE(RunUntil(loop_, [&] { return server_.connections() == 0; }));
  EXPECT_FALSE(answered);
  EXPECT_EQ(Poll(*probe).status, PollStatus::kSuccess);
  EXPECT_FALSE(answered);
}

TEST_F(HttpProbeTest, AnswerMayStartTheNextPollOrEndTheProbe) {
  server_.Play({"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"});
  std::unique_ptr<Probe> probe = MakeProbe({server_.Url("/")});
  int polls = 0;
  std::function<void(Finding)> again = [&](const Finding& /*finding*/) {
    if (++polls < 3) {
      probe->Start({}, again);
    } else {
      probe.reset();
    }
  };

  probe->Start({}, again);

  EXPECT_TRUE(RunUntil(loop_, [&] { return probe == nullptr; }));
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(server_.requests().size(), 3U);
}

TEST_F(HttpProbeTest, ManyTargetsArePolledAtOnce) {
  server_.Play({.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                .byte_by_byte = true});
  std::vector<std::unique_ptr<Probe>> probes;
  int successes = 0;
  for (int i = 0; i < 50; ++i) {
    probes.push_back(MakeProbe({server_.Url("/")}));
    probes.back()->Start({}, [&](const Finding& finding) {
      successes += finding.status == PollStatus::kSuccess ? 1 : 0;
      // The last probe ends inside the answer of another.
      if (successes == 10) probes.back()->Cancel();
    });
  }

  EXPECT_TRUE(RunUntil(loop_, [&] { return successes >= 49; }));
}

TEST_F(HttpProbeTest, SocketGetsTheRequestWithAllFlags) {
  const std::string socket = NewSocketPath();
  HttpServer server(loop_, socket);
  ASSERT_TRUE(server.listens());
  server.Play({"HTTP/1.1 401 No\r\nContent-Length: 8\r\n\r\n{\"a\": 1}"});
  SetVariable("http_proxy", "http://127.0.0.1:1/");

  const Finding finding =
      Poll({.url = "http://user:pass@localhost/health?x=y", .socket = socket},
           "--status=401 --json=.a==1 --header=X-Key:secret");

  SetVariable("http_proxy", nullptr);
  EXPECT_EQ(finding.status, PollStatus::kSuccess) << finding.detail;
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_THAT(server.requests()[0], StartsWith("GET /health?x=y HTTP/1.1\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("\r\nHost: localhost\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("\r\nX-Key: secret\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("dXNlcjpwYXNz"));
}

TEST_F(HttpProbeTest, AbstractSocketGetsTheRequest) {
  const std::string socket = absl::StrCat("@waiter.http_probe_test.", getpid());
  const HttpDestination destination = {.url = "http://localhost/",
                                       .socket = socket};
  {
    HttpServer server(loop_, socket);
    ASSERT_TRUE(server.listens());
    server.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
    EXPECT_EQ(Poll(destination).status, PollStatus::kSuccess);
  }
  const Finding gone = Poll(destination);
  EXPECT_EQ(gone.detail, absl::StrCat("refused by ", socket));
  EXPECT_TRUE(gone.absent);
}

TEST_F(HttpProbeTest, SocketThatIsMissingOrRefusesIsAbsent) {
  const std::string socket = NewSocketPath();
  const HttpDestination destination = {.url = "http://localhost/",
                                       .socket = socket};
  const Finding missing = Poll(destination);
  EXPECT_EQ(missing.status, PollStatus::kNotReady);
  EXPECT_EQ(missing.detail,
            absl::StrCat(socket, ": No such file or directory"));
  EXPECT_TRUE(missing.absent);

  // The file of a socket stays when its server ends.
  EXPECT_TRUE(HttpServer(loop_, socket).listens());
  const Finding refused = Poll(destination);
  EXPECT_EQ(refused.status, PollStatus::kNotReady);
  EXPECT_EQ(refused.detail, absl::StrCat("refused by ", socket));
  EXPECT_TRUE(refused.absent);
}

TEST_F(HttpProbeTest, LongestPathOfASocketIsTaken) {
  // 107 bytes and the zero that ends them.
  const std::string folder = absl::StrCat(NewSocketPath(), ".");
  const std::string socket =
      absl::StrCat(folder, std::string(107 - folder.size(), 's'));
  HttpServer server(loop_, socket);
  ASSERT_TRUE(server.listens());
  server.Play({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});

  const Finding finding = Poll({.url = "http://localhost/", .socket = socket});

  EXPECT_EQ(finding.status, PollStatus::kSuccess) << finding.detail;
  unlink(socket.c_str());
}

TEST_F(HttpProbeTest, RedirectStaysOnTheSocket) {
  const std::string socket = NewSocketPath();
  HttpServer server(loop_, socket);
  ASSERT_TRUE(server.listens());
  const auto redirect = [&](std::string_view url) {
    server.Play({absl::StrCat("HTTP/1.1 302 Found\r\nLocation: ", url,
                              "\r\nContent-Length: 0\r\n\r\n")});
  };
  const HttpDestination destination = {.url = "http://localhost/a",
                                       .socket = socket};
  redirect("/b");
  redirect("http://localhost/c");
  redirect(server_.Url("/d?token=secret"));
  const Finding finding = Poll(destination, "--header=X-Key:secret");

  EXPECT_EQ(finding.status, PollStatus::kServerError);
  EXPECT_EQ(finding.detail,
            absl::StrCat("redirected to ", server_.Url(""),
                         ", which the Unix socket does not reach"));
  EXPECT_THAT(server.requests(),
              ElementsAre(StartsWith("GET /a "), StartsWith("GET /b "),
                          StartsWith("GET /c ")));
  EXPECT_TRUE(server_.requests().empty());

  HttpServer to_tls(loop_, absl::StrCat(socket, ".tls"));
  to_tls.Play({"HTTP/1.1 302 Found\r\nLocation: https://localhost/\r\n\r\n"});
  EXPECT_EQ(
      Poll(
          {.url = "http://localhost/a", .socket = absl::StrCat(socket, ".tls")})
          .detail,
      "redirected to https://localhost, which the Unix socket does not reach");
  unlink(absl::StrCat(socket, ".tls").c_str());
}

// Returns a frame of HTTP/2 (RFC 9113, 4.1) for the first stream of a client,
// or for the connection.
std::string Frame(int type, int flags, std::string_view payload,
                  int stream = 1) {
  std::string frame(2, '\0');
  for (const int byte :
       {static_cast<int>(payload.size()), type, flags, 0, 0, 0, stream}) {
    frame.push_back(static_cast<char>(byte));
  }
  return absl::StrCat(frame, payload);
}

// Returns a header as HPACK writes one without tables (RFC 7541, 6.2.2).
std::string Field(std::string_view name, std::string_view value) {
  return absl::StrCat(std::string(1, '\0'),
                      std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}

constexpr int kData = 0;
constexpr int kHeaders = 1;
constexpr int kReset = 3;
constexpr int kSettings = 4;
constexpr int kGoAway = 7;
constexpr int kEndStream = 1;
constexpr int kEndHeaders = 4;

// A test of calls whose answer is made of frames of HTTP/2.
class GrpcCallTest : public HttpProbeTest {
 protected:
  // Polls a server that sends this reply.
  Finding PollServer(HttpReply reply) {
    using std::string_literals::operator""s;
    HttpServer server(loop_);
    server.Play(std::move(reply));
    absl::StatusOr<std::unique_ptr<Probe>> probe = MakeHttpProbe(
        *client_, {.url = server.Url(kGrpcHealthPath), .http2 = true},
        std::make_shared<const HttpOptions>(
            GrpcHealthOptions(*OptionsOf("--header=X-Key:secret"), "my.S")),
        [](const HttpAnswer& answer, absl::Time now) {
          return JudgeGrpcHealth("my.S", answer, now);
        });
    EXPECT_TRUE(probe.ok()) << probe.status();
    Finding finding = Poll(**probe);
    EXPECT_EQ(server.requests().size(), 1U);
    EXPECT_THAT(server.requests(),
                ElementsAre(HasSubstr("\0\0\0\0\x06\x0a\x04my.S"s)));
    return finding;
  }

  static std::string Trailers(std::string_view status) {
    return Frame(kHeaders, kEndHeaders | kEndStream,
                 Field("grpc-status", status));
  }

  const std::string settings_ = Frame(kSettings, 0, "", 0);
  const std::string headers_ = Frame(
      kHeaders, kEndHeaders,
      Field(":status", "200") + Field("content-type", "application/grpc"));
  const std::string message_ = std::string("\0\0\0\0\x02\x08\x01", 7);
  const std::string serving_ = Frame(kData, 0, message_);
};

TEST_F(GrpcCallTest, EndsWithTrailers) {
  const Finding good =
      PollServer({settings_ + headers_ + serving_ + Trailers("0")});
  EXPECT_EQ(good.status, PollStatus::kSuccess) << good.detail;
  EXPECT_EQ(good.detail, "SERVING");

  const Finding pieces =
      PollServer({.bytes = settings_ + headers_ + serving_ + Trailers("0"),
                  .byte_by_byte = true});
  EXPECT_EQ(pieces.status, PollStatus::kSuccess) << pieces.detail;

  // The trailers come from the answer, not from the interim answer before it.
  const Finding late =
      PollServer({settings_ +
                  Frame(kHeaders, kEndHeaders,
                        Field(":status", "103") + Field("grpc-status", "0")) +
                  headers_ + serving_ + Trailers("14")});
  EXPECT_EQ(late.status, PollStatus::kNotReady);
  EXPECT_EQ(late.detail, "gRPC status 14 UNAVAILABLE");

  const Finding trailers_alone = PollServer(
      {settings_ + Frame(kHeaders, kEndHeaders | kEndStream,
                         Field(":status", "200") +
                             Field("content-type", "application/grpc") +
                             Field("grpc-status", "12"))});
  EXPECT_EQ(trailers_alone.status, PollStatus::kFailed);
  EXPECT_EQ(trailers_alone.detail, "gRPC status 12 UNIMPLEMENTED");

  const Finding without =
      PollServer({settings_ + headers_ + Frame(kData, kEndStream, message_)});
  EXPECT_EQ(without.status, PollStatus::kServerError);
  EXPECT_EQ(without.detail, "HTTP 200, which is not a gRPC response");
}

// Even after valid frames.
TEST_F(GrpcCallTest, ErrorIsNeverAnAnswer) {
  using std::string_literals::operator""s;
  for (const std::string& bytes :
       {absl::StrCat(settings_, headers_, serving_),
        absl::StrCat(settings_, headers_, serving_,
                     Frame(kReset, 0, "\0\0\0\x02"s)),
        absl::StrCat(settings_, Frame(kGoAway, 0, "\0\0\0\0\0\0\0\x0b"s, 0)),
        absl::StrCat(settings_, headers_, serving_,
                     "garbage, as no frame is")}) {
    const Finding broken = PollServer({bytes});
    EXPECT_EQ(broken.status, PollStatus::kServerError);
    EXPECT_FALSE(broken.detail.empty());
    EXPECT_FALSE(broken.absent);
  }
}

TEST_F(HttpProbeTest, OtherProtocolsAreNotHttp2) {
  using std::string_literals::operator""s;
  for (const std::string& bytes :
       {"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nbad"s,
        "\x15\x03\x01\0\x02\x02\x46"s, "220 smtp.example.com ESMTP\r\n"s, ""s,
        Frame(kSettings, 0, "", 0)}) {
    HttpServer server(loop_);
    server.Play({bytes});
    const Finding finding = Poll(
        HttpDestination{.url = server.Url("/"), .http2 = true}, "--data=a");
    EXPECT_EQ(finding.status, PollStatus::kServerError);
    EXPECT_EQ(finding.detail, "connection closed without an HTTP/2 response");
  }
}

TEST_F(HttpProbeTest, InvalidUrlIsRefused) {
  for (const std::string_view url :
       {"", "localhost", "ftp://localhost/", "http://", "http://user:secret@/",
        "http://localhost:99999/", "http://user:secret@a b/",
        "file:///etc/passwd"}) {
    const absl::Status status =
        MakeHttpProbe(*client_, {.url = std::string(url)}, OptionsOf(""))
            .status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 Not(HasSubstr("secret"))))
        << url;
  }
}

}  // namespace
}  // namespace waiter::cli::http_probe_test
