// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stores of durable waits, and what may happen to each:
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
  // The longest time between the two, in seconds.
  double longest = std::numeric_limits<double>::infinity();
};

// For one thread. Times are in seconds, by the function `now`.
class BreakableStore {
 public:
  virtual ~BreakableStore() = default;

  // Returns the URL for a program that is to reach the store through `port`.
  virtual std::string Url(int port) const = 0;
  // The port of the server, which changes when it starts again, or 0 without
  // one.
  virtual int port() const { return 0; }
  // Whether each program has the time of its own clock for the store's.
  virtual bool has_local_clock() const { return false; }
  // Whether a program that stands still may stop all others.
  virtual bool has_local_locks() const { return false; }

  // The faults to choose from. A repeated one happens more often.
  const std::vector<StoreFault>& faults() const { return faults_; }
  // The times between which the store has lost what it acknowledged.
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

// Returns the kind that is called `redis`, `sqlite` or `postgres`.
std::optional<StoreKind> StoreKindOf(std::string_view name);

// Returns whether the programs of the store are installed.
bool IsInstalled(StoreKind kind);

std::unique_ptr<BreakableStore> MakeBreakableStore(StoreKind kind,
                                                   std::function<double()> now);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DURABLE_CHAOS_BREAKABLE_STORE_H_
