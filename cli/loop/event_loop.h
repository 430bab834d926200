// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for sockets, timers and calls from other threads, on one thread:
//
//   waiter::cli::EventLoop loop;
//   waiter::cli::EventLoop::Watch reading = loop.WhenReady(
//       socket, POLLIN, [&](short events) { ReadSome(socket); });
//   while (!done) loop.RunOnce(engine.RunDue());
//
// Uses poll(2), which every system has, and which is fast enough for thousands
// of sockets.

#ifndef WAITER_CLI_LOOP_EVENT_LOOP_H_
#define WAITER_CLI_LOOP_EVENT_LOOP_H_

#include <poll.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/clock.h"

namespace waiter::cli {

// Thread-compatible, except `Post`, which is thread-safe. Callbacks run inside
// `RunOnce`, one at a time. They may do anything except call `RunOnce`, and
// must not throw.
class EventLoop {
 public:
  // Registration of a callback. The destructor cancels it, also inside that
  // callback. Movable; must not outlive the loop.
  class [[nodiscard]] Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept
        : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}
    Watch& operator=(Watch&& other) noexcept {
      Watch taken(std::move(other));
      std::swap(loop_, taken.loop_);
      std::swap(id_, taken.id_);
      return *this;
    }
    ~Watch() {
      if (loop_ != nullptr) loop_->Forget(id_);
    }

   private:
    friend class EventLoop;
    Watch(EventLoop* loop, uint64_t id) : loop_(loop), id_(id) {}

    EventLoop* loop_ = nullptr;
    uint64_t id_ = 0;
  };

  // Reads the time from `clock`, which must outlive this. On a simulated clock,
  // a round in which nothing is ready sleeps on the clock instead of waiting
  // for sockets.
  explicit EventLoop(Clock& clock = GetRealClock());
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls `ready` with the events that occurred, each time one of `events`
  // (POLLIN, POLLOUT) or an error occurs on `fd`. Does not own `fd`.
  Watch WhenReady(int fd, short events, std::function<void(short)> ready);

  Clock& clock() const { return clock_; }

  // Calls `call` once, at `time` or soon after.
  Watch CallAt(MonotonicTime time, std::function<void()> call);
  Watch CallAfter(absl::Duration delay, std::function<void()> call);

  // Calls `call` once, soon. Safe on any thread.
  void Post(std::function<void()> call);

  // Runs the callbacks that are due. If none is due, waits for the first one,
  // at most until `limit`.
  void RunOnce(MonotonicTime limit);

 private:
  struct Socket {
    int fd;
    short events;
    std::function<void(short)> ready;
  };
  using Timers =
      std::multimap<MonotonicTime, std::pair<uint64_t, std::function<void()>>>;

  void Forget(uint64_t id);
  bool RunPosted();
  void RunTimers();
  bool RunSockets(MonotonicTime limit);
  int MillisecondsUntil(MonotonicTime time) const;

  Clock& clock_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Socket> sockets_;
  Timers timers_;
  std::map<uint64_t, Timers::iterator> timer_of_;

  // Arguments of poll(2). The first entry is the pipe that wakes it.
  std::vector<pollfd> polled_;
  std::vector<uint64_t> polled_ids_;
  bool sockets_changed_ = true;

  std::array<int, 2> wake_up_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // Guarded by `mutex_`.
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_LOOP_EVENT_LOOP_H_
