// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What hooks may do to waits: every action in every hook, on every driver.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/async_waiter.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/poll_completion.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_engine_options.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_report.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::testing::Combine;
using ::testing::ValuesIn;

using Task = absl::AnyInvocable<void()>;

enum class Driver {
  kBlocking,
  kEngine,
  kCompletion,
  kExecutorAtOnce,
  kExecutorLater,
};
constexpr Driver kDrivers[] = {Driver::kBlocking, Driver::kEngine,
                               Driver::kCompletion, Driver::kExecutorAtOnce,
                               Driver::kExecutorLater};
constexpr Driver kEngineDrivers[] = {Driver::kEngine, Driver::kCompletion,
                                     Driver::kExecutorAtOnce,
                                     Driver::kExecutorLater};

enum class Hook {
  kOnStart,
  kBeforePoll,
  kAfterPoll,
  kOnDecision,
  kBeforeSleep,
  kOnDone,
};
constexpr Hook kHooks[] = {Hook::kOnStart,     Hook::kBeforePoll,
                           Hook::kAfterPoll,   Hook::kOnDecision,
                           Hook::kBeforeSleep, Hook::kOnDone};

std::string NameOf(
    const testing::TestParamInfo<std::tuple<Driver, Hook>>& test) {
  constexpr const char* kDriverNames[] = {"Blocking", "Engine", "Completion",
                                          "ExecutorAtOnce", "ExecutorLater"};
  constexpr const char* kHookNames[] = {"OnStart",     "BeforePoll",
                                        "AfterPoll",   "OnDecision",
                                        "BeforeSleep", "OnDone"};
  return absl::StrCat(kDriverNames[static_cast<int>(std::get<0>(test.param))],
                      "_",
                      kHookNames[static_cast<int>(std::get<1>(test.param))]);
}

// Acts in the first call of one hook, and checks the order of all.
class ActingObserver : public WaitObserver {
 public:
  ActingObserver(Hook hook, std::function<void()> action)
      : hook_(hook), action_(std::move(action)) {}

  void OnStart(const StartEvent& /*start*/) override {
    EXPECT_FALSE(started_);
    started_ = true;
    Meet(Hook::kOnStart);
  }
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t /*attempt*/) override {
    EXPECT_EQ(open_, 0) << "a poll within a poll";
    open_ = 2;
    Meet(Hook::kBeforePoll);
  }
  void AfterPoll(const PollEvent& /*poll*/) override {
    EXPECT_EQ(open_, 2);
    open_ = 1;
    Meet(Hook::kAfterPoll);
  }
  void OnDecision(const DecisionEvent& /*decision*/) override {
    EXPECT_EQ(open_, 1);
    open_ = 0;
    Meet(Hook::kOnDecision);
  }
  void BeforeSleep(const SleepEvent& /*sleep*/) override {
    EXPECT_EQ(open_, 0);
    Meet(Hook::kBeforeSleep);
  }
  void OnDone(const WaitIdentity& /*wait*/, const WaitReport& report) override {
    EXPECT_EQ(open_, 0) << "a poll that nothing closed";
    ++ends_;
    reason_ = report.reason;
    polls_ = report.attempts;
    elapsed_ = report.elapsed;
    Meet(Hook::kOnDone);
  }

  int ends() const { return ends_; }
  StopReason reason() const { return reason_; }
  int64_t polls() const { return polls_; }
  absl::Duration elapsed() const { return elapsed_; }

 private:
  void Meet(Hook hook) {
    EXPECT_TRUE(started_);
    EXPECT_EQ(ends_, hook == Hook::kOnDone ? 1 : 0) << "a hook after the last";
    if (hook == hook_ && action_ != nullptr) {
      std::exchange(action_, nullptr)();
    }
  }

  const Hook hook_;
  std::function<void()> action_;
  bool started_ = false;
  int open_ = 0;  // Hooks that the current poll still needs.
  int ends_ = 0;
  StopReason reason_{};
  int64_t polls_ = -1;
  absl::Duration elapsed_;
};

// Runs one wait that sleeps, polls three times and succeeds.
class HookActionsTest
    : public testing::TestWithParam<std::tuple<Driver, Hook>> {
 protected:
  static Driver driver() { return std::get<0>(GetParam()); }
  static Hook hook() { return std::get<1>(GetParam()); }

  // Runs the wait with `action` in the hook under test.
  void Run(std::function<void()> action) {
    observer_ = std::make_shared<ActingObserver>(hook(), std::move(action));
    const WaitOptions options = {.timeout = absl::Hours(1),
                                 .backoff = Every(absl::Seconds(1)),
                                 .first_poll_delay = absl::Seconds(1),
                                 .observer = observer_,
                                 .clock = &clock_};
    const auto poll = [this] { return ++polls_ == 3; };
    if (driver() == Driver::kBlocking) {
      (void)Waiter(poll, options).Wait(stop_.get_token());
      return;
    }
    WaitEngineOptions engine_options = {
        .threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_};
    if (driver() == Driver::kExecutorAtOnce) {
      engine_options.executor = [](Task task) { task(); };
    } else if (driver() == Driver::kExecutorLater) {
      engine_options.executor = [this](Task task) {
        tasks_.push_back(std::move(task));
      };
    }
    engine_.emplace(std::move(engine_options));
    const auto take = [this](const WaitResult<>&) { ++callbacks_; };
    wait_ =
        driver() == Driver::kCompletion
            ? engine_->Start(AsyncWaiter(
                                 [poll](const PollCompletion<>& done) mutable {
                                   done(poll());
                                 },
                                 options),
                             take)
            : engine_->Start(Waiter(poll, options), take);
    for (int second = 0; second < 30; ++second) {
      engine_->RunDue();
      for (Task& task : std::exchange(tasks_, {})) task();
      engine_->RunDue();
      clock_.AdvanceTime(absl::Seconds(1));
    }
    engine_.reset();
  }

  // Starts a wait that ends at once, in the way that goes with the driver.
  void StartAnother() {
    const WaitOptions options = {.timeout = absl::Hours(1), .clock = &clock_};
    const auto poll = [] { return true; };
    if (driver() == Driver::kBlocking) {
      others_ += Waiter(poll, options).Wait().ok() ? 1 : 0;
      return;
    }
    engine_
        ->Start(Waiter(poll, options),
                [this](const WaitResult<>& result) {
                  others_ += result.ok() ? 1 : 0;
                })
        .Detach();
  }

  SimulatedClock clock_;
  stop_source stop_;
  std::vector<Task> tasks_;
  std::shared_ptr<ActingObserver> observer_;
  std::optional<WaitEngine> engine_;
  WaitHandle wait_;
  int polls_ = 0;
  int callbacks_ = 0;
  int others_ = 0;
};

TEST_P(HookActionsTest, WaitThatAHookStartsRuns) {
  Run([this] { StartAnother(); });

  EXPECT_EQ(others_, 1);
  EXPECT_EQ(observer_->ends(), 1);
  EXPECT_EQ(observer_->reason(), StopReason::kSuccess);
  EXPECT_EQ(observer_->polls(), 3);
}

TEST_P(HookActionsTest, TimeOfAHookThatBlocksIsTheWaits) {
  Run([this] { clock_.AdvanceTime(absl::Seconds(10)); });

  EXPECT_EQ(observer_->ends(), 1);
  EXPECT_EQ(observer_->reason(), StopReason::kSuccess);
  EXPECT_EQ(observer_->polls(), 3);
  if (hook() != Hook::kOnDone) {
    EXPECT_GE(observer_->elapsed(), absl::Seconds(10));
  }
}

TEST_P(HookActionsTest, StopThatAHookRequestsEndsTheWait) {
  Run([this] {
    stop_.request_stop();
    wait_.Cancel();
  });

  EXPECT_EQ(observer_->ends(), 1);
  EXPECT_EQ(callbacks_, driver() == Driver::kBlocking ? 0 : 1);
  EXPECT_EQ(observer_->reason(), hook() == Hook::kOnDone
                                     ? StopReason::kSuccess
                                     : StopReason::kCancelled);
  switch (hook()) {
    case Hook::kOnStart:
    case Hook::kBeforeSleep:  // The first one is before the first poll.
      EXPECT_EQ(polls_, 0);
      break;
    case Hook::kBeforePoll:
      // An executor asks once more, before it calls the function.
      EXPECT_EQ(polls_, driver() == Driver::kExecutorAtOnce ||
                                driver() == Driver::kExecutorLater
                            ? 0
                            : 1);
      break;
    case Hook::kAfterPoll:
    case Hook::kOnDecision:
      EXPECT_EQ(polls_, 1);
      break;
    case Hook::kOnDone:
      EXPECT_EQ(polls_, 3);
  }
}

// A blocking wait has no handle.
class HookHandleTest : public HookActionsTest {};

TEST_P(HookHandleTest, HandleThatAHookDestroysEndsTheWaitWithoutACallback) {
  Run([this] { wait_ = WaitHandle(); });

  EXPECT_EQ(observer_->ends(), 1);
  EXPECT_EQ(callbacks_, 0);
  EXPECT_EQ(observer_->reason(), hook() == Hook::kOnDone
                                     ? StopReason::kSuccess
                                     : StopReason::kCancelled);
  EXPECT_LE(polls_, hook() == Hook::kOnDone ? 3 : 1);
}

INSTANTIATE_TEST_SUITE_P(EveryEngineAndHook, HookHandleTest,
                         Combine(ValuesIn(kEngineDrivers), ValuesIn(kHooks)),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(EveryDriverAndHook, HookActionsTest,
                         Combine(ValuesIn(kDrivers), ValuesIn(kHooks)), NameOf);

class HookDeathTest : public HookActionsTest {};

TEST_P(HookDeathTest, ExceptionThatLeavesAHookTerminatesTheProgram) {
  EXPECT_DEATH(Run([] { throw 1; }), "terminat(e|ing)");
}

INSTANTIATE_TEST_SUITE_P(EveryDriverAndHook, HookDeathTest,
                         Combine(ValuesIn(kDrivers), ValuesIn(kHooks)), NameOf);

}  // namespace
}  // namespace waiter
