// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The promises of the engine's headers, one test each, written from the headers
// alone. A watchdog turns a test that hangs into one that fails.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

constexpr int kRuns = 200;
constexpr std::chrono::seconds kLimit(20);

using Fn = std::function<Poll<>()>;
using ContextFn = std::function<Poll<>(const PollContext&)>;
using AsyncFn = std::function<void(PollCompletion<>)>;
using AsyncContextFn =
    std::function<void(const PollContext&, PollCompletion<>)>;
using Callback = std::function<void(WaitResult<>)>;
using GroupCallback = std::function<void(std::vector<WaitResult<>>)>;
using Executable = absl::AnyInvocable<void()>;

// Counts events, and awaits them with a limit.
class Counter {
 public:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  int count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  bool Await(int count = 1) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLimit,
                             [this, count] { return count_ >= count; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int count_ = 0;
};

// Aborts the program if the test takes longer than the limit.
class Watchdog {
 public:
  Watchdog() : thread_([this] { Watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  void Watch() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 2 * kLimit, [this] { return over_; })) {
      std::fprintf(
          stderr, "HANGS: %s\n",
          testing::UnitTest::GetInstance()->current_test_info()->name());
      std::abort();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

class EngineHeaderTest : public testing::Test {
 private:
  Watchdog watchdog_;
};

using EngineHeaderDeathTest = EngineHeaderTest;

// Results that the callback of a wait has received.
struct Seen {
  Counter calls;
  std::mutex mutex;
  std::optional<WaitResult<>> result;
  std::thread::id thread;

  bool Await() const { return calls.Await(); }
  int count() const { return calls.count(); }
  StopReason reason() {
    const std::lock_guard lock(mutex);
    return result.has_value() ? result->reason() : StopReason::kInvalidOptions;
  }
  WaitReport report() {
    const std::lock_guard lock(mutex);
    return result.has_value() ? result->report() : WaitReport();
  }
};

Callback Into(std::shared_ptr<Seen> seen) {
  return [seen = std::move(seen)](WaitResult<> result) {
    {
      const std::lock_guard lock(seen->mutex);
      seen->result.emplace(std::move(result));
      seen->thread = std::this_thread::get_id();
    }
    seen->calls.Add();
  };
}

// An observer that checks the rules for every wait.
class Hooks : public WaitObserver {
 public:
  std::function<void()> before_poll, after_poll, before_sleep, on_done;
  std::atomic<int> begun = 0, ended = 0, unanswered = 0, sleeps = 0;
  std::atomic<int> violations = 0;
  std::atomic<bool> inside = false;
  std::atomic<StopReason> reason = StopReason::kInvalidOptions;
  absl::StatusCode unanswered_code = absl::StatusCode::kOk;
  Counter done;
  std::mutex mutex;
  std::set<std::thread::id> threads;

  void BeforePoll(const WaitIdentity&, int64_t attempt) override {
    Enter();
    if (attempt != ++begun) ++violations;
    if (begun != ended + 1) ++violations;
    if (before_poll) before_poll();
    Leave();
  }
  void AfterPoll(const PollEvent& poll) override {
    Enter();
    if (poll.attempt != ++ended) ++violations;
    if (begun != ended) ++violations;
    if (!poll.answered) ++unanswered;
    if (after_poll) after_poll();
    Leave();
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    Enter();
    ++sleeps;
    if (sleep.attempt != ended || begun != ended) ++violations;
    if (before_sleep) before_sleep();
    Leave();
  }
  void OnDone(const WaitIdentity&, const WaitReport& report) override {
    Enter();
    if (begun != ended) ++violations;
    reason = report.reason;
    if (on_done) on_done();
    Leave();
    done.Add();
  }

  void ExpectWhole() {
    EXPECT_TRUE(done.Await());
    EXPECT_EQ(begun, ended);
    EXPECT_EQ(done.count(), 1);
    EXPECT_EQ(violations, 0);
  }

 private:
  void Enter() {
    if (inside.exchange(true)) ++violations;
    if (done.count() != 0) ++violations;
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  }
  void Leave() { inside = false; }
};

// Calls a function when the last copy of a capture is destroyed.
struct OnDestroy {
  explicit OnDestroy(std::function<void()> f) : function(std::move(f)) {}
  OnDestroy(const OnDestroy&) = delete;
  OnDestroy& operator=(const OnDestroy&) = delete;
  ~OnDestroy() {
    if (function) function();
  }
  std::function<void()> function;
};

std::shared_ptr<OnDestroy> AtEnd(std::function<void()> function) {
  return std::make_shared<OnDestroy>(std::move(function));
}

WaitOptions Every(absl::Duration delay,
                  absl::Duration timeout = absl::InfiniteDuration(),
                  std::shared_ptr<WaitObserver> observer = nullptr) {
  WaitOptions options;
  options.timeout = timeout;
  options.backoff.initial_delay = delay;
  options.backoff.max_delay = delay;
  options.backoff.jitter = Jitter::None();
  options.hooks.observer = std::move(observer);
  return options;
}

WaitOptions Quick(std::shared_ptr<WaitObserver> observer = nullptr) {
  return Every(absl::Microseconds(30), absl::InfiniteDuration(),
               std::move(observer));
}

Poll<> Never() { return NotReady(); }
Poll<> Now() { return Success(); }

Waiter<Fn> Make(Fn function, WaitOptions options = Quick()) {
  return Waiter<Fn>(std::move(function), std::move(options));
}
Waiter<ContextFn> MakeContext(ContextFn function,
                              WaitOptions options = Quick()) {
  return Waiter<ContextFn>(std::move(function), std::move(options));
}
AsyncWaiter<AsyncFn> MakeAsync(AsyncFn function,
                               WaitOptions options = Quick()) {
  return AsyncWaiter<AsyncFn>(std::move(function), std::move(options));
}
AsyncWaiter<AsyncContextFn> MakeAsyncContext(AsyncContextFn function,
                                             WaitOptions options = Quick()) {
  return AsyncWaiter<AsyncContextFn>(std::move(function), std::move(options));
}

WaitEngineOptions Real(int threads = 1) {
  WaitEngineOptions options;
  options.threads = threads;
  options.tick = absl::ZeroDuration();
  return options;
}

WaitOptions SimEvery(SimulatedClock& clock, absl::Duration delay,
                     absl::Duration timeout = absl::InfiniteDuration(),
                     std::shared_ptr<WaitObserver> observer = nullptr) {
  WaitOptions options = Every(delay, timeout, std::move(observer));
  options.clock = &clock;
  return options;
}

WaitOptions SimQuick(SimulatedClock& clock,
                     std::shared_ptr<WaitObserver> observer = nullptr) {
  return SimEvery(clock, absl::Seconds(1), absl::InfiniteDuration(),
                  std::move(observer));
}

WaitEngineOptions Simulated(SimulatedClock& clock) {
  WaitEngineOptions options;
  options.threads = 0;
  options.tick = absl::ZeroDuration();
  options.clock = &clock;
  return options;
}

// Threads that run the tasks of an engine's executor.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Pool() { End(); }

  void Add(Executable function) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(function));
    changed_.notify_all();
  }
  std::function<void(Executable)> executor() {
    return [this](Executable function) { Add(std::move(function)); };
  }
  void End() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void Work() {
    for (;;) {
      Executable function;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return over_ || !queue_.empty(); });
        if (queue_.empty()) return;
        function = std::move(queue_.front());
        queue_.erase(queue_.begin());
      }
      function();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<Executable> queue_;
  std::vector<std::thread> threads_;
};

void Spin(int microseconds) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Runs `here` and, on another thread, `there` at about the same time.
template <typename Here, typename There>
void Race(int run, Here here, There there) {
  std::atomic<bool> go = false;
  std::thread thread([&] {
    while (!go) std::this_thread::yield();
    if (run % 2 == 0) Spin(run % 37 * 3);
    there();
  });
  go = true;
  if (run % 2 == 1) Spin(run % 41 * 3);
  here();
  thread.join();
}

// --- The end of an engine. ---

TEST_F(EngineHeaderTest, ShutDownEndsPendingWaitsOnTheirThread) {
  for (const int threads : {0, 1, 3}) {
    std::vector<std::shared_ptr<Seen>> seen;
    std::vector<WaitHandle> handles;
    std::vector<std::thread::id> polled(6);
    Counter polls;
    {
      WaitEngine engine(Real(threads));
      for (size_t i = 0; i < 6; ++i) {
        seen.push_back(std::make_shared<Seen>());
        handles.push_back(engine.Start(Make(
                                           [&polls, &polled, i] {
                                             polled[i] =
                                                 std::this_thread::get_id();
                                             polls.Add();
                                             return NotReady();
                                           },
                                           Every(absl::Hours(1))),
                                       Into(seen.back())));
      }
      if (threads == 0) engine.RunDue();
      ASSERT_TRUE(polls.Await(6));
    }
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(seen[i]->count(), 1);
      EXPECT_EQ(seen[i]->reason(), StopReason::kShutDown);
      EXPECT_EQ(seen[i]->report().status.code(), absl::StatusCode::kCancelled);
      EXPECT_EQ(seen[i]->thread, polled[i]);
      EXPECT_EQ(seen[i]->thread == std::this_thread::get_id(), threads == 0);
      EXPECT_FALSE(handles[i].pending());
    }
  }
}

TEST_F(EngineHeaderTest, ShutDownRequestsAStopOfASynchronousPollAndAwaitsIt) {
  for (const bool on_pool : {false, true}) {
    for (const bool success : {false, true}) {
      for (const int threads : {0, 1}) {
        if (!on_pool && threads == 0) continue;
        Pool pool(1);
        auto seen = std::make_shared<Seen>();
        auto hooks = std::make_shared<Hooks>();
        Counter inside;
        std::atomic<bool> stopped = false;
        {
          WaitEngineOptions options = Real(threads);
          if (on_pool) options.executor = pool.executor();
          WaitEngine engine(options);
          engine
              .Start(MakeContext(
                         [&](const PollContext& context) -> Poll<> {
                           inside.Add();
                           Counter stop;
                           const waiter::stop_callback on_stop(
                               context.stop_token, [&] { stop.Add(); });
                           stopped = stop.Await();
                           Spin(500);
                           if (success) return Success();
                           return NotReady();
                         },
                         Quick(hooks)),
                     Into(seen))
              .Detach();
          if (threads == 0) engine.RunDue();
          ASSERT_TRUE(inside.Await());
        }
        EXPECT_TRUE(stopped);
        EXPECT_EQ(seen->count(), 1);
        EXPECT_EQ(seen->reason(),
                  success ? StopReason::kSuccess : StopReason::kShutDown);
        hooks->ExpectWhole();
      }
    }
  }
}

TEST_F(EngineHeaderTest, ShutDownRequestsAStopOfAsynchronousPollsWithoutWait) {
  for (const int threads : {0, 1}) {
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    waiter::stop_token token;
    Counter begun;
    std::optional<PollCompletion<>> kept;
    {
      WaitEngine engine(Real(threads));
      engine
          .Start(MakeAsyncContext(
                     [&](const PollContext& context, PollCompletion<> done) {
                       token = context.stop_token;
                       kept.emplace(std::move(done));
                       begun.Add();
                     },
                     Quick(hooks)),
                 Into(seen))
          .Detach();
      if (threads == 0) engine.RunDue();
      ASSERT_TRUE(begun.Await());
      EXPECT_FALSE(token.stop_requested());
    }
    EXPECT_TRUE(token.stop_requested());
    EXPECT_EQ(seen->count(), 1);
    EXPECT_EQ(seen->reason(), StopReason::kShutDown);
    hooks->ExpectWhole();
    EXPECT_EQ(hooks->unanswered, 1);
    (*kept)(Success());  // Does nothing.
    EXPECT_EQ(seen->count(), 1);
  }
}

TEST_F(EngineHeaderTest, ShutDownCallsACallbackThatStartsAgain32TimesMore) {
  for (const int threads : {0, 1, 2}) {
    for (const bool detached : {false, true}) {
      std::atomic<int> calls = 0, freed = 0, bad = 0, started = 0;
      auto hooks = std::make_shared<Counter>();
      class Done : public WaitObserver {
       public:
        void OnDone(const WaitIdentity&, const WaitReport& report) override {
          if (report.reason != StopReason::kShutDown &&
              report.reason != StopReason::kCancelled) {
            ++bad;
          }
          done.Add();
        }
        Counter done;
        std::atomic<int> bad = 0;
      };
      auto done = std::make_shared<Done>();
      WaitHandle handle;
      std::function<void()> start;
      {
        WaitEngine engine(Real(threads));
        start = [&] {
          ++started;
          auto capture = AtEnd([&] { ++freed; });
          WaitHandle wait = engine.Start(
              Make(Never,
                   Every(absl::Hours(1), absl::InfiniteDuration(), done)),
              Callback([&, capture](WaitResult<> result) {
                ++calls;
                if (result.reason() != StopReason::kShutDown) ++bad;
                start();
              }));
          if (detached) {
            wait.Detach();
          } else {
            handle = std::move(wait);
          }
        };
        start();
      }
      EXPECT_EQ(calls, 33);
      EXPECT_EQ(started, 34);
      EXPECT_EQ(freed, 34);
      EXPECT_EQ(bad, 0);
      EXPECT_EQ(done->done.count(), 34);
      EXPECT_EQ(done->bad, 0);
    }
  }
}

TEST_F(EngineHeaderTest, ShutDownCallsBackAllWaitsThatOneFunctionStarts) {
  for (const int threads : {0, 1, 2}) {
    Counter calls;
    std::atomic<int> polls = 0, bad = 0;
    {
      WaitEngine engine(Real(threads));
      engine
          .Start(
              Make(Never, Every(absl::Hours(1))), Callback([&](WaitResult<>) {
                for (int i = 0; i < 100; ++i) {
                  engine
                      .Start(Make([&] {
                               ++polls;
                               return Success();
                             }),
                             Callback([&](WaitResult<> result) {
                               if (result.reason() != StopReason::kShutDown) {
                                 ++bad;
                               }
                               calls.Add();
                             }))
                      .Detach();
                }
              }))
          .Detach();
    }
    EXPECT_EQ(calls.count(), 100);
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(polls, 0);
  }
}

TEST_F(EngineHeaderTest, ShutDownCallsBackWaitsThatAPollUnderWayStarts) {
  for (const bool on_pool : {false, true}) {
    Pool pool(1);
    Counter inside, calls;
    std::atomic<int> bad = 0;
    {
      WaitEngineOptions options = Real(2);
      if (on_pool) options.executor = pool.executor();
      WaitEngine engine(options);
      engine
          .Start(MakeContext([&](const PollContext& context) -> Poll<> {
                   inside.Add();
                   Counter stop;
                   const waiter::stop_callback on_stop(context.stop_token,
                                                       [&] { stop.Add(); });
                   EXPECT_TRUE(stop.Await());
                   for (int i = 0; i < 10; ++i) {
                     engine
                         .Start(
                             Make(Never, Every(absl::Hours(1))),
                             Callback([&](WaitResult<> result) {
                               if (result.reason() != StopReason::kShutDown) {
                                 ++bad;
                               }
                               calls.Add();
                             }))
                         .Detach();
                   }
                   return NotReady();
                 }),
                 Callback([](WaitResult<>) {}))
          .Detach();
      ASSERT_TRUE(inside.Await());
    }
    EXPECT_EQ(calls.count(), 10);
    EXPECT_EQ(bad, 0);
  }
}

TEST_F(EngineHeaderTest, ShutDownFreesAChainOfGroups) {
  for (const int threads : {0, 1, 2}) {
    for (const bool detached : {false, true}) {
      std::atomic<int> calls = 0, freed = 0, started = 0;
      std::optional<WaitGroup<>> group;
      std::function<void()> start;
      {
        WaitEngine engine(Real(threads));
        start = [&] {
          ++started;
          auto capture = AtEnd([&] { ++freed; });
          std::vector<Waiter<Fn>> waits;
          waits.push_back(Make(Never, Every(absl::Hours(1))));
          waits.push_back(Make(Never, Every(absl::Hours(1))));
          WaitGroup<> next(
              engine, std::move(waits), {},
              GroupCallback([&, capture](std::vector<WaitResult<>> results) {
                ++calls;
                EXPECT_EQ(results.size(), 2u);
                if (started < 1000) start();
              }));
          if (detached) {
            next.Detach();
          } else {
            group.emplace(std::move(next));
          }
        };
        start();
      }
      group.reset();
      EXPECT_GE(calls, 1);
      EXPECT_LT(started, 1000);
      EXPECT_EQ(freed, started) << calls << " calls, threads " << threads
                                << ", detached " << detached;
    }
  }
}

TEST_F(EngineHeaderTest, AfterShutDownEveryCallOnHandlesAndGroupsIsAllowed) {
  for (const int threads : {0, 1}) {
    WaitHandle a, b, c, d;
    std::optional<WaitGroup<>> g, h, k;
    {
      WaitEngine engine(Real(threads));
      const auto start = [&] {
        return engine.Start(Make(Never), Callback([](WaitResult<>) {}));
      };
      const auto group = [&] {
        return WaitGroup<>(
            engine, std::vector<Waiter<Fn>>(3, Make(Never)), {},
            GroupCallback([](const std::vector<WaitResult<>>&) {}));
      };
      a = start();
      b = start();
      c = start();
      d = start();
      g.emplace(group());
      h.emplace(group());
      k.emplace(group());
    }
    a.Cancel();
    EXPECT_FALSE(a.pending());
    b.Detach();
    EXPECT_FALSE(b.pending());
    d = std::move(c);
    d.Cancel();
    g->Cancel();
    h->Detach();
    *k = std::move(*g);
    k->Cancel();
  }
}

TEST_F(EngineHeaderTest, OtherThreadsMayCancelDestroyAndAnswerDuringShutDown) {
  for (int run = 0; run < kRuns; ++run) {
    auto hooks = std::make_shared<Hooks>();
    auto seen = std::make_shared<Seen>();
    auto seen_cancelled = std::make_shared<Seen>();
    auto seen_answered = std::make_shared<Seen>();
    std::optional<PollCompletion<>> completion;
    Counter begun;
    auto engine = std::make_unique<WaitEngine>(Real(1 + run % 2));
    auto destroyed = std::make_unique<WaitHandle>(
        engine->Start(Make(Never, Quick(hooks)), Into(seen)));
    WaitHandle cancelled = engine->Start(Make(Never), Into(seen_cancelled));
    WaitHandle detached = engine->Start(Make(Never), Into(seen));
    engine
        ->Start(MakeAsync([&](PollCompletion<> done) {
                  completion.emplace(std::move(done));
                  begun.Add();
                }),
                Into(seen_answered))
        .Detach();
    ASSERT_TRUE(begun.Await());
    Race(
        run, [&] { engine.reset(); },
        [&] {
          destroyed.reset();
          cancelled.Cancel();
          detached.Detach();
          (*completion)(Success());
          (*completion)(Success());
          completion.reset();
        });
    hooks->ExpectWhole();
    EXPECT_EQ(seen_cancelled->count(), 1);
    EXPECT_EQ(seen_answered->count(), 1);
    EXPECT_LE(seen->count(), 2);
    EXPECT_GE(seen->count(), 1);
  }
}

TEST_F(EngineHeaderTest, ShutDownAgainstStartsInsideOfFunctions) {
  for (int run = 0; run < kRuns; ++run) {
    std::atomic<int> started = 0, called = 0, freed = 0;
    std::function<void(int)> start;
    {
      WaitEngine engine(Real(1 + run % 3));
      start = [&](int depth) {
        ++started;
        auto capture = AtEnd([&] { ++freed; });
        engine
            .Start(Make([&, depth, capture] {
                     if (depth < 6) start(depth + 1);
                     return Success();
                   }),
                   Callback([&, depth](WaitResult<>) {
                     ++called;
                     if (depth < 6) start(depth + 1);
                   }))
            .Detach();
      };
      for (int i = 0; i < 4; ++i) start(i % 3);
      Spin(run % 50 * 4);
    }
    EXPECT_EQ(started, called);
    EXPECT_EQ(started, freed);
  }
}

TEST_F(EngineHeaderDeathTest, DestroyingTheEngineInsideOfAFunctionTerminates) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        auto engine = std::make_unique<WaitEngine>(Real(0));
        engine
            ->Start(Make(Now), Callback([&](WaitResult<>) { engine.reset(); }))
            .Detach();
        engine->Run();
      },
      ".+");
  EXPECT_DEATH(
      {
        auto engine = std::make_unique<WaitEngine>(Real(1));
        Counter never;
        engine
            ->Start(Make([&] {
                      engine.reset();
                      return true ? Success() : NotReady();
                    }),
                    Callback([](WaitResult<>) {}))
            .Detach();
        never.Await();
      },
      ".+");
}

TEST_F(EngineHeaderDeathTest, RunOnAnEngineWithThreadsOrInsideTerminates) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        WaitEngine engine(Real(1));
        engine.Run();
      },
      ".+");
  EXPECT_DEATH(
      {
        WaitEngine engine(Real(0));
        engine
            .Start(Make(Now), Callback([&](WaitResult<>) { engine.RunDue(); }))
            .Detach();
        engine.Run();
      },
      ".+");
}

TEST_F(EngineHeaderDeathTest, UnhandledExceptionsTerminateWithTheirText) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        WaitEngine engine(Real(0));
        engine
            .Start(Make(Now), Callback([](WaitResult<>) {
                     throw std::runtime_error("of the callback");
                   }))
            .Detach();
        engine.Run();
      },
      "of the callback");
  EXPECT_DEATH(
      {
        WaitEngine engine(Real(0));
        auto hooks = std::make_shared<Hooks>();
        hooks->after_poll = [] { throw std::runtime_error("of the hook"); };
        engine.Start(Make(Now, Quick(hooks)), Callback([](WaitResult<>) {}))
            .Detach();
        engine.Run();
      },
      "");
}

// --- Functions that destroy their callers. ---

// Ways in which a function destroys the handle of the wait that runs it.
enum class Where {
  kPoll,
  kAsyncPoll,
  kAsyncPollAnswered,
  kCallback,
  kBeforePoll,
  kAfterPoll,
  kBeforeSleep,
  kOnDone,
};

void DestroyInside(Where where, WaitEngineOptions options) {
  SCOPED_TRACE(static_cast<int>(where));
  WaitEngine engine(options);
  const bool threads = options.threads != 0;
  auto hooks = std::make_shared<Hooks>();
  auto seen = std::make_shared<Seen>();
  std::optional<WaitHandle> handle;
  Counter assigned, reached, freed;
  std::weak_ptr<OnDestroy> alive;
  std::atomic<bool> early = false;
  std::atomic<int> polls_after = 0;
  const auto destroy = [&] {
    EXPECT_TRUE(assigned.Await());
    const bool had = !alive.expired();
    handle.reset();
    if (had && alive.expired() && where <= Where::kCallback) early = true;
    reached.Add();
  };
  if (where == Where::kBeforePoll) hooks->before_poll = destroy;
  if (where == Where::kAfterPoll) hooks->after_poll = destroy;
  if (where == Where::kBeforeSleep) hooks->before_sleep = destroy;
  if (where == Where::kOnDone) hooks->on_done = destroy;
  auto capture = AtEnd([&] { freed.Add(); });
  alive = capture;
  Callback callback = [&, capture, seen](WaitResult<>) {
    seen->calls.Add();
    if (where == Where::kCallback) destroy();
  };
  WaitOptions wait_options = Quick(hooks);
  wait_options.clock = options.clock;
  if (where == Where::kAsyncPoll || where == Where::kAsyncPollAnswered) {
    handle.emplace(engine.Start(MakeAsync(
                                    [&, capture](PollCompletion<> done) {
                                      if (reached.count() != 0) ++polls_after;
                                      if (where == Where::kAsyncPollAnswered) {
                                        done(Success());
                                      }
                                      destroy();
                                      if (where == Where::kAsyncPollAnswered) {
                                        done(Success());
                                      }
                                    },
                                    wait_options),
                                std::move(callback)));
  } else {
    handle.emplace(engine.Start(Make(
                                    [&, capture]() -> Poll<> {
                                      if (reached.count() != 0) ++polls_after;
                                      if (where == Where::kPoll) destroy();
                                      if (where == Where::kCallback ||
                                          where == Where::kOnDone) {
                                        return Success();
                                      }
                                      return NotReady();
                                    },
                                    wait_options),
                                std::move(callback)));
  }
  capture.reset();
  assigned.Add();
  if (!threads) engine.Run();
  EXPECT_TRUE(reached.Await());
  EXPECT_TRUE(freed.Await());
  hooks->ExpectWhole();
  EXPECT_FALSE(early) << "a function was freed while it ran";
  EXPECT_EQ(reached.count(), 1);
  if (where == Where::kBeforePoll) {
    EXPECT_LE(polls_after, 1);
  } else {
    EXPECT_EQ(polls_after, 0);
  }
  if (where == Where::kCallback) {
    EXPECT_EQ(seen->count(), 1);
  } else if (where != Where::kOnDone) {
    EXPECT_EQ(seen->count(), 0);
    EXPECT_EQ(hooks->reason, StopReason::kCancelled);
  }
}

TEST_F(EngineHeaderTest, EveryFunctionAndHookMayDestroyTheHandleOfItsWait) {
  for (int where = 0; where <= static_cast<int>(Where::kOnDone); ++where) {
    for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
      SimulatedClock clock;
      WaitEngineOptions options = Simulated(clock);
      options.report = level;
      DestroyInside(static_cast<Where>(where), options);
      DestroyInside(static_cast<Where>(where), Real(1));
    }
  }
}

TEST_F(EngineHeaderTest, PollsOnAnExecutorMayDestroyTheirHandle) {
  for (const Where where : {Where::kPoll, Where::kCallback, Where::kBeforePoll,
                            Where::kAfterPoll, Where::kBeforeSleep}) {
    for (const int threads : {0, 1}) {
      Pool pool(2);
      WaitEngineOptions options = Real(threads);
      options.executor = pool.executor();
      DestroyInside(where, options);
      options.executor = [](Executable function) { function(); };
      DestroyInside(where, options);
    }
  }
}

TEST_F(EngineHeaderTest, DestructorsOfCapturesMayDestroyTheHandleOfTheWait) {
  for (const bool of_callback : {false, true}) {
    for (const int threads : {0, 1}) {
      for (const bool async : {false, true}) {
        WaitEngine engine(Real(threads));
        auto handle = std::make_shared<std::optional<WaitHandle>>();
        std::atomic<bool> ready = false;
        Counter freed;
        auto seen = std::make_shared<Seen>();
        {
          auto capture = AtEnd([&, handle] {
            handle->reset();
            freed.Add();
          });
          auto none = AtEnd(nullptr);
          auto a = of_callback ? none : capture;
          auto b = of_callback ? capture : none;
          Callback callback = [seen, b](WaitResult<>) { seen->calls.Add(); };
          if (async) {
            handle->emplace(
                engine.Start(MakeAsync([&ready, a](PollCompletion<> done) {
                               done(ready.load());
                             }),
                             std::move(callback)));
          } else {
            handle->emplace(engine.Start(Make([&ready, a]() -> Poll<> {
                                           if (ready) return Success();
                                           return NotReady();
                                         }),
                                         std::move(callback)));
          }
        }
        ready = true;
        if (threads == 0) engine.Run();
        EXPECT_TRUE(freed.Await());
        EXPECT_EQ(seen->count(), 1);
      }
    }
  }
}

TEST_F(EngineHeaderTest, DestructorsOfCapturesMayStartAndDestroyOtherWaits) {
  for (const int threads : {0, 1, 2}) {
    WaitEngine engine(Real(threads));
    auto seen = std::make_shared<Seen>();
    auto other = std::make_shared<Seen>();
    auto handle = std::make_shared<std::optional<WaitHandle>>(
        engine.Start(Make(Never, Every(absl::Hours(1))), Into(other)));
    WaitHandle wait =
        engine.Start(Make([c = AtEnd([&, handle] {
                             handle->reset();
                             engine.Start(Make(Now), Into(seen)).Detach();
                           })] { return Success(); }),
                     Callback([](WaitResult<>) {}));
    if (threads == 0) engine.Run();
    EXPECT_TRUE(seen->Await());
    EXPECT_EQ(other->count(), 0);
  }
}

TEST_F(EngineHeaderTest,
       DestructorsOfCapturesRunInDestroyedHandlesUnderNoLock) {
  for (const int threads : {0, 1, 2}) {
    WaitEngine engine(Real(threads));
    auto seen = std::make_shared<Seen>();
    // A chain: each destructor destroys the next handle and starts a wait.
    auto next = std::make_shared<std::optional<WaitHandle>>();
    for (int i = 0; i < 50; ++i) {
      auto handle = std::make_shared<std::optional<WaitHandle>>();
      handle->emplace(
          engine.Start(Make([c = AtEnd([&, next] {
                               next->reset();
                               engine.Start(Make(Now), Into(seen)).Detach();
                             })] { return NotReady(); }),
                       Callback([](WaitResult<>) {})));
      next = handle;
    }
    next->reset();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(seen->calls.Await(50));
  }
}

TEST_F(EngineHeaderTest, DestructorsOfCapturesMayStartWaitsDuringShutDown) {
  for (const int threads : {0, 1}) {
    auto seen = std::make_shared<Seen>();
    {
      WaitEngine engine(Real(threads));
      engine
          .Start(Make([c = AtEnd([&] {
                         engine.Start(Make(Never), Into(seen)).Detach();
                       })] { return NotReady(); }),
                 Callback([](WaitResult<>) {}))
          .Detach();
    }
    EXPECT_EQ(seen->count(), 1);
    EXPECT_EQ(seen->reason(), StopReason::kShutDown);
  }
}

TEST_F(EngineHeaderTest, DestructorsOfCapturesMayAnswerTheirPoll) {
  for (const int threads : {0, 1}) {
    for (const int how : {0, 1, 2, 3}) {
      Counter freed, begun;
      auto seen = std::make_shared<Seen>();
      auto engine = std::make_unique<WaitEngine>(Real(threads));
      WaitHandle handle;
      {
        auto kept = std::make_shared<std::optional<PollCompletion<>>>();
        auto capture = AtEnd([&freed, kept] {
          if (kept->has_value()) {
            (**kept)(Success());
            (**kept)(NotReady());
          }
          freed.Add();
        });
        handle = engine->Start(
            MakeAsync(
                [kept, &begun, capture](PollCompletion<> done) {
                  kept->emplace(std::move(done));
                  begun.Add();
                },
                Every(absl::Seconds(1),
                      how == 3 ? absl::Milliseconds(1) : absl::Hours(1))),
            Into(seen));
      }
      if (threads == 0) engine->RunDue();
      ASSERT_TRUE(begun.Await());
      if (how == 0) handle = WaitHandle();
      if (how == 1) handle.Cancel();
      if (how == 2) engine.reset();
      if (threads == 0 && engine != nullptr) engine->Run();
      EXPECT_TRUE(freed.Await());
      if (how != 0) {
        EXPECT_TRUE(seen->Await());
      }
      engine.reset();
      EXPECT_EQ(seen->count(), how == 0 ? 0 : 1);
    }
  }
}

TEST_F(EngineHeaderDeathTest, ACaptureThatIsTheLastOwnerOfItsEngineDies) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  // Outside of `Run` and of every function, the end of the handle frees the
  // capture, which is the last owner of the engine.
  EXPECT_DEATH(
      {
        auto engine = std::make_shared<WaitEngine>(Real(0));
        auto handle = std::make_unique<WaitHandle>(
            engine->Start(Make([engine] { return NotReady(); }),
                          Callback([](WaitResult<>) {})));
        engine->RunDue();
        engine.reset();
        handle.reset();
      },
      "a WaitEngine was destroyed by one of its own waits");
}

TEST_F(EngineHeaderTest, AWaitMayOwnItsHandleAndAllIsFreedAtItsEnd) {
  for (const int threads : {0, 1}) {
    for (const bool shut_down : {false, true}) {
      Counter freed;
      std::atomic<bool> ready = false;
      auto engine = std::make_unique<WaitEngine>(Real(threads));
      {
        auto handle = std::make_shared<WaitHandle>();
        auto capture = AtEnd([&] { freed.Add(); });
        *handle = engine->Start(Make([&ready, handle, capture]() -> Poll<> {
                                  if (ready) return Success();
                                  return NotReady();
                                }),
                                Callback([handle, capture](WaitResult<>) {}));
      }
      ready = !shut_down;
      if (shut_down) {
        engine.reset();
      } else if (threads == 0) {
        engine->Run();
      }
      EXPECT_TRUE(freed.Await());
    }
  }
}

TEST_F(EngineHeaderTest, AnObserverMayOwnTheHandleOfItsWait) {
  class Owner : public WaitObserver {
   public:
    explicit Owner(Counter& freed) : freed_(freed) {}
    ~Owner() override {
      handle = WaitHandle();
      freed_.Add();
    }
    WaitHandle handle;

   private:
    Counter& freed_;
  };
  for (const int threads : {0, 1}) {
    for (const bool shut_down : {false, true}) {
      Counter freed;
      std::atomic<bool> ready = false;
      auto engine = std::make_unique<WaitEngine>(Real(threads));
      auto owner = std::make_shared<Owner>(freed);
      owner->handle = engine->Start(Make(
                                        [&ready]() -> Poll<> {
                                          if (ready) return Success();
                                          return NotReady();
                                        },
                                        Quick(owner)),
                                    Callback([](WaitResult<>) {}));
      ready = !shut_down;
      owner.reset();
      if (shut_down) {
        engine.reset();
      } else if (threads == 0) {
        engine->Run();
      }
      EXPECT_TRUE(freed.Await());
    }
  }
}

TEST_F(EngineHeaderTest, TheFunctionStateLivesUntilTheFunctionReturns) {
  SimulatedClock clock;
  WaitEngine engine(Simulated(clock));
  std::optional<WaitHandle> handle;
  bool read = false;
  handle.emplace(engine.Start(
      MakeAsync(
          [&handle, &read,
           text = std::string(100, 'x')](const PollCompletion<>& done) {
            handle.reset();
            read = text == std::string(100, 'x');
            done(Success());
          },
          SimQuick(clock)),
      Callback([](WaitResult<> result) { ADD_FAILURE() << result.status(); })));
  engine.Run();
  EXPECT_TRUE(read);
}

// --- Stop callbacks of the token in `PollContext`. ---

TEST_F(EngineHeaderTest, StopCallbacksMayUseTheEngine) {
  enum class How { kCancel, kDestroy, kEngine, kDeadline };
  enum class Does { kAnswers, kSucceeds, kCancels, kDestroys, kStarts, kUnset };
  using OnStop = waiter::stop_callback<std::function<void()>>;
  for (const int threads : {0, 1}) {
    for (const How how :
         {How::kCancel, How::kDestroy, How::kEngine, How::kDeadline}) {
      for (const Does does : {Does::kAnswers, Does::kSucceeds, Does::kCancels,
                              Does::kDestroys, Does::kStarts, Does::kUnset}) {
        // A handle that is being destroyed must not be used, nor one that
        // another thread uses.
        const bool own = does == Does::kCancels || does == Does::kDestroys;
        if (own && how == How::kDestroy) continue;
        if (own && threads != 0 && how == How::kCancel) continue;
        if (does == Does::kStarts && how == How::kEngine) continue;
        SCOPED_TRACE(static_cast<int>(how) * 100 + static_cast<int>(does) * 10 +
                     threads);
        auto seen = std::make_shared<Seen>();
        auto started = std::make_shared<Seen>();
        auto hooks = std::make_shared<Hooks>();
        Counter begun, stopped, assigned;
        std::optional<WaitHandle> handle;
        std::optional<OnStop> on_stop;
        auto engine = std::make_unique<WaitEngine>(Real(threads));
        handle.emplace(engine->Start(
            MakeAsyncContext(
                [&](const PollContext& context, PollCompletion<> done) {
                  EXPECT_TRUE(assigned.Await());
                  on_stop.emplace(context.stop_token, [&, does, done] {
                    if (does == Does::kAnswers) done(NotReady());
                    if (does == Does::kSucceeds) done(Success());
                    if (does == Does::kCancels) handle->Cancel();
                    if (does == Does::kDestroys) handle.reset();
                    if (does == Does::kStarts) {
                      engine->Start(Make(Now), Into(started)).Detach();
                    }
                    stopped.Add();
                    if (does == Does::kUnset) on_stop.reset();
                  });
                  begun.Add();
                },
                Every(absl::Microseconds(30),
                      how == How::kDeadline ? absl::Milliseconds(2)
                                            : absl::InfiniteDuration(),
                      hooks)),
            Into(seen)));
        assigned.Add();
        if (threads == 0) engine->RunDue();
        ASSERT_TRUE(begun.Await());
        if (how == How::kCancel) handle->Cancel();
        if (how == How::kDestroy) handle.reset();
        if (how == How::kEngine) engine.reset();
        if (threads == 0 && engine != nullptr) engine->Run();
        EXPECT_TRUE(stopped.Await());
        hooks->ExpectWhole();
        if (how != How::kDestroy && does != Does::kDestroys) {
          EXPECT_TRUE(seen->Await());
        }
        if (does == Does::kStarts) {
          if (threads == 0) engine->Run();
          EXPECT_TRUE(started->Await());
        }
        engine.reset();
        on_stop.reset();
        EXPECT_LE(seen->count(), 1);
        // Another test checks whether there is a callback.
        if (how == How::kDestroy && does != Does::kSucceeds &&
            does != Does::kAnswers) {
          EXPECT_EQ(seen->count(), 0);
        }
      }
    }
  }
}

TEST_F(EngineHeaderTest, StopCallbacksOfASynchronousPollMayCancelAndStart) {
  // Another thread cancels the wait while the poll is in progress.
  for (const bool destroy : {false, true}) {
    WaitEngine engine(Real(1));
    auto seen = std::make_shared<Seen>();
    auto started = std::make_shared<Seen>();
    Counter inside;
    WaitHandle other = engine.Start(Make(Never), Callback([](WaitResult<>) {}));
    std::optional<WaitHandle> handle(engine.Start(
        MakeContext([&](const PollContext& context) -> Poll<> {
          Counter stop;
          const waiter::stop_callback on_stop(context.stop_token, [&] {
            other.Cancel();
            engine.Start(Make(Now), Into(started)).Detach();
            stop.Add();
          });
          inside.Add();
          EXPECT_TRUE(stop.Await());
          return NotReady();
        }),
        Into(seen)));
    ASSERT_TRUE(inside.Await());
    if (destroy) {
      handle.reset();
    } else {
      handle->Cancel();
      EXPECT_TRUE(seen->Await());
      EXPECT_EQ(seen->reason(), StopReason::kCancelled);
    }
    EXPECT_TRUE(started->Await());
  }
}

// --- Threads, order, and what `Start` promises. ---

TEST_F(EngineHeaderTest, FunctionsNeverRunInsideOfStart) {
  // Starts from outside, and from inside a status function, a callback and a
  // hook; also waits that end immediately.
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    thread_local bool in_start = false;
    std::atomic<int> bad = 0;
    Counter called;
    const auto start = [&](WaitOptions options) {
      in_start = true;
      engine
          .Start(Make(
                     [&] {
                       if (in_start) ++bad;
                       return Success();
                     },
                     std::move(options)),
                 Callback([&](WaitResult<>) {
                   if (in_start) ++bad;
                   called.Add();
                 }))
          .Detach();
      in_start = false;
    };
    auto hooks = std::make_shared<Hooks>();
    hooks->after_poll = [&] { start(Quick()); };
    hooks->on_done = [&] { start(WaitOptions()); };
    engine
        .Start(Make(
                   [&] {
                     start(Quick());
                     start(WaitOptions());  // Invalid: no timeout.
                     return Success();
                   },
                   Quick(hooks)),
               Callback([&](WaitResult<>) {
                 start(Quick());
                 start(Every(absl::Seconds(1), absl::ZeroDuration()));
               }))
        .Detach();
    start(Quick());
    start(WaitOptions());
    if (threads == 0) {
      EXPECT_EQ(called.count(), 0);
      engine.Run();
    }
    EXPECT_TRUE(called.Await(8));
    EXPECT_EQ(bad, 0);
  }
}

TEST_F(EngineHeaderTest, WaitsAreDistributedInTurnAndStayOnTheirThread) {
  WaitEngine engine(Real(4));
  std::mutex mutex;
  std::map<std::thread::id, int> waits;
  std::atomic<int> moved = 0;
  Counter called;
  for (int i = 0; i < 40; ++i) {
    auto on = std::make_shared<std::thread::id>();
    engine
        .Start(Make([&, on, polls = 0]() mutable -> Poll<> {
                 if (polls++ == 0) *on = std::this_thread::get_id();
                 if (*on != std::this_thread::get_id()) ++moved;
                 if (polls < 5) return NotReady();
                 return Success();
               }),
               Callback([&, on](WaitResult<>) {
                 const std::thread::id self = std::this_thread::get_id();
                 if (*on != self) ++moved;
                 {
                   const std::lock_guard lock(mutex);
                   ++waits[self];
                 }
                 for (int k = 0; k < 3; ++k) {
                   engine
                       .Start(Make([&, self] {
                                if (std::this_thread::get_id() != self) ++moved;
                                return Success();
                              }),
                              Callback([&, self](WaitResult<>) {
                                if (std::this_thread::get_id() != self) ++moved;
                                called.Add();
                              }))
                       .Detach();
                 }
               }))
        .Detach();
  }
  EXPECT_TRUE(called.Await(120));
  EXPECT_EQ(moved, 0);
  EXPECT_EQ(waits.size(), 4u);
  for (const auto& [thread, count] : waits) EXPECT_EQ(count, 10);
}

TEST_F(EngineHeaderTest, WaitsOnOneThreadBeginInTheOrderOfTheirStarts) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    std::vector<int> order;
    Counter called;
    for (int i = 0; i < 500; ++i) {
      engine
          .Start(Make([&order, i, first = true]() mutable -> Poll<> {
                   if (std::exchange(first, false)) {
                     order.push_back(i);
                     return NotReady();
                   }
                   return Success();
                 }),
                 Callback([&](WaitResult<>) { called.Add(); }))
          .Detach();
    }
    if (threads == 0) engine.Run();
    EXPECT_TRUE(called.Await(500));
    for (int i = 0; i < 500; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  }
}

TEST_F(EngineHeaderTest, StartsFromSeveralThreadsAllCallBackOnce) {
  WaitEngine engine(Real(2));
  Counter called;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        engine.Start(Make(Now), Callback([&](WaitResult<>) { called.Add(); }))
            .Detach();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(called.Await(1500));
  EXPECT_EQ(called.count(), 1500);
}

TEST_F(EngineHeaderTest, OneFunctionAtATimeRunsOnEachThread) {
  WaitEngine engine(Real(2));
  thread_local int inside = 0;
  std::atomic<int> bad = 0;
  Counter called;
  std::vector<WaitHandle> handles;
  for (int i = 0; i < 50; ++i) {
    engine
        .Start(
            Make([&, polls = 0]() mutable -> Poll<> {
              if (inside++ != 0) ++bad;
              engine.Start(Make(Now), Callback([](WaitResult<>) {})).Cancel();
              if (--inside != 0) ++bad;
              if (++polls < 5) return NotReady();
              return Success();
            }),
            Callback([&](WaitResult<>) {
              if (inside++ != 0) ++bad;
              engine.Start(Make(Now), Callback([](WaitResult<>) {})).Detach();
              if (--inside != 0) ++bad;
              called.Add();
            }))
        .Detach();
  }
  EXPECT_TRUE(called.Await(50));
  EXPECT_EQ(bad, 0);
}

TEST_F(EngineHeaderTest, FunctionsAreDestroyedWhenTheWaitHasEnded) {
  SimulatedClock clock;
  WaitEngine engine(Simulated(clock));
  auto a = AtEnd(nullptr);
  auto b = AtEnd(nullptr);
  const std::weak_ptr<OnDestroy> of_poll = a;
  const std::weak_ptr<OnDestroy> of_callback = b;
  const WaitHandle handle = engine.Start(
      Make([a = std::move(a)] { return Success(); }, SimQuick(clock)),
      Callback([b = std::move(b)](WaitResult<>) {}));
  EXPECT_FALSE(of_poll.expired());
  EXPECT_TRUE(handle.pending());
  engine.Run();
  EXPECT_FALSE(handle.pending());
  EXPECT_TRUE(of_poll.expired());
  EXPECT_TRUE(of_callback.expired());
}

TEST_F(EngineHeaderTest, DestroyingTheHandleFreesTheFunctionsAtOnce) {
  for (const int threads : {0, 1}) {
    for (int run = 0; run < 50; ++run) {
      WaitEngine engine(Real(threads));
      auto a = AtEnd(nullptr);
      auto b = AtEnd(nullptr);
      const std::weak_ptr<OnDestroy> of_poll = a;
      const std::weak_ptr<OnDestroy> of_callback = b;
      WaitHandle handle =
          engine.Start(Make([a = std::move(a)] { return NotReady(); }),
                       Callback([b = std::move(b)](WaitResult<>) {}));
      if (threads == 0 && run % 2 == 0) engine.RunDue();
      handle = WaitHandle();
      EXPECT_TRUE(of_poll.expired());
      EXPECT_TRUE(of_callback.expired());
    }
  }
}

TEST_F(EngineHeaderTest, AnExceptionOfTheStatusFunctionIsInTheReport) {
  for (const int kind : {0, 1, 2}) {
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    WaitEngine engine(Real(0));
    if (kind == 2) {
      engine
          .Start(
              MakeAsync(
                  [](const PollCompletion<>&) { throw std::string("thrown"); },
                  Quick(hooks)),
              Into(seen))
          .Detach();
    } else {
      engine
          .Start(Make(
                     [kind]() -> Poll<> {
                       if (kind == 0) throw std::string("thrown");
                       throw std::runtime_error("thrown");
                     },
                     Quick(hooks)),
                 Into(seen))
          .Detach();
    }
    engine.Run();
    EXPECT_EQ(seen->count(), 1);
    EXPECT_EQ(seen->reason(), StopReason::kFailed);
    EXPECT_EQ(seen->report().status.code(), absl::StatusCode::kUnknown);
    EXPECT_NE(seen->report().exception, nullptr);
    hooks->ExpectWhole();
    EXPECT_EQ(hooks->unanswered, 1);
    EXPECT_EQ(hooks->reason, StopReason::kFailed);
  }
}

TEST_F(EngineHeaderTest, AnExceptionOfACallbackGoesToTheOption) {
  for (const int threads : {0, 1}) {
    Counter caught, freed;
    std::thread::id thread, called;
    {
      WaitEngineOptions options = Real(threads);
      options.on_callback_exception = [&](std::exception_ptr) {
        thread = std::this_thread::get_id();
        caught.Add();
      };
      WaitEngine engine(options);
      auto hooks = std::make_shared<Hooks>();
      WaitHandle handle = engine.Start(
          Make(Now, Quick(hooks)),
          Callback([&, c = AtEnd([&] { freed.Add(); })](WaitResult<>) {
            called = std::this_thread::get_id();
            throw 42;
          }));
      WaitGroup<> group(
          engine, std::vector<Waiter<Fn>>(2, Make(Now)), {},
          GroupCallback([](const std::vector<WaitResult<>>&) { throw 42; }));
      if (threads == 0) engine.Run();
      EXPECT_TRUE(caught.Await(2));
      EXPECT_TRUE(freed.Await());
      hooks->ExpectWhole();
    }
    EXPECT_EQ(thread, called);
    EXPECT_EQ(caught.count(), 2);
  }
}

TEST_F(EngineHeaderTest, RunDueReturnsTheTimeOfTheNextPoll) {
  SimulatedClock clock(SimulatedClock::Mode::kManual);
  WaitEngine engine(Simulated(clock));
  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  int polls = 0;
  auto seen = std::make_shared<Seen>();
  WaitHandle handle =
      engine.Start(Make(
                       [&] {
                         ++polls;
                         return NotReady();
                       },
                       SimEvery(clock, absl::Seconds(10), absl::Minutes(1))),
                   Into(seen));
  EXPECT_EQ(polls, 0);
  EXPECT_EQ(engine.RunDue(), clock.MonotonicNow() + std::chrono::seconds(10));
  EXPECT_EQ(polls, 1);
  clock.AdvanceTime(absl::Seconds(4));
  EXPECT_EQ(engine.RunDue(), clock.MonotonicNow() + std::chrono::seconds(6));
  EXPECT_EQ(polls, 1);
  handle.Cancel();
  EXPECT_EQ(seen->count(), 0);
  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_EQ(seen->reason(), StopReason::kCancelled);
  EXPECT_EQ(polls, 1);
}

TEST_F(EngineHeaderTest, RunReturnsWhenOtherThreadsHaveEndedAllWaits) {
  for (int run = 0; run < 50; ++run) {
    WaitEngine engine(Real(0));
    auto seen = std::make_shared<Seen>();
    std::optional<PollCompletion<>> completion;
    Counter begun, two;
    WaitHandle cancelled =
        engine.Start(Make(Never, Every(absl::Hours(1))), Into(seen));
    std::optional<WaitHandle> destroyed(
        engine.Start(Make(Never, Every(absl::Hours(1))), Into(seen)));
    engine
        .Start(MakeAsync([&](PollCompletion<> done) {
                 completion.emplace(std::move(done));
                 begun.Add();
               }),
               Into(seen))
        .Detach();
    std::thread other([&] {
      EXPECT_TRUE(begun.Await());
      Spin(run * 5);
      cancelled.Cancel();
      destroyed.reset();
      engine.Start(Make(Now), Into(seen)).Detach();
      (*completion)(Success());
    });
    engine.Run();
    other.join();
    engine.Run();
    EXPECT_EQ(seen->count(), 3);
  }
}

TEST_F(EngineHeaderTest, InvalidEngineOptionsEndEveryWaitWithInvalidArgument) {
  std::vector<WaitEngineOptions> all(7);
  all[0].threads = -1;
  all[1].tick = absl::Nanoseconds(10);
  all[2].tick = absl::InfiniteDuration();
  all[3].relative_slack = 2;
  all[4].relative_slack = -0.5;
  all[5].tick = -absl::Seconds(1);
  absl::BitGen gen;
  all[6].threads = 2;
  all[6].gen.emplace(gen);
  for (const WaitEngineOptions& options : all) {
    EXPECT_EQ(Validate(options).code(), absl::StatusCode::kInvalidArgument);
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    {
      WaitEngine engine(options);
      engine.Start(Make(Now, Quick(hooks)), Into(seen)).Detach();
      if (options.threads != 0) {
        EXPECT_TRUE(seen->Await());
      } else {
        engine.Run();
        EXPECT_EQ(seen->count(), 1);
      }
    }
    EXPECT_EQ(seen->reason(), StopReason::kInvalidOptions);
    EXPECT_EQ(seen->report().status.code(), absl::StatusCode::kInvalidArgument);
    hooks->ExpectWhole();
    EXPECT_EQ(hooks->begun, 0);
  }
}

TEST_F(EngineHeaderDeathTest, InvalidOptionsOfAnEngineWithoutThreadsLetItRun) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        WaitEngineOptions options = Real(0);
        options.relative_slack = 2;
        auto seen = std::make_shared<Seen>();
        WaitEngine engine(options);
        engine.Start(Make(Now), Into(seen)).Detach();
        engine.Run();
        std::exit(seen->reason() == StopReason::kInvalidOptions ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(EngineHeaderTest, WaitsThatNameAnotherClockEndWithInvalidArgument) {
  SimulatedClock clock, other;
  WaitEngine engine(Simulated(clock));
  auto seen = std::make_shared<Seen>();
  engine.Start(Make(Now, SimQuick(other)), Into(seen)).Detach();
  engine.Run();
  EXPECT_EQ(seen->report().status.code(), absl::StatusCode::kInvalidArgument);
  // A wait whose options name no clock names the real one.
  auto unnamed = std::make_shared<Seen>();
  engine.Start(Make(Now), Into(unnamed)).Detach();
  engine.Run();
  EXPECT_EQ(unnamed->reason(), StopReason::kInvalidOptions);
}

TEST_F(EngineHeaderTest, ALeanReportKeepsAttemptsElapsedAndTheLastPoll) {
  SimulatedClock clock;
  WaitEngineOptions options = Simulated(clock);
  options.report = ReportLevel::kLean;
  WaitEngine engine(options);
  auto success = std::make_shared<Seen>();
  auto deadline = std::make_shared<Seen>();
  auto kept = std::make_shared<Seen>();
  const auto fourth = [n = 0]() mutable -> Poll<> {
    if (++n == 4) return Success();
    return NotReady("text " + std::to_string(n));
  };
  engine
      .Start(Make(fourth, SimEvery(clock, absl::Seconds(1), absl::Minutes(1))),
             Into(success))
      .Detach();
  engine
      .Start(Make(Never, SimEvery(clock, absl::Seconds(1), absl::Seconds(5))),
             Into(deadline))
      .Detach();
  WaitOptions history = SimEvery(clock, absl::Seconds(1), absl::Minutes(1));
  history.hooks.history_limit = 10;
  engine.Start(Make(fourth, history), Into(kept)).Detach();
  engine.Run();
  EXPECT_EQ(success->reason(), StopReason::kSuccess);
  EXPECT_EQ(success->report().attempts, 4);
  EXPECT_EQ(success->report().elapsed, absl::Seconds(3));
  EXPECT_EQ(deadline->reason(), StopReason::kDeadline);
  EXPECT_EQ(deadline->report().attempts, 6);
  EXPECT_EQ(deadline->report().elapsed, absl::Seconds(5));
  EXPECT_EQ(deadline->report().counts, WaitReport().counts);
  EXPECT_EQ(deadline->report().slept, absl::ZeroDuration());
  EXPECT_FALSE(deadline->report().first_error.has_value());
  EXPECT_NE(deadline->report().status.message().find("timeout of 5s"),
            std::string_view::npos)
      << deadline->report().status;
  EXPECT_EQ(kept->report().count(PollStatus::kNotReady), 3);
  EXPECT_EQ(kept->report().slept, absl::Seconds(3));
  EXPECT_EQ(kept->report().history.size(), 4u);
}

TEST_F(EngineHeaderTest, AFullReportIsThatOfTheBlockingForm) {
  for (const bool with_history : {false, true}) {
    WaitReport reports[2];
    for (const bool on_engine : {false, true}) {
      SimulatedClock clock;
      WaitOptions options =
          SimEvery(clock, absl::Seconds(1), absl::Seconds(10));
      options.hooks.history_limit = with_history ? 10 : 0;
      const auto answers = [&clock, n = 0]() mutable -> Poll<> {
        clock.AdvanceTime(absl::Milliseconds(100) * n);
        ++n;
        if (n == 2) return FromStatus(absl::UnavailableError("busy"));
        if (n == 5) return FromStatus(absl::InvalidArgumentError("bad"));
        return NotReady();
      };
      options.hooks.seed = 7;
      if (on_engine) {
        auto seen = std::make_shared<Seen>();
        WaitEngine engine(Simulated(clock));
        engine.Start(Make(answers, options), Into(seen)).Detach();
        engine.Run();
        reports[1] = seen->report();
      } else {
        reports[0] = Make(answers, options).Wait().report();
      }
    }
    EXPECT_EQ(reports[0].reason, reports[1].reason);
    EXPECT_EQ(reports[0].status, reports[1].status);
    EXPECT_EQ(reports[0].attempts, reports[1].attempts);
    EXPECT_EQ(reports[0].counts, reports[1].counts);
    EXPECT_EQ(reports[0].elapsed, reports[1].elapsed);
    EXPECT_EQ(reports[0].slept, reports[1].slept);
    EXPECT_EQ(reports[0].longest_poll, reports[1].longest_poll);
    EXPECT_EQ(reports[0].first_error.has_value(),
              reports[1].first_error.has_value());
    EXPECT_EQ(reports[0].history.size(), reports[1].history.size());
  }
}

TEST_F(EngineHeaderTest, NoSlackAndNoTickMakesADelayLongerThanTheDeadline) {
  SimulatedClock clock;
  WaitEngineOptions options = Simulated(clock);
  options.relative_slack = 1;
  WaitEngine engine(options);
  auto seen = std::make_shared<Seen>();
  engine
      .Start(Make(Never, SimEvery(clock, absl::Seconds(4), absl::Seconds(10))),
             Into(seen))
      .Detach();
  engine.Run();
  EXPECT_EQ(seen->reason(), StopReason::kDeadline);
  EXPECT_EQ(seen->report().elapsed, absl::Seconds(10));
}

TEST_F(EngineHeaderTest, APollAtADeadlineIsLateByUpToOneTick) {
  SimulatedClock clock;
  WaitEngineOptions options = Simulated(clock);
  options.tick = absl::Milliseconds(100);
  WaitEngine engine(options);
  auto seen = std::make_shared<Seen>();
  engine
      .Start(Make(Never,
                  SimEvery(clock, absl::Seconds(1), absl::Milliseconds(1234))),
             Into(seen))
      .Detach();
  engine.Run();
  EXPECT_GE(seen->report().elapsed, absl::Milliseconds(1234));
  EXPECT_LE(seen->report().elapsed, absl::Milliseconds(1334));
}

TEST_F(EngineHeaderTest, TheSeedMakesDelaysTheSameAndThatOfTheWaitWins) {
  const auto times = [](std::optional<uint64_t> engine_seed,
                        std::optional<uint64_t> wait_seed) {
    SimulatedClock clock;
    WaitEngineOptions options = Simulated(clock);
    options.seed = engine_seed;
    WaitEngine engine(options);
    auto seen = std::make_shared<Seen>();
    WaitOptions wait;
    wait.timeout = absl::Minutes(5);
    wait.max_attempts = 10;
    wait.clock = &clock;
    wait.hooks.seed = wait_seed;
    engine.Start(Make(Never, wait), Into(seen)).Detach();
    engine.Run();
    return seen->report().elapsed;
  };
  EXPECT_EQ(times(1, std::nullopt), times(1, std::nullopt));
  EXPECT_NE(times(1, std::nullopt), times(2, std::nullopt));
  EXPECT_EQ(times(1, 5), times(2, 5));
  EXPECT_NE(times(std::nullopt, std::nullopt),
            times(std::nullopt, std::nullopt));
}

// --- Handles. ---

TEST_F(EngineHeaderTest, AHandleThatOwnsNoWaitDoesNothing) {
  WaitHandle none;
  none.Cancel();
  none.Detach();
  EXPECT_FALSE(none.pending());
  WaitEngine engine(Real(0));
  auto seen = std::make_shared<Seen>();
  WaitHandle first = engine.Start(Make(Now), Into(seen));
  WaitHandle second = std::move(first);
  first.Cancel();
  first.Detach();
  EXPECT_FALSE(first.pending());
  EXPECT_TRUE(second.pending());
  second = engine.Start(Make(Now), Into(seen));
  engine.Run();
  EXPECT_EQ(seen->count(), 1);
}

TEST_F(EngineHeaderTest, PendingIsTrueUntilTheCallbackHasReturned) {
  WaitEngine engine(Real(1));
  Counter inside, go, hooks_done;
  WaitHandle handle = engine.Start(Make(Now), Callback([&](WaitResult<>) {
                                     inside.Add();
                                     EXPECT_TRUE(go.Await());
                                   }));
  EXPECT_TRUE(inside.Await());
  EXPECT_TRUE(handle.pending());
  go.Add();
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  while (handle.pending() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(handle.pending());
}

TEST_F(EngineHeaderTest, PendingIsTrueInsideOfTheCallback) {
  for (const bool cancel : {false, true}) {
    WaitEngine engine(Real(0));
    bool pending = false;
    WaitHandle handle;
    handle = engine.Start(Make(Never, Every(absl::Hours(1))),
                          Callback([&](WaitResult<>) {
                            pending = handle.pending();
                            if (cancel) handle.Cancel();
                          }));
    handle.Cancel();
    EXPECT_TRUE(handle.pending());
    engine.Run();
    EXPECT_TRUE(pending);
    EXPECT_FALSE(handle.pending());
  }
}

TEST_F(EngineHeaderTest, DestroyingTheHandleBlocksWhileAFunctionRuns) {
  for (const bool in_callback : {false, true}) {
    for (const bool on_pool : {false, true}) {
      Pool pool(1);
      WaitEngineOptions options = Real(1);
      if (on_pool) options.executor = pool.executor();
      WaitEngine engine(options);
      Counter inside, go;
      std::atomic<bool> returned = false;
      const auto block = [&] {
        inside.Add();
        EXPECT_TRUE(go.Await());
        Spin(1000);
        returned = true;
      };
      std::optional<WaitHandle> handle(engine.Start(
          Make([&] {
            if (!in_callback) block();
            return Success();
          }),
          Callback([&](WaitResult<>) {
            if (in_callback) {
              block();
            } else {
              ADD_FAILURE() << "called back after the handle was destroyed";
            }
          })));
      ASSERT_TRUE(inside.Await());
      std::thread releaser([&] {
        Spin(1000);
        go.Add();
      });
      handle.reset();
      EXPECT_TRUE(returned);
      releaser.join();
    }
  }
}

TEST_F(EngineHeaderTest, CancelReturnsAtOnceAndAwaitsASynchronousPoll) {
  for (const bool on_pool : {false, true}) {
    for (const bool success : {false, true}) {
      Pool pool(1);
      WaitEngineOptions options = Real(1);
      if (on_pool) options.executor = pool.executor();
      WaitEngine engine(options);
      Counter inside, go;
      auto seen = std::make_shared<Seen>();
      WaitHandle handle = engine.Start(Make([&]() -> Poll<> {
                                         inside.Add();
                                         EXPECT_TRUE(go.Await());
                                         if (success) return Success();
                                         return NotReady();
                                       }),
                                       Into(seen));
      ASSERT_TRUE(inside.Await());
      handle.Cancel();
      EXPECT_EQ(seen->count(), 0);
      go.Add();
      EXPECT_TRUE(seen->Await());
      EXPECT_EQ(seen->reason(),
                success ? StopReason::kSuccess : StopReason::kCancelled);
      EXPECT_EQ(inside.count(), 1);
    }
  }
}

TEST_F(EngineHeaderTest, CancelInsideOfFunctionsAndHooksEndsTheWait) {
  for (const int where : {0, 1, 2, 3, 4}) {
    for (const int threads : {0, 1}) {
      SCOPED_TRACE(where * 10 + threads);
      WaitEngine engine(Real(threads));
      auto seen = std::make_shared<Seen>();
      auto hooks = std::make_shared<Hooks>();
      WaitHandle handle;
      Counter assigned;
      std::atomic<int> polls = 0;
      const auto cancel = [&] {
        EXPECT_TRUE(assigned.Await());
        handle.Cancel();
      };
      if (where == 1) hooks->before_poll = cancel;
      if (where == 2) hooks->after_poll = cancel;
      if (where == 3) hooks->before_sleep = cancel;
      if (where == 4) {
        handle = engine.Start(MakeAsync(
                                  [&](const PollCompletion<>&) {
                                    ++polls;
                                    cancel();
                                  },
                                  Quick(hooks)),
                              Into(seen));
      } else {
        handle = engine.Start(Make(
                                  [&]() -> Poll<> {
                                    ++polls;
                                    if (where == 0) cancel();
                                    return NotReady();
                                  },
                                  Quick(hooks)),
                              Into(seen));
      }
      assigned.Add();
      if (threads == 0) engine.Run();
      EXPECT_TRUE(seen->Await());
      EXPECT_EQ(seen->reason(), StopReason::kCancelled);
      EXPECT_EQ(polls, 1);
      hooks->ExpectWhole();
    }
  }
}

TEST_F(EngineHeaderTest, NoPollStartsAfterCancelHasReturned) {
  for (const bool on_pool : {false, true}) {
    Pool pool(2);
    WaitEngineOptions options = Real(1);
    if (on_pool) options.executor = pool.executor();
    WaitEngine engine(options);
    for (int run = 0; run < kRuns; ++run) {
      std::atomic<bool> cancelled = false;
      std::atomic<int> bad = 0;
      auto hooks = std::make_shared<Hooks>();
      auto seen = std::make_shared<Seen>();
      WaitHandle handle = engine.Start(Make(
                                           [&]() -> Poll<> {
                                             if (cancelled) ++bad;
                                             return NotReady();
                                           },
                                           Quick(hooks)),
                                       Into(seen));
      Spin(run % 60 * 2);
      handle.Cancel();
      // A poll may have begun before, and its function not yet been entered.
      Spin(20);
      cancelled = true;
      EXPECT_TRUE(seen->Await());
      EXPECT_EQ(seen->reason(), StopReason::kCancelled);
      EXPECT_LE(bad, 1);
      hooks->ExpectWhole();
    }
  }
}

TEST_F(EngineHeaderTest, ADetachedWaitGoesOnAndItsHandleOwnsNothing) {
  WaitEngine engine(Real(0));
  auto seen = std::make_shared<Seen>();
  bool ready = false;
  {
    WaitHandle handle = engine.Start(Make([&]() -> Poll<> {
                                       if (ready) return Success();
                                       return NotReady();
                                     }),
                                     Into(seen));
    engine.RunDue();
    handle.Detach();
    EXPECT_FALSE(handle.pending());
    handle.Cancel();
  }
  ready = true;
  engine.Run();
  EXPECT_EQ(seen->reason(), StopReason::kSuccess);
}

TEST_F(EngineHeaderTest, DetachInsideOfItsOwnFunctions) {
  for (const bool in_callback : {false, true}) {
    WaitEngine engine(Real(0));
    auto seen = std::make_shared<Seen>();
    WaitHandle handle;
    Counter freed;
    handle = engine.Start(Make([&, c = AtEnd([&] { freed.Add(); })] {
                            if (!in_callback) handle.Detach();
                            return Success();
                          }),
                          Callback([&](WaitResult<>) {
                            seen->calls.Add();
                            if (in_callback) handle.Detach();
                          }));
    engine.Run();
    EXPECT_EQ(seen->count(), 1);
    EXPECT_EQ(freed.count(), 1);
  }
}

TEST_F(EngineHeaderTest, CallbacksOnOneThreadMayDestroyEachOthersHandles) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    for (int run = 0; run < kRuns; ++run) {
      std::optional<WaitHandle> a, b;
      std::atomic<bool> ready = false;
      Counter called, freed;
      const auto wait = [&](std::optional<WaitHandle>& other) {
        return engine.Start(
            Make([&, c = AtEnd([&] { freed.Add(); })]() -> Poll<> {
              if (ready) return Success();
              return NotReady();
            }),
            Callback([&](WaitResult<>) {
              other.reset();
              called.Add();
            }));
      };
      a.emplace(wait(b));
      b.emplace(wait(a));
      if (threads == 0) engine.RunDue();
      ready = true;
      if (threads == 0) engine.Run();
      EXPECT_TRUE(called.Await());
      EXPECT_TRUE(freed.Await(2));
      EXPECT_EQ(called.count(), 1);
    }
  }
}

// --- Pairs of calls from two threads. ---

TEST_F(EngineHeaderTest, CancelAgainstEnd) {
  WaitEngine engine(Real(1));
  for (int run = 0; run < kRuns; ++run) {
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    std::atomic<bool> ready = false;
    WaitHandle handle = engine.Start(Make(
                                         [&]() -> Poll<> {
                                           if (ready) return Success();
                                           return NotReady();
                                         },
                                         Quick(hooks)),
                                     Into(seen));
    Race(
        run, [&] { handle.Cancel(); }, [&] { ready = true; });
    EXPECT_TRUE(seen->Await());
    hooks->ExpectWhole();
    EXPECT_EQ(seen->count(), 1);
    EXPECT_TRUE(seen->reason() == StopReason::kSuccess ||
                seen->reason() == StopReason::kCancelled);
    EXPECT_EQ(hooks->reason, seen->reason());
  }
}

TEST_F(EngineHeaderTest, DestroyAgainstPollAndCallback) {
  for (const bool on_pool : {false, true}) {
    Pool pool(2);
    WaitEngineOptions options = Real(1);
    if (on_pool) options.executor = pool.executor();
    WaitEngine engine(options);
    for (int run = 0; run < kRuns; ++run) {
      auto hooks = std::make_shared<Hooks>();
      auto alive = std::make_shared<std::atomic<bool>>(true);
      auto bad = std::make_shared<std::atomic<int>>(0);
      std::atomic<bool> ready = false;
      std::optional<WaitHandle> handle(
          engine.Start(Make(
                           [&ready, alive, bad]() -> Poll<> {
                             if (!*alive) ++*bad;
                             const bool now = ready;
                             Spin(3);
                             if (!*alive) ++*bad;
                             if (now) return Success();
                             return NotReady();
                           },
                           Quick(hooks)),
                       Callback([alive, bad](WaitResult<>) {
                         if (!*alive) ++*bad;
                       })));
      Race(
          run,
          [&] {
            Spin(run % 50 * 3);
            handle.reset();
            *alive = false;
          },
          [&] { ready = true; });
      hooks->ExpectWhole();
      EXPECT_EQ(*bad, 0);
      EXPECT_EQ(alive.use_count(), 1);
    }
  }
}

TEST_F(EngineHeaderTest, DetachAgainstEnd) {
  WaitEngine engine(Real(1));
  for (int run = 0; run < kRuns; ++run) {
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    Counter freed;
    WaitHandle handle = engine.Start(
        Make(
            [c = AtEnd([&] { freed.Add(); }), n = run % 4]() mutable -> Poll<> {
              if (n-- == 0) return Success();
              return NotReady();
            },
            Quick(hooks)),
        Into(seen));
    Spin(run % 70 * 3);
    handle.Detach();
    EXPECT_TRUE(seen->Await());
    EXPECT_TRUE(freed.Await());
    hooks->ExpectWhole();
    EXPECT_EQ(seen->count(), 1);
    EXPECT_EQ(seen->reason(), StopReason::kSuccess);
  }
}

TEST_F(EngineHeaderTest, AnswerAgainstAnswerDeadlineCancelDestroyAndEngine) {
  enum class Against {
    kAnswer,
    kDeadline,
    kCancel,
    kDestroy,
    kEngine,
    kDetach
  };
  for (const Against against :
       {Against::kAnswer, Against::kDeadline, Against::kCancel,
        Against::kDestroy, Against::kEngine, Against::kDetach}) {
    for (int run = 0; run < kRuns; ++run) {
      auto engine = std::make_unique<WaitEngine>(Real(1));
      auto seen = std::make_shared<Seen>();
      auto hooks = std::make_shared<Hooks>();
      std::optional<PollCompletion<>> completion;
      Counter begun, freed;
      std::optional<WaitHandle> handle(engine->Start(
          MakeAsync(
              [&, c = AtEnd([&] { freed.Add(); })](PollCompletion<> done) {
                if (completion.has_value()) return;
                completion.emplace(std::move(done));
                begun.Add();
              },
              Every(absl::Microseconds(30),
                    against == Against::kDeadline ? absl::Microseconds(300)
                                                  : absl::InfiniteDuration(),
                    hooks)),
          Into(seen)));
      if (!begun.Await()) FAIL();
      Race(
          run,
          [&] {
            switch (against) {
              case Against::kAnswer:
                return (*completion)(absl::InvalidArgumentError("bad"));
              case Against::kDeadline:
                return Spin(run % 40 * 5);
              case Against::kCancel:
                return handle->Cancel();
              case Against::kDestroy:
                return handle.reset();
              case Against::kEngine:
                return engine.reset();
              case Against::kDetach:
                return handle->Detach();
            }
          },
          [&] {
            if (against == Against::kDeadline) Spin(run * 2);
            const PollCompletion<> copy = *completion;
            copy(Success());
          });
      (*completion)(NotReady());
      hooks->ExpectWhole();
      EXPECT_EQ(hooks->begun, 1);
      EXPECT_TRUE(freed.Await());
      if (against != Against::kDestroy) {
        EXPECT_TRUE(seen->Await()) << run;
      }
      EXPECT_LE(seen->count(), 1);
      if (run % 2 == 0) completion.reset();
      engine.reset();
    }
  }
}

TEST_F(EngineHeaderTest, HandleCallsAgainstTheEndOfTheEngine) {
  for (int run = 0; run < kRuns; ++run) {
    const int what = run % 3;
    auto engine = std::make_unique<WaitEngine>(Real(1 + run % 2));
    std::vector<std::shared_ptr<Hooks>> hooks;
    auto handles = std::make_unique<std::vector<WaitHandle>>();
    std::atomic<int> called = 0, freed = 0;
    for (int i = 0; i < 6; ++i) {
      hooks.push_back(std::make_shared<Hooks>());
      handles->push_back(
          engine->Start(Make(
                            [c = AtEnd([&] { ++freed; })] {
                              Spin(2);
                              return NotReady();
                            },
                            Quick(hooks.back())),
                        Callback([&](WaitResult<>) { ++called; })));
    }
    Spin(run % 30 * 3);
    Race(
        run, [&] { engine.reset(); },
        [&] {
          for (WaitHandle& handle : *handles) {
            if (what == 0) handle.Cancel();
            if (what == 1) handle.Detach();
          }
          if (what == 2) handles.reset();
        });
    for (const auto& hook : hooks) hook->ExpectWhole();
    EXPECT_EQ(freed, 6);
    if (what == 2) {
      EXPECT_LE(called, 6);
    } else {
      EXPECT_EQ(called, 6);
    }
  }
}

TEST_F(EngineHeaderTest, HandlesOfOneEngineDestroyedByTwoThreads) {
  WaitEngine engine(Real(2));
  for (int run = 0; run < kRuns; ++run) {
    std::vector<WaitHandle> a, b;
    std::vector<std::shared_ptr<Hooks>> hooks;
    for (int i = 0; i < 8; ++i) {
      hooks.push_back(std::make_shared<Hooks>());
      (i % 2 == 0 ? a : b)
          .push_back(engine.Start(Make(Never, Quick(hooks.back())),
                                  Callback([](WaitResult<>) {})));
    }
    Race(
        run, [&] { a.clear(); }, [&] { b.clear(); });
    for (const auto& hook : hooks) hook->ExpectWhole();
  }
}

// --- Asynchronous polls. ---

TEST_F(EngineHeaderTest, AnAsyncPollWithoutAnswerEndsAtTheDeadline) {
  for (const absl::Duration poll_timeout :
       {absl::Seconds(2), absl::Seconds(60), absl::InfiniteDuration()}) {
    SimulatedClock clock;
    WaitEngine engine(Simulated(clock));
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    waiter::stop_token token;
    std::optional<PollCompletion<>> kept;
    WaitOptions options =
        SimEvery(clock, absl::Seconds(1), absl::Seconds(10), hooks);
    options.poll_timeout = poll_timeout;
    engine
        .Start(MakeAsyncContext(
                   [&](const PollContext& context, PollCompletion<> done) {
                     token = context.stop_token;
                     EXPECT_EQ(context.timeout,
                               std::min(poll_timeout, absl::Seconds(10)));
                     kept = std::move(done);
                   },
                   options),
               Into(seen))
        .Detach();
    engine.Run();
    EXPECT_EQ(seen->reason(), StopReason::kDeadline);
    EXPECT_EQ(seen->report().elapsed, absl::Seconds(10));
    EXPECT_EQ(seen->report().attempts, 0);
    EXPECT_TRUE(token.stop_requested());
    hooks->ExpectWhole();
    EXPECT_EQ(hooks->unanswered, 1);
  }
}

// A wait of 10 s whose poll at the deadline answers `delay` after it.
WaitReport AnswerLate(absl::Duration poll_timeout, absl::Duration delay,
                      bool strict, bool slow_before) {
  SimulatedClock clock;
  WaitEngine engine(Simulated(clock));
  auto seen = std::make_shared<Seen>();
  auto hooks = std::make_shared<Hooks>();
  WaitOptions options =
      SimEvery(clock, absl::Seconds(4), absl::Seconds(10), hooks);
  options.poll_timeout = poll_timeout;
  options.polls.strict_deadline = strict;
  engine
      .Start(MakeAsync(
                 [&](PollCompletion<> done) {
                   if (clock.Elapsed() < absl::Seconds(10)) {
                     if (slow_before) {
                       clock.CallAt(clock.Elapsed() + absl::Seconds(2),
                                    [done] { done(NotReady()); });
                     } else {
                       done(NotReady());
                     }
                   } else {
                     clock.CallAt(absl::Seconds(10) + delay,
                                  [done] { done(Success()); });
                   }
                 },
                 options),
             Into(seen))
      .Detach();
  engine.Run();
  hooks->ExpectWhole();
  EXPECT_EQ(seen->count(), 1);
  return seen->report();
}

TEST_F(EngineHeaderTest, AnAsyncPollAtTheDeadlineGetsPollTimeout) {
  const absl::Duration timeout = absl::Seconds(3);
  WaitReport report =
      AnswerLate(timeout, absl::Seconds(2), /*strict=*/false, false);
  EXPECT_EQ(report.reason, StopReason::kSuccess);
  EXPECT_TRUE(report.late);
  EXPECT_EQ(report.elapsed, absl::Seconds(12));
  report = AnswerLate(timeout, absl::Seconds(2), /*strict=*/true, false);
  EXPECT_EQ(report.reason, StopReason::kDeadline);
  report = AnswerLate(timeout, absl::Seconds(4), /*strict=*/false, false);
  EXPECT_EQ(report.reason, StopReason::kDeadline);
  EXPECT_EQ(report.elapsed, absl::Seconds(13));
}

TEST_F(EngineHeaderTest, AnAsyncPollAtTheDeadlineGetsTwiceTheLongestPoll) {
  const absl::Duration timeout = absl::InfiniteDuration();
  // After quick polls, the limit is 1 s.
  WaitReport report =
      AnswerLate(timeout, absl::Milliseconds(900), false, false);
  EXPECT_EQ(report.reason, StopReason::kSuccess);
  EXPECT_TRUE(report.late);
  report = AnswerLate(timeout, absl::Milliseconds(1100), false, false);
  EXPECT_EQ(report.reason, StopReason::kDeadline);
  EXPECT_EQ(report.elapsed, absl::Seconds(11));
  // After polls of 2 s, the limit is 4 s.
  report = AnswerLate(timeout, absl::Seconds(3), false, true);
  EXPECT_EQ(report.reason, StopReason::kSuccess);
  report = AnswerLate(timeout, absl::Seconds(5), false, true);
  EXPECT_EQ(report.reason, StopReason::kDeadline);
  EXPECT_EQ(report.elapsed, absl::Seconds(14));
}

TEST_F(EngineHeaderTest, TheTimeOfTheCallIsTheEndOfThePoll) {
  // The engine looks only much later.
  for (const absl::Duration answered : {absl::Seconds(2), absl::Seconds(12)}) {
    SimulatedClock clock(SimulatedClock::Mode::kManual);
    WaitEngine engine(Simulated(clock));
    auto seen = std::make_shared<Seen>();
    std::optional<PollCompletion<>> kept;
    engine
        .Start(MakeAsync([&](PollCompletion<> done) { kept = std::move(done); },
                         SimEvery(clock, absl::Seconds(1), absl::Seconds(10))),
               Into(seen))
        .Detach();
    engine.RunDue();
    clock.AdvanceTime(answered);
    (*kept)(Success());
    EXPECT_EQ(seen->count(), 0);  // Runs neither callbacks nor polls.
    clock.AdvanceTime(absl::Seconds(20));
    engine.RunDue();
    EXPECT_EQ(seen->count(), 1);
    if (answered < absl::Seconds(10)) {
      EXPECT_EQ(seen->reason(), StopReason::kSuccess);
      EXPECT_FALSE(seen->report().late);
      EXPECT_EQ(seen->report().elapsed, absl::Seconds(2));
    } else {
      EXPECT_EQ(seen->reason(), StopReason::kDeadline);
    }
  }
}

TEST_F(EngineHeaderTest, OnlyTheFirstCallForAPollCounts) {
  SimulatedClock clock;
  WaitEngine engine(Simulated(clock));
  auto seen = std::make_shared<Seen>();
  std::optional<PollCompletion<>> first;
  int polls = 0;
  engine
      .Start(MakeAsync(
                 [&](PollCompletion<> done) {
                   if (++polls == 1) {
                     first = done;
                     done(NotReady());
                     done(Success());
                   } else if (polls == 2) {
                     (*first)(Success());
                     (*first)(absl::InvalidArgumentError("late"));
                     clock.CallAt(clock.Elapsed() + absl::Seconds(2), [done] {
                       done(NotReady());
                       done(Success());
                     });
                   } else {
                     (*first)(Success());
                     done(absl::InvalidArgumentError("third"));
                     done(Success());
                   }
                 },
                 SimEvery(clock, absl::Seconds(1), absl::Minutes(1))),
             Into(seen))
      .Detach();
  engine.Run();
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(seen->reason(), StopReason::kFailed);
  EXPECT_EQ(seen->report().status,
            absl::InvalidArgumentError("third (wait, after 3 attempts in 4s)"));
  EXPECT_EQ(seen->report().elapsed, absl::Seconds(4));
}

TEST_F(EngineHeaderTest, AnExceptionEndsTheWaitWhateverWasAnswered) {
  for (const bool success : {false, true}) {
    SimulatedClock clock;
    WaitEngine engine(Simulated(clock));
    auto seen = std::make_shared<Seen>();
    int polls = 0;
    engine
        .Start(MakeAsync(
                   [&](const PollCompletion<>& done) {
                     ++polls;
                     if (success) {
                       done(Success());
                     } else {
                       done(NotReady());
                     }
                     throw std::runtime_error("thrown");
                   },
                   SimEvery(clock, absl::Seconds(1), absl::Minutes(1))),
               Into(seen))
        .Detach();
    engine.Run();
    EXPECT_EQ(polls, 1);
    EXPECT_EQ(seen->reason(), StopReason::kFailed) << "success: " << success;
    EXPECT_NE(seen->report().exception, nullptr);
  }
}

TEST_F(EngineHeaderTest, AnswersInsideOfTheFunctionDoNotNest) {
  WaitEngine engine(Real(0));
  auto seen = std::make_shared<Seen>();
  int polls = 0, depth = 0, deepest = 0;
  engine
      .Start(MakeAsync(
                 [&](const PollCompletion<>& done) {
                   deepest = std::max(deepest, ++depth);
                   done(++polls == 20000);
                   --depth;
                 },
                 Every(absl::ZeroDuration())),
             Into(seen))
      .Detach();
  engine.Run();
  EXPECT_EQ(polls, 20000);
  EXPECT_EQ(deepest, 1);
}

TEST_F(EngineHeaderTest, CancelDoesNotAwaitAnAsyncPoll) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    std::optional<PollCompletion<>> kept;
    waiter::stop_token token;
    Counter begun;
    WaitHandle handle = engine.Start(
        MakeAsyncContext(
            [&](const PollContext& context, PollCompletion<> done) {
              token = context.stop_token;
              kept = std::move(done);
              begun.Add();
            },
            Quick(hooks)),
        Into(seen));
    if (threads == 0) engine.RunDue();
    EXPECT_TRUE(begun.Await());
    handle.Cancel();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(seen->Await());
    EXPECT_EQ(seen->reason(), StopReason::kCancelled);
    EXPECT_TRUE(token.stop_requested());
    hooks->ExpectWhole();
    EXPECT_EQ(hooks->unanswered, 1);
    EXPECT_EQ(hooks->begun, 1);
  }
}

TEST_F(EngineHeaderTest, DestroyingTheHandleRequestsAStopOfItsPoll) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    waiter::stop_token token;
    Counter begun, stopped;
    std::optional<waiter::stop_callback<std::function<void()>>> on_stop;
    std::optional<WaitHandle> handle(engine.Start(
        MakeAsyncContext(
            [&](const PollContext& context, const PollCompletion<>&) {
              on_stop.emplace(context.stop_token, [&] { stopped.Add(); });
              begun.Add();
            }),
        Callback([](WaitResult<>) {})));
    if (threads == 0) engine.RunDue();
    EXPECT_TRUE(begun.Await());
    handle.reset();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(stopped.Await());
  }
}

TEST_F(EngineHeaderTest, TheTokenOfAnAnsweredPollIsNotRequestedByTheEnd) {
  SimulatedClock clock;
  WaitEngine engine(Simulated(clock));
  waiter::stop_token token;
  engine
      .Start(MakeAsyncContext(
                 [&](const PollContext& context, const PollCompletion<>& done) {
                   token = context.stop_token;
                   done(Success());
                 },
                 SimQuick(clock)),
             Callback([](WaitResult<>) {}))
      .Detach();
  engine.Run();
  EXPECT_FALSE(token.stop_requested());
}

TEST_F(EngineHeaderTest, DestructorsOfDroppedAnswersRunUnderNoLock) {
  // A second answer brings a value whose destructor starts and destroys waits.
  using Value = std::shared_ptr<OnDestroy>;
  for (const int threads : {0, 1}) {
    auto engine = std::make_unique<WaitEngine>(Real(threads));
    auto seen = std::make_shared<Seen>();
    std::optional<PollCompletion<Value>> kept;
    Counter begun, ended;
    std::optional<WaitHandle> other(
        engine->Start(Make(Never), Callback([](WaitResult<>) {})));
    WaitHandle handle = engine->Start(AsyncWaiter(
                                          [&](PollCompletion<Value> done) {
                                            kept = std::move(done);
                                            begun.Add();
                                          },
                                          Quick()),
                                      [&](WaitResult<Value>) { ended.Add(); });
    if (threads == 0) engine->RunDue();
    EXPECT_TRUE(begun.Await());
    (*kept)(absl::StatusOr<Value>(AtEnd(nullptr)));
    (*kept)(absl::StatusOr<Value>(AtEnd([&] {
      other.reset();
      engine->Start(Make(Now), Into(seen)).Detach();
    })));
    if (threads == 0) engine->Run();
    EXPECT_TRUE(seen->Await());
    EXPECT_TRUE(ended.Await());
    (*kept)(absl::StatusOr<Value>(
        AtEnd([&] { engine->Start(Make(Now), Into(seen)).Detach(); })));
    if (threads == 0) engine->Run();
    EXPECT_TRUE(seen->calls.Await(2));
    engine.reset();
    int freed = 0;
    (*kept)(absl::StatusOr<Value>(AtEnd([&] { ++freed; })));
    EXPECT_EQ(freed, 1);
  }
}

TEST_F(EngineHeaderTest, DestructorsOfAnswersThatAreNotUsedRunUnderNoLock) {
  // The wait is cancelled or destroyed after an answer, before the engine
  // looks.
  using Value = std::shared_ptr<OnDestroy>;
  for (const int how : {0, 1, 2}) {
    auto engine = std::make_unique<WaitEngine>(Real(0));
    std::optional<PollCompletion<Value>> kept;
    int freed = 0;
    WaitHandle handle, other;
    other = engine->Start(Make(Never), Callback([](WaitResult<>) {}));
    handle = engine->Start(
        AsyncWaiter([&](PollCompletion<Value> done) { kept = std::move(done); },
                    Quick()),
        [](WaitResult<Value>) {});
    engine->RunDue();
    (*kept)(absl::StatusOr<Value>(AtEnd([&] {
      ++freed;
      other = WaitHandle();
    })));
    kept.reset();
    if (how == 0) handle.Cancel();
    if (how == 1) handle = WaitHandle();
    if (how == 2) engine.reset();
    if (engine != nullptr) engine->RunDue();
    EXPECT_EQ(freed, 1);
  }
}

// --- Executors. ---

TEST_F(EngineHeaderTest, TheExecutorRunsEachPollAndNothingElse) {
  for (const int threads : {0, 1}) {
    Pool pool(2);
    Counter handed;
    WaitEngineOptions options = Real(threads);
    options.executor = [&](Executable function) {
      handed.Add();
      pool.Add(std::move(function));
    };
    WaitEngine engine(options);
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    std::mutex mutex;
    std::set<std::thread::id> polled;
    engine
        .Start(Make(
                   [&, n = 0]() mutable -> Poll<> {
                     const std::lock_guard lock(mutex);
                     polled.insert(std::this_thread::get_id());
                     if (++n == 20) return Success();
                     return NotReady();
                   },
                   Quick(hooks)),
               Into(seen))
        .Detach();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(seen->Await());
    hooks->ExpectWhole();
    EXPECT_EQ(handed.count(), 20);
    EXPECT_EQ(polled.count(seen->thread), 0u);
    EXPECT_EQ(hooks->threads, std::set<std::thread::id>({seen->thread}));
    // An asynchronous function stays on the engine's thread.
    auto async = std::make_shared<Seen>();
    std::thread::id began;
    engine
        .Start(MakeAsync([&](const PollCompletion<>& done) {
                 began = std::this_thread::get_id();
                 done(Success());
               }),
               Into(async))
        .Detach();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(async->Await());
    EXPECT_EQ(began, async->thread);
    EXPECT_EQ(handed.count(), 20);
  }
}

TEST_F(EngineHeaderTest, AnExecutorThatDropsAPollEndsTheWaitAsUnavailable) {
  for (const bool late : {false, true}) {
    for (const int threads : {0, 1}) {
      std::mutex mutex;
      std::vector<Executable> kept;
      Counter handed;
      WaitEngineOptions options = Real(threads);
      options.executor = [&](Executable function) {
        if (late) {
          const std::lock_guard lock(mutex);
          kept.push_back(std::move(function));
        }
        handed.Add();
      };
      WaitEngine engine(options);
      auto seen = std::make_shared<Seen>();
      auto hooks = std::make_shared<Hooks>();
      engine.Start(Make(Now, Quick(hooks)), Into(seen)).Detach();
      if (threads == 0) engine.RunDue();
      EXPECT_TRUE(handed.Await());
      if (late) {
        EXPECT_EQ(seen->count(), 0);
        const std::lock_guard lock(mutex);
        kept.clear();
      }
      if (threads == 0) engine.Run();
      EXPECT_TRUE(seen->Await());
      EXPECT_EQ(seen->reason(), StopReason::kFailed);
      EXPECT_EQ(seen->report().status.code(), absl::StatusCode::kUnavailable);
      hooks->ExpectWhole();
      EXPECT_EQ(hooks->unanswered, hooks->begun);
    }
  }
}

// Checks that a wait ends if the executor throws before it takes the poll,
// while it keeps the poll, or without a `std::exception`.
void ThrowFromExecutor(int when, int threads) {
  std::mutex mutex;
  std::vector<Executable> kept;
  WaitEngineOptions options = Real(threads);
  options.executor = [&](Executable function) {
    if (when == 1) {
      const std::lock_guard lock(mutex);
      kept.push_back(std::move(function));
    }
    if (when == 3) throw 42;
    throw std::runtime_error("full");
  };
  WaitEngine engine(options);
  auto seen = std::make_shared<Seen>();
  auto hooks = std::make_shared<Hooks>();
  WaitHandle handle = engine.Start(Make(Never, Quick(hooks)), Into(seen));
  if (threads == 0) engine.RunDue();
  for (int i = 0; i < 1000 && seen->count() == 0; ++i) {
    Spin(100);
    if (threads == 0) engine.RunDue();
  }
  EXPECT_EQ(seen->count(), 1);
  if (seen->count() == 0) {
    const std::lock_guard lock(mutex);
    kept.clear();
    return;
  }
  EXPECT_EQ(seen->reason(), StopReason::kFailed);
  EXPECT_EQ(seen->report().status.code(), absl::StatusCode::kUnknown);
  EXPECT_NE(seen->report().exception, nullptr);
  hooks->ExpectWhole();
  for (Executable& function : kept) function();
  EXPECT_EQ(seen->count(), 1);
}

TEST_F(EngineHeaderTest, AnExecutorThatThrowsEndsTheWaitWithItsException) {
  for (const int when : {0, 3}) {
    for (const int threads : {0, 1}) ThrowFromExecutor(when, threads);
  }
}

TEST_F(EngineHeaderTest, AnExecutorThatKeepsThePollAndThrowsEndsTheWait) {
  for (const int threads : {0, 1}) ThrowFromExecutor(1, threads);
}

TEST_F(EngineHeaderTest, TheAnswerCountsIfTheExecutorRunsThePollAndThrows) {
  for (const int threads : {0, 1}) {
    WaitEngineOptions options = Real(threads);
    options.executor = [](Executable function) {
      function();
      throw std::runtime_error("late");
    };
    WaitEngine engine(options);
    auto seen = std::make_shared<Seen>();
    WaitHandle handle = engine.Start(Make(Now), Into(seen));
    if (threads == 0) engine.Run();
    EXPECT_TRUE(seen->Await());
    EXPECT_EQ(seen->reason(), StopReason::kSuccess);
  }
}

TEST_F(EngineHeaderTest, AFunctionThatRunsAgainOrTooLateDoesNothing) {
  for (const int threads : {0, 1}) {
    std::vector<Executable> again;
    std::mutex mutex;
    std::atomic<int> polls = 0;
    {
      WaitEngineOptions options = Real(threads);
      options.executor = [&](Executable function) {
        function();
        function();
        const std::lock_guard lock(mutex);
        again.push_back(std::move(function));
        again.front()();
      };
      WaitEngine engine(options);
      auto seen = std::make_shared<Seen>();
      auto hooks = std::make_shared<Hooks>();
      engine
          .Start(Make(
                     [&]() -> Poll<> {
                       if (++polls == 5) return Success();
                       return NotReady();
                     },
                     Quick(hooks)),
                 Into(seen))
          .Detach();
      if (threads == 0) engine.Run();
      EXPECT_TRUE(seen->Await());
      hooks->ExpectWhole();
      const std::lock_guard lock(mutex);
      for (Executable& function : again) function();
      EXPECT_EQ(polls, 5);
      EXPECT_EQ(hooks->begun, 5);
    }
    for (Executable& function : again) function();
    EXPECT_EQ(polls, 5);
  }
}

TEST_F(EngineHeaderTest, AFunctionThatTwoThreadsRunOneAfterTheOtherRunsOnce) {
  Pool pool(2);
  WaitEngineOptions options = Real(1);
  options.executor = [&](Executable function) {
    // Two threads must not call an `AnyInvocable` simultaneously.
    struct Shared {
      std::mutex mutex;
      Executable function;
    };
    auto shared = std::make_shared<Shared>();
    shared->function = std::move(function);
    const auto run = [shared] {
      const std::lock_guard lock(shared->mutex);
      shared->function();
    };
    pool.Add(run);
    pool.Add(run);
  };
  WaitEngine engine(options);
  for (int run = 0; run < kRuns; ++run) {
    auto seen = std::make_shared<Seen>();
    auto hooks = std::make_shared<Hooks>();
    std::atomic<int> polls = 0, inside = 0, bad = 0;
    engine
        .Start(Make(
                   [&]() -> Poll<> {
                     if (inside++ != 0) ++bad;
                     Spin(2);
                     --inside;
                     if (++polls == 5) return Success();
                     return NotReady();
                   },
                   Quick(hooks)),
               Into(seen))
        .Detach();
    ASSERT_TRUE(seen->Await());
    hooks->ExpectWhole();
    EXPECT_EQ(polls, 5);
    EXPECT_EQ(bad, 0);
  }
}

TEST_F(EngineHeaderTest, AQueuedPollIsGivenUpAtTheDeadlineAndByCancel) {
  for (const int how : {0, 1, 2, 3}) {  // Deadline, cancel, destroy, engine.
    for (const int threads : {0, 1}) {
      SCOPED_TRACE(how * 10 + threads);
      std::mutex mutex;
      std::vector<Executable> kept;
      Counter handed;
      WaitEngineOptions options = Real(threads);
      options.executor = [&](Executable function) {
        {
          const std::lock_guard lock(mutex);
          kept.push_back(std::move(function));
        }
        handed.Add();
      };
      auto engine = std::make_unique<WaitEngine>(options);
      auto seen = std::make_shared<Seen>();
      auto hooks = std::make_shared<Hooks>();
      std::atomic<int> polls = 0;
      WaitHandle handle =
          engine->Start(Make(
                            [&] {
                              ++polls;
                              return Success();
                            },
                            Every(absl::Seconds(1),
                                  how == 0 ? absl::Milliseconds(20)
                                           : absl::InfiniteDuration(),
                                  hooks)),
                        Into(seen));
      if (threads == 0) engine->RunDue();
      EXPECT_TRUE(handed.Await());
      if (how == 1) handle.Cancel();
      if (how == 2) handle = WaitHandle();
      if (how == 3) engine.reset();
      if (threads == 0 && engine != nullptr) engine->Run();
      if (how != 2) {
        EXPECT_TRUE(seen->Await());
      }
      hooks->ExpectWhole();
      EXPECT_EQ(hooks->unanswered, 1);
      {
        const std::lock_guard lock(mutex);
        for (Executable& function : kept) function();
        kept.clear();
      }
      EXPECT_EQ(polls, 0);
      EXPECT_EQ(seen->count(), how == 2 ? 0 : 1);
      if (how == 0) {
        EXPECT_EQ(seen->reason(), StopReason::kDeadline);
      }
      if (how == 1) {
        EXPECT_EQ(seen->reason(), StopReason::kCancelled);
      }
      if (how == 3) {
        EXPECT_EQ(seen->reason(), StopReason::kShutDown);
      }
    }
  }
}

TEST_F(EngineHeaderTest, APollAtTheDeadlineIsMadeOnAnExecutorToo) {
  // "Zero or less: polls once."
  for (const int threads : {0, 1}) {
    for (int run = 0; run < 20; ++run) {
      Pool pool(1);
      WaitEngineOptions options = Real(threads);
      options.executor = [&](Executable function) {
        pool.Add([f = std::move(function)]() mutable {
          Spin(500);
          f();
        });
      };
      WaitEngine engine(options);
      auto seen = std::make_shared<Seen>();
      engine
          .Start(Make(Now, Every(absl::Seconds(1), absl::ZeroDuration())),
                 Into(seen))
          .Detach();
      if (threads == 0) engine.Run();
      EXPECT_TRUE(seen->Await());
      EXPECT_EQ(seen->reason(), StopReason::kSuccess);
    }
  }
}

TEST_F(EngineHeaderTest, ABegunPollOnAnExecutorIsAwaitedBeyondTheDeadline) {
  for (const bool strict : {false, true}) {
    Pool pool(1);
    WaitEngineOptions options = Real(1);
    options.executor = pool.executor();
    WaitEngine engine(options);
    auto seen = std::make_shared<Seen>();
    WaitOptions wait = Every(absl::Seconds(1), absl::Milliseconds(50));
    wait.polls.strict_deadline = strict;
    engine
        .Start(Make(
                   [] {
                     Spin(70000);
                     return Success();
                   },
                   wait),
               Into(seen))
        .Detach();
    EXPECT_TRUE(seen->Await());
    if (strict) {
      EXPECT_EQ(seen->reason(), StopReason::kDeadline);
    } else {
      EXPECT_EQ(seen->reason(), StopReason::kSuccess);
      EXPECT_TRUE(seen->report().late);
    }
  }
}

TEST_F(EngineHeaderTest, AnExecutorThatOwnsItsQueueIsFreedWithTheEngine) {
  // The functions in the queue must not keep the engine's memory, which holds
  // the executor, which holds the queue.
  for (const int threads : {0, 1}) {
    Counter freed;
    {
      struct Queue {
        std::mutex mutex;
        std::vector<Executable> functions;
        std::shared_ptr<OnDestroy> end;
        Counter handed;
      };
      auto queue = std::make_shared<Queue>();
      queue->end = AtEnd([&] { freed.Add(); });
      Queue* const view = queue.get();
      WaitEngineOptions options = Real(threads);
      options.executor = [queue = std::move(queue)](Executable function) {
        {
          const std::lock_guard lock(queue->mutex);
          queue->functions.push_back(std::move(function));
        }
        queue->handed.Add();
      };
      WaitEngine engine(options);
      options.executor = nullptr;
      engine.Start(Make(Now), Callback([](WaitResult<>) {})).Detach();
      WaitHandle cancelled =
          engine.Start(Make(Now), Callback([](WaitResult<>) {}));
      if (threads == 0) engine.RunDue();
      EXPECT_TRUE(view->handed.Await(2));
      cancelled.Cancel();
    }
    EXPECT_EQ(freed.count(), 1);
  }
}

TEST_F(EngineHeaderTest, QueuedPollAgainstDeadlineCancelDestroyAndEngine) {
  for (const int how : {0, 1, 2, 3}) {
    for (const bool drop : {false, true}) {
      for (int run = 0; run < kRuns; ++run) {
        std::mutex mutex;
        std::vector<Executable> kept;
        Counter handed, freed;
        WaitEngineOptions options = Real(1);
        options.executor = [&](Executable function) {
          {
            const std::lock_guard lock(mutex);
            kept.push_back(std::move(function));
          }
          handed.Add();
        };
        auto engine = std::make_unique<WaitEngine>(options);
        auto seen = std::make_shared<Seen>();
        auto hooks = std::make_shared<Hooks>();
        std::optional<WaitHandle> handle(engine->Start(
            Make([c = AtEnd([&] { freed.Add(); })] { return Success(); },
                 Every(absl::Seconds(1),
                       how == 0 ? absl::Microseconds(250)
                                : absl::InfiniteDuration(),
                       hooks)),
            Into(seen)));
        ASSERT_TRUE(handed.Await());
        Race(
            run,
            [&] {
              if (how == 0) Spin(run % 30 * 5);
              if (how == 1) handle->Cancel();
              if (how == 2) handle.reset();
              if (how == 3) engine.reset();
            },
            [&] {
              if (how == 0) Spin(run);
              Executable function;
              {
                const std::lock_guard lock(mutex);
                function = std::move(kept.front());
              }
              if (!drop) function();
              function = nullptr;
            });
        hooks->ExpectWhole();
        EXPECT_TRUE(freed.Await());
        if (how != 2) {
          EXPECT_TRUE(seen->Await());
        }
        EXPECT_LE(seen->count(), 1);
      }
    }
  }
}

// --- Groups. ---

std::vector<Waiter<Fn>> Waits(int count, Fn function,
                              const WaitOptions& options = Quick()) {
  std::vector<Waiter<Fn>> waits;
  for (int i = 0; i < count; ++i) waits.push_back(Make(function, options));
  return waits;
}

// The results of a group.
struct GroupSeen {
  Counter calls;
  std::vector<WaitResult<>> results;
};

GroupCallback Into(std::shared_ptr<GroupSeen> seen) {
  return [seen = std::move(seen)](std::vector<WaitResult<>> results) {
    seen->results = std::move(results);
    seen->calls.Add();
  };
}

TEST_F(EngineHeaderTest, AGroupCallsBackOnceInOrderAndNotInItsConstructor) {
  for (const int threads : {0, 1, 3}) {
    for (const int count : {0, 1, 7}) {
      WaitEngine engine(Real(threads));
      auto seen = std::make_shared<GroupSeen>();
      std::vector<Waiter<Fn>> waits;
      for (int i = 0; i < count; ++i) {
        waits.push_back(Make([i, n = 0]() mutable -> Poll<> {
          if (n++ < (7 - i)) return NotReady();
          if (i % 2 == 0) return Success();
          return FromStatus(absl::InvalidArgumentError(std::to_string(i)));
        }));
      }
      WaitGroup<> group(engine, std::move(waits), {}, Into(seen));
      if (threads == 0) {
        EXPECT_EQ(seen->calls.count(), 0);
        engine.Run();
      }
      EXPECT_TRUE(seen->calls.Await());
      EXPECT_EQ(seen->results.size(), static_cast<size_t>(count));
      for (size_t i = 0; i < seen->results.size(); ++i) {
        if (i % 2 == 0) {
          EXPECT_TRUE(seen->results[i].ok());
        } else {
          const absl::Status status = seen->results[i].status();
          EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
          const std::string text = std::to_string(i) + " (wait, after " +
                                   std::to_string(8 - i) + " attempts in ";
          EXPECT_EQ(status.message().find(text), 0u) << status;
        }
      }
      group.Cancel();
      if (threads == 0) engine.Run();
      EXPECT_EQ(seen->calls.count(), 1);
    }
  }
}

TEST_F(EngineHeaderTest, AGroupInsideOfAFunctionCallsBackAfterTheConstructor) {
  for (const int threads : {0, 2}) {
    WaitEngine engine(Real(threads));
    auto seen = std::make_shared<GroupSeen>();
    std::optional<WaitGroup<>> group;
    Counter begun;
    engine
        .Start(Make(Now), Callback([&](WaitResult<>) {
                 group.emplace(engine, Waits(3, Now),
                               WaitGroupOptions{.successes_required = 0},
                               Into(seen));
                 EXPECT_EQ(seen->calls.count(), 0);
                 begun.Add();
               }))
        .Detach();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(begun.Await());
    EXPECT_TRUE(seen->calls.Await());
  }
}

TEST_F(EngineHeaderTest, AGroupCancelsWhatIsNotNeeded) {
  struct Case {
    size_t required;
    int successes, failures;  // The rest of 5 waits never end.
    bool ends;
  };
  for (const Case& c : std::vector<Case>{{0, 0, 0, true},
                                         {6, 0, 0, true},
                                         {1, 1, 0, true},
                                         {2, 2, 0, true},
                                         {2, 1, 3, false},
                                         {2, 1, 4, true},
                                         {2, 0, 4, true},
                                         {5, 0, 1, true},
                                         {5, 5, 0, true}}) {
    for (const int threads : {0, 2}) {
      WaitEngine engine(Real(threads));
      auto seen = std::make_shared<GroupSeen>();
      std::vector<Waiter<Fn>> waits;
      for (int i = 0; i < 5; ++i) {
        waits.push_back(Make([i, c]() -> Poll<> {
          if (i < c.successes) return Success();
          if (i < c.successes + c.failures) {
            return FromStatus(absl::InvalidArgumentError("bad"));
          }
          return NotReady();
        }));
      }
      WaitGroup<> group(engine, std::move(waits),
                        {.successes_required = c.required}, Into(seen));
      if (!c.ends) {
        if (threads == 0) engine.RunDue();
        Spin(1000);
        if (threads == 0) engine.RunDue();
        EXPECT_EQ(seen->calls.count(), 0);
        continue;
      }
      if (threads == 0) engine.Run();
      EXPECT_TRUE(seen->calls.Await());
      EXPECT_EQ(seen->results.size(), 5u);
      for (int i = c.successes + c.failures; i < 5; ++i) {
        EXPECT_EQ(seen->results[static_cast<size_t>(i)].reason(),
                  StopReason::kCancelled);
      }
    }
  }
}

TEST_F(EngineHeaderTest, AGroupMayBeDestroyedCancelledOrDetachedInside) {
  // In its callback, in a function of a wait, in a hook, in a destructor.
  for (const int where : {0, 1, 2, 3, 4}) {
    for (const int action : {0, 1, 2}) {
      for (const int threads : {0, 1, 2}) {
        SCOPED_TRACE(where * 100 + action * 10 + threads);
        WaitEngine engine(Real(threads));
        auto group = std::make_shared<std::optional<WaitGroup<>>>();
        auto hooks = std::make_shared<Hooks>();
        Counter reached, freed, called, assigned;
        std::atomic<bool> once = false;
        const auto act = [&] {
          EXPECT_TRUE(assigned.Await());
          if (once.exchange(true)) return;
          if (action == 0) group->reset();
          if (action == 1) (*group)->Cancel();
          if (action == 2) (*group)->Detach();
          reached.Add();
        };
        if (where == 2) hooks->after_poll = act;
        if (where == 3) hooks->on_done = act;
        std::vector<Waiter<Fn>> waits;
        waits.push_back(Make(
            [&, c = AtEnd([&] {
                  if (where == 4) act();
                  freed.Add();
                })]() -> Poll<> {
              if (where == 1) act();
              return Success();
            },
            Quick(hooks)));
        waits.push_back(Make([&, n = 0]() mutable -> Poll<> {
          return n++ < 5 ? Poll<>(NotReady()) : Poll<>(Success());
        }));
        group->emplace(engine, std::move(waits), WaitGroupOptions{},
                       GroupCallback([&, c = AtEnd([&] { freed.Add(); })](
                                         std::vector<WaitResult<>>) {
                         called.Add();
                         if (where == 0) act();
                       }));
        assigned.Add();
        if (threads == 0) engine.Run();
        EXPECT_TRUE(reached.Await());
        EXPECT_TRUE(freed.Await(2));
        hooks->ExpectWhole();
        if (action != 0 || where == 0) {
          EXPECT_TRUE(called.Await());
          EXPECT_EQ(called.count(), 1);
        }
        if (action == 0 && where == 1) {
          EXPECT_EQ(called.count(), 0);
        }
      }
    }
  }
}

TEST_F(EngineHeaderTest, TwoGroupsOnOneThreadMayDestroyEachOther) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    for (int run = 0; run < kRuns; ++run) {
      std::optional<WaitGroup<>> a, b;
      std::atomic<bool> ready = false;
      Counter called, freed;
      const auto make = [&](std::optional<WaitGroup<>>& group,
                            std::optional<WaitGroup<>>& other) {
        group.emplace(engine,
                      Waits(3,
                            [&]() -> Poll<> {
                              if (ready) return Success();
                              return NotReady();
                            }),
                      WaitGroupOptions{},
                      GroupCallback([&, c = AtEnd([&] { freed.Add(); })](
                                        std::vector<WaitResult<>>) {
                        other.reset();
                        called.Add();
                      }));
      };
      make(a, b);
      make(b, a);
      if (threads == 0) engine.RunDue();
      ready = true;
      if (threads == 0) engine.Run();
      EXPECT_TRUE(called.Await());
      EXPECT_TRUE(freed.Await(2));
      EXPECT_EQ(called.count(), 1);
    }
  }
}

TEST_F(EngineHeaderTest, DestroyingAGroupBlocksWhileItsCallbackRuns) {
  for (const bool in_callback : {false, true}) {
    WaitEngine engine(Real(2));
    Counter inside, go;
    std::atomic<bool> returned = false;
    const auto block = [&] {
      inside.Add();
      EXPECT_TRUE(go.Await());
      Spin(1000);
      returned = true;
    };
    std::vector<Waiter<Fn>> waits = Waits(2, Now);
    waits.push_back(Make([&] {
      if (!in_callback) block();
      return Success();
    }));
    std::optional<WaitGroup<>> group;
    group.emplace(engine, std::move(waits), WaitGroupOptions{},
                  GroupCallback([&](std::vector<WaitResult<>>) {
                    if (in_callback) block();
                  }));
    ASSERT_TRUE(inside.Await());
    group->Cancel();  // Also while the callback runs.
    std::thread releaser([&] {
      Spin(1000);
      go.Add();
    });
    group.reset();
    EXPECT_TRUE(returned);
    releaser.join();
  }
}

TEST_F(EngineHeaderTest, GroupCallsAgainstTheEndsOfItsWaitsAndOfTheEngine) {
  for (const int what : {0, 1, 2, 3, 4, 5, 6}) {
    for (int run = 0; run < kRuns; ++run) {
      auto engine = std::make_unique<WaitEngine>(Real(1 + run % 2));
      std::vector<std::shared_ptr<Hooks>> hooks;
      Counter called, freed;
      std::atomic<bool> ready = false;
      std::vector<Waiter<Fn>> waits;
      for (int i = 0; i < 4; ++i) {
        hooks.push_back(std::make_shared<Hooks>());
        waits.push_back(Make(
            [&, i]() -> Poll<> {
              if (ready && i % 2 == 0) return Success();
              if (ready) return FromStatus(absl::InvalidArgumentError("bad"));
              return NotReady();
            },
            Quick(hooks.back())));
      }
      WaitGroupOptions options;
      if (run % 3 != 0) options.successes_required = run % 3;
      std::optional<WaitGroup<>> group;
      group.emplace(*engine, std::move(waits), options,
                    GroupCallback([&, c = AtEnd([&] { freed.Add(); })](
                                      std::vector<WaitResult<>> results) {
                      EXPECT_EQ(results.size(), 4u);
                      called.Add();
                    }));
      if (what == 4) {
        ready = true;
        Race(
            run, [&] { engine.reset(); }, [&] { group.reset(); });
      } else if (what == 5) {
        Race(
            run, [&] { engine.reset(); }, [&] { group->Cancel(); });
      } else if (what == 6) {
        ready = run % 4 < 2;
        Race(
            run, [&] { engine.reset(); }, [&] { group->Detach(); });
      } else {
        Race(
            run,
            [&] {
              if (what == 0) group->Cancel();
              if (what == 1) group.reset();
              if (what == 2) group->Detach();
              if (what == 3) engine.reset();
            },
            [&] { ready = true; });
      }
      for (const auto& hook : hooks) hook->ExpectWhole();
      EXPECT_TRUE(freed.Await());
      if (what != 1 && what != 4) {
        EXPECT_TRUE(called.Await());
      }
      EXPECT_LE(called.count(), 1);
      engine.reset();
    }
  }
}

TEST_F(EngineHeaderTest, CancelOfAGroupFromTwoThreads) {
  WaitEngine engine(Real(2));
  for (int run = 0; run < kRuns; ++run) {
    auto seen = std::make_shared<GroupSeen>();
    WaitGroup<> group(engine, Waits(4, Never), {}, Into(seen));
    Race(
        run, [&] { group.Cancel(); }, [&] { group.Cancel(); });
    EXPECT_TRUE(seen->calls.Await());
    for (const auto& result : seen->results) {
      EXPECT_EQ(result.reason(), StopReason::kCancelled);
    }
  }
}

// --- Observers. ---

TEST_F(EngineHeaderTest, OnDoneComesForEveryWait) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    WaitEngineOptions options = Real(0);
    options.report = level;
    auto engine = std::make_unique<WaitEngine>(options);
    std::vector<std::shared_ptr<Hooks>> hooks(6);
    for (auto& hook : hooks) hook = std::make_shared<Hooks>();
    WaitOptions invalid = Quick(hooks[0]);
    invalid.timeout.reset();
    const auto start = [&](Fn function, WaitOptions wait) {
      return engine->Start(Make(std::move(function), std::move(wait)),
                           Callback([](WaitResult<>) {}));
    };
    start(Now, invalid).Detach();
    start(Now, Quick(hooks[1])) = WaitHandle();
    start([]() -> Poll<> { throw 1; }, Quick(hooks[2])).Detach();
    start(Fn(), Quick(hooks[3])).Detach();
    WaitHandle after = start(Never, Quick(hooks[4]));
    WaitHandle left = start(Never, Quick(hooks[5]));
    engine->RunDue();
    after = WaitHandle();
    engine->RunDue();
    engine.reset();
    for (const auto& hook : hooks) hook->ExpectWhole();
    EXPECT_EQ(hooks[0]->reason, StopReason::kInvalidOptions);
    EXPECT_EQ(hooks[1]->reason, StopReason::kCancelled);
    EXPECT_EQ(hooks[2]->reason, StopReason::kFailed);
    EXPECT_EQ(hooks[3]->reason, StopReason::kInvalidOptions);
    EXPECT_EQ(hooks[4]->reason, StopReason::kCancelled);
    EXPECT_EQ(hooks[5]->reason, StopReason::kShutDown);
    EXPECT_EQ(hooks[1]->begun, 0);
  }
}

TEST_F(EngineHeaderTest, AnObserverSeesTheStatusOfTheEndInAnUnansweredPoll) {
  class Last : public WaitObserver {
   public:
    void AfterPoll(const PollEvent& poll) override {
      answered = poll.answered;
      detail = std::string(poll.found.detail());
      elapsed = poll.elapsed;
      took = poll.took;
    }
    void OnDone(const WaitIdentity&, const WaitReport& report) override {
      status = report.status;
    }
    bool answered = true;
    std::string detail;
    absl::Duration elapsed, took;
    absl::Status status;
  };
  SimulatedClock clock;
  WaitEngine engine(Simulated(clock));
  auto last = std::make_shared<Last>();
  engine
      .Start(
          MakeAsync([](const PollCompletion<>&) {},
                    SimEvery(clock, absl::Seconds(1), absl::Seconds(5), last)),
          Callback([](WaitResult<>) {}))
      .Detach();
  engine.Run();
  EXPECT_FALSE(last->answered);
  EXPECT_EQ(last->elapsed, absl::Seconds(5));
  EXPECT_EQ(last->took, absl::Seconds(5));
  EXPECT_EQ(last->status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(std::string(last->status.message()).find(last->detail),
            std::string::npos);
}

TEST_F(EngineHeaderTest, HooksMayDestroyAndStartOtherWaitsAndGroups) {
  for (const int threads : {0, 1}) {
    for (const int where : {0, 1, 2, 3}) {
      WaitEngine engine(Real(threads));
      auto hooks = std::make_shared<Hooks>();
      auto seen = std::make_shared<Seen>();
      std::optional<WaitHandle> other(
          engine.Start(Make(Never), Callback([](WaitResult<>) {})));
      std::optional<WaitGroup<>> group;
      group.emplace(engine, Waits(3, Never), WaitGroupOptions{},
                    GroupCallback([](const std::vector<WaitResult<>>&) {}));
      Counter reached;
      const auto act = [&] {
        other.reset();
        group.reset();
        engine.Start(Make(Now), Into(seen)).Detach();
        reached.Add();
      };
      if (where == 0) hooks->before_poll = act;
      if (where == 1) hooks->after_poll = act;
      if (where == 2) hooks->before_sleep = act;
      if (where == 3) hooks->on_done = act;
      engine
          .Start(Make(
                     [n = 0]() mutable -> Poll<> {
                       if (n++ == 1) return Success();
                       return NotReady();
                     },
                     Quick(hooks)),
                 Callback([](WaitResult<>) {}))
          .Detach();
      if (threads == 0) engine.Run();
      hooks->ExpectWhole();
      EXPECT_TRUE(reached.Await());
      EXPECT_TRUE(seen->Await());
    }
  }
}

TEST_F(EngineHeaderTest, NoHookButAfterPollAndOnDoneAfterTheHandleIsDestroyed) {
  WaitEngine engine(Real(1));
  for (int run = 0; run < kRuns; ++run) {
    class After : public Hooks {
     public:
      void BeforePoll(const WaitIdentity& wait, int64_t attempt) override {
        if (gone) ++bad;
        Hooks::BeforePoll(wait, attempt);
        if (gone) ++bad;
      }
      void BeforeSleep(const SleepEvent& sleep) override {
        if (gone) ++bad;
        Hooks::BeforeSleep(sleep);
        if (gone) ++bad;
      }
      std::atomic<bool> gone = false;
      std::atomic<int> bad = 0;
    };
    auto hooks = std::make_shared<After>();
    std::optional<WaitHandle> handle(
        engine.Start(Make(Never, Quick(hooks)), Callback([](WaitResult<>) {})));
    Spin(run % 90 * 2);
    handle.reset();
    hooks->gone = true;
    hooks->ExpectWhole();
    EXPECT_EQ(hooks->bad, 0);
  }
}

// --- Coroutines. ---

// A coroutine that its owner destroys.
class Owned {
 public:
  struct promise_type {
    Owned get_return_object() {
      return Owned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  Owned() = default;
  explicit Owned(std::coroutine_handle<promise_type> handle)
      : handle_(handle) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    Destroy();
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
  }
  ~Owned() { Destroy(); }
  void Destroy() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// A coroutine that frees itself.
struct Free {
  struct promise_type {
    Free get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

struct CoSeen {
  Counter done;
  std::atomic<StopReason> reason = StopReason::kInvalidOptions;
  std::atomic<bool> thrown = false;
  std::thread::id thread;
};

Free AwaitFree(WaitEngine& engine, Waiter<Fn> waiter, waiter::stop_token stop,
               std::shared_ptr<CoSeen> seen) {
  try {
    const WaitResult<> result =
        co_await Await(engine, std::move(waiter), std::move(stop));
    seen->reason = result.reason();
  } catch (const std::runtime_error&) {
    seen->thrown = true;
  }
  seen->thread = std::this_thread::get_id();
  seen->done.Add();
}

Owned AwaitOwned(WaitEngine& engine, Waiter<Fn> waiter, waiter::stop_token stop,
                 std::shared_ptr<CoSeen> seen) {
  const WaitResult<> result =
      co_await Await(engine, std::move(waiter), std::move(stop));
  seen->reason = result.reason();
  seen->done.Add();
}

Owned AwaitForever(WaitEngine& engine, std::shared_ptr<CoSeen> seen) {
  for (;;) {
    Waiter<Fn> waiter = Make(Never, Every(absl::Hours(1)));
    const WaitResult<> result = co_await Await(engine, std::move(waiter));
    seen->reason = result.reason();
    seen->done.Add();
  }
}

TEST_F(EngineHeaderTest, ACoroutineContinuesOnTheEnginesThread) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    auto seen = std::make_shared<CoSeen>();
    std::atomic<int> polls = 0;
    AwaitFree(engine, Make([&] {
                ++polls;
                return Success();
              }),
              {}, seen);
    if (threads == 0) {
      EXPECT_EQ(polls, 0);
      engine.Run();
    }
    EXPECT_TRUE(seen->done.Await());
    EXPECT_EQ(seen->reason, StopReason::kSuccess);
    EXPECT_EQ(seen->thread == std::this_thread::get_id(), threads == 0);
  }
}

TEST_F(EngineHeaderTest, AnExceptionIsThrownFromTheCoAwait) {
  WaitEngine engine(Real(0));
  auto seen = std::make_shared<CoSeen>();
  AwaitFree(engine,
            Make([]() -> Poll<> { throw std::runtime_error("thrown"); }), {},
            seen);
  engine.Run();
  EXPECT_TRUE(seen->thrown);
}

TEST_F(EngineHeaderTest, AStopTokenEndsTheWaitOfACoroutine) {
  for (const int when : {0, 1, 2}) {  // Before, later, in the poll.
    for (const int threads : {0, 1}) {
      WaitEngine engine(Real(threads));
      auto seen = std::make_shared<CoSeen>();
      waiter::stop_source stop;
      std::atomic<int> polls = 0;
      if (when == 0) stop.request_stop();
      AwaitFree(engine, Make([&]() -> Poll<> {
                  ++polls;
                  if (when == 2) stop.request_stop();
                  return NotReady();
                }),
                stop.get_token(), seen);
      if (threads == 0) engine.RunDue();
      if (when == 1) stop.request_stop();
      if (threads == 0) engine.Run();
      EXPECT_TRUE(seen->done.Await());
      EXPECT_EQ(seen->reason, StopReason::kCancelled);
      if (when == 0) {
        EXPECT_EQ(polls, 0);
      }
    }
  }
}

TEST_F(EngineHeaderTest, ACoroutineGoesOnWithShutDown32TimesMore) {
  for (const int threads : {0, 1}) {
    auto seen = std::make_shared<CoSeen>();
    Owned task;
    {
      WaitEngine engine(Real(threads));
      task = AwaitForever(engine, seen);
    }
    EXPECT_EQ(seen->done.count(), 33);
    EXPECT_EQ(seen->reason, StopReason::kShutDown);
    task.Destroy();
  }
}

TEST_F(EngineHeaderTest, ASuspendedCoroutineMayBeDestroyedInItsStatusFunction) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    auto seen = std::make_shared<CoSeen>();
    Owned task;
    Counter assigned, reached;
    task = AwaitOwned(engine, Make([&task, &assigned, &reached]() -> Poll<> {
                        Counter& local = reached;
                        EXPECT_TRUE(assigned.Await());
                        task.Destroy();
                        local.Add();
                        return NotReady();
                      }),
                      {}, seen);
    assigned.Add();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(reached.Await());
    EXPECT_EQ(seen->done.count(), 0);
  }
}

TEST_F(EngineHeaderTest, DestroyingACoroutineAgainstItsPolls) {
  WaitEngine engine(Real(1));
  for (int run = 0; run < kRuns; ++run) {
    auto seen = std::make_shared<CoSeen>();
    std::atomic<bool> alive = true;
    std::atomic<int> bad = 0;
    Owned task = AwaitOwned(engine, Make([&]() -> Poll<> {
                              if (!alive) ++bad;
                              Spin(3);
                              if (!alive) ++bad;
                              return NotReady();
                            }),
                            {}, seen);
    Spin(run % 60 * 3);
    task.Destroy();
    alive = false;
    Spin(30);
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(seen->done.count(), 0);
  }
}

TEST_F(EngineHeaderTest, StopAgainstStartAndEndOfACoroutinesWait) {
  for (int run = 0; run < 2 * kRuns; ++run) {
    auto engine = std::make_unique<WaitEngine>(Real(1));
    auto seen = std::make_shared<CoSeen>();
    waiter::stop_source stop;
    Race(
        run,
        [&] {
          AwaitFree(*engine, Make([n = run % 3]() mutable -> Poll<> {
            if (n-- == 0) return Success();
            return NotReady();
          }),
                    stop.get_token(), seen);
          if (run % 5 == 0) engine.reset();
        },
        [&] {
          Spin(run % 7 * 15);
          stop.request_stop();
        });
    EXPECT_TRUE(seen->done.Await());
    EXPECT_EQ(seen->done.count(), 1);
    engine.reset();
  }
}

// --- More calls inside calls. ---

TEST_F(EngineHeaderTest, AnAnswerInAStopCallbackOfADestroyedHandleIsNoEnd) {
  using OnStop = waiter::stop_callback<std::function<void()>>;
  WaitEngine engine(Real(1));
  int during = 0, after = 0;
  for (int run = 0; run < 2 * kRuns; ++run) {
    auto called = std::make_shared<std::atomic<int>>(0);
    auto hooks = std::make_shared<Hooks>();
    Counter begun;
    std::optional<OnStop> on_stop;
    std::optional<WaitHandle> handle(engine.Start(
        MakeAsyncContext(
            [&](const PollContext& context, PollCompletion<> done) {
              on_stop.emplace(context.stop_token, [done] { done(Success()); });
              begun.Add();
              Spin(run % 3 * 10);
            },
            Quick(hooks)),
        Callback([called](WaitResult<>) { ++*called; })));
    ASSERT_TRUE(begun.Await());
    Spin(run % 20 * 2);
    handle.reset();
    const int count = *called;
    if (count != 0) ++during;
    hooks->ExpectWhole();
    if (*called != count) ++after;
    on_stop.reset();
  }
  EXPECT_EQ(after, 0) << "called back after the handle was destroyed";
  EXPECT_EQ(during, 0) << "called back while the handle was being destroyed";
}

TEST_F(EngineHeaderTest, AFunctionMayDestroyAHandleWhoseCapturesDestroyItsOwn) {
  for (const bool in_callback : {false, true}) {
    for (const int threads : {0, 1}) {
      WaitEngine engine(Real(threads));
      std::optional<WaitHandle> a, b;
      Counter assigned, reached, freed;
      b.emplace(engine.Start(Make([c = AtEnd([&] {
                                     a.reset();
                                     freed.Add();
                                   })] { return NotReady(); }),
                             Callback([](WaitResult<>) {})));
      const auto act = [&] {
        EXPECT_TRUE(assigned.Await());
        b.reset();
        reached.Add();
      };
      a.emplace(engine.Start(Make([&, c = AtEnd([&] { freed.Add(); })] {
                               if (!in_callback) act();
                               return Success();
                             }),
                             Callback([&](WaitResult<>) {
                               if (in_callback) act();
                             })));
      assigned.Add();
      if (threads == 0) engine.Run();
      EXPECT_TRUE(reached.Await());
      EXPECT_TRUE(freed.Await(2));
    }
  }
}

TEST_F(EngineHeaderTest, AFunctionMayDestroyAnotherEngine) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    auto other = std::make_unique<WaitEngine>(Real(1));
    auto seen = std::make_shared<Seen>();
    Counter reached;
    other->Start(Make(Never), Into(seen)).Detach();
    engine
        .Start(Make([&] {
                 other.reset();
                 reached.Add();
                 return Success();
               }),
               Callback([](WaitResult<>) {}))
        .Detach();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(reached.Await());
    EXPECT_EQ(seen->reason(), StopReason::kShutDown);
  }
}

TEST_F(EngineHeaderTest, AWaitStartedOnAnotherEngineRunsOnThatEnginesThread) {
  WaitEngine engine(Real(1)), other(Real(1));
  auto seen = std::make_shared<Seen>();
  std::atomic<std::thread::id> self{};
  engine
      .Start(Make([&] {
               self = std::this_thread::get_id();
               other.Start(Make(Now), Into(seen)).Detach();
               return Success();
             }),
             Callback([](WaitResult<>) {}))
      .Detach();
  EXPECT_TRUE(seen->Await());
  EXPECT_NE(seen->thread, self.load());
}

TEST_F(EngineHeaderTest, HooksThatAlwaysStartAgainLetTheEngineEnd) {
  for (const int threads : {0, 1}) {
    class Again : public WaitObserver {
     public:
      void OnDone(const WaitIdentity&, const WaitReport&) override {
        if (again) again();
      }
      std::function<void()> again;
    };
    auto again = std::make_shared<Again>();
    std::atomic<int> started = 0;
    {
      WaitEngine engine(Real(threads));
      again->again = [&] {
        if (++started >= 2000) return;
        engine.Start(Make(Never, Quick(again)), Callback([](WaitResult<>) {}))
            .Detach();
      };
      again->again();
    }
    again->again = nullptr;
    EXPECT_LT(started, 100);
  }
}

TEST_F(EngineHeaderDeathTest, DestructorsThatAlwaysStartAgainDie) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        std::function<void()> again;
        WaitEngine engine(Real(0));
        again = [&] {
          engine
              .Start(Make([c = AtEnd(again)] { return NotReady(); }),
                     Callback([](WaitResult<>) {}))
              .Detach();
        };
        again();
      },
      "a WaitEngine cannot end");
}

TEST_F(EngineHeaderTest, AWaitCancelledBeforeItBeginsIsNeverPolled) {
  for (const int threads : {0, 1}) {
    WaitEngine engine(Real(threads));
    Counter inside, go;
    auto seen = std::make_shared<Seen>();
    std::atomic<int> polls = 0;
    WaitHandle blocker = engine.Start(Make([&] {
                                        inside.Add();
                                        if (threads != 0) go.Await();
                                        return Success();
                                      }),
                                      Callback([](WaitResult<>) {}));
    if (threads != 0) {
      EXPECT_TRUE(inside.Await());
    }
    WaitHandle handle = engine.Start(Make([&] {
                                       ++polls;
                                       return Success();
                                     }),
                                     Into(seen));
    handle.Cancel();
    go.Add();
    if (threads == 0) engine.Run();
    EXPECT_TRUE(seen->Await());
    EXPECT_EQ(seen->reason(), StopReason::kCancelled);
    EXPECT_EQ(polls, 0);
  }
}

TEST_F(EngineHeaderTest, ContextsTellAttemptTimesAndTheLastStatus) {
  SimulatedClock clock;
  WaitEngine engine(Simulated(clock));
  auto seen = std::make_shared<Seen>();
  int polls = 0;
  WaitOptions options = SimEvery(clock, absl::Seconds(1), absl::Seconds(3));
  options.poll_timeout = absl::Seconds(2);
  engine
      .Start(MakeContext(
                 [&](const PollContext& context) -> Poll<> {
                   EXPECT_EQ(context.attempt, polls + 1);
                   EXPECT_EQ(context.elapsed, absl::Seconds(polls));
                   EXPECT_EQ(context.remaining, absl::Seconds(3 - polls));
                   EXPECT_EQ(context.timeout,
                             polls == 2 ? absl::Seconds(1) : absl::Seconds(2));
                   EXPECT_EQ(context.deadline,
                             clock.TimeNow() + context.timeout);
                   EXPECT_FALSE(context.stop_token.stop_requested());
                   EXPECT_EQ(context.last_status.has_value(), polls != 0);
                   if (polls != 0) {
                     EXPECT_EQ(context.last_status, PollStatus::kNotReady);
                   }
                   ++polls;
                   return NotReady();
                 },
                 options),
             Into(seen))
      .Detach();
  engine.Run();
  EXPECT_EQ(polls, 4);
  EXPECT_EQ(seen->reason(), StopReason::kDeadline);
}

TEST_F(EngineHeaderTest, ALastPollThatAnExecutorNeverBeginsLetsTheWaitEnd) {
  // "A poll that has not begun at the deadline of its wait is given up." The
  // poll at the deadline is handed over then.
  SimulatedClock clock(SimulatedClock::Mode::kManual);
  std::vector<Executable> kept;
  WaitEngineOptions options = Simulated(clock);
  options.executor = [&](Executable function) {
    kept.push_back(std::move(function));
  };
  WaitEngine engine(options);
  auto seen = std::make_shared<Seen>();
  WaitOptions wait = SimEvery(clock, absl::Seconds(10), absl::Seconds(5));
  wait.poll_timeout = absl::Seconds(3);
  engine.Start(Make(Never, wait), Into(seen)).Detach();
  engine.RunDue();
  ASSERT_EQ(kept.size(), 1u);
  kept[0]();
  engine.RunDue();
  clock.AdvanceTime(absl::Seconds(5));
  engine.RunDue();
  EXPECT_EQ(kept.size(), 2u);
  for (int i = 0; i < 60; ++i) {
    clock.AdvanceTime(absl::Seconds(1));
    engine.RunDue();
  }
  EXPECT_EQ(seen->count(), 1);
  EXPECT_EQ(seen->reason(), StopReason::kDeadline);
  EXPECT_EQ(seen->report().elapsed, absl::Seconds(8));
}

TEST_F(EngineHeaderTest, ACallbackMayDestroyAHandleWhosePollRunsOnAnExecutor) {
  Pool pool(2);
  WaitEngineOptions options = Real(1);
  options.executor = pool.executor();
  WaitEngine engine(options);
  for (int run = 0; run < kRuns; ++run) {
    auto hooks = std::make_shared<Hooks>();
    std::optional<WaitHandle> polled(
        engine.Start(Make(
                         [] {
                           Spin(20);
                           return NotReady();
                         },
                         Quick(hooks)),
                     Callback([](WaitResult<>) {})));
    Counter reached;
    engine
        .Start(Make([n = run % 3]() mutable -> Poll<> {
                 return n-- == 0 ? Poll<>(Success()) : Poll<>(NotReady());
               }),
               Callback([&](WaitResult<>) {
                 polled.reset();
                 reached.Add();
               }))
        .Detach();
    ASSERT_TRUE(reached.Await());
    hooks->ExpectWhole();
  }
}

TEST_F(EngineHeaderTest, GroupsMoveAndTheirOldWaitsEndWithoutACallback) {
  for (const int threads : {0, 2}) {
    WaitEngine engine(Real(threads));
    auto first = std::make_shared<GroupSeen>();
    auto second = std::make_shared<GroupSeen>();
    WaitGroup<> group(engine, Waits(3, Never), {}, Into(first));
    WaitGroup<> moved = std::move(group);
    group.Cancel();
    group.Detach();
    moved = WaitGroup<>(engine, Waits(3, Now), {}, Into(second));
    if (threads == 0) engine.Run();
    EXPECT_TRUE(second->calls.Await());
    EXPECT_EQ(first->calls.count(), 0);
  }
}

TEST_F(EngineHeaderTest, GroupsWithAnExecutorThatDropsStillCallBack) {
  WaitEngineOptions options = Real(0);
  options.executor = [](const Executable&) {};
  WaitEngine engine(options);
  auto seen = std::make_shared<GroupSeen>();
  WaitGroup<> group(engine, Waits(3, Now), {}, Into(seen));
  engine.Run();
  EXPECT_EQ(seen->calls.count(), 1);
}

TEST_F(EngineHeaderTest, AGroupOfAsyncWaitsBringsValues) {
  WaitEngine engine(Real(0));
  std::vector<AsyncWaiter<std::function<void(PollCompletion<int>)>>> waits;
  for (int i = 0; i < 3; ++i) {
    waits.emplace_back(
        [i](const PollCompletion<int>& done) { done(absl::StatusOr<int>(i)); },
        Quick());
  }
  int sum = 0;
  WaitGroup group(engine, std::move(waits), {},
                  [&](std::vector<WaitResult<int>> results) {
                    for (auto& result : results) sum += *result;
                  });
  engine.Run();
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace waiter
