// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for a job behind HTTP. The test stands in for libcurl, so that it needs
// its header alone; where that is missing, the first function is tested.

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#endif

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/retry_after.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

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

#if defined(LIBCURL_VERSION_NUM) && LIBCURL_VERSION_NUM >= 0x075300

using ::testing::ElementsAre;

struct Response {
  CURLcode error = CURLE_OK;
  long code = 0;
  std::string body = {};
  std::string retry_after = {};
};

// Plays `responses` to the only handle.
struct Connection {
  std::vector<Response> responses = {};
  Response now = {};
  std::string url = {};
  std::vector<long> timeouts = {};
  size_t (*write)(char*, size_t, size_t, void*) = nullptr;
  void* body = nullptr;
  curl_header field = {};
  int handles = 0;
};

Connection& TheConnection() {
  static auto& connection = *new Connection;
  return connection;
}

size_t Append(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

absl::StatusOr<std::string> WaitForJob(const std::string& url,
                                       waiter::WaitOptions options) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(
      curl_easy_init(), &curl_easy_cleanup);
  std::string body;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
  options.poll_timeout = absl::Seconds(30);
  waiter::Waiter wait(
      [&](const waiter::PollContext& poll) -> waiter::Poll<std::string> {
        body.clear();
        // For libcurl, zero means no limit.
        const int64_t limit = absl::ToInt64Milliseconds(poll.timeout);
        curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS,
                         static_cast<long>(std::max<int64_t>(limit, 1)));
        const CURLcode error = curl_easy_perform(curl.get());
        if (error != CURLE_OK) {
          return waiter::ServerError(curl_easy_strerror(error));
        }
        long code = 0;
        curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
        curl_header* field = nullptr;
        curl_easy_header(curl.get(), "Retry-After", 0, CURLH_HEADER, -1,
                         &field);
        return PollOf(static_cast<int>(code), body,
                      field == nullptr ? "" : field->value);
      },
      std::move(options));
  return wait.Wait();
}

TEST(HttpJobTest, WaitsForTheResult) {
  waiter::SimulatedClock clock;
  Connection& connection =
      TheConnection() = {.responses = {{.code = 202, .retry_after = "60"},
                                       {.error = CURLE_RECV_ERROR},
                                       {.code = 200, .body = "42"}}};

  const absl::StatusOr<std::string> got =
      WaitForJob("http://localhost/jobs/7",
                 {.timeout = absl::Minutes(10), .clock = &clock});

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, "42");
  EXPECT_EQ(connection.url, "http://localhost/jobs/7");
  EXPECT_GE(clock.Elapsed(), absl::Minutes(1));
  EXPECT_THAT(connection.timeouts, ElementsAre(30000, 30000, 30000));
  EXPECT_EQ(connection.handles, 0);
}

TEST(HttpJobTest, RequestIsNeverWithoutLimit) {
  waiter::SimulatedClock clock;
  const Connection& connection =
      TheConnection() = {.responses = {{.code = 202}}};

  EXPECT_FALSE(WaitForJob("http://localhost/jobs/7",
                          {.timeout = absl::Microseconds(100), .clock = &clock})
                   .ok());

  EXPECT_THAT(connection.timeouts, ElementsAre(1, 30000));
}

#endif  // LIBCURL_VERSION_NUM

}  // namespace

#if defined(LIBCURL_VERSION_NUM) && LIBCURL_VERSION_NUM >= 0x075300

// The functions of libcurl that the recipe calls.

CURL* curl_easy_init() {
  ++TheConnection().handles;
  return &TheConnection();
}

void curl_easy_cleanup(CURL* /*curl*/) { --TheConnection().handles; }

#undef curl_easy_setopt
CURLcode curl_easy_setopt(CURL* /*curl*/, CURLoption option, ...) {
  Connection& connection = TheConnection();
  std::va_list arguments;
  va_start(arguments, option);
  if (option == CURLOPT_URL) {
    connection.url = va_arg(arguments, const char*);
  } else if (option == CURLOPT_WRITEFUNCTION) {
    connection.write = va_arg(arguments, decltype(connection.write));
  } else if (option == CURLOPT_WRITEDATA) {
    connection.body = va_arg(arguments, void*);
  } else if (option == CURLOPT_TIMEOUT_MS) {
    connection.timeouts.push_back(va_arg(arguments, long));
  }
  va_end(arguments);
  return CURLE_OK;
}

CURLcode curl_easy_perform(CURL* /*curl*/) {
  Connection& connection = TheConnection();
  connection.now = connection.responses.front();
  if (connection.responses.size() > 1) {
    connection.responses.erase(connection.responses.begin());
  }
  std::string body = connection.now.body;
  connection.write(body.data(), 1, body.size(), connection.body);
  return connection.now.error;
}

#undef curl_easy_getinfo
CURLcode curl_easy_getinfo(CURL* /*curl*/, CURLINFO info, ...) {
  std::va_list arguments;
  va_start(arguments, info);
  *va_arg(arguments, long*) = TheConnection().now.code;
  va_end(arguments);
  return CURLE_OK;
}

CURLHcode curl_easy_header(CURL* /*curl*/, const char* /*name*/,
                           size_t /*index*/, unsigned int /*origin*/,
                           int /*request*/, curl_header** hout) {
  Connection& connection = TheConnection();
  if (connection.now.retry_after.empty()) return CURLHE_MISSING;
  connection.field.value = connection.now.retry_after.data();
  *hout = &connection.field;
  return CURLHE_OK;
}

const char* curl_easy_strerror(CURLcode /*error*/) { return "connection lost"; }

#endif  // LIBCURL_VERSION_NUM
