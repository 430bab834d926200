// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Holds very many waits whose status functions block.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <latch>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/engine/engine.h"

namespace many_jobs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ThreadPool {
 public:
  explicit ThreadPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~ThreadPool() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  void Schedule(absl::AnyInvocable<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

  bool HasThisThread() const {
    return std::ranges::any_of(threads_, [](const std::thread& thread) {
      return thread.get_id() == std::this_thread::get_id();
    });
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      absl::AnyInvocable<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<absl::AnyInvocable<void()>> tasks_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

// The jobs are done when they are polled for the second time. Job 7 is unknown.
class Client {
 public:
  Client(const ThreadPool& pool, int jobs)
      : pool_(pool), polls_(static_cast<size_t>(jobs)) {}

  absl::StatusOr<bool> IsDone(int job) {
    if (!pool_.HasThisThread()) ++polls_elsewhere_;
    if (job == 7) return absl::NotFoundError("no job 7");
    return ++polls_[static_cast<size_t>(job)] == 2;
  }

  int polls_elsewhere() const { return polls_elsewhere_; }

 private:
  const ThreadPool& pool_;
  std::vector<std::atomic<int>> polls_;
  std::atomic<int> polls_elsewhere_ = 0;
};

// Returns the jobs that failed. `client.IsDone(job)` blocks, so it runs on
// `pool`.
std::vector<int> WaitForJobs(Client& client, ThreadPool& pool,
                             const std::vector<int>& jobs,
                             waiter::WaitOptions options) {
  const auto policy = waiter::WaitPolicy::Make(std::move(options));
  std::vector<int> failed;
  std::latch pending(std::ssize(jobs));

  waiter::WaitEngine engine(
      {.executor = [&pool](absl::AnyInvocable<void()> poll) {
        pool.Schedule(std::move(poll));
      }});
  for (const int job : jobs) {
    waiter::Waiter wait([&client, job] { return client.IsDone(job); }, policy);
    engine
        .Start(std::move(wait),
               [&failed, &pending, job](const waiter::WaitResult<>& result) {
                 if (!result.ok()) failed.push_back(job);
                 pending.count_down();
               })
        .Detach();
  }

  pending.wait();
  return failed;
}

TEST(ManyJobsTest, FiftyThousandWaitsEndOnOneThreadAndAPool) {
  constexpr int kJobs = 50'000;
  std::vector<int> jobs(kJobs);
  std::iota(jobs.begin(), jobs.end(), 0);
  ThreadPool pool(2);
  Client client(pool, kJobs);

  const std::vector<int> failed =
      WaitForJobs(client, pool, jobs,
                  {.timeout = absl::Minutes(10),
                   .backoff = {.initial_delay = absl::Milliseconds(1)}});

  EXPECT_THAT(failed, ElementsAre(7));
  EXPECT_EQ(client.polls_elsewhere(), 0);
}

TEST(ManyJobsTest, NoJobsNeedNoTime) {
  ThreadPool pool(1);
  Client client(pool, 0);

  EXPECT_THAT(WaitForJobs(client, pool, {}, {.timeout = absl::Minutes(10)}),
              IsEmpty());
}

}  // namespace
}  // namespace many_jobs_test
