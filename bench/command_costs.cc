// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the cost of a call of `waiter` for an open port with `nc -z`
// (Debian: netcat-openbsd). Also measures the memory for a thousand targets
// that never answer. The first argument is the program.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/check.h"

namespace {

using waiter::bench::Check;
using waiter::bench::Fail;

using Words = std::vector<std::string>;

constexpr int kRounds = 21;
constexpr int kRunsPerRound = 40;

// The exit code of `waiter` at its limit.
constexpr int kTimedOut = 124;

struct Cost {
  double wall_ms = 0;
  double cpu_ms = 0;
  double peak_mb = 0;
};

double Milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 +
         static_cast<double>(time.tv_usec) / 1e3;
}

// Runs a program to its end and discards its output. Fails unless it ends with
// `exit_code`.
Cost Run(const Words& words, int exit_code) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  Check(posix_spawn_file_actions_init(&files) == 0 &&
            posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY,
                                             0) == 0 &&
            posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY,
                                             0) == 0,
        "the output cannot be redirected");

  const auto start = std::chrono::steady_clock::now();
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &files, nullptr,
                                 arguments.data(), environ);
  if (error != 0) {
    Fail("cannot run " + words[0] + ": " + std::strerror(error));
  }
  int status = 0;
  rusage usage = {};
  if (wait4(pid, &status, 0, &usage) != pid) {
    Fail("cannot wait for " + words[0] + ": " + std::strerror(errno));
  }
  Cost cost;
  cost.wall_ms = std::chrono::duration<double, std::milli>(
                     std::chrono::steady_clock::now() - start)
                     .count();
  cost.cpu_ms = Milliseconds(usage.ru_utime) + Milliseconds(usage.ru_stime);
  cost.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  posix_spawn_file_actions_destroy(&files);
  const std::string call = words[0] + " " + words[1] + " ...";
  if (!WIFEXITED(status)) {
    Fail(call + " was ended by signal " + std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != exit_code) {
    Fail(call + " ended with exit code " + std::to_string(WEXITSTATUS(status)) +
         ", not " + std::to_string(exit_code));
  }
  if (cost.wall_ms <= 0 || cost.peak_mb <= 0) {
    Fail(call + " took no time or no memory");
  }
  return cost;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns the median of the real time and the mean of the CPU time of many
// runs.
Cost RunOften(const Words& words) {
  std::vector<double> walls;
  Cost sum;
  for (int i = 0; i < kRunsPerRound; ++i) {
    const Cost cost = Run(words, /*exit_code=*/0);
    walls.push_back(cost.wall_ms);
    sum.cpu_ms += cost.cpu_ms / kRunsPerRound;
  }
  if (sum.cpu_ms <= 0) Fail(words[0] + " took no processor time");
  sum.wall_ms = Median(walls);
  return sum;
}

void PrintRow(const char* name, double ours, double theirs, const char* unit,
              double target) {
  const double ratio = ours / theirs;
  std::printf("%-42s %8.2f %-3s %8.2f %-3s %6.2fx  <= %.2fx  %s\n", name, ours,
              unit, theirs, unit, ratio, target,
              ratio <= target ? "ok" : "short");
}

// Returns a loopback port that accepts connections and never answers.
int OpenPort(int connections) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(fd, connections) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    Fail(std::string("cannot open a loopback port: ") + std::strerror(errno));
  }
  return ntohs(address.sin_port);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: command_costs WAITER\n");
    return 2;
  }
  const std::string waiter = argv[1];
  // Connections that no program accepts stay in the queue of the kernel.
  const std::string port =
      std::to_string(OpenPort(4 * kRounds * kRunsPerRound));
  const Words ours = {waiter, "tcp://127.0.0.1:" + port};
  const Words theirs = {"nc", "-z", "127.0.0.1", port};
  std::array<std::vector<double>, 2> wall;
  std::array<std::vector<double>, 2> cpu;
  for (int round = 0; round < kRounds; ++round) {
    const std::array costs = {RunOften(ours), RunOften(theirs)};
    for (size_t i = 0; i < costs.size(); ++i) {
      wall[i].push_back(costs[i].wall_ms);
      cpu[i].push_back(costs[i].cpu_ms);
    }
  }
  PrintRow("an open port, compared with nc -z: real", Median(wall[0]),
           Median(wall[1]), "ms", 1.3);
  PrintRow("the same: CPU", Median(cpu[0]), Median(cpu[1]), "ms", 1.3);

  Words many = {waiter, "--timeout=2s", "--progress=none"};
  const std::string silent = std::to_string(OpenPort(4096));
  for (int i = 0; i < 1000; ++i) {
    many.push_back("t" + std::to_string(i) + "=redis://127.0.0.1:" + silent);
  }
  PrintRow("1000 targets that do not answer: memory",
           Run(many, kTimedOut).peak_mb, 64, "MB", 1);
}
