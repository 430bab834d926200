// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs that learn from a file when to poll, on simulated time.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "cli/run/wait_run.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::cli::learned_run_test {
namespace {

// Finds its target ready after some time.
class TimedProbe : public Probe {
 public:
  TimedProbe(EventLoop& loop, absl::Duration ready)
      : loop_(loop),
        ready_(loop.clock().MonotonicNow() + absl::ToChronoNanoseconds(ready)) {
  }

  void Start(const PollContext& /*context*/, Done done) override {
    const bool is_ready = loop_.clock().MonotonicNow() >= ready_;
    done({.status = is_ready ? PollStatus::kSuccess : PollStatus::kNotReady,
          .detail = ""});
  }
  void TimeOut(absl::Duration /*timeout*/) override {}
  void Cancel() override {}

 private:
  EventLoop& loop_;
  const MonotonicTime ready_;
};

// Counts all polls.
class PollCounter : public RunListener {
 public:
  void OnPoll(const RunState& /*run*/, size_t /*target*/) override { ++polls; }
  void OnDone(const RunState& /*run*/, const RunEnd& end) override {
    reason = end.reason;
  }

  int64_t polls = 0;
  std::string reason;
};

class LearnedRunTest : public testing::Test {
 protected:
  LearnedRunTest()
      : path_(absl::StrCat(
            testing::TempDir(), "/",
            testing::UnitTest::GetInstance()->current_test_info()->name(), ".",
            getpid())) {}
  ~LearnedRunTest() override { std::remove(path_.c_str()); }

  // Waits for targets that become ready after these times, as if in a separate
  // process. Returns the number of polls.
  int64_t PollsOfRun(const std::vector<absl::Duration>& ready,
                     WaitRunOptions options = {}) {
    SimulatedClock clock;
    EventLoop loop(clock);
    auto model = std::make_shared<DurationModel>();
    const absl::StatusOr<std::unique_ptr<DurationFile>> file =
        DurationFile::Open(path_, model);
    EXPECT_TRUE(file.ok()) << file.status();
    options.policy.timeout = absl::Hours(1);
    options.policy.hooks.seed = 1;
    options.policy.delay_source = *LearnedDelays::Make(model);
    options.needed = ready.size();
    std::vector<WaitTarget> targets;
    for (size_t i = 0; i < ready.size(); ++i) {
      targets.push_back({.label = absl::StrCat("target ", i),
                         .text = "timed:",
                         .probe = std::make_unique<TimedProbe>(loop, ready[i]),
                         .operation = "create instance"});
    }
    PollCounter counter;
    WaitRun run(loop, std::move(targets), options, {&counter});
    EXPECT_EQ(run.Run().reason, "ready");
    EXPECT_TRUE((*file)->status().ok()) << (*file)->status();
    return counter.polls;
  }

  std::vector<ObservedDuration> Known() const {
    DurationModel model;
    EXPECT_TRUE(DurationFile::Read(path_, model).ok());
    return model.Durations("create instance");
  }

  const std::string path_;
};

// Times around one minute.
std::vector<absl::Duration> AboutAMinute() {
  std::vector<absl::Duration> times;
  for (int i = 0; i < 20; ++i) times.push_back(absl::Seconds(50 + i));
  return times;
}

TEST_F(LearnedRunTest, SecondRunWithTheSameFileMakesFewerPolls) {
  const int64_t first = PollsOfRun(AboutAMinute());
  EXPECT_EQ(Known().size(), 20);
  const int64_t second = PollsOfRun(AboutAMinute());
  EXPECT_EQ(Known().size(), 40);
  EXPECT_LT(2 * second, first);
}

TEST_F(LearnedRunTest, FewDurationsChangeLittle) {
  const std::vector<absl::Duration> one = {absl::Seconds(60)};
  const int64_t first = PollsOfRun(one);
  EXPECT_EQ(PollsOfRun(one), first);
}

TEST_F(LearnedRunTest, DurationLiesBetweenTheLastTwoPolls) {
  PollsOfRun({absl::Seconds(60)});
  ASSERT_EQ(Known().size(), 1);
  EXPECT_LT(Known()[0].after, absl::Seconds(60));
  EXPECT_GE(Known()[0].by, absl::Seconds(60));
  EXPECT_LT(Known()[0].by, absl::Seconds(90));
}

// The second look starts at a different time than the operation.
TEST_F(LearnedRunTest, LookingAgainTeachesNothing) {
  WaitRunOptions options;
  options.at_once = true;
  PollsOfRun({absl::Seconds(30), absl::Seconds(60)}, options);
  EXPECT_EQ(Known().size(), 2);
}

TEST_F(LearnedRunTest, TargetThatIsReadyAtOnceTeachesNothing) {
  PollsOfRun({absl::ZeroDuration()});
  EXPECT_TRUE(Known().empty());
}

}  // namespace
}  // namespace waiter::cli::learned_run_test
