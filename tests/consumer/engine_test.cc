// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/engine.h"

#include <coroutine>
#include <exception>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/handle.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace {

TEST(EngineTest, HoldsManyWaits) {
  waiter::WaitEngine engine({.threads = 0});
  int ready = 0;
  std::vector<waiter::WaitHandle> waits;
  for (int i = 0; i < 100; ++i) {
    waits.push_back(engine.Start(
        waiter::Waiter([] { return true; }, {.timeout = absl::Minutes(1)}),
        [&](waiter::WaitResult<> result) { ready += result.ok() ? 1 : 0; }));
  }
  engine.Run();
  EXPECT_EQ(ready, 100);
}

TEST(EngineTest, TakesCompletions) {
  waiter::WaitEngine engine({.threads = 0});
  int value = 0;
  const waiter::WaitHandle wait = engine.Start(
      waiter::AsyncWaiter(
          [](waiter::PollCompletion<int> done) { done(waiter::Success(7)); },
          {.timeout = absl::Minutes(1)}),
      [&](waiter::WaitResult<int> result) { value = *result; });
  engine.Run();
  EXPECT_EQ(value, 7);
}

#if defined(WAITER_HAS_COROUTINES)
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Task Use(waiter::WaitEngine& engine, bool& used) {
  waiter::Waiter wait([] { return true; }, {.timeout = absl::Minutes(1)});
  const waiter::WaitResult<> result =
      co_await waiter::Await(engine, std::move(wait));
  used = result.ok();
}

TEST(EngineTest, ResumesCoroutines) {
  waiter::WaitEngine engine({.threads = 0});
  bool used = false;
  Use(engine, used);
  engine.Run();
  EXPECT_TRUE(used);
}
#endif  // defined(WAITER_HAS_COROUTINES)

}  // namespace
