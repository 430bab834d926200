// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WAITER_ENGINE_EXACT_SLEEPS_H_
#define WAITER_ENGINE_EXACT_SLEEPS_H_

#if defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)
#include <sys/prctl.h>
#endif

#include "absl/cleanup/cleanup.h"

namespace waiter::internal {

// If `wanted`, sleeps of the calling thread end as exactly as the system can
// until the result is destroyed, on the same thread. Linux otherwise ends them
// up to 50 us late, to merge wake-ups of the whole machine.
[[nodiscard]] inline auto SleepExactly([[maybe_unused]] bool wanted) {
#if defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)
  // The former slack in nanoseconds; zero or less: leave it alone.
  const int former = wanted ? prctl(PR_GET_TIMERSLACK) : 0;
  if (former > 0) prctl(PR_SET_TIMERSLACK, 1);
  return absl::MakeCleanup([former] {
    if (former > 0) prctl(PR_SET_TIMERSLACK, former);
  });
#else
  return absl::MakeCleanup([] {});
#endif
}

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_EXACT_SLEEPS_H_
