// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/socket/socket_probe.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
namespace {

#ifdef MSG_NOSIGNAL
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;  // `OpenSocket` has set that up.
#endif

// Most bytes that an answer may have.
constexpr size_t kMostReceived = 65'536;

// Returns a hint for the user of a server that speaks another protocol.
std::string HintFor(std::string_view received, std::string_view server) {
  if (absl::StartsWith(received, "\x15\x03")) {
    return absl::StrCat("the port speaks TLS; use exec: with a client for ",
                        server);
  }
  if (absl::StartsWith(received, "HTTP/")) {
    return "the port speaks HTTP; use http://";
  }
  return absl::StrCat("is this the port of ", server, "?");
}

}  // namespace

SocketProbe::SocketProbe(EventLoop& loop, Resolver& resolver,
                         ServerTarget target, NewConversation new_conversation,
                         AddressFamily family, std::string_view note,
                         absl::Duration hold_open)
    : loop_(loop),
      target_(std::move(target)),
      new_conversation_(std::move(new_conversation)),
      family_(family),
      note_(note),
      hold_open_(hold_open),
      connector_(loop, resolver) {}

void SocketProbe::Start(const PollContext& /*context*/, Done done) {
  done_ = std::move(done);
  const auto connected = [this](Connector::Result result) {
    OnConnected(std::move(result));
  };
  if (!target_.socket.empty()) {
    connector_.ConnectUnix(target_.socket, connected);
  } else {
    connector_.Connect(target_.host, target_.port, family_, connected);
  }
}

void SocketProbe::TimeOut(absl::Duration timeout) {
  if (connection_.socket && conversation_ == nullptr) {
    return Finish(
        {.detail = absl::StrCat("connected to ", connection_.peer,
                                ", too late for the time of --hold-open")});
  }
  if (conversation_ == nullptr) return Finish(connector_.TimeOut(timeout));
  const std::string_view awaited = conversation_->Awaited();
  const std::string within =
      absl::StrCat(" within ", absl::FormatDuration(timeout));
  Finish(Ended(received_.empty()
                   ? absl::StrCat("no ", awaited, within)
                   : absl::StrCat("only part of its ", awaited, within, ": \"",
                                  Excerpt(received_), "\"")));
}

void SocketProbe::Cancel() {
  done_ = nullptr;
  connector_.Cancel();
  watch_ = {};
  held_ = {};
  conversation_.reset();
  connection_ = {};
  sending_.clear();
  received_.clear();
}

void SocketProbe::OnConnected(Connector::Result result) {
  if (auto* const failure = std::get_if<Finding>(&result)) {
    return Finish(std::move(*failure));
  }
  connection_ = std::get<Connection>(std::move(result));
  if (new_conversation_ == nullptr) return Hold();
  conversation_ = new_conversation_();
  sending_ = conversation_->Opening();
  Send();
}

void SocketProbe::Hold() {
  const auto succeed = [this] {
    Finish({.status = PollStatus::kSuccess,
            .detail = absl::StrCat("connected to ", connection_.peer, note_)});
  };
  if (hold_open_ == absl::ZeroDuration()) return succeed();
  held_ = loop_.CallAfter(hold_open_, succeed);
  watch_ = loop_.WhenReady(connection_.socket.get(), POLLIN, [=, this](short) {
    const std::string end = ReadAll();
    if (!received_.empty() || end.empty()) return succeed();
    Finish(
        {.detail = absl::StrCat("connected to ", connection_.peer, ", ", end,
                                " within ", absl::FormatDuration(hold_open_)),
         .hint = "is it a proxy with no server behind it?"});
  });
}

void SocketProbe::Send() {
  const ssize_t sent = send(connection_.socket.get(), sending_.data(),
                            sending_.size(), kNoSignal);
  // Reading reports the errors of the connection.
  if (sent > 0) sending_.erase(0, static_cast<size_t>(sent));
  const bool is_full = sent < 0 && (errno == EAGAIN || errno == EINTR);
  const bool is_rest = sent >= 0 && !sending_.empty();
  watch_ = loop_.WhenReady(
      connection_.socket.get(),
      static_cast<short>(is_full || is_rest ? POLLIN | POLLOUT : POLLIN),
      [this](short events) { OnReady(events); });
}

void SocketProbe::OnReady(short events) {
  if ((events & POLLOUT) != 0) Send();
  if ((events & ~POLLOUT) == 0) return;
  const std::string end = ReadAll();
  if (Judge() || end.empty()) return;
  const std::string_view awaited = conversation_->Awaited();
  Finish(Ended(received_.empty()
                   ? absl::StrCat(end, " before its ", awaited)
                   : absl::StrCat(end, " in the middle of its ", awaited,
                                  ": \"", Excerpt(received_), "\"")));
}

std::string SocketProbe::ReadAll() {
  std::array<char, 4096> bytes;
  while (received_.size() <= kMostReceived) {
    const ssize_t count =
        recv(connection_.socket.get(), bytes.data(), bytes.size(), 0);
    if (count == 0) return "connection closed";
    if (count < 0) {
      if (errno == EAGAIN || errno == EINTR) return {};
      return absl::StrCat("connection broken (",
                          std::generic_category().message(errno), ")");
    }
    received_.append(bytes.data(), static_cast<size_t>(count));
  }
  return {};
}

// Judges the bytes received so far. Returns whether they end the poll.
bool SocketProbe::Judge() {
  if (received_.empty()) return false;
  const std::string before = received_.substr(0, 256);
  Conversation::Step step = conversation_->Receive(received_);
  sending_.append(step.send);
  if (step.is_foreign || received_.size() > kMostReceived) {
    const std::string_view server = conversation_->Server();
    Finish({.status = PollStatus::kServerError,
            .detail = absl::StrCat("connected to ", connection_.peer,
                                   ", which does not speak the protocol of ",
                                   server, ": \"", Excerpt(before), "\""),
            .hint = HintFor(before, server)});
    return true;
  }
  if (!sending_.empty()) Send();
  if (!step.finding.has_value()) return false;
  Finish(*std::move(step.finding));
  return true;
}

Finding SocketProbe::Ended(const std::string& why) const {
  if (std::optional<Finding> known = conversation_->AtEnd()) return *known;
  return {.status = PollStatus::kServerError,
          .detail = absl::StrCat("connected to ", connection_.peer, ", ", why)};
}

void SocketProbe::Finish(Finding finding) {
  const Done done = std::move(done_);
  Cancel();
  done(std::move(finding));
}

}  // namespace waiter::cli
