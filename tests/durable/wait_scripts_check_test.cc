// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the script that checks durable waits, on a real server, with the
// book, and reads how the server is set up.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/durable/wait_scripts_fixture.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/server_info.h"
#include "waiter/durable/store.h"
#include "waiter/durable/wait_scripts.h"
#include "waiter/redis/client.h"

namespace waiter::wait_scripts_check_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WaitScriptsCheckTest : public WaitScriptsFixture {
 protected:
  // Makes the same random change to the server and to the book.
  void Damage(std::mt19937_64& gen);
  void ExpectSameDamage(bool repairs);
};

void WaitScriptsCheckTest::Damage(std::mt19937_64& gen) {
  const std::vector<std::string> keys = internal::PartitionKeys(partition_);
  WaitBook::Partition& book = book_.Of(partition_);
  const std::string id = absl::StrCat("k", absl::Uniform(gen, 0, 20));
  const int which = absl::Uniform(gen, 0, 8);
  const bool adds = absl::Bernoulli(gen, 0.5);
  const std::string& name = keys[static_cast<size_t>(which)];
  const auto scores = [&](std::map<std::string, int64_t>& scored) {
    if (adds) {
      // An odd time would be the end of a lease, but no worker had a lease.
      const int64_t time = now_ - now_ % 2;
      server_->Run({"ZADD", name, absl::StrCat(time), id});
      scored[id] = time;
    } else {
      server_->Run({"ZREM", name, id});
      scored.erase(id);
    }
  };
  const auto fields = [&](auto& hash, const std::string& text, auto value) {
    if (adds) {
      server_->Run({"HSET", name, id, text});
      hash[id] = value;
    } else {
      server_->Run({"HDEL", name, id});
      hash.erase(id);
    }
  };
  switch (which) {
    case 0:
      return scores(book.due);
    case 1: {
      const std::string record =
          absl::StrCat(absl::Uniform(gen, 0, 4), "5 damaged");
      return fields(book.records, record, record);
    }
    case 2:
      return fields(book.args, "args", "args");
    case 3:
      return fields(book.values, "value", "value");
    case 4:
      return scores(book.done);
    case 5:
      return fields(book.crashes, "3", 3);
    case 6:
      return fields(book.marks, "3", 3);
    default:
      break;
  }
  if (adds) {
    server_->Run({"SADD", name, id});
    book.cancelled.insert(id);
  } else {
    server_->Run({"SREM", name, id});
    book.cancelled.erase(id);
  }
}

void WaitScriptsCheckTest::ExpectSameDamage(bool repairs) {
  const CheckReply script = CheckAll();
  const CheckReply book = book_.Check(partition_);
  EXPECT_EQ(script.keys, book.keys);
  EXPECT_EQ(script.records, book.records);
  EXPECT_EQ(script.pending, book.pending);
  EXPECT_EQ(script.due, book.due);
  EXPECT_EQ(script.fence, book.fence);
  EXPECT_EQ(script.enqueued, book.enqueued);
  EXPECT_EQ(script.ended, book.ended);
  EXPECT_EQ(script.orphans, book.orphans);
  // Also examines keys that are sound.
  ExamineRequest request = {.partition = partition_,
                            .repairs = repairs,
                            .missing = book.fence % 3 - 1};
  for (int i = 0; i < 20; ++i) request.keys.push_back(absl::StrCat("k", i));
  const auto examined = ValueOrFail(
      Read(internal::ToFaultyWaits, Run(internal::Scripts().examine, partition_,
                                        internal::ExamineArguments(request))));
  const std::vector<FaultyWait> expected = book_.Examine(request, now_);
  ASSERT_EQ(examined.size(), expected.size());
  std::set<std::string> faulty;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(examined[i].key, expected[i].key);
    EXPECT_EQ(examined[i].fault, expected[i].fault) << expected[i].key;
    faulty.insert(expected[i].key);
  }
  EXPECT_EQ(std::vector<std::string>(faulty.begin(), faulty.end()), book.keys);
  if (!repairs) return;
  EXPECT_THAT(CheckAll().keys, IsEmpty());
}

TEST_F(WaitScriptsCheckTest, DamageIsThatOfTheBook) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    std::mt19937_64 gen(seed);
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      now_ += absl::Uniform(gen, 0, 3'000'000);
      EnqueueRequest request = {.partition = partition_, .most_pending = 100};
      request.items.push_back(
          {.key = absl::StrCat("k", absl::Uniform(gen, 0, 20)),
           .record = "r",
           .args = "args"});
      const auto script = ValueOrFail(Enqueue(request));
      EXPECT_EQ(script.created, book_.Enqueue(request, now_)->created);
      ExpectSameClaims({.partition = partition_, .most = 3, .lease_us = 1000});
      for (int i = absl::Uniform(gen, 0, 4); i > 0; --i) Damage(gen);
      ExpectSameDamage(/*repairs=*/absl::Bernoulli(gen, 0.3));
      std::vector<std::string> all;
      for (int i = 0; i < 20; ++i) all.push_back(absl::StrCat("k", i));
      ExpectSameRows(*Get(all), book_.Get(partition_, all));
    }
    server_->Run({"FLUSHALL"});
    book_ = WaitBook();
  }
}

// Each step is short, and all steps together check each wait.
TEST_F(WaitScriptsCheckTest, CheckTakesManyWaitsInSteps) {
  constexpr int kWaits = 6000;
  for (int begin = 0; begin < kWaits; begin += 1000) {
    EnqueueRequest request = {.partition = partition_, .most_pending = kWaits};
    for (int i = begin; i < begin + 1000; ++i) {
      request.items.push_back(
          {.key = absl::StrCat("k", i), .record = "r", .args = "args"});
    }
    ASSERT_TRUE(Enqueue(request).ok());
  }
  const std::vector<std::string> keys = internal::PartitionKeys(partition_);
  server_->Run({"HDEL", keys[1], "k7", "k4444"});
  server_->Run({"ZREM", keys[0], "k8", "k5555"});
  int steps = 0;
  std::string cursor;
  do {
    const CheckReply step = ValueOrFail(Check(cursor));
    EXPECT_LT(step.records, 2000);
    cursor = step.cursor;
    ++steps;
  } while (!cursor.empty() && steps < 1000);
  EXPECT_GT(steps, 20);
  const CheckReply all = CheckAll();
  EXPECT_EQ(all.records, kWaits - 2);
  EXPECT_EQ(all.pending, kWaits - 2);
  EXPECT_THAT(all.keys, ElementsAre("k4444", "k5555", "k7", "k8"));
}

// All members of a structure that is stored flat come in one reply.
TEST_F(WaitScriptsCheckTest, CheckTakesLargeFlatStructures) {
  server_->Run({"CONFIG", "SET", "hash-max-listpack-entries", "100000"});
  server_->Run({"CONFIG", "SET", "zset-max-listpack-entries", "100000"});
  EnqueueRequest request = {.partition = partition_, .most_pending = 100'000};
  for (int i = 0; i < 12'000; ++i) {
    request.items.push_back({.key = absl::StrCat("k", i), .record = "r"});
    if (request.items.size() < 1000) continue;
    ASSERT_TRUE(Enqueue(request).ok());
    request.items.clear();
  }
  server_->Run({"ZREM", internal::PartitionKeys(partition_)[0], "k8888"});
  const CheckReply all = CheckAll();
  EXPECT_EQ(all.records, 12'000);
  EXPECT_THAT(all.keys, ElementsAre("k8888"));
}

TEST_F(WaitScriptsCheckTest, CheckRefusesWhatIsNoCursor) {
  for (const std::string cursor : {"x", "10:0", "0:0", "1:", "1:x", "1:0:0"}) {
    EXPECT_FALSE(Check(cursor).ok()) << cursor;
  }
}

TEST_F(WaitScriptsCheckTest, ServerSaysHowItIsSetUp) {
  const auto inspect = [&] {
    return Read(internal::ToWaitServer,
                Call(internal::Scripts().inspect,
                     internal::PartitionKeys(partition_), {}));
  };
  WaitServer server = ValueOrFail(inspect());
  EXPECT_EQ(server.id.size(), 40);
  EXPECT_THAT(server.description,
              testing::MatchesRegex("(Redis|Valkey) [0-9.]+, maxmemory-policy "
                                    "noeviction, appendonly no, primary with 0 "
                                    "replicas"));
  EXPECT_THAT(server.faults, ElementsAre(HasSubstr("appendonly is no")));
  server_->Run({"CONFIG", "SET", "dir", testing::TempDir()});
  server_->Run({"CONFIG", "SET", "appendonly", "yes"});
  EXPECT_THAT(inspect()->faults, IsEmpty());
  server_->Run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  EXPECT_THAT(inspect()->faults,
              ElementsAre(HasSubstr("maxmemory-policy is allkeys-lru")));
  server_->Run({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  EXPECT_THAT(inspect()->faults, IsEmpty());
  server_->Run({"CONFIG", "SET", "maxmemory", "1000000"});
  EXPECT_THAT(inspect()->faults,
              ElementsAre(testing::ContainsRegex("memory is [0-9]+% of")));
}

TEST(ServerInfoTest, OldServersAndSilentOnesAreTold) {
  const WaitServer old = internal::ReadServer("redis_version:6.2.7\r\n");
  EXPECT_FALSE(old.is_usable);
  EXPECT_THAT(old.faults, ElementsAre(HasSubstr("6.2.7: 7.0 or newer")));
  const WaitServer silent = internal::ReadServer("");
  EXPECT_TRUE(silent.is_usable);
  EXPECT_THAT(silent.faults, IsEmpty());
  const WaitServer valkey = internal::ReadServer(
      "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n"
      "maxmemory_policy:noeviction\r\naof_enabled:1\r\n"
      "aof_last_write_status:err\r\naof_last_bgrewrite_status:err\r\n"
      "role:master\r\nconnected_slaves:2\r\n");
  EXPECT_EQ(
      valkey.description,
      "Valkey 8.0.1, maxmemory-policy noeviction, appendonly yes, primary "
      "with 2 replicas");
  EXPECT_THAT(valkey.faults,
              ElementsAre(HasSubstr("last write"), HasSubstr("last rewrite")));
}

}  // namespace
}  // namespace waiter::wait_scripts_check_test

#else

TEST(WaitScriptsCheckTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif
