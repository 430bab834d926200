// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the three workers of examples/shared_budget as processes, with a real
// Redis server, in real time.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/redis_server.h"

namespace waiter {
namespace {

constexpr size_t kWorkers = 3;
constexpr double kRate = 20;
// The seconds in which the workers start, and the seconds that are measured.
constexpr size_t kStart = 2;
constexpr size_t kSeconds = 6;

// The output of a worker that is stopped after some seconds.
class Worker {
 public:
  explicit Worker(const RedisServer& server)
      // NOLINTNEXTLINE(cert-env33-c): of a test
      : output_(popen(absl::StrCat("REDIS_URL=", server.Url(),
                                   " POLLS_PER_SECOND=", kRate,
                                   " timeout --foreground --preserve-status ",
                                   kStart + kSeconds + 1,
                                   " examples/shared_budget/worker 2>&1")
                          .c_str(),
                      "r")) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (output_ != nullptr) pclose(output_);
  }

  // Waits until the worker has ended, with success, and returns its lines.
  std::vector<std::string> Lines() {
    std::string text;
    std::array<char, 1024> bytes;
    while (const size_t count = fread(bytes.data(), 1, bytes.size(), output_)) {
      text.append(bytes.data(), count);
    }
    const int status = pclose(output_);
    output_ = nullptr;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << status << ": " << text;
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }

 private:
  FILE* output_;
};

double PollsOf(std::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  double polls = -1;
  EXPECT_TRUE(absl::StartsWith(line, "polls=") &&
              absl::SimpleAtod(words[0].substr(6), &polls))
      << line;
  return polls;
}

TEST(RedisWorkersTest, ThreeWorkersKeepOneLimit) {
  if (!RedisServer::IsInstalled()) {
    GTEST_SKIP() << "redis-server is not installed";
  }
  const RedisServer server;
  std::array<Worker, kWorkers> workers = {Worker(server), Worker(server),
                                          Worker(server)};
  double all = 0;
  std::vector<double> each;
  for (Worker& worker : workers) {
    const std::vector<std::string> lines = worker.Lines();
    ASSERT_GE(lines.size(), kStart + kSeconds);
    double polls = 0;
    for (size_t i = kStart; i < kStart + kSeconds; ++i) {
      polls += PollsOf(lines[i]);
      EXPECT_TRUE(absl::StrContains(lines[i], " mode=shared members=3 OK"))
          << lines[i];
    }
    each.push_back(polls);
    all += polls;
  }
  // The workers may exceed the rate by a horizon and a poll. They also count
  // from different moments.
  EXPECT_LE(all, kRate * (kSeconds + 0.5 + 1) + 1);
  // A busy machine uses less of the rate.
  EXPECT_GE(all, 0.7 * kRate * kSeconds);
  for (const double polls : each) {
    EXPECT_GE(polls, 0.2 * all);
    EXPECT_LE(polls, 0.5 * all);
  }
}

}  // namespace
}  // namespace waiter

#else  // WAITER_HAS_HIREDIS

TEST(RedisWorkersTest, NeedsHiredis) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif  // WAITER_HAS_HIREDIS
