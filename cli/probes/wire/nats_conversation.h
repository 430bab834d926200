// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a NATS server whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_NATS_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_NATS_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Reads the greeting, then sends PING. A server that requires a login or TLS is
// ready as soon as it says so. One that sends its clients away (lame duck mode)
// is not ready.
std::unique_ptr<Conversation> NewNatsConversation();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_NATS_CONVERSATION_H_
