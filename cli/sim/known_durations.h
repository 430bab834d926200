// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Distributions of durations that are known by their quantiles, for studies of
// learned delays:
//
//   for (const waiter::sim::KnownDurations& durations :
//        waiter::sim::AllKnownDurations()) {
//     durations.quantile(0.5);  // The median, in seconds.
//   }

#ifndef WAITER_CLI_SIM_KNOWN_DURATIONS_H_
#define WAITER_CLI_SIM_KNOWN_DURATIONS_H_

#include <functional>
#include <string>
#include <vector>

namespace waiter::sim {

struct KnownDurations {
  std::string name;
  // Seconds that a share of the durations does not exceed, for a share within
  // (0, 1).
  std::function<double(double share)> quantile;
  bool heavy_tail = false;

  // Returns the same durations, each `factor` times as long.
  KnownDurations Times(double factor) const;

  // Returns the durations of `count` shares that are spread evenly over (0, 1),
  // in ascending order.
  std::vector<double> Sample(int count) const;
};

// Each returns one kind. Medians, means and scales are in seconds.
KnownDurations Lognormal(double median, double sigma);
KnownDurations Weibull(double scale, double shape);
// Sum of three exponential durations: a gamma distribution of shape 3.
KnownDurations Gamma3(double mean);
// Cut off at the longest one in a thousand.
KnownDurations Pareto(double least, double shape);
KnownDurations ConstantDuration(double seconds);
// Log-normal durations of two medians: a share `first_share` has the first one.
KnownDurations Bimodal(double first, double first_share, double second,
                       double sigma);

// Returns the distributions of the study: the kinds above, and two that were
// published.
//   VM starts    the mean times of seven kinds of virtual machines, equally
//                often, each log-normal with a sigma of 0.1 (Mao, Humphrey, "A
//                Performance Study on the VM Startup Time in the Cloud", 2012)
//   CI runs      the quantiles of CircleCI's workflows ("2020 State of Software
//                Delivery": 5 % 12 s, 50 % 3.96 min, 90 % 21.35 min, 95 % 34.01
//                min), log-linear between and beyond them
std::vector<KnownDurations> AllKnownDurations();

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_KNOWN_DURATIONS_H_
