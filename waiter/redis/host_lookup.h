// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Lookups of host names that block no caller:
//
//   HostLookup lookup(&LookUpHost, "redis.internal", [&] { pipe.Wake(); });
//   if (auto addresses = lookup.Result(); addresses.has_value()) { ... }

#ifndef WAITER_REDIS_HOST_LOOKUP_H_
#define WAITER_REDIS_HOST_LOOKUP_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace waiter::internal {

// Returns whether `host` is an address as text, which needs no lookup.
bool IsHostAddress(const std::string& host);

// One lookup, on its own thread. Nothing can interrupt it, so the
// destructor does not wait for it: the thread continues, and its result is
// dropped.
class HostLookup {
 public:
  using Addresses = absl::StatusOr<std::vector<std::string>>;

  // Begins the lookup. Its thread calls `wake` once when there is a result,
  // perhaps after this was destroyed.
  HostLookup(std::function<Addresses(const std::string& host)> resolve,
             std::string host, std::function<void()> wake);
  HostLookup(const HostLookup&) = delete;
  HostLookup& operator=(const HostLookup&) = delete;

  // Returns nullopt until there is a result.
  std::optional<Addresses> Result() const;

 private:
  class State;

  const std::shared_ptr<State> state_;
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_HOST_LOOKUP_H_
