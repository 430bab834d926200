// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The record that a worker of a `WaitEngine` keeps of one wait, and the slab
// that holds the records.

#ifndef WAITER_ENGINE_ENGINE_RECORD_H_
#define WAITER_ENGINE_ENGINE_RECORD_H_

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

#include "waiter/clock.h"
#include "waiter/engine/page_memory.h"
#include "waiter/engine/task_gate.h"
#include "waiter/internal/engine_step.h"
#include "waiter/internal/engine_task.h"
#include "waiter/loop/split_mix64.h"
#include "waiter/loop/wait_loop.h"
#include "waiter/loop/wait_state.h"
#include "waiter/poll_status.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"

namespace waiter::internal {

// State that most waits do without.
struct ColdState {
  ColdState(const WaitPolicy& policy, WaitReport report_so_far,
            const WaitState& state)
      : report(std::move(report_so_far)), loop(policy, report, state) {}

  WaitReport report;
  WaitLoop loop;
  std::optional<SplitMix64> gen;  // Set if the policy has a seed.
  std::stop_token stop;           // Set if the status function takes a context.
};

// Arguments of a start, held until the worker registers the wait.
struct PendingStart {
  std::shared_ptr<const WaitPolicy> policy;
  std::stop_token stop;
};

// One wait.
struct EngineRecord {
  enum class Phase : uint8_t {
    kFree,            // Or not registered by its worker yet.
    kStarting,        // Registered; `WaitLoop::Start` comes next.
    kReady,           // To be polled without a delay.
    kSleeping,        // Sleeps until its timer, if it has one.
    kAwaitingAnswer,  // A poll has begun and answers later.
  };

  TaskGate gate;
  const EngineOps* ops;
  alignas(kInlineTaskAlignment) std::array<std::byte, kInlineTaskSize> task;
  MonotonicTime start;
  MonotonicTime deadline;
  int64_t attempts;
  // `pending_start` until the worker registers the wait; afterwards `cold` if
  // `has_cold_state`, otherwise `growth`.
  union {
    WaitGrowth growth = {};
    ColdState* cold;
    alignas(
        PendingStart) std::array<std::byte, sizeof(PendingStart)> pending_start;
  };
  uint32_t index;   // Place in the slab.
  uint32_t policy;  // Place in the worker's table of policies.
  uint32_t stamp;   // Stamp of its timer; in a queue, index of the next wait.
  Phase phase;      // For the worker alone, whoever starts the wait.
  PollStatus last_status;
  bool has_timer = false;
  bool has_cold_state : 1;
  bool final_poll : 1;
};
static_assert(sizeof(EngineRecord) == 112);
static_assert(sizeof(PendingStart) <= sizeof(WaitGrowth));

// A record with the fields of a full report.
struct FullEngineRecord : EngineRecord {
  std::array<int64_t, 5> counts;
  MonotonicTime step_started;
  std::chrono::nanoseconds slept;
  std::chrono::nanoseconds longest_poll;
};
static_assert(sizeof(FullEngineRecord) == 176);

// A queue of new waits in the order of their starts, linked by `stamp`.
struct EngineQueue {
  EngineRecord* first = nullptr;
  EngineRecord* last = nullptr;

  bool empty() const { return first == nullptr; }
  void Push(EngineRecord& record) {
    if (empty()) {
      first = &record;
    } else {
      last->stamp = record.index;
    }
    last = &record;
  }
  void Append(EngineQueue other) {
    if (other.empty()) return;
    if (empty()) {
      first = other.first;
    } else {
      last->stamp = other.first->index;
    }
    last = other.last;
  }
};

// A slab of records with stable addresses, in pages that double in size. The
// caller must lock around `Grow`; access to an index that has been handed out
// needs no lock.
class EngineSlab {
 public:
  // Holds `FullEngineRecord`s if `full`.
  explicit EngineSlab(bool full)
      : record_size_(full ? sizeof(FullEngineRecord) : sizeof(EngineRecord)) {}

  // Returns a record that has never been used.
  EngineRecord& Grow() {
    const uint32_t index = size_++;
    const Place place = PlaceOf(index);
    if (pages_[place.page] == nullptr) {
      pages_[place.page] =
          AllocatePageMemory(record_size_ * (size_t{kFirstPage} << place.page));
    }
    std::byte* const address = pages_[place.page].get() + place.offset;
    EngineRecord* const record = record_size_ == sizeof(FullEngineRecord)
                                     ? new (address) FullEngineRecord
                                     : new (address) EngineRecord;
    record->index = index;
    record->phase = EngineRecord::Phase::kFree;
    return *record;
  }

  EngineRecord& operator[](uint32_t index) const {
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

  // Returns the number of records. Their indexes are below it.
  uint32_t size() const { return size_; }

 private:
  static constexpr uint32_t kFirstPage = 1024;
  static constexpr size_t kCacheLine = 64;

  struct Place {
    size_t page;
    size_t offset;  // In bytes.
  };

  Place PlaceOf(uint32_t index) const {
    const uint64_t position = uint64_t{index} + kFirstPage;
    // `position` is at least `kFirstPage`, which is 2^10.
    const auto page = static_cast<size_t>(53 - std::countl_zero(position));
    return {
        .page = page,
        .offset = record_size_ * (position - (uint64_t{kFirstPage} << page))};
  }

  const size_t record_size_;
  uint32_t size_ = 0;
  std::array<PageMemory, 23> pages_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_ENGINE_RECORD_H_
