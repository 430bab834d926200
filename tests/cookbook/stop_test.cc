// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stops waits: by Ctrl-C, from another thread, in a group and in a coroutine.

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <exception>
#include <functional>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace stop_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Job {
  bool IsDone() const { return is_done(); }
  std::function<bool()> is_done;
  std::string name = "job 7";
};

std::vector<std::string>& Printed() {
  static auto& printed = *new std::vector<std::string>;
  return printed;
}
void Print(std::string text) { Printed().push_back(std::move(text)); }

// Returns a token that the first Ctrl-C stops; a second Ctrl-C ends the
// program. Call this before you start threads, because they inherit which
// signals are blocked.
waiter::stop_token StopOnInterrupt() {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
  waiter::stop_source stop;
  std::thread([interrupt, stop]() mutable {
    int signal = 0;
    sigwait(&interrupt, &signal);
    stop.request_stop();
    sigwait(&interrupt, &signal);
    _exit(128 + signal);
  }).detach();
  return stop.get_token();
}

// Returns the exit code of the program.
int WaitForJob(const Job& job, const waiter::stop_token& stop) {
  waiter::Waiter wait([&] { return job.IsDone(); },
                      {.timeout = absl::Hours(1)});
  const waiter::WaitResult<> result = wait.Wait(stop);
  if (result.reason() == waiter::StopReason::kCancelled) return 130;
  return result.ok() ? 0 : 1;
}

// Waits until all jobs are done. Returns the exit code of the program.
int WaitForJobs(const std::vector<Job>& jobs, const waiter::stop_token& stop) {
  const auto policy = waiter::WaitPolicy::Make({.timeout = absl::Hours(1)});
  std::vector<waiter::Waiter<std::function<bool()>>> waits;
  waiter::WaitGroupOptions options = {.stop = stop};
  for (const Job& job : jobs) {
    waits.emplace_back([&job] { return job.IsDone(); }, policy);
    options.names.push_back(job.name);
  }
  int code = 0;
  waiter::WaitEngine engine({.threads = 0});
  const waiter::WaitGroup group = waiter::All(
      engine, std::move(waits),
      [&](const std::vector<waiter::WaitResult<>>& results) {
        for (const waiter::WaitResult<>& result : results) {
          if (result.ok()) continue;
          Print(result.status().ToString());
          code = stop.stop_requested() ? 130 : 1;
        }
      },
      std::move(options));
  engine.Run();
  return code;
}

// Run in their own processes, because the thread that takes the signals stays.
TEST(StopDeathTest, InterruptEndsTheWait) {
  EXPECT_EXIT(
      {
        const waiter::stop_token stop = StopOnInterrupt();
        bool sent = false;
        const Job job{[&sent] {
          if (!std::exchange(sent, true)) kill(getpid(), SIGINT);
          return false;
        }};
        _exit(WaitForJob(job, stop) == 130 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StopDeathTest, SecondInterruptEndsTheProgram) {
  EXPECT_EXIT(
      {
        const waiter::stop_token stop = StopOnInterrupt();
        kill(getpid(), SIGINT);
        while (!stop.stop_requested()) std::this_thread::yield();
        kill(getpid(), SIGINT);
        while (true) pause();
      },
      testing::ExitedWithCode(130), "");
}

// Exits with 0 if Ctrl-C during a poll of the second job ends the group.
[[noreturn]] void InterruptGroup() {
  const waiter::stop_token stop = StopOnInterrupt();
  int polls = 0;
  std::vector<Job> jobs;
  jobs.push_back({[] { return true; }, "a"});
  jobs.push_back({[&] {
                    if (++polls == 2) kill(getpid(), SIGINT);
                    return false;
                  },
                  "b"});
  const int code = WaitForJobs(jobs, stop);
  const bool is_named =
      Printed().size() == 1 &&
      Printed()[0].starts_with("CANCELLED: b: stop requested");
  _exit(code == 130 && is_named ? 0 : 1);
}

TEST(StopDeathTest, InterruptEndsTheGroup) {
  EXPECT_EXIT(InterruptGroup(), testing::ExitedWithCode(0), "");
}

TEST(StopTest, PendingJobsAreNamed) {
  Printed().clear();
  waiter::stop_source stop;

  EXPECT_EQ(WaitForJobs({{[] { return true; }, "a"}}, stop.get_token()), 0);
  EXPECT_THAT(Printed(), SizeIs(0));
  stop.request_stop();
  EXPECT_EQ(WaitForJobs({{[] { return true; }, "a"}}, stop.get_token()), 130);
  EXPECT_THAT(Printed(), ElementsAre(HasSubstr("a: stop requested")));
}

TEST(StopTest, AnotherThreadEndsTheWait) {
  waiter::stop_source stop;
  std::latch polled(1);
  const Job job{[&] {
    if (!polled.try_wait()) polled.count_down();
    return false;
  }};
  waiter::JoiningThread thread([&] {
    polled.wait();
    stop.request_stop();
  });

  EXPECT_EQ(WaitForJob(job, stop.get_token()), 130);
}

#ifdef WAITER_HAS_COROUTINES

struct Instance {
  std::string state;
  std::string address = "10.0.0.7";
};

waiter::Poll<Instance> PollOf(absl::StatusOr<Instance> got) {
  if (!got.ok()) return waiter::FromStatus(got.status());
  if (got->state != "RUNNING") return waiter::NotReady(got->state);
  return waiter::Success(*std::move(got));
}

// Answers when the test says so.
class AsyncClient {
 public:
  using Callback = std::function<void(absl::StatusOr<Instance>)>;

  void GetInstance(std::string_view /*id*/, absl::Time deadline,
                   Callback callback) {
    deadlines_.push_back(deadline);
    callbacks_.push_back(std::move(callback));
  }

  void Answer(const std::string& state) {
    const Callback callback = std::move(callbacks_.front());
    callbacks_.pop_front();
    callback(Instance{state});
  }

  const std::vector<absl::Time>& deadlines() const { return deadlines_; }

 private:
  std::deque<Callback> callbacks_;
  std::vector<absl::Time> deadlines_;
};

// Destroys its own frame when it ends.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// `engine` and `client` must outlive the coroutine.
Task PrintAddress(waiter::WaitEngine& engine, AsyncClient& client,
                  waiter::WaitOptions options, waiter::stop_token stop) {
  options.poll_timeout = absl::Seconds(10);
  waiter::AsyncWaiter wait(
      [&client](const waiter::PollContext& poll,
                waiter::PollCompletion<Instance> done) {
        client.GetInstance(
            "i-0abc", poll.deadline,
            [done = std::move(done)](absl::StatusOr<Instance> got) {
              done(PollOf(std::move(got)));
            });
      },
      std::move(options));

  waiter::WaitResult<Instance> result =
      co_await waiter::Await(engine, std::move(wait), std::move(stop));

  Print(result.ok() ? result->address : result.status().ToString());
}

class StopCoroutineTest : public testing::Test {
 protected:
  StopCoroutineTest() { Printed().clear(); }

  waiter::WaitOptions OneHour() {
    return {.timeout = absl::Hours(1), .clock = &clock_};
  }

  waiter::SimulatedClock clock_;
  waiter::WaitEngine engine_{{.threads = 0, .clock = &clock_}};
  AsyncClient client_;
  waiter::stop_source stop_;
};

TEST_F(StopCoroutineTest, CompletionEndsThePoll) {
  clock_.CallAt(absl::Seconds(5), [&] { client_.Answer("CREATING"); });
  clock_.CallAt(absl::Seconds(60), [&] { client_.Answer("RUNNING"); });
  const absl::Time start = clock_.TimeNow();

  PrintAddress(engine_, client_, OneHour(), stop_.get_token());
  engine_.Run();

  EXPECT_THAT(Printed(), ElementsAre("10.0.0.7"));
  EXPECT_THAT(client_.deadlines(), SizeIs(2));
  EXPECT_EQ(client_.deadlines().front(), start + absl::Seconds(10));
}

TEST_F(StopCoroutineTest, StopEndsTheWaitDuringAPoll) {
  clock_.CallAt(absl::Seconds(5), [&] { stop_.request_stop(); });

  PrintAddress(engine_, client_, OneHour(), stop_.get_token());
  engine_.Run();
  client_.Answer("RUNNING");  // Comes too late, and does nothing.

  EXPECT_THAT(Printed(), ElementsAre(HasSubstr("CANCELLED")));
  EXPECT_LT(clock_.Elapsed(), absl::Seconds(6));
}

#endif  // WAITER_HAS_COROUTINES

}  // namespace
}  // namespace stop_test
