// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <set>
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
#include "tests/support/first_seed.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
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
using ::absl::Minutes;
using ::absl::Seconds;
using ::absl::StatusCode;
using ::absl::ZeroDuration;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Lt;
using ::testing::Not;
using ::testing::Pointee;
using ::testing::SizeIs;

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
                   [&](const WaitResult<std::shared_ptr<int>>& result) {
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

TEST_F(WaitEngineTest, StartInsideAPollOrACallbackDoesNotPollThere) {
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
  const WaitHandle wait = engine.Start(Waiter(
                                           [&] {
                                             start();
                                             return true;
                                           },
                                           EverySecond()),
                                       [&](const WaitResult<>&) {
                                         start();
                                         start();
                                       });

  engine.Run();

  EXPECT_THAT(inner, SizeIs(3));
  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(3), Each(Eq(StopReason::kSuccess))));
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

TEST_F(WaitEngineTest, DestroyingTheEngineAwaitsItsThreads) {
  std::atomic<bool> polling = false;
  std::atomic<bool> destroying = false;
  std::vector<StopReason> reasons;
  {
    WaitEngine engine;
    engine
        .Start(Waiter(
                   [&] {
                     polling = true;
                     while (!destroying) std::this_thread::yield();
                     for (int i = 0; i < 100; ++i) std::this_thread::yield();
                     return false;
                   },
                   {.timeout = Hours(1)}),
               [&](const WaitResult<>& result) {
                 reasons.push_back(result.reason());
               })
        .Detach();
    while (!polling) std::this_thread::yield();
    destroying = true;
  }

  EXPECT_THAT(reasons, ElementsAre(StopReason::kShutDown));
}

// Exceptions.

TEST_F(WaitEngineTest, ExceptionOfAStatusFunctionIsDeliveredOnce) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    Results results;
    polls_ = 0;
    WaitEngineOptions options = Simulated();
    options.report = level;
    WaitEngine engine(options);
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
    EXPECT_THAT(thrown,
                testing::UnorderedElementsAre("from a success", "5", "6"));
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
    const WaitHandle wait =
        engine.Start(Waiter([] { return true; }, EverySecond()), callback);
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

// Randomness.

TEST_F(WaitEngineTest, SameSeedGivesTheSameDelays) {
  const auto times_of = [](std::optional<uint64_t> engine_seed,
                           std::optional<uint64_t> wait_seed) {
    SimulatedClock clock;
    WaitEngine engine({.threads = 0,
                       .tick = ZeroDuration(),
                       .clock = &clock,
                       .seed = engine_seed});
    std::vector<absl::Duration> polled_at;
    for (int i = 0; i < 3; ++i) {
      engine
          .Start(Waiter(
                     [&] {
                       polled_at.push_back(clock.Elapsed());
                       return false;
                     },
                     {.timeout = Minutes(1),
                      .hooks = {.seed = wait_seed},
                      .clock = &clock}),
                 [](const WaitResult<>&) {})
          .Detach();
    }
    engine.Run();
    return polled_at;
  };

  EXPECT_EQ(times_of(7, std::nullopt), times_of(7, std::nullopt));
  EXPECT_NE(times_of(7, std::nullopt), times_of(8, std::nullopt));
  EXPECT_NE(times_of(std::nullopt, std::nullopt),
            times_of(std::nullopt, std::nullopt));
  EXPECT_EQ(times_of(7, 9), times_of(8, 9));
}

TEST_F(WaitEngineTest, SeedOfAWaitGivesTheDelaysOfTheBlockingForm) {
  WaitOptions options = {
      .timeout = Minutes(1), .hooks = {.seed = 9}, .clock = &clock_};
  std::array<std::vector<absl::Duration>, 3> polled_at;
  WaitEngine engine(Simulated());
  for (size_t i = 0; i < 2; ++i) {
    engine
        .Start(Waiter(
                   [&polled_at, i, this] {
                     polled_at[i].push_back(clock_.Elapsed());
                     return false;
                   },
                   options),
               results_.Take())
        .Detach();
  }
  engine.Run();
  SimulatedClock clock;
  options.clock = &clock;
  Waiter blocking(
      [&] {
        polled_at[2].push_back(clock.Elapsed());
        return false;
      },
      options);
  EXPECT_EQ(blocking.Wait().reason(), StopReason::kDeadline);

  EXPECT_EQ(polled_at[0], polled_at[2]);
  EXPECT_EQ(polled_at[1], polled_at[2]);
}

// Time.

// Runs waits at random times, and expects each poll when it is due, or as much
// later as tick and slack allow.
void ExpectLateness(uint64_t seed, absl::Duration tick, double slack,
                    absl::Duration max_delay) {
  SimulatedClock clock;
  SplitMix64 gen(seed);
  const auto draw = [&gen](absl::Duration from, absl::Duration to) {
    const auto share = static_cast<double>(gen() >> 11) * 0x1p-53;
    return absl::Trunc(from + share * (to - from), absl::Nanoseconds(1));
  };
  clock.AdvanceTime(draw(ZeroDuration(), Seconds(10)));
  WaitEngine engine(
      {.threads = 0, .tick = tick, .relative_slack = slack, .clock = &clock});
  clock.AdvanceTime(draw(ZeroDuration(), Seconds(10)));
  struct Wait {
    absl::Duration last_poll;
    absl::Duration delay;
    absl::Duration deadline;
  };
  std::vector<Wait> waits(20);
  int polls = 0;
  int ended = 0;
  for (Wait& wait : waits) {
    const absl::Duration first_delay = draw(ZeroDuration(), max_delay);
    const absl::Duration timeout = draw(ZeroDuration(), 20 * max_delay);
    const absl::Duration next_delays = draw(max_delay / 50, max_delay);
    wait.last_poll = clock.Elapsed();
    wait.delay = first_delay;
    wait.deadline = clock.Elapsed() + timeout;
    const auto poll = [&, next_delays] {
      const absl::Duration now = clock.Elapsed();
      const absl::Duration due =
          std::min(wait.last_poll + wait.delay, wait.deadline);
      const absl::Duration latest =
          std::min(wait.last_poll + (1 + slack) * wait.delay, wait.deadline);
      EXPECT_THAT(now, AllOf(Ge(due), Le(latest + tick)))
          << "due " << due << ", deadline " << wait.deadline;
      wait.last_poll = now;
      wait.delay = next_delays;
      ++polls;
      return false;
    };
    engine
        .Start(Waiter(poll, {.timeout = timeout,
                             .backoff = Every(next_delays),
                             .polls = {.first_delay = first_delay},
                             .clock = &clock}),
               [&ended](const WaitResult<>& result) {
                 EXPECT_EQ(result.reason(), StopReason::kDeadline);
                 ++ended;
               })
        .Detach();
  }
  engine.Run();
  EXPECT_EQ(ended, 20);
  EXPECT_GT(polls, 40);
}

TEST_F(WaitEngineTest, PollsAreNeverEarlyAndAtMostOneTickLate) {
  const uint64_t first = FirstSeed();
  for (uint64_t seed = first; seed < first + 5; ++seed) {
    SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
    for (const absl::Duration tick : {Microseconds(1), Microseconds(7),
                                      Milliseconds(1), Milliseconds(30)}) {
      for (const double slack : {0.0, 0.3, 1.0}) {
        ExpectLateness(seed, tick, slack, 3 * tick);
        ExpectLateness(seed, tick, slack, 500 * tick);
        ExpectLateness(seed, tick, slack, 100'000 * tick);
      }
    }
    ExpectLateness(seed, ZeroDuration(), 0, Seconds(1));
    ExpectLateness(seed, ZeroDuration(), 0.3, Seconds(1));
    if (HasFailure()) return;
  }
}

// Counts the wake-ups of the engine for 200 waits with random delays.
int WakeUpsOf(absl::Duration tick, double slack) {
  SimulatedClock clock;
  WaitEngine engine({.threads = 0,
                     .tick = tick,
                     .relative_slack = slack,
                     .clock = &clock,
                     .seed = 7});
  std::set<absl::Duration> wake_ups;
  for (int i = 0; i < 200; ++i) {
    engine
        .Start(Waiter(
                   [&] {
                     wake_ups.insert(clock.Elapsed());
                     return false;
                   },
                   {.timeout = Minutes(10), .clock = &clock}),
               [](const WaitResult<>&) {})
        .Detach();
  }
  engine.Run();
  return static_cast<int>(wake_ups.size());
}

TEST_F(WaitEngineTest, TicksAndSlackWakeWaitsTogether) {
  const int exact = WakeUpsOf(ZeroDuration(), 0);
  const int ticks = WakeUpsOf(Milliseconds(100), 0);
  const int slack = WakeUpsOf(Milliseconds(1), 0.25);
  EXPECT_LT(2 * ticks, exact);
  EXPECT_LT(2 * slack, exact);
}

TEST_F(WaitEngineTest, SlowPollCausesNoBurst) {
  WaitEngine engine(Simulated());
  std::vector<absl::Duration> polled_at;
  const WaitHandle wait =
      engine.Start(Waiter(
                       [&] {
                         polled_at.push_back(clock_.Elapsed());
                         clock_.AdvanceTime(Seconds(10));
                         return polled_at.size() == 3;
                       },
                       EverySecond()),
                   results_.Take());

  engine.Run();

  EXPECT_THAT(polled_at, ElementsAre(ZeroDuration(), Seconds(11), Seconds(22)));
}

TEST_F(WaitEngineTest, WallClockStepsChangeNothing) {
  WaitEngine engine(Simulated());
  ScriptedPoll<> script(clock_, {PollStatus::kNotReady});
  WaitOptions options = EverySecond(absl::InfiniteDuration());
  options.deadline = clock_.TimeNow() + Seconds(3);
  const WaitHandle wait =
      engine.Start(Waiter(std::ref(script), options), results_.Take());
  clock_.CallAt(Milliseconds(500), [&] { clock_.StepWallClock(Hours(1)); });
  clock_.CallAt(Milliseconds(1500), [&] { clock_.StepWallClock(-Hours(9)); });

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_THAT(script.polled_at(),
              ElementsAre(ZeroDuration(), Seconds(1), Seconds(2), Seconds(3)));
}

// The engine frees its lists of this length instead of keeping them.
TEST_F(WaitEngineTest, RoundPollsEachOfManyWaitsOnce) {
  constexpr int kWaits = 70'000;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  const auto policy = WaitPolicy::Make(options);
  for (int i = 0; i < kWaits; ++i) {
    engine
        .Start(Waiter([this] { return CountPoll(false); }, policy),
               [](const WaitResult<>&) {})
        .Detach();
  }

  engine.RunDue();  // Begins the waits, and polls each once.

  for (int round = 1; round <= 2; ++round) {
    polls_ = 0;
    engine.RunDue();
    EXPECT_EQ(polls_, kWaits);
  }
}

TEST_F(WaitEngineTest, MillionPollsWithoutDelayStarveNoOtherWait) {
  constexpr int kPolls = 1'000'000;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  int greedy_polls = 0;
  const WaitHandle greedy =
      engine.Start(Waiter(
                       [&] {
                         clock_.AdvanceTime(Microseconds(1));
                         return ++greedy_polls == kPolls;
                       },
                       options),
                   results_.Take());
  const WaitHandle meek =
      engine.Start(Waiter([this] { return CountPoll(polls_ == 9); }, options),
                   [&](const WaitResult<>& result) {
                     EXPECT_TRUE(result.ok());
                     EXPECT_LT(greedy_polls, 10'000);
                   });
  options.backoff = Every(Milliseconds(1));
  std::vector<absl::Duration> polled_at;
  const WaitHandle timed =
      engine.Start(Waiter(
                       [&] {
                         polled_at.push_back(clock_.Elapsed());
                         return polled_at.size() == 10;
                       },
                       options),
                   [&](const WaitResult<>& result) {
                     EXPECT_TRUE(result.ok());
                     EXPECT_LT(greedy_polls, 100'000);
                   });

  engine.Run();

  EXPECT_EQ(greedy_polls, kPolls);
  EXPECT_EQ(polls_, 10);
  EXPECT_THAT(polled_at, SizeIs(10));
  EXPECT_EQ(results_.reports()[0].attempts, kPolls);
}

// Starts one wait that polls each second, and a burst of others whose polls
// take 10 ms each.
class BurstTest : public EngineFixture {
 protected:
  static constexpr size_t kBurst = 1000;

  void StartAll(WaitEngine& engine) {
    timed_ = engine.Start(Waiter(
                              [this] {
                                polled_at_.push_back(clock_.Elapsed());
                                if (on_timed_ != nullptr) on_timed_();
                                return polled_at_.size() == 3;
                              },
                              EverySecond()),
                          results_.Take());
    for (size_t i = 0; i < kBurst; ++i) {
      burst_.push_back(engine.Start(Waiter(
                                        [this, i] {
                                          clock_.AdvanceTime(Milliseconds(10));
                                          order_.push_back(i);
                                          return true;
                                        },
                                        EverySecond()),
                                    results_.Take()));
    }
  }

  WaitHandle timed_;
  std::function<void()> on_timed_;
  std::vector<absl::Duration> polled_at_;
  std::vector<WaitHandle> burst_;
  std::vector<size_t> order_;
};

TEST_F(BurstTest, DueTimersComeAfterAtMost32Starts) {
  WaitEngine engine(Simulated());
  StartAll(engine);
  engine.RunDue();
  const size_t begun = order_.size();
  ASSERT_LT(begun, kBurst);
  std::vector<size_t> begun_before;
  on_timed_ = [&] { begun_before.push_back(order_.size()); };

  // A round that begins with a due timer.
  clock_.AdvanceTime(Seconds(1));
  engine.RunDue();

  EXPECT_THAT(begun_before, ElementsAre(AllOf(Gt(begun), Le(begun + 32))));
}

TEST_F(BurstTest, ManyStartsDoNotDelayDueWaits) {
  WaitEngine engine(Simulated());
  StartAll(engine);

  engine.Run();

  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), Le(Milliseconds(1500)),
                                      Le(Milliseconds(3000))));
  EXPECT_THAT(order_, SizeIs(kBurst));
  EXPECT_TRUE(std::is_sorted(order_.begin(), order_.end()));
}

TEST_F(BurstTest, WaitsNotYetBegunMayBeCancelledOrDestroyed) {
  WaitEngine engine(Simulated());
  on_timed_ = [this] {
    if (polled_at_.size() != 2) return;
    ASSERT_LT(order_.size(), kBurst);
    burst_[kBurst - 2].Cancel();
    burst_[kBurst - 1] = {};
  };
  StartAll(engine);

  engine.Run();

  EXPECT_THAT(order_, AllOf(SizeIs(kBurst - 2), Each(Lt(kBurst - 2))));
  EXPECT_THAT(results_.reasons(), SizeIs(kBurst));
  EXPECT_THAT(results_.reasons(), Contains(StopReason::kCancelled).Times(1));
}

TEST_F(BurstTest, WaitsNotYetBegunAreShutDown) {
  {
    WaitEngine engine(Simulated());
    StartAll(engine);
    engine.RunDue();
    ASSERT_LT(order_.size(), kBurst);
    burst_[kBurst - 1] = {};
  }

  EXPECT_THAT(results_.reports(), SizeIs(kBurst));  // One wait was destroyed.
  EXPECT_THAT(results_.reasons(),
              Contains(StopReason::kShutDown).Times(kBurst - order_.size()));
}

// Reports.

TEST_F(WaitEngineTest, BriefReportHasTheLastPollThatEndsTheWait) {
  WaitEngineOptions options = Simulated();
  options.report = ReportLevel::kLean;
  WaitEngine engine(options);
  ScriptedPoll<> script(
      clock_, {NotReady("CREATING"), Failed(absl::AbortedError("x"))});
  const WaitHandle wait =
      engine.Start(Waiter(std::ref(script), EverySecond()), results_.Take());

  engine.Run();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kFailed));
  const WaitReport& report = results_.reports()[0];
  EXPECT_THAT(report.status, StatusIs(StatusCode::kAborted,
                                      "x (wait, after 2 attempts in 1s)"));
  EXPECT_EQ(report.last_poll.error(), absl::AbortedError("x"));
  EXPECT_EQ(report.attempts, 2);
  EXPECT_EQ(report.elapsed, Seconds(1));
}

TEST_F(WaitEngineTest, ReportOfAWaitEndedInItsSleepHasTheStatusOfItsLastPoll) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    for (const bool shuts_down : {false, true}) {
      Results results;
      {
        WaitEngineOptions options = Simulated();
        options.report = level;
        WaitEngine engine(options);
        WaitHandle wait =
            engine.Start(Waiter([] { return Throttled("too many requests"); },
                                EverySecond()),
                         results.Take());
        engine.RunDue();
        clock_.AdvanceTime(Milliseconds(100));
        if (!shuts_down) wait.Cancel();
        engine.RunDue();
        wait.Detach();
      }

      ASSERT_THAT(results.reasons(),
                  ElementsAre(shuts_down ? StopReason::kShutDown
                                         : StopReason::kCancelled));
      const WaitReport& report = results.reports()[0];
      EXPECT_EQ(report.status.code(), StatusCode::kCancelled);
      EXPECT_EQ(report.attempts, 1);
      EXPECT_EQ(report.elapsed, Milliseconds(100));
      EXPECT_EQ(report.last_poll.status(), PollStatus::kThrottled);
      if (level == ReportLevel::kFull) {
        EXPECT_EQ(report.last_poll.detail(), "too many requests");
        EXPECT_THAT(std::string(report.status.message()),
                    HasSubstr("too many requests"));
        EXPECT_EQ(report.count(PollStatus::kThrottled), 1);
        EXPECT_EQ(report.slept, Milliseconds(100));
        ASSERT_TRUE(report.first_error.has_value());
        EXPECT_EQ(report.first_error->detail(), "too many requests");
      }
    }
  }
}

TEST_F(WaitEngineTest, ReportOfAWaitEndedBeforeItBeganHasNothingOfEarlierOnes) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    Results results;
    {
      WaitEngineOptions options = Simulated();
      options.report = level;
      WaitEngine engine(options);
      polls_ = 0;
      engine
          .Start(Waiter([this] { return ++polls_ == 3; }, EverySecond()),
                 [](const WaitResult<>&) {})
          .Detach();
      engine.Run();
      clock_.AdvanceTime(Seconds(10));
      engine.Start(NeverReady(), results.Take()).Detach();
    }

    ASSERT_THAT(results.reasons(), ElementsAre(StopReason::kShutDown));
    const WaitReport& report = results.reports()[0];
    EXPECT_EQ(report.attempts, 0);
    EXPECT_EQ(report.elapsed, ZeroDuration());
    EXPECT_EQ(report.slept, ZeroDuration());
    EXPECT_EQ(report.longest_poll, ZeroDuration());
    EXPECT_THAT(report.counts, Each(0));
  }
}

TEST_F(WaitEngineTest, FullReportsOfWaitsUnderWayAreKeptApart) {
  WaitEngineOptions options = Simulated();
  options.report = ReportLevel::kFull;
  WaitEngine engine(options);
  const auto succeed_after = [&](int polls) {
    engine
        .Start(Waiter([polls]() mutable { return --polls < 0; }, EverySecond()),
               results_.Take())
        .Detach();
  };
  succeed_after(2);
  succeed_after(4);

  engine.Run();

  ASSERT_THAT(results_.reports(), SizeIs(2));
  EXPECT_THAT(results_.reports()[0].counts, ElementsAre(1, 2, 0, 0, 0));
  EXPECT_THAT(results_.reports()[1].counts, ElementsAre(1, 4, 0, 0, 0));
}

TEST_F(WaitEngineTest, FullReportHasATextOfAPollWithoutAnError) {
  WaitEngineOptions options = Simulated();
  options.report = ReportLevel::kFull;
  WaitEngine engine(options);
  WaitHandle wait =
      engine.Start(Waiter([] { return NotReady("CREATING"); }, EverySecond()),
                   results_.Take());
  engine.RunDue();
  wait.Cancel();
  engine.RunDue();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(results_.reports()[0].last_poll.detail(), "CREATING");
}

TEST_F(WaitEngineTest, FullReportHasAnErrorWithoutAText) {
  WaitEngineOptions options = Simulated();
  options.report = ReportLevel::kFull;
  WaitEngine engine(options);
  ScriptedPoll<> script(clock_, {Throttled(), NotReady(), Success()});
  engine.Start(Waiter(std::ref(script), EverySecond()), results_.Take())
      .Detach();
  engine.Run();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  ASSERT_TRUE(results_.reports()[0].first_error.has_value());
  EXPECT_EQ(results_.reports()[0].first_error->status(),
            PollStatus::kThrottled);
}

TEST_F(WaitEngineTest, LeanReportHasNoTextOfAnotherWait) {
  WaitEngineOptions options = Simulated();
  options.report = ReportLevel::kLean;
  WaitEngine engine(options);
  WaitHandle silent = engine.Start(
      Waiter([] { return NotReady(); }, EverySecond()), results_.Take());
  const WaitHandle other =
      engine.Start(Waiter([] { return NotReady("CREATING"); }, EverySecond()),
                   [](const WaitResult<>&) {});
  engine.RunDue();
  silent.Cancel();
  engine.RunDue();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(results_.reports()[0].last_poll.detail(), "");
}

TEST_F(WaitEngineTest, WaitThatIsCancelledBetweenPollsHasNoneUnderWay) {
  WaitEngineOptions engine_options = Simulated();
  engine_options.report = ReportLevel::kFull;
  WaitEngine engine(engine_options);
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), results_.Take());
  engine.RunDue();
  ASSERT_GT(polls_, 0);
  wait.Cancel();
  engine.RunDue();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_THAT(std::string(results_.reports()[0].status.message()),
              Not(HasSubstr("not answered")));
}

// Observers and quotas that waits share learn of every end.

class CountsDones : public WaitObserver {
 public:
  const std::vector<StopReason>& dones() const { return dones_; }
  void OnDone(const WaitIdentity&, const WaitReport& report) override {
    dones_.push_back(report.reason);
  }

 private:
  std::vector<StopReason> dones_;
};

TEST_F(WaitEngineTest, ObserverSeesEveryEndOnce) {
  CountsDones observer;
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(observer);
  {
    WaitEngine engine(Simulated());
    const auto start = [&](PollStatus answer) {
      return engine.Start(Waiter([answer] { return answer; }, options),
                          [](const WaitResult<>&) {});
    };
    WaitHandle shut_down = start(PollStatus::kNotReady);
    WaitHandle cancelled = start(PollStatus::kNotReady);
    const WaitHandle succeeds = start(PollStatus::kSuccess);
    std::optional<WaitHandle> destroyed = start(PollStatus::kNotReady);
    options.max_attempts = 0;
    const WaitHandle invalid = start(PollStatus::kSuccess);
    engine.RunDue();
    EXPECT_THAT(observer.dones(),
                testing::UnorderedElementsAre(StopReason::kSuccess,
                                              StopReason::kInvalidOptions));
    destroyed.reset();
    engine.RunDue();
    EXPECT_THAT(observer.dones(), SizeIs(3));
    EXPECT_EQ(observer.dones().back(), StopReason::kCancelled);
    cancelled.Cancel();
    engine.RunDue();
    EXPECT_THAT(observer.dones(), SizeIs(4));
    EXPECT_EQ(observer.dones().back(), StopReason::kCancelled);
    shut_down.Detach();
  }
  EXPECT_THAT(observer.dones(), SizeIs(5));
  EXPECT_EQ(observer.dones().back(), StopReason::kShutDown);
}

// The quota refunds a poll that was paid for but not made, for any reason.
TEST_F(WaitEngineTest, QuotaRefundsWhatAnEndedWaitHadPaid) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    const std::shared_ptr<RetryQuota> quota =
        RetryQuota::Make({.capacity = 100}).value();
    WaitOptions options = EverySecond();
    options.errors.server_error_backoff = Every(Seconds(1));
    options.budgets.retry_quota = quota;
    const auto available = [&] {
      return quota->Available(clock_.MonotonicNow());
    };
    WaitEngineOptions engine_options = Simulated();
    engine_options.report = level;
    auto engine = std::make_unique<WaitEngine>(engine_options);
    const auto start = [&] {
      WaitHandle wait = engine->Start(
          Waiter([] { return PollStatus::kServerError; }, options),
          [](const WaitResult<>&) {});
      engine->RunDue();
      EXPECT_LT(available(), 100);
      return wait;
    };

    WaitHandle cancelled = start();
    cancelled.Cancel();
    engine->RunDue();
    EXPECT_EQ(available(), 100);
    { const WaitHandle destroyed = start(); }
    engine->RunDue();
    EXPECT_EQ(available(), 100);
    start().Detach();
    engine.reset();
    EXPECT_EQ(available(), 100);
  }
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

TEST_F(WaitEngineTest, EachWaitStaysOnOneOfSeveralThreads) {
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

  std::set<std::thread::id> threads;
  for (const std::vector<std::thread::id>& mine : ids) {
    EXPECT_THAT(mine, AllOf(SizeIs(6), Each(Eq(mine[0]))));
    threads.insert(mine[0]);
  }
  EXPECT_THAT(threads, SizeIs(kThreads));
}

}  // namespace
}  // namespace waiter::wait_engine_test
