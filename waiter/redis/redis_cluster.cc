// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_cluster_loop.h"
#include "waiter/redis/redis_url.h"

namespace waiter {

absl::StatusOr<std::shared_ptr<RedisCluster>> RedisCluster::MakeWith(
    const std::vector<std::string>& seeds, const RedisClientOptions& options,
    internal::RedisConnector connector) {
  std::vector<internal::RedisUrl> urls;
  for (const std::string& seed : seeds) {
    absl::StatusOr<internal::RedisUrl> url = internal::ParseRedisUrl(seed);
    if (!url.ok()) return url.status();
    if (url->database != 0) {
      return absl::InvalidArgumentError(
          "Redis URL: a cluster has only database 0");
    }
    urls.push_back(*std::move(url));
    if (urls.back().user != urls.front().user ||
        urls.back().password != urls.front().password) {
      return absl::InvalidArgumentError(
          "the users and passwords of the seeds differ; they are not shown");
    }
  }
  if (urls.empty()) return absl::InvalidArgumentError("there are no seeds");
  if (absl::Status status = Validate(options); !status.ok()) return status;
  auto loop = std::make_shared<internal::RedisClusterLoop>(
      std::move(urls), options, std::move(connector));
  loop->Start();
  return absl::WrapUnique(new RedisCluster(std::move(loop)));
}

RedisCluster::RedisCluster(std::shared_ptr<internal::RedisClusterLoop> loop)
    : loop_(std::move(loop)) {}

RedisCluster::~RedisCluster() { loop_->Stop(); }

void RedisCluster::Call(const RedisScript& script,
                        std::vector<std::string> keys,
                        std::vector<std::string> arguments, Callback callback) {
  loop_->Call(script, std::move(keys), std::move(arguments),
              std::move(callback));
}

void RedisCluster::RunAt(MonotonicTime time, std::function<void()> timer) {
  loop_->RunAt(time, std::move(timer));
}

Clock& RedisCluster::clock() const { return loop_->clock(); }

RedisClusterState RedisCluster::State() const { return loop_->State(); }

}  // namespace waiter
