// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a memcached server whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_MEMCACHED_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_MEMCACHED_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Sends `version`. A server that requires a password is ready, because it
// answers. One that has no connection left is throttled.
std::unique_ptr<Conversation> NewMemcachedConversation();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_MEMCACHED_CONVERSATION_H_
