// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/event_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/loop/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"
#include "waiter/clock.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::cli::event_loop_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    reading = UniqueFd(ends[0]);
    writing = UniqueFd(ends[1]);
  }
  void Write() const { EXPECT_EQ(write(writing.get(), "x", 1), 1); }
  void Read() const {
    char c;
    EXPECT_EQ(read(reading.get(), &c, 1), 1);
  }

  UniqueFd reading;
  UniqueFd writing;
};

TEST(EventLoopTest, TimersFireOnceInOrderOfTime) {
  SimulatedClock clock;
  EventLoop loop(clock);
  std::vector<std::pair<std::string, absl::Duration>> calls;
  std::vector<EventLoop::Watch> timers;
  const auto add = [&](std::string name, absl::Duration delay) {
    timers.push_back(loop.CallAfter(
        delay, [&, name] { calls.emplace_back(name, clock.Elapsed()); }));
  };
  add("third", absl::Seconds(3));
  add("first", absl::Seconds(1));
  add("with the first", absl::Seconds(1));
  add("never", absl::InfiniteDuration());
  add("now", absl::ZeroDuration());

  while (calls.size() < 4) loop.RunOnce(MonotonicTime::max());

  EXPECT_THAT(calls, ElementsAre(std::pair("now", absl::ZeroDuration()),
                                 std::pair("first", absl::Seconds(1)),
                                 std::pair("with the first", absl::Seconds(1)),
                                 std::pair("third", absl::Seconds(3))));
}

TEST(EventLoopTest, RoundEndsAtItsLimitWhenNothingIsDue) {
  SimulatedClock clock;
  EventLoop loop(clock);
  bool called = false;
  const EventLoop::Watch timer =
      loop.CallAfter(absl::Seconds(5), [&] { called = true; });

  loop.RunOnce(clock.MonotonicNow() + std::chrono::seconds(3));

  EXPECT_EQ(clock.Elapsed(), absl::Seconds(3));
  EXPECT_FALSE(called);
}

TEST(EventLoopTest, TimerMayEndItselfAndOthersAndSetNewOnes) {
  EventLoop loop;
  std::vector<std::string> calls;
  EventLoop::Watch self;
  EventLoop::Watch other;
  EventLoop::Watch next;
  const MonotonicTime due = GetRealClock().MonotonicNow();
  self = loop.CallAt(due, [&] {
    calls.emplace_back("self");
    self = {};
    other = {};
    next = loop.CallAt(due, [&] { calls.emplace_back("next"); });
  });
  other = loop.CallAt(due, [&] { calls.emplace_back("other"); });

  loop.RunOnce(due);
  EXPECT_THAT(calls, ElementsAre("self"));
  loop.RunOnce(due);
  EXPECT_THAT(calls, ElementsAre("self", "next"));
}

TEST(EventLoopTest, TimerThatIsAlwaysDueLeavesSocketsTheirTurn) {
  EventLoop loop;
  const MonotonicTime due = GetRealClock().MonotonicNow();
  int calls = 0;
  EventLoop::Watch timer;
  std::function<void()> again = [&] {
    // Ends a loop that would run forever.
    if (++calls < 1000) timer = loop.CallAt(due, again);
  };
  timer = loop.CallAt(due, again);
  const Pipe pipe;
  pipe.Write();
  std::optional<int> calls_before;
  const EventLoop::Watch reading =
      loop.WhenReady(pipe.reading.get(), POLLIN, [&](short) {
        pipe.Read();
        calls_before = calls;
      });

  loop.RunOnce(due);
  loop.RunOnce(due);

  EXPECT_EQ(calls, 2);
  EXPECT_EQ(calls_before, 0);
}

TEST(EventLoopTest, SocketIsReportedUntilItIsReadAndWhenItIsClosed) {
  EventLoop loop;
  std::optional<Pipe> pipe(std::in_place);
  std::vector<short> events;
  const EventLoop::Watch reading =
      loop.WhenReady(pipe->reading.get(), POLLIN,
                     [&](short ready) { events.push_back(ready); });
  const MonotonicTime now = GetRealClock().MonotonicNow();

  loop.RunOnce(now);
  EXPECT_THAT(events, IsEmpty());

  pipe->Write();
  loop.RunOnce(now);
  loop.RunOnce(now);
  EXPECT_THAT(events, ElementsAre(POLLIN, POLLIN));

  pipe->Read();
  loop.RunOnce(now);
  EXPECT_EQ(events.size(), 2);

  pipe->writing = UniqueFd();
  loop.RunOnce(now);
  EXPECT_EQ(events.back() & POLLHUP, POLLHUP);
}

TEST(EventLoopTest, ReadySocketMayEndTheWatchOfAnother) {
  EventLoop loop;
  std::array<Pipe, 2> pipes;
  std::array<EventLoop::Watch, 2> watches;
  int calls = 0;
  for (size_t i = 0; i < 2; ++i) {
    pipes[i].Write();
    watches[i] = loop.WhenReady(pipes[i].reading.get(), POLLIN, [&](short) {
      ++calls;
      watches = {};
    });
  }

  loop.RunOnce(GetRealClock().MonotonicNow());
  loop.RunOnce(GetRealClock().MonotonicNow());

  EXPECT_EQ(calls, 1);
}

TEST(EventLoopTest, WatchEndedInsideItsCallKeepsTheCallAlive) {
  EventLoop loop;
  const Pipe pipe;
  pipe.Write();
  EventLoop::Watch watch;
  std::string seen;
  watch = loop.WhenReady(pipe.reading.get(), POLLIN,
                         [&watch, &seen, text = std::string(100, 'x')](short) {
                           watch = {};
                           seen = text;
                         });

  loop.RunOnce(GetRealClock().MonotonicNow());

  EXPECT_EQ(seen, std::string(100, 'x'));
}

TEST(EventLoopTest, CallKeepsItsStateBetweenRounds) {
  EventLoop loop;
  const Pipe pipe;
  pipe.Write();
  std::vector<int> counts;
  const EventLoop::Watch watch = loop.WhenReady(
      pipe.reading.get(), POLLIN,
      [&, count = 0](short) mutable { counts.push_back(++count); });

  for (int i = 0; i < 3; ++i) loop.RunOnce(GetRealClock().MonotonicNow());

  EXPECT_THAT(counts, ElementsAre(1, 2, 3));
}

TEST(EventLoopTest, MovedWatchKeepsItsTimer) {
  EventLoop loop;
  int calls = 0;
  const auto call = [&] { ++calls; };
  const MonotonicTime due = GetRealClock().MonotonicNow();
  EventLoop::Watch first = loop.CallAt(due, call);
  EventLoop::Watch second = std::move(first);
  EventLoop::Watch third = loop.CallAt(due, call);
  third = std::move(second);  // Ends the timer of `third`.

  loop.RunOnce(due);

  EXPECT_EQ(calls, 1);
}

TEST(EventLoopTest, PostsOfAnyThreadRunOnTheThreadOfTheLoop) {
  EventLoop loop;
  constexpr int kThreads = 4;
  constexpr int kPosts = 100;
  int calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int post = 0; post < kPosts; ++post) {
        loop.Post([&, self = std::this_thread::get_id()] {
          EXPECT_NE(self, std::this_thread::get_id());
          ++calls;
        });
      }
    });
  }

  EXPECT_TRUE(RunUntil(loop, [&] { return calls == kThreads * kPosts; }));

  for (std::thread& thread : threads) thread.join();
}

TEST(EventLoopTest, PostFromInsideAPostRunsInTheNextRound) {
  EventLoop loop;
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds < 3) loop.Post(again);
  };
  loop.Post(again);

  loop.RunOnce(MonotonicTime::max());
  EXPECT_EQ(rounds, 1);
  EXPECT_TRUE(RunUntil(loop, [&] { return rounds == 3; }));
}

TEST(EventLoopTest, MorePostsThanThePipeHoldsAllRun) {
  EventLoop loop;
  constexpr int kPosts = 70'000;  // A pipe holds 65536 bytes.
  int calls = 0;
  for (int i = 0; i < kPosts; ++i) loop.Post([&] { ++calls; });

  EXPECT_TRUE(RunUntil(loop, [&] { return calls == kPosts; }));
}

TEST(EventLoopTest, UnrunPostIsDestroyed) {
  const auto kept = std::make_shared<int>();
  {
    EventLoop loop;
    loop.Post([kept] {});
    EXPECT_EQ(kept.use_count(), 2);
  }
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace waiter::cli::event_loop_test
