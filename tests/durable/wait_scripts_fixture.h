// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the scripts of durable waits on a real server at given times.

#ifndef WAITER_TESTS_DURABLE_WAIT_SCRIPTS_FIXTURE_H_
#define WAITER_TESTS_DURABLE_WAIT_SCRIPTS_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/store_calls.h"
#include "tests/support/redis_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/store.h"
#include "waiter/durable/wait_scripts.h"
#include "waiter/redis/client.h"

namespace waiter {

inline constexpr int64_t kStart = 1'790'000'000'000'000;

class WaitScriptsFixture : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>();
    // A large flat structure takes a slow machine a while.
    client_ =
        *RedisClient::Make(server_->Url(), {.call_timeout = absl::Seconds(60)});
  }

  absl::StatusOr<RedisReply> Call(const RedisScript& script,
                                  std::vector<std::string> keys,
                                  std::vector<std::string> arguments) {
    return AnswerOf<RedisReply>([&](auto callback) {
      client_->Call(script, std::move(keys), std::move(arguments),
                    std::move(callback));
    });
  }
  // Returns the script as it is if the server's clock shows `now_`.
  RedisScript AtTime(const RedisScript& script) const {
    return RedisScript(absl::StrReplaceAll(
        script.text(),
        {{"redis.call('TIME')",
          absl::StrCat("{", now_ / 1'000'000, ", ", now_ % 1'000'000, "}")}}));
  }
  absl::StatusOr<RedisReply> Run(const RedisScript& script,
                                 const WaitPartition& partition,
                                 std::vector<std::string> arguments) {
    return Call(AtTime(script), internal::PartitionKeys(partition),
                std::move(arguments));
  }
  template <typename T, typename Reply>
  static absl::StatusOr<T> Read(absl::StatusOr<T> (*read)(Reply),
                                absl::StatusOr<RedisReply> reply) {
    if (!reply.ok()) return reply.status();
    return read(*std::move(reply));
  }

  // Adds waits, and claims those that are due for a second.
  void Add(std::vector<EnqueueItem> items) {
    ValueOrFail(Enqueue({.partition = partition_,
                         .most_pending = 10,
                         .items = std::move(items)}));
  }
  ClaimReply ClaimDue() {
    return ValueOrFail(
        Claim({.partition = partition_, .most = 10, .lease_us = 1'000'000}));
  }
  absl::StatusOr<EnqueueReply> Enqueue(const EnqueueRequest& request) {
    return Read(internal::ToEnqueueReply,
                Run(internal::Scripts().enqueue, request.partition,
                    internal::EnqueueArguments(request)));
  }
  absl::StatusOr<ClaimReply> Claim(const ClaimRequest& request) {
    return Read(internal::ToClaimReply,
                Run(internal::Scripts().claim, request.partition,
                    internal::ClaimArguments(request)));
  }
  absl::StatusOr<SettleReply> Settle(const SettleRequest& request) {
    return Read(internal::ToSettleReply,
                Run(internal::Scripts().settle, request.partition,
                    internal::SettleArguments(request)));
  }
  absl::StatusOr<std::vector<StoredWait>> Get(std::vector<std::string> keys) {
    return Read(internal::ToStoredWaits,
                Run(internal::Scripts().get, partition_, std::move(keys)));
  }

  absl::StatusOr<CheckReply> Check(const std::string& cursor = "") {
    return Read(internal::ToCheckReply,
                Run(internal::Scripts().check, partition_, {cursor}));
  }
  // Runs all steps, and returns one reply.
  CheckReply CheckAll();

  void ExpectSameClaims(const ClaimRequest& request);
  void ExpectSameSettle(const SettleRequest& request);
  void ExpectSameRows(const std::vector<StoredWait>& script,
                      const std::vector<StoredWait>& book);

  const WaitPartition partition_{.space = "s", .name = "n", .index = 3};
  int64_t now_ = kStart;
  std::unique_ptr<RedisServer> server_;
  std::shared_ptr<RedisClient> client_;
  WaitBook book_;
  // The last fence of each key.
  std::map<std::string, int64_t> fences_;
};

inline void WaitScriptsFixture::ExpectSameClaims(const ClaimRequest& request) {
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

inline void WaitScriptsFixture::ExpectSameSettle(const SettleRequest& request) {
  const absl::StatusOr<SettleReply> script = Settle(request);
  ASSERT_TRUE(script.ok()) << script.status();
  const SettleReply book = book_.Settle(request, now_);
  EXPECT_EQ(script->now_us, book.now_us);
  EXPECT_EQ(script->fence, book.fence);
  EXPECT_THAT(script->lost, testing::UnorderedElementsAreArray(book.lost));
  EXPECT_THAT(script->cancelled,
              testing::UnorderedElementsAreArray(book.cancelled));
  for (const SettleItem& item : request.items) {
    if (item.action == SettleAction::kHold ||
        item.action == SettleAction::kEnd) {
      fences_[item.key] = book.fence;
    }
  }
}

inline void WaitScriptsFixture::ExpectSameRows(
    const std::vector<StoredWait>& script,
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

inline CheckReply WaitScriptsFixture::CheckAll() {
  CheckReply all;
  std::set<std::string> keys;
  std::string cursor;
  do {
    const absl::StatusOr<CheckReply> step = Check(cursor);
    EXPECT_TRUE(step.ok()) << step.status();
    if (!step.ok()) break;
    keys.insert(step->keys.begin(), step->keys.end());
    all.due = step->due;
    all.fence = step->fence;
    all.enqueued = step->enqueued;
    all.ended = step->ended;
    all.orphans = step->orphans;
    if (step->sees_records) {
      all.records += step->records;
      all.pending += step->pending;
    }
    cursor = step->cursor;
  } while (!cursor.empty());
  all.keys.assign(keys.begin(), keys.end());
  return all;
}

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_WAIT_SCRIPTS_FIXTURE_H_
