// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Covers what the scenarios of driver_conformance_test.cc cannot show: draws
// from the generator, messages, and a loop's answers in the middle of a wait.

#include "waiter/loop/wait_loop.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff_options.h"
#include "waiter/clock.h"
#include "waiter/loop/split_mix64.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_result.h"

namespace waiter {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr MonotonicTime kStart(seconds(1000));

struct FixedBits {
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() {
    return std::numeric_limits<uint64_t>::max();
  }
  uint64_t operator()() const { return bits; }
  uint64_t bits;
};

// A wait whose polls and time the test plays by hand.
class PlayedWait {
 public:
  explicit PlayedWait(const WaitOptions& options, uint64_t bits = 0)
      : policy_(WaitPolicy::Make(options)),
        gen_{bits},
        loop_(*policy_, report_) {
    step_ = loop_.Start(now_, policy_->DeadlineFrom(now_), kNever);
  }

  // Answers a poll. Returns the delay after it, or nullopt if the wait is over.
  std::optional<nanoseconds> Answer(const Poll<>& found,
                                    nanoseconds took = nanoseconds(0)) {
    now_ += took;
    report_.last_poll = found;
    step_ = loop_.OnPoll(now_, gen_, kNever);
    if (step_.action() == NextStep::Action::kFinish) return std::nullopt;
    if (step_.action() == NextStep::Action::kPoll) return nanoseconds(0);
    const nanoseconds delay = step_.wake_up() - now_;
    now_ = step_.wake_up();
    step_ = loop_.OnWake(now_, kNever);
    return delay;
  }

  std::string message() const { return std::string(report_.status.message()); }
  const WaitReport& report() const { return report_; }
  const WaitLoop& loop() const { return loop_; }

 private:
  static constexpr auto kNever = [] { return false; };

  std::shared_ptr<const WaitPolicy> policy_;
  FixedBits gen_;
  WaitReport report_;
  WaitLoop loop_;
  NextStep step_ = NextStep::Finish();
  MonotonicTime now_ = kStart;
};

// Draws the upper end of every window.
PlayedWait HighestDraws(const WaitOptions& options) {
  return PlayedWait(options, std::numeric_limits<uint64_t>::max());
}

TEST(WaitLoopTest, HintIsALowerBoundWithAQuarterOfJitter) {
  const WaitOptions options = {.timeout = absl::Hours(1)};

  EXPECT_EQ(PlayedWait(options).Answer(NotReady("", absl::Seconds(8))),
            seconds(8));
  EXPECT_EQ(HighestDraws(options).Answer(NotReady("", absl::Seconds(8))),
            seconds(10));
}

TEST(WaitLoopTest, LongerDelayBeatsTheHint) {
  const WaitOptions options = {.timeout = absl::Hours(1),
                               .backoff = {.initial_delay = absl::Seconds(10),
                                           .max_delay = absl::Seconds(10)}};

  EXPECT_EQ(HighestDraws(options).Answer(NotReady("", absl::Seconds(4))),
            seconds(11));
}

TEST(WaitLoopTest, JitterOfAHintStopsAtMaxRetryAfter) {
  const WaitOptions options = {
      .timeout = absl::Hours(1),
      .retry_after = {.max_retry_after = absl::Seconds(9)}};

  EXPECT_EQ(HighestDraws(options).Answer(NotReady("", absl::Seconds(8))),
            seconds(9));
}

TEST(WaitLoopTest, GrowthRestartsAfterAHintThatDecided) {
  PlayedWait wait = HighestDraws({.timeout = absl::Hours(1)});

  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(100));
  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(200));
  EXPECT_EQ(wait.Answer(NotReady("", absl::Seconds(4))), seconds(5));
  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(100));
}

TEST(WaitLoopTest, GrowthContinuesAfterAHintThatDidNotDecide) {
  PlayedWait wait = HighestDraws({.timeout = absl::Hours(1)});

  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(100));
  EXPECT_EQ(wait.Answer(NotReady("", absl::Milliseconds(100))),
            milliseconds(225));
  EXPECT_EQ(wait.Answer(NotReady()), milliseconds(400));
}

TEST(WaitLoopTest, DefaultThrottledDelaysAreASecondOrMore) {
  const WaitOptions options = {.timeout = absl::Hours(1)};

  EXPECT_EQ(PlayedWait(options).Answer(Throttled()), seconds(1));
  EXPECT_EQ(HighestDraws(options).Answer(Throttled()), seconds(2));
}

TEST(WaitLoopTest, ContextDescribesTheWait) {
  PlayedWait wait({.timeout = absl::Seconds(30),
                   .backoff = {.initial_delay = absl::Seconds(5),
                               .max_delay = absl::Seconds(5),
                               .jitter = Jitter::None()},
                   .poll_timeout = absl::Seconds(26)});
  wait.Answer(Throttled("", absl::Seconds(4)), seconds(1));

  const PollContext context = wait.loop().Context(absl::UnixEpoch());

  EXPECT_EQ(context.attempt, 2);
  EXPECT_EQ(context.elapsed, absl::Seconds(6));
  EXPECT_EQ(context.remaining, absl::Seconds(24));
  EXPECT_EQ(context.timeout, absl::Seconds(24));
  EXPECT_EQ(context.deadline, absl::UnixEpoch() + absl::Seconds(24));
  EXPECT_EQ(context.last_status, PollStatus::kThrottled);
}

TEST(WaitLoopTest, PollAtTheDeadlineMayTakeItsTimeout) {
  PlayedWait wait(
      {.timeout = absl::Milliseconds(50),
       .backoff = {.initial_delay = absl::Seconds(1), .jitter = Jitter::None()},
       .poll_timeout = absl::Seconds(3)});
  wait.Answer(NotReady());

  const PollContext context = wait.loop().Context(absl::UnixEpoch());

  EXPECT_EQ(context.remaining, absl::ZeroDuration());
  EXPECT_EQ(context.timeout, absl::Seconds(3));
}

TEST(WaitLoopTest, LoopIsSmall) {
  // A driver may hold a million loops.
  EXPECT_LE(sizeof(WaitLoop), 128);
}

// Every limit shares one shape: name, limit, attempts, time, last poll.
TEST(WaitLoopMessageTest, TimeoutIsNamed) {
  PlayedWait wait({.name = "instance i-0abc", .timeout = absl::Minutes(5)});
  wait.Answer(NotReady("CREATING"), seconds(301));

  EXPECT_EQ(wait.message(),
            "instance i-0abc: timeout of 5m reached after 1 attempt in 5m1s; "
            "last poll: not ready: CREATING");
}

TEST(WaitLoopMessageTest, DeadlineBeforeTheTimeoutIsNamed) {
  PlayedWait wait({.timeout = absl::Hours(1), .deadline = absl::UnixEpoch()});
  wait.Answer(ServerError(absl::UnavailableError("connection refused")));

  EXPECT_THAT(
      wait.message(),
      testing::MatchesRegex(
          "wait: deadline of 1970-01-01T00:00:00.* reached after 1 attempt in "
          "0; last poll: server error: UNAVAILABLE: connection refused"));
}

TEST(WaitLoopMessageTest, HintBeyondTheDeadlineIsNamed) {
  PlayedWait wait({.timeout = absl::Seconds(20)});
  wait.Answer(Throttled("429", absl::Hours(1)), seconds(3));

  EXPECT_EQ(wait.message(),
            "wait: the server's retry_after of 1h exceeds the remaining 17s "
            "(timeout of 20s), gave up after 1 attempt in 3s; last poll: "
            "throttled: 429");
}

TEST(WaitLoopMessageTest, AttemptLimitIsNamed) {
  PlayedWait wait({.timeout = absl::Hours(1),
                   .max_attempts = 2,
                   .backoff = {.jitter = Jitter::Full()}});
  wait.Answer(NotReady());
  wait.Answer(NotReady());

  EXPECT_EQ(wait.message(),
            "wait: max_attempts of 2 reached after 2 attempts in 0; last poll: "
            "not ready");
}

TEST(WaitLoopMessageTest, ConsecutiveLimits) {
  PlayedWait errors(
      {.timeout = absl::Hours(1), .max_consecutive_server_errors = 1});
  PlayedWait throttles(
      {.timeout = absl::Hours(1), .max_consecutive_throttles = 1});
  PlayedWait time({.timeout = absl::Hours(1),
                   .max_server_error_time = absl::ZeroDuration()});
  errors.Answer(ServerError("503"));
  throttles.Answer(Throttled());
  time.Answer(ServerError());

  EXPECT_EQ(errors.message(),
            "wait: max_consecutive_server_errors of 1 reached after 1 attempt "
            "in 0; last poll: server error: 503");
  EXPECT_EQ(throttles.message(),
            "wait: max_consecutive_throttles of 1 reached after 1 attempt in "
            "0; last poll: throttled");
  EXPECT_EQ(time.message(),
            "wait: max_server_error_time of 0 reached after 1 attempt in 0; "
            "last poll: server error");
}

TEST(WaitLoopMessageTest, HoldTooLongForTheDeadlineIsNamed) {
  PlayedWait wait({.timeout = absl::Seconds(3),
                   .backoff = {.jitter = Jitter::Full()},
                   .hold_for = absl::Seconds(9)});
  wait.Answer(Success(), seconds(1));
  wait.Answer(Success(), seconds(2));

  EXPECT_EQ(wait.message(),
            "wait: timeout of 3s reached after 2 attempts in 3s; last poll: "
            "success, 2 in a row for 3s");
}

TEST(WaitLoopMessageTest, LateSuccessUnderStrictDeadlineIsNamed) {
  PlayedWait wait({.timeout = absl::Seconds(3), .strict_deadline = true});
  wait.Answer(Success(), seconds(5));

  EXPECT_EQ(wait.message(),
            "wait: timeout of 3s missed by 2s (strict_deadline) after 1 "
            "attempt in 5s; last poll: success");
}

TEST(WaitLoopMessageTest, FailureIsUnchanged) {
  absl::Status failure = absl::AbortedError("provisioning failed");
  failure.SetPayload("type", absl::Cord("payload"));
  PlayedWait with_error({.timeout = absl::Hours(1)});
  PlayedWait with_text({.timeout = absl::Hours(1)});
  PlayedWait bare({.timeout = absl::Hours(1)});
  with_error.Answer(Failed(failure));
  with_text.Answer(Failed("broken"));
  bare.Answer(PollStatus::kFailed);

  EXPECT_EQ(with_error.report().status, failure);
  EXPECT_EQ(with_text.report().status, absl::UnknownError("broken"));
  EXPECT_EQ(bare.report().status,
            absl::UnknownError("the status function returned kFailed without "
                               "an error or a detail"));
}

TEST(WaitLoopMessageTest, InvalidOptionsNameTheWait) {
  WaitReport report;
  const std::shared_ptr<const WaitPolicy> policy =
      WaitPolicy::Make({.name = "job 7"});
  WaitLoop loop(*policy, report);
  loop.Start(kStart, kStart, [] { return false; });

  EXPECT_EQ(report.reason, StopReason::kInvalidOptions);
  EXPECT_EQ(report.status.message(),
            "job 7: timeout is not set; give the time that the whole wait may "
            "take, or absl::InfiniteDuration() to wait for ever");
}

TEST(WaitLoopReportTest, FirstAndLastErrorsAreKept) {
  PlayedWait wait({.timeout = absl::Hours(1)});
  wait.Answer(ServerError("first"));
  wait.Answer(Throttled("second"));
  wait.Answer(ServerError("third"));
  wait.Answer(NotReady("later"));
  wait.Answer(Success());

  EXPECT_EQ(wait.report().first_error->detail(), "first");
  EXPECT_EQ(wait.report().last_error->detail(), "third");
  EXPECT_EQ(wait.report().count(PollStatus::kServerError), 2);
  EXPECT_EQ(wait.report().count(PollStatus::kThrottled), 1);
  EXPECT_EQ(wait.report().count(PollStatus::kNotReady), 1);
  EXPECT_EQ(wait.report().count(PollStatus::kSuccess), 1);
}

}  // namespace
}  // namespace waiter
