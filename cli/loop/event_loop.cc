// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/event_loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/loop/wake_pipe.h"
#include "waiter/clock.h"

namespace waiter::cli {
namespace {

// Longest wait of one call of poll(2), which takes milliseconds as an int.
constexpr std::chrono::hours kLongestPoll(24);

}  // namespace

EventLoop::EventLoop(Clock& clock) : clock_(clock), wake_up_(MakeWakePipe()) {}

EventLoop::~EventLoop() {
  for (const int fd : wake_up_) close(fd);
}

EventLoop::Watch EventLoop::WhenReady(int fd, short events,
                                      std::function<void(short)> ready) {
  const uint64_t id = next_id_++;
  sockets_.emplace(
      id, Socket{.fd = fd, .events = events, .ready = std::move(ready)});
  sockets_changed_ = true;
  return {this, id};
}

EventLoop::Watch EventLoop::CallAt(MonotonicTime time,
                                   std::function<void()> call) {
  const uint64_t id = next_id_++;
  timer_of_[id] = timers_.emplace(time, std::pair(id, std::move(call)));
  return {this, id};
}

EventLoop::Watch EventLoop::CallAfter(absl::Duration delay,
                                      std::function<void()> call) {
  return CallAt(
      SaturatingAdd(clock_.MonotonicNow(), absl::ToChronoNanoseconds(delay)),
      std::move(call));
}

void EventLoop::Post(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(call));
  }
  // A full pipe also wakes the loop.
  [[maybe_unused]] const ssize_t written = write(wake_up_[1], "", 1);
}

void EventLoop::RunOnce(MonotonicTime limit) {
  if (!timers_.empty()) limit = std::min(limit, timers_.begin()->first);
  const bool any_ready = RunSockets(limit);
  const bool any_posted = RunPosted();
  if (&clock_ != &GetRealClock() && !any_ready && !any_posted) {
    clock_.SleepUntil(limit, {}, "event loop");
  }
  RunTimers();
}

// Rounds up, so that a timer is due when poll(2) returns.
int EventLoop::MillisecondsUntil(MonotonicTime time) const {
  const MonotonicTime now = clock_.MonotonicNow();
  if (time <= now || &clock_ != &GetRealClock()) return 0;
  const auto left =
      std::min<std::chrono::nanoseconds>(time - now, kLongestPoll);
  return static_cast<int>(
      std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

// Returns whether any socket was ready.
bool EventLoop::RunSockets(MonotonicTime limit) {
  if (sockets_changed_) {
    polled_.assign(1, {.fd = wake_up_[0], .events = POLLIN, .revents = 0});
    polled_ids_.assign(1, 0);
    for (const auto& [id, socket] : sockets_) {
      polled_.push_back(
          {.fd = socket.fd, .events = socket.events, .revents = 0});
      polled_ids_.push_back(id);
    }
    sockets_changed_ = false;
  }
  int ready = poll(polled_.data(), polled_.size(), MillisecondsUntil(limit));
  const bool any = ready > 0;
  // Callbacks add and cancel watches. Cancelled ones are skipped; the list
  // itself stays as it is until the next round.
  for (size_t i = 0; i < polled_.size() && ready > 0; ++i) {
    if (polled_[i].revents == 0) continue;
    --ready;
    auto found = sockets_.find(polled_ids_[i]);
    if (found == sockets_.end()) continue;
    // The callback may destroy its own watch.
    std::function<void(short)> call = std::move(found->second.ready);
    call(polled_[i].revents);
    found = sockets_.find(polled_ids_[i]);
    if (found != sockets_.end()) found->second.ready = std::move(call);
  }
  return any;
}

// Returns whether any call was posted.
bool EventLoop::RunPosted() {
  std::array<char, 64> drained;
  while (read(wake_up_[0], drained.data(), drained.size()) > 0) {
  }
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(posted_);
  }
  for (const std::function<void()>& call : calls) call();
  return !calls.empty();
}

void EventLoop::RunTimers() {
  const MonotonicTime now = clock_.MonotonicNow();
  // Timers that these calls set run in the next round, so that sockets get
  // their turn. A call may cancel timers that are due.
  std::vector<uint64_t> due;
  for (auto timer = timers_.begin();
       timer != timers_.end() && timer->first <= now; ++timer) {
    due.push_back(timer->second.first);
  }
  for (const uint64_t id : due) {
    const auto timer = timer_of_.find(id);
    if (timer == timer_of_.end()) continue;
    const std::function<void()> call = std::move(timer->second->second.second);
    Forget(id);
    call();
  }
}

void EventLoop::Forget(uint64_t id) {
  if (const auto timer = timer_of_.find(id); timer != timer_of_.end()) {
    timers_.erase(timer->second);
    timer_of_.erase(timer);
  } else if (sockets_.erase(id) > 0) {
    sockets_changed_ = true;
  }
}

}  // namespace waiter::cli
