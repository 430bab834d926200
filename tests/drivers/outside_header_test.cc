// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests every sentence of the comments in the headers through which others
// watch a wait, hurry it and clean up after it.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/first_seed.h"
#include "tests/support/joining_thread.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::outside_header_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Checks that the hooks of one wait come in the order of the header.
class OrderChecker : public WaitObserver {
 public:
  ~OrderChecker() override { EXPECT_EQ(state_, State::kDone); }

  void OnStart(const StartEvent& start) override {
    EXPECT_EQ(state_, State::kNew);
    EXPECT_NE(start.wait.id, 0U);
    id_ = start.wait.id;
    first_delay_ = start.first_poll_delay;
    timeout = start.timeout;
    state_ = State::kStarted;
  }
  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override {
    Check(wait);
    EXPECT_TRUE(state_ == State::kStarted || state_ == State::kSlept ||
                state_ == State::kAtOnce);
    if (attempt == 1 && first_delay_ > absl::ZeroDuration() &&
        timeout > absl::ZeroDuration()) {
      EXPECT_EQ(state_, State::kSlept);
    }
    EXPECT_EQ(attempt, ++attempts);
    state_ = State::kPolls;
  }
  void AfterPoll(const PollEvent& poll) override {
    Check(poll.wait);
    EXPECT_EQ(state_, State::kPolls);
    EXPECT_EQ(poll.attempt, attempts);
    EXPECT_GE(poll.took, absl::ZeroDuration());
    EXPECT_GE(poll.elapsed, elapsed_);
    EXPECT_LE(poll.took, poll.elapsed);
    elapsed_ = poll.elapsed;
    if (!poll.answered) {
      ++unanswered;
      EXPECT_EQ(poll.found.status(), PollStatus::kFailed);
      EXPECT_FALSE(poll.found.error().ok());
      error_ = poll.found.error();
    }
    answered_ = poll.answered;
    state_ = State::kPolled;
  }
  void OnDecision(const DecisionEvent& decision) override {
    Check(decision.poll.wait);
    EXPECT_EQ(state_, State::kPolled);
    EXPECT_NE(decision.reason.has_value(), decision.ended.has_value());
    EXPECT_GE(decision.delay, absl::ZeroDuration());
    EXPECT_EQ(decision.poll.attempt, attempts);
    EXPECT_EQ(decision.poll.answered, answered_);
    ended_ = decision.ended;
    if (decision.ended.has_value()) {
      EXPECT_EQ(decision.delay, absl::ZeroDuration());
      state_ = State::kEnding;
    } else if (decision.delay > absl::ZeroDuration()) {
      delay_ = decision.delay;
      state_ = State::kWillSleep;
    } else {
      state_ = State::kAtOnce;
    }
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    Check(sleep.wait);
    EXPECT_EQ(sleep.attempt, attempts);
    EXPECT_GT(sleep.delay, absl::ZeroDuration());
    EXPECT_NE(SleepReasonName(sleep.reason), "");
    if (state_ == State::kWillSleep) {
      EXPECT_EQ(sleep.delay, delay_);
    } else if (state_ == State::kSlept) {
      EXPECT_TRUE(sleep.reason == SleepReason::kRateLimit) << sleeps;
    } else if (state_ == State::kStarted) {
      // The deadline may come before the end of the first delay.
      EXPECT_TRUE(sleep.reason == SleepReason::kFirstPollDelay ||
                  sleep.reason == SleepReason::kFinalPoll);
    } else {
      ADD_FAILURE() << "a sleep in state " << static_cast<int>(state_);
    }
    ++sleeps;
    state_ = State::kSlept;
  }
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override {
    Check(wait);
    EXPECT_NE(state_, State::kNew);
    EXPECT_NE(state_, State::kPolls);
    EXPECT_NE(state_, State::kPolled);
    EXPECT_NE(state_, State::kDone);
    if (state_ == State::kEnding) {
      EXPECT_EQ(report.reason, ended_);
    }
    if (attempts > 0 && !answered_) {
      EXPECT_EQ(error_, report.status);
    }
    reason = report.reason;
    state_ = State::kDone;
  }

  int64_t attempts = 0;
  int sleeps = 0;
  int unanswered = 0;
  absl::Duration timeout;
  std::optional<StopReason> reason;

 private:
  enum class State {
    kNew,
    kStarted,
    kPolls,
    kPolled,
    kWillSleep,
    kAtOnce,
    kEnding,
    kSlept,
    kDone
  };
  void Check(const WaitIdentity& wait) const {
    EXPECT_EQ(wait.id, id_);
    EXPECT_FALSE(wait.name.empty());
  }

  State state_ = State::kNew;
  uint64_t id_ = 0;
  bool answered_ = true;
  absl::Status error_;
  absl::Duration first_delay_;
  absl::Duration elapsed_;
  absl::Duration delay_;
  std::optional<StopReason> ended_;
};

// Calls a function in one hook, the first `times` times.
enum class Hook { kStart, kBeforePoll, kAfterPoll, kDecision, kSleep, kDone };
constexpr std::array kHooks = {Hook::kStart,     Hook::kBeforePoll,
                               Hook::kAfterPoll, Hook::kDecision,
                               Hook::kSleep,     Hook::kDone};

class CallAtHook : public WaitObserver {
 public:
  CallAtHook(Hook hook, std::function<void()> function, int times = 1)
      : hook_(hook), function_(std::move(function)), times_(times) {}

  void OnStart(const StartEvent&) override { Call(Hook::kStart); }
  void BeforePoll(const WaitIdentity&, int64_t) override {
    Call(Hook::kBeforePoll);
  }
  void AfterPoll(const PollEvent&) override { Call(Hook::kAfterPoll); }
  void OnDecision(const DecisionEvent&) override { Call(Hook::kDecision); }
  void BeforeSleep(const SleepEvent&) override { Call(Hook::kSleep); }
  void OnDone(const WaitIdentity&, const WaitReport&) override {
    Call(Hook::kDone);
  }

 private:
  void Call(Hook hook) {
    if (hook == hook_ && times_-- > 0) function_();
  }

  Hook hook_;
  std::function<void()> function_;
  int times_;
};

std::shared_ptr<WaitObserver> Both(std::shared_ptr<WaitObserver> first,
                                   std::shared_ptr<WaitObserver> second) {
  return std::make_shared<ObserverList>(
      std::vector<std::shared_ptr<WaitObserver>>{std::move(first),
                                                 std::move(second)});
}

class OutsideTest : public EngineFixture {
 protected:
  WaitOptions Watched(const std::shared_ptr<WaitObserver>& observer) {
    WaitOptions options = EverySecond();
    options.hooks.observer = observer;
    return options;
  }
};

TEST_F(OutsideTest, HooksComeInOrderWhateverAnswersAndOptions) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t i = 0; i < 400; ++i) {
    SCOPED_TRACE(first_seed + i);
    std::minstd_rand gen(static_cast<unsigned>(first_seed + i));
    const auto chance = [&](unsigned of) { return gen() % of == 0; };
    const auto checker = std::make_shared<OrderChecker>();
    WaitOptions options = Watched(checker);
    options.timeout = absl::Seconds(gen() % 30);
    if (chance(4)) options.max_attempts = gen() % 5;
    if (chance(4)) options.polls.first_delay = absl::Seconds(2);
    if (chance(4)) options.confirm.hold_for = absl::Seconds(3);
    if (chance(4)) options.confirm.successes = 2;
    if (chance(4)) options.backoff = {};
    if (chance(4)) options.polls.strict_deadline = true;
    if (chance(4)) options.polls.last_lead = absl::Seconds(1);
    if (chance(5)) options.backoff = Every(absl::ZeroDuration());
    if (chance(4)) {
      options.budgets.retry_quota = *RetryQuota::Make(
          {.capacity = 20,
           .refill_per_second = 1,
           .when_spent = chance(2) ? RetryQuotaOptions::WhenSpent::kWait
                                   : RetryQuotaOptions::WhenSpent::kRefuse});
    }
    int polls = 0;
    const auto answer = [&]() -> Poll<> {
      if (++polls > 500) return Failed();
      if (chance(20)) throw std::runtime_error("no");
      if (chance(5)) clock_.AdvanceTime(absl::Seconds(2));
      switch (gen() % 8) {
        case 0:
          return Success();
        case 1:
          return Throttled();
        case 2:
          return ServerError("x", absl::Seconds(gen() % 5));
        case 3:
          return chance(4) ? Failed() : NotReady();
        default:
          return NotReady();
      }
    };
    if (chance(2)) {
      try {
        const WaitReport report = Waiter(answer, options).Wait().report();
        EXPECT_EQ(report.reason, checker->reason);
        EXPECT_EQ(report.attempts, checker->attempts);
      } catch (const std::runtime_error&) {
        EXPECT_EQ(checker->reason, StopReason::kFailed);
        EXPECT_EQ(checker->unanswered, 1);
      }
    } else {
      WaitEngine engine(Simulated());
      WaitHandle handle =
          engine.Start(Waiter(answer, options), [](WaitResult<>) {});
      if (chance(3)) {
        engine.RunDue();
        handle.PollNow();
      }
      if (chance(5)) handle.Cancel();
      if (chance(5)) handle = WaitHandle();
      if (!chance(5)) engine.Run();
    }
  }
}

TEST_F(OutsideTest, AnAsynchronousPollWithoutAnswerHasAllItsHooks) {
  enum class End { kCancel, kDestroy, kShutDown, kDeadline, kThrow };
  for (const End end : {End::kCancel, End::kDestroy, End::kShutDown,
                        End::kDeadline, End::kThrow}) {
    SCOPED_TRACE(static_cast<int>(end));
    const auto checker = std::make_shared<OrderChecker>();
    std::vector<PollCompletion<>> kept;
    {
      WaitEngine engine(Simulated());
      WaitHandle handle = engine.Start(AsyncWaiter(
                                           [&](PollCompletion<> done) {
                                             kept.push_back(done);
                                             if (end == End::kThrow) {
                                               done(Success());
                                               throw std::runtime_error("no");
                                             }
                                           },
                                           Watched(checker)),
                                       [](WaitResult<>) {});
      engine.RunDue();
      if (end == End::kCancel) handle.Cancel();
      if (end == End::kDestroy) handle = WaitHandle();
      if (end == End::kDeadline) engine.Run();
      if (end != End::kShutDown) engine.RunDue();
      if (end != End::kShutDown) {
        EXPECT_TRUE(checker->reason.has_value());
      }
    }
    EXPECT_EQ(checker->attempts, 1);
    EXPECT_EQ(checker->unanswered, 1);
    kept.at(0)(Success());
  }
}

TEST_F(OutsideTest, TheTimeoutOfAStartIsInfiniteForWaitsThatNeverBegin) {
  auto checker = std::make_shared<OrderChecker>();
  WaitOptions invalid = Watched(checker);
  invalid.max_attempts = 0;
  (void)Waiter([] { return true; }, invalid).Wait();
  EXPECT_EQ(checker->timeout, absl::InfiniteDuration());
  EXPECT_EQ(checker->reason, StopReason::kInvalidOptions);

  checker = std::make_shared<OrderChecker>();
  {
    WaitEngine engine(Simulated());
    WaitHandle handle = engine.Start(
        Waiter([] { return true; }, Watched(checker)), [](WaitResult<>) {});
    handle = WaitHandle();
    engine.RunDue();
    EXPECT_EQ(checker->timeout, absl::InfiniteDuration());
    EXPECT_EQ(checker->reason, StopReason::kCancelled);
  }

  checker = std::make_shared<OrderChecker>();
  WaitOptions both = Watched(checker);
  both.timeout = absl::Hours(2);
  both.deadline = clock_.TimeNow() + absl::Hours(1);
  (void)Waiter([] { return true; }, both).Wait();
  EXPECT_EQ(checker->timeout, absl::Hours(1));

  checker = std::make_shared<OrderChecker>();
  both = Watched(checker);
  both.timeout = -absl::Seconds(5);
  (void)Waiter([] { return true; }, both).Wait();
  EXPECT_LE(checker->timeout, absl::ZeroDuration());
}

TEST_F(OutsideTest, IdsAreUniqueOverThreadsAndDrivers) {
  class Ids : public WaitObserver {
   public:
    void OnStart(const StartEvent& start) override {
      const std::lock_guard<std::mutex> lock(mutex);
      EXPECT_TRUE(ids.insert(start.wait.id).second);
      EXPECT_NE(start.wait.id, 0U);
    }
    std::mutex mutex;
    std::set<uint64_t> ids;
  };
  const auto ids = std::make_shared<Ids>();
  {
    WaitEngine engine({.threads = 2});
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        WaitOptions options = EverySecond();
        options.clock = nullptr;
        options.hooks.observer = ids;
        const auto policy = WaitPolicy::Make(options);
        for (int j = 0; j < 100; ++j) {
          (void)Waiter([] { return true; }, policy).Wait();
          engine.Start(Waiter([] { return true; }, policy), [](WaitResult<>) {})
              .Detach();
        }
      });
    }
  }
  EXPECT_THAT(ids->ids, SizeIs(600));
}

TEST_F(OutsideTest, AStopRequestedInAHookEndsTheWaitWhenTheHeaderSays) {
  for (const bool engine_drives : {false, true}) {
    for (const Hook hook : kHooks) {
      SCOPED_TRACE(static_cast<int>(hook));
      stop_source stop;
      WaitHandle handle;
      const auto checker = std::make_shared<OrderChecker>();
      const auto request = std::make_shared<CallAtHook>(hook, [&] {
        stop.request_stop();
        handle.Cancel();
      });
      polls_ = 0;
      const absl::Duration start = clock_.Elapsed();
      Waiter wait([&] { return CountPoll(false); },
                  Watched(Both(checker, request)));
      if (engine_drives) {
        WaitEngine engine(Simulated());
        handle = engine.Start(std::move(wait), [](WaitResult<>) {});
        engine.Run();
      } else {
        (void)wait.Wait(stop.get_token());
      }
      EXPECT_EQ(checker->reason, hook == Hook::kDone ? StopReason::kDeadline
                                                     : StopReason::kCancelled);
      if (hook == Hook::kDone) continue;
      EXPECT_EQ(polls_, hook == Hook::kStart ? 0 : 1);
      EXPECT_EQ(clock_.Elapsed(), start);
    }
  }
}

TEST_F(OutsideTest, AStopInADecisionWithoutDelayComesAfterTheNextPoll) {
  stop_source stop;
  WaitOptions options = Watched(std::make_shared<CallAtHook>(
      Hook::kDecision, [&] { stop.request_stop(); }));
  options.backoff = Every(absl::ZeroDuration());
  const WaitResult<> result =
      Waiter([&] { return CountPoll(false); }, options).Wait(stop.get_token());
  EXPECT_EQ(result.reason(), StopReason::kCancelled);
  EXPECT_EQ(polls_, 2);
}

TEST_F(OutsideTest, AStopInBeforePollOnAnExecutorComesBeforeThePoll) {
  WaitEngineOptions engine_options = Simulated();
  std::vector<absl::AnyInvocable<void()>> posted;
  engine_options.executor = [&](absl::AnyInvocable<void()> poll) {
    posted.push_back(std::move(poll));
  };
  WaitEngine engine(engine_options);
  WaitHandle handle;
  handle =
      engine.Start(Waiter([&] { return CountPoll(true); },
                          Watched(std::make_shared<CallAtHook>(
                              Hook::kBeforePoll, [&] { handle.Cancel(); }))),
                   results_.Take());
  engine.RunDue();
  for (auto& poll : posted) poll();
  engine.RunDue();
  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(OutsideTest, AnyHookMayDestroyTheHandleAndDropTheObserver) {
  for (const bool full : {true, false}) {
    for (const bool on_executor : {false, true}) {
      for (const Hook hook : kHooks) {
        SCOPED_TRACE(static_cast<int>(hook));
        WaitEngineOptions engine_options = Simulated();
        engine_options.report = full ? ReportLevel::kFull : ReportLevel::kLean;
        if (on_executor) {
          engine_options.executor = [](absl::AnyInvocable<void()> poll) {
            poll();
          };
        }
        const auto checker = std::make_shared<OrderChecker>();
        bool called_back = false;
        {
          WaitEngine engine(engine_options);
          std::optional<WaitHandle> handle;
          std::shared_ptr<WaitObserver> owner;
          owner = Both(checker, std::make_shared<CallAtHook>(hook, [&] {
                         owner = nullptr;
                         handle.reset();
                       }));
          ScriptedPoll<> script(
              clock_, {NotReady("a text that is long enough"), Success()});
          handle.emplace(engine.Start(
              Waiter([&] { return script(); }, Watched(owner)),
              [&, token = token_](WaitResult<>) { called_back = true; }));
          engine.Run();
          EXPECT_EQ(held(), 0);
        }
        EXPECT_TRUE(checker->reason.has_value());
        if (hook != Hook::kDone) {
          EXPECT_FALSE(called_back);
          EXPECT_EQ(checker->reason, StopReason::kCancelled);
        }
      }
    }
  }
}

TEST_F(OutsideTest, AnyHookMayStartWaits) {
  for (const Hook hook : kHooks) {
    SCOPED_TRACE(static_cast<int>(hook));
    WaitEngine engine(Simulated());
    int inner = 0;
    const auto checker = std::make_shared<OrderChecker>();
    ScriptedPoll<> script(clock_, {NotReady(), Success()});
    engine
        .Start(
            Waiter(std::ref(script),
                   Watched(Both(checker,
                                std::make_shared<CallAtHook>(
                                    hook,
                                    [&] {
                                      for (int i = 0; i < 1000; ++i) {
                                        engine
                                            .Start(
                                                Waiter([] { return true; },
                                                       EverySecond()),
                                                [&](WaitResult<>) { ++inner; })
                                            .Detach();
                                      }
                                      EXPECT_TRUE(Waiter([] { return true; },
                                                         EverySecond())
                                                      .Wait()
                                                      .ok());
                                    })))),
            results_.Take())
        .Detach();
    engine.Run();
    EXPECT_EQ(inner, 1000);
    EXPECT_EQ(checker->reason, StopReason::kSuccess);
  }
}

TEST_F(OutsideTest, AnExceptionOfAHookTerminates) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const Hook hook : kHooks) {
    ScriptedPoll<> script(clock_, {NotReady(), Success()});
    EXPECT_DEATH(
        {
          try {
            (void)Waiter(std::ref(script),
                         Watched(std::make_shared<CallAtHook>(
                             hook, [] { throw std::runtime_error("hook"); })))
                .Wait();
          } catch (const std::runtime_error&) {
          }
        },
        "");
  }
}

TEST_F(OutsideTest, AnObserverListSkipsNullsAndKeepsItsOrder) {
  std::string calls;
  const auto named = [&](char name) {
    return std::make_shared<CallAtHook>(
        Hook::kStart, [&calls, name] { calls += name; }, 100);
  };
  using Observers = std::vector<std::shared_ptr<WaitObserver>>;
  const auto run = [&](Observers observers) {
    calls.clear();
    (void)Waiter([] { return true; },
                 Watched(std::make_shared<ObserverList>(std::move(observers))))
        .Wait();
    return calls;
  };
  EXPECT_EQ(run({}), "");
  EXPECT_EQ(run({nullptr, nullptr}), "");
  EXPECT_EQ(run({nullptr, named('a'), nullptr, named('b')}), "ab");
  const auto twice = named('c');
  EXPECT_EQ(run({twice, twice, Both(named('d'), nullptr)}), "ccd");
}

TEST_F(OutsideTest, ObserveEveryWaitWatchesWaitsMadeFromThenOnFirst) {
  std::string calls;
  const auto named = [&](char name) {
    return std::make_shared<CallAtHook>(
        Hook::kStart, [&calls, name] { calls += name; }, 100);
  };
  Waiter before([] { return true; }, Watched(named('o')));
  const auto policy_before = WaitPolicy::Make(EverySecond());
  ObserveEveryWait(named('1'));
  Waiter first([] { return true; }, Watched(named('o')));
  Waiter shared([] { return true; }, policy_before);
  ObserveEveryWait(named('2'));
  Waiter second([] { return true; }, EverySecond());
  ObserveEveryWait(nullptr);
  Waiter after([] { return true; }, Watched(named('p')));
  (void)before.Wait();
  (void)shared.Wait();
  EXPECT_EQ(calls, "o");
  (void)first.Wait();
  EXPECT_EQ(calls, "o1o");
  (void)second.Wait();
  (void)after.Wait();
  EXPECT_EQ(calls, "o1o2p");
}

TEST_F(OutsideTest, TheWaitsAloneKeepAnObserverThatWasReplacedInItsOwnHook) {
  std::weak_ptr<WaitObserver> weak;
  int done = 0;
  {
    auto observer = std::make_shared<CallAtHook>(
        Hook::kStart, [] { ObserveEveryWait(nullptr); });
    weak = observer;
    ObserveEveryWait(std::move(observer));
    WaitEngine engine(Simulated());
    engine
        .Start(Waiter([] { return true; }, EverySecond()),
               [&](WaitResult<>) { ++done; })
        .Detach();
    EXPECT_FALSE(weak.expired());
    engine.Run();
  }
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(weak.expired());
}

// Calls back into the registry when it is destroyed.
class ReplacesAtEnd : public WaitObserver {
 public:
  ~ReplacesAtEnd() override {
    (void)Waiter([] { return true; }, absl::Seconds(1)).Wait();
    ObserveEveryWait(nullptr);
  }
};

TEST_F(OutsideTest, AnObserverThatIsReplacedMayMakeWaitsAsItGoes) {
  ObserveEveryWait(std::make_shared<ReplacesAtEnd>());
  ObserveEveryWait(std::make_shared<CallAtHook>(Hook::kStart, [] {}));
  ObserveEveryWait(std::make_shared<ReplacesAtEnd>());
  ObserveEveryWait(nullptr);
}

TEST_F(OutsideTest, ObserversAreReplacedWhileThreadsMakeWaits) {
  std::atomic<int> alive = 0;
  class Counted : public WaitObserver {
   public:
    explicit Counted(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
    ~Counted() override {
      --alive_;
      EXPECT_EQ(pending_, 0);
    }
    void OnStart(const StartEvent&) override { ++pending_; }
    void OnDone(const WaitIdentity&, const WaitReport&) override { --pending_; }

   private:
    std::atomic<int>& alive_;
    std::atomic<int> pending_ = 0;
  };
  {
    WaitEngine engine({.threads = 1});
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 2000; ++j) {
          ObserveEveryWait(j % 3 == 0 ? nullptr
                                      : std::make_shared<Counted>(alive));
        }
      });
      threads.emplace_back([&] {
        for (int j = 0; j < 1000; ++j) {
          (void)Waiter([] { return true; }, absl::Hours(1)).Wait();
          WaitHandle handle = engine.Start(
              Waiter([] { return true; }, absl::Hours(1)), [](WaitResult<>) {});
        }
      });
    }
  }
  ObserveEveryWait(nullptr);
  EXPECT_EQ(alive, 0);
}

TEST(SleepReasonTest, NamesAreDistinctWordsAlsoForNoReason) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(SleepReason::kAnswer); ++i) {
    names.insert(std::string(SleepReasonName(static_cast<SleepReason>(i))));
  }
  EXPECT_THAT(names, SizeIs(static_cast<int>(SleepReason::kAnswer) + 1));
  EXPECT_EQ(names.count(""), 0U);
  (void)SleepReasonName(static_cast<SleepReason>(99)).size();
  EXPECT_EQ(SleepReasonName(SleepReason::kNotReady), "not ready");
  EXPECT_EQ(SleepReasonName(SleepReason::kRetryAfter), "retry after");
}

// Tests PollNow() on a blocking wait, or on a wait of an engine.
class OutsidePollNowTest : public OutsideTest,
                           public testing::WithParamInterface<bool> {
 protected:
  // Runs a wait that `PollNow()` hurries. Returns the times of its polls.
  template <typename F>
  WaitReport Run(F function, WaitOptions options) {
    auto timed = [this, function]() mutable {
      polled_at_.push_back(clock_.Elapsed());
      return function();
    };
    if (!GetParam()) {
      return Waiter(timed, options).Wait({.notifier = &notifier_}).report();
    }
    WaitEngine engine(Simulated());
    handle_ = engine.Start(Waiter(timed, options), results_.Take());
    for (int i = 0; i < before_; ++i) handle_.PollNow();
    engine.Run();
    return results_.reports().back();
  }
  void PollNow() {
    notifier_.PollNow();
    handle_.PollNow();
  }
  void PollNowAt(absl::Duration time, int times = 1) {
    clock_.CallAt(time, [this, times] {
      for (int i = 0; i < times; ++i) PollNow();
    });
  }

  PollNotifier notifier_;
  WaitHandle handle_;
  int before_ = 0;
  std::vector<absl::Duration> polled_at_;
};

INSTANTIATE_TEST_SUITE_P(Drivers, OutsidePollNowTest, testing::Bool());

WaitOptions Growing(Clock& clock, absl::Duration timeout) {
  return {.timeout = timeout,
          .backoff = {.initial_delay = absl::Seconds(10),
                      .max_delay = absl::Hours(1),
                      .multiplier = 2,
                      .jitter = Jitter::None(),
                      .min_delay = absl::ZeroDuration()},
          .clock = &clock};
}

TEST_P(OutsidePollNowTest,
       ManyCallsCauseOnePollAndDelaysGrowFromTheirBeginning) {
  PollNowAt(absl::Seconds(35), 1000);
  (void)Run([] { return false; }, Growing(clock_, absl::Seconds(80)));
  EXPECT_THAT(polled_at_, ElementsAre(absl::Seconds(0), absl::Seconds(10),
                                      absl::Seconds(30), absl::Seconds(35),
                                      absl::Seconds(45), absl::Seconds(65),
                                      absl::Seconds(80)));
}

TEST_P(OutsidePollNowTest, ACallDuringAPollCausesAnotherOneAfterIt) {
  int polls = 0;
  (void)Run(
      [&] {
        if (++polls <= 3) {
          for (int i = 0; i < 10; ++i) PollNow();
        }
        return polls == 5;
      },
      Growing(clock_, absl::Hours(1)));
  EXPECT_THAT(polled_at_,
              ElementsAre(absl::ZeroDuration(), absl::ZeroDuration(),
                          absl::ZeroDuration(), absl::ZeroDuration(),
                          absl::Seconds(10)));
}

TEST_P(OutsidePollNowTest, CallsBeforeTheWaitAreMetByItsFirstPoll) {
  before_ = 5;
  if (!GetParam()) {
    for (int i = 0; i < before_; ++i) PollNow();
  }
  (void)Run([] { return false; }, Growing(clock_, absl::Seconds(20)));
  EXPECT_THAT(polled_at_, ElementsAre(absl::Seconds(0), absl::Seconds(10),
                                      absl::Seconds(20)));
}

TEST_P(OutsidePollNowTest, EndsAFirstDelay) {
  PollNowAt(absl::Seconds(3));
  WaitOptions options = Growing(clock_, absl::Minutes(1));
  options.polls.first_delay = absl::Seconds(30);
  (void)Run([] { return true; }, options);
  EXPECT_THAT(polled_at_, ElementsAre(absl::Seconds(3)));
}

TEST_P(OutsidePollNowTest, LeastDelaysAndHintsHold) {
  PollNowAt(absl::Seconds(1));
  WaitOptions options = Growing(clock_, absl::Minutes(1));
  options.backoff.min_delay = absl::Seconds(4);
  (void)Run([n = 0]() mutable { return ++n == 2; }, options);
  EXPECT_THAT(polled_at_, ElementsAre(absl::Seconds(0), absl::Seconds(4)));

  polled_at_.clear();
  const absl::Duration start = clock_.Elapsed();
  PollNowAt(start + absl::Seconds(1));
  (void)Run(
      [n = 0]() mutable {
        return ++n == 2 ? Success() : NotReady("", absl::Seconds(7));
      },
      Growing(clock_, absl::Minutes(1)));
  EXPECT_THAT(polled_at_, ElementsAre(start, start + absl::Seconds(7)));
}

TEST_P(OutsidePollNowTest, ASleepThatConfirmsASuccessKeepsItsLength) {
  PollNowAt(absl::Seconds(1));
  WaitOptions options = Growing(clock_, absl::Minutes(1));
  options.confirm.successes = 2;
  (void)Run([] { return true; }, options);
  EXPECT_THAT(polled_at_, ElementsAre(absl::Seconds(0), absl::Seconds(10)));
}

TEST_P(OutsidePollNowTest, AStormStaysWithinLimitsOfPollsAndTime) {
  WaitOptions options = Growing(clock_, absl::Minutes(1));
  options.max_attempts = 7;
  EXPECT_EQ(Run(
                [&] {
                  PollNow();
                  return false;
                },
                options)
                .reason,
            StopReason::kAttempts);
  EXPECT_THAT(polled_at_, SizeIs(7));

  polled_at_.clear();
  options.max_attempts.reset();
  const absl::Duration start = clock_.Elapsed();
  EXPECT_EQ(Run(
                [&] {
                  clock_.AdvanceTime(absl::Seconds(7));
                  PollNow();
                  return false;
                },
                options)
                .reason,
            StopReason::kDeadline);
  EXPECT_LE(polled_at_.back(), start + absl::Minutes(1));
  EXPECT_LE(polled_at_.size(), 10U);
}

TEST_P(OutsidePollNowTest, AnyHookAndTheFunctionAtTheEndMayCallIt) {
  for (const Hook hook : kHooks) {
    SCOPED_TRACE(static_cast<int>(hook));
    polled_at_.clear();
    const absl::Duration start = clock_.Elapsed();
    const auto checker = std::make_shared<OrderChecker>();
    WaitOptions options = Growing(clock_, absl::Minutes(1));
    options.hooks.observer =
        Both(checker, std::make_shared<CallAtHook>(hook, [&] { PollNow(); }));
    options.hooks.on_failure = [&](const WaitFailure&) { PollNow(); };
    EXPECT_EQ(Run([] { return false; }, options).reason, StopReason::kDeadline);
    EXPECT_EQ(polled_at_.back(), start + absl::Minutes(1));
    const bool met_by_first = hook == Hook::kStart || hook == Hook::kBeforePoll;
    if (hook != Hook::kDone && !met_by_first) {
      EXPECT_EQ(polled_at_.at(1), start);
    }
    PollNow();
  }
}

TEST_P(OutsidePollNowTest, AStopWinsOverANotification) {
  stop_source stop;
  int polls = 0;
  if (GetParam()) {
    WaitEngine engine(Simulated());
    WaitHandle handle = engine.Start(
        Waiter([&] { return ++polls == 3; }, EverySecond()), results_.Take());
    engine.RunDue();
    handle.PollNow();
    handle.Cancel();
    handle.PollNow();
    engine.Run();
    EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
    handle.PollNow();
    EXPECT_FALSE(handle.pending());
  } else {
    clock_.CallAt(absl::Milliseconds(500), [&] {
      notifier_.PollNow();
      stop.request_stop();
    });
    EXPECT_EQ(Waiter([&] { return ++polls == 3; }, EverySecond())
                  .Wait({.stop = stop.get_token(), .notifier = &notifier_})
                  .reason(),
              StopReason::kCancelled);
  }
  EXPECT_EQ(polls, 1);
}

TEST_F(OutsideTest, CopiesOfANotifierShareAndServeManyWaits) {
  PollNotifier original;
  const PollNotifier copy = original;
  EXPECT_EQ(copy.count(), original.count());
  original.PollNow();
  original.PollNow();
  EXPECT_EQ(copy.count(), original.count());
  original = PollNotifier();
  const uint64_t before = copy.count();
  original.PollNow();
  EXPECT_EQ(copy.count(), before);
}

TEST_F(OutsideTest, TheSleepOfANotifierSaysWhetherTheCountIsAnother) {
  const PollNotifier notifier;
  const auto in = [&](int seconds) {
    return clock_.MonotonicNow() + std::chrono::seconds(seconds);
  };
  const uint64_t count = notifier.count();
  EXPECT_FALSE(notifier.SleepUntil(clock_, in(5), {}, "x", count));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(5));
  EXPECT_TRUE(notifier.SleepUntil(clock_, in(5), {}, "x", count + 1));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(5));
  stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(
      notifier.SleepUntil(clock_, in(5), stop.get_token(), "x", count));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(5));
  EXPECT_FALSE(
      notifier.SleepUntil(clock_, clock_.MonotonicNow(), {}, "x", count));
  clock_.CallAt(absl::Seconds(7), [&] { notifier.PollNow(); });
  EXPECT_TRUE(notifier.SleepUntil(clock_, in(50), {}, "x", count));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(7));
  EXPECT_TRUE(
      notifier.SleepUntil(clock_, clock_.MonotonicNow(), {}, "x", count));
}

TEST(NotifierThreadsTest, NoNotificationIsLost) {
  PollNotifier notifier;
  std::atomic<int> state = 0;
  const JoiningThread notifying([&, copy = notifier] {
    for (int i = 1; i <= 2000; ++i) {
      while (state.load() != 2 * i - 2) std::this_thread::yield();
      state = 2 * i - 1;
      copy.PollNow();
    }
  });
  // Each wait would sleep for an hour without its notification.
  for (int i = 1; i <= 2000; ++i) {
    WaitOptions options{.timeout = absl::Hours(3),
                        .backoff = Every(absl::Hours(1))};
    ASSERT_TRUE(Waiter([&] { return state.load() == 2 * i - 1; }, options)
                    .Wait({.notifier = &notifier})
                    .ok());
    state = 2 * i;
  }
}

TEST(NotifierThreadsTest, ManyWaitsStopsAndNotificationsMeet) {
  for (int round = 0; round < 200; ++round) {
    const PollNotifier notifier;
    stop_source stop;
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([copy = notifier, token = stop.get_token()] {
        WaitOptions options{.timeout = absl::Hours(3),
                            .backoff = Every(absl::Hours(1))};
        EXPECT_EQ(Waiter([] { return false; }, options)
                      .Wait({.stop = token, .notifier = &copy})
                      .reason(),
                  StopReason::kCancelled);
      });
    }
    threads.emplace_back([copy = notifier] {
      for (int i = 0; i < 20; ++i) copy.PollNow();
    });
    stop.request_stop();
  }
}

TEST(OutsidePollNowThreadsTest, CallsMeetEndsOfWaitsHandlesAndEngines) {
  for (int round = 0; round < 150; ++round) {
    constexpr int kWaits = 20;
    std::atomic<int> ended = 0;
    auto engine = std::make_unique<WaitEngine>(WaitEngineOptions{.threads = 2});
    std::array<std::vector<WaitHandle>, 2> handles;
    for (auto& of_thread : handles) {
      for (int i = 0; i < kWaits; ++i) {
        of_thread.push_back(engine->Start(
            Waiter(
                [n = 0, i]() mutable { return i % 3 == 0 && ++n == 3; },
                {.timeout = absl::Hours(1), .backoff = Every(absl::Hours(1))}),
            [&](WaitResult<>) { ++ended; }));
      }
    }
    std::vector<JoiningThread> threads;
    for (auto& of_thread : handles) {
      threads.emplace_back([&] {
        for (int j = 0; j < 3; ++j) {
          for (int i = 0; i < kWaits; ++i) {
            of_thread[static_cast<size_t>(i)].PollNow();
            if (i % 4 == 1) of_thread[static_cast<size_t>(i)].Cancel();
            if (i % 4 == 2) of_thread[static_cast<size_t>(i)] = WaitHandle();
          }
        }
      });
    }
    if (round % 2 == 0) engine = nullptr;
    threads.clear();
    engine = nullptr;
    for (auto& of_thread : handles) {
      for (WaitHandle& handle : of_thread) {
        handle.PollNow();
        EXPECT_FALSE(handle.pending());
      }
    }
    EXPECT_GE(ended, 2 * kWaits / 2);
  }
}

TEST(OutsidePollNowThreadsTest, AWaitOfAnEngineLosesNoCall) {
  WaitEngine engine({.threads = 1});
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> state = 0;
    std::atomic<bool> done = false;
    WaitHandle handle = engine.Start(
        Waiter([&] { return state.load() == 1; },
               {.timeout = absl::Hours(3), .backoff = Every(absl::Hours(1))}),
        [&](WaitResult<> result) { done = result.ok(); });
    if (round % 3 == 0) {
      while (engine.statistics().polls <= round) std::this_thread::yield();
    }
    state = 1;
    handle.PollNow();
    while (handle.pending()) std::this_thread::yield();
    EXPECT_TRUE(done);
  }
}

TEST_F(OutsideTest, PollNowOfAHandleWithoutAWaitDoesNothing) {
  WaitHandle none;
  none.PollNow();
  WaitHandle left;
  {
    WaitEngine engine(Simulated());
    left = engine.Start(NeverReady(), TakeHolding());
    WaitHandle detached = engine.Start(NeverReady(), TakeHolding());
    detached.Detach();
    detached.PollNow();
    engine.RunDue();
    EXPECT_EQ(polls_, 2);
    detached.PollNow();
    engine.RunDue();
    EXPECT_EQ(polls_, 2);
  }
  left.PollNow();
  EXPECT_EQ(polls_, 2);
}

TEST_F(OutsideTest, PollNowHurriesALeanWaitToo) {
  WaitEngineOptions lean = Simulated();
  lean.report = ReportLevel::kLean;
  WaitEngine engine(lean);
  WaitHandle handle = engine.Start(
      Waiter([&] { return CountPoll(false); }, Growing(clock_, absl::Hours(1))),
      results_.Take());
  engine.RunDue();
  for (int i = 0; i < 5; ++i) {
    handle.PollNow();
    handle.PollNow();
    engine.RunDue();
    engine.RunDue();
    EXPECT_EQ(polls_, i + 2);
  }
}

class GiveUpHeaderTest : public OutsideTest {
 protected:
  WaitOptions GivingUp(absl::Duration timeout = absl::Seconds(3)) {
    WaitOptions options = EverySecond(timeout);
    options.name = "thing";
    options.hooks.on_failure = [this](const WaitFailure& end) {
      log_.push_back(end.report.reason);
      names_.emplace_back(end.name);
      last_timeout_ = end.timeout;
      last_deadline_ = end.deadline;
      EXPECT_FALSE(end.report.status.ok());
    };
    return options;
  }

  std::vector<StopReason> log_;
  std::vector<std::string> names_;
  absl::Duration last_timeout_;
  absl::Time last_deadline_;
};

TEST_F(GiveUpHeaderTest, EveryEndWithoutSuccessCallsItOnceInBothDrivers) {
  for (const bool engine_drives : {false, true}) {
    log_.clear();
    const auto run = [&](auto function, const WaitOptions& options) {
      if (engine_drives) {
        WaitEngine engine(Simulated());
        engine.Start(Waiter(function, options), [](WaitResult<>) {}).Detach();
        engine.Run();
      } else {
        try {
          (void)Waiter(function, options).Wait();
        } catch (const std::runtime_error&) {
        }
      }
    };
    run([] { return true; }, GivingUp());
    EXPECT_THAT(log_, IsEmpty());
    run([] { return false; }, GivingUp());
    run([] { return Failed(); }, GivingUp());
    run([]() -> bool { throw std::runtime_error("no"); }, GivingUp());
    WaitOptions options = GivingUp();
    options.timeout.reset();
    run([] { return true; }, options);
    run(std::function<bool()>(), GivingUp());
    options = GivingUp();
    options.max_attempts = 1;
    run([] { return false; }, options);
    options = GivingUp();
    options.budgets.retry_quota = *RetryQuota::Make({.capacity = 1});
    run([] { return Throttled(); }, options);
    options = GivingUp();
    options.errors.max_consecutive_server_errors = 1;
    run([] { return ServerError(); }, options);
    options = GivingUp(absl::Seconds(1));
    options.polls.strict_deadline = true;
    run(
        [&] {
          clock_.AdvanceTime(absl::Seconds(5));
          return true;
        },
        options);
    EXPECT_THAT(log_,
                ElementsAre(StopReason::kDeadline, StopReason::kFailed,
                            StopReason::kFailed, StopReason::kInvalidOptions,
                            StopReason::kInvalidOptions, StopReason::kAttempts,
                            StopReason::kQuota, StopReason::kConsecutiveLimit,
                            StopReason::kDeadline));
  }
}

TEST_F(GiveUpHeaderTest, OnlyADestroyedHandleCallsNothing) {
  {
    WaitEngine engine(Simulated());
    WaitHandle not_begun =
        engine.Start(Waiter([] { return false; }, GivingUp()), results_.Take());
    not_begun = WaitHandle();
    WaitHandle sleeps =
        engine.Start(Waiter([] { return false; }, GivingUp()), results_.Take());
    engine.RunDue();
    sleeps = WaitHandle();
    engine.RunDue();
    EXPECT_THAT(log_, IsEmpty());
    WaitHandle cancelled =
        engine.Start(Waiter([] { return false; }, GivingUp()), results_.Take());
    cancelled.Cancel();
    engine.RunDue();
    EXPECT_THAT(log_, ElementsAre(StopReason::kCancelled));
    cancelled =
        engine.Start(Waiter([] { return false; }, GivingUp()), results_.Take());
    cancelled.Cancel();
    cancelled = WaitHandle();
    engine.RunDue();
    EXPECT_THAT(log_, SizeIs(1));
    engine
        .Start(Waiter([] { return false; }, GivingUp()), results_.Take(),
               {.name = "own"})
        .Detach();
  }
  EXPECT_THAT(log_, ElementsAre(StopReason::kCancelled, StopReason::kShutDown));
  EXPECT_EQ(names_.back(), "own");
}

TEST_F(GiveUpHeaderTest, TheDeadlineIsTheTimeoutFromNow) {
  for (const absl::Duration timeout :
       {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Seconds(10),
        absl::InfiniteDuration()}) {
    WaitOptions options = GivingUp();
    options.hooks.failure_timeout = timeout;
    (void)Waiter([] { return false; }, options).Wait();
    EXPECT_EQ(last_timeout_, timeout);
    EXPECT_EQ(last_deadline_, clock_.TimeNow() + timeout);
  }
  WaitOptions negative = GivingUp();
  negative.hooks.failure_timeout = -absl::Seconds(1);
  EXPECT_EQ(Waiter([] { return true; }, negative).Wait().reason(),
            StopReason::kInvalidOptions);
  EXPECT_EQ(log_.back(), StopReason::kInvalidOptions);
}

TEST_F(GiveUpHeaderTest, AnEngineCallsItBeforeTheCallback) {
  std::string order;
  WaitOptions options = EverySecond(absl::Seconds(1));
  options.hooks.on_failure = [&](const WaitFailure&) { order += 'g'; };
  WaitEngine engine(Simulated());
  engine
      .Start(Waiter([] { return false; }, options),
             [&](WaitResult<>) { order += 'c'; })
      .Detach();
  engine.Run();
  EXPECT_EQ(order, "gc");
}

TEST_F(GiveUpHeaderTest, AnExecutorGetsIt) {
  std::vector<absl::AnyInvocable<void()>> posted;
  WaitEngineOptions engine_options = Simulated();
  engine_options.executor = [&](absl::AnyInvocable<void()> function) {
    posted.push_back(std::move(function));
  };
  {
    WaitEngine engine(engine_options);
    engine.Start(Waiter([] { return Failed(); }, GivingUp()), results_.Take())
        .Detach();
    engine.RunDue();
    ASSERT_THAT(posted, SizeIs(1));
    posted[0]();
    engine.RunDue();
    ASSERT_THAT(posted, SizeIs(2));
    EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kFailed));
    EXPECT_THAT(log_, IsEmpty());
  }
  // This also works after the engine is gone, and only once.
  posted[1]();
  posted[1]();
  EXPECT_THAT(log_, ElementsAre(StopReason::kFailed));
  EXPECT_EQ(names_.back(), "thing");
}

TEST_F(GiveUpHeaderTest, ItMayDestroyTheHandleAndStartWaits) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> handle;
  int inner = 0;
  bool called_back = false;
  WaitOptions options = EverySecond(absl::Seconds(1));
  const auto checker = std::make_shared<OrderChecker>();
  options.hooks.observer = checker;
  options.hooks.on_failure = [&, token = token_](const WaitFailure& end) {
    handle.reset();
    engine
        .Start(Waiter([] { return true; }, EverySecond()),
               [&](WaitResult<>) { ++inner; })
        .Detach();
    EXPECT_EQ(end.name, "wait");
    EXPECT_EQ(end.report.reason, StopReason::kDeadline);
    EXPECT_FALSE(end.report.status.message().empty());
  };
  handle.emplace(
      engine.Start(Waiter([] { return NotReady("a text that is long enough"); },
                          std::move(options)),
                   [&, token = token_](WaitResult<>) { called_back = true; }));
  engine.Run();
  EXPECT_EQ(inner, 1);
  EXPECT_FALSE(called_back);
  EXPECT_EQ(checker->reason, StopReason::kDeadline);
}

TEST_F(GiveUpHeaderTest, AtTheEndOfAnEngineItsWaitsEndAtOnceWithACallback) {
  int inner = 0;
  auto engine = std::make_unique<WaitEngine>(Simulated());
  WaitOptions options = EverySecond();
  options.hooks.on_failure = [&, raw = engine.get()](const WaitFailure&) {
    raw->Start(Waiter([] { return false; }, GivingUp()),
               [&](WaitResult<> result) {
                 ++inner;
                 EXPECT_EQ(result.reason(), StopReason::kShutDown);
               })
        .Detach();
  };
  engine->Start(Waiter([] { return false; }, options), results_.Take())
      .Detach();
  engine->RunDue();
  engine = nullptr;
  EXPECT_EQ(inner, 1);
  EXPECT_THAT(log_, ElementsAre(StopReason::kShutDown));
}

TEST_F(GiveUpHeaderTest, AnExceptionOfItTerminatesAndSoDoesTheEndOfTheEngine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  WaitOptions options = EverySecond(absl::ZeroDuration());
  options.hooks.on_failure = [](const WaitFailure&) {
    throw std::runtime_error("no");
  };
  EXPECT_DEATH(
      {
        try {
          (void)Waiter([] { return false; }, options).Wait();
        } catch (const std::runtime_error&) {
        }
      },
      "");
  EXPECT_DEATH(
      {
        WaitEngineOptions engine_options = Simulated();
        engine_options.on_callback_exception = [](std::exception_ptr) {};
        WaitEngine engine(engine_options);
        engine.Start(Waiter([] { return false; }, options), results_.Take())
            .Detach();
        try {
          engine.Run();
        } catch (const std::runtime_error&) {
        }
      },
      "");
  EXPECT_DEATH(
      {
        auto engine = std::make_unique<WaitEngine>(Simulated());
        options.hooks.on_failure = [&](const WaitFailure&) { engine.reset(); };
        engine->Start(Waiter([] { return false; }, options), results_.Take())
            .Detach();
        engine->Run();
      },
      ".");
}

TEST_F(GiveUpHeaderTest, TheExceptionPassesThroughAfterIt) {
  bool given_up = false;
  WaitOptions options = EverySecond();
  options.hooks.on_failure = [&](const WaitFailure& end) {
    given_up = true;
    EXPECT_EQ(end.report.status.code(), absl::StatusCode::kUnknown);
  };
  Waiter wait([]() -> bool { throw std::out_of_range("mine"); }, options);
  for (int i = 0; i < 2; ++i) {
    given_up = false;
    EXPECT_THROW((void)wait.Wait(), std::out_of_range);
    EXPECT_TRUE(given_up);
  }
}

TEST(GiveUpThreadsTest, EveryWaitHasOneCallWhateverThreadsDo) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> given_up = 0;
    std::atomic<int> failed = 0;
    std::atomic<int> called_back = 0;
    {
      std::vector<WaitHandle> handles;
      WaitEngine engine({.threads = 2});
      WaitOptions options{.timeout = absl::Hours(1),
                          .backoff = Every(absl::Hours(1))};
      options.hooks.on_failure = [&](const WaitFailure&) { ++given_up; };
      const auto policy = WaitPolicy::Make(options);
      for (int i = 0; i < 40; ++i) {
        handles.push_back(
            engine.Start(Waiter([i] { return i % 2 == 0; }, policy),
                         [&](const WaitResult<>& result) {
                           ++called_back;
                           if (!result.ok()) ++failed;
                         }));
      }
      const JoiningThread canceller([&] {
        for (size_t i = 0; i < handles.size(); i += 2) handles[i].Cancel();
      });
      for (size_t i = 1; i < handles.size(); i += 4) handles[i].PollNow();
    }
    EXPECT_EQ(called_back, 40);
    EXPECT_EQ(given_up, failed);
  }
}

class StatisticsTest : public OutsideTest {
 protected:
  static int64_t Rounds(const EngineStatistics& statistics) {
    int64_t rounds = 0;
    for (const int64_t count : statistics.late_rounds) rounds += count;
    return rounds;
  }
};

TEST_F(StatisticsTest, AnEngineWithoutWaitsHasZeros) {
  const WaitEngine engine(Simulated());
  const EngineStatistics now = engine.statistics();
  EXPECT_EQ(now.pending, 0);
  EXPECT_EQ(now.due, 0);
  EXPECT_EQ(now.polls, 0);
  EXPECT_EQ(now.lateness, absl::ZeroDuration());
  EXPECT_EQ(Rounds(now), 0);
  const WaitEngine invalid({.threads = -1});
  EXPECT_EQ(invalid.statistics().pending, 0);
}

TEST_F(StatisticsTest, PendingAndPollsCountWaitsAndPolls) {
  WaitEngine engine(Simulated());
  std::vector<WaitHandle> handles;
  for (int i = 0; i < 10; ++i) {
    handles.push_back(engine.Start(NeverReady(), TakeHolding()));
  }
  engine.RunDue();
  EXPECT_EQ(engine.statistics().pending, 10);
  EXPECT_EQ(engine.statistics().polls, 10);
  clock_.AdvanceTime(absl::Seconds(1));
  engine.RunDue();
  EXPECT_EQ(engine.statistics().due, 10);
  EXPECT_EQ(engine.statistics().polls, 20);
  handles.resize(7);
  handles[0].Cancel();
  engine.RunDue();
  EXPECT_EQ(engine.statistics().pending, 6);
  engine.Run();
  EXPECT_EQ(engine.statistics().pending, 0);
  EXPECT_EQ(engine.statistics().polls, polls_);
}

TEST_F(StatisticsTest, ALatenessIsInTheFirstBucketThatHoldsIt) {
  constexpr auto& kBounds = EngineStatistics::kLatenessBounds;
  std::vector<std::pair<absl::Duration, size_t>> cases;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    const auto nanoseconds = static_cast<int64_t>(kBounds[i] * 1e9 + 0.5);
    cases.emplace_back(absl::Nanoseconds(nanoseconds), i);
    cases.emplace_back(absl::Nanoseconds(nanoseconds + 1), i + 1);
    cases.emplace_back(absl::Nanoseconds(nanoseconds - 1), i);
  }
  cases.emplace_back(absl::ZeroDuration(), 0);
  cases.emplace_back(absl::Hours(24 * 365 * 20), kBounds.size());
  for (const auto& [late, bucket] : cases) {
    SCOPED_TRACE(absl::FormatDuration(late));
    WaitEngine engine(Simulated());
    WaitOptions options = EverySecond(absl::InfiniteDuration());
    WaitHandle handle =
        engine.Start(Waiter([] { return false; }, options), results_.Take());
    engine.RunDue();
    EXPECT_EQ(Rounds(engine.statistics()), 0);
    clock_.AdvanceTime(absl::Seconds(1) + late);
    engine.RunDue();
    const EngineStatistics now = engine.statistics();
    EXPECT_EQ(now.lateness, late);
    EXPECT_EQ(Rounds(now), 1);
    EXPECT_EQ(now.late_rounds.at(bucket), 1);
  }
}

TEST_F(StatisticsTest, AReadingInsideOfAFunctionCountsItsPoll) {
  WaitEngine engine(Simulated());
  engine
      .Start(Waiter(
                 [&] {
                   EXPECT_EQ(engine.statistics().polls, 1);
                   EXPECT_EQ(engine.statistics().pending, 1);
                   return true;
                 },
                 EverySecond()),
             [&](WaitResult<>) { EXPECT_EQ(engine.statistics().polls, 1); })
      .Detach();
  engine.Run();
  EXPECT_EQ(engine.statistics().pending, 0);
}

TEST_F(StatisticsTest, AsynchronousAndExecutorPollsCountWhenTheyBegin) {
  WaitEngineOptions options = Simulated();
  std::vector<absl::AnyInvocable<void()>> posted;
  options.executor = [&](absl::AnyInvocable<void()> poll) {
    posted.push_back(std::move(poll));
  };
  WaitEngine engine(options);
  engine
      .Start(AsyncWaiter([](const PollCompletion<>&) {}, EverySecond()),
             results_.Take())
      .Detach();
  engine.RunDue();
  EXPECT_EQ(engine.statistics().polls, 1);
  engine.Start(Waiter([] { return true; }, EverySecond()), results_.Take())
      .Detach();
  engine.RunDue();
  for (auto& poll : posted) poll();
  engine.RunDue();
  EXPECT_EQ(engine.statistics().polls, 2);
  EXPECT_EQ(engine.statistics().pending, 1);
}

TEST(StatisticsThreadsTest, ReadingsOfARunningEngineNeverDecrease) {
  std::atomic<int64_t> polls = 0;
  WaitEngine engine({.threads = 3});
  std::atomic<bool> done = false;
  std::vector<JoiningThread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      EngineStatistics last;
      while (!done) {
        const EngineStatistics now = engine.statistics();
        EXPECT_GE(now.polls, last.polls);
        EXPECT_GE(now.lateness, last.lateness);
        EXPECT_GE(now.pending, 0);
        EXPECT_GE(now.due, 0);
        for (size_t j = 0; j < now.late_rounds.size(); ++j) {
          EXPECT_GE(now.late_rounds.at(j), last.late_rounds.at(j));
        }
        last = now;
      }
    });
  }
  std::atomic<int> ended = 0;
  constexpr int kWaits = 500;
  for (int i = 0; i < kWaits; ++i) {
    engine
        .Start(Waiter(
                   [&, n = 0]() mutable {
                     ++polls;
                     return ++n == 5;
                   },
                   {.timeout = absl::Hours(1),
                    .backoff = Every(absl::Milliseconds(1))}),
               [&](WaitResult<>) { ++ended; })
        .Detach();
  }
  while (ended < kWaits) std::this_thread::yield();
  // The engine may remove the last wait after its callback.
  while (engine.statistics().pending > 0) std::this_thread::yield();
  done = true;
  readers.clear();
  EXPECT_EQ(engine.statistics().polls, polls);
}

}  // namespace
}  // namespace waiter::outside_header_test
