// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/distributed/redis_under_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bench/check.h"

namespace waiter::bench {
namespace {

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  Check(bind(fd, any, length) == 0 && getsockname(fd, any, &length) == 0,
        "no free port");
  close(fd);
  return ntohs(address.sin_port);
}

void Sleep(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

RedisUnderTest::RedisUnderTest(int cpu) : port_(FreePort()) {
  std::string name =
      (std::filesystem::temp_directory_path() / "durable_costs.XXXXXX");
  Check(mkdtemp(name.data()) != nullptr, "no folder");
  folder_ = name;
  // Rewrites of the file are off, because they would disturb some rounds.
  std::vector<std::string> command = {"redis-server",
                                      "--port",
                                      absl::StrCat(port_),
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "yes",
                                      "--appendfsync",
                                      "everysec",
                                      "--auto-aof-rewrite-percentage",
                                      "0",
                                      "--maxmemory-policy",
                                      "noeviction",
                                      "--dir",
                                      folder_,
                                      "--logfile",
                                      folder_ + "/log"};
  if (cpu >= 0) {
    command.insert(command.end(), {"--server_cpulist", absl::StrCat(cpu)});
  }
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  Check(pid_ >= 0, "no process");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(arguments[0], arguments.data());
    std::perror(arguments[0]);
    _exit(127);
  }
  for (int i = 0; i < 500; ++i) {
    if (absl::StrContains(Run("PING"), "PONG")) return;
    Sleep(20);
  }
  Fail("redis-server does not start");
}

RedisUnderTest::~RedisUnderTest() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RedisUnderTest::Clear() const {
  Run("FLUSHALL SYNC");
  Run("BGREWRITEAOF");
  while (Info("persistence", "aof_rewrite_in_progress") != 0 ||
         Info("persistence", "aof_rewrite_scheduled") != 0) {
    Sleep(50);
  }
  Run("MEMORY PURGE");
  Run("CONFIG RESETSTAT");
}

double RedisUnderTest::CpuMicros() const {
  return 1e6 * (Info("cpu", "used_cpu_user_main_thread") +
                Info("cpu", "used_cpu_sys_main_thread"));
}

double RedisUnderTest::UsedMemory() const {
  return Info("memory", "used_memory");
}

std::map<std::string, double> RedisUnderTest::CommandMicros() const {
  std::map<std::string, double> micros;
  // cmdstat_zadd:calls=1,usec=2,...
  for (const absl::string_view line :
       absl::StrSplit(Run("INFO commandstats"), '\n')) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::ByAnyChar(":,"));
    if (parts.size() < 3 || !absl::StartsWith(parts[0], "cmdstat_")) continue;
    double usec = 0;
    if (!absl::SimpleAtod(absl::StripPrefix(parts[2], "usec="), &usec)) {
      continue;
    }
    micros[std::string(absl::StripPrefix(parts[0], "cmdstat_"))] = usec;
  }
  return micros;
}

double RedisUnderTest::Info(const std::string& section,
                            const std::string& field) const {
  const std::string info = Run("INFO " + section);
  const size_t at = info.find(field + ":");
  if (at == std::string::npos) Fail("no " + field);
  return std::strtod(info.c_str() + at + field.size() + 1, nullptr);
}

std::string RedisUnderTest::Run(const std::string& command) const {
  const std::string line =
      absl::StrCat("redis-cli -h 127.0.0.1 -p ", port_, " ", command, " 2>&1");
  // NOLINTNEXTLINE(cert-env33-c): of a measurement
  std::FILE* const pipe = popen(line.c_str(), "r");
  Check(pipe != nullptr, "no redis-cli");
  std::string output;
  std::array<char, 4096> bytes;
  while (const size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
    output.append(bytes.data(), count);
  }
  pclose(pipe);
  return output;
}

}  // namespace waiter::bench
