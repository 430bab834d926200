// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests what destructors may do, of values that an engine holds: captures of
// functions and callbacks, observers, and answers.

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::captures_test {
namespace {

// Calls `function` when the last copy is destroyed.
std::shared_ptr<void> AtEnd(std::function<void()> function) {
  return {nullptr, [function = std::move(function)](void*) { function(); }};
}

WaitOptions Quick(absl::Duration timeout = absl::InfiniteDuration()) {
  return {.timeout = timeout, .backoff = Every(absl::Microseconds(30))};
}

void Ignore(const WaitResult<>& /*result*/) {}

auto NeverReady() {
  return Waiter([] { return false; }, Quick());
}

enum class Place { kStatusFunction, kAsyncFunction, kCallback, kObserver };
enum class End { kSuccess, kHandle, kEngine };

// A wait with a capture in one place, and an engine whose thread is its own or
// the test's.
class CapturesTest
    : public testing::TestWithParam<std::tuple<Place, End, int>> {
 protected:
  static Place place() { return std::get<0>(GetParam()); }
  static End end() { return std::get<1>(GetParam()); }
  static int threads() { return std::get<2>(GetParam()); }

  // Starts a wait that holds `capture`.
  WaitHandle Start(std::shared_ptr<void> capture) {
    struct Owner : WaitObserver {
      std::shared_ptr<void> capture;
    };
    WaitOptions options = Quick();
    if (place() == Place::kObserver) {
      auto owner = std::make_shared<Owner>();
      owner->capture = std::move(capture);
      options.hooks.observer = std::move(owner);
    }
    std::shared_ptr<void> of_callback;
    if (place() == Place::kCallback) of_callback = std::move(capture);
    const auto take = [this, kept = std::move(of_callback)](
                          const WaitResult<>&) { ++calls_; };
    if (place() == Place::kAsyncFunction) {
      return engine_->Start(
          AsyncWaiter(
              [this, kept = std::move(capture)](const PollCompletion<>& done) {
                done(ready_.load());
              },
              std::move(options)),
          take);
    }
    return engine_->Start(
        Waiter([this, kept = std::move(capture)] { return ready_.load(); },
               std::move(options)),
        take);
  }

  // Ends the wait, of which the test may have a handle.
  void EndWait(WaitHandle handle = {}) {
    if (end() == End::kSuccess) {
      ready_ = true;
      handle.Detach();
    }
    if (end() == End::kHandle) handle = WaitHandle();
    if (end() == End::kEngine) {
      handle.Detach();
      engine_.reset();
    }
    if (engine_.has_value() && threads() == 0) engine_->Run();
  }

  std::atomic<bool> ready_ = false;
  std::atomic<int> calls_ = 0;
  std::optional<WaitEngine> engine_{
      WaitEngineOptions{.threads = threads(), .tick = absl::ZeroDuration()}};
};

std::string NameOfTest(
    const testing::TestParamInfo<std::tuple<Place, End, int>>& test) {
  static constexpr const char* kPlaces[] = {"StatusFunction", "AsyncFunction",
                                            "Callback", "Observer"};
  static constexpr const char* kEnds[] = {"Success", "Handle", "Engine"};
  return absl::StrCat(kPlaces[static_cast<int>(std::get<0>(test.param))], "_",
                      kEnds[static_cast<int>(std::get<1>(test.param))], "_",
                      std::get<2>(test.param), "Threads");
}

auto AnyPlace() {
  return testing::Values(Place::kStatusFunction, Place::kAsyncFunction,
                         Place::kCallback, Place::kObserver);
}

TEST_P(CapturesTest, MayDestroyAndStartOtherWaits) {
  WaitEngine& engine = *engine_;
  std::latch destroyed(1);
  std::latch ended(1);
  WaitHandle other = engine.Start(NeverReady(), Ignore);
  WaitHandle wait = Start(AtEnd([&] {
    other = WaitHandle();
    engine
        .Start(Waiter([] { return true; }, Quick()),
               [&](const WaitResult<>&) { ended.count_down(); })
        .Detach();
    destroyed.count_down();
  }));

  EndWait(std::move(wait));
  destroyed.wait();
  ended.wait();

  engine_.reset();
  EXPECT_EQ(calls_, end() == End::kHandle ? 0 : 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, CapturesTest,
    testing::Combine(AnyPlace(),
                     testing::Values(End::kSuccess, End::kHandle, End::kEngine),
                     testing::Values(0, 1)),
    NameOfTest);

class OwnHandleTest : public CapturesTest {};

TEST_P(OwnHandleTest, MayBeOwnedByACapture) {
  std::latch destroyed(1);
  {
    const auto handle = std::make_shared<WaitHandle>();
    *handle = Start(AtEnd([handle, &destroyed] {
      *handle = WaitHandle();
      destroyed.count_down();
    }));
  }

  EndWait();
  destroyed.wait();

  engine_.reset();
  EXPECT_EQ(calls_, 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnHandleTest,
    testing::Combine(AnyPlace(), testing::Values(End::kSuccess, End::kEngine),
                     testing::Values(0, 1)),
    NameOfTest);

// Each destructor destroys the handle whose wait holds the next.
TEST(CaptureChainsTest, HandlesInCapturesAreDestroyedOneAfterAnother) {
  for (const int threads : {0, 2}) {
    WaitEngine engine({.threads = threads, .tick = absl::ZeroDuration()});
    std::latch ended(50);
    auto handle = std::make_unique<WaitHandle>();
    for (int i = 0; i < 50; ++i) {
      const auto capture = AtEnd(
          [&, next = std::shared_ptr<WaitHandle>(std::move(handle))]() mutable {
            next.reset();
            engine
                .Start(Waiter([] { return true; }, Quick()),
                       [&](const WaitResult<>&) { ended.count_down(); })
                .Detach();
          });
      handle = std::make_unique<WaitHandle>(
          engine.Start(Waiter([capture] { return false; }, Quick()), Ignore));
    }

    handle.reset();
    if (threads == 0) engine.Run();
    ended.wait();
  }
}

// A function destroys a handle, whose captures destroy the function's handle.
TEST(CaptureChainsTest, WaitsMayOwnEachOthersHandles) {
  for (const bool in_callback : {false, true}) {
    for (const int threads : {0, 1}) {
      const auto token = std::make_shared<int>();
      std::latch reached(1);
      {
        WaitEngine engine({.threads = threads, .tick = absl::ZeroDuration()});
        std::latch assigned(1);
        std::optional<WaitHandle> first;
        std::optional<WaitHandle> second = engine.Start(
            Waiter([token,
                    capture = AtEnd([&] { first.reset(); })] { return false; },
                   Quick()),
            Ignore);
        const auto act = [&, token] {
          assigned.wait();
          second.reset();
          reached.count_down();
        };
        first = engine.Start(Waiter(
                                 [&, act] {
                                   if (!in_callback) act();
                                   return true;
                                 },
                                 Quick()),
                             [&, act](const WaitResult<>&) {
                               if (in_callback) act();
                             });
        assigned.count_down();
        if (threads == 0) engine.Run();
        reached.wait();
      }
      EXPECT_EQ(token.use_count(), 1);
    }
  }
}

TEST(CaptureAnswersTest, DestructorMayAnswerItsPoll) {
  enum class How { kHandle, kCancel, kEngine, kDeadline };
  for (const How how :
       {How::kHandle, How::kCancel, How::kEngine, How::kDeadline}) {
    for (const int threads : {0, 1}) {
      SCOPED_TRACE(static_cast<int>(how));
      std::latch destroyed(1);
      std::latch begun(1);
      std::atomic<int> calls = 0;
      std::optional<WaitEngine> engine(
          WaitEngineOptions{.threads = threads, .tick = absl::ZeroDuration()});
      WaitHandle wait;
      {
        const auto kept = std::make_shared<std::optional<PollCompletion<>>>();
        const auto capture = AtEnd([kept, &destroyed] {
          (**kept)(Success());
          (**kept)(NotReady());
          destroyed.count_down();
        });
        wait = engine->Start(
            AsyncWaiter(
                [kept, capture, &begun](const PollCompletion<>& done) {
                  *kept = done;
                  begun.count_down();
                },
                Quick(how == How::kDeadline ? absl::Milliseconds(1)
                                            : absl::Hours(1))),
            [&](const WaitResult<>& result) {
              EXPECT_FALSE(result.ok());
              ++calls;
            });
      }
      if (threads == 0) engine->RunDue();
      begun.wait();
      if (how == How::kHandle) wait = WaitHandle();
      if (how == How::kCancel) wait.Cancel();
      if (how == How::kEngine) engine.reset();
      if (threads == 0 && engine.has_value()) engine->Run();
      destroyed.wait();
      engine.reset();
      EXPECT_EQ(calls, how == How::kHandle ? 0 : 1);
    }
  }
}

// The first answer of a poll that has ended in another way, and the second one
// of any poll, have no receiver.
TEST(CaptureAnswersTest, DestructorOfAnAnswerMayDestroyAndStartWaits) {
  enum class Why { kSecond, kCancelled, kDestroyed, kShutDown };
  using Value = std::shared_ptr<void>;
  for (const Why why :
       {Why::kSecond, Why::kCancelled, Why::kDestroyed, Why::kShutDown}) {
    SCOPED_TRACE(static_cast<int>(why));
    std::optional<WaitEngine> engine(
        WaitEngineOptions{.threads = 0, .tick = absl::ZeroDuration()});
    WaitEngine& running = *engine;
    std::optional<PollCompletion<Value>> done;
    WaitHandle other = running.Start(NeverReady(), Ignore);
    int destroyed = 0;
    int started = 0;
    WaitHandle wait = running.Start(AsyncWaiter(
                                        [&](PollCompletion<Value> completion) {
                                          done = std::move(completion);
                                        },
                                        Quick()),
                                    [](const WaitResult<Value>&) {});
    running.RunDue();
    if (why == Why::kSecond) (*done)(Success(Value()));
    (*done)(Success(AtEnd([&] {
      ++destroyed;
      other = WaitHandle();
      running
          .Start(Waiter([] { return true; }, Quick()),
                 [&](const WaitResult<>&) { ++started; })
          .Detach();
    })));
    done.reset();
    if (why == Why::kCancelled) wait.Cancel();
    if (why == Why::kDestroyed) wait = WaitHandle();
    if (why == Why::kShutDown) engine.reset();
    if (engine.has_value()) engine->Run();

    EXPECT_EQ(destroyed, 1);
    EXPECT_EQ(started, 1);
  }
}

TEST(CaptureAnswersTest, AnswerAfterTheEngineIsDestroyedAtOnce) {
  using Value = std::shared_ptr<void>;
  std::optional<PollCompletion<Value>> done;
  {
    WaitEngine engine({.threads = 0});
    engine
        .Start(AsyncWaiter([&](const PollCompletion<Value>& d) { done = d; },
                           Quick()),
               [](const WaitResult<Value>&) {})
        .Detach();
    engine.RunDue();
  }
  int destroyed = 0;
  (*done)(Success(AtEnd([&] { ++destroyed; })));
  EXPECT_EQ(destroyed, 1);
}

using CapturesOfClockCallsTest = EngineFixture;

// The captures of a call are also destroyed without the lock of the clock.
TEST_F(CapturesOfClockCallsTest, CallOfTheClockMayOwnAHandle) {
  WaitEngine engine(Simulated());
  auto handle =
      std::make_shared<WaitHandle>(engine.Start(NeverReady(), results_.Take()));
  clock_.CallAt(absl::Minutes(1), [moved = std::move(handle)] {});
  engine.Run();

  EXPECT_EQ(clock_.Elapsed(), absl::Minutes(1));
  EXPECT_EQ(held(), 0);
}

// Outside of `Run` and of every function, the end of the handle frees the
// capture.
TEST(CapturesDeathTest, LastOwnerOfItsEngineDies) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        auto engine =
            std::make_shared<WaitEngine>(WaitEngineOptions{.threads = 0});
        std::optional<WaitHandle> handle =
            engine->Start(Waiter([engine] { return false; }, Quick()), Ignore);
        engine->RunDue();
        engine.reset();
        handle.reset();
      },
      "a WaitEngine was destroyed by one of its own waits");
}

TEST(CapturesDeathTest, DestructorsThatAlwaysStartAgainDie) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        std::function<void()> again;
        WaitEngine engine({.threads = 0});
        again = [&] {
          engine
              .Start(
                  Waiter([capture = AtEnd(again)] { return false; }, Quick()),
                  Ignore)
              .Detach();
        };
        again();
      },
      "a WaitEngine cannot end");
}

}  // namespace
}  // namespace waiter::captures_test
