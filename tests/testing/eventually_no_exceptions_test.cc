// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compiled with -fno-exceptions: a function stops an assertion, or sets the
// next delay, by returning the value that others throw.

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "waiter/poll.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"

#ifdef __cpp_exceptions
#error "Compile this with -fno-exceptions."
#endif

namespace waiter {
namespace {

using ::testing::StartsWith;

TEST(EventuallyNoExceptionsTest, StopTryingIsReturned) {
  SimulatedClock clock;
  const auto get = [&]() -> Poll<std::string> {
    if (clock.Elapsed() < absl::Seconds(1)) {
      return TryAgainAfter(absl::Seconds(7));
    }
    return StopTrying("job 42 was deleted");
  };

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(
                    get(), "DONE",
                    {.timeout = absl::Minutes(1), .clock = &clock});
              }),
              StartsWith("get() gave up at 7s: StopTrying: job 42 was "
                         "deleted\n"));
}

TEST(EventuallyNoExceptionsTest, AssertionsAndBlocksPass) {
  SimulatedClock clock;
  int runs = 0;

  EXPECT_EVENTUALLY(clock.Elapsed() > absl::Seconds(1), {.clock = &clock});
  EXPECT_EVENTUALLY_PASSES({ ASSERT_EQ(++runs, 3); }, {.clock = &clock});
  EXPECT_TRUE(Eventually([&] { return ++runs; }, 7, {.clock = &clock}).ok());
}

}  // namespace
}  // namespace waiter
