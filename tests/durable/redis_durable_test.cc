// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests durable waits on a real server, which is killed and stopped. The
// workers are threads.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/durable/live_workers.h"
#include "tests/durable/store_calls.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/redis_server.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/client.h"
#include "waiter/durable/redis_store.h"
#include "waiter/durable/store.h"
#include "waiter/redis/client.h"
#include "waiter/testing/gtest.h"

namespace waiter {
namespace {

constexpr int kWaits = 200;

class RedisDurableTest : public FolderFixture, protected LiveWorkers {
 protected:
  RedisDurableTest()
      : LiveWorkers(kWaits,
                    {.threads = 2, .partitions = 4, .lease = absl::Seconds(3)},
                    /*limit=*/absl::Minutes(1)) {}

  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>(std::vector<std::string>{
        "--appendonly", "yes", "--appendfsync", "everysec", "--dir", folder()});
  }
  void TearDown() override {
    workers_.clear();
    server_ = nullptr;
  }

  std::shared_ptr<WaitStore> MakeStore() override {
    return std::make_shared<RedisWaitStore>(
        *RedisClient::Make(server_->Url(), {.call_timeout = absl::Seconds(2)}));
  }

  void ExpectAllResultsWithoutOldPolls() {
    ExpectAllResults();
    EXPECT_EQ(late(), 0);
  }

  std::unique_ptr<RedisServer> server_;
};

TEST_F(RedisDurableTest, WorkersShareTheWaits) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(2);
  ExpectAllResultsWithoutOldPolls();
}

TEST_F(RedisDurableTest, WorkerThatEndsWithoutADrainLosesNothing) {
  EnqueueAll();
  AddWorker();
  Sleep(2);
  workers_.clear();
  AddWorker();
  ExpectAllResultsWithoutOldPolls();
}

TEST_F(RedisDurableTest, DrainGivesAllBack) {
  EnqueueAll();
  AddWorker();
  Sleep(2);
  EXPECT_TRUE(workers_[0]->Drain(absl::Seconds(10)));
  EXPECT_EQ(workers_[0]->State().held, 0);
  AddWorker();
  ExpectAllResultsWithoutOldPolls();
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
  ExpectAllResultsWithoutOldPolls();
}

// The server restarts with a file from before the results were recorded.
TEST_F(RedisDurableTest, ResultsOfALostTailAreFoundAndDeliveredAgain) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(2);
  const std::string file = Path("appendonlydir");
  std::filesystem::copy(file, Path("kept"),
                        std::filesystem::copy_options::recursive);
  LetAllSucceed();
  EXPECT_EVENTUALLY(results(), kWaits);
  server_->Kill();
  std::filesystem::remove_all(file);
  std::filesystem::rename(Path("kept"), file);
  server_->Start();
  EXPECT_EVENTUALLY(deliveries(), testing::Ge(2 * kWaits));
  // The repeated deliveries have the same idempotency keys.
  ExpectAllResultsWithoutOldPolls();
}

TEST_F(RedisDurableTest, EmptiedServerLosesAllAndWorkersGoOnWithWhatComes) {
  EnqueueAll();
  AddWorker();
  Sleep(1);
  ASSERT_GT(workers_[0]->State().held, 0);
  server_->Run({"FLUSHALL"});
  EXPECT_EVENTUALLY(workers_[0]->State().lost > 0 &&
                    workers_[0]->State().held == 0);
  EnqueueAll();
  ExpectAllResultsWithoutOldPolls();
}

TEST_F(RedisDurableTest, FullServerRefusesEnqueuesAndWorkersGoOn) {
  EnqueueAll();
  AddWorker();
  server_->Run({"CONFIG", "SET", "maxmemory", "1"});
  const auto client = MakeClient();
  EXPECT_THAT(AnswerOf<bool>([&](auto callback) {
                client->Enqueue("job", {.key = "new"}, std::move(callback));
              }).status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ExpectAllResultsWithoutOldPolls();
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
  ExpectAllResultsWithoutOldPolls();
}

TEST_F(RedisDurableTest, ServerThatStandsStillForLongerThanALease) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(2);
  server_->Pause();
  Sleep(5);
  server_->Resume();
  ExpectAllResultsWithoutOldPolls();
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
  ExpectAllResultsWithoutOldPolls();
}

}  // namespace
}  // namespace waiter

#else

TEST(RedisDurableTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif
