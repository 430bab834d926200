// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/distributed/redis_reply.h"

#include <memory>
#include <string>
#include <string_view>

#include "waiter/distributed/sha1.h"

namespace waiter {

RedisScript::RedisScript(std::string_view text)
    : parts_(std::make_shared<Parts>(
          Parts{std::string(text), internal::Sha1(text)})) {}

}  // namespace waiter
