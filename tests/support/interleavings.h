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
// Memory orders count, by vector clocks: an access to `ModelData` that another
// access does not happen before is a failure, and a load may return an older
// value, unless the newer one happens before it or the thread has seen a newer
// one. This finds a missing acquire or release. A read-modify-write and `wait`
// read the newest value. Fences are not modeled.

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

  // Returns how many stores ago the value was stored that a load returns: a
  // number below `count`, in each run another one.
  virtual size_t PickAge(size_t count) = 0;
  // Whether loads may return other values than the newest.
  virtual bool has_stale_loads() const = 0;

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
  // How many loads of a run may return a value other than the newest.
  int max_stale_loads = 0;
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
  ModelAtomic(T value) : stores_({{value}}) {}  // NOLINT: as std::atomic
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const {
    Run().Yield();
    return Load(PickStore(order), order);
  }

  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    Run().Yield();
    Store(value, order, {});
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

  // A failure is a load, which may return an older value, even the expected
  // one.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) {
    Run().Yield();
    const size_t read = PickStore(failure);
    if (read < Newest() || stores_[read].value != expected) {
      expected = Load(read, failure);
      return false;
    }
    Replace(success, desired);
    return true;
  }

  void wait(T old, std::memory_order order = std::memory_order_seq_cst) const {
    Run().Yield();
    while (stores_.back().value == old) Run().Block(this);
    Load(Newest(), order);
  }
  void notify_all() {
    Run().Yield();
    Run().Wake(this);
  }

 private:
  // A moment of a thread.
  struct Moment {
    size_t thread = 0;
    uint32_t time = 0;

    bool HappensBefore(const VectorClock& clock) const {
      return time <= clock[thread];
    }
  };

  struct Stored {
    T value;
    VectorClock released = {};
    Moment moment = {};
  };

  struct Loaded {
    size_t store;
    Moment moment;
  };

  static Interleaving& Run() { return Interleaving::Current(); }

  static Moment Tick() {
    const size_t thread = Run().thread();
    return {thread, ++Run().clock()[thread]};
  }

  size_t Newest() const { return stores_.size() - 1; }

  // Returns the store that a load of the calling thread reads.
  size_t PickStore(std::memory_order order) const {
    if (!Run().has_stale_loads()) return Newest();
    size_t oldest = order == std::memory_order_seq_cst ? newest_sequential_ : 0;
    const VectorClock& clock = Run().clock();
    for (size_t i = oldest; i < stores_.size(); ++i) {
      if (stores_[i].moment.HappensBefore(clock)) oldest = i;
    }
    for (const Loaded& load : loads_) {
      if (load.moment.HappensBefore(clock)) {
        oldest = std::max(oldest, load.store);
      }
    }
    return Newest() - Run().PickAge(stores_.size() - oldest);
  }

  T Load(size_t store, std::memory_order order) const {
    if (Acquires(order)) Join(Run().clock(), stores_[store].released);
    if (Run().has_stale_loads()) loads_.push_back({store, Tick()});
    return stores_[store].value;
  }

  void Store(T value, std::memory_order order, VectorClock released) {
    const Moment moment = Tick();
    if (Releases(order)) Join(released, Run().clock());
    if (!Run().has_stale_loads()) stores_.clear();
    stores_.push_back({value, released, moment});
    if (order == std::memory_order_seq_cst) newest_sequential_ = Newest();
  }

  // A read-modify-write continues the release sequence that it reads from.
  void Replace(std::memory_order order, T value) {
    Load(Newest(), order);
    Store(value, order, stores_.back().released);
  }

  template <typename F>
  T Modify(std::memory_order order, F change) {
    Run().Yield();
    const T old = stores_.back().value;
    Replace(order, change(old));
    return old;
  }

  // In modification order.
  std::vector<Stored> stores_;
  mutable std::vector<Loaded> loads_;
  size_t newest_sequential_ = 0;
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
