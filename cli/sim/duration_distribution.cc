// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/duration_distribution.h"

#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace waiter::sim {
namespace {

absl::Status Invalid(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' ", why));
}

absl::StatusOr<absl::Duration> ParsePositive(std::string_view text) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value)) {
    return Invalid(
        text, "is not a duration; write it with a unit, such as 30s or 5m");
  }
  if (value <= absl::ZeroDuration() || value == absl::InfiniteDuration()) {
    return Invalid(text, "must be finite and above zero");
  }
  return value;
}

}  // namespace

DurationDistribution DurationDistribution::Constant(absl::Duration value) {
  return {Kind::kConstant, value, value, 0};
}

DurationDistribution DurationDistribution::Uniform(absl::Duration low,
                                                   absl::Duration high) {
  return {Kind::kUniform, low, high, 0};
}

DurationDistribution DurationDistribution::Exponential(absl::Duration mean) {
  return {Kind::kExponential, mean, mean, 0};
}

DurationDistribution DurationDistribution::Lognormal(absl::Duration median,
                                                     double sigma) {
  return {Kind::kLognormal, median, median, sigma};
}

DurationDistribution DurationDistribution::About(absl::Duration median) {
  return Lognormal(median, 0.6);
}

absl::StatusOr<DurationDistribution> DurationDistribution::Parse(
    std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind =
      colon == std::string_view::npos ? "" : text.substr(0, colon);
  const std::vector<std::string_view> parts = absl::StrSplit(
      colon == std::string_view::npos ? text : text.substr(colon + 1), ',');
  const size_t wanted = kind == "uniform" || kind == "lognormal" ? 2 : 1;
  if ((!kind.empty() && kind != "uniform" && kind != "exponential" &&
       kind != "lognormal") ||
      parts.size() != wanted) {
    return Invalid(text,
                   "is not a distribution; write 45s, uniform:30s,90s, "
                   "exponential:60s or lognormal:60s,0.6");
  }
  const absl::StatusOr<absl::Duration> first = ParsePositive(parts[0]);
  if (!first.ok()) return first.status();
  if (kind.empty()) return Constant(*first);
  if (kind == "exponential") return Exponential(*first);
  if (kind == "uniform") {
    const absl::StatusOr<absl::Duration> second = ParsePositive(parts[1]);
    if (!second.ok()) return second.status();
    if (*second < *first) {
      return Invalid(text,
                     "ends before it begins; write the shorter one first");
    }
    return Uniform(*first, *second);
  }
  double sigma = 0;
  // The condition is written so that NaN fails it.
  if (!absl::SimpleAtod(parts[1], &sigma) || !(sigma >= 0 && sigma <= 5)) {
    return Invalid(parts[1], "is not a sigma; write a number from 0 to 5");
  }
  return Lognormal(*first, sigma);
}

std::string DurationDistribution::ToString() const {
  std::string first = absl::FormatDuration(first_);
  switch (kind_) {
    case Kind::kUniform:
      return absl::StrCat("uniform:", first, ",",
                          absl::FormatDuration(second_));
    case Kind::kExponential:
      return absl::StrCat("exponential:", first);
    case Kind::kLognormal:
      return absl::StrCat("lognormal:", first, ",", sigma_);
    case Kind::kConstant:
      break;
  }
  return first;
}

absl::Duration DurationDistribution::Draw(absl::BitGenRef gen) const {
  switch (kind_) {
    case Kind::kUniform:
      return first_ + absl::Uniform(gen, 0.0, 1.0) * (second_ - first_);
    case Kind::kExponential:
      return first_ * absl::Exponential(gen, 1.0);
    case Kind::kLognormal:
      return first_ * std::exp(absl::Gaussian(gen, 0.0, sigma_));
    case Kind::kConstant:
      break;
  }
  return first_;
}

absl::Duration DurationDistribution::Median() const {
  switch (kind_) {
    case Kind::kUniform:
      return (first_ + second_) / 2;
    case Kind::kExponential:
      return first_ * std::numbers::ln2;
    case Kind::kLognormal:
    case Kind::kConstant:
      break;
  }
  return first_;
}

}  // namespace waiter::sim
