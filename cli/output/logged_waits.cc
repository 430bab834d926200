// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/logged_waits.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "waiter/learned/durations.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

absl::Duration StartOf(const LoggedPoll& poll) {
  return std::max(absl::ZeroDuration(),
                  poll.elapsed - poll.latency.value_or(absl::ZeroDuration()));
}

// Adds the wait that made these polls, if they say something about its
// duration.
void AddWait(const std::vector<const LoggedPoll*>& polls,
             std::vector<LoggedWait>& waits) {
  LoggedWait wait = {.target = polls.front()->target, .duration = {}};
  for (const LoggedPoll* const poll : polls) {
    if (poll->status == PollStatus::kNotReady) {
      ++wait.polls;
      wait.duration.after = StartOf(*poll);
    }
  }
  if (wait.polls == 0) return;
  // The target has been ready since the first of the last successes.
  auto success = polls.rbegin();
  while (success != polls.rend() &&
         (*success)->status == PollStatus::kSuccess) {
    ++success;
  }
  if (success != polls.rbegin()) {
    wait.duration.by = (*--success)->elapsed;
    ++wait.polls;
  }
  waits.push_back(std::move(wait));
}

}  // namespace

std::vector<LoggedWait> WaitsOf(const RunLog& log) {
  std::vector<std::vector<const LoggedPoll*>> all;
  std::map<std::string, size_t> current;  // Index in `all`, by target.
  for (const LoggedPoll& poll : log.polls) {
    const auto [known, is_new] = current.emplace(poll.target, all.size());
    const bool goes_on = !is_new &&
                         poll.attempt > all[known->second].back()->attempt &&
                         poll.elapsed >= all[known->second].back()->elapsed;
    if (!goes_on) {
      known->second = all.size();
      all.emplace_back();
    }
    all[known->second].push_back(&poll);
  }
  // Addresses are in the order of the log.
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.back() < b.back(); });
  std::vector<LoggedWait> waits;
  for (const auto& polls : all) AddWait(polls, waits);
  return waits;
}

}  // namespace waiter::cli
