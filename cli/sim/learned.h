// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Study, on simulated time, of the savings of learned delays and of their cost
// if they are wrong:
//
//   std::vector<waiter::sim::LearnedRow> rows =
//       waiter::sim::CompareLearned({.repetitions = 6, .seed = 1});
//   rows.front().learned.front().after.back();  // After 100 observations.
//
// All waits are `WaitLoop`s with the options of the library, so they learn and
// decide as in a program. Polls take no time. Costs are means over repetitions,
// and each learns from its own durations.

#ifndef WAITER_CLI_SIM_LEARNED_H_
#define WAITER_CLI_SIM_LEARNED_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/sim/clairvoyant.h"

namespace waiter::sim {

struct LearnedStudyOptions {
  int repetitions = 48;  // At least 1.
  uint64_t seed = 1;
};

// Numbers of observations after which costs are measured.
inline constexpr std::array<int, 5> kObservations = {5, 10, 20, 50, 100};
inline constexpr size_t kAfter20 = 2;  // The index of 20.

// Learned delays with one choice of options.
struct LearnedRuns {
  double max_relative_lateness = 1;
  // If false, `seconds_of_delay_worth_one_poll` is 1.
  bool has_default_target = true;
  // The rate of `Regret`: 1, or the one at which the clairvoyant schedule has
  // the lateness of the default backoff.
  double worth = 1;
  PollCost best = {};                // The clairvoyant schedule at that rate.
  std::vector<PollCost> after = {};  // For each of `kObservations`.

  // Returns the cost after `kObservations[i]`, as a part of the least one, less
  // 1.
  double Regret(size_t i) const {
    return after[i].At(worth) / best.At(worth) - 1;
  }
};

// One distribution of durations.
struct LearnedRow {
  std::string name;
  bool heavy_tail = false;
  PollCost default_curve = {};
  // The best fixed interval in whole seconds that makes no more polls than
  // learned delays after 20 observations.
  PollCost fixed = {};
  // The interval that is the exponentially weighted moving average of the
  // durations, with alpha 0.2, over a target of 1.5 polls, within 0.5 s and
  // 10 s (failsafe-lib/failsafe#397).
  PollCost ewma = {};
  // The default backoff after a `first_poll_delay` of the true median.
  PollCost first_poll_at_median = {};
  // Default target and guard first, then the default target without a guard,
  // and both with a poll worth a second.
  std::vector<LearnedRuns> learned = {};
};
std::vector<LearnedRow> CompareLearned(const LearnedStudyOptions& options);

// Polls after 20 observations, at the exchange rate that leads to the lateness
// of the default backoff.
struct EqualLatenessRow {
  std::string name;
  double max_relative_lateness = 1;
  double lateness = 0;
  double default_polls = 0;
  double polls = 0;
  double best_polls = 0;  // By the clairvoyant schedule.
};
std::vector<EqualLatenessRow> CompareAtEqualLateness(
    const LearnedStudyOptions& options);

// Costs of a model that does not know, or no longer knows, how long the
// operation takes, as parts of the costs of the default backoff.
struct ChangeRow {
  std::string name;
  double default_target = 1;        // Mean over 20 waits.
  double default_target_first = 1;  // Over the first 5.
  double second_per_poll = 1;
  double second_per_poll_first = 1;
};
std::vector<ChangeRow> CompareAfterChanges(const LearnedStudyOptions& options);

// Clients that share a model of 50 durations and start at the same instant,
// each waiting for its own operation.
struct CrowdRow {
  std::string name;
  int clients = 1;
  // Most polls in one second, and the same without the first second.
  int64_t default_peak = 0;
  int64_t default_later_peak = 0;
  int64_t peak = 0;
  int64_t later_peak = 0;
};
std::vector<CrowdRow> CompareCrowds(const LearnedStudyOptions& options);

// The worst duration that a search finds: just after a poll whose next one
// comes relatively late. An end long before the first poll that the schedule
// wants counts as an end at 1 / (1 + max_relative_lateness) of that poll. The
// models have at least 10 durations, so that they decide alone.
struct WorstRow {
  std::string name;
  double max_relative_lateness = 1;
  int observations = 0;
  double relative_lateness = 0;
  double duration = 0;  // Seconds.
  int64_t tried = 0;    // Durations that were tried.
};
std::vector<WorstRow> FindWorst(const LearnedStudyOptions& options);

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_LEARNED_H_
