// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Serves metrics on a program's own page.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/engine/engine.h"
#include "waiter/observer.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace metrics_page_test {
namespace {

using ::testing::HasSubstr;

class HttpServer {
 public:
  void Handle(const std::string& /*path*/, const std::string& content_type,
              std::function<std::string()> page) {
    content_type_ = content_type;
    page_ = std::move(page);
  }

  const std::string& content_type() const { return content_type_; }
  std::string Get() const { return page_(); }

 private:
  std::string content_type_;
  std::function<std::string()> page_;
};

void ServeMetrics(HttpServer& server, const waiter::WaitEngine& engine) {
  const auto metrics = std::make_shared<waiter::MetricsTable>();
  waiter::ObserveEveryWait(std::make_shared<waiter::MetricsObserver>(metrics));
  metrics->Watch("main", engine);
  server.Handle("/metrics", waiter::kPrometheusContentType,
                [metrics] { return waiter::PrometheusText(*metrics); });
}

TEST(MetricsPageTest, PageHasTheWaitsOfTheProgram) {
  waiter::SimulatedClock clock;
  HttpServer server;
  waiter::WaitEngine engine({.threads = 0, .clock = &clock});
  ServeMetrics(server, engine);

  (void)waiter::Waiter([] { return true; }, {.operation = "create instance",
                                             .timeout = absl::Seconds(1),
                                             .clock = &clock})
      .Wait();
  waiter::ObserveEveryWait(nullptr);

  EXPECT_THAT(server.content_type(), HasSubstr("version=0.0.4"));
  EXPECT_THAT(server.Get(),
              HasSubstr("waiter_wait_duration_seconds_count{operation=\"create "
                        "instance\",stop_reason=\"success\"} 1\n"));
  EXPECT_THAT(server.Get(),
              HasSubstr("waiter_engine_pending{name=\"main\"} 0\n"));
}

}  // namespace
}  // namespace metrics_page_test
