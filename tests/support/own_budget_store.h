// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A store of shared budgets as a user might write one, on simulated time: it
// does only what `BudgetStore` requires, and tests choose each answer.
//
//   SimulatedClock clock(SimulatedClock::Mode::kManual);
//   const auto store = std::make_shared<OwnBudgetStore>(clock);
//   store->on_grant = [](const RateRequest& request) {
//     return RateGrant{.granted = request.want, ...};
//   };

#ifndef WAITER_TESTS_SUPPORT_OWN_BUDGET_STORE_H_
#define WAITER_TESTS_SUPPORT_OWN_BUDGET_STORE_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// Use this only on the thread that moves the clock.
class OwnBudgetStore final : public BudgetStore {
 public:
  explicit OwnBudgetStore(SimulatedClock& clock)
      : clock_(clock), pending_(std::make_shared<Pending>()) {}

  // Answers the requests that are in progress, and forgets the timers.
  ~OwnBudgetStore() override {
    std::map<int, std::function<void(absl::Status)>> left;
    left.swap(pending_->calls);
    pending_->timers.clear();
    for (const auto& [id, fail] : left) fail(absl::CancelledError("closed"));
  }

  void Grant(RateRequest request, RateCallback callback) override {
    rates.push_back(request);
    Answer<RateGrant>(on_grant(request), std::move(callback));
  }
  void Sync(QuotaRequest request, QuotaCallback callback) override {
    quotas.push_back(request);
    Answer<QuotaGrant>(on_sync(request), std::move(callback));
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    const int id = pending_->next++;
    pending_->timers[id] = std::move(timer);
    const MonotonicTime now = clock_.MonotonicNow();
    // Distant times would overflow, and no test reaches them.
    const absl::Duration delay =
        time > now ? absl::FromChrono(time - now) : absl::ZeroDuration();
    clock_.CallAt(clock_.Elapsed() + delay, [pending = pending_, id] {
      const auto found = pending->timers.find(id);
      if (found == pending->timers.end()) return;
      const std::function<void()> run = std::move(found->second);
      pending->timers.erase(found);
      run();
    });
  }
  Clock& clock() override { return clock_; }

  // The answers. By default, every member gets all it wants immediately.
  std::function<absl::StatusOr<RateGrant>(const RateRequest&)> on_grant =
      [](const RateRequest& request) {
        return RateGrant{.granted = request.want,
                         .interval = std::chrono::milliseconds(1),
                         .rate = request.rate,
                         .ask_again = std::chrono::milliseconds(250)};
      };
  std::function<absl::StatusOr<QuotaGrant>(const QuotaRequest&)> on_sync =
      [](const QuotaRequest& request) {
        return QuotaGrant{.held = request.has};
      };
  absl::Duration answer_after = absl::Milliseconds(1);
  // Called before and after each callback.
  std::function<void()> before_answer;
  std::function<void()> after_answer;

  std::vector<RateRequest> rates;
  std::vector<QuotaRequest> quotas;

 private:
  // Outlives the store, because the clock's calls use it.
  struct Pending {
    int next = 0;
    std::map<int, std::function<void(absl::Status)>> calls;
    std::map<int, std::function<void()>> timers;
  };

  template <typename T>
  void Answer(absl::StatusOr<T> answer,
              std::function<void(absl::StatusOr<T>)> callback) {
    const int id = pending_->next++;
    pending_->calls[id] = [callback](absl::Status error) {
      callback(std::move(error));
    };
    clock_.CallAt(clock_.Elapsed() + answer_after,
                  [pending = pending_, id, answer = std::move(answer),
                   callback = std::move(callback), before = before_answer,
                   after = after_answer]() mutable {
                    // The callback may destroy the store.
                    const std::function<void(absl::StatusOr<T>)> call =
                        std::move(callback);
                    if (pending->calls.erase(id) == 0) return;
                    if (before != nullptr) before();
                    call(std::move(answer));
                    if (after != nullptr) after();
                  });
  }

  SimulatedClock& clock_;
  const std::shared_ptr<Pending> pending_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_OWN_BUDGET_STORE_H_
