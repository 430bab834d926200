// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/postgres_server.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/support/redis_server.h"

namespace waiter {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kUser = "postgres";

// Returns the folder of the newest version's programs, or an empty string.
std::string Programs() {
  std::string found;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    const std::string folder = entry.path().string() + "/bin/";
    if (access((folder + "postgres").c_str(), X_OK) == 0) {
      found = std::max(found, folder);
    }
  }
  return found;
}

bool MustChangeUser() { return getuid() == 0 && getpwnam(kUser) != nullptr; }

// Returns the command that runs a program as a user other than root, and ends
// it with this process.
Words AsUser(const Words& command) {
  Words words = {"/usr/bin/setpriv", "--pdeathsig", "KILL"};
  if (MustChangeUser()) {
    words.insert(words.end(),
                 {"--reuid", kUser, "--regid", kUser, "--clear-groups"});
  }
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string Quote(const std::string& word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

// Returns the output of the command, without the last line break.
std::string Output(const Words& command) {
  Words quoted;
  for (const std::string& word : command) quoted.push_back(Quote(word));
  const std::string line = absl::StrCat(absl::StrJoin(quoted, " "), " 2>&1");
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

// Starts a program as the leader of a group of processes.
pid_t Spawn(Words command, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDONLY);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// Returns the processes that the server has started. Each has its own process
// group.
std::vector<pid_t> ChildrenOf(pid_t server) {
  std::vector<pid_t> children;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "stat");
    pid_t pid = 0;
    std::string name;
    char state = 0;
    pid_t parent = 0;
    if (file >> pid >> name >> state >> parent && parent == server) {
      children.push_back(pid);
    }
  }
  return children;
}

bool HasEnded(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == pid; }

// The path must be short, because the folder contains sockets.
std::string NewFolder() {
  std::string folder = "/tmp/waiter-pg.XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  if (MustChangeUser()) {
    const passwd* const user = getpwnam(kUser);
    EXPECT_EQ(chown(folder.c_str(), user->pw_uid, user->pw_gid), 0);
  }
  return folder;
}

void Sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

}  // namespace

bool PostgresServer::IsInstalled() {
  return !Programs().empty() && access("/usr/bin/setpriv", X_OK) == 0;
}

PostgresServer::PostgresServer(std::vector<std::string> settings)
    : settings_(std::move(settings)), folder_(NewFolder()) {
  const std::string output = Output(
      AsUser({Programs() + "initdb", "-D", folder_ + "/data", "-U", "waiter",
              "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}));
  EXPECT_TRUE(absl::StrContains(output, "Success")) << output;
  Start();
}

PostgresServer::PostgresServer(const PostgresServer& primary,
                               std::vector<std::string> settings)
    : settings_(std::move(settings)), folder_(NewFolder()) {
  const std::string output =
      Output(AsUser({Programs() + "pg_basebackup", "-D", folder_ + "/data",
                     "-h", "127.0.0.1", "-p", absl::StrCat(primary.port()),
                     "-U", "waiter", "-R", "--no-sync", "-c", "fast"}));
  EXPECT_FALSE(absl::StrContains(output, "error")) << output;
  Start();
}

PostgresServer::~PostgresServer() {
  Kill();
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

void PostgresServer::Start() {
  // Another program may take the port before the server does.
  for (int i = 0; i < 5; ++i) {
    if (port_ == 0) port_ = RedisServer::FreePort();
    if (StartOnce()) return;
    Kill();
    port_ = 0;
  }
  std::ifstream log(folder_ + "/log");
  ADD_FAILURE() << "postgres does not start: "
                << std::string(std::istreambuf_iterator<char>(log), {});
}

bool PostgresServer::StartOnce() {
  Words command = {Programs() + "postgres",
                   "-D",
                   folder_ + "/data",
                   "-h",
                   "127.0.0.1",
                   "-p",
                   absl::StrCat(port_),
                   "-k",
                   folder_};
  // Data need not survive a crash of the machine.
  Words settings = {"fsync=off", "shared_buffers=64MB",
                    "log_min_messages=warning"};
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  for (const std::string& setting : settings) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  pid_ = Spawn(AsUser(command), folder_ + "/log");
  for (int i = 0; i < 1500; ++i) {
    if (Run("SELECT 1") == "1") return true;
    if (HasEnded(pid_)) {
      pid_ = -1;
      return false;
    }
    Sleep();
  }
  return false;
}

void PostgresServer::Kill() {
  if (pid_ < 0) return;
  // A stopped server starts no more children.
  kill(pid_, SIGSTOP);
  const std::vector<pid_t> children = ChildrenOf(pid_);
  for (const pid_t child : children) kill(child, SIGKILL);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  for (const pid_t child : children) {
    while (kill(child, 0) == 0) Sleep();
  }
  pid_ = -1;
}

void PostgresServer::Stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGINT);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void PostgresServer::Pause() const {
  kill(pid_, SIGSTOP);
  for (const pid_t child : ChildrenOf(pid_)) kill(child, SIGSTOP);
}
void PostgresServer::Resume() const {
  for (const pid_t child : ChildrenOf(pid_)) kill(child, SIGCONT);
  kill(pid_, SIGCONT);
}
void PostgresServer::Promote() const {
  EXPECT_EQ(Run("SELECT pg_promote()"), "t");
}

std::string PostgresServer::Url(const std::string& user,
                                const std::string& database) const {
  return absl::StrCat("postgres://", user, "@127.0.0.1:", port_, "/", database);
}

std::string PostgresServer::Run(const std::string& sql) const {
  return Output({Programs() + "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c",
                 sql, Url()});
}

bool PgBouncer::IsInstalled() {
  return access("/usr/sbin/pgbouncer", X_OK) == 0;
}

PgBouncer::PgBouncer(const PostgresServer& server)
    : folder_(NewFolder()), port_(RedisServer::FreePort()) {
  const std::string file = folder_ + "/pgbouncer.ini";
  std::ofstream(file)
      << "[databases]\npostgres = host=127.0.0.1 user=waiter port="
      << server.port() << "\n[pgbouncer]\n"
      << "listen_addr = 127.0.0.1\nlisten_port = " << port_
      << "\nunix_socket_dir =\nauth_type = any\n"
      << "pool_mode = transaction\ndefault_pool_size = 2\n"
      << "logfile = " << folder_ << "/pgbouncer.log\n";
  pid_ = Spawn(AsUser({"/usr/sbin/pgbouncer", file}), folder_ + "/log");
  for (int i = 0; i < 250; ++i) {
    if (Output({Programs() + "psql", "-XAtqc", "SELECT 1", Url()}) == "1") {
      return;
    }
    Sleep();
  }
  std::ifstream log(folder_ + "/log");
  ADD_FAILURE() << "pgbouncer does not start: "
                << std::string(std::istreambuf_iterator<char>(log), {});
}

PgBouncer::~PgBouncer() {
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

std::string PgBouncer::Url() const {
  return absl::StrCat("postgres://waiter@127.0.0.1:", port_, "/postgres");
}

}  // namespace waiter
