// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Plays runs of scripted probes on simulated time, as listeners see them.

#include "cli/run/wait_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "cli/run/state_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::cli::wait_run_test {
namespace {

using ::testing::ElementsAre;

// One answer of a probe, and how long it takes. An infinite answer ends only at
// the probe's timeout.
struct Step {
  Finding finding;
  absl::Duration takes = absl::ZeroDuration();
};

Finding Found(PollStatus status, std::string detail = "") {
  return {.status = status, .detail = std::move(detail)};
}
Finding Ready() { return Found(PollStatus::kSuccess); }
Finding NotYet() { return Found(PollStatus::kNotReady, "starting"); }
Finding Error() { return Found(PollStatus::kServerError, "broken"); }
Finding Fatal() { return Found(PollStatus::kFailed, "gone for good"); }

// Plays a list of answers and repeats the last.
class ScriptedProbe : public Probe {
 public:
  ScriptedProbe(EventLoop& loop, std::vector<Step> steps, int& cancelled)
      : loop_(loop), steps_(std::move(steps)), cancelled_(cancelled) {}

  void Start(const PollContext& /*context*/, Done done) override {
    EXPECT_EQ(done_, nullptr) << "a poll began before the last one had ended";
    const Step& step = steps_[std::min(next_++, steps_.size() - 1)];
    if (step.takes == absl::ZeroDuration()) return done(step.finding);
    done_ = std::move(done);
    if (step.takes == absl::InfiniteDuration()) return;
    timer_ =
        loop_.CallAfter(step.takes, [this, &step] { Answer(step.finding); });
  }

  void TimeOut(absl::Duration timeout) override {
    Answer(Found(
        PollStatus::kNotReady,
        absl::StrCat("no answer within ", absl::FormatDuration(timeout))));
  }

  void Cancel() override {
    if (done_ != nullptr) ++cancelled_;
    done_ = nullptr;
    timer_ = {};
  }

 private:
  void Answer(Finding finding) {
    timer_ = {};
    std::exchange(done_, nullptr)(std::move(finding));
  }

  EventLoop& loop_;
  const std::vector<Step> steps_;
  int& cancelled_;
  size_t next_ = 0;
  Done done_;
  EventLoop::Watch timer_;
};

// Records a line with the time for every event.
class Recorder : public RunListener {
 public:
  void OnStart(const RunState& run) override { Write(run, "start"); }
  void OnPoll(const RunState& run, size_t target) override {
    const TargetState& state = run.targets[target];
    Write(run, absl::StrCat(
                   state.label, " ", PollStatusName(state.last.status),
                   state.last.detail.empty() ? "" : ": ", state.last.detail,
                   state.next_delay > absl::ZeroDuration()
                       ? absl::StrCat(", next in ",
                                      absl::FormatDuration(state.next_delay))
                       : ""));
  }
  void OnEnd(const RunState& run, size_t target) override {
    const TargetState& state = run.targets[target];
    Write(run,
          absl::StrCat(state.label, " ends: ", StopReasonName(*state.reason)));
  }
  void OnTick(const RunState& /*run*/) override { ++ticks; }
  void OnDone(const RunState& run, const RunEnd& end) override {
    Write(run, absl::StrCat("done: ", end.exit_code, " ", end.reason));
    last_end = end;
    attempts.clear();
    for (const TargetState& target : run.targets) {
      attempts.push_back(target.attempts);
    }
  }

  std::vector<std::string> lines;
  RunEnd last_end = {};
  std::vector<int64_t> attempts;  // One for each target.
  int ticks = 0;

 private:
  void Write(const RunState& run, const std::string& line) {
    lines.push_back(absl::StrCat(absl::FormatDuration(run.elapsed), " ", line));
  }
};

class WaitRunTest : public testing::Test {
 protected:
  WaitRunTest() {
    // The times are exact: 1 s between any two polls.
    const BackoffOptions every_second = {.initial_delay = absl::Seconds(1),
                                         .max_delay = absl::Seconds(1),
                                         .multiplier = 1,
                                         .jitter = Jitter::None()};
    options_.policy = {.timeout = absl::Seconds(5),
                       .poll_timeout = absl::Seconds(10),
                       .backoff = every_second,
                       .errors = {.server_error_backoff = every_second,
                                  .throttled_backoff = every_second},
                       .polls = {.last_timeout = absl::Seconds(1)}};
  }

  // Adds a target; the first one is "a".
  void Add(std::vector<Step> steps) {
    const std::string label(1, static_cast<char>('a' + targets_.size()));
    targets_.push_back({.label = label,
                        .text = absl::StrCat("scripted:", label),
                        .probe = std::make_unique<ScriptedProbe>(
                            loop_, std::move(steps), cancelled_)});
    options_.needed = targets_.size();
  }

  WaitRun& Make() {
    return run_.emplace(loop_, std::move(targets_), options_,
                        std::vector<RunListener*>{&recorder_});
  }

  std::vector<std::string> Run() {
    Make().Run();
    return recorder_.lines;
  }

  SimulatedClock clock_;
  EventLoop loop_{clock_};
  int cancelled_ = 0;
  Recorder recorder_;
  WaitRunOptions options_;
  std::vector<WaitTarget> targets_;
  std::optional<WaitRun> run_;
};

TEST_F(WaitRunTest, ListenerSeesEveryPollAndTheDelayAfterIt) {
  Add({{NotYet(), absl::Milliseconds(500)}, {Error()}, {Ready()}});
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "500ms a not ready: starting, next in 1s",
                  "1.5s a server error: broken, next in 1s", "2.5s a success",
                  "2.5s a ends: success", "2.5s done: 0 ready"));
  EXPECT_EQ(recorder_.ticks, 25);
}

TEST_F(WaitRunTest, RunIsReadyOnceEveryTargetWas) {
  Add({{NotYet()}, {Ready()}});
  Add({{Ready()}});
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                          "0 b success", "0 b ends: success", "1s a success",
                          "1s a ends: success", "1s done: 0 ready"));
}

TEST_F(WaitRunTest, RunFailsAsSoonAsOneNeededTargetFails) {
  Add({{NotYet()}});
  Add({{NotYet()}, {Fatal()}});
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                          "0 b not ready: starting, next in 1s",
                          "1s a not ready: starting, next in 1s",
                          "1s b failed: gone for good", "1s b ends: failed",
                          "1s a ends: cancelled", "1s done: 1 failed"));
}

TEST_F(WaitRunTest, AnyToleratesAFailedTarget) {
  Add({{Fatal()}});
  Add({{NotYet()}, {Ready()}});
  options_.needed = 1;
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "0 a failed: gone for good", "0 a ends: failed",
                  "0 b not ready: starting, next in 1s", "1s b success",
                  "1s b ends: success", "1s done: 0 ready"));
}

TEST_F(WaitRunTest, EndThatDecidesTheRunGivesTheExitCode) {
  Add({{Fatal()}});
  Add({{NotYet()}});
  options_.needed = 1;
  options_.policy.timeout = absl::Seconds(1);
  EXPECT_EQ(Run().back(), "1s done: 124 deadline");
}

TEST_F(WaitRunTest, PollUnderWayEndsAtTheLimit) {
  Add({{NotYet()}, {NotYet(), absl::InfiniteDuration()}});
  options_.policy.timeout = absl::Milliseconds(2500);
  // The second poll gets the remaining time.
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                          "2.5s a not ready: no answer within 1.5s",
                          "2.5s a ends: deadline", "2.5s done: 124 deadline"));
}

TEST_F(WaitRunTest, PollShortlyBeforeTheLimitHasASecond) {
  // The third poll starts 50 ms before the limit and takes 300 ms.
  Add({{NotYet(), absl::Milliseconds(300)},
       {NotYet(), absl::Milliseconds(300)},
       {Ready(), absl::Milliseconds(300)}});
  options_.policy.timeout = absl::Milliseconds(2650);
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "300ms a not ready: starting, next in 1s",
                  "1.6s a not ready: starting, next in 1s", "2.9s a success",
                  "2.9s a ends: success", "2.9s done: 0 ready"));
}

TEST_F(WaitRunTest, AnswerBeforeATimeoutIsKept) {
  Add({{Error()}, {NotYet(), absl::InfiniteDuration()}});
  options_.policy.timeout = absl::Milliseconds(1500);
  struct Keeper : RunListener {
    void OnDone(const RunState& run, const RunEnd& /*end*/) override {
      state = run.targets[0];
    }
    TargetState state;
  } keeper;
  WaitRun run(loop_, std::move(targets_), options_, {&keeper});
  run.Run();
  EXPECT_EQ(keeper.state.last.detail, "no answer within 1s");
  EXPECT_TRUE(keeper.state.last_timed_out);
  EXPECT_EQ(keeper.state.timed_out, 1);
  ASSERT_TRUE(keeper.state.last_answer.has_value());
  EXPECT_EQ(keeper.state.last_answer->detail, "broken");
}

TEST_F(WaitRunTest, EveryTargetPollsOnceMoreAtTheLimit) {
  Add({{NotYet()}});
  Add({{NotYet()}, {NotYet()}, {Error(), absl::Milliseconds(10)}});
  options_.policy.timeout = absl::Milliseconds(1500);
  EXPECT_THAT(
      Run(), ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                         "0 b not ready: starting, next in 1s",
                         "1s a not ready: starting, next in 500ms",
                         "1s b not ready: starting, next in 500ms",
                         "1.5s a not ready: starting", "1.5s a ends: deadline",
                         "1.51s b server error: broken",
                         "1.51s b ends: deadline", "1.51s done: 124 deadline"));
}

TEST_F(WaitRunTest, PollAtTheLimitTakesAtMostASecond) {
  Add({{NotYet()}, {NotYet(), absl::InfiniteDuration()}});
  options_.policy.timeout = absl::Milliseconds(500);
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "0 a not ready: starting, next in 500ms",
                          "1.5s a not ready: no answer within 1s",
                          "1.5s a ends: deadline", "1.5s done: 124 deadline"));
}

TEST_F(WaitRunTest, LimitOfZeroPollsOnce) {
  Add({{NotYet(), absl::Seconds(2)}});
  options_.policy.timeout = absl::ZeroDuration();
  options_.policy.polls.last_timeout = absl::ZeroDuration();
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "2s a not ready: starting",
                          "2s a ends: deadline", "2s done: 124 deadline"));
}

TEST_F(WaitRunTest, TargetHasOnePollAtATime) {
  // The server takes 3 s to answer, and is polled every second for 6 s.
  Add({{NotYet(), absl::Seconds(3)}});
  options_.policy.timeout = absl::Seconds(6);
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "3s a not ready: starting, next in 1s",
                          "6s a not ready: no answer within 2s",
                          "6s a ends: deadline", "6s done: 124 deadline"));
}

TEST_F(WaitRunTest, PollWithoutAnAnswerTimesOutAndIsRepeated) {
  Add({{NotYet(), absl::InfiniteDuration()}, {Ready()}});
  options_.policy.poll_timeout = absl::Seconds(2);
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "2s a not ready: no answer within 2s, next in 1s",
                  "3s a success", "3s a ends: success", "3s done: 0 ready"));
}

TEST_F(WaitRunTest, TargetMayHaveAProbeTimeoutOfItsOwn) {
  Add({{NotYet(), absl::InfiniteDuration()}, {Ready()}});
  Add({{NotYet(), absl::InfiniteDuration()}, {Ready()}});
  options_.policy.poll_timeout = absl::Seconds(2);
  targets_[1].probe_timeout = absl::Seconds(1);
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "1s b not ready: no answer within 1s, next in 1s",
                  "2s a not ready: no answer within 2s, next in 1s",
                  "2s b success", "2s b ends: success", "3s a success",
                  "3s a ends: success", "3s done: 0 ready"));
}

TEST_F(WaitRunTest, ErrorBeyondTheBudgetEndsTheRun) {
  Add({{Error()}, {NotYet()}, {Error()}, {NotYet()}, {Error()}});
  options_.max_errors = 2;
  options_.policy.timeout = absl::Minutes(1);
  EXPECT_EQ(Run().back(), "4s done: 3 errors");
}

TEST_F(WaitRunTest, EachTargetHasItsOwnErrorBudget) {
  Add({{Error()}, {Ready()}});
  Add({{Error()}, {Ready()}});
  options_.max_errors = 1;
  EXPECT_EQ(Run().back(), "1s done: 0 ready");
}

TEST_F(WaitRunTest, RunEndsAtMaxAttempts) {
  Add({{NotYet()}});
  options_.policy.max_attempts = 3;
  EXPECT_EQ(Run().back(), "2s done: 3 attempts");
}

TEST_F(WaitRunTest, ExitCodesCanBeChosen) {
  options_.timeout_code = 1;
  options_.failure_code = 42;
  Add({{Fatal()}});
  EXPECT_EQ(Run().back(), "0 done: 42 failed");
}

TEST_F(WaitRunTest, HintsAreHonoredUnlessFlagsIgnoreThem) {
  Finding later = Found(PollStatus::kThrottled);
  later.retry_after = absl::Seconds(2);
  Add({{later}, {Ready()}});
  options_.rules.ignore_retry_after = true;
  EXPECT_EQ(Run().back(), "1s done: 0 ready");

  recorder_.lines.clear();
  targets_.clear();
  Add({{later}, {Ready()}});
  options_.rules.ignore_retry_after = false;
  Run();
  ASSERT_EQ(recorder_.lines.size(), 5);
  EXPECT_GE(clock_.Elapsed(), absl::Seconds(3));
}

TEST_F(WaitRunTest, StopEndsThePollUnderWayAtOnce) {
  Add({{NotYet(), absl::InfiniteDuration()}});
  Add({{NotYet()}});
  WaitRun& run = Make();
  const EventLoop::Watch stop = loop_.CallAfter(absl::Milliseconds(1500), [&] {
    run.Stop({.exit_code = 130, .reason = "interrupted"});
    run.Stop({.exit_code = 1, .reason = "too late"});
  });
  EXPECT_EQ(run.Run().exit_code, 130);
  EXPECT_EQ(cancelled_, 1);
  EXPECT_THAT(recorder_.lines,
              ElementsAre("0 start", "0 b not ready: starting, next in 1s",
                          "1s b not ready: starting, next in 1s",
                          "1.5s a ends: cancelled", "1.5s b ends: cancelled",
                          "1.5s done: 130 interrupted"));
}

TEST_F(WaitRunTest, StopCutsTheLastPollsShort) {
  Add({{NotYet()}});
  Add({{NotYet()}, {NotYet(), absl::InfiniteDuration()}});
  options_.policy.timeout = absl::Milliseconds(500);
  WaitRun& run = Make();
  const EventLoop::Watch stop = loop_.CallAfter(absl::Milliseconds(600), [&] {
    run.Stop({.exit_code = 130, .reason = "interrupted"});
  });
  EXPECT_EQ(run.Run().exit_code, 124) << "the limit was reached";
  EXPECT_EQ(recorder_.lines.back(), "600ms done: 124 deadline");
}

TEST_F(WaitRunTest, InterruptWinsOverReadiness) {
  Add({{NotYet()}, {Ready()}});
  WaitRun& run = Make();
  const EventLoop::Watch stop = loop_.CallAfter(absl::Seconds(1), [&] {
    run.Stop({.exit_code = 130, .reason = "interrupted"});
  });
  EXPECT_EQ(run.Run().exit_code, 130);
}

TEST_F(WaitRunTest, GoneAcceptsOnlyProvenAbsence) {
  Finding absent = Found(PollStatus::kNotReady, "refused");
  absent.absent = true;
  Add({{Ready()}, {NotYet()}, {Error()}, {absent}});
  options_.rules.gone = true;
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "0 a not ready: still there, next in 1s",
                          "1s a not ready: starting, next in 1s",
                          "2s a server error: broken, next in 1s",
                          "3s a success: refused", "3s a ends: success",
                          "3s done: 0 ready"));
}

TEST_F(WaitRunTest, HostThatVanishedIsGoneIfItWasThere) {
  Finding no_host = Found(PollStatus::kNotReady, "no such name");
  no_host.no_host = true;
  Add({{no_host}, {Ready()}, {no_host}});
  options_.rules.gone = true;
  EXPECT_THAT(Run(),
              ElementsAre("0 start", "0 a not ready: no such name, next in 1s",
                          "1s a not ready: still there, next in 1s",
                          "2s a success: no such name", "2s a ends: success",
                          "2s done: 0 ready"));
}

TEST_F(WaitRunTest, TargetOfWhichNothingIsFoundHasAShorterLimit) {
  Finding absent = Found(PollStatus::kNotReady, "refused");
  absent.absent = true;
  options_.rules.absent_timeout = absl::Milliseconds(1500);
  Add({{absent}});
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "0 a not ready: refused, next in 1s",
                  "1s a not ready: refused, next in 1s", "2s a failed: refused",
                  "2s a ends: failed", "2s done: 1 failed"));
}

TEST_F(WaitRunTest, TargetThatWasFoundOnceHasTheUsualLimit) {
  Finding absent = Found(PollStatus::kNotReady, "refused");
  absent.absent = true;
  options_.rules.absent_timeout = absl::Milliseconds(1500);
  Add({{Error()}, {absent}, {absent}, {absent}, {Ready()}});
  EXPECT_EQ(Run().back(), "4s done: 0 ready");
}

TEST_F(WaitRunTest, ReadinessMustHold) {
  Add({{Ready()}, {NotYet()}, {Ready()}});
  options_.policy.confirm.successes = 2;
  EXPECT_EQ(Run().back(), "3s done: 0 ready");
}

TEST_F(WaitRunTest, ThousandTargetsAreAwaitedAtOnce) {
  for (int i = 0; i < 1000; ++i) Add({{NotYet(), absl::Seconds(1)}, {Ready()}});
  EXPECT_EQ(Run().back(), "2s done: 0 ready");
}

class AtOnceTest : public WaitRunTest {
 protected:
  AtOnceTest() { options_.at_once = true; }
};

TEST_F(AtOnceTest, TargetsAreLookedAtAgainIfOneWasReadyLater) {
  Add({{NotYet()}, {Ready()}});
  Add({{Ready()}});
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                  "0 b success", "0 b ends: success", "1s a success",
                  "1s a ends: success", "1s a success", "1s a ends: success",
                  "1s b success", "1s b ends: success", "1s done: 0 ready"));
}

TEST_F(AtOnceTest, TargetThatWentAwayIsWaitedForAgain) {
  Add({{NotYet()}, {Ready()}});
  Add({{Ready()}, {NotYet()}, {Ready()}});
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                  "0 b success", "0 b ends: success", "1s a success",
                  "1s a ends: success", "1s a success", "1s a ends: success",
                  "1s b not ready: starting, next in 1s", "2s b success",
                  "2s b ends: success", "2s a success", "2s a ends: success",
                  "2s b success", "2s b ends: success", "2s done: 0 ready"));
}

TEST_F(AtOnceTest, TargetsThatAreReadyTogetherAreLookedAtOnce) {
  Add({{Ready()}});
  Add({{Ready(), absl::Milliseconds(10)}});
  EXPECT_THAT(Run(), ElementsAre("0 start", "0 a success", "0 a ends: success",
                                 "10ms b success", "10ms b ends: success",
                                 "10ms done: 0 ready"));
}

TEST_F(AtOnceTest, LimitCountsFromTheStartOfTheRun) {
  Add({{NotYet()}, {NotYet()}, {Ready()}});
  Add({{Ready()}, {NotYet()}});
  options_.policy.timeout = absl::Milliseconds(3500);
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                  "0 b success", "0 b ends: success",
                  "1s a not ready: starting, next in 1s", "2s a success",
                  "2s a ends: success", "2s a success", "2s a ends: success",
                  "2s b not ready: starting, next in 1s",
                  "3s b not ready: starting, next in 500ms",
                  "3.5s b not ready: starting", "3.5s b ends: deadline",
                  "3.5s done: 124 deadline"));
}

TEST_F(AtOnceTest, LimitOnPollsCountsThoseOfAllRounds) {
  Add({{NotYet()}, {Ready()}});
  Add({{Ready()}, {NotYet()}});
  options_.policy.max_attempts = 3;
  EXPECT_EQ(Run().back(), "2s done: 3 attempts");
}

TEST_F(AtOnceTest, ErrorsOfAllRoundsCount) {
  Add({{Error()}, {Ready()}});
  Add({{Error()}, {Ready()}, {Error()}, {Ready()}});
  options_.max_errors = 1;
  EXPECT_EQ(Run().back(), "1s done: 3 errors");
}

TEST_F(AtOnceTest, TargetsBeyondThoseThatAreNeededMayFail) {
  Add({{Fatal()}});
  Add({{Ready()}, {NotYet()}, {Ready()}});
  Add({{NotYet()}, {Ready()}});
  options_.needed = 2;
  EXPECT_THAT(
      Run(),
      ElementsAre("0 start", "0 a failed: gone for good", "0 a ends: failed",
                  "0 b success", "0 b ends: success",
                  "0 c not ready: starting, next in 1s", "1s c success",
                  "1s c ends: success", "1s b not ready: starting, next in 1s",
                  "1s c success", "1s c ends: success", "2s b success",
                  "2s b ends: success", "2s b success", "2s b ends: success",
                  "2s c success", "2s c ends: success", "2s done: 0 ready"));
}

TEST_F(AtOnceTest, StopBetweenTwoRoundsEndsTheRun) {
  Add({{NotYet()}, {Ready()}});
  Add({{Ready()}});
  // Stops the run when the first round is decided.
  struct Stopper : RunListener {
    void OnEnd(const RunState& /*run*/, size_t target) override {
      if (target == 0) {
        run->Stop({.exit_code = 130, .reason = "interrupted"});
      }
    }
    WaitRun* run = nullptr;
  } stopper;
  WaitRun run(loop_, std::move(targets_), options_, {&recorder_, &stopper});
  stopper.run = &run;
  EXPECT_EQ(run.Run().reason, "interrupted");
}

// The file of --state.

class SavedRunTest : public WaitRunTest {
 protected:
  // Adds the targets of a run that continues from the file, or begins it.
  void Begin() {
    std::vector<std::string> texts;
    for (const WaitTarget& target : targets_) texts.push_back(target.text);
    const absl::StatusOr<SavedRun> saved = file_.Read(texts);
    ASSERT_TRUE(saved.ok()) << saved.status();
    options_.saved = *saved;
    if (options_.saved.started == absl::InfinitePast()) {
      options_.saved.started = clock_.TimeNow();
    }
    options_.state_file = &file_;
    ASSERT_TRUE(file_.Write(options_.saved).ok());
  }

  // Runs for this long, as if the process were killed then.
  std::vector<std::string> RunFor(absl::Duration time) {
    Begin();
    const EventLoop::Watch killed = loop_.CallAfter(time, [this] {
      run_->Stop({.exit_code = 130, .reason = "interrupted"});
    });
    return Take();
  }

  std::vector<std::string> RunToTheEnd() {
    Begin();
    return Take();
  }

  std::vector<std::string> Take() {
    std::vector<std::string> lines = Run();
    EXPECT_TRUE(run_->save_status().ok()) << run_->save_status();
    recorder_.lines.clear();
    targets_.clear();
    return lines;
  }

  bool FileExists() const { return std::filesystem::exists(path_); }

  const std::string path_ = absl::StrCat(
      testing::TempDir(), "/state.", getpid(), ".",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  StateFile file_{path_};
};

TEST_F(SavedRunTest, RunThatWasKilledGoesOnWithItsPollsAndItsDeadline) {
  Add({{NotYet()}});
  Add({{NotYet()}, {Ready()}});
  EXPECT_THAT(
      RunFor(absl::Milliseconds(1500)),
      ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                  "0 b not ready: starting, next in 1s",
                  "1s a not ready: starting, next in 1s", "1s b success",
                  "1s b ends: success", "1.5s a ends: cancelled",
                  "1.5s done: 130 interrupted"));
  ASSERT_TRUE(FileExists());
  clock_.AdvanceTime(absl::Milliseconds(200));

  Add({{NotYet()}});
  Add({{NotYet()}});
  EXPECT_THAT(RunToTheEnd(),
              ElementsAre("1.7s start", "1.7s b ends: success",
                          "2s a not ready: starting, next in 1s",
                          "3s a not ready: starting, next in 1s",
                          "4s a not ready: starting, next in 1s",
                          "5s a not ready: starting", "5s a ends: deadline",
                          "5s done: 124 deadline"));
  EXPECT_FALSE(FileExists());
}

TEST_F(SavedRunTest, RunThatIsKilledInEveryPollStillHasItsDeadline) {
  options_.policy.timeout = absl::Seconds(3);
  for (int i = 0; i < 3; ++i) {
    Add({{Ready(), absl::InfiniteDuration()}});
    RunFor(absl::Seconds(1));
    ASSERT_TRUE(FileExists());
  }
  Add({{NotYet()}});
  EXPECT_THAT(RunToTheEnd(),
              ElementsAre("3s start", "3s a not ready: starting",
                          "3s a ends: deadline", "3s done: 124 deadline"));
}

TEST_F(SavedRunTest, FirstDelayPassesWhileNobodyWaits) {
  options_.policy.polls.first_delay = absl::Seconds(3);
  Add({{Ready()}});
  RunFor(absl::Seconds(1));
  clock_.AdvanceTime(absl::Seconds(1));
  Add({{Ready()}});
  EXPECT_THAT(RunToTheEnd(),
              ElementsAre("2s start", "3s a success", "3s a ends: success",
                          "3s done: 0 ready"));
}

TEST_F(SavedRunTest, ErrorsBeforeTheKillCount) {
  options_.max_errors = 2;
  Add({{Error()}});
  RunFor(absl::Milliseconds(1500));  // Errors at 0 and at 1 s.
  Add({{Error()}});
  EXPECT_THAT(RunToTheEnd(),
              ElementsAre("1.5s start", "2s a server error: broken",
                          "2s a ends: quota", "2s done: 3 errors"));
}

TEST_F(SavedRunTest, RunOfWhichAllWasReadyIsReadyWithoutAPoll) {
  Add({{Ready()}});
  Add({{NotYet()}});
  RunFor(absl::Milliseconds(500));
  options_.needed = 1;
  Add({{Fatal()}});
  Add({{Fatal()}});
  options_.needed = 1;
  EXPECT_THAT(RunToTheEnd(), ElementsAre("500ms start", "500ms a ends: success",
                                         "500ms done: 0 ready"));
  EXPECT_FALSE(FileExists());
}

TEST_F(SavedRunTest, SliceEndsARunThatTheNextOneResumes) {
  options_.slice = absl::Milliseconds(1500);
  Add({{NotYet()}});
  EXPECT_THAT(RunToTheEnd(),
              ElementsAre("0 start", "0 a not ready: starting, next in 1s",
                          "1s a not ready: starting, next in 1s",
                          "1.5s a ends: cancelled", "1.5s done: 75 slice"));
  EXPECT_TRUE(FileExists());
  EXPECT_EQ(recorder_.last_end.next_poll, absl::Milliseconds(500));
  options_.slice = absl::Seconds(25);
  Add({{NotYet()}, {Ready()}});
  EXPECT_THAT(
      RunToTheEnd(),
      ElementsAre("1.5s start", "2s a not ready: starting, next in 1s",
                  "3s a success", "3s a ends: success", "3s done: 0 ready"));
  EXPECT_FALSE(FileExists());
}

TEST_F(SavedRunTest, AllSlicesHaveOneDeadline) {
  options_.slice = absl::Seconds(2);
  for (int i = 0; i < 2; ++i) {
    Add({{NotYet()}});
    EXPECT_EQ(RunToTheEnd().back(),
              absl::StrCat(2 * (i + 1), "s done: 75 slice"));
  }
  Add({{NotYet()}});
  EXPECT_EQ(RunToTheEnd().back(), "5s done: 124 deadline");
}

TEST_F(SavedRunTest, PollThatAFormerRunFinishedIsNotForgottenWhenReady) {
  Add({{NotYet()}, {Ready()}});
  Add({{NotYet()}});
  RunFor(absl::Milliseconds(1500));
  Add({{Fatal()}});
  Add({{Ready()}});
  RunToTheEnd();
  EXPECT_THAT(recorder_.attempts, ElementsAre(2, 3));
}

TEST_F(SavedRunTest, EveryEndRemovesTheFile) {
  for (const Finding& end : {Ready(), Fatal(), NotYet()}) {
    Add({{NotYet()}, {end}});
    options_.saved = {};
    RunToTheEnd();
    EXPECT_FALSE(FileExists());
  }
}

TEST_F(SavedRunTest, FileThatCannotBeWrittenIsReportedAndEndsNothing) {
  const StateFile nowhere("/nowhere/state");
  Add({{NotYet()}, {Ready()}});
  options_.state_file = &nowhere;
  EXPECT_EQ(Run().back(), "1s done: 0 ready");
  EXPECT_EQ(run_->save_status(),
            absl::InvalidArgumentError(
                "--state=/nowhere/state: No such file or directory"));
}

}  // namespace
}  // namespace waiter::cli::wait_run_test
