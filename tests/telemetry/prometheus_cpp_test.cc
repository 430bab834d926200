// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Gives the metrics of waits to the library prometheus-cpp.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef WAITER_HAS_PROMETHEUS_CPP

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "prometheus/exposer.h"
#include "prometheus/text_serializer.h"
#include "waiter/budgets.h"
#include "waiter/engine/engine.h"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/telemetry/prometheus_cpp.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace prometheus_cpp_test {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

class MetricsServer {
 public:
  explicit MetricsServer(const std::string& address) : exposer_(address) {
    waiter::ObserveEveryWait(
        std::make_shared<waiter::MetricsObserver>(metrics_));
    // The exposer keeps only a weak pointer.
    exposer_.RegisterCollectable(collectable_);
  }

  waiter::MetricsTable& metrics() { return *metrics_; }

 private:
  std::shared_ptr<waiter::MetricsTable> metrics_ =
      std::make_shared<waiter::MetricsTable>();
  std::shared_ptr<waiter::PrometheusCollectable> collectable_ =
      std::make_shared<waiter::PrometheusCollectable>(metrics_);
  prometheus::Exposer exposer_;
};

// Returns the samples of a text in the format of Prometheus, without zeros,
// which prometheus-cpp also writes.
std::vector<std::string> SamplesOf(const std::string& text) {
  std::vector<std::string> samples = absl::StrSplit(text, '\n');
  std::erase_if(samples, [](const std::string& line) {
    return line.empty() || absl::StartsWith(line, "#");
  });
  return samples;
}

TEST(PrometheusCppTest, LibraryWritesWhatPrometheusTextWrites) {
  waiter::SimulatedClock clock;
  const auto metrics = std::make_shared<waiter::MetricsTable>();
  waiter::WaitEngine engine({.threads = 0, .clock = &clock});
  metrics->Watch("main", engine);
  metrics->Watch("api", *waiter::RetryQuota::Make({}), clock);
  int polls = 0;
  (void)waiter::Waiter(
      [&] { return ++polls == 5; },
      {.operation = "create \"instance\"\\\n\xff",
       .timeout = absl::Minutes(1),
       .hooks = {.observer =
                     std::make_shared<waiter::MetricsObserver>(metrics)},
       .clock = &clock})
      .Wait();

  const std::string text = prometheus::TextSerializer().Serialize(
      waiter::PrometheusCollectable(metrics).Collect());

  EXPECT_THAT(SamplesOf(text), testing::UnorderedElementsAreArray(SamplesOf(
                                   waiter::PrometheusText(*metrics))));
  EXPECT_THAT(SamplesOf(text), SizeIs(testing::Gt(60)));
}

TEST(PrometheusCppTest, ExposerServesTheMetricsWhileTheServerLives) {
  MetricsServer server("127.0.0.1:0");
  waiter::SimulatedClock clock;

  (void)waiter::Waiter([] { return true; },
                       {.timeout = absl::Seconds(1), .clock = &clock})
      .Wait();
  waiter::ObserveEveryWait(nullptr);

  EXPECT_THAT(SamplesOf(waiter::PrometheusText(server.metrics())),
              Contains("waiter_wait_active 0"));
}

}  // namespace
}  // namespace prometheus_cpp_test

#else

TEST(PrometheusCppTest, LibraryIsThere) {
  GTEST_SKIP() << "prometheus-cpp is not installed";
}

#endif  // WAITER_HAS_PROMETHEUS_CPP
