// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How long the thing takes that is waited for, as far as it is known.
//
//   absl::StatusOr<waiter::sim::DurationDistribution> ready =
//       waiter::sim::DurationDistribution::Parse("lognormal:60s,0.6");
//   if (!ready.ok()) return ready.status();
//   waiter::SplitMix64 gen(42);
//   absl::Duration one = ready->Draw(gen);

#ifndef WAITER_SIM_DURATION_DISTRIBUTION_H_
#define WAITER_SIM_DURATION_DISTRIBUTION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::sim {

// Immutable, so safe to share between threads.
class DurationDistribution {
 public:
  // Always `value`.
  static DurationDistribution Constant(absl::Duration value);

  // Evenly between `low` and `high`.
  static DurationDistribution Uniform(absl::Duration low, absl::Duration high);

  // As likely to end in the next second as in any other: mean `mean`.
  static DurationDistribution Exponential(absl::Duration mean);

  // `median` times e to a normal variable with deviation `sigma`: what jobs
  // that mostly take about as long look like. With a sigma of 0.6 one in twenty
  // takes longer than 2.7 times the median.
  static DurationDistribution Lognormal(absl::Duration median, double sigma);

  // The same with a sigma of 0.6: what most jobs that «take a minute» look
  // like.
  static DurationDistribution About(absl::Duration median);

  // Reads "45s", "uniform:30s,90s", "exponential:60s" or "lognormal:60s,0.6",
  // or returns kInvalidArgument, which quotes what is wrong. Durations are
  // finite, above zero, and have units.
  static absl::StatusOr<DurationDistribution> Parse(std::string_view text);

  // Returns what `Parse` reads.
  std::string ToString() const;

  // Returns a duration of zero or more.
  absl::Duration Draw(absl::BitGenRef gen) const;

  // Returns the duration that half of all are below.
  absl::Duration Median() const;

 private:
  enum class Kind : uint8_t { kConstant, kUniform, kExponential, kLognormal };

  DurationDistribution(Kind kind, absl::Duration first, absl::Duration second,
                       double sigma)
      : kind_(kind), first_(first), second_(second), sigma_(sigma) {}

  Kind kind_;
  absl::Duration first_;
  absl::Duration second_;
  double sigma_;
};

}  // namespace waiter::sim

#endif  // WAITER_SIM_DURATION_DISTRIBUTION_H_
