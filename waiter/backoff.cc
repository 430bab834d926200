// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/backoff.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"
#include "waiter/text.h"

namespace waiter {
namespace {

// The longest delay, 146 years: far above any use, and far enough below the
// range of int64_t that sums of two do not overflow.
constexpr std::chrono::nanoseconds kLongestDelay{int64_t{1} << 62};

std::chrono::nanoseconds ToNanoseconds(absl::Duration delay) {
  return std::min(absl::ToChronoNanoseconds(delay), kLongestDelay);
}

// Rounds `delay`, which is in nanoseconds and at least zero.
std::chrono::nanoseconds Round(double delay) {
  return delay >= static_cast<double>(kLongestDelay.count())
             ? kLongestDelay
             : std::chrono::nanoseconds(std::llrint(delay));
}

bool IsShare(double share) { return share >= 0 && share <= 1; }

}  // namespace

absl::Duration MinDelay(const BackoffOptions& options) {
  return options.min_delay.has_value()
             ? *options.min_delay
             : std::min<absl::Duration>(options.initial_delay,
                                        absl::Milliseconds(10));
}

absl::Status Validate(const BackoffOptions& options, std::string_view name) {
  const auto invalid = [&](std::string_view field, const absl::AlphaNum& value,
                           std::string_view range) {
    return internal::InvalidOption(
        absl::StrCat(internal::ToAbsl(name), ".", internal::ToAbsl(field)),
        value, range);
  };
  // Each condition is written so that NaN fails it.
  if (!(options.initial_delay >= absl::ZeroDuration() &&
        options.initial_delay < absl::InfiniteDuration())) {
    return invalid("initial_delay", absl::FormatDuration(options.initial_delay),
                   "finite, and zero or more");
  }
  if (options.max_delay < options.initial_delay) {
    return invalid("max_delay", absl::FormatDuration(options.max_delay),
                   absl::StrCat("at least initial_delay, ",
                                absl::FormatDuration(options.initial_delay)));
  }
  if (!(options.multiplier >= 1 && std::isfinite(options.multiplier))) {
    return invalid("multiplier", options.multiplier, "finite, and at least 1");
  }
  if (!IsShare(options.jitter.below())) {
    return invalid("jitter", options.jitter.below(),
                   "within [0, 1], as 1 minus the lower end");
  }
  if (!(options.jitter.above() >= -options.jitter.below() &&
        std::isfinite(options.jitter.above()))) {
    return invalid("jitter", 1 + options.jitter.above(),
                   "finite, and an upper end at least the lower one");
  }
  const absl::Duration min_delay = MinDelay(options);
  if (!(min_delay >= absl::ZeroDuration() && min_delay <= options.max_delay &&
        min_delay < absl::InfiniteDuration())) {
    return invalid("min_delay", absl::FormatDuration(min_delay),
                   absl::StrCat("finite, and between zero and max_delay, ",
                                absl::FormatDuration(options.max_delay)));
  }
  return absl::OkStatus();
}

SplitMix64 MakeSeededSplitMix64() {
  thread_local SplitMix64 seeds(absl::Uniform<uint64_t>(absl::BitGen()));
  return SplitMix64(seeds());
}

Backoff::Backoff(const BackoffOptions& options)
    : initial_delay_(
          static_cast<double>(ToNanoseconds(options.initial_delay).count())),
      multiplier_(options.multiplier),
      min_delay_(ToNanoseconds(MinDelay(options))),
      max_delay_(ToNanoseconds(options.max_delay)),
      jitter_(options.jitter),
      decorrelated_(options.jitter.kind() == Jitter::Kind::kDecorrelated) {
  assert(Validate(options, "").ok());
  if (decorrelated_) return;
  // The first window that cannot grow replaces all later ones.
  for (Window& window : table_) {
    const double ceiling = CeilingInNanoseconds(++table_size_);
    window = WindowUnder(ceiling);
    if (ceiling == 0 || multiplier_ == 1 ||
        ceiling == static_cast<double>(max_delay_.count())) {
      constant_from_ = table_size_;
      break;
    }
  }
}

std::chrono::nanoseconds Backoff::Ceiling(int64_t n) const {
  return Round(CeilingInNanoseconds(n));
}

double Backoff::CeilingInNanoseconds(int64_t n) const {
  // The power may be infinite, and zero times infinity is not a number.
  if (initial_delay_ == 0) return 0;
  const double growth = multiplier_ == 2 && n <= kMaxTableSize
                            ? std::ldexp(1.0, static_cast<int>(n - 1))
                            : std::pow(multiplier_, static_cast<double>(n - 1));
  return std::min(initial_delay_ * growth,
                  static_cast<double>(max_delay_.count()));
}

int64_t Backoff::PositionAfter(std::chrono::nanoseconds elapsed) const {
  if (decorrelated_) return std::min(elapsed, max_delay_).count();
  const auto time = static_cast<double>(elapsed.count());
  if (time < initial_delay_ || initial_delay_ == 0 || multiplier_ == 1) {
    return 0;
  }
  // The ceilings are a geometric series. One that hardly grows may count as one
  // that does not.
  const double growth = 1 + time * (multiplier_ - 1) / initial_delay_;
  const double delays = multiplier_ == 2
                            ? std::ilogb(growth)
                            : std::log(growth) / std::log(multiplier_);
  // A backoff that hardly grows may take more delays than an int64_t holds, and
  // the ceilings of a steep one overflow to infinity.
  constexpr double kMost = 1e18;
  return std::min(static_cast<int64_t>(std::min(delays, kMost)),
                  constant_from_);
}

Backoff::Window Backoff::WindowUnder(double ceiling) const {
  return {Round(ceiling * (1 - jitter_.below())),
          Round(ceiling * (1 + jitter_.above()))};
}

Backoff::Window Backoff::WindowAfter(int64_t previous_delay) const {
  const double previous = previous_delay == 0
                              ? initial_delay_
                              : static_cast<double>(previous_delay);
  return {Round(initial_delay_), Round(3 * previous)};
}

}  // namespace waiter
