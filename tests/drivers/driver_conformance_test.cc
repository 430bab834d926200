// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs every scenario through every driver. A driver decides nothing, so all
// must poll at the same times, report the same and come to the same end. A new
// driver is a function that fills an `Outcome`, and a line in `Drivers`.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drivers/scenarios.h"
#include "tests/support/unowned.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/batch_state.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::driver_conformance_test {
namespace {

using Task = absl::AnyInvocable<void()>;

// Draws the lower end of every window, so that delays are exact.
struct LowestBits {
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() {
    return std::numeric_limits<uint64_t>::max();
  }
  uint64_t operator()() const { return 0; }
};

absl::Duration EndOf(const Scenario& scenario) {
  return scenario.ends_at.has_value() ? *scenario.ends_at
                                      : scenario.polled_at.back();
}

absl::StatusCode CodeOf(const Scenario& scenario) {
  if (scenario.code.has_value()) return *scenario.code;
  switch (scenario.reason) {
    case StopReason::kSuccess:
      return absl::StatusCode::kOk;
    case StopReason::kDeadline:
      return absl::StatusCode::kDeadlineExceeded;
    case StopReason::kCancelled:
    case StopReason::kShutDown:
      return absl::StatusCode::kCancelled;
    case StopReason::kAttempts:
    case StopReason::kConsecutiveLimit:
    case StopReason::kDelaySource:
    case StopReason::kQuota:
      return absl::StatusCode::kResourceExhausted;
    case StopReason::kInvalidOptions:
      return absl::StatusCode::kInvalidArgument;
    case StopReason::kFailed:
      break;
  }
  ADD_FAILURE() << scenario.name << " does not state the code of its failure";
  return absl::StatusCode::kUnknown;
}

struct Outcome {
  std::vector<absl::Duration> polled_at;
  WaitReport report;
};

ScriptedPoll<> ScriptOf(const Scenario& scenario, SimulatedClock& clock) {
  std::vector<ScriptedPoll<>::Step> steps;
  for (const ScriptedAnswer& answer : scenario.script) {
    steps.emplace_back(answer.found, answer.takes);
  }
  return {clock, std::move(steps)};
}

WaitOptions OptionsOf(const Scenario& scenario, SimulatedClock& clock) {
  WaitOptions options = scenario.options;
  options.clock = &clock;
  return options;
}

// `Waiter::Wait` on the calling thread.
Outcome RunBlocking(const Scenario& scenario) {
  SimulatedClock clock;
  waiter::stop_source stop;
  if (scenario.stop_at == absl::ZeroDuration()) {
    stop.request_stop();
  } else if (scenario.stop_at.has_value()) {
    clock.CallAt(*scenario.stop_at, [&] { stop.request_stop(); });
  }
  ScriptedPoll<> script = ScriptOf(scenario, clock);

  Waiter waiter(std::ref(script), OptionsOf(scenario, clock));
  LowestBits gen;
  const WaitResult<> result =
      waiter.Wait({.stop = stop.get_token(), .gen = gen});

  EXPECT_EQ(clock.Elapsed(), EndOf(scenario));
  return {script.polled_at(), result.report()};
}

// Drives a bare loop, whose time is a variable. If `is_saved`, each sleep
// begins a new process: the wait is saved, and a new loop resumes it from the
// bytes. The monotonic clock of each process starts again, unless budgets would
// notice.
Outcome DriveLoop(const Scenario& scenario, bool is_saved) {
  SimulatedClock unused;
  const std::shared_ptr<const WaitPolicy> policy =
      WaitPolicy::Make(OptionsOf(scenario, unused));
  const std::chrono::nanoseconds boot =
      policy->has_budgets() ? std::chrono::nanoseconds::zero()
                            : std::chrono::nanoseconds(std::chrono::hours(1));
  MonotonicTime start = unused.MonotonicNow();
  MonotonicTime now = start;
  const auto at = [&](absl::Duration time) {
    return start + absl::ToChronoNanoseconds(time);
  };
  const auto wall = [&] {
    return unused.TimeNow() + absl::FromChrono(now - start);
  };
  const auto stopped = [&] {
    return scenario.stop_at.has_value() && now >= at(*scenario.stop_at);
  };
  LowestBits gen;
  Outcome outcome;
  std::optional<WaitLoop> loop(std::in_place, *policy, outcome.report);
  NextStep step = loop->Start(now, policy->DeadlineFrom(now), stopped);
  while (step.action() != NextStep::Action::kFinish) {
    if (step.action() == NextStep::Action::kPoll) {
      const ScriptedAnswer& answer = scenario.script[std::min(
          outcome.polled_at.size(), scenario.script.size() - 1)];
      outcome.polled_at.push_back(absl::FromChrono(now - start));
      now += absl::ToChronoNanoseconds(answer.takes);
      outcome.report.last_poll = answer.found;
      step = loop->OnPoll(now, gen, stopped);
      continue;
    }
    if (is_saved) {
      const absl::StatusOr<WaitToken> token =
          WaitToken::Parse(SaveWait(loop->state(), outcome.report, loop->name(),
                                    step.wake_up(), {now, wall()})
                               .bytes());
      EXPECT_TRUE(token.ok()) << token.status();
      EXPECT_LE(token->bytes().size(), WaitToken::kMaxSize);
      now += boot;
      start += boot;
      outcome.report = {};
      loop.emplace(*policy, outcome.report);
      step = loop->Resume(now, RestoreWait(*token, {now, wall()}), stopped);
      if (step.action() != NextStep::Action::kSleep) continue;
    }
    now = scenario.stop_at.has_value()
              ? std::min(step.wake_up(), at(*scenario.stop_at))
              : step.wake_up();
    step = loop->OnWake(now, stopped);
    // A limiter may lengthen the sleep, which is saved again.
  }
  return outcome;
}

Outcome RunLoop(const Scenario& scenario) {
  return DriveLoop(scenario, /*is_saved=*/false);
}
Outcome RunSavedLoop(const Scenario& scenario) {
  return DriveLoop(scenario, /*is_saved=*/true);
}

// Where an engine's status function runs, and how it answers.
enum class Asking {
  kOnEngine,
  kWithStopToken,         // The token stops the wait.
  kByCompletion,          // Called inside the status function.
  kOnExecutor,            // Runs its task immediately,
  kOnExecutorOfTheClock,  // when the engine sleeps,
  kOnExecutorAfterwards,  // or when `RunDue` has returned.
  kInABatch,              // One of a single key, without a window,
  kInABatchOnExecutor,    // with the executor of the clock.
};

// Returns the executor, if any. One that does not run its tasks keeps them in
// `tasks`.
std::function<void(Task)> ExecutorOf(Asking asking, SimulatedClock& clock,
                                     std::vector<Task>& tasks) {
  switch (asking) {
    case Asking::kOnExecutor:
      return [](Task task) { task(); };
    case Asking::kOnExecutorOfTheClock:
    case Asking::kInABatchOnExecutor:
      return [&clock](Task task) {
        const auto shared = std::make_shared<Task>(std::move(task));
        clock.CallAt(clock.Elapsed(), [shared] { (*shared)(); });
      };
    case Asking::kOnExecutorAfterwards:
      return [&tasks](Task task) { tasks.push_back(std::move(task)); };
    case Asking::kOnEngine:
    case Asking::kWithStopToken:
    case Asking::kByCompletion:
    case Asking::kInABatch:
      break;
  }
  return nullptr;
}

// `WaitEngine` without threads.
Outcome RunEngine(Asking asking, ReportLevel level, const Scenario& scenario) {
  SimulatedClock clock;
  LowestBits gen;
  std::vector<Task> tasks;
  const WaitEngineOptions options = {
      .threads = 0,
      .tick = absl::ZeroDuration(),
      .report = level,
      .executor = ExecutorOf(asking, clock, tasks),
      .clock = &clock,
      .gen = gen};
  ScriptedPoll<> script = ScriptOf(scenario, clock);
  const WaitOptions wait_options = OptionsOf(scenario, clock);
  std::optional<WaitReport> report;
  const auto take = [&report](WaitResult<> result) {
    EXPECT_FALSE(report.has_value()) << "called back twice";
    report = std::move(result).report();
  };

  WaitEngine engine(options);
  // A key that is no text, so that it does not become part of the name.
  using Key = std::pair<int, int>;
  std::optional<BatchPoller<Key>> poller;
  WaitHandle wait;
  waiter::stop_source stop;
  const auto request_stop = [&] {
    asking == Asking::kWithStopToken ? void(stop.request_stop())
                                     : wait.Cancel();
  };
  if (asking == Asking::kWithStopToken) {
    wait = engine.Start(Waiter(std::ref(script), wait_options), take,
                        {.stop = stop.get_token()});
  } else if (asking == Asking::kByCompletion) {
    const auto ask = [&script](PollCompletion<> done) { done(script()); };
    wait = engine.Start(AsyncWaiter(ask, wait_options), take);
  } else if (asking == Asking::kInABatch ||
             asking == Asking::kInABatchOnExecutor) {
    poller.emplace(engine,
                   [&script](absl::Span<const Key> keys)
                       -> absl::StatusOr<BatchAnswer<Key>> {
                     EXPECT_THAT(keys, testing::ElementsAre(Key()));
                     return BatchAnswer<Key>{{Key(), script()}};
                   });
    wait = poller->Start(Key(), wait_options, take);
  } else {
    wait = engine.Start(Waiter(std::ref(script), wait_options), take);
  }
  EXPECT_FALSE(report.has_value()) << "called back inside Start";
  if (scenario.stop_at == absl::ZeroDuration()) {
    request_stop();
  } else if (scenario.stop_at.has_value()) {
    clock.CallAt(*scenario.stop_at, request_stop);
  }

  if (asking == Asking::kOnExecutorAfterwards) {
    while (wait.pending()) {
      const MonotonicTime next = engine.RunDue();
      if (!tasks.empty()) {
        for (Task& task : std::exchange(tasks, {})) task();
      } else if (wait.pending()) {
        absl::Duration sleep = absl::FromChrono(next - clock.MonotonicNow());
        if (scenario.stop_at.has_value() &&
            *scenario.stop_at > clock.Elapsed()) {
          sleep = std::min(sleep, *scenario.stop_at - clock.Elapsed());
        }
        clock.AdvanceTime(sleep);
      }
    }
  } else {
    engine.Run();
  }

  EXPECT_FALSE(wait.pending());
  EXPECT_EQ(clock.Elapsed(), EndOf(scenario));
  EXPECT_TRUE(report.has_value()) << "never called back";
  return {script.polled_at(), report.value_or(WaitReport{})};
}

// Waits of several processes: each sleep after a poll begins in a process that
// ends, and is slept by the next one, which has the token.
class Saved {
 public:
  explicit Saved(const Scenario& scenario)
      : scenario_(scenario), script_(ScriptOf(scenario, clock_)) {}

  Outcome RunBlocking() {
    waiter::stop_source stop;
    const auto request_stop = [&] { stop.request_stop(); };
    StopAtTheTime(request_stop);
    LowestBits gen;
    std::optional<WaitResult<>> result;
    do {
      stop = waiter::stop_source();
      if (is_stopped_) request_stop();
      Waiter waiter(std::ref(script_), Options(request_stop));
      result =
          waiter.Wait({.stop = stop.get_token(), .gen = gen, .resume = token_});
    } while (HasSaved());
    return End(std::move(*result).report());
  }

  Outcome RunEngine(Asking asking, ReportLevel level) {
    LowestBits gen;
    WaitEngineOptions options = {.threads = 0,
                                 .tick = absl::ZeroDuration(),
                                 .report = level,
                                 .clock = &clock_,
                                 .gen = gen};
    if (asking == Asking::kOnExecutor) {
      options.executor = [](Task task) { task(); };
    }
    WaitEngine engine(options);
    WaitHandle wait;
    StopAtTheTime([&] { wait.Cancel(); });
    const WaitOptions wait_options = Options([&] { wait = WaitHandle(); });
    std::optional<WaitReport> report;
    const auto take = [&report](WaitResult<> result) {
      report = std::move(result).report();
    };
    do {
      if (asking == Asking::kByCompletion) {
        const auto ask = [this](PollCompletion<> done) { done(script_()); };
        wait = engine.Start(AsyncWaiter(ask, wait_options), take,
                            {.resume = token_});
      } else {
        wait = engine.Start(Waiter(std::ref(script_), wait_options), take,
                            {.resume = token_});
      }
      if (is_stopped_) wait.Cancel();
      engine.Run();
    } while (HasSaved());
    EXPECT_TRUE(report.has_value()) << "never called back";
    return End(report.value_or(WaitReport{}));
  }

 private:
  void StopAtTheTime(std::function<void()> stop) {
    is_stopped_ = scenario_.stop_at == absl::ZeroDuration();
    if (is_stopped_ || !scenario_.stop_at.has_value()) return;
    clock_.CallAt(*scenario_.stop_at, [this, stop = std::move(stop)] {
      is_stopped_ = true;
      stop();
    });
  }

  // `end_process` ends the wait, inside of the checkpoint.
  WaitOptions Options(std::function<void()> end_process) {
    WaitOptions options = OptionsOf(scenario_, clock_);
    options.hooks.on_checkpoint =
        [this, end_process = std::move(end_process)](const WaitToken& token) {
          // The rest of the sleep that was saved.
          if (!token_.empty() && token.attempts() == token_.attempts()) return;
          saved_ = token;
          end_process();
        };
    return options;
  }

  bool HasSaved() {
    if (!saved_.has_value()) return false;
    token_ = *std::exchange(saved_, std::nullopt);
    return true;
  }

  Outcome End(WaitReport report) {
    EXPECT_EQ(clock_.Elapsed(), EndOf(scenario_));
    return {script_.polled_at(), std::move(report)};
  }

  const Scenario& scenario_;
  SimulatedClock clock_;
  ScriptedPoll<> script_;
  bool is_stopped_ = false;
  WaitToken token_;
  std::optional<WaitToken> saved_;
};

std::string Describe(const Poll<>& poll) {
  return absl::StrCat(std::string(PollStatusName(poll.status())), " '",
                      std::string(poll.detail()), "' ", poll.error().ToString(),
                      " ", absl::FormatDuration(poll.retry_after()));
}

std::string Describe(const std::optional<Poll<>>& poll) {
  return poll.has_value() ? Describe(*poll) : "none";
}

// Describes a report, except for the fields that are in the table itself.
std::string Describe(const WaitReport& report) {
  // The blocking form does not time a poll that ends the wait immediately.
  const absl::Duration longest_poll =
      report.attempts > 1 ? report.longest_poll : absl::ZeroDuration();
  std::string text = absl::StrCat(
      report.status.ToString(), "\nslept ", absl::FormatDuration(report.slept),
      "\nlongest ", absl::FormatDuration(longest_poll), "\nlast ",
      Describe(report.last_poll), "\nfirst error ",
      Describe(report.first_error), "\nlast error ",
      Describe(report.last_error), "\ncounts");
  for (const int64_t count : report.counts) absl::StrAppend(&text, " ", count);
  for (const PollRecord& poll : report.history) {
    absl::StrAppend(
        &text, "\n", poll.attempt, ": ", absl::FormatDuration(poll.started),
        " + ", absl::FormatDuration(poll.took), " ",
        std::string(PollStatusName(poll.status)), " '",
        std::string(poll.detail), "', then ", absl::FormatDuration(poll.delay));
  }
  return text;
}

// Describes the fields that a lean report has even if a stop ended the wait.
std::string DescribeLean(const WaitReport& report) {
  return absl::StrCat(absl::StatusCodeToString(report.status.code()), " after ",
                      report.attempts, " polls and ",
                      absl::FormatDuration(report.elapsed), ", last ",
                      std::string(PollStatusName(report.last_poll.status())));
}

// Records the calls of the hooks.
class Transcript : public WaitObserver {
 public:
  explicit Transcript(ReportLevel level) : level_(level) {}

  const std::vector<std::string>& lines() const { return lines_; }

  void OnStart(const StartEvent& start) override {
    lines_.push_back(
        absl::StrCat(std::string(start.wait.name), " starts with ",
                     absl::FormatDuration(start.timeout), " and a delay of ",
                     absl::FormatDuration(start.first_poll_delay)));
  }
  void OnDecision(const DecisionEvent& decision) override {
    EXPECT_NE(decision.reason.has_value(), decision.ended.has_value());
    lines_.push_back(absl::StrCat(
        "decided about ", decision.poll.attempt, " of ",
        absl::FormatDuration(decision.poll.elapsed), " and ",
        absl::FormatDuration(decision.poll.took), ", ",
        decision.poll.answered ? "answered" : "unanswered", " ",
        Describe(decision.poll.found), ": ",
        decision.ended.has_value()
            ? std::string(StopReasonName(*decision.ended))
            : absl::StrCat("in ", absl::FormatDuration(decision.delay), " by ",
                           std::string(SleepReasonName(*decision.reason)))));
  }
  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override {
    lines_.push_back(absl::StrCat(std::string(wait.name), " polls ", attempt));
  }
  void AfterPoll(const PollEvent& poll) override {
    lines_.push_back(absl::StrCat(
        std::string(poll.wait.name), " polled ", poll.attempt, " until ",
        absl::FormatDuration(poll.elapsed), " for ",
        absl::FormatDuration(poll.took), ": ", Describe(poll.found)));
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    lines_.push_back(absl::StrCat(std::string(sleep.wait.name),
                                  " sleeps after ", sleep.attempt, " at ",
                                  absl::FormatDuration(sleep.elapsed), " for ",
                                  absl::FormatDuration(sleep.delay), ": ",
                                  std::string(SleepReasonName(sleep.reason))));
    EXPECT_EQ(unsaved_, std::nullopt);
    unsaved_ = sleep.delay;
  }
  // `WaitHooks::on_checkpoint`: each sleep has one, with its end.
  void OnCheckpoint(const WaitToken& token) {
    EXPECT_EQ(token.wake_up() - token.written(), unsaved_);
    unsaved_ = std::nullopt;
  }
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override {
    EXPECT_EQ(unsaved_, std::nullopt);
    lines_.push_back(absl::StrCat(std::string(wait.name), " is done: ",
                                  level_ == ReportLevel::kFull
                                      ? Describe(report)
                                      : DescribeLean(report)));
  }

 private:
  const ReportLevel level_;
  std::vector<std::string> lines_;
  std::optional<absl::Duration> unsaved_;  // The length of a sleep.
};

// Returns the records of an observer of `run`.
std::vector<std::string> Told(
    const std::function<Outcome(const Scenario&)>& run, Scenario scenario,
    ReportLevel level) {
  Transcript transcript(level);
  scenario.options.name = "observed";
  scenario.options.hooks.history_limit = 3;
  scenario.options.hooks.observer = Unowned(transcript);
  scenario.options.hooks.on_checkpoint = [&](const WaitToken& token) {
    transcript.OnCheckpoint(token);
  };
  run(scenario);
  return transcript.lines();
}

struct Driver {
  std::string name;
  std::function<Outcome(const Scenario&)> run;
  ReportLevel level = ReportLevel::kFull;
};

// For GoogleTest's messages.
void PrintTo(const Driver& driver, std::ostream* out) { *out << driver.name; }

class DriverTest : public testing::TestWithParam<std::tuple<Driver, Scenario>> {
 protected:
  const Driver& driver() const { return std::get<0>(GetParam()); }
  const Scenario& scenario() const { return std::get<1>(GetParam()); }
};

// Compares all drivers with the table.
class DriverConformanceTest : public DriverTest {};

TEST_P(DriverConformanceTest, PollsAtTheSameTimesToTheSameEnd) {
  const Outcome outcome = driver().run(scenario());

  EXPECT_EQ(outcome.polled_at, scenario().polled_at);
  EXPECT_EQ(outcome.report.reason, scenario().reason)
      << StopReasonName(outcome.report.reason);
  EXPECT_EQ(outcome.report.status.code(), CodeOf(scenario()))
      << outcome.report.status;
  EXPECT_EQ(outcome.report.attempts,
            static_cast<int64_t>(scenario().polled_at.size()));
  EXPECT_EQ(outcome.report.elapsed, EndOf(scenario()));
  EXPECT_EQ(outcome.report.late, scenario().late);
}

// Compares drivers that report in full with the bare loop.
class FullReportConformanceTest : public DriverTest {};

TEST_P(FullReportConformanceTest, ReportsTheSame) {
  const WaitReport report = driver().run(scenario()).report;

  EXPECT_EQ(Describe(report), Describe(RunLoop(scenario()).report));
  EXPECT_EQ(std::reduce(report.counts.begin(), report.counts.end()),
            report.attempts);
}

// Compares drivers with lean reports with the bare loop.
class LeanReportConformanceTest : public DriverTest {};

TEST_P(LeanReportConformanceTest, ReportsTheSameInShort) {
  const WaitReport expected = RunLoop(scenario()).report;

  const WaitReport report = driver().run(scenario()).report;

  EXPECT_EQ(DescribeLean(report), DescribeLean(expected));
  if (scenario().reason == StopReason::kCancelled) {
    // A lean wait forgets the text of a poll after which it continues, and most
    // drivers build no text for the status of a stop.
    EXPECT_THAT(report.status,
                testing::AnyOf(absl::CancelledError(""), expected.status));
  } else {
    EXPECT_EQ(report.status, expected.status);
    EXPECT_EQ(Describe(report.last_poll), Describe(expected.last_poll));
  }
}

// Compares how a driver and the bare loop call an observer.
class ObserverConformanceTest : public DriverTest {};

TEST_P(ObserverConformanceTest, TellsObserversAndHistoryTheSame) {
  const ReportLevel level = driver().level;

  const std::vector<std::string> told = Told(driver().run, scenario(), level);

  EXPECT_EQ(told, Told(RunLoop, scenario(), level));
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told.back(), testing::HasSubstr(" is done: "));
}

std::string NameOf(
    const testing::TestParamInfo<std::tuple<Driver, Scenario>>& test) {
  return std::get<0>(test.param).name + "_" + std::get<1>(test.param).name;
}

// The drivers that are compared with the bare loop.
std::vector<Driver> DriversOnTopOfTheLoop() {
  std::vector<Driver> drivers = {{"Blocking", RunBlocking}};
  const auto add_engine = [&drivers](std::string name, Asking asking) {
    for (const ReportLevel level : {ReportLevel::kFull, ReportLevel::kLean}) {
      drivers.push_back(
          {absl::StrCat(level == ReportLevel::kLean ? "Lean" : "", name),
           [=](const Scenario& scenario) {
             return RunEngine(asking, level, scenario);
           },
           level});
    }
  };
  add_engine("Engine", Asking::kOnEngine);
  add_engine("EngineWithStopToken", Asking::kWithStopToken);
  add_engine("EngineWithCompletion", Asking::kByCompletion);
  add_engine("EngineWithExecutor", Asking::kOnExecutor);
  add_engine("EngineWithExecutorOfTheClock", Asking::kOnExecutorOfTheClock);
  add_engine("EngineWithExecutorAfterwards", Asking::kOnExecutorAfterwards);
  add_engine("Batch", Asking::kInABatch);
  add_engine("BatchOnExecutor", Asking::kInABatchOnExecutor);
  return drivers;
}

// The drivers whose waits are saved and resumed.
std::vector<Driver> DriversThatSave() {
  std::vector<Driver> drivers = {
      {"SavedLoop", RunSavedLoop},
      {"SavedBlocking",
       [](const Scenario& scenario) { return Saved(scenario).RunBlocking(); }}};
  for (const ReportLevel level : {ReportLevel::kFull, ReportLevel::kLean}) {
    for (const auto& [name, asking] :
         {std::pair("SavedEngine", Asking::kOnEngine),
          {"SavedCompletion", Asking::kByCompletion},
          {"SavedExecutor", Asking::kOnExecutor}}) {
      drivers.push_back(
          {absl::StrCat(level == ReportLevel::kLean ? "Lean" : "", name),
           [level, how = asking](const Scenario& scenario) {
             return Saved(scenario).RunEngine(how, level);
           },
           level});
    }
  }
  return drivers;
}

std::vector<Driver> AllDrivers() {
  std::vector<Driver> drivers = DriversOnTopOfTheLoop();
  drivers.push_back({"BareLoop", RunLoop});
  for (Driver& driver : DriversThatSave()) drivers.push_back(std::move(driver));
  return drivers;
}

// The drivers, except for the bare loop, with reports of this level.
std::vector<Driver> DriversThatReport(ReportLevel level) {
  std::vector<Driver> drivers = AllDrivers();
  std::erase_if(drivers, [&](const Driver& driver) {
    return driver.level != level || driver.name == "BareLoop";
  });
  return drivers;
}

// Every rule and every edge.
std::vector<Scenario> AllScenarios() {
  std::vector<Scenario> scenarios;
  for (const auto& [prefix, part] :
       {std::pair("Rules_", RuleScenarios()), {"Edges_", EdgeScenarios()}}) {
    for (Scenario scenario : part) {
      scenario.name.insert(0, prefix);
      scenarios.push_back(std::move(scenario));
    }
  }
  return scenarios;
}

INSTANTIATE_TEST_SUITE_P(All, DriverConformanceTest,
                         testing::Combine(testing::ValuesIn(AllDrivers()),
                                          testing::ValuesIn(AllScenarios())),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(
    All, FullReportConformanceTest,
    testing::Combine(testing::ValuesIn(DriversThatReport(ReportLevel::kFull)),
                     testing::ValuesIn(AllScenarios())),
    NameOf);
INSTANTIATE_TEST_SUITE_P(
    All, LeanReportConformanceTest,
    testing::Combine(testing::ValuesIn(DriversThatReport(ReportLevel::kLean)),
                     testing::ValuesIn(AllScenarios())),
    NameOf);
INSTANTIATE_TEST_SUITE_P(
    All, ObserverConformanceTest,
    testing::Combine(testing::ValuesIn(DriversOnTopOfTheLoop()),
                     testing::ValuesIn(AllScenarios())),
    NameOf);

// No other test fails if a driver is left out.
TEST(ConformanceTablesTest, HoldEveryDriver) {
  EXPECT_EQ(AllDrivers().size(), 26);
  EXPECT_EQ(DriversThatReport(ReportLevel::kFull).size(), 14);
  EXPECT_EQ(DriversThatReport(ReportLevel::kLean).size(), 11);
}

TEST(ConformanceTablesTest, OnlySuccessIsOk) {
  for (const Scenario& scenario : AllScenarios()) {
    EXPECT_EQ(CodeOf(scenario) == absl::StatusCode::kOk,
              scenario.reason == StopReason::kSuccess)
        << scenario.name;
  }
}

}  // namespace
}  // namespace waiter::driver_conformance_test
