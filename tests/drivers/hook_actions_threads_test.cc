// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Actions of hooks on waits of engines with their own threads. These tests run
// in real time, and none depends on how much of it passes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/hook_actions.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::hook_actions_threads_test {
namespace {

using ::testing::Combine;
using ::testing::ValuesIn;

// An engine, and the form of its waits.
struct Form {
  std::string name;
  int threads;
  ReportLevel report = ReportLevel::kFull;
  bool on_executor = false;
  bool is_asynchronous = false;
};

// For GoogleTest's messages.
void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

std::vector<Form> Forms() {
  std::vector<Form> forms;
  for (const int threads : {1, 2}) {
    const std::string suffix = threads == 1 ? "OneThread" : "TwoThreads";
    forms.push_back({absl::StrCat("Engine", suffix), threads});
    forms.push_back(
        {absl::StrCat("LeanEngine", suffix), threads, ReportLevel::kLean});
    forms.push_back({.name = absl::StrCat("Executor", suffix),
                     .threads = threads,
                     .on_executor = true});
    forms.push_back({.name = absl::StrCat("Completion", suffix),
                     .threads = threads,
                     .is_asynchronous = true});
  }
  return forms;
}

// Runs a wait whose handle belongs to the test's thread.
class HookActionsThreadsTest
    : public testing::TestWithParam<std::tuple<Form, Hook>> {
 protected:
  static const Form& form() { return std::get<0>(GetParam()); }
  static Hook hook() { return std::get<1>(GetParam()); }

  // Starts the wait with `action` in the hook under test. The action begins
  // after `handle_` is set.
  void Start(std::function<void()> action) {
    wait_.action = [this, action = std::move(action)] {
      has_handle_.wait();
      action();
    };
    WaitEngineOptions options = {.threads = form().threads,
                                 .tick = absl::ZeroDuration(),
                                 .report = form().report};
    if (form().on_executor) {
      // Each poll gets a thread. The test joins all of them.
      options.executor = [this](absl::AnyInvocable<void()> poll) {
        const std::lock_guard lock(mutex_);
        pool_.emplace_back(std::move(poll));
      };
    }
    engine_.emplace(options);
    if (form().is_asynchronous) {
      const auto poll = [this](const PollCompletion<>& done) {
        done(wait_.Poll());
      };
      handle_ = engine_->Start(AsyncWaiter(poll, wait_.options), wait_.Take());
    } else {
      handle_ = engine_->Start(wait_.MakeWaiter(), wait_.Take());
    }
    has_handle_.count_down();
  }

  // Returns when the wait has ended and the threads are gone.
  void Finish() {
    wait_.observer->AwaitDone();
    // A callback that is running returns before the engine ends.
    engine_.reset();
    for (std::thread& thread : pool_) thread.join();
    pool_.clear();
  }

  // Starts another wait, which succeeds immediately.
  void StartAnother() {
    engine_
        ->Start(Waiter([] { return true; }, {.timeout = absl::Hours(1)}),
                [this](const WaitResult<>& other) {
                  wait_.others += other.ok() ? 1 : 0;
                  another_ended_.count_down();
                })
        .Detach();
  }

  std::latch has_handle_{1};
  std::latch another_ended_{1};
  std::mutex mutex_;  // Guards `pool_` until the engine ends.
  std::vector<std::thread> pool_;
  HookWait wait_{hook(), /*clock=*/nullptr, absl::Milliseconds(1)};
  std::optional<WaitEngine> engine_;
  WaitHandle handle_;
};

TEST_P(HookActionsThreadsTest, WaitThatAHookStartsRuns) {
  Start([this] { StartAnother(); });
  another_ended_.wait();
  Finish();

  EXPECT_EQ(wait_.others, 1);
  EXPECT_EQ(wait_.results, 1);
  EXPECT_EQ(wait_.observer->reason(), StopReason::kSuccess);
  EXPECT_EQ(wait_.observer->polls(), 3);
}

TEST_P(HookActionsThreadsTest, HookThatBlocksHoldsUpTheWaitsOfItsThreadAlone) {
  std::latch blocks(1);
  std::latch started(1);
  int ended_meanwhile = 0;
  Start([&] {
    blocks.count_down();
    started.wait();
    // The next wait is on the next thread, if there is one.
    if (form().threads == 2) another_ended_.wait();
    ended_meanwhile = wait_.others;
  });
  blocks.wait();
  StartAnother();
  started.count_down();
  another_ended_.wait();
  Finish();

  EXPECT_EQ(ended_meanwhile, form().threads == 2 ? 1 : 0);
  EXPECT_EQ(wait_.others, 1);
  EXPECT_EQ(wait_.observer->reason(), StopReason::kSuccess);
  EXPECT_EQ(wait_.observer->polls(), 3);
}

TEST_P(HookActionsThreadsTest, StopThatAHookRequestsEndsTheWait) {
  Start([this] { handle_.Cancel(); });
  Finish();

  EXPECT_EQ(wait_.results, 1);
  ExpectStoppedBy(
      hook(),
      {.name = form().name, .run = nullptr, .polls_later = form().on_executor},
      wait_);
}

TEST_P(HookActionsThreadsTest, HandleThatAHookDestroysEndsTheWait) {
  Start([this] { handle_ = WaitHandle(); });
  Finish();

  EXPECT_EQ(wait_.results, 0);
  EXPECT_EQ(wait_.observer->ends(), 1);
  EXPECT_EQ(wait_.observer->reason(), hook() == Hook::kOnDone
                                          ? StopReason::kSuccess
                                          : StopReason::kCancelled);
  EXPECT_LE(wait_.polls, hook() == Hook::kOnDone ? 3 : 1);
}

std::string NameOfTest(
    const testing::TestParamInfo<std::tuple<Form, Hook>>& test) {
  return absl::StrCat(std::get<0>(test.param).name, "_",
                      NameOf(std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(EveryFormAndHook, HookActionsThreadsTest,
                         Combine(ValuesIn(Forms()), ValuesIn(kHooks)),
                         NameOfTest);

class HookThreadsDeathTest : public HookActionsThreadsTest {};

TEST_P(HookThreadsDeathTest, ExceptionThatLeavesAHookTerminatesTheProgram) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";

  EXPECT_DEATH(
      {
        Start([] { throw 1; });
        Finish();
      },
      "terminat");
}

INSTANTIATE_TEST_SUITE_P(EveryFormAndHook, HookThreadsDeathTest,
                         Combine(ValuesIn(Forms()), ValuesIn(kHooks)),
                         NameOfTest);

// Hooks of waits that several threads make.

TEST(HooksOfThreadsTest, IdentitiesAreUniqueOverThreadsAndDrivers) {
  class Identities : public WaitObserver {
   public:
    void OnStart(const StartEvent& start) override {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(seen.insert(start.wait.id).second);
      EXPECT_NE(start.wait.id, 0U);
    }
    std::mutex mutex;
    std::set<uint64_t> seen;
  };
  const auto identities = std::make_shared<Identities>();
  const auto policy = WaitPolicy::Make(
      {.timeout = absl::Hours(1), .hooks = {.observer = identities}});
  {
    WaitEngine engine({.threads = 2});
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int wait = 0; wait < 100; ++wait) {
          (void)Waiter([] { return true; }, policy).Wait();
          engine
              .Start(Waiter([] { return true; }, policy),
                     [](const WaitResult<>&) {})
              .Detach();
        }
      });
    }
  }
  EXPECT_EQ(identities->seen.size(), 600U);
}

TEST(HooksOfThreadsTest, ObserversOfEveryWaitAreReplacedWhileWaitsAreMade) {
  std::atomic<int> alive = 0;
  class Counted : public WaitObserver {
   public:
    explicit Counted(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
    ~Counted() override {
      --alive_;
      EXPECT_EQ(pending_, 0);
    }
    void OnStart(const StartEvent& /*start*/) override { ++pending_; }
    void OnDone(const WaitIdentity& /*wait*/,
                const WaitReport& /*report*/) override {
      --pending_;
    }

   private:
    std::atomic<int>& alive_;
    std::atomic<int> pending_ = 0;
  };
  {
    WaitEngine engine({.threads = 1});
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 2000; ++round) {
          ObserveEveryWait(round % 3 == 0 ? nullptr
                                          : std::make_shared<Counted>(alive));
        }
      });
      threads.emplace_back([&] {
        for (int wait = 0; wait < 1000; ++wait) {
          (void)Waiter([] { return true; }, absl::Hours(1)).Wait();
          const WaitHandle destroyed =
              engine.Start(Waiter([] { return true; }, absl::Hours(1)),
                           [](const WaitResult<>&) {});
        }
      });
    }
  }
  ObserveEveryWait(nullptr);
  EXPECT_EQ(alive, 0);
}

TEST(HooksOfThreadsTest, EveryFailureHasOneCallWhateverThreadsDo) {
  constexpr int kWaits = 40;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> failures = 0;
    std::atomic<int> failed = 0;
    std::atomic<int> called_back = 0;
    WaitOptions options = {.timeout = absl::Hours(1),
                           .backoff = {.initial_delay = absl::Hours(1),
                                       .max_delay = absl::Hours(1)}};
    options.hooks.on_failure = [&](const WaitFailure&) { ++failures; };
    const auto policy = WaitPolicy::Make(options);
    {
      std::vector<WaitHandle> handles;
      WaitEngine engine({.threads = 2});
      for (int i = 0; i < kWaits; ++i) {
        handles.push_back(
            engine.Start(Waiter([i] { return i % 2 == 0; }, policy),
                         [&](const WaitResult<>& result) {
                           ++called_back;
                           if (!result.ok()) ++failed;
                         }));
      }
      const JoiningThread cancels([&] {
        for (size_t i = 0; i < handles.size(); i += 2) handles[i].Cancel();
      });
      for (size_t i = 1; i < handles.size(); i += 4) handles[i].PollNow();
    }
    EXPECT_EQ(called_back, kWaits);
    EXPECT_EQ(failures, failed);
  }
}

}  // namespace
}  // namespace waiter::hook_actions_threads_test
