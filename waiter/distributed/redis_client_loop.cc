// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/distributed/redis_client_loop.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/distributed/internal/redis_connection.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_errors.h"
#include "waiter/distributed/redis_link.h"
#include "waiter/distributed/redis_loop.h"
#include "waiter/distributed/redis_reply.h"
#include "waiter/distributed/redis_url.h"
#include "waiter/internal/mutex.h"

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
