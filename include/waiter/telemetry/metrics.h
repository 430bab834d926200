// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Metrics of waits, engines and budgets, here as a page for Prometheus:
//
//   const auto metrics = std::make_shared<waiter::MetricsTable>();
//   waiter::ObserveEveryWait(
//       std::make_shared<waiter::MetricsObserver>(metrics));
//   metrics->Watch("main", engine);  // Gauges of an engine.
//   ...
//   http_server.Handle("/metrics",
//                      [&] { return waiter::PrometheusText(*metrics); });
//
// A `MetricsObserver` measures waits and gives the values to a `MetricsSink`.
// `MetricsTable` is a sink that keeps them in memory and needs no library;
// telemetry/prometheus_cpp.h hands them to prometheus-cpp. For another metrics
// library, implement `MetricsSink`.
//
// Set `WaitOptions::operation` to the kind of wait:
//
//   waiter::Waiter wait(GetStatus, {.operation = "create instance",
//                                   .timeout = absl::Minutes(5)});
//
// Names of waits and numbers of polls never become labels, so that the number
// of series stays small with any number of waits. Names of metrics follow the
// semantic conventions of OpenTelemetry: a separate namespace, lower case,
// dots, durations in seconds.

#ifndef WAITER_TELEMETRY_METRICS_H_
#define WAITER_TELEMETRY_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

enum class Instrument : uint8_t {
  kWaitDuration,  // Start to end. Labels: operation, stop reason, error type.
  kWaitPolls,     // Polls of a wait. Labels: operation, stop reason.
  kWaitDelay,     // Total time that a wait slept. Label: operation.
  kPollDuration,  // Time of one poll. Labels: operation, status.
  kWaitActive,    // Waits that have started and not ended. Label: operation.
};

enum class InstrumentKind : uint8_t {
  kHistogram,
  kUpDownCounter,
  kGauge,
  kCounter,
};

struct InstrumentInfo {
  std::string_view name;  // "waiter.wait.duration"
  std::string_view unit;  // "s", "{poll}" or "{wait}"
  std::string_view description;
  InstrumentKind kind;
};

// Returns the description of an instrument.
const InstrumentInfo& InfoOf(Instrument instrument);

// All instruments, in the order of the enumeration.
inline constexpr std::array kInstruments = {
    Instrument::kWaitDuration, Instrument::kWaitPolls, Instrument::kWaitDelay,
    Instrument::kPollDuration, Instrument::kWaitActive};

// Upper bounds of histogram buckets, for sinks that need them. A last bucket
// holds all values above.
using BucketBounds = std::array<double, 15>;
const BucketBounds& BoundsOf(Instrument instrument);

// One instrument with one set of labels. `MetricsObserver` supplies the name
// and index of the operation, and limits the number of operations. A value;
// `operation` must stay valid. Only the operation label is text chosen by the
// user.
class MetricSeries {
 public:
  // Number of operations that have separate labels, and the index of "other",
  // which all further operations share.
  static constexpr int kMaxOperations = 100;
  static constexpr int kOtherOperation = kMaxOperations;

  // `code` is used for `kFailed`; every other reason implies its code.
  static MetricSeries WaitDuration(int operation_index,
                                   std::string_view operation,
                                   StopReason reason, absl::StatusCode code);
  static MetricSeries WaitPolls(int operation_index, std::string_view operation,
                                StopReason reason) {
    return {Instrument::kWaitPolls, operation_index, operation,
            kPolls + Byte(reason),  Byte(reason),    0};
  }
  static MetricSeries WaitDelay(int operation_index,
                                std::string_view operation) {
    return {Instrument::kWaitDelay, operation_index, operation, kDelay, 0, 0};
  }
  static MetricSeries PollDuration(int operation_index,
                                   std::string_view operation,
                                   PollStatus status) {
    return {Instrument::kPollDuration,     operation_index, operation,
            kPollDurations + Byte(status), Byte(status),    0};
  }
  static MetricSeries WaitActive(int operation_index,
                                 std::string_view operation) {
    return {Instrument::kWaitActive, operation_index, operation, kActive, 0, 0};
  }

  Instrument instrument() const { return instrument_; }
  std::string_view operation() const { return operation_; }

  // Return the other labels; empty if the instrument does not have them.
  std::string_view stop_reason() const;  // "deadline", as `StopReasonName`.
  std::string_view error_type() const;   // "UNAVAILABLE"; empty for success.
  std::string_view status() const;       // "not ready", as `PollStatusName`.

  // Returns a number below `kCount`, unique to the instrument and its labels.
  size_t ordinal() const { return ordinal_; }
  static constexpr size_t kPerOperation = 64;
  static constexpr size_t kCount = kPerOperation * (kMaxOperations + 1);

  // Number of codes that `error_type` tells apart.
  static constexpr size_t kCodes = 17;

 private:
  // Where the sections of an operation begin: durations by stop reason,
  // failures by code, polls by stop reason, and so on.
  static constexpr size_t kReasons = 10;
  static constexpr size_t kStatuses = 5;
  static constexpr size_t kFailedDurations = kReasons;
  static constexpr size_t kPolls = kFailedDurations + kCodes;
  static constexpr size_t kDelay = kPolls + kReasons;
  static constexpr size_t kPollDurations = kDelay + 1;
  static constexpr size_t kActive = kPollDurations + kStatuses;
  static_assert(kActive < kPerOperation);

  template <typename Label>
  static constexpr uint8_t Byte(Label label) {
    return static_cast<uint8_t>(label);
  }

  MetricSeries(Instrument instrument, int operation_index,
               std::string_view operation, size_t within_operation,
               uint8_t label, uint8_t code)
      : operation_(operation),
        ordinal_(static_cast<size_t>(operation_index) * kPerOperation +
                 within_operation),
        instrument_(instrument),
        label_(label),
        code_(code) {}

  std::string_view operation_;
  size_t ordinal_;
  Instrument instrument_;
  uint8_t label_;  // A `StopReason` or a `PollStatus`.
  uint8_t code_;   // An `absl::StatusCode`.
};

// The interface to a metrics library:
//
//   class MySink : public waiter::MetricsSink {
//     void Record(const waiter::MetricSeries& series, double value) override {
//       // `series.ordinal()` is the index of a table, so that the label set is
//       // looked up once.
//       histograms_[series.ordinal()].Get(series).Observe(value);
//     }
//     ...
//   };
//   waiter::ObserveEveryWait(std::make_shared<waiter::MetricsObserver>(
//       std::make_shared<MySink>()));
//
// Thread-safe. Called by the hooks of waits, so calls should take well under a
// microsecond and must not throw.
class MetricsSink {
 public:
  virtual ~MetricsSink() = default;

  // Adds a value to a histogram; durations are in seconds.
  virtual void Record(const MetricSeries& series, double value) = 0;

  // Adds 1 or -1 to a counter that goes up and down.
  virtual void Add(const MetricSeries& series, int64_t value) = 0;
};

// Measures waits and gives the values to a sink. Thread-safe; meant to be
// shared by all waits. A poll costs two virtual calls and a lookup, but no lock
// and no allocation.
//
// The first 100 operations have separate labels. Waits of all further
// operations count as the operation "other". Each observer numbers operations
// on its own, so a sink must have only one observer.
class MetricsObserver final : public WaitObserver {
 public:
  // `sink` must not be null.
  explicit MetricsObserver(std::shared_ptr<MetricsSink> sink);
  ~MetricsObserver() override;

  void OnStart(const StartEvent& start) override;
  void AfterPoll(const PollEvent& poll) override;
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override;
  PollHooks poll_hooks() const override;

 private:
  class Operations;

  const std::shared_ptr<MetricsSink> sink_;
  const std::unique_ptr<Operations> operations_;
};

// The values of one set of labels.
struct MetricSample {
  std::vector<std::pair<std::string_view, std::string>> labels;

  // The value of a counter or gauge, or the sum of the values of a histogram.
  double value = 0;

  // For a histogram, the number of values in each bucket, not cumulative: one
  // bucket for the values up to each of `MetricFamily::bounds`, and one for
  // higher values.
  std::vector<uint64_t> buckets;
};

// All samples of one metric.
struct MetricFamily {
  InstrumentInfo info;
  std::vector<double> bounds;  // For a histogram; ascending.
  std::vector<MetricSample> samples;
};

// Keeps the metrics of waits in memory, to be read on request. Thread-safe.
// `Record` and `Add` take no lock, and threads that record at the same time
// mostly write to separate memory. A series takes 1.5 KB from its first value
// on; there are at most 42 for each of 101 operations.
class MetricsTable : public MetricsSink {
 public:
  MetricsTable();
  ~MetricsTable() override;

  void Record(const MetricSeries& series, double value) override;
  void Add(const MetricSeries& series, int64_t value) override;

  // Adds metrics with the label `name`, whose values `Collect` reads:
  //
  //   waiter.engine.pending, .due, .polls, .lateness
  //   waiter.retry_quota.tokens
  //   waiter.rate_limiter.rate     polls per second that may pass
  //
  // Replaces a watched object of the same type with this name. An engine must
  // outlive this object, unless `Forget` is called first. The clock must be the
  // one that the waits of the quota use.
  void Watch(std::string name, const WaitEngine& engine);
  void Watch(std::string name, std::shared_ptr<const RetryQuota> quota,
             Clock& clock = GetRealClock());
  void Watch(std::string name, std::shared_ptr<const RateLimiter> limiter);

  // Removes the metrics with this name. Blocks while `Collect` reads them;
  // afterwards nothing reads their objects.
  void Forget(std::string_view name);

  // Returns all metrics that have a value. Values that are recorded during the
  // call may be missing.
  std::vector<MetricFamily> Collect() const;

 private:
  class Series;
  class Watched;

  Series& SeriesOf(const MetricSeries& series);

  struct Slots;
  const std::unique_ptr<Slots> slots_;
  const std::unique_ptr<Watched> watched_;
};

// The `Content-Type` of an HTTP response with the text of `PrometheusText`.
inline constexpr const char* kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

// Returns all metrics of `table` in the text format of Prometheus. Dots in
// names become underscores, and units and types become suffixes:
// `waiter_wait_duration_seconds`, `waiter_engine_polls_total`.
//
//   # HELP waiter_wait_duration_seconds Time from the start of a wait to its
//   # TYPE waiter_wait_duration_seconds histogram
//   waiter_wait_duration_seconds_bucket{operation="create instance",le="1"} 2
//   ...
std::string PrometheusText(const MetricsTable& table);
// Returns the text of `families`, such as the result of `DurableMetrics`
// (durable/worker.h).
std::string PrometheusText(const std::vector<MetricFamily>& families);

// Returns the Prometheus name of an instrument.
std::string PrometheusName(const InstrumentInfo& info);

// Returns the value of a label as UTF-8. Prometheus would reject the whole text
// because of one invalid byte, so each such byte becomes text such as `\xff`.
std::string PrometheusLabelValue(std::string_view value);

}  // namespace waiter

#endif  // WAITER_TELEMETRY_METRICS_H_
