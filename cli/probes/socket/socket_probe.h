// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connects to a server, and asks it whether it is ready if a protocol is given:
//
//   waiter::cli::SocketProbe probe(loop, resolver,
//                                  {.host = "db", .port = 6379},
//                                  waiter::cli::NewRedisConversation);
//   probe.Start(context, [](waiter::cli::Finding finding) { ... });

#ifndef WAITER_CLI_PROBES_SOCKET_SOCKET_PROBE_H_
#define WAITER_CLI_PROBES_SOCKET_SOCKET_PROBE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/net/connector.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {

// Connects again for each poll. The conversation decides; without one, a
// connection is a success. A server that accepts and then stays silent, hangs
// up or speaks another protocol is a server error.
class SocketProbe : public Probe {
 public:
  // The loop and the resolver must outlive this. `new_conversation` may be
  // null; then a connection must stay open for `hold_open`, or the server send
  // something. `family` has no effect on sockets with a path. `note` follows
  // the detail of a connection that is a success.
  SocketProbe(EventLoop& loop, Resolver& resolver, ServerTarget target,
              NewConversation new_conversation,
              AddressFamily family = AddressFamily::kAny,
              std::string_view note = "",
              absl::Duration hold_open = absl::ZeroDuration());

  void Start(const PollContext& context, Done done) override;
  void TimeOut(absl::Duration timeout) override;
  void Cancel() override;

 private:
  void OnConnected(Connector::Result result);
  void Hold();
  void Send();
  void OnReady(short events);

  // Reads all bytes that have arrived. Returns why the connection has ended;
  // empty if it has not.
  std::string ReadAll();
  bool Judge();
  Finding Ended(const std::string& why) const;
  void Finish(Finding finding);

  EventLoop& loop_;
  const ServerTarget target_;
  const NewConversation new_conversation_;
  const AddressFamily family_;
  const std::string note_;
  const absl::Duration hold_open_;
  Connector connector_;

  // The poll in progress.
  Done done_;
  Connection connection_;
  std::unique_ptr<Conversation> conversation_;
  EventLoop::Watch watch_;
  EventLoop::Watch held_;
  std::string sending_;
  std::string received_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SOCKET_SOCKET_PROBE_H_
