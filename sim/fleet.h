// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A fleet of clients that wait for something to become ready, and the server
// that they ask, which bears so many polls per second.
//
//   absl::StatusOr<waiter::sim::FleetRun> run = waiter::sim::SimulateFleet(
//       {.clients = 500,
//        .policy = {.timeout = absl::Minutes(10)},
//        .server = {.polls_per_second = 100}},
//       /*seed=*/42);
//   run->peak_polls();           // in one second
//   run->throttled_share();
//   run->DetectionDelay(0.95);   // from ready to detected
//
// Every client is a `WaitLoop`, so it does what a wait does. A poll takes one
// network delay to the server and one back.

#ifndef WAITER_SIM_FLEET_H_
#define WAITER_SIM_FLEET_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sim/duration_distribution.h"
#include "sim/network.h"
#include "waiter/options.h"

namespace waiter::sim {

// What the server bears: a token bucket that holds a second's worth of polls,
// and at least one. Polls beyond it are throttled and not looked at.
struct ServerLimit {
  // Above zero; infinity bears all.
  double polls_per_second = std::numeric_limits<double>::infinity();

  // The hint that a throttled poll is answered with; zero gives none.
  absl::Duration retry_after = absl::ZeroDuration();
};

struct FleetOptions {
  // From 1 to 100,000.
  int clients = 500;

  // What every client does. `timeout` must be finite. A `retry_quota` or
  // `rate_limiter` stands for one of its own in every client, new in each run.
  // `deadline`, `observer`, `history_limit`, `clock` and `seed` must be unset.
  WaitOptions policy = {};

  // Clients start evenly within this; zero: all at once.
  absl::Duration start_spread = absl::ZeroDuration();

  // When the thing is ready: one for all, counted from time zero, or each
  // client's own, counted from its start.
  enum class Readiness : uint8_t { kShared, kOwn };
  Readiness readiness = Readiness::kOwn;
  DurationDistribution ready_after =
      DurationDistribution::Lognormal(absl::Minutes(1), 0.6);

  ServerLimit server = {};

  // The mean must be above zero: polls without delay would not end.
  NetworkOptions network = {};
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const FleetOptions& options);

// The polls that reached the server within one second of the run.
struct FleetSecond {
  int64_t polls = 0;
  int64_t throttled = 0;  // Of these.
};

struct FleetRun {
  // From second 0 to that of the last poll.
  std::vector<FleetSecond> seconds;

  int64_t polls = 0;
  int64_t throttled = 0;
  double throttled_share() const;

  // Returns the most polls in one second, from second `first` on.
  int64_t peak_polls(int64_t first = 0) const;

  // Of each client whose wait found success, sorted: from when it was ready, or
  // from its start if it was so before, to the end of the wait.
  std::vector<absl::Duration> detection_delays;

  // Returns the delay that a share `quantile` of these are within, or infinity
  // if there are none.
  absl::Duration DetectionDelay(double quantile) const;

  // Clients whose wait ended without success.
  int64_t gave_up = 0;
};

// Plays one run. Equal options and seeds give equal runs. An error is that of
// `Validate`.
absl::StatusOr<FleetRun> SimulateFleet(const FleetOptions& options,
                                       uint64_t seed);

}  // namespace waiter::sim

#endif  // WAITER_SIM_FLEET_H_
