// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests how a client connects, or fails to connect: lookups of host names may
// hang, and servers may be too old.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/redis/fake_redis_cluster.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::redis_connect_test {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using Addresses = absl::StatusOr<std::vector<std::string>>;

// Returns whether `condition` came true within 30 s.
bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A name server that may hang. Only one exists at a time, but threads that call
// it may outlive it.
class FakeNames {
 public:
  explicit FakeNames(Addresses addresses) {
    names().addresses = std::move(addresses);
    names().hangs = false;
    names().lookups = 0;
  }
  ~FakeNames() {
    set_hanging(false);
    EXPECT_TRUE(Eventually([] {
      const std::lock_guard lock(names().mutex);
      return names().running == 0;
    }));
  }
  FakeNames(const FakeNames&) = delete;
  FakeNames& operator=(const FakeNames&) = delete;

  static Addresses Resolve(const std::string& /*host*/) {
    Names& all = names();
    std::unique_lock lock(all.mutex);
    ++all.lookups;
    ++all.running;
    all.changed.wait(lock, [&] { return !all.hangs; });
    --all.running;
    return all.addresses;
  }

  void set_hanging(bool hangs) {
    const std::lock_guard lock(names().mutex);
    names().hangs = hangs;
    names().changed.notify_all();
  }
  int lookups() const {
    const std::lock_guard lock(names().mutex);
    return names().lookups;
  }

 private:
  struct Names {
    std::mutex mutex;
    std::condition_variable changed;
    Addresses addresses;
    bool hangs = false;
    int lookups = 0;
    int running = 0;
  };
  // Never destroyed.
  static Names& names() {
    static auto& names = *new Names;
    return names;
  }
};

struct NamedConnection {
  static Addresses Resolve(const std::string& host) {
    return FakeNames::Resolve(host);
  }
  static absl::StatusOr<std::unique_ptr<internal::RedisConnection>> Connect(
      const std::string& host, int port,
      internal::RedisConnection::Events events) {
    return FakeRedisConnection::Connect(host, port, std::move(events));
  }
};

const RedisScript& Script() {
  static const auto& script = *new RedisScript("return 1");
  return script;
}

const RedisClientOptions kQuick = {
    .call_timeout = absl::Milliseconds(50),
    .reconnect = {.initial_delay = absl::Milliseconds(10),
                  .max_delay = absl::Milliseconds(10)}};

absl::StatusOr<RedisReply> CallAndWait(RedisCaller& client) {
  std::promise<absl::StatusOr<RedisReply>> reply;
  client.Call(Script(), {"key"}, {}, [&](absl::StatusOr<RedisReply> got) {
    reply.set_value(std::move(got));
  });
  return reply.get_future().get();
}

TEST(RedisConnectTest, LookupThatHangsHoldsUpNeitherTimersNorCalls) {
  FakeRedisCluster cluster;
  FakeNames names(std::vector<std::string>{"a"});
  names.set_hanging(true);
  const auto client =
      *RedisClient::Make<NamedConnection>("redis://redis.internal:1", kQuick);
  ASSERT_TRUE(Eventually([&] { return names.lookups() == 1; }));

  std::promise<void> fired;
  client->RunAt(GetRealClock().MonotonicNow(), [&] { fired.set_value(); });
  EXPECT_EQ(fired.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  EXPECT_THAT(CallAndWait(*client).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("Redis at redis.internal:1: no ")));
}

TEST(RedisConnectTest, ClientEndsWhileItsLookupHangs) {
  FakeRedisCluster cluster;
  FakeNames names(std::vector<std::string>{"a"});
  names.set_hanging(true);
  absl::StatusOr<RedisReply> reply;
  {
    const auto client = *RedisClient::Make<NamedConnection>(
        "redis://redis.internal:1", {.call_timeout = absl::Minutes(1)});
    client->Call(Script(), {"key"}, {}, [&](absl::StatusOr<RedisReply> got) {
      reply = std::move(got);
    });
    ASSERT_TRUE(Eventually([&] { return names.lookups() == 1; }));
  }
  // The lookup still hangs.
  EXPECT_THAT(reply.status(), StatusIs(absl::StatusCode::kCancelled));
}

TEST(RedisConnectTest, LookupThatHangsIsNotBegunAgain) {
  FakeRedisCluster cluster;
  cluster.AddNode("10.0.0.1:1");
  FakeNames names(std::vector<std::string>{"10.0.0.1"});
  names.set_hanging(true);
  const auto client =
      *RedisClient::Make<NamedConnection>("redis://redis.internal:1", kQuick);
  // Each round takes longer than the timeout of a connection.
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(CallAndWait(*client).status(),
                StatusIs(absl::StatusCode::kUnavailable));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  EXPECT_EQ(names.lookups(), 1);
  EXPECT_THAT(client->State().error,
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("no address of the host within 50ms")));

  names.set_hanging(false);
  EXPECT_TRUE(Eventually([&] { return client->State().connected; }));
}

TEST(RedisConnectTest, AddressesOfAHostAreTriedInTurn) {
  FakeRedisCluster cluster;
  cluster.AddNode("10.0.0.3:1");
  const FakeNames names(
      std::vector<std::string>{"10.0.0.1", "10.0.0.2", "10.0.0.3"});
  const auto client =
      *RedisClient::Make<NamedConnection>("redis://redis.internal:1", kQuick);
  EXPECT_TRUE(Eventually([&] { return client->State().connected; }));
}

TEST(RedisConnectTest, HostWithoutAnAddressIsAClearError) {
  FakeRedisCluster cluster;
  for (const auto& [answer, error] :
       std::vector<std::pair<Addresses, std::string>>{
           {absl::UnavailableError("Name or service not known"),
            "Redis at redis.internal:1: Name or service not known"},
           {std::vector<std::string>{},
            "Redis at redis.internal:1: the host has no address"}}) {
    const FakeNames names(answer);
    const auto client =
        *RedisClient::Make<NamedConnection>("redis://redis.internal:1", kQuick);
    EXPECT_TRUE(Eventually([&] { return !client->State().error.ok(); }));
    EXPECT_THAT(client->State().error,
                StatusIs(absl::StatusCode::kUnavailable, error));
  }
}

TEST(RedisConnectTest, AddressesAreNotLookedUp) {
  FakeRedisCluster cluster;
  FakeNames names(absl::UnavailableError("not to be asked"));
  for (const char* url : {"redis://10.0.0.1:1", "redis://[::1]:1"}) {
    SCOPED_TRACE(url);
    cluster.AddNode("10.0.0.1:1");
    cluster.AddNode("::1:1");
    const auto client = *RedisClient::Make<NamedConnection>(url, kQuick);
    EXPECT_TRUE(Eventually([&] { return client->State().connected; }));
  }
  EXPECT_EQ(names.lookups(), 0);
}

TEST(RedisConnectTest, NodesOfAClusterAreLookedUp) {
  FakeRedisCluster cluster;
  cluster.AddNode("10.0.0.1:1", 0, 16383);
  FakeNames names(std::vector<std::string>{"10.0.0.1"});
  names.set_hanging(true);
  const auto client = *RedisCluster::Make<NamedConnection>(
      {"redis://redis.internal:1"}, {.call_timeout = absl::Seconds(30)});
  std::promise<void> fired;
  client->RunAt(GetRealClock().MonotonicNow(), [&] { fired.set_value(); });
  EXPECT_EQ(fired.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  names.set_hanging(false);
  EXPECT_TRUE(CallAndWait(*client).ok());
}

TEST(RedisConnectTest, SystemKnowsThisHost) {
  const Addresses addresses = internal::LookUpHost("localhost");
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_THAT(*addresses, Contains(AnyOf("127.0.0.1", "::1")));
  EXPECT_THAT(*internal::LookUpHost("127.0.0.1"), Contains("127.0.0.1"));
}

TEST(RedisConnectTest, OldServerIsAClearErrorAndMeansLocal) {
  FakeRedisCluster cluster;
  cluster.AddNode("a:1");
  for (const char* version : {"6.2.14", "5.0.3", "4.0.0"}) {
    SCOPED_TRACE(version);
    cluster.set_version(version);
    const auto store = std::make_shared<RedisBudgetStore>(
        *RedisClient::Make<FakeRedisConnection>("redis://a:1", kQuick));
    const auto limiter =
        *SharedRateLimiter::Make(store, {.name = "api", .rate = 50});
    const auto quota = *SharedRetryQuota::Make(store, {.name = "api"});
    EXPECT_TRUE(Eventually([&] {
      return limiter->State().mode == SharedBudgetMode::kLocal &&
             quota->State().mode == SharedBudgetMode::kLocal;
    }));
    const std::string error = std::string("Redis at a:1 has version ") +
                              version + "; the minimum is 7.0";
    EXPECT_THAT(limiter->State().last_error,
                StatusIs(absl::StatusCode::kFailedPrecondition, error));
    EXPECT_THAT(quota->State().last_error,
                StatusIs(absl::StatusCode::kFailedPrecondition, error));
    EXPECT_EQ(limiter->State().rate, 50);
    EXPECT_EQ(quota->State().available, 500);
  }
}

TEST(RedisConnectTest, VersionsFromTheLeastOnWork) {
  FakeRedisCluster cluster;
  cluster.AddNode("a:1");
  for (const char* version : {"7.0.0", "7.2.4", "8.0.1", "10.1.0", "odd"}) {
    SCOPED_TRACE(version);
    cluster.set_version(version);
    const auto client =
        *RedisClient::Make<FakeRedisConnection>("redis://a:1", kQuick);
    EXPECT_TRUE(Eventually([&] { return client->State().connected; }));
    EXPECT_EQ(client->State().server_version, version);
  }
}

}  // namespace
}  // namespace waiter::redis_connect_test
