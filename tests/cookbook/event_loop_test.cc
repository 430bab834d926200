// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs waits inside an event loop.

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/loop.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"

namespace event_loop_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Imitates a program's event loop: other threads post functions, as with
// `asio::post`, and timers work like `asio::steady_timer`.
class EventLoop {
 public:
  explicit EventLoop(waiter::Clock& clock) : clock_(clock) {}

  // Calls `function` soon on the loop's thread. Any thread may call this.
  void Post(std::function<void()> function) {
    waiter::stop_source wake;
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(function));
      wake = wake_;
    }
    wake.request_stop();
  }

  // Runs posted functions and timers until nothing is pending.
  void Run() {
    for (;;) {
      if (const std::function<void()> posted = TakePosted()) {
        posted();
      } else if (timers_.empty()) {
        return;
      } else {
        RunFirstTimer();
      }
    }
  }

 private:
  friend class Timer;

  struct Pending {
    std::function<void()> function;
    bool* pending;
  };
  using Timers = std::multimap<waiter::MonotonicTime, Pending>;

  // Returns null if none.
  std::function<void()> TakePosted() {
    const std::lock_guard lock(mutex_);
    if (posted_.empty()) {
      wake_ = waiter::stop_source();
      return nullptr;
    }
    std::function<void()> function = std::move(posted_.front());
    posted_.pop_front();
    return function;
  }

  // Returns early, without running it, if a function is posted first.
  void RunFirstTimer() {
    const auto first = timers_.begin();
    clock_.SleepUntil(first->first, wake_.get_token(), "event loop");
    if (clock_.MonotonicNow() < first->first) return;
    const std::function<void()> function = std::move(first->second.function);
    *first->second.pending = false;
    timers_.erase(first);
    function();
  }

  waiter::Clock& clock_;
  Timers timers_;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;
  waiter::stop_source wake_;  // Replaced by the loop's thread, under the lock.
};

class Timer {
 public:
  explicit Timer(EventLoop& loop) : loop_(loop) {}
  ~Timer() { Cancel(); }

  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls `function` once after `delay`. Replaces the previous call.
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

// An engine whose waits run in an event loop.
class EngineOnLoop {
 public:
  // `loop` must outlive this object, and must have stopped running when this is
  // destroyed. `clock` is the clock of the loop's timers.
  explicit EngineOnLoop(EventLoop& loop,
                        waiter::Clock& clock = waiter::GetRealClock())
      : clock_(clock),
        timer_(loop),
        engine_({.threads = 0,
                 .wake = [this, &loop] { loop.Post([this] { RunDue(); }); },
                 .clock = &clock}) {}

  waiter::WaitEngine& engine() { return engine_; }

 private:
  void RunDue() {
    const waiter::MonotonicTime next = engine_.RunDue();
    if (next == waiter::MonotonicTime::max()) {
      timer_.Cancel();
    } else {
      timer_.Start(next - clock_.MonotonicNow(), [this] { RunDue(); });
    }
  }

  waiter::Clock& clock_;
  Timer timer_;
  waiter::WaitEngine engine_;
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
  EngineOnLoop on_loop(loop_, clock_);
  bool ready = false;
  clock_.CallAt(absl::Minutes(20), [&] { ready = true; });

  const waiter::WaitHandle first = on_loop.engine().Start(
      waiter::Waiter([&] { return ready; }, OneHour()), NoteEnd());
  const waiter::WaitHandle second = on_loop.engine().Start(
      waiter::Waiter([] { return false; }, OneHour()), NoteEnd());
  loop_.Run();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kSuccess,
                                  waiter::StopReason::kDeadline));
  EXPECT_GE(clock_.Elapsed(), absl::Hours(1));
  EXPECT_LT(clock_.Elapsed(), absl::Hours(1) + absl::Seconds(1));
}

TEST_F(EventLoopTest, CancelledWaitEndsAtOnce) {
  EngineOnLoop on_loop(loop_, clock_);
  waiter::WaitHandle wait = on_loop.engine().Start(
      waiter::Waiter([] { return false; }, OneHour()), NoteEnd());
  clock_.CallAt(absl::Milliseconds(1), [&] { wait.Cancel(); });

  loop_.Run();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kCancelled));
  EXPECT_EQ(clock_.Elapsed(), absl::Milliseconds(1));
}

TEST_F(EventLoopTest, OtherThreadsMayStartWaits) {
  EngineOnLoop on_loop(loop_, clock_);
  std::thread([&] {
    on_loop.engine()
        .Start(waiter::Waiter([] { return true; }, OneHour()), NoteEnd())
        .Detach();
  }).join();

  loop_.Run();

  EXPECT_THAT(ended_, ElementsAre(waiter::StopReason::kSuccess));
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
}  // namespace event_loop_test
