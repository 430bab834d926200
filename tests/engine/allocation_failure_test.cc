// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Behavior of the engine when memory runs out. Each test repeats a call: its
// first allocation fails, then its second one, until none does. Each failure is
// tried twice: later allocations succeed, or also fail. After each failure
// nothing is leaked, no wait is lost, and the engine continues to work.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/failing_new.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::absl::Seconds;
using Mode = FailingNew::Mode;

// A text that is too long for a string's inline buffer.
constexpr char kLongText[] =
    "a text that is too long to be stored without an allocation";

// Simulated time without allocations: a sleep sets the time.
class StepClock final : public Clock {
 public:
  absl::Time TimeNow() override {
    return absl::UnixEpoch() + absl::FromChrono(now_.time_since_epoch());
  }
  MonotonicTime MonotonicNow() override { return now_; }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view) override {
    if (!stop.stop_requested() && wake_up != MonotonicTime::max()) {
      now_ = std::max(now_, wake_up);
    }
  }

 private:
  MonotonicTime now_{std::chrono::hours(1)};
};

// An engine for one try of a call, and the waits on it.
class Scene {
 public:
  Scene(int64_t nth, Mode mode, ReportLevel report,
        const std::shared_ptr<int>& token_of_test)
      : token(token_of_test),
        engine({.threads = 0,
                .tick = absl::ZeroDuration(),
                .report = report,
                .clock = &clock}),
        nth_(nth),
        mode_(mode) {
    bystander_ = engine.Start(
        Waiter([polls = 0]() mutable { return ++polls == 100; }, EverySecond()),
        [this](const WaitResult<>& result) {
          ++bystander_ended_;
          EXPECT_EQ(result.reason(), StopReason::kSuccess);
        });
  }

  // Runs all waits to their ends, and expects that the engine works.
  ~Scene() {
    engine.Run();
    EXPECT_EQ(bystander_ended_, 1);
    int more_ended = 0;
    for (int i = 0; i < 3; ++i) {
      engine
          .Start(Waiter(
                     [](const PollContext& context) {
                       return context.attempt == 3;
                     },
                     EverySecond()),
                 [&](const WaitResult<>& result) {
                   ++more_ended;
                   EXPECT_EQ(result.reason(), StopReason::kSuccess);
                 })
          .Detach();
    }
    engine.Run();
    EXPECT_EQ(more_ended, 3);
  }

  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // Runs `call` while the nth allocation fails. Returns whether it succeeded,
  // which means that it did not throw.
  template <typename F>
  bool Try(F call) {
    FailingNew failing(nth_, mode_);
    try {
      call();
      has_failed_ = failing.has_failed();
      return true;
    } catch (const std::bad_alloc&) {
      has_failed_ = failing.has_failed();
      return false;
    }
  }
  // Like `Try`, and expects that a call that throws keeps nothing.
  template <typename F>
  bool TryCleanly(F call) {
    const int64_t held = token.use_count();
    const bool succeeded = Try(std::move(call));
    if (!succeeded) {
      EXPECT_EQ(token.use_count(), held) << "functions are still held";
    }
    return succeeded;
  }

  WaitOptions EverySecond(absl::Duration timeout = absl::Hours(1)) {
    return {.timeout = timeout, .backoff = Every(Seconds(1)), .clock = &clock};
  }
  auto EverySecondPolicy() { return WaitPolicy::Make(EverySecond()); }

  // Returns a callback that counts ends.
  auto CountEnd() {
    return [this](const WaitResultBase& result) {
      ++ended;
      last_reason = result.reason();
    };
  }

  bool has_failed() const { return has_failed_; }

  StepClock clock;
  const std::shared_ptr<int> token;
  int ended = 0;
  std::optional<StopReason> last_reason;
  // Completions that asynchronous functions have kept.
  std::vector<PollCompletion<>> completions;
  WaitEngine engine;

 private:
  const int64_t nth_;
  const Mode mode_;
  bool has_failed_ = false;
  WaitHandle bystander_;
  int bystander_ended_ = 0;
};

constexpr std::array<Mode, 2> kModes = {Mode::kOnce, Mode::kFromThen};

// Calls `test` with a scene for each allocation that may fail. Returns the
// number of allocations that the call makes.
template <typename Test>
int64_t WithEveryFailure(Test test, absl::Span<const Mode> modes = kModes) {
  constexpr int64_t kMost = 300;
  int64_t most = 0;
  for (const Mode mode : modes) {
    for (const ReportLevel report : {ReportLevel::kLean, ReportLevel::kFull}) {
      for (int64_t nth = 1; nth < kMost; ++nth) {
        SCOPED_TRACE(
            absl::StrCat("allocation ", nth,
                         mode == Mode::kOnce ? "" : " and all later ones",
                         report == ReportLevel::kLean ? ", brief report" : ""));
        const auto token = std::make_shared<int>();
        bool has_failed = false;
        {
          Scene scene(nth, mode, report, token);
          test(scene);
          has_failed = scene.has_failed();
        }
        EXPECT_EQ(token.use_count(), 1) << "functions are leaked";
        most = std::max(most, nth - 1);
        if (!has_failed || testing::Test::HasFailure()) break;
      }
    }
  }
  return most;
}

// Runs `body` in its own process. Returns its exit code, or 128 and the number
// of the signal that ended it.
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    // The message of a program that terminates is expected. The handler that
    // prints it may crash without memory.
    close(STDERR_FILENO);
    std::set_terminate(std::abort);
    body();
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Starts of every form.

// Functions that fit into a record, need additional memory, or take a context,
// which has a state for stop requests.
enum class Size : uint8_t { kSmall, kLarge, kWithContext };

struct StartCase {
  const char* name;
  Size size;
  std::function<WaitHandle(Scene&)> start;
};

struct Ballast {
  std::array<int64_t, 8> numbers = {};
};

const std::vector<StartCase>& StartCases() {
  static const auto* const kCases = new std::vector<StartCase>{
      {"Plain", Size::kSmall,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter([token = scene.token] { return true; },
                    scene.EverySecond()),
             scene.CountEnd());
       }},
      {"Large", Size::kLarge,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter([token = scene.token, ballast = Ballast()] { return true; },
                    scene.EverySecond()),
             scene.CountEnd());
       }},
      {"LargeCallback", Size::kLarge,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter([token = scene.token] { return true; },
                    scene.EverySecond()),
             [count = scene.CountEnd(), token = scene.token,
              ballast = Ballast()](const WaitResult<>& result) {
               count(result);
             });
       }},
      {"CopiedFunctions", Size::kLarge,
       [](Scene& scene) {
         const std::string text(kLongText);
         // In this order, because g++ 11 leaks a closure's earlier captures if
         // a later capture throws.
         std::function<bool()> poll = [text, token = scene.token] {
           return !text.empty();
         };
         const Waiter wait(poll, scene.EverySecond());
         std::function<void(const WaitResult<>&)> call_back = scene.CountEnd();
         return scene.engine.Start(wait, call_back);
       }},
      {"Context", Size::kWithContext,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter([token = scene.token](const PollContext&) { return true; },
                    scene.EverySecond()),
             scene.CountEnd());
       }},
      {"LargeContext", Size::kWithContext,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter([token = scene.token,
                     ballast = Ballast()](const PollContext&) { return true; },
                    scene.EverySecond()),
             scene.CountEnd());
       }},
      {"Value", Size::kSmall,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter(
                 [token = scene.token]() -> Poll<std::string> {
                   return Success(std::string(kLongText));
                 },
                 scene.EverySecond()),
             scene.CountEnd());
       }},
      {"InvalidOptions", Size::kSmall,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter([token = scene.token] { return true; },
                    {.max_attempts = -1, .clock = &scene.clock}),
             scene.CountEnd());
       }},
      {"EmptyFunction", Size::kLarge,
       [](Scene& scene) {
         return scene.engine.Start(
             Waiter(std::function<bool()>(), scene.EverySecondPolicy()),
             scene.CountEnd());
       }},
      {"Async", Size::kSmall,
       [](Scene& scene) {
         return scene.engine.Start(
             AsyncWaiter([token = scene.token](
                             const PollCompletion<>& done) { done(true); },
                         scene.EverySecond()),
             scene.CountEnd());
       }},
      {"LargeAsync", Size::kLarge,
       [](Scene& scene) {
         return scene.engine.Start(
             AsyncWaiter([token = scene.token, ballast = Ballast()](
                             const PollCompletion<>& done) { done(true); },
                         scene.EverySecond()),
             scene.CountEnd());
       }},
      {"AsyncContext", Size::kWithContext,
       [](Scene& scene) {
         return scene.engine.Start(
             AsyncWaiter([token = scene.token](
                             const PollContext&,
                             const PollCompletion<>& done) { done(true); },
                         scene.EverySecond()),
             scene.CountEnd());
       }},
  };
  return *kCases;
}

// Returns the cases of one size.
std::vector<StartCase> CasesOf(Size size) {
  std::vector<StartCase> cases;
  for (const StartCase& each : StartCases()) {
    if (each.size == size) cases.push_back(each);
  }
  return cases;
}

class StartFailureTest
    : public testing::TestWithParam<std::tuple<StartCase, Mode>> {
 protected:
  static WaitHandle Start(Scene& scene) {
    return std::get<StartCase>(GetParam()).start(scene);
  }
  static std::vector<Mode> Modes() { return {std::get<Mode>(GetParam())}; }
};

TEST_P(StartFailureTest, StartsNothing) {
  const int64_t allocations = WithEveryFailure(
      [](Scene& scene) {
        WaitHandle wait;
        const bool succeeded = scene.TryCleanly([&] { wait = Start(scene); });
        EXPECT_EQ(wait.pending(), succeeded);
        scene.engine.Run();
        EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
      },
      Modes());
  EXPECT_GT(allocations, 0);
}

TEST_P(StartFailureTest, StartsNothingInRecordsThatWereUsed) {
  WithEveryFailure(
      [](Scene& scene) {
        for (int i = 0; i < 10; ++i) {
          scene.engine
              .Start(Waiter([](const PollContext&) { return true; },
                            scene.EverySecond()),
                     [](const WaitResult<>&) {})
              .Detach();
        }
        scene.engine.RunDue();
        WaitHandle wait;
        const bool succeeded = scene.TryCleanly([&] { wait = Start(scene); });
        scene.engine.Run();
        EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
      },
      Modes());
}

TEST_P(StartFailureTest, StartsNothingInsideOfACallback) {
  WithEveryFailure(
      [](Scene& scene) {
        WaitHandle wait;
        bool succeeded = false;
        scene.engine
            .Start(Waiter([] { return true; }, scene.EverySecond()),
                   [&](const WaitResult<>&) {
                     succeeded = scene.TryCleanly([&] { wait = Start(scene); });
                   })
            .Detach();
        scene.engine.Run();
        EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
      },
      Modes());
}

std::string NameOf(
    const testing::TestParamInfo<std::tuple<StartCase, Mode>>& each) {
  return absl::StrCat(
      std::get<StartCase>(each.param).name,
      std::get<Mode>(each.param) == Mode::kOnce ? "Once" : "FromThen");
}

INSTANTIATE_TEST_SUITE_P(
    Small, StartFailureTest,
    testing::Combine(testing::ValuesIn(CasesOf(Size::kSmall)),
                     testing::ValuesIn(kModes)),
    NameOf);
INSTANTIATE_TEST_SUITE_P(
    Large, StartFailureTest,
    testing::Combine(testing::ValuesIn(CasesOf(Size::kLarge)),
                     testing::ValuesIn(kModes)),
    NameOf);
INSTANTIATE_TEST_SUITE_P(
    WithContext, StartFailureTest,
    testing::Combine(testing::ValuesIn(CasesOf(Size::kWithContext)),
                     testing::ValuesIn(kModes)),
    NameOf);

// Handles.

class HandleFailureTest : public testing::TestWithParam<bool> {
 protected:
  // Starts a wait that never ends on its own, with or without a context.
  static WaitHandle StartForever(Scene& scene) {
    if (GetParam()) {
      return scene.engine.Start(
          Waiter([token = scene.token](const PollContext&) { return false; },
                 scene.EverySecond()),
          scene.CountEnd());
    }
    return scene.engine.Start(
        Waiter([token = scene.token] { return false; }, scene.EverySecond()),
        scene.CountEnd());
  }
};

TEST_P(HandleFailureTest, CancelDoesNotThrow) {
  WithEveryFailure([](Scene& scene) {
    std::vector<WaitHandle> waits;
    for (int i = 0; i < 5; ++i) waits.push_back(StartForever(scene));
    scene.engine.RunDue();
    EXPECT_TRUE(scene.Try([&] {
      for (WaitHandle& wait : waits) wait.Cancel();
    }));
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 5);
    EXPECT_EQ(scene.last_reason, StopReason::kCancelled);
  });
}

TEST_P(HandleFailureTest, CancelInsideOfAFunctionDoesNotThrow) {
  WithEveryFailure([](Scene& scene) {
    WaitHandle wait = StartForever(scene);
    bool succeeded = false;
    scene.engine
        .Start(Waiter([] { return true; }, scene.EverySecond()),
               [&](const WaitResult<>&) {
                 succeeded = scene.Try([&] { wait.Cancel(); });
               })
        .Detach();
    scene.engine.RunDue();
    EXPECT_TRUE(succeeded);
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 1);
  });
}

TEST_P(HandleFailureTest, DestroyingDoesNotThrowAndFreesTheFunctions) {
  WithEveryFailure([](Scene& scene) {
    const int64_t held = scene.token.use_count();
    std::vector<WaitHandle> waits;
    for (int i = 0; i < 5; ++i) waits.push_back(StartForever(scene));
    scene.engine.RunDue();
    EXPECT_TRUE(scene.Try([&] { waits.clear(); }));
    EXPECT_EQ(scene.token.use_count(), held);
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 0);
  });
}

TEST_P(HandleFailureTest, DestroyingBeforeTheFirstPollDoesNotThrow) {
  WithEveryFailure([](Scene& scene) {
    const int64_t held = scene.token.use_count();
    WaitHandle wait = StartForever(scene);
    EXPECT_TRUE(scene.Try([&] { wait = {}; }));
    EXPECT_EQ(scene.token.use_count(), held);
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 0);
  });
}

TEST_P(HandleFailureTest, DestroyingInsideOfAFunctionDoesNotThrow) {
  WithEveryFailure([](Scene& scene) {
    WaitHandle wait = StartForever(scene);
    bool succeeded = false;
    scene.engine
        .Start(Waiter([] { return true; }, scene.EverySecond()),
               [&](const WaitResult<>&) {
                 succeeded = scene.Try([&] { wait = {}; });
               })
        .Detach();
    scene.engine.RunDue();
    EXPECT_TRUE(succeeded);
    EXPECT_EQ(scene.ended, 0);
  });
}

TEST_P(HandleFailureTest, SuspendThatThrowsHasNoEffect) {
  WithEveryFailure([](Scene& scene) {
    WaitHandle wait = StartForever(scene);
    scene.engine.RunDue();
    int suspended = 0;
    const auto count = [&](const WaitToken&) { ++suspended; };
    if (!scene.Try([&] { wait.Suspend(count); })) {
      scene.engine.RunDue();
      EXPECT_TRUE(wait.pending());
      wait.Suspend(count);
    }
    scene.engine.RunDue();
    EXPECT_EQ(suspended, 1);
    EXPECT_EQ(scene.ended, 0);
  });
}

TEST_P(HandleFailureTest, DetachAndPendingDoNotThrow) {
  WithEveryFailure([](Scene& scene) {
    WaitHandle wait = StartForever(scene);
    scene.engine.RunDue();
    EXPECT_TRUE(scene.Try([&] {
      if (wait.pending()) wait.Detach();
    }));
    scene.engine.Run();
    EXPECT_EQ(scene.ended, 1);
    EXPECT_EQ(scene.last_reason, StopReason::kDeadline);
  });
}

INSTANTIATE_TEST_SUITE_P(All, HandleFailureTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& each) {
                           return each.param ? "Context" : "Plain";
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

void TestGroupConstructor(Mode mode) {
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
          {mode});
      EXPECT_GT(allocations, 0);
    }
  }
}

TEST(WaitGroupFailureTest, ConstructorStartsNothing) {
  TestGroupConstructor(Mode::kOnce);
}

TEST(WaitGroupFailureTest, ConstructorStartsNothingFromThen) {
  TestGroupConstructor(Mode::kFromThen);
}

void TestGroupConstructorInside(Mode mode) {
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
      {mode});
}

TEST(WaitGroupFailureTest, ConstructorInsideOfACallbackStartsNothing) {
  TestGroupConstructorInside(Mode::kOnce);
}

TEST(WaitGroupFailureTest, ConstructorInsideOfACallbackStartsNothingFromThen) {
  TestGroupConstructorInside(Mode::kFromThen);
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

void TestAwaitWithContext(Mode mode) {
  TestAwait(
      [](Scene& scene) {
        return Waiter(
            [token = scene.token](const PollContext&) { return true; },
            scene.EverySecondPolicy());
      },
      /*has_stop=*/true, {mode});
}

// The status function stays in the coroutine's frame, so nothing is leaked.
TEST(AwaitFailureTest, StartsNothingWithAContext) {
  TestAwaitWithContext(Mode::kOnce);
}

TEST(AwaitFailureTest, StartsNothingWithAContextFromThen) {
  TestAwaitWithContext(Mode::kFromThen);
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

// Completions.

template <typename Answer>
void TestCompletion(Answer answer) {
  const int64_t allocations = WithEveryFailure([&](Scene& scene) {
    const WaitHandle wait = scene.engine.Start(
        AsyncWaiter(
            [&scene, token = scene.token](PollCompletion<> done) {
              scene.completions.push_back(std::move(done));
            },
            scene.EverySecond()),
        scene.CountEnd());
    scene.engine.RunDue();
    ASSERT_EQ(scene.completions.size(), 1);
    const PollCompletion<> done = std::move(scene.completions.front());
    scene.completions.clear();
    const bool succeeded = scene.TryCleanly([&] { answer(done); });
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, succeeded ? 1 : 0);
    // A call that threw has not answered, so the next one does.
    if (!succeeded) answer(done);
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 1);
  });
  EXPECT_GT(allocations, 0);
}

TEST(PollCompletionFailureTest, CallAnswersOrThrows) {
  TestCompletion([](const PollCompletion<>& done) { done(true); });
}

TEST(PollCompletionFailureTest, CallWithATextAnswersOrThrows) {
  TestCompletion([](const PollCompletion<>& done) {
    done(Failed(absl::InternalError(std::string(kLongText))));
  });
}

TEST(PollCompletionFailureTest, CopiesAllocateNothing) {
  WithEveryFailure([](Scene& scene) {
    const WaitHandle wait = scene.engine.Start(
        AsyncWaiter(
            [&scene](PollCompletion<> done) {
              EXPECT_TRUE(scene.Try([&] {
                const PollCompletion<> copy = done;  // NOLINT
                done = copy;
              }));
              done(true);
            },
            scene.EverySecond()),
        scene.CountEnd());
    scene.engine.RunDue();
    EXPECT_EQ(scene.ended, 1);
  });
}

// Policies, waiters and blocking waits.

TEST(WaitPolicyFailureTest, MakeMakesNothing) {
  const int64_t allocations = WithEveryFailure([](Scene& scene) {
    std::shared_ptr<const WaitPolicy> policy;
    const bool succeeded = scene.Try([&] {
      policy = WaitPolicy::Make(
          {.name = std::string(kLongText), .timeout = Seconds(1)});
    });
    EXPECT_EQ(policy != nullptr, succeeded);
  });
  EXPECT_GT(allocations, 0);
}

TEST(WaiterFailureTest, ConstructorMakesNothing) {
  const int64_t allocations = WithEveryFailure([](Scene& scene) {
    scene.TryCleanly([&] {
      const Waiter wait(
          [token = scene.token] { return true; },
          {.name = std::string(kLongText), .timeout = Seconds(1)});
    });
    const auto policy = scene.EverySecondPolicy();
    scene.TryCleanly([&] {
      const Waiter wait([token = scene.token] { return true; }, policy);
    });
  });
  EXPECT_EQ(allocations, 0) << "the last call shares its policy";
}

TEST(WaiterFailureTest, AsyncConstructorMakesNothing) {
  const int64_t allocations = WithEveryFailure([](Scene& scene) {
    scene.TryCleanly([&] {
      const AsyncWaiter wait(
          [token = scene.token](PollCompletion<>) {},
          {.name = std::string(kLongText), .timeout = Seconds(1)});
    });
  });
  EXPECT_GT(allocations, 0);
}

// A wait that threw can be repeated.
template <typename MakeWait>
int64_t TestWait(MakeWait make_wait, absl::Span<const Mode> modes = kModes) {
  return WithEveryFailure(
      [&](Scene& scene) {
        auto wait = make_wait(scene);
        scene.TryCleanly([&] { (void)wait.Wait(); });
        auto fresh = make_wait(scene);
        EXPECT_EQ(wait.Wait().status().code(), fresh.Wait().status().code());
      },
      modes);
}

TEST(WaiterFailureTest, WaitThatSucceedsAtOnceAllocatesNothing) {
  EXPECT_EQ(TestWait([](Scene& scene) {
              return Waiter([token = scene.token] { return true; },
                            scene.EverySecond());
            }),
            0);
}

// Returns a wait that succeeds at its third poll.
auto ThirdPollSucceeds(Scene& scene) {
  return Waiter(
      [token = scene.token](const PollContext& context) {
        return context.attempt == 3 ? Success() : NotReady(kLongText);
      },
      scene.EverySecond());
}

// Returns a wait that reaches its deadline, with much to report.
auto TimesOut(Scene& scene) {
  WaitOptions options = scene.EverySecond(Seconds(3));
  options.hooks.history_limit = 10;
  return Waiter(
      [token = scene.token]() -> Poll<std::string> {
        return ServerError(absl::UnavailableError(kLongText));
      },
      options);
}

TEST(WaiterFailureTest, WaitReturnsOrThrows) {
  EXPECT_GT(TestWait(ThirdPollSucceeds, {Mode::kOnce}), 0);
}

TEST(WaiterFailureTest, WaitThatTimesOutReturnsOrThrows) {
  EXPECT_GT(TestWait(TimesOut, {Mode::kOnce}), 0);
}

TEST(WaiterFailureTest, WaitReturnsOrThrowsFromThen) {
  EXPECT_GT(TestWait(ThirdPollSucceeds, {Mode::kFromThen}), 0);
}

TEST(WaiterFailureTest, WaitThatTimesOutReturnsOrThrowsFromThen) {
  EXPECT_GT(TestWait(TimesOut, {Mode::kFromThen}), 0);
}

TEST(WaiterFailureTest, WaitWithInvalidOptionsReturnsOrThrows) {
  EXPECT_GT(TestWait([](Scene& scene) {
              return Waiter([token = scene.token] { return true; },
                            {.max_attempts = 0, .clock = &scene.clock});
            }),
            0);
}

// Engines.

TEST(WaitEngineFailureTest, ConstructorMakesNothing) {
  for (const int threads : {0, 1, 2}) {
    const int64_t allocations = WithEveryFailure([&](Scene& scene) {
      std::optional<WaitEngine> engine;
      const WaitEngineOptions options = {
          .threads = threads,
          .executor = [token = scene.token, ballast = Ballast()](
                          absl::AnyInvocable<void()> poll) { poll(); }};
      const bool succeeded = scene.TryCleanly([&] { engine.emplace(options); });
      EXPECT_EQ(engine.has_value(), succeeded);
    });
    EXPECT_GT(allocations, 0);
  }
}

TEST(WaitEngineFailureTest, ValidateThrowsAtMost) {
  WithEveryFailure([](Scene& scene) {
    scene.Try([] { (void)Validate(WaitEngineOptions{.threads = -1}); });
  });
}

// Outcome of a call in its own process.
constexpr int kSucceeded = 0;
constexpr int kUnnoticed = 2;   // An allocation failed, and nothing was lost.
constexpr int kThrew = 3;       // The call threw; called again, it succeeded.
constexpr int kThrewAgain = 4;  // The call threw; called again, it threw.
constexpr int kLost = 5;        // A wait did not end, or ended twice.
constexpr int kAborted = 128 + SIGABRT;

// Starts waits of all kinds in `scene`, which will allocate later. Returns
// their number.
int StartAll(Scene& scene, std::vector<WaitHandle>& waits) {
  for (const StartCase& each : StartCases()) {
    waits.push_back(each.start(scene));
  }
  for (int i = 0; i < 4; ++i) {
    waits.push_back(scene.engine.Start(
        Waiter(
            [token = scene.token] {
              return ServerError(absl::UnavailableError(kLongText));
            },
            scene.EverySecond(Seconds(2 + i))),
        scene.CountEnd()));
  }
  return static_cast<int>(waits.size());
}

// Runs `call` until all waits have ended. If memory runs out inside the engine,
// the program terminates: `call` neither throws nor loses a wait.
template <typename Call>
void ExpectSucceedsOrTerminates(Call call) {
  int aborted = 0;
  for (const Mode mode : kModes) {
    for (int64_t nth = 1; nth < 300; ++nth) {
      const int code = InChild([&] {
        alarm(2);
        Scene scene(nth, mode, ReportLevel::kFull, std::make_shared<int>());
        std::vector<WaitHandle> waits;
        const int count = StartAll(scene, waits);
        const bool succeeded = scene.Try([&] { call(scene); });
        if (!succeeded) {
          try {
            scene.engine.Run();
          } catch (...) {
            std::_Exit(kThrewAgain);
          }
        }
        scene.engine.Run();
        if (scene.ended != count) std::_Exit(kLost);
        if (!succeeded) std::_Exit(kThrew);
        std::_Exit(scene.has_failed() ? kUnnoticed : kSucceeded);
      });
      if (code == kSucceeded) break;
      if (code == kUnnoticed) continue;
      EXPECT_EQ(code, kAborted)
          << "allocation " << nth
          << (mode == Mode::kOnce ? "" : " and all later ones");
      if (code != kAborted) break;
      ++aborted;
    }
  }
  EXPECT_GT(aborted, 0);
}

TEST(WaitEngineFailureTest, RunDueTerminatesTheProgram) {
  ExpectSucceedsOrTerminates([](Scene& scene) { scene.engine.RunDue(); });
}

TEST(WaitEngineFailureTest, RunTerminatesTheProgram) {
  ExpectSucceedsOrTerminates([](Scene& scene) { scene.engine.Run(); });
}

// The destructor of an engine ends all waits, or terminates the program.
TEST(WaitEngineFailureTest, DestructorTerminatesTheProgram) {
  for (const Mode mode : kModes) {
    for (int64_t nth = 1; nth < 300; ++nth) {
      const int code = InChild([&] {
        alarm(2);
        StepClock clock;
        int ended = 0;
        bool has_failed = false;
        auto engine = std::make_unique<WaitEngine>(
            WaitEngineOptions{.threads = 0, .clock = &clock});
        for (int i = 0; i < 5; ++i) {
          engine
              ->Start(Waiter([] { return false; },
                             {.timeout = Seconds(10), .clock = &clock}),
                      [&](const WaitResult<>&) { ++ended; })
              .Detach();
        }
        {
          const FailingNew failing(nth, mode);
          engine.reset();
          has_failed = failing.has_failed();
        }
        if (ended != 5) std::_Exit(kLost);
        std::_Exit(has_failed ? kUnnoticed : kSucceeded);
      });
      if (code == kSucceeded) break;
      if (code == kUnnoticed) continue;
      EXPECT_EQ(code, kAborted) << "allocation " << nth;
    }
  }
}

}  // namespace
}  // namespace waiter
