// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Metrics of waits: the observer, its sinks, and the text of Prometheus.

#include "waiter/telemetry/metrics.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/unowned.h"
#include "waiter/budgets.h"
#include "waiter/engine/engine.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::metrics_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Records its input.
class Lines : public MetricsSink {
 public:
  void Record(const MetricSeries& series, double value) override {
    lines.push_back(absl::StrCat(Text(series), " ", value));
    ordinals.insert(series.ordinal());
  }
  void Add(const MetricSeries& series, int64_t value) override {
    lines.push_back(absl::StrCat(Text(series), " ", value));
    active[std::string(series.operation())] += value;
  }

  std::vector<std::string> lines;
  std::set<size_t> ordinals;
  std::map<std::string, int64_t> active;

 private:
  static std::string Text(const MetricSeries& series) {
    std::string text(InfoOf(series.instrument()).name);
    for (const std::string_view label :
         {series.operation(), series.stop_reason(), series.error_type(),
          series.status()}) {
      if (!label.empty()) absl::StrAppend(&text, ", ", std::string(label));
    }
    return text;
  }
};

class MetricsTest : public testing::Test {
 protected:
  WaitOptions Options(std::shared_ptr<WaitObserver> observer,
                      std::string operation = "create instance") {
    return {.operation = std::move(operation),
            .timeout = absl::Seconds(10),
            .backoff = Every(absl::Seconds(2)),
            .hooks = {.observer = std::move(observer)},
            .clock = &clock_};
  }

  SimulatedClock clock_;
};

// The observer.

class MetricsObserverTest : public MetricsTest {
 protected:
  Lines lines_;
  const std::shared_ptr<WaitObserver> observer_ =
      std::make_shared<MetricsObserver>(Unowned(lines_));
};

TEST_F(MetricsObserverTest, WaitIsMeasuredFromItsStartToItsEnd) {
  ScriptedPoll<> script(clock_, {{NotReady(), absl::Milliseconds(500)},
                                 {Success(), absl::Milliseconds(250)}});

  (void)Waiter(std::ref(script), Options(observer_)).Wait();

  EXPECT_THAT(
      lines_.lines,
      ElementsAre("waiter.wait.active, create instance 1",
                  "waiter.poll.duration, create instance, not ready 0.5",
                  "waiter.poll.duration, create instance, success 0.25",
                  "waiter.wait.duration, create instance, success 2.75",
                  "waiter.wait.polls, create instance, success 2",
                  "waiter.wait.delay, create instance 2",
                  "waiter.wait.active, create instance -1"));
}

TEST_F(MetricsObserverTest, FailureHasAnErrorType) {
  (void)Waiter([] { return Failed(absl::NotFoundError("gone")); },
               Options(observer_))
      .Wait();
  (void)Waiter([] { return false; }, Options(observer_)).Wait();

  EXPECT_THAT(
      lines_.lines,
      testing::Contains(
          "waiter.wait.duration, create instance, failed, NOT_FOUND 0"));
  EXPECT_THAT(lines_.lines,
              testing::Contains("waiter.wait.duration, create instance, "
                                "deadline, DEADLINE_EXCEEDED 10"));
}

TEST_F(MetricsObserverTest, EveryEndTakesTheWaitOffTheActiveOnes) {
  (void)Waiter([] { return true; }, Options(observer_)).Wait();
  WaitOptions invalid = Options(observer_);
  invalid.max_attempts = 0;
  (void)Waiter([] { return true; }, invalid).Wait();
  EXPECT_THROW((void)Waiter([]() -> bool { throw std::runtime_error("boom"); },
                            Options(observer_))
                   .Wait(),
               std::runtime_error);
  {
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
    // Destroyed before it begins, and ended with the engine.
    (void)engine.Start(Waiter([] { return false; }, Options(observer_)),
                       [](const auto&) {});
    engine
        .Start(Waiter([] { return false; }, Options(observer_)),
               [](const auto&) {})
        .Detach();
    engine.RunDue();
  }

  EXPECT_THAT(lines_.active, ElementsAre(testing::Pair("create instance", 0)));
}

TEST_F(MetricsObserverTest, OperationsBeyondTheLimitAreOneOther) {
  for (int i = 0; i < 250; ++i) {
    (void)Waiter([] { return true; },
                 Options(observer_, absl::StrCat("operation ", i)))
        .Wait();
    // The first operations keep their labels.
    (void)Waiter([] { return true; }, Options(observer_, "operation 7")).Wait();
  }

  EXPECT_THAT(lines_.active, SizeIs(MetricSeries::kMaxOperations + 1));
  EXPECT_TRUE(lines_.active.contains("other"));
  EXPECT_TRUE(lines_.active.contains("operation 99"));
  EXPECT_FALSE(lines_.active.contains("operation 100"));
  EXPECT_LT(*lines_.ordinals.rbegin(), MetricSeries::kCount);
}

TEST_F(MetricsObserverTest, ObserversOnOneThreadDoNotMixTheirOperations) {
  Lines other_lines;
  const auto other = std::make_shared<MetricsObserver>(Unowned(other_lines));
  for (int i = 0; i < 3; ++i) {
    (void)Waiter([] { return true; }, Options(observer_, "a")).Wait();
    (void)Waiter([] { return true; }, Options(other, "b")).Wait();
    (void)Waiter([] { return true; }, Options(other, "a")).Wait();
  }

  EXPECT_THAT(lines_.active, ElementsAre(testing::Pair("a", 0)));
  EXPECT_THAT(other_lines.active,
              ElementsAre(testing::Pair("a", 0), testing::Pair("b", 0)));
}

// Series.

TEST(MetricSeriesTest, OrdinalsTellAllLabelsApart) {
  std::map<size_t, std::string> seen;
  const auto check = [&](const MetricSeries& series) {
    ASSERT_LT(series.ordinal(), MetricSeries::kCount);
    const std::string text = absl::StrCat(
        static_cast<int>(series.instrument()), "/",
        std::string(series.operation()), "/", std::string(series.stop_reason()),
        "/", std::string(series.error_type()), "/",
        std::string(series.status()));
    const auto [it, is_new] = seen.emplace(series.ordinal(), text);
    EXPECT_TRUE(is_new) << it->second << " and " << text;
  };
  for (const int operation : {0, 1, MetricSeries::kOtherOperation}) {
    const std::string name = absl::StrCat(operation);
    for (int reason = 0; reason < 10; ++reason) {
      const auto stop_reason = static_cast<StopReason>(reason);
      check(MetricSeries::WaitPolls(operation, name, stop_reason));
      if (stop_reason != StopReason::kFailed) {
        check(MetricSeries::WaitDuration(operation, name, stop_reason,
                                         absl::StatusCode::kOk));
      }
    }
    for (int code = 0; code < 17; ++code) {
      check(MetricSeries::WaitDuration(operation, name, StopReason::kFailed,
                                       static_cast<absl::StatusCode>(code)));
    }
    for (int status = 0; status < 5; ++status) {
      check(MetricSeries::PollDuration(operation, name,
                                       static_cast<PollStatus>(status)));
    }
    check(MetricSeries::WaitDelay(operation, name));
    check(MetricSeries::WaitActive(operation, name));
  }
}

TEST(MetricSeriesTest, ErrorTypesAreTheNamesOfTheCodes) {
  for (int code = 1; code < 17; ++code) {
    EXPECT_EQ(MetricSeries::WaitDuration(0, "", StopReason::kFailed,
                                         static_cast<absl::StatusCode>(code))
                  .error_type(),
              absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
  }
  // A status may carry any number.
  EXPECT_EQ(MetricSeries::WaitDuration(0, "", StopReason::kFailed,
                                       static_cast<absl::StatusCode>(12345))
                .error_type(),
            "UNKNOWN");
}

// The table and its text.

class MetricsTableTest : public MetricsTest {
 protected:
  const MetricFamily* Find(const std::vector<MetricFamily>& families,
                           std::string_view name) {
    for (const MetricFamily& family : families) {
      if (family.info.name == name) return &family;
    }
    return nullptr;
  }

  const std::shared_ptr<MetricsTable> table_ = std::make_shared<MetricsTable>();
  const std::shared_ptr<WaitObserver> observer_ =
      std::make_shared<MetricsObserver>(table_);
};

TEST_F(MetricsTableTest, EmptyTableHasNoMetrics) {
  EXPECT_THAT(table_->Collect(), IsEmpty());
  EXPECT_EQ(PrometheusText(*table_), "");
}

TEST_F(MetricsTableTest, ValuesAreInTheBucketsThatHaveThem) {
  const MetricSeries series =
      MetricSeries::WaitPolls(0, "a", StopReason::kSuccess);
  for (const double value : {0., 1., 1.5, 2., 1024., 1025., 1e9}) {
    table_->Record(series, value);
  }

  const auto families = table_->Collect();

  ASSERT_THAT(families, SizeIs(1));
  ASSERT_THAT(families[0].samples, SizeIs(1));
  const MetricSample& sample = families[0].samples[0];
  EXPECT_EQ(sample.buckets[0], 2U);   // Up to 1.
  EXPECT_EQ(sample.buckets[1], 2U);   // Up to 2.
  EXPECT_EQ(sample.buckets[14], 1U);  // Up to 1024.
  EXPECT_EQ(sample.buckets[15], 2U);  // Above.
  EXPECT_EQ(sample.value, 1e9 + 2053.5);
  EXPECT_EQ(families[0].bounds.back(), 1024);
}

TEST_F(MetricsTableTest, TextIsWhatPrometheusReads) {
  ScriptedPoll<> script(clock_, {{NotReady(), absl::Milliseconds(500)},
                                 {Success(), absl::Milliseconds(250)}});
  (void)Waiter(std::ref(script), Options(observer_)).Wait();
  (void)Waiter([] { return Failed(absl::NotFoundError("gone")); },
               Options(observer_, "delete \"it\"\\\n"))
      .Wait();

  const std::string text = PrometheusText(*table_);

  EXPECT_THAT(
      text,
      AllOf(HasSubstr(
                "# HELP waiter_wait_duration_seconds Time from the start of a "
                "wait to its end.\n# TYPE waiter_wait_duration_seconds "
                "histogram\n"),
            HasSubstr("waiter_wait_duration_seconds_bucket{operation=\"create "
                      "instance\",stop_reason=\"success\",le=\"2\"} 0\n"),
            HasSubstr("waiter_wait_duration_seconds_bucket{operation=\"create "
                      "instance\",stop_reason=\"success\",le=\"5\"} 1\n"),
            HasSubstr("waiter_wait_duration_seconds_bucket{operation=\"create "
                      "instance\",stop_reason=\"success\",le=\"+Inf\"} 1\n"),
            HasSubstr("waiter_wait_duration_seconds_sum{operation=\"create "
                      "instance\",stop_reason=\"success\"} 2.75\n"),
            HasSubstr("waiter_wait_duration_seconds_count{operation=\"create "
                      "instance\",stop_reason=\"success\"} 1\n"),
            HasSubstr("waiter_wait_duration_seconds_count{operation=\"delete "
                      "\\\"it\\\"\\\\\\n\",stop_reason=\"failed\",error_type="
                      "\"NOT_FOUND\"} 1\n"),
            HasSubstr("# TYPE waiter_wait_active gauge\n"
                      "waiter_wait_active{operation=\"create instance\"} 0\n"),
            HasSubstr("waiter_poll_duration_seconds_sum{operation=\"create "
                      "instance\",status=\"not ready\"} 0.5\n")));
}

TEST_F(MetricsTableTest, WaitWithoutAnOperationHasNoSuchLabel) {
  (void)Waiter([] { return true; }, Options(observer_, "")).Wait();

  EXPECT_THAT(PrometheusText(*table_), HasSubstr("waiter_wait_active 0\n"));
}

TEST_F(MetricsTableTest, EngineHasGauges) {
  WaitEngine engine(
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
  table_->Watch("main", engine);
  for (int i = 0; i < 3; ++i) {
    engine
        .Start(Waiter([] { return false; }, Options(nullptr)),
               [](const auto&) {})
        .Detach();
  }
  engine.RunDue();
  // All three are due at 2 s, and the round begins at 2.5 s.
  clock_.AdvanceTime(absl::Milliseconds(2500));
  engine.RunDue();

  EXPECT_THAT(
      PrometheusText(*table_),
      AllOf(HasSubstr("waiter_engine_pending{name=\"main\"} 3\n"),
            HasSubstr("waiter_engine_due{name=\"main\"} 3\n"),
            HasSubstr("# TYPE waiter_engine_polls_total counter\n"),
            HasSubstr("waiter_engine_polls_total{name=\"main\"} 6\n"),
            HasSubstr("waiter_engine_lateness_seconds_sum{name=\"main\"} 0.5"),
            HasSubstr("waiter_engine_lateness_seconds_bucket{name=\"main\",le="
                      "\"0.1\"} 0\n"),
            HasSubstr("waiter_engine_lateness_seconds_bucket{name=\"main\",le="
                      "\"1\"} 1\n")));
  table_->Forget("main");
  EXPECT_THAT(table_->Collect(), IsEmpty());
}

TEST_F(MetricsTableTest, BudgetsHaveGauges) {
  const auto quota = *RetryQuota::Make({.capacity = 100});
  const auto limiter = *AdaptiveRateLimiter::Make({});
  table_->Watch("api", quota, clock_);
  table_->Watch("api", limiter);
  EXPECT_THAT(PrometheusText(*table_),
              AllOf(HasSubstr("waiter_retry_quota_tokens{name=\"api\"} 100\n"),
                    Not(HasSubstr("rate_limiter"))));

  WaitOptions options = Options(nullptr);
  options.budgets.retry_quota = quota;
  options.budgets.rate_limiter = limiter;
  options.max_attempts = 2;
  (void)Waiter([] { return Throttled(); }, options).Wait();

  // A poll after a throttled answer costs 5.
  EXPECT_THAT(PrometheusText(*table_),
              AllOf(HasSubstr("waiter_retry_quota_tokens{name=\"api\"} 95\n"),
                    HasSubstr("waiter_rate_limiter_rate{name=\"api\"} ")));
  table_->Forget("api");
  EXPECT_THAT(table_->Collect(), IsEmpty());
}

TEST_F(MetricsTableTest, WatchingAnotherUnderTheSameNameReplacesIt) {
  table_->Watch("api", *RetryQuota::Make({.capacity = 100}), clock_);
  table_->Watch("api", *RetryQuota::Make({.capacity = 50}), clock_);

  const auto families = table_->Collect();

  ASSERT_THAT(families, SizeIs(1));
  ASSERT_THAT(families[0].samples, SizeIs(1));
  EXPECT_EQ(families[0].samples[0].value, 50);
}

// Many threads.

TEST_F(MetricsTableTest, NoValueOfAnyThreadIsLost) {
  constexpr int kThreads = 4;
  constexpr int kWaits = 2000;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int wait = 0; wait < kWaits; ++wait) {
          WaitOptions options = {// All threads meet at the limit of operations.
                                 .operation = absl::StrCat((wait + i) % 130),
                                 .timeout = absl::InfiniteDuration(),
                                 .hooks = {.observer = observer_}};
          (void)Waiter([] { return true; }, options).Wait();
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) (void)table_->Collect();
    });
  }

  const auto families = table_->Collect();
  uint64_t waits = 0;
  for (const MetricSample& sample :
       Find(families, "waiter.wait.polls")->samples) {
    for (const uint64_t bucket : sample.buckets) waits += bucket;
  }
  EXPECT_EQ(waits, uint64_t{kThreads} * kWaits);
  for (const MetricSample& sample :
       Find(families, "waiter.wait.active")->samples) {
    EXPECT_EQ(sample.value, 0) << sample.labels[0].second;
  }
}

}  // namespace
}  // namespace waiter::metrics_test
