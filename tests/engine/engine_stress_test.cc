// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Races cancellation, completion, deadline and destruction on the real clock,
// with delays and ticks short enough to collide. Meant mostly for the
// sanitizers; in addition, every wait must end once and free its captures.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/first_seed.h"
#include "tests/support/joining_thread.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::engine_stress_test {
namespace {

using ::absl::Microseconds;

// Counts what all waits of a test did.
struct Tally {
  std::atomic<int> alive = 0;  // Captures that exist.
  std::atomic<int> started = 0;
  std::atomic<int> called_back = 0;
  std::atomic<int> destroyed = 0;  // Handles whose wait may be pending.
};

// Counts its instances, and detects a call after its end.
class Capture {
 public:
  explicit Capture(Tally& tally) : tally_(&tally) { ++tally_->alive; }
  Capture(const Capture& other) : tally_(other.tally_) { ++tally_->alive; }
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    --tally_->alive;
    tally_ = nullptr;
  }
  Tally& tally() const { return *tally_; }

 private:
  Tally* tally_;
};

// Expects to be called once.
struct CallBack {
  void operator()(const WaitResult<>& result) {
    EXPECT_NE(result.reason(), StopReason::kInvalidOptions) << result.status();
    EXPECT_EQ(calls++, 0);
    ++capture.tally().called_back;
  }
  Capture capture;
  int calls = 0;
};

class EngineStressTest : public testing::Test {
 protected:
  static std::shared_ptr<const WaitPolicy> Policy(absl::Duration timeout,
                                                  absl::Duration delay) {
    return WaitPolicy::Make({.timeout = timeout,
                             .poll_timeout = Microseconds(50),
                             .backoff = Every(delay)});
  }

  // Starts a wait of a random kind.
  WaitHandle Start(WaitEngine& engine, SplitMix64& gen) {
    ++tally_.started;
    const Capture capture(tally_);
    const auto& policy = policies_[gen() % policies_.size()];
    const uint64_t polls = 1 + gen() % 8;
    switch (gen() % 5) {
      case 0:
        return engine.Start(
            Waiter([capture, left = polls]() mutable { return --left == 0; },
                   policy),
            CallBack{capture});
      case 1:
        return engine.Start(Waiter(
                                [capture, polls](const PollContext& context) {
                                  return context.stop_token.stop_requested() ||
                                         context.attempt ==
                                             static_cast<int64_t>(polls);
                                },
                                policy),
                            CallBack{capture});
      case 2:
        return engine.Start(AsyncWaiter(
                                [this, capture](PollCompletion<> done) {
                                  const std::lock_guard lock(mutex_);
                                  completions_.push_back(std::move(done));
                                },
                                policy),
                            CallBack{capture});
      case 3:
        return engine.Start(
            AsyncWaiter([capture](PollCompletion<> done) { done(false); },
                        policy),
            CallBack{capture});
      default:
        return engine.Start(Waiter([capture] { return false; }, policy),
                            CallBack{capture});
    }
  }

  // Answers polls from outside, several times each.
  void Complete(SplitMix64& gen) {
    std::vector<PollCompletion<>> completions;
    {
      const std::lock_guard lock(mutex_);
      completions.swap(completions_);
    }
    for (const PollCompletion<>& done : completions) {
      done(gen() % 4 == 0);
      if (gen() % 4 == 0) done(true);
    }
  }

  // Starts waits, and ends them in every way.
  void StartAndEnd(WaitEngine& engine, uint64_t seed, int count) {
    SplitMix64 gen(seed);
    std::vector<WaitHandle> waits(20);
    for (int i = 0; i < count; ++i) {
      WaitHandle& wait = waits[gen() % waits.size()];
      switch (gen() % 8) {
        case 0:
          wait.Cancel();
          break;
        case 1:
          wait.Cancel();
          wait.Detach();
          break;
        case 2:
          wait.Detach();
          break;
        case 3:
          Complete(gen);
          break;
        case 4:
          std::this_thread::yield();
          break;
        default:
          if (wait.pending()) ++tally_.destroyed;
          wait = Start(engine, gen);
      }
    }
    for (WaitHandle& wait : waits) {
      if (wait.pending()) ++tally_.destroyed;
    }
  }

  void ExpectAllEnded() {
    EXPECT_EQ(tally_.alive, 0);
    EXPECT_LE(tally_.called_back, tally_.started);
    // A destroyed wait may have ended just before.
    EXPECT_GE(tally_.called_back, tally_.started - tally_.destroyed);
    EXPECT_GT(tally_.called_back, 0);
  }

  Tally tally_;
  std::mutex mutex_;
  std::vector<PollCompletion<>> completions_;
  const std::vector<std::shared_ptr<const WaitPolicy>> policies_ = {
      Policy(Microseconds(50), Microseconds(10)),
      Policy(Microseconds(200), absl::ZeroDuration()),
      Policy(absl::Milliseconds(1), Microseconds(100)),
      Policy(absl::Hours(1), Microseconds(1)),
      Policy(absl::InfiniteDuration(), absl::Hours(1)),
      Policy(absl::ZeroDuration(), Microseconds(1)),
  };
};

TEST_F(EngineStressTest, OutcomesRaceOnTheEngine) {
  const uint64_t first = FirstSeed();
  SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", first));
  for (const int threads : {1, 3}) {
    for (const absl::Duration tick : {absl::ZeroDuration(), Microseconds(20)}) {
      WaitEngine engine(
          {.threads = threads, .tick = tick, .relative_slack = 0.1});
      std::vector<JoiningThread> users;
      for (uint64_t i = 0; i < 3; ++i) {
        users.emplace_back([&, i] { StartAndEnd(engine, first + i, 2'000); });
      }
      users.clear();
    }
  }
  ExpectAllEnded();
}

TEST_F(EngineStressTest, OutcomesRaceOnAnExecutor) {
  const uint64_t first = FirstSeed();
  SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", first));
  // Runs each task on one of two other threads, some after a while.
  std::mutex mutex;
  std::vector<absl::AnyInvocable<void()>> tasks;
  std::atomic<bool> ends = false;
  std::vector<JoiningThread> workers;
  workers.reserve(2);
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      while (true) {
        std::vector<absl::AnyInvocable<void()>> mine;
        {
          const std::lock_guard lock(mutex);
          mine.swap(tasks);
        }
        if (mine.empty() && ends) return;
        for (absl::AnyInvocable<void()>& task : mine) task();
        std::this_thread::yield();
      }
    });
  }
  {
    WaitEngine engine({.threads = 2,
                       .tick = Microseconds(20),
                       .executor = [&](absl::AnyInvocable<void()> task) {
                         const std::lock_guard lock(mutex);
                         tasks.push_back(std::move(task));
                       }});
    std::vector<JoiningThread> users;
    for (uint64_t i = 0; i < 2; ++i) {
      users.emplace_back([&, i] { StartAndEnd(engine, first + i, 2'000); });
    }
    users.clear();
  }
  ends = true;
  workers.clear();
  ExpectAllEnded();
}

TEST_F(EngineStressTest, FunctionsStartWaitsWhileTheEngineEnds) {
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> chained = 0;
    {
      WaitEngine engine({.threads = 2, .tick = Microseconds(1)});
      struct Chain {
        void operator()(const WaitResult<>& result) const {
          ++*chained;
          ++capture.tally().called_back;
          // A chain that started waits during the shutdown would never end.
          if (result.reason() == StopReason::kShutDown) return;
          ++capture.tally().started;
          engine
              ->Start(Waiter(
                          [chain = *this] {
                            chain.StartAnother();
                            return true;
                          },
                          policy),
                      *this)
              .Detach();
        }
        // Starts a wait that is no part of the chain.
        void StartAnother() const {
          ++capture.tally().started;
          engine
              ->Start(Waiter([capture = capture] { return true; }, policy),
                      CallBack{capture})
              .Detach();
        }

        WaitEngine* engine;
        std::shared_ptr<const WaitPolicy> policy;
        std::atomic<int>* chained;
        Capture capture;
      };
      for (int i = 0; i < 4; ++i) {
        const Chain chain = {&engine, policies_[3], &chained, Capture(tally_)};
        ++tally_.started;
        engine
            .Start(Waiter([capture = chain.capture] { return true; },
                          chain.policy),
                   chain)
            .Detach();
      }
      while (chained < 200) std::this_thread::yield();
    }
    ASSERT_EQ(tally_.alive, 0);
    ASSERT_EQ(tally_.called_back, tally_.started);
  }
}

TEST_F(EngineStressTest, ManyPendingWaitsAreShutDown) {
  constexpr int kWaits = 100'000;
  {
    WaitEngine engine({.threads = 2});
    for (int i = 0; i < kWaits; ++i) {
      const Capture capture(tally_);
      engine
          .Start(Waiter([capture] { return false; }, policies_[4]),
                 CallBack{capture})
          .Detach();
    }
  }
  EXPECT_EQ(tally_.called_back, kWaits);
  EXPECT_EQ(tally_.alive, 0);
}

// Destroys the handle of a wait just as the wait ends, many times over.
TEST_F(EngineStressTest, HandleMayBeDestroyedAsItsWaitEnds) {
  WaitEngine engine({.threads = 1, .tick = Microseconds(1)});
  SplitMix64 gen(FirstSeed());
  for (int i = 0; i < 2'000; ++i) {
    std::optional<WaitHandle> wait = Start(engine, gen);
    for (std::atomic<int> spins = 0; spins < i % 300;) ++spins;
    if (i % 3 == 0) wait->Cancel();
    wait.reset();
    Complete(gen);
  }
  EXPECT_EQ(tally_.alive, 0);
}

// Completions on another thread meet the shutdown of their waits.
TEST_F(EngineStressTest, EngineMayEndWhileCompletionsArrive) {
  for (int round = 0; round < 20; ++round) {
    std::optional<WaitEngine> engine;
    engine.emplace(WaitEngineOptions{.threads = 2, .tick = Microseconds(1)});
    for (int i = 0; i < 100; ++i) {
      const Capture capture(tally_);
      ++tally_.started;
      engine
          ->Start(AsyncWaiter(
                      [this, capture](PollCompletion<> done) {
                        const std::lock_guard lock(mutex_);
                        completions_.push_back(std::move(done));
                      },
                      policies_[3]),
                  CallBack{capture})
          .Detach();
    }
    std::atomic<bool> ends = false;
    JoiningThread completer([&] {
      SplitMix64 gen(FirstSeed());
      while (!ends) Complete(gen);
    });
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    engine.reset();
    EXPECT_EQ(tally_.alive, 0);
    EXPECT_EQ(tally_.called_back, tally_.started);
    ends = true;
  }
}

}  // namespace
}  // namespace waiter::engine_stress_test
