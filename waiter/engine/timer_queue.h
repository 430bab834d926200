// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When to wake which wait, for very many of them. With a tick this is a
// hierarchical timing wheel (Varghese and Lauck, "Hashed and Hierarchical
// Timing Wheels", SOSP 1987) whose slots hold contiguous entries of 8 bytes:
//
//   TimerQueue timers(now, absl::Milliseconds(1));
//   uint32_t stamp = timers.Add(index, due, /*slack=*/{});
//   ...
//   timers.TakeDue(now, due_timers);
//   // `index` is due if its latest stamp is that of its timer.
//
// A timer cannot be taken out: who does not want it any more forgets its stamp.

#ifndef WAITER_ENGINE_TIMER_QUEUE_H_
#define WAITER_ENGINE_TIMER_QUEUE_H_

#include <array>
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

  // Times are rounded up to a multiple of `tick` after `start`. A tick of zero
  // is for exact times: a binary heap, which costs more per timer.
  TimerQueue(MonotonicTime start, std::chrono::nanoseconds tick);

  // Adds a timer for `due`, or up to `slack` later if it then falls together
  // with others, and returns its stamp. One that is due already is due at the
  // next tick. `due` is not `MonotonicTime::max()`.
  uint32_t Add(uint32_t index, MonotonicTime due,
               std::chrono::nanoseconds slack);

  // Appends the timers that are due to `due`, in the order of their times; at
  // a tick, in no particular order. `now` must not step back.
  void TakeDue(MonotonicTime now, std::vector<Timer>& due);

  // Returns when to call `TakeDue` next; `max()` if there is no timer.
  MonotonicTime NextWakeUp() const;

  // Forgets the timers that are not `wanted`.
  void Sweep(absl::FunctionRef<bool(Timer)> wanted);

  // Returns how many timers there are, forgotten ones included.
  size_t size() const { return size_; }

 private:
  static constexpr int kLevels = 5;
  static constexpr int kSlotBits = 6;
  static constexpr int64_t kSlots = 1 << kSlotBits;
  // Ticks that the wheel reaches ahead: all slots of its top level but one.
  static constexpr int64_t kHorizon = (kSlots - 1)
                                      << (kSlotBits * (kLevels - 1));

  // A piece of a slot: 256 bytes.
  struct Chunk {
    Chunk* next;
    uint32_t size;
    std::array<Timer, 30> timers;
  };

  struct Level {
    uint64_t occupied = 0;  // A bit for each slot.
    std::array<Chunk*, kSlots> slots = {};
  };

  // The slot that is next to be emptied, and its first tick.
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

  bool is_exact() const { return tick_ == std::chrono::nanoseconds::zero(); }
  int64_t TickOf(MonotonicTime due) const;
  MonotonicTime TimeOf(int64_t tick) const;
  int64_t TickOf(Timer timer) const;
  NextSlot FindNext() const;
  void Put(int64_t tick, Timer timer);
  void TakeNear(std::vector<Timer>& due);
  void EmptySlot(const NextSlot& next, std::vector<Timer>& due);
  void PushExact(ExactTimer timer);
  ExactTimer PopExact();
  Chunk* NewChunk(Chunk* next);
  void AddChunks();
  void FreeChunk(Chunk* chunk);

  const MonotonicTime start_;
  const std::chrono::nanoseconds tick_;
  size_t size_ = 0;
  uint32_t next_stamp_ = 0;  // Of exact timers; others have their tick.
  int64_t current_ = 0;      // The last tick that was taken.
  std::array<Level, kLevels> levels_;
  std::vector<PageMemory> chunk_blocks_;
  Chunk* new_chunks_ = nullptr;  // Of the last block, not used yet.
  Chunk* new_chunks_end_ = nullptr;
  Chunk* free_chunks_ = nullptr;
  // A heap: all timers if there is no tick, else those beyond the horizon.
  std::vector<ExactTimer> exact_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_TIMER_QUEUE_H_
