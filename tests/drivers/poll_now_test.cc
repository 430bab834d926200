// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Notifications of waits: `PollNotifier` for the blocking form, and
// `WaitHandle::PollNow` for engines. All share one table of timelines.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/hook_actions.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/delay_source.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::poll_now_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// One poll: its answer, and the seconds that it takes.
struct Look {
  Poll<> answer;
  int takes = 0;
};

// A wait whose function answers with `looks`, and then with success.
struct Timeline {
  std::string name;
  WaitOptions options;
  std::vector<Look> looks;
  // Times since the start, in seconds.
  std::vector<int> notified_at;
  std::vector<int> polled_at;
  // For a lean report, if that differs.
  std::optional<std::vector<int>> lean_polled_at = std::nullopt;
  StopReason reason = StopReason::kSuccess;
  std::optional<int> stopped_at = std::nullopt;
};

void PrintTo(const Timeline& timeline, std::ostream* out) {
  *out << timeline.name;
}

WaitOptions With(BackoffOptions backoff) {
  return {.timeout = absl::Hours(1),
          .backoff = backoff,
          .errors = {
              .server_error_backoff = backoff,
              .throttled_backoff = backoff,
              .retry_after = {.rule = RetryAfterOptions::Rule::kLowerBound}}};
}

WaitOptions EverySeconds(int seconds) {
  return With(Every(absl::Seconds(seconds)));
}

std::vector<Timeline> Timelines() {
  const Look not_ready = {NotReady()};
  std::vector<Timeline> all;
  all.push_back({.name = "EndsTheSleepAtOnce",
                 .options = EverySeconds(10),
                 .looks = {not_ready},
                 .notified_at = {3},
                 .polled_at = {0, 3}});
  all.push_back({.name = "ManyAreOnePoll",
                 .options = EverySeconds(10),
                 .looks = {not_ready, not_ready},
                 .notified_at = {3, 3, 3, 3},
                 .polled_at = {0, 3, 13}});
  all.push_back({.name = "EndsADelayThatAnAnswerSets",
                 .options = EverySeconds(10),
                 .looks = {{TryAgainAfter(absl::Seconds(30))}, not_ready},
                 .notified_at = {3},
                 .polled_at = {0, 3, 13}});
  BackoffOptions doubling = Every(absl::Seconds(1));
  doubling.max_delay = absl::Seconds(60);
  doubling.multiplier = 2;
  all.push_back({.name = "RestartsTheGrowth",
                 .options = With(doubling),
                 .looks = {not_ready, not_ready, not_ready, not_ready,
                           not_ready, not_ready},
                 .notified_at = {9},
                 .polled_at = {0, 1, 3, 7, 9, 10, 12}});
  Timeline first = {.name = "EndsTheFirstDelay",
                    .options = EverySeconds(10),
                    .looks = {not_ready},
                    .notified_at = {5},
                    .polled_at = {5, 15}};
  first.options.polls.first_delay = absl::Seconds(30);
  all.push_back(first);
  Timeline hint = {.name = "HintHolds",
                   .options = EverySeconds(10),
                   .looks = {{NotReady("", absl::Seconds(20))}},
                   .notified_at = {5},
                   .polled_at = {0, 20}};
  hint.options.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
  all.push_back(hint);
  all.push_back({.name = "HintBelowTheDelayHolds",
                 .options = EverySeconds(60),
                 .looks = {{NotReady("", absl::Seconds(10))}},
                 .notified_at = {4, 6},
                 .polled_at = {0, 10},
                 .lean_polled_at = {{0, 60}}});
  all.push_back({.name = "PollsAtOnceAfterTheHint",
                 .options = EverySeconds(60),
                 .looks = {{NotReady("", absl::Seconds(10))}},
                 .notified_at = {14},
                 .polled_at = {0, 14},
                 .lean_polled_at = {{0, 60}}});
  BackoffOptions at_least = Every(absl::Seconds(60));
  at_least.min_delay = absl::Seconds(10);
  all.push_back({.name = "MinDelayHolds",
                 .options = With(at_least),
                 .looks = {not_ready},
                 .notified_at = {4},
                 .polled_at = {0, 10},
                 .lean_polled_at = {{0, 60}}});
  Timeline rule = {.name = "DelayFunctionHasNoMinDelay",
                   .options = With(at_least),
                   .looks = {not_ready},
                   .notified_at = {4},
                   .polled_at = {0, 4}};
  rule.options.delay_source = [](const DelayRequest&, absl::BitGenRef) {
    return absl::Seconds(30);
  };
  all.push_back(rule);
  all.push_back({.name = "EndsTheSleepAfterAServerError",
                 .options = EverySeconds(10),
                 .looks = {{ServerError()}},
                 .notified_at = {3},
                 .polled_at = {0, 3}});
  Timeline confirming = {.name = "ConfirmationKeepsItsPace",
                         .options = EverySeconds(10),
                         .looks = {{Success()}},
                         .notified_at = {3},
                         .polled_at = {0, 10}};
  confirming.options.confirm.successes = 2;
  all.push_back(confirming);
  all.push_back({.name = "DuringAPollCausesOneAfterIt",
                 .options = EverySeconds(10),
                 .looks = {{NotReady(), 2}, not_ready},
                 .notified_at = {1, 1, 1},
                 .polled_at = {0, 2, 12}});
  Timeline attempts = {.name = "StormEndsWithTheAttempts",
                       .options = EverySeconds(10),
                       .looks = {{NotReady(), 2}, {NotReady(), 2}, not_ready},
                       .notified_at = {1, 3},
                       .polled_at = {0, 2, 4},
                       .reason = StopReason::kAttempts};
  attempts.options.max_attempts = 3;
  all.push_back(attempts);
  Timeline deadline = {.name = "StormEndsWithTheDeadline",
                       .options = EverySeconds(10),
                       .looks = {{NotReady(), 4},
                                 {NotReady(), 4},
                                 not_ready,
                                 not_ready,
                                 not_ready},
                       .notified_at = {1, 5, 9},
                       .polled_at = {0, 4, 8, 9, 10},
                       .reason = StopReason::kDeadline};
  deadline.options.timeout = absl::Seconds(10);
  all.push_back(deadline);
  Timeline before_last = {.name = "DuringAPollComesBeforeTheLast",
                          .options = EverySeconds(3600),
                          .looks = {{NotReady(), 2}},
                          .notified_at = {1},
                          .polled_at = {0, 2}};
  before_last.options.timeout = absl::Seconds(60);
  all.push_back(before_last);
  Timeline last = {.name = "LastPollStillComes",
                   .options = EverySeconds(8),
                   .looks = {not_ready, not_ready, not_ready, not_ready},
                   .notified_at = {9},
                   .polled_at = {0, 8, 9, 10},
                   .reason = StopReason::kDeadline};
  last.options.timeout = absl::Seconds(10);
  all.push_back(last);
  Timeline hinted_last = {
      .name = "HintHoldsUntilTheLastPoll",
      .options = EverySeconds(8),
      .looks = {{NotReady("", absl::Seconds(20))}, not_ready},
      .notified_at = {5},
      .polled_at = {0, 10},
      .reason = StopReason::kDeadline};
  hinted_last.options.timeout = absl::Seconds(10);
  hinted_last.options.errors.retry_after.past_deadline =
      RetryAfterOptions::PastDeadline::kPollAtDeadline;
  all.push_back(hinted_last);
  all.push_back({.name = "StopWins",
                 .options = EverySeconds(10),
                 .looks = {not_ready},
                 .notified_at = {3},
                 .polled_at = {0},
                 .reason = StopReason::kCancelled,
                 .stopped_at = 3});
  return all;
}

// The polls of a wait, and its end.
struct Outcome {
  std::vector<int> polled_at;
  StopReason reason = StopReason::kInvalidOptions;
};

// Records a poll, and returns its look.
Look NextLook(const Timeline& timeline, SimulatedClock& clock,
              std::vector<int>& polled_at) {
  polled_at.push_back(static_cast<int>(absl::ToInt64Seconds(clock.Elapsed())));
  if (polled_at.size() > timeline.looks.size()) return {Success()};
  return timeline.looks[polled_at.size() - 1];
}

// The status function of a timeline.
auto FunctionOf(const Timeline& timeline, SimulatedClock& clock,
                std::vector<int>& polled_at) {
  return [&] {
    const Look look = NextLook(timeline, clock, polled_at);
    if (look.takes > 0) clock.AdvanceTime(absl::Seconds(look.takes));
    return look.answer;
  };
}

// Like `FunctionOf`, with a completion that answers at the end of the poll.
auto AsyncFunctionOf(const Timeline& timeline, SimulatedClock& clock,
                     std::vector<int>& polled_at) {
  return [&](const PollCompletion<>& done) {
    const Look look = NextLook(timeline, clock, polled_at);
    if (look.takes == 0) return done(look.answer);
    clock.CallAt(clock.Elapsed() + absl::Seconds(look.takes),
                 [done, answer = look.answer] { done(answer); });
  };
}

Outcome RunBlocking(Timeline timeline) {
  SimulatedClock clock;
  timeline.options.clock = &clock;
  Outcome outcome;
  const PollNotifier changed;
  waiter::stop_source stop;
  if (timeline.stopped_at.has_value()) {
    clock.CallAt(absl::Seconds(*timeline.stopped_at),
                 [&] { stop.request_stop(); });
  }
  for (const int at : timeline.notified_at) {
    clock.CallAt(absl::Seconds(at), [&] { changed.PollNow(); });
  }
  Waiter wait(FunctionOf(timeline, clock, outcome.polled_at), timeline.options);
  outcome.reason =
      wait.Wait({.stop = stop.get_token(), .notifier = &changed}).reason();
  return outcome;
}

// How an engine polls.
enum class Form { kPlain, kExecutor, kCompletion, kBatch };

Outcome RunEngine(ReportLevel level, Form form, Timeline timeline) {
  SimulatedClock clock;
  timeline.options.clock = &clock;
  Outcome outcome;
  WaitEngineOptions options = {.threads = 0,
                               .tick = absl::ZeroDuration(),
                               .report = level,
                               .clock = &clock};
  if (form == Form::kExecutor) {
    using Task = absl::AnyInvocable<void()>;
    options.executor = [&clock](Task task) {
      const auto shared = std::make_shared<Task>(std::move(task));
      clock.CallAt(clock.Elapsed(), [shared] { (*shared)(); });
    };
  }
  WaitEngine engine(options);
  BatchPoller<int> poller(
      engine,
      [poll = FunctionOf(timeline, clock, outcome.polled_at)](
          absl::Span<const int>) -> absl::StatusOr<BatchAnswer<int>> {
        return BatchAnswer<int>{{1, poll()}};
      });
  const auto take = [&](const WaitResult<>& result) {
    outcome.reason = result.reason();
  };
  WaitHandle wait;
  switch (form) {
    case Form::kPlain:
    case Form::kExecutor:
      wait = engine.Start(Waiter(FunctionOf(timeline, clock, outcome.polled_at),
                                 timeline.options),
                          take);
      break;
    case Form::kCompletion:
      wait = engine.Start(
          AsyncWaiter(AsyncFunctionOf(timeline, clock, outcome.polled_at),
                      timeline.options),
          take);
      break;
    case Form::kBatch:
      wait = poller.Start(1, timeline.options, take);
      break;
  }
  if (timeline.stopped_at.has_value()) {
    clock.CallAt(absl::Seconds(*timeline.stopped_at), [&] { wait.Cancel(); });
  }
  for (const int at : timeline.notified_at) {
    clock.CallAt(absl::Seconds(at), [&] { wait.PollNow(); });
  }
  engine.Run();
  return outcome;
}

struct Driver {
  std::string name;
  std::function<Outcome(const Timeline&)> run;
  bool is_lean = false;
};

void PrintTo(const Driver& driver, std::ostream* out) { *out << driver.name; }

std::vector<Driver> Drivers() {
  const auto engine = [](ReportLevel level, Form form) {
    return [=](const Timeline& timeline) {
      return RunEngine(level, form, timeline);
    };
  };
  return {{"Blocking", RunBlocking},
          {"Engine", engine(ReportLevel::kFull, Form::kPlain)},
          {"LeanEngine", engine(ReportLevel::kLean, Form::kPlain),
           /*is_lean=*/true},
          {"Executor", engine(ReportLevel::kFull, Form::kExecutor)},
          {"Completion", engine(ReportLevel::kFull, Form::kCompletion)},
          // The wait keeps its whole report, because it has a completion.
          {"LeanCompletion", engine(ReportLevel::kLean, Form::kCompletion)},
          {"Batch", engine(ReportLevel::kFull, Form::kBatch)},
          {"LeanBatch", engine(ReportLevel::kLean, Form::kBatch)}};
}

class PollNowTest
    : public testing::TestWithParam<std::tuple<Driver, Timeline>> {};

TEST_P(PollNowTest, PollsAtTheTimesOfTheTable) {
  const auto& [driver, timeline] = GetParam();

  const Outcome outcome = driver.run(timeline);

  EXPECT_THAT(
      outcome.polled_at,
      ElementsAreArray(
          driver.is_lean ? timeline.lean_polled_at.value_or(timeline.polled_at)
                         : timeline.polled_at));
  EXPECT_EQ(outcome.reason, timeline.reason);
}

INSTANTIATE_TEST_SUITE_P(All, PollNowTest,
                         testing::Combine(testing::ValuesIn(Drivers()),
                                          testing::ValuesIn(Timelines())),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" +
                                  std::get<1>(test.param).name;
                         });

// Budgets.

TEST(PollNowBudgetTest, RetryQuotaHolds) {
  SimulatedClock clock;
  // One token a second; a retry costs ten.
  const auto quota =
      *RetryQuota::Make({.capacity = 10,
                         .retry_cost = 10,
                         .timeout_cost = 10,
                         .refill_per_second = 1,
                         .when_spent = RetryQuotaOptions::WhenSpent::kWait});
  std::vector<int> polled_at;
  WaitOptions options = EverySeconds(2);
  options.budgets.retry_quota = quota;
  options.clock = &clock;
  const PollNotifier changed;
  for (const int at : {3, 5}) {
    clock.CallAt(absl::Seconds(at), [&] { changed.PollNow(); });
  }

  (void)Waiter(
      [&] {
        polled_at.push_back(
            static_cast<int>(absl::ToInt64Seconds(clock.Elapsed())));
        return polled_at.size() < 3 ? ServerError() : Success();
      },
      options)
      .Wait({.notifier = &changed});

  // The second retry gets its tokens at 10 s; then its delay begins.
  EXPECT_THAT(polled_at, ElementsAre(0, 2, 12));
}

// Uses of the notifier and the handle.

TEST(PollNotifierTest, CallsBeforeTheWaitDoNotShortenIt) {
  SimulatedClock clock;
  WaitOptions options = EverySeconds(10);
  options.polls.first_delay = absl::Seconds(30);
  options.clock = &clock;
  const PollNotifier changed;
  changed.PollNow();

  EXPECT_TRUE(
      Waiter([] { return true; }, options).Wait({.notifier = &changed}).ok());

  EXPECT_EQ(clock.Elapsed(), absl::Seconds(30));
}

TEST(PollNotifierTest, StatusFunctionMayCallIt) {
  SimulatedClock clock;
  WaitOptions options = EverySeconds(10);
  options.clock = &clock;
  const PollNotifier changed;
  int polls = 0;

  const auto result = Waiter(
                          [&] {
                            changed.PollNow();
                            return ++polls == 3;
                          },
                          options)
                          .Wait({.notifier = &changed});

  EXPECT_TRUE(result.ok());
  EXPECT_EQ(clock.Elapsed(), absl::ZeroDuration());
}

TEST(PollNotifierTest, CopiesShareTheirCount) {
  PollNotifier original;
  const PollNotifier copy = original;
  EXPECT_EQ(copy.count(), original.count());
  original.PollNow();
  EXPECT_EQ(copy.count(), original.count());
  original = PollNotifier();
  const uint64_t before = copy.count();
  original.PollNow();
  EXPECT_EQ(copy.count(), before);
}

TEST(PollNotifierTest, SleepTellsWhetherTheCountIsAnother) {
  SimulatedClock clock;
  const PollNotifier changed;
  const uint64_t count = changed.count();
  stop_source stop;
  stop.request_stop();
  // Sleeps until `seconds` after the start.
  const auto sleeps = [&](int seconds, uint64_t since,
                          const stop_token& token) {
    return changed.SleepUntil(
        clock,
        clock.MonotonicNow() +
            absl::ToChronoNanoseconds(absl::Seconds(seconds) - clock.Elapsed()),
        token, "x", since);
  };
  EXPECT_FALSE(sleeps(5, count, {}));
  EXPECT_EQ(clock.Elapsed(), absl::Seconds(5));
  EXPECT_TRUE(sleeps(10, count + 1, {}));
  EXPECT_FALSE(sleeps(10, count, stop.get_token()));
  EXPECT_FALSE(sleeps(5, count, {}));
  EXPECT_EQ(clock.Elapsed(), absl::Seconds(5));
  clock.CallAt(absl::Seconds(7), [&] { changed.PollNow(); });
  EXPECT_TRUE(sleeps(50, count, {}));
  EXPECT_TRUE(sleeps(7, count, {}));
  EXPECT_EQ(clock.Elapsed(), absl::Seconds(7));
}

TEST(PollNotifierTest, HistoryHasTheDelayThatWasSlept) {
  SimulatedClock clock;
  WaitOptions options = EverySeconds(10);
  options.hooks.history_limit = 5;
  options.clock = &clock;
  const PollNotifier changed;
  clock.CallAt(absl::Seconds(3), [&] { changed.PollNow(); });
  int polls = 0;

  const auto result = Waiter([&] { return ++polls == 2; }, options)
                          .Wait({.notifier = &changed});

  ASSERT_EQ(result.report().history.size(), 2U);
  EXPECT_EQ(result.report().history[0].delay, absl::Seconds(3));
  EXPECT_EQ(result.report().slept, absl::Seconds(3));
}

using PollNowHandleTest = EngineFixture;

TEST_F(PollNowHandleTest, HandlesWithoutAWaitIgnoreIt) {
  WaitHandle none;
  none.PollNow();
  WaitHandle orphan;
  {
    WaitEngine engine(Simulated());
    WaitHandle ended = engine.Start(Ready(), results_.Take());
    orphan = engine.Start(NeverReady(), TakeHolding());
    WaitHandle detached = engine.Start(NeverReady(), TakeHolding());
    detached.Detach();
    engine.RunDue();
    EXPECT_EQ(polls_, 2);
    ended.PollNow();
    detached.PollNow();
    engine.RunDue();
    EXPECT_EQ(polls_, 2);
    EXPECT_EQ(results_.reports().size(), 1U);
  }
  orphan.PollNow();
  EXPECT_EQ(polls_, 2);
}

TEST_F(PollNowHandleTest, HandleOfAnEndedWaitDoesNotReachTheNextOne) {
  WaitEngine engine(Simulated());
  WaitHandle ended = engine.Start(Ready(), results_.Take());
  engine.Run();
  // Uses the same record.
  WaitHandle next = engine.Start(NeverReady(), results_.Take());
  clock_.CallAt(absl::Milliseconds(500), [&] { ended.PollNow(); });
  clock_.CallAt(absl::Milliseconds(1500), [&] { next.Cancel(); });

  engine.Run();

  EXPECT_EQ(polls_, 2);
}

TEST_F(PollNowHandleTest, CallBeforeTheStartEndsTheFirstDelay) {
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.polls.first_delay = absl::Seconds(30);
  WaitHandle wait = engine.Start(Waiter([&] { return ++polls_ == 2; }, options),
                                 results_.Take());
  for (int i = 0; i < 5; ++i) wait.PollNow();

  engine.Run();

  // The first poll is enough for all calls.
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(1));
}

TEST_F(PollNowHandleTest, StatusFunctionMayCallItForItsOwnWait) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  wait = engine.Start(Waiter(
                          [&] {
                            wait.PollNow();
                            return ++polls_ == 3;
                          },
                          EverySecond()),
                      results_.Take());

  engine.Run();

  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(PollNowHandleTest, AnyHookMayCallIt) {
  for (const bool on_engine : {false, true}) {
    for (const Hook hook : kHooks) {
      SCOPED_TRACE(NameOf(hook));
      const PollNotifier changed;
      WaitHandle handle;
      const auto poll_now = [&] {
        changed.PollNow();
        handle.PollNow();
      };
      const auto observer = std::make_shared<ActingObserver>(hook, poll_now);
      std::vector<absl::Duration> polled_at;
      const absl::Duration start = clock_.Elapsed();
      WaitOptions options = EverySecond(absl::Milliseconds(1500));
      options.hooks.observer = observer;
      options.hooks.on_failure = [&](const WaitFailure&) { poll_now(); };
      options.hooks.on_checkpoint = [&](const WaitToken&) {
        observer->OnCheckpoint();
      };
      Waiter wait(
          [&] {
            polled_at.push_back(clock_.Elapsed() - start);
            return false;
          },
          options);
      if (on_engine) {
        WaitEngine engine(Simulated());
        handle = engine.Start(std::move(wait), results_.Take());
        engine.Run();
        poll_now();
      } else {
        (void)wait.Wait({.notifier = &changed});
      }
      EXPECT_EQ(observer->reason(), StopReason::kDeadline);
      EXPECT_EQ(polled_at.back(), absl::Milliseconds(1500));
      // The first poll may serve the calls before it.
      if (hook != Hook::kOnStart && hook != Hook::kBeforePoll &&
          hook != Hook::kOnDone) {
        EXPECT_EQ(polled_at.at(1), absl::ZeroDuration());
      }
    }
  }
}

TEST_F(PollNowHandleTest, EveryCheckpointMayCallIt) {
  for (const bool on_engine : {false, true}) {
    const PollNotifier changed;
    WaitHandle handle;
    int checkpoints = 0;
    std::vector<absl::Duration> polled_at;
    const absl::Duration start = clock_.Elapsed();
    WaitOptions options = EverySecond(absl::Seconds(2));
    options.backoff.min_delay = absl::Milliseconds(400);
    options.hooks.on_checkpoint = [&](const WaitToken&) {
      if (++checkpoints > 100) return;
      changed.PollNow();
      handle.PollNow();
    };
    Waiter wait(
        [&] {
          polled_at.push_back(clock_.Elapsed() - start);
          return false;
        },
        options);

    if (on_engine) {
      WaitEngine engine(Simulated());
      handle = engine.Start(std::move(wait), results_.Take());
      engine.Run();
    } else {
      (void)wait.Wait({.notifier = &changed});
    }

    // A poll at 1.6 s would be too close to the last one.
    EXPECT_THAT(polled_at,
                ElementsAre(absl::ZeroDuration(), absl::Milliseconds(400),
                            absl::Milliseconds(800), absl::Milliseconds(1200),
                            absl::Seconds(2)));
    // Each of four sleeps has one, and each of three that were shortened has
    // another one.
    EXPECT_EQ(checkpoints, 7);
  }
}

}  // namespace
}  // namespace waiter::poll_now_test
