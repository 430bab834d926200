// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the program itself. The program and the server that it starts hold the
// writing ends of pipes. Tests read to the end of the pipes, so a test fails if
// one of the two processes keeps running.

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "examples/file_descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter_examples {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using SteadyClock = std::chrono::steady_clock;

constexpr const char* kProgram = "examples/provision";
constexpr std::chrono::seconds kHungAfter(30);

// The limit of "immediately" under load. It is far below the waits that a bug
// would cause.
constexpr std::chrono::seconds kAtOnce(3);

class ProvisionTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef WAITER_HAS_CURL
    GTEST_SKIP() << "built without libcurl";
#endif
  }
};

class Provision {
 public:
  explicit Provision(std::vector<std::string> arguments) {
    Pipe out = MakePipe();
    Pipe err = MakePipe();
    arguments.insert(arguments.begin(), kProgram);
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out.writer.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.writer.get(), STDERR_FILENO);
    // The program gets its own process group, as from a shell, because Ctrl-C
    // goes to a whole group.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    EXPECT_EQ(posix_spawn(&pid_, kProgram, &actions, &attributes, argv.data(),
                          environ),
              0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    out_ = std::move(out.reader);
    err_ = std::move(err.reader);
  }

  ~Provision() { Finish(); }

  // Reads until `text` is on standard output.
  void AwaitOutput(std::string_view text) {
    while (!absl::StrContains(output_, text)) {
      if (!Read()) {
        ADD_FAILURE() << "no \"" << text << "\" in:\n" << output_ << errors_;
        return;
      }
    }
  }

  void Kill(int signal) const { kill(pid_, signal); }
  void PressCtrlC() const { kill(-pid_, SIGINT); }

  // Reads to the end and returns the exit code, or minus the signal that ended
  // the program.
  int Finish() {
    if (finished_) return exit_code_;
    finished_ = true;
    while (Read()) {
    }
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return exit_code_;
  }

  const std::string& output() const { return output_; }
  const std::string& errors() const { return errors_; }

 private:
  // Reads the available output. Returns false at the end of both streams.
  bool Read() {
    std::array<pollfd, 2> fds = {
        {{.fd = out_.get(), .events = POLLIN, .revents = 0},
         {.fd = err_.get(), .events = POLLIN, .revents = 0}}};
    if (!out_.valid() && !err_.valid()) return false;
    const int ready =
        poll(fds.data(), fds.size(),
             static_cast<int>(std::chrono::milliseconds(kHungAfter).count()));
    if (ready < 0 && errno == EINTR) return true;
    if (ready <= 0) {
      ADD_FAILURE() << "hung after:\n" << output_ << errors_;
      kill(-pid_, SIGKILL);
      return false;
    }
    if (fds[0].revents != 0) ReadFrom(out_, output_);
    if (fds[1].revents != 0) ReadFrom(err_, errors_);
    return true;
  }

  static void ReadFrom(FileDescriptor& fd, std::string& text) {
    std::array<char, 4096> buffer;
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<size_t>(got));
    } else if (got == 0) {
      fd.Close();
    }
  }

  pid_t pid_ = -1;
  FileDescriptor out_;
  FileDescriptor err_;
  std::string output_;
  std::string errors_;
  bool finished_ = false;
  int exit_code_ = 0;
};

// A socket on a loopback port that refuses connections until `Listen`.
class Loopback {
 public:
  Loopback() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size),
              0);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                          &size),
              0);
    url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port), "/");
  }

  void Listen() { EXPECT_EQ(listen(socket_.get(), 1), 0); }

  // Returns a connection that has received a whole request.
  FileDescriptor Accept() {
    pollfd listener = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (poll(&listener, 1,
             static_cast<int>(std::chrono::milliseconds(kHungAfter).count())) !=
        1) {
      ADD_FAILURE() << "no client has connected";
      return {};
    }
    FileDescriptor connection(accept(socket_.get(), nullptr, nullptr));
    std::string request;
    while (!request.ends_with("\r\n\r\n")) {
      char c = 0;
      if (recv(connection.get(), &c, 1, 0) != 1) break;
      request += c;
    }
    return connection;
  }

  const std::string& url() const { return url_; }

 private:
  FileDescriptor socket_;
  std::string url_;
};

void Answer(const FileDescriptor& connection, std::string_view answer) {
  send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
}

// Matches exactly one whole line.
MATCHER(IsOneLine, "") {
  return std::count(arg.begin(), arg.end(), '\n') == 1 && arg.back() == '\n';
}

// Returns whether `text` has all of `parts` in order.
testing::AssertionResult HasInOrder(
    std::string_view text, const std::vector<std::string_view>& parts) {
  size_t from = 0;
  for (const std::string_view part : parts) {
    const size_t at = text.find(part, from);
    if (at == std::string_view::npos) {
      return testing::AssertionFailure()
             << "no \"" << part << "\", or too early, in:\n"
             << text;
    }
    from = at + part.size();
  }
  return testing::AssertionSuccess();
}

TEST_F(ProvisionTest, WaitsForTheServerItStarts) {
  Provision provision({});
  EXPECT_EQ(provision.Finish(), 0);
  EXPECT_TRUE(HasInOrder(provision.output(),
                         {"Waiting for http://127.0.0.1:",
                          "1  not ready     no connection: Connection refused",
                          "server error  HTTP 503: Service Unavailable",
                          "throttled     HTTP 429: Too Many Requests, after 1s",
                          "success       HTTP 200: OK", "reason    success",
                          "attempts  ", "elapsed   "}));
  EXPECT_THAT(provision.errors(), IsEmpty());
  for (const std::string_view line : absl::StrSplit(provision.output(), '\n')) {
    EXPECT_LE(line.size(), 80) << line;
  }
}

TEST_F(ProvisionTest, PollsByWhatEarlierRunsTook) {
  const std::string file = testing::TempDir() + "/provisioning";
  std::ofstream(file) << "waiter durations 1\n"
                         "0.8\t0.9\tprovisioning\t.\n"
                         "0.8\t0.9\tprovisioning\t.\n"
                         "0.8\t0.9\tprovisioning\t.\n";
  Provision provision({"--learn=" + file, "--timeout=2m"});
  EXPECT_EQ(provision.Finish(), 0);
  // The first delay is half of the usual duration. Without --learn, it would be
  // at most 200 ms.
  EXPECT_TRUE(HasInOrder(provision.output(), {"Connection refused", " 0.4"}))
      << provision.output();
  std::ifstream lines(file);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'), 5);
}

TEST_F(ProvisionTest, WaitsForAServerOfTheUser) {
  Loopback server;
  server.Listen();
  Provision provision({"--url", server.url()});
  Answer(server.Accept(), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(provision.Finish(), 0);
  EXPECT_THAT(provision.output(), HasSubstr("HTTP 204: No Content"));
}

TEST_F(ProvisionTest, FailsAtTheTimeoutIfNothingListens) {
  const Loopback nothing;
  Provision provision({"--url=" + nothing.url(), "--timeout=200ms"});
  EXPECT_EQ(provision.Finish(), 1);
  EXPECT_THAT(provision.output(), HasSubstr("reason    deadline"));
  EXPECT_THAT(provision.errors(),
              AllOf(IsOneLine(), StartsWith("provision: DEADLINE_EXCEEDED: "),
                    EndsWith("last poll: not ready: no connection: "
                             "Connection refused\n")));
}

TEST_F(ProvisionTest, FailsAtOnceIfTheServerHasNoSuchPath) {
  Loopback server;
  server.Listen();
  Provision provision({"--url", server.url()});
  Answer(server.Accept(), "HTTP/1.1 404 Not Found\r\n\r\n");
  EXPECT_EQ(provision.Finish(), 1);
  EXPECT_THAT(provision.errors(),
              AllOf(IsOneLine(),
                    StartsWith("provision: NOT_FOUND: HTTP 404: Not Found ("),
                    HasSubstr(", after 1 attempt in ")));
}

TEST_F(ProvisionTest, AnswersAWrongCommandLineInOneLine) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--url=ftp://127.0.0.1/"},
      {"--url=127.0.0.1"},
      {"--url=http://a\nb/"},
      {"--url="},
      {"--url"},
      {"--timeout=banana"},
      {"--timeout=ba\nnana"},
      {"--timeout=30"},
      {"--timeout"},
      {"--timeout=0s"},
      {"--timeout=-1s"},
      {"--learn="},
      {"--learn=/nowhere/durations"},
      {"--nonesuch"},
      {"--none\nsuch=1"},
      {"http://127.0.0.1/"},
      {""},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    Provision provision(arguments);
    EXPECT_EQ(provision.Finish(), 2) << arguments[0];
    EXPECT_THAT(provision.output(), IsEmpty()) << arguments[0];
    EXPECT_THAT(provision.errors(),
                AllOf(IsOneLine(), StartsWith("provision: ")))
        << arguments[0];
  }
}

TEST_F(ProvisionTest, ExplainsItself) {
  Provision provision({"--help"});
  EXPECT_EQ(provision.Finish(), 0);
  EXPECT_THAT(provision.output(),
              AllOf(HasSubstr("--url"), HasSubstr("--timeout")));
  EXPECT_THAT(provision.errors(), IsEmpty());
}

TEST_F(ProvisionTest, CtrlCEndsTheDefaultRun) {
  Provision provision({});
  provision.AwaitOutput("HTTP 429: Too Many Requests");
  provision.PressCtrlC();
  EXPECT_EQ(provision.Finish(), 130);
  EXPECT_THAT(provision.output(), HasSubstr("reason    cancelled"));
  EXPECT_EQ(provision.errors(),
            "provision: stopped by Ctrl-C; last seen: throttled: HTTP 429: "
            "Too Many Requests\n");
}

TEST_F(ProvisionTest, CtrlCEndsALongSleepAtOnce) {
  Loopback server;
  server.Listen();
  Provision provision({"--url", server.url()});
  Answer(server.Accept(), "HTTP/1.1 503 Busy\r\nRetry-After: 20\r\n\r\n");
  provision.AwaitOutput("HTTP 503: Busy");
  const auto pressed = SteadyClock::now();
  provision.PressCtrlC();
  EXPECT_EQ(provision.Finish(), 130);
  EXPECT_LT(SteadyClock::now() - pressed, kAtOnce);
}

TEST_F(ProvisionTest, CtrlCEndsAHangingPollAtOnceAndRecallsTheOneBefore) {
  Loopback server;
  server.Listen();
  Provision provision({"--url", server.url()});
  Answer(server.Accept(), "HTTP/1.1 500 Oops\r\n\r\n");
  const FileDescriptor hanging = server.Accept();
  const auto pressed = SteadyClock::now();
  provision.PressCtrlC();
  EXPECT_EQ(provision.Finish(), 130);
  EXPECT_LT(SteadyClock::now() - pressed, kAtOnce);
  EXPECT_EQ(provision.errors(),
            "provision: stopped by Ctrl-C; last seen: server error: HTTP 500: "
            "Oops\n");
}

TEST_F(ProvisionTest, SigtermEndsItToo) {
  Loopback server;
  server.Listen();
  Provision provision({"--url", server.url()});
  const FileDescriptor hanging = server.Accept();
  provision.Kill(SIGTERM);
  EXPECT_EQ(provision.Finish(), 143);
  EXPECT_EQ(provision.errors(),
            "provision: stopped by SIGTERM; last seen: nothing\n");
}

TEST_F(ProvisionTest, LeavesNoServerBehindWhenItIsKilled) {
  Provision provision({});
  provision.AwaitOutput("Connection refused");
  provision.Kill(SIGKILL);
  EXPECT_EQ(provision.Finish(), -SIGKILL);
}

}  // namespace
}  // namespace waiter_examples
