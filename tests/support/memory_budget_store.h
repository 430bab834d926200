// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A store of shared budgets on simulated time, with a network that tests can
// delay and cut. Each process of a simulation has its own, on one `BudgetBook`:
//
//   SimulatedClock clock;
//   const auto book = std::make_shared<BudgetBook>();
//   const auto store = std::make_shared<MemoryBudgetStore>(clock, book);
//   auto limiter = *SharedRateLimiter::Make(store, {.name = "api", .rate =
//   20}); store->Cut();

#ifndef WAITER_TESTS_SUPPORT_MEMORY_BUDGET_STORE_H_
#define WAITER_TESTS_SUPPORT_MEMORY_BUDGET_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/support/budget_book.h"
#include "waiter/clock.h"
#include "waiter/distributed/budget_store.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// For one thread, that which moves the clock.
class MemoryBudgetStore final : public BudgetStore {
 public:
  MemoryBudgetStore(SimulatedClock& clock, std::shared_ptr<BudgetBook> book,
                    absl::Duration one_way = absl::Microseconds(150))
      : clock_(clock), book_(std::move(book)), one_way_(one_way) {}

  void Grant(RateRequest request, RateCallback callback) override {
    Call<RateGrant>([book = book_, request = std::move(request)](
                        double now) { return book->Grant(request, now); },
                    std::move(callback));
  }
  void Sync(QuotaRequest request, QuotaCallback callback) override {
    Call<QuotaGrant>([book = book_, request = std::move(request)](
                         double now) { return book->Sync(request, now); },
                     std::move(callback));
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    const MonotonicTime now = clock_.MonotonicNow();
    clock_.CallAt(clock_.Elapsed() + absl::FromChrono(time - now),
                  std::move(timer));
  }
  Clock& clock() override { return clock_; }

  // All requests from now on fail. With `loses_answers`, the store carries them
  // out nevertheless.
  void Cut(bool loses_answers = false) {
    is_cut_ = true;
    loses_answers_ = loses_answers;
  }
  void Heal() { is_cut_ = false; }
  void set_one_way(absl::Duration time) { one_way_ = time; }
  int64_t calls() const { return calls_; }

 private:
  // The time of the store differs from that of processes.
  static double StoreTime(SimulatedClock& clock) {
    return 1.79e15 + absl::ToDoubleMicroseconds(clock.Elapsed());
  }

  // Calls may be under way when this is destroyed, as they are when a process
  // ends.
  template <typename T, typename Run>
  void Call(Run run, std::function<void(absl::StatusOr<T>)> callback) {
    ++calls_;
    SimulatedClock& clock = clock_;
    const absl::Duration arrival = clock.Elapsed() + one_way_;
    if (is_cut_) {
      if (loses_answers_) {
        clock.CallAt(arrival, [&clock, run] { run(StoreTime(clock)); });
      }
      clock.CallAt(arrival, [callback = std::move(callback)] {
        callback(absl::UnavailableError("cut"));
      });
      return;
    }
    clock.CallAt(arrival, [&clock, one_way = one_way_, run,
                           callback = std::move(callback)] {
      clock.CallAt(
          clock.Elapsed() + one_way,
          [callback, answer = run(StoreTime(clock))] { callback(answer); });
    });
  }

  SimulatedClock& clock_;
  const std::shared_ptr<BudgetBook> book_;
  absl::Duration one_way_;
  bool is_cut_ = false;
  bool loses_answers_ = false;
  int64_t calls_ = 0;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_MEMORY_BUDGET_STORE_H_
