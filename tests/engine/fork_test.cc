// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the child of a fork(2). It has copies of engines and handles, but none
// of their threads. Static objects are destroyed when it exits.

#include <atomic>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/forked_child.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

constexpr char kExited[] = "exited with 0";

WaitHandle StartEndless(WaitEngine& engine,
                        absl::Duration delay = absl::Hours(1)) {
  return engine.Start(
      Waiter([] { return false; },
             {.timeout = absl::InfiniteDuration(),
              .backoff = {.initial_delay = delay, .max_delay = delay}}),
      [](const WaitResult<>&) {});
}

TEST(ForkTest, ChildExitsWithStaticEnginesAndHandles) {
  static WaitEngine engine({.threads = 2});
  static std::vector<WaitHandle> handles;
  for (int i = 0; i < 4; ++i) handles.push_back(StartEndless(engine));

  EXPECT_EQ(ExitOfChild([] {}), kExited);
}

TEST(ForkTest, ChildExitsWhateverTheThreadsWereDoing) {
  static WaitEngine engine({.threads = 2});
  static std::optional<WaitHandle> handle;
  std::atomic<bool> ends = false;
  // At some fork, these waits hold each lock of the engine.
  std::vector<WaitHandle> busy;
  for (int i = 0; i < 100; ++i) {
    busy.push_back(StartEndless(engine, absl::ZeroDuration()));
  }
  JoiningThread starts([&] {
    while (!ends) StartEndless(engine).Cancel();
  });
  handle = StartEndless(engine, absl::ZeroDuration());

  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(ExitOfChild([] {}), kExited) << i;
  }
  ends = true;
}

TEST(ForkTest, ChildMayDestroyEnginesAndHandlesInAnyOrder) {
  std::optional<WaitEngine> engine(std::in_place);
  std::optional<WaitHandle> first = StartEndless(*engine);
  std::optional<WaitHandle> last = StartEndless(*engine);

  EXPECT_EQ(ExitOfChild([&] {
              first.reset();
              engine.reset();
              last.reset();
            }),
            kExited);
}

TEST(ForkTest, HandlesDoNothingInAChild) {
  static WaitEngine engine;
  static WaitHandle handle = StartEndless(engine);

  EXPECT_EQ(ExitOfChild([] {
              handle.Cancel();
              handle.PollNow();
              handle.Suspend([](WaitToken) { std::abort(); });
              handle.Detach();
            }),
            kExited);
  EXPECT_TRUE(handle.pending());
}

TEST(ForkTest, ParentGoesOn) {
  WaitEngine engine;
  std::atomic<bool> is_ready = false;
  auto result = StartFuture(
      engine, Waiter([&] { return is_ready.load(); },
                     {.timeout = absl::Minutes(1),
                      .backoff = {.initial_delay = absl::Milliseconds(1),
                                  .max_delay = absl::Milliseconds(1)}}));

  EXPECT_EQ(ExitOfChild([] {}), kExited);
  is_ready = true;
  EXPECT_TRUE(result.get().ok());
}

TEST(ForkTest, ChildMayRunAnEngineWithoutThreads) {
  int polls = 0;
  bool is_over = false;
  WaitEngine engine({.threads = 0});
  engine
      .Start(Waiter([&] { return ++polls == 3; },
                    {.timeout = absl::Minutes(1),
                     .backoff = {.initial_delay = absl::ZeroDuration()}}),
             [&](const WaitResult<>& result) { is_over = result.ok(); })
      .Detach();
  engine.RunDue();

  EXPECT_EQ(ExitOfChild([&] {
              engine.Run();
              if (!is_over) std::exit(1);
            }),
            kExited);
  EXPECT_FALSE(is_over);
}

TEST(ForkTest, ChildMayMakeEnginesAndFork) {
#ifdef ABSL_HAVE_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer forbids threads in children";
#endif
  static WaitEngine engine;
  EXPECT_EQ(ExitOfChild([] {
              static WaitEngine own;
              if (!StartFuture(own, Waiter([] { return true; },
                                           {.timeout = absl::Minutes(1)}))
                       .get()
                       .ok()) {
                std::exit(1);
              }
              if (ExitOfChild([] {}) != kExited) std::exit(2);
            }),
            kExited);
}

}  // namespace
}  // namespace waiter
