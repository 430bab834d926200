// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WAITER_ENGINE_EXACT_SLEEPS_H_
#define WAITER_ENGINE_EXACT_SLEEPS_H_

namespace waiter::internal {

// While it exists, sleeps of the calling thread end as exactly as the system
// can. Linux otherwise ends them up to 50 us late, to merge wake-ups of the
// whole machine. Must be destroyed on the thread that made it.
class ExactSleeps {
 public:
  explicit ExactSleeps(bool wanted);
  ExactSleeps(const ExactSleeps&) = delete;
  ExactSleeps& operator=(const ExactSleeps&) = delete;
  ~ExactSleeps();

 private:
  // The former slack in nanoseconds; zero or less: leave it alone.
  const int former_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_EXACT_SLEEPS_H_
