// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs code of a few threads in every order that their atomic operations allow:
//
//   const Exploration result = ExploreInterleavings({}, [](Interleaving& run) {
//     auto flag = std::make_shared<ModelAtomic<int>>(0);
//     auto data = std::make_shared<ModelData>();
//     run.AddThread([=] {
//       data->Write();
//       flag->store(1, std::memory_order_release);
//     });
//     run.AddThread([=] {
//       if (flag->load(std::memory_order_acquire) == 1) data->Read();
//     });
//   });
//   EXPECT_EQ(result.failure, "");
//
// Each run is a schedule: at each atomic operation, one thread that can
// continue is chosen. The next run chooses differently, depth first, until
// every choice has been made. Only one thread runs at a time.
//
// Values are sequentially consistent, but synchronization follows the memory
// orders, by vector clocks: an access to `ModelData` that another access does
// not happen before is a failure. This finds a missing acquire or release. It
// does not model stale values of relaxed loads, or compare-exchange operations
// that fail spuriously.

#ifndef WAITER_TESTS_SUPPORT_INTERLEAVINGS_H_
#define WAITER_TESTS_SUPPORT_INTERLEAVINGS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace waiter {

inline constexpr size_t kMostModelThreads = 4;

// The progress of each thread, as far as the clock's owner knows. The last
// place is for the code that builds a scenario and checks its end.
using VectorClock = std::array<uint32_t, kMostModelThreads + 1>;

inline void Join(VectorClock& clock, const VectorClock& other) {
  for (size_t i = 0; i < clock.size(); ++i) {
    clock[i] = std::max(clock[i], other[i]);
  }
}

// One schedule of one scenario.
class Interleaving {
 public:
  // A thread of the scenario. At most `kMostModelThreads`.
  virtual void AddThread(std::function<void()> body) = 0;

  // Runs after all threads have ended.
  virtual void AtEnd(std::function<void()> check) = 0;

  // Functions for the code of threads and checks.

  // Returns the run that the calling thread belongs to.
  static Interleaving& Current();

  // Any other thread may run first. Called before each atomic operation.
  virtual void Yield() = 0;
  // Blocks until `Wake` is called for the same address.
  virtual void Block(const void* address) = 0;
  virtual void Wake(const void* address) = 0;

  // Clock of the calling thread: the operations that happen before its next
  // one.
  virtual VectorClock& clock() = 0;
  virtual size_t thread() const = 0;

  // Makes the run a failure. Only the first counts.
  virtual void Fail(const std::string& why) = 0;
  void Expect(bool condition, const std::string& why) {
    if (!condition) Fail(why);
  }

 protected:
  ~Interleaving() = default;
};

struct ExplorationOptions {
  // How often a schedule may preempt a thread that could continue. Two or three
  // find nearly all defects; unbounded is exhaustive.
  int max_preemptions = std::numeric_limits<int>::max();
};

struct Exploration {
  int64_t schedules = 0;
  // Empty, or the failure and the schedule that led to it. The first failure
  // ends the exploration.
  std::string failure;
};

// Runs `scenario` once for each schedule. It must build everything that its
// threads use again, and be the same each time.
Exploration ExploreInterleavings(
    const ExplorationOptions& options,
    const std::function<void(Interleaving& run)>& scenario);

constexpr bool Acquires(std::memory_order order) {
  return order == std::memory_order_acquire ||
         order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
constexpr bool Releases(std::memory_order order) {
  return order == std::memory_order_release ||
         order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

// Replaces `std::atomic<T>` in a run.
template <typename T>
class ModelAtomic {
 public:
  ModelAtomic(T value) : value_(value) {}  // NOLINT: as std::atomic
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const {
    Run().Yield();
    if (Acquires(order)) Join(Run().clock(), released_);
    return value_;
  }

  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    Run().Yield();
    value_ = value;
    released_ = Releases(order) ? Tick() : VectorClock{};
  }

  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    return Modify(order, [&](T) { return value; });
  }
  T fetch_add(T other, std::memory_order order = std::memory_order_seq_cst) {
    return Modify(order, [&](T old) { return old + other; });
  }
  T fetch_sub(T other, std::memory_order order = std::memory_order_seq_cst) {
    return Modify(order, [&](T old) { return old - other; });
  }
  T fetch_or(T bits, std::memory_order order = std::memory_order_seq_cst) {
    return Modify(order, [&](T old) { return old | bits; });
  }

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) {
    Run().Yield();
    if (value_ != expected) {
      if (Acquires(failure)) Join(Run().clock(), released_);
      expected = value_;
      return false;
    }
    Change(success, desired);
    return true;
  }

  void wait(T old, std::memory_order order = std::memory_order_seq_cst) const {
    Run().Yield();
    while (value_ == old) Run().Block(this);
    if (Acquires(order)) Join(Run().clock(), released_);
  }
  void notify_all() {
    Run().Yield();
    Run().Wake(this);
  }

 private:
  static Interleaving& Run() { return Interleaving::Current(); }

  static VectorClock Tick() {
    ++Run().clock()[Run().thread()];
    return Run().clock();
  }

  // A read-modify-write continues the release sequence that it reads from.
  void Change(std::memory_order order, T value) {
    if (Acquires(order)) Join(Run().clock(), released_);
    if (Releases(order)) Join(released_, Tick());
    value_ = value;
  }

  template <typename F>
  T Modify(std::memory_order order, F change) {
    Run().Yield();
    const T old = value_;
    Change(order, change(old));
    return old;
  }

  T value_;
  VectorClock released_ = {};
};

// Memory that is not atomic: accesses of two threads, one of them a write, must
// be ordered.
class ModelData {
 public:
  void Read() {
    Interleaving& run = Interleaving::Current();
    Check(run, writes_, "a read races with a write");
    reads_[run.thread()] = ++run.clock()[run.thread()];
  }
  void Write() {
    Interleaving& run = Interleaving::Current();
    Check(run, writes_, "two writes race");
    Check(run, reads_, "a write races with a read");
    writes_[run.thread()] = ++run.clock()[run.thread()];
  }

 private:
  static void Check(Interleaving& run, const VectorClock& accesses,
                    const std::string& why) {
    for (size_t i = 0; i < accesses.size(); ++i) {
      run.Expect(accesses[i] <= run.clock()[i], why);
    }
  }

  VectorClock reads_ = {};
  VectorClock writes_ = {};
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_INTERLEAVINGS_H_
