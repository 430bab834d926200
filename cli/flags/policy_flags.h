// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Flags that say when to poll, for all subcommands:
//
//   waiter::cli::PolicyFlags policy;
//   policy.AddTo(flags);
//   ...
//   absl::StatusOr<waiter::WaitOptions> options = policy.Options(flags);

#ifndef WAITER_CLI_FLAGS_POLICY_FLAGS_H_
#define WAITER_CLI_FLAGS_POLICY_FLAGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"

namespace waiter::cli {

// Thread-compatible.
class PolicyFlags {
 public:
  PolicyFlags() = default;
  // `AddTo` hands out the address of this.
  PolicyFlags(const PolicyFlags&) = delete;
  PolicyFlags& operator=(const PolicyFlags&) = delete;

  // Adds --timeout, --every, --backoff, --intervals, --jitter, --initial-delay
  // and --max-attempts.
  void AddTo(Flags& flags);

  // Adds the same flags in two parts: --timeout, and all others.
  void AddTimeoutTo(Flags& flags);
  // `limit` follows "the default grows" in the help.
  void AddDelaysTo(Flags& flags, std::string_view limit = "");

  // Returns the policy that the flags ask for, with the defaults of
  // `WaitOptions` for flags that were not given. Returns an error with the
  // names of flags that contradict each other.
  absl::StatusOr<WaitOptions> Options(const Flags& flags) const;

  // Returns the delays of a wait whose command line chooses none. They are the
  // delays of the options, but after "not ready" at most a second or, if that
  // is more, a twentieth of the time waited so far, up to 8 s. So a target is
  // found within a second or 5 %.
  static DelayFunction DefaultPace();

  // Returns whether a flag that chooses the delays was given.
  static bool ChoosesDelays(const Flags& flags);

 private:
  WaitOptions options_ = {.timeout = absl::Minutes(5)};
  BackoffOptions delays_;
  std::vector<Duration> intervals_;
  Jitter jitter_ = Jitter::None();
};

// Returns flags that ask for `policy`, as far as flags can.
std::string PolicyAsFlags(const WaitOptions& policy);

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_POLICY_FLAGS_H_
