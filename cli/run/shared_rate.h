// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The rate of polls that a run shares with other processes, through Redis:
//
//   absl::StatusOr<waiter::cli::SharedRate> rate =
//       waiter::cli::ParseSharedRate("redis://10.0.0.5/ec2?rate=20&burst=100");
//   if (!rate.ok()) return rate.status();
//   auto limiter = waiter::cli::MakeSharedLimiter(*rate);

#ifndef WAITER_CLI_RUN_SHARED_RATE_H_
#define WAITER_CLI_RUN_SHARED_RATE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::cli {

struct SharedRate {
  std::string server;  // A URL for `ConnectToStore`.
  SharedRateLimiterOptions options;
};

// Reads redis://[USER:PASSWORD@]HOST[:PORT]/NAME[?rate=20][&burst=100]
// [&horizon=500ms][&database=1], or redis+cluster://... with the hosts of some
// nodes and commas between them. Errors do not repeat the password.
absl::StatusOr<SharedRate> ParseSharedRate(std::string_view url);

// Returns a client that connects in the background, an error of the URL, or
// kUnimplemented if this program was built without hiredis.
absl::StatusOr<std::shared_ptr<RedisClient>> ConnectToRedis(
    std::string_view url, const RedisClientOptions& options = {});

// The same for one server, or for a cluster,
// redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...].
absl::StatusOr<std::shared_ptr<RedisCaller>> ConnectToStore(
    std::string_view url, const RedisClientOptions& options = {});

// Returns a limiter with its own connection, or null without a rate. An error
// of `ConnectToStore` begins with "--shared-rate: ".
absl::StatusOr<std::shared_ptr<SharedRateLimiter>> MakeSharedLimiter(
    const std::optional<SharedRate>& rate);

// Returns why `limiter` has its own rate limit, if it has, as "--shared-rate:
// REASON; this process `uses` its own rate limit". `limiter` may be null.
absl::Status SharedRateStatus(const SharedRateLimiter* limiter,
                              std::string_view uses);

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_SHARED_RATE_H_
