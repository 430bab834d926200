// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the promises of the headers of the Redis client and its store, on a
// real server.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

namespace waiter {
namespace {

using ::std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Reply = absl::StatusOr<RedisReply>;

// Returns whether `condition` came true within 30 s.
bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 1500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

// Makes callbacks that put the reply into a future. A second call is an error.
class Taken {
 public:
  RedisClient::Callback Callback() {
    return [promise = promise_](Reply reply) {
      promise->set_value(std::move(reply));
    };
  }
  Reply Take() {
    if (future_.wait_for(std::chrono::seconds(30)) !=
        std::future_status::ready) {
      return absl::DeadlineExceededError("no callback within 30 s");
    }
    return future_.get();
  }

 private:
  std::shared_ptr<std::promise<Reply>> promise_ =
      std::make_shared<std::promise<Reply>>();
  std::future<Reply> future_ = promise_->get_future();
};

class RedisPromisesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_.emplace();
  }

  std::shared_ptr<RedisClient> MakeClient(RedisClientOptions options = {}) {
    return *RedisClient::Make(server_->Url(), options);
  }
  // Makes a client that has a connection.
  std::shared_ptr<RedisClient> Connected(RedisClientOptions options = {}) {
    auto client = MakeClient(options);
    EXPECT_TRUE(Eventually([&] { return client->State().connected; }));
    return client;
  }
  static Reply Run(RedisClient& client, const std::string& lua,
                   std::vector<std::string> keys = {},
                   std::vector<std::string> arguments = {}) {
    Taken taken;
    client.Call(RedisScript("#!lua\n" + lua), std::move(keys),
                std::move(arguments), taken.Callback());
    return taken.Take();
  }

  std::optional<RedisServer> server_;
};

TEST_F(RedisPromisesTest, RepliesOfAllTypes) {
  const auto client = Connected();
  using Type = RedisReply::Type;
  EXPECT_EQ(Run(*client, "return nil")->type, Type::kNil);
  EXPECT_EQ(Run(*client, "return false")->type, Type::kNil);
  const Reply integer = Run(*client, "return -7");
  EXPECT_EQ(integer->type, Type::kInteger);
  EXPECT_EQ(integer->integer, -7);
  EXPECT_EQ(Run(*client, "return redis.call('INCRBY', KEYS[1], ARGV[1])", {"k"},
                {"9007199254740992"})
                ->integer,
            int64_t{1} << 53);
  const Reply empty = Run(*client, "return ''");
  EXPECT_EQ(empty->type, Type::kText);
  EXPECT_EQ(empty->text, "");
  EXPECT_EQ(Run(*client, "return redis.status_reply('FINE')")->text, "FINE");
  const Reply nested = Run(*client, "return {1, {'a', {}}, 'b'}");
  ASSERT_THAT(nested->elements, SizeIs(3));
  EXPECT_EQ(nested->type, Type::kArray);
  EXPECT_EQ(nested->elements[0].integer, 1);
  ASSERT_THAT(nested->elements[1].elements, SizeIs(2));
  EXPECT_EQ(nested->elements[1].elements[0].text, "a");
  EXPECT_EQ(nested->elements[1].elements[1].type, Type::kArray);
  EXPECT_EQ(nested->elements[2].text, "b");
}

TEST_F(RedisPromisesTest, KeysArgumentsAndTextsMayHaveAnyBytes) {
  const auto client = Connected();
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
  }
  for (const std::string& text : {std::string(), all, std::string("\r\n$5\r\n"),
                                  std::string(3'000'000, 'x')}) {
    const Reply reply =
        Run(*client, "return {KEYS[1], ARGV[1]}", {text}, {text});
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->elements[0].text, text);
    EXPECT_EQ(reply->elements[1].text, text);
  }
}

TEST_F(RedisPromisesTest, NoCallbackRunsInsideOfItsCall) {
  const auto away = *RedisClient::Make("redis://127.0.0.1:1");
  const auto full = Connected({.max_pending = 1});
  const auto good = Connected();
  for (RedisClient* client : {away.get(), full.get(), good.get()}) {
    std::promise<bool> same_thread;
    std::promise<bool> inside;
    std::promise<void> done;
    const std::thread::id caller = std::this_thread::get_id();
    const RedisScript script("#!lua\nreturn 1");
    client->Call(script, {}, {}, [&](const Reply&) {
      same_thread.set_value(std::this_thread::get_id() == caller);
      // This call is on the client's own thread.
      const auto returned = std::make_shared<bool>(false);
      client->Call(script, {}, {}, [&](const Reply&) { done.set_value(); });
      client->RunAt({}, [&inside, returned] { inside.set_value(!*returned); });
      *returned = true;
    });
    EXPECT_FALSE(same_thread.get_future().get());
    std::future<bool> was_inside = inside.get_future();
    ASSERT_EQ(was_inside.wait_for(std::chrono::seconds(30)),
              std::future_status::ready);
    EXPECT_FALSE(was_inside.get());
    EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(30)),
              std::future_status::ready);
  }
}

TEST_F(RedisPromisesTest, FarAndPastTimersDoNotDisturbOthers) {
  const auto client = Connected();
  const MonotonicTime now = client->clock().MonotonicNow();
  std::promise<void> past;
  std::promise<void> soon;
  std::atomic<int> never = 0;
  client->RunAt(MonotonicTime::max(), [&] { ++never; });
  client->RunAt(MonotonicTime::max() - std::chrono::nanoseconds(1),
                [&] { ++never; });
  client->RunAt(now + std::chrono::hours(24 * 365 * 100), [&] { ++never; });
  client->RunAt(MonotonicTime::min(), [&] { past.set_value(); });
  client->RunAt(now + milliseconds(50), [&] { soon.set_value(); });
  EXPECT_EQ(past.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  EXPECT_EQ(soon.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  EXPECT_GE(client->clock().MonotonicNow(), now + milliseconds(50));
  EXPECT_TRUE(Run(*client, "return 1").ok());
  EXPECT_EQ(never, 0);
}

TEST_F(RedisPromisesTest, ClientMayGoInEveryFunctionThatItCalls) {
  const RedisScript script("#!lua\nreturn 1");
  // The client is destroyed in a callback, which owns it.
  for (const bool answers : {true, false}) {
    std::promise<absl::Status> gone;
    auto client = Connected();
    const std::weak_ptr<RedisClient> left = client;
    if (!answers) server_->Kill();
    client->Call(script, {}, {}, [&gone, client](const Reply& reply) mutable {
      client = nullptr;
      gone.set_value(reply.status());
    });
    client = nullptr;
    EXPECT_EQ(gone.get_future().get().ok(), answers);
    EXPECT_TRUE(Eventually([&] { return left.expired(); }));
    if (!answers) server_->Start();
  }
  // The client is destroyed in a timer, while calls are in progress.
  {
    auto client = Connected();
    server_->Pause();
    Taken taken;
    client->Call(script, {}, {}, taken.Callback());
    std::promise<void> gone;
    RedisClient& same = *client;
    same.RunAt({}, [&gone, client = std::move(client)]() mutable {
      client = nullptr;
      gone.set_value();
    });
    gone.get_future().get();
    EXPECT_THAT(taken.Take().status(), StatusIs(absl::StatusCode::kCancelled));
    server_->Resume();
  }
  // Another client is destroyed in a callback that a destructor calls.
  {
    auto client = Connected();
    auto other = Connected();
    server_->Pause();
    Taken taken;
    Taken last;
    other->Call(script, {}, {}, last.Callback());
    RedisClient& same = *client;
    same.Call(script, {}, {},
              [other = std::move(other),
               next = taken.Callback()](const Reply& reply) mutable {
                other = nullptr;
                next(reply);
              });
    client = nullptr;
    EXPECT_THAT(taken.Take().status(), StatusIs(absl::StatusCode::kCancelled));
    EXPECT_THAT(last.Take().status(), StatusIs(absl::StatusCode::kCancelled));
    server_->Resume();
  }
}

TEST_F(RedisPromisesTest, CallsOfADestructorsCallbacksAreAnsweredToo) {
  auto client = Connected();
  server_->Pause();
  Taken taken;
  const RedisScript script("#!lua\nreturn 1");
  RedisClient& same = *client;
  same.Call(script, {}, {},
            [&same, &script, next = taken.Callback()](const Reply&) {
              // Another thread is destroying the client, which still exists.
              same.Call(script, {}, {}, next);
              same.RunAt({}, [] { ADD_FAILURE(); });
            });
  client = nullptr;
  EXPECT_FALSE(taken.Take().ok());
  server_->Resume();
}

TEST_F(RedisPromisesTest, StateIsThatOfTheConnection) {
  const auto client = MakeClient();
  ASSERT_TRUE(Eventually([&] { return client->State().connected; }));
  RedisClientState state = client->State();
  EXPECT_TRUE(state.error.ok());
  EXPECT_EQ(state.connections, 1);
  EXPECT_EQ(state.pending, 0);
  EXPECT_THAT(server_->Run({"INFO", "server"}),
              HasSubstr("redis_version:" + state.server_version));
  EXPECT_NE(state.server_version, "");
  server_->Pause();
  client->Call(RedisScript("#!lua\nreturn 1"), {}, {}, [](const Reply&) {});
  EXPECT_EQ(client->State().pending, 1);
  server_->Resume();
  EXPECT_TRUE(Eventually([&] { return client->State().pending == 0; }));
  server_->Kill();
  EXPECT_TRUE(Eventually([&] { return !client->State().connected; }));
  EXPECT_TRUE(Eventually([&] { return !client->State().error.ok(); }));
  server_->Start();
  EXPECT_TRUE(Eventually([&] { return client->State().connected; }));
  EXPECT_TRUE(client->State().error.ok());
  EXPECT_EQ(client->State().connections, 2);
}

TEST_F(RedisPromisesTest, EveryPairOfCallsMayRunAtOnce) {
  auto client = Connected();
  std::atomic<int> answered = 0;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([client, &answered] {
        const RedisScript script("#!lua\nreturn 1");
        for (int j = 0; j < 100; ++j) {
          client->Call(script, {}, {}, [&](const Reply&) { ++answered; });
          client->RunAt(client->clock().MonotonicNow() + milliseconds(j),
                        [] {});
          EXPECT_GE(client->State().pending, 0);
        }
      });
    }
    client = nullptr;
  }
  // The last thread destroyed the client, which answered the remaining calls.
  EXPECT_EQ(answered, 400);
}

TEST_F(RedisPromisesTest, StoreMayGoWhileARequestIsUnderWay) {
  for (const bool in_callback : {false, true}) {
    auto store = std::make_shared<RedisBudgetStore>(Connected());
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
      same.RunAt(same.clock().MonotonicNow() + milliseconds(1), [] {});
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

TEST_F(RedisPromisesTest, BudgetsMayGoWithTheLastOfTheClient) {
  for (int i = 0; i < 20; ++i) {
    auto client = MakeClient();
    const std::weak_ptr<RedisClient> left = client;
    auto store = std::make_shared<RedisBudgetStore>(std::move(client));
    auto limiter = *SharedRateLimiter::Make(store, {.name = "a", .rate = 10});
    auto quota = (*SharedRetryQuota::Make(store, {.name = "a"}))->quota();
    store = nullptr;
    std::this_thread::sleep_for(milliseconds(i));
    limiter = nullptr;
    quota = nullptr;
    EXPECT_TRUE(Eventually([&] { return left.expired(); }));
  }
}

TEST_F(RedisPromisesTest, KeysAreThoseOfTheHeaderAndMayBeDeletedAtAnyTime) {
  const auto store = std::make_shared<RedisBudgetStore>(Connected());
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
      std::this_thread::sleep_for(milliseconds(20));
    }
    ASSERT_TRUE(Eventually(is_shared));
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
  std::this_thread::sleep_for(milliseconds(3000));
  EXPECT_TRUE(is_shared());
  EXPECT_TRUE(limiter->State().last_error.ok()) << limiter->State().last_error;
  EXPECT_TRUE(adaptive->State().last_error.ok());
  EXPECT_TRUE(shared->State().last_error.ok());
}

// The user has the rights that docs/distributed.md lists.
TEST_F(RedisPromisesTest, UserOfTheDocsMayDoAllThatBudgetsNeed) {
  std::vector<std::string> acl = absl::StrSplit(
      "ACL SETUSER budgets on >secret ~waiter:* +eval +evalsha +info +time "
      "+zadd +zrem +zcard +zrange +zremrangebyscore +hset +hget +hmget +hdel "
      "+hlen +expire",
      ' ');
  ASSERT_EQ(server_->Run(acl), "OK");
  const auto store = std::make_shared<RedisBudgetStore>(
      *RedisClient::Make(server_->Url("budgets:secret@")));
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
    std::this_thread::sleep_for(milliseconds(20));
  }
  for (const auto& limiter : limiters) {
    EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kShared);
    EXPECT_TRUE(limiter->State().last_error.ok())
        << limiter->State().last_error;
  }
  EXPECT_EQ(shared->State().mode, SharedBudgetMode::kShared);
  EXPECT_TRUE(shared->State().last_error.ok()) << shared->State().last_error;
}

TEST_F(RedisPromisesTest, StoppedServerMeansLocalAlsoWithALongTimeout) {
  server_->Pause();
  const auto store = std::make_shared<RedisBudgetStore>(
      MakeClient({.call_timeout = absl::Minutes(1)}));
  const auto limiter =
      *SharedRateLimiter::Make(store, {.name = "a", .rate = 100});
  const auto shared = *SharedRetryQuota::Make(store, {.name = "a"});
  EXPECT_TRUE(Eventually([&] {
    return limiter->State().mode == SharedBudgetMode::kLocal &&
           shared->State().mode == SharedBudgetMode::kLocal;
  }));
  EXPECT_NEAR(shared->State().available, 500, 1);
  server_->Resume();
  EXPECT_TRUE(Eventually([&] {
    return limiter->State().mode == SharedBudgetMode::kShared &&
           shared->State().mode == SharedBudgetMode::kShared;
  }));
}

TEST(RedisOptionsTest, BoundsAreValidAndTheirNeighboursNot) {
  const auto valid = [](const RedisClientOptions& options) {
    const absl::Status status = Validate(options);
    EXPECT_EQ(RedisClient::Make("redis://127.0.0.1:1", options).ok(),
              status.ok());
    return status.ok();
  };
  for (const absl::Duration timeout :
       {absl::Milliseconds(10), absl::Minutes(1)}) {
    EXPECT_TRUE(valid({.call_timeout = timeout}));
  }
  for (const absl::Duration timeout :
       {absl::Milliseconds(10) - absl::Nanoseconds(1),
        absl::Minutes(1) + absl::Nanoseconds(1), absl::InfiniteDuration(),
        -absl::InfiniteDuration()}) {
    EXPECT_FALSE(valid({.call_timeout = timeout}));
  }
  for (const int64_t pending : {1, 1'000'000}) {
    EXPECT_TRUE(valid({.max_pending = pending}));
  }
  for (const int64_t pending : {-1, 0, 1'000'001}) {
    EXPECT_FALSE(valid({.max_pending = pending}));
  }
  EXPECT_FALSE(valid({.reconnect = {.multiplier = 0}}));
  EXPECT_FALSE(valid({.clock = nullptr}));
}

TEST(RedisOptionsTest, NoMessageHasThePassword) {
  for (const char* const url : {"redis://u:hunter2@",
                                "redis://u:hunter2@:6379",
                                "redis://u:hunter2@host:port",
                                "redis://u:hunter2@host:99999999999",
                                "redis://u:hunter2@host/db",
                                "redis://u:hunter2@host/1/2",
                                "redis://u:hunter2@host?x=1",
                                "redis://u:hunter2@host#x",
                                "rediss://u:hunter2@host",
                                "http://u:hunter2@host",
                                "u:hunter2@host",
                                "redis:u:hunter2@host",
                                "redis:/u:hunter2@host",
                                "redis://:hunter2@host:x",
                                "redis://u:a@hunter2@host:x",
                                "redis://u:a/hunter2@host",
                                "redis://u:hunter2%@host",
                                "redis://u:hunter2%zz@host",
                                "redis://u:a%40hunter2@host:x",
                                "redis://hunter2@host:x",
                                "redis://u:hunter2:x@host:x",
                                "redis://u:hunter2@[::1",
                                "redis://u:hunter2@ho st",
                                " redis://u:hunter2@host"}) {
    const auto client = RedisClient::Make(url);
    if (client.ok()) {
      EXPECT_THAT(std::string((*client)->State().error.message()),
                  Not(HasSubstr("hunter2")));
      continue;
    }
    EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(client.status().message()),
                Not(HasSubstr("hunter2")))
        << url;
  }
}

TEST(RedisScriptTest, CopiesShareTheText) {
  const RedisScript script(std::string(1000, 'x'));
  const RedisScript copy = script;  // NOLINT(performance-*)
  EXPECT_EQ(&script.text(), &copy.text());
}

}  // namespace
}  // namespace waiter

#else

TEST(RedisPromisesTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif  // WAITER_HAS_HIREDIS
