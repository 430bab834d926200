// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Behavior of groups, coroutines and batches of an engine when memory runs out.
// tests/support/allocation_scene.h says what each test does.

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/support/allocation_scene.h"
#include "tests/support/failing_new.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::absl::Seconds;
using Mode = FailingNew::Mode;

// Tests that take long, for one way in which memory runs out.
class FailureModeTest : public testing::TestWithParam<Mode> {};

INSTANTIATE_TEST_SUITE_P(Modes, FailureModeTest, testing::ValuesIn(kModes),
                         [](const testing::TestParamInfo<Mode>& mode) {
                           return mode.param == Mode::kOnce ? "Once"
                                                            : "FromThen";
                         });

// Groups.

// Returns `count` waits that succeed at their second poll.
auto GroupWaitsOf(Scene& scene, int count) {
  auto poll = [token = scene.token, polls = 0]() mutable {
    return ++polls == 2;
  };
  std::vector<Waiter<decltype(poll)>> waits;
  const auto policy = scene.EverySecondPolicy();
  waits.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) waits.emplace_back(poll, policy);
  return waits;
}
auto CountGroup(Scene& scene, size_t count) {
  return [&scene, token = scene.token,
          count](const std::vector<WaitResult<>>& results) {
    ++scene.ended;
    EXPECT_EQ(results.size(), count);
  };
}

TEST_P(FailureModeTest, ConstructorOfAGroupStartsNothing) {
  for (const int count : {0, 1, 3}) {
    for (const bool is_decided : {false, true}) {
      const int64_t allocations = WithEveryFailure(
          [&](Scene& scene) {
            std::optional<WaitGroup<>> group;
            const bool succeeded = scene.TryCleanly([&] {
              WaitGroupOptions options;
              if (is_decided) options.successes_required = 0;
              group.emplace(scene.engine, GroupWaitsOf(scene, count), options,
                            CountGroup(scene, static_cast<size_t>(count)));
            });
            EXPECT_EQ(group.has_value(), succeeded);
            scene.engine.Run();
            EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
          },
          {GetParam()});
      EXPECT_GT(allocations, 0);
    }
  }
}

TEST_P(FailureModeTest, ConstructorOfAGroupInACallbackStartsNothing) {
  WithEveryFailure(
      [&](Scene& scene) {
        std::optional<WaitGroup<>> group;
        bool succeeded = false;
        scene.engine
            .Start(Waiter([] { return true; }, scene.EverySecond()),
                   [&](const WaitResult<>&) {
                     succeeded = scene.TryCleanly([&] {
                       group.emplace(scene.engine, GroupWaitsOf(scene, 3),
                                     WaitGroupOptions(), CountGroup(scene, 3));
                     });
                   })
            .Detach();
        scene.engine.Run();
        EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
      },
      {GetParam()});
}

// A value that holds up the engine's thread when it is moved, between the end
// of its wait and the callback, until the constructor of the group has thrown.
struct SlowToMove {
  SlowToMove() = default;
  SlowToMove(const SlowToMove&) {}
  SlowToMove& operator=(const SlowToMove&) { return *this; }
  SlowToMove(SlowToMove&&) noexcept {
    if (--moves_left != 0) return;
    is_moved = true;
    const absl::Time limit = absl::Now() + Seconds(1);
    while (!has_thrown && absl::Now() < limit) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  }
  SlowToMove& operator=(SlowToMove&&) noexcept { return *this; }

  static inline std::atomic<int> moves_left = 0;
  static inline std::atomic<bool> is_moved = false;
  static inline std::atomic<bool> has_thrown = false;
};

// A capture that cannot be moved into the engine.
struct ThrowsWhenStarted {
  explicit ThrowsWhenStarted(bool is_second) : throws(is_second) {}
  ThrowsWhenStarted(const ThrowsWhenStarted&) = default;
  ThrowsWhenStarted(ThrowsWhenStarted&& other) : throws(other.throws) {
    if (!throws || !is_armed) return;
    const absl::Time limit = absl::Now() + Seconds(1);
    while (!SlowToMove::is_moved && absl::Now() < limit) {
      std::this_thread::yield();
    }
    SlowToMove::has_thrown = true;
    throw std::bad_alloc();
  }

  bool throws;
  static inline std::atomic<bool> is_armed = false;
};

// The first wait calls back after the constructor of the group has thrown.
TEST(WaitGroupFailureTest, ConstructorThatThrowsMeetsACallback) {
  for (int moves = 1; moves < 12; ++moves) {
    SCOPED_TRACE(absl::StrCat("move ", moves));
    SlowToMove::moves_left = 0;
    SlowToMove::is_moved = SlowToMove::has_thrown = false;
    ThrowsWhenStarted::is_armed = false;
    std::atomic<int> exceptions = 0;
    {
      WaitEngine engine({.on_callback_exception =
                             [&](const std::exception_ptr&) { ++exceptions; }});
      const auto poll_of = [](bool is_second) {
        return [start = ThrowsWhenStarted(is_second)]() -> Poll<SlowToMove> {
          return Success(SlowToMove());
        };
      };
      std::vector<Waiter<decltype(poll_of(false))>> waits;
      waits.reserve(2);
      const auto policy = WaitPolicy::Make({.timeout = Seconds(10)});
      waits.emplace_back(poll_of(false), policy);
      waits.emplace_back(poll_of(true), policy);
      SlowToMove::moves_left = moves;
      ThrowsWhenStarted::is_armed = true;
      try {
        const WaitGroup<SlowToMove> group(
            engine, std::move(waits), {},
            [](std::vector<WaitResult<SlowToMove>>) {
              ADD_FAILURE() << "there is no group to call back";
            });
        ADD_FAILURE() << "the constructor has not thrown";
      } catch (const std::bad_alloc&) {
      }
    }
    EXPECT_EQ(exceptions, 0);
  }
}

TEST(WaitGroupFailureTest, CancelDoesNotThrow) {
  WithEveryFailure([](Scene& scene) {
    WaitGroup<> group(scene.engine, GroupWaitsOf(scene, 3), {},
                      CountGroup(scene, 3));
    scene.engine.RunDue();
    EXPECT_TRUE(scene.Try([&] { group.Cancel(); }));
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 1);
  });
}

TEST(WaitGroupFailureTest, DetachDoesNotThrow) {
  WithEveryFailure([](Scene& scene) {
    WaitGroup<> group(scene.engine, GroupWaitsOf(scene, 3), {},
                      CountGroup(scene, 3));
    scene.engine.RunDue();
    EXPECT_TRUE(scene.Try([&] { group.Detach(); }));
    scene.engine.Run();
    EXPECT_EQ(scene.ended, 1);
  });
}

TEST(WaitGroupFailureTest, MovingAndDestroyingDoNotThrow) {
  WithEveryFailure([](Scene& scene) {
    const int64_t held = scene.token.use_count();
    std::optional<WaitGroup<>> group;
    group.emplace(scene.engine, GroupWaitsOf(scene, 3), WaitGroupOptions(),
                  CountGroup(scene, 3));
    WaitGroup<> other(scene.engine, GroupWaitsOf(scene, 3), {},
                      CountGroup(scene, 3));
    scene.engine.RunDue();
    EXPECT_TRUE(scene.Try([&] {
      *group = std::move(other);
      group.reset();
    }));
    EXPECT_EQ(scene.token.use_count(), held);
    scene.engine.Run();
    EXPECT_EQ(scene.ended, 0);
  });
}

// Coroutines.

struct Task {
  // NOLINTBEGIN(readability-identifier-naming): names of the language
  struct promise_type {
    explicit promise_type(std::exception_ptr& place) : thrown(&place) {}
    template <typename... Args>
    explicit promise_type(std::exception_ptr& place, const Args&...)
        : thrown(&place) {}
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { *thrown = std::current_exception(); }

    std::exception_ptr* thrown;
  };
  // NOLINTEND(readability-identifier-naming)
};

template <typename W>
Task AwaitWait(std::exception_ptr& /*thrown*/, Scene& scene, W wait,
               waiter::stop_token stop) {
  const WaitResult<> result =
      co_await Await(scene.engine, std::move(wait), std::move(stop));
  ++scene.ended;
  scene.last_reason = result.reason();
}

template <typename MakeWait>
void TestAwait(MakeWait make_wait, bool has_stop,
               absl::Span<const Mode> modes = kModes) {
  const int64_t allocations = WithEveryFailure(
      [&](Scene& scene) {
        std::exception_ptr thrown;
        waiter::stop_source stop(waiter::nostopstate);
        if (has_stop) stop = waiter::stop_source();
        // The coroutine keeps an exception of `co_await`. The call throws if
        // the coroutine's frame cannot be allocated.
        const bool succeeded = scene.TryCleanly([&] {
          auto wait = make_wait(scene);
          AwaitWait(thrown, scene, std::move(wait), stop.get_token());
          if (thrown != nullptr) std::rethrow_exception(thrown);
        });
        scene.engine.Run();
        EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
      },
      modes);
  EXPECT_GT(allocations, 0);
}

TEST(AwaitFailureTest, StartsNothing) {
  TestAwait(
      [](Scene& scene) {
        return Waiter([token = scene.token] { return true; },
                      scene.EverySecondPolicy());
      },
      /*has_stop=*/false);
}

TEST(AwaitFailureTest, StartsNothingWithAStopToken) {
  TestAwait(
      [](Scene& scene) {
        return Waiter([token = scene.token] { return true; },
                      scene.EverySecondPolicy());
      },
      /*has_stop=*/true);
}

// The status function stays in the coroutine's frame, so nothing is leaked.
TEST_P(FailureModeTest, AwaitWithAContextStartsNothing) {
  TestAwait(
      [](Scene& scene) {
        return Waiter(
            [token = scene.token](const PollContext&) { return true; },
            scene.EverySecondPolicy());
      },
      /*has_stop=*/true, {GetParam()});
}

TEST(AwaitFailureTest, StartsNothingAsynchronously) {
  TestAwait(
      [](Scene& scene) {
        return AsyncWaiter(
            [token = scene.token](const PollCompletion<>& done) { done(true); },
            scene.EverySecondPolicy());
      },
      /*has_stop=*/false);
}

// A stop request runs `Cancel`, which gets no memory.
TEST(AwaitFailureTest, StopRequestDoesNotThrow) {
  WithEveryFailure([](Scene& scene) {
    std::exception_ptr thrown;
    waiter::stop_source stop;
    Waiter wait([token = scene.token] { return false; }, scene.EverySecond());
    AwaitWait(thrown, scene, std::move(wait), stop.get_token());
    scene.engine.RunDue();
    EXPECT_TRUE(scene.Try([&] { stop.request_stop(); }));
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 1);
    EXPECT_EQ(scene.last_reason, StopReason::kCancelled);
  });
}

// Batches.

using Poller = BatchPoller<std::string>;

// Answers each key with success at the second call.
Poller::Call BatchCall(Scene& scene) {
  return [token = scene.token,
          calls = 0](absl::Span<const std::string> keys) mutable
         -> absl::StatusOr<BatchAnswer<std::string>> {
    BatchAnswer<std::string> answer;
    if (++calls < 2) return answer;
    for (const std::string& key : keys) {
      answer.emplace(key, PollStatus::kSuccess);
    }
    return answer;
  };
}

TEST(BatchPollerFailureTest, ConstructorMakesNothing) {
  const int64_t allocations = WithEveryFailure([](Scene& scene) {
    std::optional<Poller> poller;
    const bool succeeded = scene.TryCleanly(
        [&] { poller.emplace(scene.engine, BatchCall(scene)); });
    EXPECT_EQ(poller.has_value(), succeeded);
  });
  EXPECT_GT(allocations, 0);
}

TEST(BatchPollerFailureTest, StartStartsNothing) {
  for (const bool has_other : {false, true}) {
    const int64_t allocations = WithEveryFailure([&](Scene& scene) {
      Poller poller(scene.engine, BatchCall(scene), {.window = Seconds(0.1)});
      int others = 0;
      WaitHandle other;
      if (has_other) {
        other = poller.Start(std::string(kLongText), scene.EverySecond(),
                             [&](const WaitResult<>&) { ++others; });
      }
      const std::string key(kLongText);
      WaitHandle wait;
      const bool succeeded = scene.TryCleanly([&] {
        wait = poller.Start(key, scene.EverySecond(), scene.CountEnd());
      });
      scene.engine.Run();
      EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
      EXPECT_EQ(others, has_other ? 1 : 0);
      // The poller continues to work.
      int again = 0;
      const WaitHandle last = poller.Start(
          key, scene.EverySecond(), [&](const WaitResult<>&) { ++again; });
      scene.engine.Run();
      EXPECT_EQ(again, 1);
    });
    EXPECT_GT(allocations, 0);
  }
}

TEST(BatchPollerFailureTest, PrepareMakesNothing) {
  const int64_t allocations = WithEveryFailure([](Scene& scene) {
    Poller poller(scene.engine, BatchCall(scene));
    const auto policy = scene.EverySecondPolicy();
    WaitHandle wait;
    const bool succeeded = scene.TryCleanly([&] {
      wait = scene.engine.Start(poller.Prepare(std::string(kLongText), policy),
                                scene.CountEnd());
    });
    scene.engine.Run();
    EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
  });
  EXPECT_GT(allocations, 0);
}

}  // namespace
}  // namespace waiter
