// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Repeats the same work, so that valgrind can count its instructions. README.md
// has the commands.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "absl/time/time.h"
#include "bench/floors.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::bench {
namespace {

// Returns a value that depends on all delays, so that the compiler removes
// none.
int64_t DrawDelays(int64_t times) {
  const Backoff backoff(
      {.max_delay = absl::Seconds(10), .jitter = Jitter::Full()});
  SplitMix64 gen(1);
  BackoffProgress progress;
  int64_t sum = 0;
  for (int64_t i = 0; i < times; ++i) {
    if (i % 10 == 0) progress = {};
    sum += backoff.NextDelay(progress, gen).count();
  }
  return sum;
}

int64_t Wait(int64_t times, int64_t polls, absl::Duration timeout) {
  Countdown target;
  Waiter wait([&] { return AskStatus(target); },
              {.timeout = timeout,
               .backoff = {.initial_delay = absl::ZeroDuration(),
                           .max_delay = absl::ZeroDuration(),
                           .jitter = Jitter::Full()}});
  int64_t sum = 0;
  for (int64_t i = 0; i < times; ++i) {
    target.polls = polls;
    const WaitResult<> result = wait.Wait();
    sum += result.report().attempts;
  }
  return sum;
}

// Makes a waiter with the default delays for every wait.
int64_t MakeAndWait(int64_t times) {
  Countdown target;
  int64_t sum = 0;
  for (int64_t i = 0; i < times; ++i) {
    target.polls = 1;
    const WaitResult<> result =
        Waiter([&] { return AskStatus(target); }, {.timeout = absl::Minutes(5)})
            .Wait();
    sum += result.report().attempts;
  }
  return sum;
}

// Runs waits of 1 to 10 polls on an engine without threads.
int64_t WaitOnEngine(int64_t times, ReportLevel report) {
  SimulatedClock clock;
  WaitEngine engine({.threads = 0, .report = report, .clock = &clock});
  int64_t sum = 0;
  for (int64_t i = 0; i < times; ++i) {
    engine
        .Start(Waiter([left = i % 10]() mutable { return left-- == 0; },
                      {.timeout = absl::Hours(1), .clock = &clock}),
               [&sum](const WaitResult<>& result) {
                 sum += result.report().attempts;
               })
        .Detach();
  }
  engine.Run();
  return sum;
}

int64_t WaitByHand(int64_t times, int64_t polls) {
  Countdown target;
  int64_t sum = 0;
  for (int64_t i = 0; i < times; ++i) {
    target.polls = polls;
    sum += PollByHand(target, GetNoSleeper(), ShiftedDelayAndClock) ? 1 : 0;
  }
  return sum;
}

int Run(std::string_view subject, int64_t times) {
  constexpr absl::Duration kForever = absl::InfiniteDuration();
  int64_t sum = 0;
  if (subject == "delay") {
    sum = DrawDelays(times);
  } else if (subject == "wait1") {
    sum = Wait(times, 1, kForever);
  } else if (subject == "wait1_deadline") {
    sum = Wait(times, 1, absl::Minutes(5));
  } else if (subject == "wait10") {
    sum = Wait(times, 10, kForever);
  } else if (subject == "make") {
    sum = MakeAndWait(times);
  } else if (subject == "engine") {
    sum = WaitOnEngine(times, ReportLevel::kLean);
  } else if (subject == "engine_full") {
    sum = WaitOnEngine(times, ReportLevel::kFull);
  } else if (subject == "by_hand1") {
    sum = WaitByHand(times, 1);
  } else if (subject == "by_hand10") {
    sum = WaitByHand(times, 10);
  } else {
    return 2;
  }
  std::printf("%lld\n", static_cast<long long>(sum));
  return 0;
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  if (argc == 3) return waiter::bench::Run(argv[1], std::atoll(argv[2]));
  std::fprintf(
      stderr,
      "usage: callgrind_driver "
      "delay|wait1|wait1_deadline|wait10|make|engine|engine_full|by_hand1|"
      "by_hand10 TIMES\n");
  return 2;
}
