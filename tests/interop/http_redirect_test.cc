// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Conditional requests and redirects of an `HttpPoller`, with a real server on
// a loopback port. Skipped in builds without libcurl.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_CURL

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/interop/http_polls.h"
#include "tests/support/socket_server.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"
#include "waiter/waiter.h"

namespace waiter::http_redirect_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Answers 304 to a request that already has the tag of `state`.
std::string Answer(const std::string& head, std::string_view state) {
  const std::string tag = absl::StrCat("ETag: \"", state, "\"\r\n");
  return absl::StrContains(head, absl::StrCat("If-None-Match: \"", state, "\""))
             ? absl::StrCat("HTTP/1.1 304 Not Modified\r\n", tag, "\r\n")
             : Response("200 OK", state, tag);
}

// google/go-github#242, await-remote-run#320: polls that cost quota although
// nothing changed.
TEST(HttpRedirectTest, JobThatChangesFiveTimesCostsSixAnswers) {
  int full = 0;
  int polls = 0;
  SocketServer server(AnswerEach([&](const std::string& head) {
    const std::string answer = Answer(head, std::to_string(polls++ / 20));
    if (!absl::StrContains(answer, "304")) ++full;
    return answer;
  }));
  HttpPoller poller({.url = server.Url("/job")},
                    {.succeed_if = {BodyContains("5")}});

  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(poller({.timeout = kAmple}).status(), PollStatus::kNotReady);
  }
  const Poll<HttpResponse> poll = poller({.timeout = kAmple});
  ASSERT_TRUE(poll.has_value()) << poll.error();
  EXPECT_EQ(poll.value().body, "5");
  EXPECT_EQ(full, 6);
  EXPECT_TRUE(poller({.timeout = kAmple}).value().not_modified);
}

TEST(HttpRedirectTest, RedirectGetsNoConditions) {
  SocketServer server(
      AnswerEach([answers = 0](const std::string& head) mutable {
        return ++answers == 2
                   ? Response("302 Found", "", "Location: /there\r\n")
                   : Answer(head, "x");
      }));
  HttpPoller poller({.url = server.Url("/")});

  EXPECT_FALSE(poller({.timeout = kAmple}).value().not_modified);
  EXPECT_FALSE(poller({.timeout = kAmple}).value().not_modified);
  const std::vector<std::string> requests = server.requests();
  ASSERT_EQ(requests.size(), 3);
  EXPECT_THAT(requests[1], HasSubstr("If-None-Match"));
  EXPECT_THAT(requests[2],
              AllOf(StartsWith("GET /there"), Not(HasSubstr("If-None-Match"))));
}

TEST(HttpRedirectTest, CacheControlTurnsConditionsOff) {
  SocketServer server(Always(Response("200 OK", "x", "ETag: \"1\"\r\n")));
  HttpPoller poller(
      {.url = server.Url("/"), .headers = {{"Cache-Control", "no-cache"}}});
  for (int i = 0; i < 2; ++i) poller({.timeout = kAmple});

  EXPECT_THAT(server.requests(), ElementsAre(Not(HasSubstr("If-None")),
                                             Not(HasSubstr("If-None"))));
}

// Redirects "/" to `location`, and answers all other paths.
SocketServer::Serve RedirectTo(std::string location) {
  return AnswerEach([location = std::move(location)](const std::string& head) {
    return absl::StrContains(head, " / ")
               ? Response("302 Found", "ignored",
                          absl::StrCat("Location: ", location, "\r\n"))
               : Response("200 OK", "there");
  });
}

TEST(HttpRedirectTest, RedirectIsFollowed) {
  SocketServer server(RedirectTo("/there"));
  HttpPoller poller(
      {.url = server.Url("/"), .headers = {{"X-Api-Key", "secret"}}});
  const Poll<HttpResponse> poll = poller({.timeout = kAmple});

  ASSERT_TRUE(poll.has_value()) << poll.error();
  EXPECT_EQ(poll.value().url, server.Url("/there"));
  EXPECT_EQ(poll.value().body, "there");
  EXPECT_EQ(server.connections(), 1);
  EXPECT_THAT(server.requests(), ElementsAre(HasSubstr("X-Api-Key: secret"),
                                             HasSubstr("X-Api-Key: secret")));
}

TEST(HttpRedirectTest, RedirectToAnotherOriginDropsTheHeaders) {
  SocketServer other(Always(std::string(kOk)));
  SocketServer server(RedirectTo(other.Url("/there")));
  HttpPoller poller({.url = server.Url("/"),
                     .headers = {{"X-Api-Key", "secret"},
                                 {"Authorization", "Bearer secret"}}});

  // Each poll is redirected again.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(poller({.timeout = kAmple}).has_value());
  }

  EXPECT_THAT(server.requests(),
              ElementsAre(AllOf(HasSubstr("X-Api-Key: secret"),
                                HasSubstr("Authorization: Bearer secret")),
                          AllOf(HasSubstr("X-Api-Key: secret"),
                                HasSubstr("Authorization: Bearer secret"))));
  EXPECT_THAT(other.requests(),
              ElementsAre(Not(HasSubstr("secret")), Not(HasSubstr("secret"))));
}

// libcurl follows a redirect whose header is cut off, or has a line of spaces.
TEST(HttpRedirectTest, RedirectWithAnOddHeaderDropsTheHeaders) {
  SocketServer other(Always(std::string(kOk)));
  const std::string location =
      absl::StrCat("Location: ", other.Url("/there"), "\r\n");
  for (const std::string& rest :
       {location,
        absl::StrCat("X: y\r\n \r\n", location, "Content-Length: 0\r\n\r\n")}) {
    SCOPED_TRACE(rest);
    SocketServer server([&rest](SocketServer::Connection& connection) {
      connection.ReadRequest();
      connection.Send(absl::StrCat("HTTP/1.1 302 Found\r\n", rest));
    });
    HttpPoller poller(
        {.url = server.Url("/"), .headers = {{"X-Api-Key", "secret"}}});

    const Poll<HttpResponse> poll = poller({.timeout = kAmple});
    ASSERT_TRUE(poll.has_value()) << poll.error();
    EXPECT_EQ(poll.value().url, other.Url("/there"));
  }
  EXPECT_THAT(other.requests(),
              ElementsAre(Not(HasSubstr("secret")), Not(HasSubstr("secret"))));
}

TEST(HttpRedirectTest, RedirectBackDoesNotBringTheHeadersBack) {
  SocketServer* other_server = nullptr;
  SocketServer server(AnswerEach([&](const std::string& head) {
    return absl::StrContains(head, " / ")
               ? Response("302 Found", "",
                          absl::StrCat("Location: ", other_server->Url("/back"),
                                       "\r\n"))
               : Response("200 OK");
  }));
  SocketServer other(Always(Response(
      "302 Found", "", absl::StrCat("Location: ", server.Url("/x"), "\r\n"))));
  other_server = &other;
  HttpPoller poller(
      {.url = server.Url("/"), .headers = {{"X-Api-Key", "secret"}}});

  EXPECT_TRUE(poller({.timeout = kAmple}).has_value());
  EXPECT_THAT(server.requests(),
              ElementsAre(HasSubstr("secret"), Not(HasSubstr("secret"))));
}

TEST(HttpRedirectTest, RedirectsInACircleAreFailed) {
  SocketServer server(
      Always(Response("302 Found", "", "Location: /again\r\n")));
  HttpPoller poller({.url = server.Url("/")}, {.max_redirects = 4});
  const Poll<HttpResponse> poll = poller({.timeout = kAmple});

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_EQ(poll.error(),
            absl::FailedPreconditionError("Maximum (4) redirects followed"));
  EXPECT_EQ(server.requests().size(), 5);
}

TEST(HttpRedirectTest, RedirectThatIsNotFollowedIsTheAnswer) {
  SocketServer server(RedirectTo("/there"));
  HttpPoller none({.url = server.Url("/")}, {.max_redirects = 0});
  EXPECT_EQ(none({.timeout = kAmple}).error(),
            absl::UnknownError("HTTP 302: Found"));
  HttpPoller with_body({.url = server.Url("/"), .body = "x"});
  EXPECT_EQ(with_body({.timeout = kAmple}).status(), PollStatus::kFailed);
  EXPECT_EQ(server.requests().size(), 2);
}

TEST(HttpRedirectTest, RedirectToAnotherProtocolIsRefused) {
  for (const char* location :
       {"file:///etc/passwd", "ftp://127.0.0.1/", "http://[", "nonesuch:x"}) {
    const SocketServer server(RedirectTo(location));
    const Poll<HttpResponse> poll = PollOnce(server);
    EXPECT_EQ(poll.status(), PollStatus::kFailed) << location;
    EXPECT_TRUE(absl::IsFailedPrecondition(poll.error())) << poll.error();
  }
}

}  // namespace
}  // namespace waiter::http_redirect_test

#else  // WAITER_HAS_CURL

TEST(HttpRedirectTest, IsSkipped) { GTEST_SKIP() << "built without libcurl"; }

#endif  // WAITER_HAS_CURL
