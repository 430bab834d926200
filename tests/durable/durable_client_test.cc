// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests what `DurableClient` passes on, refuses, counts and lists.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/durable_bench.h"
#include "tests/durable/durable_world.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/client.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::durable_client_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Phase = DurableStatus::Phase;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Keys, args, texts and values of any bytes.
TEST(DurableClientTest, BytesArePassedOnAsTheyAre) {
  std::string all;
  for (int byte = 0; byte < 128; ++byte) {
    all.push_back(static_cast<char>(2 * byte));
  }
  for (const std::string& key :
       {std::string(1, '\0'), std::string("{a}:*?\r\n$-1"), all,
        std::string(128, '\xff')}) {
    DurableBench bench;
    bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
      EXPECT_EQ(poll.key, key);
      EXPECT_EQ(poll.args, key);
      if (bench.polls.size() == 1) return NotReady(key);
      return Success(key);
    };
    bench.AddWorker();
    ASSERT_TRUE(*bench.Enqueue({.key = key, .args = key}));
    bench.Run(absl::Seconds(5));
    const DurableStatus pending = *bench.Get(key);
    EXPECT_EQ(pending.phase, Phase::kPending);
    EXPECT_EQ(pending.key, key);
    EXPECT_EQ(pending.args, key);
    bench.Run(absl::Seconds(10));
    ASSERT_THAT(bench.results, SizeIs(1));
    EXPECT_EQ(bench.results[0].key, key);
    EXPECT_EQ(*bench.results[0].value, key);
    const DurableClient::Listed listed = *bench.List("");
    std::vector<DurableStatus> waits = listed.waits;
    if (waits.empty()) waits = bench.List(listed.cursor)->waits;
    ASSERT_THAT(waits, SizeIs(1));
    EXPECT_EQ(waits[0].key, key);
    EXPECT_EQ(waits[0].phase, Phase::kDelivered);
    EXPECT_EQ(*waits[0].result->value, key);
  }
}

TEST(DurableClientTest, LongestKeyArgsAndValueArePassedOnAndLongerRefused) {
  DurableBench bench;
  const std::string value(size_t{64} * 1024, '\0');
  std::string seen_args;
  bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    seen_args = poll.args;
    return Success(value);
  };
  bench.AddWorker();
  const std::string args(size_t{16} * 1024, '\xfe');
  EXPECT_TRUE(*bench.Enqueue({.key = std::string(128, 'k'), .args = args}));
  bench.Run(absl::Seconds(2));
  EXPECT_EQ(seen_args, args);
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(*bench.results[0].value, value);
  EXPECT_EQ(*bench.Get(std::string(128, 'k'))->result->value, value);

  EXPECT_THAT(bench.Enqueue({.key = "a", .args = args + "x"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  for (const std::string& key : {std::string(), std::string(129, 'k')}) {
    for (const absl::Status& error : bench.Errors("job", key)) {
      EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument));
    }
  }
}

TEST(DurableClientTest, NamesOutsideOfTheRuleAreRefusedByAllCalls) {
  DurableBench bench;
  const std::string longest = std::string(61, 'n') + "_.-";
  for (const absl::Status& status : bench.Errors(longest, "k")) {
    EXPECT_TRUE(status.ok()) << status;
  }
  const int64_t calls = bench.store->calls;
  for (const std::string& name :
       {std::string(), std::string(65, 'n'), std::string("a b"),
        std::string("a/b"), std::string("a}"), std::string("a\0b", 3),
        std::string("é")}) {
    auto errors = bench.Errors(name, "k");
    errors.push_back(bench.List("", name).status());
    errors.push_back(bench.Stats(name).status());
    for (const absl::Status& error : errors) {
      EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument));
    }
    auto waits = *DurableWaits::Make(bench.store, bench.options);
    EXPECT_THAT(waits->Register(name, bench.policy, Done),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_EQ(bench.store->calls, calls);
}

TEST(DurableClientTest, ClientsOptionsOutsideOfTheirRangesAreRefused) {
  DurableBench bench;
  for (const DurableClientOptions& options :
       {DurableClientOptions{.space = ""},
        DurableClientOptions{.space = std::string(65, 's')},
        DurableClientOptions{.space = "a/b"},
        DurableClientOptions{.partitions = 0},
        DurableClientOptions{.partitions = -1},
        DurableClientOptions{.partitions = 4097},
        DurableClientOptions{.max_pending = 0},
        DurableClientOptions{.max_pending = kLeast}}) {
    EXPECT_THAT(DurableClient::Make(bench.store, options).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(DurableClient::Make(nullptr, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DurableWaits::Make(nullptr, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(DurableClient::Make(bench.store,
                                  {.partitions = 4096, .max_pending = kMost})
                  .ok());
}

TEST(DurableClientTest, OneWaitPerPartitionFitsWhateverTheLimit) {
  DurableBench bench;
  bench.options.partitions = 16;
  bench.max_pending = 1;
  EXPECT_TRUE(bench.Enqueue({.key = "a"}).ok());
  EXPECT_THAT(bench.EnqueueMany(
                  std::vector<DurableRequest>({{.key = "a"}, {.key = "a"}})),
              testing::ResultOf([](const auto& count) { return *count; }, 0));
}

TEST(DurableClientTest, TimesOutsideOfTheirRangesAreRefused) {
  DurableBench bench;
  for (const absl::Duration time :
       {-absl::Nanoseconds(1), -absl::Seconds(1), -absl::InfiniteDuration(),
        absl::Hours(876'001), absl::InfiniteDuration()}) {
    EXPECT_THAT(
        bench.Enqueue({.key = "a", .timeout = time}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout")))
        << time;
    EXPECT_THAT(
        bench.Enqueue({.key = "a", .first_delay = time}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first_delay")))
        << time;
  }
  EXPECT_TRUE(*bench.Enqueue({.key = "a",
                              .timeout = absl::Hours(876'000),
                              .first_delay = absl::Hours(876'000)}));
}

TEST(DurableClientTest, TimeoutOfARequestReplacesThatOfThePolicy) {
  for (const auto& [timeout, polls] :
       {std::pair(absl::ZeroDuration(), 1), {absl::Seconds(25), 4}}) {
    SCOPED_TRACE(timeout);
    DurableBench bench;
    bench.policy.timeout = absl::InfiniteDuration();
    bench.AddWorker();
    ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
    ASSERT_TRUE(bench.Enqueue({.key = "b", .timeout = timeout}).ok());
    bench.Run(timeout + absl::Seconds(2));
    ASSERT_THAT(bench.results, SizeIs(1));
    EXPECT_EQ(bench.results[0].key, "b");
    EXPECT_EQ(bench.results[0].reason, StopReason::kDeadline);
    EXPECT_THAT(bench.results[0].value.status(),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(bench.results[0].attempts, polls);
    EXPECT_GE(bench.results[0].elapsed, timeout);
    EXPECT_LE(bench.results[0].elapsed, timeout + absl::Seconds(1.5));
    // "a" has the policy's timeout, which is infinite.
    bench.Run(absl::Hours(3), absl::Seconds(5));
    EXPECT_THAT(bench.results, SizeIs(1));
  }
}

// The policy's, and one beyond the timeout.
TEST(DurableClientTest, FirstDelaysAreKept) {
  DurableBench bench;
  bench.policy.polls.first_delay = absl::Seconds(30);
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  ASSERT_TRUE(bench
                  .Enqueue({.key = "b",
                            .timeout = absl::Seconds(30),
                            .first_delay = absl::Minutes(2)})
                  .ok());
  bench.Run(absl::Seconds(29.9));
  EXPECT_THAT(bench.polls, IsEmpty());
  bench.Run(absl::Seconds(2));
  EXPECT_THAT(bench.polls, SizeIs(1));
  bench.Run(absl::Minutes(2));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(bench.results[0].key, "b");
  EXPECT_EQ(bench.results[0].reason, StopReason::kDeadline);
  EXPECT_EQ(bench.results[0].attempts, 1);
  EXPECT_GE(bench.result_times[0], absl::Minutes(2));
}

TEST(DurableClientTest, StatusSaysWhatIsKnownOfAPendingWait) {
  DurableBench bench;
  bench.function = [](const DurablePoll&) -> Poll<std::string> {
    return NotReady("building 7%");
  };
  bench.Run(absl::Seconds(3));
  ASSERT_TRUE(bench.Enqueue({.key = "a", .args = "x"}).ok());
  const absl::Time enqueued =
      absl::FromUnixMicros(MemoryWaitStore::StoreTime(bench.clock));
  DurableStatus status = *bench.Get("a");
  EXPECT_EQ(status.phase, Phase::kPending);
  EXPECT_LE(absl::AbsDuration(status.enqueued - enqueued),
            absl::Milliseconds(50));
  EXPECT_LE(absl::AbsDuration(status.due - enqueued), absl::Milliseconds(50));
  EXPECT_EQ(status.attempts, 0);
  EXPECT_EQ(status.last_poll, "");
  bench.AddWorker();
  bench.Run(absl::Seconds(5));
  status = *bench.Get("a");
  EXPECT_EQ(status.attempts, 1);
  EXPECT_THAT(status.last_poll, HasSubstr("building 7%"));
  EXPECT_FALSE(status.is_cancelled);
  EXPECT_FALSE(status.result.has_value());
  EXPECT_GE(status.due - enqueued, absl::Seconds(10));
  EXPECT_LE(status.due - enqueued, absl::Seconds(12));
  const DurableStatus nothing = *bench.Get("nothing");
  EXPECT_EQ(nothing.phase, Phase::kUnknown);
  EXPECT_EQ(nothing.key, "nothing");
  EXPECT_EQ(nothing.enqueued, absl::InfinitePast());
  EXPECT_EQ(nothing.due, absl::InfiniteFuture());
  EXPECT_FALSE(nothing.result.has_value());
  for (const auto& [phase, text] :
       std::map<Phase, std::string>{{Phase::kUnknown, "unknown"},
                                    {Phase::kPending, "pending"},
                                    {Phase::kEnded, "ended"},
                                    {Phase::kDelivered, "delivered"}}) {
    EXPECT_EQ(ToString(phase), text);
  }
}

TEST(DurableClientTest, EnqueueManyCountsWhatIsNew) {
  DurableBench bench;
  EXPECT_EQ(*bench.EnqueueMany({}), 0);
  EXPECT_EQ(*bench.EnqueueMany({{.key = "a"}, {.key = "b"}, {.key = "a"}}), 2);
  EXPECT_EQ(*bench.EnqueueMany({{.key = "b"}, {.key = "c"}}), 1);
  std::vector<DurableRequest> requests = Requests(700);
  requests.resize(1000);
  std::copy_n(requests.begin(), 300, requests.begin() + 700);
  for (DurableRequest& request : requests) request.args.assign(1000, 'a');
  EXPECT_EQ(*bench.EnqueueMany(requests), 700);
  EXPECT_EQ(*bench.EnqueueMany(requests), 0);
  EXPECT_EQ(bench.Stats()->pending, 703);
}

TEST(DurableClientTest, EnqueueManyWithOneBadRequestHasNoEffect) {
  DurableBench bench;
  std::vector<DurableRequest> requests = Requests(100);
  requests[57].key = "";
  EXPECT_THAT(bench.EnqueueMany(requests).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(bench.Stats()->pending, 0);
}

TEST(DurableClientTest, FullPartitionRefusesAndOthersMayTake) {
  DurableBench bench;
  bench.max_pending = 20;
  const std::vector<DurableRequest> requests = Requests(100);
  EXPECT_THAT(bench.EnqueueMany(requests).status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  for (const DurableRequest& request : requests) {
    const absl::Status status = bench.Enqueue(request).status();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
  }
  EXPECT_LE(bench.Stats()->pending, 20);
  EXPECT_GE(bench.Stats()->pending, 10);
  // Enqueues of existing keys still succeed.
  const DurableClient::Listed listed = *bench.List("");
  for (const DurableStatus& wait : listed.waits) {
    EXPECT_FALSE(*bench.Enqueue({.key = wait.key}));
  }
}

TEST(DurableClientTest, ListStepsThroughAllWaitsPendingAndKept) {
  DurableBench bench;
  bench.options.partitions = 5;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key.back() == '7') return Success(std::string("seven"));
    return NotReady();
  };
  const std::vector<DurableRequest> requests = Requests(300);
  ASSERT_EQ(*bench.EnqueueMany(requests), 300);
  bench.AddWorker();
  bench.Run(absl::Seconds(3));
  std::map<std::string, Phase> seen;
  std::string cursor;
  int steps = 0;
  do {
    const DurableClient::Listed listed = ValueOrFail(bench.List(cursor));
    for (const DurableStatus& wait : listed.waits) {
      seen[wait.key] = wait.phase;
    }
    cursor = listed.cursor;
  } while (!cursor.empty() && ++steps < 100);
  EXPECT_THAT(cursor, IsEmpty());
  EXPECT_THAT(seen, SizeIs(300));
  for (const auto& [key, phase] : seen) {
    EXPECT_EQ(phase, key.back() == '7' ? Phase::kDelivered : Phase::kPending);
  }
}

TEST(DurableClientTest, CursorsThatListDidNotReturnAreRefused) {
  DurableBench bench;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  for (const std::string& cursor :
       {std::string("x"), std::string("2:0"), std::string("-1:0"),
        std::string("99999999999999999999:0"), std::string("4096:0"),
        std::string(":"), std::string("1"), std::string(1, '\0'),
        std::string(100'000, '0'), std::string("+1:0")}) {
    const absl::StatusOr<DurableClient::Listed> listed = bench.List(cursor);
    EXPECT_THAT(listed.status(), StatusIs(absl::StatusCode::kInvalidArgument))
        << cursor.substr(0, 40);
  }
}

TEST(DurableClientTest, EveryCallOfAnotherDivisionIsRefused) {
  DurableBench bench;
  bench.options.partitions = 3;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  auto client = *DurableClient::Make(bench.store, {.partitions = 4});
  std::vector<absl::Status> errors;
  for (int turn = 0; turn < 2; ++turn) {
    const auto note = [&](const auto& got) { errors.push_back(got.status()); };
    client->Enqueue("job", {.key = "a"}, note);
    client->EnqueueMany("job", {{.key = "a"}}, note);
    client->Get("job", "a", note);
    client->Cancel("job", "a", note);
    client->List("job", "", note);
    client->Stats("job", note);
    bench.Run(absl::Seconds(1));
    EXPECT_THAT(errors, SizeIs(6 * (turn + 1)));
  }
  for (const absl::Status& error : errors) {
    EXPECT_THAT(error, StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("3"), HasSubstr("4"))));
  }
  EXPECT_FALSE(bench.Get("a")->is_cancelled);
}

TEST(DurableClientTest, ResultCanBeWaitedForElsewhere) {
  DurableBench bench;
  bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    if (bench.clock.Elapsed() < absl::Seconds(30)) return NotReady("building");
    if (poll.key == "bad") return Failed("broken");
    return Success("built");
  };
  ASSERT_TRUE(bench.Enqueue({.key = "good"}).ok());
  ASSERT_TRUE(bench.Enqueue({.key = "bad"}).ok());
  bench.AddWorker();
  WaitEngine engine({.threads = 0, .clock = &bench.clock});
  std::map<std::string, WaitResult<DurableResult>> results;
  std::vector<WaitHandle> handles;
  for (const std::string key : {"good", "bad", "none"}) {
    handles.push_back(
        engine.Start(AsyncWaiter(bench.client().Result("job", key),
                                 {.timeout = absl::Minutes(5),
                                  .backoff = Every(absl::Seconds(1)),
                                  .clock = &bench.clock}),
                     [&results, key](WaitResult<DurableResult> result) {
                       results.emplace(key, std::move(result));
                     }));
  }
  const auto run = [&](absl::Duration time) {
    for (absl::Duration t; t < time; t += absl::Milliseconds(20)) {
      bench.Run(absl::Milliseconds(20));
      (void)engine.RunDue();
    }
  };
  run(absl::Seconds(5));
  ASSERT_EQ(results.count("none"), 1);
  EXPECT_THAT(results.at("none").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("job none")));
  EXPECT_THAT(results, SizeIs(1));
  // The store may be away for a while.
  bench.store->down = absl::UnavailableError("down");
  run(absl::Seconds(5));
  bench.store->down = absl::OkStatus();
  run(absl::Seconds(40));
  ASSERT_EQ(results.count("good"), 1);
  ASSERT_EQ(results.count("bad"), 1);
  ASSERT_TRUE(results.at("good").ok()) << results.at("good").status();
  EXPECT_EQ(*results.at("good")->value, "built");
  ASSERT_TRUE(results.at("bad").ok()) << results.at("bad").status();
  EXPECT_EQ(results.at("bad")->reason, StopReason::kFailed);
  EXPECT_THAT(results.at("bad")->value.status().message(), HasSubstr("broken"));
}

TEST(DurableClientTest, StatsOfAnUnusedNameAreZero) {
  DurableBench bench;
  const DurableStats stats = *bench.Stats("unused");
  EXPECT_EQ(stats.pending, 0);
  EXPECT_EQ(stats.overdue, 0);
  EXPECT_EQ(stats.oldest, absl::ZeroDuration());
  EXPECT_EQ(stats.kept, 0);
  EXPECT_THAT(stats.counters, IsEmpty());
  const DurableClient::Listed listed = *bench.List("", "unused");
  EXPECT_THAT(listed.waits, IsEmpty());
}

TEST(DurableClientTest, MostPartitionsWork) {
  DurableBench bench;
  bench.options.partitions = 4096;
  bench.function = Done;
  const std::vector<DurableRequest> requests = Requests(500);
  ASSERT_EQ(*bench.EnqueueMany(requests), 500);
  bench.AddWorker();
  bench.Run(absl::Seconds(5), absl::Milliseconds(100));
  EXPECT_EQ(bench.results.size(), 500);
  EXPECT_EQ(bench.Stats()->kept, 500);
}

}  // namespace
}  // namespace waiter::durable_client_test
