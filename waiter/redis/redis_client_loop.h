// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The thread of a `RedisClient`.

#ifndef WAITER_REDIS_REDIS_CLIENT_LOOP_H_
#define WAITER_REDIS_REDIS_CLIENT_LOOP_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_link.h"
#include "waiter/redis/redis_loop.h"
#include "waiter/redis/redis_url.h"

namespace waiter::internal {

class RedisClientLoop final : public RedisLoop {
 public:
  RedisClientLoop(const RedisUrl& url, const RedisClientOptions& options,
                  RedisConnector connector);
  ~RedisClientLoop() override = default;

  RedisClientState State() const;

 private:
  void Route(RedisCall call) override;
  void Work(MonotonicTime /*now*/) override {}
  MonotonicTime NextWork() const override { return MonotonicTime::max(); }
  void Close(const absl::Status& /*status*/) override {}
  void OnEnd(RedisLink& link, RedisCall call,
             absl::StatusOr<RedisReply> reply) override;
  void OnChange(RedisLink& link) override;

  const RedisConnector connector_;
  RedisLink link_;
  RedisClientState state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_CLIENT_LOOP_H_
