// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Metrics of waits: the observer, its sinks, and the table.

#include "waiter/telemetry/metrics.h"

#include <algorithm>
#include <atomic>
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
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
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

TEST_F(MetricsObserverTest, PollOfDecadesIsMeasured) {
  const absl::Duration decades = absl::Hours(24 * 365 * 50);
  ScriptedPoll<> script(clock_, {{Success(), decades}});
  WaitOptions options = Options(observer_);
  options.timeout = absl::InfiniteDuration();

  (void)Waiter(std::ref(script), options).Wait();

  EXPECT_THAT(lines_.lines,
              testing::Contains(absl::StrCat(
                  "waiter.poll.duration, create instance, success ",
                  absl::ToDoubleSeconds(decades))));
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

TEST_F(MetricsObserverTest, EveryEndCountsOnceAndTakesTheWaitOffTheActiveOnes) {
  (void)Waiter([] { return true; }, Options(observer_)).Wait();
  WaitOptions invalid = Options(observer_);
  invalid.max_attempts = 0;
  (void)Waiter([] { return true; }, invalid).Wait();
  (void)Waiter([] { return Poll<>(static_cast<PollStatus>(99)); },
               Options(observer_))
      .Wait();
  EXPECT_THROW((void)Waiter([]() -> bool { throw std::runtime_error("boom"); },
                            Options(observer_))
                   .Wait(),
               std::runtime_error);
  {
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
    // Destroyed before it begins, destroyed while it sleeps, cancelled while it
    // polls, and ended with the engine.
    (void)engine.Start(Waiter([] { return false; }, Options(observer_)),
                       [](const auto&) {});
    WaitHandle destroyed = engine.Start(
        Waiter([] { return false; }, Options(observer_)), [](const auto&) {});
    WaitHandle cancelled = engine.Start(
        AsyncWaiter([](const PollCompletion<>&) {}, Options(observer_)),
        [](const auto&) {});
    engine
        .Start(Waiter([] { return false; }, Options(observer_)),
               [](const auto&) {})
        .Detach();
    engine.RunDue();
    EXPECT_THAT(lines_.active, ElementsAre(Pair("create instance", 3)));
    destroyed = WaitHandle();
    cancelled.Cancel();
    engine.RunDue();
    EXPECT_THAT(lines_.active, ElementsAre(Pair("create instance", 1)));
  }

  EXPECT_THAT(lines_.active, ElementsAre(Pair("create instance", 0)));
  for (const char* per_wait :
       {"waiter.wait.duration", "waiter.wait.polls", "waiter.wait.delay"}) {
    EXPECT_EQ(std::count_if(lines_.lines.begin(), lines_.lines.end(),
                            [&](const std::string& line) {
                              return line.starts_with(per_wait);
                            }),
              8)
        << per_wait;
  }
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

  EXPECT_THAT(lines_.active, ElementsAre(Pair("a", 0)));
  EXPECT_THAT(other_lines.active, ElementsAre(Pair("a", 0), Pair("b", 0)));
}

TEST_F(MetricsObserverTest, ThreadUsesManyTablesOneAfterTheOther) {
  for (int i = 0; i < 10; ++i) {
    const auto table = std::make_shared<MetricsTable>();
    (void)Waiter([] { return true; },
                 Options(std::make_shared<MetricsObserver>(table)))
        .Wait();
    EXPECT_THAT(PrometheusText(*table),
                HasSubstr("waiter_wait_delay_seconds_count{operation=\"create "
                          "instance\"} 1\n"));
  }
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
    for (int code = 1; code < 17; ++code) {
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
  EXPECT_THAT(seen, SizeIs(3 * 42));
}

TEST(MetricSeriesTest, ErrorTypesAreTheNamesOfTheCodes) {
  for (int code = 1; code < 17; ++code) {
    EXPECT_EQ(MetricSeries::WaitDuration(0, "", StopReason::kFailed,
                                         static_cast<absl::StatusCode>(code))
                  .error_type(),
              absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
  }
  // A status may carry any number.
  for (const int code : {17, 255, 256, -1, 12345}) {
    const MetricSeries series = MetricSeries::WaitDuration(
        MetricSeries::kOtherOperation, "", StopReason::kFailed,
        static_cast<absl::StatusCode>(code));
    EXPECT_EQ(series.error_type(), "UNKNOWN") << code;
    EXPECT_LT(series.ordinal(), MetricSeries::kCount) << code;
  }
}

TEST(MetricSeriesTest, EveryReasonButFailedImpliesItsCode) {
  for (const auto& [reason, error_type] : std::map<StopReason, std::string>{
           {StopReason::kSuccess, ""},
           {StopReason::kDeadline, "DEADLINE_EXCEEDED"},
           {StopReason::kCancelled, "CANCELLED"},
           {StopReason::kShutDown, "CANCELLED"},
           {StopReason::kInvalidOptions, "INVALID_ARGUMENT"},
           {StopReason::kAttempts, "RESOURCE_EXHAUSTED"},
           {StopReason::kConsecutiveLimit, "RESOURCE_EXHAUSTED"},
           {StopReason::kDelaySource, "RESOURCE_EXHAUSTED"},
           {StopReason::kQuota, "RESOURCE_EXHAUSTED"}}) {
    const MetricSeries series =
        MetricSeries::WaitDuration(0, "x", reason, absl::StatusCode::kNotFound);
    EXPECT_EQ(series.error_type(), error_type);
    EXPECT_EQ(series.ordinal(), MetricSeries::WaitDuration(
                                    0, "x", reason, absl::StatusCode::kAborted)
                                    .ordinal());
  }
}

TEST(MetricSeriesTest, InstrumentsAreInOrderAndTheirBoundsAscend) {
  for (size_t i = 0; i < kInstruments.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kInstruments[i]), i);
    EXPECT_FALSE(InfoOf(kInstruments[i]).description.empty());
    const BucketBounds& bounds = BoundsOf(kInstruments[i]);
    EXPECT_EQ(std::adjacent_find(bounds.begin(), bounds.end(),
                                 std::greater_equal<>()),
              bounds.end());
  }
}

// The table and its text.

class MetricsTableTest : public MetricsTest {
 protected:
  static std::shared_ptr<RetryQuota> QuotaOf(double capacity) {
    return *RetryQuota::Make({.capacity = capacity});
  }

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

TEST_F(MetricsTableTest, CollectedValuesOutliveTheObserverAndTheTable) {
  const std::string operation(100, 'x');
  auto table = std::make_shared<MetricsTable>();
  (void)Waiter([] { return true; },
               Options(std::make_shared<MetricsObserver>(table), operation))
      .Wait();

  const auto families = table->Collect();
  table = nullptr;

  ASSERT_THAT(families, SizeIs(5));
  for (const MetricFamily& family : families) {
    EXPECT_THAT(std::string(family.info.name), testing::StartsWith("waiter."));
    EXPECT_FALSE(family.info.description.empty());
    EXPECT_THAT(family.samples[0].labels[0], Pair("operation", operation));
  }
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

TEST_F(MetricsTableTest, WatchReplacesOneOfTheSameTypeAndForgetsAllOfTheName) {
  WaitEngine engine({.threads = 0, .clock = &clock_});
  WaitEngine busy({.threads = 0, .clock = &clock_});
  const WaitHandle pending = busy.Start(
      Waiter([] { return false; }, Options(nullptr)), [](const auto&) {});
  busy.RunDue();
  const std::string engine_has = "waiter_engine_pending{name=\"a\"} ";
  const std::string quota_has = "waiter_retry_quota_tokens{name=\"a\"} ";
  table_->Watch("a", engine);
  table_->Watch("a", QuotaOf(100), clock_);
  table_->Watch("b", QuotaOf(7), clock_);
  EXPECT_THAT(PrometheusText(*table_), AllOf(HasSubstr(engine_has + "0\n"),
                                             HasSubstr(quota_has + "100")));

  table_->Watch("a", busy);
  table_->Watch("a", QuotaOf(50), clock_);
  EXPECT_THAT(PrometheusText(*table_),
              AllOf(HasSubstr(engine_has + "1\n"), HasSubstr(quota_has + "50"),
                    Not(HasSubstr(engine_has + "0\n")),
                    Not(HasSubstr(quota_has + "100"))));

  for (const char* name : {"a", "a", "never watched"}) table_->Forget(name);
  const auto families = table_->Collect();
  ASSERT_THAT(families, SizeIs(1));
  ASSERT_THAT(families[0].samples, SizeIs(1));
  EXPECT_EQ(families[0].samples[0].value, 7);
}

TEST_F(MetricsTableTest, WhatIsForgottenOrReplacedMayUseTheTableAsItGoes) {
  int gone = 0;
  const auto watch = [&] {
    const std::shared_ptr<RetryQuota> owner = QuotaOf(5);
    table_->Watch(
        "q",
        std::shared_ptr<const RetryQuota>(owner.get(),
                                          [&, owner](const RetryQuota*) {
                                            table_->Forget("another");
                                            (void)table_->Collect();
                                            ++gone;
                                          }),
        clock_);
  };
  watch();
  EXPECT_EQ(gone, 0);  // The table shares what it watches.
  table_->Forget("q");
  EXPECT_EQ(gone, 1);
  watch();
  table_->Watch("q", QuotaOf(6), clock_);
  EXPECT_EQ(gone, 2);
}

// Many threads.

// Some threads share memory, because there are more of them than parts.
TEST_F(MetricsTableTest, NoValueOfAnyThreadIsLostAndNoneDecreases) {
  constexpr int kThreads = 9;
  constexpr int kWaits = 1000;
  constexpr int kOperations = MetricSeries::kMaxOperations + 30;
  const auto count_of = [&](std::string_view name) {
    const auto families = table_->Collect();
    uint64_t count = 0;
    const MetricFamily* const family = Find(families, name);
    if (family == nullptr) return count;
    for (const MetricSample& sample : family->samples) {
      for (const uint64_t bucket : sample.buckets) count += bucket;
    }
    return count;
  };
  {
    std::vector<JoiningThread> threads;
    std::atomic<int> running = kThreads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int wait = 0; wait < kWaits; ++wait) {
          // All threads meet at the limit of operations.
          WaitOptions options = {
              .operation = absl::StrCat((wait + i) % kOperations),
              .timeout = absl::InfiniteDuration(),
              .hooks = {.observer = observer_}};
          (void)Waiter([] { return true; }, options).Wait();
        }
        --running;
      });
    }
    uint64_t last = 0;
    while (running > 0) {
      const uint64_t count = count_of("waiter.wait.polls");
      EXPECT_GE(count, last);
      last = count;
    }
  }

  EXPECT_EQ(count_of("waiter.wait.polls"), uint64_t{kThreads} * kWaits);
  const auto families = table_->Collect();
  std::set<std::string> operations;
  for (const MetricSample& sample :
       Find(families, "waiter.wait.active")->samples) {
    EXPECT_EQ(sample.value, 0) << sample.labels[0].second;
    operations.insert(sample.labels[0].second);
  }
  EXPECT_THAT(operations, SizeIs(MetricSeries::kMaxOperations + 1));
}

TEST_F(MetricsTableTest, ValuesOfThreadsThatHaveEndedStay) {
  const MetricSeries series =
      MetricSeries::WaitPolls(0, "x", StopReason::kSuccess);
  for (int i = 0; i < 300; ++i) {
    JoiningThread([&] {
      table_->Record(series, 1);
      table_->Add(MetricSeries::WaitActive(0, "x"), i % 2 == 0 ? 1 : -1);
    });
  }

  const auto families = table_->Collect();
  ASSERT_THAT(families, SizeIs(2));
  EXPECT_EQ(families[0].samples[0].value, 300);
  EXPECT_EQ(families[0].samples[0].buckets[0], 300U);
  EXPECT_EQ(families[1].samples[0].value, 0);
}

TEST_F(MetricsTableTest, EnginesComeAndGoWhileOthersCollect) {
  std::atomic<bool> done = false;
  std::vector<JoiningThread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!done) (void)PrometheusText(*table_);
    });
  }
  RunThreads(/*count=*/2, [&](int thread) {
    const std::string name = absl::StrCat("engine ", thread);
    for (int round = 0; round < 50; ++round) {
      WaitEngine engine({.threads = 2});
      table_->Watch(name, engine);
      for (int wait = 0; wait < 5; ++wait) {
        engine
            .Start(Waiter([polls = 0]() mutable { return ++polls == 3; },
                          {.operation = absl::StrCat(round),
                           .timeout = absl::Hours(1),
                           .backoff = Every(absl::Microseconds(100)),
                           .hooks = {.observer = observer_}}),
                   [](const auto&) {})
            .Detach();
      }
      table_->Forget(name);
    }
  });
  done = true;
  readers.clear();
  for (const MetricFamily& family : table_->Collect()) {
    EXPECT_THAT(std::string(family.info.name),
                Not(testing::StartsWith("waiter.engine")));
  }
}

}  // namespace
}  // namespace waiter::metrics_test
