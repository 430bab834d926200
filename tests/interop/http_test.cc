// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls a real server on a loopback port by libcurl. Skipped in builds
// without libcurl.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_CURL

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <latch>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/interop/http_polls.h"
#include "tests/support/joining_thread.h"
#include "tests/support/socket_server.h"
#include "waiter/classify.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::http_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using Connection = SocketServer::Connection;

TEST(HttpTest, SuccessHasTheResponse) {
  const SocketServer server(
      Always(Response("200 OK", "ready", "Content-Type: text/plain \r\n")));
  const Poll<HttpResponse> poll = PollOnce(server);

  ASSERT_TRUE(poll.has_value()) << poll.error();
  const HttpResponse& response = poll.value();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.reason, "OK");
  EXPECT_EQ(poll.detail(), "HTTP 200: OK");
  EXPECT_EQ(response.body, "ready");
  EXPECT_FALSE(response.body_is_cut);
  EXPECT_EQ(response.url, server.Url("/"));
  EXPECT_THAT(response.headers, ElementsAre(Pair("Content-Type", "text/plain"),
                                            Pair("Content-Length", "5")));
  EXPECT_EQ(response.header("content-TYPE"), "text/plain");
  EXPECT_EQ(response.header("nonesuch"), "");
}

TEST(HttpTest, StatusDecides) {
  EXPECT_EQ(PollFor(Response("204 No Content")).status(), PollStatus::kSuccess);
  EXPECT_EQ(PollFor(Response("202 Accepted")).status(), PollStatus::kNotReady);
  EXPECT_EQ(PollFor(Response("202 Accepted")).detail(), "HTTP 202: Accepted");
  EXPECT_TRUE(PollFor(Response("202 Accepted")).error().ok());
  EXPECT_EQ(PollFor(Response("429 Too Many Requests")).status(),
            PollStatus::kThrottled);
  EXPECT_EQ(PollFor(Response("503 Busy")).error(),
            absl::UnavailableError("HTTP 503: Busy"));
  EXPECT_EQ(PollFor(Response("404 Not Found")).status(), PollStatus::kFailed);
}

TEST(HttpTest, ClassifierOfTheUserDecides) {
  const HttpOptions options = {.classifier =
                                   ErrorClassifier::Http()
                                       .With(404, PollStatus::kNotReady)
                                       .With(200, PollStatus::kThrottled)
                                       .With(410, PollStatus::kSuccess)};

  EXPECT_EQ(PollFor(Response("404 Not Found"), options).status(),
            PollStatus::kNotReady);
  EXPECT_EQ(PollFor(Response("200 OK"), options).status(),
            PollStatus::kThrottled);
  EXPECT_EQ(PollFor(Response("410 Gone"), options).value().status, 410);
}

TEST(HttpTest, HintOfTheServerIsKept) {
  const auto hint = [](std::string_view fields) {
    return PollFor(Response("503 Busy", "", fields)).retry_after();
  };

  EXPECT_EQ(hint("Retry-After: 120\r\n"), absl::Minutes(2));
  EXPECT_EQ(hint("retry-after-ms: 1500\r\n"), absl::Milliseconds(1500));
  EXPECT_EQ(hint("Retry-After: 7\r\nx-ms-retry-after-ms: 1500\r\n"),
            absl::Milliseconds(1500));
  EXPECT_EQ(hint("Retry-After: 7\r\nRetry-After: 8\r\n"), absl::Seconds(7));
  EXPECT_EQ(hint(""), absl::ZeroDuration());
}

TEST(HttpTest, HintMayBeADate) {
  const absl::Time date =
      absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) + absl::Hours(1);
  const std::string field = absl::StrCat(
      "Retry-After: ",
      absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", date, absl::UTCTimeZone()),
      "\r\n");

  const absl::Duration hint =
      PollFor(Response("503 Busy", "", field)).retry_after();

  EXPECT_LE(hint, absl::Hours(1));
  EXPECT_GT(hint, absl::Hours(1) - kAmple);
}

TEST(HttpTest, HintThatIsNoTimeIsIgnored) {
  for (const char* value : {"", "-1", "+1", "1e5", "1s", "tomorrow", "\x80",
                            "99999999999999999999999999s"}) {
    EXPECT_EQ(PollFor(Response("503 Busy", "",
                               absl::StrCat("Retry-After: ", value, "\r\n")))
                  .retry_after(),
              absl::ZeroDuration())
        << value;
  }
}

// Polls until a job is done, by the body.
TEST(HttpTest, FunctionJudgesTheBody) {
  const SocketServer server(
      AnswerEach([polls = 0](const std::string& /*head*/) mutable {
        return Response("200 OK", ++polls < 3 ? "RUNNING" : "DONE");
      }));
  Waiter wait(HttpPoller({.url = server.Url("/jobs/7")},
                         [](const HttpResponse& response) -> Poll<std::string> {
                           if (response.body == "RUNNING") {
                             return NotReady(response.body);
                           }
                           return Success(response.body);
                         }),
              {.timeout = kAmple,
               .backoff = {.initial_delay = absl::Milliseconds(1),
                           .max_delay = absl::Milliseconds(1)}});

  const WaitResult<std::string> result = wait.Wait();

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, "DONE");
  EXPECT_EQ(result.report().attempts, 3);
}

TEST(HttpTest, FunctionMayReturnAnyAnswer) {
  const SocketServer server(Always(Response("200 OK", "DONE")));
  const PollContext context = {.timeout = kAmple};

  HttpPoller with_bool(
      {.url = server.Url("/")},
      [](const HttpResponse& response) { return response.body == "RUNNING"; });
  EXPECT_EQ(with_bool(context).status(), PollStatus::kNotReady);
  HttpPoller with_status({.url = server.Url("/")},
                         [](const HttpResponse& response) {
                           return absl::AbortedError(response.body);
                         });
  EXPECT_EQ(with_status(context).error(), absl::AbortedError("DONE"));
  HttpPoller with_value({.url = server.Url("/")}, [](HttpResponse response) {
    return Success(std::move(response.body));
  });
  EXPECT_EQ(with_value(context).value(), "DONE");
}

TEST(HttpTest, FunctionIsCalledAfterSuccessOnly) {
  const SocketServer server(Always(Response("500 Oops")));
  HttpPoller poller({.url = server.Url("/")}, [](const HttpResponse&) {
    ADD_FAILURE();
    return true;
  });

  EXPECT_EQ(poller({.timeout = kAmple}).status(), PollStatus::kServerError);
}

TEST(HttpTest, AnswerOfTheFunctionGetsTheHint) {
  const SocketServer server(
      Always(Response("200 OK", "RUNNING", "Retry-After: 7\r\n")));
  const auto hint = [&](const Poll<>& answer) {
    HttpPoller poller({.url = server.Url("/")},
                      [&](const HttpResponse&) { return answer; });
    const Poll<> poll = poller({.timeout = kAmple});
    EXPECT_EQ(poll.status(), answer.status());
    EXPECT_EQ(poll.detail(), answer.detail());
    EXPECT_EQ(poll.error(), answer.error());
    return poll.retry_after();
  };

  EXPECT_EQ(hint(NotReady("RUNNING")), absl::Seconds(7));
  EXPECT_EQ(hint(ServerError(absl::InternalError("x"))), absl::Seconds(7));
  EXPECT_EQ(hint(NotReady("RUNNING", absl::Seconds(3))), absl::Seconds(3));
  EXPECT_EQ(hint(Success()), absl::ZeroDuration());
}

TEST(HttpTest, RequestIsSentAsItIs) {
  std::string body;
  SocketServer server([&](Connection& connection) {
    connection.ReadRequest();
    body = connection.body();
    connection.Send(kOk);
  });
  HttpPoller poller({.url = server.Url("/search?q=1"),
                     .method = "PUT",
                     .headers = {{"X-Api-Key", "secret"}, {"X-Empty", ""}},
                     .body = std::string("a\0b", 3)});

  EXPECT_TRUE(poller({.timeout = kAmple}).has_value());
  EXPECT_THAT(
      server.requests(),
      ElementsAre(AllOf(
          StartsWith("PUT /search?q=1 HTTP/1.1\r\n"),
          HasSubstr("\r\nX-Api-Key: secret\r\n"), HasSubstr("\r\nX-Empty:\r\n"),
          HasSubstr("\r\nUser-Agent: waiter\r\n"),
          HasSubstr("\r\nContent-Length: 3\r\n"), Not(HasSubstr("Expect")))));
  EXPECT_EQ(body, std::string("a\0b", 3));
}

TEST(HttpTest, MethodFollowsFromTheBody) {
  const auto line_of = [](std::string method, std::optional<std::string> body) {
    SocketServer server(Always(std::string(kOk)));
    HttpPoller poller({.url = server.Url("/"),
                       .method = std::move(method),
                       .body = std::move(body)});
    EXPECT_TRUE(poller({.timeout = kAmple}).has_value());
    const std::string head = server.requests().at(0);
    return head.substr(0, head.find(' '));
  };

  EXPECT_EQ(line_of("", std::nullopt), "GET");
  EXPECT_EQ(line_of("", ""), "POST");
  EXPECT_EQ(line_of("GET", "{}"), "GET");
  EXPECT_EQ(line_of("POST", std::nullopt), "POST");
  EXPECT_EQ(line_of("DELETE", std::nullopt), "DELETE");
  EXPECT_EQ(line_of("HEAD", std::nullopt), "HEAD");
}

TEST(HttpTest, RequestThatWouldBeTwoIsNotSent) {
  SocketServer server(Always(std::string(kOk)));
  const std::vector<HttpRequest> requests = {
      {.url = server.Url("/"), .headers = {{"X-A", "1\r\nX-B: 2"}}},
      {.url = server.Url("/"), .headers = {{"X-A", std::string("1\0", 2)}}},
      {.url = server.Url("/"), .headers = {{"X-A: 1\r\nX-B", "2"}}},
      {.url = server.Url("/"), .headers = {{"", "2"}}},
      {.url = server.Url("/"), .method = "GET / HTTP/1.1\r\nX: "},
      {.url = server.Url("/\r\nX: ")},
  };
  for (const HttpRequest& request : requests) {
    HttpPoller poller(request);
    const Poll<HttpResponse> poll = poller({.timeout = kAmple});
    EXPECT_EQ(poll.status(), PollStatus::kFailed);
    EXPECT_TRUE(absl::IsInvalidArgument(poll.error())) << poll.error();
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpTest, OtherProtocolsAreRefused) {
  for (const char* url :
       {"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "",
        "http://", "nonesuch://x/"}) {
    HttpPoller poller({.url = url});
    const Poll<HttpResponse> poll = poller({.timeout = kAmple});
    EXPECT_EQ(poll.status(), PollStatus::kFailed) << url;
    EXPECT_TRUE(absl::IsInvalidArgument(poll.error())) << poll.error();
  }
}

TEST(HttpTest, PollsShareAConnection) {
  SocketServer server(Always(Response("200 OK", "body")));
  HttpPoller poller({.url = server.Url("/")});

  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(poller({.timeout = kAmple}).has_value());
  }

  EXPECT_EQ(server.requests().size(), 5);
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpTest, ConnectionThatTheServerClosedIsReplaced) {
  SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kOk);
  });
  HttpPoller poller({.url = server.Url("/")});

  for (int i = 0; i < 3; ++i) {
    const Poll<HttpResponse> poll = poller({.timeout = kAmple});
    EXPECT_TRUE(poll.has_value()) << poll.error();
  }

  EXPECT_EQ(server.connections(), 3);
}

TEST(HttpTest, PollerMayBeMoved) {
  SocketServer server(Always(std::string(kOk)));
  HttpPoller first({.url = server.Url("/"), .body = "x"});
  EXPECT_TRUE(first({.timeout = kAmple}).has_value());
  HttpPoller second = std::move(first);

  EXPECT_TRUE(second({.timeout = kAmple}).has_value());
  EXPECT_EQ(server.connections(), 1);
}

// A port on which nothing listens.
class ClosedPort {
 public:
  ClosedPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, generic, size), 0);
    EXPECT_EQ(getsockname(fd_, generic, &size), 0);
    url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port), "/");
  }
  ~ClosedPort() { close(fd_); }
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;

  const std::string& url() const { return url_; }

 private:
  int fd_;
  std::string url_;
};

TEST(HttpTest, ServerThatIsNotThereIsNotReady) {
  const ClosedPort port;
  HttpPoller poller({.url = port.url()});
  const Poll<HttpResponse> poll = poller({.timeout = kAmple});

  EXPECT_EQ(poll.status(), PollStatus::kNotReady);
  EXPECT_EQ(poll.detail(), "no connection: Connection refused");
  EXPECT_TRUE(poll.error().ok());
}

TEST(HttpTest, ServerThatIsNotThereMayBeAnythingElse) {
  const ClosedPort port;
  const auto status = [&](PollStatus unreachable) {
    HttpPoller poller({.url = port.url()},
                      [](const HttpResponse&) { return NotReady("there"); },
                      {.unreachable = unreachable});
    const Poll<> poll = poller({.timeout = kAmple});
    EXPECT_EQ(poll.detail(), "no connection: Connection refused");
    return poll.status();
  };

  EXPECT_EQ(status(PollStatus::kServerError), PollStatus::kServerError);
  EXPECT_EQ(status(PollStatus::kFailed), PollStatus::kFailed);
  EXPECT_EQ(status(PollStatus::kSuccess), PollStatus::kSuccess);
}

TEST(HttpTest, UnknownHostIsNotReady) {
  HttpPoller poller({.url = "http://nonesuch.invalid/"});
  const Poll<HttpResponse> poll = poller({.timeout = kAtOnce});

  EXPECT_EQ(poll.status(), PollStatus::kNotReady) << poll.error();
}

TEST(HttpTest, SilentServerIsServerErrorAfterTheTimeOfThePoll) {
  const SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.AwaitClose();
  });
  const absl::Time start = absl::Now();
  const Poll<HttpResponse> poll =
      PollOnce(server, {.timeout = absl::Milliseconds(50)});

  EXPECT_EQ(poll.status(), PollStatus::kServerError);
  EXPECT_EQ(poll.error(), absl::DeadlineExceededError("no answer within 50ms"));
  EXPECT_LT(absl::Now() - start, kAtOnce);
}

TEST(HttpTest, TimeBelowAMillisecondIsALimit) {
  const SocketServer server(
      [](Connection& connection) { connection.AwaitClose(); });

  EXPECT_TRUE(absl::IsDeadlineExceeded(
      PollOnce(server, {.timeout = absl::Nanoseconds(1)}).error()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      PollOnce(server, {.timeout = absl::ZeroDuration()}).error()));
}

TEST(HttpTest, BodyThatTricklesEndsWithTheTimeOfThePoll) {
  const SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (connection.Send("x")) absl::SleepFor(absl::Milliseconds(5));
  });
  const absl::Time start = absl::Now();
  const Poll<HttpResponse> poll =
      PollOnce(server, {.timeout = absl::Milliseconds(100)});

  EXPECT_EQ(poll.error(),
            absl::DeadlineExceededError("no end of the answer within 100ms"));
  EXPECT_LT(absl::Now() - start, kAtOnce);
}

TEST(HttpTest, HeaderThatTricklesEndsWithTheTimeOfThePoll) {
  const SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nX-Slow: ");
    while (connection.Send("x")) absl::SleepFor(absl::Milliseconds(5));
  });

  EXPECT_TRUE(absl::IsDeadlineExceeded(
      PollOnce(server, {.timeout = absl::Milliseconds(100)}).error()));
}

enum class Then { kResets, kCloses };

// Polls a server that ends the connection after `text`.
void ExpectServerErrorAfter(std::string_view text, Then then) {
  SCOPED_TRACE(text);
  const SocketServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(text);
    if (then == Then::kResets) connection.Reset();
  });
  const Poll<HttpResponse> poll = PollOnce(server);
  EXPECT_EQ(poll.status(), PollStatus::kServerError);
  EXPECT_TRUE(absl::IsUnavailable(poll.error())) << poll.error();
}

TEST(HttpTest, ConnectionThatIsResetIsServerError) {
  for (const std::string_view text :
       {"", "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"}) {
    ExpectServerErrorAfter(text, Then::kResets);
  }
}

TEST(HttpTest, AnswerThatIsCutOffIsServerError) {
  for (const char* text :
       {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    ExpectServerErrorAfter(text, Then::kCloses);
  }
}

TEST(HttpTest, EveryPrefixOfAnAnswerIsServerError) {
  const std::string answer = Response("200 OK", "body", "ETag: \"x\"\r\n");
  const SocketServer server([&](SocketServer::Connection& connection) {
    connection.ReadRequest();
    connection.Send(
        answer.substr(0, static_cast<size_t>(connection.ordinal())));
  });
  HttpPoller poller({.url = server.Url("/")});
  for (size_t size = 1; size <= answer.size(); ++size) {
    EXPECT_EQ(
        poller({.timeout = kAmple}).status(),
        size < answer.size() ? PollStatus::kServerError : PollStatus::kSuccess)
        << size;
  }
}

TEST(HttpTest, AnswerThatIsNotHttpIsServerError) {
  for (const char* text :
       {"SSH-2.0-x\r\n", "<html>\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1\r\n\r\n", "\r\n\r\n",
        "HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    ExpectServerErrorAfter(text, Then::kCloses);
  }
}

TEST(HttpTest, EndlessHeaderIsServerError) {
  for (const char* line : {"X: y\r\n", "x"}) {
    const SocketServer server([line](Connection& connection) {
      connection.ReadRequest();
      connection.Send("HTTP/1.1 200 OK\r\n");
      while (connection.Send(line)) {
      }
    });
    const Poll<HttpResponse> poll = PollOnce(server);
    EXPECT_EQ(poll.status(), PollStatus::kServerError) << poll.error();
    EXPECT_TRUE(absl::IsUnavailable(poll.error())) << poll.error();
  }
}

TEST(HttpTest, InterimResponsesAreSkipped) {
  const Poll<HttpResponse> poll =
      PollFor(absl::StrCat("HTTP/1.1 100 Continue\r\n\r\n",
                           "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
                           Response("200 OK", "", "A: b\r\n")));

  ASSERT_TRUE(poll.has_value()) << poll.error();
  EXPECT_EQ(poll.value().header("Link"), "");
  EXPECT_EQ(poll.value().header("A"), "b");
}

TEST(HttpTest, TrailersAreNoHeaders) {
  const Poll<HttpResponse> poll = PollFor(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nab\r\n0\r\nRetry-After: 9\r\n\r\n");

  ASSERT_TRUE(poll.has_value()) << poll.error();
  EXPECT_EQ(poll.value().body, "ab");
  EXPECT_EQ(poll.value().header("Retry-After"), "");
}

TEST(HttpTest, BodyMayHaveAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);

  EXPECT_EQ(PollFor(Response("200 OK", bytes)).value().body, bytes);
}

TEST(HttpTest, TextOfTheServerIsSafeToPrint) {
  const Poll<HttpResponse> poll =
      PollFor(absl::StrCat("HTTP/1.1 404 a\x1B[2Jb\x80", std::string(5000, 'c'),
                           "\r\nContent-Length: 0\r\n\r\n"));

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_THAT(std::string(poll.detail()), StartsWith("HTTP 404: a?[2Jb?cc"));
  EXPECT_LT(poll.detail().size(), 80);
}

TEST(HttpTest, BodyIsCutAtItsLimit) {
  const std::string ten = "0123456789";
  const Poll<HttpResponse> whole =
      PollFor(Response("200 OK", ten), {.max_body = 10});
  EXPECT_EQ(whole.value().body, ten);
  EXPECT_FALSE(whole.value().body_is_cut);

  const Poll<HttpResponse> cut =
      PollFor(Response("200 OK", ten), {.max_body = 9});
  EXPECT_EQ(cut.value().body, "012345678");
  EXPECT_TRUE(cut.value().body_is_cut);
}

TEST(HttpTest, EndlessBodyIsNotRead) {
  const SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\n\r\n");
    const std::string megabyte(1 << 20, 'x');
    while (connection.Send(megabyte)) {
    }
  });

  EXPECT_EQ(PollOnce(server).value().body.size(), 1 << 20);
}

TEST(HttpTest, FunctionDoesNotGetABodyThatIsCut) {
  const SocketServer server(Always(Response("200 OK", "0123456789")));
  HttpPoller poller({.url = server.Url("/")},
                    [](const HttpResponse&) {
                      ADD_FAILURE();
                      return true;
                    },
                    {.max_body = 9});
  const Poll<> poll = poller({.timeout = kAmple});

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_EQ(poll.error(),
            absl::OutOfRangeError("HTTP 200 with a body of more than 9 bytes"));
}

TEST(HttpTest, LongBodyOfAnErrorIsNoMatter) {
  EXPECT_EQ(
      PollFor(Response("503 Busy", "0123456789"), {.max_body = 9}).error(),
      absl::UnavailableError("HTTP 503: Busy"));
}

// "ready", and 100,000 times "x".
constexpr std::string_view kReadyInGzip(
    "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\x2B\x4A\x4D\x4C\xA9\x04\x00\xAF"
    "\x85\x95\x28\x05\x00\x00\x00",
    25);
constexpr std::string_view kLongInGzip(
    "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xED\xC1\x31\x01\x00\x00\x00\xC2"
    "\xA0\xDA\x8B\x6F\x0D\x0F\xA0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x57\x03\x71\x11"
    "\x07\xFE\xA0\x86\x01\x00",
    132);

TEST(HttpTest, BodyIsDecodedUpToItsLimit) {
  const auto body = [](std::string_view bytes, HttpOptions options = {}) {
    return PollFor(Response("200 OK", bytes, "Content-Encoding: gzip\r\n"),
                   std::move(options))
        .value();
  };

  EXPECT_EQ(body(kReadyInGzip).body, "ready");
  EXPECT_EQ(body(kLongInGzip).body, std::string(100'000, 'x'));
  const HttpResponse cut = body(kLongInGzip, {.max_body = 1000});
  EXPECT_EQ(cut.body, std::string(1000, 'x'));
  EXPECT_TRUE(cut.body_is_cut);
}

TEST(HttpTest, BodyThatCannotBeDecodedNamesItsCoding) {
  for (const char* coding : {"gzip", "nonesuch"}) {
    const Poll<HttpResponse> poll =
        PollFor(Response("200 OK", "no such bytes",
                         absl::StrCat("Content-Encoding: ", coding, "\r\n")));
    EXPECT_EQ(poll.error(),
              absl::UnavailableError(absl::StrCat(
                  "the body cannot be decoded, Content-Encoding: ", coding)));
  }
}

// skypilot-org/skypilot#9996 and cdap#13476: the job has failed.
TEST(HttpTest, ConditionEndsTheWaitAsFailed) {
  SocketServer server(AnswerEach([polls =
                                      0](const std::string& /*head*/) mutable {
    return Response("200 OK",
                    ++polls < 3 ? R"({"status": "RUNNING"})"
                                : R"({"status": "FAILED", "reason": "disk"})");
  }));
  Waiter wait(HttpPoller({.url = server.Url("/jobs/7")},
                         {.succeed_if = {JsonIs("status", "SUCCEEDED")},
                          .fail_if = {JsonIs("status", "FAILED")}}),
              {.timeout = kAmple,
               .backoff = {.initial_delay = absl::Milliseconds(1),
                           .max_delay = absl::Milliseconds(1)}});

  const WaitResult<HttpResponse> result = wait.Wait();

  EXPECT_EQ(result.reason(), StopReason::kFailed);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("HTTP 200: status is \"FAILED\": disk"));
  EXPECT_EQ(server.requests().size(), 3);
}

TEST(HttpTest, StatusesMayBeThoseOfAReadyServer) {
  EXPECT_EQ(
      PollFor(Response("404 Not Found"), {.ready_on = {{{404, 404}}}}).status(),
      PollStatus::kSuccess);
  EXPECT_EQ(PollFor(Response("200 OK"), {.ready_on = {{{404, 404}}}}).status(),
            PollStatus::kNotReady);
}

// Stops a request after the server has sent `text`.
void StopAfter(const char* text) {
  stop_source stop;
  std::latch received(1);
  const SocketServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(text);
    received.count_down();
    connection.AwaitClose();
  });
  const JoiningThread stopper([&] {
    received.wait();
    stop.request_stop();
  });
  const Poll<HttpResponse> poll =
      PollOnce(server, {.timeout = kAmple, .stop_token = stop.get_token()});

  EXPECT_EQ(poll.status(), PollStatus::kNotReady);
  EXPECT_TRUE(absl::IsCancelled(poll.error()));
}

TEST(HttpTest, StopEndsARequestAtOnce) {
  const absl::Time start = absl::Now();
  for (int i = 0; i < 20; ++i) {
    StopAfter("");
    StopAfter("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
  }

  // libcurl alone wakes up only about once a second.
  EXPECT_LT(absl::Now() - start, kAtOnce / 4);
}

TEST(HttpTest, StopEndsAWaitAsCancelled) {
  stop_source stop;
  const SocketServer server([&](Connection& connection) {
    connection.ReadRequest();
    stop.request_stop();
    connection.AwaitClose();
  });
  Waiter wait(HttpPoller({.url = server.Url("/")}), {.timeout = kAmple});

  EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
}

TEST(HttpTest, StopBeforeAPollSendsNothing) {
  stop_source stop;
  stop.request_stop();
  SocketServer server(Always(std::string(kOk)));

  EXPECT_EQ(
      PollOnce(server, {.timeout = kAmple, .stop_token = stop.get_token()})
          .status(),
      PollStatus::kNotReady);
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpTest, PollAfterAStopStartsAfresh) {
  stop_source stop;
  SocketServer server([&](Connection& connection) {
    connection.ReadRequest();
    if (connection.ordinal() == 1) {
      connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
      stop.request_stop();
      connection.AwaitClose();
    } else {
      connection.Send(Response("200 OK", "whole"));
    }
  });
  HttpPoller poller({.url = server.Url("/")});

  poller({.timeout = kAmple, .stop_token = stop.get_token()});
  const Poll<HttpResponse> poll = poller({.timeout = kAmple});

  ASSERT_TRUE(poll.has_value()) << poll.error();
  EXPECT_EQ(poll.value().body, "whole");
}

TEST(HttpTest, UserMayConfigureLibcurl) {
  SocketServer server(Always(std::string(kOk)));
  int calls = 0;
  HttpPoller poller({.url = server.Url("/")}, {.configure = [&](CURL* curl) {
                      ++calls;
                      curl_easy_setopt(curl, CURLOPT_USERPWD, "user:word");
                    }});

  poller({.timeout = kAmple});
  poller({.timeout = kAmple});

  EXPECT_EQ(calls, 1);
  EXPECT_THAT(server.requests(),
              ElementsAre(HasSubstr("Authorization: Basic"),
                          HasSubstr("Authorization: Basic")));
}

}  // namespace
}  // namespace waiter::http_test

#else  // WAITER_HAS_CURL

TEST(HttpTest, IsSkipped) { GTEST_SKIP() << "built without libcurl"; }

#endif  // WAITER_HAS_CURL
