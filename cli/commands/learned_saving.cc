// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/learned_saving.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/output/logged_waits.h"
#include "cli/sim/trade_off.h"
#include "cli/text/time_text.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"

namespace waiter::cli {
namespace {

using Group = std::vector<const LoggedWait*>;

constexpr size_t kFewestWaits = 8;
constexpr size_t kMostWaits = 128;  // As many as the model keeps.
// The waits are played in this many parts, each with the knowledge of the
// others.
constexpr size_t kParts = 8;
// For each wait, this many ends between its last two polls.
constexpr int kEnds = 4;
// How late learned delays may be, and how many polls they may make, as shares
// of the log's.
constexpr double kAsLate = 1.1;
constexpr double kWorthIt = 0.9;

// Polls and lateness of many waits.
struct Sums {
  size_t waits = 0;
  double polls = 0;
  double seconds_late = 0;

  void Add(const Sums& other) {
    waits += other.waits;
    polls += other.polls;
    seconds_late += other.seconds_late;
  }
};

Sums LoggedSums(const Group& group) {
  Sums sums;
  for (const LoggedWait* const wait : group) {
    if (!wait->has_end()) continue;
    ++sums.waits;
    sums.polls += static_cast<double>(wait->polls);
    sums.seconds_late +=
        absl::ToDoubleSeconds(wait->duration.by - wait->duration.after) / 2;
  }
  return sums;
}

// Returns times at which an operation may have ended.
std::vector<absl::Duration> EndsOf(const ObservedDuration& duration) {
  std::vector<absl::Duration> ends;
  for (int i = 0; i < kEnds; ++i) {
    ends.push_back(duration.after +
                   (duration.by - duration.after) * ((i + 0.5) / kEnds));
  }
  return ends;
}

// Plays the waits of one operation. Returns nullopt if that is not possible.
std::optional<Sums> PlayLearned(const Group& group,
                                const LearnedDelaysOptions& options) {
  Sums sums;
  for (size_t part = 0; part < kParts; ++part) {
    auto model = std::make_shared<DurationModel>();
    std::vector<absl::Duration> ready;
    for (size_t i = 0; i < group.size(); ++i) {
      const LoggedWait& wait = *group[i];
      if (i % kParts != part) {
        model->Record("", wait.duration);
      } else if (wait.has_end()) {
        for (const absl::Duration end : EndsOf(wait.duration)) {
          ready.push_back(end);
        }
        ++sums.waits;
      }
    }
    absl::StatusOr<std::shared_ptr<LearnedDelays>> delays =
        LearnedDelays::Make(std::move(model), options);
    if (!delays.ok()) return std::nullopt;
    WaitOptions policy = {.timeout = absl::InfiniteDuration()};
    policy.delay_source = *std::move(delays);
    const absl::StatusOr<std::vector<sim::PlayedWait>> played =
        sim::PlayWaits({"learned", std::move(policy)}, ready);
    if (!played.ok()) return std::nullopt;
    for (const sim::PlayedWait& wait : *played) {
      sums.polls += static_cast<double>(wait.polls) / kEnds;
      sums.seconds_late +=
          absl::ToDoubleSeconds(wait.detected - wait.ready) / kEnds;
    }
  }
  return sums;
}

std::optional<Sums> PlayLearned(const std::vector<Group>& groups,
                                const LearnedDelaysOptions& options) {
  Sums sums;
  for (const Group& group : groups) {
    const std::optional<Sums> played = PlayLearned(group, options);
    if (!played.has_value()) return std::nullopt;
    sums.Add(*played);
  }
  return sums;
}

// Returns the waits of each operation that has enough of them.
std::vector<Group> GroupsOf(const std::vector<LoggedWait>& waits,
                            bool& one_operation) {
  std::map<std::string, Group> by_target;
  for (const LoggedWait& wait : waits) by_target[wait.target].push_back(&wait);
  one_operation = by_target.size() > 1 && by_target.size() == waits.size();
  std::vector<Group> groups;
  if (one_operation) {
    groups.emplace_back();
    for (const LoggedWait& wait : waits) groups.back().push_back(&wait);
  } else {
    for (auto& [target, group] : by_target) groups.push_back(std::move(group));
  }
  for (Group& group : groups) {
    if (group.size() <= kMostWaits) continue;
    group.erase(group.begin(),
                group.end() - static_cast<std::ptrdiff_t>(kMostWaits));
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const Group& group) {
                                return LoggedSums(group).waits < kFewestWaits;
                              }),
               groups.end());
  return groups;
}

}  // namespace

std::optional<LearnedSaving> SavingOf(const std::vector<LoggedWait>& waits) {
  LearnedSaving saving;
  const std::vector<Group> groups = GroupsOf(waits, saving.one_operation);
  if (groups.empty()) return std::nullopt;
  Sums logged;
  for (const Group& group : groups) logged.Add(LoggedSums(group));
  const auto count = static_cast<double>(logged.waits);
  // A lateness of zero cannot be reached.
  const double latest = std::max(logged.seconds_late, 1e-3 * count) * kAsLate;

  LearnedDelaysOptions options;
  std::optional<Sums> learned = PlayLearned(groups, options);
  // Tries costs of a poll: eight times the lateness per poll in the log, then
  // half of that, and so on.
  double seconds = logged.seconds_late / logged.polls * 8;
  for (int i = 0; learned.has_value() && learned->seconds_late > latest; ++i) {
    constexpr int kTries = 8;
    if (i == kTries) return std::nullopt;
    saving.poll_cost = std::max(
        absl::Milliseconds(1),
        absl::Trunc(absl::Seconds(seconds),
                    seconds < 1 ? absl::Milliseconds(1) : absl::Seconds(0.1)));
    options.seconds_of_delay_worth_one_poll =
        absl::ToDoubleSeconds(*saving.poll_cost);
    learned = PlayLearned(groups, options);
    seconds /= 2;
  }
  if (!learned.has_value() || learned->polls > logged.polls * kWorthIt) {
    return std::nullopt;
  }
  saving.waits = logged.waits;
  saving.polls = logged.polls / count;
  saving.learned_polls = learned->polls / count;
  saving.lateness = absl::Seconds(logged.seconds_late / count);
  saving.learned_lateness = absl::Seconds(learned->seconds_late / count);
  return saving;
}

std::string SavingText(const LearnedSaving& saving) {
  const std::string cost =
      saving.poll_cost.has_value()
          ? absl::StrCat(" --poll-cost=",
                         absl::FormatDuration(*saving.poll_cost))
          : "";
  return absl::StrCat(
      absl::StrFormat("with learned delays, a wait would have made %.1f polls "
                      "instead of %.1f, and been %s late instead of %s\n",
                      saving.learned_polls, saving.polls,
                      TimeText(saving.learned_lateness),
                      TimeText(saving.lateness)),
      absl::StrFormat("(means of %d waits, each simulated with the durations "
                      "of the others):\n",
                      saving.waits),
      "  waiter --learn=FILE", saving.one_operation ? ":OPERATION" : "", cost,
      " TARGET...\n");
}

}  // namespace waiter::cli
