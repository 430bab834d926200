// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a PostgreSQL server whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_POSTGRES_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_POSTGRES_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Sends a start-up packet, as user and database `postgres`. A request to
// authenticate is a success, and so is a refusal of the user or the database.
std::unique_ptr<Conversation> NewPostgresConversation();

// The same, but a success says that the role of the server was not looked at.
std::unique_ptr<Conversation> NewPostgresOfAnyRole();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_POSTGRES_CONVERSATION_H_
