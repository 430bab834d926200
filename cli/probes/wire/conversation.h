// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What is said to a server and what its answers mean: a protocol, without a
// socket, so that its bytes can be tested alone.
//
//   std::unique_ptr<waiter::cli::Conversation> talk =
//   waiter::cli::NewRedisConversation(); std::string received = "+PONG\r\n";
//   talk->Receive(received).finding->status;  // kSuccess

#ifndef WAITER_CLI_PROBES_WIRE_CONVERSATION_H_
#define WAITER_CLI_PROBES_WIRE_CONVERSATION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/probes/probe.h"

namespace waiter::cli {

// Of one connection.
class Conversation {
 public:
  struct Step {
    // To be sent next; with a finding, the farewell.
    std::string send = {};

    // Ends the conversation.
    std::optional<Finding> finding = std::nullopt;

    // That what came is not of this protocol; also ends it.
    bool is_foreign = false;
  };

  virtual ~Conversation() = default;

  // What is sent first; empty where the server begins.
  virtual std::string Opening() { return {}; }

  // Judges what has come, and takes away what it needs no more; the rest comes
  // again with the bytes that follow. `received` is not empty.
  virtual Step Receive(std::string& received) = 0;

  // Returns what the server owes, as "answer to PING".
  virtual std::string_view Awaited() const = 0;

  // Returns what is known if the server says no more.
  virtual std::optional<Finding> AtEnd() const { return std::nullopt; }

  // Returns whom this is for, as "Redis".
  virtual std::string_view Server() const = 0;
};

using NewConversation = std::function<std::unique_ptr<Conversation>()>;

// Returns at most about 120 characters of `bytes` for people, printable.
std::string Excerpt(std::string_view bytes);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_CONVERSATION_H_
