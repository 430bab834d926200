// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests when an engine without threads calls `WaitEngineOptions::wake`.
// mailbox_interleaving_test.cc shows that no request of two threads is lost.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::engine_wake_test {
namespace {

using ::testing::ElementsAre;

class EngineWakeTest : public EngineFixture {
 protected:
  WaitEngineOptions CountingWakes() {
    WaitEngineOptions options = Simulated();
    options.wake = [this] { ++wakes_; };
    return options;
  }

  std::atomic<int> wakes_ = 0;
};

TEST_F(EngineWakeTest, EveryKindOfRequestCallsItAndIsMergedUntilRunDue) {
  WaitEngine engine(CountingWakes());
  EXPECT_EQ(wakes_, 0);

  WaitHandle wait = engine.Start(NeverReady(), results_.Take());
  EXPECT_EQ(wakes_, 1);
  std::optional<PollCompletion<>> answer;
  WaitHandle asynchronous = engine.Start(
      AsyncWaiter([&](PollCompletion<> done) { answer = std::move(done); },
                  EverySecond()),
      results_.Take());
  EXPECT_EQ(wakes_, 1);

  engine.RunDue();
  EXPECT_EQ(wakes_, 1);
  wait.PollNow();
  EXPECT_EQ(wakes_, 2);
  wait.PollNow();
  wait.Cancel();
  EXPECT_EQ(wakes_, 2);

  engine.RunDue();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  (*answer)(Success());
  EXPECT_EQ(wakes_, 3);

  engine.RunDue();
  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kCancelled, StopReason::kSuccess));
  wait = engine.Start(NeverReady(), results_.Take());
  EXPECT_EQ(wakes_, 4);
  engine.RunDue();
  wait = WaitHandle();
  EXPECT_EQ(wakes_, 5);
}

TEST_F(EngineWakeTest, CallsOnWaitsThatHaveEndedCallNothing) {
  WaitEngine engine(CountingWakes());
  WaitHandle wait = engine.Start(Ready(), results_.Take());
  engine.RunDue();
  wakes_ = 0;

  wait.PollNow();
  wait.Cancel();
  wait.Detach();
  wait = WaitHandle();

  EXPECT_EQ(wakes_, 0);
}

TEST_F(EngineWakeTest, FunctionsOfWaitsInsideOfRunDueCallNothing) {
  WaitEngine engine(CountingWakes());
  std::vector<WaitHandle> waits(3);
  for (WaitHandle& wait : waits) {
    wait = engine.Start(NeverReady(), results_.Take());
  }
  engine.RunDue();
  engine
      .Start(Waiter(
                 [&] {
                   waits[0].Cancel();
                   waits[1].PollNow();
                   waits[2] = WaitHandle();
                   return true;
                 },
                 EverySecond()),
             [&](const WaitResult<>&) {
               engine.Start(NeverReady(), results_.Take()).Detach();
             })
      .Detach();
  wakes_ = 0;

  const MonotonicTime next = engine.RunDue();

  EXPECT_EQ(wakes_, 0);
  EXPECT_LE(next, clock_.MonotonicNow());
  engine.RunDue();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(EngineWakeTest, RequestOfAnotherThreadDuringRunDueCallsIt) {
  WaitEngine engine(CountingWakes());
  WaitHandle wait = engine.Start(NeverReady(), results_.Take());
  engine.RunDue();
  wakes_ = 0;
  engine
      .Start(Waiter(
                 [&] {
                   wakes_ = 0;
                   const JoiningThread canceller([&] { wait.Cancel(); });
                   return true;
                 },
                 EverySecond()),
             [](const WaitResult<>&) {})
      .Detach();

  const MonotonicTime next = engine.RunDue();

  EXPECT_EQ(wakes_, 1);
  EXPECT_LE(next, clock_.MonotonicNow());
}

TEST_F(EngineWakeTest, AnswerOfAnExecutorCallsItOnTheThreadOfTheExecutor) {
  std::thread::id woken_on;
  WaitEngineOptions options = Queued();
  options.wake = [&] { woken_on = std::this_thread::get_id(); };
  WaitEngine engine(options);
  const WaitHandle wait = engine.Start(Ready(), results_.Take());
  EXPECT_EQ(woken_on, std::this_thread::get_id());
  engine.RunDue();

  std::thread::id pool;
  JoiningThread([&] {
    pool = std::this_thread::get_id();
    tasks_.at(0)();
  }).join();

  EXPECT_EQ(woken_on, pool);
  engine.RunDue();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EngineWakeTest, MayStartAndCancelWaits) {
  WaitEngine* engine = nullptr;
  std::vector<WaitHandle> waits;
  bool again = true;
  WaitEngineOptions options = Simulated();
  options.wake = [&] {
    ++wakes_;
    if (!std::exchange(again, false)) return;
    waits.push_back(engine->Start(NeverReady(), results_.Take()));
    waits.back().Cancel();
  };
  WaitEngine made(options);
  engine = &made;

  waits.push_back(made.Start(NeverReady(), results_.Take()));
  made.RunDue();

  EXPECT_EQ(wakes_, 1);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(EngineWakeTest, DestructorCallsNothingAndDestroysTheHook) {
  auto held = std::make_shared<int>();
  std::optional<WaitEngine> engine;
  WaitEngineOptions options = Simulated();
  options.wake = [this, held] { ++wakes_; };
  engine.emplace(options);
  options.wake = nullptr;
  // The optional is empty once its engine is being destroyed.
  WaitEngine& running = *engine;
  WaitHandle wait = running.Start(NeverReady(), [&](WaitResult<> result) {
    results_.Take()(std::move(result));
    running.Start(NeverReady(), results_.Take()).Detach();
  });
  engine->RunDue();
  wakes_ = 0;

  engine.reset();

  EXPECT_EQ(wakes_, 0);
  EXPECT_EQ(held.use_count(), 1);
  wait.PollNow();
  wait.Cancel();
  EXPECT_EQ(wakes_, 0);
  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kShutDown, StopReason::kShutDown));
}

TEST_F(EngineWakeTest, RequiresAnEngineWithoutThreads) {
  WaitEngineOptions options = CountingWakes();
  EXPECT_TRUE(Validate(options).ok());
  options.threads = 1;
  EXPECT_FALSE(Validate(options).ok());
}

// A typical event loop: a flag, and a condition that ends a sleep.
class Loop {
 public:
  void Wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    condition_.notify_one();
  }

  // Returns at `time`, or earlier after `Wake`.
  void Sleep(MonotonicTime time) {
    std::unique_lock lock(mutex_);
    const auto woken = [this] { return woken_; };
    if (time == MonotonicTime::max()) {
      condition_.wait(lock, woken);
    } else {
      condition_.wait_until(lock, time, woken);
    }
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
};

// Runs an engine on its own thread. The loop sleeps without a limit, so a lost
// request hangs the test: waits sleep for an hour, and only their owners end
// them.
class EngineOnLoop {
 public:
  ~EngineOnLoop() {
    done_ = true;
    loop_.Wake();
  }

  WaitEngine& engine() { return engine_; }
  int ended() const { return ended_; }

  // Starts a wait, and ends it by a request once its first poll has begun.
  void EndByPollNow(bool cancels) {
    std::atomic<bool> polled = false;
    std::atomic<bool> called_back = false;
    WaitHandle wait = engine_.Start(Waiter(
                                        [&] {
                                          if (polled.exchange(true)) {
                                            return true;
                                          }
                                          polled.notify_all();
                                          return false;
                                        },
                                        Hourly()),
                                    CountEnd(called_back));
    polled.wait(false);
    cancels ? wait.Cancel() : wait.PollNow();
    called_back.wait(false);
  }
  void EndByAnswer(bool cancels) {
    std::optional<PollCompletion<>> answer;
    std::atomic<bool> polled = false;
    std::atomic<bool> called_back = false;
    WaitHandle wait = engine_.Start(AsyncWaiter(
                                        [&](PollCompletion<> completion) {
                                          answer = std::move(completion);
                                          Set(polled);
                                        },
                                        Hourly()),
                                    CountEnd(called_back));
    polled.wait(false);
    cancels ? wait.Cancel() : (*answer)(Success());
    called_back.wait(false);
  }

 private:
  static WaitOptions Hourly() {
    return {.timeout = absl::Hours(10), .backoff = Every(absl::Hours(1))};
  }

  static void Set(std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
  }

  std::function<void(const WaitResult<>&)> CountEnd(
      std::atomic<bool>& called_back) {
    return [this, &called_back](const WaitResult<>&) {
      ++ended_;
      Set(called_back);
    };
  }

  void Run() {
    while (!done_) {
      const MonotonicTime next = engine_.RunDue();
      if (next > GetRealClock().MonotonicNow()) loop_.Sleep(next);
    }
  }

  Loop loop_;
  std::atomic<bool> done_ = false;
  std::atomic<int> ended_ = 0;
  WaitEngine engine_{{.threads = 0, .wake = [this] { loop_.Wake(); }}};
  JoiningThread runner_{[this] { Run(); }};
};

TEST(EngineWakeThreadsTest, LoopMissesNoRequestOfOtherThreads) {
  constexpr int kThreads = 4;
  constexpr int kWaits = 200;
  EngineOnLoop loop;
  const auto start_and_end = [&loop](int thread) {
    for (int i = 0; i < kWaits; ++i) {
      if ((i + thread) % 2 == 0) {
        loop.EndByPollNow(/*cancels=*/i % 3 == 0);
      } else {
        loop.EndByAnswer(/*cancels=*/i % 3 == 0);
      }
    }
  };

  {
    std::vector<JoiningThread> threads(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads[static_cast<size_t>(i)] =
          JoiningThread([&, i] { start_and_end(i); });
    }
  }

  EXPECT_EQ(loop.ended(), kThreads * kWaits);
}

// The destructor awaits calls of the hook. After that, the loop may end.
TEST(EngineWakeThreadsTest, NoCallComesOnceTheEngineIsGone) {
  for (int round = 0; round < 100; ++round) {
    auto loop = std::make_unique<Loop>();
    auto engine = std::make_unique<WaitEngine>(
        WaitEngineOptions{.threads = 0, .wake = [&loop] { loop->Wake(); }});
    std::vector<WaitHandle> waits(20);
    for (WaitHandle& wait : waits) {
      wait = engine->Start(Waiter([] { return false; }, absl::Hours(1)),
                           [](const WaitResult<>&) {});
    }
    engine->RunDue();
    std::atomic<bool> started = false;
    const JoiningThread canceller([&] {
      for (WaitHandle& wait : waits) {
        wait.Cancel();
        started = true;
        started.notify_all();
      }
    });
    started.wait(false);
    engine->RunDue();
    engine.reset();
    loop.reset();
  }
}

class EngineWakeDeathTest : public EngineWakeTest {
 protected:
  EngineWakeDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Starts a wait on an engine whose hook calls `hook`.
  void StartWith(std::function<void(std::optional<WaitEngine>&)> hook) {
    std::optional<WaitEngine> engine;
    WaitEngineOptions options = Simulated();
    options.wake = [&] { hook(engine); };
    engine.emplace(options);
    engine->Start(NeverReady(), results_.Take()).Detach();
  }
};

TEST_F(EngineWakeDeathTest, RunDueInsideOfItTerminates) {
  EXPECT_DEATH(StartWith([](auto& engine) { engine->RunDue(); }),
               "RunDue was called by WaitEngineOptions::wake");
}

TEST_F(EngineWakeDeathTest, DestroyingTheEngineInsideOfItTerminates) {
  EXPECT_DEATH(StartWith([](auto& engine) { engine.reset(); }),
               "destroyed by its WaitEngineOptions::wake");
}

TEST_F(EngineWakeDeathTest, ExceptionTerminates) {
  EXPECT_DEATH(StartWith([](auto&) { throw 7; }), "");
}

}  // namespace
}  // namespace waiter::engine_wake_test
