// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The work on which Waiter and its peers are compared: N waits, started in one
// burst. Each polls immediately, and then after delays with full jitter,
// U(0, min(1 s, 10 ms * 2^n)). Its kth poll finds it done. k is uniform from 1
// to 10, and the same for every program.
//
// A program runs the work in one mode, prints its measurements, and ends:
//
//   int main(int argc, char** argv) {
//     Workload workload(argc, argv);
//     workload.Begin();
//     ...  // Start the waits.
//     workload.Started();
//     ...  // Await or cancel all waits.
//     return workload.Finish();
//   }

#ifndef WAITER_BENCH_PEERS_WORKLOAD_H_
#define WAITER_BENCH_PEERS_WORKLOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/numeric/int128.h"
#include "waiter/backoff.h"

namespace waiter::bench {

enum class Mode : uint8_t {
  kRun,       // Every wait runs to its end: CPU time, allocations.
  kLateness,  // Like kRun: how late polls are.
  kCancel,  // Every wait sleeps, and is then cancelled: start, memory, cancel.
  kSubmit,  // Like kCancel, on an engine that runs on another thread.
  kWall,    // Like kRun, with delays that leave no processor idle: time.
};

bool AbslParseFlag(std::string_view text, Mode* mode, std::string* error);
std::string AbslUnparseFlag(Mode mode);

// Prints why the command line is wrong, and exits with 2.
[[noreturn]] void RefuseFlags(std::string_view why);

// A function that a user would poll, and its context, type-erased.
struct StatusFunction {
  bool (*function)(void*);
  void* context;

  bool operator()() const { return function(context); }
};

// Returns the time of `clock` in nanoseconds.
inline int64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
inline int64_t Now() { return ReadClock(CLOCK_MONOTONIC); }
inline int64_t ProcessCpu() { return ReadClock(CLOCK_PROCESS_CPUTIME_ID); }
inline int64_t ThreadCpu() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

// State of a peer's wait in addition to its timer. Times are on the clock of
// `Now`.
struct PeerWait {
  explicit PeerWait(StatusFunction function) : status(function) {}

  StatusFunction status;
  int64_t deadline = std::numeric_limits<int64_t>::max();
  int64_t scheduled = 0;
  uint32_t attempt = 0;
};

// The waits of one program, and its measurements.
class Workload {
 public:
  struct Schedule {
    int64_t initial_delay;
    int64_t max_delay;
    int64_t min_delay;
  };

  // Reads the flags --waits and --mode, and the program's own flags.
  // Exits if there are other arguments.
  Workload(int argc, char** argv);

  Mode mode() const { return mode_; }
  size_t waits() const { return polls_left_.size(); }
  const Schedule& schedule() const { return schedule_; }

  StatusFunction StatusOf(size_t wait) {
    return {PollCountdown, &polls_left_[wait]};
  }

  // Polls a peer's wait at `now`. Returns how long it must sleep, until
  // `wait.scheduled`, or nothing if it is done.
  std::optional<int64_t> Poll(PeerWait& wait, int64_t now) {
    if (wait.status()) {
      ++done_;
      return std::nullopt;
    }
    const int64_t delay = NextDelay(wait.attempt++);
    wait.scheduled = now + delay;
    return delay;
  }
  // Does the same when a timer has fired. Reads the clock once.
  std::optional<int64_t> PollOnTimer(PeerWait& wait) {
    const int64_t now = Now();
    if (mode_ == Mode::kLateness) AddLateness(now - wait.scheduled);
    return Poll(wait, now);
  }

  void AddLateness(int64_t lateness) { lateness_.push_back(lateness); }
  void AddDone(int64_t waits = 1) { done_ += waits; }
  void AddCancelled() { ++cancelled_; }

  // Returns the waits to cancel: for kCancel in a random order, otherwise in
  // the order of their starts, so that the memory stays in order for the next
  // round.
  const std::vector<uint32_t>& cancel_order() const { return cancel_order_; }

  // Ends the program if the mode is not one of `supported`.
  void Require(std::initializer_list<Mode> supported) const;

  // Measure the starts, from `Begin` to `Started`, and the work after that. For
  // kWall, measure only the work after `Started`.
  void Begin();
  void Started();
  // Returns the exit code of the program: not zero if a wait did not end, or
  // ended after a wrong number of polls.
  int Finish();

  // Measures kSubmit. `submit` starts all waits from this thread, `await_polls`
  // returns when each has been polled once, and `clear` ends them. Returns the
  // exit code.
  template <typename Submit, typename AwaitPolls, typename Clear>
  int MeasureSubmit(Submit submit, AwaitPolls await_polls, Clear clear) {
    for (int round = 0; round < kSubmitRounds; ++round) {
      const int64_t process_start = ProcessCpu();
      const int64_t thread_start = ThreadCpu();
      submit();
      submit_cpu_.push_back(ThreadCpu() - thread_start);
      await_polls();
      submit_total_cpu_.push_back(ProcessCpu() - process_start);
      clear();
    }
    return FinishSubmit();
  }

 private:
  static constexpr int kSubmitRounds = 5;

  // Not inlined, like a real poll.
  static bool PollCountdown(void* polls_left);

  int64_t NextDelay(uint32_t attempt) {
    const int64_t ceiling = std::min(
        schedule_.initial_delay << std::min(attempt, 20U), schedule_.max_delay);
    const auto range = static_cast<uint64_t>(ceiling - schedule_.min_delay) + 1;
    return schedule_.min_delay + static_cast<int64_t>(absl::Uint128High64(
                                     absl::uint128(gen_()) * range));
  }

  int FinishSubmit();

  Mode mode_;
  Schedule schedule_;
  std::vector<uint8_t> polls_left_;
  std::vector<uint32_t> cancel_order_;
  int64_t polls_ = 0;  // Number of polls of all waits.
  SplitMix64 gen_{1};

  int64_t done_ = 0;
  int64_t cancelled_ = 0;
  std::vector<int64_t> lateness_;
  std::vector<int64_t> submit_cpu_;
  std::vector<int64_t> submit_total_cpu_;

  struct Reading {
    int64_t time;
    int64_t cpu;
    int64_t mallocs;
    int64_t resident_bytes;
  };
  static Reading Read();
  Reading begin_;
  Reading started_;
};

}  // namespace waiter::bench

#endif  // WAITER_BENCH_PEERS_WORKLOAD_H_
