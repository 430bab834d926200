// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Simulates processes that poll one API, which has one limit for the polls of
// all of them. Compares the ways in which the processes can limit their polls.
//
//   waiter::sim::BudgetsOptions options = {.polls_per_second = 100};
//   options.events = *waiter::sim::ParseBudgetEvents("60s:store-lost");
//   absl::StatusOr<waiter::sim::BudgetsRun> run = waiter::sim::SimulateBudgets(
//       options, waiter::sim::Limiting::kShared, /*seed=*/42);
//   run->total.used;       // 1: the whole limit
//   run->total.throttled;  // polls
//
// Every wait is a `WaitLoop` and every limiter is the library's, so they decide
// as in a program. The waits poll as long as their process has them.

#ifndef WAITER_CLI_SIM_BUDGETS_H_
#define WAITER_CLI_SIM_BUDGETS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/network.h"

namespace waiter::sim {

// How processes limit their polls.
enum class Limiting : uint8_t {
  kAdaptive,        // Each has an `AdaptiveRateLimiter`.
  kWhole,           // Each polls at the whole rate.
  kPart,            // Each polls at a fixed part: the rate / `processes`.
  kShared,          // They share the rate.
  kSharedAdaptive,  // They find together the rate that the API accepts.
};

// Returns all of them, in this order.
std::vector<Limiting> AllLimiting();

// Returns "own, adaptive", "own, whole rate", "own, rate / n", "shared" or
// "shared, adaptive".
std::string_view ToString(Limiting limiting);

// Something that happens to the processes.
struct BudgetEvent {
  enum class Kind : uint8_t {
    kStoreLost,  // Requests to the store fail.
    kStoreBack,  // They succeed. The store has lost its data.
    kJoin,       // As many new processes start, with waits.
    kDie,        // As many processes with waits are killed.
    kMove,       // The waits of as many go to processes without waits.
  };

  absl::Duration time;
  Kind kind = Kind::kStoreLost;
  int processes = 0;  // For the last three.

  // Returns it as `ParseBudgetEvents` reads it.
  std::string ToString() const;
};

// Reads events, such as "60s:move:20,90s:store-lost,2m:store-back,3m:join:50,
// 4m:die:20" without the blank. "none" is none. Returns kInvalidArgument if
// `text` is anything else.
absl::StatusOr<std::vector<BudgetEvent>> ParseBudgetEvents(
    std::string_view text);

struct BudgetsOptions {
  // Number of processes at the start, from 1 to 1000, and how many of them have
  // waits. The others are also members of the budget.
  int processes = 100;
  int busy = 40;

  // Waits of a busy process, from 1 to 1000, and the mean time from one poll to
  // the next, within [100ms, 1h], jittered by 20 %. After throttled answers it
  // is longer, by the defaults of `WaitOptions`.
  int waits = 10;
  absl::Duration every = absl::Seconds(1);

  // Limit of the API: a token bucket, which is full at the start. The rate is
  // within [0.1, 100000], the burst within [1, 1000000].
  double polls_per_second = 100;
  double burst = 100;

  // Time that is simulated, within [1s, 1h].
  absl::Duration duration = absl::Minutes(4);

  // In the order of time. No event needs more processes than there are.
  std::vector<BudgetEvent> events = {};

  // Time of a message between a process and the API. Messages of the store take
  // 0.15 ms.
  NetworkOptions network = {};
};

// Returns one event of each kind, spread over the duration, for as many
// processes as `options` leaves room for.
std::vector<BudgetEvent> DefaultBudgetEvents(const BudgetsOptions& options);

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const BudgetsOptions& options);

// The outcome of the polls of some time.
struct BudgetsPart : PollCounts {
  absl::Duration begin = {};
  absl::Duration end = {};
  // Polls that were not throttled, as a share of the polls that the rate
  // allows. With the burst it may be above 1.
  double used = 0;
  // Fairness between busy processes: Jain's index of their polls that were not
  // throttled. 1 if all have equal numbers, 1/n if one has all. Zero without
  // such polls.
  double fairness = 0;
};

struct BudgetsRun {
  // The whole run. Its fairness is the mean of the phases, by their time.
  BudgetsPart total;
  // From the start to the first event, from event to event, and to the end.
  // Events at the same time begin one phase.
  std::vector<BudgetsPart> phases;
  std::vector<PollCounts> seconds;

  // Requests to the store, including failed ones.
  double store_calls_per_second = 0;
};

// Plays one run. Equal options and seeds give equal runs. Returns the error of
// `Validate`, if any.
absl::StatusOr<BudgetsRun> SimulateBudgets(const BudgetsOptions& options,
                                           Limiting limiting, uint64_t seed);

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_BUDGETS_H_
