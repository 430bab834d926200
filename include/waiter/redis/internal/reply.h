// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of redis/client.h about scripts and their replies:
//
//   const waiter::RedisScript add(
//       "#!lua\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])");
//   client->Call(add, {"visits"}, {"1"},
//                [](absl::StatusOr<waiter::RedisReply> reply) {
//                  if (reply.ok()) Use(reply->integer);
//                });

#ifndef WAITER_REDIS_INTERNAL_REPLY_H_
#define WAITER_REDIS_INTERNAL_REPLY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "waiter/version.h"

namespace waiter {

// Scripts return text and whole numbers. They must return numbers with
// fractions or beyond 2^53 as text, because numbers in Lua are doubles.
struct RedisReply {
  enum class Type : uint8_t { kNil, kInteger, kText, kArray, kError };

  Type type = Type::kNil;
  int64_t integer = 0;
  std::string text = {};  // Also of an error.
  std::vector<RedisReply> elements = {};
};

// A Lua script. The server knows it by a hash of its text, so a changed script
// is a different one, and programs of different versions can run together.
// Immutable; copies share the text.
class RedisScript {
 public:
  explicit RedisScript(std::string_view text)
      : text_(std::make_shared<const std::string>(text)) {}

  const std::string& text() const { return *text_; }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace waiter

#endif  // WAITER_REDIS_INTERNAL_REPLY_H_
