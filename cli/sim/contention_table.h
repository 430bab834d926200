// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The contention model over many sizes and rules: the table behind the charts
// of "Exponential Backoff And Jitter".
//
//   absl::StatusOr<std::vector<waiter::sim::ContentionRow>> rows =
//       waiter::sim::SimulateContentionTable({});
//
// The default options are the article's own: 10 to 190 clients, five rules, 100
// runs of each, 60 million messages.

#ifndef WAITER_CLI_SIM_CONTENTION_TABLE_H_
#define WAITER_CLI_SIM_CONTENTION_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/sim/network.h"
#include "waiter/backoff.h"

namespace waiter::sim {

// A rule of delays and its name in tables.
struct NamedBackoff {
  std::string name;
  BackoffOptions backoff;
};

// Returns the five rules of the article: None, Exponential, EqualJitter,
// FullJitter and Decorr. Its base is 5 ms and its cap 2 s; its nth delay is
// under base * 2^n, n from 1, so that the first ceiling is 10 ms, while
// decorrelated delays start from the base.
std::vector<NamedBackoff> ArticleRules();

// Returns 10, 20, ..., 190.
std::vector<int> ArticleSizes();

struct ContentionTableOptions {
  std::vector<int> sizes = ArticleSizes();
  std::vector<NamedBackoff> rules = ArticleRules();
  int runs = 100;  // Runs of each size and rule, at least 1.
  NetworkOptions network = {};
  uint64_t seed = 1;

  // Number of threads, at least 1, the calling one included. The rows do not
  // depend on it.
  int threads = 1;
};

// Means over the runs of one size and rule.
struct ContentionRow {
  int clients;
  std::string rule;
  double time_ms;
  double calls;

  // Standard deviations of single runs.
  double time_ms_deviation;
  double calls_deviation;
};

// Returns one row for each size and rule: first all rules of the first size, in
// order. Returns the error of `ContentionModel::Make`.
absl::StatusOr<std::vector<ContentionRow>> SimulateContentionTable(
    const ContentionTableOptions& options);

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_CONTENTION_TABLE_H_
