// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The best polls of a person who knows the distribution of the durations:
//
//   const waiter::sim::Clairvoyant best(durations.Sample(20000));
//   best.At(/*seconds_worth_one_poll=*/1, /*max_ratio=*/2).polls;
//
// No schedule of the same limit costs less, except by the width of a grid.

#ifndef WAITER_CLI_SIM_CLAIRVOYANT_H_
#define WAITER_CLI_SIM_CLAIRVOYANT_H_

#include <cstddef>
#include <vector>

namespace waiter::sim {

// Means over many waits.
struct PollCost {
  double polls = 0;
  double lateness = 0;  // Seconds.

  double At(double seconds_worth_one_poll) const {
    return polls + lateness / seconds_worth_one_poll;
  }
};

// Immutable.
class Clairvoyant {
 public:
  // `durations` are equally probable, above zero, in ascending order, and not
  // empty.
  explicit Clairvoyant(std::vector<double> durations);

  // Returns the least cost at an exchange rate. Each poll after the second one
  // comes at most `max_ratio` times as late as the one before it. The second
  // one comes at 1 / `max_ratio` of the third, as with learned delays. With an
  // infinite ratio there is no limit.
  PollCost At(double seconds_worth_one_poll, double max_ratio) const;

  // Returns the exchange rate at which the mean lateness is `lateness`, at most
  // `kMostWorth` seconds for a poll.
  static constexpr double kMostWorth = 10;
  double WorthFor(double lateness, double max_ratio) const;

 private:
  // Number of durations up to `time`, and their sum, each per duration.
  struct Part {
    double ended = 0;
    double moment = 0;
  };
  Part By(double time) const;

  std::vector<double> durations_;
  std::vector<double> sums_;   // Each adds up the first durations.
  std::vector<double> times_;  // At which polls may be.
  std::vector<Part> parts_;    // By these times.
};

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_CLAIRVOYANT_H_
