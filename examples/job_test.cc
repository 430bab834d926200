// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests of another process, whose state they poll in real time. They take as
// long as the job, about half a second; only a failing test takes as long as
// its limit.

#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/file_descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "waiter/testing/gtest.h"

namespace waiter_examples {
namespace {

using ::testing::Gt;
using ::waiter::EventuallyOptions;
using ::waiter::FailIf;

// A process of the program `job`, which ends with this object.
class Job {
 public:
  explicit Job(std::vector<std::string> arguments = {})
      : path_(absl::StrCat(testing::TempDir(), "/job-", getpid(), "-",
                           ++count_)) {
    Pipe input = MakePipe();
    arguments.insert(arguments.begin(), {kProgram, path_});
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.reader.get(),
                                     STDIN_FILENO);
    EXPECT_EQ(
        posix_spawn(&pid_, kProgram, &actions, nullptr, argv.data(), environ),
        0);
    posix_spawn_file_actions_destroy(&actions);
    input_ = std::move(input.writer);
  }

  ~Job() {
    input_.Close();
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    std::filesystem::remove(path_);
  }

  // Return the state and port that the job wrote last; "" and 0 if none.
  std::string State() const { return Word(0); }
  uint16_t Port() const {
    uint32_t port = 0;
    return absl::SimpleAtoi(Word(1), &port) ? static_cast<uint16_t>(port) : 0;
  }

 private:
  std::string Word(int index) const {
    std::string word;
    std::ifstream file(path_);
    for (int i = 0; i <= index; ++i) {
      word.clear();
      file >> word;
    }
    return word;
  }

  static constexpr const char* kProgram = "examples/job";
  static inline int count_ = 0;

  std::string path_;
  FileDescriptor input_;
  pid_t pid_ = -1;
};

// Returns kUnavailable, after which polls continue, while no server answers.
absl::Status Connect(uint16_t port) {
  const FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (connect(client.get(), reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  return errno == ECONNREFUSED ? absl::UnavailableError("connection refused")
                               : absl::ErrnoToStatus(errno, "cannot connect");
}

// A limit far above the job's time, for slow machines.
const EventuallyOptions kPatiently = {.timeout = absl::Seconds(30)};

TEST(JobTest, JobStartsAnswersAndIsDone) {
  const Job job;

  ASSERT_EVENTUALLY(job.Port(), Gt(0), kPatiently);
  EXPECT_EVENTUALLY(Connect(job.Port()), absl::OkStatus(), kPatiently);
  EXPECT_CONSISTENTLY(Connect(job.Port()), absl::OkStatus(),
                      {.hold_for = absl::Milliseconds(50)});
  EXPECT_EVENTUALLY(job.State(), "DONE", kPatiently, FailIf("FAILED"));
}

TEST(JobTest, FailedJobIsNotWaitedFor) {
  const Job job({"fail"});

  EXPECT_NONFATAL_FAILURE(
      EXPECT_EVENTUALLY(job.State(), "DONE", kPatiently, FailIf("FAILED")),
      "FailIf(is equal to \"FAILED\")");
}

}  // namespace
}  // namespace waiter_examples
