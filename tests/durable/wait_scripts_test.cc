// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the scripts of durable waits, on a real server, with the book on
// which simulations run, at given times.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/support/first_seed.h"
#include "tests/support/redis_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_reply.h"
#include "waiter/distributed/wait_store.h"
#include "waiter/durable/wait_scripts.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kStart = 1'790'000'000'000'000;

class WaitScriptsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>();
    client_ = *RedisClient::Make(server_->Url());
  }

  // Runs the script as if the server's clock showed `now_`.
  absl::StatusOr<RedisReply> Run(const RedisScript& script,
                                 const WaitPartition& partition,
                                 std::vector<std::string> arguments) {
    const RedisScript at_time(absl::StrReplaceAll(
        script.text(),
        {{"redis.call('TIME')",
          absl::StrCat("{", now_ / 1'000'000, ", ", now_ % 1'000'000, "}")}}));
    std::promise<absl::StatusOr<RedisReply>> reply;
    client_->Call(at_time, internal::PartitionKeys(partition),
                  std::move(arguments), [&](absl::StatusOr<RedisReply> got) {
                    reply.set_value(std::move(got));
                  });
    return reply.get_future().get();
  }

  absl::StatusOr<EnqueueReply> Enqueue(const EnqueueRequest& request) {
    return internal::ToEnqueueReply(Run(internal::EnqueueScript(),
                                        request.partition,
                                        internal::EnqueueArguments(request)));
  }
  absl::StatusOr<ClaimReply> Claim(const ClaimRequest& request) {
    return internal::ToClaimReply(Run(internal::ClaimScript(),
                                      request.partition,
                                      internal::ClaimArguments(request)));
  }
  absl::StatusOr<SettleReply> Settle(const SettleRequest& request) {
    return internal::ToSettleReply(Run(internal::SettleScript(),
                                       request.partition,
                                       internal::SettleArguments(request)));
  }
  absl::StatusOr<std::vector<StoredWait>> Get(std::vector<std::string> keys) {
    return internal::ToStoredWaits(
        Run(internal::GetScript(), partition_, std::move(keys)));
  }

  void ExpectSameClaims(const ClaimRequest& request);
  void ExpectSameSettle(const SettleRequest& request);
  void ExpectSameRows(const std::vector<StoredWait>& script,
                      const std::vector<StoredWait>& book);

  const WaitPartition partition_{.space = "s", .name = "n", .index = 3};
  int64_t now_ = kStart;
  std::unique_ptr<RedisServer> server_;
  std::shared_ptr<RedisClient> client_;
  WaitBook book_;
  // What holders, some of which forget it, were told.
  std::map<std::string, int64_t> fences_;
};

void WaitScriptsTest::ExpectSameClaims(const ClaimRequest& request) {
  const absl::StatusOr<ClaimReply> script = Claim(request);
  ASSERT_TRUE(script.ok()) << script.status();
  const ClaimReply book = book_.Claim(request, now_);
  EXPECT_EQ(script->now_us, book.now_us);
  EXPECT_EQ(script->fence, book.fence);
  EXPECT_EQ(script->next_us, book.next_us);
  ASSERT_EQ(script->waits.size(), book.waits.size());
  for (size_t i = 0; i < book.waits.size(); ++i) {
    EXPECT_EQ(script->waits[i].key, book.waits[i].key);
    EXPECT_EQ(script->waits[i].record, book.waits[i].record);
    EXPECT_EQ(script->waits[i].args, book.waits[i].args);
    EXPECT_EQ(script->waits[i].crashes, book.waits[i].crashes);
    EXPECT_EQ(script->waits[i].marks, book.waits[i].marks);
    EXPECT_EQ(script->waits[i].is_cancelled, book.waits[i].is_cancelled);
    fences_[book.waits[i].key] = book.fence;
  }
}

void WaitScriptsTest::ExpectSameSettle(const SettleRequest& request) {
  const absl::StatusOr<SettleReply> script = Settle(request);
  ASSERT_TRUE(script.ok()) << script.status();
  const SettleReply book = book_.Settle(request, now_);
  EXPECT_EQ(script->now_us, book.now_us);
  EXPECT_EQ(script->fence, book.fence);
  EXPECT_EQ(script->lost, book.lost);
  EXPECT_EQ(script->cancelled, book.cancelled);
  for (const SettleItem& item : request.items) {
    if (item.action == SettleAction::kHold ||
        item.action == SettleAction::kEnd) {
      fences_[item.key] = book.fence;
    }
  }
}

void WaitScriptsTest::ExpectSameRows(const std::vector<StoredWait>& script,
                                     const std::vector<StoredWait>& book) {
  ASSERT_EQ(script.size(), book.size());
  for (size_t i = 0; i < book.size(); ++i) {
    EXPECT_EQ(script[i].key, book[i].key);
    EXPECT_EQ(script[i].record, book[i].record);
    EXPECT_EQ(script[i].args, book[i].args);
    EXPECT_EQ(script[i].value, book[i].value);
    EXPECT_EQ(script[i].due_us, book[i].due_us);
    EXPECT_EQ(script[i].is_cancelled, book[i].is_cancelled);
  }
}

TEST_F(WaitScriptsTest, AllAreThoseOfTheBook) {
  constexpr SettleAction kActions[] = {
      SettleAction::kRelease, SettleAction::kHold, SettleAction::kEnd,
      SettleAction::kDelivered, SettleAction::kEndUnheard};
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    std::mt19937_64 gen(seed);
    const auto key = [&] {
      return absl::StrCat("k", absl::Uniform(gen, 0, 20));
    };
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      now_ += absl::Uniform(gen, 0, 3'000'000);
      // Now and then the server's clock steps back.
      if (absl::Bernoulli(gen, 0.01)) now_ -= 5'000'000;
      switch (absl::Uniform(gen, 0, 7)) {
        case 0: {
          EnqueueRequest request = {.partition = partition_,
                                    .most_pending = 15};
          for (int i = absl::Uniform(gen, 1, 5); i > 0; --i) {
            request.items.push_back(
                {.key = key(),
                 .delay_us = absl::Uniform(gen, 0, 4'000'000),
                 .record = absl::StrCat("new", step),
                 .args = absl::Bernoulli(gen, 0.5) ? "args" : ""});
          }
          const auto script = Enqueue(request);
          const auto book = book_.Enqueue(request, now_);
          ASSERT_EQ(script.status().code(), book.status().code())
              << script.status();
          if (book.ok()) {
            EXPECT_EQ(script->created, book->created);
          }
          break;
        }
        case 1:
        case 2:
          ExpectSameClaims({.partition = partition_,
                            .most = absl::Uniform(gen, 1, 8),
                            .lease_us = absl::Uniform(gen, 1000, 5'000'000)});
          break;
        case 3:
        case 4: {
          SettleRequest request = {
              .partition = partition_,
              .lease_us = absl::Uniform(gen, 1000, 5'000'000),
              .retain_us = absl::Bernoulli(gen, 0.3)
                               ? 0
                               : absl::Uniform(gen, 1, 20'000'000)};
          for (int i = absl::Uniform(gen, 1, 6); i > 0; --i) {
            const std::string id = key();
            request.items.push_back(
                {.key = id,
                 .fence = fences_[id] + (absl::Bernoulli(gen, 0.1) ? 2 : 0),
                 .action = kActions[absl::Uniform(gen, 0, 5)],
                 .delay_us = absl::Uniform(gen, 0, 4'000'000),
                 .record = absl::Bernoulli(gen, 0.3)
                               ? ""
                               : absl::StrCat("0", now_, " ", step),
                 .value = absl::Bernoulli(gen, 0.5) ? "value" : "",
                 .reason = "success"});
            if (request.items.back().action == SettleAction::kEnd) {
              request.items.back().record[0] = '1';
            }
          }
          ExpectSameSettle(request);
          break;
        }
        case 5: {
          const std::vector<std::string> keys = {key(), key()};
          const auto script = internal::ToStoredWaits(
              Run(internal::CancelScript(), partition_, keys));
          ASSERT_TRUE(script.ok()) << script.status();
          ExpectSameRows(*script, book_.Cancel(partition_, keys, now_));
          break;
        }
        default: {
          const std::string id = key();
          const bool begins = absl::Bernoulli(gen, 0.5);
          const auto script =
              Run(internal::MarkScript(), partition_, {id, begins ? "1" : "0"});
          ASSERT_TRUE(script.ok()) << script.status();
          EXPECT_EQ(script->integer, book_.Mark(partition_, id, begins));
          break;
        }
      }
      if (step % 20 != 0) continue;
      std::vector<std::string> all;
      for (int i = 0; i < 20; ++i) all.push_back(absl::StrCat("k", i));
      const auto rows = Get(all);
      ASSERT_TRUE(rows.ok()) << rows.status();
      ExpectSameRows(*rows, book_.Get(partition_, all));
      const auto stats =
          internal::ToWaitStats(Run(internal::StatsScript(), partition_, {}));
      ASSERT_TRUE(stats.ok()) << stats.status();
      const WaitStats expected = book_.Stats(partition_, now_);
      EXPECT_EQ(stats->pending, expected.pending);
      EXPECT_EQ(stats->overdue, expected.overdue);
      EXPECT_EQ(stats->next_us, expected.next_us);
      EXPECT_EQ(stats->kept, expected.kept);
      EXPECT_THAT(stats->counters,
                  testing::UnorderedElementsAreArray(expected.counters));
      const auto scanned =
          internal::ToScanReply(Run(internal::ScanScript(), partition_, {"0"}));
      ASSERT_TRUE(scanned.ok()) << scanned.status();
      EXPECT_EQ(scanned->waits.size(), book_.Scan(partition_).waits.size());
    }
    server_->Run({"FLUSHALL"});
    book_ = WaitBook();
    fences_.clear();
  }
}

// A wait that was there before the keys were deleted.
TEST_F(WaitScriptsTest, EveryKeyMayBeMissing) {
  const std::vector<std::string> keys = internal::PartitionKeys(partition_);
  for (const std::string& missing : keys) {
    SCOPED_TRACE(missing);
    server_->Run({"FLUSHALL"});
    ASSERT_TRUE(Enqueue({.partition = partition_,
                         .most_pending = 10,
                         .items = {{.key = "a", .args = "x"}, {.key = "b"}}})
                    .ok());
    const ClaimRequest request = {
        .partition = partition_, .most = 10, .lease_us = 1'000'000};
    const absl::StatusOr<ClaimReply> claimed = Claim(request);
    ASSERT_TRUE(claimed.ok()) << claimed.status();
    ASSERT_EQ(claimed->waits.size(), 2);
    server_->Run({"DEL", missing});
    const absl::StatusOr<SettleReply> settled =
        Settle({.partition = partition_,
                .lease_us = 1'000'000,
                .retain_us = 1'000'000,
                .items = {{.key = "a",
                           .fence = claimed->fence,
                           .action = SettleAction::kEnd,
                           .record = "1 ",
                           .value = "v",
                           .reason = "success"},
                          {.key = "b",
                           .fence = claimed->fence,
                           .action = SettleAction::kHold}}});
    ASSERT_TRUE(settled.ok()) << settled.status();
    EXPECT_EQ(settled->lost.size(), missing == keys[0] ? 2 : 0);
    now_ += 10'000'000;
    EXPECT_TRUE(Claim(request).ok());
    EXPECT_TRUE(Get({"a", "b"}).ok());
    EXPECT_TRUE(
        Run(internal::CancelScript(), partition_, {"a", "b", "c"}).ok());
    EXPECT_TRUE(Run(internal::MarkScript(), partition_, {"a", "1"}).ok());
    EXPECT_TRUE(Run(internal::ScanScript(), partition_, {"0"}).ok());
    EXPECT_TRUE(Run(internal::StatsScript(), partition_, {}).ok());
  }
}

TEST_F(WaitScriptsTest, RecordlessWaitIsDroppedAndCounted) {
  ASSERT_TRUE(Enqueue({.partition = partition_,
                       .most_pending = 10,
                       .items = {{.key = "a"}}})
                  .ok());
  server_->Run({"DEL", internal::PartitionKeys(partition_)[1]});
  const auto claimed =
      Claim({.partition = partition_, .most = 10, .lease_us = 1'000'000});
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_THAT(claimed->waits, IsEmpty());
  const auto stats =
      internal::ToWaitStats(Run(internal::StatsScript(), partition_, {}));
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->pending, 0);
}

// Whoever holds waits can still write when nobody can add any.
TEST_F(WaitScriptsTest, FullServerRefusesEnqueueAndNothingElse) {
  ASSERT_TRUE(Enqueue({.partition = partition_,
                       .most_pending = 10,
                       .items = {{.key = "a"}}})
                  .ok());
  server_->Run({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(Enqueue({.partition = partition_,
                       .most_pending = 10,
                       .items = {{.key = "b"}}})
                  .status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  const auto claimed =
      Claim({.partition = partition_, .most = 10, .lease_us = 1'000'000});
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  ASSERT_EQ(claimed->waits.size(), 1);
  const auto settled = Settle({.partition = partition_,
                               .lease_us = 1'000'000,
                               .items = {{.key = "a",
                                          .fence = claimed->fence,
                                          .action = SettleAction::kRelease,
                                          .record = "0 later"}}});
  ASSERT_TRUE(settled.ok()) << settled.status();
  EXPECT_THAT(settled->lost, IsEmpty());
  EXPECT_TRUE(Run(internal::CancelScript(), partition_, {"a"}).ok());
  EXPECT_TRUE(Run(internal::MarkScript(), partition_, {"a", "1"}).ok());
}

TEST_F(WaitScriptsTest, FullPartitionRefusesAllItems) {
  EXPECT_THAT(Enqueue({.partition = partition_,
                       .most_pending = 1,
                       .items = {{.key = "a"}, {.key = "b"}}})
                  .status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Get({"a"})->front().record, IsEmpty());
}

TEST_F(WaitScriptsTest, WrongTypeIsAnErrorOfItsOwn) {
  server_->Run({"SET", internal::PartitionKeys(partition_)[0], "text"});
  EXPECT_THAT(
      Claim({.partition = partition_, .most = 10, .lease_us = 1'000'000})
          .status(),
      StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(WaitScriptsTest, BatchesOfAThousandPass) {
  EnqueueRequest request = {.partition = partition_, .most_pending = 1000};
  for (int i = 0; i < 1000; ++i) {
    request.items.push_back({.key = absl::StrCat("k", i), .record = "r"});
  }
  ASSERT_TRUE(Enqueue(request).ok());
  const auto claimed =
      Claim({.partition = partition_, .most = 1000, .lease_us = 1'000'000});
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  SettleRequest settle = {.partition = partition_, .lease_us = 1'000'000};
  for (const ClaimedWait& wait : claimed->waits) {
    settle.items.push_back({.key = wait.key,
                            .fence = claimed->fence,
                            .action = SettleAction::kRelease,
                            .record = wait.record});
  }
  EXPECT_EQ(settle.items.size(), 1000);
  const auto settled = Settle(settle);
  ASSERT_TRUE(settled.ok()) << settled.status();
  EXPECT_THAT(settled->lost, IsEmpty());
}

TEST_F(WaitScriptsTest, WorkersLiveForTenSecondsAfterABeat) {
  const auto beat = [&](const std::string& worker) {
    const RedisScript at_time(absl::StrReplaceAll(
        internal::BeatScript().text(),
        {{"redis.call('TIME')", absl::StrCat("{", now_ / 1'000'000, ", 0}")}}));
    std::promise<absl::StatusOr<RedisReply>> reply;
    client_->Call(at_time, {"workers"}, {worker},
                  [&](absl::StatusOr<RedisReply> got) {
                    reply.set_value(std::move(got));
                  });
    std::vector<std::string> live;
    const absl::StatusOr<RedisReply> workers = reply.get_future().get();
    for (const RedisReply& id : workers->elements) {
      live.push_back(id.text);
    }
    EXPECT_EQ(live, book_.Beat("s", worker, now_));
    return live;
  };
  EXPECT_THAT(beat("a"), ElementsAre("a"));
  now_ += 9'000'000;
  EXPECT_THAT(beat("b"), ElementsAre("a", "b"));
  now_ += 2'000'000;
  EXPECT_THAT(beat("b"), ElementsAre("b"));
}

TEST_F(WaitScriptsTest, ServerThatMayDeleteWaitsIsRefused) {
  const auto open = [&] {
    std::promise<absl::StatusOr<RedisReply>> reply;
    client_->Call(internal::OpenScript(), {"waiter:{s}:names"}, {"n", "4"},
                  [&](absl::StatusOr<RedisReply> got) {
                    reply.set_value(std::move(got));
                  });
    return reply.get_future().get();
  };
  for (const std::string policy :
       {"allkeys-lru", "allkeys-lfu", "allkeys-random"}) {
    server_->Run({"CONFIG", "SET", "maxmemory-policy", policy});
    EXPECT_THAT(open().status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("maxmemory-policy is " + policy + ","),
                               HasSubstr("set it to noeviction"))));
  }
  EXPECT_EQ(server_->Run({"EXISTS", "waiter:{s}:names"}), "0");
  // No wait has a time to live, which these need.
  for (const std::string policy :
       {"volatile-lru", "volatile-ttl", "noeviction"}) {
    server_->Run({"CONFIG", "SET", "maxmemory-policy", policy});
    const absl::StatusOr<RedisReply> opened = open();
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->integer, 4);
  }
}

TEST_F(WaitScriptsTest, NothingOfAWaitHasATimeToLive) {
  ASSERT_TRUE(Enqueue({.partition = partition_,
                       .most_pending = 10,
                       .items = {{.key = "a", .record = "r", .args = "x"},
                                 {.key = "b", .record = "r", .args = "x"},
                                 {.key = "c", .record = "r", .args = "x"}}})
                  .ok());
  const ClaimRequest request = {
      .partition = partition_, .most = 10, .lease_us = 1'000'000};
  ASSERT_TRUE(Claim(request).ok());
  now_ += 2'000'000;  // The holder has vanished.
  const absl::StatusOr<ClaimReply> claimed = Claim(request);
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  ASSERT_TRUE(Run(internal::CancelScript(), partition_, {"a"}).ok());
  ASSERT_TRUE(Run(internal::MarkScript(), partition_, {"a", "1"}).ok());
  ASSERT_TRUE(Settle({.partition = partition_,
                      .lease_us = 1'000'000,
                      .retain_us = 1'000'000,
                      .items = {{.key = "b",
                                 .fence = claimed->fence,
                                 .action = SettleAction::kEndUnheard,
                                 .record = "2 ",
                                 .value = "v",
                                 .reason = "success"}}})
                  .ok());
  for (const std::string& key : internal::PartitionKeys(partition_)) {
    EXPECT_EQ(server_->Run({"TTL", key}), "-1") << key;
  }
}

TEST_F(WaitScriptsTest, EachScriptSaysItsNameAndVersion) {
  for (const RedisScript* script :
       {&internal::ClaimScript(), &internal::SettleScript(),
        &internal::EnqueueScript(), &internal::CancelScript(),
        &internal::GetScript(), &internal::ScanScript(),
        &internal::StatsScript(), &internal::MarkScript(),
        &internal::OpenScript(), &internal::BeatScript()}) {
    EXPECT_THAT(script->text(),
                testing::MatchesRegex("#!lua[a-z =-]*\n-- waiter [a-z.]* 1\n"
                                      "(.|\n)*"));
    EXPECT_EQ(server_->Run({"SCRIPT", "LOAD", script->text()}).size(), 40);
  }
}

}  // namespace
}  // namespace waiter

#else

TEST(WaitScriptsTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif
