// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Actions of hooks on waits of `AsyncWait` on an `AsioEngineDriver`. Asio has
// its own clock, so these tests run in real time. None depends on how much of
// it passes.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_BOOST

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "boost/asio.hpp"
#include "tests/support/hook_actions.h"
#include "waiter/clock.h"
#include "waiter/interop/asio.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::asio_hook_actions_test {
namespace {

namespace asio = boost::asio;

using ::testing::Combine;
using ::testing::ValuesIn;

// Starts the wait on the engine of `driver`. `slot` cancels it.
using StartFunction =
    std::function<void(asio::io_context& io, WaitEngine& engine, HookWait& wait,
                       asio::cancellation_slot slot)>;

void Run(const StartFunction& start, HookWait& wait) {
  asio::io_context io;
  AsioEngineDriver driver(io, {.tick = absl::ZeroDuration()});
  asio::cancellation_signal cancel;
  wait.stop = [&cancel] { cancel.emit(asio::cancellation_type::terminal); };
  wait.start_another = [&] {
    AsyncWait(driver.engine(),
              Waiter([] { return true; }, {.timeout = absl::Hours(1)}),
              asio::bind_executor(io, [&](const WaitResult<>& other) {
                wait.others += other.ok() ? 1 : 0;
              }));
  };
  start(io, driver.engine(), wait, cancel.slot());
  io.run();
}

void StartWithHandler(asio::io_context& io, WaitEngine& engine, HookWait& wait,
                      asio::cancellation_slot slot) {
  AsyncWait(
      engine, wait.MakeWaiter(),
      asio::bind_cancellation_slot(slot, asio::bind_executor(io, wait.Take())));
}

asio::awaitable<void> AwaitOne(WaitEngine& engine, HookWait& wait) {
  auto waiter = wait.MakeWaiter();
  (void)co_await AsyncWait(engine, std::move(waiter), asio::use_awaitable);
  ++wait.results;
}

void StartAwaitable(asio::io_context& io, WaitEngine& engine, HookWait& wait,
                    asio::cancellation_slot slot) {
  asio::co_spawn(io, AwaitOne(engine, wait),
                 asio::bind_cancellation_slot(slot, asio::detached));
}

// The handler has no executor, so the engine calls it.
void StartWithoutExecutor(asio::io_context& /*io*/, WaitEngine& engine,
                          HookWait& wait, asio::cancellation_slot slot) {
  AsyncWait(engine, wait.MakeWaiter(),
            asio::bind_cancellation_slot(slot, wait.Take()));
}

std::vector<HookDriver> Drivers() {
  const auto by = [](StartFunction start) {
    return [start = std::move(start)](HookWait& wait) { Run(start, wait); };
  };
  return {{.name = "Handler", .run = by(StartWithHandler)},
          {.name = "Awaitable", .run = by(StartAwaitable)},
          {.name = "NoExecutor", .run = by(StartWithoutExecutor)}};
}

class AsioHookActionsTest : public HookFixture {
 protected:
  AsioHookActionsTest()
      : HookFixture(/*clock=*/nullptr, absl::Milliseconds(1)) {}
};

TEST_P(AsioHookActionsTest, WaitThatAHookStartsRuns) {
  Run([this] { wait_.start_another(); });

  EXPECT_EQ(wait_.others, 1);
  ExpectSuccess();
}

TEST_P(AsioHookActionsTest, TimeOfAHookThatBlocksIsTheWaits) {
  constexpr std::chrono::milliseconds kLong(2);
  Run([&] {
    Clock& clock = GetRealClock();
    const MonotonicTime end = clock.MonotonicNow() + kLong;
    while (clock.MonotonicNow() < end) {
    }
  });

  ExpectSuccess();
  if (hook() != Hook::kOnDone) {
    EXPECT_GE(wait_.observer->elapsed(), absl::FromChrono(kLong));
  }
}

TEST_P(AsioHookActionsTest, CancellationThatAHookEmitsEndsTheWait) {
  Run([this] { wait_.stop(); });

  EXPECT_EQ(wait_.results, 1);
  ExpectStoppedBy(hook(), driver(), wait_);
}

INSTANTIATE_TEST_SUITE_P(EveryDriverAndHook, AsioHookActionsTest,
                         Combine(ValuesIn(Drivers()), ValuesIn(kHooks)),
                         NameOfHookTest);

class AsioHookDeathTest : public AsioHookActionsTest {};

TEST_P(AsioHookDeathTest, ExceptionThatLeavesAHookTerminatesTheProgram) {
  EXPECT_DEATH(Run([] { throw 1; }), "terminat(e|ing)");
}

INSTANTIATE_TEST_SUITE_P(EveryDriverAndHook, AsioHookDeathTest,
                         Combine(ValuesIn(Drivers()), ValuesIn(kHooks)),
                         NameOfHookTest);

}  // namespace
}  // namespace waiter::asio_hook_actions_test

#endif  // WAITER_HAS_BOOST
