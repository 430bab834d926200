// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The history of a run of the chaos test: the polls that the API saw, the
// faults, and the lives of the workers. Times are in seconds since the start of
// the run, by the monotonic clock of the process that has the API.

#ifndef WAITER_TESTS_REDIS_CHAOS_HISTORY_H_
#define WAITER_TESTS_REDIS_CHAOS_HISTORY_H_

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace waiter::chaos {

// The state of its limiter that a worker reports with each poll.
enum class Claim : char {
  kStarting = 'g',
  kShared = 's',
  kLocal = 'l',
  kNeverReached = 'n',  // Local, because the store never answered.
};

// One call of the API, which passed the limiter once.
struct PollRecord {
  double time = 0;
  int worker = 0;
  Claim claim = Claim::kShared;
  int64_t members = 1;  // By the worker's limiter.
};

enum class Answer : char { kNotReady = '0', kSuccess = '1', kError = 'e' };

// The answer to one wait; a call has one or more.
struct AnswerRecord {
  double time = 0;
  int worker = 0;
  int64_t wait = 0;
  Answer answer = Answer::kNotReady;
};

// A worker process. A process that replaces another one has its own number.
struct WorkerLife {
  int worker = 0;
  double from = 0;
  double to = std::numeric_limits<double>::infinity();
  // The wall clock that the worker reported, minus the API's.
  double clock_offset = 0;
};

enum class FaultKind : uint8_t {
  kStoreKilled,    // kill -9, until it answers again with the data of its AOF.
  kStoreStopped,   // SIGSTOP until SIGCONT.
  kStoreFull,      // maxmemory is 1 byte.
  kStoreEmptied,   // FLUSHALL.
  kStoreRewound,   // Killed at `to`, and restarted with its AOF of `from`.
  kScriptsLost,    // SCRIPT FLUSH.
  kClientsKilled,  // CLIENT KILL.
  kStalled,        // The proxy forwards nothing.
  kRefused,        // The proxy closes all connections, and refuses new ones.
  kCut,            // The proxy closes all connections.
  kHalved,         // The proxy forwards half of the next bytes, and closes.
  kWorkerKilled,   // kill -9.
  kWorkerStopped,  // SIGSTOP until SIGCONT.
  kWorkerLeft,     // SIGTERM until it has ended.
  kWorkerJoined,
  kMachineStalled,  // The test itself got no processor time.
};

std::string_view ToString(FaultKind kind);

// Workers in the same place have the same number modulo this.
constexpr int kMostPlaces = 100;
constexpr int kAllPlaces = -1;

struct Fault {
  FaultKind kind = FaultKind::kCut;
  double from = 0;
  double to = 0;
  int place = kAllPlaces;

  bool Concerns(int worker) const {
    return place == kAllPlaces || place == worker % kMostPlaces;
  }
};

// The budgets that the workers share, as in their options.
struct Budgets {
  double rate = 200;
  double burst = 20;
  double horizon = 0.5;
  double local_share = 0.25;

  double capacity = 500;
  double refill = 5;
  double retry_cost = 14;
  double success_increment = 1;
  double lease = 10;
};

// All vectors except `faults` and `workers` are in order of time.
struct History {
  Budgets budgets;
  std::vector<PollRecord> polls;
  std::vector<AnswerRecord> answers;
  std::vector<Fault> faults;
  std::vector<WorkerLife> workers;
  double end = 0;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_HISTORY_H_
