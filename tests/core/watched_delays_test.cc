// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::watched_delays_test {
namespace {

using ::testing::ElementsAre;

// Times in seconds since the start of a wait that ends at 600 s.
class WatchedDelaysTest : public testing::Test {
 protected:
  void At(int seconds, void (WatchedDelays::*event)()) {
    clock_.CallAt(absl::Seconds(seconds),
                  [this, event] { (watched_.get()->*event)(); });
  }

  std::vector<int> PolledAt() {
    std::vector<int> times;
    Waiter wait(
        [&] {
          const absl::Duration now = clock_.Elapsed();
          times.push_back(static_cast<int>(absl::ToInt64Seconds(now)));
          return now >= absl::Seconds(600) ? Success() : answer_;
        },
        {.timeout = absl::Seconds(600),
         .backoff = {.initial_delay = absl::Seconds(10),
                     .max_delay = absl::Seconds(40),
                     .multiplier = 2,
                     .jitter = Jitter::None()},
         .delay_source = watched_,
         .errors = {.server_error_backoff = {.initial_delay = absl::Seconds(90),
                                             .max_delay = absl::Seconds(90),
                                             .jitter = Jitter::None()}},
         .clock = &clock_});
    (void)wait.Wait({.notifier = &changed_});
    return times;
  }

  SimulatedClock clock_;
  PollNotifier changed_;
  Poll<> answer_ = NotReady();
  // The jitter moves no poll by a whole second.
  std::shared_ptr<WatchedDelays> watched_ = std::make_shared<WatchedDelays>(
      [this] { changed_.PollNow(); }, absl::Seconds(1000));
};

TEST_F(WatchedDelaysTest, BackoffDecidesUntilTheWatchIsConnected) {
  At(75, &WatchedDelays::OnConnected);

  EXPECT_FALSE(watched_->is_connected());
  EXPECT_THAT(PolledAt(), ElementsAre(0, 10, 30, 70, 75, 600));
  EXPECT_TRUE(watched_->is_connected());
}

TEST_F(WatchedDelaysTest, EveryChangeIsPolled) {
  At(1, &WatchedDelays::OnConnected);
  At(5, &WatchedDelays::OnChange);
  At(300, &WatchedDelays::OnChange);

  EXPECT_THAT(PolledAt(), ElementsAre(0, 1, 5, 300, 600));
}

TEST_F(WatchedDelaysTest, BrokenWatchIsFollowedByPollsFromTheBeginning) {
  At(1, &WatchedDelays::OnConnected);
  At(400, &WatchedDelays::OnBroken);
  At(500, &WatchedDelays::OnConnected);

  EXPECT_THAT(PolledAt(), ElementsAre(0, 1, 400, 410, 430, 470, 500, 600));
}

TEST_F(WatchedDelaysTest, ErrorsAreDelayedByTheirOwnBackoff) {
  At(1, &WatchedDelays::OnConnected);
  answer_ = ServerError();

  EXPECT_THAT(PolledAt(), ElementsAre(0, 1, 91, 181, 271, 361, 451, 541, 600));
}

TEST_F(WatchedDelaysTest, DelayIsJitteredByUpToAQuarterLess) {
  watched_ = std::make_shared<WatchedDelays>([] {}, absl::Seconds(100));
  watched_->OnConnected();
  std::vector<int> times = PolledAt();

  ASSERT_GE(times.size(), 7U);
  for (size_t i = 1; i + 1 < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], 74);
    EXPECT_LE(times[i] - times[i - 1], 101);
  }
}

}  // namespace
}  // namespace waiter::watched_delays_test
