// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/poll.h"

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter::poll_test {
namespace {

using ::testing::HasSubstr;

TEST(PollTest, SuccessHoldsItsValue) {
  const Poll<int> poll = Success(7);

  EXPECT_EQ(poll.status(), PollStatus::kSuccess);
  EXPECT_TRUE(poll.has_value());
  EXPECT_EQ(poll.value(), 7);
}

TEST(PollTest, SuccessConvertsToTheDeclaredType) {
  const Poll<std::string> text = Success("RUNNING");
  Poll<std::unique_ptr<const int>> moved = Success(std::make_unique<int>(3));

  EXPECT_EQ(text.value(), "RUNNING");
  EXPECT_EQ(*std::move(moved).value(), 3);
}

TEST(PollTest, UnfinishedPollsConvertToAnyValueType) {
  const Poll<std::string> poll = NotReady("CREATING", absl::Seconds(3));

  EXPECT_EQ(poll.status(), PollStatus::kNotReady);
  EXPECT_EQ(poll.detail(), "CREATING");
  EXPECT_EQ(poll.retry_after(), absl::Seconds(3));
  EXPECT_FALSE(poll.has_value());
}

TEST(PollTest, OnlyUnfinishedPollsSetTheNextDelay) {
  const Poll<> again = TryAgainAfter(absl::Seconds(2), "CREATING");

  EXPECT_EQ(again.status(), PollStatus::kNotReady);
  EXPECT_EQ(again.detail(), "CREATING");
  EXPECT_EQ(again.next_delay(), absl::Seconds(2));
  EXPECT_EQ(again.retry_after(), absl::ZeroDuration());
  EXPECT_TRUE(TryAgainAfter(absl::ZeroDuration()).has_details());
  EXPECT_EQ(NotReady("", absl::Seconds(3))
                .WithNextDelay(absl::ZeroDuration())
                .next_delay(),
            absl::ZeroDuration());

  EXPECT_EQ(NotReady("", absl::Seconds(3)).next_delay(), std::nullopt);
  EXPECT_EQ(TryAgainAfter(-absl::Seconds(1)).next_delay(), std::nullopt);
  EXPECT_EQ(TryAgainAfter(absl::InfiniteDuration()).next_delay(), std::nullopt);
  for (PollStatus status : {PollStatus::kSuccess, PollStatus::kThrottled,
                            PollStatus::kServerError, PollStatus::kFailed}) {
    EXPECT_EQ(Poll<>(status).WithNextDelay(absl::Seconds(1)).next_delay(),
              std::nullopt);
    Poll<> changed = TryAgainAfter(absl::Seconds(1));
    changed.set_status(status);
    EXPECT_EQ(changed.next_delay(), std::nullopt);
  }
}

TEST(PollTest, MessageOfAnErrorIsTheDetail) {
  const Poll<> poll = ServerError(absl::UnavailableError("connection reset"));

  EXPECT_EQ(poll.status(), PollStatus::kServerError);
  EXPECT_EQ(poll.detail(), "connection reset");
  EXPECT_EQ(poll.error().code(), absl::StatusCode::kUnavailable);
}

TEST(PollTest, SuccessMayHaveADetail) {
  const Poll<int> poll = Success(7, "200 OK");

  EXPECT_EQ(poll.value(), 7);
  EXPECT_EQ(poll.detail(), "200 OK");
}

TEST(PollTest, OkErrorsBecomeInternalFailures) {
  for (const Poll<>& poll :
       {Failed(absl::OkStatus()), ServerError(absl::OkStatus()),
        Throttled(absl::OkStatus()), NotReady(absl::OkStatus())}) {
    EXPECT_EQ(poll.status(), PollStatus::kFailed);
    EXPECT_EQ(poll.error().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(poll.detail()), HasSubstr("its error is OK"));
  }
}

TEST(PollTest, SuccessWithoutItsValueIsAFailure) {
  const Poll<int> from_maker = Success();
  const Poll<int> from_status = PollStatus::kSuccess;

  for (const Poll<int>& poll : {from_maker, from_status}) {
    EXPECT_EQ(poll.status(), PollStatus::kFailed);
    EXPECT_EQ(poll.error().code(), absl::StatusCode::kInternal);
  }
}

TEST(PollTest, EveryStatusHasAName) {
  EXPECT_EQ(PollStatusName(PollStatus::kSuccess), "success");
  EXPECT_EQ(PollStatusName(PollStatus::kNotReady), "not ready");
  EXPECT_EQ(PollStatusName(PollStatus::kThrottled), "throttled");
  EXPECT_EQ(PollStatusName(PollStatus::kServerError), "server error");
  EXPECT_EQ(PollStatusName(PollStatus::kFailed), "failed");
  EXPECT_EQ(PollStatusName(static_cast<PollStatus>(9)), "unknown status");
}

TEST(PollTest, StatusWithATextOrAnErrorConvertsToAnyValueType) {
  const auto poll = [](PollStatus status) -> Poll<int> {
    return {status, "429", absl::Seconds(1)};
  };
  const auto with_error = []() -> Poll<int> {
    return {PollStatus::kServerError, absl::UnavailableError("503")};
  };

  EXPECT_EQ(poll(PollStatus::kThrottled).status(), PollStatus::kThrottled);
  EXPECT_EQ(poll(PollStatus::kThrottled).retry_after(), absl::Seconds(1));
  EXPECT_EQ(poll(PollStatus::kSuccess).status(), PollStatus::kFailed);
  EXPECT_EQ(with_error().error(), absl::UnavailableError("503"));
}

// A sliced answer of the wrong type would be a success without a value.
TEST(PollTest, AnswersWithValuesThatDoNotConvertAreRefused) {
  static_assert(std::convertible_to<Poll<const char*>, Poll<std::string>>);
  static_assert(std::convertible_to<Poll<std::string_view>, Poll<std::string>>);
  static_assert(!std::convertible_to<Poll<const char*>, Poll<int>>);
  static_assert(!std::convertible_to<Poll<int>, Poll<std::vector<int>>>);
  static_assert(std::convertible_to<Poll<>, Poll<int>>);
}

}  // namespace
}  // namespace waiter::poll_test
