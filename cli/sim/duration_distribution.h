// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Distributions of the time that an operation takes to become ready.
//
//   absl::StatusOr<waiter::sim::DurationDistribution> ready =
//       waiter::sim::DurationDistribution::Parse("lognormal:60s,0.6");
//   if (!ready.ok()) return ready.status();
//   waiter::SplitMix64 gen(42);
//   absl::Duration one = ready->Draw(gen);

#ifndef WAITER_CLI_SIM_DURATION_DISTRIBUTION_H_
#define WAITER_CLI_SIM_DURATION_DISTRIBUTION_H_

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
  // Returns the distribution of a constant.
  static DurationDistribution Constant(absl::Duration value);

  // Returns the uniform distribution between `low` and `high`.
  static DurationDistribution Uniform(absl::Duration low, absl::Duration high);

  // Returns the distribution of an operation that is as likely to end in the
  // next second as in any other.
  static DurationDistribution Exponential(absl::Duration mean);

  // Returns the distribution of `median` times e to a normal variable with
  // deviation `sigma`. It fits jobs that take about the same time, with some
  // much slower ones: with a sigma of 0.6, one in twenty takes longer than 2.7
  // times the median.
  static DurationDistribution Lognormal(absl::Duration median, double sigma);

  // Returns `Lognormal(median, 0.6)`, which fits most jobs that "take about a
  // minute".
  static DurationDistribution About(absl::Duration median);

  // Parses "45s", "uniform:30s,90s", "exponential:60s" or "lognormal:60s,0.6".
  // Durations are finite, above zero, and have units. For any other text,
  // returns kInvalidArgument that quotes the wrong part.
  static absl::StatusOr<DurationDistribution> Parse(std::string_view text);

  // Returns a text from which `Parse` makes the same distribution.
  std::string ToString() const;

  // Returns a duration of zero or more.
  absl::Duration Draw(absl::BitGenRef gen) const;

  // Returns the duration that half of all draws are below.
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

#endif  // WAITER_CLI_SIM_DURATION_DISTRIBUTION_H_
