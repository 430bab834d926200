// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A server on a loopback port that plays a script to each client:
//
//   ScriptedServer server(loop, "127.0.0.1", 0,
//                         {.turns = {{.expect = "PING\r\n",
//                                     .send = "+PONG\r\n"}}});
//   probe.Start(...);  // To server.port().

#ifndef WAITER_TESTS_SUPPORT_SCRIPTED_SERVER_H_
#define WAITER_TESTS_SUPPORT_SCRIPTED_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/loop/event_loop.h"
#include "cli/loop/unique_fd.h"
#include "cli/net/socket_address.h"

namespace waiter::cli {

struct Script {
  struct Turn {
    std::string expect = {};  // Precedes `send`.
    std::string send = {};
  };

  std::vector<Turn> turns = {};
  bool byte_by_byte = false;

  // Closes the connection after the turns. Otherwise the client keeps waiting.
  bool hangs_up = false;
};

// Returns a socket bound to `port`, or to a free one if `port` is 0. The socket
// refuses connections until a server listens on it. `path` begins with `/`.
UniqueFd BindTcp(const std::string& host, uint16_t port = 0);
UniqueFd BindUnix(const std::string& path);
uint16_t PortOf(const UniqueFd& socket);

// Thread-compatible; runs on the loop.
class ScriptedServer {
 public:
  ScriptedServer(EventLoop& loop, UniqueFd bound, Script script);

  uint16_t port() const { return PortOf(listening_); }
  size_t clients() const { return clients_.size(); }

  // The bytes from the last client, and whether it has closed.
  const std::string& received() const { return clients_.back()->received; }
  bool closed() const { return clients_.back()->closed; }

 private:
  struct Client {
    UniqueFd socket;
    EventLoop::Watch watch = {};
    std::string received = {};
    bool closed = false;
    size_t turn = 0;
    size_t expected = 0;  // Bytes of `received` that turns have consumed.
    std::string sending = {};
    EventLoop::Watch next_byte = {};
  };

  void Accept();
  void Read(Client& client);
  void Play(Client& client);
  void SendByte(Client& client);

  EventLoop& loop_;
  UniqueFd listening_;
  const Script script_;
  EventLoop::Watch accepting_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace waiter::cli

#endif  // WAITER_TESTS_SUPPORT_SCRIPTED_SERVER_H_
