// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connects to a name, by whichever of its addresses answers first:
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

// Non-blocking. `peer` is for people.
struct Connection {
  UniqueFd socket;
  std::string peer;
};

// Thread-compatible; runs on the loop's thread, one attempt to connect at a
// time. Tries the addresses with families in turn, the next one when one fails
// or has not answered for 250 ms, and lets all go on, as RFC 8305 wants: an
// address that is dead costs nothing but that.
class Connector {
 public:
  using Result = std::variant<Connection, Finding>;
  using Done = std::function<void(Result)>;

  // Both must outlive this.
  Connector(EventLoop& loop, Resolver& resolver);

  // Calls `done` once, inside or later, unless it is ended before. It may
  // destroy this.
  void Connect(const std::string& host, uint16_t port, AddressFamily family,
               Done done);
  void ConnectUnix(const std::string& path, Done done);

  // Returns what the attempt under way has come to, and ends it.
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
  size_t next_ = 0;         // The attempt to begin next.
  EventLoop::Watch later_;  // When to.
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_CONNECTOR_H_
