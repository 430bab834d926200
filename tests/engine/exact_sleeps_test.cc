// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// An engine without a tick asks Linux for exact sleeps, and only it does.

#include <sys/prctl.h>

#include <future>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/engine.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

int TimerSlack() { return prctl(PR_GET_TIMERSLACK); }

// Returns the slack of the thread that runs the waits of an engine.
int SlackOfEngine(absl::Duration tick, int threads) {
  std::promise<int> slack;
  WaitEngine engine({.threads = threads, .tick = tick});
  engine
      .Start(Waiter([] { return true; }, {.timeout = absl::Hours(1)}),
             [&](const WaitResult<>&) { slack.set_value(TimerSlack()); })
      .Detach();
  if (threads == 0) engine.Run();
  return slack.get_future().get();
}

TEST(ExactSleepsTest, OnlyEnginesWithoutATickSleepExactly) {
  const int usual = TimerSlack();
  ASSERT_GT(usual, 1);
  for (const int threads : {0, 1}) {
    SCOPED_TRACE(threads);
    EXPECT_EQ(SlackOfEngine(absl::ZeroDuration(), threads), 1);
    EXPECT_EQ(SlackOfEngine(absl::Milliseconds(1), threads), usual);
  }
}

TEST(ExactSleepsTest, RunRestoresTheSlackOfItsThread) {
  JoiningThread thread([] {
    prctl(PR_SET_TIMERSLACK, 12345);
    EXPECT_EQ(SlackOfEngine(absl::ZeroDuration(), /*threads=*/0), 1);
    EXPECT_EQ(TimerSlack(), 12345);
  });
}

}  // namespace
}  // namespace waiter
