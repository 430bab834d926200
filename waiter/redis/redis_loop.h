// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The thread of a `RedisCaller`: its links, its calls and its timers.

#ifndef WAITER_REDIS_REDIS_LOOP_H_
#define WAITER_REDIS_REDIS_LOOP_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/thread.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_link.h"

namespace waiter::internal {

// A pipe whose writes wake the thread out of poll(2).
class WakePipe {
 public:
  WakePipe();
  ~WakePipe();
  WakePipe(const WakePipe&) = delete;
  WakePipe& operator=(const WakePipe&) = delete;

  int fd() const { return read_; }
  void Wake() const;
  void Drain() const;

 private:
  int read_ = -1;
  int write_ = -1;
};

// Derived classes decide which link gets a call, and when. Everything
// that no lock guards belongs to the thread.
class RedisLoop : public std::enable_shared_from_this<RedisLoop>,
                  protected RedisLink::Owner {
 public:
  // `name` is what messages call the server.
  RedisLoop(const RedisClientOptions& options, std::string name);
  RedisLoop(const RedisLoop&) = delete;
  RedisLoop& operator=(const RedisLoop&) = delete;

  void Start();
  void Stop();

  void Call(const RedisScript& script, std::vector<std::string> keys,
            std::vector<std::string> arguments, RedisCaller::Callback callback);
  void RunAt(MonotonicTime time, std::function<void()> timer);
  Clock& clock() const { return clock_; }

 protected:
  virtual ~RedisLoop() = default;

  // Gives the call to a link, or answers it now or later.
  virtual void Route(RedisCall call) = 0;
  // Does the work that is due, before the links do.
  virtual void Work(MonotonicTime now) = 0;
  virtual MonotonicTime NextWork() const = 0;
  // The end: answers all calls that no link has.
  virtual void Close(const absl::Status& status) = 0;

  // Calls the callback of a call of the program.
  void Answer(RedisCall& call, absl::StatusOr<RedisReply> reply);
  int64_t pending() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return pending_;
  }
  const std::string& name() const { return name_; }
  std::function<void()> WakeUp() override;

  // The links to work with; they may be removed during `Work` only.
  std::vector<RedisLink*> links_;
  mutable Mutex mutex_;

 private:
  void Run();
  bool IsStopping() const;
  // Returns whether there was one.
  bool TakeCalls();
  void RunTimers(MonotonicTime now);
  void AwaitEvents();
  void Finish();

  const std::string name_;
  const std::chrono::nanoseconds call_timeout_;
  const int64_t max_pending_;
  Clock& clock_;
  const std::shared_ptr<const WakePipe> pipe_;
  Thread thread_;  // Used by `Start` and `Stop`.
  std::vector<pollfd> fds_;

  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_awake_ ABSL_GUARDED_BY(mutex_) = true;
  int64_t pending_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<RedisCall> posted_ ABSL_GUARDED_BY(mutex_);
  std::vector<RedisCaller::Callback> refused_ ABSL_GUARDED_BY(mutex_);
  std::multimap<MonotonicTime, std::function<void()>> timers_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_LOOP_H_
