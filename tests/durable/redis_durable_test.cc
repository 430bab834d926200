// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests durable waits on a real server, which is killed and stopped. The
// workers are threads.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/support/redis_server.h"
#include "waiter/durable/client.h"
#include "waiter/durable/redis_store.h"
#include "waiter/durable/worker.h"
#include "waiter/poll.h"
#include "waiter/redis/client.h"

namespace waiter {
namespace {

constexpr int kWaits = 200;

class RedisDurableTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    std::filesystem::create_directories(folder_);
    server_ = std::make_unique<RedisServer>(std::vector<std::string>{
        "--appendonly", "yes", "--appendfsync", "everysec", "--dir", folder_});
  }
  void TearDown() override {
    workers_.clear();
    server_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  std::shared_ptr<RedisWaitStore> MakeStore() {
    return std::make_shared<RedisWaitStore>(
        *RedisClient::Make(server_->Url(), {.call_timeout = absl::Seconds(2)}));
  }

  void AddWorker() {
    auto waits = *DurableWaits::Make(
        MakeStore(),
        {.threads = 2, .partitions = 4, .lease = absl::Seconds(3)});
    const absl::Status status = waits->Register(
        "job",
        {.timeout = absl::Minutes(2),
         .backoff = {.initial_delay = absl::Milliseconds(200),
                     .max_delay = absl::Seconds(2)}},
        [this](const DurablePoll& poll) -> Poll<std::string> {
          const std::lock_guard lock(mutex_);
          ++polls_;
          int64_t& fence = fences_[std::string(poll.key)];
          if (poll.fence < fence) ++late_;
          fence = std::max(fence, poll.fence);
          if (!are_ready_) return NotReady();
          return Success(absl::StrCat("done ", std::string(poll.key)));
        },
        [this](const DurableResult& result) {
          const std::lock_guard lock(mutex_);
          ++deliveries_;
          results_[result.key].insert(absl::StrCat(
              result.idempotency_key, " ", result.value.value_or("failed")));
          return absl::OkStatus();
        });
    EXPECT_TRUE(status.ok()) << status;
    waits->Start();
    workers_.push_back(std::move(waits));
  }

  void EnqueueAll() {
    auto client = *DurableClient::Make(MakeStore(), {.partitions = 4});
    std::vector<DurableRequest> requests;
    for (int i = 0; i < kWaits; ++i) {
      requests.push_back({.key = absl::StrCat("k", i)});
    }
    std::promise<absl::StatusOr<int64_t>> created;
    client->EnqueueMany("job", requests, [&](absl::StatusOr<int64_t> got) {
      created.set_value(std::move(got));
    });
    const absl::StatusOr<int64_t> count = created.get_future().get();
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(*count, kWaits);
  }

  // Returns whether `condition` came true, under the mutex, within a minute.
  bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 600; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (condition()) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  void LetAllSucceed() {
    const std::lock_guard lock(mutex_);
    are_ready_ = true;
  }

  // Makes all waits succeed, and expects one result for each within a minute.
  void ExpectAllResults() {
    LetAllSucceed();
    EXPECT_TRUE(Eventually([this] { return results_.size() == kWaits; }));
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(results_.size(), kWaits);
    for (const auto& [key, results] : results_) {
      EXPECT_EQ(results.size(), 1) << key;
    }
    EXPECT_EQ(late_, 0);
  }

  static void Sleep(int64_t seconds) {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
  }

  const std::string folder_ = absl::StrCat(
      testing::TempDir(), "/",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  std::unique_ptr<RedisServer> server_;
  std::mutex mutex_;
  bool are_ready_ = false;
  int64_t polls_ = 0;
  int64_t late_ = 0;
  int64_t deliveries_ = 0;
  std::map<std::string, int64_t> fences_;
  std::map<std::string, std::set<std::string>> results_;
  std::vector<std::unique_ptr<DurableWaits>> workers_;
};

TEST_F(RedisDurableTest, WorkersShareTheWaits) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(2);
  ExpectAllResults();
}

TEST_F(RedisDurableTest, WorkerThatEndsWithoutADrainLosesNothing) {
  EnqueueAll();
  AddWorker();
  Sleep(2);
  workers_.clear();
  AddWorker();
  ExpectAllResults();
}

TEST_F(RedisDurableTest, DrainGivesAllBack) {
  EnqueueAll();
  AddWorker();
  Sleep(2);
  EXPECT_TRUE(workers_[0]->Drain(absl::Seconds(10)));
  EXPECT_EQ(workers_[0]->State().held, 0);
  AddWorker();
  ExpectAllResults();
}

TEST_F(RedisDurableTest, KilledServerThatKeptItsFileLosesNothing) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  for (int i = 0; i < 2; ++i) {
    Sleep(2);
    server_->Kill();
    Sleep(1);
    server_->Start();
  }
  ExpectAllResults();
}

// The server restarts with a file from before the results were recorded.
TEST_F(RedisDurableTest, ResultsOfALostTailAreFoundAndDeliveredAgain) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(2);
  const std::string file = folder_ + "/appendonlydir";
  std::filesystem::copy(file, folder_ + "/kept",
                        std::filesystem::copy_options::recursive);
  LetAllSucceed();
  EXPECT_TRUE(Eventually([this] { return results_.size() == kWaits; }));
  server_->Kill();
  std::filesystem::remove_all(file);
  std::filesystem::rename(folder_ + "/kept", file);
  server_->Start();
  EXPECT_TRUE(Eventually([this] { return deliveries_ >= 2 * kWaits; }));
  // The repeated deliveries have the same idempotency keys.
  ExpectAllResults();
}

TEST_F(RedisDurableTest, EmptiedServerLosesAllAndWorkersGoOnWithWhatComes) {
  EnqueueAll();
  AddWorker();
  Sleep(1);
  ASSERT_GT(workers_[0]->State().held, 0);
  server_->Run({"FLUSHALL"});
  EXPECT_TRUE(Eventually([this] {
    const DurableWaitsState state = workers_[0]->State();
    return state.lost > 0 && state.held == 0;
  }));
  EnqueueAll();
  ExpectAllResults();
}

TEST_F(RedisDurableTest, FullServerRefusesEnqueuesAndWorkersGoOn) {
  EnqueueAll();
  AddWorker();
  server_->Run({"CONFIG", "SET", "maxmemory", "1"});
  auto client = *DurableClient::Make(MakeStore(), {.partitions = 4});
  std::promise<absl::StatusOr<bool>> created;
  client->Enqueue("job", {.key = "new"}, [&](absl::StatusOr<bool> got) {
    created.set_value(std::move(got));
  });
  EXPECT_EQ(created.get_future().get().status().code(),
            absl::StatusCode::kResourceExhausted);
  ExpectAllResults();
}

TEST_F(RedisDurableTest, SlowScriptOfAnotherProgramOnlyDelays) {
  server_->Run({"CONFIG", "SET", "busy-reply-threshold", "100"});
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(1);
  std::thread slow([this] {
    server_->Run({"EVAL", "while true do end", "0"});
  });
  Sleep(1);
  EXPECT_THAT(server_->Run({"PING"}), testing::HasSubstr("BUSY"));
  // The script runs for longer than a lease.
  Sleep(4);
  server_->Run({"SCRIPT", "KILL"});
  slow.join();
  ExpectAllResults();
}

TEST_F(RedisDurableTest, ServerThatStandsStillForLongerThanALease) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(2);
  server_->Pause();
  Sleep(5);
  server_->Resume();
  ExpectAllResults();
}

TEST_F(RedisDurableTest, KilledConnectionsAndFlushedScriptsChangeNothing) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  for (int i = 0; i < 3; ++i) {
    Sleep(1);
    server_->Run({"CLIENT", "KILL", "TYPE", "normal"});
    server_->Run({"SCRIPT", "FLUSH"});
  }
  ExpectAllResults();
}

}  // namespace
}  // namespace waiter

#else

TEST(RedisDurableTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif
