// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/connector.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/open_fd.h"
#include "cli/loop/unique_fd.h"
#include "cli/net/connect_failure.h"
#include "cli/net/name_lookup.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// The "Connection Attempt Delay" that RFC 8305 recommends.
constexpr absl::Duration kAttemptDelay = absl::Milliseconds(250);

// Returns `addresses` with their families alternating. The first stays first.
std::vector<SocketAddress> Interleaved(
    const std::vector<SocketAddress>& addresses) {
  std::deque<SocketAddress> first;
  std::deque<SocketAddress> others;
  for (const SocketAddress& address : addresses) {
    (address.family() == addresses[0].family() ? first : others)
        .push_back(address);
  }
  std::vector<SocketAddress> mixed;
  while (!first.empty() || !others.empty()) {
    for (std::deque<SocketAddress>* from : {&first, &others}) {
      if (from->empty()) continue;
      mixed.push_back(from->front());
      from->pop_front();
    }
  }
  return mixed;
}

// A socket that connects to a local port without a listener may get this very
// port, and is then connected to itself.
bool IsConnectedToItself(int fd) {
  SocketAddress self;
  SocketAddress peer;
  self.size = peer.size = sizeof(sockaddr_storage);
  return getsockname(fd, reinterpret_cast<sockaddr*>(&self.storage),
                     &self.size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&peer.storage),
                     &peer.size) == 0 &&
         self.family() != AF_UNIX && self.size == peer.size &&
         std::memcmp(&self.storage, &peer.storage, self.size) == 0;
}

// Returns 0 if connected, EINPROGRESS if not yet, otherwise the errno.
int StartToConnect(const SocketAddress& address, UniqueFd& fd) {
  fd = UniqueFd(OpenSocket(address.family(), SOCK_STREAM, 0));
  if (!fd || SetNonBlocking(fd.get()) != 0) return errno;
  if (connect(fd.get(), address.get(), address.size) == 0) {
    return IsConnectedToItself(fd.get()) ? ECONNREFUSED : 0;
  }
  return errno == EINTR ? EINPROGRESS : errno;
}

int ResultOfConnecting(int fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error == 0 && IsConnectedToItself(fd) ? ECONNREFUSED : error;
}

}  // namespace

Connector::Connector(EventLoop& loop, Resolver& resolver)
    : loop_(loop), resolver_(resolver) {}

void Connector::Connect(const std::string& host, uint16_t port,
                        AddressFamily family, Done done) {
  assert(!done_);
  done_ = std::move(done);
  host_ = host;
  std::vector<SocketAddress> fixed = FixedAddresses(host, port);
  if (!fixed.empty()) {
    const int unwanted = family == AddressFamily::kIpv4   ? AF_INET6
                         : family == AddressFamily::kIpv6 ? AF_INET
                                                          : AF_UNSPEC;
    std::erase_if(fixed, [&](const SocketAddress& address) {
      return address.family() == unwanted;
    });
    if (!fixed.empty()) return Begin(fixed);
    return Finish(Finding{
        .status = PollStatus::kFailed,
        .detail =
            absl::StrCat(host, " is not an ",
                         unwanted == AF_INET6 ? "IPv4" : "IPv6", " address")});
  }
  request_ = resolver_.Ask({.name = host, .family = family},
                           [this, host, port](const NameAnswer& answer) {
                             OnAddresses(answer, host, port);
                           });
}

void Connector::ConnectUnix(const std::string& path, Done done) {
  assert(!done_);
  done_ = std::move(done);
  Begin({UnixAddress(path)});
}

void Connector::OnAddresses(const NameAnswer& answer, const std::string& host,
                            uint16_t port) {
  request_ = {};
  if (!answer.status.ok()) {
    // Not absent, even if there is no such name: it may be misspelled.
    const bool no_name = absl::IsNotFound(answer.status);
    return Finish(Finding{
        .status = no_name ? PollStatus::kNotReady : PollStatus::kServerError,
        .detail = absl::StrCat("cannot resolve ", host, ": ",
                               answer.status.message()),
        .hint = no_name ? absl::StrCat("is ", host,
                                       " the right name, and is it in "
                                       "DNS or /etc/hosts?")
                        : "are the name servers in /etc/resolv.conf "
                          "up and reachable?",
        .no_host = no_name});
  }
  std::vector<SocketAddress> addresses = Interleaved(answer.addresses);
  for (SocketAddress& address : addresses) address.SetPort(port);
  Begin(addresses);
}

void Connector::Begin(const std::vector<SocketAddress>& addresses) {
  for (const SocketAddress& address : addresses) {
    attempts_.push_back({.address = address, .socket = {}, .watch = {}});
  }
  TryNext();
}

void Connector::TryNext() {
  while (next_ < attempts_.size()) {
    const size_t index = next_++;
    Attempt& attempt = attempts_[index];
    attempt.error = StartToConnect(attempt.address, attempt.socket);
    if (attempt.error == 0) {
      return Finish(Connection{.socket = std::move(attempt.socket),
                               .peer = attempt.address.ToString()});
    }
    if (attempt.error != EINPROGRESS) {
      attempt.socket = UniqueFd();
      continue;
    }
    attempt.error = 0;
    attempt.watch =
        loop_.WhenReady(attempt.socket.get(), POLLOUT,
                        [this, index](short) { OnWritable(index); });
    later_ = next_ < attempts_.size()
                 ? loop_.CallAfter(kAttemptDelay, [this] { TryNext(); })
                 : EventLoop::Watch();
    return;
  }
  for (const Attempt& attempt : attempts_) {
    if (attempt.error == 0) return;
  }
  Finish(Describe(absl::ZeroDuration()));
}

void Connector::OnWritable(size_t attempt) {
  Attempt& ended = attempts_[attempt];
  ended.watch = {};
  ended.error = ResultOfConnecting(ended.socket.get());
  if (ended.error == 0) {
    return Finish(Connection{.socket = std::move(ended.socket),
                             .peer = ended.address.ToString()});
  }
  ended.socket = UniqueFd();
  TryNext();
}

Finding Connector::TimeOut(absl::Duration timeout) {
  Finding finding =
      attempts_.empty()
          ? Finding{.status = PollStatus::kServerError,
                    .detail = absl::StrCat("cannot resolve ", host_,
                                           ": no answer within ",
                                           absl::FormatDuration(timeout)),
                    .hint =
                        "are the name servers in /etc/resolv.conf up and "
                        "reachable?"}
          : Describe(timeout);
  Cancel();
  return finding;
}

void Connector::Cancel() {
  done_ = nullptr;
  request_ = {};
  later_ = {};
  attempts_.clear();
  next_ = 0;
}

void Connector::Finish(Result result) {
  const Done done = std::move(done_);
  Cancel();
  done(std::move(result));
}

Finding Connector::Describe(absl::Duration timeout) const {
  std::vector<ConnectFailure> failures;
  for (size_t i = 0; i < next_; ++i) {
    failures.push_back({attempts_[i].address, attempts_[i].error});
  }
  return DescribeFailures(failures, timeout);
}

}  // namespace waiter::cli
