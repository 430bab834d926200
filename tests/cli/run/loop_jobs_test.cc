// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/loop_jobs.h"

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter::cli::loop_jobs_test {
namespace {

// Answers immediately if it has an answer, and otherwise at its timeout.
class FakeProbe : public Probe {
 public:
  explicit FakeProbe(std::string answer) : answer_(std::move(answer)) {}

  void Start(const PollContext& /*context*/, Done done) override {
    done_ = std::move(done);
    if (answer_.empty()) return;
    std::exchange(done_,
                  nullptr)({.status = PollStatus::kSuccess, .detail = answer_});
  }
  void TimeOut(absl::Duration /*timeout*/) override {
    std::exchange(done_, nullptr)({.detail = "timed out"});
  }
  void Cancel() override { done_ = nullptr; }

 private:
  const std::string answer_;
  Done done_;
};

LoopJobs::NewProbe Make(const std::string& answer) {
  return [answer]() -> absl::StatusOr<std::unique_ptr<Probe>> {
    return std::make_unique<FakeProbe>(answer);
  };
}

class LoopJobsTest : public testing::Test {
 protected:
  // Runs the loop until `blocking` has returned on a thread.
  void Run(const std::function<void()>& blocking) {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      // TSan delivers a signal when the thread calls one of its interceptors,
      // which a thread that waits for a future does not.
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
      blocking();
      done = true;
      loop_.Post([] {});
    });
    while (!done) loop_.RunOnce(MonotonicTime::max());
    thread.join();
  }

  EventLoop loop_;
  ProcessReaper reaper_{loop_};
  LoopJobs jobs_{reaper_};
};

TEST_F(LoopJobsTest, ThreadGetsTheFindingOfAProbe) {
  Run([&] {
    const Finding found = jobs_.RunProbe(Make("up"), {});
    EXPECT_EQ(found.status, PollStatus::kSuccess);
    EXPECT_EQ(found.detail, "up");
  });
}

TEST_F(LoopJobsTest, ProbeThatIsSilentIsTimedOut) {
  Run([&] {
    const Finding found =
        jobs_.RunProbe(Make(""), {.timeout = absl::Milliseconds(5)});
    EXPECT_EQ(found.status, PollStatus::kNotReady);
    EXPECT_EQ(found.detail, "timed out");
  });
}

TEST_F(LoopJobsTest, ProbeThatCannotBeMadeHasFailed) {
  Run([&] {
    const Finding found = jobs_.RunProbe(
        []() -> absl::StatusOr<std::unique_ptr<Probe>> {
          return absl::InvalidArgumentError("no libcurl");
        },
        {});
    EXPECT_EQ(found.status, PollStatus::kFailed);
    EXPECT_EQ(found.detail, "no libcurl");
  });
}

TEST_F(LoopJobsTest, ThreadGetsTheEndOfAProgram) {
  Run([&] {
    const ProcessEnd end =
        jobs_.RunProgram({.words = {"/bin/sh", "-c", "echo $A; exit 7"},
                          .environment = {{"A", "text"}}});
    EXPECT_EQ(end.how, ProcessEnd::How::kExited);
    EXPECT_EQ(end.code, 7);
    EXPECT_EQ(end.out, "text\n");
  });
}

TEST_F(LoopJobsTest, CloseEndsWhatIsUnderWayAndWhatComesLater) {
  Run([&] {
    loop_.Post([&] {
      // Runs after the job that the next line posts.
      loop_.Post([&] { jobs_.Close(); });
    });
    const Finding found = jobs_.RunProbe(Make(""), {});
    EXPECT_EQ(found.status, PollStatus::kNotReady);
    EXPECT_EQ(found.detail, "the worker is ending");
    EXPECT_EQ(jobs_.RunProbe(Make("up"), {}).status, PollStatus::kNotReady);
    EXPECT_TRUE(jobs_.RunProgram({.words = {"/bin/true"}}).terminated);
  });
}

}  // namespace
}  // namespace waiter::cli::loop_jobs_test
