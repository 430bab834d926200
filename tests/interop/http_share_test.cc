// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Pollers that share their requests to a server on a loopback port. Skipped in
// builds without libcurl.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_CURL

#include <atomic>
#include <latch>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/interop/http_polls.h"
#include "tests/support/joining_thread.h"
#include "tests/support/socket_server.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"

namespace waiter::http_share_test {
namespace {

using ::testing::SizeIs;
using Connection = SocketServer::Connection;

const PollContext kFirst = {.attempt = 1, .timeout = kAmple};
const PollContext kSecond = {.attempt = 2, .timeout = kAmple};

std::shared_ptr<HttpShare> ShareFor(absl::Duration max_age) {
  return std::make_shared<HttpShare>(max_age);
}

TEST(HttpShareTest, LaterPollsTakeTheLastResponseOfAnother) {
  const SocketServer server(Always(Response("200 OK", "x")));
  const auto share = ShareFor(kAmple);
  HttpPoller one({.url = server.Url("/")}, {.share = share});
  HttpPoller two({.url = server.Url("/")}, {.share = share});

  EXPECT_EQ(one(kFirst).value().body, "x");
  EXPECT_EQ(two(kSecond).value().body, "x");
  EXPECT_EQ(one(kSecond).value().body, "x");

  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(HttpShareTest, FirstPollOfAWaitSeesNothingFromBeforeIt) {
  const SocketServer server(Always(Response("200 OK")));
  const auto share = ShareFor(kAmple);
  HttpPoller one({.url = server.Url("/")}, {.share = share});
  HttpPoller two({.url = server.Url("/")}, {.share = share});

  EXPECT_TRUE(one(kFirst).has_value());
  EXPECT_TRUE(two(kFirst).has_value());

  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST(HttpShareTest, ResponseIsTakenUpToItsAge) {
  const SocketServer server(Always(Response("200 OK")));
  const auto share = ShareFor(absl::ZeroDuration());
  HttpPoller one({.url = server.Url("/")}, {.share = share});

  EXPECT_TRUE(one(kFirst).has_value());
  EXPECT_TRUE(one(kSecond).has_value());

  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST(HttpShareTest, OnlyEqualRequestsAreShared) {
  const SocketServer server(Always(Response("200 OK")));
  const std::string url = server.Url("/");
  const auto share = ShareFor(kAmple);
  std::list<HttpPoller<>> pollers;
  const auto add = [&](HttpRequest request, HttpOptions options = {}) {
    options.share = share;
    pollers.emplace_back(std::move(request), std::move(options));
  };
  add({.url = url});
  add({.url = absl::StrCat(url, "?")});
  add({.url = url, .method = "HEAD"});
  add({.url = url, .headers = {{"Authorization", "a"}}});
  add({.url = url, .headers = {{"Authorization", "b"}}});
  add({.url = url, .body = ""});
  add({.url = url}, {.max_body = 1});
  add({.url = url}, {.max_redirects = 0});
  add({.url = url}, {.long_poll = {.hold = absl::Seconds(1)}});
  add({.url = url}, {.configure = [](CURL*) {}});
  // These rules are not part of the request.
  add({.url = url}, {.succeed_if = {BodyContains("x")}});

  for (HttpPoller<>& poller : pollers) poller(kSecond);

  EXPECT_THAT(server.requests(), SizeIs(pollers.size() - 1));
}

TEST(HttpShareTest, EachPollerJudgesByItsOwnConditions) {
  const SocketServer server(Always(Response("200 OK", "ready")));
  const auto share = ShareFor(kAmple);
  HttpPoller one({.url = server.Url("/")},
                 {.succeed_if = {BodyContains("ready")}, .share = share});
  HttpPoller two({.url = server.Url("/")},
                 {.fail_if = {BodyContains("ready")}, .share = share});

  EXPECT_EQ(one(kSecond).status(), PollStatus::kSuccess);
  EXPECT_EQ(two(kSecond).status(), PollStatus::kFailed);

  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(HttpShareTest, PollsThatStartTogetherShareARequestWhateverItsAge) {
  constexpr int kWaits = 16;
  for (const absl::Duration max_age : {kAmple, absl::ZeroDuration()}) {
    std::latch all_poll(kWaits);
    const SocketServer server([&](Connection& connection) {
      while (!connection.ReadRequest().empty()) {
        all_poll.wait();
        absl::SleepFor(absl::Milliseconds(200));
        connection.Send(Response("200 OK"));
      }
    });
    const auto share = ShareFor(max_age);
    std::atomic<int> successes = 0;
    {
      std::list<JoiningThread> threads;
      for (int i = 0; i < kWaits; ++i) {
        threads.emplace_back([&] {
          HttpPoller poller({.url = server.Url("/")}, {.share = share});
          all_poll.count_down();
          if (poller(kFirst).has_value()) ++successes;
        });
      }
    }

    EXPECT_EQ(successes, kWaits);
    // Some may begin after the first response was sent.
    EXPECT_LE(server.requests().size(), max_age == kAmple ? 4U : kWaits - 1);
  }
}

TEST(HttpShareTest, ResponseToAHeldRequestIsNewsOnce) {
  const SocketServer server([](Connection& connection) {
    while (!connection.ReadRequest().empty()) {
      absl::SleepFor(absl::Milliseconds(600));
      connection.Send(Response("200 OK", "x"));
    }
  });
  const auto share = ShareFor(kAmple);
  const HttpOptions options = {.succeed_if = {BodyContains("y")},
                               .long_poll = {.hold = absl::Seconds(1)},
                               .share = share};
  HttpPoller one({.url = server.Url("/")}, options);
  HttpPoller two({.url = server.Url("/")}, options);

  EXPECT_EQ(one(kFirst).next_delay(), absl::ZeroDuration());
  EXPECT_EQ(two(kSecond).next_delay(), absl::ZeroDuration());
  EXPECT_THAT(server.requests(), SizeIs(1));
  EXPECT_EQ(two(kSecond).next_delay(), absl::ZeroDuration());
  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST(HttpShareTest, StoppedOrImpatientPollIsNotTheOthersOutcome) {
  std::latch first_arrived(1);
  const SocketServer server([&](Connection& connection) {
    while (!connection.ReadRequest().empty()) {
      if (connection.ordinal() == 1) {
        first_arrived.count_down();
        return connection.AwaitClose();
      }
      connection.Send(Response("200 OK"));
    }
  });
  const auto share = ShareFor(kAmple);
  HttpPoller patient({.url = server.Url("/")}, {.share = share});
  stop_source stop;
  const JoiningThread leader([&] {
    HttpPoller poller({.url = server.Url("/")}, {.share = share});
    const Poll<HttpResponse> poll =
        poller({.timeout = kAmple, .stop_token = stop.get_token()});
    EXPECT_TRUE(absl::IsCancelled(poll.error())) << poll.error();
  });
  first_arrived.wait();

  HttpPoller impatient({.url = server.Url("/")}, {.share = share});
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      impatient({.timeout = absl::Milliseconds(1)}).error()));

  const JoiningThread stopper([&] { stop.request_stop(); });
  EXPECT_TRUE(patient(kFirst).has_value());
}

TEST(HttpShareTest, StopEndsAPollThatAwaitsAnother) {
  std::latch arrived(1);
  const SocketServer server([&](Connection& connection) {
    connection.ReadRequest();
    arrived.count_down();
    connection.AwaitClose();
  });
  const auto share = ShareFor(kAmple);
  stop_source stop_leader;
  const JoiningThread leader([&] {
    HttpPoller poller({.url = server.Url("/")}, {.share = share});
    poller({.timeout = kAmple, .stop_token = stop_leader.get_token()});
  });
  arrived.wait();
  stop_source stop;
  stop.request_stop();
  HttpPoller follower({.url = server.Url("/")}, {.share = share});

  EXPECT_TRUE(absl::IsCancelled(
      follower({.timeout = kAmple, .stop_token = stop.get_token()}).error()));
  stop_leader.request_stop();
}

TEST(HttpShareTest, StopsOfSomePollsDoNotReachTheOthers) {
  const SocketServer server(Always(std::string(kOk)));
  const auto share = std::make_shared<HttpShare>(absl::ZeroDuration());
  std::list<JoiningThread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, stops = i % 2 == 0] {
      HttpPoller poller({.url = server.Url("/")}, {.share = share});
      for (int n = 0; n < 100; ++n) {
        stop_source stop;
        JoiningThread stopper;
        if (stops) stopper = JoiningThread([&] { stop.request_stop(); });
        const Poll<HttpResponse> found =
            poller({.attempt = 1 + n % 3,
                    .timeout = kAmple,
                    .stop_token = stop.get_token()});
        EXPECT_TRUE(found.has_value() ||
                    (stops && found.status() == PollStatus::kNotReady))
            << found.error();
      }
    });
  }
}

}  // namespace
}  // namespace waiter::http_share_test

#else  // WAITER_HAS_CURL

TEST(HttpShareTest, IsSkipped) { GTEST_SKIP() << "built without libcurl"; }

#endif  // WAITER_HAS_CURL
