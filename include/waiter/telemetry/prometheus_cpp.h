// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Metrics for the library prometheus-cpp, whose `Exposer` or `Gateway` exports
// them with the other metrics of the program:
//
//   const auto metrics = std::make_shared<waiter::MetricsTable>();
//   waiter::ObserveEveryWait(
//       std::make_shared<waiter::MetricsObserver>(metrics));
//   const auto collectable =
//       std::make_shared<waiter::PrometheusCollectable>(metrics);
//   prometheus::Exposer exposer("127.0.0.1:9464");
//   exposer.RegisterCollectable(collectable);
//
// prometheus-cpp is not a dependency of Waiter: a program that includes this
// header must provide it. Tested with version 1.0.

#ifndef WAITER_TELEMETRY_PROMETHEUS_CPP_H_
#define WAITER_TELEMETRY_PROMETHEUS_CPP_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "prometheus/client_metric.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "prometheus/metric_type.h"
#include "waiter/telemetry/metrics.h"

namespace waiter {

// Thread-safe. Waits never call prometheus-cpp; a scrape reads the table.
class PrometheusCollectable : public prometheus::Collectable {
 public:
  // `table` must not be null.
  explicit PrometheusCollectable(std::shared_ptr<const MetricsTable> table)
      : table_(std::move(table)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    for (const MetricFamily& family : table_->Collect()) {
      prometheus::MetricFamily& out = families.emplace_back();
      out.name = PrometheusName(family.info);
      out.help = std::string(family.info.description);
      out.type = TypeOf(family.info.kind);
      for (const MetricSample& sample : family.samples) {
        out.metric.push_back(Convert(family, sample));
      }
    }
    return families;
  }

 private:
  static prometheus::MetricType TypeOf(InstrumentKind kind) {
    switch (kind) {
      case InstrumentKind::kHistogram:
        return prometheus::MetricType::Histogram;
      case InstrumentKind::kCounter:
        return prometheus::MetricType::Counter;
      default:
        return prometheus::MetricType::Gauge;
    }
  }

  static prometheus::ClientMetric Convert(const MetricFamily& family,
                                          const MetricSample& sample) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) {
      metric.label.push_back({std::string(name), PrometheusLabelValue(value)});
    }
    switch (family.info.kind) {
      case InstrumentKind::kHistogram: {
        uint64_t count = 0;
        for (size_t i = 0; i < sample.buckets.size(); ++i) {
          count += sample.buckets[i];
          metric.histogram.bucket.push_back(
              {count, i < family.bounds.size()
                          ? family.bounds[i]
                          : std::numeric_limits<double>::infinity()});
        }
        metric.histogram.sample_count = count;
        metric.histogram.sample_sum = sample.value;
        break;
      }
      case InstrumentKind::kCounter:
        metric.counter.value = sample.value;
        break;
      default:
        metric.gauge.value = sample.value;
    }
    return metric;
  }

  const std::shared_ptr<const MetricsTable> table_;
};

}  // namespace waiter

#endif  // WAITER_TELEMETRY_PROMETHEUS_CPP_H_
