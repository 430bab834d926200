// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A job to wait for, which runs as another process:
//
//   job FILE [fail]
//
// Writes its state to FILE: first "CREATING", after 0.2 s "RUNNING" and a port
// of 127.0.0.1, and after 0.3 s more "DONE" and the port. With a second
// argument, the last state is "FAILED". The job begins to accept connections at
// the port while it is "RUNNING". It ends when its standard input ends.

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "examples/file_descriptor.h"

namespace waiter_examples {
namespace {

constexpr std::chrono::milliseconds kCreatesFor(200);
constexpr std::chrono::milliseconds kRunsFor(300);
constexpr std::chrono::milliseconds kForEver(-1);

// Sleeps for `time`. Ends the program if standard input ends in that time.
void WorkFor(std::chrono::milliseconds time) {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (poll(&input, 1, static_cast<int>(time.count())) != 0) _exit(0);
}

// Replaces the file in one step, so that no reader sees half of the text.
void Write(const std::string& path, std::string_view text) {
  const std::string part = absl::StrCat(path, ".part");
  std::ofstream(part) << text;
  if (std::rename(part.c_str(), path.c_str()) != 0) _exit(EXIT_FAILURE);
}

void Run(const std::string& path, std::string_view end) {
  Write(path, "CREATING");
  WorkFor(kCreatesFor);

  const FileDescriptor server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(server.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    _exit(EXIT_FAILURE);
  }
  const std::string port = absl::StrCat(" ", ntohs(address.sin_port));
  Write(path, "RUNNING" + port);
  WorkFor(kRunsFor / 2);
  if (listen(server.get(), SOMAXCONN) != 0) _exit(EXIT_FAILURE);
  WorkFor(kRunsFor / 2);

  Write(path, absl::StrCat(end, port));
  WorkFor(kForEver);
}

}  // namespace
}  // namespace waiter_examples

int main(int argc, char** argv) {
  if (argc < 2) return EXIT_FAILURE;
  waiter_examples::Run(argv[1], argc > 2 ? "FAILED" : "DONE");
}
