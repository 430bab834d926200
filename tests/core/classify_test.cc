// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/classify.h"

#include <set>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::classify_test {
namespace {

TEST(ClassifyTest, OnlyUnavailableAndExhaustedArePolledAgain) {
  for (int code = 0; code <= 16; ++code) {
    const auto status_code = static_cast<absl::StatusCode>(code);
    PollStatus expected = PollStatus::kFailed;
    if (status_code == absl::StatusCode::kOk) {
      expected = PollStatus::kSuccess;
    } else if (status_code == absl::StatusCode::kUnavailable) {
      expected = PollStatus::kServerError;
    } else if (status_code == absl::StatusCode::kResourceExhausted) {
      expected = PollStatus::kThrottled;
    }
    EXPECT_EQ(ClassOf(status_code), expected) << "code " << code;
  }
}

TEST(ClassifyTest, ErrorsAreKept) {
  const absl::Status error = absl::ResourceExhaustedError("slow down");

  EXPECT_EQ(FromStatus(error).status(), PollStatus::kThrottled);
  EXPECT_EQ(FromStatus(error).error(), error);
}

TEST(ClassifyTest, StatusOrGivesValueOrError) {
  const absl::StatusOr<std::string> good = "RUNNING";
  const absl::StatusOr<std::string> bad = absl::NotFoundError("no such thing");

  EXPECT_EQ(FromStatus(good).value(), "RUNNING");
  EXPECT_EQ(FromStatus(bad).status(), PollStatus::kFailed);
  EXPECT_EQ(FromStatus(bad).error(), bad.status());
}

TEST(ClassifyTest, EveryHttpStatusHasItsClass) {
  const std::set<int> again = {408, 425};
  const std::set<int> vain = {501, 505};
  for (int http = -1; http <= 1000; ++http) {
    PollStatus expected = PollStatus::kFailed;
    if (http == 202) {
      expected = PollStatus::kNotReady;
    } else if (http >= 200 && http <= 299) {
      expected = PollStatus::kSuccess;
    } else if (http == 429) {
      expected = PollStatus::kThrottled;
    } else if (again.contains(http) ||
               (http >= 500 && http <= 599 && !vain.contains(http))) {
      expected = PollStatus::kServerError;
    }
    EXPECT_EQ(ClassOfHttp(http), expected) << "HTTP " << http;
  }
}

TEST(ClassifyTest, StatusOrBoolSaysWhetherItIsReady) {
  EXPECT_EQ(FromStatus(absl::StatusOr<bool>(true)).status(),
            PollStatus::kSuccess);
  EXPECT_EQ(FromStatus(absl::StatusOr<bool>(false)).status(),
            PollStatus::kNotReady);
  EXPECT_EQ(
      FromStatus(absl::StatusOr<bool>(absl::UnavailableError("503"))).status(),
      PollStatus::kServerError);
  const auto is_done = []() -> absl::StatusOr<bool> { return false; };
  static_assert(std::is_void_v<ValueOf<decltype(is_done)>::type>);
}

TEST(ClassifyTest, HttpAnswersHaveClassCodeTextAndHint) {
  const Poll<> missing = FromHttp(404, "no such bucket");
  EXPECT_EQ(missing.status(), PollStatus::kFailed);
  EXPECT_EQ(missing.error(), absl::NotFoundError("HTTP 404: no such bucket"));

  const Poll<> busy = FromHttp(503, "", absl::Seconds(3));
  EXPECT_EQ(busy.status(), PollStatus::kServerError);
  EXPECT_EQ(busy.error(), absl::UnavailableError("HTTP 503"));
  EXPECT_EQ(busy.retry_after(), absl::Seconds(3));

  const Poll<> accepted = FromHttp(202, "queued", absl::Seconds(1));
  EXPECT_EQ(accepted.status(), PollStatus::kNotReady);
  EXPECT_EQ(accepted.detail(), "queued");
  EXPECT_TRUE(accepted.error().ok());
  EXPECT_EQ(FromHttp(200).status(), PollStatus::kSuccess);
}

TEST(ClassifyTest, EveryHttpStatusHasACodeThatIsOkOnlyFor2xx) {
  for (int http = -1; http <= 1000; ++http) {
    EXPECT_EQ(CodeOfHttp(http) == absl::StatusCode::kOk,
              http >= 200 && http <= 299)
        << "HTTP " << http;
  }
  for (const int timeout : {408, 504}) {
    EXPECT_EQ(CodeOfHttp(timeout), absl::StatusCode::kDeadlineExceeded);
  }
}

// An integer or a pointer is no answer, though it converts to bool.
template <typename T>
concept IsAnswer = requires(T value) {
  FromStatus(value);
};
static_assert(IsAnswer<absl::StatusOr<bool>> && IsAnswer<absl::Status>);
static_assert(!IsAnswer<int> && !IsAnswer<const char*>);

}  // namespace
}  // namespace waiter::classify_test
