// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a Redis server whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_REDIS_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_REDIS_CONVERSATION_H_

#include <memory>
#include <optional>
#include <string>

#include "cli/probes/wire/conversation.h"
#include "cli/text/text_regex.h"

namespace waiter::cli {

// Sends PING. An error that asks for a password, or that refuses this client
// alone, is a success, because the server answers. While the server loads its
// data it is not ready.
std::unique_ptr<Conversation> NewRedisConversation();

// The condition that is checked after PING.
struct RedisChecks {
  bool cluster = false;  // Whether the cluster must be up.
  std::string key = {};  // A key that must exist; empty if none must.

  // Must match the first 16 KiB of the key's value, which may be a secret and
  // is not shown.
  std::optional<TextRegex> match = std::nullopt;
};

// Sends AUTH before PING, if there is a password. A user or password that the
// server does not know is not ready, because it may still be created. The
// database of the login is the key's.
std::unique_ptr<Conversation> NewRedisLogin(const Login& login,
                                            const RedisChecks& checks = {});

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_REDIS_CONVERSATION_H_
