// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Implementation of testing/benchmark.h. Programs include that instead.

#ifndef WAITER_TESTING_INTERNAL_BENCHMARK_PARTS_H_
#define WAITER_TESTING_INTERNAL_BENCHMARK_PARTS_H_

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/backoff_options.h"
#include "waiter/clock.h"
#include "waiter/internal/engine_step.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/string_views.h"
#include "waiter/internal/take_answer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/poll_status.h"
#include "waiter/status_function.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter::internal::poll_benchmark {

// The class has another name in newer versions.
using Row = std::remove_pointer_t<decltype(benchmark::RegisterBenchmark(
    "", std::declval<void (*)(benchmark::State&)>()))>;

using RunRow = std::function<void(benchmark::State&)>;

// Registers a row, which Google Benchmark then owns.
#ifdef __clang_analyzer__
// The analyzer takes that for a leak.
Row* Register(const std::string& name, RunRow run);
#else
inline Row* Register(const std::string& name, RunRow run) {
  return benchmark::RegisterBenchmark(name.c_str(), std::move(run))
      ->UseRealTime();
}
#endif

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

#define WAITER_BENCHMARK_NAME_(line) WAITER_BENCHMARK_NAME_OF_(line)
#define WAITER_BENCHMARK_NAME_OF_(line) waiter_benchmark_rows_##line

// Returns whether allocations are counted, by trying.
inline bool CountsAllocations() {
  const int64_t before = allocations.load(std::memory_order_relaxed);
  ::operator delete(::operator new(1));
  return allocations.load(std::memory_order_relaxed) != before;
}

// What the process has used so far.
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

// Sets the counters of a row: what `polls` polls have used since this was made.
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

// A status function as rows poll it. Thread-compatible.
template <StatusFunction F>
class Subject {
 public:
  explicit Subject(F function) : function_(std::move(function)) {}

  // Calls the function a few times. Returns the shortest time that a call took,
  // or ends the row.
  absl::Duration Check(benchmark::State& state, Clock& clock) {
    error_.clear();
    if (const absl::Status status = CheckNotEmpty(function_); !status.ok()) {
      error_ = std::string(status.message());
    }
    absl::Duration shortest = absl::InfiniteDuration();
    for (int i = 0; i < 3 && error_.empty(); ++i) {
      const MonotonicTime start = clock.MonotonicNow();
      WithContext([this](const auto&... context) { this->Poll(context...); });
      shortest =
          std::min(shortest, absl::FromChrono(clock.MonotonicNow() - start));
    }
    HasFailed(state);
    return shortest;
  }

  // Ends the row if a call has failed, and returns whether one has.
  bool HasFailed(benchmark::State& state) const {
    if (!error_.empty()) state.SkipWithError(error_.c_str());
    return !error_.empty();
  }

  // Calls `body` with a context if the function takes one, otherwise without.
  template <typename Body>
  static void WithContext(Body body) {
    if constexpr (TakesContext<F>) {
      body(PollContext());
    } else {
      body();
    }
  }

  // Calls the function as it is, with a context if it takes one.
  template <typename... Context>
  decltype(auto) Call(const Context&... context) {
    return std::invoke(function_, context...);
  }

  // Calls the function and returns what it found.
  template <typename... Context>
  waiter::Poll<> Poll(const Context&... context) {
    waiter::Poll<> found;
    WAITER_TRY {
      OptionalValue<typename ValueOf<F>::type> value;
      TakeAnswer(Call(context...), found, value);
      if (found.status() == PollStatus::kFailed) {
        Fail(absl::StrCat("the status function returned failure: ",
                          found.error().ok() ? ToAbsl(found.detail())
                                             : found.error().ToString()));
      }
    }
    WAITER_CATCH(...) { FailWithException(); }
    ++polls_;
    found_ = found.status();
    return found;
  }

  // The same for a wait that goes on, unless this poll `is_last` or has failed.
  template <typename... Context>
  waiter::Poll<> PollOn(bool is_last, const Context&... context) {
    waiter::Poll<> found = Poll(context...);
    found.set_status(!error_.empty() ? PollStatus::kFailed
                     : is_last       ? PollStatus::kSuccess
                                     : PollStatus::kNotReady);
    return found;
  }

  // Returns a status function that polls on, until `is_last()` returns true. It
  // takes a context if the function does.
  template <typename IsLast>
  auto StatusFunctionUntil(IsLast is_last) {
    if constexpr (TakesContext<F>) {
      return [this, is_last](const PollContext& context) {
        return PollOn(is_last(), context);
      };
    } else {
      return [this, is_last] { return PollOn(is_last()); };
    }
  }

  void FailWithException() {
    Fail(absl::StrCat("the status function threw an exception: ",
                      WhatOf(std::current_exception())));
  }

  int64_t polls() const { return polls_; }
  PollStatus found() const { return found_; }
  bool failed() const { return !error_.empty(); }

 private:
  void Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
  }

  F function_;
  int64_t polls_ = 0;
  PollStatus found_ = PollStatus::kNotReady;
  std::string error_;
};

// Returns options of waits that poll each `delay`, for ever.
inline WaitOptions OptionsFor(absl::Duration delay, Clock& clock) {
  // Spread by half of the delay, so that waits do not fall into step.
  const BackoffOptions backoff = {.initial_delay = delay,
                                  .max_delay = 2 * delay,
                                  .multiplier = 1,
                                  .jitter = Jitter::Proportional(0.5),
                                  .min_delay = absl::ZeroDuration()};
  return {.name = "benchmark",
          .timeout = absl::Hours(1000),
          .backoff = backoff,
          .retry_after = {.max_retry_after = absl::Nanoseconds(1)},
          .clock = &clock};
}

// Threads of a row would share a status function.
inline bool RequireOneThread(benchmark::State& state) {
  const bool is_one = state.threads() == 1;
  if (!is_one) state.SkipWithError("rows of a status function take one thread");
  return is_one;
}

inline bool RequireDelay(benchmark::State& state, absl::Duration delay) {
  const bool is_valid =
      delay > absl::ZeroDuration() && delay < absl::InfiniteDuration();
  if (!is_valid) state.SkipWithError("the delay must be finite and above zero");
  return is_valid;
}

template <typename F>
void RunAlone(benchmark::State& state, Subject<F>& subject, Clock& clock) {
  if (!RequireOneThread(state)) return;
  subject.Check(state, clock);
  if (subject.failed()) return;
  Meter meter(state);
  WAITER_TRY {
    Subject<F>::WithContext([&](const auto&... context) {
      for (auto _ : state) {
        auto answer = subject.Call(context...);
        benchmark::DoNotOptimize(answer);
      }
    });
  }
  WAITER_CATCH(...) { subject.FailWithException(); }
  if (subject.HasFailed(state)) return;
  meter.Report(state.iterations(), subject.found());
}

template <typename F>
void RunWait(benchmark::State& state, Subject<F>& subject, absl::Duration delay,
             Clock& clock) {
  constexpr int kPollsPerWait = 10;
  if (!RequireOneThread(state)) return;
  if (delay != absl::ZeroDuration() && !RequireDelay(state, delay)) return;
  subject.Check(state, clock);
  if (subject.failed()) return;
  const int64_t first = subject.polls();
  int left = 0;
  Waiter wait(subject.StatusFunctionUntil([&left] { return --left == 0; }),
              OptionsFor(delay, clock));
  Meter meter(state);
  while (state.KeepRunningBatch(kPollsPerWait)) {
    left = kPollsPerWait;
    WaitResult<> result = wait.Wait();
    benchmark::DoNotOptimize(result);
    if (subject.HasFailed(state)) return;
  }
  meter.Report(subject.polls() - first, subject.found());
}

// Holds waits on an engine that it turns itself, so that no other thread is
// measured.
template <typename F>
class EngineRun {
 public:
  EngineRun(Subject<F>& subject, int64_t waits, absl::Duration delay,
            Clock& clock)
      : subject_(subject),
        clock_(clock),
        engine_({.threads = 0, .clock = &clock}) {
    // Starts spread over the first delay.
    const int64_t phases = std::min<int64_t>(waits, 100);
    std::vector<std::shared_ptr<const WaitPolicy>> policies;
    for (int64_t i = 1; i <= phases; ++i) {
      WaitOptions options = OptionsFor(delay, clock);
      options.first_poll_delay = delay * i / phases;
      policies.push_back(WaitPolicy::Make(std::move(options)));
    }
    handles_.reserve(static_cast<size_t>(waits));
    const auto never = [] { return false; };
    for (int64_t i = 0; i < waits; ++i) {
      handles_.push_back(
          engine_.Start(Waiter(subject.StatusFunctionUntil(never),
                               policies[static_cast<size_t>(i % phases)]),
                        [](const WaitResult<>&) {}));
    }
  }

  // Runs for `time`, then counts polls from zero.
  void WarmUp(absl::Duration time) {
    const MonotonicTime end =
        SaturatingAdd(clock_.MonotonicNow(), absl::ToChronoNanoseconds(time));
    RunUntil([&] { return clock_.MonotonicNow() >= end; });
    target_ = subject_.polls();
  }

  // Runs until `polls` more polls were made, or one has failed. The last round
  // may make a few more, which the next call takes into account.
  void Run(int64_t polls) {
    target_ += polls;
    RunUntil([&] { return subject_.polls() >= target_; });
  }

 private:
  template <typename IsDone>
  void RunUntil(IsDone is_done) {
    while (!subject_.failed() && !is_done()) {
      const MonotonicTime next = engine_.RunDue();
      if (subject_.failed() || is_done()) return;
      if (&clock_ == &GetRealClock()) {
        // Allocates nothing, as the sleep of an engine with a thread.
        std::this_thread::sleep_until(next);
      } else {
        clock_.SleepUntil(next, {}, "benchmark");
      }
    }
  }

  Subject<F>& subject_;
  Clock& clock_;
  int64_t target_ = 0;
  WaitEngine engine_;
  std::vector<WaitHandle> handles_;
};

template <typename F>
void RunEngine(benchmark::State& state, Subject<F>& subject, int64_t waits,
               absl::Duration delay, Clock& clock) {
  if (!RequireOneThread(state) || !RequireDelay(state, delay)) return;
  if (waits < 1) {
    state.SkipWithError("the number of waits must be at least 1");
    return;
  }
  const absl::Duration took = subject.Check(state, clock);
  if (subject.failed()) return;
  if (took * waits > delay) {
    state.SkipWithError(absl::StrCat("a poll takes ",
                                     absl::FormatDuration(took), ", so ", waits,
                                     " of them take longer than the delay")
                            .c_str());
    return;
  }
  EngineRun run(subject, waits, delay, clock);
  run.WarmUp(1.5 * delay);  // Every wait then has polled.
  // As many as are due in 50 ms, so that the loop costs little.
  const int64_t batch =
      std::max<int64_t>(waits * absl::Milliseconds(50) / delay, 1);
  const int64_t first = subject.polls();
  Meter meter(state);
  while (state.KeepRunningBatch(batch)) {
    run.Run(batch);
    if (subject.HasFailed(state)) return;
  }
  meter.Report(subject.polls() - first, subject.found());
}

}  // namespace waiter::internal::poll_benchmark

#endif  // WAITER_TESTING_INTERNAL_BENCHMARK_PARTS_H_
