// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks systemd, over the system bus, whether a unit is active.
//
//   const std::unique_ptr<waiter::cli::Conversation> talk =
//       waiter::cli::NewSystemdConversation("nginx.service", getuid());
//   talk->Opening();  // For the socket /run/dbus/system_bus_socket.

#ifndef WAITER_CLI_PROBES_WIRE_SYSTEMD_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_SYSTEMD_CONVERSATION_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/probes/wire/conversation.h"

namespace waiter::cli {

// Logs in as the user `uid`, whom the bus knows by the socket, and reads the
// states of `unit`, which needs no rights. A unit that is active or reloads is
// ready; one that is inactive or failed, or that does not exist, is absent.
std::unique_ptr<Conversation> NewSystemdConversation(std::string unit,
                                                     uid_t uid);

// Returns the path of a unit's object on the bus:
// "/org/freedesktop/systemd1/unit/nginx_2eservice".
std::string SystemdUnitPath(std::string_view unit);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_SYSTEMD_CONVERSATION_H_
