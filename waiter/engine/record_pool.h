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
//  * An index that was handed out stays valid, and its record where it is.
//  * Records that the worker has freed come back to all threads, so the slab
//    is no larger than the most waits that were pending at once, and those
//    that were freed since the last `Share`.

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
    const MutexLock lock(mutex_);
    return shared_ == nullptr ? Grow() : Pop(shared_);
  }

  // Takes back a record that was taken and not used.
  void GiveBack(EngineRecord& record) {
    const MutexLock lock(mutex_);
    Push(shared_, record);
  }

  // Returns the number of records. All indexes are below it.
  uint32_t size() const {
    const MutexLock lock(mutex_);
    return size_;
  }

  // For the worker's thread.

  // `Take` without the lock, while records of the worker's own are left.
  EngineRecord& TakeAsWorker() { return own_ == nullptr ? Take() : Pop(own_); }

  void Free(EngineRecord& record) { Push(own_, record); }

  // Hands the worker's free records to the other threads if these have none.
  void Share() {
    if (own_ == nullptr) return;
    const MutexLock lock(mutex_);
    if (shared_ == nullptr) std::swap(shared_, own_);
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
  // line, so its last byte is fetched as well.
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

  Place PlaceOf(uint32_t index) const {
    const uint64_t position = uint64_t{index} + kFirstPage;
    // `position` is at least `kFirstPage`, which is 2^10.
    const auto page = static_cast<size_t>(53 - std::countl_zero(position));
    return {.page = page,
            .offset =
                record_size_ *
                static_cast<size_t>(position - (uint64_t{kFirstPage} << page))};
  }

  // Free records are linked through themselves, so that giving one back needs
  // no memory.
  static void Push(EngineRecord*& free, EngineRecord& record) {
    record.next_free = std::exchange(free, &record);
  }
  static EngineRecord& Pop(EngineRecord*& free) {
    EngineRecord& record = *free;
    free = record.next_free;
    return record;
  }

  EngineRecord& Grow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
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
  EngineRecord* shared_ ABSL_GUARDED_BY(mutex_) = nullptr;
  EngineRecord* own_ = nullptr;  // Of the worker's thread.
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_RECORD_POOL_H_
