// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Actions of hooks on waits: every action in every hook, on every driver that
// runs on simulated time. A new driver is a line in `Drivers`.

#include "tests/support/hook_actions.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/support/coroutine.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/telemetry/trace.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::hook_actions_test {
namespace {

using ::testing::Combine;
using ::testing::ValuesIn;

using Task = absl::AnyInvocable<void()>;

// A tracer that keeps nothing.
struct NoTracer {
  struct Context {};
  struct Span {};
  struct Scope {};

  static Context Current() { return {}; }
  static Context With(const Context& /*parent*/, const Span& /*span*/) {
    return {};
  }
  static Scope MakeCurrent(const Context& /*context*/) { return {}; }
  static Span StartSpan(std::string_view /*name*/, const Context& /*parent*/) {
    return {};
  }
  void SetAttribute(Span& /*span*/, const TraceAttribute& /*attribute*/) {}
  void AddEvent(Span& /*span*/, std::string_view /*name*/,
                std::chrono::system_clock::time_point /*time*/,
                std::span<const TraceAttribute> /*attributes*/) {}
  void SetError(Span& /*span*/, std::string_view /*description*/) {}
  void End(Span& /*span*/) {}
};

WaitOptions AtOnce(const HookWait& wait) {
  return {.timeout = absl::Hours(1), .clock = wait.options.clock};
}

// Returns a token of the wait, in its first sleep.
WaitToken TokenOf(const HookWait& wait) {
  WaitOptions options = wait.options;
  options.hooks = {};
  const auto policy = WaitPolicy::Make(std::move(options));
  Clock& clock = policy->clock();
  const MonotonicTime now = clock.MonotonicNow();
  WaitReport report;
  WaitLoop loop(*policy, report);
  const NextStep step =
      loop.Start(now, policy->DeadlineFrom(now), [] { return false; });
  return SaveWait(loop.state(), report, loop.name(), step.wake_up(),
                  {now, clock.TimeNow()});
}

// Drivers that block. `call` waits until the wait has ended or a stop was
// requested.
HookDriver Blocking(
    std::string name,
    std::function<void(HookWait&, const waiter::stop_token&)> call) {
  return {.name = std::move(name),
          .run = [call = std::move(call)](HookWait& wait) {
            waiter::stop_source stop;
            wait.stop = [&] { stop.request_stop(); };
            wait.start_another = [&wait] {
              Waiter other([] { return true; }, AtOnce(wait));
              wait.others += other.Wait().ok() ? 1 : 0;
            };
            call(wait, stop.get_token());
            ++wait.results;
          }};
}

// Drivers on an engine.

enum class Executor { kNone, kAtOnce, kLater };

struct EngineKind {
  Executor executor = Executor::kNone;
  ReportLevel report = ReportLevel::kFull;
};

// Starts the wait, and sets `stop` and perhaps `destroy`. The function that it
// returns is called when the engine has run, and is destroyed before the
// engine.
using StartFunction =
    std::function<std::function<void()>(WaitEngine&, HookWait&)>;

void RunOnEngine(const EngineKind& kind, const StartFunction& start,
                 HookWait& wait) {
  auto& clock = static_cast<SimulatedClock&>(*wait.options.clock);
  std::vector<Task> tasks;
  WaitEngineOptions options = {.threads = 0,
                               .tick = absl::ZeroDuration(),
                               .report = kind.report,
                               .clock = &clock};
  if (kind.executor == Executor::kAtOnce) {
    options.executor = [](Task task) { task(); };
  } else if (kind.executor == Executor::kLater) {
    options.executor = [&tasks](Task task) {
      tasks.push_back(std::move(task));
    };
  }
  std::optional<WaitEngine> engine(options);
  wait.start_another = [&] {
    engine
        ->Start(Waiter([] { return true; }, AtOnce(wait)),
                [&](const WaitResult<>& other) {
                  wait.others += other.ok() ? 1 : 0;
                })
        .Detach();
  };
  std::function<void()> finish = start(*engine, wait);
  for (int second = 0; second < 30; ++second) {
    engine->RunDue();
    for (Task& task : std::exchange(tasks, {})) task();
    engine->RunDue();
    clock.AdvanceTime(absl::Seconds(1));
  }
  finish();
  finish = nullptr;
  engine.reset();
}

// Returns a start by `call`, which returns the handle of the wait. `owner`
// lives as long as the function that the start returns.
StartFunction ByHandle(std::function<WaitHandle(WaitEngine&, HookWait&)> call,
                       std::shared_ptr<void> owner = nullptr) {
  return [call = std::move(call), owner = std::move(owner)](WaitEngine& engine,
                                                            HookWait& wait) {
    const auto handle = std::make_shared<WaitHandle>();
    wait.stop = [handle] { handle->Cancel(); };
    wait.destroy = [handle] { *handle = WaitHandle(); };
    *handle = call(engine, wait);
    return [owner, handle] {};
  };
}

WaitHandle Start(WaitEngine& engine, HookWait& wait) {
  return engine.Start(wait.MakeWaiter(), wait.Take());
}

WaitHandle StartCompletion(WaitEngine& engine, HookWait& wait) {
  const auto poll = [&wait](const PollCompletion<>& done) {
    done(wait.Poll());
  };
  return engine.Start(AsyncWaiter(poll, wait.options), wait.Take());
}

WaitHandle StartTraced(WaitEngine& engine, HookWait& wait) {
  return engine.Start(Traced(NoTracer(), wait.MakeWaiter()), wait.Take());
}

WaitHandle StartResumed(WaitEngine& engine, HookWait& wait) {
  return engine.Start(wait.MakeWaiter(), wait.Take(),
                      {.resume = TokenOf(wait)});
}

std::function<void()> StartWithToken(WaitEngine& engine, HookWait& wait) {
  waiter::stop_source stop;
  wait.stop = [stop]() mutable { stop.request_stop(); };
  const auto handle = std::make_shared<WaitHandle>(
      engine.Start(wait.MakeWaiter(), wait.Take(), {.stop = stop.get_token()}));
  wait.destroy = [handle] { *handle = WaitHandle(); };
  return [handle] {};
}

std::function<void()> StartBatch(WaitEngine& engine, HookWait& wait) {
  const auto poller = std::make_shared<BatchPoller<int>>(
      engine,
      [&wait](absl::Span<const int> keys) -> absl::StatusOr<BatchAnswer<int>> {
        BatchAnswer<int> answer;
        if (wait.Poll()) answer.emplace(keys.front(), Success());
        return answer;
      });
  const auto start = [poller](WaitEngine&, HookWait& key) {
    return poller->Start(1, key.options, key.Take());
  };
  return ByHandle(start, poller)(engine, wait);
}

std::function<void()> StartFutureOf(WaitEngine& engine, HookWait& wait) {
  waiter::stop_source stop;
  wait.stop = [stop]() mutable { stop.request_stop(); };
  const auto future = std::make_shared<std::future<WaitResult<>>>(
      StartFuture(engine, wait.MakeWaiter(), {.stop = stop.get_token()}));
  return [future, &wait] {
    const std::future_status status =
        future->wait_for(std::chrono::seconds::zero());
    wait.results += status == std::future_status::ready ? 1 : 0;
  };
}

std::vector<Waiter<std::function<bool()>>> OnlyOne(HookWait& wait) {
  std::vector<Waiter<std::function<bool()>>> waits;
  waits.push_back(wait.MakeWaiter());
  return waits;
}

std::function<void()> StartGroup(WaitEngine& engine, HookWait& wait) {
  const auto group = std::make_shared<std::optional<WaitGroup<>>>();
  wait.stop = [group] { (*group)->Cancel(); };
  wait.destroy = [group] { group->reset(); };
  *group = All(engine, OnlyOne(wait),
               [&wait](const std::vector<WaitResult<>>& results) {
                 wait.results += static_cast<int>(results.size());
               });
  return [group] {};
}

// Returns a start by `call`, a coroutine that awaits the wait.
StartFunction ByCoroutine(
    std::function<Coroutine(WaitEngine&, HookWait&, waiter::stop_token)> call) {
  return [call = std::move(call)](WaitEngine& engine, HookWait& wait) {
    waiter::stop_source stop;
    const auto coroutine =
        std::make_shared<Coroutine>(call(engine, wait, stop.get_token()));
    wait.stop = [stop]() mutable { stop.request_stop(); };
    wait.destroy = [coroutine] { coroutine->Destroy(); };
    return [coroutine] {};
  };
}

Coroutine AwaitOne(WaitEngine& engine, HookWait& wait,
                   waiter::stop_token stop) {
  auto waiter = wait.MakeWaiter();
  (void)co_await Await(engine, std::move(waiter), std::move(stop));
  ++wait.results;
}

Coroutine AwaitGroupOfOne(WaitEngine& engine, HookWait& wait,
                          waiter::stop_token stop) {
  auto waits = OnlyOne(wait);
  const auto results =
      co_await AwaitAll(engine, std::move(waits), std::move(stop));
  wait.results += static_cast<int>(results.size());
}

std::vector<HookDriver> Drivers() {
  std::vector<HookDriver> drivers = {
      Blocking("Blocking",
               [](HookWait& wait, const auto& stop) {
                 (void)wait.MakeWaiter().Wait(stop);
               }),
      Blocking("BlockingWithNotifier",
               [](HookWait& wait, const auto& stop) {
                 const PollNotifier notifier;
                 (void)wait.MakeWaiter().Wait(
                     {.stop = stop, .notifier = &notifier});
               }),
      Blocking("BlockingResumed",
               [](HookWait& wait, const auto& stop) {
                 (void)wait.MakeWaiter().Wait(
                     {.stop = stop, .resume = TokenOf(wait)});
               }),
      Blocking("BlockingTraced", [](HookWait& wait, const auto& stop) {
        (void)Traced(NoTracer(), wait.MakeWaiter()).Wait(stop);
      })};
  const auto add = [&](std::string name, StartFunction start,
                       EngineKind kind = {}) -> HookDriver& {
    return drivers.emplace_back(HookDriver{
        .name = std::move(name),
        .run = [kind, start = std::move(start)](
                   HookWait& wait) { RunOnEngine(kind, start, wait); },
        .has_handle = true,
        .polls_later = kind.executor != Executor::kNone});
  };
  for (const ReportLevel report : {ReportLevel::kFull, ReportLevel::kLean}) {
    const std::string lean = report == ReportLevel::kLean ? "Lean" : "";
    const EngineKind at_once = {Executor::kAtOnce, report};
    const EngineKind later = {Executor::kLater, report};
    const EngineKind plain = {Executor::kNone, report};
    add(lean + "Engine", ByHandle(Start), plain);
    add(lean + "Completion", ByHandle(StartCompletion), plain);
    add(lean + "ExecutorAtOnce", ByHandle(Start), at_once);
    add(lean + "ExecutorLater", ByHandle(Start), later);
    add(lean + "StopToken", StartWithToken, plain);
    // The poller calls the function after the step of the wait that asks.
    add(lean + "Batch", StartBatch, plain).polls_later = true;
    add(lean + "BatchOnExecutor", StartBatch, later);
    add(lean + "Await", ByCoroutine(AwaitOne), plain);
    add(lean + "AwaitOnExecutor", ByCoroutine(AwaitOne), later);
  }
  add("AwaitGroup", ByCoroutine(AwaitGroupOfOne));
  add("Group", StartGroup);
  add("Future", StartFutureOf).has_handle = false;
  add("Resumed", ByHandle(StartResumed));
  add("Traced", ByHandle(StartTraced));
  return drivers;
}

std::vector<HookDriver> DriversWithHandles() {
  std::vector<HookDriver> drivers = Drivers();
  std::erase_if(drivers,
                [](const HookDriver& driver) { return !driver.has_handle; });
  return drivers;
}

// A base, so that it lives longer than the wait.
struct ClockOfHooks {
  SimulatedClock clock_;
};

class HookActionsTest : protected ClockOfHooks, public HookFixture {
 protected:
  HookActionsTest() : HookFixture(&clock_, absl::Seconds(1)) {}
};

TEST_P(HookActionsTest, WaitThatAHookStartsRuns) {
  Run([this] { wait_.start_another(); });

  EXPECT_EQ(wait_.others, 1);
  ExpectSuccess();
}

TEST_P(HookActionsTest, TimeOfAHookThatBlocksIsTheWaits) {
  Run([this] { clock_.AdvanceTime(absl::Seconds(10)); });

  ExpectSuccess();
  if (hook() != Hook::kOnDone) {
    EXPECT_GE(wait_.observer->elapsed(), absl::Seconds(10));
  }
}

TEST_P(HookActionsTest, StopThatAHookRequestsEndsTheWait) {
  Run([this] { wait_.stop(); });

  EXPECT_EQ(wait_.results, 1);
  ExpectStoppedBy(hook(), driver(), wait_);
  // The sleep that follows ends immediately.
  if (hook() != Hook::kOnDone && !driver().polls_later) {
    EXPECT_LE(wait_.observer->elapsed(), absl::Seconds(1));
  }
}

// A wait that something owns.
class HookHandleTest : public HookActionsTest {};

TEST_P(HookHandleTest, HandleThatAHookDestroysEndsTheWaitWithoutAResult) {
  Run([this] { wait_.destroy(); });

  EXPECT_EQ(wait_.results, 0);
  EXPECT_EQ(wait_.observer->ends(), 1);
  EXPECT_EQ(wait_.observer->reason(), hook() == Hook::kOnDone
                                          ? StopReason::kSuccess
                                          : StopReason::kCancelled);
  // The status function is no longer called.
  switch (hook()) {
    case Hook::kOnStart:
    case Hook::kBeforePoll:
    case Hook::kBeforeSleep:
    case Hook::kOnCheckpoint:
      EXPECT_EQ(wait_.polls, 0);
      break;
    case Hook::kAfterPoll:
    case Hook::kOnDecision:
      EXPECT_EQ(wait_.polls, 1);
      break;
    case Hook::kOnDone:
      EXPECT_EQ(wait_.polls, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryHandleAndHook, HookHandleTest,
                         Combine(ValuesIn(DriversWithHandles()),
                                 ValuesIn(kHooks)),
                         NameOfHookTest);

INSTANTIATE_TEST_SUITE_P(EveryDriverAndHook, HookActionsTest,
                         Combine(ValuesIn(Drivers()), ValuesIn(kHooks)),
                         NameOfHookTest);

class HookDeathTest : public HookActionsTest {};

TEST_P(HookDeathTest, ExceptionThatLeavesAHookTerminatesTheProgram) {
  EXPECT_DEATH(Run([] { throw 1; }), "terminat");
}

INSTANTIATE_TEST_SUITE_P(EveryDriverAndHook, HookDeathTest,
                         Combine(ValuesIn(Drivers()), ValuesIn(kHooks)),
                         NameOfHookTest);

// An engine that grows while the wait and its observers are destroyed.
TEST(HookOwnersTest, HookMayStartManyWaitsAndDropTheLastOwnersOfItsOwn) {
  for (const ReportLevel report : {ReportLevel::kFull, ReportLevel::kLean}) {
    for (const bool on_executor : {false, true}) {
      for (const Hook hook : kHooks) {
        SCOPED_TRACE(NameOf(hook));
        SimulatedClock clock;
        WaitEngineOptions options = {
            .threads = 0, .report = report, .clock = &clock};
        if (on_executor) options.executor = [](Task task) { task(); };
        WaitEngine engine(options);
        std::optional<WaitHandle> handle;
        std::shared_ptr<WaitObserver> owner;
        int others = 0;
        const auto held = std::make_shared<int>();
        HookWait wait(hook, &clock, absl::Seconds(1));
        const auto owners = wait.observer.use_count();
        wait.action = [&] {
          for (int i = 0; i < 1000; ++i) {
            engine
                .Start(Waiter([] { return true; }, AtOnce(wait)),
                       [&](const WaitResult<>&) { ++others; })
                .Detach();
          }
          owner = nullptr;
          handle.reset();
        };
        owner = std::make_shared<ObserverList>(
            std::vector<std::shared_ptr<WaitObserver>>{wait.observer});
        const auto watched = [&] {
          WaitOptions result = wait.options;
          result.hooks.observer = owner;
          return result;
        };
        handle.emplace(
            engine.Start(Waiter([&wait] { return wait.Poll(); }, watched()),
                         [held](const WaitResult<>&) {}));
        engine.Run();
        EXPECT_EQ(others, 1000);
        EXPECT_EQ(held.use_count(), 1);
        EXPECT_EQ(wait.observer->ends(), 1);
        EXPECT_EQ(wait.observer.use_count(), owners);
      }
    }
  }
}

TEST(HookOwnersTest, WaitThatNeverBeginsHasNoDeadline) {
  struct Starts : WaitObserver {
    void OnStart(const StartEvent& start) override { timeout = start.timeout; }
    void OnDone(const WaitIdentity& /*wait*/,
                const WaitReport& report) override {
      reason = report.reason;
    }
    absl::Duration timeout;
    std::optional<StopReason> reason;
  };
  const auto starts = std::make_shared<Starts>();
  WaitEngine engine({.threads = 0});
  // Its handle is destroyed immediately.
  (void)engine.Start(
      Waiter([] { return true; },
             {.timeout = absl::Hours(1), .hooks = {.observer = starts}}),
      [](const WaitResult<>&) {});
  engine.RunDue();
  EXPECT_EQ(starts->timeout, absl::InfiniteDuration());
  EXPECT_EQ(starts->reason, StopReason::kCancelled);
}

// No other test fails if a driver is left out.
TEST(HookDriversTest, HoldEveryDriver) {
  EXPECT_EQ(Drivers().size(), 27);
  EXPECT_EQ(DriversWithHandles().size(), 22);
}

}  // namespace
}  // namespace waiter::hook_actions_test
