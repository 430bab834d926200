// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Whether shared budgets kept what docs/distributed.md promises, by what the
// API saw:
//
//   for (const std::string& violation : CheckAll(history)) {
//     ADD_FAILURE() << violation;
//   }
//
// Pure functions of a `History`. Each check but the first two is also true if a
// worker says something wrong of itself.

#ifndef WAITER_TESTS_REDIS_CHAOS_CHECKER_H_
#define WAITER_TESTS_REDIS_CHAOS_CHECKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/redis/chaos/history.h"

namespace waiter::chaos {

// Times after which members are as before a fault: they have connected again,
// have synced, and nobody counts on those that are gone.
constexpr double kRecovery = 10;
// Longest time between two polls of a worker in a quiet phase.
constexpr double kLongestGap = 5;
// The most answers to waits of a worker without one to a wait that is pending.
// 100 are, and those whose delays have ended are polled in any order.
constexpr int kMostOthers = 2000;

// Points in time with amounts, such as polls; a negative amount is one that
// came back.
struct Event {
  double time = 0;
  double amount = 1;
};

// What may happen in any interval of the length t: rate x t + constant, and,
// for an interval that touches them, the extras once, and the surplus for the
// time that it has in common with it.
struct Allowance {
  struct Extra {
    double from;
    double to;
    double amount;
  };
  struct Surplus {
    double from;
    double to;
    double rate;
  };
  double rate = 0;
  double constant = 0;
  std::vector<Extra> extras = {};
  std::vector<Surplus> surplus = {};
};

// The interval that exceeds the allowance most; `amount` is negative if none
// does.
struct Excess {
  double amount = 0;
  double from = 0;
  double to = 0;
};

// Of all intervals that begin and end with one of the `events`, which are in
// the order of time. Costs the product of the numbers of events and of extras.
Excess WorstExcess(const std::vector<Event>& events,
                   const Allowance& allowance);

// Times without faults and their aftermath.
struct Phase {
  double from = 0;
  double to = 0;
};
std::vector<Phase> QuietPhases(const History& history);

// Each returns what was wrong, one line for each defect.

// Polls of those that say that they share, in any interval.
std::vector<std::string> CheckShared(const History& history);
// Polls of each worker that says that it is alone, by its own count of members.
std::vector<std::string> CheckLocal(const History& history);
// All polls in any interval, by the faults.
std::vector<std::string> CheckRate(const History& history);
// Polls while nobody has the store, in any interval: the whole rate.
std::vector<std::string> CheckAway(const History& history);
// No worker is alone without a fault.
std::vector<std::string> CheckModes(const History& history);
// Each worker polls in quiet phases.
std::vector<std::string> CheckLiveness(const History& history);
// Each of its waits is polled again, unless it has ended.
std::vector<std::string> CheckWaits(const History& history);
// Tokens that retries cost, in any interval.
std::vector<std::string> CheckQuota(const History& history);

// All of them.
std::vector<std::string> CheckAll(const History& history);

// Figures of a run, for its output.
struct Figures {
  int64_t polls = 0;
  int64_t local_polls = 0;
  double quiet_seconds = 0;
  double use = 0;         // Of the rate in quiet phases.
  double least_use = 1;   // In one of them.
  double most_above = 0;  // Polls above rate x t in quiet phases, of any t.
  int64_t retries = 0;
  // Longest time after a fault until all workers that live share.
  double slowest_return = 0;
};
Figures Measure(const History& history);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_CHECKER_H_
