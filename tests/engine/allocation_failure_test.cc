// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Behavior of starts, handles, completions, waiters and engines when memory
// runs out. tests/support/allocation_scene.h says what each test does.

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/support/allocation_scene.h"
#include "tests/support/failing_new.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::absl::Seconds;
using Mode = FailingNew::Mode;

#ifndef _WIN32
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
#endif

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

#ifdef _WIN32
TEST(WaitEngineFailureTest, EngineThatRunsOutOfMemoryTerminatesTheProgram) {
  GTEST_SKIP() << "three cases need fork(2)";
}
#else
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
#endif

}  // namespace
}  // namespace waiter
