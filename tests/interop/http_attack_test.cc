// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls, shares, watches and operations over HTTP with misbehaving servers and
// callers.

#include "gtest/gtest.h"

#if __has_include(<curl/curl.h>)

#include <curl/curl.h>

#include <atomic>
#include <cstddef>
#include <future>
#include <latch>
#include <list>
#include <memory>
#include <mutex>
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
#include "tests/interop/http_polls.h"
#include "tests/support/joining_thread.h"
#include "tests/support/socket_server.h"
#include "waiter/delay_source.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

HttpRequest Post(const SocketServer& server) {
  return {.url = server.Url("/jobs"), .body = "{}"};
}

// Sends events until the client goes.
void SendEvents(SocketServer::Connection& connection) {
  connection.ReadRequest();
  connection.Send("HTTP/1.1 200 OK\r\n\r\n");
  while (connection.Send("event\n")) {
  }
}

TEST(HttpAttackTest, CancelBeforeTheStartSendsNothing) {
  const SocketServer server(Always(std::string(kOk)));
  HttpOperation job(Post(server),
                    {.cancel = HttpRequest{.url = server.Url("/cancel"),
                                           .method = "DELETE"}});
  EXPECT_EQ(job.Cancel(kAmple).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpAttackTest, StopBeforeAStartSendsNothingAndEndsNothing) {
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

TEST(HttpAttackTest, StopDuringAStartEndsTheWaitAsCancelledAndIsNotRepeated) {
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

TEST(HttpAttackTest, JsonOf10MegabytesMayBeDeep) {
  for (const std::string_view part : {"{\"a\":", "["}) {
    std::string body;
    while (body.size() < 10'000'000) body.append(part);
    const HttpResponse response = {
        .status = 200, .url = "http://host/job", .body = body};
    const HttpVerdict verdict =
        JudgeHttp({.succeed_if = {JsonIs("a.a", "1")}}, response, absl::Now());
    EXPECT_EQ(verdict.status, PollStatus::kNotReady) << part;
    HttpOperationTracker tracker({.request = {.url = "http://host/job"}});
    tracker.Next();
    EXPECT_NE(tracker.Take(response, absl::Now()).poll.status(),
              PollStatus::kSuccess)
        << part;
  }
}

TEST(HttpAttackTest, HeaderThatBeginsWithAContinuationIsNotHttp) {
  const Poll<HttpResponse> found = PollFor(Response("200 OK", "", " A: b\r\n"));
  EXPECT_EQ(found.status(), PollStatus::kServerError) << found.error();
}

TEST(HttpAttackTest, EveryPrefixOfAnAnswerIsServerError) {
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

TEST(HttpAttackTest, CredentialsStayAtTheOriginWhateverTheAddress) {
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

TEST(HttpAttackTest, DamagedStateIsRefusedOrAsSafe) {
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

TEST(HttpAttackTest, SilenceWithoutLimitKeepsTheStream) {
  std::promise<std::string> seen;
  const SocketServer server([&](SocketServer::Connection& connection) {
    connection.ReadRequest();
    if (connection.ordinal() == 2) seen.set_value("a second connection");
    if (connection.ordinal() > 1) return;
    connection.Send("HTTP/1.1 200 OK\r\n\r\nfirst\n");
    absl::SleepFor(absl::Milliseconds(2500));  // libcurl looks once a second.
    if (connection.Send("second\n")) connection.AwaitClose();
  });
  const HttpWatch watch({.url = server.Url("/")},
                        std::make_shared<WatchedDelays>([] {}, absl::Hours(1)),
                        {.is_change =
                             [&](std::string_view event) {
                               if (event == "second") {
                                 seen.set_value(std::string(event));
                               }
                               return true;
                             },
                         .max_silence = absl::InfiniteDuration(),
                         .backoff = {.initial_delay = absl::Milliseconds(1)}});
  EXPECT_EQ(seen.get_future().get(), "second");
}

TEST(HttpAttackTest, EventMayDestroyTheWaitOfTheWatch) {
  const SocketServer server(SendEvents);
  WaitEngine engine;
  for (int i = 0; i < 20; ++i) {
    std::mutex mutex;
    std::optional<WaitHandle> handle;
    const auto delays = std::make_shared<WatchedDelays>(
        [&] {
          const std::lock_guard lock(mutex);
          if (handle.has_value()) handle->PollNow();
        },
        absl::Hours(1));
    handle = engine.Start(
        Waiter([] { return PollStatus::kNotReady; },
               {.timeout = absl::InfiniteDuration(), .delay_source = delays}),
        [](const WaitResult<>&) {});
    std::latch events(100);
    std::atomic<int> count = 0;
    const HttpWatch watch({.url = server.Url("/")}, delays,
                          {.is_change = [&](std::string_view) {
                            const int n = ++count;
                            const std::lock_guard lock(mutex);
                            if (n == 50) handle.reset();
                            if (n <= 100) events.count_down();
                            return true;
                          }});
    events.wait();  // The watch is destroyed while events come.
  }
}

TEST(HttpAttackTest, RefusalOfAWatchMayDestroyAnother) {
  const SocketServer server(SendEvents);
  const SocketServer refusing(Always(Response("403 Forbidden")));
  const auto delays = std::make_shared<WatchedDelays>([] {}, absl::Hours(1));
  std::optional<HttpWatch> other;
  other.emplace(HttpRequest{.url = server.Url("/")}, delays);
  std::promise<absl::Status> refused;
  const HttpWatch watch({.url = refusing.Url("/")}, delays,
                        {.on_refused = [&](const absl::Status& status) {
                          other.reset();
                          refused.set_value(status);
                        }});
  EXPECT_EQ(refused.get_future().get().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(HttpAttackTest, EventDuringAPollIsNotLostIfTheLastPollWouldFollow) {
  const PollNotifier changed;
  int polls = 0;
  Waiter wait(
      [&] {
        if (++polls > 1) return PollStatus::kSuccess;
        changed.PollNow();
        return PollStatus::kNotReady;
      },
      {.timeout = kAmple,
       .backoff = {.initial_delay = absl::Hours(1),
                   .max_delay = absl::Hours(1)}});
  const WaitResult<> end = wait.Wait({.notifier = &changed});
  EXPECT_TRUE(end.ok()) << end.status();
  EXPECT_LT(end.report().elapsed, kAtOnce);
}

TEST(HttpAttackTest, NoEventIsLostToAWait) {
  const PollNotifier changed;
  std::mutex mutex;  // Handles are thread-compatible.
  WaitHandle handle;
  const auto delays = std::make_shared<WatchedDelays>(
      [&] {
        changed.PollNow();
        const std::lock_guard lock(mutex);
        handle.PollNow();
      },
      absl::Hours(1));
  WaitEngine engine({.threads = 2});
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> is_done = false;
    const Waiter wait(
        [&] { return is_done ? PollStatus::kSuccess : PollStatus::kNotReady; },
        {.timeout = kAmple,
         .backoff = {.initial_delay = absl::Hours(1),
                     .max_delay = absl::Hours(1)},
         .delay_source = delays});
    std::promise<bool> ended;
    handle = engine.Start(wait, [&](const WaitResult<>& end) {
      ended.set_value(end.ok() && end.report().elapsed < kAtOnce);
    });
    JoiningThread blocked([&] {
      Waiter copy = wait;
      const WaitResult<> end = copy.Wait({.notifier = &changed});
      EXPECT_TRUE(end.ok()) << end.status();
      EXPECT_LT(end.report().elapsed, kAtOnce);
    });
    {
      const auto report = [&] {
        for (int n = 0; n < 20; ++n) {
          delays->OnConnected();
          delays->OnChange();
          delays->OnBroken();
        }
      };
      const JoiningThread one(report);
      const JoiningThread two(report);
      const JoiningThread three(report);
    }
    is_done = true;
    delays->OnChange();
    EXPECT_TRUE(ended.get_future().get());
    blocked.join();
  }
}

TEST(HttpAttackTest, StopsOfSomePollsDoNotReachTheOthers) {
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

TEST(HttpAttackTest, PollsThatAwaitAResponseShareItWhateverItsAge) {
  std::atomic<int> begun = 0;
  const SocketServer server([&](SocketServer::Connection& connection) {
    while (!connection.ReadRequest().empty()) {
      while (begun < 8) absl::SleepFor(absl::Milliseconds(1));
      absl::SleepFor(absl::Milliseconds(200));
      if (!connection.Send(kOk)) return;
    }
  });
  const auto share = std::make_shared<HttpShare>(absl::ZeroDuration());
  {
    std::list<JoiningThread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        HttpPoller poller({.url = server.Url("/")}, {.share = share});
        ++begun;
        EXPECT_TRUE(poller({.timeout = kAmple}).has_value());
      });
    }
  }
  EXPECT_LT(server.requests().size(), 8);
}

}  // namespace
}  // namespace waiter

#endif  // __has_include(<curl/curl.h>)
