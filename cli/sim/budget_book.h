// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of a store of shared budgets, in memory. It repeats the
// scripts of `RedisBudgetStore` line by line. `MemoryBudgetStore`
// (memory_budget_store.h) puts a network between it and its users.

#ifndef WAITER_CLI_SIM_BUDGET_BOOK_H_
#define WAITER_CLI_SIM_BUDGET_BOOK_H_

#include <map>
#include <string>

#include "waiter/redis/shared_budgets.h"

namespace waiter::sim {

// Thread-compatible. Times are in microseconds, as in Redis.
class BudgetBook {
 public:
  RateGrant Grant(const RateRequest& request, double now);
  QuotaGrant Sync(const QuotaRequest& request, double now);

  // As after FLUSHALL.
  void Clear() { *this = {}; }

  // Level of the quota plus the tokens of all its members.
  double TokensOf(const std::string& quota) const;

 private:
  struct Rate {
    double tat = 0;
    double rate = 0;
    double w = 0;
    double cut = 0;
    double window = 0;
    double count = 0;
    double measured = 0;
    double swept = 0;
    double served = 0;
    double calls = 0;
    bool limiting = false;
    std::map<std::string, double> seen;
    std::map<std::string, double> busy;
    std::map<std::string, double> taken;
  };
  struct Quota {
    bool exists = false;
    double level = 0;
    double at = 0;
    double total = 0;
    std::map<std::string, double> held = {};
    std::map<std::string, double> ends = {};
    std::map<std::string, double> spent = {};
  };

  static void Measure(Rate& rate, const RateRequest& request, double now);
  static void Adapt(Rate& rate, const RateRequest& request, double now);

  std::map<std::string, Rate> rates_;
  std::map<std::string, Quota> quotas_;
};

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_BUDGET_BOOK_H_
