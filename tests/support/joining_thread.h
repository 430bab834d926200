// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A thread that its destructor joins, for standard libraries without
// `std::jthread`:
//
//   const JoiningThread canceller([&] { stop.request_stop(); });

#ifndef WAITER_TESTS_SUPPORT_JOINING_THREAD_H_
#define WAITER_TESTS_SUPPORT_JOINING_THREAD_H_

#include <concepts>
#include <thread>
#include <utility>

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

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_JOINING_THREAD_H_
