// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/redis_client_loop.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/mutex.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_errors.h"
#include "waiter/redis/redis_link.h"
#include "waiter/redis/redis_loop.h"
#include "waiter/redis/redis_url.h"

namespace waiter::internal {

RedisClientLoop::RedisClientLoop(const RedisUrl& url,
                                 const RedisClientOptions& options,
                                 RedisConnector connector)
    : RedisLoop(options, absl::StrCat("Redis at ", url.Address())),
      connector_(std::move(connector)),
      link_(url, options, connector_, *this) {
  links_.push_back(&link_);
}

RedisClientState RedisClientLoop::State() const {
  const MutexLock lock(mutex_);
  RedisClientState state = state_;
  state.pending = pending();
  return state;
}

void RedisClientLoop::Route(RedisCall call) { link_.Add(std::move(call)); }

void RedisClientLoop::OnEnd(RedisLink& link, RedisCall call,
                            absl::StatusOr<RedisReply> reply) {
  if (reply.ok() && reply->type == RedisReply::Type::kError) {
    reply = StatusOfError(reply->text, link.url().Address());
  }
  Answer(call, std::move(reply));
}

void RedisClientLoop::OnChange(RedisLink& link) {
  RedisClientState state = link.State();
  const MutexLock lock(mutex_);
  state_ = std::move(state);
}

}  // namespace waiter::internal
