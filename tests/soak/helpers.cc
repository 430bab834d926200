// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/soak/helpers.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/soak/ledger.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/poll.h"

namespace waiter::soak {

void Activity::Set(const char* what) {
  since_ = NowMs();
  what_ = what;
}

void Activity::Check(std::string_view thread, int64_t now,
                     int64_t limit_ms) const {
  const int64_t since = since_;
  const char* const what = what_;
  if (what == nullptr) return;
  if (now - since > limit_ms) {
    Fail(absl::StrCat("the ", thread, " hangs: \"", what, "\" for ",
                      now - since, " ms"));
  }
}

Pool::Pool() {
  for (std::thread& thread : threads_) thread = std::thread([this] { Work(); });
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  added_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (Job& job : late_) job.task();
}

void Pool::Mistreat(absl::AnyInvocable<void()> task, uint64_t choice) {
  switch (choice % 8) {
    case 0:
      return task();
    case 1:
      return;
    case 2:
      throw std::runtime_error("no thread is free");
    case 3:
      return Add(std::move(task), kDrop);
    case 4:
      return Add(std::move(task), kRunTwice);
    case 5:
      return Add(std::move(task), kRunLate);
    default:
      return Add(std::move(task), kRun);
  }
}

void Pool::Add(absl::AnyInvocable<void()> task, Action action) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(task), action});
  }
  added_.notify_one();
}

void Pool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (job.action == kRunLate) {
      // Runs after the next 15 late jobs, usually after the engine has ended.
      late_.push_back(std::move(job));
      if (late_.size() < 16) continue;
      job = std::move(late_.front());
      late_.erase(late_.begin());
    }
    lock.unlock();
    if (job.action != kDrop) job.task();
    if (job.action == kRunTwice) job.task();
    job.task = nullptr;
    lock.lock();
  }
}

Client::Client(uint64_t seed)
    : thread_([this, gen = SplitMix64(seed)] { Work(gen); }) {}

Client::~Client() {
  ends_ = true;
  thread_.join();
}

void Client::Answer(PollCompletion<> done) {
  const std::lock_guard lock(mutex_);
  polls_.push_back(std::move(done));
}

void Client::Work(SplitMix64 gen) {
  std::vector<PollCompletion<>> polls;
  std::vector<PollCompletion<>> late;
  late.reserve(kLate);
  while (!ends_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    polls.clear();
    {
      const std::lock_guard lock(mutex_);
      polls.swap(polls_);
    }
    for (const PollCompletion<>& done : polls) {
      const uint64_t choice = gen() % 16;
      if (choice == 0) continue;  // Never.
      if (choice == 1) {          // Usually after the wait has ended.
        if (late.size() < kLate) {
          late.push_back(done);
        } else {
          PollCompletion<>& old = late[gen() % kLate];
          old(true);
          old = done;
        }
        continue;
      }
      done(choice < 4 ? Poll<>(Success()) : Poll<>(NotReady("still pending")));
      if (choice % 4 == 0) done(absl::InternalError("a second answer"));
    }
  }
  for (const PollCompletion<>& done : late) done(true);
}

}  // namespace waiter::soak
