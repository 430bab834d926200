// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stop callbacks of the token that a poll gets in its `PollContext`: when they
// are called, and what they may do.

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/hook_actions.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::stop_callbacks_test {
namespace {

using OnStop = waiter::stop_callback<std::function<void()>>;

enum class Why { kCancel, kHandle, kEngine, kDeadline };
enum class Does { kAnswers, kSucceeds, kCancels, kDestroys, kStarts, kUnset };
using Case = std::tuple<Why, Does, int>;

constexpr std::array kWhys = {Why::kCancel, Why::kHandle, Why::kEngine,
                              Why::kDeadline};
constexpr std::array kDeeds = {Does::kAnswers,  Does::kSucceeds, Does::kCancels,
                               Does::kDestroys, Does::kStarts,   Does::kUnset};

// A handle that is being destroyed must not be used, nor one that another
// thread uses, and an engine that ends takes no wait from a thread outside.
bool IsAllowed(const Case& tested) {
  const auto& [why, does, threads] = tested;
  if (does == Does::kStarts) return why != Why::kEngine;
  if (does != Does::kCancels && does != Does::kDestroys) return true;
  return why != Why::kHandle && (why != Why::kCancel || threads == 0);
}

std::vector<Case> AllowedCases() {
  std::vector<Case> cases;
  for (const Why why : kWhys) {
    for (const Does does : kDeeds) {
      for (const int threads : {0, 1}) {
        const Case tested(why, does, threads);
        if (IsAllowed(tested)) cases.push_back(tested);
      }
    }
  }
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case>& test) {
  static constexpr std::array kWhyNames = {"Cancel", "Handle", "Engine",
                                           "Deadline"};
  static constexpr std::array kDoesNames = {"Answers",  "Succeeds", "Cancels",
                                            "Destroys", "Starts",   "IsUnset"};
  const auto& [why, does, threads] = test.param;
  return absl::StrCat(kWhyNames[static_cast<size_t>(why)], "_",
                      kDoesNames[static_cast<size_t>(does)], "_", threads,
                      "Threads");
}

class StopCallbackTest : public testing::TestWithParam<Case> {
 protected:
  static Why why() { return std::get<0>(GetParam()); }
  static Does does() { return std::get<1>(GetParam()); }
  static int threads() { return std::get<2>(GetParam()); }

  // Begins a poll that is never answered.
  void Ask(const PollContext& context, const PollCompletion<>& done) {
    assigned_.wait();
    on_stop_.emplace(context.stop_token, [this, done] { Act(done); });
    begun_.count_down();
  }

  void Act(const PollCompletion<>& done) {
    if (does() == Does::kAnswers) done(NotReady());
    if (does() == Does::kSucceeds) done(Success());
    if (does() == Does::kCancels) handle_->Cancel();
    if (does() == Does::kDestroys) handle_.reset();
    if (does() == Does::kStarts) {
      engine_
          ->Start(Waiter([] { return true; }, absl::Hours(1)),
                  [this](const WaitResult<>&) { another_ended_.count_down(); })
          .Detach();
    }
    if (does() == Does::kUnset) on_stop_.reset();
    stopped_.count_down();
  }

  std::latch assigned_{1};
  std::latch begun_{1};
  std::latch stopped_{1};
  std::latch another_ended_{1};
  std::atomic<int> calls_ = 0;
  const std::shared_ptr<ActingObserver> observer_ =
      std::make_shared<ActingObserver>(Hook::kOnDone, nullptr);
  std::optional<OnStop> on_stop_;
  std::optional<WaitEngine> engine_;
  std::optional<WaitHandle> handle_;
};

TEST_P(StopCallbackTest, MayUseTheWaitAndTheEngine) {
  engine_.emplace(
      WaitEngineOptions{.threads = threads(), .tick = absl::ZeroDuration()});
  handle_ = engine_->Start(
      AsyncWaiter(
          [this](const PollContext& context, const PollCompletion<>& done) {
            Ask(context, done);
          },
          {.timeout = why() == Why::kDeadline ? absl::Milliseconds(2)
                                              : absl::InfiniteDuration(),
           .backoff = Every(absl::Microseconds(30)),
           .hooks = {.observer = observer_}}),
      [this](const WaitResult<>&) { ++calls_; });
  assigned_.count_down();
  if (threads() == 0) engine_->RunDue();
  begun_.wait();
  if (why() == Why::kCancel) handle_->Cancel();
  if (why() == Why::kHandle) handle_.reset();
  if (why() == Why::kEngine) engine_.reset();
  if (threads() == 0 && engine_.has_value()) engine_->Run();

  stopped_.wait();
  observer_->AwaitDone();
  if (does() == Does::kStarts) {
    if (threads() == 0) engine_->Run();
    another_ended_.wait();
  }
  engine_.reset();
  EXPECT_EQ(observer_->ends(), 1);
  if (why() == Why::kHandle) {
    EXPECT_EQ(calls_, 0);
  } else if (does() == Does::kDestroys) {
    EXPECT_LE(calls_, 1);
  } else {
    EXPECT_EQ(calls_, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(AllAllowed, StopCallbackTest,
                         testing::ValuesIn(AllowedCases()), NameOf);

// The thread of the engine is inside the poll, and another one calls.
TEST(StopCallbackThreadsTest, OfASynchronousPollMayCancelAndStartWaits) {
  for (const bool destroys : {false, true}) {
    WaitEngine engine({.tick = absl::ZeroDuration()});
    std::latch begun(1);
    std::latch another_ended(1);
    std::latch ended(1);
    WaitHandle other =
        engine.Start(Waiter([] { return false; }, absl::Hours(1)),
                     [](const WaitResult<>&) {});
    std::optional<WaitHandle> wait = engine.Start(
        Waiter(
            [&](const PollContext& context) {
              std::latch stopped(1);
              const waiter::stop_callback on_stop(context.stop_token, [&] {
                other.Cancel();
                engine
                    .Start(Waiter([] { return true; }, absl::Hours(1)),
                           [&](const WaitResult<>&) {
                             another_ended.count_down();
                           })
                    .Detach();
                stopped.count_down();
              });
              begun.count_down();
              stopped.wait();
              return false;
            },
            absl::Hours(1)),
        [&](const WaitResult<>& result) {
          EXPECT_EQ(result.reason(), StopReason::kCancelled);
          ended.count_down();
        });
    begun.wait();
    if (destroys) {
      wait.reset();
    } else {
      wait->Cancel();
      ended.wait();
    }
    another_ended.wait();
  }
}

// The callback answers while the destructor of the handle runs, which may meet
// the function itself.
TEST(StopCallbackThreadsTest, AnswerWhileTheHandleIsDestroyedIsNoEnd) {
  WaitEngine engine({.tick = absl::ZeroDuration()});
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> calls = 0;
    std::latch begun(1);
    std::optional<OnStop> on_stop;
    std::optional<WaitHandle> wait = engine.Start(
        AsyncWaiter(
            [&](const PollContext& context, const PollCompletion<>& done) {
              on_stop.emplace(context.stop_token, [done] { done(Success()); });
              begun.count_down();
              for (std::atomic<int> spins = 0; spins < round % 3 * 100;) {
                ++spins;
              }
            },
            absl::Hours(1)),
        [&calls](const WaitResult<>&) { ++calls; });
    begun.wait();
    for (std::atomic<int> spins = 0; spins < round % 20 * 50;) ++spins;
    wait.reset();
    on_stop.reset();
    ASSERT_EQ(calls, 0);
  }
}

using StopTokenOfAPollTest = EngineFixture;

TEST_F(StopTokenOfAPollTest, EndOfTheWaitStopsNoAnsweredPoll) {
  WaitEngine engine(Simulated());
  waiter::stop_token token;
  const WaitHandle wait = engine.Start(
      AsyncWaiter(
          [&](const PollContext& context, const PollCompletion<>& done) {
            token = context.stop_token;
            done(Success());
          },
          EverySecond()),
      results_.Take());

  engine.Run();

  EXPECT_FALSE(token.stop_requested());
}

}  // namespace
}  // namespace waiter::stop_callbacks_test
