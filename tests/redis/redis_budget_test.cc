// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests shared budgets on a real Redis server, in real time, while the server
// is killed, stopped, emptied and misconfigured.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "tests/support/joining_thread.h"
#include "tests/support/redis_server.h"
#include "tests/support/status_matchers.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/testing/gtest.h"

namespace waiter {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class RedisBudgetTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>();
  }

  // Each store has its own connection, as if it were in its own process.
  std::shared_ptr<RedisBudgetStore> MakeStore(
      const std::string& secret = "", const RedisClientOptions& options = {}) {
    return std::make_shared<RedisBudgetStore>(
        *RedisClient::Make(server_->Url(secret), options));
  }
  std::shared_ptr<SharedRateLimiter> MakeLimiter(
      const SharedRateLimiterOptions& options) {
    return *SharedRateLimiter::Make(MakeStore(), options);
  }

  // Polls in a thread with 40 waits, at the times that `limiter` returns.
  JoiningThread Poll(std::shared_ptr<SharedRateLimiter> limiter,
                     MonotonicTime end) {
    return JoiningThread([this, limiter, end] {
      Clock& clock = GetRealClock();
      std::vector<MonotonicTime> waits(40);
      MonotonicTime now = clock.MonotonicNow();
      while (now < end) {
        MonotonicTime next = end;
        for (MonotonicTime& wait : waits) {
          if (wait <= now) {
            wait = limiter->Acquire(now);
            if (wait == now) {
              const std::lock_guard lock(mutex_);
              polls_.push_back(now);
              limiter->Update(now, PollStatus::kNotReady);
            }
          }
          next = std::min(next, wait);
        }
        std::this_thread::sleep_for(
            std::max(next - clock.MonotonicNow(),
                     MonotonicTime::duration(std::chrono::milliseconds(1))));
        now = clock.MonotonicNow();
      }
    });
  }

  std::unique_ptr<RedisServer> server_;
  std::mutex mutex_;
  std::vector<MonotonicTime> polls_;

  // Polls are close together, because times are measured after them.
  const ScopedEventuallyDefaults patience_{
      {.timeout = absl::Seconds(30),
       .backoff = {.max_delay = absl::Milliseconds(20)}}};
};

bool IsIn(const SharedRateLimiter& limiter, SharedBudgetMode mode) {
  return limiter.State().mode == mode;
}

bool AreIn(SharedBudgetMode mode, const SharedRateLimiter& limiter,
           const SharedRetryQuota& quota) {
  return IsIn(limiter, mode) && quota.State().mode == mode;
}

TEST_F(RedisBudgetTest, MembersShareTheRateOfOneServer) {
  constexpr double kRate = 200;
  const SharedRateLimiterOptions options = {.name = "api", .rate = kRate};
  std::vector<std::shared_ptr<SharedRateLimiter>> limiters;
  for (int i = 0; i < 4; ++i) limiters.push_back(MakeLimiter(options));
  for (const auto& limiter : limiters) {
    ASSERT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kShared) &&
                      limiter->State().members == 4)
        << limiter->State().last_error;
  }
  const MonotonicTime start = GetRealClock().MonotonicNow();
  {
    std::vector<JoiningThread> threads;
    for (const auto& limiter : limiters) {
      threads.push_back(Poll(limiter, start + std::chrono::seconds(4)));
    }
  }
  std::sort(polls_.begin(), polls_.end());
  // Any second has at most rate x (1 s + horizon) + burst.
  for (size_t i = 0; i + 301 < polls_.size(); ++i) {
    EXPECT_GT(polls_[i + 301] - polls_[i], std::chrono::milliseconds(990));
  }
  EXPECT_LE(polls_.size(), kRate * 4.5 + 2);
  // The simulation expects more, but this machine may be busy.
  EXPECT_GE(polls_.size(), 0.8 * kRate * 4);
  for (const auto& limiter : limiters) {
    EXPECT_EQ(limiter->State().rate, kRate);
  }
}

TEST_F(RedisBudgetTest, KilledServerMeansLocalUntilItIsBack) {
  const auto limiter = MakeLimiter({.name = "api", .rate = 50});
  ASSERT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kShared));
  server_->Kill();
  ASSERT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kLocal));
  EXPECT_THAT(limiter->State().last_error,
              StatusIs(absl::StatusCode::kUnavailable));
  const MonotonicTime start = GetRealClock().MonotonicNow();
  Poll(limiter, start + std::chrono::seconds(2)).join();
  EXPECT_NEAR(static_cast<double>(polls_.size()), 100, 10);

  server_->Start();
  EXPECT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kShared));
}

TEST_F(RedisBudgetTest, StoppedServerMeansLocalUntilItGoesOn) {
  for (const RedisClientOptions& options :
       {RedisClientOptions(),
        RedisClientOptions{.call_timeout = absl::Minutes(1)}}) {
    const auto store = MakeStore("", options);
    const auto limiter =
        *SharedRateLimiter::Make(store, {.name = "api", .rate = 50});
    const auto quota = *SharedRetryQuota::Make(store, {.name = "api"});
    ASSERT_EVENTUALLY(AreIn(SharedBudgetMode::kShared, *limiter, *quota));
    server_->Pause();
    EXPECT_EVENTUALLY(AreIn(SharedBudgetMode::kLocal, *limiter, *quota));
    server_->Resume();
    EXPECT_EVENTUALLY(AreIn(SharedBudgetMode::kShared, *limiter, *quota));
  }
}

TEST_F(RedisBudgetTest, FlushedScriptsAndKilledConnectionsChangeNothing) {
  const auto limiter = MakeLimiter({.name = "api", .rate = 100});
  ASSERT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kShared));
  const MonotonicTime start = GetRealClock().MonotonicNow();
  JoiningThread polls = Poll(limiter, start + std::chrono::seconds(3));
  for (int i = 0; i < 10; ++i) {
    server_->Run({"SCRIPT", "FLUSH"});
    if (i == 5) server_->Run({"CLIENT", "KILL", "TYPE", "normal"});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_TRUE(IsIn(*limiter, SharedBudgetMode::kShared));
  }
  polls.join();
  EXPECT_GE(polls_.size(), 0.6 * 300);
  EXPECT_LE(polls_.size(), 100 * 3.5 + 2);
}

TEST_F(RedisBudgetTest, FullServerIsAClearErrorAndMeansLocal) {
  const auto limiter = MakeLimiter({.name = "api", .rate = 50});
  const auto quota = *SharedRetryQuota::Make(MakeStore(), {.name = "api"});
  ASSERT_EVENTUALLY(AreIn(SharedBudgetMode::kShared, *limiter, *quota));
  server_->Run({"CONFIG", "SET", "maxmemory", "1"});
  // An idle member sends a request every 5 s.
  EXPECT_EVENTUALLY(AreIn(SharedBudgetMode::kLocal, *limiter, *quota));
  for (const absl::Status& error :
       {limiter->State().last_error, quota->State().last_error}) {
    EXPECT_THAT(error, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("OOM")));
  }
  server_->Run({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EVENTUALLY(AreIn(SharedBudgetMode::kShared, *limiter, *quota));
}

TEST_F(RedisBudgetTest, KeyOfAnotherTypeIsAClearErrorAndMeansLocal) {
  for (const char* key :
       {"waiter:rate:{api}", "waiter:rate:{api}:seen", "waiter:rate:{api}:busy",
        "waiter:rate:{api}:taken"}) {
    SCOPED_TRACE(key);
    server_->Run({"SET", key, "text"});
    const auto limiter = MakeLimiter({.name = "api", .rate = 50});
    EXPECT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kLocal));
    EXPECT_THAT(limiter->State().last_error,
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("WRONGTYPE")));
    EXPECT_EQ(limiter->State().rate, 50);
    server_->Run({"DEL", key});
    EXPECT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kShared));
  }
}

TEST_F(RedisBudgetTest, KeyOfAQuotaOfAnotherTypeIsAClearErrorAndMeansLocal) {
  for (const char* key :
       {"waiter:quota:{api}", "waiter:quota:{api}:held",
        "waiter:quota:{api}:ends", "waiter:quota:{api}:spent"}) {
    SCOPED_TRACE(key);
    server_->Run({"FLUSHALL"});
    server_->Run({"SET", key, "text"});
    const auto quota = *SharedRetryQuota::Make(MakeStore(), {.name = "api"});
    EXPECT_EVENTUALLY(quota->State().mode == SharedBudgetMode::kLocal);
    EXPECT_THAT(quota->State().last_error,
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("WRONGTYPE")));
    EXPECT_EQ(quota->State().available, 500);
    server_->Run({"DEL", key});
    EXPECT_EVENTUALLY(quota->State().mode == SharedBudgetMode::kShared);
  }
}

TEST_F(RedisBudgetTest, WrongPasswordIsAClearErrorAndMeansLocal) {
  server_->Run({"CONFIG", "SET", "requirepass", "right"});
  const auto limiter = *SharedRateLimiter::Make(MakeStore(":wrong@"),
                                                {.name = "api", .rate = 50});
  EXPECT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kLocal));
  EXPECT_THAT(
      limiter->State().last_error,
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("WRONGPASS")));
}

TEST_F(RedisBudgetTest, ReplicaIsAClearErrorAndMeansLocal) {
  const auto limiter = MakeLimiter({.name = "api", .rate = 50});
  const auto quota = *SharedRetryQuota::Make(MakeStore(), {.name = "api"});
  ASSERT_EVENTUALLY(AreIn(SharedBudgetMode::kShared, *limiter, *quota));
  server_->Run({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EVENTUALLY(AreIn(SharedBudgetMode::kLocal, *limiter, *quota));
  for (const absl::Status& error :
       {limiter->State().last_error, quota->State().last_error}) {
    EXPECT_THAT(error,
                StatusIs(absl::StatusCode::kAborted, HasSubstr("READONLY")));
  }
  server_->Run({"REPLICAOF", "NO", "ONE"});
  EXPECT_EVENTUALLY(AreIn(SharedBudgetMode::kShared, *limiter, *quota));
}

TEST_F(RedisBudgetTest, LeavingIsSentWhenAProcessEnds) {
  for (int i = 0; i < 5; ++i) {
    const auto store = MakeStore();
    const auto limiter =
        *SharedRateLimiter::Make(store, {.name = "api", .rate = 50});
    const auto quota = *SharedRetryQuota::Make(store, {.name = "api"});
    ASSERT_EVENTUALLY(IsIn(*limiter, SharedBudgetMode::kShared) &&
                      quota->State().mode == SharedBudgetMode::kShared);
    EXPECT_EQ(server_->Run({"ZCARD", "waiter:rate:{api}:seen"}), "1");
  }
  EXPECT_EVENTUALLY(server_->Run({"ZCARD", "waiter:rate:{api}:seen"}) == "0" &&
                    server_->Run({"HLEN", "waiter:quota:{api}:held"}) == "0");
  EXPECT_EQ(server_->Run({"HGET", "waiter:quota:{api}", "level"}), "500");
}

TEST_F(RedisBudgetTest, QuotaIsSpentTogether) {
  const SharedRetryQuotaOptions options = {.name = "api",
                                           .quota = {.capacity = 280}};
  std::vector<std::shared_ptr<SharedRetryQuota>> quotas;
  for (int i = 0; i < 3; ++i) {
    quotas.push_back(*SharedRetryQuota::Make(MakeStore(), options));
  }
  for (const auto& quota : quotas) {
    ASSERT_EVENTUALLY(quota->State().mode == SharedBudgetMode::kShared);
  }
  int retries = 0;
  for (int i = 0; i < 600; ++i) {
    for (const auto& quota : quotas) {
      QuotaToken token;
      retries += quota->quota()
                         ->Acquire(QuotaUse::kRetry,
                                   GetRealClock().MonotonicNow(), token)
                         .has_value()
                     ? 1
                     : 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LE(retries, 280 / 14);
  EXPECT_GE(retries, 280 / 14 - 3);
}

TEST_F(RedisBudgetTest, StoreMayGoWhileARequestIsUnderWay) {
  for (const bool in_callback : {false, true}) {
    auto store = MakeStore();
    if (!in_callback) server_->Pause();
    std::promise<absl::Status> rate;
    std::promise<absl::Status> quota;
    RedisBudgetStore& same = *store;
    same.Grant({.member = {.budget = "a", .id = "m"}, .rate = 10},
               [&rate, store = in_callback ? std::move(store) : nullptr](
                   const absl::StatusOr<RateGrant>& grant) mutable {
                 store = nullptr;
                 rate.set_value(grant.status());
               });
    if (!in_callback) {
      same.Sync({.member = {.budget = "a", .id = "m"}, .capacity = 10},
                [&quota](const absl::StatusOr<QuotaGrant>& grant) {
                  quota.set_value(grant.status());
                });
      same.RunAt(same.clock().MonotonicNow() + std::chrono::milliseconds(1),
                 [] {});
      store = nullptr;
      EXPECT_THAT(rate.get_future().get(),
                  StatusIs(absl::StatusCode::kCancelled));
      EXPECT_THAT(quota.get_future().get(),
                  StatusIs(absl::StatusCode::kCancelled));
      server_->Resume();
    } else {
      EXPECT_TRUE(rate.get_future().get().ok());
    }
  }
}

TEST_F(RedisBudgetTest, BudgetsMayGoWithTheLastOfTheClient) {
  for (int i = 0; i < 20; ++i) {
    auto client = *RedisClient::Make(server_->Url());
    const std::weak_ptr<RedisClient> left = client;
    auto store = std::make_shared<RedisBudgetStore>(std::move(client));
    auto limiter = *SharedRateLimiter::Make(store, {.name = "a", .rate = 10});
    auto quota = (*SharedRetryQuota::Make(store, {.name = "a"}))->quota();
    store = nullptr;
    std::this_thread::sleep_for(std::chrono::milliseconds(i));
    limiter = nullptr;
    quota = nullptr;
    EXPECT_EVENTUALLY(left.expired());
  }
}

TEST_F(RedisBudgetTest, KeysAreThoseOfTheHeaderAndMayBeDeletedAtAnyTime) {
  const auto store = MakeStore();
  const auto limiter =
      *SharedRateLimiter::Make(store, {.name = "x.y", .rate = 100});
  const auto adaptive = *SharedRateLimiter::Make(store, {.name = "z"});
  const auto shared = *SharedRetryQuota::Make(store, {.name = "x.y"});
  const auto is_shared = [&] {
    return limiter->State().mode == SharedBudgetMode::kShared &&
           adaptive->State().mode == SharedBudgetMode::kShared &&
           shared->State().mode == SharedBudgetMode::kShared;
  };
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 20; ++j) {
      const MonotonicTime now = GetRealClock().MonotonicNow();
      limiter->Acquire(now);
      adaptive->Update(now, PollStatus::kThrottled);
      QuotaToken token;
      shared->quota()->Acquire(QuotaUse::kThrottled, now, token);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_EVENTUALLY(is_shared());
    const std::vector<std::string> keys = absl::StrSplit(
        server_->Run({"--raw", "KEYS", "*"}), '\n', absl::SkipEmpty());
    for (const std::string& key : keys) {
      EXPECT_THAT(key,
                  AnyOf("waiter:rate:{x.y}", "waiter:rate:{x.y}:seen",
                        "waiter:rate:{x.y}:busy", "waiter:rate:{x.y}:taken",
                        "waiter:rate:{z}", "waiter:rate:{z}:seen",
                        "waiter:rate:{z}:busy", "waiter:rate:{z}:taken",
                        "waiter:quota:{x.y}", "waiter:quota:{x.y}:held",
                        "waiter:quota:{x.y}:ends", "waiter:quota:{x.y}:spent"));
    }
    // Deletes some of the keys, or all.
    if (i == 4) {
      server_->Run({"FLUSHALL"});
    } else {
      for (size_t j = static_cast<size_t>(i); j < keys.size(); j += 4) {
        server_->Run({"DEL", keys[j]});
      }
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  EXPECT_TRUE(is_shared());
  EXPECT_TRUE(limiter->State().last_error.ok()) << limiter->State().last_error;
  EXPECT_TRUE(adaptive->State().last_error.ok());
  EXPECT_TRUE(shared->State().last_error.ok());
}

// The user has the rights that docs/distributed.md lists.
TEST_F(RedisBudgetTest, UserOfTheDocsMayDoAllThatBudgetsNeed) {
  std::vector<std::string> acl = absl::StrSplit(
      "ACL SETUSER budgets on >secret ~waiter:* +eval +evalsha +info +time "
      "+zadd +zrem +zcard +zrange +zremrangebyscore +hset +hget +hmget +hdel "
      "+hlen +expire",
      ' ');
  ASSERT_EQ(server_->Run(acl), "OK");
  const auto store = MakeStore("budgets:secret@");
  std::vector<std::shared_ptr<SharedRateLimiter>> limiters;
  for (int i = 0; i < 3; ++i) {
    limiters.push_back(
        *SharedRateLimiter::Make(store, {.name = "a", .rate = 100}));
    limiters.push_back(*SharedRateLimiter::Make(store, {.name = "b"}));
  }
  auto shared = *SharedRetryQuota::Make(
      store, {.name = "a", .quota = {.refill_per_second = 1}});
  for (int i = 0; i < 150; ++i) {
    const MonotonicTime now = GetRealClock().MonotonicNow();
    for (const auto& limiter : limiters) {
      limiter->Acquire(now);
      limiter->Update(now, PollStatus::kThrottled);
    }
    QuotaToken token;
    shared->quota()->Acquire(QuotaUse::kRetry, now, token);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (const auto& limiter : limiters) {
    EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kShared);
    EXPECT_TRUE(limiter->State().last_error.ok())
        << limiter->State().last_error;
  }
  EXPECT_EQ(shared->State().mode, SharedBudgetMode::kShared);
  EXPECT_TRUE(shared->State().last_error.ok()) << shared->State().last_error;
}

}  // namespace
}  // namespace waiter

#else

TEST(RedisBudgetTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif  // WAITER_HAS_HIREDIS
