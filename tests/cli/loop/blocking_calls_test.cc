// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/blocking_calls.h"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/loop/event_loop.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"
#include "waiter/clock.h"

namespace waiter::cli::blocking_calls_test {
namespace {

// Holds calls back until a test opens it. Shared, as calls may outlive a test.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    ++passed_;
    changed_.notify_all();
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void AwaitArrived(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void AwaitPassed(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return passed_ >= count; });
  }
  int arrived() {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
  int passed_ = 0;
};

TEST(BlockingCallsTest, CallRunsOnAThreadAndItsAnswerOnTheLoop) {
  EventLoop loop;
  BlockingCalls calls(loop);
  const std::thread::id here = std::this_thread::get_id();
  int answers = 0;
  for (int i = 0; i < 100; ++i) {
    calls.Start([here, &answers] {
      EXPECT_NE(std::this_thread::get_id(), here);
      return [here, &answers] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        ++answers;
      };
    });
  }
  EXPECT_TRUE(RunUntil(loop, [&] { return answers == 100; }));
}

TEST(BlockingCallsTest, HangingCallDoesNotDelayOthers) {
  EventLoop loop;
  BlockingCalls calls(loop);
  const auto gate = std::make_shared<Gate>();
  bool hung = false;
  bool other = false;
  calls.Start([gate, &hung] {
    gate->Pass();
    return [&hung] { hung = true; };
  });
  calls.Start([&other] { return [&other] { other = true; }; });

  EXPECT_TRUE(RunUntil(loop, [&] { return other; }));
  EXPECT_FALSE(hung);

  gate->Open();
  EXPECT_TRUE(RunUntil(loop, [&] { return hung; }));
}

TEST(BlockingCallsTest, ConcurrentCallsAreLimited) {
  EventLoop loop;
  BlockingCalls calls(loop, /*max_threads=*/2);
  const auto gate = std::make_shared<Gate>();
  int answers = 0;
  for (int i = 0; i < 5; ++i) {
    calls.Start([gate, &answers] {
      gate->Pass();
      return [gate, &answers] { ++answers; };
    });
  }
  gate->AwaitArrived(2);
  loop.RunOnce(GetRealClock().MonotonicNow());
  EXPECT_EQ(gate->arrived(), 2);

  gate->Open();
  EXPECT_TRUE(RunUntil(loop, [&] { return answers == 5; }));
}

TEST(BlockingCallsTest, LateAnswerIsDropped) {
  const auto gate = std::make_shared<Gate>();
  {
    EventLoop loop;
    std::optional<BlockingCalls> calls(loop);
    calls->Start([gate] {
      gate->Pass();
      return [] { ADD_FAILURE() << "a dropped answer ran"; };
    });
    gate->AwaitArrived(1);
    calls.reset();  // Does not wait.
    loop.RunOnce(GetRealClock().MonotonicNow());
  }
  gate->Open();
  gate->AwaitPassed(1);
}

TEST(BlockingCallsTest, AnswerOnItsWayIsDropped) {
  EventLoop loop;
  std::optional<BlockingCalls> calls(loop);
  const auto gate = std::make_shared<Gate>();
  calls->Start([] { return [] { ADD_FAILURE() << "a dropped answer ran"; }; });
  // Gives the first call time to post its answer.
  calls->Start([gate] {
    gate->Pass();
    return [] {};
  });
  gate->AwaitArrived(1);
  calls.reset();
  gate->Open();
  gate->AwaitPassed(1);
  loop.RunOnce(GetRealClock().MonotonicNow());
}

TEST(BlockingCallsTest, CallsNotYetBegunAreDropped) {
  EventLoop loop;
  std::optional<BlockingCalls> calls(std::in_place, loop, 1);
  const auto gate = std::make_shared<Gate>();
  calls->Start([gate] {
    gate->Pass();
    return [] {};
  });
  gate->AwaitArrived(1);
  calls->Start([gate]() -> std::function<void()> {
    ADD_FAILURE() << "a dropped call ran";
    return {};
  });
  calls.reset();
  gate->Open();
  gate->AwaitPassed(1);
  // Waits until both calls are gone: the second would run on the same thread.
  while (gate.use_count() > 1) std::this_thread::yield();
}

}  // namespace
}  // namespace waiter::cli::blocking_calls_test
