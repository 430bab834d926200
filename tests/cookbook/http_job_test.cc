// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for a job behind HTTP. Builds without libcurl test only the function
// for other clients.

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/waiter.h"

#ifdef WAITER_HAS_CURL
#include "tests/support/socket_server.h"
#include "waiter/interop/http.h"
#include "waiter/testing/simulated_clock.h"
#endif

namespace http_job_test {
namespace {

// Returns the meaning of a response to `GET /jobs/7`, which is 202 while the
// job runs, and 200 with its result.
waiter::Poll<std::string> PollOf(int code, const std::string& body,
                                 std::string_view retry_after) {
  if (code == 200) return waiter::Success(body);
  return waiter::FromHttp(code, body,
                          waiter::ParseRetryAfter(retry_after, absl::Now()));
}

TEST(HttpJobTest, ResponseWithTheResultIsSuccess) {
  const waiter::Poll<std::string> poll = PollOf(200, "42", "");

  ASSERT_TRUE(poll.has_value());
  EXPECT_EQ(poll.value(), "42");
}

TEST(HttpJobTest, HintOfTheServerIsKept) {
  const waiter::Poll<std::string> poll = PollOf(202, "running", "5");

  EXPECT_EQ(poll.status(), waiter::PollStatus::kNotReady);
  EXPECT_EQ(poll.retry_after(), absl::Seconds(5));
  EXPECT_EQ(PollOf(202, "running", "").retry_after(), absl::ZeroDuration());
}

TEST(HttpJobTest, CodeDecides) {
  EXPECT_EQ(PollOf(429, "", "").status(), waiter::PollStatus::kThrottled);
  EXPECT_EQ(PollOf(503, "", "").status(), waiter::PollStatus::kServerError);
  EXPECT_EQ(PollOf(404, "", "").status(), waiter::PollStatus::kFailed);
  EXPECT_EQ(PollOf(404, "no job 7", "").error(),
            absl::NotFoundError("HTTP 404: no job 7"));
}

#ifdef WAITER_HAS_CURL

absl::StatusOr<std::string> WaitForJob(const std::string& url,
                                       const std::string& token,
                                       waiter::WaitOptions options,
                                       const waiter::stop_token& stop = {}) {
  options.poll_timeout = absl::Seconds(30);
  waiter::Waiter wait(
      waiter::HttpPoller(
          {.url = url, .headers = {{"Authorization", "Bearer " + token}}},
          [](waiter::HttpResponse response) -> waiter::Poll<std::string> {
            if (response.body.empty()) return waiter::Failed("no result");
            return waiter::Success(std::move(response.body));
          },
          {.unreachable = waiter::PollStatus::kServerError}),
      std::move(options));
  return wait.Wait(stop);
}

using Connection = waiter::SocketServer::Connection;

TEST(HttpJobTest, WaitsForTheResult) {
  waiter::SimulatedClock clock;
  waiter::SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Send(
        "HTTP/1.1 202 Accepted\r\nRetry-After: 60\r\n"
        "Content-Length: 0\r\n\r\n");
    connection.ReadRequest();
    connection.Send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n42");
  });

  const absl::StatusOr<std::string> got =
      WaitForJob(server.Url("/jobs/7"), "secret",
                 {.timeout = absl::Minutes(10), .clock = &clock});

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, "42");
  EXPECT_GE(clock.Elapsed(), absl::Minutes(1));
}

TEST(HttpJobTest, JobWithoutAResultEndsTheWait) {
  waiter::SimulatedClock clock;
  const waiter::SocketServer server([](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 204 No Content\r\n\r\n");
  });

  EXPECT_EQ(WaitForJob(server.Url("/jobs/7"), "secret",
                       {.timeout = absl::Minutes(10), .clock = &clock})
                .status()
                .message(),
            "no result (wait, after 1 attempt in 0)");
}

#else  // WAITER_HAS_CURL

TEST(HttpJobTest, WaitsForTheResult) {
  GTEST_SKIP() << "built without libcurl";
}

#endif  // WAITER_HAS_CURL

}  // namespace
}  // namespace http_job_test
