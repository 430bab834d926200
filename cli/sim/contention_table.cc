// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/contention_table.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/contention.h"
#include "waiter/backoff.h"

namespace waiter::sim {
namespace {

// Mean and deviation by Welford's method, which loses no digits to
// cancellation.
class Moments {
 public:
  void Add(double value) {
    ++count_;
    const double off = value - mean_;
    mean_ += off / count_;
    squares_ += off * (value - mean_);
  }
  double mean() const { return mean_; }
  double deviation() const {
    return count_ > 1 ? std::sqrt(squares_ / (count_ - 1)) : 0;
  }

 private:
  double count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// One size and rule, with its own stream of random numbers.
struct Cell {
  ContentionModel model;
  uint64_t seed;
  ContentionRow* row;
};

void Fill(const Cell& cell, int runs) {
  SplitMix64 gen(cell.seed);
  Moments time_ms;
  Moments calls;
  for (int i = 0; i < runs; ++i) {
    const ContentionRun run = cell.model.Run(gen);
    time_ms.Add(absl::ToDoubleMilliseconds(run.time));
    calls.Add(static_cast<double>(run.calls));
  }
  cell.row->time_ms = time_ms.mean();
  cell.row->calls = calls.mean();
  cell.row->time_ms_deviation = time_ms.deviation();
  cell.row->calls_deviation = calls.deviation();
}

}  // namespace

std::vector<NamedBackoff> ArticleRules() {
  const auto rule = [](absl::Duration initial_delay, Jitter jitter) {
    return BackoffOptions{.initial_delay = initial_delay,
                          .max_delay = absl::Seconds(2),
                          .jitter = jitter,
                          .min_delay = absl::ZeroDuration()};
  };
  return {
      {"None", rule(absl::ZeroDuration(), Jitter::None())},
      {"Exponential", rule(absl::Milliseconds(10), Jitter::None())},
      {"EqualJitter", rule(absl::Milliseconds(10), Jitter::Equal())},
      {"FullJitter", rule(absl::Milliseconds(10), Jitter::Full())},
      {"Decorr", rule(absl::Milliseconds(5), Jitter::Decorrelated())},
  };
}

std::vector<int> ArticleSizes() {
  std::vector<int> sizes;
  for (int clients = 10; clients <= 190; clients += 10) {
    sizes.push_back(clients);
  }
  return sizes;
}

absl::StatusOr<std::vector<ContentionRow>> SimulateContentionTable(
    const ContentionTableOptions& options) {
  std::vector<ContentionRow> rows(options.sizes.size() * options.rules.size());
  std::vector<Cell> cells;
  SplitMix64 seeds(options.seed);
  for (const int clients : options.sizes) {
    for (const NamedBackoff& rule : options.rules) {
      absl::StatusOr<ContentionModel> model =
          ContentionModel::Make({.clients = clients,
                                 .backoff = rule.backoff,
                                 .network = options.network});
      if (!model.ok()) return model.status();
      ContentionRow& row = rows[cells.size()];
      row.clients = clients;
      row.rule = rule.name;
      cells.push_back({*std::move(model), seeds(), &row});
    }
  }

  // The largest sizes come first, so that none is left for one thread at the
  // end.
  std::stable_sort(cells.begin(), cells.end(),
                   [](const Cell& a, const Cell& b) {
                     return a.row->clients > b.row->clients;
                   });
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < cells.size();) Fill(cells[i], options.runs);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < options.threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return rows;
}

}  // namespace waiter::sim
