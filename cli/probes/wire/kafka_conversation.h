// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a Kafka broker whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_KAFKA_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_KAFKA_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Asks for the versions of the API (ApiVersions), which a broker answers before
// any login.
std::unique_ptr<Conversation> NewKafkaConversation();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_KAFKA_CONVERSATION_H_
