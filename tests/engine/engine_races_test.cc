// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Two threads act on the same wait at about the same time: every pair of acts
// on every form of poll, many times. These tests run in real time, and none
// depends on how much of it passes.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/hook_actions.h"
#include "tests/support/joining_thread.h"
#include "tests/support/thread_pool.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::engine_races_test {
namespace {

using Task = absl::AnyInvocable<void()>;

constexpr int kRounds = 100;

void Spin(int microseconds) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Calls `here`, and `there` on another thread. Which one begins first, and by
// how much, depends on `round`.
void Race(int round, const std::function<void()>& here,
          const std::function<void()>& there) {
  std::latch go(1);
  const JoiningThread thread([&] {
    go.wait();
    if (round % 2 == 0) Spin(round % 37 * 3);
    there();
  });
  go.count_down();
  if (round % 2 == 1) Spin(round % 41 * 3);
  here();
}

enum class Form {
  kPolls,        // Polls on the engine,
  kPollsOnPool,  // or on threads of its executor.
  kQueued,       // Its only poll is queued, and then run,
  kDropped,      // or dropped by the executor.
  kAsks,         // Asks, and is answered by another thread.
  kGroup,        // A group of waits that poll on the engine.
};

// An act of one of the two threads.
enum class Act {
  kAnswer,       // The poll succeeds; if it is queued, it runs or is dropped.
  kAnswerAgain,  // An asynchronous poll fails.
  kCancel,
  kDestroy,
  kDetach,
  kEndEngine,
  kDeadline,  // Does nothing: the wait has a deadline.
};

// Checks the order of the hooks, and that only two come when the wait's owner
// is gone.
class Observer : public ActingObserver {
 public:
  explicit Observer(const std::atomic<bool>& gone)
      : ActingObserver(Hook::kOnDone, nullptr), gone_(gone) {}

  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override {
    EXPECT_FALSE(gone_);
    ActingObserver::BeforePoll(wait, attempt);
    EXPECT_FALSE(gone_);
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    EXPECT_FALSE(gone_);
    ActingObserver::BeforeSleep(sleep);
    EXPECT_FALSE(gone_);
  }

 private:
  const std::atomic<bool>& gone_;
};

// Two acts on the wait of a form.
struct Pair {
  Form form;
  Act here;
  Act there;
};

class RacedWait {
 public:
  RacedWait(const Pair& pair, ThreadPool& pool) : pair_(pair), pool_(pool) {}

  // Starts the wait. If its poll can be answered only once, that poll is under
  // way on return.
  void Start(int round) {
    const Form form = pair_.form;
    WaitEngineOptions options = {.threads = 1 + round / 2 % 2,
                                 .tick = absl::ZeroDuration()};
    if (form == Form::kPollsOnPool) options.executor = pool_.executor();
    if (form == Form::kQueued || form == Form::kDropped) {
      options.executor = [this](Task task) {
        task_ = std::move(task);
        begun_.count_down();
      };
    }
    engine_.emplace(options);
    if (form == Form::kGroup) {
      StartGroup(round);
    } else if (form == Form::kAsks) {
      const auto ask = [this, token = token_](const PollCompletion<>& done) {
        completion_ = done;
        begun_.count_down();
      };
      handle_ = engine_->Start(AsyncWaiter(ask, Options()), Take());
    } else {
      handle_ = engine_->Start(Waiter(Poller(), Options()), Take());
    }
    if (form == Form::kQueued || form == Form::kDropped ||
        form == Form::kAsks) {
      begun_.wait();
    }
  }

  void Do(Act act) {
    switch (act) {
      case Act::kAnswer:
        return Answer();
      case Act::kAnswerAgain:
        return (*completion_)(Failed("broken"));
      case Act::kCancel:
        group_.has_value() ? group_->Cancel() : handle_->Cancel();
        cancelled_ = true;
        return;
      case Act::kDestroy:
        handle_.reset();
        group_.reset();
        gone_ = true;
        return;
      case Act::kDetach:
        return group_.has_value() ? group_->Detach() : handle_->Detach();
      case Act::kEndEngine:
        return engine_.reset();
      case Act::kDeadline:
        return;
    }
  }

  // Returns when everything has ended, and checks that it ended once.
  void Finish() {
    for (const auto& observer : observers_) observer->AwaitDone();
    engine_.reset();
    task_ = nullptr;
    EXPECT_LE(calls_, 1);
    if (!gone_) {
      EXPECT_EQ(calls_, 1);
    }
    if (reason_.has_value()) {
      EXPECT_EQ(reason_, observers_.front()->reason());
    }
    EXPECT_EQ(token_.use_count(), 1) << "a function was not destroyed";
    // Each wait may have begun a poll before, whose function ran afterwards.
    EXPECT_LE(polls_after_cancel_, static_cast<int>(observers_.size()));
  }

 private:
  void StartGroup(int round) {
    std::vector<Waiter<std::function<Poll<>()>>> waits;
    for (int i = 0; i < 4; ++i) {
      waits.emplace_back(Poller(/*succeeds=*/i % 2 == 0), Options());
    }
    WaitGroupOptions needs;
    if (round % 3 != 0) needs.successes_required = round % 3;
    group_.emplace(
        *engine_, std::move(waits), needs,
        [this, token = token_](const std::vector<WaitResult<>>& results) {
          EXPECT_FALSE(gone_);
          EXPECT_EQ(results.size(), 4);
          ++calls_;
        });
  }

  void Answer() {
    ready_ = true;
    if (completion_.has_value()) {
      const PollCompletion<> copy = *completion_;
      copy(Success());
    }
    if (Task task = std::exchange(task_, nullptr);
        task != nullptr && pair_.form == Form::kQueued) {
      task();
    }
  }

  WaitOptions Options() {
    const bool has_deadline = pair_.here == Act::kDeadline;
    observers_.push_back(std::make_shared<Observer>(gone_));
    return {.timeout = has_deadline ? absl::Microseconds(250)
                                    : absl::InfiniteDuration(),
            .backoff = Every(absl::Microseconds(30)),
            .hooks = {.observer = observers_.back()}};
  }

  // Returns a status function that succeeds or fails once it is told to.
  std::function<Poll<>()> Poller(bool succeeds = true) {
    return [this, succeeds, token = token_]() -> Poll<> {
      EXPECT_FALSE(gone_);
      if (cancelled_) ++polls_after_cancel_;
      if (!ready_) return NotReady();
      return succeeds ? Poll<>(Success()) : Poll<>(Failed("broken"));
    };
  }

  // Returns a callback.
  std::function<void(WaitResult<>)> Take() {
    return [this, token = token_](const WaitResult<>& result) {
      EXPECT_FALSE(gone_);
      reason_ = result.reason();
      ++calls_;
    };
  }

  const Pair pair_;
  ThreadPool& pool_;
  const std::shared_ptr<int> token_ = std::make_shared<int>();
  std::vector<std::shared_ptr<Observer>> observers_;
  std::latch begun_{1};
  Task task_;
  std::optional<PollCompletion<>> completion_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> gone_ = false;
  std::atomic<int> polls_after_cancel_ = 0;
  int calls_ = 0;  // Of the callback.
  std::optional<StopReason> reason_;
  std::optional<WaitEngine> engine_;
  std::optional<WaitHandle> handle_;
  std::optional<WaitGroup<>> group_;
};

// For GoogleTest's messages and the names of tests.
std::string NameOf(Form form) {
  static constexpr const char* kNames[] = {"Polls",   "PollsOnPool", "Queued",
                                           "Dropped", "Asks",        "Group"};
  return kNames[static_cast<size_t>(form)];
}
std::string NameOf(Act act) {
  static constexpr const char* kNames[] = {
      "Answer", "AnswerAgain", "Cancel",  "Destroy",
      "Detach", "EndEngine",   "Deadline"};
  return kNames[static_cast<size_t>(act)];
}
std::string NameOf(const Pair& pair) {
  return absl::StrCat(NameOf(pair.form), "_", NameOf(pair.here), "_",
                      NameOf(pair.there));
}
void PrintTo(const Pair& pair, std::ostream* out) { *out << NameOf(pair); }

std::vector<Pair> AllPairs() {
  std::vector<Pair> pairs;
  for (const Form form : {Form::kPolls, Form::kPollsOnPool, Form::kQueued,
                          Form::kDropped, Form::kAsks, Form::kGroup}) {
    for (const Act act : {Act::kCancel, Act::kDestroy, Act::kDetach,
                          Act::kEndEngine, Act::kDeadline}) {
      pairs.push_back({form, act, Act::kAnswer});
    }
    for (const Act act : {Act::kCancel, Act::kDestroy, Act::kDetach}) {
      pairs.push_back({form, Act::kEndEngine, act});
    }
  }
  pairs.push_back({Form::kAsks, Act::kAnswerAgain, Act::kAnswer});
  pairs.push_back({Form::kGroup, Act::kCancel, Act::kCancel});
  return pairs;
}

class EngineRacesTest : public testing::TestWithParam<Pair> {};

TEST_P(EngineRacesTest, WaitEndsOnceWhicheverActIsFirst) {
  ThreadPool pool(2);
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    RacedWait wait(GetParam(), pool);
    wait.Start(round);
    Race(
        round, [&] { wait.Do(GetParam().here); },
        [&] { wait.Do(GetParam().there); });
    // A wait that was detached, or whose answer was dropped, still needs one.
    if (GetParam().there != Act::kAnswer) wait.Do(Act::kAnswer);
    wait.Finish();
  }
}

INSTANTIATE_TEST_SUITE_P(AllPairs, EngineRacesTest,
                         testing::ValuesIn(AllPairs()),
                         [](const auto& test) { return NameOf(test.param); });

WaitOptions Quick() {
  return {.timeout = absl::InfiniteDuration(),
          .backoff = Every(absl::Microseconds(30))};
}

// The destructor of a handle blocks while a function of its wait runs. Two
// threads that destroy handles of the same engine do not block each other.
TEST(EngineThreadsRaceTest, TwoThreadsMayDestroyHandlesOfOneEngine) {
  WaitEngine engine({.threads = 2, .tick = absl::ZeroDuration()});
  for (int round = 0; round < kRounds; ++round) {
    const auto token = std::make_shared<int>();
    std::vector<WaitHandle> mine;
    std::vector<WaitHandle> others;
    for (int i = 0; i < 8; ++i) {
      (i % 2 == 0 ? mine : others)
          .push_back(engine.Start(Waiter([token] { return false; }, Quick()),
                                  [](const WaitResult<>&) {}));
    }
    Race(
        round, [&] { mine.clear(); }, [&] { others.clear(); });
    EXPECT_EQ(token.use_count(), 1);
  }
}

// An executor that hands a poll to two threads, of which the first runs it.
TEST(EngineThreadsRaceTest, PollThatTwoThreadsRunInTurnRunsOnce) {
  ThreadPool pool(2);
  WaitEngine engine(
      {.tick = absl::ZeroDuration(), .executor = [&pool](Task task) {
         struct Shared {
           std::mutex mutex;
           Task task;
         };
         const auto shared = std::make_shared<Shared>();
         shared->task = std::move(task);
         for (int i = 0; i < 2; ++i) {
           pool.Add([shared] {
             const std::lock_guard lock(shared->mutex);
             shared->task();
           });
         }
       }});
  for (int round = 0; round < kRounds; ++round) {
    int polls = 0;
    std::latch ended(1);
    engine
        .Start(Waiter([&] { return ++polls == 5; }, Quick()),
               [&](const WaitResult<>&) { ended.count_down(); })
        .Detach();
    ended.wait();
    EXPECT_EQ(polls, 5);
  }
}

// `Run` sleeps until another thread ends the last wait.
TEST(EngineThreadsRaceTest, RunReturnsWhenOtherThreadsHaveEndedAllWaits) {
  for (int round = 0; round < kRounds; ++round) {
    WaitEngine engine({.threads = 0, .tick = absl::ZeroDuration()});
    int calls = 0;
    const auto count = [&calls](const WaitResult<>&) { ++calls; };
    const auto sleeps = [] {
      return Waiter([] { return false; }, {.timeout = absl::Hours(9),
                                           .backoff = Every(absl::Hours(1))});
    };
    std::optional<PollCompletion<>> completion;
    std::latch begun(1);
    WaitHandle cancelled = engine.Start(sleeps(), count);
    std::optional<WaitHandle> destroyed = engine.Start(sleeps(), count);
    const WaitHandle answered =
        engine.Start(AsyncWaiter(
                         [&](const PollCompletion<>& done) {
                           completion = done;
                           begun.count_down();
                         },
                         Quick()),
                     count);
    {
      const JoiningThread other([&] {
        begun.wait();
        Spin(round * 3);
        cancelled.Cancel();
        destroyed.reset();
        engine.Start(Waiter([] { return true; }, Quick()), count).Detach();
        (*completion)(Success());
      });
      engine.Run();
    }
    engine.Run();
    EXPECT_EQ(calls, 3);
  }
}

}  // namespace
}  // namespace waiter::engine_races_test
