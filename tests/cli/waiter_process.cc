// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/cli/waiter_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace waiter::cli {
namespace {

constexpr int kLimitMs = 30000;
constexpr int kKilledBy = 1000;

// Returns a variable of the environment, which no thread changes; empty if it
// is not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string WaiterPath() {
  return Variable("TEST_SRCDIR") + "/" + Variable("TEST_WORKSPACE") +
         "/cli/waiter";
}

WaiterProcess::WaiterProcess(std::vector<std::string> arguments)
    : WaiterProcess(std::move(arguments), Options()) {}

WaiterProcess::WaiterProcess(std::vector<std::string> arguments,
                             const Options& options) {
  std::vector<std::string> words = std::move(arguments);
  words.insert(words.begin(),
               options.program.empty() ? WaiterPath() : options.program);
  std::vector<std::string> environment = options.environment;
  environment.push_back("PATH=" + Variable("PATH"));
  const std::vector<char*> argv = Pointers(words);
  const std::vector<char*> envp = Pointers(environment);

  std::array<int, 2> out;
  std::array<int, 2> err;
  EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(err.data(), O_CLOEXEC), 0);
  const int input = memfd_create("input", MFD_CLOEXEC);
  EXPECT_EQ(write(input, options.input.data(), options.input.size()),
            static_cast<ssize_t>(options.input.size()));
  lseek(input, 0, SEEK_SET);

  pid_ = fork();
  if (pid_ == 0) {
    for (const int signal : options.ignored_signals) {
      std::signal(signal, SIG_IGN);
    }
    dup2(input, 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(input);
  close(out[1]);
  close(err[1]);
  out_fd_ = out[0];
  err_fd_ = err[0];
}

WaiterProcess::~WaiterProcess() {
  if (code_ < 0) {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_fd_ >= 0) close(out_fd_);
  if (err_fd_ >= 0) close(err_fd_);
}

bool WaiterProcess::ReadSome() {
  std::array<pollfd, 2> fds = {
      {{.fd = out_fd_, .events = POLLIN, .revents = 0},
       {.fd = err_fd_, .events = POLLIN, .revents = 0}}};
  const int ready = poll(fds.data(), fds.size(), kLimitMs);
  if (ready == 0) {
    ADD_FAILURE() << "no output for half a minute; so far:\n" << out_ << err_;
    Signal(SIGKILL);
    return false;
  }
  const auto read_from = [](const pollfd& polled, int& fd, std::string& text) {
    if (polled.revents == 0) return;
    std::array<char, 65536> buffer;
    const ssize_t length = read(fd, buffer.data(), buffer.size());
    if (length > 0) {
      text.append(buffer.data(), static_cast<size_t>(length));
    } else if (length == 0) {
      close(std::exchange(fd, -1));
    }
  };
  read_from(fds[0], out_fd_, out_);
  read_from(fds[1], err_fd_, err_);
  return out_fd_ >= 0 || err_fd_ >= 0;
}

bool WaiterProcess::ReadUntil(std::string_view text) {
  return ReadUntil([&] {
    return out_.find(text) != std::string::npos ||
           err_.find(text) != std::string::npos;
  });
}

bool WaiterProcess::ReadUntil(const std::function<bool()>& holds) {
  while (!holds()) {
    if (!ReadSome()) return false;
  }
  return true;
}

int WaiterProcess::Wait() {
  while ((out_fd_ >= 0 || err_fd_ >= 0) && ReadSome()) {
  }
  int status = 0;
  if (code_ < 0 && waitpid(pid_, &status, 0) == pid_) {
    code_ =
        WIFEXITED(status) ? WEXITSTATUS(status) : kKilledBy + WTERMSIG(status);
  }
  return code_;
}

void WaiterProcess::Signal(int signal) const { kill(pid_, signal); }

Ended Call(std::vector<std::string> arguments,
           const WaiterProcess::Options& options) {
  WaiterProcess process(std::move(arguments), options);
  const int code = process.Wait();
  return {code, process.out(), process.err()};
}

bool HasHttp() {
  return Call({"http://127.0.0.1:1", "--timeout=0"}).code == 124;
}

int FreePort(int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage address = {};
  address.ss_family = static_cast<sa_family_t>(family);
  socklen_t length = sizeof(sockaddr_in);
  if (family == AF_INET6) {
    length = sizeof(sockaddr_in6);
    reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr =
        htonl(INADDR_LOOPBACK);
  }
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(fd);
  return ntohs(family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace waiter::cli
