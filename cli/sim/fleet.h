// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A fleet of clients that wait for something to become ready, and the server
// that they poll, which accepts a limited number of polls per second.
//
//   absl::StatusOr<waiter::sim::FleetRun> run = waiter::sim::SimulateFleet(
//       {.clients = 500,
//        .policy = {.timeout = absl::Minutes(10)},
//        .server = {.polls_per_second = 100}},
//       /*seed=*/42);
//   PeakPolls(run->seconds);     // in one second
//   run->throttled_share();
//   run->DetectionDelay(0.95);   // from ready to detected
//
// Every client is a `WaitLoop`, so it decides as a real wait does. A poll takes
// one network delay to the server and one back.

#ifndef WAITER_CLI_SIM_FLEET_H_
#define WAITER_CLI_SIM_FLEET_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/network.h"
#include "waiter/options.h"

namespace waiter::sim {

// Limit of the server: a token bucket that holds the polls of one second, and
// at least one. The server throttles polls beyond it without looking at them.
struct ServerLimit {
  // Rate of accepted polls, above zero; infinity accepts all.
  double polls_per_second = std::numeric_limits<double>::infinity();

  // Hint in the answer to a throttled poll; zero for none.
  absl::Duration retry_after = absl::ZeroDuration();
};

struct FleetOptions {
  // Number of clients, from 1 to 100,000.
  int clients = 500;

  // Options of every client's wait. `timeout` must be finite. In each run,
  // every client gets a new `retry_quota` and `rate_limiter` with the options
  // of the ones given here. `deadline`, `observer`, `history_limit`, `clock`
  // and `seed` must be unset.
  WaitOptions policy = {};

  // Time within which the clients start, at uniformly random times. With zero,
  // all start together.
  absl::Duration start_spread = absl::ZeroDuration();

  // Whether all clients wait for the same operation, whose time counts from
  // zero, or each for its own, whose time counts from the client's start.
  enum class Readiness : uint8_t { kShared, kOwn };
  Readiness readiness = Readiness::kOwn;
  DurationDistribution ready_after =
      DurationDistribution::Lognormal(absl::Minutes(1), 0.6);

  ServerLimit server = {};

  // The mean must be above zero: otherwise polls without delay would not end.
  NetworkOptions network = {};
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const FleetOptions& options);

// Result of one run, with the polls of all of it.
struct FleetRun : PollCounts {
  // Seconds of the run, from 0 to the last poll.
  std::vector<PollCounts> seconds;

  // Times from ready to the end of the wait, of the clients whose wait found
  // success, sorted. If the operation was ready before the client's start, the
  // time counts from the start.
  std::vector<absl::Duration> detection_delays;

  // Returns the delay that a share `quantile` of the clients that found success
  // do not exceed, or infinity without such clients.
  absl::Duration DetectionDelay(double quantile) const;

  // Number of clients whose wait ended without success.
  int64_t gave_up = 0;
};

// Plays one run. Equal options and seeds give equal runs. Returns the error of
// `Validate`, if any.
absl::StatusOr<FleetRun> SimulateFleet(const FleetOptions& options,
                                       uint64_t seed);

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_FLEET_H_
