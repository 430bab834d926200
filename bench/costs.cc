// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Prints the promised and the measured costs of Waiter, one line per promise.
// CPU time is the median of interleaved repetitions, so that a drift of the
// machine affects both sides. `short` marks a missed promise.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "bench/allocations.h"
#include "bench/check.h"
#include "bench/floors.h"
#include "bench/sleeps.h"
#include "benchmark/benchmark.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/waiter.h"

namespace waiter::bench {
namespace {

using benchmark::DoNotOptimize;

constexpr int kDelays = 10;

// Makes the same call `times` times.
using Work = std::function<void(int64_t times)>;

struct Effort {
  int repetitions = 25;
  int64_t calls = 400'000;
  int short_sleeps = 1000;
  int long_sleeps = 250;
  int stops = 2000;
};
constexpr Effort kQuick = {.repetitions = 9,
                           .calls = 100'000,
                           .short_sleeps = 500,
                           .long_sleeps = 100,
                           .stops = 1000};

struct Pair {
  double waiter;
  double other;
};

double ProcessCpuNanoseconds() {
  timespec now;
  Check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0,
        "the processor time cannot be read");
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

double NanosecondsPerCall(const Work& work, int64_t calls) {
  const double start = ProcessCpuNanoseconds();
  work(calls);
  const double took = ProcessCpuNanoseconds() - start;
  Check(took > 0, "work took no processor time");
  return took / static_cast<double>(calls);
}

Pair CpuPerCall(const Effort& effort, int64_t calls, const Work& waiter,
                const Work& other) {
  std::vector<double> waiter_times;
  std::vector<double> other_times;
  waiter(calls / 10);
  other(calls / 10);
  for (int i = 0; i < effort.repetitions; ++i) {
    waiter_times.push_back(NanosecondsPerCall(waiter, calls));
    other_times.push_back(NanosecondsPerCall(other, calls));
  }
  return {Quantile(waiter_times, 0.5), Quantile(other_times, 0.5)};
}

// Returns medians in microseconds. Samples of the two sides alternate.
template <typename Subject>
Pair MedianLatency(Subject& subject, int samples,
                   std::chrono::nanoseconds (Subject::*of_other)() =
                       &Subject::OfConditionVariable) {
  std::vector<std::chrono::nanoseconds> waiter;
  std::vector<std::chrono::nanoseconds> other;
  for (int i = 0; i < samples; ++i) {
    waiter.push_back(subject.OfWaiter());
    other.push_back((subject.*of_other)());
  }
  using Microseconds = std::chrono::duration<double, std::micro>;
  return {Microseconds(Quantile(waiter, 0.5)).count(),
          Microseconds(Quantile(other, 0.5)).count()};
}

// Limit of the costs of Waiter: a multiple of the other side, or a value.
struct Target {
  bool is_ratio;
  double limit;
};
Target Ratio(double limit) { return {.is_ratio = true, .limit = limit}; }
Target Value(double limit) { return {.is_ratio = false, .limit = limit}; }

void Print(const char* name, const char* unit, const Pair& measured,
           const char* other, const Target& target) {
  // The ratio of zero to zero is one.
  const double ratio =
      measured.waiter == measured.other ? 1 : measured.waiter / measured.other;
  const bool reached =
      (target.is_ratio ? ratio : measured.waiter) <= target.limit;
  std::printf("%-40s %8.2f %-2s  %-29s %8.2f %-2s %7.3fx   <= %5.2f %-2s  %s\n",
              name, measured.waiter, unit, other, measured.other, unit, ratio,
              target.limit, target.is_ratio ? "x" : unit,
              reached ? "ok" : "short");
  std::fflush(stdout);
}

// Delays.

template <typename NextDelay, typename Restart>
void DrawDelays(int64_t times, NextDelay next_delay, Restart restart) {
  int left = kDelays;
  for (int64_t i = 0; i < times; ++i) {
    if (left-- == 0) {
      restart();
      left = kDelays - 1;
    }
    DoNotOptimize(next_delay());
  }
}

template <typename Gen>
Work DrawFrom(const Backoff& backoff, Gen gen) {
  return [&backoff, gen](int64_t times) mutable {
    BackoffProgress progress;
    DrawDelays(
        times, [&] { return backoff.NextDelay(progress, gen); },
        [&] { progress = {}; });
  };
}

// Checks outside the measurement that delays are drawn at all.
void CheckDelays(const Backoff& backoff) {
  SplitMix64 gen(1);
  BackoffProgress progress;
  GrpcBackOff grpc;
  int64_t waiter = 0;
  int64_t other = 0;
  for (int i = 0; i < kDelays; ++i) {
    waiter += backoff.NextDelay(progress, gen).count();
    other += grpc.NextDelay();
  }
  Check(waiter > 0 && other > 0, "all delays are zero");
}

void PrintDelays(const Effort& effort) {
  const Backoff backoff(
      {.max_delay = absl::Seconds(10), .jitter = Jitter::Full()});
  CheckDelays(backoff);
  GrpcBackOff grpc;
  const Work grpc_delays = [&](int64_t times) {
    DrawDelays(
        times, [&] { return grpc.NextDelay(); }, [&] { grpc.Reset(); });
  };
  const int64_t calls = effort.calls * 5;
  const Pair delay =
      CpuPerCall(effort, calls, DrawFrom(backoff, SplitMix64(1)), grpc_delays);
  Print("next jittered delay", "ns", delay, "gRPC BackOff, BitGen", Ratio(0.1));
  Print("next jittered delay", "ns", delay, "gRPC BackOff, BitGen", Value(3));
  SplitMix64 gen(1);
  Print("next jittered delay, through BitGenRef", "ns",
        CpuPerCall(effort, calls, DrawFrom(backoff, absl::BitGenRef(gen)),
                   grpc_delays),
        "gRPC BackOff, BitGen", Value(3));
  Print("first delay of a wait, seeding included", "ns",
        CpuPerCall(
            effort, effort.calls,
            [&](int64_t times) {
              for (int64_t i = 0; i < times; ++i) {
                SplitMix64 seeded = MakeSeededSplitMix64();
                BackoffProgress progress;
                DoNotOptimize(backoff.NextDelay(progress, seeded));
              }
            },
            [](int64_t times) {
              for (int64_t i = 0; i < times; ++i) {
                GrpcBackOff fresh;
                DoNotOptimize(fresh.NextDelay());
              }
            }),
        "gRPC BackOff, made new", Value(10));
  Print("generator state of a wait", "B",
        {sizeof(SplitMix64), sizeof(GrpcBackOff)}, "gRPC BackOff, BitGen",
        Value(8));
}

// Waits.

WaitOptions NoDelay(absl::Duration timeout) {
  return {.timeout = timeout,
          .backoff = {.initial_delay = absl::ZeroDuration(),
                      .max_delay = absl::ZeroDuration(),
                      .jitter = Jitter::Full()}};
}

Work WaitFor(int64_t polls, absl::Duration timeout) {
  return [polls, timeout](int64_t times) {
    Countdown target;
    Waiter wait([&] { return AskStatus(target); }, NoDelay(timeout));
    for (int64_t i = 0; i < times; ++i) {
      target.polls = polls;
      auto result = wait.Wait();
      DoNotOptimize(&result);
      Check(result.ok(), "a wait did not succeed");
    }
  };
}

// Makes a waiter for every wait, with the default delays.
void WaitOnce(int64_t times) {
  Countdown target;
  for (int64_t i = 0; i < times; ++i) {
    target.polls = 1;
    auto result =
        Waiter([&] { return AskStatus(target); }, {.timeout = absl::Minutes(5)})
            .Wait();
    DoNotOptimize(&result);
    Check(result.ok(), "a wait did not succeed");
  }
}

template <typename DelayBefore>
Work WaitByHandFor(int64_t polls, DelayBefore delay_before) {
  return [polls, delay_before](int64_t times) {
    Countdown target;
    for (int64_t i = 0; i < times; ++i) {
      target.polls = polls;
      Check(PollByHand(target, GetNoSleeper(), delay_before),
            "a loop by hand did not succeed");
    }
  };
}

// The loop by hand, which also measures how long the wait took, as a report
// needs. A deadline needs an exact reading of the clock at the start; all other
// readings may be cheap.
Work TimedWaitByHand(bool has_deadline) {
  return [has_deadline](int64_t times) {
    Clock& clock = GetRealClock();
    Countdown target;
    for (int64_t i = 0; i < times; ++i) {
      const MonotonicTime start =
          has_deadline ? clock.MonotonicNow()
                       : clock.MonotonicNowBefore(MonotonicTime::max());
      target.polls = 1;
      Check(PollByHand(target, GetNoSleeper(), ShiftedDelay),
            "a loop by hand did not succeed");
      DoNotOptimize(clock.MonotonicNowBefore(MonotonicTime::max()) - start);
    }
  };
}

void ReadClock(int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    DoNotOptimize(std::chrono::steady_clock::now());
  }
}

// Returns the allocations per call, without the waiter's creation.
double AllocationsPerCall(const Work& work) {
  constexpr int64_t kCalls = 1000;
  work(1);
  const int64_t at_start = Allocations();
  work(1);
  const int64_t after_one = Allocations();
  work(kCalls + 1);
  const int64_t after_all = Allocations();
  return static_cast<double>((after_all - after_one) - (after_one - at_start)) /
         kCalls;
}

// Checks that allocations are counted, because the promise is zero.
void CheckAllocations() {
  const int64_t at_start = Allocations();
  auto one = std::make_unique<int>(1);
  DoNotOptimize(one.get());
  Check(Allocations() == at_start + 1, "allocations are not counted");
}

void PrintWaits(const Effort& effort) {
  CheckAllocations();
  constexpr absl::Duration kForever = absl::InfiniteDuration();
  constexpr absl::Duration kMinutes = absl::Minutes(5);
  // These are lambdas, because calls through pointers are not inlined.
  const auto power = [](int retries) { return PowerDelay(retries); };
  const auto clock = [](int retries) { return ShiftedDelayAndClock(retries); };

  const Pair first = CpuPerCall(effort, effort.calls, WaitFor(1, kForever),
                                WaitByHandFor(1, power));
  Print("wait, first poll, no deadline", "ns", first, "AWS loop by hand",
        Ratio(1.3));
  Print("wait, first poll, no deadline", "ns",
        CpuPerCall(effort, effort.calls, WaitFor(1, kForever),
                   TimedWaitByHand(/*has_deadline=*/false)),
        "loop by hand, two coarse reads", Ratio(1.3));
  Print("wait, first poll, with a deadline", "ns",
        CpuPerCall(effort, effort.calls, WaitFor(1, kMinutes), ReadClock),
        "one steady clock read", Ratio(1.25));
  Print("wait, first poll, with a deadline", "ns",
        CpuPerCall(effort, effort.calls, WaitFor(1, kMinutes),
                   TimedWaitByHand(/*has_deadline=*/true)),
        "loop by hand, two reads", Ratio(1.3));
  Print("waiter made for one wait, first poll", "ns",
        CpuPerCall(effort, effort.calls, WaitOnce, ReadClock),
        "one steady clock read", Value(300));
  for (const auto& [name, timeout] :
       {std::pair{"wait, 10 polls, no deadline", kForever},
        std::pair{"wait, 10 polls, with a deadline", kMinutes}}) {
    Print(name, "ns",
          CpuPerCall(effort, effort.calls / 5, WaitFor(10, timeout),
                     WaitByHandFor(10, clock)),
          "loop by hand, clock per retry", Ratio(1.25));
  }
  for (const auto& [name, polls] : {std::pair{"allocations, first poll", 1},
                                    std::pair{"allocations, 10 polls", 10}}) {
    Print(name, "",
          {AllocationsPerCall(WaitFor(polls, kMinutes)),
           AllocationsPerCall(WaitByHandFor(polls, power))},
          "AWS loop by hand", Value(0));
  }
}

// Sleeps.

void PrintSleeps(const Effort& effort) {
  constexpr const char* kOther = "std::condition_variable";
  Lateness short_sleep{std::chrono::milliseconds(1)};
  Print("lateness of a sleep of 1 ms, p50", "us",
        MedianLatency(short_sleep, effort.short_sleeps), kOther, Ratio(1.05));
  Lateness long_sleep{std::chrono::milliseconds(10)};
  Print("lateness of a sleep of 10 ms, p50", "us",
        MedianLatency(long_sleep, effort.long_sleeps), kOther, Ratio(1.05));
  StopLatency stop;
  Print("stop requested to wait returned, p50", "us",
        MedianLatency(stop, effort.stops), kOther, Ratio(1.1));
  Print("stop requested to wait returned, p50", "us",
        MedianLatency(stop, effort.stops,
                      &StopLatency::OfConditionVariableAndStatus),
        "condition_variable, status", Ratio(1.1));
  Print("stop requested to wait returned, p50", "us",
        MedianLatency(stop, effort.stops, &StopLatency::OfStopToken),
        "condition_variable_any, stop_token", Ratio(1.1));
}

int Run(const std::vector<std::string_view>& arguments) {
  Effort effort;
  for (const std::string_view argument : arguments) {
    if (argument != "--quick") {
      std::fprintf(stderr, "usage: costs [--quick]   (--quick: 20 s)\n");
      return 2;
    }
    effort = kQuick;
  }
  PrintDelays(effort);
  PrintWaits(effort);
  PrintSleeps(effort);
  return 0;
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  return waiter::bench::Run({argv + 1, argv + argc});
}
