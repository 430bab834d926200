// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/learned.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/sim/clairvoyant.h"
#include "cli/sim/known_durations.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::sim {
namespace {

constexpr double kNoGuard = std::numeric_limits<double>::infinity();
constexpr int kTrueSample = 20'000;  // Durations that represent all.
constexpr int kWaits = 2000;         // For rules that do not learn.
constexpr int kWaitsAfter = 100;     // After some observations.
constexpr int kWaitsAfterChange = 20;
constexpr int kFirstWaits = 5;

bool NeverStopped() { return false; }

using Policy = std::shared_ptr<const WaitPolicy>;

Policy MakePolicy(WaitOptions options = {}) {
  options.operation = "operation";
  options.timeout = absl::InfiniteDuration();
  return WaitPolicy::Make(std::move(options));
}

// Waits one after the other, on their own clock.
class Player {
 public:
  explicit Player(uint64_t seed) : gen_(seed) {}

  // Plays a wait for an operation that lasts `seconds`. A wait that does not
  // learn is dropped at its end, so that the model does not change. Calls
  // `on_poll` with the time of each poll, in seconds from the start.
  template <typename OnPoll>
  PollCost Play(const WaitPolicy& policy, double seconds, bool learns,
                OnPoll on_poll) {
    const MonotonicTime start = now_;
    WaitReport report;
    WaitLoop loop(policy, report);
    NextStep step = loop.Start(now_, policy.DeadlineFrom(now_), NeverStopped);
    PollCost cost;
    for (;;) {
      while (step.action() == NextStep::Action::kSleep) {
        now_ = step.wake_up();
        step = loop.OnWake(now_, NeverStopped);
      }
      const double elapsed =
          std::chrono::duration<double>(now_ - start).count();
      cost.polls += 1;
      on_poll(elapsed);
      const bool ended = elapsed >= seconds;
      if (ended && !learns) break;
      report.last_poll = ended ? PollStatus::kSuccess : PollStatus::kNotReady;
      step = loop.OnPoll(now_, gen_, NeverStopped);
      if (ended) break;
    }
    cost.lateness =
        std::chrono::duration<double>(now_ - start).count() - seconds;
    now_ += std::chrono::seconds(1);
    return cost;
  }
  PollCost Play(const WaitPolicy& policy, double seconds, bool learns = false) {
    return Play(policy, seconds, learns, [](double) {});
  }

  double Draw(const KnownDurations& durations) {
    return durations.quantile(
        absl::Uniform(absl::IntervalOpen, gen_, 0.0, 1.0));
  }

  // Returns the mean of waits for durations that are spread evenly.
  PollCost Mean(const WaitPolicy& policy, const KnownDurations& durations,
                int waits) {
    const double offset = absl::Uniform(absl::IntervalOpen, gen_, 0.0, 1.0);
    PollCost sum;
    for (int i = 0; i < waits; ++i) {
      const PollCost cost =
          Play(policy, durations.quantile((i + offset) / waits));
      sum.polls += cost.polls / waits;
      sum.lateness += cost.lateness / waits;
    }
    return sum;
  }

  SplitMix64& gen() { return gen_; }

 private:
  SplitMix64 gen_;
  MonotonicTime now_{std::chrono::hours(1)};
};

// Returns learned delays with a new model.
std::shared_ptr<LearnedDelays> MakeLearned(
    const LearnedDelaysOptions& options) {
  return LearnedDelays::Make(std::make_shared<DurationModel>(), options)
      .value();
}

Policy MakeLearning(const LearnedDelaysOptions& options) {
  return MakePolicy({.delay_source = MakeLearned(options)});
}

LearnedDelaysOptions OptionsOf(double max_relative_lateness,
                               std::optional<double> worth) {
  LearnedDelaysOptions options;
  options.seconds_of_delay_worth_one_poll = worth;
  options.max_relative_lateness = max_relative_lateness;
  return options;
}

// Returns the mean costs after each of `observations`, which are in ascending
// order.
std::vector<PollCost> Learn(const KnownDurations& durations,
                            const LearnedDelaysOptions& learned,
                            absl::Span<const int> observations,
                            const LearnedStudyOptions& options) {
  std::vector<PollCost> costs(observations.size());
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    Player player(options.seed + static_cast<uint64_t>(repetition) * 7919);
    const Policy policy = MakeLearning(learned);
    int known = 0;
    for (size_t i = 0; i < observations.size(); ++i) {
      for (; known < observations[i]; ++known) {
        player.Play(*policy, player.Draw(durations), /*learns=*/true);
      }
      const PollCost cost = player.Mean(*policy, durations, kWaitsAfter);
      costs[i].polls += cost.polls / options.repetitions;
      costs[i].lateness += cost.lateness / options.repetitions;
    }
  }
  return costs;
}

PollCost CostOfInterval(absl::Span<const double> durations, double interval) {
  PollCost cost;
  const auto size = static_cast<double>(durations.size());
  for (const double duration : durations) {
    const double polls = std::ceil(duration / interval);
    cost.polls += (1 + polls) / size;
    cost.lateness += (polls * interval - duration) / size;
  }
  return cost;
}

PollCost BestInterval(const KnownDurations& durations, double most_polls) {
  const std::vector<double> sample = durations.Sample(kWaits);
  PollCost best = {.lateness = kNoGuard};
  for (int seconds = 1; seconds < sample.back(); ++seconds) {
    const PollCost cost = CostOfInterval(sample, seconds);
    if (cost.polls <= most_polls && cost.lateness < best.lateness) best = cost;
    // Longer ones are later.
    if (cost.polls < most_polls / 2) break;
  }
  return best;
}

PollCost CostOfMovingAverage(const KnownDurations& durations, uint64_t seed) {
  constexpr double kAlpha = 0.2;
  constexpr double kTargetPolls = 1.5;
  Player player(seed);
  double average = player.Draw(durations);
  PollCost mean;
  for (int wait = 0; wait < kWaits; ++wait) {
    const double duration = player.Draw(durations);
    const PollCost cost = CostOfInterval(
        {duration}, std::clamp(average / kTargetPolls, 0.5, 10.0));
    mean.polls += cost.polls / kWaits;
    mean.lateness += cost.lateness / kWaits;
    average += kAlpha * (duration + cost.lateness - average);
  }
  return mean;
}

LearnedRow Compare(const KnownDurations& durations,
                   const LearnedStudyOptions& options) {
  LearnedRow row = {.name = durations.name, .heavy_tail = durations.heavy_tail};
  Player player(options.seed);
  row.default_curve = player.Mean(*MakePolicy(), durations, kWaits);
  row.first_poll_at_median = player.Mean(
      *MakePolicy(
          {.polls = {.first_delay = absl::Seconds(durations.quantile(0.5))}}),
      durations, kWaits);
  row.ewma = CostOfMovingAverage(durations, options.seed);
  const Clairvoyant clairvoyant(durations.Sample(kTrueSample));
  for (const bool has_default_target : {true, false}) {
    for (const double guard : {1.0, kNoGuard}) {
      LearnedRuns runs = {.max_relative_lateness = guard,
                          .has_default_target = has_default_target};
      if (has_default_target) {
        runs.worth =
            clairvoyant.WorthFor(row.default_curve.lateness, 1 + guard);
      }
      runs.best = clairvoyant.At(runs.worth, 1 + guard);
      runs.after =
          Learn(durations,
                OptionsOf(guard, has_default_target ? std::nullopt
                                                    : std::optional<double>(1)),
                kObservations, options);
      row.learned.push_back(std::move(runs));
    }
  }
  row.fixed =
      BestInterval(durations, row.learned.front().after[kAfter20].polls);
  return row;
}

// Returns the polls at a lateness, interpolated between neighbors of `costs`,
// whose lateness grows, on logarithmic scales: polls are near a power of it.
// Without two neighbors, returns the polls of the nearest cost.
double PollsAt(absl::Span<const PollCost> costs, double lateness) {
  for (size_t i = 1; i < costs.size(); ++i) {
    const PollCost& low = costs[i - 1];
    const PollCost& high = costs[i];
    if (lateness < low.lateness || lateness > high.lateness) continue;
    const double part = std::log(lateness / low.lateness) /
                        std::log(high.lateness / low.lateness);
    return low.polls * std::pow(high.polls / low.polls, part);
  }
  return lateness < costs.front().lateness ? costs.front().polls
                                           : costs.back().polls;
}

EqualLatenessRow CompareEqually(const KnownDurations& durations, double guard,
                                const LearnedStudyOptions& options) {
  Player player(options.seed);
  const PollCost by_default = player.Mean(*MakePolicy(), durations, kWaits);
  EqualLatenessRow row = {.name = durations.name,
                          .max_relative_lateness = guard,
                          .lateness = by_default.lateness,
                          .default_polls = by_default.polls};
  std::vector<PollCost> costs;
  for (const double worth : {0.1, 0.2, 0.35, 0.6, 1.0, 1.7}) {
    costs.push_back(
        Learn(durations, OptionsOf(guard, worth), {20}, options).front());
  }
  row.polls = PollsAt(costs, row.lateness);
  const Clairvoyant clairvoyant(durations.Sample(kTrueSample));
  row.best_polls =
      clairvoyant.At(clairvoyant.WorthFor(row.lateness, 1 + guard), 1 + guard)
          .polls;
  return row;
}

// Durations before and after a change.
struct Change {
  std::string name;
  std::optional<KnownDurations> before;
  std::vector<KnownDurations> after;  // Any one of them, from wait to wait.
};

std::vector<Change> Changes() {
  const KnownDurations usual = Lognormal(60, 0.6);
  return {{"cold start", std::nullopt, {usual}},
          {"4 times as long", usual, {usual.Times(4)}},
          {"a quarter as long", usual, {usual.Times(0.25)}},
          {"twice as long", usual, {usual.Times(2)}},
          {"half as long", usual, {usual.Times(0.5)}},
          {"4 times up and down", usual, {usual.Times(0.5), usual.Times(2)}},
          {"model of 5 s or 300 s", Bimodal(5, 0.6, 300, 0.15), {usual}},
          {"model of 1 s", Lognormal(1, 0.6), {usual}},
          {"model of 5 min", Lognormal(300, 0.6), {usual}},
          {"model of an hour", Lognormal(3600, 0.6), {usual}}};
}

// Returns the cost of 20 waits after a change, and the cost of the first ones
// of them, as parts of the cost of the default backoff.
std::pair<double, double> CostAfter(const Change& change,
                                    const LearnedDelaysOptions& learned,
                                    double worth,
                                    const LearnedStudyOptions& options) {
  const Policy by_default = MakePolicy();
  std::array<double, 2> sums = {};
  std::array<double, 2> first_sums = {};
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    Player player(options.seed + static_cast<uint64_t>(repetition) * 7919);
    const Policy policy = MakeLearning(learned);
    for (int i = 0; change.before.has_value() && i < 20; ++i) {
      player.Play(*policy, player.Draw(*change.before), /*learns=*/true);
    }
    for (int i = 0; i < kWaitsAfterChange; ++i) {
      const size_t which =
          absl::Uniform<size_t>(player.gen(), 0, change.after.size());
      const double duration = player.Draw(change.after[which]);
      const std::array<double, 2> costs = {
          player.Play(*policy, duration, /*learns=*/true).At(worth),
          player.Play(*by_default, duration).At(worth)};
      for (size_t j = 0; j < costs.size(); ++j) {
        sums[j] += costs[j];
        if (i < kFirstWaits) first_sums[j] += costs[j];
      }
    }
  }
  return {sums[0] / sums[1], first_sums[0] / first_sums[1]};
}

ChangeRow CompareAfterChange(const Change& change,
                             const LearnedStudyOptions& options) {
  std::vector<double> sample;
  for (const KnownDurations& durations : change.after) {
    for (const double duration : durations.Sample(kTrueSample)) {
      sample.push_back(duration);
    }
  }
  std::sort(sample.begin(), sample.end());
  Player player(options.seed);
  const Policy by_default = MakePolicy();
  double lateness = 0;
  for (const KnownDurations& durations : change.after) {
    lateness += player.Mean(*by_default, durations, kWaits).lateness /
                static_cast<double>(change.after.size());
  }
  const double worth = Clairvoyant(std::move(sample)).WorthFor(lateness, 2);
  ChangeRow row = {.name = change.name};
  std::tie(row.default_target, row.default_target_first) =
      CostAfter(change, {}, worth, options);
  std::tie(row.second_per_poll, row.second_per_poll_first) =
      CostAfter(change, OptionsOf(1, 1), 1, options);
  return row;
}

// Teaches a policy some durations.
void Teach(Player& player, const KnownDurations& durations,
           const WaitPolicy& policy, int observations) {
  for (int i = 0; i < observations; ++i) {
    player.Play(policy, player.Draw(durations), /*learns=*/true);
  }
}

// Returns the most polls of all clients in one second, and the same without the
// first second.
std::pair<int64_t, int64_t> Peaks(Player& player, const WaitPolicy& policy,
                                  absl::Span<const double> durations) {
  std::map<int64_t, int64_t> polls;  // By their second.
  for (const double duration : durations) {
    player.Play(policy, duration, /*learns=*/false,
                [&](double time) { ++polls[static_cast<int64_t>(time)]; });
  }
  std::pair<int64_t, int64_t> peaks = {0, 0};
  for (const auto& [second, count] : polls) {
    peaks.first = std::max(peaks.first, count);
    if (second > 0) peaks.second = std::max(peaks.second, count);
  }
  return peaks;
}

// Searches among durations just after polls of a model that knows some.
void SearchWorst(const KnownDurations& durations, int observations,
                 const LearnedStudyOptions& options, WorstRow& worst) {
  constexpr int kSchedules = 100;
  const double guard = worst.max_relative_lateness;
  // Longer than any duration the model knows.
  const double longest = 20 * durations.quantile(0.99);
  Player player(options.seed);
  const std::shared_ptr<LearnedDelays> learned =
      MakeLearned(OptionsOf(guard, 10));
  const Policy policy = MakePolicy({.delay_source = learned});
  Teach(player, durations, *policy, observations);
  const LearnedSchedule known = learned->Schedule("operation");
  const double least =
      known.polls.empty()
          ? 0
          : absl::ToDoubleSeconds(known.polls.front()) / (1 + guard);
  for (int schedule = 0; schedule < kSchedules; ++schedule) {
    double last = 0;
    player.Play(*policy, longest, /*learns=*/false, [&](double time) {
      const double from = std::max(last, least);
      const double relative = from > 0 ? time / from - 1 : 0;
      ++worst.tried;
      if (relative > worst.relative_lateness) {
        worst.relative_lateness = relative;
        worst.duration = from;
        worst.observations = observations;
      }
      last = time;
    });
  }
}

}  // namespace

std::vector<LearnedRow> CompareLearned(const LearnedStudyOptions& options) {
  std::vector<LearnedRow> rows;
  for (const KnownDurations& durations : AllKnownDurations()) {
    rows.push_back(Compare(durations, options));
  }
  return rows;
}

std::vector<EqualLatenessRow> CompareAtEqualLateness(
    const LearnedStudyOptions& options) {
  std::vector<EqualLatenessRow> rows;
  for (const KnownDurations& durations :
       {Lognormal(60, 0.6), Bimodal(5, 0.6, 300, 0.15)}) {
    for (const double guard : {1.0, kNoGuard}) {
      rows.push_back(CompareEqually(durations, guard, options));
    }
  }
  return rows;
}

std::vector<ChangeRow> CompareAfterChanges(const LearnedStudyOptions& options) {
  std::vector<ChangeRow> rows;
  for (const Change& change : Changes()) {
    rows.push_back(CompareAfterChange(change, options));
  }
  return rows;
}

std::vector<CrowdRow> CompareCrowds(const LearnedStudyOptions& options) {
  std::vector<CrowdRow> rows;
  for (const KnownDurations& durations :
       {Lognormal(60, 0.6), ConstantDuration(60)}) {
    Player player(options.seed);
    const Policy by_default = MakePolicy();
    const Policy learned = MakeLearning({});
    Teach(player, durations, *learned, 50);
    for (const int clients : {1, 10, 100, 500}) {
      const std::vector<double> own = durations.Sample(clients);
      CrowdRow row = {.name = durations.name, .clients = clients};
      std::tie(row.default_peak, row.default_later_peak) =
          Peaks(player, *by_default, own);
      std::tie(row.peak, row.later_peak) = Peaks(player, *learned, own);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<WorstRow> FindWorst(const LearnedStudyOptions& options) {
  std::vector<WorstRow> rows;
  for (const KnownDurations& durations :
       {Lognormal(60, 0.6), Bimodal(5, 0.6, 300, 0.15), Pareto(20, 1.5),
        ConstantDuration(60)}) {
    for (const double guard : {0.5, 1.0, 3.0}) {
      WorstRow worst = {.name = durations.name, .max_relative_lateness = guard};
      // With fewer, the backoff decides in part, which has no guard. After 48,
      // the model has just made its schedule again.
      for (const int observations : {10, 20, 48}) {
        SearchWorst(durations, observations, options, worst);
      }
      rows.push_back(std::move(worst));
    }
  }
  return rows;
}

}  // namespace waiter::sim
