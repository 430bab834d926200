// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Interface for the client side of a protocol. It has no socket, so that tests
// can check its bytes alone.
//
//   const std::unique_ptr<waiter::cli::Conversation> talk =
//       waiter::cli::NewRedisConversation();
//   std::string received = "+PONG\r\n";
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

// The conversation of one connection.
class Conversation {
 public:
  struct Step {
    // Bytes to send next; with a finding, the farewell.
    std::string send = {};

    // The result; ends the conversation.
    std::optional<Finding> finding = std::nullopt;

    // Whether the received bytes are not of this protocol; also ends the
    // conversation.
    bool is_foreign = false;
  };

  virtual ~Conversation() = default;

  // Returns the bytes to send first; empty if the server begins.
  virtual std::string Opening() { return {}; }

  // Handles all messages in `received`, which is not empty, and removes the
  // bytes that are no longer needed. The others, part of a message, come again
  // with the bytes that follow.
  virtual Step Receive(std::string& received) = 0;

  // Returns the message that the server must send next, such as "answer to
  // PING".
  virtual std::string_view Awaited() const = 0;

  // Returns the result in case that the server sends no more; nothing if that
  // is an error.
  virtual std::optional<Finding> AtEnd() const { return std::nullopt; }

  // Returns the name of the server, such as "Redis".
  virtual std::string_view Server() const = 0;
};

// The user who logs in. Must not be shown.
struct Login {
  std::string user = {};
  std::string password = {};
  std::string database = {};
};

using NewConversation = std::function<std::unique_ptr<Conversation>()>;

// Returns at most about 120 characters of `bytes`, printable, for messages.
std::string Excerpt(std::string_view bytes);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_CONVERSATION_H_
