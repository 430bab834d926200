// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A wait that acts in one of its hooks, for tests of what hooks may do. A test
// sets the action, and a driver makes the wait:
//
//   HookWait wait(Hook::kBeforeSleep, clock, absl::Seconds(1));
//   wait.action = [&wait] { wait.stop(); };
//   driver.run(wait);
//   EXPECT_EQ(wait.observer->reason(), StopReason::kCancelled);

#ifndef WAITER_TESTS_SUPPORT_HOOK_ACTIONS_H_
#define WAITER_TESTS_SUPPORT_HOOK_ACTIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter {

enum class Hook {
  kOnStart,
  kBeforePoll,
  kAfterPoll,
  kOnDecision,
  kBeforeSleep,
  kOnCheckpoint,
  kOnDone,
};
inline constexpr std::array kHooks = {Hook::kOnStart,     Hook::kBeforePoll,
                                      Hook::kAfterPoll,   Hook::kOnDecision,
                                      Hook::kBeforeSleep, Hook::kOnCheckpoint,
                                      Hook::kOnDone};

inline const char* NameOf(Hook hook) {
  constexpr std::array kNames = {"OnStart",    "BeforePoll",  "AfterPoll",
                                 "OnDecision", "BeforeSleep", "OnCheckpoint",
                                 "OnDone"};
  return kNames[static_cast<size_t>(hook)];
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
  // `WaitHooks::on_checkpoint`.
  void OnCheckpoint() {
    EXPECT_EQ(open_, 0);
    Meet(Hook::kOnCheckpoint);
  }
  void OnDone(const WaitIdentity& /*wait*/, const WaitReport& report) override {
    EXPECT_EQ(open_, 0) << "a poll that nothing closed";
    ++ends_;
    reason_ = report.reason;
    polls_ = report.attempts;
    elapsed_ = report.elapsed;
    Meet(Hook::kOnDone);
    done_.count_down();
  }

  // Returns once `OnDone` has been called.
  void AwaitDone() const { done_.wait(); }

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
  std::latch done_{1};
};

// A wait that sleeps, polls three times and succeeds.
struct HookWait {
  // `clock` is null for real time.
  HookWait(Hook hook, Clock* clock, absl::Duration delay)
      : observer(std::make_shared<ActingObserver>(hook, [this] { action(); })),
        options{.timeout = absl::Hours(1),
                .backoff = {.initial_delay = delay,
                            .max_delay = delay,
                            .multiplier = 1,
                            .jitter = Jitter::None(),
                            .min_delay = absl::ZeroDuration()},
                .polls = {.first_delay = delay},
                .hooks = {.observer = observer},
                .clock = clock} {
    if (hook != Hook::kOnCheckpoint) return;
    options.hooks.on_checkpoint = [acting = observer](const WaitToken&) {
      acting->OnCheckpoint();
    };
  }

  // The status function.
  bool Poll() { return ++polls == 3; }
  Waiter<std::function<bool()>> MakeWaiter() {
    return {[this] { return Poll(); }, options};
  }
  // Returns a callback.
  auto Take() {
    return [this](const WaitResult<>& /*result*/) { ++results; };
  }

  const std::shared_ptr<ActingObserver> observer;
  WaitOptions options;
  std::function<void()> action = [] {};

  // Set by the driver before the first hook can act.
  std::function<void()> stop;           // Requests a stop of the wait.
  std::function<void()> destroy;        // Destroys its owner, if any.
  std::function<void()> start_another;  // Makes a wait that ends immediately.

  int polls = 0;
  int results = 0;              // Received results of this wait.
  std::atomic<int> others = 0;  // Successes of other waits.
};

// A way to make a wait.
struct HookDriver {
  std::string name;
  // Makes the wait, and returns when it has ended or can no longer end.
  std::function<void(HookWait&)> run;
  // Whether something owns the wait, and destroying the owner ends the wait.
  bool has_handle = false;
  // Whether a stop that `BeforePoll` requests still prevents the current poll.
  bool polls_later = false;
};

// For GoogleTest's messages and the names of tests.
inline void PrintTo(const HookDriver& driver, std::ostream* out) {
  *out << driver.name;
}
inline std::string NameOfHookTest(
    const testing::TestParamInfo<std::tuple<HookDriver, Hook>>& test) {
  return absl::StrCat(std::get<0>(test.param).name, "_",
                      NameOf(std::get<1>(test.param)));
}

// Makes the wait of a driver, with an action in one of its hooks.
class HookFixture
    : public testing::TestWithParam<std::tuple<HookDriver, Hook>> {
 protected:
  HookFixture(Clock* clock, absl::Duration delay)
      : wait_(hook(), clock, delay) {}

  static const HookDriver& driver() { return std::get<0>(GetParam()); }
  static Hook hook() { return std::get<1>(GetParam()); }

  void Run(std::function<void()> action) {
    wait_.action = std::move(action);
    driver().run(wait_);
  }

  void ExpectSuccess() const {
    EXPECT_EQ(wait_.results, 1);
    EXPECT_EQ(wait_.observer->ends(), 1);
    EXPECT_EQ(wait_.observer->reason(), StopReason::kSuccess);
    EXPECT_EQ(wait_.observer->polls(), 3);
  }

  HookWait wait_;
};

// Checks the end of a wait that `hook` has stopped.
inline void ExpectStoppedBy(Hook hook, const HookDriver& driver,
                            const HookWait& wait) {
  EXPECT_EQ(wait.observer->ends(), 1);
  EXPECT_EQ(wait.observer->reason(), hook == Hook::kOnDone
                                         ? StopReason::kSuccess
                                         : StopReason::kCancelled);
  switch (hook) {
    case Hook::kOnStart:
    case Hook::kBeforeSleep:  // The first one is before the first poll.
    case Hook::kOnCheckpoint:
      EXPECT_EQ(wait.polls, 0);
      break;
    case Hook::kBeforePoll:
      EXPECT_EQ(wait.polls, driver.polls_later ? 0 : 1);
      break;
    case Hook::kAfterPoll:
    case Hook::kOnDecision:
      EXPECT_EQ(wait.polls, 1);
      break;
    case Hook::kOnDone:
      EXPECT_EQ(wait.polls, 3);
  }
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_HOOK_ACTIONS_H_
