// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The records of a worker of a `WaitEngine`: a slab that only grows, and the
// records in it that no wait uses.
//
//   EngineRecord& record = pool.Take();   // Any thread, to start a wait.
//   ...
//   pool.Free(record);                    // The worker, when the wait ended.
//   pool.Share();                         // The worker, once in a while.
//
// Invariants:
//  * An index that was handed out stays valid, and its record does not move.
//  * Records that the worker has freed come back to all threads, so the slab is
//    no larger than the maximum number of waits that were pending at the same
//    time, plus the records freed since the last `Share`.
//  * A lock is taken only to grow the slab.

#ifndef WAITER_ENGINE_RECORD_POOL_H_
#define WAITER_ENGINE_RECORD_POOL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/free_list.h"
#include "waiter/engine/page_memory.h"
#include "waiter/internal/mutex.h"

namespace waiter::internal {

class RecordPool {
 public:
  // Holds `FullEngineRecord`s if `full`.
  explicit RecordPool(bool full)
      : record_size_(full ? sizeof(FullEngineRecord) : sizeof(EngineRecord)) {}

  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  // For any thread.

  // Returns a record that no wait uses.
  EngineRecord& Take() {
    const uint32_t index = shared_.Pop(NextOf{*this});
    if (index == FreeList::kNone) return Grow();
    EngineRecord& record = (*this)[index];
    PrefetchNext(record);
    return record;
  }

  // Takes back a record that was taken and not used.
  void GiveBack(EngineRecord& record) {
    shared_.Push(record.index, NextOf{*this});
  }

  // Returns the number of records. All indexes are below it.
  uint32_t size() const {
    const MutexLock lock(mutex_);
    return size_;
  }

  // For the worker's thread.

  // `Take`, from the worker's own records while some are left.
  EngineRecord& TakeAsWorker() {
    if (own_ == FreeList::kNone) return Take();
    EngineRecord& record = (*this)[own_];
    own_ = record.stamp;
    PrefetchNext(record);
    return record;
  }

  // Needs no memory: free records are linked through themselves.
  void Free(EngineRecord& record) {
    record.stamp = std::exchange(own_, record.index);
  }

  // Hands the worker's free records to the other threads if these have none.
  void Share() {
    if (own_ == FreeList::kNone) return;
    if (shared_.PushIfEmpty(own_)) own_ = FreeList::kNone;
  }

  // Returns the record with an index that was handed out. Needs no lock, as
  // nothing that it reads changes afterwards.
  EngineRecord& operator[](uint32_t index) const
      ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const Place place = PlaceOf(index);
    return *std::launder(reinterpret_cast<EngineRecord*>(
        pages_[place.page].get() + place.offset));
  }

  // Begins to fetch the record from memory. A record need not begin at a cache
  // line, so its last byte is also fetched.
  void Prefetch(const EngineRecord& record) const {
    const auto* const begin = reinterpret_cast<const std::byte*>(&record);
    for (size_t offset = 0; offset < record_size_; offset += kCacheLine) {
      __builtin_prefetch(begin + offset, /*rw=*/1);
    }
    __builtin_prefetch(begin + record_size_ - 1, /*rw=*/1);
  }

 private:
  static constexpr uint32_t kFirstPage = 1024;
  static constexpr size_t kCacheLine = 64;

  // Pages double in size.
  struct Place {
    size_t page;
    size_t offset;  // In bytes.
  };

  // The link of a free record, for `FreeList`.
  struct NextOf {
    RelaxedIndex& operator()(uint32_t index) const { return pool[index].stamp; }

    const RecordPool& pool;
  };

  Place PlaceOf(uint32_t index) const {
    const uint64_t position = uint64_t{index} + kFirstPage;
    // `position` is at least `kFirstPage`, which is 2^10.
    const auto page = static_cast<size_t>(53 - std::countl_zero(position));
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    const uint64_t first = uint64_t{kFirstPage} << page;
    return {.page = page,
            .offset = record_size_ * static_cast<size_t>(position - first)};
  }

  // Prefetches the record after this one in a list of free records. This one
  // was just taken from that list.
  void PrefetchNext(const EngineRecord& record) const {
    if (record.stamp != FreeList::kNone) Prefetch((*this)[record.stamp]);
  }

  EngineRecord& Grow() {
    const MutexLock lock(mutex_);
    const Place place = PlaceOf(size_);
    if (pages_[place.page] == nullptr) {
      pages_[place.page] =
          AllocatePageMemory(record_size_ * (size_t{kFirstPage} << place.page));
    }
    std::byte* const address = pages_[place.page].get() + place.offset;
    EngineRecord* const record = record_size_ == sizeof(FullEngineRecord)
                                     ? new (address) FullEngineRecord
                                     : new (address) EngineRecord;
    record->index = size_++;
    record->phase = EngineRecord::Phase::kFree;
    return *record;
  }

  const size_t record_size_;
  mutable Mutex mutex_;
  uint32_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<PageMemory, 23> pages_ ABSL_GUARDED_BY(mutex_);
  FreeList shared_;
  uint32_t own_ = FreeList::kNone;  // Used on the worker's thread.
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_RECORD_POOL_H_
