// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::resume_threads_test {
namespace {

TEST(ResumeThreadsTest, CheckpointRunsOnTheThreadOfTheEngine) {
  // The thread that runs callbacks is the engine's; polls run elsewhere.
  std::thread::id at_checkpoint;
  std::thread::id at_poll;
  std::thread::id at_end;
  std::vector<JoiningThread> pool;
  {
    WaitEngine engine({.executor = [&](absl::AnyInvocable<void()> poll) {
      pool.emplace_back([poll = std::make_shared<absl::AnyInvocable<void()>>(
                             std::move(poll))] { (*poll)(); });
    }});
    std::atomic<bool> ended = false;
    int polls = 0;
    const WaitHandle wait = engine.Start(
        Waiter(
            [&] {
              at_poll = std::this_thread::get_id();
              return ++polls == 2;
            },
            WaitOptions{.timeout = absl::Minutes(5),
                        .backoff = Every(absl::Milliseconds(1)),
                        .hooks = {.on_checkpoint =
                                      [&](const WaitToken&) {
                                        at_checkpoint =
                                            std::this_thread::get_id();
                                      }}}),
        [&](const WaitResult<>&) {
          at_end = std::this_thread::get_id();
          ended = true;
        });
    while (!ended) std::this_thread::yield();
  }
  EXPECT_EQ(at_checkpoint, at_end);
  EXPECT_NE(at_checkpoint, at_poll);
  EXPECT_NE(at_checkpoint, std::this_thread::get_id());
}

// Two threads resume one token with one waiter, and a third reads the token.
TEST(ResumeThreadsTest, ThreadsMayShareATokenAndAWaiter) {
  std::optional<WaitToken> token;
  (void)Waiter([] { return true; },
               WaitOptions{.timeout = absl::Minutes(5),
                           .polls = {.first_delay = absl::Milliseconds(1)},
                           .hooks = {.on_checkpoint =
                                         [&](const WaitToken& saved) {
                                           token = saved;
                                         }}})
      .Wait();
  ASSERT_TRUE(token.has_value());
  Waiter wait([] { return true; }, absl::Minutes(5));
  WaitEngine engine({.threads = 2});
  std::atomic<int> ok = 0;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back(
          [&] { ok += wait.Wait({.resume = *token}).ok() ? 1 : 0; });
      threads.emplace_back([&] {
        engine
            .Start(wait,
                   [&](const WaitResult<>& got) { ok += got.ok() ? 1 : 0; },
                   {.resume = *token})
            .Detach();
      });
      threads.emplace_back([&] {
        EXPECT_EQ(token->name(), "wait");
        EXPECT_EQ(WaitToken::Parse(token->bytes())->attempts(), 0);
      });
    }
  }
  while (ok < 4) std::this_thread::yield();
}

TEST(ResumeThreadsDeathTest, DestroyingTheEngineInACheckpointIsReported) {
  const auto run = [] {
    std::optional<WaitEngine> engine(std::in_place,
                                     WaitEngineOptions{.threads = 0});
    engine
        ->Start(Waiter([] { return false; },
                       WaitOptions{.timeout = absl::Minutes(5),
                                   .hooks = {.on_checkpoint =
                                                 [&](const WaitToken&) {
                                                   engine.reset();
                                                 }}}),
                [](const WaitResult<>&) {})
        .Detach();
    engine->Run();
  };
  EXPECT_DEATH(run(), "destroyed by one of its own waits");
}

}  // namespace
}  // namespace waiter::resume_threads_test
