// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A stack of free objects that threads share without a lock. Objects are known
// by an index, and linked through themselves:
//
//   uint32_t index = free.Pop(next_of);   // Any thread.
//   ...
//   next_of(index) = FreeList::kNone;
//   free.PushIfEmpty(index);              // Any thread.
//
// `next_of(index)` returns a reference to the link of an object: to the index
// of the next one, as a relaxed atomic. A thread may read the link of an object
// that another thread has popped and uses, so its memory must stay, and may be
// written with relaxed stores only. The thread discards the value that it reads
// then.
//
// Invariants:
//  * An object is popped by one thread. The writes of a thread before it pushed
//    an object are visible to the thread that pops it.
//  * Each push changes the tag next to the head. So if the head has not
//    changed, neither have the objects below it: to become the head again, an
//    object that was popped must be pushed. The tag repeats after 2^32 pushes.

#ifndef WAITER_ENGINE_FREE_LIST_H_
#define WAITER_ENGINE_FREE_LIST_H_

#include <atomic>
#include <cstdint>

namespace waiter::internal {

// `Word` is `std::atomic<uint64_t>`, or a model of it in tests. Thread-safe.
template <typename Word>
class BasicFreeList {
 public:
  // Ends a list of links.
  static constexpr uint32_t kNone = 0xffffffff;

  // Returns the last object that was pushed, or `kNone`.
  template <typename NextOf>
  uint32_t Pop(NextOf next_of) {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (IndexOf(head) != kNone) {
      const uint32_t next = next_of(IndexOf(head));
      if (head_.compare_exchange_weak(head, TagOf(head) | next,
                                      std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return IndexOf(head);
      }
    }
    return kNone;
  }

  // Adds an object.
  template <typename NextOf>
  void Push(uint32_t index, NextOf next_of) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next_of(index) = IndexOf(head);
    } while (!head_.compare_exchange_weak(head, NextTag(head) | index,
                                          std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  // If the stack is empty, adds the object and all objects linked to it.
  // Returns whether it did.
  bool PushIfEmpty(uint32_t index) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    while (IndexOf(head) == kNone) {
      if (head_.compare_exchange_weak(head, NextTag(head) | index,
                                      std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr int kTagShift = 32;

  static constexpr uint32_t IndexOf(uint64_t head) {
    return static_cast<uint32_t>(head);
  }
  static constexpr uint64_t TagOf(uint64_t head) {
    return head >> kTagShift << kTagShift;
  }
  static constexpr uint64_t NextTag(uint64_t head) {
    return TagOf(head) + (uint64_t{1} << kTagShift);
  }

  Word head_ = kNone;
};

using FreeList = BasicFreeList<std::atomic<uint64_t>>;

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_FREE_LIST_H_
