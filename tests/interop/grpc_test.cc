// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/grpc.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/grpc_api.h"
#include "waiter/classify.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::grpc_test {
namespace {

static_assert(GrpcStatus<::grpc::Status>);
static_assert(GrpcClientContext<::grpc::ClientContext>);
static_assert(!GrpcStatus<absl::Status>);
static_assert(!GrpcClientContext<std::optional<GrpcPushback>>);

Poll<> AnswerTo(::grpc::StatusCode code,
                const std::vector<const char*>& pushbacks = {}) {
  ::grpc::ClientContext context;
  context.AddTrailingMetadata("content-type", "application/grpc");
  for (const char* pushback : pushbacks) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms", pushback);
  }
  return FromGrpcStatus(::grpc::Status(code, "text"), context);
}

TEST(GrpcStatusTest, CodeDecides) {
  EXPECT_EQ(AnswerTo(::grpc::OK).status(), PollStatus::kSuccess);
  EXPECT_EQ(AnswerTo(::grpc::UNAVAILABLE).status(), PollStatus::kServerError);
  EXPECT_EQ(AnswerTo(::grpc::RESOURCE_EXHAUSTED).status(),
            PollStatus::kThrottled);
  EXPECT_EQ(AnswerTo(::grpc::PERMISSION_DENIED).status(), PollStatus::kFailed);
}

TEST(GrpcStatusTest, CodesThatEndOneCallDoNotEndTheWait) {
  EXPECT_EQ(AnswerTo(::grpc::DEADLINE_EXCEEDED).status(),
            PollStatus::kServerError);
  EXPECT_EQ(AnswerTo(::grpc::CANCELLED).status(), PollStatus::kServerError);
}

TEST(GrpcStatusTest, EveryOtherCodeHasTheClassOfAbseil) {
  for (int number = 0; number <= 16; ++number) {
    const auto code = static_cast<absl::StatusCode>(number);
    const Poll<> poll = AnswerTo(static_cast<::grpc::StatusCode>(number));
    EXPECT_EQ(poll.error().code(), code);
    if (code == absl::StatusCode::kDeadlineExceeded ||
        code == absl::StatusCode::kCancelled) {
      continue;
    }
    EXPECT_EQ(poll.status(), ClassOf(code)) << number;
  }
}

TEST(GrpcStatusTest, MessageIsTheError) {
  EXPECT_EQ(AnswerTo(::grpc::NOT_FOUND).error(), absl::NotFoundError("text"));
}

TEST(GrpcStatusTest, PushbackIsTheHint) {
  EXPECT_EQ(AnswerTo(::grpc::UNAVAILABLE, {"1500"}).retry_after(),
            absl::Milliseconds(1500));
  EXPECT_EQ(AnswerTo(::grpc::UNAVAILABLE, {}).retry_after(),
            absl::ZeroDuration());
}

TEST(GrpcStatusTest, PushbackThatForbidsMakesFailed) {
  for (const char* pushback : {"-1", "soon", "", "99999999999"}) {
    const Poll<> poll = AnswerTo(::grpc::UNAVAILABLE, {pushback});
    EXPECT_EQ(poll.status(), PollStatus::kFailed) << pushback;
    EXPECT_EQ(poll.error(), absl::UnavailableError("text")) << pushback;
  }
}

TEST(GrpcStatusTest, PushbackThatOccursTwiceForbids) {
  EXPECT_EQ(AnswerTo(::grpc::UNAVAILABLE, {"10", "10"}).status(),
            PollStatus::kFailed);
}

TEST(GrpcStatusTest, PushbackDoesNotChangeWhatIsFinal) {
  EXPECT_EQ(AnswerTo(::grpc::OK, {"-1"}).status(), PollStatus::kSuccess);
  const Poll<> poll = AnswerTo(::grpc::PERMISSION_DENIED, {"10"});
  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_EQ(poll.retry_after(), absl::ZeroDuration());
}

TEST(GrpcStatusTest, PushbackMayBeGivenAsAValue) {
  const ::grpc::Status status(::grpc::UNAVAILABLE, "");

  EXPECT_EQ(FromGrpcStatus(status).status(), PollStatus::kServerError);
  EXPECT_EQ(FromGrpcStatus(status, ParseGrpcPushback("7")).retry_after(),
            absl::Milliseconds(7));
  EXPECT_EQ(FromGrpcStatus(status, ParseGrpcPushback("-7")).status(),
            PollStatus::kFailed);
}

TEST(GrpcStatusTest, ClassifierOfTheUserDecides) {
  const ErrorClassifier own =
      GrpcErrors().With(absl::StatusCode::kNotFound, PollStatus::kNotReady);
  const ::grpc::ClientContext context;

  EXPECT_EQ(FromGrpcStatus(::grpc::Status(::grpc::NOT_FOUND, ""), context, own)
                .status(),
            PollStatus::kNotReady);
  EXPECT_EQ(FromGrpcStatus(::grpc::Status(::grpc::DEADLINE_EXCEEDED, ""),
                           context, own)
                .status(),
            PollStatus::kServerError);
}

TEST(GrpcStatusTest, WaitFollowsThePushback) {
  SimulatedClock clock;
  WaitOptions options = GrpcRetry();
  options.timeout = absl::Minutes(5);
  options.max_attempts = std::nullopt;
  options.clock = &clock;
  int polls = 0;
  Waiter wait(
      [&]() -> Poll<> {
        ::grpc::ClientContext context;
        if (++polls == 2) return Success();
        context.AddTrailingMetadata("grpc-retry-pushback-ms", "60000");
        return FromGrpcStatus(::grpc::Status(::grpc::UNAVAILABLE, ""), context);
      },
      options);

  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_EQ(clock.Elapsed(), absl::Minutes(1));
}

TEST(GrpcStatusTest, StopDuringACallEndsTheWaitAsCancelled) {
  SimulatedClock clock;
  stop_source stop;
  Waiter wait(
      [&](const PollContext& poll) {
        ::grpc::ClientContext context;
        const stop_callback cancel(poll.stop_token,
                                   [&] { context.TryCancel(); });
        stop.request_stop();
        EXPECT_TRUE(context.cancelled());
        return FromGrpcStatus(::grpc::Status(::grpc::CANCELLED, "cancelled"),
                              context);
      },
      {.timeout = absl::Minutes(5), .clock = &clock});

  EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
}

}  // namespace
}  // namespace waiter::grpc_test
