// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/limiters.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter::rate_limiter_test {
namespace {

using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;
using ::testing::HasSubstr;

TEST(AdaptiveRateLimiterTest, LimiterLetsEveryPollPassUntilThrottled) {
  const auto limiter = MakeLimiter();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(limiter->Acquire(kStart), kStart);
    limiter->Update(kStart, PollStatus::kServerError);
  }
  EXPECT_EQ(*limiter->Acquire(kStart, 1e9), kStart);
  EXPECT_FALSE(limiter->State().limiting);

  limiter->Update(kStart, PollStatus::kThrottled);

  EXPECT_GT(limiter->Acquire(kStart), kStart);
  EXPECT_TRUE(limiter->State().limiting);
}

TEST(AdaptiveRateLimiterTest, RateIsThatOfTheStateOnceTheServerHasThrottled) {
  const auto limiter = MakeLimiter();
  limiter->Acquire(kStart);
  EXPECT_EQ(limiter->Rate(), std::nullopt);
  limiter->Update(kStart, PollStatus::kThrottled);
  EXPECT_EQ(limiter->Rate(), limiter->State().fill_rate);
}

TEST(AdaptiveRateLimiterTest, LimiterAlikeHasTheOptionsAndNotTheState) {
  const auto limiter = MakeLimiter({.min_fill_rate = 0.25});
  limiter->Acquire(kStart);
  limiter->Update(kStart, PollStatus::kThrottled);

  const std::shared_ptr<RateLimiter> alike = limiter->MakeAlike();

  EXPECT_EQ(alike->Rate(), std::nullopt);
  alike->Acquire(kStart);
  alike->Update(kStart, PollStatus::kThrottled);
  EXPECT_EQ(alike->Rate(), 0.25);
}

TEST(AdaptiveRateLimiterTest, SecondSleeperForOneTokenIsSentBack) {
  const auto limiter = MakeThrottled(10, 10);
  EXPECT_EQ(limiter->Acquire(At(0)), At(0.1));
  EXPECT_EQ(limiter->Acquire(At(0)), At(0.1));

  EXPECT_EQ(limiter->Acquire(At(0.1)), At(0.1));
  EXPECT_EQ(limiter->Acquire(At(0.1)), At(0.2));
  EXPECT_EQ(limiter->Acquire(At(0.2)), At(0.2));
}

TEST(AdaptiveRateLimiterTest, SleeperIsSentBackIfTheRateFell) {
  const auto limiter = MakeLimiter();
  limiter->Acquire(kStart);
  limiter->Update(At(0.5), PollStatus::kThrottled);
  const MonotonicTime first = limiter->Acquire(At(0.5));
  ASSERT_GT(first, At(0.6));

  limiter->Update(At(0.6), PollStatus::kThrottled);
  const MonotonicTime second = limiter->Acquire(first);

  EXPECT_GT(second, first);
  EXPECT_EQ(limiter->Acquire(second), second);
}

TEST(AdaptiveRateLimiterTest, TokenIsGrantedAtTheTimeNamed) {
  for (const double rate : {0.5, 1.0 / 3, 3.0, 7.7, 1e3, 1e6, 3e8}) {
    const auto limiter = MakeThrottled(rate, 1);
    MonotonicTime now = kStart;
    int held_back = 0;
    for (int i = 0; i < 1000; ++i) {
      const MonotonicTime start = limiter->Acquire(now);
      if (start == now) continue;
      ++held_back;
      ASSERT_GT(start, now) << rate;
      now = start;
      ASSERT_EQ(limiter->Acquire(now), now) << rate;
    }
    EXPECT_GT(held_back, 100) << rate;
  }
}

TEST(AdaptiveRateLimiterTest, TokenIsNotGrantedSomeNanosecondsEarly) {
  const auto limiter = MakeThrottled(1, 1);
  const MonotonicTime due = At(1);

  EXPECT_EQ(limiter->Acquire(due - nanoseconds(5)), due);
  EXPECT_EQ(limiter->Acquire(due), due);
}

// A nanosecond refills one token.
TEST(AdaptiveRateLimiterTest, TokenOfANanosecondIsWaitedFor) {
  const auto limiter = MakeThrottled(1e9, 2);

  EXPECT_EQ(limiter->Acquire(kStart), kStart + nanoseconds(1));
}

TEST(AdaptiveRateLimiterTest, WaitBeyondAllTimeEndsAtTheEndOfTime) {
  const auto limiter = MakeThrottled(1e-12, 1);

  EXPECT_EQ(limiter->Acquire(kStart), MonotonicTime::max());
}

TEST(AdaptiveRateLimiterTest, CostAboveTheCapacityIsAnImmediateError) {
  const auto limiter = MakeThrottled(10, 10);

  EXPECT_THAT(limiter->Acquire(kStart, 10.5).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("cost is 10.5; the rate limiter allows at "
                                 "most 10 at a time")));
  EXPECT_EQ(*limiter->Acquire(kStart, 10), At(1));
}

TEST(AdaptiveRateLimiterTest, NegativeAndNonfiniteCostsAreInvalid) {
  const auto limiter = MakeLimiter();
  for (const double cost : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(
        limiter->Acquire(kStart, cost).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cost is ")));
  }
}

TEST(AdaptiveRateLimiterTest, CostOfZeroPassesAtOnceAndTakesNothing) {
  const auto limiter = MakeThrottled(10, 10);
  ASSERT_EQ(limiter->State().capacity, 0);

  EXPECT_EQ(*limiter->Acquire(At(0), 0), At(0));
  EXPECT_EQ(*limiter->Acquire(At(0.5), 0), At(0.5));

  EXPECT_EQ(limiter->State().capacity, 5);
}

TEST(AdaptiveRateLimiterTest, CostOfTheWholeCapacityPasses) {
  const auto limiter = MakeThrottled(10, 10);

  EXPECT_EQ(*limiter->Acquire(At(1), 10), At(1));
  EXPECT_EQ(limiter->State().capacity, 0);
}

TEST(AdaptiveRateLimiterTest, OnlyThrottledPollsSlowTheLimiterDown) {
  for (const PollStatus status :
       {PollStatus::kSuccess, PollStatus::kNotReady, PollStatus::kServerError,
        PollStatus::kFailed}) {
    const auto limiter = MakeLimiter();
    limiter->Acquire(kStart);
    limiter->Update(At(1), status);
    EXPECT_FALSE(limiter->State().limiting);
    EXPECT_EQ(limiter->State().measured_rate, 0.8);
  }
}

TEST(AdaptiveRateLimiterTest, CrossingReadingsOfTimeCreateNoTokens) {
  const auto limiter = MakeThrottled(1, 10);
  int granted = 0;
  for (int i = 0; i < 1000; ++i) {
    const MonotonicTime now = At(10) - milliseconds(i % 2);
    if (limiter->Acquire(now) == now) ++granted;
  }
  limiter->Update(kStart - milliseconds(1), PollStatus::kNotReady);

  EXPECT_EQ(granted, 10);
}

TEST(AdaptiveRateLimiterTest, OldReadingOfTimeTakesNoTokensBack) {
  const auto limiter = MakeThrottled(1, 10);
  ASSERT_EQ(limiter->Acquire(At(10)), At(10));
  int granted = 0;
  for (int i = 0; i < 100; ++i) {
    if (limiter->Acquire(At(5)) == At(5)) ++granted;
  }

  EXPECT_EQ(granted, 9);
}

TEST(AdaptiveRateLimiterTest, RateGrowsToTheLimitTimesTheMeasuredRate) {
  for (const double limit : {1.0, 2.0, 3.0}) {
    const auto limiter = MakeLimiter({.growth_limit = limit});
    limiter->Acquire(kStart);
    limiter->Update(kStart, PollStatus::kThrottled);
    for (int i = 1; i <= 1000; ++i) {
      limiter->Update(At(i * 0.1), PollStatus::kNotReady);
    }

    EXPECT_NEAR(limiter->State().measured_rate, 10, 1e-6);
    EXPECT_EQ(limiter->State().fill_rate,
              limit * limiter->State().measured_rate);
  }
}

TEST(AdaptiveRateLimiterTest, InvalidOptionsAreNamedWithTheirValue) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Case {
    RateLimiterOptions options;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {{.beta = 0}, "beta is 0; it must be within (0, 1)"},
      {{.beta = 1}, "beta is 1"},
      {{.beta = kNan}, "beta is nan"},
      {{.smoothing = 0}, "smoothing is 0; it must be within (0, 1]"},
      {{.smoothing = 1.5}, "smoothing is 1.5"},
      {{.scale_constant = 0}, "scale_constant is 0"},
      {{.scale_constant = kInfinity}, "scale_constant is inf"},
      {{.min_fill_rate = 0}, "min_fill_rate is 0"},
      {{.min_fill_rate = kNan}, "min_fill_rate is nan"},
      {{.min_capacity = 0.5},
       "min_capacity is 0.5; it must be finite, and at "
       "least 1, or no poll could pass"},
      {{.measurement_bucket = absl::ZeroDuration()},
       "measurement_bucket is 0; it must be finite, and above zero"},
      {{.measurement_bucket = absl::InfiniteDuration()},
       "measurement_bucket is inf"},
      {{.growth_limit = 0.9}, "growth_limit is 0.9"},
      {{.growth_limit = kInfinity}, "growth_limit is inf"},
  };
  for (const auto& [options, message] : cases) {
    EXPECT_THAT(AdaptiveRateLimiter::Make(options).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string(message))));
  }
}

TEST(AdaptiveRateLimiterTest, BoundsOfOptionsAreValid) {
  EXPECT_TRUE(Validate(RateLimiterOptions{.smoothing = 1}).ok());
  EXPECT_TRUE(Validate(RateLimiterOptions{.min_capacity = 1}).ok());
  EXPECT_TRUE(Validate(RateLimiterOptions{.growth_limit = 1}).ok());
}

TEST(AdaptiveRateLimiterTest, MakeLimitingLimitsFromItsTimeOn) {
  const auto limiter = *AdaptiveRateLimiter::MakeLimiting({}, 10, kStart);
  EXPECT_TRUE(limiter->State().limiting);
  int polls = 0;
  MonotonicTime now = kStart;
  while (now < At(1)) {
    const MonotonicTime start = limiter->Acquire(now);
    ASSERT_GE(start, now);
    if (start == now) ++polls;
    now = std::max(start, now + milliseconds(1));
  }
  EXPECT_NEAR(polls, 10, 2);
}

TEST(AdaptiveRateLimiterTest, RateOfMakeLimitingIsFiniteAndNotNegative) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double rate : {-1.0, -1e-9, kInfinity, -kInfinity,
                            std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(AdaptiveRateLimiter::MakeLimiting({}, rate, kStart).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  for (const double rate : {0.0, 1e-300, 1e300}) {
    const auto limiter = AdaptiveRateLimiter::MakeLimiting({}, rate, kStart);
    ASSERT_TRUE(limiter.ok());
    EXPECT_GE(*(*limiter)->Rate(), 0.5);
    EXPECT_GE((*limiter)->Acquire(kStart), kStart);
  }
  EXPECT_FALSE(AdaptiveRateLimiter::MakeLimiting({.beta = 1}, 1, kStart).ok());
}

// Many threads that use one limiter.

TEST(AdaptiveRateLimiterThreadTest, SixtyFourThreadsShareTheRefill) {
  constexpr double kRate = 1000;
  const auto limiter = MakeThrottled(kRate, 1000);
  std::atomic<int64_t> now_in_ms = 1000;
  std::atomic<int> granted = 0;
  RunThreads(/*count=*/64, [&](int) {
    for (int i = 0; i < 500; ++i) {
      const MonotonicTime now = kStart + milliseconds(now_in_ms);
      if (limiter->Acquire(now) == now) {
        ++granted;
      } else {
        ++now_in_ms;
      }
    }
  });
  // Takes the remaining tokens: they must not be lost either.
  const MonotonicTime now = kStart + milliseconds(now_in_ms);
  while (limiter->Acquire(now) == now) ++granted;

  // The bucket is full after the first second, and never full again.
  const double refilled =
      1000 + kRate * static_cast<double>(now_in_ms - 1000) / 1000;
  EXPECT_NEAR(granted, refilled, 1);
}

TEST(AdaptiveRateLimiterThreadTest, ManyThreadsMayCallEverything) {
  const auto limiter = MakeLimiter();
  limiter->Acquire(kStart);
  RunThreads(/*count=*/8, [&](int thread) {
    for (int i = 0; i < 1000; ++i) {
      const MonotonicTime now = kStart + milliseconds(i);
      EXPECT_GE(limiter->Acquire(now), now);
      EXPECT_TRUE(limiter->Acquire(now, 0.5).ok());
      limiter->Update(now, thread == 0 && i % 100 == 99
                               ? PollStatus::kThrottled
                               : PollStatus::kNotReady);
      EXPECT_GE(limiter->Rate().value_or(1), 0.5);
      EXPECT_GE(limiter->State().max_capacity, 0);
      if (i % 100 == 0) {
        EXPECT_EQ(limiter->MakeAlike()->Rate(), std::nullopt);
      }
    }
  });
  EXPECT_TRUE(limiter->State().limiting);
  EXPECT_GE(limiter->State().fill_rate, 0.5);
}

TEST(AdaptiveRateLimiterThreadTest, ThreadsThatStartTogetherAreAllCounted) {
  constexpr int kThreads = 8;
  for (int round = 0; round < 20; ++round) {
    const auto limiter = MakeLimiter();
    RunThreads(kThreads,
               [&](int) { limiter->Update(kStart, PollStatus::kNotReady); });
    limiter->Update(At(0.5), PollStatus::kNotReady);

    EXPECT_DOUBLE_EQ(limiter->State().measured_rate,
                     0.8 * (kThreads + 1) / 0.5);
  }
}

}  // namespace
}  // namespace waiter::rate_limiter_test
