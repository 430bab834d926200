// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/hook_actions.h"
#include "tests/support/joining_thread.h"
#include "tests/support/unowned.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::wait_group_test {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

// Waits for things that are ready at the given seconds; a negative one fails.
class WaitGroupTest : public testing::Test {
 protected:
  using Function = std::function<Poll<int>()>;

  std::vector<Waiter<Function>> WaitsFor(const std::vector<int>& seconds) {
    std::vector<Waiter<Function>> waits;
    waits.reserve(seconds.size());
    for (const int second : seconds) {
      waits.emplace_back(
          [this, second]() -> Poll<int> {
            ++polls_;
            if (clock_.Elapsed() < absl::Seconds(std::abs(second))) {
              return NotReady();
            }
            if (second < 0) return Failed("broken");
            return Success(second);
          },
          policy_);
    }
    return waits;
  }

  WaitGroup<int>::Callback Take() {
    return [this](const std::vector<WaitResult<int>>& results) {
      EXPECT_FALSE(ended_at_.has_value()) << "the group called back twice";
      ended_at_ = clock_.Elapsed();
      for (const WaitResult<int>& result : results) {
        reasons_.push_back(result.reason());
      }
    };
  }

  SimulatedClock clock_;
  std::shared_ptr<const WaitPolicy> policy_ =
      WaitPolicy::Make({.timeout = absl::Minutes(1),
                        .backoff = {.initial_delay = absl::Seconds(1),
                                    .max_delay = absl::Seconds(1),
                                    .jitter = Jitter::None()},
                        .clock = &clock_});
  WaitEngine engine_{
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_}};
  waiter::stop_source stop_;
  int polls_ = 0;
  std::optional<absl::Duration> ended_at_;
  std::vector<StopReason> reasons_;
};

constexpr StopReason kSuccess = StopReason::kSuccess;
constexpr StopReason kFailed = StopReason::kFailed;
constexpr StopReason kCancelled = StopReason::kCancelled;

TEST_F(WaitGroupTest, AllWaitsRunToTheirOwnEnds) {
  WaitGroup group(engine_, WaitsFor({5, -2, 3, 70}), {}, Take());
  EXPECT_FALSE(ended_at_.has_value());
  engine_.Run();

  EXPECT_THAT(reasons_,
              ElementsAre(kSuccess, kFailed, kSuccess, StopReason::kDeadline));
  EXPECT_EQ(ended_at_, absl::Minutes(1));
}

TEST_F(WaitGroupTest, FirstSuccessCancelsTheRest) {
  WaitGroup group(engine_, WaitsFor({5, -2, 3, 4}), {.successes_required = 1},
                  Take());
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kFailed, kSuccess, kCancelled));
  EXPECT_EQ(ended_at_, absl::Seconds(3));
}

TEST_F(WaitGroupTest, EnoughSuccessesCancelTheRest) {
  WaitGroup group(engine_, WaitsFor({9, 2, 7, 3, 8}), {.successes_required = 3},
                  Take());
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kSuccess, kSuccess, kSuccess,
                                    kCancelled));
  EXPECT_EQ(ended_at_, absl::Seconds(7));
}

TEST_F(WaitGroupTest, TooManyFailuresCancelTheRest) {
  WaitGroup group(engine_, WaitsFor({9, -2, 1, -4, 8}),
                  {.successes_required = 4}, Take());
  engine_.Run();

  EXPECT_THAT(reasons_,
              ElementsAre(kCancelled, kFailed, kSuccess, kFailed, kCancelled));
  EXPECT_EQ(ended_at_, absl::Seconds(4));
}

TEST_F(WaitGroupTest, ImpossibleNumberOfSuccessesEndsWithoutAPoll) {
  WaitGroup group(engine_, WaitsFor({1, 2}), {.successes_required = 3}, Take());
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kCancelled));
  EXPECT_EQ(polls_, 0);
}

TEST_F(WaitGroupTest, GroupOfACallbackEndsSoonButNotInsideTheConstructor) {
  std::optional<WaitGroup<int>> group;
  engine_
      .Start(Waiter([] { return true; }, policy_),
             [&](const WaitResult<>&) {
               group.emplace(engine_, WaitsFor({1, 2}),
                             WaitGroupOptions{.successes_required = 0}, Take());
               EXPECT_FALSE(ended_at_.has_value());
             })
      .Detach();
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kCancelled));
}

TEST_F(WaitGroupTest, EmptyGroupEndsSoonButNotInsideTheConstructor) {
  WaitGroup group(engine_, WaitsFor({}), {}, Take());
  EXPECT_FALSE(ended_at_.has_value());
  engine_.Run();

  EXPECT_EQ(ended_at_, absl::ZeroDuration());
  EXPECT_THAT(reasons_, ElementsAre());
}

TEST_F(WaitGroupTest, CancelEndsAllWaitsAndCallsBack) {
  WaitGroup group(engine_, WaitsFor({1, 50, 60}), {}, Take());
  clock_.CallAt(absl::Milliseconds(2500), [&] { group.Cancel(); });
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess, kCancelled, kCancelled));
  EXPECT_EQ(ended_at_, absl::Milliseconds(2500));
}

TEST_F(WaitGroupTest, DestroyingTheGroupEndsAllWaitsWithoutACallback) {
  auto group = std::make_unique<WaitGroup<int>>(engine_, WaitsFor({50, 60}),
                                                WaitGroupOptions{}, Take());
  clock_.CallAt(absl::Milliseconds(2500), [&] { group.reset(); });
  engine_.Run();

  EXPECT_FALSE(ended_at_.has_value());
  EXPECT_EQ(polls_, 6);
}

TEST_F(WaitGroupTest, CallbackMayDestroyTheGroup) {
  std::unique_ptr<WaitGroup<int>> group;
  const auto take = Take();
  group = std::make_unique<WaitGroup<int>>(
      engine_, WaitsFor({1, 2}), WaitGroupOptions{},
      [&](const std::vector<WaitResult<int>>& results) {
        group.reset();
        ended_at_ = clock_.Elapsed();
        EXPECT_EQ(results.size(), 2U);
      });
  engine_.Run();

  EXPECT_EQ(ended_at_, absl::Seconds(2));
}

// Where a function, a hook or a destructor acts on the group, and how.
TEST_F(WaitGroupTest, WaitsMayDestroyCancelOrDetachTheirGroup) {
  struct Acts : WaitObserver {
    void OnDone(const WaitIdentity& /*wait*/,
                const WaitReport& /*report*/) override {
      act();
    }
    std::function<void()> act;
  };
  enum class Place { kPoll, kOnDone, kDestructor, kCallback };
  enum class Action { kDestroy, kCancel, kDetach };
  for (const Place place :
       {Place::kPoll, Place::kOnDone, Place::kDestructor, Place::kCallback}) {
    for (const Action action :
         {Action::kDestroy, Action::kCancel, Action::kDetach}) {
      SCOPED_TRACE(static_cast<int>(place) * 10 + static_cast<int>(action));
      std::optional<WaitGroup<>> group;
      int calls = 0;
      int acts = 0;
      const auto act_at = [&](Place here) {
        if (place != here || acts++ != 0) return;
        if (action == Action::kDestroy) group.reset();
        if (action == Action::kCancel) group->Cancel();
        if (action == Action::kDetach) group->Detach();
      };
      Acts observer;
      observer.act = [&] { act_at(Place::kOnDone); };
      std::shared_ptr<void> capture(nullptr,
                                    [&](void*) { act_at(Place::kDestructor); });
      std::vector<Waiter<std::function<bool()>>> waits;
      waits.emplace_back(
          [&, kept = std::move(capture)] {
            act_at(Place::kPoll);
            return true;
          },
          WaitOptions{.timeout = absl::Minutes(1),
                      .hooks = {.observer = Unowned(observer)},
                      .clock = &clock_});
      waits.emplace_back([left = 5]() mutable { return left-- == 0; }, policy_);
      group.emplace(engine_, std::move(waits), WaitGroupOptions{},
                    [&](const std::vector<WaitResult<>>&) {
                      ++calls;
                      act_at(Place::kCallback);
                    });
      engine_.Run();

      EXPECT_GE(acts, 1);
      const bool is_destroyed =
          action == Action::kDestroy && place != Place::kCallback;
      EXPECT_EQ(calls, is_destroyed ? 0 : 1);
    }
  }
}

// Two waits, in whose hooks others are destroyed.
TEST_F(WaitGroupTest, HooksMayDestroyOtherWaitsAndGroups) {
  for (const Hook hook : kHooks) {
    SCOPED_TRACE(NameOf(hook));
    std::optional<WaitGroup<int>> group;
    std::optional<WaitHandle> other =
        engine_.Start(Waiter([] { return false; }, policy_),
                      [](const WaitResult<>&) { ADD_FAILURE(); });
    group.emplace(engine_, WaitsFor({50, 60}), WaitGroupOptions{},
                  [](const auto&) { ADD_FAILURE(); });
    HookWait wait(hook, &clock_, absl::Seconds(1));
    wait.action = [&] {
      other.reset();
      group.reset();
    };
    engine_.Start(wait.MakeWaiter(), wait.Take()).Detach();
    engine_.Run();

    EXPECT_FALSE(group.has_value());
    EXPECT_EQ(wait.results, 1);
    EXPECT_EQ(wait.observer->reason(), StopReason::kSuccess);
  }
}

TEST_F(WaitGroupTest, TwoGroupsMayDestroyEachOther) {
  std::array<std::optional<WaitGroup<int>>, 2> groups;
  int calls = 0;
  for (size_t i = 0; i < 2; ++i) {
    groups[i].emplace(engine_, WaitsFor({2, 1}), WaitGroupOptions{},
                      [&, i](const std::vector<WaitResult<int>>&) {
                        groups[1 - i].reset();
                        ++calls;
                      });
  }
  engine_.Run();

  EXPECT_EQ(calls, 1);
}

TEST_F(WaitGroupTest, AssignmentDestroysTheWaitsOfBefore) {
  WaitGroup<int> first(engine_, WaitsFor({50}), {}, Take());
  WaitGroup<int> group = std::move(first);
  first.Cancel();  // NOLINT: moved from, yet well-defined
  first.Detach();
  engine_.RunDue();

  group = WaitGroup<int>(engine_, WaitsFor({2}), {}, Take());
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess));
  EXPECT_EQ(ended_at_, absl::Seconds(2));
}

TEST_F(WaitGroupTest, GroupOutlivesTheEngine) {
  std::optional<WaitEngine> engine(
      WaitEngineOptions{.threads = 0, .clock = &clock_});
  WaitGroup<int> group(*engine, WaitsFor({1, 2}), {}, Take());
  WaitGroup<int> other(*engine, WaitsFor({1}), {}, [](const auto&) {});
  engine.reset();

  EXPECT_THAT(reasons_,
              ElementsAre(StopReason::kShutDown, StopReason::kShutDown));
  group.Cancel();
  other = std::move(group);
  other.Cancel();
  other.Detach();
}

TEST_F(WaitGroupTest, ExceptionOfTheCallbackGoesToTheHook) {
  int thrown = 0;
  WaitEngine engine(
      {.threads = 0,
       .on_callback_exception = [&](const std::exception_ptr&) { ++thrown; },
       .clock = &clock_});
  const WaitGroup<int> group(
      engine, WaitsFor({0, 1}), {},
      [](const std::vector<WaitResult<int>>&) { throw 42; });
  engine.Run();

  EXPECT_EQ(thrown, 1);
}

TEST_F(WaitGroupTest, ExecutorThatDropsEveryPollLetsTheGroupEnd) {
  WaitEngine engine({.threads = 0,
                     .executor = [](const absl::AnyInvocable<void()>&) {},
                     .clock = &clock_});
  const WaitGroup<int> group(engine, WaitsFor({1, 2}), {}, Take());
  engine.Run();

  EXPECT_THAT(reasons_, ElementsAre(kFailed, kFailed));
}

// A stop callback of a poll may do anything in the thread that cancels the
// group, or whose wait decides the group.
TEST_F(WaitGroupTest, CancelWakesPollsThatUseTheGroup) {
  for (const bool by_success : {false, true}) {
    for (const bool destroys : {false, true}) {
      SCOPED_TRACE(destroys);
      std::optional<WaitGroup<>> group;
      std::unique_ptr<waiter::stop_callback<std::function<void()>>> on_stop;
      int called_back = 0;
      std::vector<AsyncWaiter<
          std::function<void(const PollContext&, PollCompletion<>)>>>
          waits;
      waits.emplace_back(
          [&](const PollContext& context, const PollCompletion<>& done) {
            if (on_stop != nullptr) return;
            on_stop =
                std::make_unique<waiter::stop_callback<std::function<void()>>>(
                    context.stop_token, [&, done] {
                      if (destroys) {
                        group.reset();
                      } else {
                        group->Cancel();
                        done(Failed("stopped"));
                      }
                    });
          },
          policy_);
      waits.emplace_back(
          [&](const PollContext&, const PollCompletion<>& done) {
            done(by_success ? Success() : NotReady());
          },
          policy_);
      group.emplace(engine_, std::move(waits),
                    WaitGroupOptions{.successes_required = 1},
                    [&](const std::vector<WaitResult<>>&) { ++called_back; });
      engine_.RunDue();
      if (!by_success) group->Cancel();
      engine_.Run();

      EXPECT_EQ(called_back, destroys ? 0 : 1);
      on_stop.reset();
    }
  }
}

// The first call has come halfway, and notifies a poll.
TEST_F(WaitGroupTest, NoPollStartsAfterACancelInsideAnother) {
  std::optional<WaitGroup<>> group;
  std::array<std::optional<waiter::stop_callback<std::function<void()>>>, 2>
      on_stop;
  int polls = 0;
  int depth = 0;
  bool has_run = false;
  std::vector<
      AsyncWaiter<std::function<void(const PollContext&, PollCompletion<>)>>>
      waits;
  waits.reserve(on_stop.size() + 1);
  for (auto& callback : on_stop) {
    waits.emplace_back(
        [&](const PollContext& context, const PollCompletion<>& done) {
          callback.emplace(context.stop_token, [&, done] {
            EXPECT_EQ(++depth, 1) << "polls are notified inside each other";
            group->Cancel();
            --depth;
            done(Failed("stopped"));
            if (std::exchange(has_run, true)) return;
            const int before = polls;
            clock_.AdvanceTime(absl::Seconds(2));
            engine_.RunDue();
            EXPECT_EQ(polls, before);
          });
        },
        policy_);
  }
  waits.emplace_back(
      [&](const PollContext&, const PollCompletion<>& done) {
        ++polls;
        done(NotReady());
      },
      policy_);
  group.emplace(engine_, std::move(waits), WaitGroupOptions(),
                [](const std::vector<WaitResult<>>&) {});
  engine_.RunDue();
  group->Cancel();
  engine_.Run();

  EXPECT_EQ(polls, 1);
}

TEST_F(WaitGroupTest, DetachedGroupRunsToItsCallback) {
  WaitGroup(engine_, WaitsFor({1, 2}), {}, Take()).Detach();
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess, kSuccess));
}

TEST_F(WaitGroupTest, StopEndsThePendingWaits) {
  clock_.CallAt(absl::Milliseconds(2500), [&] { stop_.request_stop(); });
  const WaitGroup group(engine_, WaitsFor({1, -2, 50, 60}),
                        {.stop = stop_.get_token()}, Take());
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess, kFailed, kCancelled, kCancelled));
  EXPECT_EQ(ended_at_, absl::Milliseconds(2500));
}

TEST_F(WaitGroupTest, StopBeforeTheGroupPreventsEveryPoll) {
  stop_.request_stop();
  const WaitGroup group(engine_, WaitsFor({0, 1}),
                        {.stop = stop_.get_token(), .names = {"a"}}, Take());
  EXPECT_FALSE(ended_at_.has_value());
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kCancelled));
  EXPECT_EQ(polls_, 0);
}

TEST_F(WaitGroupTest, StopAfterTheEndHasNoEffect) {
  const WaitGroup group(engine_, WaitsFor({1, 2}), {.stop = stop_.get_token()},
                        Take());
  engine_.Run();
  stop_.request_stop();
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess, kSuccess));
}

TEST_F(WaitGroupTest, StopEndsADetachedGroupAndNotADestroyedOne) {
  clock_.CallAt(absl::Milliseconds(2500), [&] { stop_.request_stop(); });
  WaitGroup(engine_, WaitsFor({50}), {.stop = stop_.get_token()}, Take())
      .Detach();
  (void)WaitGroup<int>(
      engine_, WaitsFor({50}), {.stop = stop_.get_token()},
      [](const auto&) { ADD_FAILURE() << "was destroyed before"; });
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled));
  EXPECT_EQ(ended_at_, absl::Milliseconds(2500));
}

TEST_F(WaitGroupTest, PollThatRequestsTheStopStillWins) {
  std::vector<Waiter<Function>> waits = WaitsFor({5});
  waits.emplace_back(
      [&]() -> Poll<int> {
        stop_.request_stop();
        return Success(7);
      },
      policy_);
  const auto group =
      All(engine_, std::move(waits), Take(), {.stop = stop_.get_token()});
  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kSuccess));
}

TEST_F(WaitGroupTest, CallbackMayRequestTheStopAndDestroyTheGroup) {
  int called_back = 0;
  std::optional<WaitGroup<int>> group;
  group.emplace(engine_, WaitsFor({1, 2}),
                WaitGroupOptions{.stop = stop_.get_token()},
                [&](const std::vector<WaitResult<int>>&) {
                  ++called_back;
                  stop_.request_stop();
                  group.reset();
                });
  engine_.Run();

  EXPECT_EQ(called_back, 1);
}

TEST_F(WaitGroupTest, MessagesHaveTheNamesOfTheWaits) {
  std::vector<std::string> messages;
  const auto group =
      FirstN(3, engine_, WaitsFor({9, -2, 1, 8}),
             [&](const std::vector<WaitResult<int>>& results) {
               for (const WaitResult<int>& result : results) {
                 messages.emplace_back(result.status().message());
               }
             },
             {.successes_required = 1, .names = {"db-1", "db-2", "db-3"}});
  clock_.CallAt(absl::Milliseconds(2500), [&] { stop_.request_stop(); });
  const WaitGroup other(
      engine_, WaitsFor({50, 50}),
      {.stop = stop_.get_token(), .names = {"", "db-6", "not a wait"}},
      [&](const std::vector<WaitResult<int>>& results) {
        for (const WaitResult<int>& result : results) {
          messages.emplace_back(result.status().message());
        }
      });
  engine_.Run();

  EXPECT_THAT(messages,
              ElementsAre(StartsWith("wait: stop requested after 3 attempts"),
                          StartsWith("db-6: stop requested after 3 attempts"),
                          "", "broken (db-2, after 3 attempts in 2s)", "", ""));
}

// A function blocks on the thread of the engine, while another one destroys the
// group.
TEST(WaitGroupThreadTest, DestroyingTheGroupAwaitsItsFunctions) {
  for (const bool in_callback : {false, true}) {
    WaitEngine engine({.threads = 2});
    std::latch inside(1);
    std::atomic<bool> destroying = false;
    std::atomic<bool> returned = false;
    const auto block = [&] {
      inside.count_down();
      while (!destroying) std::this_thread::yield();
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
      returned = true;
    };
    std::vector<Waiter<std::function<bool()>>> waits;
    waits.reserve(3);
    for (int i = 0; i < 3; ++i) {
      waits.emplace_back(
          [&, blocks = !in_callback && i == 2] {
            if (blocks) block();
            return true;
          },
          absl::Hours(1));
    }
    std::optional<WaitGroup<>> group;
    group.emplace(engine, std::move(waits), WaitGroupOptions{},
                  [&](const std::vector<WaitResult<>>&) {
                    if (in_callback) block();
                  });
    inside.wait();
    group->Cancel();
    destroying = true;
    group.reset();

    EXPECT_TRUE(returned);
  }
}

TEST(WaitGroupThreadTest, WaitsOnSeveralThreadsEndOnce) {
  WaitEngine engine({.threads = 3, .tick = absl::Microseconds(100)});
  const auto policy =
      WaitPolicy::Make({.timeout = absl::Minutes(1),
                        .backoff = {.initial_delay = absl::Microseconds(100),
                                    .max_delay = absl::Microseconds(300)}});
  for (int round = 0; round < 30; ++round) {
    std::vector<Waiter<std::function<bool()>>> waits;
    waits.reserve(40);
    for (int i = 0; i < 40; ++i) {
      waits.emplace_back([polls = 0, i]() mutable { return ++polls > i % 5; },
                         policy);
    }
    std::mutex mutex;
    std::condition_variable done;
    std::vector<WaitResult<>> got;
    WaitGroup group(engine, std::move(waits), {.successes_required = 20},
                    [&](std::vector<WaitResult<>> results) {
                      const std::lock_guard lock(mutex);
                      got = std::move(results);
                      done.notify_one();
                    });
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return !got.empty(); });

    EXPECT_EQ(got.size(), 40U);
    EXPECT_GE(std::count_if(got.begin(), got.end(),
                            [](const auto& result) { return result.ok(); }),
              20);
  }
}

// The request meets waits that have not begun, polls, sleep and end.
TEST(WaitGroupThreadTest, StopOfAnotherThreadEndsEachGroupOnce) {
  WaitEngine engine({.threads = 2, .tick = absl::Microseconds(100)});
  const auto policy =
      WaitPolicy::Make({.timeout = absl::Minutes(1),
                        .backoff = {.initial_delay = absl::Microseconds(100),
                                    .max_delay = absl::Microseconds(300)}});
  for (int round = 0; round < 200; ++round) {
    waiter::stop_source stop;
    std::vector<Waiter<std::function<bool()>>> waits;
    waits.reserve(20);
    for (int i = 0; i < 20; ++i) {
      waits.emplace_back(
          [polls = 0, i]() mutable { return ++polls > i && i < 10; }, policy);
    }
    std::vector<WaitResult<>> got;
    std::atomic<int> called_back = 0;
    {
      const JoiningThread stopper([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(round * 5));
        stop.request_stop();
      });
      WaitGroup(engine, std::move(waits),
                {.stop = stop.get_token(), .names = {"first"}},
                [&](std::vector<WaitResult<>> results) {
                  got = std::move(results);
                  ++called_back;
                })
          .Detach();
    }
    while (called_back == 0) std::this_thread::yield();

    EXPECT_EQ(called_back, 1);
    ASSERT_EQ(got.size(), 20U);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(got[i].reason() == kCancelled || (got[i].ok() && i < 10))
          << i << ": " << got[i].report();
    }
  }
}

TEST_F(WaitGroupTest, AllEndsWithTheFirstThatFails) {
  const auto group = All(engine_, WaitsFor({1, -2, 30}), Take());
  engine_.Run();

  EXPECT_EQ(ended_at_, absl::Seconds(2));
  EXPECT_THAT(reasons_, ElementsAre(StopReason::kSuccess, StopReason::kFailed,
                                    StopReason::kCancelled));
}

TEST_F(WaitGroupTest, AnyEndsWithTheFirstThatSucceeds) {
  const auto group = Any(engine_, WaitsFor({-1, 2, 30}), Take());
  engine_.Run();

  EXPECT_EQ(ended_at_, absl::Seconds(2));
  EXPECT_THAT(reasons_, ElementsAre(StopReason::kFailed, StopReason::kSuccess,
                                    StopReason::kCancelled));
}

TEST_F(WaitGroupTest, FirstNEndsWithTheNthThatSucceeds) {
  const auto group = FirstN(2, engine_, WaitsFor({1, -2, 3, 30}), Take());
  engine_.Run();

  EXPECT_EQ(ended_at_, absl::Seconds(3));
  EXPECT_THAT(reasons_,
              ElementsAre(StopReason::kSuccess, StopReason::kFailed,
                          StopReason::kSuccess, StopReason::kCancelled));
}

// The policy of the given waits is made before the call of `ObserveEveryWait`,
// so the only policy made after it belongs to the group's own wait.
TEST(WaitGroupObserverTest, WaitOfTheGroupItselfIsNotObserved) {
  class Starts : public WaitObserver {
   public:
    void OnStart(const StartEvent& /*start*/) override { ++count; }
    int count = 0;
  };
  WaitEngine engine({.threads = 0});
  std::vector<Waiter<std::function<bool()>>> waits;
  waits.emplace_back([] { return true; }, WaitPolicy::Make({}));
  std::optional<size_t> results;
  const auto starts = std::make_shared<Starts>();
  ObserveEveryWait(starts);
  const WaitGroup group(
      engine, std::move(waits), WaitGroupOptions{},
      [&](const std::vector<WaitResult<>>& got) { results = got.size(); });
  ObserveEveryWait(nullptr);
  engine.Run();

  EXPECT_EQ(results, 1);
  EXPECT_EQ(starts->count, 0);
}

}  // namespace
}  // namespace waiter::wait_group_test
