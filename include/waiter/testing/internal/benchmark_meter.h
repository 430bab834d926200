// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The counters of the rows of testing/benchmark.h.

#ifndef WAITER_TESTING_INTERNAL_BENCHMARK_METER_H_
#define WAITER_TESTING_INTERNAL_BENCHMARK_METER_H_

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>

#include "benchmark/benchmark.h"
#include "waiter/internal/exceptions.h"
#include "waiter/poll.h"

namespace waiter::internal::poll_benchmark {

// Calls of the `operator new` of WAITER_COUNT_ALLOCATIONS.
inline std::atomic<int64_t> allocations = 0;

inline void* CountedNew(size_t size, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  size = std::max<size_t>(size, 1);
  void* const memory =
      alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
          ? std::malloc(size)
          : std::aligned_alloc(alignment,
                               (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) ThrowBadAlloc();
  return memory;
}

// Not inlined: a compiler that sees malloc and free warns of delete.
// NOLINTBEGIN(bugprone-macro-parentheses): types cannot have parentheses
#define WAITER_COUNT_ALLOCATIONS_()                                           \
  __attribute__((noinline)) void* operator new(std::size_t size) {            \
    return ::waiter::internal::poll_benchmark::CountedNew(size, 1);           \
  }                                                                           \
  __attribute__((noinline)) void* operator new(std::size_t size,              \
                                               std::align_val_t alignment) {  \
    return ::waiter::internal::poll_benchmark::CountedNew(                    \
        size, static_cast<std::size_t>(alignment));                           \
  }                                                                           \
  __attribute__((noinline)) void operator delete(void* memory) noexcept {     \
    std::free(memory);                                                        \
  }                                                                           \
  __attribute__((noinline)) void operator delete(void* memory,                \
                                                 std::size_t) noexcept {      \
    std::free(memory);                                                        \
  }                                                                           \
  __attribute__((noinline)) void operator delete(void* memory,                \
                                                 std::align_val_t) noexcept { \
    std::free(memory);                                                        \
  }                                                                           \
  __attribute__((noinline)) void operator delete(void* memory, std::size_t,   \
                                                 std::align_val_t) noexcept { \
    std::free(memory);                                                        \
  }                                                                           \
  static_assert(true)

// NOLINTEND(bugprone-macro-parentheses)

// Returns whether allocations are counted, by trying.
inline bool CountsAllocations() {
  const int64_t before = allocations.load(std::memory_order_relaxed);
  ::operator delete(::operator new(1));
  return allocations.load(std::memory_order_relaxed) != before;
}

// Resources that the process has used so far.
struct Usage {
  static Usage Now() {
    Usage usage;
    timespec cpu = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    usage.cpu_ns = static_cast<double>(cpu.tv_sec) * 1e9 +
                   static_cast<double>(cpu.tv_nsec);
    rusage resources = {};
    getrusage(RUSAGE_SELF, &resources);
    usage.wakeups = static_cast<double>(resources.ru_nvcsw);
    usage.allocs =
        static_cast<double>(allocations.load(std::memory_order_relaxed));
    return usage;
  }

  double cpu_ns = 0;
  double wakeups = 0;
  double allocs = 0;
};

// Sets the counters of a row to the resources that polls have used since this
// was made.
class Meter {
 public:
  explicit Meter(benchmark::State& state) : state_(state) {}

  void Report(int64_t polls, PollStatus found) {
    const Usage end = Usage::Now();
    const auto per_poll = [&](const char* name, double used) {
      state_.counters[name] = used / static_cast<double>(polls);
    };
    per_poll("cpu_ns", end.cpu_ns - start_.cpu_ns);
    per_poll("wakeups", end.wakeups - start_.wakeups);
    if (CountsAllocations()) per_poll("allocs", end.allocs - start_.allocs);
    state_.counters["polls"] = benchmark::Counter(static_cast<double>(polls),
                                                  benchmark::Counter::kIsRate);
    state_.SetLabel(std::string(PollStatusName(found)));
  }

 private:
  benchmark::State& state_;
  const Usage start_ = Usage::Now();
};

}  // namespace waiter::internal::poll_benchmark

#endif  // WAITER_TESTING_INTERNAL_BENCHMARK_METER_H_
