// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/bent_wait_store.h"
#include "tests/durable/durable_world.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/poll.h"

namespace waiter::durable_move_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Phase = DurableStatus::Phase;

// The two worlds have their own clocks, which differ by three hours.
class DurableMoveTest : public testing::Test {
 protected:
  DurableMoveTest() {
    to_.Run(absl::Hours(3));
    for (DurableWorld* const world : {&from_, &to_}) {
      world->policy.timeout = absl::Hours(10);
      world->policy.backoff = Every(absl::Minutes(10));
      world->function = [](const DurablePoll&) -> Poll<std::string> {
        return NotReady();
      };
    }
  }

  void Run(absl::Duration time) {
    from_.Run(time);
    to_.Run(time);
  }

  absl::StatusOr<DurableMoveReport> Move(std::shared_ptr<WaitStore> from,
                                         std::shared_ptr<WaitStore> to) {
    std::optional<absl::StatusOr<DurableMoveReport>> got;
    MoveDurableWaits(std::move(from), std::move(to), DurableWorld::kName,
                     {.partitions = 2},
                     [&](absl::StatusOr<DurableMoveReport> report) {
                       EXPECT_FALSE(got.has_value());
                       got = std::move(report);
                     });
    EXPECT_FALSE(got.has_value());
    for (int i = 0; i < 1000 && !got.has_value(); ++i) {
      Run(absl::Milliseconds(10));
    }
    return got.value_or(absl::UnknownError("no answer"));
  }
  absl::StatusOr<DurableMoveReport> Move() {
    return Move(from_store_, to_store_);
  }

  // Runs a worker for `time`, after which it leaves.
  static void Work(DurableWorld& world, absl::Duration time) {
    DurableWorld::Worker& worker = world.AddWorker();
    world.Run(time);
    worker.Leave();
    world.Run(absl::Seconds(1));
  }

  static void ExpectSound(DurableWorld& world, WaitStore& store) {
    const auto report =
        ValueOrFail(world.Await<DurableCheckReport>([&](auto callback) {
          CheckDurableWaits(Unowned(store), DurableWorld::kName,
                            {.partitions = 2}, std::move(callback));
        }));
    EXPECT_THAT(report.findings, IsEmpty());
  }

  DurableWorld from_;
  DurableWorld to_;
  const std::shared_ptr<BentWaitStore> from_store_ =
      std::make_shared<BentWaitStore>(
          std::make_shared<MemoryWaitStore>(from_.clock, from_.book));
  const std::shared_ptr<BentWaitStore> to_store_ =
      std::make_shared<BentWaitStore>(
          std::make_shared<MemoryWaitStore>(to_.clock, to_.book));
};

TEST_F(DurableMoveTest, WaitContinuesWithItsAttemptsDelayAndDeadline) {
  for (DurableWorld* const world : {&from_, &to_}) {
    world->policy.timeout = absl::Minutes(20);
    world->policy.backoff = Every(absl::Minutes(2));
  }
  (void)from_.Enqueue({.key = "a", .args = "args"});
  Work(from_, absl::Minutes(5));
  ASSERT_THAT(from_.polls, SizeIs(3));
  EXPECT_EQ(ValueOrFail(Move()).moved, 1);
  EXPECT_EQ(from_.Get("a").phase, Phase::kUnknown);
  const DurableStatus moved = to_.Get("a");
  EXPECT_EQ(moved.phase, Phase::kPending);
  EXPECT_EQ(moved.args, "args");
  EXPECT_EQ(moved.attempts, 3);
  to_.AddWorker();
  Run(absl::Seconds(50));
  EXPECT_THAT(to_.polls, IsEmpty()) << "its delay continues";
  Run(absl::Seconds(20));
  EXPECT_THAT(to_.polls, SizeIs(1));
  Run(absl::Minutes(15));
  ASSERT_THAT(to_.deliveries, SizeIs(1));
  const DurableResult& result = to_.deliveries[0].result;
  EXPECT_EQ(result.reason, StopReason::kDeadline);
  EXPECT_GE(result.elapsed, absl::Minutes(20));
  EXPECT_LE(result.elapsed, absl::Minutes(20) + absl::Seconds(2));
  ExpectSound(from_, *from_store_);
  ExpectSound(to_, *to_store_);
}

TEST_F(DurableMoveTest, WaitThatNoWorkerHasPolledKeepsItsDelayAndDeadline) {
  (void)from_.Enqueue({.key = "a",
                       .timeout = absl::Minutes(12),
                       .first_delay = absl::Minutes(9)});
  Run(absl::Minutes(6));
  EXPECT_EQ(Move()->moved, 1);
  to_.AddWorker();
  Run(absl::Seconds(170));
  EXPECT_THAT(to_.polls, IsEmpty());
  Run(absl::Minutes(4));
  ASSERT_THAT(to_.deliveries, SizeIs(1));
  EXPECT_LE(to_.deliveries[0].result.elapsed,
            absl::Minutes(12) + absl::Seconds(2));
}

TEST_F(DurableMoveTest, RequestToCancelMovesWithTheWait) {
  (void)from_.Enqueue({.key = "a"});
  (void)from_.Cancel("a");
  EXPECT_EQ(Move()->moved, 1);
  EXPECT_TRUE(to_.Get("a").is_cancelled);
}

TEST_F(DurableMoveTest, ManyWaitsMoveAtOnce) {
  for (int i = 0; i < 2500; ++i) {
    (void)from_.Enqueue(
        {.key = absl::StrCat(i), .first_delay = absl::Minutes(i % 3)});
  }
  EXPECT_EQ(Move()->moved, 2500);
  EXPECT_EQ(to_.Stats().pending, 2500);
  EXPECT_EQ(from_.Stats().pending, 0);
  EXPECT_EQ(Move()->moved, 0);
}

TEST_F(DurableMoveTest, StoreWithLiveWorkersIsRefused) {
  (void)from_.Enqueue({.key = "a"});
  DurableWorld::Worker& worker = from_.AddWorker();
  from_.Run(absl::Seconds(1));
  EXPECT_THAT(Move().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("space default has live workers: 1; "
                                 "stop them first")));
  to_.AddWorker();
  to_.Run(absl::Seconds(1));
  worker.Leave();
  from_.Run(absl::Seconds(1));
  EXPECT_EQ(Move()->moved, 1) << "the other store may have workers";
}

TEST_F(DurableMoveTest, MoveToTheSameStoreIsRefused) {
  (void)from_.Enqueue({.key = "a"});
  const auto same = std::make_shared<MemoryWaitStore>(from_.clock, from_.book);
  EXPECT_THAT(Move(from_store_, same).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("both stores are the same")));
  EXPECT_EQ(from_.Get("a").phase, Phase::kPending);
}

TEST_F(DurableMoveTest, UnknownNameIsAnError) {
  EXPECT_THAT(Move().status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("job: the store has no such name")));
}

TEST_F(DurableMoveTest, WaitsThatCannotMoveAreCounted) {
  from_.handler = [](const DurableResult&) {
    return absl::UnavailableError("busy");
  };
  from_.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key == "ended") return Success("value");
    return NotReady();
  };
  for (const char* key : {"ended", "moves", "other"}) {
    (void)from_.Enqueue({.key = key, .args = "args"});
  }
  Work(from_, absl::Seconds(5));
  (void)from_.Enqueue({.key = "held"});
  // The worker dies during its first poll.
  from_.function = [&](const DurablePoll&) -> Poll<std::string> {
    from_.worker(1).Kill();
    return NotReady();
  };
  from_.AddWorker();
  from_.Run(absl::Seconds(11));
  (void)to_.Enqueue({.key = "other", .args = "other args"});
  const DurableMoveReport report = ValueOrFail(Move());
  EXPECT_EQ(report.moved, 1);
  EXPECT_EQ(report.held, 1);
  EXPECT_EQ(report.undelivered, 1);
  EXPECT_THAT(report.conflicts, ElementsAre("other"));
  EXPECT_EQ(from_.Get("other").phase, Phase::kPending);
  EXPECT_EQ(to_.Get("other").args, "other args");
}

// No wait is lost if any call fails, and the next move moves all waits.
TEST_F(DurableMoveTest, MoveThatIsInterruptedAnywhereIsCompletedByTheNext) {
  int interrupted = 0;
  int64_t waits = 0;
  for (const bool is_effect_lost : {false, true}) {
    for (const auto& store : {from_store_, to_store_}) {
      store->is_effect_lost = is_effect_lost;
      for (int64_t calls = 0; calls < 16; ++calls) {
        SCOPED_TRACE(testing::Message()
                     << calls << " calls of "
                     << (store == from_store_ ? "the one" : "the other"));
        const std::string keys[] = {absl::StrCat(waits),
                                    absl::StrCat(waits + 1),
                                    absl::StrCat(waits + 2)};
        for (const std::string& key : keys) {
          (void)from_.Enqueue({.key = key, .first_delay = absl::Hours(100)});
        }
        waits += 3;
        store->calls_until_away = calls;
        if (!Move().ok()) ++interrupted;
        store->calls_until_away = -1;
        for (const std::string& key : keys) {
          EXPECT_TRUE(from_.Get(key).phase == Phase::kPending ||
                      to_.Get(key).phase == Phase::kPending)
              << key;
        }
        // The lease and the heartbeat of an interrupted move expire.
        Run(absl::Minutes(2));
        ASSERT_TRUE(Move().ok());
        EXPECT_EQ(to_.Stats().pending, waits);
        EXPECT_EQ(from_.Stats().pending, 0);
      }
    }
  }
  EXPECT_GT(interrupted, 20);
  ExpectSound(from_, *from_store_);
  ExpectSound(to_, *to_store_);
}

}  // namespace
}  // namespace waiter::durable_move_test
