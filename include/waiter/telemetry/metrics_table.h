// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Keeps the metrics of waits in memory, to be read on request:
//
//   const auto metrics = std::make_shared<waiter::MetricsTable>();
//   waiter::ObserveEveryWait(
//       std::make_shared<waiter::MetricsObserver>(metrics));
//   metrics->Watch("main", engine);  // Gauges of an engine.
//   ...
//   http_server.Handle("/metrics",
//                      [&] { return waiter::PrometheusText(*metrics); });
//
// telemetry/prometheus_cpp.h gives the same to the library prometheus-cpp.

#ifndef WAITER_TELEMETRY_METRICS_TABLE_H_
#define WAITER_TELEMETRY_METRICS_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waiter/clock.h"
#include "waiter/rate_limiter.h"
#include "waiter/retry_quota.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/wait_engine.h"

namespace waiter {

// The values of one set of labels.
struct MetricSample {
  std::vector<std::pair<std::string_view, std::string>> labels;

  // Of a counter or a gauge; of a histogram, the sum of its values.
  double value = 0;

  // Of a histogram: the number of values in each bucket, not cumulative. There
  // is one bucket for each of `MetricFamily::bounds`, for values up to that,
  // and one for those above.
  std::vector<uint64_t> buckets;
};

// All samples of one metric.
struct MetricFamily {
  InstrumentInfo info;
  std::vector<double> bounds;  // Of a histogram; ascending.
  std::vector<MetricSample> samples;
};

// Thread-safe. `Record` and `Add` take no lock, and threads that record at the
// same time mostly write to memory of their own. A series takes 1.5 KB from its
// first value on; there are at most 42 for each of 101 operations.
class MetricsTable : public MetricsSink {
 public:
  MetricsTable();
  ~MetricsTable() override;

  void Record(const MetricSeries& series, double value) override;
  void Add(const MetricSeries& series, int64_t value) override;

  // Adds gauges with the label `name`, which are read by `Collect`:
  //
  //   waiter.engine.pending, .due, .polls, .lateness
  //   waiter.retry_quota.tokens
  //   waiter.rate_limiter.rate     polls per second that may pass
  //
  // Replaces an object of the same type that was watched under this name. An
  // engine must outlive this, unless `Forget` is called before its end. The
  // clock must be that of the waits that use the quota.
  void Watch(std::string name, const WaitEngine& engine);
  void Watch(std::string name, std::shared_ptr<const RetryQuota> quota,
             Clock& clock = GetRealClock());
  void Watch(std::string name, std::shared_ptr<const RateLimiter> limiter);

  // Removes the gauges with this name. Blocks while `Collect` reads them;
  // afterwards nothing reads their objects.
  void Forget(std::string_view name);

  // Returns all metrics that have a value. Values that are recorded meanwhile
  // may be missing.
  std::vector<MetricFamily> Collect() const;

 private:
  class Series;
  class Watched;

  Series& SeriesOf(const MetricSeries& series);

  struct Slots;
  const std::unique_ptr<Slots> slots_;
  const std::unique_ptr<Watched> watched_;
};

}  // namespace waiter

#endif  // WAITER_TELEMETRY_METRICS_TABLE_H_
