// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A queue of very many timers. With a tick, it is a hierarchical timing wheel
// (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987)
// whose slots hold contiguous entries of 8 bytes:
//
//   TimerQueue timers(now, absl::Milliseconds(1));
//   uint32_t stamp = timers.Add(index, due, /*slack=*/{});
//   ...
//   timers.TakeDue(now, due_timers);
//   // `index` is due if its latest stamp equals its timer's.
//
// A timer cannot be removed. To cancel it, discard its stamp: stale entries are
// skipped when they are due, and dropped by `Sweep`.

#ifndef WAITER_ENGINE_TIMER_QUEUE_H_
#define WAITER_ENGINE_TIMER_QUEUE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "waiter/clock.h"
#include "waiter/engine/page_memory.h"

namespace waiter::internal {

// Thread-compatible.
class TimerQueue {
 public:
  // A timer that was added. The stamp tells it from others of the same index.
  struct Timer {
    uint32_t index;
    uint32_t stamp;
  };

  // Rounds times up to a multiple of `tick` after `start`. With a tick of zero,
  // times are exact; the queue is then a binary heap, which is slower.
  TimerQueue(MonotonicTime start, std::chrono::nanoseconds tick);
  bool is_exact() const { return tick_ == std::chrono::nanoseconds::zero(); }

  // Adds a timer for `due` and returns its stamp. The timer may come up to
  // `slack` later, together with others. A timer in the past is due at the next
  // tick. Requires that `due` is not `MonotonicTime::max()`.
  uint32_t Add(uint32_t index, MonotonicTime due,
               std::chrono::nanoseconds slack);

  // Appends the timers that are due to `due`, in the order of their times, and
  // in no particular order within a tick. `now` must not step back.
  void TakeDue(MonotonicTime now, std::vector<Timer>& due);

  // Returns when to call `TakeDue` next; `max()` if there is no timer.
  MonotonicTime NextWakeUp() const;

  // Returns when a timer is due, or `now` if it was taken. Takes time linear in
  // the number of timers that are exact or beyond the reach of the wheel.
  MonotonicTime TimeOf(Timer timer, MonotonicTime now) const;

  // Drops the timers that are not `wanted`. Takes time linear in `size()`.
  // `address_of` returns the address of what `wanted` reads about a timer. That
  // memory is prefetched for a group of timers before `wanted` is called.
  void Sweep(absl::FunctionRef<bool(Timer)> wanted,
             absl::FunctionRef<const void*(Timer)> address_of);

  // Returns the number of timers, cancelled ones included.
  size_t size() const { return size_; }

 private:
  static constexpr int kLevels = 5;
  static constexpr int kSlotBits = 6;
  static constexpr int64_t kSlots = 1 << kSlotBits;
  // Number of ticks that the wheel reaches ahead: all slots of its top level
  // except one.
  static constexpr int64_t kHorizon = (kSlots - 1)
                                      << (kSlotBits * (kLevels - 1));

  static constexpr size_t kChunkSize = 30;

  // One piece of a slot, of 256 bytes.
  struct Chunk {
    Chunk* next;
    uint32_t size;
    std::array<Timer, kChunkSize> timers;
  };

  struct Level {
    uint64_t occupied = 0;  // A bit for each slot.
    std::array<Chunk*, kSlots> slots = {};
  };

  // The next slot to be emptied, and its first tick.
  struct NextSlot {
    int level = kLevels;
    int64_t slot = 0;
    int64_t tick = 0;
  };

  // A timer of the heap.
  struct ExactTimer {
    MonotonicTime due;
    Timer timer;
    bool operator>(const ExactTimer& other) const { return due > other.due; }
  };

  int64_t TickOf(MonotonicTime due) const;
  MonotonicTime TimeOf(int64_t tick) const;
  // Returns the tick of a timer. A stamp is the lower half of the tick, which
  // is within the horizon.
  int64_t TickOf(Timer timer) const {
    return current_ +
           static_cast<int32_t>(timer.stamp - static_cast<uint32_t>(current_));
  }
  static Timer TimerOf(const Timer& timer) { return timer; }
  static Timer TimerOf(const ExactTimer& timer) { return timer.timer; }
  template <typename Entry>
  static size_t KeepWanted(Entry* begin, size_t size,
                           absl::FunctionRef<bool(Timer)> wanted,
                           absl::FunctionRef<const void*(Timer)> address_of);
  NextSlot FindNext() const;
  void Put(int64_t tick, Timer timer);
  void TakeNear(std::vector<Timer>& due);
  void EmptySlot(const NextSlot& next, std::vector<Timer>& due);
  void PushExact(ExactTimer timer);
  ExactTimer PopExact();
  Chunk* NewChunk(Chunk* next);
  void AddChunks();
  void FreeChunk(Chunk* chunk);
  static void PrefetchChunk(const Chunk* chunk);

  const MonotonicTime start_;
  const std::chrono::nanoseconds tick_;
  size_t size_ = 0;
  uint32_t next_stamp_ = 0;  // For exact timers; the others use their tick.
  int64_t current_ = 0;      // The last tick that was taken.
  std::array<Level, kLevels> levels_;
  std::vector<PageMemory> chunk_blocks_;
  Chunk* new_chunks_ = nullptr;  // The unused rest of the last block.
  Chunk* new_chunks_end_ = nullptr;
  Chunk* free_chunks_ = nullptr;
  // A heap. Without a tick, it has all timers; otherwise, the timers beyond the
  // horizon.
  std::vector<ExactTimer> exact_;
};

// The work of each poll is inline.

// Returns the first tick that is not before `due`.
inline int64_t TimerQueue::TickOf(MonotonicTime due) const {
  const std::chrono::nanoseconds after = due - start_;
  if (after <= std::chrono::nanoseconds::zero()) return 0;
  return after / tick_ +
         (after % tick_ == std::chrono::nanoseconds::zero() ? 0 : 1);
}

inline uint32_t TimerQueue::Add(uint32_t index, MonotonicTime due,
                                std::chrono::nanoseconds slack) {
  ++size_;
  if (is_exact()) {
    const uint32_t stamp = next_stamp_++;
    PushExact({.due = due, .timer = {.index = index, .stamp = stamp}});
    return stamp;
  }
  int64_t tick = TickOf(due);
  if (slack >= 2 * tick_) {
    // Rounds up to a multiple of a power of two, where timers meet.
    const auto step = static_cast<int64_t>(std::bit_floor(
        static_cast<uint64_t>(std::min<int64_t>(slack / tick_, kHorizon))));
    tick = (tick + step - 1) & ~(step - 1);
  }
  tick = std::max(tick, current_ + 1);
  const Timer timer = {.index = index, .stamp = static_cast<uint32_t>(tick)};
  if (tick - current_ < kHorizon) {
    Put(tick, timer);
  } else {
    PushExact({.due = TimeOf(tick), .timer = timer});
  }
  return timer.stamp;
}

// Puts a timer into the wheel. Its level is the place of the highest digit, of
// `kSlotBits` bits, in which its tick differs from the current one; its slot is
// the digit there.
inline void TimerQueue::Put(int64_t tick, Timer timer) {
  const auto difference =
      static_cast<uint64_t>((tick ^ current_) | (kSlots - 1));
  const int level =
      std::min((static_cast<int>(std::bit_width(difference)) - 1) / kSlotBits,
               kLevels - 1);
  const int64_t slot = (tick >> (kSlotBits * level)) & (kSlots - 1);
  Level& place = levels_[static_cast<size_t>(level)];
  Chunk*& chunk = place.slots[static_cast<size_t>(slot)];
  if (chunk == nullptr || chunk->size == chunk->timers.size()) {
    chunk = NewChunk(chunk);
    place.occupied |= uint64_t{1} << slot;
  }
  chunk->timers[chunk->size++] = timer;
}

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_TIMER_QUEUE_H_
