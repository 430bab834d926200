// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// An operation over HTTP whose requests and answers a test scripts in turn:
//
//   Followed operation(Plan("POST", "https://h/jobs"));
//   ExpectRuns(operation.Answer("POST https://h/jobs",
//                               Response(202, "", {{"Location", "/7"}})),
//              "started (accepted: HTTP 202)");

#ifndef WAITER_TESTS_INTEROP_FOLLOWED_OPERATION_H_
#define WAITER_TESTS_INTEROP_FOLLOWED_OPERATION_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter {
inline const absl::Time kNow = absl::FromUnixSeconds(1'767'323'045);

inline HttpResponse Response(int status, std::string body = "",
                             HttpFields headers = {}) {
  return {
      .status = status, .headers = std::move(headers), .body = std::move(body)};
}

class Followed {
 public:
  explicit Followed(HttpOperationPlan plan) : tracker_(std::move(plan)) {}

  // Expects that the next request is `line`, such as "GET https://...", and
  // answers it.
  HttpOperationStep Answer(std::string_view line, HttpResponse response) {
    return Take(line, [&] { return tracker_.Take(response, now_); });
  }

  HttpOperationStep Lose(std::string_view line, bool was_sent) {
    return Take(line, [&] {
      return tracker_.TakeFailure(ServerError("no answer within 5s"), was_sent);
    });
  }

  void Sleep(absl::Duration delay) { now_ += delay; }
  const HttpRequest& request() const { return request_; }
  HttpOperationTracker& tracker() { return tracker_; }

 private:
  template <typename F>
  HttpOperationStep Take(std::string_view line, F take) {
    EXPECT_FALSE(tracker_.has_ended());
    request_ = tracker_.Next();
    const std::string method = !request_.method.empty()    ? request_.method
                               : request_.body.has_value() ? "POST"
                                                           : "GET";
    EXPECT_EQ(absl::StrCat(method, " ", request_.url), line);
    return take();
  }

  HttpOperationTracker tracker_;
  HttpRequest request_;
  absl::Time now_ = kNow;
};

inline HttpOperationPlan Plan(std::string method, std::string url) {
  return {.request = {.url = std::move(url),
                      .method = std::move(method),
                      .headers = {{"Authorization", "Bearer t"},
                                  {"Content-Type", "application/json"}},
                      .body = "{}"}};
}

inline HttpOperationPlan Adopt(std::string url) {
  return {.request = {.url = std::move(url)}};
}

inline void ExpectRuns(const HttpOperationStep& step, std::string_view text) {
  EXPECT_EQ(step.poll.status(), PollStatus::kNotReady) << step.poll.error();
  EXPECT_EQ(step.poll.detail(), text);
  EXPECT_FALSE(step.again);
}

inline void ExpectSuccess(Followed& operation, const HttpOperationStep& step) {
  EXPECT_EQ(step.poll.status(), PollStatus::kSuccess) << step.poll.error();
  EXPECT_FALSE(step.again);
  EXPECT_TRUE(operation.tracker().has_ended());
}

inline void ExpectFailed(Followed& operation, const HttpOperationStep& step,
                         absl::StatusCode code, std::string_view text) {
  EXPECT_EQ(step.poll.status(), PollStatus::kFailed) << step.poll.detail();
  EXPECT_EQ(step.poll.error().code(), code) << step.poll.error();
  EXPECT_THAT(step.poll.error().message(),
              testing::HasSubstr(std::string(text)));
  EXPECT_FALSE(step.again);
  EXPECT_TRUE(operation.tracker().has_ended());
}

}  // namespace waiter

#endif  // WAITER_TESTS_INTEROP_FOLLOWED_OPERATION_H_
