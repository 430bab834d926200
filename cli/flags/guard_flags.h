// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Flags for the guard, which ends a pointless wait (cli/run/guard.h):
//
//   waiter::cli::GuardFlags guards;
//   guards.AddTo(flags);
//   ...
//   waiter::cli::Guard guard(reaper, guards.options(), Stop);

#ifndef WAITER_CLI_FLAGS_GUARD_FLAGS_H_
#define WAITER_CLI_FLAGS_GUARD_FLAGS_H_

#include "cli/flags/flags.h"
#include "cli/run/guard.h"

namespace waiter::cli {

// Thread-compatible.
class GuardFlags {
 public:
  GuardFlags() = default;
  // `AddTo` hands out the address of this.
  GuardFlags(const GuardFlags&) = delete;
  GuardFlags& operator=(const GuardFlags&) = delete;

  // Adds --while-pid, --while-running and --fail-if.
  void AddTo(Flags& flags);

  const GuardOptions& options() const { return options_; }

 private:
  GuardOptions options_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_GUARD_FLAGS_H_
