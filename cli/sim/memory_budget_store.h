// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A store of shared budgets in memory, with a network that can be slow and cut.
// Each process of a simulation has its own, on one `BudgetBook`:
//
//   VirtualClock clock;
//   const auto book = std::make_shared<BudgetBook>();
//   const auto store = std::make_shared<MemoryBudgetStore>(
//       clock, VirtualClock::CallAtOf(clock), book);
//   auto limiter =
//       *SharedRateLimiter::Make(store, {.name = "api", .rate = 20});
//   clock.Advance(absl::Seconds(10));
//   store->Cut();

#ifndef WAITER_CLI_SIM_MEMORY_BUDGET_STORE_H_
#define WAITER_CLI_SIM_MEMORY_BUDGET_STORE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "waiter/clock.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::sim {

// For one thread, the one that moves the clock.
class MemoryBudgetStore : public BudgetStore {
 public:
  // Calls a function once when a clock reaches a time, never immediately.
  using CallAt = std::function<void(MonotonicTime, std::function<void()>)>;

  // `call_at` calls by `clock`, which must outlive it. A message takes
  // `one_way` each way.
  MemoryBudgetStore(Clock& clock, CallAt call_at,
                    std::shared_ptr<BudgetBook> book,
                    absl::Duration one_way = absl::Microseconds(150))
      : clock_(clock),
        call_at_(std::move(call_at)),
        book_(std::move(book)),
        one_way_(one_way) {}

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
    call_at_(time, std::move(timer));
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

  // Returns the number of requests, including failed ones.
  int64_t calls() const { return calls_; }

 private:
  // The time of the store, in microseconds, differs from the processes' time.
  static double StoreTime(Clock& clock) {
    using Micros = std::chrono::duration<double, std::micro>;
    return 1.79e15 + Micros(clock.MonotonicNow().time_since_epoch()).count();
  }

  MonotonicTime AfterOneWay() {
    return clock_.MonotonicNow() + absl::ToChronoNanoseconds(one_way_);
  }

  // Calls may be in progress when this is destroyed, as they are when a process
  // ends.
  template <typename T, typename Run>
  void Call(Run run, std::function<void(absl::StatusOr<T>)> callback) {
    ++calls_;
    Clock& clock = clock_;
    if (is_cut_) {
      if (loses_answers_) {
        call_at_(AfterOneWay(), [&clock, run] { run(StoreTime(clock)); });
      }
      call_at_(AfterOneWay(), [callback = std::move(callback)] {
        callback(absl::UnavailableError("cut"));
      });
      return;
    }
    call_at_(AfterOneWay(), [&clock, call_at = call_at_, one_way = one_way_,
                             run, callback = std::move(callback)] {
      call_at(clock.MonotonicNow() + absl::ToChronoNanoseconds(one_way),
              [callback, answer = run(StoreTime(clock))] { callback(answer); });
    });
  }

  Clock& clock_;
  const CallAt call_at_;
  const std::shared_ptr<BudgetBook> book_;
  absl::Duration one_way_;
  bool is_cut_ = false;
  bool loses_answers_ = false;
  int64_t calls_ = 0;
};

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_MEMORY_BUDGET_STORE_H_
