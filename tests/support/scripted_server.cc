// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/scripted_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/unique_fd.h"
#include "cli/net/socket_address.h"
#include "gtest/gtest.h"

namespace waiter::cli {
namespace {

constexpr int kBacklog = 16;

UniqueFd Bind(const SocketAddress& address) {
  UniqueFd fd(
      socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (bind(fd.get(), address.get(), address.size) != 0) return {};
  return fd;
}

}  // namespace

UniqueFd BindTcp(const std::string& host, uint16_t port) {
  return Bind(FixedAddresses(host, port).front());
}

UniqueFd BindUnix(const std::string& path) { return Bind(UnixAddress(path)); }

uint16_t PortOf(const UniqueFd& socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  EXPECT_EQ(
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
  return ntohs(name.ss_family == AF_INET
                   ? reinterpret_cast<sockaddr_in*>(&name)->sin_port
                   : reinterpret_cast<sockaddr_in6*>(&name)->sin6_port);
}

ScriptedServer::ScriptedServer(EventLoop& loop, UniqueFd bound, Script script)
    : loop_(loop), listening_(std::move(bound)), script_(std::move(script)) {
  EXPECT_EQ(listen(listening_.get(), kBacklog), 0);
  accepting_ =
      loop.WhenReady(listening_.get(), POLLIN, [this](short) { Accept(); });
}

void ScriptedServer::Accept() {
  UniqueFd socket(accept4(listening_.get(), nullptr, nullptr,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) return;
  const int on = 1;
  // Sends each write separately, if the socket has this option.
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  clients_.push_back(std::make_unique<Client>());
  Client& client = *clients_.back();
  client.socket = std::move(socket);
  client.watch = loop_.WhenReady(client.socket.get(), POLLIN,
                                 [this, &client](short) { Read(client); });
  Play(client);
}

void ScriptedServer::Read(Client& client) {
  std::array<char, 4096> bytes;
  const ssize_t count =
      recv(client.socket.get(), bytes.data(), bytes.size(), 0);
  if (count <= 0) {
    client.closed = true;
    client.watch = {};
    client.next_byte = {};
    return;
  }
  client.received.append(bytes.data(), static_cast<size_t>(count));
  Play(client);
}

void ScriptedServer::Play(Client& client) {
  if (!client.sending.empty()) return;
  while (client.turn < script_.turns.size()) {
    const Script::Turn& turn = script_.turns[client.turn];
    const std::string next =
        client.received.substr(client.expected, turn.expect.size());
    if (next.size() < turn.expect.size()) return;
    EXPECT_EQ(next, turn.expect);
    client.expected += turn.expect.size();
    ++client.turn;
    client.sending = turn.send;
    if (client.sending.empty()) continue;
    if (script_.byte_by_byte) return SendByte(client);
    EXPECT_EQ(send(client.socket.get(), turn.send.data(), turn.send.size(),
                   MSG_NOSIGNAL),
              static_cast<ssize_t>(turn.send.size()));
    client.sending.clear();
  }
  if (script_.hangs_up && client.turn == script_.turns.size()) {
    client.watch = {};
    client.socket = UniqueFd();
  }
}

void ScriptedServer::SendByte(Client& client) {
  send(client.socket.get(), client.sending.data(), 1, MSG_NOSIGNAL);
  client.sending.erase(0, 1);
  client.next_byte = loop_.CallAfter(absl::ZeroDuration(), [this, &client] {
    if (client.sending.empty()) {
      Play(client);
    } else {
      SendByte(client);
    }
  });
}

}  // namespace waiter::cli
