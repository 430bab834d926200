// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::wait_engine_test {
namespace {

using ::absl::Hours;
using ::absl::Microseconds;
using ::absl::Milliseconds;
using ::absl::Seconds;
using ::absl::StatusCode;
using ::absl::ZeroDuration;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pointee;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using WaitEngineTest = EngineFixture;

// Callbacks.

TEST_F(WaitEngineTest, EngineCallsBackOnceWithTheValue) {
  WaitEngine engine(Simulated());
  std::vector<std::unique_ptr<int>> values;
  const WaitHandle wait =
      engine.Start(Waiter(
                       [this, owned = std::make_unique<int>(
                                  7)]() mutable -> Poll<std::unique_ptr<int>> {
                         if (++polls_ < 3) return NotReady();
                         return Success(std::move(owned));
                       },
                       EverySecond()),
                   [&values, mine = std::make_unique<int>()](
                       WaitResult<std::unique_ptr<int>> result) {
                     ASSERT_TRUE(result.ok());
                     values.push_back(*std::move(result));
                   });

  engine.Run();

  EXPECT_THAT(values, ElementsAre(Pointee(7)));
  EXPECT_EQ(clock_.Elapsed(), Seconds(2));
  EXPECT_FALSE(wait.pending());
}

// The status of a success would make a StatusOr that ends the program.
TEST(WaitCallbackTest, CallbackOfAWaitWithoutAValueTakesNoStatusOr) {
  static_assert(WaitCallback<void (*)(absl::StatusOr<int>), int>);
  static_assert(WaitCallback<void (*)(const absl::StatusOr<int>&), int>);
  static_assert(WaitCallback<void (*)(absl::Status), void>);
  static_assert(WaitCallback<void (*)(const WaitResult<>&), void>);
  static_assert(!WaitCallback<void (*)(absl::StatusOr<int>), void>);
  static_assert(!WaitCallback<void (*)(const absl::StatusOr<int>&), void>);
  static_assert(!WaitCallback<void (*)(absl::StatusOr<int> &&), void>);
}

TEST_F(WaitEngineTest, ValueOfASuccessThatDoesNotEndTheWaitIsDropped) {
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.confirm.successes = 3;
  options.max_attempts = 2;
  std::vector<StopReason> reasons;
  const WaitHandle wait =
      engine.Start(Waiter([this] { return Success(token_); }, options),
                   [&](const WaitResult<CountedCopies>& result) {
                     reasons.push_back(result.reason());
                     EXPECT_EQ(held(), 0);
                   });

  engine.Run();

  EXPECT_THAT(reasons, ElementsAre(StopReason::kAttempts));
}

TEST_F(WaitEngineTest, StartNeitherPollsNorCallsBack) {
  WaitEngine engine(Simulated());
  const WaitHandle wait =
      engine.Start(Waiter([this] { return CountPoll(true); }, EverySecond()),
                   results_.Take());
  const WaitHandle invalid = engine.Start(
      Waiter([this] { return CountPoll(true); }, WaitOptions{.clock = &clock_}),
      results_.Take());

  EXPECT_TRUE(wait.pending());
  EXPECT_TRUE(invalid.pending());
  EXPECT_THAT(results_.reports(), IsEmpty());
  EXPECT_EQ(polls_, 0);
  engine.Run();
  EXPECT_THAT(results_.reports(), SizeIs(2));
  EXPECT_EQ(polls_, 1);
}

TEST_F(WaitEngineTest, StartInsideAFunctionOrAHookDoesNotPollThere) {
  struct Starter : WaitObserver {
    void AfterPoll(const PollEvent& /*poll*/) override { start(); }
    void OnDone(const WaitIdentity& /*wait*/,
                const WaitReport& /*report*/) override {
      start();
    }
    std::function<void()> start;
  } starter;
  WaitEngine engine(Simulated());
  std::vector<WaitHandle> inner;
  const auto start = [&] {
    const int before = polls_;
    inner.push_back(
        engine.Start(Waiter([this] { return CountPoll(true); }, EverySecond()),
                     results_.Take()));
    EXPECT_EQ(polls_, before);
    EXPECT_TRUE(inner.back().pending());
  };
  starter.start = start;
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(starter);
  const WaitHandle wait = engine.Start(Waiter(
                                           [&] {
                                             start();
                                             return true;
                                           },
                                           options),
                                       [&](const WaitResult<>&) {
                                         start();
                                         start();
                                       });

  engine.Run();

  EXPECT_THAT(inner, SizeIs(5));
  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(5), Each(Eq(StopReason::kSuccess))));
}

TEST_F(WaitEngineTest, CallbacksMayStartWaitsForever) {
  constexpr int kWaits = 100'000;
  WaitEngine engine(Simulated());
  const auto policy = WaitPolicy::Make(EverySecond());
  std::function<void(WaitResult<>)> next = [&](const WaitResult<>&) {
    if (polls_ == kWaits) return;
    engine.Start(Waiter([this] { return CountPoll(true); }, policy), next)
        .Detach();
  };
  next(WaitResult<>(WaitReport{}));

  engine.Run();

  EXPECT_EQ(polls_, kWaits);
  EXPECT_EQ(clock_.Elapsed(), ZeroDuration());
}

TEST_F(WaitEngineTest, RunPollsAndCallsBackOnItsCaller) {
  WaitEngine engine(Simulated());
  std::vector<std::thread::id> threads;
  const auto note = [&] { threads.push_back(std::this_thread::get_id()); };
  JoiningThread([&] {
    const WaitHandle wait = engine.Start(Waiter(
                                             [&] {
                                               note();
                                               return true;
                                             },
                                             EverySecond()),
                                         [&](const WaitResult<>&) { note(); });
    engine.Run();
    note();
  }).join();

  EXPECT_THAT(threads, AllOf(SizeIs(3), Each(Eq(threads.back())),
                             Each(Not(Eq(std::this_thread::get_id())))));
}

TEST_F(WaitEngineTest, ThreadOfTheEnginePollsAndCallsBack) {
  std::array<std::thread::id, 4> ids;
  std::latch done(2);
  WaitEngine engine;
  for (size_t i = 0; i < 4; i += 2) {
    engine
        .Start(Waiter(
                   [&ids, i] {
                     ids[i] = std::this_thread::get_id();
                     return true;
                   },
                   {.timeout = Hours(1)}),
               [&ids, &done, i](const WaitResult<>& result) {
                 EXPECT_TRUE(result.ok()) << result.status();
                 ids[i + 1] = std::this_thread::get_id();
                 done.count_down();
               })
        .Detach();
  }
  done.wait();

  EXPECT_THAT(ids, Each(AllOf(Eq(ids[0]), Not(Eq(std::thread::id())),
                              Not(Eq(std::this_thread::get_id())))));
}

// End of the engine.

TEST_F(WaitEngineTest, DestroyingTheEngineShutsPendingWaitsDown) {
  {
    WaitEngine engine(Simulated());
    engine.Start(NeverReady(), TakeHolding()).Detach();
    WaitHandle sleeping = engine.Start(NeverReady(), TakeHolding());
    engine.RunDue();
    sleeping.Detach();
    engine.Start(NeverReady(), TakeHolding()).Detach();  // Is never polled.
  }

  EXPECT_EQ(polls_, 2);
  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(3), Each(Eq(StopReason::kShutDown))));
  for (const WaitReport& report : results_.reports()) {
    EXPECT_THAT(report.status, StatusIs(StatusCode::kCancelled,
                                        HasSubstr("engine was destroyed")));
  }
}

TEST_F(WaitEngineTest, HandlesOutliveTheEngine) {
  auto engine = std::make_unique<WaitEngine>(Simulated());
  WaitHandle wait = engine->Start(NeverReady(), TakeHolding());
  WaitHandle other = engine->Start(NeverReady(), TakeHolding());
  engine.reset();

  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(2), Each(Eq(StopReason::kShutDown))));
  EXPECT_FALSE(wait.pending());
  wait.Cancel();
  wait.Detach();
  other = std::move(wait);
  EXPECT_FALSE(other.pending());
  EXPECT_THAT(results_.reports(), SizeIs(2));
}

TEST_F(WaitEngineTest, WaitsStartedDuringTheShutdownAreShutDown) {
  int levels = 0;
  std::function<void(WaitResult<>)> again;
  {
    WaitEngine engine(Simulated());
    again = [&](WaitResult<> result) {
      results_.Take()(std::move(result));
      if (++levels > 3) return;
      engine
          .Start(Waiter([this] { return CountPoll(true); }, EverySecond()),
                 again)
          .Detach();
      const WaitHandle never_called_back = engine.Start(
          Waiter([this] { return CountPoll(true); }, EverySecond()),
          TakeHolding());
    };
    engine.Start(NeverReady(), again).Detach();
  }

  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(4), Each(Eq(StopReason::kShutDown))));
}

TEST_F(WaitEngineTest, HandlesMayBeDestroyedDuringTheShutdown) {
  std::vector<WaitHandle> waits(10);
  int called_back = 0;
  {
    WaitEngine engine(Simulated());
    for (WaitHandle& wait : waits) {
      wait = engine.Start(NeverReady(),
                          [&, token = token_](const WaitResult<>& result) {
                            EXPECT_EQ(result.reason(), StopReason::kShutDown);
                            ++called_back;
                            waits.clear();
                          });
    }
    engine.RunDue();
  }

  EXPECT_EQ(called_back, 1);
  EXPECT_EQ(held(), 0);
}

TEST_F(WaitEngineTest, CancelledWaitsAreCancelledEvenIfTheEngineEnds) {
  {
    WaitEngine engine(Simulated());
    WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
    engine.RunDue();
    wait.Cancel();
    wait.Detach();
  }

  EXPECT_THAT(results_.reports(), SizeIs(1));
}

// Exceptions.

TEST_F(WaitEngineTest, ExceptionOfAStatusFunctionIsDeliveredOnce) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    Results results;
    polls_ = 0;
    WaitEngine engine(Simulated(level));
    const WaitHandle other = engine.Start(
        Waiter([polls = 0]() mutable { return ++polls == 5; }, EverySecond()),
        results.Take());
    const WaitHandle wait =
        engine.Start(Waiter(
                         [this, token = token_] {
                           if (++polls_ == 2) throw std::out_of_range("lost");
                           return false;
                         },
                         EverySecond()),
                     results.Take());

    engine.Run();

    ASSERT_THAT(results.reasons(),
                ElementsAre(StopReason::kFailed, StopReason::kSuccess));
    const WaitReport& report = results.reports()[0];
    EXPECT_THAT(report.status, StatusIs(StatusCode::kUnknown));
    EXPECT_EQ(report.attempts, 1);  // The other poll found nothing.
    EXPECT_EQ(polls_, 2);
    EXPECT_EQ(held(), 0);
    ASSERT_TRUE(report.exception);
    EXPECT_THROW(std::rethrow_exception(report.exception), std::out_of_range);
    EXPECT_FALSE(results.reports()[1].exception);
  }
}

TEST_F(WaitEngineTest, ExceptionOfACallbackGoesToTheHook) {
  WaitEngineOptions options = Simulated();
  std::vector<std::string> thrown;
  options.on_callback_exception = [&](std::exception_ptr exception) {
    try {
      std::rethrow_exception(std::move(exception));
    } catch (const std::exception& error) {
      thrown.emplace_back(error.what());
    } catch (int number) {
      thrown.push_back(absl::StrCat(number));
    }
  };
  {
    WaitEngine engine(options);
    const auto start = [&](auto status_function, auto callback) {
      engine.Start(Waiter(std::move(status_function), EverySecond()), callback)
          .Detach();
    };
    start([] { return true; },
          [token = token_](const WaitResult<>&) {
            throw std::runtime_error("from a success");
          });
    start([] { return Success(7); },
          [token = token_](const WaitResult<int>&) { throw 5; });
    engine
        .Start(AsyncWaiter([](const PollCompletion<>& done) { done(true); },
                           EverySecond()),
               [](const WaitResult<>&) { throw 7; })
        .Detach();
    start([polls = 0]() mutable { return ++polls == 3; }, TakeHolding());
    start([] { return false; },
          [token = token_](const WaitResult<>&) {
            throw std::runtime_error("from the shut-down");
          });
    engine
        .Start(Waiter([] { return true; }, WaitOptions{.clock = &clock_}),
               [](const WaitResult<>&) { throw 6; })
        .Detach();
    for (int i = 0; i < 3; ++i) {
      engine.RunDue();
      clock_.AdvanceTime(Seconds(1));
    }
    EXPECT_EQ(held(), 1);
    EXPECT_THAT(thrown, UnorderedElementsAre("from a success", "5", "6", "7"));
  }

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(thrown.back(), "from the shut-down");
  EXPECT_EQ(held(), 0);
}

using WaitEngineDeathTest = WaitEngineTest;

TEST_F(WaitEngineDeathTest, RunOfAnEngineWithThreadsTerminates) {
  const auto run = [] {
    WaitEngine engine;
    engine.Run();
  };
  const auto run_due = [] {
    WaitEngine engine;
    engine.RunDue();
  };

  EXPECT_DEATH(run(), "engines with 0 threads");
  EXPECT_DEATH(run_due(), "engines with 0 threads");
}

TEST_F(WaitEngineDeathTest, ExceptionOfACallbackTerminatesWithItsMessage) {
  const auto run = [this](auto callback) {
    WaitEngine engine(Simulated());
    const WaitHandle wait = engine.Start(Ready(), callback);
    engine.Run();
  };

  EXPECT_DEATH(
      run([](const WaitResult<>&) { throw std::runtime_error("out of luck"); }),
      "callback.*out of luck");
  EXPECT_DEATH(run([](const WaitResult<>&) { throw 5; }), "callback");
}

// Invalid options.

TEST_F(WaitEngineTest, InvalidWaitOptionsReachTheCallback) {
  WaitEngine engine(Simulated());
  const WaitHandle no_timeout = engine.Start(
      Waiter([this] { return CountPoll(true); }, WaitOptions{.clock = &clock_}),
      TakeHolding());
  WaitOptions options = EverySecond();
  options.max_attempts = 0;
  const WaitHandle no_attempts = engine.Start(
      Waiter([this] { return CountPoll(true); }, options), TakeHolding());
  const WaitHandle no_function = engine.Start(
      Waiter(std::function<bool()>(), EverySecond()), TakeHolding());
  EXPECT_THAT(results_.reports(), IsEmpty());

  engine.Run();

  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(3), Each(Eq(StopReason::kInvalidOptions))));
  std::string texts;
  for (const WaitReport& report : results_.reports()) {
    EXPECT_EQ(report.status.code(), StatusCode::kInvalidArgument);
    absl::StrAppend(&texts, report.status.message(), "\n");
  }
  EXPECT_THAT(texts, AllOf(HasSubstr("timeout"), HasSubstr("max_attempts"),
                           HasSubstr("empty")));
}

TEST_F(WaitEngineTest, InvalidWaitMayBeCancelledOrDestroyed) {
  WaitEngine engine(Simulated());
  WaitHandle cancelled =
      engine.Start(Waiter([] { return true; }, WaitOptions{.clock = &clock_}),
                   TakeHolding());
  cancelled.Cancel();
  {
    const WaitHandle destroyed =
        engine.Start(Waiter([] { return true; }, WaitOptions{.clock = &clock_}),
                     TakeHolding());
  }
  EXPECT_EQ(held(), 1);

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kInvalidOptions));
}

struct InvalidOptions {
  std::string_view field;
  std::string_view value;
  std::function<void(WaitEngineOptions&)> change;
};

std::vector<InvalidOptions> AllInvalidOptions() {
  static SplitMix64 gen(1);
  return {
      {"threads", "-1", [](auto& o) { o.threads = -1; }},
      {"tick", "-1ms", [](auto& o) { o.tick = -Milliseconds(1); }},
      {"tick", "500ns", [](auto& o) { o.tick = absl::Nanoseconds(500); }},
      {"tick", "inf", [](auto& o) { o.tick = absl::InfiniteDuration(); }},
      {"relative_slack", "-0.1", [](auto& o) { o.relative_slack = -0.1; }},
      {"relative_slack", "1.5", [](auto& o) { o.relative_slack = 1.5; }},
      {"relative_slack", "nan",
       [](auto& o) {
         o.relative_slack = std::numeric_limits<double>::quiet_NaN();
       }},
      {"wake", "1 thread;", [](auto& o) { o.wake = [] {}; }},
      {"wake", "2 threads;",
       [](auto& o) {
         o.threads = 2;
         o.wake = [] {};
       }},
      {"gen", "2",
       [](auto& o) {
         o.threads = 2;
         o.gen = gen;
       }},
  };
}

TEST_F(WaitEngineTest, InvalidEngineOptionsAreNamedWithTheirValue) {
  for (const InvalidOptions& invalid : AllInvalidOptions()) {
    WaitEngineOptions options;
    EXPECT_TRUE(Validate(options).ok());
    invalid.change(options);
    EXPECT_THAT(Validate(options),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(std::string(invalid.field)),
                               HasSubstr(std::string(invalid.value)))));
  }
}

TEST_F(WaitEngineTest, InvalidEngineOptionsAreReportedByEveryWait) {
  for (const InvalidOptions& invalid : AllInvalidOptions()) {
    SCOPED_TRACE(std::string(invalid.field) + " " + std::string(invalid.value));
    WaitEngineOptions options = {.clock = &clock_};
    invalid.change(options);
    std::vector<absl::Status> statuses;
    std::atomic<int> polls = 0;
    WaitEngine engine(options);
    for (int i = 0; i < 2; ++i) {
      std::promise<absl::Status> ended;
      const WaitHandle wait = engine.Start(
          Waiter(
              [&] {
                ++polls;
                return true;
              },
              EverySecond()),
          [&](const WaitResult<>& result) {
            EXPECT_EQ(result.reason(), StopReason::kInvalidOptions);
            ended.set_value(result.status());
          });
      EXPECT_THAT(ended.get_future().get(),
                  StatusIs(StatusCode::kInvalidArgument,
                           HasSubstr(std::string(invalid.field))));
    }
    EXPECT_EQ(polls, 0);
  }
}

TEST_F(WaitEngineTest, InvalidEngineWithoutThreadsRuns) {
  WaitEngineOptions options = Simulated();
  options.relative_slack = 2;
  WaitEngine engine(options);
  const WaitHandle wait = engine.Start(Ready(), results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kInvalidOptions));
}

TEST_F(WaitEngineTest, BoundsOfEngineOptionsAreValid) {
  for (const absl::Duration tick :
       {ZeroDuration(), Microseconds(1), Seconds(1), Hours(1)}) {
    EXPECT_TRUE(Validate(WaitEngineOptions{.tick = tick}).ok()) << tick;
  }
  for (const double slack : {0.0, 0.5, 1.0}) {
    EXPECT_TRUE(Validate(WaitEngineOptions{.relative_slack = slack}).ok());
  }
  EXPECT_TRUE(Validate(WaitEngineOptions{.threads = 0}).ok());
}

TEST_F(WaitEngineTest, WaitOnAnotherClockIsInvalid) {
  SimulatedClock other;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.clock = &other;
  const WaitHandle on_other = engine.Start(
      Waiter([this] { return CountPoll(true); }, options), results_.Take());
  options.clock = nullptr;
  const WaitHandle on_real = engine.Start(
      Waiter([this] { return CountPoll(true); }, options), results_.Take());

  engine.Run();

  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(2), Each(Eq(StopReason::kInvalidOptions))));
  EXPECT_THAT(results_.reports()[0].status,
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("clock")));
}

// Engines driven by hand and by several threads.

TEST_F(WaitEngineTest, RunDueReturnsWhenToCallItNext) {
  WaitEngine engine(Simulated());
  const MonotonicTime start = clock_.MonotonicNow();
  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  const WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(polls_ == 2); }, EverySecond()),
      results_.Take());

  EXPECT_EQ(engine.RunDue(), start + std::chrono::seconds(1));
  EXPECT_EQ(polls_, 1);
  EXPECT_EQ(engine.RunDue(), start + std::chrono::seconds(1));
  EXPECT_EQ(polls_, 1);
  clock_.AdvanceTime(Milliseconds(1500));
  EXPECT_EQ(engine.RunDue(), start + std::chrono::milliseconds(2500));
  EXPECT_EQ(polls_, 2);
  clock_.AdvanceTime(Milliseconds(1000));
  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_EQ(polls_, 3);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  WaitHandle cancelled = engine.Start(NeverReady(), results_.Take());
  EXPECT_LT(engine.RunDue(), MonotonicTime::max());
  cancelled.Cancel();
  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
}

TEST_F(WaitEngineTest, RunDueSeesEarlierStartsAndCancels) {
  WaitEngine engine(Simulated());
  WaitHandle first = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  const WaitHandle second = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  EXPECT_EQ(polls_, 2);
  first.Cancel();
  engine.RunDue();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(polls_, 2);
}

TEST_F(WaitEngineTest, RunDueReturnsNowAfterARequestThatCameMeanwhile) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  const WaitHandle cancels =
      engine.Start(Waiter(
                       [&] {
                         std::thread([&] { wait.Cancel(); }).join();
                         return true;
                       },
                       EverySecond()),
                   [](const WaitResult<>&) {});

  EXPECT_LE(engine.RunDue(), clock_.MonotonicNow());
  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

// `RunDue` must let its caller get back to its own work.
TEST_F(WaitEngineTest, RunDueReturnsEvenIfAWaitNeverDelays) {
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  const WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(polls_ == 100'000); }, options),
      results_.Take());

  const MonotonicTime next = engine.RunDue();

  EXPECT_LT(polls_, 100'000);
  EXPECT_LE(next, clock_.MonotonicNow());
  engine.Run();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(WaitEngineTest, WaitsAreSharedEvenlyAndStayOnTheirThreads) {
  constexpr int kThreads = 4;
  constexpr size_t kWaits = 1'000;
  WaitEngine engine({.threads = kThreads, .tick = Microseconds(1)});
  const auto policy = WaitPolicy::Make(
      {.timeout = Hours(1), .backoff = Every(Microseconds(10))});
  std::vector<std::vector<std::thread::id>> ids(kWaits);
  std::latch done(kWaits);
  for (std::vector<std::thread::id>& mine : ids) {
    engine
        .Start(Waiter(
                   [&mine] {
                     mine.push_back(std::this_thread::get_id());
                     return mine.size() == 5;
                   },
                   policy),
               [&](const WaitResult<>& result) {
                 EXPECT_TRUE(result.ok()) << result.status();
                 mine.push_back(std::this_thread::get_id());
                 done.count_down();
               })
        .Detach();
  }
  done.wait();

  std::map<std::thread::id, size_t> waits;
  for (const std::vector<std::thread::id>& mine : ids) {
    EXPECT_THAT(mine, AllOf(SizeIs(6), Each(Eq(mine[0]))));
    ++waits[mine[0]];
  }
  EXPECT_THAT(waits, SizeIs(kThreads));
  // They were distributed in turn.
  EXPECT_THAT(waits, Each(testing::Pair(testing::_, kWaits / kThreads)));
}

// The start of another thread counts as later, although it takes another path.
TEST_F(WaitEngineTest, WaitsBeginInTheOrderOfTheStartsOfAllThreads) {
  WaitEngine engine(Simulated());
  std::string order;
  const auto start = [&](char name) {
    engine
        .Start(Waiter(
                   [&order, name] {
                     order += name;
                     return true;
                   },
                   EverySecond()),
               results_.Take())
        .Detach();
  };
  engine
      .Start(Ready(),
             [&](const WaitResult<>&) {
               start('a');
               std::thread([&] { start('b'); }).join();
               start('c');
             })
      .Detach();
  engine.Run();

  EXPECT_EQ(order, "abc");
}

TEST(WaitEngineThreadsTest, WaitStartedOnAnotherEngineIsOnItsThread) {
  std::thread::id outer;
  std::promise<std::thread::id> inner;
  WaitEngine engine;
  WaitEngine other;
  engine
      .Start(Waiter(
                 [&] {
                   outer = std::this_thread::get_id();
                   other
                       .Start(Waiter([] { return true; }, Hours(1)),
                              [&](const WaitResult<>&) {
                                inner.set_value(std::this_thread::get_id());
                              })
                       .Detach();
                   return true;
                 },
                 Hours(1)),
             [](const WaitResult<>&) {})
      .Detach();

  EXPECT_NE(inner.get_future().get(), outer);
}

// Sleeps in status functions.

// A sleep holds up all waits of the thread.
TEST(EngineBlockingDeathTest, BlockingSleepInAStatusFunctionIsReported) {
  const auto block = [] {
    SimulatedClock clock;
    WaitEngine engine({.threads = 0, .clock = &clock});
    const WaitOptions options = {.timeout = absl::Seconds(9), .clock = &clock};
    engine
        .Start(Waiter(
                   [&] {
                     return Waiter([] { return false; }, options).Wait().ok();
                   },
                   options),
               [](const WaitResult<>&) {})
        .Detach();
    engine.RunDue();
    EXPECT_GT(engine.blocking_sleeps(), 1);
  };
  EXPECT_DEBUG_DEATH(block(), "blocks all waits of that thread");
}

TEST(EngineBlockingTest, BlockingWaitThatDoesNotSleepIsNoReport) {
  SimulatedClock clock;
  WaitEngine engine({.threads = 0, .clock = &clock});
  const WaitOptions options = {.timeout = absl::Seconds(9), .clock = &clock};
  engine
      .Start(
          Waiter(
              [&] { return Waiter([] { return true; }, options).Wait().ok(); },
              options),
          [](const WaitResult<>&) {})
      .Detach();
  engine.Run();
  EXPECT_FALSE(
      Waiter([] { return false; }, options).Wait().ok());  // Outside of it.
  EXPECT_EQ(engine.blocking_sleeps(), 0);
}

}  // namespace
}  // namespace waiter::wait_engine_test
