// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads the reply to INFO of a server of durable waits:
//
//   WaitServer server = ReadServer("redis_version:7.0.15\r\n...");
//   for (const std::string& fault : server.faults) std::cerr << fault << "\n";

#ifndef WAITER_DURABLE_SERVER_INFO_H_
#define WAITER_DURABLE_SERVER_INFO_H_

#include <string_view>

#include "waiter/durable/store.h"

namespace waiter::internal {

// Takes the sections server, memory, persistence and replication, in one text.
// It is empty if the server gives no information.
WaitServer ReadServer(std::string_view info);

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_SERVER_INFO_H_
