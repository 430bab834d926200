// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests `RedisCluster` with nodes in this process, whose behavior a test sets.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/redis/fake_redis_cluster.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/stop_token.h"
#include "waiter/testing/gtest.h"

namespace waiter::redis_cluster_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Answer = FakeRedisCluster::Answer;
using Command = FakeRedisCluster::Command;

// "foo" has slot 12182, and "bar" has slot 5061.
constexpr int kFoo = 12182;

// The real clock, plus an offset that a test sets.
class LeapingClock final : public Clock {
 public:
  absl::Time TimeNow() override { return GetRealClock().TimeNow(); }
  MonotonicTime MonotonicNow() override {
    return GetRealClock().MonotonicNow() + std::chrono::seconds(leap_);
  }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view sleeper) override {
    GetRealClock().SleepUntil(wake_up - std::chrono::seconds(leap_), stop,
                              sleeper);
  }
  void Leap(int64_t seconds) { leap_ += seconds; }

 private:
  std::atomic<int64_t> leap_ = 0;
};

class RedisClusterTest : public testing::Test {
 protected:
  static std::shared_ptr<RedisCluster> Make(
      const RedisClientOptions& options = {.call_timeout = absl::Seconds(20)},
      const std::vector<std::string>& seeds = {"redis://a:1"}) {
    auto client = RedisCluster::Make<FakeRedisConnection>(seeds, options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *client;
  }

  absl::StatusOr<RedisReply> Call(RedisCluster& client,
                                  const std::string& key) {
    const auto reply =
        std::make_shared<std::promise<absl::StatusOr<RedisReply>>>();
    client.Call(script_, {key}, {}, [reply](absl::StatusOr<RedisReply> got) {
      reply->set_value(std::move(got));
    });
    std::future<absl::StatusOr<RedisReply>> future = reply->get_future();
    if (future.wait_for(std::chrono::seconds(60)) !=
        std::future_status::ready) {
      return absl::DeadlineExceededError("no callback");
    }
    return future.get();
  }

  // Adds two nodes with half of the slots each: "bar" is on a, and "foo" on b.
  void AddTwoNodes() {
    cluster_.AddNode("a:1", 0, 8191);
    cluster_.AddNode("b:2", 8192, 16383);
  }

  const RedisScript script_{"#!lua\nreturn 1"};
  FakeRedisCluster cluster_;
  // A busy machine may take long.
  const ScopedEventuallyDefaults patience_{{.timeout = absl::Seconds(30)}};
};

TEST_F(RedisClusterTest, CallGoesToTheNodeOfItsSlot) {
  AddTwoNodes();
  cluster_.AddNode("c:3");
  cluster_.SetRange(0, 99, "c:3");
  cluster_.SetRange(100, 8191, "a:1");
  const auto client = Make();
  EXPECT_TRUE(Call(*client, "foo").ok());
  EXPECT_TRUE(Call(*client, "bar").ok());
  EXPECT_TRUE(Call(*client, "other{bar}").ok());
  EXPECT_THAT(cluster_.Log("a:1"),
              ElementsAre("CLUSTER SLOTS", "EVAL bar", "EVALSHA other{bar}"));
  EXPECT_THAT(cluster_.Log("b:2"), ElementsAre("EVAL foo"));
  // Connections are made when they are needed.
  EXPECT_EQ(cluster_.connections("c:3"), 0);
  const RedisClusterState state = client->State();
  EXPECT_EQ(state.slots, 16384);
  EXPECT_EQ(state.refreshes, 1);
  EXPECT_EQ(state.nodes.size(), 2);
  EXPECT_TRUE(state.nodes.at("b:2").connected);
}

TEST_F(RedisClusterTest, MovedCallGoesToTheOtherNodeAndLaterOnesAtOnce) {
  AddTwoNodes();
  cluster_.set_script("b:2", [](const Command&, bool) {
    return FakeRedisCluster::Error("MOVED 12182 c:3");
  });
  cluster_.AddNode("c:3");
  // The nodes' map is out of date.
  const auto client = Make();
  EXPECT_TRUE(Call(*client, "foo").ok());
  EXPECT_EQ(client->State().moved, 1);
  EXPECT_TRUE(Call(*client, "foo").ok());
  EXPECT_THAT(cluster_.Log("c:3"), ElementsAre("EVAL foo", "EVALSHA foo"));
  EXPECT_EQ(client->State().moved, 1);
  // The client asks for the slots, because others may also have moved.
  EXPECT_EVENTUALLY(client->State().refreshes >= 2);
}

TEST_F(RedisClusterTest, RefreshAfterMovedMovesTheOtherSlotsToo) {
  AddTwoNodes();
  cluster_.set_script("b:2", [](const Command& command, bool) {
    return command[3] == "foo" ? FakeRedisCluster::Error("MOVED 12182 c:3")
                               : FakeRedisCluster::Integer(2);
  });
  cluster_.AddNode("c:3");
  const auto client = Make();
  EXPECT_EQ(Call(*client, "b")->integer, 1);
  EXPECT_EVENTUALLY(client->State().refreshes == 1);
  cluster_.SetRange(8192, 16383, "c:3");
  EXPECT_TRUE(Call(*client, "foo").ok());
  EXPECT_EVENTUALLY(client->State().refreshes >= 2);
  EXPECT_TRUE(Call(*client, "k1").ok());
  EXPECT_THAT(cluster_.Log("c:3"), ElementsAre("EVAL foo", "EVALSHA k1"));
}

TEST_F(RedisClusterTest, MovedWithoutAHostIsTheSameHost) {
  cluster_.AddNode("a:1", 0, 16383);
  cluster_.AddNode("a:2");
  cluster_.set_script("a:1", [](const Command&, bool) {
    return FakeRedisCluster::Error("MOVED 12182 :2");
  });
  const auto client = Make();
  EXPECT_TRUE(Call(*client, "foo").ok());
  EXPECT_THAT(cluster_.Log("a:2"), ElementsAre("EVAL foo"));
}

TEST_F(RedisClusterTest, AskedCallFollowsAskingAndTheSlotStays) {
  AddTwoNodes();
  cluster_.set_script("b:2", [](const Command&, bool) {
    return FakeRedisCluster::Error("ASK 12182 c:3");
  });
  cluster_.AddNode("c:3");
  cluster_.set_script("c:3", [](const Command& command, bool was_asking) {
    if (!was_asking) return FakeRedisCluster::Error("MOVED 12182 b:2");
    // The server does not have the script.
    if (command[0] == "EVALSHA") return FakeRedisCluster::Error("NOSCRIPT No");
    return FakeRedisCluster::Integer(3);
  });
  const auto client = Make();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ValueOrFail(Call(*client, "foo")).integer, 3);
  }
  // A hash that the server forgot costs another ASKING with the text.
  EXPECT_THAT(cluster_.Log("c:3"),
              ElementsAre("ASKING", "EVAL foo", "ASKING", "EVALSHA foo",
                          "ASKING", "EVAL foo"));
  EXPECT_THAT(cluster_.Log("b:2"), ElementsAre("EVAL foo", "EVALSHA foo"));
  EXPECT_EQ(client->State().asked, 2);
  EXPECT_EQ(client->State().moved, 0);
}

TEST_F(RedisClusterTest, AskingCountsForItsCallAlone) {
  AddTwoNodes();
  cluster_.set_script("b:2", [](const Command& command, bool) {
    return command[3] == "foo" ? FakeRedisCluster::Error("ASK 12182 a:1")
                               : FakeRedisCluster::Integer(2);
  });
  std::map<std::string, bool> was_asked;
  std::mutex mutex;
  cluster_.set_script("a:1", [&](const Command& command, bool was_asking) {
    const std::lock_guard lock(mutex);
    was_asked[command[3]] = was_asking;
    return FakeRedisCluster::Integer(1);
  });
  const auto client = Make();
  std::promise<void> done;
  std::atomic<int> left = 100;
  for (int i = 0; i < 100; ++i) {
    client->Call(script_, {i % 2 == 0 ? "foo" : "bar"}, {},
                 [&](const absl::StatusOr<RedisReply>& reply) {
                   EXPECT_TRUE(reply.ok()) << reply.status();
                   if (--left == 0) done.set_value();
                 });
  }
  done.get_future().wait();
  EXPECT_TRUE(was_asked["foo"]);
  EXPECT_FALSE(was_asked["bar"]);
}

TEST_F(RedisClusterTest, LoopOfRedirectionsEndsAfterFive) {
  AddTwoNodes();
  cluster_.set_script("a:1", [](const Command&, bool) {
    return FakeRedisCluster::Error("MOVED 12182 b:2");
  });
  cluster_.set_script("b:2", [](const Command&, bool) {
    return FakeRedisCluster::Error("MOVED 12182 a:1");
  });
  const auto client = Make();
  EXPECT_THAT(Call(*client, "foo").status(),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("MOVED 12182"),
                             HasSubstr("after 5 redirections"))));
  EXPECT_EQ(client->State().pending, 0);
  size_t calls = 0;
  for (const char* node : {"a:1", "b:2"}) {
    for (const std::string& line : cluster_.Log(node)) {
      calls += line != "CLUSTER SLOTS" ? 1 : 0;
    }
  }
  EXPECT_EQ(calls, 6);
}

TEST_F(RedisClusterTest, RedirectionThatCannotBeReadIsAnError) {
  cluster_.AddNode("a:1", 0, 16383);
  cluster_.set_script("a:1", [](const Command&, bool) {
    return FakeRedisCluster::Error("MOVED 12182 ?:1");
  });
  const auto client = Make();
  EXPECT_THAT(Call(*client, "foo").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("MOVED 12182 ?:1")));
}

TEST_F(RedisClusterTest, NodeThatVanishesIsUnknownOnceAndThenReplaced) {
  AddTwoNodes();
  const auto client = Make({.call_timeout = absl::Seconds(20),
                            .reconnect = {.initial_delay = absl::Seconds(1)}});
  ASSERT_TRUE(Call(*client, "foo").ok());
  cluster_.AddNode("c:3");
  cluster_.RemoveNode("b:2");
  EXPECT_THAT(Call(*client, "foo").status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("b:2")));
  EXPECT_THAT(cluster_.Log("c:3"), IsEmpty());
  // The replica takes over later.
  const int64_t before = client->State().refreshes;
  EXPECT_EVENTUALLY(client->State().refreshes > before + 1);
  cluster_.SetRange(8192, 16383, "c:3");
  EXPECT_EVENTUALLY(Call(*client, "foo").ok());
  EXPECT_THAT(cluster_.Log("c:3"), ElementsAre("EVAL foo"));
  EXPECT_TRUE(Call(*client, "bar").ok());
}

TEST_F(RedisClusterTest,
       NodeWithoutSlotsIsDroppedWhenItWasNotUsedForTenSeconds) {
  LeapingClock clock;
  AddTwoNodes();
  const auto client =
      Make({.call_timeout = absl::Seconds(60), .clock = &clock});
  ASSERT_TRUE(Call(*client, "foo").ok());
  EXPECT_EQ(client->State().nodes.count("b:2"), 1);
  cluster_.SetRange(8192, 16383, "a:1");
  cluster_.set_script("b:2", [](const Command&, bool) {
    return FakeRedisCluster::Error("MOVED 12182 a:1");
  });
  ASSERT_TRUE(Call(*client, "foo").ok());
  EXPECT_EVENTUALLY(client->State().refreshes >= 2);
  EXPECT_EQ(client->State().nodes.count("b:2"), 1);
  clock.Leap(11);
  ASSERT_TRUE(Call(*client, "foo").ok());
  EXPECT_EVENTUALLY(!client->State().nodes.contains("b:2"));
  EXPECT_EQ(client->State().nodes.count("a:1"), 1);
}

TEST_F(RedisClusterTest, CallsWaitForTheSlotsAndAnySeedTellsThem) {
  AddTwoNodes();
  const auto client = Make({.call_timeout = absl::Seconds(20)},
                           {"redis://gone:1", "redis://b:2", "redis://gone:2"});
  EXPECT_TRUE(Call(*client, "bar").ok());
  EXPECT_TRUE(Call(*client, "foo").ok());
  EXPECT_TRUE(client->State().error.ok());
}

TEST_F(RedisClusterTest, WithoutAnySeedCallsFailAtOnceUntilOneIsThere) {
  const auto client =
      Make({.call_timeout = absl::Seconds(20),
            .reconnect = {.initial_delay = absl::Milliseconds(10),
                          .max_delay = absl::Milliseconds(50)}},
           {"redis://a:1", "redis://b:2"});
  EXPECT_THAT(Call(*client, "foo").status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("Connection refused")));
  EXPECT_FALSE(client->State().error.ok());
  EXPECT_EQ(client->State().slots, 0);
  AddTwoNodes();
  EXPECT_EVENTUALLY(Call(*client, "foo").ok());
  EXPECT_TRUE(client->State().error.ok());
}

TEST_F(RedisClusterTest, SeedThatHangsDelaysTheSlotsForOneTimeout) {
  AddTwoNodes();
  cluster_.set_slots("a:1", FakeRedisCluster::Hang());
  const auto client = Make({.call_timeout = absl::Milliseconds(300)},
                           {"redis://a:1", "redis://b:2"});
  EXPECT_EVENTUALLY(Call(*client, "foo").ok());
}

TEST_F(RedisClusterTest, ServerWithoutClusterModeIsAClearError) {
  cluster_.AddNode("a:1");
  cluster_.set_slots("a:1",
                     FakeRedisCluster::Error(
                         "ERR This instance has cluster support disabled"));
  const auto client =
      Make({.call_timeout = absl::Seconds(20)}, {"redis://a:1", "redis://b:2"});
  EXPECT_THAT(Call(*client, "foo").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "Redis at a:1 is not in cluster mode"));
}

TEST_F(RedisClusterTest, RepliesThatAreNoMapAreErrorsAndOtherNodesAreAsked) {
  AddTwoNodes();
  cluster_.set_slots("a:1", FakeRedisCluster::Integer(7));
  cluster_.AddNode("c:3");
  cluster_.set_slots("c:3", {.reply = {.type = RedisReply::Type::kArray}});
  {
    const auto client = Make();
    EXPECT_THAT(Call(*client, "foo").status(),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("a:1: the reply to CLUSTER SLOTS")));
  }
  {
    const auto client =
        Make({.call_timeout = absl::Seconds(20)}, {"redis://c:3"});
    EXPECT_THAT(Call(*client, "foo").status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("has no slots")));
  }
  const auto client = Make({.call_timeout = absl::Seconds(20)},
                           {"redis://a:1", "redis://c:3", "redis://b:2"});
  EXPECT_TRUE(Call(*client, "foo").ok());
}

TEST_F(RedisClusterTest, SlotWithoutANodeIsAbortedUntilItHasOne) {
  cluster_.AddNode("a:1", 0, 8191);
  cluster_.AddNode("b:2");
  const auto client = Make();
  EXPECT_THAT(Call(*client, "foo").status(),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("no node has the slot 12182")));
  EXPECT_EQ(client->State().slots, 8192);
  cluster_.SetRange(8192, 16383, "b:2");
  EXPECT_EVENTUALLY(Call(*client, "foo").ok());
}

TEST_F(RedisClusterTest, TransientErrorsAreAbortedAndNotSentAgain) {
  AddTwoNodes();
  const auto client = Make();
  for (const char* error :
       {"TRYAGAIN Multiple keys", "CLUSTERDOWN The cluster", "LOADING Redis"}) {
    cluster_.set_script("b:2", [error](const Command&, bool) {
      return FakeRedisCluster::Error(error);
    });
    EXPECT_THAT(Call(*client, "foo").status(),
                StatusIs(absl::StatusCode::kAborted, HasSubstr(error)));
  }
  size_t calls = 0;
  for (const std::string& line : cluster_.Log("b:2")) {
    calls += line != "CLUSTER SLOTS" ? 1 : 0;
  }
  EXPECT_EQ(calls, 3);
}

TEST_F(RedisClusterTest, NodeThatIsCutOffIsNotAskedForTheSlots) {
  AddTwoNodes();
  const auto client = Make();
  ASSERT_TRUE(Call(*client, "bar").ok());
  ASSERT_TRUE(Call(*client, "foo").ok());
  cluster_.AddNode("c:3");
  cluster_.SetRange(8192, 16383, "c:3");
  cluster_.set_script("b:2", [](const Command&, bool) {
    return FakeRedisCluster::Error("CLUSTERDOWN The cluster is down");
  });
  EXPECT_EQ(Call(*client, "foo").status().code(), absl::StatusCode::kAborted);
  EXPECT_EVENTUALLY(Call(*client, "foo").ok());
  EXPECT_THAT(cluster_.Log("b:2"), Not(Contains("CLUSTER SLOTS")));
}

TEST_F(RedisClusterTest, AllNodesGetTheCredentialsOfTheSeeds) {
  AddTwoNodes();
  const auto client =
      Make({.call_timeout = absl::Seconds(20)},
           {"redis://app:swordfish@a:1", "redis://app:swordfish@b:2"});
  EXPECT_TRUE(Call(*client, "bar").ok());
  EXPECT_TRUE(Call(*client, "foo").ok());
  EXPECT_THAT(cluster_.Passwords("a:1"), ElementsAre("swordfish"));
  EXPECT_THAT(cluster_.Passwords("b:2"), ElementsAre("swordfish"));
}

TEST_F(RedisClusterTest, ErrorsOfTheSeedsShowNoSecret) {
  const auto error = [](const std::vector<std::string>& seeds) {
    return RedisCluster::Make<FakeRedisConnection>(seeds).status();
  };
  EXPECT_THAT(error({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                  "there are no seeds"));
  EXPECT_THAT(error({"redis://a:1", "a:2"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("it must begin with redis://")));
  EXPECT_THAT(error({"redis://a:1/1"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("only database 0")));
  EXPECT_THAT(error({"redis://u:hunter2@a:1", "redis://a:2"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("the users and passwords of the seeds"),
                             Not(HasSubstr("hunter2")))));
  EXPECT_THAT(RedisCluster::Make<FakeRedisConnection>({"redis://a:1"},
                                                      {.max_pending = 0})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("max_pending is 0")));
}

TEST_F(RedisClusterTest, CallWithoutKeysIsAnError) {
  AddTwoNodes();
  const auto client = Make();
  std::promise<absl::Status> status;
  client->Call(script_, {}, {}, [&](const absl::StatusOr<RedisReply>& reply) {
    status.set_value(reply.status());
  });
  EXPECT_THAT(
      status.get_future().get(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without keys")));
}

TEST_F(RedisClusterTest, CallsOfAllNodesCountAsPending) {
  AddTwoNodes();
  for (const char* node : {"a:1", "b:2"}) {
    cluster_.set_script(
        node, [](const Command&, bool) { return FakeRedisCluster::Hang(); });
  }
  const auto client =
      Make({.call_timeout = absl::Seconds(20), .max_pending = 2});
  std::atomic<int> cancelled = 0;
  for (const char* key : {"foo", "bar"}) {
    client->Call(script_, {key}, {},
                 [&](const absl::StatusOr<RedisReply>& reply) {
                   if (absl::IsCancelled(reply.status())) ++cancelled;
                 });
  }
  EXPECT_EQ(client->State().pending, 2);
  EXPECT_THAT(Call(*client, "foo").status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("2 calls wait for replies")));
  const_cast<std::shared_ptr<RedisCluster>&>(client) = nullptr;
  EXPECT_EQ(cancelled, 2);
}

TEST_F(RedisClusterTest, DestructorCancelsCallsThatWaitForTheSlots) {
  cluster_.AddNode("a:1");
  cluster_.set_slots("a:1", FakeRedisCluster::Hang());
  auto client = Make();
  std::promise<absl::Status> status;
  client->Call(script_, {"foo"}, {},
               [&](const absl::StatusOr<RedisReply>& reply) {
                 status.set_value(reply.status());
               });
  client = nullptr;
  EXPECT_EQ(status.get_future().get().code(), absl::StatusCode::kCancelled);
}

TEST_F(RedisClusterTest, CallbackAndTimerMayDestroyTheClient) {
  AddTwoNodes();
  for (const bool in_timer : {false, true}) {
    auto client = Make();
    std::promise<void> gone;
    RedisCluster& same = *client;
    auto destroy = [&gone, client = std::move(client)]() mutable {
      client = nullptr;
      gone.set_value();
    };
    if (in_timer) {
      same.RunAt({}, std::move(destroy));
    } else {
      same.Call(script_, {"foo"}, {},
                [destroy = std::move(destroy)](
                    const absl::StatusOr<RedisReply>&) mutable { destroy(); });
    }
    gone.get_future().wait();
  }
}

// Nodes whose slots move, which close connections before and after they run a
// call, and whose maps are out of date. Thread-safe.
class MovingNodes {
 public:
  explicit MovingNodes(uint64_t seed) : gen_(seed) {}

  const std::vector<std::string>& names() const { return names_; }
  const std::map<std::string, int>& runs() const { return runs_; }

  FakeRedisCluster::Answer AnswerOf(const std::string& node,
                                    const Command& command, bool was_asking) {
    const std::lock_guard lock(mutex_);
    const int chance = absl::Uniform(gen_, 0, 1000);
    if (chance < 10) return FakeRedisCluster::Close();
    if (chance < 30) return FakeRedisCluster::Error("TRYAGAIN Multiple");
    if (chance < 40) return FakeRedisCluster::Error("CLUSTERDOWN Hash");
    if (chance < 60 && command[0] == "EVALSHA") {
      return FakeRedisCluster::Error("NOSCRIPT No matching");
    }
    std::string& owner = owners_[command[3]];
    if (owner.empty() || chance < 160) {
      owner = names_[absl::Uniform(gen_, size_t{0}, names_.size())];
    }
    if (node != owner && !was_asking) {
      return FakeRedisCluster::Error(
          absl::StrCat(chance < 500 ? "MOVED " : "ASK ", kFoo, " ", owner));
    }
    ++runs_[command[4]];
    if (chance > 990) return FakeRedisCluster::Close();
    return FakeRedisCluster::Integer(1);
  }

 private:
  const std::vector<std::string> names_ = {"a:1", "b:2", "c:3"};
  std::mutex mutex_;
  std::mt19937_64 gen_;
  std::map<std::string, std::string> owners_;  // By key, because all move.
  std::map<std::string, int> runs_;            // By the id of the call.
};

// No call runs twice, and errors have the right codes.
TEST_F(RedisClusterTest, CallsRunOnceWhateverMoves) {
  const uint64_t seed = FirstSeed();
  SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
  constexpr int kCalls = 3000;
  MovingNodes nodes(seed);
  for (const std::string& node : nodes.names()) {
    cluster_.set_script(node,
                        [&, node](const Command& command, bool was_asking) {
                          return nodes.AnswerOf(node, command, was_asking);
                        });
  }
  cluster_.SetRange(0, 5000, "a:1");
  cluster_.SetRange(5001, 10000, "b:2");
  cluster_.SetRange(10001, 16383, "c:3");
  std::map<std::string, absl::Status> ends;
  std::atomic<int> inside = 0;
  {
    const auto client =
        Make({.call_timeout = absl::Seconds(20),
              .reconnect = {.initial_delay = absl::Milliseconds(10),
                            .max_delay = absl::Milliseconds(10)}});
    int begun = 0;
    std::atomic<int> ended = 0;
    while (begun < kCalls) {
      for (int i = 0; i < 20; ++i) {
        const std::string id = absl::StrCat("id", begun++);
        client->Call(script_, {absl::StrCat("key", begun % 17)}, {id},
                     [&, id](const absl::StatusOr<RedisReply>& reply) {
                       EXPECT_EQ(++inside, 1);
                       EXPECT_EQ(ends.count(id), 0);
                       ends[id] = reply.status();
                       --inside;
                       ++ended;
                     });
      }
      ASSERT_EVENTUALLY(ended >= begun - 10);
    }
    ASSERT_EVENTUALLY(ended == kCalls);
    EXPECT_EQ(client->State().pending, 0);
  }
  ASSERT_EQ(ends.size(), kCalls);
  int done = 0;
  for (const auto& [id, status] : ends) {
    const auto found = nodes.runs().find(id);
    const int count = found == nodes.runs().end() ? 0 : found->second;
    if (status.ok()) {
      ++done;
      EXPECT_EQ(count, 1) << id;
    } else if (absl::IsUnavailable(status)) {
      EXPECT_LE(count, 1) << id << " " << status;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
      EXPECT_EQ(count, 0) << id << " " << status;
    }
  }
  EXPECT_GT(done, kCalls / 4);
}

}  // namespace
}  // namespace waiter::redis_cluster_test
