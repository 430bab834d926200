// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures waits and gives the values to a sink (telemetry/metrics.h):
//
//   const auto metrics = std::make_shared<waiter::MetricsTable>();
//   waiter::ObserveEveryWait(
//       std::make_shared<waiter::MetricsObserver>(metrics));
//   ...
//   waiter::Waiter wait(GetStatus, {.operation = "create instance",
//                                   .timeout = absl::Minutes(5)});
//
// Set `WaitOptions::operation` to the kind of the wait. Names of waits and
// numbers of polls never become labels, so that the number of series stays
// small however many waits there are.

#ifndef WAITER_TELEMETRY_METRICS_OBSERVER_H_
#define WAITER_TELEMETRY_METRICS_OBSERVER_H_

#include <memory>

#include "waiter/observer.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/wait_report.h"

namespace waiter {

// Thread-safe; meant to be shared by all waits. A poll costs two virtual calls
// and a lookup, without a lock and without memory.
//
// The first 100 operations have labels of their own. The waits of all further
// ones count as the operation "other". Each observer numbers operations anew,
// so a sink must not have two.
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

}  // namespace waiter

#endif  // WAITER_TELEMETRY_METRICS_OBSERVER_H_
