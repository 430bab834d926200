// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connects to a host, by whichever of its addresses answers first:
//
//   waiter::cli::Connector connector(loop, resolver);
//   connector.Connect("localhost", 5432, waiter::cli::AddressFamily::kAny,
//                     [&](waiter::cli::Connector::Result result) {
//     if (auto* connection = std::get_if<waiter::cli::Connection>(&result)) {
//       Talk(std::move(*connection));
//     } else {
//       done(std::get<waiter::cli::Finding>(std::move(result)));
//     }
//   });

#ifndef WAITER_CLI_NET_CONNECTOR_H_
#define WAITER_CLI_NET_CONNECTOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/unique_fd.h"
#include "cli/net/name_lookup.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// An open connection. The socket is non-blocking; `peer` is its address, for
// messages.
struct Connection {
  UniqueFd socket;
  std::string peer;
};

// Thread-compatible; use it on the loop's thread, for one connection at a time.
// Tries addresses of alternating families. Starts the next attempt when one
// fails or has not answered for 250 ms, while the earlier ones continue, as in
// RFC 8305: a dead address costs only this delay.
class Connector {
 public:
  using Result = std::variant<Connection, Finding>;
  using Done = std::function<void(Result)>;

  // Both arguments must outlive this.
  Connector(EventLoop& loop, Resolver& resolver);

  // Calls `done` once, inside this call or later, unless `TimeOut` or `Cancel`
  // is called before. `done` may destroy this.
  void Connect(const std::string& host, uint16_t port, AddressFamily family,
               Done done);
  void ConnectUnix(const std::string& path, Done done);

  // Ends the connection attempt in progress. `TimeOut` returns its result so
  // far.
  Finding TimeOut(absl::Duration timeout);
  void Cancel();

 private:
  struct Attempt {
    SocketAddress address;
    UniqueFd socket;
    EventLoop::Watch watch;
    int error = 0;
  };

  void OnAddresses(const NameAnswer& answer, const std::string& host,
                   uint16_t port);
  void Begin(const std::vector<SocketAddress>& addresses);
  void TryNext();
  void OnWritable(size_t attempt);
  void Finish(Result result);
  Finding Describe(absl::Duration timeout) const;

  EventLoop& loop_;
  Resolver& resolver_;
  Done done_;
  std::string host_;
  Resolver::Request request_;
  std::vector<Attempt> attempts_;
  size_t next_ = 0;         // Index of the attempt to start next.
  EventLoop::Watch later_;  // Starts it.
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_CONNECTOR_H_
