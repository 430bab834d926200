// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stores of durable waits, and the faults of each:
//
//   const auto store = MakeBreakableStore(StoreKind::kPostgres, now);
//   proxy.set_target(store->port());
//   ... start workers with --store=`store->Url(proxy.port(i))` ...
//   for (const StoreFault& fault : store->faults()) {
//     fault.begin();
//     ...
//     fault.undo();
//   }
//   ... take `store->losses()` into account ...

#ifndef WAITER_TESTS_DURABLE_CHAOS_BREAKABLE_STORE_H_
#define WAITER_TESTS_DURABLE_CHAOS_BREAKABLE_STORE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/redis/chaos/stage.h"

namespace waiter::chaos {

enum class StoreKind : uint8_t { kRedis, kSqlite, kPostgres };

struct StoreFault {
  std::string what;
  std::function<void()> begin;
  // Unset if the fault takes no time.
  std::function<void()> undo = nullptr;
  // The maximum time between the two, in seconds.
  double longest = std::numeric_limits<double>::infinity();
};

// For one thread. Times are in seconds, by the function `now`.
class BreakableStore {
 public:
  virtual ~BreakableStore() = default;

  // Returns the URL for a program that reaches the store through `port`.
  virtual std::string Url(int port) const = 0;
  // Returns the port of the server, which changes when it restarts, or 0 if the
  // store has no server.
  virtual int port() const { return 0; }
  // Returns whether each program uses its own clock as the store's.
  virtual bool has_local_clock() const { return false; }
  // Returns whether a stopped program may block all others.
  virtual bool has_local_locks() const { return false; }

  // The faults to choose from. One that is listed twice happens twice as often.
  const std::vector<StoreFault>& faults() const { return faults_; }
  // The intervals in which the store may have lost acknowledged writes.
  const std::vector<std::pair<double, double>>& losses() const {
    return losses_;
  }

 protected:
  explicit BreakableStore(std::function<double()> now) : now_(std::move(now)) {}

  const std::function<double()> now_;
  const Directory directory_;
  std::vector<StoreFault> faults_;
  std::vector<std::pair<double, double>> losses_;
};

// Returns the kind with this name: `redis`, `sqlite` or `postgres`.
std::optional<StoreKind> StoreKindOf(std::string_view name);

// Returns whether the programs of the store are installed.
bool IsInstalled(StoreKind kind);

std::unique_ptr<BreakableStore> MakeBreakableStore(StoreKind kind,
                                                   std::function<double()> now);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DURABLE_CHAOS_BREAKABLE_STORE_H_
