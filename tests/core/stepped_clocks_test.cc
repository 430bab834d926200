// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Sleeps while the wall clock steps back and forth, and while the machine seems
// suspended. The `clock_gettime` below pretends both. The kernel's own clocks
// do neither, so the kernel ends the program if it is asked to sleep by the
// wall clock.

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace {

std::atomic<int64_t> wall_readings = 0;
std::atomic<int64_t> boot_readings = 0;
std::atomic<int64_t> suspended_hours = 0;

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += wall_readings++ % 2 * 3600;
  if (clock == CLOCK_BOOTTIME) {
    ++boot_readings;
    time->tv_sec += suspended_hours * 3600;
  }
  return result;
}

namespace waiter {
namespace {

using ::std::chrono::milliseconds;
using ::std::chrono::steady_clock;
using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

constexpr milliseconds kNap(20);
constexpr std::chrono::seconds kPrompt(10);

// The filter below knows the numbers of system calls of these processors.
bool CanForbidSleepsByTheWallClock() {
#if defined(__x86_64__) || defined(__aarch64__)
  return prctl(PR_GET_SECCOMP) >= 0;  // Not in an emulator.
#else
  return false;
#endif
}

// From now on, the kernel ends the program if a call sleeps until a time of the
// wall clock.
void ForbidSleepsByTheWallClock() {
  const auto argument = [](size_t i) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * i);
  };
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 7, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      // Matches a futex with this flag and a time limit.
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FUTEX_CLOCK_REALTIME, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, 5),
      // Matches a sleep until a time, rather than for a duration.
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(0)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TIMER_ABSTIME, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter = {.len = std::size(program), .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::abort();
  }
}

// The sleeps of the library, each for `kNap` or longer.
void SleepOnARealClock(Clock& clock) {
  const waiter::stop_source stop;
  clock.SleepUntil(clock.MonotonicNow() + kNap, stop.get_token(), "test");
}

void WaitOnThisThread() {
  int polls = 0;
  Waiter wait([&] { return ++polls == 2; },
              {.timeout = absl::Minutes(1),
               .backoff = {.initial_delay = kNap, .jitter = Jitter::None()}});
  const WaitResult<> result = wait.Wait();
  if (!result.ok()) std::cerr << result.status();
}

void WaitOnAnEngine() {
  WaitEngine engine;
  int polls = 0;
  Waiter wait([&] { return ++polls == 2; },
              {.timeout = absl::Minutes(1),
               .backoff = {.initial_delay = kNap, .jitter = Jitter::None()}});
  const WaitResult<> result = StartFuture(engine, std::move(wait)).get();
  if (!result.ok()) std::cerr << result.status();
}

void StallASimulatedClock() {
  SimulatedClock* stalled = nullptr;
  SimulatedClock clock(SimulatedClock::Mode::kManual,
                       {.stall_limit = absl::FromChrono(kNap),
                        .on_stall = [&](std::string_view) {
                          stalled->AdvanceTime(absl::Hours(1));
                        }});
  stalled = &clock;
  clock.SleepFor(absl::Hours(1));
}

// Stores of durable waits and duration files sleep like this between attempts.
void SleepBetweenAttempts() {
  absl::SleepFor(absl::FromChrono(kNap));
  std::this_thread::sleep_for(kNap);
}

TEST(SteppedClocksTest, StepsOfTheWallClockNeitherProlongNorCutASleep) {
  const bool forbids = CanForbidSleepsByTheWallClock();
  const auto sleep_each_way = [forbids] {
    if (forbids) ForbidSleepsByTheWallClock();
    for (const auto& sleep : std::initializer_list<std::function<void()>>{
             [] { SleepOnARealClock(GetRealClock()); },
             [] { SleepOnARealClock(GetBootTimeClock()); }, WaitOnThisThread,
             WaitOnAnEngine, StallASimulatedClock, SleepBetweenAttempts}) {
      const steady_clock::time_point start = steady_clock::now();
      sleep();
      const auto took = steady_clock::now() - start;
      if (took < kNap || took > kPrompt) {
        std::cerr << absl::FromChrono(took) << "; ";
      }
    }
    std::cerr << "all slept";
    std::exit(0);
  };
  EXPECT_EXIT(sleep_each_way(), ExitedWithCode(0), "^all slept$");
}

TEST(SteppedClocksTest, ThisTestFindsSleepsByTheWallClock) {
  if (!CanForbidSleepsByTheWallClock()) {
    GTEST_SKIP() << "the kernel forbids no system calls";
  }
  const auto sleep = [] {
    ForbidSleepsByTheWallClock();
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    never.wait_until(lock, std::chrono::system_clock::now() + kNap);
  };
  EXPECT_EXIT(sleep(), KilledBySignal(SIGSYS), "");
}

TEST(BootTimeClockTest, SuspensionCountsAndEndsASleep) {
  Clock& clock = GetBootTimeClock();
  const MonotonicTime start = clock.MonotonicNow();
  const MonotonicTime real_start = GetRealClock().MonotonicNow();
  const int64_t readings = boot_readings;
  JoiningThread sleeper([&] {
    clock.SleepUntil(start + std::chrono::hours(1), {}, "test");
    EXPECT_GE(clock.MonotonicNow(), start + std::chrono::hours(1));
  });
  while (boot_readings == readings) std::this_thread::yield();
  ++suspended_hours;
  sleeper.join();

  EXPECT_LT(GetRealClock().MonotonicNow() - real_start, kPrompt);
}

TEST(BootTimeClockTest, SuspensionEndsTheDelayOfAWaitOnAnEngine) {
  WaitEngine engine({.clock = &GetBootTimeClock()});
  const MonotonicTime start = GetRealClock().MonotonicNow();
  std::atomic<int> polls = 0;
  Waiter wait([&] { return ++polls == 2; },
              {.timeout = absl::Hours(2),
               .backoff = {.initial_delay = absl::Hours(1),
                           .max_delay = absl::Hours(1),
                           .jitter = Jitter::None()},
               .clock = &GetBootTimeClock()});
  auto result = StartFuture(engine, std::move(wait));
  while (polls == 0 && result.wait_for(kNap) != std::future_status::ready) {
  }
  ++suspended_hours;

  const WaitResult<> end = result.get();
  EXPECT_TRUE(end.ok()) << end.status();
  EXPECT_LT(GetRealClock().MonotonicNow() - start, kPrompt);
}

}  // namespace
}  // namespace waiter
