// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/http_poll.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "examples/http_get.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"
#include "waiter/poll_status.h"
#include "waiter/retry_after.h"

namespace waiter_examples {
namespace {

using ::testing::HasSubstr;
using ::waiter::Poll;
using ::waiter::PollStatus;

Poll<> Found(int code, std::string reason = "",
             absl::Duration retry_after = absl::ZeroDuration()) {
  return PollOf(
      HttpResponse{code, std::move(reason), waiter::RetryAfter(retry_after)});
}

TEST(HttpPollTest, FindsSuccessIn2xx) {
  for (const int code : {200, 204, 299}) {
    EXPECT_EQ(Found(code).status(), PollStatus::kSuccess) << code;
  }
  EXPECT_EQ(Found(200, "OK").detail(), "200 OK");
  EXPECT_EQ(Found(200).detail(), "200");
}

TEST(HttpPollTest, PassesRetryAfterOn) {
  EXPECT_EQ(Found(503, "", absl::Seconds(3)).status(),
            PollStatus::kServerError);
  EXPECT_EQ(Found(503, "", absl::Seconds(3)).retry_after(), absl::Seconds(3));
  EXPECT_EQ(Found(429, "", absl::Seconds(4)).status(), PollStatus::kThrottled);
  EXPECT_EQ(Found(429, "", absl::Seconds(4)).retry_after(), absl::Seconds(4));
  EXPECT_EQ(Found(500).retry_after(), absl::ZeroDuration());
}

TEST(HttpPollTest, FailsOnWhatARepetitionCannotChange) {
  const Poll<> not_found = Found(404, "Not Found");
  EXPECT_EQ(not_found.status(), PollStatus::kFailed);
  EXPECT_EQ(not_found.error(), absl::NotFoundError("404 Not Found"));
  EXPECT_TRUE(absl::IsPermissionDenied(Found(403).error()));
  EXPECT_TRUE(absl::IsUnauthenticated(Found(401).error()));
  EXPECT_TRUE(absl::IsInvalidArgument(Found(400).error()));
}

TEST(HttpPollTest, SaysThatRedirectsAreNotFollowed) {
  EXPECT_EQ(Found(302).status(), PollStatus::kFailed);
  EXPECT_THAT(std::string(Found(302, "Found").detail()),
              HasSubstr("302 Found: redirects are not followed"));
}

TEST(HttpPollTest, TakesAServerThatIsNotThereForNotReady) {
  const Poll<> refused = PollOf(absl::NotFoundError("connection refused"));
  EXPECT_EQ(refused.status(), PollStatus::kNotReady);
  EXPECT_EQ(refused.detail(), "connection refused");
}

TEST(HttpPollTest, GoesOnAfterAPollThatCouldNotTell) {
  for (const absl::Status& status :
       {absl::UnavailableError("reset"), absl::DeadlineExceededError("slow"),
        absl::DataLossError("garbage"), absl::CancelledError("cut short")}) {
    EXPECT_EQ(PollOf(status).status(), PollStatus::kServerError) << status;
    EXPECT_EQ(PollOf(status).error(), status);
  }
}

}  // namespace
}  // namespace waiter_examples
