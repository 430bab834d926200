// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The flags that say when to poll, for every subcommand that has them.
//
//   waiter::cli::PolicyFlags policy;
//   policy.AddTo(flags);
//   ...
//   absl::StatusOr<waiter::WaitOptions> options = policy.Options(flags);

#ifndef WAITER_CLI_FLAGS_POLICY_FLAGS_H_
#define WAITER_CLI_FLAGS_POLICY_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "waiter/backoff_options.h"
#include "waiter/options.h"

namespace waiter::cli {

// Thread-compatible.
class PolicyFlags {
 public:
  PolicyFlags() = default;
  // `AddTo` hands out its address.
  PolicyFlags(const PolicyFlags&) = delete;
  PolicyFlags& operator=(const PolicyFlags&) = delete;

  // Adds --timeout, --every, --backoff, --intervals, --jitter, --initial-delay
  // and --max-attempts.
  void AddTo(Flags& flags);

  // The same in two parts, --timeout and all others.
  void AddTimeoutTo(Flags& flags);
  void AddDelaysTo(Flags& flags);

  // Returns the policy that was asked for, the defaults of `WaitOptions` where
  // nothing was; or an error that names the flags that contradict each other.
  absl::StatusOr<WaitOptions> Options(const Flags& flags) const;

  // Returns whether any of the flags was given that choose the delays.
  static bool ChoosesDelays(const Flags& flags);

 private:
  WaitOptions options_ = {.timeout = absl::Minutes(5)};
  BackoffOptions delays_;
  std::vector<absl::Duration> intervals_;
  Jitter jitter_ = Jitter::None();
};

// Returns the flags that give `policy`, as far as flags can.
std::string PolicyAsFlags(const WaitOptions& policy);

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_POLICY_FLAGS_H_
