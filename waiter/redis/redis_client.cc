// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_client_loop.h"
#include "waiter/redis/redis_url.h"
#include "waiter/text.h"

namespace waiter {

absl::Status Validate(const RedisClientOptions& options) {
  using internal::InvalidOption;
  if (!(options.call_timeout >= absl::Milliseconds(10) &&
        options.call_timeout <= absl::Minutes(1))) {
    return InvalidOption("call_timeout",
                         absl::FormatDuration(options.call_timeout),
                         "within [10ms, 1min]");
  }
  if (options.max_pending < 1 || options.max_pending > 1'000'000) {
    return InvalidOption("max_pending", options.max_pending,
                         "within [1, 1000000]");
  }
  if (options.clock == nullptr) {
    return absl::InvalidArgumentError("clock is null");
  }
  if (absl::Status status = Validate(options.reconnect, "reconnect");
      !status.ok()) {
    return status;
  }
  if (options.reconnect.initial_delay < absl::Milliseconds(10)) {
    return InvalidOption("reconnect.initial_delay",
                         absl::FormatDuration(options.reconnect.initial_delay),
                         "at least 10ms");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<RedisClient>> RedisClient::MakeWith(
    std::string_view url, const RedisClientOptions& options,
    internal::RedisConnector connector) {
  const absl::StatusOr<internal::RedisUrl> parsed =
      internal::ParseRedisUrl(url);
  if (!parsed.ok()) return parsed.status();
  if (absl::Status status = Validate(options); !status.ok()) return status;
  auto loop = std::make_shared<internal::RedisClientLoop>(*parsed, options,
                                                          std::move(connector));
  loop->Start();
  return absl::WrapUnique(new RedisClient(std::move(loop)));
}

RedisClient::RedisClient(std::shared_ptr<internal::RedisClientLoop> loop)
    : loop_(std::move(loop)) {}

RedisClient::~RedisClient() { loop_->Stop(); }

void RedisClient::Call(const RedisScript& script, std::vector<std::string> keys,
                       std::vector<std::string> arguments, Callback callback) {
  loop_->Call(script, std::move(keys), std::move(arguments),
              std::move(callback));
}

void RedisClient::RunAt(MonotonicTime time, std::function<void()> timer) {
  loop_->RunAt(time, std::move(timer));
}

RedisClientState RedisClient::State() const { return loop_->State(); }

Clock& RedisClient::clock() const { return loop_->clock(); }

}  // namespace waiter
