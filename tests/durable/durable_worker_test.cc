// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Workers of durable waits with odd stores, handlers and functions, and how
// they share claims. durable_waits_test.cc tests the usual course.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/bent_wait_store.h"
#include "tests/durable/durable_bench.h"
#include "tests/durable/durable_world.h"
#include "tests/durable/live_wait_store.h"
#include "tests/support/simulated_budget_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/result.h"

namespace waiter::durable_worker_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Phase = DurableStatus::Phase;

TEST(DurableWorkerTest, GiveUpIsCalledOnceThoughTheWaitIsGivenBack) {
  DurableBench bench;
  bench.policy.timeout = absl::Seconds(35);
  std::vector<StopReason> gave_up;
  bench.policy.hooks.on_failure = [&](const WaitFailure& end) {
    gave_up.push_back(end.report.reason);
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(15));
  EXPECT_THAT(gave_up, IsEmpty());
  bench.workers[0] = nullptr;
  EXPECT_THAT(gave_up, IsEmpty());
  bench.AddWorker();
  bench.Run(absl::Minutes(1));
  EXPECT_THAT(gave_up, ElementsAre(StopReason::kDeadline));
}

TEST(DurableWorkerTest, ErrorOfAFailureIsKeptAndItsMessageCut) {
  DurableBench bench;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key == "none") return Failed();
    return Failed(absl::DataLossError(poll.key == "long"
                                          ? std::string(5000, 'x')
                                          : std::string("a\0b\n", 4)));
  };
  bench.AddWorker();
  ASSERT_EQ(
      *bench.EnqueueMany({{.key = "long"}, {.key = "odd"}, {.key = "none"}}),
      3);
  bench.Run(absl::Seconds(3));
  ASSERT_THAT(bench.results, SizeIs(3));
  for (const DurableResult& result : bench.results) {
    EXPECT_EQ(result.reason, StopReason::kFailed);
    const absl::Status& status = result.value.status();
    if (result.key == "none") {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnknown));
    } else if (result.key == "long") {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                   std::string(1000, 'x')));
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                   StartsWith(std::string("a\0b\n", 4) +
                                              " (odd, after 1 attempt in ")));
    }
    EXPECT_EQ(bench.Get(result.key)->result->value.status(), status);
  }
}

TEST(DurableWorkerTest, ResultsAreKeptForGetAlsoWithoutAHandler) {
  for (const bool has_handler : {false, true}) {
    for (const bool is_kept : {false, true}) {
      DurableBench bench;
      if (!is_kept) bench.options.retain = absl::ZeroDuration();
      if (!has_handler) bench.handler = nullptr;
      bench.function = Done;
      DurableWaits& waits = bench.AddWorker();
      ASSERT_TRUE(*bench.Enqueue({.key = "a"}));
      bench.Run(absl::Seconds(2));
      EXPECT_EQ(waits.State().ended, 1);
      EXPECT_EQ(waits.State().held, 0);
      EXPECT_THAT(bench.results, SizeIs(has_handler ? 1 : 0));
      const DurableStatus status = *bench.Get("a");
      EXPECT_EQ(*bench.Enqueue({.key = "a"}), !is_kept);
      if (!is_kept) {
        EXPECT_EQ(status.phase, Phase::kUnknown);
        continue;
      }
      EXPECT_EQ(status.phase, Phase::kDelivered);
      EXPECT_EQ(*status.result->value, "done");
      EXPECT_EQ(status.due, absl::InfiniteFuture());
      EXPECT_FALSE(status.is_held);
    }
  }
}

TEST(DurableWorkerTest, HandlersAreCalledLaterAndLaterButWithinFiveMinutes) {
  DurableBench bench;
  bench.function = Done;
  bench.handler = [](const DurableResult&) {
    return absl::InternalError("busy");
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Hours(1), absl::Milliseconds(200));
  ASSERT_THAT(bench.results, SizeIs(Ge(16)));
  EXPECT_THAT(bench.results, SizeIs(Le(30)));
  EXPECT_LE(bench.result_times[1] - bench.result_times[0], absl::Seconds(2.5));
  EXPECT_GE(bench.result_times[1] - bench.result_times[0], absl::Seconds(1));
  for (size_t i = 1; i < bench.results.size(); ++i) {
    EXPECT_EQ(bench.results[i].delivery, static_cast<int64_t>(i) + 1);
    EXPECT_LE(bench.result_times[i] - bench.result_times[i - 1],
              absl::Minutes(5) + absl::Seconds(2));
  }
  EXPECT_EQ(bench.Get("a")->phase, Phase::kEnded);
  EXPECT_EQ(*bench.Get("a")->result->value, "done");
}

TEST(DurableWorkerTest, IdempotencyKeysDifferByNameSpaceAndKey) {
  DurableBench bench;
  std::set<std::string> keys;
  auto client = *DurableClient::Make(bench.store, {.partitions = 2});
  auto other =
      *DurableClient::Make(bench.store, {.space = "other", .partitions = 2});
  int results = 0;
  for (const char* const space : {"default", "other"}) {
    bench.options.space = space;
    bench.workers.push_back(*DurableWaits::Make(bench.store, bench.options));
    for (const char* const name : {"x", "y"}) {
      ASSERT_TRUE(bench.workers.back()
                      ->Register(name, bench.policy, Done,
                                 [&](const DurableResult& result) {
                                   keys.insert(result.idempotency_key);
                                   ++results;
                                   return absl::OkStatus();
                                 })
                      .ok());
    }
    bench.workers.back()->Start();
  }
  for (const char* const name : {"x", "y"}) {
    for (DurableClient* const each : {client.get(), other.get()}) {
      each->EnqueueMany(
          name, {{.key = "a"}, {.key = "b"}, {.key = "a b"}},
          [](absl::StatusOr<int64_t> count) { EXPECT_EQ(*count, 3); });
    }
  }
  bench.Run(absl::Seconds(3));
  EXPECT_EQ(results, 12);
  EXPECT_THAT(keys, SizeIs(12));
}

TEST(DurableWorkerTest, StateCountsSinceTheStart) {
  DurableBench bench;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.context.attempt < 3) return NotReady();
    return Success(std::string("x"));
  };
  DurableWaits& waits = bench.AddWorker();
  ASSERT_EQ(*bench.EnqueueMany({{.key = "a"}, {.key = "b"}}), 2);
  bench.Run(absl::Minutes(1));
  const DurableWaitsState state = waits.State();
  EXPECT_EQ(state.held, 0);
  EXPECT_EQ(state.claimed, 6);
  EXPECT_EQ(state.polls, 6);
  EXPECT_EQ(state.ended, 2);
  EXPECT_EQ(state.delivered, 2);
  EXPECT_EQ(state.lost, 0);
  EXPECT_EQ(state.unreadable, 0);
  EXPECT_TRUE(state.last_error.ok());
}

#ifdef __cpp_exceptions
TEST(DurableWorkerTest, ThrowingStatusFunctionFailsItsWaitAlone) {
  DurableBench bench;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key == "bad") throw std::runtime_error("boom");
    return Success(std::string("fine"));
  };
  bench.AddWorker();
  ASSERT_EQ(*bench.EnqueueMany({{.key = "bad"}, {.key = "good"}}), 2);
  bench.Run(absl::Seconds(3));
  ASSERT_THAT(bench.results, SizeIs(2));
  for (const DurableResult& result : bench.results) {
    if (result.key == "good") {
      EXPECT_TRUE(result.value.ok());
    } else {
      EXPECT_EQ(result.reason, StopReason::kFailed);
      EXPECT_THAT(result.value.status(), StatusIs(absl::StatusCode::kUnknown));
    }
  }
}

TEST(DurableWorkerTest, ThrowingHandlerIsCalledAgain) {
  DurableBench bench;
  bench.function = Done;
  bench.handler = [&](const DurableResult&) -> absl::Status {
    if (bench.results.size() < 3) throw std::runtime_error("boom");
    return absl::OkStatus();
  };
  DurableWaits& waits = bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(20));
  EXPECT_THAT(bench.results, SizeIs(3));
  EXPECT_EQ(waits.State().delivered, 1);
  EXPECT_EQ(waits.State().held, 0);
}
#endif

// The order in which threads claim and poll must not matter.
TEST(DurableWorkerTest, CancelledWaitsAreNotPolledByTheThreadsOfAnEngine) {
  constexpr int kWaits = 10'000;
  const auto store =
      std::make_shared<LiveWaitStore>(std::make_shared<LiveWaitStore::Book>());
  const auto client = *DurableClient::Make(store, {.partitions = 2});
  const std::vector<DurableRequest> requests = Requests(kWaits);
  std::latch enqueued(1);
  std::latch cancelled(kWaits);
  client->EnqueueMany("job", requests,
                      [&](const absl::StatusOr<int64_t>& count) {
                        EXPECT_EQ(*count, kWaits);
                        enqueued.count_down();
                      });
  enqueued.wait();
  for (const DurableRequest& request : requests) {
    client->Cancel("job", request.key,
                   [&](const absl::StatusOr<DurableStatus>& status) {
                     EXPECT_EQ(status->phase, Phase::kPending);
                     cancelled.count_down();
                   });
  }
  cancelled.wait();
  std::atomic<int> polls = 0;
  std::atomic<int> delivered = 0;
  std::latch left(kWaits);
  const auto waits =
      *DurableWaits::Make(store, {.threads = 2, .partitions = 2});
  ASSERT_TRUE(waits
                  ->Register(
                      "job", {.timeout = absl::Hours(1)},
                      [&](const DurablePoll&) -> Poll<std::string> {
                        ++polls;
                        return NotReady();
                      },
                      [&](const DurableResult& result) {
                        EXPECT_EQ(result.reason, StopReason::kCancelled);
                        EXPECT_EQ(result.attempts, 0);
                        if (++delivered <= kWaits) left.count_down();
                        return absl::OkStatus();
                      })
                  .ok());
  waits->Start();
  left.wait();
  EXPECT_EQ(polls, 0);
}

TEST(DurableWorkerTest, RefusalOfTheStoreIsToldUntilItOpensTheName) {
  DurableBench bench;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.store->open = [](absl::StatusOr<int64_t>& reply) {
    reply = absl::FailedPreconditionError("may delete waits");
  };
  DurableWaits& worker = bench.AddWorker();
  auto client = *DurableClient::Make(bench.store, {.partitions = 2});
  absl::Status error;
  client->Get("job", "a", [&](const auto& got) { error = got.status(); });
  // Other calls of the worker succeed while the store refuses the name.
  for (int i = 0; i < 30; ++i) {
    bench.Run(absl::Seconds(1));
    EXPECT_THAT(worker.State().last_error,
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("may delete waits")));
  }
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(bench.polls, IsEmpty());
  bench.store->open = nullptr;
  bench.Run(absl::Seconds(10));
  EXPECT_TRUE(worker.State().last_error.ok());
  EXPECT_THAT(bench.polls, SizeIs(Ge(1)));
}

TEST(DurableWorkerTest, NameThatSomebodyDividedAnewIsTold) {
  DurableBench bench;
  DurableWaits& worker = bench.AddWorker();
  bench.Run(absl::Seconds(5));
  EXPECT_TRUE(worker.State().last_error.ok());
  // The store is empty, as after a FLUSHALL.
  *bench.book = WaitBook();
  EXPECT_EQ(bench.book->Open("default", "job", 8), 8);
  bench.Run(absl::Seconds(40));
  EXPECT_THAT(worker.State().last_error,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("job has 8 partitions in the store")));
}

TEST(DurableWorkerTest, PollsKnowHowManyHoldersVanished) {
  DurableBench bench;
  std::vector<int64_t> crashes;
  bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    crashes.push_back(poll.crashes);
    return NotReady();
  };
  bench.policy.backoff = Every(absl::Seconds(1));
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.AddWorker();
  bench.Run(absl::Seconds(3));
  EXPECT_THAT(crashes, testing::Each(0));
  // The worker's last writes do not arrive.
  bench.store->down = absl::UnavailableError("down");
  bench.workers[0] = nullptr;
  bench.store->down = absl::OkStatus();
  crashes.clear();
  bench.AddWorker();
  bench.Run(absl::Seconds(17));
  ASSERT_THAT(crashes, SizeIs(Ge(1)));
  EXPECT_EQ(crashes.front(), 1);
  crashes.clear();
  // The new worker's first renewal clears the count of crashes.
  bench.Run(absl::Seconds(10));
  EXPECT_EQ(crashes.back(), 0);
}

TEST(DurableWorkerTest, JumpOfTheServersClockIsSeen) {
  DurableBench bench;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  DurableWaits& worker = bench.AddWorker();
  absl::Duration jump;
  bench.store->claim = [&](const ClaimRequest&,
                           absl::StatusOr<ClaimReply>& reply) {
    if (reply.ok()) reply->now_us += absl::ToInt64Microseconds(jump);
  };
  bench.Run(absl::Minutes(1));
  EXPECT_EQ(worker.State().clock_step, absl::ZeroDuration());
  jump = absl::Milliseconds(900);
  bench.Run(absl::Seconds(5));
  EXPECT_EQ(worker.State().clock_step, absl::ZeroDuration());
  jump = absl::Hours(1);
  bench.Run(absl::Seconds(5));
  EXPECT_NEAR(absl::ToDoubleSeconds(worker.State().clock_step), 3600, 2);
  bench.store->claim = nullptr;
  bench.Run(absl::Seconds(5));
  EXPECT_NEAR(absl::ToDoubleSeconds(worker.State().clock_step), -3600, 2);
}

// Workers with stores whose replies a test may change.
class BentWorld : public DurableWorld {
 public:
  BentWorld() {
    wrap = [this](int /*worker*/, std::shared_ptr<WaitStore> store) {
      stores.push_back(std::make_shared<BentWaitStore>(std::move(store)));
      return stores.back();
    };
  }
  std::vector<std::shared_ptr<BentWaitStore>> stores = {};
};

TEST(DurableWorkerTest, WorkerLooksOftenOnceTheOthersAreGone) {
  BentWorld world;
  world.AddWorker();
  world.stores[0]->beat = [](auto& workers) {
    // At least two of these workers rank before this one.
    for (int i = 0; i < 10'000; ++i) workers->push_back(absl::StrCat(i));
  };
  world.Run(absl::Seconds(6));
  world.stores[0]->beat = nullptr;
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(5));  // Shorter than a heartbeat.
  EXPECT_THAT(world.polls, SizeIs(1));
}

// Two renewals are due before the first one has a reply. The next one that is
// sent must have the newest record.
TEST(DurableWorkerTest, RenewalHasTheNewestRecord) {
  BentWorld world;
  world.options.lease = absl::Seconds(6);
  world.policy.backoff = Every(absl::Seconds(1.5));
  DurableWorld::Worker& worker = world.AddWorker();
  world.Run(absl::Seconds(1.6));
  (void)world.Enqueue({.key = "a"});  // Polled until 5 s.
  BentWaitStore& store = *world.stores[0];
  store.keeps_replies = true;
  world.Run(absl::Seconds(6.1) - world.clock.Elapsed());
  ASSERT_THAT(store.kept, SizeIs(1));
  ASSERT_THAT(world.polls, SizeIs(3));
  EXPECT_EQ(world.Get("a").attempts, 1);
  store.kept[0]();
  world.Run(absl::Milliseconds(20));
  worker.Kill();
  EXPECT_EQ(world.Get("a").attempts, 3);
}

// A renewal is still unsent when the worker loses its lease. It must not be
// sent after the worker claims the wait again, to deliver a result that another
// worker recorded.
TEST(DurableWorkerTest, RenewalOfALostLeaseIsNotSentForTheNextOne) {
  BentWorld world;
  world.options.lease = absl::Seconds(6);
  world.policy.backoff = Every(absl::Seconds(1));
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    if (world.polls.back().worker == 0) return NotReady();
    return Success("done");
  };
  world.handler = [&](const DurableResult&) -> absl::Status {
    if (world.deliveries.back().worker == 1) return absl::InternalError("no");
    // The worker sends its writes within 5 ms, and is killed after that.
    world.clock.CallAt(world.clock.Elapsed() + absl::Milliseconds(6),
                       [&] { world.worker(0).Kill(); });
    return absl::OkStatus();
  };
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(1));
  world.stores[0]->keeps_replies = true;
  world.Run(absl::Seconds(6));
  ASSERT_EQ(worker.waits().State().held, 0);
  ASSERT_THAT(world.stores[0]->kept, SizeIs(1));
  // The renewed lease ends at 8 s, but the worker has no reply to the renewal.
  worker.StopUntil(absl::Seconds(9));
  world.AddWorker();
  world.Run(absl::Seconds(1.6));
  world.worker(1).Kill();
  ASSERT_THAT(world.deliveries, SizeIs(1));
  const size_t polls = world.polls.size();
  world.Run(absl::Seconds(2));
  ASSERT_THAT(world.deliveries, SizeIs(2));
  EXPECT_EQ(world.deliveries[1].worker, 0);
  EXPECT_EQ(world.Get("a").phase, Phase::kDelivered);
  world.AddWorker();
  world.Run(absl::Seconds(30));
  EXPECT_THAT(world.polls, SizeIs(polls));
}

// The store loses the result whose value the worker has asked for. When the
// reply comes, the worker asks for the value of the next result.
TEST(DurableWorkerTest, LateValueIsNotThatOfTheNextResult) {
  BentWorld world;
  world.options.lease = absl::Seconds(2);
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    return Success(absl::StrCat("result ", world.polls.size()));
  };
  absl::Status answer = absl::UnavailableError("busy");
  world.handler = [&](const DurableResult&) { return answer; };
  (void)world.Enqueue({.key = "a"});
  const WaitBook before = *world.book;
  world.AddWorker();
  BentWaitStore& store = *world.stores[0];
  store.keeps_rows = true;
  world.Run(absl::Seconds(3));
  ASSERT_THAT(store.kept, SizeIs(1));
  store.down = absl::UnavailableError("away");
  world.Run(absl::Seconds(3));
  *world.book = before;
  store.down = absl::OkStatus();
  world.Run(absl::Seconds(5));
  ASSERT_THAT(store.kept, SizeIs(2));
  answer = absl::OkStatus();
  store.kept[0]();
  store.kept[1]();
  world.Run(absl::Seconds(1));
  ASSERT_THAT(world.polls, SizeIs(2));
  EXPECT_EQ(world.deliveries.back().result.value.value(), "result 2");
  EXPECT_TRUE(world.deliveries.back().is_accepted);
}

// The worker loses a suspect while it waits for the reply to the mark, and
// claims the suspect again.
TEST(DurableWorkerTest, SuspectThatWasLostLetsTheNextOneBePolled) {
  BentWorld world;
  world.policy.backoff = Every(absl::Seconds(1));
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    const int worker = world.polls.back().worker;
    if (worker < 2) world.worker(static_cast<size_t>(worker)).Kill();
    return NotReady();
  };
  (void)world.Enqueue({.key = "a"});
  (void)world.Enqueue({.key = "b"});
  for (int i = 0; i < 2; ++i) {
    world.AddWorker();
    world.Run(absl::Seconds(18));
  }
  const size_t polls = world.polls.size();
  DurableWorld::Worker& worker = world.AddWorker();
  BentWaitStore& store = *world.stores[2];
  store.keeps_replies = true;
  world.Run(absl::Seconds(1));
  ASSERT_EQ(worker.waits().State().held, 2);
  worker.StopUntil(world.clock.Elapsed() + absl::Seconds(20));
  world.Run(absl::Seconds(21));
  ASSERT_EQ(worker.waits().State().claimed, 4);
  ASSERT_THAT(world.polls, SizeIs(polls));
  store.keeps_replies = false;
  const auto kept = std::exchange(store.kept, {});
  for (const auto& give : kept) give();
  world.Run(absl::Seconds(10));
  std::set<std::string> polled;
  for (const auto& poll : world.polls) {
    if (poll.worker == 2) polled.insert(poll.key);
  }
  EXPECT_THAT(polled, ElementsAre("a", "b"));
}

// How workers share claims and rates.

class OnePerSecond final : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override {
    if (now < next_) return next_;
    next_ = now + std::chrono::seconds(1);
    return now;
  }
  void Update(MonotonicTime, PollStatus) override {}
  std::optional<double> Rate() const override { return 1; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<OnePerSecond>();
  }

 private:
  MonotonicTime next_ = {};
};

// Waits that the worker cannot poll soon stay in the store, for others.
TEST(DurableWorkerTest, WorkerWithALimiterClaimsOneBatchAhead) {
  DurableBench bench;
  bench.policy.budgets.rate_limiter = std::make_shared<OnePerSecond>();
  bench.options.claim_batch = 20;
  ASSERT_EQ(*bench.EnqueueMany(Requests(500)), 500);
  DurableWaits& worker = bench.AddWorker();
  int64_t most = 0;
  for (int i = 0; i < 60; ++i) {
    bench.Run(absl::Seconds(1));
    most = std::max(most, worker.State().held);
  }
  // The worker gives polled waits back, because their delays are long.
  EXPECT_LE(most, 20);
  EXPECT_THAT(bench.polls, SizeIs(AllOf(Ge(55), testing::Le(61))));
  for (size_t i = 1; i < bench.polls.size(); ++i) {
    EXPECT_GE(bench.polls[i] - bench.polls[i - 1], absl::Seconds(1));
  }
  EXPECT_LE(bench.store->most_claimed, 20);
  EXPECT_EQ(worker.State().lost, 0);
  // The worker claims many waits at a time.
  EXPECT_LE(bench.store->claims, 40 + 60 * 8);
}

TEST(DurableWorkerTest, WorkerThatPollsNothingLeavesTheWaitsToOthers) {
  DurableBench bench;
  bench.options.claim_batch = 20;
  ASSERT_EQ(*bench.EnqueueMany(Requests(500)), 500);
  const auto waits = *DurableWaits::Make(bench.store, bench.options);
  ASSERT_TRUE(waits
                  ->Register("job", bench.policy,
                             [&](const DurablePoll&) -> Poll<std::string> {
                               return NotReady();
                             })
                  .ok());
  waits->Start();
  // The worker polls nothing, because the test does not call `RunDue`.
  bench.Run(absl::Seconds(10));
  EXPECT_EQ(waits->State().held, 8);
  // Once it polls, it claims the others.
  for (int i = 0; i < 200; ++i) {
    bench.Run(absl::Milliseconds(20));
    (void)waits->RunDue();
  }
  EXPECT_EQ(waits->State().polls, 500);
}

TEST(DurableWorkerTest, ReleasesOfPollsThatAreCloseShareACall) {
  DurableBench bench;
  bench.options.partitions = 1;
  std::vector<DurableRequest> requests = Requests(40);
  absl::Duration delay = absl::Seconds(1);
  for (DurableRequest& request : requests) {
    request.first_delay = std::exchange(delay, delay + absl::Milliseconds(5));
  }
  ASSERT_EQ(*bench.EnqueueMany(requests), 40);
  bench.AddWorker();
  int releases = 0;
  bench.store->settle = [&](const auto&, auto&) { ++releases; };
  bench.Run(absl::Seconds(2), absl::Milliseconds(1));
  EXPECT_THAT(bench.polls, SizeIs(40));
  // The polls take 200 ms, and each call covers 50 ms.
  EXPECT_LE(releases, 5);
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  EXPECT_THAT(bench.polls, SizeIs(80));
}

// The reply to an earlier claim does not include the release.
TEST(DurableWorkerTest, WaitThatIsGivenBackForAShortTimeIsPolledInTime) {
  DurableBench bench;
  bench.options.max_held = 16;
  bench.policy.backoff = Every(absl::Milliseconds(100));
  for (int i = 0; i < 14; ++i) {
    ASSERT_TRUE(bench.Enqueue({.key = absl::StrCat(i)}).ok());
  }
  bench.AddWorker();
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  EXPECT_THAT(bench.polls, SizeIs(Ge(14 * 95)));
}

// The delays are too short to give the waits back, but other waits are due.
TEST(DurableWorkerTest, WorkerFullOfSleepersLeavesRoomForWholeBatches) {
  DurableBench bench;
  bench.options.max_held = 400;
  bench.options.claim_batch = 20;
  bench.policy.backoff = Every(absl::Seconds(2));
  ASSERT_EQ(*bench.EnqueueMany(Requests(1200)), 1200);
  DurableWaits& worker = bench.AddWorker();
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  int64_t claims = 0;
  int64_t whole = 0;
  bench.store->claim = [&](const ClaimRequest& request, auto&) {
    ++claims;
    whole += request.most == bench.options.claim_batch ? 1 : 0;
  };
  const int64_t polls = worker.State().polls;
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  EXPECT_GE(worker.State().polls - polls, 1200 * 4);
  // Claims for the rest of a batch are smaller.
  EXPECT_GE(4 * whole, 3 * claims);
  EXPECT_EQ(worker.State().lost, 0);
}

// The workers' polls together keep the rate, and each worker has its share of
// the waits.
TEST(DurableWorkerTest, WorkersShareARateAndTheWaitsThatWantIt) {
  constexpr int kWorkers = 3;
  constexpr int kRate = 30;
  DurableBench bench;
  const auto budgets = std::make_shared<sim::BudgetBook>();
  bench.options.claim_batch = 20;
  bench.policy.backoff = Every(absl::Seconds(1));
  ASSERT_EQ(*bench.EnqueueMany(Requests(600)), 600);
  std::vector<std::shared_ptr<SharedRateLimiter>> limiters;
  for (int i = 0; i < kWorkers; ++i) {
    limiters.push_back(*SharedRateLimiter::Make(
        std::make_shared<SimulatedBudgetStore>(bench.clock, budgets),
        {.name = "api", .rate = kRate}));
    bench.policy.budgets.rate_limiter = limiters.back();
    bench.AddWorker();
  }
  // After this time, all workers know each other.
  bench.Run(absl::Seconds(10));
  bench.polls.clear();
  std::vector<int64_t> before;
  for (const auto& worker : bench.workers) {
    before.push_back(worker->State().polls);
  }
  bench.Run(absl::Seconds(30));
  for (size_t first = 0; first < bench.polls.size(); ++first) {
    const size_t last = std::min(first + kRate, bench.polls.size() - 1);
    // Slots of half a second may come together.
    EXPECT_GE(bench.polls[last] - bench.polls[first] + absl::Seconds(0.6),
              absl::Seconds(1) * static_cast<double>(last - first) / kRate);
  }
  EXPECT_GE(bench.polls.size(), kRate * 30 * 0.9);
  for (size_t i = 0; i < kWorkers; ++i) {
    const int64_t polls = bench.workers[i]->State().polls - before[i];
    EXPECT_NEAR(static_cast<double>(polls), kRate * 10, kRate * 2) << i;
    EXPECT_EQ(bench.workers[i]->State().lost, 0);
  }
  bench.workers.clear();
}

}  // namespace
}  // namespace waiter::durable_worker_test
