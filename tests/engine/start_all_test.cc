// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::start_all_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using StatusFunctionOfTest = std::function<Poll<>()>;

const WaitOptions kForever = {.timeout = absl::InfiniteDuration()};

// Waiters that record the order of their polls.
std::vector<Waiter<StatusFunctionOfTest>> MakeWaiters(int count,
                                                      std::vector<int>* polled,
                                                      PollStatus status) {
  std::vector<Waiter<StatusFunctionOfTest>> waiters;
  waiters.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    waiters.emplace_back(
        [=]() -> Poll<> {
          if (polled != nullptr) polled->push_back(i);
          return status;
        },
        kForever);
  }
  return waiters;
}

// Reasons of the ends, by the index of the wait.
class Ends {
 public:
  explicit Ends(size_t count) : reasons_(count) {}

  auto Callback() {
    return [this](size_t i, const WaitResult<>& result) {
      EXPECT_EQ(reasons_[i], std::nullopt);
      reasons_[i] = result.reason();
    };
  }
  const std::vector<std::optional<StopReason>>& reasons() const {
    return reasons_;
  }

 private:
  std::vector<std::optional<StopReason>> reasons_;
};

TEST(StartAllTest, PollsInOrderAndTellsThePlace) {
  WaitEngine engine({.threads = 0});
  std::vector<int> polled;
  Ends ends(4);
  const std::vector<WaitHandle> waits = engine.StartAll(
      MakeWaiters(4, &polled, PollStatus::kSuccess), ends.Callback());
  EXPECT_THAT(waits, SizeIs(4));
  for (const WaitHandle& wait : waits) EXPECT_TRUE(wait.pending());
  EXPECT_THAT(polled, IsEmpty());

  engine.Run();

  EXPECT_THAT(polled, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ends.reasons(), Each(StopReason::kSuccess));
  for (const WaitHandle& wait : waits) EXPECT_FALSE(wait.pending());
}

TEST(StartAllTest, HandleIsThatOfTheWaitInItsPlace) {
  WaitEngine engine({.threads = 0});
  Ends ends(3);
  std::vector<WaitHandle> waits = engine.StartAll(
      MakeWaiters(3, nullptr, PollStatus::kNotReady), ends.Callback());
  waits[1].Cancel();
  waits[2] = WaitHandle();
  engine.RunDue();
  EXPECT_THAT(ends.reasons(),
              ElementsAre(std::nullopt, StopReason::kCancelled, std::nullopt));
  EXPECT_TRUE(waits[0].pending());
}

TEST(StartAllTest, EmptyBatchStartsNothing) {
  WaitEngine engine({.threads = 2});
  Ends ends(0);
  EXPECT_THAT(engine.StartAll(std::vector<Waiter<StatusFunctionOfTest>>(),
                              ends.Callback()),
              IsEmpty());
  EXPECT_EQ(engine.statistics().pending, 0);
}

TEST(StartAllTest, WakesAnEventLoopOnce) {
  int wakes = 0;
  WaitEngine engine({.threads = 0, .wake = [&] { ++wakes; }});
  Ends ends(64);
  const std::vector<WaitHandle> waits = engine.StartAll(
      MakeWaiters(64, nullptr, PollStatus::kSuccess), ends.Callback());
  EXPECT_EQ(wakes, 1);
  engine.Run();
}

TEST(StartAllTest, ThreadsShareABatch) {
  for (const size_t count : std::initializer_list<size_t>{1, 2, 3, 7}) {
    SCOPED_TRACE(count);
    WaitEngine engine({.threads = 3});
    std::vector<std::thread::id> threads(count);
    std::latch all_ended(static_cast<std::ptrdiff_t>(count));
    std::vector<Waiter<std::function<bool()>>> waiters;
    for (size_t i = 0; i < count; ++i) {
      waiters.emplace_back(
          [&threads, i] {
            threads[i] = std::this_thread::get_id();
            return true;
          },
          kForever);
    }
    const std::vector<WaitHandle> waits = engine.StartAll(
        std::move(waiters), [&](size_t, const WaitResult<>& result) {
          EXPECT_TRUE(result.ok());
          all_ended.count_down();
        });
    all_ended.wait();
    EXPECT_THAT(waits, SizeIs(count));
    std::vector<std::thread::id> others = threads;
    others.erase(std::unique(others.begin(), others.end()), others.end());
    EXPECT_THAT(others, SizeIs(std::min<size_t>(count, 3)));
  }
}

TEST(StartAllTest, WaitsOfAFunctionStayOnItsThread) {
  WaitEngine engine({.threads = 3});
  std::latch all_ended(6);
  std::vector<WaitHandle> inner;
  const WaitHandle outer = engine.Start(
      Waiter([] { return true; }, kForever), [&](const WaitResult<>&) {
        const auto thread = std::this_thread::get_id();
        inner = engine.StartAll(MakeWaiters(6, nullptr, PollStatus::kSuccess),
                                [&, thread](size_t, const WaitResult<>&) {
                                  EXPECT_EQ(std::this_thread::get_id(), thread);
                                  all_ended.count_down();
                                });
      });
  all_ended.wait();
}

TEST(StartAllTest, StopEndsAllWaits) {
  WaitEngine engine({.threads = 0});
  std::vector<int> polled;
  Ends ends(3);
  waiter::stop_source stop;
  const std::vector<WaitHandle> waits =
      engine.StartAll(MakeWaiters(3, &polled, PollStatus::kNotReady),
                      ends.Callback(), stop.get_token());
  engine.RunDue();
  EXPECT_THAT(polled, SizeIs(3));
  stop.request_stop();
  engine.RunDue();
  EXPECT_THAT(ends.reasons(), Each(StopReason::kCancelled));
}

TEST(StartAllTest, EarlierStopEndsAllWaitsWithoutAPoll) {
  WaitEngine engine({.threads = 0});
  std::vector<int> polled;
  Ends ends(3);
  waiter::stop_source stop;
  stop.request_stop();
  const std::vector<WaitHandle> waits =
      engine.StartAll(MakeWaiters(3, &polled, PollStatus::kNotReady),
                      ends.Callback(), stop.get_token());
  engine.RunDue();
  EXPECT_THAT(polled, IsEmpty());
  EXPECT_THAT(ends.reasons(), Each(StopReason::kCancelled));
}

TEST(StartAllTest, TokenWithoutASourceStopsNothing) {
  WaitEngine engine({.threads = 0});
  Ends ends(2);
  const std::vector<WaitHandle> waits =
      engine.StartAll(MakeWaiters(2, nullptr, PollStatus::kSuccess),
                      ends.Callback(), waiter::stop_token());
  engine.Run();
  EXPECT_THAT(ends.reasons(), Each(StopReason::kSuccess));
}

TEST(StartAllTest, CallbackMayDestroyTheHandlesOfOthers) {
  WaitEngine engine({.threads = 0});
  std::vector<WaitHandle> waits;
  std::vector<int> polled;
  std::vector<size_t> called;
  waits = engine.StartAll(MakeWaiters(4, &polled, PollStatus::kSuccess),
                          [&](size_t i, const WaitResult<>&) {
                            called.push_back(i);
                            waits.clear();
                          });
  engine.Run();
  EXPECT_THAT(called, ElementsAre(0));
  EXPECT_THAT(polled, ElementsAre(0));
}

// A batch that starts while the engine ends is shut down immediately.
TEST(StartAllTest, BatchWhileTheEngineEndsIsShutDown) {
  for (const int threads : {0, 1, 3}) {
    SCOPED_TRACE(threads);
    std::atomic<int> ended = 0;
    std::vector<WaitHandle> inner;
    {
      WaitEngine engine({.threads = threads});
      engine
          .Start(Waiter([] { return false; }, kForever),
                 [&](const WaitResult<>&) {
                   inner = engine.StartAll(
                       MakeWaiters(5, nullptr, PollStatus::kNotReady),
                       [&](size_t, const WaitResult<>& result) {
                         EXPECT_EQ(result.reason(), StopReason::kShutDown);
                         ++ended;
                       });
                 })
          .Detach();
    }
    EXPECT_EQ(ended, 5);
  }
}

// The engine ends before it takes a posted batch.
TEST(StartAllTest, EngineThatEndsCallsBackForEachWait) {
  Ends ends(5);
  std::vector<WaitHandle> waits;
  {
    WaitEngine engine({.threads = 0});
    waits = engine.StartAll(MakeWaiters(5, nullptr, PollStatus::kNotReady),
                            ends.Callback());
  }
  EXPECT_THAT(ends.reasons(), Each(StopReason::kShutDown));
}

TEST(StartAllTest, TakesContextsAndAsynchronousWaiters) {
  WaitEngine engine({.threads = 0});
  const auto with_context = [](const PollContext& context) {
    EXPECT_TRUE(context.stop_token.stop_possible());
    return true;
  };
  std::vector<Waiter<std::decay_t<decltype(with_context)>>> waiters(
      3, Waiter(with_context, kForever));
  const auto answer = [](const PollCompletion<std::string>& done) {
    done(Success(std::string("text")));
  };
  std::vector<AsyncWaiter<std::decay_t<decltype(answer)>>> async(
      2, AsyncWaiter(answer, kForever));
  Ends ends(3);
  const auto first = engine.StartAll(std::move(waiters), ends.Callback());
  std::vector<std::string> values(2);
  const auto second = engine.StartAll(
      std::move(async), [&](size_t i, const WaitResult<std::string>& result) {
        values[i] = *result;
      });
  engine.Run();
  EXPECT_THAT(ends.reasons(), Each(StopReason::kSuccess));
  EXPECT_THAT(values, Each("text"));
}

#ifdef __cpp_exceptions
// A callback whose nth copy throws.
struct ThrowingCallback {
  explicit ThrowingCallback(int* copies) : copies_left(copies) {}
  ThrowingCallback(const ThrowingCallback& other)
      : copies_left(other.copies_left), alive(other.alive) {
    if (--*copies_left < 0) throw std::runtime_error("no copy");
  }
  ThrowingCallback(ThrowingCallback&&) = default;

  void operator()(size_t, const WaitResult<>&) const { ADD_FAILURE(); }

  int* copies_left;
  std::shared_ptr<int> alive = std::make_shared<int>(0);
};

TEST(StartAllTest, ExceptionStartsNothingAndDestroysAllFunctions) {
  WaitEngine engine({.threads = 0});
  for (int copies = 0; copies < 5; ++copies) {
    SCOPED_TRACE(copies);
    int copies_left = copies;
    std::vector<int> polled;
    ThrowingCallback callback(&copies_left);
    const std::weak_ptr<int> alive = callback.alive;
    EXPECT_THROW(static_cast<void>(engine.StartAll(
                     MakeWaiters(5, &polled, PollStatus::kSuccess),
                     std::move(callback))),
                 std::runtime_error);
    EXPECT_TRUE(alive.expired());
    engine.Run();
    EXPECT_THAT(polled, IsEmpty());
  }
  Ends ends(5);
  const std::vector<WaitHandle> waits = engine.StartAll(
      MakeWaiters(5, nullptr, PollStatus::kSuccess), ends.Callback());
  engine.Run();
  EXPECT_THAT(ends.reasons(), Each(StopReason::kSuccess));
}
#endif

// Threads start batches on an engine with several threads, and immediately
// destroy or cancel some of the waits.
TEST(StartAllTest, ManyThreadsStartBatches) {
  constexpr int kThreads = 3;
  constexpr int kBatches = 50;
  constexpr int kSize = 16;
  std::atomic<int> ended = 0;
  std::atomic<int> destroyed = 0;
  {
    WaitEngine engine({.threads = 2});
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int batch = 0; batch < kBatches; ++batch) {
          std::vector<WaitHandle> waits =
              engine.StartAll(MakeWaiters(kSize, nullptr, PollStatus::kSuccess),
                              [&](size_t, const WaitResult<>&) { ++ended; });
          waits[3].Cancel();
          for (WaitHandle& wait : waits) {
            if (&wait != &waits[5]) wait.Detach();
          }
          ++destroyed;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_LE(ended, kThreads * kBatches * kSize);
  EXPECT_GE(ended, kThreads * kBatches * kSize - destroyed);
}

}  // namespace
}  // namespace waiter::start_all_test
