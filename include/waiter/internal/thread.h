// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A thread that an object owns. It knows if the object is a copy in a child of
// fork(2), where the thread is not:
//
//   Loop::~Loop() {
//     if (thread_.IsGone()) return;
//     ...  // Tell it to end.
//     thread_.End();
//   }
//
// In such a child the owner must neither use nor free memory that it shares
// with the thread: locks may be held, and conditions waited for, by threads
// that are not there. A thread should have a share of everything it uses.

#ifndef WAITER_INTERNAL_THREAD_H_
#define WAITER_INTERNAL_THREAD_H_

#include <atomic>
#include <limits>
#include <thread>
#include <utility>

namespace waiter::internal {

// The process in which an object was made.
class HomeProcess {
 public:
  // Any process.
  HomeProcess() = default;
  // The process that calls this.
  static HomeProcess Current();

  // Returns whether the calling process is a child of it, or of its child.
  bool IsLeft() const { return depth_ < forks_.load(kRelaxed); }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  // The forks that lie between this process and the first one, since something
  // called `Current`.
  static constinit std::atomic<int> forks_;

  int depth_ = (std::numeric_limits<int>::max)();
};

class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  // Requires `End`, unless the thread is gone or was not started.
  ~Thread();

  // Throws `std::system_error` if the thread cannot be started.
  template <typename Body>
  void Start(Body body) {
    home_ = HomeProcess::Current();  // First: the thread may look at it.
    thread_ = std::thread(std::move(body));
  }

  bool has_started() const { return thread_.joinable(); }

  // Returns whether this process is a child of the one that has the thread. May
  // be called on any thread.
  bool IsGone() const { return home_.IsLeft(); }

  // Waits for the end of the thread; detaches it if it is the calling one.
  // Requires that it has started, and is not gone.
  void End();

 private:
  HomeProcess home_;
  std::thread thread_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_THREAD_H_
