// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/budgets.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "cli/sim/memory_budget_store.h"
#include "cli/sim/network.h"
#include "cli/sim/virtual_clock.h"
#include "cli/text/time_text.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/result.h"

namespace waiter::sim {
namespace {

using std::chrono::nanoseconds;

constexpr std::string_view kBudget = "api";
constexpr int kMaxProcesses = 1000;

struct KindName {
  BudgetEvent::Kind kind;
  std::string_view name;
  bool has_number;
};
constexpr std::array<KindName, 5> kKinds = {{
    {BudgetEvent::Kind::kStoreLost, "store-lost", false},
    {BudgetEvent::Kind::kStoreBack, "store-back", false},
    {BudgetEvent::Kind::kJoin, "join", true},
    {BudgetEvent::Kind::kDie, "die", true},
    {BudgetEvent::Kind::kMove, "move", true},
}};

bool NoStop() { return false; }

absl::Status OutOfRange(std::string_view field, const absl::AlphaNum& value,
                        std::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; it must be ", range));
}

absl::StatusOr<BudgetEvent> ParseEvent(std::string_view text) {
  const std::vector<std::string_view> parts = absl::StrSplit(text, ':');
  const auto* const kind = parts.size() < 2
                               ? kKinds.end()
                               : std::find_if(kKinds.begin(), kKinds.end(),
                                              [&](const KindName& known) {
                                                return known.name == parts[1];
                                              });
  BudgetEvent event = {};
  if (kind == kKinds.end() || parts.size() != (kind->has_number ? 3 : 2) ||
      !absl::ParseDuration(parts[0], &event.time) ||
      event.time < absl::ZeroDuration() ||
      event.time == absl::InfiniteDuration() ||
      (kind->has_number && (!absl::SimpleAtoi(parts[2], &event.processes) ||
                            event.processes < 1))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text,
        "' is not an event; write 60s:store-lost, 60s:store-back, 60s:join:20, "
        "60s:die:20 or 60s:move:20"));
  }
  event.kind = kind->kind;
  return event;
}

absl::Status CheckEvents(const BudgetsOptions& options) {
  int busy = options.busy;
  int idle = options.processes - options.busy;
  absl::Duration last;
  for (const BudgetEvent& event : options.events) {
    const std::string name = event.ToString();
    if (event.time < last || event.time > options.duration) {
      return OutOfRange("events", name,
                        "after the previous event, and within the duration");
    }
    last = event.time;
    const bool ends = event.kind == BudgetEvent::Kind::kDie ||
                      event.kind == BudgetEvent::Kind::kMove;
    if (ends && event.processes > busy) {
      return OutOfRange("events", name,
                        absl::StrCat("for at most ", busy,
                                     " processes, as many as have waits then"));
    }
    if (event.kind == BudgetEvent::Kind::kMove && event.processes > idle) {
      return OutOfRange(
          "events", name,
          absl::StrCat("for at most ", idle,
                       " processes, as many as have no waits then"));
    }
    if (event.kind == BudgetEvent::Kind::kJoin) busy += event.processes;
    if (event.kind == BudgetEvent::Kind::kDie) busy -= event.processes;
    if (busy + idle > kMaxProcesses) {
      return OutOfRange(
          "events", name,
          absl::StrCat("for at most ", kMaxProcesses, " processes in all"));
    }
  }
  return absl::OkStatus();
}

double JainIndex(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares == 0
             ? 0
             : sum * sum / (static_cast<double>(values.size()) * squares);
}

// One run.
class Simulation {
 public:
  Simulation(const BudgetsOptions& options, Limiting limiting, uint64_t seed)
      : options_(options),
        limiting_(limiting),
        gen_(seed),
        network_(options.network),
        api_(options.polls_per_second, options.burst) {}

  BudgetsRun Play();

 private:
  // One wait, which polls until it is destroyed.
  struct Wait : std::enable_shared_from_this<Wait> {
    Wait(std::shared_ptr<const WaitPolicy> its_policy, SplitMix64 its_gen,
         size_t its_process)
        : policy(std::move(its_policy)),
          gen(its_gen),
          process(its_process),
          loop(*policy, report) {}

    const std::shared_ptr<const WaitPolicy> policy;
    SplitMix64 gen;
    const size_t process;
    WaitReport report;
    WaitLoop loop;
  };

  struct Process {
    std::shared_ptr<MemoryBudgetStore> store;
    std::shared_ptr<RateLimiter> limiter;
    std::vector<std::shared_ptr<Wait>> waits;
    bool is_alive = true;
    double served = 0;  // In this phase.
  };

  void AddProcess();
  std::shared_ptr<RateLimiter> MakeLimiter(
      const std::shared_ptr<MemoryBudgetStore>& store);
  void AddWaits(size_t index);
  // Calls `act` for each of the first `count` live processes that have waits
  // or, with `busy` false, have none.
  void ForFirst(int count, bool busy, const std::function<void(size_t)>& act);
  void Kill(Process& process);
  void Apply(const BudgetEvent& event);
  void EndPhase();
  void Follow(Wait& wait, NextStep step);
  void OnArrival(const std::weak_ptr<Wait>& wait, size_t process);
  void CallAfter(nanoseconds delay, std::function<void()> call) {
    clock_.CallAt(clock_.MonotonicNow() + delay, std::move(call));
  }

  const BudgetsOptions& options_;
  const Limiting limiting_;
  SplitMix64 gen_;
  NetworkDelay network_;
  TokenBucket api_;
  // Outlives the limiters, which use it when they leave.
  VirtualClock clock_;
  const std::shared_ptr<BudgetBook> book_ = std::make_shared<BudgetBook>();
  bool store_is_lost_ = false;
  // Pointers to them stay valid.
  std::deque<Process> processes_;
  // Calls of processes that ended.
  int64_t store_calls_ = 0;
  BudgetsPart phase_;
  BudgetsRun run_;
};

BudgetsRun Simulation::Play() {
  run_.seconds.resize(
      static_cast<size_t>(absl::ToInt64Seconds(options_.duration)));
  for (int i = 0; i < options_.processes; ++i) AddProcess();
  for (int i = 0; i < options_.busy; ++i) AddWaits(static_cast<size_t>(i));

  for (const BudgetEvent& event : options_.events) {
    clock_.Advance(event.time - clock_.Elapsed());
    EndPhase();
    Apply(event);
  }
  clock_.Advance(options_.duration - clock_.Elapsed());
  EndPhase();

  BudgetsPart& total = run_.total;
  total.end = options_.duration;
  for (const BudgetsPart& phase : run_.phases) {
    const double share = absl::FDivDuration(phase.end - phase.begin, total.end);
    total.polls += phase.polls;
    total.throttled += phase.throttled;
    total.used += phase.used * share;
    total.fairness += phase.fairness * share;
  }
  for (const Process& process : processes_) {
    if (process.is_alive) store_calls_ += process.store->calls();
  }
  run_.store_calls_per_second = static_cast<double>(store_calls_) /
                                absl::ToDoubleSeconds(options_.duration);
  return std::move(run_);
}

void Simulation::AddProcess() {
  Process& process = processes_.emplace_back();
  process.store = std::make_shared<MemoryBudgetStore>(
      clock_, VirtualClock::CallAtOf(clock_), book_);
  if (store_is_lost_) process.store->Cut();
  process.limiter = MakeLimiter(process.store);
}

std::shared_ptr<RateLimiter> Simulation::MakeLimiter(
    const std::shared_ptr<MemoryBudgetStore>& store) {
  const auto share = [](const std::shared_ptr<MemoryBudgetStore>& between,
                        double rate) {
    return *SharedRateLimiter::Make(
        between, {.name = std::string(kBudget), .rate = rate});
  };
  // A limiter that shares nothing has the rate for itself.
  const auto alone = [&](double rate) {
    return share(std::make_shared<MemoryBudgetStore>(
                     clock_, VirtualClock::CallAtOf(clock_),
                     std::make_shared<BudgetBook>()),
                 rate)
        ->MakeAlike();
  };
  switch (limiting_) {
    case Limiting::kAdaptive:
      return *AdaptiveRateLimiter::Make({});
    case Limiting::kWhole:
      return alone(options_.polls_per_second);
    case Limiting::kPart:
      return alone(options_.polls_per_second / options_.processes);
    case Limiting::kShared:
      return share(store, options_.polls_per_second);
    case Limiting::kSharedAdaptive:
      break;
  }
  return *SharedRateLimiter::Make(store, {.name = std::string(kBudget)});
}

void Simulation::AddWaits(size_t index) {
  Process& process = processes_[index];
  const auto policy =
      WaitPolicy::Make({.timeout = absl::InfiniteDuration(),
                        .backoff = {.initial_delay = options_.every,
                                    .max_delay = 1.2 * options_.every,
                                    .multiplier = 1,
                                    .jitter = Jitter::Proportional(0.2)},
                        .budgets = {.rate_limiter = process.limiter}});
  for (int i = 0; i < options_.waits; ++i) {
    auto wait = std::make_shared<Wait>(policy, SplitMix64(gen_()), index);
    process.waits.push_back(wait);
    // A program does not start all at the same instant.
    CallAfter(absl::ToChronoNanoseconds(options_.every *
                                        absl::Uniform(gen_, 0.0, 1.0)),
              [this, weak = std::weak_ptr<Wait>(wait)] {
                const auto self = weak.lock();
                if (self == nullptr) return;
                const MonotonicTime now = clock_.MonotonicNow();
                Follow(*self,
                       self->loop.Start(now, self->policy->DeadlineFrom(now),
                                        NoStop));
              });
  }
}

void Simulation::ForFirst(int count, bool busy,
                          const std::function<void(size_t)>& act) {
  for (size_t i = 0; count > 0 && i < processes_.size(); ++i) {
    if (!processes_[i].is_alive || processes_[i].waits.empty() == busy) {
      continue;
    }
    act(i);
    --count;
  }
}

void Simulation::Kill(Process& process) {
  // The store does not learn of it.
  process.store->Cut();
  store_calls_ += process.store->calls();
  process.waits.clear();
  process.limiter = nullptr;
  process.is_alive = false;
}

void Simulation::Apply(const BudgetEvent& event) {
  switch (event.kind) {
    case BudgetEvent::Kind::kStoreLost:
      store_is_lost_ = true;
      book_->Clear();
      for (Process& process : processes_) process.store->Cut();
      break;
    case BudgetEvent::Kind::kStoreBack:
      store_is_lost_ = false;
      for (Process& process : processes_) process.store->Heal();
      break;
    case BudgetEvent::Kind::kJoin:
      for (int i = 0; i < event.processes; ++i) {
        AddProcess();
        AddWaits(processes_.size() - 1);
      }
      break;
    case BudgetEvent::Kind::kDie:
      ForFirst(event.processes, /*busy=*/true,
               [this](size_t i) { Kill(processes_[i]); });
      break;
    case BudgetEvent::Kind::kMove: {
      std::vector<size_t> to;
      ForFirst(event.processes, /*busy=*/false,
               [&](size_t i) { to.push_back(i); });
      ForFirst(event.processes, /*busy=*/true,
               [this](size_t i) { processes_[i].waits.clear(); });
      for (const size_t i : to) AddWaits(i);
      break;
    }
  }
}

void Simulation::EndPhase() {
  phase_.end = clock_.Elapsed();
  if (phase_.end > phase_.begin) {
    std::vector<double> served;
    for (Process& process : processes_) {
      if (!process.waits.empty()) served.push_back(process.served);
      process.served = 0;
    }
    phase_.fairness = JainIndex(served);
    phase_.used = static_cast<double>(phase_.polls - phase_.throttled) /
                  (options_.polls_per_second *
                   absl::ToDoubleSeconds(phase_.end - phase_.begin));
    run_.phases.push_back(phase_);
  }
  const absl::Duration begin = phase_.end;
  phase_ = {};
  phase_.begin = begin;
}

void Simulation::Follow(Wait& wait, NextStep step) {
  const std::weak_ptr<Wait> weak = wait.weak_from_this();
  if (step.action() == NextStep::Action::kPoll) {
    CallAfter(network_.Draw(gen_), [this, weak, process = wait.process] {
      OnArrival(weak, process);
    });
  } else if (step.action() == NextStep::Action::kSleep) {
    clock_.CallAt(step.wake_up(), [this, weak] {
      const auto woken = weak.lock();
      if (woken == nullptr) return;
      Follow(*woken, woken->loop.OnWake(clock_.MonotonicNow(), NoStop));
    });
  }
}

void Simulation::OnArrival(const std::weak_ptr<Wait>& wait, size_t process) {
  const nanoseconds now = absl::ToChronoNanoseconds(clock_.Elapsed());
  const bool passes = api_.Take(now);
  const auto second = static_cast<size_t>(now / std::chrono::seconds(1));
  if (second < run_.seconds.size()) run_.seconds[second].Add(!passes);
  phase_.Add(!passes);
  if (passes) ++processes_[process].served;

  CallAfter(network_.Draw(gen_), [this, wait, passes] {
    const auto asked = wait.lock();
    if (asked == nullptr) return;
    asked->report.last_poll =
        passes ? PollStatus::kNotReady : PollStatus::kThrottled;
    Follow(*asked,
           asked->loop.OnPoll(clock_.MonotonicNow(), asked->gen, NoStop));
  });
}

}  // namespace

std::vector<Limiting> AllLimiting() {
  return {Limiting::kAdaptive, Limiting::kWhole, Limiting::kPart,
          Limiting::kShared, Limiting::kSharedAdaptive};
}

std::string_view ToString(Limiting limiting) {
  switch (limiting) {
    case Limiting::kAdaptive:
      return "own, adaptive";
    case Limiting::kWhole:
      return "own, whole rate";
    case Limiting::kPart:
      return "own, rate / n";
    case Limiting::kShared:
      return "shared";
    case Limiting::kSharedAdaptive:
      break;
  }
  return "shared, adaptive";
}

std::string BudgetEvent::ToString() const {
  for (const KindName& known : kKinds) {
    if (known.kind != kind) continue;
    std::string text = absl::StrCat(cli::TimeText(time), ":", known.name);
    if (known.has_number) absl::StrAppend(&text, ":", processes);
    return text;
  }
  return "";
}

absl::StatusOr<std::vector<BudgetEvent>> ParseBudgetEvents(
    std::string_view text) {
  std::vector<BudgetEvent> events;
  if (text == "none") return events;
  for (const std::string_view part : absl::StrSplit(text, ',')) {
    const absl::StatusOr<BudgetEvent> event = ParseEvent(part);
    if (!event.ok()) return event.status();
    events.push_back(*event);
  }
  return events;
}

std::vector<BudgetEvent> DefaultBudgetEvents(const BudgetsOptions& options) {
  using Kind = BudgetEvent::Kind;
  const absl::Duration eighth = options.duration / 8;
  const int idle = options.processes - options.busy;
  std::vector<BudgetEvent> events = {
      {2 * eighth, Kind::kMove, std::min(options.busy, idle)},
      {3 * eighth, Kind::kStoreLost},
      {4 * eighth, Kind::kStoreBack},
      {5 * eighth, Kind::kJoin,
       std::min(options.processes / 2, kMaxProcesses - options.processes)},
      {6 * eighth, Kind::kDie, options.busy * 3 / 4}};
  std::erase_if(events, [](const BudgetEvent& event) {
    return event.processes == 0 && event.kind != Kind::kStoreLost &&
           event.kind != Kind::kStoreBack;
  });
  return events;
}

absl::Status Validate(const BudgetsOptions& options) {
  if (options.processes < 1 || options.processes > kMaxProcesses) {
    return OutOfRange("processes", options.processes,
                      absl::StrCat("between 1 and ", kMaxProcesses));
  }
  if (options.busy < 0 || options.busy > options.processes) {
    return OutOfRange("busy", options.busy,
                      absl::StrCat("between 0 and ", options.processes,
                                   ", the number of processes"));
  }
  if (options.waits < 1 || options.waits > 1000) {
    return OutOfRange("waits", options.waits, "between 1 and 1000");
  }
  if (options.every < absl::Milliseconds(100) ||
      options.every > absl::Hours(1)) {
    return OutOfRange("every", absl::FormatDuration(options.every),
                      "between 100ms and 1h");
  }
  // The conditions are written so that NaN fails them.
  if (!(options.polls_per_second >= 0.1 && options.polls_per_second <= 1e5)) {
    return OutOfRange("polls_per_second", options.polls_per_second,
                      "between 0.1 and 100000");
  }
  if (!(options.burst >= 1 && options.burst <= 1e6)) {
    return OutOfRange("burst", options.burst, "between 1 and 1000000");
  }
  if (options.duration < absl::Seconds(1) ||
      options.duration > absl::Hours(1)) {
    return OutOfRange("duration", absl::FormatDuration(options.duration),
                      "between 1s and 1h");
  }
  if (absl::Status status = Validate(options.network); !status.ok()) {
    return status;
  }
  return CheckEvents(options);
}

absl::StatusOr<BudgetsRun> SimulateBudgets(const BudgetsOptions& options,
                                           Limiting limiting, uint64_t seed) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return Simulation(options, limiting, seed).Play();
}

}  // namespace waiter::sim
