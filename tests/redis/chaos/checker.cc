// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/redis/chaos/checker.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/redis/chaos/history.h"

namespace waiter::chaos {
namespace {

// The AOF may lose the writes of this time, because it uses `everysec`.
constexpr double kLoss = 2;
// The timeout of calls, after which answers are ignored.
constexpr double kCallTimeout = 1;
// A member continues alone 2 s after it sent a request, which it may have sent
// before the fault. So the minimum time after the fault is shorter.
constexpr double kLeastTimeToLocal = 1;
// The maximum time is longer, because three requests take their timeout each.
constexpr double kMostTimeToLocal = 4;
// Maximum number of waits in one call of a worker.
constexpr double kMostInCall = 4;

bool IsLocal(const PollRecord& poll) {
  return poll.claim == Claim::kLocal || poll.claim == Claim::kNeverReached;
}

// Returns whether the store grants nothing to any member.
bool StopsTheStore(FaultKind kind) {
  return kind == FaultKind::kStoreKilled || kind == FaultKind::kStoreStopped ||
         kind == FaultKind::kStoreFull;
}

// Returns whether members may miss answers.
bool Cuts(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStoreKilled:
    case FaultKind::kStoreStopped:
    case FaultKind::kStoreFull:
    case FaultKind::kClientsKilled:
    case FaultKind::kStalled:
    case FaultKind::kRefused:
    case FaultKind::kCut:
    case FaultKind::kHalved:
    case FaultKind::kWorkerStopped:
    case FaultKind::kMachineStalled:
      return true;
    case FaultKind::kStoreEmptied:
    case FaultKind::kStoreRewound:
    case FaultKind::kScriptsLost:
    case FaultKind::kWorkerKilled:
    case FaultKind::kWorkerLeft:
    case FaultKind::kWorkerJoined:
      break;
  }
  return false;
}

// Returns whether answers may come late.
bool Stalls(FaultKind kind) {
  return kind == FaultKind::kStoreStopped || kind == FaultKind::kStalled ||
         kind == FaultKind::kHalved || kind == FaultKind::kWorkerStopped ||
         kind == FaultKind::kMachineStalled;
}

// Returns the maximum number of workers that lived at the same time.
double MostWorkers(const History& history) {
  std::vector<std::pair<double, int>> changes;
  for (const WorkerLife& life : history.workers) {
    changes.emplace_back(life.from, 1);
    changes.emplace_back(life.to, -1);
  }
  std::sort(changes.begin(), changes.end());
  int alive = 0;
  int most = 0;
  for (const auto& [time, change] : changes) {
    most = std::max(most, alive += change);
  }
  return most;
}

std::vector<Event> PollsIf(
    const History& history,
    const std::function<bool(const PollRecord&)>& is_wanted) {
  std::vector<Event> events;
  for (const PollRecord& poll : history.polls) {
    if (is_wanted(poll)) events.push_back({.time = poll.time});
  }
  return events;
}

// Returns the allowance for slots of the store, at the times when they are
// used. Each worker may have one poll in flight between the limiter and the
// API.
Allowance StoreAllowance(const History& history) {
  const Budgets& budgets = history.budgets;
  const double ahead = budgets.rate * budgets.horizon;
  Allowance allowance = {
      .rate = budgets.rate,
      .constant = ahead + budgets.burst + MostWorkers(history)};
  for (const Fault& fault : history.faults) {
    const double used = fault.to + kCallTimeout + 2 * budgets.horizon;
    // A store that forgets still grants only slots from a burst before now to
    // the horizon.
    if (fault.kind == FaultKind::kStoreKilled ||
        fault.kind == FaultKind::kStoreEmptied) {
      allowance.extras.push_back({fault.from, used, ahead + budgets.burst});
    }
    if (Stalls(fault.kind)) {
      allowance.extras.push_back({fault.from - kCallTimeout, used, ahead});
    }
    if (StopsTheStore(fault.kind)) {
      // Slots that were granted before may be used up to a horizon later.
      const double used_up = std::min(fault.to, fault.from + budgets.horizon);
      allowance.surplus.push_back({used_up, fault.to, -budgets.rate});
      // The store begins again with a burst.
      allowance.extras.push_back({fault.to, fault.to, ahead + budgets.burst});
    }
  }
  return allowance;
}

double LocalShare(const PollRecord& poll, const Budgets& budgets) {
  return poll.claim == Claim::kNeverReached
             ? budgets.local_share
             : 1 / static_cast<double>(std::max<int64_t>(1, poll.members));
}

// A time in which a worker was alone, with a constant share of the rate.
struct LocalStreak {
  int worker = 0;
  double share = 0;
  std::vector<Event> polls;

  double from() const { return polls.front().time; }
  double to() const { return polls.back().time; }
};

std::vector<LocalStreak> LocalStreaks(const History& history) {
  std::map<int, LocalStreak> open;
  std::vector<LocalStreak> streaks;
  const auto close = [&](int worker) {
    const auto it = open.find(worker);
    if (it == open.end()) return;
    streaks.push_back(std::move(it->second));
    open.erase(it);
  };
  for (const PollRecord& poll : history.polls) {
    if (!IsLocal(poll)) {
      close(poll.worker);
      continue;
    }
    const double share = LocalShare(poll, history.budgets);
    const auto it = open.find(poll.worker);
    if (it != open.end() && it->second.share != share) close(poll.worker);
    LocalStreak& streak = open[poll.worker];
    streak.worker = poll.worker;
    streak.share = share;
    streak.polls.push_back({.time = poll.time});
  }
  while (!open.empty()) close(open.begin()->first);
  return streaks;
}

double LocalConstant(const LocalStreak& streak, const Budgets& budgets) {
  return streak.share * budgets.rate * budgets.horizon +
         std::max(1.0, streak.share * budgets.burst) + 1;
}

bool MayBeLocal(const History& history, const PollRecord& poll) {
  return std::any_of(
      history.faults.begin(), history.faults.end(), [&](const Fault& fault) {
        if (!Cuts(fault.kind) || !fault.Concerns(poll.worker)) return false;
        const bool at_once = fault.kind == FaultKind::kWorkerStopped ||
                             fault.kind == FaultKind::kMachineStalled;
        return poll.time >= fault.from + (at_once ? 0 : kLeastTimeToLocal) &&
               poll.time <= fault.to + kRecovery;
      });
}

void Report(const std::string& what, const Excess& excess,
            std::vector<std::string>& violations) {
  // Sums of fractions are not exact.
  if (excess.amount < 1e-6) return;
  violations.push_back(absl::StrFormat("%s: %.1f too many from %.3f to %.3f",
                                       what, excess.amount, excess.from,
                                       excess.to));
}

// Returns the times of the wanted faults and their aftermath. Merges times that
// overlap.
std::vector<Phase> Phases(const History& history,
                          const std::function<bool(const Fault&)>& is_wanted) {
  std::vector<Phase> cuts;
  for (const Fault& fault : history.faults) {
    if (is_wanted(fault)) cuts.push_back({fault.from, fault.to + kRecovery});
  }
  std::sort(cuts.begin(), cuts.end(),
            [](const Phase& a, const Phase& b) { return a.from < b.from; });
  std::vector<Phase> phases;
  for (const Phase& cut : cuts) {
    if (!phases.empty() && cut.from <= phases.back().to) {
      phases.back().to = std::max(phases.back().to, cut.to);
    } else {
      phases.push_back(cut);
    }
  }
  return phases;
}

// Returns the times in which members may miss answers.
std::vector<Phase> CutPhases(const History& history) {
  return Phases(history, [](const Fault& fault) { return Cuts(fault.kind); });
}

bool Touches(const Fault& fault, const Phase& phase) {
  return fault.from <= phase.to && fault.to + kRecovery >= phase.from;
}

// Returns whether a fault cuts off only some members. The store forgets them,
// and the others do not count them.
bool CutsSome(const Fault& fault) {
  return Cuts(fault.kind) && fault.place != kAllPlaces;
}

// A time in which a worker may be without the store, and the maximum shares
// that it takes then.
struct CutOff {
  int worker;
  double from;
  double to;
  double rate_share;
  double quota_share;
  bool is_alone;  // The store may serve others during this time.
};

// Returns the minimum number of members that a worker counts.
double LeastMembers(const History& history, const WorkerLife& life,
                    const Phase& phase) {
  double members = 1;
  const Phase window = {phase.from - kRecovery, phase.to};
  for (const WorkerLife& other : history.workers) {
    if (other.worker == life.worker || other.from > window.from ||
        other.to < window.to) {
      continue;
    }
    const bool is_known = std::none_of(
        history.faults.begin(), history.faults.end(), [&](const Fault& fault) {
          return CutsSome(fault) && fault.Concerns(other.worker) &&
                 Touches(fault, window);
        });
    if (is_known) ++members;
  }
  return members;
}

CutOff MakeCutOff(const History& history, const WorkerLife& life,
                  const Phase& phase) {
  const double share = 1 / LeastMembers(history, life, phase);
  CutOff cut = {.worker = life.worker,
                .from = std::max(phase.from, life.from),
                .to = std::min(phase.to, life.to + kRecovery),
                .rate_share = share,
                .quota_share = share,
                .is_alone = false};
  bool may_know_nobody = false;
  for (const Fault& fault : history.faults) {
    const Phase window = {phase.from - kRecovery, phase.to};
    if (!Touches(fault, window)) continue;
    may_know_nobody |= fault.kind == FaultKind::kStoreEmptied ||
                       fault.kind == FaultKind::kStoreRewound ||
                       (Cuts(fault.kind) && fault.place == kAllPlaces);
    cut.is_alone |=
        CutsSome(fault) && fault.Concerns(life.worker) && Touches(fault, phase);
  }
  // The worker has just joined, perhaps in a store that knows no members.
  if (life.from > phase.from - kRecovery) {
    cut.rate_share =
        may_know_nobody ? 1 : std::max(share, history.budgets.local_share);
    cut.quota_share = 1;
  }
  return cut;
}

std::vector<CutOff> CutOffs(const History& history) {
  std::vector<CutOff> cuts;
  for (const WorkerLife& life : history.workers) {
    const auto is_wanted = [&](const Fault& fault) {
      return Cuts(fault.kind) && fault.Concerns(life.worker);
    };
    for (const Phase& phase : Phases(history, is_wanted)) {
      const CutOff cut = MakeCutOff(history, life, phase);
      if (cut.from < cut.to) cuts.push_back(cut);
    }
  }
  return cuts;
}

// Returns the surplus of members that are cut off, at each time. Each takes its
// share of `rate` per second, and all together take at most `rate`.
std::vector<Allowance::Surplus> SurplusOf(const std::vector<CutOff>& cuts,
                                          double CutOff::*share, double rate) {
  std::vector<double> times;
  for (const CutOff& cut : cuts) {
    times.push_back(cut.from);
    times.push_back(cut.to);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<Allowance::Surplus> surplus;
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    double sum = 0;
    for (const CutOff& cut : cuts) {
      if (cut.from <= times[i] && cut.to >= times[i + 1]) sum += cut.*share;
    }
    if (sum == 0) continue;
    surplus.push_back({times[i], times[i + 1], rate * std::min(1.0, sum)});
  }
  return surplus;
}

// Returns the payments for retries, each at the time of the error before the
// retry.
std::vector<Event> Payments(const History& history) {
  struct Wait {
    double token;
    bool failed = false;
    double failed_at = 0;
  };
  std::map<std::pair<int, int64_t>, Wait> waits;
  std::vector<Event> payments;
  for (const AnswerRecord& answer : history.answers) {
    const std::pair<int, int64_t> key(answer.worker, answer.wait);
    Wait& wait = waits.try_emplace(key, Wait{history.budgets.success_increment})
                     .first->second;
    if (wait.failed) {
      wait.token = history.budgets.retry_cost;
      payments.push_back({wait.failed_at, wait.token});
    }
    wait.failed = answer.answer == Answer::kError;
    wait.failed_at = answer.time;
    if (answer.answer == Answer::kSuccess) {
      payments.push_back({answer.time, -wait.token});
      waits.erase(key);
    }
  }
  std::stable_sort(
      payments.begin(), payments.end(),
      [](const Event& a, const Event& b) { return a.time < b.time; });
  return payments;
}

}  // namespace

Excess WorstExcess(const std::vector<Event>& events,
                   const Allowance& allowance) {
  const auto free_until = [&](double time) {
    double sum = allowance.rate * time;
    for (const Allowance::Surplus& surplus : allowance.surplus) {
      sum += surplus.rate *
             std::clamp(time - surplus.from, 0.0, surplus.to - surplus.from);
    }
    return sum;
  };
  std::vector<Allowance::Extra> extras = allowance.extras;
  std::sort(extras.begin(), extras.end(),
            [](const auto& a, const auto& b) { return a.from < b.from; });
  size_t begun = 0;

  Excess worst = {.amount = -std::numeric_limits<double>::infinity()};
  // The maximum, over the first events of intervals so far, of the allowance
  // minus the amounts before the event and the extras of the interval.
  double best = -std::numeric_limits<double>::infinity();
  double best_from = 0;
  double sum = 0;  // The amounts before this event.
  for (const Event& event : events) {
    const double free = free_until(event.time);
    // An extra that begins now touches all intervals that began before.
    while (begun < extras.size() && extras[begun].from <= event.time) {
      best -= extras[begun++].amount;
    }
    double value = free - sum;
    for (size_t i = 0; i < begun; ++i) {
      if (extras[i].to >= event.time) value -= extras[i].amount;
    }
    if (value > best) {
      best = value;
      best_from = event.time;
    }
    sum += event.amount;
    const double excess = sum - free + best - allowance.constant;
    if (excess > worst.amount) {
      worst = {.amount = excess, .from = best_from, .to = event.time};
    }
  }
  return worst;
}

std::vector<Phase> QuietPhases(const History& history) {
  std::vector<Phase> loud;
  for (const Fault& fault : history.faults) {
    loud.push_back({fault.from, fault.to + kRecovery});
  }
  for (const WorkerLife& life : history.workers) {
    loud.push_back({life.from, life.from + kRecovery});
  }
  std::sort(loud.begin(), loud.end(),
            [](const Phase& a, const Phase& b) { return a.from < b.from; });
  std::vector<Phase> quiet;
  double end = 0;
  for (const Phase& phase : loud) {
    if (phase.from > end) quiet.push_back({end, phase.from});
    end = std::max(end, phase.to);
  }
  if (history.end > end) quiet.push_back({end, history.end});
  return quiet;
}

std::vector<std::string> CheckShared(const History& history) {
  std::vector<std::string> violations;
  Report("polls of workers that share",
         WorstExcess(
             PollsIf(history,
                     [](const PollRecord& poll) { return !IsLocal(poll); }),
             StoreAllowance(history)),
         violations);
  return violations;
}

std::vector<std::string> CheckLocal(const History& history) {
  std::vector<std::string> violations;
  for (const LocalStreak& streak : LocalStreaks(history)) {
    Report(absl::StrFormat("worker %d, alone with %.3f of the rate",
                           streak.worker, streak.share),
           WorstExcess(streak.polls,
                       {.rate = streak.share * history.budgets.rate,
                        .constant = LocalConstant(streak, history.budgets)}),
           violations);
  }
  return violations;
}

std::vector<std::string> CheckRate(const History& history) {
  const Budgets& budgets = history.budgets;
  Allowance allowance = StoreAllowance(history);
  // Members that are cut off use their shares in addition to the store's grants
  // to the others, and begin again with a burst.
  const std::vector<CutOff> cuts = CutOffs(history);
  const std::vector<Allowance::Surplus> surplus =
      SurplusOf(cuts, &CutOff::rate_share, budgets.rate);
  allowance.surplus.insert(allowance.surplus.end(), surplus.begin(),
                           surplus.end());
  for (const Fault& fault : history.faults) {
    if (!Cuts(fault.kind)) continue;
    double share = 0;
    double workers = 0;
    for (const CutOff& cut : cuts) {
      if (!fault.Concerns(cut.worker) || !Touches(fault, {cut.from, cut.to})) {
        continue;
      }
      share += cut.rate_share;
      ++workers;
    }
    allowance.extras.push_back(
        {fault.from, fault.to + kRecovery,
         std::min(1.0, share) *
                 (budgets.rate * budgets.horizon + budgets.burst) +
             std::min(workers, MostWorkers(history))});
  }
  std::vector<std::string> violations;
  Report("all polls",
         WorstExcess(PollsIf(history, [](const PollRecord&) { return true; }),
                     allowance),
         violations);
  return violations;
}

std::vector<std::string> CheckAway(const History& history) {
  const Budgets& budgets = history.budgets;
  std::vector<std::string> violations;
  for (const Fault& away : history.faults) {
    if (!StopsTheStore(away.kind)) continue;
    const double from = away.from + kMostTimeToLocal;
    if (from >= away.to) continue;
    // Members that join or are cut off one by one count different members.
    const bool is_clear = std::none_of(
        history.faults.begin(), history.faults.end(), [&](const Fault& fault) {
          return fault.to + kRecovery >= away.from && fault.from <= away.to &&
                 (fault.kind == FaultKind::kWorkerJoined ||
                  fault.kind == FaultKind::kWorkerStopped ||
                  fault.kind == FaultKind::kStalled ||
                  fault.kind == FaultKind::kRefused);
        });
    const double parts = is_clear ? 1 : 1.5;
    const auto is_wanted = [&](const PollRecord& poll) {
      return poll.time >= from && poll.time <= away.to &&
             poll.claim != Claim::kNeverReached;
    };
    Report("polls without the store",
           WorstExcess(PollsIf(history, is_wanted),
                       {.rate = parts * budgets.rate,
                        .constant = parts * (budgets.rate * budgets.horizon +
                                             budgets.burst) +
                                    MostWorkers(history)}),
           violations);
  }
  return violations;
}

std::vector<std::string> CheckModes(const History& history) {
  std::vector<std::string> violations;
  std::map<int, bool> is_known;
  for (const PollRecord& poll : history.polls) {
    if (!IsLocal(poll) || MayBeLocal(history, poll)) continue;
    if (is_known[poll.worker]) continue;
    is_known[poll.worker] = true;
    violations.push_back(absl::StrFormat(
        "worker %d is alone at %.3f without a fault", poll.worker, poll.time));
  }
  return violations;
}

std::vector<std::string> CheckLiveness(const History& history) {
  std::vector<std::string> violations;
  std::map<int, std::vector<double>> times;
  for (const PollRecord& poll : history.polls) {
    times[poll.worker].push_back(poll.time);
  }
  bool looked = false;
  for (const Phase& phase : QuietPhases(history)) {
    if (phase.to - phase.from < kLongestGap) continue;
    for (const WorkerLife& life : history.workers) {
      if (life.from > phase.from || life.to < phase.to) continue;
      looked = true;
      const std::vector<double>& polls = times[life.worker];
      double last = phase.from;
      auto it = std::lower_bound(polls.begin(), polls.end(), phase.from);
      while (last < phase.to) {
        const double next =
            it == polls.end() ? phase.to : std::min(phase.to, *it++);
        if (next - last >= kLongestGap) {
          violations.push_back(
              absl::StrFormat("worker %d does not poll from %.3f to %.3f",
                              life.worker, last, next));
          break;
        }
        last = next;
      }
    }
  }
  // A busy machine may leave no quiet phase.
  const bool is_busy = std::any_of(
      history.faults.begin(), history.faults.end(), [](const Fault& fault) {
        return fault.kind == FaultKind::kMachineStalled;
      });
  if (!looked && !is_busy) {
    violations.emplace_back("no quiet phase is long enough");
  }
  return violations;
}

std::vector<std::string> CheckWaits(const History& history) {
  struct Pending {
    double time;
    int answers;  // Its worker's answers before the last poll of this wait.
  };
  std::map<int, int> answers;
  std::map<std::pair<int, int64_t>, Pending> waits;
  std::map<int, std::string> violations;  // One for each worker.
  const auto look = [&](const std::pair<int, int64_t>& key, const Pending& last,
                        const Pending& now) {
    const int others = now.answers - last.answers - 1;
    if (others <= kMostOthers) return;
    violations.try_emplace(
        key.first,
        absl::StrFormat("wait %d of worker %d is not polled from "
                        "%.3f to %.3f, and others are %d times",
                        key.second, key.first, last.time, now.time, others));
  };
  for (const AnswerRecord& answer : history.answers) {
    const std::pair<int, int64_t> key(answer.worker, answer.wait);
    const Pending now = {answer.time, answers[answer.worker]++};
    const auto [it, is_new] = waits.try_emplace(key, now);
    if (!is_new) look(key, it->second, now);
    it->second = now;
    // After an error, the quota may end the wait.
    if (answer.answer != Answer::kNotReady) waits.erase(it);
  }
  for (const auto& [key, last] : waits) {
    look(key, last, {history.end, answers[key.first]});
  }
  std::vector<std::string> all;
  all.reserve(violations.size());
  for (const auto& [worker, violation] : violations) all.push_back(violation);
  return all;
}

std::vector<std::string> CheckQuota(const History& history) {
  const Budgets& budgets = history.budgets;
  // Each worker may have a call that is answered but not yet paid.
  Allowance allowance = {.rate = budgets.refill,
                         .constant = budgets.capacity + MostWorkers(history) *
                                                            kMostInCall *
                                                            budgets.retry_cost};
  for (const WorkerLife& life : history.workers) {
    allowance.extras.push_back(
        {life.from, life.from + kRecovery, 2 * budgets.retry_cost});
  }
  for (const Fault& fault : history.faults) {
    const double settled = fault.to + budgets.lease + kRecovery;
    if (fault.kind == FaultKind::kWorkerKilled) {
      allowance.extras.push_back({fault.from, settled, budgets.capacity / 2});
    }
    if (fault.kind == FaultKind::kStoreEmptied ||
        fault.kind == FaultKind::kStoreRewound ||
        fault.kind == FaultKind::kStoreKilled) {
      allowance.extras.push_back(
          {fault.from - kLoss, settled, budgets.capacity});
    }
  }
  const std::vector<CutOff> cuts = CutOffs(history);
  allowance.surplus = SurplusOf(cuts, &CutOff::quota_share, budgets.refill);
  const auto leases = [&](double from, double to) {
    return std::floor((to - from) / budgets.lease);
  };
  for (const Phase& phase : CutPhases(history)) {
    // With each lease that ends, a member that is cut off gets its share again.
    // If the store serves the others while it is cut off, they also get the
    // tokens that the member held at first.
    double parts = 0;
    for (const CutOff& cut : cuts) {
      if (cut.to < phase.from || cut.from > phase.to) continue;
      parts +=
          cut.quota_share * (leases(cut.from, cut.to) + (cut.is_alone ? 1 : 0));
    }
    allowance.extras.push_back(
        {phase.from, phase.to + budgets.lease,
         std::min(parts, leases(phase.from, phase.to)) * budgets.capacity});
  }
  std::vector<std::string> violations;
  Report("tokens", WorstExcess(Payments(history), allowance), violations);
  return violations;
}

std::vector<std::string> CheckAll(const History& history) {
  std::vector<std::string> all;
  for (const auto& check :
       {CheckShared, CheckLocal, CheckRate, CheckAway, CheckModes,
        CheckLiveness, CheckWaits, CheckQuota}) {
    std::vector<std::string> violations = check(history);
    all.insert(all.end(), std::make_move_iterator(violations.begin()),
               std::make_move_iterator(violations.end()));
  }
  return all;
}

Figures Measure(const History& history) {
  const double rate = history.budgets.rate;
  Figures figures = {.polls = static_cast<int64_t>(history.polls.size())};
  figures.local_polls =
      std::count_if(history.polls.begin(), history.polls.end(), IsLocal);
  double used = 0;
  for (const Phase& phase : QuietPhases(history)) {
    const double length = phase.to - phase.from;
    if (length < 1) continue;
    const std::vector<Event> polls = PollsIf(history, [&](const auto& poll) {
      return poll.time >= phase.from && poll.time < phase.to;
    });
    const auto count = static_cast<double>(polls.size());
    used += count;
    figures.quiet_seconds += length;
    figures.least_use = std::min(figures.least_use, count / (rate * length));
    figures.most_above =
        std::max(figures.most_above, WorstExcess(polls, {.rate = rate}).amount);
  }
  if (figures.quiet_seconds > 0) {
    figures.use = used / (rate * figures.quiet_seconds);
  }
  for (const Event& payment : Payments(history)) {
    if (payment.amount > 0) ++figures.retries;
  }
  for (const PollRecord& poll : history.polls) {
    if (!IsLocal(poll)) continue;
    double last = 0;
    bool is_over = true;
    for (const Fault& fault : history.faults) {
      if (!Cuts(fault.kind) || !fault.Concerns(poll.worker) ||
          fault.from > poll.time) {
        continue;
      }
      is_over &= fault.to < poll.time;
      last = std::max(last, fault.to);
    }
    if (is_over) {
      figures.slowest_return =
          std::max(figures.slowest_return, poll.time - last);
    }
  }
  return figures;
}

}  // namespace waiter::chaos
