// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Notifications from other threads. The waits would sleep for an hour, so a
// lost notification makes the test exceed its time limit.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::poll_now_threads_test {
namespace {

constexpr int kWaits = 200;

WaitOptions EveryHour() {
  return {.timeout = absl::Hours(100),
          .backoff = {.initial_delay = absl::Hours(1),
                      .max_delay = absl::Hours(1),
                      .jitter = Jitter::None(),
                      .min_delay = absl::ZeroDuration()}};
}

class PollNowThreadsTest : public testing::TestWithParam<int> {};

TEST_P(PollNowThreadsTest, EngineLosesNoNotification) {
  std::array<std::atomic<int>, kWaits> states = {};
  std::latch done(kWaits);
  WaitEngine engine({.threads = GetParam(), .tick = absl::ZeroDuration()});
  std::vector<WaitHandle> waits;
  for (std::atomic<int>& state : states) {
    waits.push_back(engine.Start(
        Waiter([&state] { return state.load() == 3; }, EveryHour()),
        [&done](WaitResult<> result) {
          EXPECT_TRUE(result.ok()) << result.status();
          done.count_down();
        }));
  }

  // Each notification follows a change that the next poll must see. It may come
  // at any moment of the current poll. Two threads take turns with each wait.
  {
    const auto change = [&] {
      for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < waits.size(); ++i) {
          if (states[i].fetch_add(1) < 3) waits[i].PollNow();
        }
      }
    };
    const JoiningThread first(change);
    const JoiningThread second(change);
  }
  // Any state above 3 becomes 3.
  for (size_t i = 0; i < waits.size(); ++i) {
    states[i] = 3;
    waits[i].PollNow();
  }

  done.wait();
}

INSTANTIATE_TEST_SUITE_P(Threads, PollNowThreadsTest, testing::Values(1, 2));

TEST(PollNotifierThreadsTest, WaitLosesNoNotification) {
  const PollNotifier changed;
  std::atomic<int> polls = 0;
  std::atomic<int> changes = 0;
  const JoiningThread watcher([&] {
    for (int i = 1; i <= kWaits; ++i) {
      changes = i;
      changed.PollNow();
      // A poll that sees this change must come.
      int seen = polls;
      while (seen < i) {
        polls.wait(seen);
        seen = polls;
      }
    }
  });

  const WaitResult<> result = Waiter(
                                  [&] {
                                    polls = changes.load();
                                    polls.notify_all();
                                    return polls == kWaits;
                                  },
                                  EveryHour())
                                  .Wait({.notifier = &changed});

  EXPECT_TRUE(result.ok()) << result.status();
}

TEST(PollNotifierThreadsTest, OneNotifierServesWaitsOnSeveralThreads) {
  const PollNotifier changed;
  const waiter::stop_source stop;
  std::atomic<bool> is_ready = false;
  std::latch polled(4);
  const auto wait = [&] {
    bool is_first = true;
    EXPECT_TRUE(Waiter(
                    [&] {
                      if (is_first) polled.count_down();
                      is_first = false;
                      return is_ready.load();
                    },
                    EveryHour())
                    .Wait({.stop = stop.get_token(), .notifier = &changed})
                    .ok());
  };
  const JoiningThread first(wait);
  const JoiningThread second(wait);
  const JoiningThread third(wait);
  const JoiningThread fourth(wait);

  polled.wait();
  is_ready = true;
  changed.PollNow();
}

TEST(PollNotifierThreadsTest, StopAndNotificationRace) {
  for (int i = 0; i < kWaits; ++i) {
    const PollNotifier changed;
    waiter::stop_source stop;
    std::latch polled(2);
    const JoiningThread notifies([&] {
      polled.wait();
      changed.PollNow();
    });
    const JoiningThread stops([&] {
      polled.wait();
      stop.request_stop();
    });

    const auto wait = [&] {
      bool is_first = true;
      const WaitResult<> result =
          Waiter(
              [&] {
                if (is_first) polled.count_down();
                is_first = false;
                return false;
              },
              EveryHour())
              .Wait({.stop = stop.get_token(), .notifier = &changed});
      EXPECT_EQ(result.reason(), StopReason::kCancelled);
    };
    const JoiningThread other(wait);
    wait();
  }
}

TEST(PollNowRacesTest, CallsMeetEndsOfWaitsHandlesAndEngines) {
  constexpr int kWaitsOfAThread = 20;
  for (int round = 0; round < 150; ++round) {
    std::atomic<int> ended = 0;
    std::optional<WaitEngine> engine(WaitEngineOptions{.threads = 2});
    std::array<std::vector<WaitHandle>, 2> handles;
    for (std::vector<WaitHandle>& of_thread : handles) {
      for (int i = 0; i < kWaitsOfAThread; ++i) {
        of_thread.push_back(engine->Start(
            Waiter([n = 0, i]() mutable { return i % 3 == 0 && ++n == 3; },
                   EveryHour()),
            [&](const WaitResult<>&) { ++ended; }));
      }
    }
    {
      const auto disturb = [](std::vector<WaitHandle>& of_thread) {
        for (int times = 0; times < 3; ++times) {
          for (size_t i = 0; i < of_thread.size(); ++i) {
            of_thread[i].PollNow();
            if (i % 4 == 1) of_thread[i].Cancel();
            if (i % 4 == 2) of_thread[i] = WaitHandle();
          }
        }
      };
      const JoiningThread first([&] { disturb(handles[0]); });
      const JoiningThread second([&] { disturb(handles[1]); });
      if (round % 2 == 0) engine.reset();
    }
    engine.reset();
    for (std::vector<WaitHandle>& of_thread : handles) {
      for (WaitHandle& handle : of_thread) {
        handle.PollNow();
        EXPECT_FALSE(handle.pending());
      }
    }
    EXPECT_GE(ended, kWaitsOfAThread);
  }
}

}  // namespace
}  // namespace waiter::poll_now_threads_test
