// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The cost and the benefit of a policy: mean polls against the delay from ready
// to detected, for a distribution of the time until ready.
//
//   absl::StatusOr<std::vector<waiter::sim::TradeOff>> points =
//       waiter::sim::CompareTradeOffs(
//           waiter::sim::KnownPolicies(ready.Median(), absl::Minutes(10)),
//           ready);
//
// All policies meet the same draws, so that differences come from the policies.

#ifndef WAITER_CLI_SIM_TRADE_OFF_H_
#define WAITER_CLI_SIM_TRADE_OFF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/sim/duration_distribution.h"
#include "waiter/options.h"

namespace waiter::sim {

// A policy and its name in tables and charts.
struct NamedPolicy {
  std::string name;
  WaitOptions policy;
};

// One wait. Times count from its start.
struct PlayedWait {
  absl::Duration ready;     // When the operation was ready.
  absl::Duration detected;  // When a poll saw that; infinite if none did.
  int64_t polls;
};

struct TradeOffOptions {
  int waits = 3000;
  uint64_t seed = 1;
};

// Result of many waits with one policy.
struct TradeOff {
  std::string name;
  double mean_polls;

  // Delays from ready to detected, over the waits that detected it; infinite if
  // none did.
  absl::Duration mean_delay;
  absl::Duration p50_delay;
  absl::Duration p95_delay;

  // Share of the waits that ended before they detected it.
  double missed;

  // True if no other policy that misses no more has fewer polls without a
  // longer `p95_delay`, or a shorter one without more polls.
  bool on_front = false;
};

// Returns waits with `policy` for operations that are ready after draws from
// `ready`. Polls take no time. An error names the policy.
absl::StatusOr<std::vector<PlayedWait>> PlayWaits(
    const NamedPolicy& policy, const DurationDistribution& ready,
    const TradeOffOptions& options = {});

// Returns one wait for each of the times `ready`.
absl::StatusOr<std::vector<PlayedWait>> PlayWaits(
    const NamedPolicy& policy, absl::Span<const absl::Duration> ready,
    uint64_t seed = 1);

// Returns the result of at least one wait with a policy.
TradeOff Summarize(std::string name, absl::Span<const PlayedWait> waits);

// Sets `on_front` of all points.
void MarkFront(std::vector<TradeOff>& points);

// Returns one result for each policy, in their order. Polls take no time. An
// error names the policy.
absl::StatusOr<std::vector<TradeOff>> CompareTradeOffs(
    absl::Span<const NamedPolicy> policies, const DurationDistribution& ready,
    const TradeOffOptions& options = {});

// Name of this library's defaults in `KnownPolicies`.
inline constexpr std::string_view kDefaultPolicyName = "Waiter's default";

// Returns policies to compare others with. Fixed delays and growing ones, with
// each kind of jitter, are chosen for operations that take about `expected`;
// this library's defaults and Smithy's waiters do not depend on it.
std::vector<NamedPolicy> KnownPolicies(absl::Duration expected,
                                       absl::Duration timeout);

// Goals of a proposal.
struct ProposalOptions {
  // Detection delay that 95 % of the waits must not exceed. Zero means a tenth
  // of the median.
  absl::Duration p95_delay = absl::ZeroDuration();
  absl::Duration timeout = absl::Minutes(10);
  int waits = 1000;
  uint64_t seed = 1;
};

// Returns a policy that reaches the goals with as few mean polls as possible.
// It waits first, and then polls with delays that are constant or grow, with a
// jitter of 20 % that spreads a fleet. Never fails: if no candidate reaches the
// goals, the result has constant delays that are shorter than the goal.
NamedPolicy ProposePolicy(const DurationDistribution& ready,
                          const ProposalOptions& options = {});

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_TRADE_OFF_H_
