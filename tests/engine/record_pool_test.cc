// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/record_pool.h"

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"

namespace waiter::internal::record_pool_test {
namespace {

using ::testing::AnyOf;

MonotonicTime At(int64_t time) {
  return MonotonicTime(std::chrono::nanoseconds(time));
}

// Pages hold 1024, 2048, 4096, ... records, so 8000 records touch four.
TEST(RecordPoolTest, RecordsStayInPlaceAndDoNotOverlap) {
  for (const bool full : {false, true}) {
    SCOPED_TRACE(full);
    RecordPool pool(full);
    std::vector<EngineRecord*> records;
    for (uint32_t i = 0; i < 8000; ++i) {
      EngineRecord& record = pool.Take();
      EXPECT_EQ(record.index, i);
      EXPECT_EQ(record.phase, EngineRecord::Phase::kFree);
      EXPECT_EQ(pool.size(), i + 1);
      record.start = At(i);
      if (full) {
        auto& larger = static_cast<FullEngineRecord&>(record);
        larger.counts = {i, i, i, i, i};
        larger.longest_poll = std::chrono::nanoseconds(i);
      }
      records.push_back(&record);
    }

    for (uint32_t i = 0; i < 8000; ++i) {
      const EngineRecord& record = pool[i];
      ASSERT_EQ(&record, records[i]);
      ASSERT_EQ(record.index, i);
      ASSERT_EQ(record.start, At(i));
      if (full) {
        const auto& larger = static_cast<const FullEngineRecord&>(record);
        ASSERT_THAT(larger.counts, testing::Each(i));
        ASSERT_EQ(larger.longest_poll.count(), i);
      }
    }
  }
}

TEST(RecordPoolTest, FreedRecordsReachOtherThreadsWithTheNextShare) {
  RecordPool pool(/*full=*/false);
  EngineRecord& first = pool.Take();
  EngineRecord& second = pool.Take();
  pool.Free(first);
  pool.Free(second);
  pool.Take();
  EXPECT_EQ(pool.size(), 3);

  pool.Share();

  EXPECT_THAT(&pool.Take(), AnyOf(&first, &second));
  EXPECT_THAT(&pool.Take(), AnyOf(&first, &second));
  EXPECT_EQ(pool.size(), 3);
}

TEST(RecordPoolTest, SlabIsNoLargerThanTheMostWaitsAtOnce) {
  RecordPool pool(/*full=*/false);
  for (int round = 0; round < 100; ++round) {
    std::set<EngineRecord*> pending;
    for (int i = 0; i < 50; ++i) pending.insert(&pool.Take());
    EXPECT_EQ(pending.size(), 50);
    for (EngineRecord* record : pending) pool.Free(*record);
    pool.Share();
  }

  EXPECT_EQ(pool.size(), 50);
}

TEST(RecordPoolTest, WorkerTakesItsOwnFreeRecordsFirst) {
  RecordPool pool(/*full=*/false);
  EngineRecord& own = pool.Take();
  EngineRecord& given_back = pool.Take();
  pool.GiveBack(given_back);
  pool.Free(own);

  EXPECT_EQ(&pool.TakeAsWorker(), &own);
  EXPECT_EQ(&pool.TakeAsWorker(), &given_back);
  EXPECT_EQ(pool.TakeAsWorker().index, 2);
  EXPECT_EQ(pool.size(), 3);
}

TEST(RecordPoolTest, ShareKeepsTheWorkersRecordsWhileOthersHaveSome) {
  RecordPool pool(/*full=*/false);
  EngineRecord& own = pool.Take();
  EngineRecord& given_back = pool.Take();
  pool.GiveBack(given_back);
  pool.Free(own);

  pool.Share();

  EXPECT_EQ(&pool.TakeAsWorker(), &own);
  EXPECT_EQ(&pool.Take(), &given_back);
}

// Nothing to share: the records of other threads stay theirs.
TEST(RecordPoolTest, ShareOfNothingChangesNothing) {
  RecordPool pool(/*full=*/false);
  EngineRecord& given_back = pool.Take();
  pool.GiveBack(given_back);

  pool.Share();

  EXPECT_EQ(&pool.Take(), &given_back);
  EXPECT_EQ(pool.size(), 1);
}

}  // namespace
}  // namespace waiter::internal::record_pool_test
