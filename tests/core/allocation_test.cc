// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A wait that never sleeps allocates nothing.

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/counted_new.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::absl::Hours;
using ::absl::InfiniteDuration;

constexpr BackoffOptions kAtOnce = {.initial_delay = absl::ZeroDuration(),
                                    .max_delay = absl::ZeroDuration()};

// Counts the allocations of a wait for `attempts` polls on the real clock.
template <typename F>
int64_t AllocationsOf(F status_function, const WaitOptions& options,
                      int64_t attempts, const waiter::stop_token& stop = {}) {
  Waiter wait(std::move(status_function), options);
  const int64_t before = AllocationCount();
  const auto result = wait.Wait(stop);
  const int64_t after = AllocationCount();
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result.report().attempts, attempts);
  return after - before;
}

TEST(AllocationTest, AllocationsAreCounted) {
  const int64_t before = AllocationCount();
  // Calls the functions themselves: a compiler may elide the operators.
  ::operator delete(::operator new(sizeof(int)));
  EXPECT_EQ(AllocationCount() - before, 1);
}

TEST(AllocationTest, FirstPollSuccessAllocatesNothing) {
  for (const absl::Duration timeout : {InfiniteDuration(), Hours(1)}) {
    const WaitOptions options = {
        .name = "a name that is too long to be stored in a string itself",
        .timeout = timeout};

    EXPECT_EQ(AllocationsOf([] { return true; }, options, 1), 0);
    EXPECT_EQ(AllocationsOf([] { return Success(7); }, options, 1), 0);
    EXPECT_EQ(AllocationsOf([] { return absl::OkStatus(); }, options, 1), 0);
    EXPECT_EQ(AllocationsOf([] { return absl::StatusOr<int>(7); }, options, 1),
              0);
    EXPECT_EQ(
        AllocationsOf(
            [](const PollContext& context) { return context.attempt == 1; },
            options, 1),
        0);
  }
}

TEST(AllocationTest, ZeroDelaysAllocateNothing) {
  waiter::stop_source stop;
  const auto tenth = [](const PollContext& context) {
    return context.attempt == 10;
  };
  for (const absl::Duration timeout : {InfiniteDuration(), Hours(1)}) {
    const WaitOptions options = {
        .timeout = timeout, .poll_timeout = Hours(1), .backoff = kAtOnce};

    EXPECT_EQ(AllocationsOf(tenth, options, 10), 0);
    EXPECT_EQ(AllocationsOf(tenth, options, 10, stop.get_token()), 0);
    EXPECT_EQ(AllocationsOf([polls = 0]() mutable { return ++polls == 10; },
                            options, 10),
              0);
  }
}

TEST(AllocationTest, ElapsedSleepsAllocateNothing) {
  const int64_t before = AllocationCount();
  GetRealClock().SleepUntil(GetRealClock().MonotonicNow(), {}, "");
  EXPECT_EQ(AllocationCount(), before);
}

TEST(AllocationTest, ShortDetailsAllocateNothing) {
  const WaitOptions options = {.timeout = Hours(1),
                               .backoff = kAtOnce,
                               .errors = {.server_error_backoff = kAtOnce,
                                          .throttled_backoff = kAtOnce}};
  EXPECT_EQ(AllocationsOf(
                [polls = 0]() mutable -> Poll<int> {
                  switch (++polls) {
                    case 1:
                      return NotReady("fifteen letters");
                    case 2:
                      return ServerError("503");
                    case 3:
                      return Throttled("429");
                    default:
                      return Success(7);
                  }
                },
                options, 4),
            0);
}

TEST(AllocationTest, MillionPollsAllocateNothing) {
  constexpr int64_t kPolls = 1'000'000;
  EXPECT_EQ(
      AllocationsOf(
          [](const PollContext& context) { return context.attempt == kPolls; },
          {.timeout = Hours(1), .backoff = kAtOnce}, kPolls),
      0);
}

TEST(AllocationTest, FullHistoryAllocatesNothingFurther) {
  const auto allocations_of = [](int64_t polls) {
    return AllocationsOf(
        [=](const PollContext& context) { return context.attempt == polls; },
        {.timeout = Hours(1),
         .backoff = kAtOnce,
         .hooks = {.history_limit = 8}},
        polls);
  };

  EXPECT_EQ(allocations_of(8), allocations_of(10'000));
}

}  // namespace
}  // namespace waiter
