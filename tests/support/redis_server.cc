// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

namespace waiter {
namespace {

// Returns the path of the server, which is empty if it is not installed.
std::string Program(RedisServer::Kind kind) {
  const std::string name =
      kind == RedisServer::Kind::kRedis ? "redis-server" : "valkey-server";
  for (const std::string folder : {"/usr/bin/", "/usr/local/bin/"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

}  // namespace

bool RedisServer::IsInstalled(Kind kind) {
  return !Program(kind).empty() && access("/usr/bin/redis-cli", X_OK) == 0;
}

int RedisServer::FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(fd, any, length), 0);
  EXPECT_EQ(getsockname(fd, any, &length), 0);
  close(fd);
  return ntohs(address.sin_port);
}

RedisServer::RedisServer(std::vector<std::string> arguments, Kind kind)
    : arguments_(std::move(arguments)), program_(Program(kind)) {
  Start();
}

RedisServer::~RedisServer() { Kill(); }

void RedisServer::Start() {
  // Another program may take the port before the server does.
  for (int i = 0; i < 5; ++i) {
    if (port_ == 0) port_ = FreePort();
    if (StartOnce()) return;
    Kill();
    port_ = 0;
  }
  ADD_FAILURE() << program_ << " does not start";
}

bool RedisServer::StartOnce() {
  std::vector<std::string> command = {
      program_, "--port",       absl::StrCat(port_),
      "--bind", "127.0.0.1",    "--save",
      "",       "--appendonly", "no",
      "--dir",  "/tmp",         "--loglevel",
      "warning"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  for (int i = 0; i < 500; ++i) {
    const std::string answer = Run({"PING"});
    if (answer == "PONG" || absl::StartsWith(answer, "NOAUTH")) return true;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

void RedisServer::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::Pause() const { kill(pid_, SIGSTOP); }
void RedisServer::Resume() const { kill(pid_, SIGCONT); }

std::string RedisServer::Url(std::string_view secret) const {
  return absl::StrCat("redis://", std::string(secret), "127.0.0.1:", port_);
}

std::string RedisServer::Run(const std::vector<std::string>& command) const {
  std::string line = absl::StrCat("redis-cli -h 127.0.0.1 -p ", port_, " 2>&1");
  for (const std::string& argument : command) {
    absl::StrAppend(&line, " '",
                    absl::StrReplaceAll(argument, {{"'", "'\\''"}}), "'");
  }
  // NOLINTNEXTLINE(cert-env33-c): of a test
  FILE* const pipe = popen(line.c_str(), "r");
  std::string output;
  std::array<char, 4096> bytes;
  while (const size_t count = fread(bytes.data(), 1, bytes.size(), pipe)) {
    output.append(bytes.data(), count);
  }
  pclose(pipe);
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return output;
}

}  // namespace waiter
