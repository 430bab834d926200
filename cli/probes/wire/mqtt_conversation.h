// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks an MQTT broker whether it is ready.

#ifndef WAITER_CLI_PROBES_WIRE_MQTT_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_MQTT_CONVERSATION_H_

#include <memory>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Sends CONNECT of MQTT 3.1.1, without a name, so that it takes over no other
// client's session, and reads CONNACK. A broker that refuses the client works:
// it wants a login, a name or another version. One that says that it is
// unavailable is not ready.
std::unique_ptr<Conversation> NewMqttConversation();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_MQTT_CONVERSATION_H_
