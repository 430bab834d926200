// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Helper threads of the soak program: a pool that runs polls, and a client that
// answers asynchronous polls. `Activity` finds threads that hang.

#ifndef WAITER_TESTS_SOAK_HELPERS_H_
#define WAITER_TESTS_SOAK_HELPERS_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"

namespace waiter::soak {

// Current activity of a thread, and its start.
class Activity {
 public:
  // `what` must be a literal, or null for nothing.
  void Set(const char* what);
  // Fails if the thread has been busy with one thing for `limit_ms`.
  void Check(std::string_view thread, int64_t now, int64_t limit_ms) const;

 private:
  std::atomic<const char*> what_ = nullptr;
  std::atomic<int64_t> since_ = 0;
};

// Runs tasks on two threads. Thread-safe.
class Pool {
 public:
  Pool();
  // Runs or drops the remaining tasks.
  ~Pool();

  // Runs `task`.
  void Run(absl::AnyInvocable<void()> task) { Add(std::move(task), kRun); }
  // Acts as an unreliable executor, by the random number `choice`: runs
  // `task` here or on a thread of the pool, once, twice or late, drops it here
  // or there, or throws.
  void Mistreat(absl::AnyInvocable<void()> task, uint64_t choice);

 private:
  enum Action : uint8_t { kRun, kRunTwice, kRunLate, kDrop };
  struct Job {
    absl::AnyInvocable<void()> task;
    Action action;
  };

  void Add(absl::AnyInvocable<void()> task, Action action);
  void Work();

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<Job> jobs_;
  std::vector<Job> late_;
  bool ends_ = false;
  std::array<std::thread, 2> threads_;
};

// Answers polls on its own thread: in time, late, twice, or never. Thread-safe.
class Client {
 public:
  explicit Client(uint64_t seed);
  ~Client();

  void Answer(PollCompletion<> done);

 private:
  static constexpr size_t kLate = 1024;

  void Work(SplitMix64 gen);

  std::mutex mutex_;
  std::vector<PollCompletion<>> polls_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace waiter::soak

#endif  // WAITER_TESTS_SOAK_HELPERS_H_
