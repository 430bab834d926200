// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/redis/chaos/worker_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/redis/chaos/api_protocol.h"

namespace waiter::chaos {
namespace {

sigset_t Termination() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return set;
}

[[noreturn]] void Give(const char* why) {
  std::fprintf(stderr, "worker: %s\n", why);
  _exit(1);
}

}  // namespace

void BeginWorker() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const sigset_t set = Termination();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void AwaitTermination() {
  const sigset_t set = Termination();
  int got = 0;
  sigwait(&set, &got);
}

ApiConnection::ApiConnection(int port, int worker)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
      0) {
    Give("no API");
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const Hello hello = {.worker = worker,
                       .wall_micros = absl::ToUnixMicros(absl::Now())};
  Send({reinterpret_cast<const char*>(&hello), sizeof(hello)});
}

ApiConnection::~ApiConnection() { close(fd_); }

void ApiConnection::Send(std::string_view bytes) const {
  if (send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    Give("the API is gone");
  }
}

void ApiConnection::Receive(char* bytes, size_t size) const {
  if (recv(fd_, bytes, size, MSG_WAITALL) != static_cast<ssize_t>(size)) {
    Give("the API is gone");
  }
}

}  // namespace waiter::chaos
