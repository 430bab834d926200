// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/durable_store.h"

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/run/shared_rate.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_wait_store.h"
#include "waiter/distributed/wait_store.h"

namespace waiter::cli {

absl::StatusOr<std::shared_ptr<WaitStore>> ConnectToWaitStore(
    std::string_view url) {
  const absl::StatusOr<std::shared_ptr<RedisClient>> client =
      ConnectToRedis(url, {.call_timeout = absl::Seconds(5)});
  if (!client.ok()) return client.status();
  return std::make_shared<RedisWaitStore>(*client);
}

}  // namespace waiter::cli
