// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A thread that its destructor joins, for standard libraries without
// `std::jthread`, and calls that threads begin together:
//
//   const JoiningThread canceller([&] { stop.request_stop(); });
//   RunThreads(4, [&](int thread) { Work(thread); });

#ifndef WAITER_TESTS_SUPPORT_JOINING_THREAD_H_
#define WAITER_TESTS_SUPPORT_JOINING_THREAD_H_

#include <concepts>
#include <cstddef>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

namespace waiter {

class JoiningThread {
 public:
  JoiningThread() = default;
  template <std::invocable F>
  explicit JoiningThread(F body) : thread_(std::move(body)) {}

  JoiningThread(JoiningThread&&) = default;
  JoiningThread& operator=(JoiningThread&& other) noexcept {
    if (joinable()) join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~JoiningThread() {
    if (joinable()) join();
  }

  bool joinable() const { return thread_.joinable(); }
  void join() { thread_.join(); }

 private:
  std::thread thread_;
};

// Calls `body` with the numbers from 0 to `count` - 1, each on a thread of its
// own. The calls begin together, and all have returned when this returns.
template <std::invocable<int> F>
void RunThreads(int count, const F& body) {
  std::latch all_are_there(count);
  std::vector<JoiningThread> threads;
  threads.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      // A thread that sleeps until the last one is there begins too late.
      all_are_there.count_down();
      while (!all_are_there.try_wait()) std::this_thread::yield();
      body(i);
    });
  }
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_JOINING_THREAD_H_
