// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Opens a store of durable waits for the chaos test and its workers:
//
//   absl::StatusOr<std::shared_ptr<WaitStore>> store =
//       OpenStore("redis://127.0.0.1:7000,redis://127.0.0.1:7001");

#ifndef WAITER_TESTS_DURABLE_CHAOS_OPEN_STORE_H_
#define WAITER_TESTS_DURABLE_CHAOS_OPEN_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "waiter/durable/store.h"

namespace waiter::chaos {

// Opens the store at `url`: the URL of a Redis server or a PostgreSQL database,
// the URLs of some nodes of a Redis Cluster, separated by commas, or the path
// of an SQLite file. The store has its own connection.
absl::StatusOr<std::shared_ptr<WaitStore>> OpenStore(const std::string& url);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DURABLE_CHAOS_OPEN_STORE_H_
