// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A connection to one server, which is restored whenever it breaks, and the
// calls on it.

#ifndef WAITER_REDIS_REDIS_LINK_H_
#define WAITER_REDIS_REDIS_LINK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/host_lookup.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_url.h"
#include "waiter/redis/store_clock.h"

namespace waiter::internal {

struct RedisCall {
  // Unset: the arguments are a command.
  std::optional<RedisScript> script = {};
  std::vector<std::string> keys = {};
  std::vector<std::string> arguments = {};
  RedisCaller::Callback callback = {};
  MonotonicTime deadline = {};
  bool sends_text = false;  // Because the server did not know the script.

  // In a cluster.
  bool is_asking = false;  // The server serves it only after ASKING.
  int redirections = 0;
};

// For one thread. Calls are to be added in the order of their deadlines.
class RedisLink {
 public:
  // The link's functions call these functions, which must not destroy the link.
  class Owner {
   public:
    // The end of a call: also with an error reply of the server.
    virtual void OnEnd(RedisLink& link, RedisCall call,
                       absl::StatusOr<RedisReply> reply) = 0;
    // `State` has changed.
    virtual void OnChange(RedisLink& link) = 0;
    // Returns a function for any thread, which may outlive the owner, that
    // makes `Work` be called soon.
    virtual std::function<void()> WakeUp() = 0;

   protected:
    ~Owner() = default;
  };

  // `connector` and `owner` must outlive this.
  RedisLink(RedisUrl url, const RedisClientOptions& options,
            const RedisConnector& connector, Owner& owner);
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  const RedisUrl& url() const { return url_; }
  bool is_ready() const { return phase_ == Phase::kReady; }
  bool is_idle() const { return sent_.empty() && waiting_.empty(); }
  // Error of the last connection; OK while it lasts, and before the first.
  const absl::Status& error() const { return error_; }
  // `pending` is zero.
  RedisClientState State() const;

  // Sends the call during the next `Work`, or when there is a connection. While
  // connections fail, calls fail.
  void Add(RedisCall call);

  // Does the work that is due.
  void Work(MonotonicTime now);
  MonotonicTime NextWork() const;

  // For poll(2).
  int fd() const { return connection_ == nullptr ? -1 : connection_->fd(); }
  short events() const;
  void OnEvents(short events);

  // If there is a connection, sends what waits and closes it. Ends all calls
  // with `status`. The link must not work after that.
  void Close(const absl::Status& status);

 private:
  enum class Phase : uint8_t {
    kDown,        // Until `phase_end_`.
    kResolving,   // Until `lookup_` has addresses, or `phase_end_`.
    kConnecting,  // Until it succeeds, or `phase_end_`.
    kGreeting,    // Until the server has answered all of `Greet`.
    kReady,
  };

  void CheckTimes(MonotonicTime now);
  void Connect(MonotonicTime now);
  void ConnectTo(const std::string& host);
  void OnResolved(const HostLookup::Addresses& addresses);
  void Greet();
  void OnReply(uint64_t tag, RedisReply* reply);
  void OnGreeting(uint64_t tag, const RedisReply& reply);
  void OnInfo(const std::string& info);
  void OnTime(const RedisReply& reply);
  void OnCallReply(RedisCall call, RedisReply reply);
  // Ends the connection at the next `CloseIfBroken`.
  void Break(absl::Status error);
  void CloseIfBroken();
  void SendWaiting();
  void SendCall(const RedisCall& call, uint64_t tag);
  // Returns the hash of the script, or an empty text if the server has not sent
  // it. The first call of a script asks for it.
  std::string HashOf(const RedisScript& script);
  void OnHash(uint64_t tag, RedisReply* reply);
  void AskTime(MonotonicTime now);
  void EndAll(const absl::Status& status);
  absl::Status Unavailable(const std::string& reason) const;

  const RedisUrl url_;
  const absl::Duration call_timeout_;
  const std::chrono::nanoseconds call_time_;
  const RedisConnector& connector_;
  Owner& owner_;
  Clock& clock_;

  Phase phase_ = Phase::kDown;
  MonotonicTime phase_end_{};
  // A lookup in progress. It is kept even if connections time out.
  std::unique_ptr<HostLookup> lookup_;
  size_t next_address_ = 0;  // Modulo the addresses of the host.
  std::unique_ptr<RedisConnection> connection_;
  absl::Status error_;
  bool is_broken_ = false;
  std::string version_;
  int64_t connections_ = 0;
  int greetings_left_ = 0;
  MonotonicTime next_time_{};  // Next request for the server's time.
  MonotonicTime time_sent_{};
  StoreClock store_clock_;

  std::deque<RedisCall> waiting_;       // For a connection.
  std::map<uint64_t, RedisCall> sent_;  // By tag, in order.
  uint64_t next_tag_;

  // By text. Empty until the server answers, or if it refuses.
  std::map<std::string, std::string, std::less<>> hashes_;
  std::map<uint64_t, std::string> asked_hashes_;  // The texts by tag.

  const Backoff backoff_;
  BackoffProgress progress_;
  SplitMix64 gen_;
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_LINK_H_
