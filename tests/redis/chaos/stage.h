// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parts of tests that break real processes at random times:
//
//   Timeline timeline(start);
//   timeline.At(1.5, [&] { kill(pid, SIGKILL); });
//   while (...) timeline.RunUntil(timeline.Now() + 0.05);
//
// Times are in seconds since the start of a run, by the monotonic clock.

#ifndef WAITER_TESTS_REDIS_CHAOS_STAGE_H_
#define WAITER_TESTS_REDIS_CHAOS_STAGE_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/proxy.h"
#include "tests/support/joining_thread.h"
#include "waiter/clock.h"

namespace waiter::chaos {

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// The number of places for workers, and the offsets of their wall clocks.
inline constexpr int kPlaces = 6;
inline constexpr std::array<const char*, kPlaces> kClocks = {
    "", "+5h", "", "-26h", "", "+90d"};

// Returns `seed`, or a random one if it is zero.
uint64_t SeedOrRandom(uint64_t seed);

// Returns the path of libfaketime for programs with threads, if it is installed
// and the test has no sanitizer, which would not work with it.
std::optional<std::string> FindFaketime();

// Skips the test that calls this if all clocks were right, because
// `FindFaketime` found no path.
void SkipWithoutFaketime();

// Returns the path of a program in the same folder as this one.
std::string ProgramBeside(const std::string& name);

// Starts a program, and returns its process. Its wall clock differs by
// `clock`, such as "+5h", if that is not empty and `faketime` is set.
pid_t StartProgram(std::vector<std::string> words, const std::string& clock,
                   const std::optional<std::string>& faketime);

// A temporary directory that is removed with its contents.
class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Records the times, of `least` seconds or more, in which this process got no
// processor time. Thread-safe.
class MachineWatch {
 public:
  struct Stall {
    double from = 0;
    double to = 0;
  };

  MachineWatch(MonotonicTime start, double least);
  ~MachineWatch() { ends_ = true; }

  std::vector<Stall> Stalls();

 private:
  void Watch();

  const MonotonicTime start_;
  const double least_;
  std::atomic<bool> ends_ = false;
  std::mutex mutex_;
  std::vector<Stall> stalls_;
  JoiningThread thread_;
};

// Random numbers from a seed.
class Dice {
 public:
  explicit Dice(uint64_t seed) : gen_(seed) {}

  double Uniform(double low, double high);
  bool Chance(double probability) { return Uniform(0, 1) < probability; }
  int Index(int count);

 private:
  std::mt19937_64 gen_;
};

// Runs steps at their times. For one thread.
class Timeline {
 public:
  explicit Timeline(MonotonicTime start) : start_(start) {}

  double Now() const;
  void SleepUntil(double time) const;
  void At(double time, std::function<void()> step) {
    steps_.emplace(time, std::move(step));
  }
  // Sleeps until `time` or the next step. Then runs the steps that are due,
  // which may add others.
  void RunUntil(double time);

 private:
  const MonotonicTime start_;
  std::multimap<double, std::function<void()>> steps_;
};

// Returns the length of a fault that begins at `time` in a burst until `end`.
// Most are short, and some take up to 60 s if the burst leaves room for it.
double FaultLength(Dice& dice, double time, double end);

// Plans a fault of one door or all doors. It must call `begin` at `from` and
// `undo` at `to`.
using PlanFault = std::function<void(FaultKind kind, int door, double from,
                                     double to, std::function<void()> begin,
                                     std::function<void()> undo)>;

// Plans faults of `doors` doors of the proxy between `time` and `end`. With the
// probability `all`, a fault concerns all doors together.
void PlanProxyFaults(Proxy& proxy, int doors, double all, double time,
                     double end, Dice& dice, const PlanFault& plan);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_STAGE_H_
