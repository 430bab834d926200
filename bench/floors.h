// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The work of Waiter, written by hand. The benchmarks compare Waiter with it.

#ifndef WAITER_BENCH_FLOORS_H_
#define WAITER_BENCH_FLOORS_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/poll.h"

namespace waiter::bench {

// A target that is ready at its nth poll. The functions that poll it are in
// another file, because the compiler cannot see into a real poll either.
struct Countdown {
  int64_t polls;
};
PollStatus AskStatus(Countdown& target);
bool AskBool(Countdown& target);
absl::Status AskAbslStatus(Countdown& target);
Poll<int> AskPoll(Countdown& target);
absl::StatusOr<int> AskStatusOr(Countdown& target);

// Sleeps for a loop written by hand, so that tests can replace it.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  virtual void Sleep(int64_t milliseconds) = 0;
};

// Returns a sleeper that does not sleep, and only adds up the time.
Sleeper& GetNoSleeper();

inline constexpr int64_t kMaxDelayInMilliseconds = 20'000;

// The delays of the polling example in the AWS General Reference.
inline int64_t PowerDelay(int retries) {
  if (retries == 0) return 0;
  return std::min(static_cast<int64_t>(std::pow(2, retries)) * 100,
                  kMaxDelayInMilliseconds);
}

// The same delays without floating point.
inline int64_t ShiftedDelay(int retries) {
  if (retries == 0) return 0;
  return std::min(int64_t{100} << std::min(retries, 30),
                  kMaxDelayInMilliseconds);
}

// The same delays, with a reading of the clock before each retry, which a loop
// with a deadline needs.
inline int64_t ShiftedDelayAndClock(int retries) {
  if (retries == 0) return 0;
  const int64_t now =
      std::chrono::steady_clock::now().time_since_epoch().count();
  return now < std::numeric_limits<int64_t>::max() ? ShiftedDelay(retries) : 0;
}

// The loop of the same example: it has no deadline, no stop and no report.
template <typename DelayBefore>
bool PollByHand(Countdown& target, Sleeper& sleeper,
                const DelayBefore& delay_before) {
  constexpr int kMaxRetries = 100;
  for (int retries = 0; retries <= kMaxRetries; ++retries) {
    sleeper.Sleep(delay_before(retries));
    switch (AskStatus(target)) {
      case PollStatus::kSuccess:
        return true;
      case PollStatus::kNotReady:
      case PollStatus::kThrottled:
      case PollStatus::kServerError:
        break;
      default:
        return false;
    }
  }
  return false;
}

// The rule of gRPC's connection backoff, with a generator per backoff: 1 s,
// growing by 1.6 to 2 min, each delay 20% more or less.
class GrpcBackOff {
 public:
  // Returns the next delay in milliseconds.
  int64_t NextDelay() {
    if (!first_) current_ = std::min(current_ * 1.6, 120'000.0);
    first_ = false;
    return static_cast<int64_t>(current_ * absl::Uniform(gen_, 0.8, 1.2));
  }

  void Reset() {
    current_ = 1000;
    first_ = true;
  }

 private:
  absl::BitGen gen_;
  double current_ = 1000;
  bool first_ = true;
};

}  // namespace waiter::bench

#endif  // WAITER_BENCH_FLOORS_H_
