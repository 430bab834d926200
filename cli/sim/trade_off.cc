// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/trade_off.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/plan.h"
#include "cli/sim/quantile.h"
#include "cli/text/time_text.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/presets.h"

namespace waiter::sim {
namespace {

constexpr int64_t kMaxPolls = 1 << 20;

absl::StatusOr<PlayedWait> PlayWait(const PollPlanner& planner,
                                    absl::Duration ready, uint64_t seed) {
  // Most waits need few polls, of a schedule that may have very many.
  for (int64_t max_polls = 16;; max_polls *= 4) {
    SplitMix64 gen(seed);
    const std::vector<absl::Duration> polls = planner.PollTimes(gen, max_polls);
    const auto found = std::lower_bound(polls.begin(), polls.end(), ready);
    if (found != polls.end()) {
      return PlayedWait{.ready = ready,
                        .detected = *found,
                        .polls = found - polls.begin() + 1};
    }
    if (std::ssize(polls) < max_polls) {
      return PlayedWait{.ready = ready,
                        .detected = absl::InfiniteDuration(),
                        .polls = std::ssize(polls)};
    }
    if (max_polls >= kMaxPolls) {
      return absl::InvalidArgumentError(
          absl::StrCat("makes more than ", kMaxPolls, " polls in ",
                       cli::TimeText(ready), "; lengthen its delays"));
    }
  }
}

// Returns waits that are ready after the times that `draw` returns, which gets
// the index of each and a generator.
template <typename Draw>
absl::StatusOr<std::vector<PlayedWait>> Play(const NamedPolicy& policy,
                                             int count, uint64_t seed,
                                             Draw draw) {
  const auto name_it = [&](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat(policy.name, ": ", status.message()));
  };
  const absl::StatusOr<PollPlanner> planner = PollPlanner::Make(policy.policy);
  if (!planner.ok()) return name_it(planner.status());
  std::vector<PlayedWait> waits;
  SplitMix64 gen(seed);
  for (int i = 0; i < count; ++i) {
    const absl::Duration ready = draw(i, gen);
    const absl::StatusOr<PlayedWait> wait =
        PlayWait(*planner, ready, /*seed=*/gen());
    if (!wait.ok()) return name_it(wait.status());
    waits.push_back(*wait);
  }
  return waits;
}

absl::StatusOr<TradeOff> Evaluate(const NamedPolicy& policy,
                                  const DurationDistribution& ready,
                                  const TradeOffOptions& options) {
  const absl::StatusOr<std::vector<PlayedWait>> waits =
      PlayWaits(policy, ready, options);
  if (!waits.ok()) return waits.status();
  return Summarize(policy.name, *waits);
}

bool Dominates(const TradeOff& a, const TradeOff& b) {
  const bool no_worse = a.mean_polls <= b.mean_polls &&
                        a.p95_delay <= b.p95_delay && a.missed <= b.missed;
  return no_worse && (a.mean_polls < b.mean_polls ||
                      a.p95_delay < b.p95_delay || a.missed < b.missed);
}

WaitOptions Growing(absl::Duration timeout, absl::Duration initial_delay,
                    double multiplier, absl::Duration max_delay,
                    Jitter jitter) {
  return {.timeout = timeout,
          .backoff = {.initial_delay = initial_delay,
                      .max_delay = std::max(max_delay, initial_delay),
                      .multiplier = multiplier,
                      .jitter = jitter}};
}

struct Candidate {
  WaitOptions policy;
  double mean_polls;
};

absl::Duration ToMilliseconds(absl::Duration duration) {
  return std::max(absl::Milliseconds(1),
                  absl::Floor(duration, absl::Milliseconds(1)));
}

}  // namespace

absl::StatusOr<std::vector<PlayedWait>> PlayWaits(
    const NamedPolicy& policy, const DurationDistribution& ready,
    const TradeOffOptions& options) {
  return Play(policy, options.waits, options.seed,
              [&](int /*wait*/, SplitMix64& gen) { return ready.Draw(gen); });
}

absl::StatusOr<std::vector<PlayedWait>> PlayWaits(
    const NamedPolicy& policy, absl::Span<const absl::Duration> ready,
    uint64_t seed) {
  return Play(policy, static_cast<int>(ready.size()), seed,
              [&](int wait, SplitMix64& /*gen*/) {
                return ready[static_cast<size_t>(wait)];
              });
}

TradeOff Summarize(std::string name, absl::Span<const PlayedWait> waits) {
  TradeOff point = {.name = std::move(name),
                    .mean_polls = 0,
                    .mean_delay = absl::InfiniteDuration(),
                    .p50_delay = absl::InfiniteDuration(),
                    .p95_delay = absl::InfiniteDuration(),
                    .missed = 0};
  std::vector<absl::Duration> delays;
  absl::Duration sum;
  int64_t polls = 0;
  for (const PlayedWait& wait : waits) {
    polls += wait.polls;
    if (wait.detected == absl::InfiniteDuration()) continue;
    delays.push_back(wait.detected - wait.ready);
    sum += delays.back();
  }
  const auto count = static_cast<double>(waits.size());
  point.mean_polls = static_cast<double>(polls) / count;
  point.missed = 1 - static_cast<double>(delays.size()) / count;
  if (delays.empty()) return point;
  std::sort(delays.begin(), delays.end());
  point.mean_delay = sum / static_cast<double>(delays.size());
  point.p50_delay = Quantile(delays, 0.5);
  point.p95_delay = Quantile(delays, 0.95);
  return point;
}

void MarkFront(std::vector<TradeOff>& points) {
  for (TradeOff& point : points) {
    point.on_front = std::none_of(
        points.begin(), points.end(),
        [&](const TradeOff& other) { return Dominates(other, point); });
  }
}

absl::StatusOr<std::vector<TradeOff>> CompareTradeOffs(
    absl::Span<const NamedPolicy> policies, const DurationDistribution& ready,
    const TradeOffOptions& options) {
  std::vector<TradeOff> points;
  for (const NamedPolicy& policy : policies) {
    absl::StatusOr<TradeOff> point = Evaluate(policy, ready, options);
    if (!point.ok()) return point.status();
    points.push_back(*std::move(point));
  }
  MarkFront(points);
  return points;
}

std::vector<NamedPolicy> KnownPolicies(absl::Duration expected,
                                       absl::Duration timeout) {
  const absl::Duration brief = ToMilliseconds(expected / 60);
  const absl::Duration medium = ToMilliseconds(expected / 12);
  const absl::Duration quarter = ToMilliseconds(expected / 4);
  const absl::Duration half = ToMilliseconds(expected / 2);
  std::vector<NamedPolicy> policies;
  for (const absl::Duration delay : {brief, medium, quarter}) {
    policies.push_back({absl::StrCat("every ", cli::TimeText(delay)),
                        Growing(timeout, delay, 1, delay, Jitter::None())});
  }
  policies.push_back({absl::StrCat("x1.5 to ", cli::TimeText(quarter)),
                      Growing(timeout, brief, 1.5, quarter, Jitter::None())});
  const std::string doubling = absl::StrCat("x2 to ", cli::TimeText(half));
  for (const auto& [name, jitter] :
       std::initializer_list<std::pair<std::string_view, Jitter>>{
           {"", Jitter::None()},
           {", 20%", Jitter::Proportional(0.2)},
           {", equal", Jitter::Equal()},
           {", full", Jitter::Full()},
           {", decorrelated", Jitter::Decorrelated()}}) {
    policies.push_back({absl::StrCat(doubling, name),
                        Growing(timeout, brief, 2, half, jitter)});
  }
  policies.push_back({std::string(kDefaultPolicyName), {.timeout = timeout}});
  NamedPolicy smithy = {"Smithy waiter", SmithyWaiter()};
  smithy.policy.timeout = timeout;
  policies.push_back(std::move(smithy));
  return policies;
}

NamedPolicy ProposePolicy(const DurationDistribution& ready,
                          const ProposalOptions& options) {
  const absl::Duration expected = ready.Median();
  const absl::Duration goal = options.p95_delay > absl::ZeroDuration()
                                  ? options.p95_delay
                                  : expected / 10;
  const Jitter jitter = Jitter::Proportional(0.2);
  // Returns the mean polls of a policy whose p95 delay is at most `latest`, or
  // nullopt if it is longer.
  const auto polls_of = [&](const WaitOptions& policy, absl::Duration latest,
                            int waits) -> std::optional<double> {
    const absl::StatusOr<TradeOff> point =
        Evaluate({"", policy}, ready, {.waits = waits, .seed = options.seed});
    if (!point.ok() || point->p95_delay > latest) return std::nullopt;
    return point->mean_polls;
  };

  std::vector<Candidate> candidates;
  const auto add = [&](absl::Duration first_poll_delay,
                       absl::Duration initial_delay, double multiplier,
                       absl::Duration max_delay) {
    Candidate candidate = {
        Growing(options.timeout, ToMilliseconds(initial_delay), multiplier,
                ToMilliseconds(max_delay), jitter),
        0};
    BackoffOptions& delays = candidate.policy.backoff;
    if (multiplier == 1) {
      delays.max_delay = delays.initial_delay * (1 + jitter.above());
    }
    candidate.policy.polls.first_delay =
        absl::Floor(first_poll_delay, absl::Milliseconds(1));
    // A tenth of the waits shows which candidates are worth a closer look.
    const std::optional<double> polls =
        polls_of(candidate.policy, goal * 1.1, std::max(1, options.waits / 10));
    if (!polls.has_value()) return;
    candidate.mean_polls = *polls;
    candidates.push_back(std::move(candidate));
  };
  for (int tenths = 0; tenths < 10; ++tenths) {
    const absl::Duration first = expected * tenths / 10;
    for (int percent = 84; percent <= 104; percent += 2) {
      const absl::Duration delay = goal * percent / 100;
      add(first, delay, 1, delay);
    }
    for (const double multiplier : {1.25, 1.5}) {
      for (const double start : {0.25, 0.5}) {
        for (const double cap : {0.95, 1.0, 1.1}) {
          add(first, goal * start, multiplier, goal * cap);
        }
      }
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.mean_polls < b.mean_polls;
                   });
  for (Candidate& candidate : candidates) {
    if (polls_of(candidate.policy, goal, options.waits).has_value()) {
      return {"proposal", std::move(candidate.policy)};
    }
  }
  // No delay of this policy is longer than the goal.
  const absl::Duration delay = ToMilliseconds(goal / (1 + jitter.above()));
  return {"proposal", Growing(options.timeout, delay, 1,
                              delay * (1 + jitter.above()), jitter)};
}

}  // namespace waiter::sim
