// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/redis_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_link.h"

namespace waiter::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kLongestSleep = std::chrono::seconds(60);

}  // namespace

WakePipe::WakePipe() {
  std::array<int, 2> ends = {-1, -1};
  // Without a pipe, the thread sleeps for the time of `AwaitEvents`.
  if (pipe(ends.data()) != 0) return;
  read_ = ends[0];
  write_ = ends[1];
  for (const int end : ends) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
    fcntl(end, F_SETFL, O_NONBLOCK);
  }
}

WakePipe::~WakePipe() {
  if (read_ < 0) return;
  close(read_);
  close(write_);
}

void WakePipe::Wake() const {
  const char byte = 0;
  // A full pipe also wakes the thread.
  if (write_ >= 0 && write(write_, &byte, 1) < 0) return;
}

void WakePipe::Drain() const {
  std::array<char, 64> bytes;
  while (read_ >= 0 && read(read_, bytes.data(), bytes.size()) > 0) {
  }
}

RedisLoop::RedisLoop(const RedisClientOptions& options, std::string name)
    : name_(std::move(name)),
      call_timeout_(absl::ToChronoNanoseconds(options.call_timeout)),
      max_pending_(options.max_pending),
      clock_(*options.clock),
      pipe_(std::make_shared<WakePipe>()) {}

void RedisLoop::Start() {
  // The program's threads handle signals. This thread would also get a SIGPIPE
  // from hiredis.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_.Start([self = shared_from_this()] { self->Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RedisLoop::Stop() {
  if (thread_.IsGone()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  pipe_->Wake();
  thread_.End();
}

void RedisLoop::Call(const RedisScript& script, std::vector<std::string> keys,
                     std::vector<std::string> arguments,
                     RedisCaller::Callback callback) {
  if (thread_.IsGone()) return;
  const MonotonicTime deadline =
      SaturatingAdd(clock_.MonotonicNow(), call_timeout_);
  bool wakes = false;
  {
    const MutexLock lock(mutex_);
    if (pending_ >= max_pending_) {
      refused_.push_back(std::move(callback));
    } else {
      ++pending_;
      posted_.push_back({.script = script,
                         .keys = std::move(keys),
                         .arguments = std::move(arguments),
                         .callback = std::move(callback),
                         .deadline = deadline});
    }
    wakes = !std::exchange(is_awake_, true);
  }
  if (wakes) pipe_->Wake();
}

void RedisLoop::RunAt(MonotonicTime time, std::function<void()> timer) {
  if (thread_.IsGone()) return;
  bool wakes = false;
  {
    const MutexLock lock(mutex_);
    timers_.emplace(time, std::move(timer));
    wakes = !std::exchange(is_awake_, true);
  }
  if (wakes) pipe_->Wake();
}

void RedisLoop::Run() {
  while (true) {
    TakeCalls();
    const MonotonicTime now = clock_.MonotonicNow();
    if (!IsStopping()) RunTimers(now);
    // A timer may have destroyed the client, which then must not connect again.
    if (IsStopping()) break;
    Work(now);
    // Callbacks may add links.
    for (size_t i = 0; i < links_.size(); ++i) links_[i]->Work(now);
    AwaitEvents();
  }
  Finish();
}

bool RedisLoop::IsStopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

bool RedisLoop::TakeCalls() {
  std::vector<RedisCall> posted;
  std::vector<RedisCaller::Callback> refused;
  {
    const MutexLock lock(mutex_);
    posted.swap(posted_);
    refused.swap(refused_);
  }
  for (RedisCall& call : posted) Route(std::move(call));
  for (const RedisCaller::Callback& callback : refused) {
    callback(absl::ResourceExhaustedError(
        absl::StrCat(name_, ": ", max_pending_, " calls wait for replies")));
  }
  return !posted.empty() || !refused.empty();
}

void RedisLoop::RunTimers(MonotonicTime now) {
  // Timers that these add wait for the next round.
  std::vector<std::function<void()>> due;
  {
    const MutexLock lock(mutex_);
    const auto end = timers_.upper_bound(now);
    for (auto it = timers_.begin(); it != end; ++it) {
      due.push_back(std::move(it->second));
    }
    timers_.erase(timers_.begin(), end);
  }
  for (const std::function<void()>& timer : due) timer();
}

void RedisLoop::AwaitEvents() {
  const MonotonicTime now = clock_.MonotonicNow();
  MonotonicTime wake_up = std::min(now + kLongestSleep, NextWork());
  for (const RedisLink* link : links_) {
    wake_up = std::min(wake_up, link->NextWork());
  }
  {
    const MutexLock lock(mutex_);
    if (stopping_ || !posted_.empty() || !refused_.empty()) return;
    if (!timers_.empty()) wake_up = std::min(wake_up, timers_.begin()->first);
    is_awake_ = false;
  }

  fds_.clear();
  fds_.push_back({pipe_->fd(), POLLIN, 0});
  for (const RedisLink* link : links_) {
    fds_.push_back({link->fd(), link->events(), 0});
  }
  // Rounded up: no timer is early.
  const auto wait =
      std::chrono::ceil<milliseconds>(std::max(wake_up, now) - now);
  const int ready =
      poll(fds_.data(), fds_.size(), static_cast<int>(wait.count()));
  {
    const MutexLock lock(mutex_);
    is_awake_ = true;
  }
  if (ready <= 0) return;
  if (fds_[0].revents != 0) pipe_->Drain();
  for (size_t i = 1; i < fds_.size(); ++i) {
    links_[i - 1]->OnEvents(fds_[i].revents);
  }
}

void RedisLoop::Finish() {
  const absl::Status status =
      absl::CancelledError(absl::StrCat(name_, ": client closed"));
  // Members that leave say so by a call, perhaps after the calls were last
  // taken.
  TakeCalls();
  do {
    for (size_t i = 0; i < links_.size(); ++i) links_[i]->Close(status);
    Close(status);
  } while (TakeCalls());  // Callbacks may call.
}

std::function<void()> RedisLoop::WakeUp() {
  return [pipe = pipe_] { pipe->Wake(); };
}

void RedisLoop::Answer(RedisCall& call, absl::StatusOr<RedisReply> reply) {
  {
    const MutexLock lock(mutex_);
    --pending_;
  }
  call.callback(std::move(reply));
}

}  // namespace waiter::internal
