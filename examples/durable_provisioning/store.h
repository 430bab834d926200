// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Opens the store of this example: a file, or a server if STORE is its URL. A
// program with a fixed kind of store needs only one of these lines.

#ifndef WAITER_EXAMPLES_DURABLE_PROVISIONING_STORE_H_
#define WAITER_EXAMPLES_DURABLE_PROVISIONING_STORE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/durable/store.h"

#ifdef WAITER_HAS_SQLITE
#include "waiter/durable/sqlite_store.h"
#endif
#ifdef WAITER_HAS_HIREDIS
#include "waiter/durable/redis_store.h"
#include "waiter/redis/client.h"
#endif

namespace waiter_examples {

inline absl::StatusOr<std::shared_ptr<waiter::WaitStore>> OpenStore(
    const std::string& store) {
  if (store.find("://") == std::string::npos) {
#ifdef WAITER_HAS_SQLITE
    return waiter::MakeSqliteWaitStore(store);
#endif
  } else {
#ifdef WAITER_HAS_HIREDIS
    auto redis =
        waiter::RedisClient::Make(store, {.call_timeout = absl::Seconds(5)});
    if (!redis.ok()) return redis.status();
    return std::make_shared<waiter::RedisWaitStore>(*std::move(redis));
#endif
  }
  return absl::UnimplementedError(
      "built without SQLite, or hiredis for a URL; install the headers "
      "(Debian: "
      "libsqlite3-dev, libhiredis-dev) and build again");
}

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_DURABLE_PROVISIONING_STORE_H_
