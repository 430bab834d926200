// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks an AMQP broker, such as RabbitMQ, whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_AMQP_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_AMQP_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Opens a connection of AMQP 0-9-1. A broker that starts to negotiate is ready,
// and so is one that names another version of AMQP.
std::unique_ptr<Conversation> NewAmqpConversation();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_AMQP_CONVERSATION_H_
