// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The gate to the task of a wait, that is, to its status function and callback.
// Three parties meet there: the worker that drives the wait, the owner of its
// handle, and a thread of an executor that polls. One atomic word settles who
// is inside, and carries the requests of the owner:
//
//   worker or executor            owner of the handle
//   ------------------            -------------------
//   if (gate.Enter(shared)) {     gate.RequestStop(generation);
//     gate.MeetPollRequest();     gate.RequestSuspend(generation);
//     ...                         gate.RequestPoll(generation);
//     if (!gate.Leave()) Free();  gate.Detach(generation);
//   }                             switch (gate.Abandon(generation, in_task))
//
// Invariants:
//  * At most one thread is inside.
//  * The task is freed exactly once: by the thread that is inside when the
//    owner abandons it, otherwise by the owner.
//  * Entering is the start of a poll: a thread that enters after `RequestStop`
//    or `RequestSuspend` has returned sees the request, and an executor does
//    not enter at all.
//  * The first of `RequestStop` and `RequestSuspend` counts.
//  * A poll begins after every request for one. The next poll that begins meets
//    all requests before it.
//  * Once a poll on an executor has begun, the wait takes its answer before
//    anything else, unless it is abandoned.
//  * The generation moves only in `Close`, so a reference to a wait that has
//    ended never touches the next wait of the same record.

#ifndef WAITER_ENGINE_TASK_GATE_H_
#define WAITER_ENGINE_TASK_GATE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace waiter::internal {

// Identifies one wait among all waits that use the same record.
using Generation = uint64_t;

// Duty of the owner of a handle that abandons its wait.
enum class AbandonOutcome : uint8_t {
  // Nothing: the wait has ended, and its task is gone.
  kEnded,
  // Free the task, then call `SetFreed` and tell the worker.
  kFree,
  // Nothing: the caller is inside the task, and frees it on leaving.
  kFreedOnLeaving,
};

// `Word` is `std::atomic<uint64_t>`, or a model of it in tests. Starts closed.
// Thread-safe as each function says.
template <typename Word>
class BasicTaskGate {
 public:
  // For the thread that starts a wait, before any other thread knows of it.
  // Returns the generation of the wait.
  Generation OpenWithHandle() {
    const Generation generation = this->generation();
    word_.store(generation | kHasHandle, std::memory_order_relaxed);
    return generation;
  }

  // For any thread.

  Generation generation() const {
    return GenerationOf(word_.load(std::memory_order_relaxed));
  }

  // Returns whether the wait has not ended. If not, everything that the last
  // thread inside did is visible.
  bool IsOpen(Generation generation) const {
    return GenerationOf(word_.load(std::memory_order_acquire)) == generation;
  }

  // For the owner of the handle.

  // Requests that the wait ends. Returns false if it has ended, or is to be
  // suspended.
  bool RequestStop(Generation generation) {
    return Set(kStopRequested, generation, /*unless=*/kSuspendRequested);
  }

  // Requests that the wait is suspended. Returns false if it has ended, or if
  // that, or a stop, was requested before.
  bool RequestSuspend(Generation generation) {
    return Set(kSuspendRequested, generation,
               /*unless=*/kSuspendRequested | kStopRequested | kAbandoned);
  }

  // Requests a poll. Returns true if the worker must be notified: the wait
  // has not ended, and no request is outstanding.
  bool RequestPoll(Generation generation) {
    bool is_first = false;
    return Update(generation,
                  [&](uint64_t word) {
                    is_first = (word & kPollRequested) == 0;
                    return word | kPollRequested;
                  }) &&
           is_first;
  }

  // Gives the handle up: afterwards the wait is neither abandoned nor asked to
  // stop. Returns false if the wait has ended.
  bool Detach(Generation generation) {
    return Update(generation, [](uint64_t word) { return word & ~kHasHandle; });
  }

  // Forbids entering, as the first step of `Abandon`.
  void Forbid(Generation generation) {
    Update(generation, [](uint64_t word) { return word | kAbandoned; });
  }

  // Abandons the wait. Blocks until the task is gone, unless the caller is
  // `in_task`, that is, inside.
  AbandonOutcome Abandon(Generation generation, bool in_task) {
    uint64_t word = word_.load(std::memory_order_acquire);
    while (GenerationOf(word) == generation) {
      if ((word & kEntered) == 0) {
        if (Replace(word, word | kAbandoned | kEntered)) {
          return AbandonOutcome::kFree;
        }
      } else if (in_task) {
        if (Replace(word, word | kAbandoned)) {
          return AbandonOutcome::kFreedOnLeaving;
        }
      } else if ((word & kFreed) != 0) {
        return AbandonOutcome::kEnded;
      } else if ((word & kAwaited) != 0 ||
                 Replace(word, word | kAbandoned | kAwaited)) {
        word_.wait(word | kAbandoned | kAwaited, std::memory_order_acquire);
        word = word_.load(std::memory_order_acquire);
      }
    }
    return AbandonOutcome::kEnded;
  }

  // For a thread that wants to enter or is inside.

  // Enters for the worker. Refuses if another thread is inside, if a poll on an
  // executor has begun whose answer the worker has not taken, or if the wait is
  // abandoned. If it is not `shared`, that is, without an executor, a detached
  // wait costs no atomic operation except a load.
  bool Enter(bool shared) {
    return EnterUnless(kAbandoned | kEntered | kPollBegun, shared);
  }

  // The same to take an answer, even if a poll on an executor gave it.
  bool EnterForAnswer(bool shared) {
    return EnterUnless(kAbandoned | kEntered, shared);
  }

  // Enters for a poll on an executor. Also refuses if the wait has ended, or a
  // stop or a suspension was requested.
  bool EnterToPoll(Generation generation) {
    uint64_t word = word_.load(std::memory_order_acquire);
    do {
      if (GenerationOf(word) != generation ||
          (word &
           (kAbandoned | kEntered | kStopRequested | kSuspendRequested)) != 0) {
        return false;
      }
    } while (!Replace(word, word | kEntered | kPollBegun));
    return true;
  }

  // Leaves. If the wait was abandoned in the meantime, returns false and stays
  // inside: the caller then frees the task.
  bool Leave() {
    uint64_t word = word_.load(std::memory_order_acquire);
    while ((word & kEntered) != 0) {
      if ((word & kAbandoned) != 0) return false;
      if (Replace(word, word & ~kEntered)) return true;
    }
    return true;
  }

  // Takes the request for a poll, which the poll that begins now meets. Returns
  // whether there was one; everything that the owner did before it is then
  // visible.
  bool MeetPollRequest() {
    uint64_t word = word_.load(std::memory_order_acquire);
    while ((word & kPollRequested) != 0) {
      if (Replace(word, word & ~kPollRequested)) return true;
    }
    return false;
  }

  // Says that the task is gone, and wakes the owner if it waits for that.
  void SetFreed() {
    if ((word_.fetch_or(kFreed, std::memory_order_acq_rel) & kAwaited) != 0) {
      word_.notify_all();
    }
  }

  // Ends the wait: references to it are no longer valid. Returns whether its
  // handle was detached before.
  bool Close() {
    const uint64_t word = word_.exchange(generation() + kOneGeneration,
                                         std::memory_order_acq_rel);
    if ((word & kAwaited) != 0) word_.notify_all();
    return (word & kHasHandle) == 0;
  }

  bool stop_requested() const {
    return (word_.load(std::memory_order_acquire) & kStopRequested) != 0;
  }
  bool suspend_requested() const {
    return (word_.load(std::memory_order_acquire) & kSuspendRequested) != 0;
  }
  bool poll_requested() const {
    return (word_.load(std::memory_order_acquire) & kPollRequested) != 0;
  }
  bool abandoned() const {
    return (word_.load(std::memory_order_acquire) & kAbandoned) != 0;
  }
  // Returns whether the wait should end early: a stop was requested, or it was
  // abandoned.
  bool must_end() const {
    return (word_.load(std::memory_order_acquire) &
            (kStopRequested | kAbandoned)) != 0;
  }
  // Returns whether the wait should make no further poll: for these reasons, or
  // because it is to be suspended.
  bool must_not_poll() const {
    return (word_.load(std::memory_order_acquire) &
            (kStopRequested | kAbandoned | kSuspendRequested)) != 0;
  }
  bool freed() const {
    return (word_.load(std::memory_order_acquire) & kFreed) != 0;
  }

 private:
  static constexpr uint64_t kHasHandle = 1;
  static constexpr uint64_t kEntered = 2;    // A thread is inside.
  static constexpr uint64_t kAbandoned = 4;  // The handle was destroyed.
  static constexpr uint64_t kFreed = 8;      // The task is gone.
  static constexpr uint64_t kAwaited = 16;   // The owner waits for `kFreed`.
  static constexpr uint64_t kStopRequested = 32;
  static constexpr uint64_t kPollBegun = 64;  // On an executor.
  static constexpr uint64_t kPollRequested = 128;
  static constexpr uint64_t kSuspendRequested = 256;
  static constexpr uint64_t kOneGeneration = 512;

  static constexpr Generation GenerationOf(uint64_t word) {
    return word & ~(kOneGeneration - 1);
  }

  bool Replace(uint64_t& word, uint64_t desired) {
    return word_.compare_exchange_weak(word, desired, std::memory_order_acq_rel,
                                       std::memory_order_acquire);
  }

  bool EnterUnless(uint64_t refused, bool shared) {
    uint64_t word = word_.load(std::memory_order_acquire);
    if ((word & kHasHandle) == 0 && !shared) return true;
    do {
      if ((word & refused) != 0) return false;
    } while (!Replace(word, (word & ~kPollBegun) | kEntered));
    return true;
  }

  // Returns false, and changes nothing, if the wait has ended.
  template <typename Change>
  bool Update(Generation generation, Change change) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (GenerationOf(word) == generation) {
      if (Replace(word, change(word))) return true;
    }
    return false;
  }

  // Sets `bit`. Returns false, and changes nothing, if the wait has ended or
  // one of the bits `unless` is set.
  bool Set(uint64_t bit, Generation generation, uint64_t unless) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (GenerationOf(word) == generation && (word & unless) == 0) {
      if (Replace(word, word | bit)) return true;
    }
    return false;
  }

  Word word_ = 0;
};

#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAVE_LINUX_FUTEX)
// Without a futex, as with MinGW, `std::atomic::wait` of libstdc++ 12 loses
// notifications: it compares before it takes its lock, and not again. This
// class looks again every millisecond.
class GateWord : public std::atomic<uint64_t> {
 public:
  using std::atomic<uint64_t>::atomic;
  void wait(uint64_t old, std::memory_order order) const {
    while (load(order) == old) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};
#else
using GateWord = std::atomic<uint64_t>;
#endif
using TaskGate = BasicTaskGate<GateWord>;

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_TASK_GATE_H_
