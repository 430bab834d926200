// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// URLs of Redis servers: redis://[user:password@]host[:port][/database]

#ifndef WAITER_REDIS_REDIS_URL_H_
#define WAITER_REDIS_REDIS_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter::internal {

struct RedisUrl {
  std::string user;
  std::string password;
  std::string host;
  int port = 6379;
  int database = 0;

  // Returns "host:port", for messages; never a secret.
  std::string Address() const;
};

// User and password may be escaped by %XX. Errors do not repeat them.
absl::StatusOr<RedisUrl> ParseRedisUrl(std::string_view url);

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_URL_H_
