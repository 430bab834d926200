// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Exports metrics and logs of all waits.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/observer.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace wait_metrics_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Thread-safe.
class Metrics {
 public:
  void Count(const std::string& metric, std::string_view label) {
    const std::lock_guard lock(mutex_);
    ++counts_[absl::StrCat(metric, "{", std::string(label), "}")];
  }
  void Observe(std::string_view /*metric*/, absl::Duration time) {
    const std::lock_guard lock(mutex_);
    times_.push_back(time);
  }

  std::map<std::string, int> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::vector<absl::Duration> times() const {
    const std::lock_guard lock(mutex_);
    return times_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::vector<absl::Duration> times_;
};

std::vector<std::string>& Logged() {
  static auto& logged = *new std::vector<std::string>;
  return logged;
}
void Log(const std::string& line) { Logged().push_back(line); }

// Thread-safe, because `Metrics` and `Log` are.
class WaitMetrics : public waiter::WaitObserver {
 public:
  explicit WaitMetrics(std::shared_ptr<Metrics> metrics)
      : metrics_(std::move(metrics)) {}

  void AfterPoll(const waiter::PollEvent& poll) override {
    metrics_->Count("polls", waiter::PollStatusName(poll.found.status()));
    metrics_->Observe("poll_time", poll.took);
    if (poll.found.status() == waiter::PollStatus::kServerError) {
      Log(absl::StrCat(std::string(poll.wait.name), ", poll ", poll.attempt,
                       ": ", std::string(poll.found.detail())));
    }
  }

  void OnDone(const waiter::WaitIdentity& wait,
              const waiter::WaitReport& report) override {
    metrics_->Count("waits", waiter::StopReasonName(report.reason));
    if (!report.status.ok()) {
      Log(absl::StrCat(std::string(wait.name), ": ", waiter::Summary(report)));
    }
  }

 private:
  std::shared_ptr<Metrics> metrics_;
};

class WaitMetricsTest : public testing::Test {
 protected:
  WaitMetricsTest() { Logged().clear(); }

  void Wait(std::vector<waiter::ScriptedPoll<>::Step> steps) {
    waiter::ScriptedPoll<> script(clock_, std::move(steps));
    waiter::Waiter wait(
        std::ref(script),
        {.name = "job 7",
         .timeout = absl::Minutes(1),
         .hooks = {.observer = std::make_shared<WaitMetrics>(metrics_)},
         .clock = &clock_});
    (void)wait.Wait();
  }

  waiter::SimulatedClock clock_;
  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
};

TEST_F(WaitMetricsTest, CountsPollsAndWaits) {
  Wait({waiter::NotReady(), {waiter::Success(), absl::Seconds(2)}});
  Wait({waiter::Success()});

  EXPECT_THAT(metrics_->counts(), ElementsAre(Pair("polls{not ready}", 1),
                                              Pair("polls{success}", 2),
                                              Pair("waits{success}", 2)));
  EXPECT_THAT(metrics_->times(),
              ElementsAre(absl::ZeroDuration(), absl::Seconds(2),
                          absl::ZeroDuration()));
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(WaitMetricsTest, LogsErrors) {
  Wait({waiter::ServerError("HTTP 503"), waiter::Failed("no such job")});

  EXPECT_THAT(Logged(), ElementsAre("job 7, poll 1: HTTP 503",
                                    AllOf(testing::StartsWith("job 7: failed"),
                                          testing::HasSubstr("no such job"))));
}

}  // namespace
}  // namespace wait_metrics_test
