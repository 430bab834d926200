// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs `RedisClient` with a real server, which the test kills, stops and
// disturbs.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/redis/client.h"

#ifdef WAITER_HAS_HIREDIS

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/support/forked_child.h"
#include "tests/support/joining_thread.h"
#include "tests/support/redis_server.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/testing/gtest.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using Reply = absl::StatusOr<RedisReply>;

// Collects replies.
class Replies {
 public:
  RedisClient::Callback Next() {
    return [this](absl::StatusOr<RedisReply> reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      came_.notify_all();
    };
  }

  // Returns the next reply.
  absl::StatusOr<RedisReply> Take() {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, std::chrono::seconds(30),
                        [this] { return !replies_.empty(); })) {
      return absl::DeadlineExceededError("no callback within 30 s");
    }
    absl::StatusOr<RedisReply> reply = std::move(replies_.front());
    replies_.pop_front();
    return reply;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<absl::StatusOr<RedisReply>> replies_;
};

class RedisClientTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
  }

  static std::shared_ptr<RedisClient> MakeClient(
      const std::string& url, RedisClientOptions options = {}) {
    auto client = RedisClient::Make(url, options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *client;
  }

  absl::StatusOr<RedisReply> Call(RedisClient& client,
                                  const RedisScript& script) {
    client.Call(script, {"key"}, {"7"}, replies_.Next());
    return replies_.Take();
  }

  // Repeats the call until it succeeds, because the client must reconnect.
  absl::StatusOr<RedisReply> CallUntilOk(RedisClient& client,
                                         const RedisScript& script) {
    absl::StatusOr<RedisReply> reply = absl::UnknownError("");
    for (int i = 0; i < 300; ++i) {
      reply = Call(client, script);
      if (reply.ok()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return reply;
  }

  const RedisScript add_{
      "#!lua\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])"};
  Replies replies_;
};

TEST(RedisClientOptionsTest, AFieldOfReconnectSetAloneChangesNoOther) {
  using Kind = decltype(RedisClientOptions::reconnect);
  const Kind documented = {.initial_delay = absl::Milliseconds(100),
                           .max_delay = absl::Seconds(5),
                           .multiplier = 2,
                           .jitter = Jitter::Equal(),
                           .min_delay = std::nullopt};
  const auto reset = [&](Kind kind, auto field) {
    EXPECT_NE(kind, documented);
    kind.*field = documented.*field;
    EXPECT_EQ(kind, documented);
  };

  EXPECT_EQ(RedisClientOptions().reconnect, documented);
  reset({.initial_delay = absl::Seconds(1)}, &Kind::initial_delay);
  reset({.max_delay = absl::Seconds(1)}, &Kind::max_delay);
  reset({.multiplier = 3}, &Kind::multiplier);
  reset({.jitter = Jitter::Full()}, &Kind::jitter);
  reset({.min_delay = absl::Milliseconds(1)}, &Kind::min_delay);
}

TEST_F(RedisClientTest, ScriptsRunAndTheirRepliesAreValues) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());

  const RedisReply sum = ValueOrFail(Call(*client, add_));
  EXPECT_EQ(sum.type, RedisReply::Type::kInteger);
  EXPECT_EQ(sum.integer, 7);

  const RedisReply list = ValueOrFail(
      Call(*client, RedisScript("return {1, 'a', {false, KEYS[1]}}")));
  ASSERT_EQ(list.elements.size(), 3);
  EXPECT_EQ(list.elements[1].text, "a");
  EXPECT_EQ(list.elements[2].elements[0].type, RedisReply::Type::kNil);
  EXPECT_EQ(list.elements[2].elements[1].text, "key");

  const RedisClientState state = client->State();
  EXPECT_TRUE(state.connected);
  EXPECT_THAT(state.server_version, testing::StartsWith("7."));
  EXPECT_EQ(state.connections, 1);
}

TEST_F(RedisClientTest, CallsArePipelinedInOrder) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  for (int i = 0; i < 1000; ++i) {
    client->Call(add_, {"key"}, {"1"}, replies_.Next());
  }
  // The first round may send the text of the script again, in any order.
  std::vector<int64_t> sums;
  for (int i = 0; i < 1000; ++i) sums.push_back(replies_.Take()->integer);
  std::sort(sums.begin(), sums.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sums[static_cast<size_t>(i)], i + 1);
}

TEST_F(RedisClientTest, TextOfAScriptIsSentUntilTheServerHasToldItsHash) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Call(*client, add_).ok());
  const std::string stats = server.Run({"INFO", "commandstats"});
  EXPECT_THAT(stats, HasSubstr("cmdstat_script|load:calls=1,"));
  EXPECT_THAT(stats, HasSubstr("cmdstat_eval:calls=1,"));
  EXPECT_THAT(stats, HasSubstr("cmdstat_evalsha:calls=9,"));
}

TEST_F(RedisClientTest, ScriptsSurviveScriptFlush) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  EXPECT_EQ(Call(*client, add_)->integer, 7);
  server.Run({"SCRIPT", "FLUSH"});
  EXPECT_EQ(Call(*client, add_)->integer, 14);
}

TEST_F(RedisClientTest, KilledConnectionIsMadeAnew) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  ASSERT_TRUE(Call(*client, add_).ok());
  server.Run({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(CallUntilOk(*client, add_).ok());
  EXPECT_EQ(client->State().connections, 2);
}

TEST_F(RedisClientTest, KilledServerIsUnavailableUntilItIsBack) {
  RedisServer server;
  const auto client = MakeClient(server.Url());
  ASSERT_TRUE(Call(*client, add_).ok());
  server.Kill();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Call(*client, add_).status(),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr(absl::StrCat("127.0.0.1:", server.port()))));
  }
  EXPECT_FALSE(client->State().connected);
  server.Start();
  EXPECT_EQ(CallUntilOk(*client, add_)->integer, 7);
}

TEST_F(RedisClientTest, StoppedServerTimesOutAndIsFoundAgain) {
  const RedisServer server;
  const auto client =
      MakeClient(server.Url(), {.call_timeout = absl::Milliseconds(200)});
  ASSERT_TRUE(Call(*client, add_).ok());
  server.Pause();
  EXPECT_THAT(Call(*client, add_).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("no reply within 200ms")));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  server.Resume();
  EXPECT_TRUE(CallUntilOk(*client, add_).ok());
}

TEST_F(RedisClientTest, WrongPasswordIsOneClearErrorWithoutThePassword) {
  const RedisServer server({"--requirepass", "swordfish"});
  const auto wrong = MakeClient(server.Url(":s3cret@"));
  EXPECT_THAT(
      Call(*wrong, add_).status(),
      StatusIs(absl::StatusCode::kUnauthenticated,
               AllOf(HasSubstr("WRONGPASS"), Not(HasSubstr("s3cret")))));
  EXPECT_EQ(wrong->State().error.code(), absl::StatusCode::kUnauthenticated);

  const auto none = MakeClient(server.Url());
  EXPECT_THAT(
      Call(*none, add_).status(),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("NOAUTH")));

  const auto right = MakeClient(server.Url("default:sword%66ish@"));
  EXPECT_TRUE(Call(*right, add_).ok());
}

TEST_F(RedisClientTest, NameOfAHostIsLookedUp) {
  const RedisServer server;
  const auto client =
      MakeClient(absl::StrCat("redis://localhost:", server.port()));
  EXPECT_TRUE(CallUntilOk(*client, add_).ok());
}

TEST_F(RedisClientTest, DatabaseOfTheUrlIsUsed) {
  const RedisServer server;
  const auto client = MakeClient(server.Url() + "/3");
  ASSERT_TRUE(Call(*client, add_).ok());
  EXPECT_EQ(server.Run({"-n", "3", "GET", "key"}), "7");
  EXPECT_EQ(server.Run({"GET", "key"}), "");
  const auto bad = MakeClient(server.Url() + "/999");
  EXPECT_THAT(Call(*bad, add_).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("out of range")));
}

TEST_F(RedisClientTest, ErrorsOfTheServerHaveTheirCodes) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  server.Run({"LPUSH", "key", "1"});
  EXPECT_THAT(
      Call(*client, add_).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("WRONGTYPE")));
  server.Run({"DEL", "key"});

  server.Run({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(Call(*client, add_).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("OOM")));
  server.Run({"CONFIG", "SET", "maxmemory", "0"});

  server.Run({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_THAT(Call(*client, add_).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("READONLY")));
  server.Run({"REPLICAOF", "NO", "ONE"});

  EXPECT_THAT(Call(*client, RedisScript("#!lua\nreturn nosuch()")).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("nosuch")));
  EXPECT_TRUE(Call(*client, add_).ok());
}

TEST_F(RedisClientTest, UserWithoutInfoMayStillRunScripts) {
  const RedisServer server;
  server.Run({"ACL", "SETUSER", "app", "on", ">pw", "~*", "+eval", "+evalsha",
              "+incrby", "+time"});
  const auto client = MakeClient(server.Url("app:pw@"));
  EXPECT_TRUE(Call(*client, add_).ok());
  EXPECT_THAT(Call(*client, RedisScript("#!lua\nreturn redis.call('GET', 'x')"))
                  .status(),
              Not(StatusIs(absl::StatusCode::kOk)));
}

TEST_F(RedisClientTest, ClockOffsetOfTheSameMachineIsSmall) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  ASSERT_TRUE(Call(*client, add_).ok());
  ASSERT_TRUE(Call(*client, add_).ok());
  for (int i = 0; i < 100 && !client->State().clock_offset.has_value(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(client->State().clock_offset.has_value());
  EXPECT_LT(absl::AbsDuration(*client->State().clock_offset),
            absl::Milliseconds(50));
}

TEST_F(RedisClientTest, FullQueueRefusesCalls) {
  const RedisServer server;
  const auto client = MakeClient(server.Url(), {.max_pending = 2});
  ASSERT_TRUE(Call(*client, add_).ok());
  server.Pause();
  for (int i = 0; i < 3; ++i) {
    client->Call(add_, {"key"}, {"1"}, replies_.Next());
  }
  EXPECT_THAT(replies_.Take().status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("2 calls wait for replies")));
  server.Resume();
  EXPECT_TRUE(replies_.Take().ok());
  EXPECT_TRUE(replies_.Take().ok());
}

TEST_F(RedisClientTest, DestructorCancelsAllCalls) {
  const RedisServer server;
  auto client = MakeClient(server.Url(), {.call_timeout = absl::Minutes(1)});
  ASSERT_TRUE(Call(*client, add_).ok());
  server.Pause();
  for (int i = 0; i < 3; ++i) {
    client->Call(add_, {"key"}, {"1"}, replies_.Next());
  }
  client = nullptr;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(replies_.Take().status(),
                StatusIs(absl::StatusCode::kCancelled));
  }
  // The calls had been sent, so they still run.
  server.Resume();
  EXPECT_EQ(server.Run({"GET", "key"}), "10");
}

TEST_F(RedisClientTest, TimersRunAtTheirTimes) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  Replies fired;
  const MonotonicTime start = client->clock().MonotonicNow();
  client->RunAt(start + std::chrono::milliseconds(60),
                [next = fired.Next()] { next(RedisReply{.integer = 2}); });
  client->RunAt(start + std::chrono::milliseconds(20),
                [next = fired.Next()] { next(RedisReply{.integer = 1}); });
  EXPECT_EQ(fired.Take()->integer, 1);
  EXPECT_EQ(fired.Take()->integer, 2);
  EXPECT_GE(client->clock().MonotonicNow() - start,
            std::chrono::milliseconds(60));
}

TEST_F(RedisClientTest, ManyThreadsMayCall) {
  const RedisServer server;
  const auto client = MakeClient(server.Url());
  std::atomic<int> replies = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        client->Call(add_, {"key"}, {"1"},
                     [&](const absl::StatusOr<RedisReply>& reply) {
                       replies += reply.ok() ? 1 : 0;
                     });
        client->RunAt({}, [&] { static_cast<void>(client->State()); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 500 && replies < 800; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(replies, 800);
}

TEST_F(RedisClientTest, ChildOfAForkExitsAndLeavesTheConnectionAlone) {
  const RedisServer server;
  static std::shared_ptr<RedisClient> client;
  client = MakeClient(server.Url());
  static const auto unreachable = MakeClient("redis://127.0.0.1:1");
  ASSERT_TRUE(Call(*client, add_).ok());

  std::atomic<bool> ends = false;
  // This thread holds the lock during some of the forks.
  std::thread user([&] {
    while (!ends) client->RunAt({}, [] {});
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(ExitOfChild([&] {
                client->Call(add_, {"key"}, {"7"}, replies_.Next());
                client = nullptr;
              }),
              "exited with 0");
    if (HasFailure()) break;
  }
  ends = true;
  user.join();
  EXPECT_EQ(ValueOrFail(Call(*client, add_)).integer, 14);
  client = nullptr;
}

TEST(RedisClientUrlTest, ErrorsOfUrlAndOptionsNameTheFieldAndNoSecret) {
  EXPECT_THAT(RedisClient::Make("redis://u:hunter2@host:99999").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("the port must be within [1, 65535]"),
                             Not(HasSubstr("hunter2")))));
  EXPECT_THAT(RedisClient::Make("redis://host", {.max_pending = 0}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "max_pending is 0; it must be within [1, 1000000]"));
  EXPECT_THAT(
      RedisClient::Make("redis://host", {.call_timeout = absl::Hours(1)})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "call_timeout is 1h; it must be within [10ms, 1min]"));
}

// Clients that have a connection to one server.
class ConnectedRedisTest : public RedisClientTest {
 protected:
  void SetUp() override {
    RedisClientTest::SetUp();
    if (!IsSkipped()) server_.emplace();
  }

  std::shared_ptr<RedisClient> Connected(RedisClientOptions options = {}) {
    auto client = MakeClient(server_->Url(), options);
    EXPECT_EVENTUALLY(client->State().connected);
    return client;
  }
  static Reply Run(RedisClient& client, const std::string& lua,
                   std::vector<std::string> keys = {},
                   std::vector<std::string> arguments = {}) {
    Replies replies;
    client.Call(RedisScript("#!lua\n" + lua), std::move(keys),
                std::move(arguments), replies.Next());
    return replies.Take();
  }

  // A busy machine may take long.
  const ScopedEventuallyDefaults patience_{{.timeout = absl::Seconds(30)}};
  std::optional<RedisServer> server_;
};

TEST_F(ConnectedRedisTest, RepliesOfAllTypes) {
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

TEST_F(ConnectedRedisTest, KeysArgumentsAndTextsMayHaveAnyBytes) {
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

TEST_F(ConnectedRedisTest, NoCallbackRunsInsideOfItsCall) {
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

TEST_F(ConnectedRedisTest, FarAndPastTimersDoNotDisturbOthers) {
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
  client->RunAt(now + std::chrono::milliseconds(50), [&] { soon.set_value(); });
  EXPECT_EQ(past.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  EXPECT_EQ(soon.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  EXPECT_GE(client->clock().MonotonicNow(),
            now + std::chrono::milliseconds(50));
  EXPECT_TRUE(Run(*client, "return 1").ok());
  EXPECT_EQ(never, 0);
}

TEST_F(ConnectedRedisTest, ClientMayGoInEveryFunctionThatItCalls) {
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
    EXPECT_EVENTUALLY(left.expired());
    if (!answers) server_->Start();
  }
  // The client is destroyed in a timer, while calls are in progress.
  {
    auto client = Connected();
    server_->Pause();
    Replies taken;
    client->Call(script, {}, {}, taken.Next());
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
    Replies taken;
    Replies last;
    other->Call(script, {}, {}, last.Next());
    RedisClient& same = *client;
    same.Call(script, {}, {},
              [other = std::move(other),
               next = taken.Next()](const Reply& reply) mutable {
                other = nullptr;
                next(reply);
              });
    client = nullptr;
    EXPECT_THAT(taken.Take().status(), StatusIs(absl::StatusCode::kCancelled));
    EXPECT_THAT(last.Take().status(), StatusIs(absl::StatusCode::kCancelled));
    server_->Resume();
  }
}

TEST_F(ConnectedRedisTest, CallsOfADestructorsCallbacksAreAnsweredToo) {
  auto client = Connected();
  server_->Pause();
  Replies taken;
  const RedisScript script("#!lua\nreturn 1");
  RedisClient& same = *client;
  same.Call(script, {}, {},
            [&same, &script, next = taken.Next()](const Reply&) {
              // Another thread is destroying the client, which still exists.
              same.Call(script, {}, {}, next);
              same.RunAt({}, [] { ADD_FAILURE(); });
            });
  client = nullptr;
  EXPECT_FALSE(taken.Take().ok());
  server_->Resume();
}

TEST_F(ConnectedRedisTest, StateIsThatOfTheConnection) {
  const auto client = Connected();
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
  EXPECT_EVENTUALLY(client->State().pending == 0);
  server_->Kill();
  EXPECT_EVENTUALLY(!client->State().connected);
  EXPECT_EVENTUALLY(!client->State().error.ok());
  server_->Start();
  EXPECT_EVENTUALLY(client->State().connected);
  EXPECT_TRUE(client->State().error.ok());
  EXPECT_EQ(client->State().connections, 2);
}

TEST_F(ConnectedRedisTest, LastOfManyThreadsMayDestroyTheClient) {
  auto client = Connected();
  std::atomic<int> answered = 0;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([client, &answered] {
        const RedisScript script("#!lua\nreturn 1");
        for (int j = 0; j < 100; ++j) {
          client->Call(script, {}, {}, [&](const Reply&) { ++answered; });
          client->RunAt(
              client->clock().MonotonicNow() + std::chrono::milliseconds(j),
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

TEST(RedisClientOptionsTest, BoundsAreValidAndTheirNeighborsNot) {
  const auto is_valid = [](const RedisClientOptions& options) {
    const absl::Status status = Validate(options);
    EXPECT_EQ(RedisClient::Make("redis://127.0.0.1:1", options).ok(),
              status.ok());
    return status.ok();
  };
  constexpr absl::Duration kNs = absl::Nanoseconds(1);
  EXPECT_TRUE(is_valid({.call_timeout = absl::Milliseconds(10)}));
  EXPECT_TRUE(is_valid({.call_timeout = absl::Minutes(1)}));
  EXPECT_FALSE(is_valid({.call_timeout = absl::Milliseconds(10) - kNs}));
  EXPECT_FALSE(is_valid({.call_timeout = absl::Minutes(1) + kNs}));
  EXPECT_FALSE(is_valid({.call_timeout = -absl::InfiniteDuration()}));
  EXPECT_TRUE(is_valid({.max_pending = 1}));
  EXPECT_TRUE(is_valid({.max_pending = 1'000'000}));
  EXPECT_FALSE(is_valid({.max_pending = -1}));
  EXPECT_FALSE(is_valid({.max_pending = 1'000'001}));
  EXPECT_FALSE(is_valid({.reconnect = {.multiplier = 0}}));
  EXPECT_FALSE(is_valid({.clock = nullptr}));
}

TEST(RedisClientUrlTest, NoMessageHasThePassword) {
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

TEST(RedisClientTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif  // WAITER_HAS_HIREDIS
