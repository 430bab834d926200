// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What a policy costs and what it gives: mean polls against the delay from
// ready to detected, for a distribution of how long the thing takes.
//
//   absl::StatusOr<std::vector<waiter::sim::TradeOff>> points =
//       waiter::sim::CompareTradeOffs(
//           waiter::sim::KnownPolicies(ready.Median(), absl::Minutes(10)),
//           ready);
//
// Every policy meets the same draws, so that their differences are their own.

#ifndef WAITER_SIM_TRADE_OFF_H_
#define WAITER_SIM_TRADE_OFF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "sim/duration_distribution.h"
#include "waiter/options.h"

namespace waiter::sim {

// A policy and what tables and charts call it.
struct NamedPolicy {
  std::string name;
  WaitOptions policy;
};

// One wait for what is ready after a while.
struct PlayedWait {
  absl::Duration ready;     // Since the start of the wait.
  absl::Duration detected;  // The same; infinite if the wait ended first.
  int64_t polls;
};

struct TradeOffOptions {
  int waits = 3000;
  uint64_t seed = 1;
};

// What many waits with one policy come to.
struct TradeOff {
  std::string name;
  double mean_polls;

  // From ready to detected, of the waits that detected it; infinite if none.
  absl::Duration mean_delay;
  absl::Duration p50_delay;
  absl::Duration p95_delay;

  // The share of waits that ended first.
  double missed;

  // Whether no other policy has fewer polls without a longer `p95_delay`, or
  // the reverse, among those that miss no more.
  bool on_front = false;
};

// Returns waits with `policy` for what takes as long as `ready` says. Polls
// take no time. An error names the policy.
absl::StatusOr<std::vector<PlayedWait>> PlayWaits(
    const NamedPolicy& policy, const DurationDistribution& ready,
    const TradeOffOptions& options = {});

// Returns one element for each policy, in their order. Polls take no time. An
// error names the policy.
absl::StatusOr<std::vector<TradeOff>> CompareTradeOffs(
    absl::Span<const NamedPolicy> policies, const DurationDistribution& ready,
    const TradeOffOptions& options = {});

// What `KnownPolicies` calls this library's defaults.
inline constexpr std::string_view kDefaultPolicyName = "Waiter's default";

// Returns policies to compare others with: fixed delays and growing ones, with
// each kind of jitter, for what takes about `expected`; and those that do not
// depend on it, this library's defaults and Smithy's waiters.
std::vector<NamedPolicy> KnownPolicies(absl::Duration expected,
                                       absl::Duration timeout);

// When to be satisfied with a proposal.
struct ProposalOptions {
  // How late one in twenty may be. Zero: a tenth of the median.
  absl::Duration p95_delay = absl::ZeroDuration();
  absl::Duration timeout = absl::Minutes(10);
  int waits = 1000;
  uint64_t seed = 1;
};

// Returns a policy with as few mean polls as possible that keeps to `options`:
// one that waits first, and then polls at delays that are constant or grow.
// Delays vary by 20 %, so that a fleet spreads. Never fails: delays that are
// constant and short enough keep to any options that time allows.
NamedPolicy ProposePolicy(const DurationDistribution& ready,
                          const ProposalOptions& options = {});

}  // namespace waiter::sim

#endif  // WAITER_SIM_TRADE_OFF_H_
