// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/exact_sleeps.h"

#if defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)
#include <sys/prctl.h>
#endif

namespace waiter::internal {

#if defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)

ExactSleeps::ExactSleeps(bool wanted)
    : former_(wanted ? prctl(PR_GET_TIMERSLACK) : 0) {
  if (former_ > 0) prctl(PR_SET_TIMERSLACK, 1);
}

ExactSleeps::~ExactSleeps() {
  if (former_ > 0) prctl(PR_SET_TIMERSLACK, former_);
}

#else

ExactSleeps::ExactSleeps(bool /*wanted*/) : former_(0) {}

ExactSleeps::~ExactSleeps() = default;

#endif

}  // namespace waiter::internal
