// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits that a watch over HTTP notifies of changes. Skipped in builds without
// libcurl.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_CURL

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/support/socket_server.h"
#include "waiter/delay_source.h"
#include "waiter/interop/http.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace watched_test {
namespace {

using ::testing::HasSubstr;
using Connection = waiter::SocketServer::Connection;

// Waits for a pod. Polls when the watch sees a change, and every 30 s.
absl::Status WaitForPod(const std::string& api, const std::string& pod,
                        const waiter::HttpFields& headers,
                        waiter::WaitOptions options) {
  const waiter::PollNotifier changed;
  const auto watched = std::make_shared<waiter::WatchedDelays>(
      [changed] { changed.PollNow(); }, absl::Seconds(30));
  options.delay_source = watched;
  const waiter::HttpWatch watch(
      {.url = api + "?watch=true&fieldSelector=metadata.name%3D" + pod,
       .headers = headers},
      watched, {.on_refused = [](const absl::Status& status) {
        std::cerr << "polling without a watch: " << status << "\n";
      }});
  waiter::Waiter wait(
      waiter::HttpPoller(
          {.url = api + "/" + pod, .headers = headers},
          {.succeed_if = {waiter::JsonIs("status.phase", "Running")},
           .fail_if = {waiter::JsonIs("status.phase", "Failed")}}),
      std::move(options));
  return wait.Wait({.notifier = &changed}).status();
}

// Waits for a build whose server announces its steps as server-sent events.
absl::Status WaitForBuildEvents(const std::string& url,
                                waiter::WaitOptions options) {
  const waiter::PollNotifier changed;
  const auto watched = std::make_shared<waiter::WatchedDelays>(
      [changed] { changed.PollNow(); }, absl::Seconds(30));
  options.delay_source = watched;
  const waiter::HttpWatch watch(
      {.url = url + "/events", .headers = {{"Accept", "text/event-stream"}}},
      watched, {.is_change = [](std::string_view event) {
        return event.substr(0, 8) == "finished";
      }});
  waiter::Waiter wait(
      waiter::HttpPoller({.url = url},
                         {.succeed_if = {waiter::JsonIs("done", "true")}}),
      std::move(options));
  return wait.Wait({.notifier = &changed}).status();
}

std::string Json(std::string_view body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", std::string(body));
}

// A server whose object changes once it has been polled and is watched. It then
// sends `event`.
waiter::SocketServer::Serve Changing(std::string_view type,
                                     std::string_view event,
                                     std::string_view before,
                                     std::string_view after) {
  struct State {
    std::atomic<int> polls = 0;
    std::atomic<bool> has_changed = false;
  };
  const auto state = std::make_shared<State>();
  return [=](Connection& connection) {
    while (true) {
      const std::string head = connection.ReadRequest();
      if (head.empty()) return;
      if (!absl::StrContains(head, "watch=") &&
          !absl::StrContains(head, "/events")) {
        connection.Send(Json(state->has_changed ? after : before));
        state->polls.fetch_add(1);
        state->polls.notify_all();
        continue;
      }
      // The poll that the connection causes comes after the first one.
      connection.Send(absl::StrCat(
          "HTTP/1.1 200 OK\r\nContent-Type: ", std::string(type), "\r\n\r\n"));
      for (int polls = state->polls; polls < 2; polls = state->polls) {
        state->polls.wait(polls);
      }
      state->has_changed = true;
      connection.Send(event);
      return connection.AwaitClose();
    }
  };
}

// These delays are too long for a test: only the watch can end such a wait.
waiter::WaitOptions Rarely() {
  return {.timeout = absl::Minutes(5),
          .backoff = {.initial_delay = absl::Minutes(10),
                      .max_delay = absl::Minutes(10)}};
}

TEST(WatchedTest, ChangeOfAPodIsPolled) {
  const waiter::SocketServer server(
      Changing("application/json", "{\"type\": \"MODIFIED\"}\n",
               R"({"status": {"phase": "Pending"}})",
               R"({"status": {"phase": "Running"}})"));

  const absl::Status status =
      WaitForPod(server.Url("/api/v1/pods"), "web-0",
                 {{"Authorization", "Bearer x"}}, Rarely());

  EXPECT_TRUE(status.ok()) << status;
}

TEST(WatchedTest, PodThatFailedEndsTheWait) {
  const waiter::SocketServer server(
      Changing("application/json", "{\"type\": \"MODIFIED\"}\n",
               R"({"status": {"phase": "Pending"}})",
               R"({"status": {"phase": "Failed", "reason": "Evicted"}})"));

  const absl::Status status =
      WaitForPod(server.Url("/api/v1/pods"), "web-0", {}, Rarely());

  EXPECT_THAT(std::string(status.message()), HasSubstr("Failed"));
}

TEST(WatchedTest, EventOfABuildIsPolled) {
  const waiter::SocketServer server(Changing(
      "text/event-stream", ": keep alive\n\ndata: step 1\n\ndata: finished\n\n",
      R"({"done": false})", R"({"done": true})"));

  const absl::Status status =
      WaitForBuildEvents(server.Url("/builds/7"), Rarely());

  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace watched_test

#else  // WAITER_HAS_CURL

TEST(WatchedTest, IsSkipped) { GTEST_SKIP() << "built without libcurl"; }

#endif  // WAITER_HAS_CURL
