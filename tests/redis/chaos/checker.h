// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks whether shared budgets kept the promises of docs/distributed.md, using
// the polls that the API saw:
//
//   for (const std::string& violation : CheckAll(history)) {
//     ADD_FAILURE() << violation;
//   }
//
// Pure functions of a `History`. Except for the first two, the checks hold even
// if a worker reports a wrong state.

#ifndef WAITER_TESTS_REDIS_CHAOS_CHECKER_H_
#define WAITER_TESTS_REDIS_CHAOS_CHECKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/redis/chaos/history.h"

namespace waiter::chaos {

// Time after which a fault has no effect: members have reconnected and synced,
// and no member counts members that are gone.
constexpr double kRecovery = 10;
// Maximum time between two polls of a worker in a quiet phase.
constexpr double kLongestGap = 5;
// The maximum number of answers to a worker's other waits between two answers
// to a pending wait. A worker has 100 pending waits, and polls those whose
// delays have ended in any order.
constexpr int kMostOthers = 2000;

// An amount at a point in time, such as a poll. A negative amount was given
// back.
struct Event {
  double time = 0;
  double amount = 1;
};

// The maximum amount in any interval of length t: rate x t + constant. Each
// extra that the interval touches is added once. Each surplus is added for the
// time in which it overlaps the interval.
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

// The interval that exceeds the allowance most. `amount` is negative if no
// interval does.
struct Excess {
  double amount = 0;
  double from = 0;
  double to = 0;
};

// Returns the worst of all intervals that begin and end with one of the
// `events`, which must be in order of time. Takes time proportional to the
// product of the numbers of events and extras.
Excess WorstExcess(const std::vector<Event>& events,
                   const Allowance& allowance);

// Times without faults and their aftermath.
struct Phase {
  double from = 0;
  double to = 0;
};
std::vector<Phase> QuietPhases(const History& history);

// Each check returns one line for each defect.

// Checks the polls of workers that say that they share, in any interval.
std::vector<std::string> CheckShared(const History& history);
// Checks the polls of each worker that says that it is alone, using its own
// count of members.
std::vector<std::string> CheckLocal(const History& history);
// Checks all polls in any interval, using the faults.
std::vector<std::string> CheckRate(const History& history);
// Checks the polls while the store is unavailable: in any interval, they may
// use the whole rate.
std::vector<std::string> CheckAway(const History& history);
// Checks that no worker is alone without a fault.
std::vector<std::string> CheckModes(const History& history);
// Checks that each worker polls in quiet phases.
std::vector<std::string> CheckLiveness(const History& history);
// Checks that each wait of a worker is polled again until it has ended.
std::vector<std::string> CheckWaits(const History& history);
// Checks the tokens that retries cost, in any interval.
std::vector<std::string> CheckQuota(const History& history);

// Runs all checks.
std::vector<std::string> CheckAll(const History& history);

// Figures of a run, for its output.
struct Figures {
  int64_t polls = 0;
  int64_t local_polls = 0;
  double quiet_seconds = 0;
  double use = 0;         // Used share of the rate in quiet phases.
  double least_use = 1;   // Minimum of this share in one phase.
  double most_above = 0;  // Maximum polls above rate x t in quiet phases.
  int64_t retries = 0;
  // Maximum time after a fault until all live workers share.
  double slowest_return = 0;
};
Figures Measure(const History& history);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_CHECKER_H_
