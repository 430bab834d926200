// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What stores on Redis need of it: one server by a `RedisClient`
// (distributed/redis_client.h), or a cluster by a `RedisCluster`
// (distributed/redis_cluster.h).
//
//   const std::shared_ptr<waiter::RedisCaller> redis =
//       *waiter::RedisClient::Make(url);
//   const auto waits = std::make_shared<waiter::RedisWaitStore>(redis);
//   const auto budgets = std::make_shared<waiter::RedisBudgetStore>(redis);

#ifndef WAITER_DISTRIBUTED_REDIS_CALLER_H_
#define WAITER_DISTRIBUTED_REDIS_CALLER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/distributed/redis_reply.h"

namespace waiter {

// Thread-safe.
class RedisCaller {
 public:
  // Called on the caller's thread, one at a time; must return soon, and may
  // destroy the caller.
  using Callback = std::function<void(absl::StatusOr<RedisReply>)>;

  virtual ~RedisCaller() = default;

  // Runs `script`, and calls `callback` exactly once, never inside of this
  // call:
  //
  //   a reply              of any type except kError
  //   kUnavailable         no connection or no reply in time: the script may
  //                        have run, or may still run
  //   kResourceExhausted   the server is out of memory, or too many calls wait
  //                        for replies
  //   kAborted             passes by itself: the server is loading, busy or
  //                        being replaced
  //   kCancelled           this is destroyed: the script may have run
  //   kUnauthenticated, kPermissionDenied, kFailedPrecondition, kInternal
  //                        need a person
  virtual void Call(const RedisScript& script, std::vector<std::string> keys,
                    std::vector<std::string> arguments, Callback callback) = 0;

  // Calls `timer` once on the caller's thread, at `time` or soon after, unless
  // this is destroyed before.
  virtual void RunAt(MonotonicTime time, std::function<void()> timer) = 0;

  // The clock of the timers.
  virtual Clock& clock() const = 0;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_REDIS_CALLER_H_
