// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The `MemoryBudgetStore` of the simulator on the clock of tests:
//
//   SimulatedClock clock(SimulatedClock::Mode::kManual);
//   const auto store = std::make_shared<SimulatedBudgetStore>(
//       clock, std::make_shared<sim::BudgetBook>());

#ifndef WAITER_TESTS_SUPPORT_SIMULATED_BUDGET_STORE_H_
#define WAITER_TESTS_SUPPORT_SIMULATED_BUDGET_STORE_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "cli/sim/memory_budget_store.h"
#include "waiter/clock.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// Use this only on the thread that moves the clock.
class SimulatedBudgetStore final : public sim::MemoryBudgetStore {
 public:
  SimulatedBudgetStore(SimulatedClock& clock,
                       std::shared_ptr<sim::BudgetBook> book)
      : MemoryBudgetStore(
            clock,
            [&clock](MonotonicTime time, std::function<void()> call) {
              clock.CallAt(clock.Elapsed() +
                               absl::FromChrono(time - clock.MonotonicNow()),
                           std::move(call));
            },
            std::move(book)) {}
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_SIMULATED_BUDGET_STORE_H_
