// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a MongoDB server whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_MONGODB_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_MONGODB_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Sends the command `hello`, which a server answers without a login. A member
// of a replica set is ready if it is primary, secondary or arbiter.
std::unique_ptr<Conversation> NewMongodbConversation();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_MONGODB_CONVERSATION_H_
