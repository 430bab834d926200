// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the scripts of durable waits, on a real server, with the book that
// simulations use. Both run at given times.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
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
#include "tests/durable/store_calls.h"
#include "tests/durable/wait_scripts_fixture.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/store.h"
#include "waiter/durable/wait_scripts.h"
#include "waiter/redis/client.h"

namespace waiter::wait_scripts_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

struct ScriptCase;

class WaitScriptsTest : public WaitScriptsFixture {
 protected:
  static std::string AnyKey(std::mt19937_64& gen) {
    return absl::StrCat("k", absl::Uniform(gen, 0, 20));
  }

  // Each runs a random script, and expects that the book does the same. `step`
  // is in the records.
  void TryEnqueue(std::mt19937_64& gen, int step);
  void TrySettle(std::mt19937_64& gen, int step);
  void TrySignal(std::mt19937_64& gen);
  void TryMark(std::mt19937_64& gen);
  // Expects that rows, numbers and scans are those of the book.
  void ExpectSameState();

  // Fills all keys of the partition. One wait is due and one is kept. One is
  // held after a crash, marked, notified and cancelled. Returns its fence.
  std::string FillPartition();
  // Fills the partition and returns its fence, or empties the server if the
  // script has other keys.
  std::string Prepare(const ScriptCase& script);
  absl::StatusOr<RedisReply> RunCase(const ScriptCase& script,
                                     const std::string& fence);
};

void WaitScriptsTest::TryEnqueue(std::mt19937_64& gen, int step) {
  EnqueueRequest request = {.partition = partition_, .most_pending = 15};
  for (int i = absl::Uniform(gen, 1, 5); i > 0; --i) {
    request.items.push_back({.key = AnyKey(gen),
                             .delay_us = absl::Uniform(gen, 0, 4'000'000),
                             .record = absl::StrCat("new", step),
                             .args = absl::Bernoulli(gen, 0.5) ? "args" : ""});
  }
  const auto script = Enqueue(request);
  const auto book = book_.Enqueue(request, now_);
  ASSERT_EQ(script.status().code(), book.status().code()) << script.status();
  if (book.ok()) {
    EXPECT_EQ(script->created, book->created);
  }
}

void WaitScriptsTest::TrySettle(std::mt19937_64& gen, int step) {
  constexpr SettleAction kActions[] = {
      SettleAction::kRelease, SettleAction::kHold, SettleAction::kEnd,
      SettleAction::kDelivered, SettleAction::kEndUnheard};
  SettleRequest request = {.partition = partition_,
                           .lease_us = absl::Uniform(gen, 1000, 5'000'000),
                           .retain_us = absl::Bernoulli(gen, 0.3)
                                            ? 0
                                            : absl::Uniform(gen, 1, 20'000'000),
                           .polls = absl::Uniform(gen, 0, 3)};
  // Uses one action for all items, or a random one for each.
  std::vector<SettleAction> actions(1, kActions[absl::Uniform(gen, 0, 5)]);
  if (absl::Bernoulli(gen, 0.5)) {
    actions.assign(std::begin(kActions), std::end(kActions));
  }
  std::set<std::string> ids;
  for (int i = absl::Uniform(gen, 1, 12); i > 0; --i) ids.insert(AnyKey(gen));
  for (const std::string& id : ids) {
    request.items.push_back(
        {.key = id,
         .fence = fences_[id] + (absl::Bernoulli(gen, 0.1) ? 2 : 0),
         .action = actions[absl::Uniform<size_t>(gen, 0, actions.size())],
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
}

void WaitScriptsTest::TrySignal(std::mt19937_64& gen) {
  const SignalRequest request = {.partition = partition_,
                                 .keys = {AnyKey(gen), AnyKey(gen)},
                                 .signal = absl::Bernoulli(gen, 0.5)
                                               ? WaitSignal::kCancel
                                               : WaitSignal::kNotify};
  const auto script = ValueOrFail(
      Read(internal::ToStoredWaits, Run(internal::Scripts().signal, partition_,
                                        internal::SignalArguments(request))));
  ExpectSameRows(script, book_.Signal(request, now_));
}

void WaitScriptsTest::TryMark(std::mt19937_64& gen) {
  const std::string id = AnyKey(gen);
  const bool begins = absl::Bernoulli(gen, 0.5);
  const auto script =
      Run(internal::Scripts().mark, partition_, {id, begins ? "1" : "0"});
  ASSERT_TRUE(script.ok()) << script.status();
  EXPECT_EQ(script->integer, book_.Mark(partition_, id, begins));
}

void WaitScriptsTest::ExpectSameState() {
  std::vector<std::string> all;
  for (int i = 0; i < 20; ++i) all.push_back(absl::StrCat("k", i));
  const auto rows = ValueOrFail(Get(all));
  ExpectSameRows(rows, book_.Get(partition_, all));
  const auto stats = ValueOrFail(Read(
      internal::ToWaitStats, Run(internal::Scripts().stats, partition_, {})));
  const WaitStats expected = book_.Stats(partition_, now_);
  EXPECT_EQ(stats.pending, expected.pending);
  EXPECT_EQ(stats.overdue, expected.overdue);
  EXPECT_EQ(stats.next_us, expected.next_us);
  EXPECT_EQ(stats.kept, expected.kept);
  EXPECT_EQ(stats.polls, expected.polls);
  EXPECT_THAT(stats.counters, UnorderedElementsAreArray(expected.counters));
  const auto scanned = ValueOrFail(Read(
      internal::ToScanReply, Run(internal::Scripts().scan, partition_, {"0"})));
  EXPECT_EQ(scanned.waits.size(), book_.Scan(partition_).waits.size());
}

TEST_F(WaitScriptsTest, AllAreThoseOfTheBook) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    std::mt19937_64 gen(seed);
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      now_ += absl::Uniform(gen, 0, 3'000'000);
      // Now and then the server's clock steps back.
      if (absl::Bernoulli(gen, 0.01)) now_ -= 5'000'000;
      switch (absl::Uniform(gen, 0, 7)) {
        case 0:
          TryEnqueue(gen, step);
          break;
        case 1:
        case 2:
          ExpectSameClaims({.partition = partition_,
                            .most = absl::Uniform(gen, 1, 8),
                            .lease_us = absl::Uniform(gen, 1000, 5'000'000)});
          break;
        case 3:
        case 4:
          TrySettle(gen, step);
          break;
        case 5:
          TrySignal(gen);
          break;
        default:
          TryMark(gen);
      }
      if (step % 20 == 0) ExpectSameState();
    }
    server_->Run({"FLUSHALL"});
    book_ = WaitBook();
    fences_.clear();
  }
}

// A script, its arguments, and whether a full server runs it.
struct ScriptCase {
  const char* name;
  RedisScript internal::WaitScripts::*script;
  std::vector<std::string> arguments;
  bool runs_when_full;
  bool has_other_keys = false;
};

// Returns all scripts. "FENCE" means the held wait's fence.
std::vector<ScriptCase> AllScripts() {
  return {
      {"claim", &internal::WaitScripts::claim, {"10", "1000000"}, true},
      {"release",
       &internal::WaitScripts::settle,
       {"1000000", "1000000", "5", "r", "FENCE", "2", "held", "0 new", "0",
        "none", "", "0"},
       true},
      {"hold",
       &internal::WaitScripts::settle,
       {"1000000", "1000000", "5", "h", "FENCE", "2", "held", "0 new", "none",
        ""},
       true},
      {"end",
       &internal::WaitScripts::settle,
       {"1000000", "1000000", "5", "f", "FENCE", "1", "held", "1 new", "value",
        "success"},
       true},
      {"delivered",
       &internal::WaitScripts::settle,
       {"1000000", "1000000", "5", "k", "FENCE", "1", "held", "2 new"},
       true},
      {"end, not delivered",
       &internal::WaitScripts::settle,
       {"1000000", "1000000", "5", "e", "FENCE", "1", "held", "2 new", "value",
        "success"},
       true},
      {"end, not delivered and not kept",
       &internal::WaitScripts::settle,
       {"1000000", "0", "5", "e", "FENCE", "1", "held", "2 new", "value",
        "success"},
       true},
      {"enqueue",
       &internal::WaitScripts::enqueue,
       {"100", "new", "0", "r", "args", "0", "held", "0", "r", "args", "0",
        "kept", "0", "r", "args", "0"},
       false},
      {"cancel",
       &internal::WaitScripts::signal,
       {"c", "due", "held", "kept", "none"},
       true},
      {"notify",
       &internal::WaitScripts::signal,
       {"n", "due", "held", "kept", "none"},
       true},
      {"get",
       &internal::WaitScripts::get,
       {"due", "held", "kept", "none"},
       true},
      {"scan", &internal::WaitScripts::scan, {"0"}, true},
      {"stats", &internal::WaitScripts::stats, {}, true},
      {"mark", &internal::WaitScripts::mark, {"held", "1"}, true},
      {"unmark", &internal::WaitScripts::mark, {"held", "0"}, true},
      {"check", &internal::WaitScripts::check, {""}, true},
      {"check of results", &internal::WaitScripts::check, {"5:0"}, true},
      {"examine",
       &internal::WaitScripts::examine,
       {"0", "0", "due", "held", "kept", "none"},
       true},
      {"repair",
       &internal::WaitScripts::examine,
       {"1", "1", "due", "held", "kept", "none"},
       true},
      {"inspect", &internal::WaitScripts::inspect, {}, true},
      // These have other keys, but here they take the first key of the list.
      {"open", &internal::WaitScripts::open, {"n", "4"}, true, true},
      {"heartbeat",
       &internal::WaitScripts::heartbeat,
       {"worker", "0"},
       true,
       true},
      {"space", &internal::WaitScripts::space, {}, true, true},
  };
}

std::string WaitScriptsTest::FillPartition() {
  server_->Run({"FLUSHALL"});
  Add({{.key = "kept", .record = "r", .args = "x"},
       {.key = "held", .record = "r", .args = "x"}});
  ValueOrFail(Settle({.partition = partition_,
                      .lease_us = 1'000'000,
                      .retain_us = 1'000'000'000,
                      .items = {Over("kept", ClaimDue().fence)}}));
  now_ += 2'000'000;  // The holder of the other wait has vanished.
  const int64_t fence = ClaimDue().fence;
  EXPECT_TRUE(Run(internal::Scripts().mark, partition_, {"held", "1"}).ok());
  for (const char* signal : {"c", "n"}) {
    EXPECT_TRUE(
        Run(internal::Scripts().signal, partition_, {signal, "held"}).ok());
  }
  Add({{.key = "due", .record = "r"}});
  std::vector<std::string> command = internal::PartitionKeys(partition_);
  command.insert(command.begin(), "EXISTS");
  EXPECT_EQ(server_->Run(command), "11");
  return absl::StrCat(fence);
}

std::string WaitScriptsTest::Prepare(const ScriptCase& script) {
  if (!script.has_other_keys) return FillPartition();
  server_->Run({"FLUSHALL"});
  return "";
}

absl::StatusOr<RedisReply> WaitScriptsTest::RunCase(const ScriptCase& script,
                                                    const std::string& fence) {
  std::vector<std::string> arguments = script.arguments;
  for (std::string& argument : arguments) {
    if (argument == "FENCE") argument = fence;
  }
  return Run(internal::Scripts().*script.script, partition_,
             std::move(arguments));
}

TEST_F(WaitScriptsTest, EachScriptRunsWithoutAnyOfItsKeys) {
  std::vector<std::string> keys = internal::PartitionKeys(partition_);
  keys.emplace_back("");  // Means all keys.
  for (const std::string& missing : keys) {
    for (const ScriptCase& script : AllScripts()) {
      // These have other keys.
      if (script.has_other_keys) continue;
      SCOPED_TRACE(absl::StrCat(script.name, " without ", missing));
      const std::string fence = FillPartition();
      server_->Run(missing.empty() ? std::vector<std::string>{"FLUSHALL"}
                                   : std::vector<std::string>{"DEL", missing});
      const absl::StatusOr<RedisReply> reply = RunCase(script, fence);
      EXPECT_TRUE(reply.ok()) << reply.status();
      // The other keys can be repaired, and the wait continues.
      const absl::StatusOr<RedisReply> mended =
          Run(internal::Scripts().examine, partition_,
              {"1", "0", "due", "held", "kept", "none"});
      EXPECT_TRUE(mended.ok()) << mended.status();
      EXPECT_THAT(CheckAll().keys, IsEmpty());
      Add({{.key = "another", .record = "r"}});
      EXPECT_THAT(ClaimDue().waits, testing::Contains(testing::Field(
                                        &ClaimedWait::key, "another")));
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(WaitScriptsTest, ScriptsOfASpaceBeginWithoutTheirKeys) {
  const RedisReply opened =
      ValueOrFail(Run(internal::Scripts().open, partition_, {"n", "4"}));
  EXPECT_EQ(opened.integer, 4);
  server_->Run({"FLUSHALL"});
  const absl::StatusOr<RedisReply> workers =
      Run(internal::Scripts().heartbeat, partition_, {"worker", "0"});
  ASSERT_TRUE(workers.ok()) << workers.status();
  EXPECT_THAT(workers->elements, testing::SizeIs(1));
  server_->Run({"FLUSHALL"});
  const WaitSpace space = ValueOrFail(Read(
      internal::ToWaitSpace, Run(internal::Scripts().space, partition_, {})));
  EXPECT_THAT(space.names, IsEmpty());
  EXPECT_THAT(space.workers, IsEmpty());
}

// The store replies that the wait is lost if the key with the due times is.
TEST_F(WaitScriptsTest, SettleOfAWaitThatIsNotDueIsLost) {
  const std::string fence = FillPartition();
  server_->Run({"DEL", internal::PartitionKeys(partition_)[0]});
  const auto settled =
      ValueOrFail(Settle({.partition = partition_,
                          .lease_us = 1'000'000,
                          .items = {{.key = "held",
                                     .fence = std::stoll(fence),
                                     .action = SettleAction::kHold}}}));
  EXPECT_THAT(settled.lost, ElementsAre("held"));
}

TEST_F(WaitScriptsTest, RecordlessWaitIsDroppedAndCounted) {
  Add({{.key = "a"}});
  server_->Run({"DEL", internal::PartitionKeys(partition_)[1]});
  EXPECT_THAT(ClaimDue().waits, IsEmpty());
  const auto stats = ValueOrFail(Read(
      internal::ToWaitStats, Run(internal::Scripts().stats, partition_, {})));
  EXPECT_EQ(stats.pending, 0);
}

// On a full server, holders can still write and workers can start, but no
// client can add waits.
TEST_F(WaitScriptsTest, FullServerRefusesEnqueueAndNothingElse) {
  for (const ScriptCase& script : AllScripts()) {
    SCOPED_TRACE(script.name);
    server_->Run({"CONFIG", "SET", "maxmemory", "0"});
    const std::string fence = Prepare(script);
    server_->Run({"CONFIG", "SET", "maxmemory", "1"});
    const absl::StatusOr<RedisReply> reply = RunCase(script, fence);
    EXPECT_THAT(
        reply.status(),
        StatusIs(script.runs_when_full ? absl::StatusCode::kOk
                                       : absl::StatusCode::kResourceExhausted));
    ASSERT_FALSE(HasFatalFailure());
  }
}

// The commands of docs/durable.md.
TEST_F(WaitScriptsTest, UserWithTheCommandsOfTheDocumentRunsEachScript) {
  std::vector<std::string> rule = {"ACL", "SETUSER", "waits",
                                   "on",  ">secret", "~waiter:*"};
  for (const std::string command :
       {"eval",   "evalsha", "script|load", "info",       "time",
        "zadd",   "zrange",  "zrem",        "zcard",      "zcount",
        "zscore", "zmscore", "hset",        "hget",       "hmget",
        "hdel",   "hincrby", "hsetnx",      "hgetall",    "hscan",
        "sadd",   "srem",    "sismember",   "smismember", "exists",
        "expire", "hexists", "zscan",       "sscan",      "zremrangebyscore"}) {
    rule.push_back("+" + command);
  }
  ASSERT_EQ(server_->Run(rule), "OK");
  const auto admin = client_;
  const std::shared_ptr<RedisClient> user =
      *RedisClient::Make(server_->Url("waits:secret@"));
  for (const ScriptCase& script : AllScripts()) {
    SCOPED_TRACE(script.name);
    client_ = admin;
    const std::string fence = Prepare(script);
    client_ = user;
    const absl::StatusOr<RedisReply> reply = RunCase(script, fence);
    EXPECT_TRUE(reply.ok()) << reply.status();
  }
}

// The server must not do half of the enqueue.
TEST_F(WaitScriptsTest, EnqueueThatAFullServerRefusesChangesNothing) {
  FillPartition();
  const std::vector<std::string> keys = internal::PartitionKeys(partition_);
  const auto all = [&] {
    std::vector<std::string> dumps;
    for (const std::string& key : keys) {
      dumps.push_back(server_->Run({"DUMP", key}));
    }
    return dumps;
  };
  const std::vector<std::string> before = all();
  server_->Run({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(Enqueue({.partition = partition_,
                       .most_pending = 100,
                       .items = {{.key = "b", .record = "r", .args = "x"},
                                 {.key = "kept"}}})
                  .status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(all(), before);
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
  const auto claimed = ValueOrFail(
      Claim({.partition = partition_, .most = 1000, .lease_us = 1'000'000}));
  SettleRequest settle = {.partition = partition_, .lease_us = 1'000'000};
  for (const ClaimedWait& wait : claimed.waits) {
    settle.items.push_back({.key = wait.key,
                            .fence = claimed.fence,
                            .action = SettleAction::kRelease,
                            .record = wait.record});
  }
  EXPECT_EQ(settle.items.size(), 1000);
  EXPECT_THAT(ValueOrFail(Settle(settle)).lost, IsEmpty());
}

TEST_F(WaitScriptsTest, WorkersLiveForTenSecondsAfterAHeartbeat) {
  const auto beat = [&](const std::string& worker) {
    const RedisReply workers = ValueOrFail(Call(
        AtTime(internal::Scripts().heartbeat), {"workers"}, {worker, "0"}));
    std::vector<std::string> live;
    for (const RedisReply& id : workers.elements) live.push_back(id.text);
    EXPECT_EQ(live, book_.Heartbeat({.space = "s", .worker = worker}, now_));
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
    return Call(internal::Scripts().open, {"waiter:{s}:names"}, {"n", "4"});
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
  // These policies cannot evict waits, which have no time to live.
  for (const std::string policy :
       {"volatile-lru", "volatile-ttl", "noeviction"}) {
    server_->Run({"CONFIG", "SET", "maxmemory-policy", policy});
    EXPECT_EQ(ValueOrFail(open()).integer, 4);
  }
}

TEST_F(WaitScriptsTest, NothingOfAWaitHasATimeToLive) {
  Add({{.key = "a", .record = "r", .args = "x"},
       {.key = "b", .record = "r", .args = "x"},
       {.key = "c", .record = "r", .args = "x"}});
  ClaimDue();
  now_ += 2'000'000;  // The holder has vanished.
  const int64_t fence = ClaimDue().fence;
  for (const char* signal : {"c", "n"}) {
    ASSERT_TRUE(
        Run(internal::Scripts().signal, partition_, {signal, "a"}).ok());
  }
  ASSERT_TRUE(Run(internal::Scripts().mark, partition_, {"a", "1"}).ok());
  ValueOrFail(Settle({.partition = partition_,
                      .lease_us = 1'000'000,
                      .retain_us = 1'000'000,
                      .items = {Over("b", fence)}}));
  for (const std::string& key : internal::PartitionKeys(partition_)) {
    EXPECT_EQ(server_->Run({"TTL", key}), "-1") << key;
  }
}

// `..` writes only 14 digits of a number; a time in microseconds has more.
TEST_F(WaitScriptsTest, NoScriptJoinsTexts) {
  for (const ScriptCase& script : AllScripts()) {
    // Removes `(...)`, which passes arguments on.
    const std::string text = absl::StrReplaceAll(
        (internal::Scripts().*script.script).text(), {{"(...)", ""}});
    EXPECT_FALSE(absl::StrContains(text, "..")) << script.name;
    EXPECT_FALSE(absl::StrContains(text, "tostring")) << script.name;
  }
}

TEST_F(WaitScriptsTest, EachScriptSaysItsNameAndVersion) {
  for (const ScriptCase& row : AllScripts()) {
    const RedisScript* const script = &(internal::Scripts().*row.script);
    EXPECT_THAT(
        script->text(),
        testing::MatchesRegex("(#!lua[a-z =-]*\n)?-- waiter [a-z.]* [0-9]+\n"
                              "(.|\n)*"));
    EXPECT_EQ(server_->Run({"SCRIPT", "LOAD", script->text()}).size(), 40);
  }
}

}  // namespace
}  // namespace waiter::wait_scripts_test

#else

TEST(WaitScriptsTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif
