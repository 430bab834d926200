// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Every step that may take long goes through `Patience::Await`, which also
// watches the deadline and the stop token. It cannot watch a name lookup, so a
// detached thread makes that; it finishes on its own if the call ends first.

#include "examples/http_get.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/file_descriptor.h"
#include "examples/url.h"
#include "waiter/retry_after.h"
#include "waiter/stop_token.h"

namespace waiter_examples {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr size_t kLargestHead = 16'384;
constexpr size_t kLongestReason = 60;
constexpr std::string_view kProtocol = "HTTP/";

SteadyTime SteadyNow() { return std::chrono::steady_clock::now(); }

SteadyTime DeadlineOf(absl::Duration timeout) {
  // A year is longer than any wait, and far from overflowing.
  const absl::Duration bounded =
      std::clamp(timeout, absl::ZeroDuration(), absl::Hours(24 * 365));
  return SteadyNow() + absl::ToChronoNanoseconds(bounded);
}

// The deadline and the stop token of a request.
class Patience {
 public:
  Patience(absl::Duration timeout, const waiter::stop_token& stop)
      : timeout_(timeout),
        deadline_(DeadlineOf(timeout)),
        stop_(stop),
        stop_pipe_(MakePipe()),
        wake_up_(stop, WakeUp{stop_pipe_.writer.get()}) {}

  bool valid() const { return stop_pipe_.reader.valid(); }
  absl::Duration timeout() const { return timeout_; }
  SteadyTime deadline() const { return deadline_; }

  // Blocks until `fd` has one of `events` or has failed, and returns OK.
  // Returns kDeadlineExceeded at `deadline`, and kCancelled when a stop is
  // requested.
  absl::Status Await(int fd, int16_t events, SteadyTime deadline) const {
    while (true) {
      std::array<pollfd, 2> fds = {
          {{.fd = fd, .events = events, .revents = 0},
           {.fd = stop_pipe_.reader.get(), .events = POLLIN, .revents = 0}}};
      const int ready = poll(fds.data(), fds.size(), MillisecondsTo(deadline));
      const int error = errno;
      if (stop_.stop_requested()) return absl::CancelledError("cut short");
      if (ready < 0 && error != EINTR) {
        return absl::ErrnoToStatus(error, "poll");
      }
      if (ready > 0) return absl::OkStatus();
      if (SteadyNow() >= deadline) return absl::DeadlineExceededError("");
    }
  }

 private:
  struct WakeUp {
    int fd;
    void operator()() const {
      // Cannot fail, as this is the only write to the pipe.
      [[maybe_unused]] const ssize_t written = write(fd, "", 1);
    }
  };

  static int MillisecondsTo(SteadyTime deadline) {
    const int64_t left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyNow())
            .count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
  }

  absl::Duration timeout_;
  SteadyTime deadline_;
  waiter::stop_token stop_;
  Pipe stop_pipe_;
  waiter::stop_callback<WakeUp> wake_up_;
};

struct FreeAddrInfo {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddrInfo>;

int GetAddrInfo(const Url& url, int flags, Addresses& found) {
  addrinfo hints = {};
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(
      url.host.c_str(), std::to_string(url.port).c_str(), &hints, &list);
  if (error == 0) found.reset(list);
  return error;
}

// A name lookup, shared with the thread that makes it.
struct Lookup {
  Url url;
  Pipe pipe = MakePipe();
  int error = 0;
  Addresses found;
  std::atomic<bool> done = false;
};

absl::StatusOr<Addresses> Resolve(const Url& url, const Patience& patience) {
  Addresses found;
  int error = GetAddrInfo(url, AI_NUMERICHOST, found);
  if (error == EAI_NONAME) {
    const auto lookup = std::make_shared<Lookup>();
    if (!lookup->pipe.reader.valid()) return absl::ErrnoToStatus(errno, "pipe");
    lookup->url = url;
    std::thread([lookup] {
      lookup->error = GetAddrInfo(lookup->url, 0, lookup->found);
      lookup->done = true;
      lookup->pipe.writer.Close();
    }).detach();
    if (absl::Status status = patience.Await(lookup->pipe.reader.get(), POLLIN,
                                             patience.deadline());
        !status.ok()) {
      if (!absl::IsDeadlineExceeded(status)) return status;
      return absl::DeadlineExceededError(
          absl::StrCat("name not resolved within ",
                       absl::FormatDuration(patience.timeout())));
    }
    error = lookup->done ? lookup->error : EAI_AGAIN;
    found = std::move(lookup->found);
  }
  if (error == 0) return found;
  // An unknown name means the same as a closed port: the server is not there
  // yet.
  if (error == EAI_NONAME) {
    return absl::NotFoundError(absl::StrCat("no such host: ", url.host));
  }
  return absl::UnavailableError(
      absl::StrCat("name not resolved: ", gai_strerror(error)));
}

absl::Status RefusedError() {
  return absl::NotFoundError("connection refused");
}

// Returns whether `fd` is connected to itself. The kernel may choose as source
// port the very port to connect to, if that is free and in the ephemeral range.
bool IsConnectedToItself(int fd) {
  sockaddr_storage self = {};
  sockaddr_storage peer = {};
  socklen_t self_size = sizeof(self);
  socklen_t peer_size = sizeof(peer);
  return getsockname(fd, reinterpret_cast<sockaddr*>(&self), &self_size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         self_size == peer_size && std::memcmp(&self, &peer, self_size) == 0;
}

absl::StatusOr<FileDescriptor> ConnectTo(const addrinfo& address,
                                         SteadyTime deadline,
                                         const Patience& patience) {
  FileDescriptor connection(socket(
      address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
      address.ai_protocol));
  if (!connection.valid()) return absl::ErrnoToStatus(errno, "socket");
  int error = 0;
  if (connect(connection.get(), address.ai_addr, address.ai_addrlen) != 0) {
    error = errno;
  }
  // An interrupted connect goes on as well.
  if (error == EINPROGRESS || error == EINTR) {
    if (absl::Status status =
            patience.Await(connection.get(), POLLOUT, deadline);
        !status.ok()) {
      if (!absl::IsDeadlineExceeded(status)) return status;
      return absl::DeadlineExceededError(absl::StrCat(
          "no connection within ", absl::FormatDuration(patience.timeout())));
    }
    socklen_t size = sizeof(error);
    if (getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size) !=
        0) {
      error = errno;
    }
  }
  if (error == ECONNREFUSED) return RefusedError();
  if (error != 0) return absl::ErrnoToStatus(error, "connect");
  if (IsConnectedToItself(connection.get())) return RefusedError();
  return connection;
}

// Tries the addresses in turn, each for an equal part of the time left.
absl::StatusOr<FileDescriptor> Connect(const Url& url,
                                       const Patience& patience) {
  absl::StatusOr<Addresses> addresses = Resolve(url, patience);
  if (!addresses.ok()) return addresses.status();
  int left = 0;
  for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
    ++left;
  }
  absl::StatusOr<FileDescriptor> connection =
      absl::NotFoundError("the host has no address");
  for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
    const SteadyTime now = SteadyNow();
    connection =
        ConnectTo(*a, now + (patience.deadline() - now) / left--, patience);
    if (connection.ok() || absl::IsCancelled(connection.status())) break;
  }
  return connection;
}

absl::Status LostError(int error) {
  if (error == ECONNRESET || error == EPIPE) {
    return absl::UnavailableError("connection reset");
  }
  return absl::ErrnoToStatus(error, "connection");
}

absl::Status NoAnswerError(absl::Status status, const Patience& patience) {
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::DeadlineExceededError(absl::StrCat(
      "no answer within ", absl::FormatDuration(patience.timeout())));
}

absl::Status Send(int fd, std::string_view data, const Patience& patience) {
  while (!data.empty()) {
    const ssize_t sent = send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      data.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (absl::Status status =
              patience.Await(fd, POLLOUT, patience.deadline());
          !status.ok()) {
        return NoAnswerError(std::move(status), patience);
      }
    } else if (errno != EINTR) {
      return LostError(errno);
    }
  }
  return absl::OkStatus();
}

// Waits for data and appends it to `received`.
absl::Status Receive(int fd, std::string& received, const Patience& patience) {
  std::array<char, 2048> buffer;
  while (true) {
    if (absl::Status status = patience.Await(fd, POLLIN, patience.deadline());
        !status.ok()) {
      return NoAnswerError(std::move(status), patience);
    }
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      received.append(buffer.data(), static_cast<size_t>(got));
      return absl::OkStatus();
    }
    if (got == 0) {
      return absl::UnavailableError(
          received.empty() ? "connection closed without an answer"
                           : "connection closed within the answer");
    }
    if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
      return LostError(errno);
    }
  }
}

// Returns the position after the empty line that ends a head, or npos if there
// is none. Lines may end without "\r", as RFC 9112 permits a recipient to
// accept.
size_t FindHeadEnd(std::string_view text, size_t from) {
  for (size_t line = text.find('\n', from); line != std::string_view::npos;
       line = text.find('\n', line + 1)) {
    const std::string_view rest = text.substr(line + 1);
    if (absl::StartsWith(rest, "\n")) return line + 2;
    if (absl::StartsWith(rest, "\r\n")) return line + 3;
  }
  return std::string_view::npos;
}

absl::StatusOr<HttpResponse> ReceiveResponse(int fd, const Patience& patience) {
  std::string received;
  size_t head = 0;      // Start of the current head.
  size_t searched = 0;  // Length of it that does not have its end.
  while (true) {
    std::string_view text = received;
    text.remove_prefix(head);
    // Checked at once: some servers send a greeting and then wait.
    if (text.substr(0, kProtocol.size()) != kProtocol.substr(0, text.size())) {
      return absl::DataLossError("not an HTTP answer");
    }
    const size_t end = FindHeadEnd(text, searched);
    if (end != std::string_view::npos) {
      absl::StatusOr<HttpResponse> response =
          ParseResponseHead(text.substr(0, end), absl::Now());
      if (!response.ok() || response->code >= 200) return response;
      head += end;
      searched = 0;
      continue;
    }
    if (received.size() >= kLargestHead) {
      return absl::DataLossError("the head of the answer is too large");
    }
    searched = text.size() < 2 ? 0 : text.size() - 2;
    if (absl::Status status = Receive(fd, received, patience); !status.ok()) {
      return status;
    }
  }
}

// Returns `text` without the control characters that could move the cursor of a
// terminal.
std::string Printable(std::string_view text) {
  std::string printable(text.substr(0, kLongestReason));
  std::replace_if(
      printable.begin(), printable.end(),
      [](unsigned char c) { return !absl::ascii_isprint(c); }, '?');
  return printable;
}

bool AllDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

absl::StatusOr<HttpResponse> ParseResponseHead(std::string_view head,
                                               absl::Time now) {
  HttpResponse response;
  bool is_status_line = true;
  for (std::string_view line : absl::StrSplit(head, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (std::exchange(is_status_line, false)) {
      // "HTTP/1.1 200 OK"; the text is optional.
      const std::pair<std::string_view, std::string_view> version_and_rest =
          absl::StrSplit(line, absl::MaxSplits(' ', 1));
      const std::pair<std::string_view, std::string_view> code_and_reason =
          absl::StrSplit(version_and_rest.second, absl::MaxSplits(' ', 1));
      if (!absl::StartsWith(line, kProtocol) ||
          code_and_reason.first.size() != 3 ||
          !AllDigits(code_and_reason.first) ||
          !absl::SimpleAtoi(code_and_reason.first, &response.code) ||
          response.code < 100 || response.code > 599) {
        return absl::DataLossError("not an HTTP answer");
      }
      response.reason = Printable(code_and_reason.second);
      continue;
    }
    const std::pair<std::string_view, std::string_view> name_and_value =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (!response.retry_after.has_value()) {
      response.retry_after = waiter::ParseRetryAfterField(
          name_and_value.first, name_and_value.second, now);
    }
  }
  return response;
}

absl::StatusOr<HttpResponse> HttpGet(const Url& url, absl::Duration timeout,
                                     const waiter::stop_token& stop) {
  const Patience patience(timeout, stop);
  if (!patience.valid()) return absl::ErrnoToStatus(errno, "pipe");
  const absl::StatusOr<FileDescriptor> connection = Connect(url, patience);
  if (!connection.ok()) return connection.status();
  const std::string request =
      absl::StrCat("GET ", url.path, " HTTP/1.1\r\nHost: ", Authority(url),
                   "\r\nUser-Agent: waiter-example\r\nAccept: */*\r\n"
                   "Connection: close\r\n\r\n");
  if (absl::Status status = Send(connection->get(), request, patience);
      !status.ok()) {
    return status;
  }
  return ReceiveResponse(connection->get(), patience);
}

}  // namespace waiter_examples
