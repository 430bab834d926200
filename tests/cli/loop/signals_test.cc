// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/signals.h"

#include <csignal>
#include <optional>

#include "cli/loop/event_loop.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"
#include "waiter/clock.h"

namespace waiter::cli::signals_test {
namespace {

using Handler = void (*)(int);

Handler HandlerOf(int signal) {
  struct sigaction action = {};
  EXPECT_EQ(sigaction(signal, nullptr, &action), 0);
  return action.sa_handler;
}

// Sets the handler of a signal while this object exists.
class ScopedHandler {
 public:
  ScopedHandler(int signal, Handler handler) : signal_(signal) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    EXPECT_EQ(sigaction(signal, &action, &before_), 0);
  }
  ~ScopedHandler() { sigaction(signal_, &before_, nullptr); }
  ScopedHandler(const ScopedHandler&) = delete;
  ScopedHandler& operator=(const ScopedHandler&) = delete;

 private:
  int signal_;
  struct sigaction before_ = {};
};

void RunRound(EventLoop& loop) { loop.RunOnce(GetRealClock().MonotonicNow()); }

TEST(SignalsTest, SignalBecomesACallOnTheLoop) {
  EventLoop loop;
  int calls = 0;
  int others = 0;
  const SignalWatch watch(loop, SIGUSR1, [&] { ++calls; });
  const SignalWatch other(loop, SIGUSR2, [&] { ++others; });

  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(calls, 0);  // The call does not run inside the signal.
  EXPECT_TRUE(RunUntil(loop, [&] { return calls == 1; }));

  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_TRUE(RunUntil(loop, [&] { return calls == 2; }));
  RunRound(loop);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(others, 0);
}

TEST(SignalsTest, ManyArrivalsBeforeARoundBecomeOneCall) {
  EventLoop loop;
  int calls = 0;
  const SignalWatch watch(loop, SIGUSR1, [&] { ++calls; });

  for (int i = 0; i < 100; ++i) EXPECT_EQ(raise(SIGUSR1), 0);
  RunRound(loop);
  RunRound(loop);

  EXPECT_EQ(calls, 1);
}

TEST(SignalsTest, ArrivalWakesAWaitingLoop) {
  EventLoop loop;
  int calls = 0;
  const SignalWatch watch(loop, SIGUSR1, [&] { ++calls; });
  // The signal arrives inside the round, before the loop waits.
  loop.Post([] { EXPECT_EQ(raise(SIGUSR1), 0); });

  EXPECT_TRUE(RunUntil(loop, [&] { return calls == 1; }));
}

TEST(SignalsTest, EndOfAWatchRestoresTheHandler) {
  const ScopedHandler before(
      SIGUSR1, +[](int) {});
  const Handler was = HandlerOf(SIGUSR1);
  EventLoop loop;
  {
    const SignalWatch watch(loop, SIGUSR1, [] {});
    EXPECT_NE(HandlerOf(SIGUSR1), was);
  }
  EXPECT_EQ(HandlerOf(SIGUSR1), was);
  EXPECT_EQ(raise(SIGUSR1), 0);
  RunRound(loop);
}

TEST(SignalsTest, WatchMayEndInsideItsCall) {
  const ScopedHandler before(SIGUSR1, SIG_IGN);
  const ScopedHandler usual(SIGUSR1, SIG_DFL);
  EventLoop loop;
  std::optional<SignalWatch> watch;
  int calls = 0;
  watch.emplace(loop, SIGUSR1, [&] {
    watch.reset();
    ++calls;
  });

  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_TRUE(RunUntil(loop, [&] { return calls == 1; }));

  EXPECT_EQ(HandlerOf(SIGUSR1), SIG_DFL);
}

TEST(SignalsTest, WatchMayFollowOneThatEnded) {
  EventLoop loop;
  int calls = 0;
  for (int i = 1; i <= 3; ++i) {
    const SignalWatch watch(loop, SIGUSR1, [&] { ++calls; });
    EXPECT_EQ(raise(SIGUSR1), 0);
    EXPECT_TRUE(RunUntil(loop, [&] { return calls == i; }));
  }
}

TEST(SignalsTest, IgnoredSignalsStayIgnoredExceptSigchld) {
  const ScopedHandler hangup(SIGHUP, SIG_IGN);
  const ScopedHandler child(SIGCHLD, SIG_IGN);
  EventLoop loop;
  int hangups = 0;
  int children = 0;
  {
    const SignalWatch hangup_watch(loop, SIGHUP, [&] { ++hangups; });
    const SignalWatch child_watch(loop, SIGCHLD, [&] { ++children; });

    EXPECT_EQ(raise(SIGHUP), 0);
    EXPECT_EQ(raise(SIGCHLD), 0);
    EXPECT_TRUE(RunUntil(loop, [&] { return children == 1; }));
  }
  EXPECT_EQ(hangups, 0);
  EXPECT_EQ(HandlerOf(SIGHUP), SIG_IGN);
  EXPECT_EQ(HandlerOf(SIGCHLD), SIG_IGN);
}

}  // namespace
}  // namespace waiter::cli::signals_test
