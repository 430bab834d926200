// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The thread of a `RedisClient`: its connection, its calls and its timers.

#ifndef WAITER_DISTRIBUTED_REDIS_LOOP_H_
#define WAITER_DISTRIBUTED_REDIS_LOOP_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/distributed/internal/redis_connection.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_reply.h"
#include "waiter/distributed/redis_url.h"
#include "waiter/distributed/store_clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/loop/backoff.h"
#include "waiter/loop/split_mix64.h"

namespace waiter::internal {

struct RedisLoopOptions {
  RedisUrl url;
  RedisClientOptions client;
  RedisConnector connector;
};

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

// The functions of `RedisClient`. Everything that no lock guards belongs to the
// thread.
class RedisLoop : public std::enable_shared_from_this<RedisLoop> {
 public:
  using Callback = std::function<void(absl::StatusOr<RedisReply>)>;

  explicit RedisLoop(RedisLoopOptions options);

  void Start();
  void Stop();

  void Call(const RedisScript& script, std::vector<std::string> keys,
            std::vector<std::string> arguments, Callback callback);
  void RunAt(MonotonicTime time, std::function<void()> timer);
  RedisClientState State() const;
  Clock& clock() const { return clock_; }

 private:
  enum class Phase : uint8_t {
    kDown,        // Until `phase_end_`.
    kConnecting,  // Until it succeeds, or `phase_end_`.
    kGreeting,    // Until the server has answered all of `Greet`.
    kReady,
  };

  struct PendingCall {
    RedisScript script;
    std::vector<std::string> keys;
    std::vector<std::string> arguments;
    Callback callback;
    MonotonicTime deadline;
    bool sends_text = false;  // Because the server did not know the script.
  };

  void Run();
  void TakeCalls();
  void RunTimers(MonotonicTime now);
  void CheckTimes(MonotonicTime now);
  void AwaitEvents();

  void Connect(MonotonicTime now);
  void Greet();
  void OnReply(uint64_t tag, RedisReply* reply);
  void OnGreeting(uint64_t tag, const RedisReply& reply);
  void OnInfo(const std::string& info);
  void OnTime(const RedisReply& reply);
  void OnCallReply(PendingCall call, RedisReply reply);
  // Ends the connection at the next `CloseIfBroken`.
  void Break(absl::Status error);
  void CloseIfBroken();
  void SendWaiting();
  // Returns what stands for the script, or an empty text if the server has not
  // told. The first call of a script asks it.
  std::string HashOf(const RedisScript& script);
  void OnHash(uint64_t tag, RedisReply* reply);
  void AskTime(MonotonicTime now);

  void Answer(PendingCall& call, absl::StatusOr<RedisReply> reply);
  void FailAll(const absl::Status& status);
  void Finish();
  void Publish();
  absl::Status Unavailable(const std::string& reason) const;

  const RedisLoopOptions options_;
  const std::chrono::nanoseconds call_timeout_;
  Clock& clock_;
  const WakePipe pipe_;
  std::thread thread_;  // Of `Start` and `Stop`.

  mutable Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_awake_ ABSL_GUARDED_BY(mutex_) = true;
  std::vector<PendingCall> posted_ ABSL_GUARDED_BY(mutex_);
  std::vector<Callback> refused_ ABSL_GUARDED_BY(mutex_);
  std::multimap<MonotonicTime, std::function<void()>> timers_
      ABSL_GUARDED_BY(mutex_);
  RedisClientState state_ ABSL_GUARDED_BY(mutex_);

  Phase phase_ = Phase::kDown;
  MonotonicTime phase_end_{};
  std::unique_ptr<RedisConnection> connection_;
  absl::Status error_;  // Of the last connection.
  bool is_broken_ = false;
  std::string version_;
  int64_t connections_ = 0;
  int greetings_left_ = 0;
  MonotonicTime next_time_{};  // Of the next request for the server's time.
  MonotonicTime time_sent_{};
  StoreClock store_clock_;

  std::deque<PendingCall> waiting_;       // For a connection.
  std::map<uint64_t, PendingCall> sent_;  // By tag, in order.
  uint64_t next_tag_;

  // By text; empty while the server is asked, or does not tell.
  std::map<std::string, std::string, std::less<>> hashes_;
  std::map<uint64_t, std::string> asked_hashes_;  // The texts by tag.

  const Backoff backoff_;
  BackoffProgress progress_;
  SplitMix64 gen_;
};

}  // namespace waiter::internal

#endif  // WAITER_DISTRIBUTED_REDIS_LOOP_H_
