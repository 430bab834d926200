// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/timer_queue.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "waiter/clock.h"

namespace waiter::internal {

using std::chrono::nanoseconds;

TimerQueue::TimerQueue(MonotonicTime start, nanoseconds tick)
    : start_(start), tick_(tick) {}

MonotonicTime TimerQueue::TimeOf(int64_t tick) const {
  return tick > (MonotonicTime::max() - start_) / tick_ ? MonotonicTime::max()
                                                        : start_ + tick * tick_;
}

// Finds the next occupied slot. All timers of a level come before the next
// level's. Except on the top level, which wraps around, occupied slots are
// ahead of the current one.
inline TimerQueue::NextSlot TimerQueue::FindNext() const {
  for (int level = 0; level < kLevels; ++level) {
    const uint64_t occupied = levels_[static_cast<size_t>(level)].occupied;
    if (occupied == 0) continue;
    const int shift = kSlotBits * level;
    const int64_t position = current_ >> shift;
    const int first = static_cast<int>(position & (kSlots - 1));
    const int ahead = std::countr_zero(std::rotr(occupied, first));
    return {.level = level,
            .slot = (first + ahead) & (kSlots - 1),
            .tick = (position + ahead) << shift};
  }
  return {};
}

// Always inlined, because g++ 12 drops calls of functions that only prefetch.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void TimerQueue::PrefetchChunk(
    const Chunk* chunk) {
  const char* const begin = reinterpret_cast<const char*>(chunk);
  for (size_t i = 0; i < sizeof(Chunk); i += 64) __builtin_prefetch(begin + i);
}

void TimerQueue::EmptySlot(const NextSlot& next, std::vector<Timer>& due) {
  Level& level = levels_[static_cast<size_t>(next.level)];
  Chunk* chunk = level.slots[static_cast<size_t>(next.slot)];
  level.slots[static_cast<size_t>(next.slot)] = nullptr;
  level.occupied &= ~(uint64_t{1} << next.slot);
  while (chunk != nullptr) {
    if (chunk->next != nullptr) PrefetchChunk(chunk->next);
    for (uint32_t i = 0; i < chunk->size; ++i) {
      const Timer timer = chunk->timers[i];
      const int64_t tick = TickOf(timer);
      if (tick <= current_) {
        due.push_back(timer);
      } else {
        Put(tick, timer);
      }
    }
    Chunk* const emptied = chunk;
    chunk = chunk->next;
    FreeChunk(emptied);
  }
}

void TimerQueue::TakeNear(std::vector<Timer>& due) {
  while (!exact_.empty() && TickOf(exact_.front().due) - current_ < kHorizon) {
    const ExactTimer far = PopExact();
    if (TickOf(far.due) <= current_) {
      due.push_back(far.timer);
    } else {
      Put(TickOf(far.due), far.timer);
    }
  }
}

void TimerQueue::TakeDue(MonotonicTime now, std::vector<Timer>& due) {
  const size_t taken_before = due.size();
  if (is_exact()) {
    while (!exact_.empty() && exact_.front().due <= now) {
      due.push_back(PopExact().timer);
    }
  } else {
    const int64_t last = (now - start_) / tick_;
    for (NextSlot next = FindNext(); next.level < kLevels && next.tick <= last;
         next = FindNext()) {
      current_ = next.tick;
      EmptySlot(next, due);
      TakeNear(due);
    }
    current_ = std::max(current_, last);
    TakeNear(due);
  }
  size_ -= due.size() - taken_before;
}

MonotonicTime TimerQueue::NextWakeUp() const {
  if (is_exact()) {
    return exact_.empty() ? MonotonicTime::max() : exact_.front().due;
  }
  const NextSlot next = FindNext();
  if (next.level < kLevels) return TimeOf(next.tick);
  // A far timer moves into the wheel once it is within the horizon.
  return exact_.empty() ? MonotonicTime::max()
                        : TimeOf(TickOf(exact_.front().due) - kHorizon + 1);
}

MonotonicTime TimerQueue::TimeOf(Timer timer, MonotonicTime now) const {
  for (const ExactTimer& exact : exact_) {
    if (exact.timer.index == timer.index && exact.timer.stamp == timer.stamp) {
      return exact.due;
    }
  }
  // All other timers are in the wheel, or were taken.
  if (is_exact() || TickOf(timer) <= current_) return now;
  return TimeOf(TickOf(timer));
}

// Moves the wanted ones of `size` entries to the front, in their order. Returns
// the number of them.
template <typename Entry>
size_t TimerQueue::KeepWanted(
    Entry* begin, size_t size, absl::FunctionRef<bool(Timer)> wanted,
    absl::FunctionRef<const void*(Timer)> address_of) {
  size_t kept = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % kChunkSize == 0) {
      // Not a function: g++ 12 drops calls of functions that only prefetch.
      for (size_t ahead = i; ahead < std::min(i + kChunkSize, size); ++ahead) {
        __builtin_prefetch(address_of(TimerOf(begin[ahead])));
      }
    }
    if (wanted(TimerOf(begin[i]))) begin[kept++] = begin[i];
  }
  return kept;
}

void TimerQueue::Sweep(absl::FunctionRef<bool(Timer)> wanted,
                       absl::FunctionRef<const void*(Timer)> address_of) {
  for (Level& level : levels_) {
    for (size_t slot = 0; slot < level.slots.size(); ++slot) {
      Chunk* chunk = level.slots[slot];
      Chunk* kept = nullptr;
      while (chunk != nullptr) {
        Timer* const begin = chunk->timers.data();
        const auto size = static_cast<uint32_t>(
            KeepWanted(begin, chunk->size, wanted, address_of));
        size_ -= chunk->size - size;
        chunk->size = size;
        Chunk* const next = chunk->next;
        if (size == 0) {
          FreeChunk(chunk);
        } else {
          chunk->next = kept;
          kept = chunk;
        }
        chunk = next;
      }
      level.slots[slot] = kept;
      if (kept == nullptr) level.occupied &= ~(uint64_t{1} << slot);
    }
  }
  const size_t kept =
      KeepWanted(exact_.data(), exact_.size(), wanted, address_of);
  size_ -= exact_.size() - kept;
  exact_.resize(kept);
  std::make_heap(exact_.begin(), exact_.end(), std::greater<>());
}

void TimerQueue::PushExact(ExactTimer timer) {
  exact_.push_back(timer);
  std::push_heap(exact_.begin(), exact_.end(), std::greater<>());
}

TimerQueue::ExactTimer TimerQueue::PopExact() {
  std::pop_heap(exact_.begin(), exact_.end(), std::greater<>());
  const ExactTimer timer = exact_.back();
  exact_.pop_back();
  return timer;
}

TimerQueue::Chunk* TimerQueue::NewChunk(Chunk* next) {
  Chunk* chunk;
  if (free_chunks_ != nullptr) {
    chunk = free_chunks_;
    free_chunks_ = chunk->next;
  } else {
    if (new_chunks_ == new_chunks_end_) AddChunks();
    chunk = new_chunks_++;
  }
  chunk->next = next;
  chunk->size = 0;
  return chunk;
}

// Adds a block of chunks. Blocks double in size up to a huge page.
void TimerQueue::AddChunks() {
  const size_t chunks = size_t{64} << std::min<size_t>(chunk_blocks_.size(), 7);
  chunk_blocks_.push_back(AllocatePageMemory(chunks * sizeof(Chunk)));
  new_chunks_ = reinterpret_cast<Chunk*>(chunk_blocks_.back().get());
  std::uninitialized_default_construct_n(new_chunks_, chunks);
  new_chunks_end_ = new_chunks_ + chunks;
}

void TimerQueue::FreeChunk(Chunk* chunk) {
  chunk->next = free_chunks_;
  free_chunks_ = chunk;
}

}  // namespace waiter::internal
