// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits whose second poll goes wrong in a way that only some drivers know: it
// throws, it never answers, or its executor loses it. In every case, observers
// get the same number of hooks in the same order.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/unowned.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::unfinished_polls_test {
namespace {

using ::testing::ElementsAre;

using Task = absl::AnyInvocable<void()>;

// Records the hooks.
class Transcript : public WaitObserver {
 public:
  const std::vector<std::string>& lines() const { return lines_; }

  void OnStart(const StartEvent& /*start*/) override { Add("start"); }
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t attempt) override {
    Add(absl::StrCat("poll ", attempt));
  }
  void AfterPoll(const PollEvent& poll) override {
    Add(absl::StrCat("polled ", poll.attempt,
                     poll.answered ? "" : " unanswered"));
  }
  void OnDecision(const DecisionEvent& decision) override {
    Add(absl::StrCat(
        "decided ", decision.poll.attempt, ": ",
        decision.ended.has_value()
            ? std::string(StopReasonName(*decision.ended))
            : absl::StrCat("in ", absl::FormatDuration(decision.delay))));
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    Add(absl::StrCat("sleep after ", sleep.attempt));
  }
  void OnDone(const WaitIdentity& /*wait*/, const WaitReport& report) override {
    Add(absl::StrCat("done: ", std::string(StopReasonName(report.reason)),
                     " after ", report.attempts));
  }

 private:
  void Add(std::string line) { lines_.push_back(std::move(line)); }

  std::vector<std::string> lines_;
};

// One wait, whose first poll finds "not ready". The second poll begins one
// second later.
struct Course {
  SimulatedClock clock{SimulatedClock::Mode::kAutomatic};
  WaitOptions options;
  ReportLevel report;
};

// A way for the second poll to go wrong.
struct Mishap {
  std::string name;
  std::function<void(Course&)> run;
  StopReason ends_with;
  // Whether the poll counts as answered.
  bool answered = false;
};

// For GoogleTest's messages.
void PrintTo(const Mishap& mishap, std::ostream* out) { *out << mishap.name; }

auto ThrowsAtTheSecond() {
  return [polls = 0]() mutable {
    if (++polls == 2) throw std::runtime_error("boom");
    return false;
  };
}

void Block(Course& course) {
  EXPECT_THROW((void)Waiter(ThrowsAtTheSecond(), course.options).Wait(),
               std::runtime_error);
}

void TurnLoop(Course& course) {
  const auto policy = WaitPolicy::Make(course.options);
  const auto never = [] { return false; };
  WaitReport report;
  WaitLoop loop(*policy, report);
  absl::BitGen gen;
  const MonotonicTime now = course.clock.MonotonicNow();
  EXPECT_EQ(loop.Start(now, policy->DeadlineFrom(now), never).action(),
            NextStep::Action::kPoll);
  report.last_poll = NotReady();
  const NextStep sleep = loop.OnPoll(now, gen, never);
  EXPECT_EQ(loop.OnWake(sleep.wake_up(), never).action(),
            NextStep::Action::kPoll);
  loop.EndWithException(sleep.wake_up());
}

// An engine, and how its owner disturbs a wait in its second poll.
struct Setting {
  // Gets each poll with its number. Without it, the engine has no executor.
  std::function<void(Task, int)> executor = nullptr;
  bool cancels = false;
  bool destroys_handle = false;
  bool destroys_engine = false;
};

using StartFunction = std::function<WaitHandle(WaitEngine&, Course&)>;

// Returns a course on an engine.
std::function<void(Course&)> OnEngine(StartFunction start,
                                      Setting setting = {}) {
  return [start = std::move(start), setting](Course& course) {
    WaitEngineOptions options = {.threads = 0,
                                 .tick = absl::ZeroDuration(),
                                 .report = course.report,
                                 .clock = &course.clock};
    int polls = 0;
    if (setting.executor != nullptr) {
      options.executor = [&](Task task) {
        setting.executor(std::move(task), ++polls);
      };
    }
    std::optional<WaitEngine> engine(options);
    WaitHandle wait = start(*engine, course);
    for (int second = 0; second < 10; ++second) {
      engine->RunDue();
      if (second == 2) {
        if (setting.cancels) wait.Cancel();
        if (setting.destroys_handle) wait = WaitHandle();
        if (setting.destroys_engine) return engine.reset();
      }
      course.clock.AdvanceTime(absl::Seconds(1));
    }
  };
}

void Ignore(const WaitResult<>& /*result*/) {}

WaitHandle StartThrowing(WaitEngine& engine, Course& course) {
  return engine.Start(Waiter(ThrowsAtTheSecond(), course.options), Ignore);
}

WaitHandle StartThrowingCompletion(WaitEngine& engine, Course& course) {
  return engine.Start(
      AsyncWaiter([throws = ThrowsAtTheSecond()](
                      const PollCompletion<>& done) mutable { done(throws()); },
                  course.options),
      Ignore);
}

WaitHandle StartUnanswered(WaitEngine& engine, Course& course) {
  return engine.Start(AsyncWaiter(
                          [polls = 0](const PollCompletion<>& done) mutable {
                            if (++polls == 1) done(NotReady());
                          },
                          course.options),
                      Ignore);
}

WaitHandle StartQuiet(WaitEngine& engine, Course& course) {
  return engine.Start(Waiter([] { return false; }, course.options), Ignore);
}

// Starts a wait of a poller. The poller's second call does what `fail` does.
StartFunction StartBatch(std::function<absl::Status()> fail) {
  return [fail = std::move(fail)](WaitEngine& engine, Course& course) {
    course.options.max_attempts = 2;
    const auto poller = std::make_shared<BatchPoller<int>>(
        engine,
        [fail, calls = 0](
            absl::Span<const int>) mutable -> absl::StatusOr<BatchAnswer<int>> {
          if (++calls == 2) return fail();
          return BatchAnswer<int>();
        });
    // The callback keeps the poller alive.
    return poller->Start(1, course.options, [poller](const WaitResult<>&) {});
  };
}

absl::Status Throw() { throw std::runtime_error("boom"); }
absl::Status Refuse() { return absl::InternalError("boom"); }

std::vector<Mishap> Mishaps() {
  constexpr StopReason kFailed = StopReason::kFailed;
  const Setting at_once = {.executor = [](Task task, int) { task(); }};
  const Setting executor_throws = {.executor = [](Task task, int ordinal) {
    if (ordinal == 2) throw std::runtime_error("full");
    task();
  }};
  const Setting executor_loses = {.executor = [](Task task, int ordinal) {
    if (ordinal == 1) task();
  }};
  const auto held = std::make_shared<std::vector<Task>>();
  const Setting executor_keeps = {.executor = [held](Task task, int ordinal) {
    ordinal == 1 ? task() : held->push_back(std::move(task));
  }};
  return {
      {"BlockingPollThrows", Block, kFailed},
      {"LoopIsToldOfAnException", TurnLoop, kFailed},
      {"PollThrows", OnEngine(StartThrowing), kFailed},
      {"PollThrowsOnExecutor", OnEngine(StartThrowing, at_once), kFailed},
      {"CompletionThrows", OnEngine(StartThrowingCompletion), kFailed},
      {"NoAnswerByTheDeadline", OnEngine(StartUnanswered),
       StopReason::kDeadline},
      {"NoAnswerByTheStop", OnEngine(StartUnanswered, {.cancels = true}),
       StopReason::kCancelled},
      {"NoAnswerByTheEndOfTheHandle",
       OnEngine(StartUnanswered, {.destroys_handle = true}),
       StopReason::kCancelled},
      {"NoAnswerByTheEndOfTheEngine",
       OnEngine(StartUnanswered, {.destroys_engine = true}),
       StopReason::kShutDown},
      {"ExecutorThrows", OnEngine(StartQuiet, executor_throws), kFailed},
      {"ExecutorLosesThePoll", OnEngine(StartQuiet, executor_loses), kFailed},
      {"ExecutorNeverRunsThePoll", OnEngine(StartQuiet, executor_keeps),
       StopReason::kDeadline},
      // A failed call is an answer: a server error for each key.
      {"BatchCallThrows", OnEngine(StartBatch(Throw)), StopReason::kAttempts,
       /*answered=*/true},
      {"BatchCallFails", OnEngine(StartBatch(Refuse)), StopReason::kAttempts,
       /*answered=*/true},
      {"BatchCallThrowsOnExecutor", OnEngine(StartBatch(Throw), at_once),
       StopReason::kAttempts, /*answered=*/true},
  };
}

class UnfinishedPollTest
    : public testing::TestWithParam<std::tuple<Mishap, ReportLevel>> {};

TEST_P(UnfinishedPollTest, HasTheSameHooksInTheSameOrder) {
  const auto& [mishap, report] = GetParam();
  Transcript transcript;
  Course course = {.options = {.timeout = absl::Seconds(5),
                               .backoff = Every(absl::Seconds(1)),
                               .hooks = {.observer = Unowned(transcript)}},
                   .report = report};
  course.options.clock = &course.clock;

  mishap.run(course);

  const std::string reason(StopReasonName(mishap.ends_with));
  EXPECT_THAT(
      transcript.lines(),
      ElementsAre(
          "start", "poll 1", "polled 1", "decided 1: in 1s", "sleep after 1",
          "poll 2",
          absl::StrCat("polled 2", mishap.answered ? "" : " unanswered"),
          absl::StrCat("decided 2: ", reason),
          // A report counts the answered polls.
          absl::StrCat("done: ", reason, " after ", mishap.answered ? 2 : 1)));
}

INSTANTIATE_TEST_SUITE_P(
    All, UnfinishedPollTest,
    testing::Combine(testing::ValuesIn(Mishaps()),
                     testing::Values(ReportLevel::kFull, ReportLevel::kLean)),
    [](const auto& test) {
      return std::get<0>(test.param).name +
             (std::get<1>(test.param) == ReportLevel::kLean ? "_Lean" : "");
    });

}  // namespace
}  // namespace waiter::unfinished_polls_test
