// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The time that a message takes in a simulation, and the polls that a server
// accepts:
//
//   waiter::sim::NetworkDelay network({.mean = absl::Milliseconds(10),
//                                      .deviation = absl::Milliseconds(2)});
//   waiter::SplitMix64 gen(42);
//   now += network.Draw(gen);
//   waiter::sim::TokenBucket server(/*rate=*/100, /*capacity=*/100);
//   const bool accepted = server.Take(now);

#ifndef WAITER_CLI_SIM_NETWORK_H_
#define WAITER_CLI_SIM_NETWORK_H_

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/random/gaussian_distribution.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace waiter::sim {

// The time of one hop is the absolute value of a normal variable. The defaults
// come from "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
// Both are finite, zero or more, and at most an hour.
struct NetworkOptions {
  absl::Duration mean = absl::Milliseconds(10);
  absl::Duration deviation = absl::Milliseconds(2);
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const NetworkOptions& options);

// Thread-compatible.
class NetworkDelay {
 public:
  // Requires `Validate(options).ok()`.
  explicit NetworkDelay(const NetworkOptions& options)
      : normal_(absl::ToDoubleNanoseconds(options.mean),
                absl::ToDoubleNanoseconds(options.deviation)) {}

  // Returns the time of one hop, at least zero.
  template <typename Gen>
  std::chrono::nanoseconds Draw(Gen& gen) {
    const double time = std::abs(normal_(gen));
    return std::chrono::nanoseconds{static_cast<int64_t>(time)};
  }

 private:
  absl::gaussian_distribution<double> normal_;
};

// A token bucket, which is full at the start. Thread-compatible.
class TokenBucket {
 public:
  // `rate` is in tokens per second. An infinite one always has a token.
  TokenBucket(double rate, double capacity)
      : rate_(rate), capacity_(capacity), tokens_(capacity) {}

  // Takes a token and returns true if there is one. `now` must not step back.
  bool Take(std::chrono::nanoseconds now);

 private:
  double rate_;
  double capacity_;
  double tokens_;
  std::chrono::nanoseconds last_{};
};

// Numbers of polls that reached a server within some time.
struct PollCounts {
  int64_t polls = 0;  // With the ones that were throttled.
  int64_t throttled = 0;

  void Add(bool is_throttled);
  double throttled_share() const;
};

// Returns the most polls in one second, from second `first` on.
int64_t PeakPolls(absl::Span<const PollCounts> seconds, size_t first = 0);

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_NETWORK_H_
