// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Saves and restores a wait for drivers (wait_token.h says what that means):
//
//   // During a sleep until `wake_up`, or when a poll is about to begin:
//   waiter::WaitToken token =
//       waiter::SaveWait(loop.state(), report, loop.name(), wake_up,
//                        {clock.MonotonicNow(), clock.TimeNow()});
//
//   // In place of `WaitLoop::Start`, in another process:
//   waiter::SavedWait saved = waiter::RestoreWait(
//       token, {clock.MonotonicNow(), clock.TimeNow()});
//   waiter::NextStep step = loop.Resume(now, std::move(saved), stop);

#ifndef WAITER_LOOP_SAVED_WAIT_H_
#define WAITER_LOOP_SAVED_WAIT_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/loop/wait_state.h"
#include "waiter/wait_report.h"
#include "waiter/wait_token.h"

namespace waiter {

// One moment on both scales of a clock. The wall clock may be that of a store
// that several machines share.
struct ClockReading {
  MonotonicTime monotonic;
  absl::Time wall;
};

// A wait that can go on, with its times on the scale of this process.
struct SavedWait {
  WaitState state;
  WaitReport report;
  MonotonicTime wake_up;  // The end of the sleep, if `state.asleep`.
  std::string name;       // Cut as in the token.
};

// Returns the token of a wait that has not ended. `wake_up` is the end of its
// sleep, if it sleeps. Allocates the token and nothing else; about 200 ns.
WaitToken SaveWait(const WaitState& state, const WaitReport& report,
                   std::string_view name, MonotonicTime wake_up,
                   const ClockReading& now);

// Returns the wait of a token that is not empty, moved to the time `now`. Times
// before the wait was restored may be before the beginning of the scale of
// `now.monotonic`.
SavedWait RestoreWait(const WaitToken& token, const ClockReading& now);

namespace internal {

// Returns the same token for a wall clock that shows `shift` more. `token` must
// not be empty. About 100 ns.
WaitToken ShiftWallClock(const WaitToken& token,
                         std::chrono::nanoseconds shift);

// Returns the part of a wait's name that tokens have.
std::string_view NameInToken(std::string_view name);

}  // namespace internal

}  // namespace waiter

#endif  // WAITER_LOOP_SAVED_WAIT_H_
