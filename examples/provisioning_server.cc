// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The parent holds the writing end of a pipe, the lifeline, and never writes.
// The kernel closes it when the parent ends, even by SIGKILL. The child watches
// the other end, and then ends too.

#include "examples/provisioning_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/file_descriptor.h"

namespace waiter_examples {
namespace {

constexpr std::chrono::milliseconds kRefusesFor(800);
constexpr timeval kPatienceWithClient = {.tv_sec = 1, .tv_usec = 0};
constexpr int kLargestRequest = 16 * 1024;

// Answers in their order. The server repeats the last one forever.
constexpr std::array<std::string_view, 3> kAnswers = {
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Content-Length: 13\r\n"
    "Connection: close\r\n"
    "\r\n"
    "provisioning\n",

    "HTTP/1.1 429 Too Many Requests\r\n"
    "Retry-After: 1\r\n"
    "Content-Length: 10\r\n"
    "Connection: close\r\n"
    "\r\n"
    "slow down\n",

    "HTTP/1.1 200 OK\r\n"
    "Content-Length: 6\r\n"
    "Connection: close\r\n"
    "\r\n"
    "ready\n",
};

// Blocks until `fd` is readable or `time` has passed; an `fd` of -1 is never
// readable. Ends the process if the parent has ended.
void Await(int fd, int lifeline, std::chrono::milliseconds time) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + time;
  while (true) {
    std::array<pollfd, 2> fds = {
        {{.fd = fd, .events = POLLIN, .revents = 0},
         {.fd = lifeline, .events = POLLIN, .revents = 0}}};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return;
    if (poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0) {
      if (errno == EINTR) continue;
      _exit(EXIT_FAILURE);
    }
    if (fds[1].revents != 0) _exit(EXIT_SUCCESS);
    if (fds[0].revents != 0) return;
  }
}

// Reads up to the empty line that ends a request. Returns whether there was
// one.
bool ReceiveRequest(int connection) {
  std::string_view missing = "\r\n\r\n";
  for (int received = 0; received < kLargestRequest;) {
    char c = 0;
    const ssize_t got = recv(connection, &c, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    ++received;
    if (c != missing.front()) missing = "\r\n\r\n";
    if (c == missing.front()) missing.remove_prefix(1);
    if (missing.empty()) return true;
  }
  return false;
}

void Send(int connection, std::string_view answer) {
  while (!answer.empty()) {
    const ssize_t sent =
        send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    answer.remove_prefix(static_cast<size_t>(sent));
  }
}

// Runs the child until it is killed.
[[noreturn]] void Serve(int listener, int lifeline) {
  // Ctrl-C goes to both processes; only the parent reacts.
  signal(SIGINT, SIG_IGN);

  Await(-1, lifeline, kRefusesFor);
  if (listen(listener, SOMAXCONN) != 0) _exit(EXIT_FAILURE);
  size_t next_answer = 0;
  while (true) {
    Await(listener, lifeline, std::chrono::hours(1));
    const FileDescriptor connection(accept(listener, nullptr, nullptr));
    if (!connection.valid()) continue;
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      setsockopt(connection.get(), SOL_SOCKET, option, &kPatienceWithClient,
                 sizeof(kPatienceWithClient));
    }
    if (!ReceiveRequest(connection.get())) continue;
    Send(connection.get(), kAnswers[next_answer]);
    if (next_answer + 1 < kAnswers.size()) ++next_answer;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProvisioningServer>>
ProvisioningServer::Start() {
  // The socket is bound but does not listen yet, so the port is taken and
  // refuses connections.
  FileDescriptor listener(
      socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return absl::ErrnoToStatus(errno, "socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address),
                  &size) != 0) {
    return absl::ErrnoToStatus(errno, "bind");
  }

  Pipe lifeline = MakePipe();
  if (!lifeline.reader.valid()) return absl::ErrnoToStatus(errno, "pipe");
  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    lifeline.writer.Close();
    Serve(listener.get(), lifeline.reader.get());
  }
  return absl::WrapUnique(new ProvisioningServer(pid, ntohs(address.sin_port),
                                                 std::move(lifeline.writer)));
}

ProvisioningServer::~ProvisioningServer() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace waiter_examples
