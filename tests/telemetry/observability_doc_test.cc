// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that docs/observability.md shows code that the other tests of this
// folder run, and that the dashboard asks only for existing metrics.

#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/document.h"
#include "tests/support/json.h"
#include "waiter/budgets.h"
#include "waiter/engine/engine.h"
#include "waiter/poll.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::Not;

// Returns the matches of the first group of `pattern` in `text`.
std::set<std::string> Find(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end;
       ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

// Everything that `MetricsTable` may have.
class FullTable {
 public:
  FullTable() {
    metrics_.Watch("main", engine_);
    metrics_.Watch("api", *RetryQuota::Make({}), clock_);
    const auto limiter = *AdaptiveRateLimiter::Make({});
    metrics_.Watch("api", limiter);
    (void)Waiter(
        ScriptedPoll<>(clock_, {Throttled(), Failed(absl::AbortedError(""))}),
        {.operation = "create instance",
         .timeout = absl::Minutes(1),
         .budgets = {.rate_limiter = limiter},
         .hooks = {.observer = std::make_shared<MetricsObserver>(
                       std::shared_ptr<MetricsSink>(std::shared_ptr<void>(),
                                                    &metrics_))},
         .clock = &clock_})
        .Wait();
  }

  std::string Text() const { return PrometheusText(metrics_); }

  std::vector<std::string> OtelNames() const {
    std::vector<std::string> names;
    for (const MetricFamily& family : metrics_.Collect()) {
      names.emplace_back(family.info.name);
    }
    return names;
  }

 private:
  SimulatedClock clock_;
  WaitEngine engine_{{.threads = 0, .clock = &clock_}};
  MetricsTable metrics_;
};

// Returns the queries of the dashboard.
std::string Queries() {
  std::string all;
  const Json dashboard = Json::Parse(ReadFile("docs/grafana-dashboard.json"));
  for (const Json& panel : dashboard["panels"].array()) {
    for (const Json& target : panel["targets"].array()) {
      absl::StrAppend(&all, target["expr"].string(), "\n");
    }
  }
  return all;
}

TEST(ObservabilityDocTest, CodeStandsInTests) {
  ExpectCodeStandsInTests("docs/observability.md", "tests/telemetry");
}

TEST(ObservabilityDocTest, TableHasEveryMetric) {
  const std::string document = ReadFile("docs/observability.md");
  for (const std::string& name : FullTable().OtelNames()) {
    EXPECT_THAT(document, HasSubstr(absl::StrCat("| `", name, "` |")));
  }
}

TEST(ObservabilityDocTest, DashboardAsksForMetricsAndLabelsThatThereAre) {
  const std::string text = FullTable().Text();
  const std::set<std::string> there = Find(text, "(waiter_[a-z_]+)[{ ]");
  std::set<std::string> labels = Find(text, "[{,]([a-z_]+)=\"");

  EXPECT_THAT(Find(Queries(), "(waiter_[a-z_]+)"), IsSubsetOf(there));
  EXPECT_THAT(Find(Queries(), "[{,]([a-z_]+)(?:=|!=)"), IsSubsetOf(labels));
  for (const std::string& names : Find(Queries(), "by \\(([a-z_, ]+)\\)")) {
    const std::vector<std::string> by = absl::StrSplit(names, ", ");
    EXPECT_THAT(by, IsSubsetOf(labels));
  }
}

TEST(ObservabilityDocTest, DashboardShowsEveryMetric) {
  const std::string queries = Queries();
  for (const std::string& name :
       Find(FullTable().Text(), "# TYPE ([a-z_]+) ")) {
    EXPECT_THAT(queries, HasSubstr(name));
  }
}

}  // namespace
}  // namespace waiter
