// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a MySQL or MariaDB server whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_MYSQL_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_MYSQL_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Logs in as user `waiter`, without a password: a connection that ends without
// a login counts against the host (max_connect_errors). Any answer to the login
// is a success, except the errors of a server that is full or shutting down.
std::unique_ptr<Conversation> NewMysqlConversation();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_MYSQL_CONVERSATION_H_
