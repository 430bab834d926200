// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The nodes of a Redis Cluster and their keys.

#ifndef WAITER_REDIS_REDIS_SLOTS_H_
#define WAITER_REDIS_REDIS_SLOTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/redis/internal/reply.h"

namespace waiter::internal {

inline constexpr int kRedisSlots = 16384;

// Returns the slot of a key, within [0, kRedisSlots): the slot of its part
// between the first { and the next }, if there is one and it is not empty.
int RedisSlot(std::string_view key);

struct RedisAddress {
  std::string host;
  int port = 0;

  bool operator==(const RedisAddress&) const = default;
  bool operator<(const RedisAddress& other) const {
    return std::tie(host, port) < std::tie(other.host, other.port);
  }
};

struct RedisSlotRange {
  int first = 0;
  int last = 0;
  RedisAddress primary = {};
  std::vector<RedisAddress> replicas = {};
};

// Reads the reply to CLUSTER SLOTS. `asked` is the host that gave it, and the
// host of all nodes without one. Leaves out nodes with an unusable address: the
// port 0, or the host "?". Returns kFailedPrecondition if there is no slot, and
// kInternal if the reply has another form, for example if a slot has two nodes.
absl::StatusOr<std::vector<RedisSlotRange>> ParseClusterSlots(
    const RedisReply& reply, std::string_view asked);

// The node to which another node sends the caller for a slot.
struct RedisRedirection {
  bool is_ask = false;  // For this call alone, and after ASKING.
  int slot = 0;
  RedisAddress address = {};
};

// Reads an error "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT" of the host
// `asked`. Returns nullopt for all others.
std::optional<RedisRedirection> ParseRedirection(std::string_view error,
                                                 std::string_view asked);

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_SLOTS_H_
