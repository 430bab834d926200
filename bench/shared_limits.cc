// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Simulates 2 to 100 processes under one limit, with a limiter that they share
// and with one for each. Prints how much of the limit they use, how soon their
// shares are equal after processes join, leave and die, and the work of the
// store. Each run prints the same.
//
//   ./bazelw run -c opt //bench:shared_limits

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "cli/sim/memory_budget_store.h"
#include "cli/sim/virtual_clock.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter {
namespace {

constexpr double kRate = 1000;

// A process whose waits poll as often as its limiter allows.
class Process {
 public:
  Process(sim::VirtualClock& clock, std::shared_ptr<sim::BudgetBook> book,
          bool shares)
      : clock_(clock),
        store_(std::make_shared<sim::MemoryBudgetStore>(
            clock, sim::VirtualClock::CallAtOf(clock), std::move(book))) {
    const auto shared =
        *SharedRateLimiter::Make(store_, {.name = "api", .rate = kRate});
    limiter_ = shares ? shared : shared->MakeAlike();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Add(int waits) {
    is_busy_ = true;
    for (int i = 0; i < waits; ++i) Poll();
  }
  // Tells the store, as the destructor of the limiter does.
  void Leave() {
    is_busy_ = false;
    limiter_ = nullptr;
  }
  void Die() {
    is_busy_ = false;
    store_->Cut();
  }

  bool is_busy() const { return is_busy_; }
  int64_t calls() const { return store_->calls(); }
  // Returns the number of polls since the last call.
  int64_t TakePolls() { return std::exchange(polls_, 0); }

 private:
  void Poll() {
    if (!is_busy_) return;
    const MonotonicTime now = clock_.MonotonicNow();
    MonotonicTime next = limiter_->Acquire(now);
    if (next <= now) {
      ++polls_;
      limiter_->Update(now, PollStatus::kNotReady);
      next = now + std::chrono::milliseconds(1);
    }
    clock_.CallAt(next, [this] { Poll(); });
  }

  sim::VirtualClock& clock_;
  const std::shared_ptr<sim::MemoryBudgetStore> store_;
  std::shared_ptr<RateLimiter> limiter_;
  bool is_busy_ = false;
  int64_t polls_ = 0;
};

class Processes {
 public:
  explicit Processes(bool shares) : shares_(shares) {}

  void Add(int count, int waits) {
    for (int i = 0; i < count; ++i) {
      processes_.push_back(std::make_unique<Process>(clock_, book_, shares_));
      processes_.back()->Add(waits);
    }
  }
  void Run(absl::Duration time) { clock_.Advance(time); }

  // Calls a function of the first `count` busy processes.
  void ForBusy(int count, void (Process::*act)()) {
    for (const auto& process : processes_) {
      if (count > 0 && process->is_busy()) {
        ((*process).*act)();
        --count;
      }
    }
  }

  // Returns the polls of each busy process since the last call.
  std::vector<double> TakePolls() {
    std::vector<double> polls;
    for (const auto& process : processes_) {
      const auto count = static_cast<double>(process->TakePolls());
      if (process->is_busy()) polls.push_back(count);
    }
    return polls;
  }
  int64_t calls() const {
    int64_t calls = 0;
    for (const auto& process : processes_) calls += process->calls();
    return calls;
  }

 private:
  const bool shares_;
  sim::VirtualClock clock_;
  const std::shared_ptr<sim::BudgetBook> book_ =
      std::make_shared<sim::BudgetBook>();
  std::vector<std::unique_ptr<Process>> processes_;
};

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// Returns Jain's index: 1 if all values are equal, and 1/n if all but one are
// zero.
double Fairness(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  const double sum = Sum(values);
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

// Returns the fairness of the five seconds that begin two seconds from now.
double FairnessSoon(Processes& processes) {
  processes.Run(absl::Seconds(2));
  processes.TakePolls();
  processes.Run(absl::Seconds(5));
  const double fairness = Fairness(processes.TakePolls());
  processes.Run(absl::Seconds(13));
  return fairness;
}

void Print(int members) {
  const int waits = std::max(20, 2000 / members);
  Processes shared(/*shares=*/true);
  shared.Add(members, waits);
  shared.Run(absl::Seconds(2));
  shared.TakePolls();
  const int64_t calls = shared.calls();
  shared.Run(absl::Seconds(20));
  const std::vector<double> polls = shared.TakePolls();
  const double calls_per_second =
      static_cast<double>(shared.calls() - calls) / 20 / members;

  const int some = std::max(1, members / 4);
  shared.Add(some, waits);
  const double after_join = FairnessSoon(shared);
  shared.ForBusy(some, &Process::Leave);
  const double after_leave = FairnessSoon(shared);
  shared.ForBusy(some, &Process::Die);
  const double after_death = FairnessSoon(shared);

  Processes own(/*shares=*/false);
  own.Add(members, waits);
  own.Run(absl::Seconds(2));
  own.TakePolls();
  own.Run(absl::Seconds(20));

  std::cout << absl::StrFormat(
      "| %d | %.1f %% | %.3f | %.3f | %.3f | %.3f | %.2f | %.1fx |\n", members,
      100 * Sum(polls) / (20 * kRate), Fairness(polls), after_join, after_leave,
      after_death, calls_per_second, Sum(own.TakePolls()) / (20 * kRate));
}

void PrintAll() {
  std::cout
      << "| members | use of the limit | fairness | 2 s after a join | after a "
         "leave | after a death | store calls/s of each | a limiter for each "
         "|\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const int members : {2, 10, 50, 100}) Print(members);
}

}  // namespace
}  // namespace waiter

int main() { waiter::PrintAll(); }
