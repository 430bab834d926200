// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/durable/client.h"
#include "waiter/durable/worker.h"
#include "waiter/telemetry/metrics.h"

namespace waiter {
namespace {

// Makes families with a sample for each of `objects`, under their names.
template <typename Object>
class Families {
 public:
  using Objects = std::vector<std::pair<std::string, Object>>;

  Families(std::string_view label, const Objects& objects)
      : label_(label), objects_(objects) {}

  template <typename Read>
  void Add(const InstrumentInfo& info, Read read) {
    if (objects_.empty()) return;
    MetricFamily family = {.info = info, .bounds = {}, .samples = {}};
    for (const auto& [name, object] : objects_) {
      family.samples.push_back({.labels = {{label_, name}},
                                .value = static_cast<double>(read(object)),
                                .buckets = {}});
    }
    families_.push_back(std::move(family));
  }

  std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  const std::string_view label_;
  const Objects& objects_;
  std::vector<MetricFamily> families_;
};

constexpr InstrumentKind kGauge = InstrumentKind::kGauge;
constexpr InstrumentKind kCounter = InstrumentKind::kCounter;

}  // namespace

std::vector<MetricFamily> DurableMetrics(
    const std::vector<std::pair<std::string, DurableWaitsState>>& workers) {
  using State = DurableWaitsState;
  Families<State> families("worker", workers);
  families.Add({"waiter.durable.worker.held", "{wait}",
                "Waits that the worker holds.", kGauge},
               [](const State& state) { return state.held; });
  families.Add({"waiter.durable.worker.claimed", "{wait}",
                "Waits that the worker claimed.", kCounter},
               [](const State& state) { return state.claimed; });
  families.Add({"waiter.durable.worker.polls", "{poll}",
                "Polls that the worker made.", kCounter},
               [](const State& state) { return state.polls; });
  families.Add({"waiter.durable.worker.ended", "{wait}",
                "Results that the worker recorded.", kCounter},
               [](const State& state) { return state.ended; });
  families.Add({"waiter.durable.worker.delivered", "{wait}",
                "Results that the worker delivered.", kCounter},
               [](const State& state) { return state.delivered; });
  families.Add(
      {"waiter.durable.worker.lost", "{wait}",
       "Waits lost to another worker before this one wrote.", kCounter},
      [](const State& state) { return state.lost; });
  families.Add({"waiter.durable.worker.unreadable", "{wait}",
                "Records that are damaged or from a newer build.", kCounter},
               [](const State& state) { return state.unreadable; });
  families.Add({"waiter.durable.worker.clock_step", "s",
                "Last jump of a server's clock.", kGauge},
               [](const State& state) {
                 return absl::ToDoubleSeconds(state.clock_step);
               });
  families.Add(
      {"waiter.durable.worker.failing", "",
       "1 if the last call of the store failed.", kGauge},
      [](const State& state) { return state.last_error.ok() ? 0 : 1; });
  return families.Take();
}

std::vector<MetricFamily> DurableMetrics(
    const std::vector<std::pair<std::string, DurableStats>>& names) {
  using Stats = DurableStats;
  Families<Stats> families("name", names);
  families.Add({"waiter.durable.pending", "{wait}",
                "Waits whose result has not been delivered.", kGauge},
               [](const Stats& stats) { return stats.pending; });
  families.Add({"waiter.durable.overdue", "{wait}",
                "Waits that are more than 2 s late.", kGauge},
               [](const Stats& stats) { return stats.overdue; });
  families.Add({"waiter.durable.undelivered", "{wait}",
                "Waits with a result that is not delivered yet.", kGauge},
               [](const Stats& stats) { return stats.undelivered; });
  families.Add({"waiter.durable.kept", "{wait}",
                "Results that were delivered and are kept.", kGauge},
               [](const Stats& stats) { return stats.kept; });
  families.Add(
      {"waiter.durable.oldest", "s", "Lateness of the most overdue wait.",
       kGauge},
      [](const Stats& stats) { return absl::ToDoubleSeconds(stats.oldest); });
  families.Add(
      {"waiter.durable.polls", "{poll}", "Polls that workers made.", kCounter},
      [](const Stats& stats) { return stats.polls; });
  families.Add(
      {"waiter.durable.enqueued", "{wait}", "Waits that were added.", kCounter},
      [](const Stats& stats) {
        for (const auto& [counter, count] : stats.counters) {
          if (counter == "enqueued") return count;
        }
        return int64_t{0};
      });
  std::vector<MetricFamily> all = families.Take();
  MetricFamily ended = {.info = {"waiter.durable.ended", "{wait}",
                                 "Waits that ended, by reason.", kCounter},
                        .bounds = {},
                        .samples = {}};
  for (const auto& [name, stats] : names) {
    for (const auto& [counter, count] : stats.counters) {
      if (counter == "enqueued") continue;
      ended.samples.push_back({.labels = {{"name", name}, {"reason", counter}},
                               .value = static_cast<double>(count),
                               .buckets = {}});
    }
  }
  if (!ended.samples.empty()) all.push_back(std::move(ended));
  return all;
}

}  // namespace waiter
