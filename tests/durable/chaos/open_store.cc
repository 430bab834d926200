// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/chaos/open_store.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"

#ifdef WAITER_HAS_HIREDIS
#include "waiter/durable/redis_store.h"
#include "waiter/redis/client.h"
#endif
#ifdef WAITER_HAS_LIBPQ
#include "waiter/durable/postgres_store.h"
#endif
#ifdef WAITER_HAS_SQLITE
#include "waiter/durable/sqlite_store.h"
#endif

namespace waiter::chaos {
namespace {

// The time limit of calls, which detects a store that hangs.
[[maybe_unused]] constexpr Duration kCallTimeout = absl::Seconds(2);

#ifdef WAITER_HAS_HIREDIS
absl::StatusOr<std::shared_ptr<WaitStore>> OpenRedis(const std::string& url) {
  const std::vector<std::string> urls = absl::StrSplit(url, ',');
  if (urls.size() > 1) {
    auto cluster = RedisCluster::Make(urls, {.call_timeout = kCallTimeout});
    if (!cluster.ok()) return cluster.status();
    return std::make_shared<RedisWaitStore>(*std::move(cluster));
  }
  auto client = RedisClient::Make(url, {.call_timeout = kCallTimeout});
  if (!client.ok()) return client.status();
  return std::make_shared<RedisWaitStore>(*std::move(client));
}
#endif

}  // namespace

absl::StatusOr<std::shared_ptr<WaitStore>> OpenStore(const std::string& url) {
  if (absl::StartsWith(url, "redis://")) {
#ifdef WAITER_HAS_HIREDIS
    return OpenRedis(url);
#endif
  } else if (absl::StartsWith(url, "postgres://")) {
#ifdef WAITER_HAS_LIBPQ
    return MakePostgresWaitStore(url, {.call_timeout = kCallTimeout});
#endif
  } else {
#ifdef WAITER_HAS_SQLITE
    return MakeSqliteWaitStore(url, {.busy_timeout = kCallTimeout});
#endif
  }
  return absl::UnimplementedError(
      absl::StrCat("built without the library of ", url));
}

}  // namespace waiter::chaos
