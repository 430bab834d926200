// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A real Prometheus server reads the metrics of waits and answers the
// dashboard's queries. Skips its cases on a machine without Prometheus.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef WAITER_HAS_PROMETHEUS_CPP

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "prometheus/exposer.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/document.h"
#include "tests/support/json.h"
#include "waiter/budgets.h"
#include "waiter/engine/engine.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/telemetry/prometheus_cpp.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::waiter::cli::FreePort;
using ::waiter::cli::WaiterProcess;

bool IsInstalled(const char* program) {
  return access(absl::StrCat("/usr/bin/", program).c_str(), X_OK) == 0;
}

class PrometheusServerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsInstalled("prometheus")) {
      GTEST_SKIP() << "prometheus is not installed";
    }
    std::string name = std::filesystem::temp_directory_path() /
                       ("waiter." + std::string(6, 'X'));
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    metrics_->Watch("main", engine_);
    metrics_->Watch("api", *RetryQuota::Make({}), clock_);
    exposer_.RegisterCollectable(collectable_);
  }
  ~PrometheusServerTest() override {
    server_ = nullptr;
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // Makes waits whose first two polls are not ready.
  void MakeWaits(int number) {
    for (int i = 0; i < number; ++i) {
      int polls = 0;
      Waiter wait([&] { return ++polls == 3; },
                  {.operation = "create instance",
                   .timeout = absl::Minutes(1),
                   .hooks = {.observer = observer_},
                   .clock = &clock_});
      EXPECT_TRUE(wait.Wait().ok());
    }
  }

  void StartServer() {
    std::ofstream(absl::StrCat(folder_, "/prometheus.yml"))
        << "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
           "scrape_configs: [{job_name: waiter, static_configs: "
           "[{targets: ['127.0.0.1:"
        << exposer_.GetListeningPorts().at(0) << "']}]}]\n";
    port_ = FreePort(AF_INET);
    server_ = std::make_unique<WaiterProcess>(
        std::vector<std::string>{
            absl::StrCat("--config.file=", folder_, "/prometheus.yml"),
            absl::StrCat("--storage.tsdb.path=", folder_, "/data"),
            absl::StrCat("--web.listen-address=127.0.0.1:", port_)},
        WaiterProcess::Options{.program = "/usr/bin/prometheus"});
  }

  std::string QueryUrl(std::string_view query) const {
    std::string escaped;
    for (const char c : query) {
      absl::StrAppend(&escaped, "%", absl::BytesToHexString(std::string(1, c)));
    }
    return absl::StrCat("http://127.0.0.1:", port_,
                        "/api/v1/query?query=", escaped);
  }

  // Waits until the server answers `query` as `condition` says.
  void ExpectAnswer(std::string_view query, const std::string& condition) {
    WaiterProcess waiter({QueryUrl(query), "--json=" + condition,
                          "--timeout=30s", "--every=200ms"});
    EXPECT_EQ(waiter.Wait(), 0) << query << "\n" << waiter.err();
  }

  SimulatedClock clock_;
  WaitEngine engine_{{.threads = 0, .clock = &clock_}};
  const std::shared_ptr<MetricsTable> metrics_ =
      std::make_shared<MetricsTable>();
  const std::shared_ptr<MetricsObserver> observer_ =
      std::make_shared<MetricsObserver>(metrics_);
  const std::shared_ptr<PrometheusCollectable> collectable_ =
      std::make_shared<PrometheusCollectable>(metrics_);
  prometheus::Exposer exposer_{"127.0.0.1:0"};
  std::string folder_;
  int port_ = 0;
  std::unique_ptr<WaiterProcess> server_;
};

TEST_F(PrometheusServerTest, ServerReadsTheMetricsThatThereAre) {
  MakeWaits(7);
  StartServer();

  ExpectAnswer(
      R"(waiter_wait_duration_seconds_count{operation="create instance"})",
      R"(.data.result[0].value[1]=="7")");
  ExpectAnswer(R"(waiter_poll_duration_seconds_count{status="not ready"})",
               R"(.data.result[0].value[1]=="14")");
  ExpectAnswer("waiter_wait_polls_bucket{le=\"3\"}",
               R"(.data.result[0].value[1]=="7")");
  ExpectAnswer("waiter_retry_quota_tokens{name=\"api\"}",
               R"(.data.result[0].value[1]=="500")");

  MakeWaits(1);
  ExpectAnswer("waiter_wait_duration_seconds_count",
               R"(.data.result[0].value[1]=="8")");
}

TEST_F(PrometheusServerTest, ServerUnderstandsEveryQueryOfTheDashboard) {
  MakeWaits(1);
  StartServer();
  ExpectAnswer("waiter_wait_active", R"(.data.result[0].value[1]=="0")");

  const Json dashboard = Json::Parse(ReadFile("docs/grafana-dashboard.json"));
  for (const Json& panel : dashboard["panels"].array()) {
    for (const Json& target : panel["targets"].array()) {
      ExpectAnswer(absl::StrReplaceAll(target["expr"].string(),
                                       {{"$__rate_interval", "1m"},
                                        {"$operation", "create instance"}}),
                   R"(.status=="success")");
    }
  }
}

TEST_F(PrometheusServerTest, NamesAndTextPassItsLinter) {
  if (!IsInstalled("promtool")) GTEST_SKIP() << "promtool is not installed";
  MakeWaits(1);

  WaiterProcess linter(
      {"check", "metrics"},
      {.program = "/usr/bin/promtool", .input = PrometheusText(*metrics_)});

  EXPECT_EQ(linter.Wait(), 0) << linter.out() << linter.err();
}

}  // namespace
}  // namespace waiter

#else

TEST(PrometheusServerTest, LibraryIsThere) {
  GTEST_SKIP() << "prometheus-cpp is not installed";
}

#endif  // WAITER_HAS_PROMETHEUS_CPP
