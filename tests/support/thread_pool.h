// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Threads that run the polls of an engine:
//
//   ThreadPool pool(2);
//   WaitEngine engine({.executor = pool.executor()});

#ifndef WAITER_TESTS_SUPPORT_THREAD_POOL_H_
#define WAITER_TESTS_SUPPORT_THREAD_POOL_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "tests/support/joining_thread.h"

namespace waiter {

// Must outlive the engine. The destructor runs the remaining tasks.
class ThreadPool {
 public:
  using Task = absl::AnyInvocable<void()>;

  explicit ThreadPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~ThreadPool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
  }

  void Add(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }
  auto executor() {
    return [this](Task task) { Add(std::move(task)); };
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool ends_ = false;
  std::vector<JoiningThread> threads_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_THREAD_POOL_H_
