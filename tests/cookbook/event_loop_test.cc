// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs waits inside of an event loop.

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/loop/split_mix64.h"
#include "waiter/loop/wait_loop.h"
#include "waiter/testing/scripted_poll.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_result.h"

namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Stands for the event loop of a program, with a timer of the kind that
// `asio::steady_timer` is.
class EventLoop {
 public:
  explicit EventLoop(waiter::Clock& clock) : clock_(clock) {}

  // Runs timers until none is pending.
  void Run() {
    while (!timers_.empty()) {
      const auto first = timers_.begin();
      clock_.SleepUntil(first->first, {}, "event loop");
      const std::function<void()> function = std::move(first->second.function);
      *first->second.pending = false;
      timers_.erase(first);
      function();
    }
  }

 private:
  friend class Timer;

  struct Pending {
    std::function<void()> function;
    bool* pending;
  };
  using Timers = std::multimap<waiter::MonotonicTime, Pending>;

  waiter::Clock& clock_;
  Timers timers_;
};

class Timer {
 public:
  explicit Timer(EventLoop& loop) : loop_(loop) {}
  ~Timer() { Cancel(); }

  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls `function` once after `delay`, in place of the call before.
  void Start(std::chrono::nanoseconds delay, std::function<void()> function) {
    Cancel();
    const waiter::MonotonicTime time =
        waiter::SaturatingAdd(loop_.clock_.MonotonicNow(),
                              std::max(delay, std::chrono::nanoseconds(0)));
    place_ = loop_.timers_.insert({time, {std::move(function), &pending_}});
    pending_ = true;
  }
  void Cancel() {
    if (pending_) loop_.timers_.erase(place_);
    pending_ = false;
  }

 private:
  EventLoop& loop_;
  EventLoop::Timers::iterator place_;
  bool pending_ = false;
};

// Runs the waits of an engine without threads in an event loop.
class EngineOnLoop {
 public:
  // All must outlive this object. `clock` is that of the engine.
  EngineOnLoop(EventLoop& loop, waiter::WaitEngine& engine,
               waiter::Clock& clock = waiter::GetRealClock())
      : engine_(engine), clock_(clock), timer_(loop) {}

  // Call this on the loop's thread after you have started, cancelled or
  // answered a wait outside of the engine's functions.
  void Wake() {
    timer_.Start(std::chrono::nanoseconds(0), [this] { RunDue(); });
  }

 private:
  void RunDue() {
    const waiter::MonotonicTime next = engine_.RunDue();
    if (next == waiter::MonotonicTime::max()) {
      timer_.Cancel();
    } else {
      timer_.Start(next - clock_.MonotonicNow(), [this] { RunDue(); });
    }
  }

  waiter::WaitEngine& engine_;
  waiter::Clock& clock_;
  Timer timer_;
};

// One wait in an event loop, without an engine.
class WaitOnLoop {
 public:
  // `loop` must outlive this object. `done` must not destroy it.
  WaitOnLoop(EventLoop& loop, waiter::WaitOptions options,
             std::function<waiter::Poll<>()> poll,
             std::function<void(waiter::WaitResult<>)> done)
      : policy_(waiter::WaitPolicy::Make(std::move(options))),
        poll_(std::move(poll)),
        done_(std::move(done)),
        timer_(loop) {}

  void Start() {
    const waiter::MonotonicTime now = Now();
    CarryOut(wait_.Start(now, policy_->DeadlineFrom(now), NeverStop));
  }

 private:
  static bool NeverStop() { return false; }

  waiter::MonotonicTime Now() const { return policy_->clock().MonotonicNow(); }

  void CarryOut(waiter::NextStep step) {
    while (step.action() == waiter::NextStep::Action::kPoll) {
      report_.last_poll = poll_();
      step = wait_.OnPoll(Now(), gen_, NeverStop);
    }
    if (step.action() == waiter::NextStep::Action::kSleep) {
      timer_.Start(step.wake_up() - Now(),
                   [this] { CarryOut(wait_.OnWake(Now(), NeverStop)); });
    } else {
      done_(waiter::WaitResult<>(std::move(report_)));
    }
  }

  std::shared_ptr<const waiter::WaitPolicy> policy_;
  std::function<waiter::Poll<>()> poll_;
  std::function<void(waiter::WaitResult<>)> done_;
  Timer timer_;
  waiter::SplitMix64 gen_ = waiter::MakeSeededSplitMix64();
  waiter::WaitReport report_;
  waiter::WaitLoop wait_{*policy_, report_};
};

class EventLoopTest : public testing::Test {
 protected:
  waiter::WaitOptions OneHour() {
    return {.timeout = absl::Hours(1), .clock = &clock_};
  }

  // Returns a callback that notes the reason.
  auto NoteEnd() {
    return [this](const waiter::WaitResult<>& result) {
      ended_.push_back(result.reason());
    };
  }

  waiter::SimulatedClock clock_;
  EventLoop loop_{clock_};
  std::vector<waiter::StopReason> ended_;
};

TEST_F(EventLoopTest, EngineRunsInsideOfTheLoop) {
  waiter::WaitEngine engine({.threads = 0, .clock = &clock_});
  EngineOnLoop on_loop(loop_, engine, clock_);
  bool ready = false;
  clock_.CallAt(absl::Minutes(20), [&] { ready = true; });

  const waiter::WaitHandle first =
      engine.Start(waiter::Waiter([&] { return ready; }, OneHour()), NoteEnd());
  on_loop.Wake();
  const waiter::WaitHandle second =
      engine.Start(waiter::Waiter([] { return false; }, OneHour()), NoteEnd());
  on_loop.Wake();
  loop_.Run();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kSuccess,
                                  waiter::StopReason::kDeadline));
  EXPECT_GE(clock_.Elapsed(), absl::Hours(1));
  EXPECT_LT(clock_.Elapsed(), absl::Hours(1) + absl::Seconds(1));
}

TEST_F(EventLoopTest, CancelledWaitEndsAtTheNextTurn) {
  waiter::WaitEngine engine({.threads = 0, .clock = &clock_});
  EngineOnLoop on_loop(loop_, engine, clock_);
  waiter::WaitHandle wait =
      engine.Start(waiter::Waiter([] { return false; }, OneHour()), NoteEnd());
  on_loop.Wake();
  Timer timer(loop_);
  timer.Start(std::chrono::milliseconds(1), [&] {
    wait.Cancel();
    on_loop.Wake();
  });

  loop_.Run();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kCancelled));
  EXPECT_LT(clock_.Elapsed(), absl::Seconds(1));
}

TEST_F(EventLoopTest, SingleWaitNeedsNoEngine) {
  waiter::ScriptedPoll<> script(
      clock_, {waiter::NotReady(), waiter::NotReady(), waiter::Success()});
  WaitOnLoop wait(loop_, OneHour(), std::ref(script), NoteEnd());

  wait.Start();
  loop_.Run();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kSuccess));
  EXPECT_THAT(script.polled_at(), SizeIs(3));
}

TEST_F(EventLoopTest, SingleWaitEndsAtItsDeadline) {
  WaitOnLoop wait(
      loop_, OneHour(), [] { return waiter::NotReady(); }, NoteEnd());

  wait.Start();
  loop_.Run();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kDeadline));
  EXPECT_EQ(clock_.Elapsed(), absl::Hours(1));
}

TEST_F(EventLoopTest, DestroyedWaitPollsNoMore) {
  int polls = 0;
  {
    WaitOnLoop wait(
        loop_, OneHour(),
        [&] {
          ++polls;
          return waiter::NotReady();
        },
        NoteEnd());
    wait.Start();
  }
  loop_.Run();

  EXPECT_EQ(polls, 1);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(EventLoopTest, InvalidOptionsEndTheWait) {
  WaitOnLoop wait(
      loop_, {.clock = &clock_}, [] { return waiter::NotReady(); }, NoteEnd());

  wait.Start();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kInvalidOptions));
}

}  // namespace
