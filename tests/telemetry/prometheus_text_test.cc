// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The text of Prometheus is valid whatever was measured, and keeps its values.

#include <clocale>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <locale>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/budgets.h"
#include "waiter/engine/engine.h"
#include "waiter/observer.h"
#include "waiter/result.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::prometheus_text_test {
namespace {

using ::testing::IsEmpty;

// Texts that break formats.
std::vector<std::string> HostileTexts() {
  return {"",
          "quote \" backslash \\ both \\\"",
          "line\nfeed",
          "trailing backslash \\",
          std::string("nul\0inside", 10),
          "\r\n\t\v\f\x1b[31m\x7f",
          "{a=\"b\"} 1",
          "invalid \xff\xfe utf-8 \xc3",
          "overlong \xc0\xaf \xe0\x9f\xbf \xf0\x8f\xbf\xbf",
          "surrogate \xed\xa0\x80 above \xf4\x90\x80\x80",
          "valid \xed\x9f\xbf \xf4\x8f\xbf\xbf \xe2\x80\xa8 \xc2\x85",
          "a\xff",
          "a\xfe",
          "a?",
          "a",
          "other",
          std::string(10000, 'x')};
}

// Returns whether `text` is UTF-8, by the definition of the encoding.
bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t length = first < 0x80              ? 1
                          : (first & 0xe0U) == 0xc0 ? 2
                          : (first & 0xf0U) == 0xe0 ? 3
                          : (first & 0xf8U) == 0xf0 ? 4
                                                    : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t point =
        length == 1 ? first : first & static_cast<unsigned>(0x7f >> length);
    for (size_t j = 1; j < length; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      if ((next & 0xc0U) != 0x80) return false;
      point = point << 6U | (next & 0x3fU);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length] || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff)) {
      return false;
    }
    i += length;
  }
  return true;
}

// A text, read strictly.
struct Page {
  std::map<std::string, double> values;  // By name and labels, as written.
  std::map<std::string, double> sums;    // By name: of all values.
};

// Removes `{a="b",...}` from the front of `rest`. Returns false if it is not
// well-formed.
bool SkipLabels(std::string_view& rest) {
  const auto skip = [&](auto is_skipped) {
    size_t length = 0;
    while (length < rest.size() && is_skipped(rest[length])) ++length;
    rest.remove_prefix(length);
    return length > 0;
  };
  const auto skip_one = [&](char c) {
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  };
  do {
    rest.remove_prefix(1);  // "{" or ",".
    if (!skip([](char c) {
          return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '_';
        }) ||
        !skip_one('=') || !skip_one('"')) {
      return false;
    }
    while (!rest.empty() && rest[0] != '"') {
      if (skip_one('\\') &&
          (rest.empty() ||
           (rest[0] != '\\' && rest[0] != '"' && rest[0] != 'n'))) {
        return false;
      }
      rest.remove_prefix(1);
    }
    if (!skip_one('"')) return false;
  } while (!rest.empty() && rest[0] == ',');
  return skip_one('}');
}

// Reads `text`, and expects that its families are described before their
// samples, each in one place, that no series is there twice, and that
// histograms are cumulative and complete.
Page Read(const std::string& text) {
  Page page;
  EXPECT_TRUE(IsUtf8(text));
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  std::set<std::string> described;
  std::string family;
  std::string type;
  double bucket = 0;  // The last one of the current histogram.
  for (const std::string& line : std::vector<std::string>(
           absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    SCOPED_TRACE(line);
    if (line[0] == '#') {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      if (words.at(1) == "HELP") {
        family = words.at(2);
        EXPECT_TRUE(described.insert(family).second);
      } else {
        EXPECT_EQ(words.at(1), "TYPE");
        EXPECT_EQ(words.at(2), family);
        type = words.at(3);
      }
      continue;
    }
    std::string_view rest = line;
    const std::string name = line.substr(0, line.find_first_of("{ "));
    rest.remove_prefix(name.size());
    EXPECT_TRUE(rest[0] != '{' || SkipLabels(rest));
    const std::string series = line.substr(0, line.size() - rest.size());
    double value = 0;
    if (rest.empty() || rest[0] != ' ' ||
        !absl::SimpleAtod(std::string(rest.substr(1)), &value)) {
      ADD_FAILURE() << "no value";
    }
    EXPECT_TRUE(page.values.emplace(series, value).second) << "series twice";
    page.sums[name] += value;
    if (type != "histogram") {
      EXPECT_EQ(name, family);
      EXPECT_EQ(type == "counter", absl::EndsWith(name, "_total"));
    } else if (name == family + "_bucket") {
      EXPECT_GE(bucket, 0) << "no count before";
      EXPECT_GE(value, bucket);
      bucket = value;
      if (absl::StrContains(series, "le=\"+Inf\"")) bucket = -value - 1;
    } else if (name == family + "_count") {
      EXPECT_EQ(value, -bucket - 1) << "not that of +Inf";
      bucket = 0;
    } else {
      EXPECT_EQ(name, family + "_sum");
    }
  }
  EXPECT_EQ(bucket, 0);
  return page;
}

class PrometheusTextTest : public testing::Test {
 protected:
  void WaitFor(const std::string& operation) {
    (void)Waiter([] { return true; }, {.operation = operation,
                                       .timeout = absl::Seconds(1),
                                       .hooks = {.observer = observer_},
                                       .clock = &clock_})
        .Wait();
  }

  SimulatedClock clock_;
  std::shared_ptr<MetricsTable> table_ = std::make_shared<MetricsTable>();
  std::shared_ptr<WaitObserver> observer_ =
      std::make_shared<MetricsObserver>(table_);
};

TEST_F(PrometheusTextTest, HostileOperationsMakeAValidText) {
  for (const std::string& operation : HostileTexts()) WaitFor(operation);
  const Page page = Read(PrometheusText(*table_));
  EXPECT_EQ(page.sums.at("waiter_wait_duration_seconds_count"),
            static_cast<double>(HostileTexts().size()));
  for (const char* value :
       {R"(quote \" backslash \\ both \\\")", R"(line\nfeed)",
        R"(overlong \\xc0\\xaf \\xe0\\x9f\\xbf \\xf0\\x8f\\xbf\\xbf)",
        R"(surrogate \\xed\\xa0\\x80 above \\xf4\\x90\\x80\\x80)",
        "valid \xed\x9f\xbf \xf4\x8f\xbf\xbf \xe2\x80\xa8 \xc2\x85"}) {
    EXPECT_EQ(page.values.count(absl::StrCat("waiter_wait_active{operation=\"",
                                             value, "\"}")),
              1U)
        << value;
  }
}

TEST_F(PrometheusTextTest, OperationNamedOtherIsOneWithThoseBeyondTheLimit) {
  WaitFor("other");
  for (int i = 0; i < 200; ++i) WaitFor(absl::StrCat(i));
  const Page page = Read(PrometheusText(*table_));
  EXPECT_EQ(page.values.at("waiter_wait_duration_seconds_count{operation="
                           "\"other\",stop_reason=\"success\"}"),
            101);
}

TEST_F(PrometheusTextTest, HostileNamesOfWhatIsWatchedMakeAValidText) {
  const WaitEngine engine({.threads = 0, .clock = &clock_});
  for (const std::string& name : HostileTexts()) {
    table_->Watch(name, engine);
    table_->Watch(name, *RetryQuota::Make({.capacity = 1}), clock_);
  }
  EXPECT_EQ(Read(PrometheusText(*table_)).sums.at("waiter_retry_quota_tokens"),
            static_cast<double>(HostileTexts().size()));
  for (const std::string& name : HostileTexts()) table_->Forget(name);
  EXPECT_THAT(table_->Collect(), IsEmpty());
}

TEST_F(PrometheusTextTest, ValuesThatAreNoDurationsMakeAValidText) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  int operation = 0;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -1.0,
        -0.0, 1e300, std::numeric_limits<double>::denorm_min()}) {
    const std::string name = absl::StrCat(operation);
    table_->Record(MetricSeries::WaitDelay(operation, name), 1);
    table_->Record(MetricSeries::WaitDelay(operation, name), value);
    ++operation;
    EXPECT_EQ(Read(PrometheusText(*table_))
                  .sums.at("waiter_wait_delay_seconds_count"),
              2 * operation)
        << value;
  }
}

TEST_F(PrometheusTextTest, NumbersKeepEveryDigit) {
  const MetricSeries polls =
      MetricSeries::WaitPolls(0, "x", StopReason::kSuccess);
  table_->Record(polls, 1234567891);
  table_->Record(polls, 0.1);
  table_->Add(MetricSeries::WaitActive(0, "x"), 1012345685);
  const Page page = Read(PrometheusText(*table_));
  EXPECT_EQ(page.sums.at("waiter_wait_polls_sum"), 1234567891.1);
  EXPECT_EQ(page.sums.at("waiter_wait_active"), 1012345685);
}

// Formats numbers with the signs of another country.
class OtherNumbers : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(PrometheusTextTest, IsTheSameInEveryLocale) {
  table_->Record(MetricSeries::WaitPolls(0, "x", StopReason::kSuccess),
                 1234567.5);
  for (int i = 0; i < 5000; ++i) {
    table_->Record(MetricSeries::WaitDelay(0, "x"), 0.25);
  }
  const std::string before = PrometheusText(*table_);
  const std::locale old =
      std::locale::global(std::locale(std::locale(), new OtherNumbers));
  std::string during = PrometheusText(*table_);
  std::locale::global(old);
  EXPECT_EQ(during, before);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr) {
    during = PrometheusText(*table_);
    std::setlocale(LC_ALL, "C");
    EXPECT_EQ(during, before);
  }
}

}  // namespace
}  // namespace waiter::prometheus_text_test
