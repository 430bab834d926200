// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/redis_slots.h"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/internal/reply.h"

namespace waiter::internal {
namespace {

using Type = RedisReply::Type;

constexpr int64_t kHighestPort = 65535;

// CRC-16/XMODEM.
constexpr std::array<uint16_t, 256> MakeCrcTable() {
  std::array<uint16_t, 256> table = {};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    }
    table[byte] = static_cast<uint16_t>(crc);
  }
  return table;
}

constexpr std::array<uint16_t, 256> kCrcTable = MakeCrcTable();

std::string_view HashTag(std::string_view key) {
  const size_t begin = key.find('{');
  if (begin == std::string_view::npos) return key;
  const size_t end = key.find('}', begin);
  if (end == std::string_view::npos || end == begin + 1) return key;
  return key.substr(begin + 1, end - begin - 1);
}

absl::Status Malformed(std::string_view what) {
  return absl::InternalError(
      absl::StrCat("the reply to CLUSTER SLOTS has ", ToAbsl(what)));
}

bool IsSlot(const RedisReply& reply) {
  return reply.type == Type::kInteger && reply.integer >= 0 &&
         reply.integer < kRedisSlots;
}

// Returns an address without a host if the reply's address is not usable, and
// an error if the reply is not an address.
absl::StatusOr<RedisAddress> ToAddress(const RedisReply& reply,
                                       std::string_view asked) {
  if (reply.type != Type::kArray || reply.elements.size() < 2) {
    return Malformed("a node without address");
  }
  const RedisReply& host = reply.elements[0];
  const RedisReply& port = reply.elements[1];
  if ((host.type != Type::kText && host.type != Type::kNil) ||
      port.type != Type::kInteger || port.integer < 0 ||
      port.integer > kHighestPort) {
    return Malformed("a node without host and port");
  }
  if (host.text == "?" || port.integer == 0) return RedisAddress();
  return RedisAddress{host.text.empty() ? std::string(asked) : host.text,
                      static_cast<int>(port.integer)};
}

}  // namespace

int RedisSlot(std::string_view key) {
  uint32_t crc = 0;
  for (const char c : HashTag(key)) {
    const uint32_t byte = static_cast<unsigned char>(c);
    crc = ((crc << 8) & 0xFFFF) ^ kCrcTable[(crc >> 8) ^ byte];
  }
  return static_cast<int>(crc % kRedisSlots);
}

absl::StatusOr<std::vector<RedisSlotRange>> ParseClusterSlots(
    const RedisReply& reply, std::string_view asked) {
  if (reply.type != Type::kArray) return Malformed("no list");
  std::bitset<kRedisSlots> seen;
  std::vector<RedisSlotRange> ranges;
  for (const RedisReply& element : reply.elements) {
    const std::vector<RedisReply>& parts = element.elements;
    if (element.type != Type::kArray || parts.size() < 3 || !IsSlot(parts[0]) ||
        !IsSlot(parts[1]) || parts[0].integer > parts[1].integer) {
      return Malformed("a range without first and last slot");
    }
    RedisSlotRange range = {.first = static_cast<int>(parts[0].integer),
                            .last = static_cast<int>(parts[1].integer)};
    for (int slot = range.first; slot <= range.last; ++slot) {
      const auto index = static_cast<size_t>(slot);
      if (seen[index]) {
        return Malformed(absl::StrCat("two nodes for the slot ", slot));
      }
      seen[index] = true;
    }
    for (size_t i = 2; i < parts.size(); ++i) {
      absl::StatusOr<RedisAddress> address = ToAddress(parts[i], asked);
      if (!address.ok()) return address.status();
      if (i == 2) {
        range.primary = *std::move(address);
      } else if (!address->host.empty()) {
        range.replicas.push_back(*std::move(address));
      }
    }
    if (!range.primary.host.empty()) ranges.push_back(std::move(range));
  }
  if (ranges.empty()) {
    return absl::FailedPreconditionError(
        "the node has no slots; has it joined a cluster?");
  }
  return ranges;
}

std::optional<RedisRedirection> ParseRedirection(std::string_view error,
                                                 std::string_view asked) {
  const size_t first = error.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view word = error.substr(0, first);
  if (word != "MOVED" && word != "ASK") return std::nullopt;
  const size_t second = error.find(' ', first + 1);
  // An IPv6 host contains colons, without brackets.
  const size_t colon = error.rfind(':');
  if (second == std::string_view::npos || colon == std::string_view::npos ||
      colon < second) {
    return std::nullopt;
  }
  const std::string_view host = error.substr(second + 1, colon - second - 1);
  RedisRedirection redirection = {
      .is_ask = word == "ASK",
      .address = {.host = std::string(host.empty() ? asked : host)}};
  if (host == "?" || host.find(' ') != std::string_view::npos ||
      !absl::SimpleAtoi(ToAbsl(error.substr(first + 1, second - first - 1)),
                        &redirection.slot) ||
      !absl::SimpleAtoi(ToAbsl(error.substr(colon + 1)),
                        &redirection.address.port) ||
      redirection.slot < 0 || redirection.slot >= kRedisSlots ||
      redirection.address.port < 1 || redirection.address.port > kHighestPort) {
    return std::nullopt;
  }
  return redirection;
}

}  // namespace waiter::internal
