// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/sim/quantile.h"
#include "cli/text/time_text.h"
#include "waiter/backoff.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"
#include "waiter/policy.h"

namespace waiter::sim {
namespace {

// A generator that draws the same number forever. The lowest number gives the
// shortest delays.
class ConstantDraw {
 public:
  using result_type = uint64_t;

  explicit ConstantDraw(uint64_t draw) : draw_(draw) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() {
    return std::numeric_limits<result_type>::max();
  }
  result_type operator()() const { return draw_; }

 private:
  uint64_t draw_;
};

// Returns the delay before poll `index`, which is counted from zero.
absl::Duration DelayBefore(absl::Span<const absl::Duration> polls,
                           size_t index) {
  return polls[index] - (index == 0 ? absl::ZeroDuration() : polls[index - 1]);
}

std::string Window(absl::Duration low, absl::Duration high) {
  return low == high
             ? cli::TimeText(low)
             : absl::StrCat(cli::TimeText(low), " - ", cli::TimeText(high));
}

}  // namespace

absl::StatusOr<PollPlanner> PollPlanner::Make(const WaitOptions& policy) {
  WaitOptions options = policy;
  options.hooks.observer = nullptr;
  options.hooks.on_checkpoint = nullptr;
  options.hooks.history_limit = 0;
  options.budgets.retry_quota = nullptr;
  options.budgets.rate_limiter = nullptr;
  if (options.delay_source != nullptr) {
    options.delay_source = options.delay_source.ForSimulation();
  }
  std::shared_ptr<const WaitPolicy> made = WaitPolicy::Make(std::move(options));
  if (!made->status().ok()) return made->status();
  return PollPlanner(std::move(made));
}

std::vector<absl::Duration> PollPlanner::PollTimes(absl::BitGenRef gen,
                                                   int64_t max_polls) const {
  const bool polls_at_once =
      policy_->options().polls.first_delay <= absl::ZeroDuration();
  std::vector<absl::Duration> times =
      Schedule(*policy_, gen, polls_at_once ? max_polls - 1 : max_polls);
  if (polls_at_once) times.insert(times.begin(), absl::ZeroDuration());
  for (size_t i = 1; i < times.size(); ++i) times[i] += times[i - 1];
  return times;
}

absl::StatusOr<Plan> MakePlan(const WaitOptions& policy,
                              const PlanOptions& options) {
  const absl::StatusOr<PollPlanner> planner = PollPlanner::Make(policy);
  if (!planner.ok()) return planner.status();

  // Times of each poll over all waits, by attempt.
  std::vector<std::vector<absl::Duration>> times;
  Plan plan;
  int64_t all_polls = 0;
  SplitMix64 gen(options.seed);
  for (int wait = 0; wait < options.waits; ++wait) {
    std::vector<absl::Duration> polls =
        planner->PollTimes(gen, options.max_polls);
    if (polls.size() > times.size()) times.resize(polls.size());
    for (size_t i = 0; i < polls.size(); ++i) times[i].push_back(polls[i]);
    all_polls += std::ssize(polls);
    plan.cut_off |= std::ssize(polls) >= options.max_polls;
    if (wait == 0) plan.example = std::move(polls);
  }
  plan.mean_polls = static_cast<double>(all_polls) / options.waits;

  // The limits are left out, as they would cut the last delay.
  WaitOptions endless = policy;
  endless.timeout = absl::InfiniteDuration();
  endless.max_attempts.reset();
  const absl::StatusOr<PollPlanner> endless_planner =
      PollPlanner::Make(endless);
  const auto polls_with = [&](uint64_t draw) {
    ConstantDraw draws(draw);
    return endless_planner->PollTimes(draws, std::ssize(times));
  };
  const std::vector<absl::Duration> early = polls_with(ConstantDraw::min());
  const std::vector<absl::Duration> late = polls_with(ConstantDraw::max());
  for (size_t i = 0; i < times.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    plan.polls.push_back(
        {.attempt = static_cast<int64_t>(i) + 1,
         .shortest_delay = DelayBefore(early, i),
         .longest_delay = DelayBefore(late, i),
         .p5 = Quantile(times[i], 0.05),
         .p50 = Quantile(times[i], 0.5),
         .p95 = Quantile(times[i], 0.95),
         .reached = static_cast<double>(times[i].size()) / options.waits});
  }
  return plan;
}

std::string PlanTable(const Plan& plan, int max_rows) {
  std::string table =
      absl::StrFormat("%7s  %-19s  %-8s  %-19s  %s\n", "attempt",
                      "delay before it", "median", "5 % - 95 %", "waits");
  for (const PlannedPoll& poll : plan.polls) {
    if (poll.attempt > max_rows) {
      absl::StrAppendFormat(&table, "    ... and up to %d polls in all\n",
                            std::ssize(plan.polls));
      break;
    }
    absl::StrAppendFormat(
        &table, "%7d  %-19s  %-8s  %-19s  %3.0f %%\n", poll.attempt,
        Window(poll.shortest_delay, poll.longest_delay),
        cli::TimeText(poll.p50), Window(poll.p5, poll.p95), 100 * poll.reached);
  }
  return table;
}

std::string Timeline(absl::Span<const absl::Duration> polls, absl::Duration end,
                     int columns) {
  std::string line(static_cast<size_t>(columns), '.');
  if (end <= absl::ZeroDuration()) end = absl::Nanoseconds(1);
  for (const absl::Duration poll : polls) {
    const double share = absl::FDivDuration(poll, end);
    const auto column = static_cast<size_t>(
        std::clamp(share * columns, 0.0, static_cast<double>(columns) - 1));
    line[column] = line[column] == '.' ? '|' : '#';
  }
  return line;
}

}  // namespace waiter::sim
