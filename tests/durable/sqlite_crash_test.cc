// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Kills processes at random moments while they write to an SQLite file. After
// each kill, the file must be sound and have all acknowledged writes:
//
//   sqlite_crash_test
//   WAITER_TEST_KILLS=1000 WAITER_TEST_SEED=5 sqlite_crash_test

#ifdef WAITER_HAS_SQLITE

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/sqlite_file.h"
#include "tests/durable/store_calls.h"
#include "tests/support/first_seed.h"
#include "waiter/durable/client.h"
#include "waiter/durable/sqlite_store.h"
#include "waiter/durable/store.h"

extern char** environ;

namespace waiter {
namespace {

constexpr int64_t kMinute = 60'000'000;
const WaitPartition kPartition = {.space = "default", .name = "n"};

// The child runs this until it is killed. It writes a line for each
// acknowledged enqueue ("e KEY") and delivery ("d KEY").
class Writer {
 public:
  Writer(std::shared_ptr<WaitStore> store, uint64_t seed)
      : store_(std::move(store)), random_(seed), seed_(seed) {}

  [[noreturn]] void Run() {
    while (true) {
      Enqueue();
      Settle(Claim());
      if (Below(4) == 0) Cancel();
      if (Below(4) == 0) Heartbeat();
    }
  }

 private:
  int64_t Below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }

  void Enqueue() {
    std::vector<EnqueueItem> items;
    for (int64_t i = Below(20); i >= 0; --i) {
      // Large arguments need their own pages.
      items.push_back({.key = absl::StrCat("k", seed_, "-", ++keys_),
                       .record = "r",
                       .args = std::string(Below(3) == 0 ? 6000 : 0, 'a')});
    }
    const std::vector<EnqueueItem> sent = items;
    const auto reply = AnswerOf<EnqueueReply>([&](auto callback) {
      store_->Enqueue({.partition = kPartition,
                       .most_pending = 1'000'000,
                       .items = std::move(items)},
                      std::move(callback));
    });
    if (!reply.ok()) std::abort();
    for (const EnqueueItem& item : sent) {
      std::printf("e %s\n", item.key.c_str());
    }
    std::fflush(stdout);
  }

  ClaimReply Claim() {
    const auto reply = AnswerOf<ClaimReply>([&](auto callback) {
      // With short leases, later claims take the same waits again.
      store_->Claim({.partition = kPartition,
                     .most = 1 + Below(30),
                     .lease_us = 1000 * (1 + Below(20))},
                    std::move(callback));
    });
    if (!reply.ok()) std::abort();
    return *reply;
  }

  void Settle(const ClaimReply& claimed) {
    constexpr std::array kActions = {
        SettleAction::kRelease, SettleAction::kHold, SettleAction::kEnd,
        SettleAction::kEndUnheard, SettleAction::kDelivered};
    std::vector<SettleItem> items;
    std::set<std::string> delivered;
    for (const ClaimedWait& wait : claimed.waits) {
      SettleAction action = kActions.at(static_cast<size_t>(Below(4)));
      const bool has_ended = wait.record.front() == '1';
      if (has_ended) action = SettleAction::kDelivered;
      const bool is_over = action == SettleAction::kDelivered ||
                           action == SettleAction::kEndUnheard;
      if (is_over) delivered.insert(wait.key);
      items.push_back(
          {.key = wait.key,
           .fence = claimed.fence,
           .action = action,
           .delay_us = 100 * Below(100),
           .record = is_over                        ? "2over"
                     : action == SettleAction::kEnd ? "1ended"
                                                    : wait.record,
           .value = std::string(static_cast<size_t>(Below(5000)), 'v'),
           .reason = "success"});
    }
    if (items.empty()) return;
    const auto reply = AnswerOf<SettleReply>([&](auto callback) {
      store_->Settle({.partition = kPartition,
                      .lease_us = 1000,
                      .retain_us = 1000 * kMinute,
                      .items = std::move(items)},
                     std::move(callback));
    });
    if (!reply.ok()) std::abort();
    for (const std::string& lost : reply->lost) delivered.erase(lost);
    for (const std::string& key : delivered) std::printf("d %s\n", key.c_str());
    std::fflush(stdout);
  }

  void Cancel() {
    AnswerOf<std::vector<StoredWait>>([&](auto callback) {
      store_->Signal(
          {.partition = kPartition,
           .keys = {absl::StrCat("k", seed_, "-", Below(100))},
           .signal = Below(2) == 0 ? WaitSignal::kCancel : WaitSignal::kNotify},
          std::move(callback));
    }).IgnoreError();
  }
  void Heartbeat() {
    AnswerOf<std::vector<std::string>>([&](auto callback) {
      store_->Heartbeat({.space = "default", .worker = absl::StrCat(Below(5))},
                        std::move(callback));
    }).IgnoreError();
  }

  const std::shared_ptr<WaitStore> store_;
  std::mt19937_64 random_;
  const uint64_t seed_;
  int64_t keys_ = 0;
};

int RunChild(const char* path, uint64_t seed) {
  auto store = MakeSqliteWaitStore(path, {.syncs = seed % 2 == 0});
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  Writer(*std::move(store), seed).Run();
}

// Starts the child. Its output can be read from `from`.
pid_t Start(const std::string& path, uint64_t seed, int& from) {
  std::array<int, 2> ends = {};
  EXPECT_EQ(pipe(ends.data()), 0);
  from = ends[0];
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_t actions = {};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::array<std::string, 4> words = {"child", "--child", path,
                                      absl::StrCat(seed)};
  std::array<char*, 5> arguments = {};
  for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", &actions, nullptr,
                        arguments.data(), environ),
            0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  return child;
}

// Runs the child and returns its output. Kills it `delay` after its first line,
// or after its start for every fifth seed.
std::string RunAndKill(const std::string& path, uint64_t seed,
                       std::chrono::microseconds delay) {
  int from = 0;
  const pid_t child = Start(path, seed, from);
  std::thread killer;
  const auto kill_later = [&] {
    killer = std::thread([=] {
      std::this_thread::sleep_for(delay);
      kill(child, SIGKILL);
    });
  };
  if (seed % 5 == 0) kill_later();
  std::string all;
  std::array<char, 4096> bytes = {};
  ssize_t size = 0;
  while ((size = read(from, bytes.data(), bytes.size())) > 0) {
    all.append(bytes.data(), static_cast<size_t>(size));
    if (!killer.joinable()) kill_later();
  }
  EXPECT_TRUE(killer.joinable()) << "the child has ended on its own";
  if (killer.joinable()) killer.join();
  close(from);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  return all;
}

// The acknowledged writes.
struct Acknowledged {
  std::set<std::string> keys;
  std::set<std::string> delivered;

  void Read(const std::string& text) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      // The last line may be incomplete.
      if (line.size() < 3 ||
          line.data() + line.size() == text.data() + text.size()) {
        continue;
      }
      (line[0] == 'e' ? keys : delivered).emplace(line.substr(2));
    }
  }
};

void Expect(const Acknowledged& acknowledged, WaitStore& store) {
  const std::vector<std::string> keys(acknowledged.keys.begin(),
                                      acknowledged.keys.end());
  const auto rows = AnswerOf<std::vector<StoredWait>>(
      [&](auto callback) { store.Get(kPartition, keys, std::move(callback)); });
  ASSERT_TRUE(rows.ok()) << rows.status();
  for (const StoredWait& wait : *rows) {
    EXPECT_TRUE(wait.exists()) << wait.key;
    EXPECT_TRUE(acknowledged.delivered.count(wait.key) == 0 ||
                wait.record == "2over")
        << wait.key << " " << wait.record;
  }
}

int64_t Kills() {
  const char* const text = std::getenv("WAITER_TEST_KILLS");
  int64_t kills = 50;
  if (text != nullptr && !absl::SimpleAtoi(text, &kills)) std::abort();
  return kills;
}

TEST(SqliteCrashTest, FileIsSoundAndCompleteWhereverItsWriterDies) {
  const uint64_t first = FirstSeed();
  const SqliteFile file;
  Acknowledged acknowledged;
  int64_t all = 0;
  for (int64_t i = 0; i < Kills(); ++i) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    // Each file is used for 20 kills.
    if (i % 20 == 0) {
      file.Remove();
      all += static_cast<int64_t>(acknowledged.keys.size());
      acknowledged = {};
    }
    std::mt19937_64 random(seed);
    const std::chrono::microseconds delay(
        std::uniform_int_distribution<int64_t>(0, 40'000)(random));
    acknowledged.Read(RunAndKill(file.path(), seed, delay));
    const auto store = MakeSqliteWaitStore(file.path());
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_NO_FATAL_FAILURE(Expect(acknowledged, **store));
    const auto report = AnswerOf<DurableCheckReport>([&](auto callback) {
      CheckDurableWaits(*store, "n", {.partitions = 1}, callback);
    });
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->is_clean()) << ToString(report->findings.at(0));
    EXPECT_EQ(report->uncounted, 0);
    EXPECT_EQ(file.Run("PRAGMA integrity_check"), "ok");
    if (HasFailure()) return;
  }
  all += static_cast<int64_t>(acknowledged.keys.size());
  std::printf("%s\n", absl::StrCat(Kills(), " kills, ", all,
                                   " acknowledged waits, seeds from ", first)
                          .c_str());
  EXPECT_GT(all, 0);
}

}  // namespace
}  // namespace waiter

int main(int argc, char** argv) {
  uint64_t seed = 0;
  if (argc == 4 && std::string(argv[1]) == "--child" &&
      absl::SimpleAtoi(argv[3], &seed)) {
    return waiter::RunChild(argv[2], seed);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

#else  // WAITER_HAS_SQLITE

#include "gtest/gtest.h"

TEST(SqliteCrashTest, NeedsSqlite) { GTEST_SKIP() << "built without SQLite"; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

#endif  // WAITER_HAS_SQLITE
