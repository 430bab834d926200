// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the promises of durable waits on simulated time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/durable_world.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/durable/client.h"
#include "waiter/durable/worker.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::durable_waits_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Phase = DurableStatus::Phase;

// Matches an `absl::StatusOr` that has `value`.
template <typename T>
auto Holds(T value) {
  return testing::ResultOf([](const auto& result) { return *result; },
                           testing::Eq(value));
}

// Polls find success from `ready` on.
auto ReadyAt(DurableWorld& world, absl::Duration ready) {
  return [&world, ready](const DurablePoll& poll) -> Poll<std::string> {
    if (world.clock.Elapsed() < ready) return NotReady("building");
    return Success(absl::StrCat("built ", std::string(poll.key)));
  };
}

class DurableWaitsTest : public testing::TestWithParam<Form> {
 protected:
  DurableWaitsTest() { world.form = GetParam(); }

  DurableWorld world;
};

INSTANTIATE_TEST_SUITE_P(Forms, DurableWaitsTest,
                         testing::Values(Form::kOneByOne, Form::kAsync,
                                         Form::kBatch),
                         [](const auto& form) { return FormName(form.param); });

TEST_P(DurableWaitsTest, WaitIsPolledUntilItSucceedsAndItsResultDelivered) {
  world.function = ReadyAt(world, absl::Seconds(35));
  world.AddWorker();
  ASSERT_THAT(world.Enqueue({.key = "a", .args = "x"}), Holds(true));
  world.Run(absl::Minutes(1));

  EXPECT_THAT(world.polls, SizeIs(5));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  const DurableResult& result = world.deliveries[0].result;
  EXPECT_EQ(result.name, "job");
  EXPECT_EQ(result.key, "a");
  EXPECT_THAT(result.value, Holds("built a"));
  EXPECT_EQ(result.reason, StopReason::kSuccess);
  EXPECT_EQ(result.attempts, 5);
  EXPECT_EQ(result.delivery, 1);
  EXPECT_GE(result.elapsed, absl::Seconds(40));
  EXPECT_LT(result.elapsed, absl::Seconds(41.5));
  const DurableStatus status = world.Get("a");
  EXPECT_EQ(status.phase, Phase::kDelivered);
  ASSERT_TRUE(status.result.has_value());
  EXPECT_THAT(status.result->value, Holds("built a"));
  EXPECT_EQ(status.result->idempotency_key, result.idempotency_key);
}

TEST_P(DurableWaitsTest, EqualKeyJoinsTheWaitUntilItIsForgotten) {
  world.options.retain = absl::Minutes(5);
  world.function = ReadyAt(world, absl::Seconds(5));
  world.AddWorker();
  EXPECT_THAT(world.Enqueue({.key = "a"}), Holds(true));
  EXPECT_THAT(world.Enqueue({.key = "a"}), Holds(false));
  world.Run(absl::Minutes(1));
  EXPECT_THAT(world.Enqueue({.key = "a"}), Holds(false));
  EXPECT_THAT(world.deliveries, SizeIs(1));
  world.Run(absl::Minutes(5));
  EXPECT_THAT(world.Enqueue({.key = "a"}), Holds(true));
  world.Run(absl::Minutes(1));
  ASSERT_THAT(world.deliveries, SizeIs(2));
  EXPECT_NE(world.deliveries[0].result.idempotency_key,
            world.deliveries[1].result.idempotency_key);
}

TEST_P(DurableWaitsTest, NobodyHoldsAWaitDuringALongDelay) {
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(2));
  const DurableStatus status = world.Get("a");
  EXPECT_EQ(status.phase, Phase::kPending);
  EXPECT_FALSE(status.is_held);
  EXPECT_EQ(status.attempts, 1);
  EXPECT_EQ(worker.waits().State().held, 0);
}

TEST_P(DurableWaitsTest, WaitIsDueAtItsTimeThoughItsReleaseWaitsForOthers) {
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(45));
  ASSERT_THAT(world.polls, SizeIs(5));
  const absl::Duration batches =
      GetParam() == Form::kBatch ? world.batches.window : absl::ZeroDuration();
  for (size_t i = 1; i < 5; ++i) {
    const absl::Duration gap = world.polls[i].time - world.polls[i - 1].time;
    EXPECT_GE(gap, absl::Seconds(10) - absl::Microseconds(1));
    // The worker looks for due waits at most every 5 ms. The rest is time for
    // the calls.
    EXPECT_LE(gap, absl::Seconds(10) + absl::Milliseconds(6) + batches);
  }
}

TEST_P(DurableWaitsTest, ShortDelaysCostTheStoreNothing) {
  world.policy.backoff = Every(absl::Milliseconds(100));
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(1));
  const int64_t calls = worker.store().calls();
  world.Run(absl::Seconds(30));
  EXPECT_GE(world.polls.size(), 300);
  // Two partitions are looked into every 250 ms, and the lease is renewed.
  EXPECT_LE(worker.store().calls() - calls, 2 * 4 * 30 + 20);
  EXPECT_TRUE(world.Get("a").is_held);
}

TEST_P(DurableWaitsTest, AnotherWorkerGoesOnWhenOneDies) {
  world.policy.backoff = Every(absl::Seconds(1));
  world.function = ReadyAt(world, absl::Seconds(60));
  DurableWorld::Worker& first = world.AddWorker();
  world.EnqueueMany(20);
  world.Run(absl::Seconds(10));
  EXPECT_EQ(first.waits().State().held, 20);
  first.Kill();
  const absl::Duration killed = world.clock.Elapsed();
  world.AddWorker();
  const size_t polls = world.polls.size();
  world.Run(world.options.lease + absl::Seconds(2));
  std::set<std::string> polled;
  for (size_t i = polls; i < world.polls.size(); ++i) {
    EXPECT_EQ(world.polls[i].worker, 1);
    polled.insert(world.polls[i].key);
  }
  EXPECT_THAT(polled, SizeIs(20));
  world.Run(absl::Minutes(2));
  EXPECT_THAT(world.deliveries, SizeIs(20));
  EXPECT_GT(world.clock.Elapsed(), killed);
}

TEST_P(DurableWaitsTest, AttemptsAndGrowthGoOnInAnotherProcess) {
  world.policy.max_attempts = 7;
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(25));
  world.worker(0).Kill();
  world.AddWorker();
  world.Run(absl::Minutes(5));
  EXPECT_THAT(world.polls, SizeIs(7));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  EXPECT_EQ(world.deliveries[0].result.reason, StopReason::kAttempts);
  EXPECT_EQ(world.deliveries[0].result.attempts, 7);
  EXPECT_THAT(world.deliveries[0].result.value.status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_P(DurableWaitsTest, WaitsThatNobodyHeldAreInTimeWhenAWorkerDies) {
  world.AddWorker();
  world.AddWorker();
  world.EnqueueMany(20);
  world.Run(absl::Seconds(25));
  EXPECT_EQ(world.worker(0).waits().State().held, 0);
  EXPECT_EQ(world.worker(1).waits().State().held, 0);
  world.worker(0).Kill();
  world.Run(absl::Seconds(40));
  std::map<std::string, absl::Duration> last;
  for (const auto& poll : world.polls) {
    const auto [before, is_first] = last.emplace(poll.key, poll.time);
    if (!is_first) {
      EXPECT_LE(poll.time - before->second, absl::Seconds(10 + 2)) << poll.key;
    }
    before->second = poll.time;
  }
  EXPECT_THAT(last, SizeIs(20));
  for (const auto& [key, time] : last) {
    EXPECT_GE(time, world.clock.Elapsed() - absl::Seconds(10 + 2)) << key;
  }
}

TEST_P(DurableWaitsTest, WaitsOfOneOfManyAreTakenByTheOthers) {
  world.policy.backoff = Every(absl::Seconds(1));
  world.options.claim_batch = 10;
  for (int i = 0; i < 8; ++i) world.AddWorker();
  world.EnqueueMany(100);
  world.Run(absl::Seconds(20));
  std::map<std::string, int> holders;
  for (const auto& poll : world.polls) holders[poll.key] = poll.worker;
  // The victim is the worker that holds the most waits.
  std::map<int, int> counts;
  for (const auto& [key, worker] : holders) ++counts[worker];
  const int victim = std::max_element(counts.begin(), counts.end(),
                                      [](const auto& a, const auto& b) {
                                        return a.second < b.second;
                                      })
                         ->first;
  world.worker(static_cast<size_t>(victim)).Kill();
  const size_t polls = world.polls.size();
  world.Run(world.options.lease + absl::Seconds(2));
  std::map<std::string, int> polled;
  for (size_t i = polls; i < world.polls.size(); ++i) {
    polled[world.polls[i].key] = world.polls[i].worker;
  }
  EXPECT_THAT(polled, SizeIs(100));
  for (const auto& [key, worker] : polled) EXPECT_NE(worker, victim) << key;
}

TEST_P(DurableWaitsTest, NameThatNobodyRegisteredWaits) {
  EXPECT_THAT(world.Enqueue({.key = "a"}, "other"), Holds(true));
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "b"});
  world.Run(absl::Seconds(30));
  for (const auto& poll : world.polls) EXPECT_EQ(poll.key, "b");
  EXPECT_EQ(worker.waits().State().lost, 0);
  const DurableStats stats = world.Stats("other");
  EXPECT_EQ(stats.pending, 1);
  EXPECT_EQ(stats.overdue, 1);
}

TEST_P(DurableWaitsTest, StoppedWorkerFindsItsWaitsLostAndPollsNoMore) {
  world.policy.backoff = Every(absl::Seconds(1));
  DurableWorld::Worker& first = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(5));
  ASSERT_EQ(first.waits().State().held, 1);
  world.AddWorker();
  first.StopUntil(world.clock.Elapsed() + absl::Minutes(1));
  const absl::Duration stopped = world.clock.Elapsed();
  world.Run(absl::Seconds(70));
  // After the stop, only the second worker polls.
  int64_t fence = 0;
  absl::Duration taken_over = absl::InfiniteDuration();
  int polls = 0;
  for (const auto& poll : world.polls) {
    EXPECT_GE(poll.fence, fence);
    fence = poll.fence;
    if (poll.time <= stopped) continue;
    EXPECT_EQ(poll.worker, 1);
    taken_over = std::min(taken_over, poll.time);
    ++polls;
  }
  EXPECT_LE(taken_over, stopped + world.options.lease + absl::Seconds(2));
  EXPECT_GE(polls, 70 - 15 - 3);
  EXPECT_EQ(first.waits().State().held, 0);
  EXPECT_EQ(world.worker(1).waits().State().held, 1);
}

TEST_P(DurableWaitsTest, WorkerThatIsCutOffDoesNotPollInTheLastThirdOfALease) {
  world.policy.backoff = Every(absl::Milliseconds(200));
  const int64_t zero = MemoryWaitStore::StoreTime(world.clock) -
                       absl::ToInt64Microseconds(world.clock.Elapsed());
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(8));
  worker.store().set_network(
      [] { return MemoryWaitStore::Trip{.loses_call = true}; });
  const absl::Duration cut_off = world.clock.Elapsed();
  world.Run(absl::Seconds(30));
  absl::Duration last;
  for (const auto& poll : world.polls) {
    const absl::Duration end = absl::Microseconds(poll.fence - zero);
    EXPECT_LE(poll.time, end - world.options.lease / 3);
    last = poll.time;
  }
  // The worker polls as long as its lease allows.
  EXPECT_GT(last, cut_off + absl::Seconds(5));
  EXPECT_LE(last, cut_off + world.options.lease * 2 / 3);
  EXPECT_EQ(worker.waits().State().held, 0);
}

// A poll ends and its wait must be given back, while a renewal with an older
// record is still unanswered.
TEST_P(DurableWaitsTest, AttemptsArePartOfAReleaseAfterALostRenewal) {
  world.policy.backoff = {.initial_delay = absl::Seconds(4.9),
                          .max_delay = absl::Hours(1),
                          .jitter = Jitter::None()};
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(4.9) - world.clock.Elapsed());
  ASSERT_EQ(worker.waits().State().held, 1);
  worker.store().set_network(
      [] { return MemoryWaitStore::Trip{.loses_call = true}; });
  world.Run(absl::Milliseconds(200));
  worker.store().set_network(nullptr);
  world.Run(absl::Seconds(8));
  ASSERT_THAT(world.polls, SizeIs(2));
  const DurableStatus status = world.Get("a");
  EXPECT_FALSE(status.is_held);
  EXPECT_EQ(status.attempts, 2);
}

TEST_P(DurableWaitsTest, MarkOfAPollThatEndedIsClearedWhenTheNetworkIsBack) {
  world.policy.backoff = Every(absl::Seconds(1));
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    const int worker = world.polls.back().worker;
    if (worker < 2) world.worker(static_cast<size_t>(worker)).Kill();
    if (worker == 2 && world.polls.size() == 3) {
      world.worker(2).store().set_network(
          [] { return MemoryWaitStore::Trip{.loses_call = true}; });
    }
    return NotReady();
  };
  (void)world.Enqueue({.key = "a"});
  for (int i = 0; i < 3; ++i) {
    world.AddWorker();
    world.Run(absl::Seconds(18));
  }
  const auto marks = [&] {
    int64_t count = 0;
    for (const int index : {0, 1}) {
      for (const auto& [key, number] :
           world.book->Of({.space = "default", .name = "job", .index = index})
               .marks) {
        count += number;
      }
    }
    return count;
  };
  ASSERT_GE(world.polls.size(), 3);
  EXPECT_EQ(marks(), 1);
  world.worker(2).store().set_network(nullptr);
  world.Run(absl::Minutes(1));
  EXPECT_EQ(marks(), 0);
}

TEST_P(DurableWaitsTest, DeadlineIsThatOfTheEnqueueAndHasOneLastPoll) {
  world.policy.timeout = absl::Minutes(1);
  (void)world.Enqueue({.key = "a"});
  (void)world.Enqueue({.key = "b", .timeout = absl::Hours(4)});
  world.Run(absl::Hours(3));  // No worker runs.
  world.AddWorker();
  world.Run(absl::Seconds(5));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  EXPECT_EQ(world.deliveries[0].result.key, "a");
  EXPECT_EQ(world.deliveries[0].result.reason, StopReason::kDeadline);
  EXPECT_EQ(world.deliveries[0].result.attempts, 1);
  world.Run(absl::Hours(1.1));
  ASSERT_THAT(world.deliveries, SizeIs(2));
  EXPECT_EQ(world.deliveries[1].result.reason, StopReason::kDeadline);
  EXPECT_GE(world.deliveries[1].result.elapsed, absl::Hours(4));
  EXPECT_LE(world.deliveries[1].result.elapsed,
            absl::Hours(4) + absl::Seconds(1));
}

TEST_P(DurableWaitsTest, FirstDelayIsKept) {
  world.AddWorker();
  (void)world.Enqueue({.key = "a", .first_delay = absl::Minutes(1)});
  world.Run(absl::Seconds(59));
  EXPECT_THAT(world.polls, IsEmpty());
  world.Run(absl::Seconds(2));
  EXPECT_THAT(world.polls, SizeIs(1));
}

TEST_P(DurableWaitsTest, CancelEndsAWaitWithoutAnotherPoll) {
  world.AddWorker();
  (void)world.Enqueue({.key = "sleeps"});
  world.Run(absl::Seconds(2));
  const DurableStatus cancelled = world.Cancel("sleeps");
  EXPECT_EQ(cancelled.phase, Phase::kPending);
  EXPECT_TRUE(cancelled.is_cancelled);
  world.Run(absl::Seconds(2));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  EXPECT_EQ(world.deliveries[0].result.reason, StopReason::kCancelled);
  EXPECT_THAT(world.polls, SizeIs(1));
  EXPECT_EQ(world.Cancel("sleeps").phase, Phase::kDelivered);
  EXPECT_EQ(world.Cancel("nothing").phase, Phase::kUnknown);
}

TEST_P(DurableWaitsTest, CancelOfAHeldWaitIsSeenWithinAThirdOfALease) {
  world.policy.backoff = Every(absl::Milliseconds(100));
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(2));
  EXPECT_TRUE(world.Cancel("a").is_held);
  const absl::Duration cancelled = world.clock.Elapsed();
  world.Run(absl::Seconds(6));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  EXPECT_EQ(world.deliveries[0].result.reason, StopReason::kCancelled);
  EXPECT_LE(world.polls.back().time, cancelled + absl::Seconds(5.1));
}

TEST_P(DurableWaitsTest, NotifyPollsAWaitThatSleeps) {
  world.policy.timeout = absl::Hours(10);
  world.policy.backoff = Every(absl::Hours(1));
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  (void)world.Enqueue({.key = "late", .first_delay = absl::Hours(2)});
  world.Run(absl::Minutes(1));
  ASSERT_THAT(world.polls, SizeIs(1));
  const absl::Duration notified = world.clock.Elapsed();
  EXPECT_EQ(world.Notify("a").phase, Phase::kPending);
  EXPECT_EQ(world.Notify("late").phase, Phase::kPending);
  EXPECT_EQ(world.Notify("nothing").phase, Phase::kUnknown);
  world.Run(absl::Seconds(1));
  ASSERT_THAT(world.polls, SizeIs(3));
  EXPECT_LE(world.polls.back().time, notified + absl::Seconds(1));
  // Delays continue as before.
  world.Run(absl::Minutes(59));
  EXPECT_THAT(world.polls, SizeIs(3));
  world.Run(absl::Minutes(2));
  EXPECT_THAT(world.polls, SizeIs(5));
}

TEST_P(DurableWaitsTest, NotifyOutlivesAWorkerThatLeavesBeforeThePoll) {
  world.policy.timeout = absl::Hours(10);
  world.policy.backoff = Every(absl::Hours(1));
  DurableWorld::Worker& first = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Minutes(1));
  ASSERT_THAT(world.polls, SizeIs(1));
  // The first worker claims the wait, but its engine does not run.
  first.store().set_after([] {});
  world.Notify("a");
  world.Run(absl::Seconds(2));
  ASSERT_TRUE(world.Get("a").is_held);
  first.Leave();
  world.AddWorker();
  world.Run(absl::Seconds(2));
  EXPECT_THAT(world.polls, SizeIs(2));
}

TEST_P(DurableWaitsTest, NotifyDuringAPollLeadsToAnotherPoll) {
  world.policy.backoff = Every(absl::Hours(1));
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    if (world.polls.size() == 1) {
      world.client->Notify(DurableWorld::kName, "a", [](const auto&) {});
    }
    return NotReady();
  };
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(5));
  EXPECT_THAT(world.polls, SizeIs(2));
}

TEST_P(DurableWaitsTest, ResultIsDeliveredUntilTheHandlerTakesIt) {
  world.function = ReadyAt(world, absl::ZeroDuration());
  world.handler = [&](const DurableResult& result) {
    return result.delivery < 4 ? absl::UnavailableError("busy")
                               : absl::OkStatus();
  };
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(0.5));
  EXPECT_EQ(world.Get("a").phase, Phase::kEnded);
  world.Run(absl::Seconds(20));
  ASSERT_THAT(world.deliveries, SizeIs(4));
  for (const auto& delivery : world.deliveries) {
    EXPECT_THAT(delivery.result.value, Holds("built a"));
    EXPECT_EQ(delivery.result.idempotency_key,
              world.deliveries[0].result.idempotency_key);
  }
  EXPECT_GE(world.deliveries[3].time - world.deliveries[2].time,
            absl::Seconds(4));
  EXPECT_THAT(world.polls, SizeIs(1));
  EXPECT_EQ(world.Get("a").phase, Phase::kDelivered);
}

TEST_P(DurableWaitsTest, AnotherWorkerDeliversWhatADeadOneRecorded) {
  world.function = ReadyAt(world, absl::ZeroDuration());
  world.handler = [&](const DurableResult&) {
    if (world.deliveries.size() == 1) world.worker(0).Kill();
    return absl::OkStatus();
  };
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(5));
  world.AddWorker();
  world.Run(absl::Seconds(20));
  ASSERT_THAT(world.deliveries, SizeIs(2));
  EXPECT_EQ(world.deliveries[1].worker, 1);
  EXPECT_THAT(world.deliveries[1].result.value, Holds("built a"));
  EXPECT_EQ(world.deliveries[0].result.idempotency_key,
            world.deliveries[1].result.idempotency_key);
  EXPECT_THAT(world.polls, SizeIs(1));
}

TEST_P(DurableWaitsTest, DrainGivesEverythingBackAtOnce) {
  world.policy.backoff = Every(absl::Seconds(1));
  DurableWorld::Worker& first = world.AddWorker();
  world.EnqueueMany(20);
  world.Run(absl::Seconds(5));
  EXPECT_FALSE(first.waits().Drain(absl::ZeroDuration()));
  first.Pump();
  world.Run(absl::Milliseconds(50));
  EXPECT_EQ(first.waits().State().held, 0);
  EXPECT_TRUE(first.waits().Drain(absl::ZeroDuration()));
  world.Run(absl::Milliseconds(50));
  std::vector<std::string> workers;
  first.store().Heartbeat({.space = "default", .worker = "other"},
                          [&](absl::StatusOr<std::vector<std::string>> live) {
                            workers = *std::move(live);
                          });
  world.Run(absl::Milliseconds(50));
  EXPECT_THAT(workers, ElementsAre("other"));
  const size_t polls = world.polls.size();
  world.AddWorker();
  world.Run(absl::Seconds(1.5));
  EXPECT_GE(world.polls.size(), polls + 20);
  EXPECT_EQ(world.polls.back().worker, 1);

  // So does the end of a worker.
  world.worker(1).Leave();
  world.AddWorker();
  world.Run(absl::Seconds(4));
  std::set<std::string> polled;
  for (const auto& poll : world.polls) {
    if (poll.worker == 2) polled.insert(poll.key);
  }
  EXPECT_THAT(polled, SizeIs(20));
}

TEST_P(DurableWaitsTest, PoisonFailsAloneAfterThreeCrashes) {
  world.policy.backoff = Every(absl::Seconds(1));
  world.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key == "poison") {
      world.worker(static_cast<size_t>(world.polls.back().worker)).Kill();
    }
    if (world.clock.Elapsed() < absl::Minutes(5)) return NotReady();
    return Success("fine");
  };
  (void)world.Enqueue({.key = "poison"});
  world.EnqueueMany(10);
  for (int i = 0; i < 12; ++i) {
    world.AddWorker();
    world.Run(absl::Seconds(30));
  }
  int dead = 0;
  for (size_t i = 0; i < world.size(); ++i) {
    dead += world.worker(i).is_dead() ? 1 : 0;
  }
  EXPECT_LE(dead, 2 + 3);
  ASSERT_THAT(world.deliveries, SizeIs(11));
  for (const auto& delivery : world.deliveries) {
    if (delivery.result.key == "poison") {
      EXPECT_EQ(delivery.result.reason, StopReason::kFailed);
      EXPECT_THAT(delivery.result.value.status().message(),
                  HasSubstr("crashed its worker 3 times"));
    } else {
      EXPECT_EQ(delivery.result.reason, StopReason::kSuccess);
    }
  }
}

TEST_P(DurableWaitsTest, OtherDivisionIsRefusedByWorkersAndClients) {
  (void)world.Enqueue({.key = "a"});
  world.options.partitions = 3;
  DurableWorld::Worker& worker = world.AddWorker();
  world.Run(absl::Seconds(10));
  EXPECT_THAT(worker.waits().State().last_error,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("job has 2 partitions in the store, and 3")));
  EXPECT_THAT(world.polls, IsEmpty());
}

TEST_P(DurableWaitsTest, UnreadableRecordIsLeftForOthers) {
  (void)world.Enqueue({.key = "a"});
  for (int index : {0, 1}) {
    (void)world.book->Enqueue(
        {.partition = {.space = "default", .name = "job", .index = index},
         .most_pending = 10,
         .items = {{.key = absl::StrCat("new", index), .record = "9 ..."}}},
        MemoryWaitStore::StoreTime(world.clock));
  }
  DurableWorld::Worker& worker = world.AddWorker();
  world.Run(absl::Seconds(20));
  EXPECT_EQ(worker.waits().State().unreadable, 2);
  for (const auto& poll : world.polls) EXPECT_EQ(poll.key, "a");
}

TEST_P(DurableWaitsTest, ResultThatIsTooLongIsAFailure) {
  world.function = [](const DurablePoll&) -> Poll<std::string> {
    return Success(std::string(64 * 1024 + 1, 'x'));
  };
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(2));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  EXPECT_THAT(
      world.deliveries[0].result.value.status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65537 bytes")));
}

TEST_P(DurableWaitsTest, LateResultOfALostLeaseIsNotRecorded) {
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    // The process is stopped in the first poll, for longer than a lease.
    if (world.polls.size() == 1) {
      world.worker(0).StopUntil(world.clock.Elapsed() + absl::Seconds(40));
      return Success("late");
    }
    return Success("in time");
  };
  world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(1));
  world.AddWorker();
  world.Run(absl::Minutes(2));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  EXPECT_THAT(world.deliveries[0].result.value, Holds("in time"));
  EXPECT_EQ(world.worker(0).waits().State().lost, 1);
  EXPECT_EQ(world.worker(0).waits().State().held, 0);
}

TEST_P(DurableWaitsTest, ResultThatComesDuringARenewalIsRecordedAfterIt) {
  world.policy.backoff = Every(absl::Milliseconds(100));
  // The lease is renewed at 5 s, and the store answers at 6 s.
  world.function = ReadyAt(world, absl::Seconds(5.5));
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(2));
  worker.store().set_network([] {
    return MemoryWaitStore::Trip{.there = absl::Milliseconds(500),
                                 .back = absl::Milliseconds(500)};
  });
  world.Run(absl::Seconds(8));
  EXPECT_THAT(world.deliveries, SizeIs(1));
  EXPECT_EQ(worker.waits().State().lost, 0);
  EXPECT_EQ(worker.waits().State().held, 0);
}

TEST_P(DurableWaitsTest, NameHasAtMostAsManyWaitsAsItMayAndAllHaveTheirTurn) {
  world.name_options.max_held = 3;
  world.policy.backoff = Every(absl::Milliseconds(500));
  world.function = ReadyAt(world, absl::Seconds(20));
  DurableWorld::Worker& worker = world.AddWorker();
  world.EnqueueMany(12);
  int64_t most = 0;
  while (world.clock.Elapsed() < absl::Seconds(19)) {
    world.Run(absl::Milliseconds(7));
    most = std::max(most, worker.waits().State().held);
  }
  EXPECT_EQ(most, 3);
  std::map<std::string, int> polls;
  for (const auto& poll : world.polls) ++polls[poll.key];
  EXPECT_THAT(polls, SizeIs(12));
  for (const auto& [key, count] : polls) EXPECT_GE(count, 10) << key;
  world.Run(absl::Seconds(10));
  EXPECT_THAT(world.deliveries, SizeIs(12));
}

TEST_P(DurableWaitsTest, WorkerWithLittleRoomLetsAllWaitsHaveTheirTurn) {
  world.options.max_held = 2;
  world.policy.backoff = Every(absl::Seconds(1));
  world.AddWorker();
  world.EnqueueMany(20);
  world.Run(absl::Seconds(20));
  std::map<std::string, int> polls;
  for (const auto& poll : world.polls) ++polls[poll.key];
  EXPECT_THAT(polls, SizeIs(20));
  for (const auto& [key, count] : polls) EXPECT_GE(count, 8) << key;
}

TEST_P(DurableWaitsTest, FunctionsGetTheArgsAndGrowingFences) {
  std::vector<std::string> args;
  world.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    args.emplace_back(poll.args);
    return NotReady();
  };
  world.AddWorker();
  const std::string bytes("x\0y", 3);
  ASSERT_TRUE(world.Enqueue({.key = "a", .args = bytes}).ok());
  world.Run(absl::Seconds(35));
  EXPECT_THAT(args, AllOf(SizeIs(4), Each(bytes)));
  ASSERT_THAT(world.polls, SizeIs(4));
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_GT(world.polls[i].fence, world.polls[i - 1].fence);
  }
}

TEST_P(DurableWaitsTest, StatsCountWhatThereIs) {
  world.function = ReadyAt(world, absl::ZeroDuration());
  world.EnqueueMany(5);
  world.Run(absl::Seconds(10));
  EXPECT_EQ(world.Stats().pending, 5);
  EXPECT_EQ(world.Stats().overdue, 5);
  EXPECT_GE(world.Stats().oldest, absl::Seconds(10));
  world.AddWorker();
  world.Run(absl::Seconds(2));
  const DurableStats stats = world.Stats();
  EXPECT_EQ(stats.pending, 0);
  EXPECT_EQ(stats.kept, 5);
  EXPECT_THAT(stats.counters,
              testing::ElementsAre(testing::Pair("enqueued", 5),
                                   testing::Pair("success", 5)));
}

TEST_P(DurableWaitsTest, MoreThanMayBeHeldStaysInTheStore) {
  world.options.max_held = 7;
  world.policy.backoff = Every(absl::Seconds(1));
  world.EnqueueMany(20);
  DurableWorld::Worker& worker = world.AddWorker();
  int64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    world.Run(absl::Milliseconds(50));
    most = std::max(most, worker.waits().State().held);
  }
  EXPECT_EQ(most, 7);
}

TEST(DurableWaitsOptionsTest, OptionsOutsideOfTheirRangesAreRefused) {
  struct Case {
    DurableWaitsOptions options;
    const char* error;
  };
  const std::vector<Case> cases = {
      {{.space = ""}, "space is \"\""},
      {{.space = "a b"}, "space is \"a b\""},
      {{.worker = "a b"}, "worker is \"a b\""},
      {{.worker = std::string(65, 'a')}, "1 to 64 of the characters"},
      {{.threads = -1}, "threads is -1"},
      {{.partitions = 0}, "partitions is 0"},
      {{.partitions = 4097}, "partitions is 4097"},
      {{.lease = absl::Seconds(1)}, "lease is 1s"},
      {{.lease = absl::InfiniteDuration()}, "lease is inf"},
      {{.max_held = 0}, "max_held is 0"},
      {{.claim_batch = 1001}, "claim_batch is 1001"},
      {{.retain = -absl::Seconds(1)}, "retain is -1s"},
      {{.max_crashes = 0}, "max_crashes is 0"},
  };
  for (const auto& [options, error] : cases) {
    EXPECT_THAT(Validate(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
  }
}

TEST_P(DurableWaitsTest, NamesAreCheckedWhenTheyAreRegistered) {
  DurableWaits& waits = world.AddWorker().waits();
  const auto function = [](const DurablePoll&) -> Poll<std::string> {
    return NotReady();
  };
  EXPECT_THAT(waits.Register("x", {.timeout = absl::Seconds(1)}, function),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  auto fresh = *DurableWaits::Make(
      std::make_shared<MemoryWaitStore>(world.clock, world.book),
      {.threads = 0});
  EXPECT_THAT(fresh->Register("a b", {.timeout = absl::Seconds(1)}, function),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(fresh->Register("x", {.timeout = absl::Seconds(1)}, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(fresh->Register("x", {}, function),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(
      fresh->Register("x", {.timeout = absl::Seconds(1)}, function).ok());
  EXPECT_THAT(fresh->Register("x", {.timeout = absl::Seconds(1)}, function),
              StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST(DurableAsyncTest, PollsOfOneWorkerAreUnderWayAtOnce) {
  DurableWorld world;
  world.form = Form::kAsync;
  world.answer_time = absl::Seconds(4);
  world.function = ReadyAt(world, absl::ZeroDuration());
  world.AddWorker();
  world.EnqueueMany(5);
  world.Run(absl::Seconds(2));
  EXPECT_THAT(world.polls, SizeIs(5));
  EXPECT_THAT(world.deliveries, IsEmpty());
  world.Run(absl::Seconds(3));
  EXPECT_THAT(world.deliveries, SizeIs(5));
}

TEST(DurableAsyncTest, LeaseIsRenewedForAPollThatTakesLong) {
  DurableWorld world;
  world.form = Form::kAsync;
  world.answer_time = absl::Minutes(5);
  world.function = ReadyAt(world, absl::ZeroDuration());
  world.AddWorker();
  world.AddWorker();
  ASSERT_TRUE(world.Enqueue({.key = "a"}).ok());
  world.Run(absl::Minutes(6));
  EXPECT_THAT(world.polls, SizeIs(1));
  EXPECT_THAT(world.deliveries, SizeIs(1));
}

TEST(DurableAsyncTest, PollWithoutAnswerEndsAtTheDeadlineOrByACancel) {
  DurableWorld world;
  world.form = Form::kAsync;
  world.answer_time = absl::Hours(1000);
  world.policy.timeout = absl::Minutes(1);
  world.AddWorker();
  ASSERT_TRUE(world.Enqueue({.key = "a"}).ok());
  ASSERT_TRUE(world.Enqueue({.key = "b"}).ok());
  world.Run(absl::Seconds(10));
  (void)world.Cancel("b");
  world.Run(absl::Seconds(6));
  ASSERT_THAT(world.deliveries, SizeIs(1));
  EXPECT_EQ(world.deliveries[0].result.reason, StopReason::kCancelled);
  world.Run(absl::Minutes(1));
  ASSERT_THAT(world.deliveries, SizeIs(2));
  EXPECT_EQ(world.deliveries[1].result.reason, StopReason::kDeadline);
  EXPECT_THAT(world.polls, SizeIs(2));
}

// Adds waits that are due before any worker looks for them.
void EnqueueSome(DurableWorld& world, int count) {
  world.client->EnqueueMany(DurableWorld::kName, Requests(count), [](auto) {});
  world.Run(absl::Seconds(1));
}

TEST(DurableBatchTest, OneCallAsksForAllThatAreDueWithinTheWindow) {
  DurableWorld world;
  world.form = Form::kBatch;
  world.batches = {.max_batch = 8, .window = absl::Milliseconds(500)};
  world.function = ReadyAt(world, absl::ZeroDuration());
  EnqueueSome(world, 20);
  world.AddWorker();
  world.Run(absl::Seconds(2));
  EXPECT_THAT(world.calls, testing::ElementsAre(8, 8, 4));
  EXPECT_THAT(world.deliveries, SizeIs(20));
}

TEST(DurableBatchTest, LongWindowDelaysNoClaims) {
  DurableWorld world;
  world.form = Form::kBatch;
  world.batches = {.max_batch = 50, .window = absl::Seconds(2)};
  world.function = ReadyAt(world, absl::ZeroDuration());
  EnqueueSome(world, 200);
  world.AddWorker();
  world.Run(absl::Seconds(2));
  EXPECT_THAT(world.calls, testing::ElementsAre(50, 50, 50, 50));
}

TEST(DurableBatchTest, TimeInAWindowDoesNotMakePollsLookSlow) {
  DurableWorld world;
  world.form = Form::kBatch;
  world.options.claim_batch = 50;
  world.batches = {.max_batch = 1000, .window = absl::Seconds(2)};
  world.function = ReadyAt(world, absl::ZeroDuration());
  EnqueueSome(world, 200);
  world.AddWorker();
  world.Run(absl::Seconds(9));
  EXPECT_THAT(world.deliveries, SizeIs(200));
}

TEST(DurableBatchTest, WaitWhoseLeaseWasLostMeanwhileIsNotAskedFor) {
  DurableWorld world;
  world.form = Form::kBatch;
  world.batches.window = absl::Seconds(4);
  DurableWorld::Worker& worker = world.AddWorker();
  ASSERT_TRUE(world.Enqueue({.key = "a"}).ok());
  world.Run(absl::Seconds(1));
  worker.StopUntil(absl::Seconds(20));
  world.Run(absl::Seconds(19.5));
  EXPECT_THAT(world.calls, IsEmpty());
  world.Run(absl::Seconds(10));
  EXPECT_THAT(world.polls, SizeIs(1));
}

}  // namespace
}  // namespace waiter::durable_waits_test
