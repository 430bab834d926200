// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A function that tenacity retries.

#include <functional>
#include <ios>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace tenacity_test {
namespace {

// @retry(stop=stop_after_delay(60) | stop_after_attempt(7),
//        wait=wait_random_exponential(multiplier=1, max=30),
//        retry=retry_if_exception_type(IOError), reraise=True)
absl::StatusOr<std::string> ReadResult(
    const std::function<std::string()>& read_file,
    waiter::Clock* clock = nullptr) {
  waiter::WaitOptions options;
  options.name = "result";
  options.timeout = absl::Seconds(60);
  options.max_attempts = 7;
  options.errors.server_error_backoff = {.initial_delay = absl::Seconds(1),
                                         .max_delay = absl::Seconds(30),
                                         .jitter = waiter::Jitter::Full()};
  options.clock = clock;
  waiter::Waiter wait(
      [&]() -> waiter::Poll<std::string> {
        try {
          return waiter::Success(read_file());
        } catch (const std::ios_base::failure& error) {
          return waiter::ServerError(error.what());
        }
      },
      std::move(options));
  return wait.Wait();
}

TEST(TenacityTest, RetriesTheExceptionsThatItCatches) {
  waiter::SimulatedClock clock;
  int calls = 0;

  const auto text = ReadResult(
      [&]() -> std::string {
        if (++calls < 3) throw std::ios_base::failure("not there");
        return "done";
      },
      &clock);

  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "done");
  EXPECT_EQ(calls, 3);
}

TEST(TenacityTest, OtherExceptionsPassThrough) {
  EXPECT_THROW(
      (void)ReadResult([]() -> std::string { throw std::string("other"); }),
      std::string);
}

TEST(TenacityTest, StopsAfterSevenCalls) {
  waiter::SimulatedClock clock;
  int calls = 0;

  const auto text = ReadResult(
      [&]() -> std::string {
        ++calls;
        throw std::ios_base::failure("not there");
      },
      &clock);

  EXPECT_FALSE(text.ok());
  EXPECT_LE(calls, 7);
  EXPECT_LE(clock.Elapsed(), absl::Seconds(60));
}

}  // namespace
}  // namespace tenacity_test
