// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests every sentence of the comments in the telemetry headers, with values
// that their authors did not intend.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/budgets.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/telemetry/log_observer.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/telemetry/trace.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::telemetry_header_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::array kAllReasons = {
    StopReason::kSuccess,     StopReason::kFailed,
    StopReason::kDeadline,    StopReason::kCancelled,
    StopReason::kAttempts,    StopReason::kConsecutiveLimit,
    StopReason::kDelaySource, StopReason::kQuota,
    StopReason::kShutDown,    StopReason::kInvalidOptions};
constexpr std::array kAllStatuses = {
    PollStatus::kSuccess, PollStatus::kNotReady, PollStatus::kThrottled,
    PollStatus::kServerError, PollStatus::kFailed};

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
          "overlong \xc0\xaf surrogate \xed\xa0\x80",
          "\xe2\x80\xa8 line separator \xc2\x85 next line",
          std::string(10000, 'x')};
}

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
    constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length] || point > 0x10ffff) return false;
    if (point >= 0xd800 && point <= 0xdfff) return false;
    i += length;
  }
  return true;
}

// One line of a log.
struct Line {
  absl::LogSeverity severity;
  std::string text;
};

class Lines {
 public:
  auto Sink() {
    return [this](absl::LogSeverity severity, std::string_view line) {
      const std::lock_guard<std::mutex> lock(mutex_);
      lines_.push_back({severity, std::string(line)});
    };
  }
  std::vector<Line> all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (const Line& line : all()) texts.push_back(line.text);
    return texts;
  }

 private:
  std::mutex mutex_;  // Guards `lines_`.
  std::vector<Line> lines_;
};

class LogHeaderTest : public EngineFixture {
 protected:
  WaitOptions Logged(absl::Duration timeout = absl::Hours(1)) {
    WaitOptions options = EverySecond(timeout);
    options.name = "thing";
    options.hooks.observer = observer_;
    return options;
  }

  Lines lines_;
  std::shared_ptr<WaitObserver> observer_ =
      std::make_shared<LogObserver>(LogOptions{.sink = lines_.Sink()});
};

TEST_F(LogHeaderTest, LinesOfTheExampleAreThose) {
  ScriptedPoll<> script(clock_, {NotReady("CREATING"), Success()});
  EXPECT_TRUE(Waiter(std::ref(script), Logged()).Wait().ok());
  EXPECT_THAT(lines_.texts(),
              ElementsAre("thing: not ready: CREATING, after 0s; next poll in "
                          "1s",
                          "thing: success after 1s and 2 polls"));
}

TEST_F(LogHeaderTest, WhatServersSayStaysOnOneLine) {
  for (const std::string& text : HostileTexts()) {
    ScriptedPoll<> script(clock_, {NotReady(text), Throttled(text),
                                   ServerError(absl::UnavailableError(text)),
                                   Failed(absl::AbortedError(text))});
    (void)Waiter(std::ref(script), Logged()).Wait();
  }
  for (const std::string& line : lines_.texts()) {
    for (const char c : line) {
      EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
      EXPECT_NE(c, 0x7f) << line;
    }
  }
}

TEST_F(LogHeaderTest, NamesOfWaitsStayOnOneLine) {
  for (const std::string& text : HostileTexts()) {
    WaitOptions options = Logged();
    options.name = text;
    options.operation = text;
    ScriptedPoll<> script(clock_, {NotReady(), Success()});
    (void)Waiter(std::ref(script), options).Wait();
  }
  for (const std::string& line : lines_.texts()) {
    EXPECT_THAT(line, AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\r"))));
  }
}

TEST_F(LogHeaderTest, WhatServersSayIsCutTo200Bytes) {
  const std::string megabyte(1 << 20, 'x');
  ScriptedPoll<> script(
      clock_, {NotReady(megabyte), Throttled(absl::UnavailableError(megabyte)),
               Failed(absl::AbortedError(megabyte))});
  (void)Waiter(std::ref(script), Logged()).Wait();
  EXPECT_THAT(lines_.texts(), SizeIs(testing::Ge(3U)));
  for (const std::string& line : lines_.texts()) {
    EXPECT_LE(line.size(), 200 + 200U);
    EXPECT_THAT(line, Not(HasSubstr(std::string(201, 'x'))));
  }
}

TEST_F(LogHeaderTest, ALimitNamesOnlyTheBeginningOfWhatTheServerSaid) {
  const std::string megabyte(1 << 20, 'x');
  ScriptedPoll<> script(clock_, {NotReady(megabyte)});
  (void)Waiter(std::ref(script), Logged(absl::Seconds(1))).Wait();
  for (const std::string& line : lines_.texts()) {
    EXPECT_THAT(line, Not(HasSubstr(std::string(201, 'x'))));
  }
}

TEST_F(LogHeaderTest, CutTextIsStillUtf8) {
  // 3 bytes each, at all three offsets.
  for (const std::string start : {"", "a", "ab"}) {
    std::string text = start;
    for (int i = 0; i < 1000; ++i) text += "\xe2\x82\xac";
    ScriptedPoll<> script(clock_, {NotReady(text), Success()});
    (void)Waiter(std::ref(script), Logged()).Wait();
  }
  for (const std::string& line : lines_.texts()) {
    EXPECT_TRUE(IsUtf8(line)) << line;
  }
}

TEST_F(LogHeaderTest, AnotherTextBeyondTheCutIsNoChange) {
  const std::string same(5000, 'x');
  ScriptedPoll<> script(clock_, {NotReady(same + "1"), NotReady(same + "1"),
                                 NotReady(same + "2"), Success()});
  (void)Waiter(std::ref(script), Logged()).Wait();
  EXPECT_THAT(lines_.all(), SizeIs(2));
}

TEST_F(LogHeaderTest, AnotherCodeWithTheSameTextIsAChange) {
  ScriptedPoll<> script(clock_, {NotReady(absl::UnavailableError("x")),
                                 NotReady(absl::UnavailableError("x")),
                                 NotReady(absl::InternalError("x")),
                                 ServerError(absl::InternalError("x")),
                                 NotReady("x"), NotReady("x"), Success()});
  (void)Waiter(std::ref(script), Logged()).Wait();
  EXPECT_THAT(lines_.all(), SizeIs(5));
}

TEST_F(LogHeaderTest, TheSameIsSaidAfter10sThen30sThenAMinuteThenTwice) {
  std::vector<absl::Duration> said;
  WaitOptions options = Logged(absl::Seconds(1000));
  options.hooks.observer = std::make_shared<LogObserver>(LogOptions{
      .sink = [&](absl::LogSeverity,
                  std::string_view) { said.push_back(clock_.Elapsed()); },
      .failure = std::nullopt});
  (void)Waiter([] { return false; }, options).Wait();
  EXPECT_THAT(said, ElementsAre(absl::Seconds(0), absl::Seconds(10),
                                absl::Seconds(30), absl::Seconds(60),
                                absl::Seconds(120), absl::Seconds(240),
                                absl::Seconds(480), absl::Seconds(960)));
}

TEST_F(LogHeaderTest, EachSeverityIsOfItsEventAloneAndUnsetIsSilent) {
  using Field = std::optional<absl::LogSeverity> LogOptions::*;
  constexpr std::array<Field, 5> kFields = {
      &LogOptions::change, &LogOptions::heartbeat, &LogOptions::success,
      &LogOptions::failure, &LogOptions::cancelled};
  const auto play = [&](const std::shared_ptr<WaitObserver>& observer) {
    WaitOptions options = EverySecond();
    options.hooks.observer = observer;
    ScriptedPoll<> long_script(
        clock_, {NotReady(), {NotReady(), absl::Seconds(11)}, Success()});
    (void)Waiter(std::ref(long_script), options).Wait();
    (void)Waiter([] { return Failed(); }, options).Wait();
    stop_source stop;
    stop.request_stop();
    (void)Waiter([] { return false; }, options).Wait(stop.get_token());
    WaitOptions invalid = options;
    invalid.max_attempts = -1;
    (void)Waiter([] { return false; }, invalid).Wait();
    {
      WaitEngine engine(Simulated());
      engine.Start(Waiter([] { return true; }, options), [](WaitResult<>) {})
          .Detach();
    }
    {
      WaitEngine engine(Simulated());
      WaitHandle gone = engine.Start(Waiter([] { return true; }, options),
                                     [](WaitResult<>) {});
      gone = WaitHandle();
      engine.RunDue();
    }
  };
  const std::array<size_t, 5> expected = {1, 1, 1, 2, 3};
  for (size_t i = 0; i < kFields.size(); ++i) {
    SCOPED_TRACE(i);
    Lines lines;
    LogOptions options{.sink = lines.Sink(),
                       .change = std::nullopt,
                       .heartbeat = std::nullopt,
                       .success = std::nullopt,
                       .failure = std::nullopt,
                       .cancelled = std::nullopt};
    options.*kFields[i] = absl::LogSeverity::kError;
    play(std::make_shared<LogObserver>(options));
    EXPECT_THAT(lines.all(), SizeIs(expected[i]))
        << testing::PrintToString(lines.texts());
  }
}

TEST_F(LogHeaderTest, WithoutASinkOneLineGoesToTheStandardErrorStream) {
  WaitOptions options = Logged();
  options.hooks.observer = std::make_shared<LogObserver>();
  testing::internal::CaptureStderr();
  (void)Waiter([] { return true; }, options).Wait();
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, HasSubstr("thing: success"));
  EXPECT_THAT(written, EndsWith("\n"));
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1) << written;
}

TEST_F(LogHeaderTest, TheSinkMayStartWaitsOfTheSameObserver) {
  int depth = 0;
  int lines = 0;
  WaitOptions options = EverySecond();
  std::weak_ptr<WaitObserver> observer;
  const auto logger = std::make_shared<LogObserver>(
      LogOptions{.sink = [&](absl::LogSeverity, std::string_view) {
        ++lines;
        if (depth == 3) return;
        ++depth;
        WaitOptions inner = EverySecond();
        inner.hooks.observer = observer.lock();
        ScriptedPoll<> script(clock_, {NotReady("a"), Success()});
        EXPECT_TRUE(Waiter(std::ref(script), inner).Wait().ok());
        --depth;
      }});
  observer = logger;
  options.hooks.observer = logger;
  ScriptedPoll<> script(clock_, {NotReady("a"), NotReady("b"), Success()});
  EXPECT_TRUE(Waiter(std::ref(script), options).Wait().ok());
  EXPECT_EQ(lines, 3 * (1 + 2 * (1 + 2 * (1 + 2))));
}

TEST_F(LogHeaderTest, TheSinkMayDestroyTheHandleAndTheLastOwner) {
  WaitEngine engine(Simulated());
  for (const int at : {1, 2, 3}) {
    WaitHandle handle;
    int lines = 0;
    auto logger = std::make_shared<LogObserver>(
        LogOptions{.sink = [&](absl::LogSeverity, std::string_view) {
          if (++lines == at) handle = WaitHandle();
        }});
    WaitOptions options = EverySecond();
    options.hooks.observer = std::move(logger);
    ScriptedPoll<> script(clock_, {NotReady("a"), NotReady("b"), Success()});
    handle = engine.Start(Waiter(std::ref(script), std::move(options)),
                          [](WaitResult<>) {});
    engine.Run();
    EXPECT_GE(lines, at);
  }
}

TEST_F(LogHeaderTest, ThreadsShareAnObserver) {
  constexpr int kThreads = 4;
  constexpr int kWaits = 200;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kWaits; ++j) {
          SimulatedClock clock;
          WaitOptions options = Logged();
          options.clock = &clock;
          ScriptedPoll<> script(
              clock, {NotReady("a"), NotReady("a"), NotReady("b"), Success()});
          (void)Waiter(std::ref(script), options).Wait();
        }
      });
    }
  }
  EXPECT_THAT(lines_.all(), SizeIs(kThreads * kWaits * 3));
}

// A text of Prometheus, read strictly.
struct Page {
  struct Sample {
    std::string name;
    std::map<std::string, std::string> labels;
    double value;
  };
  std::vector<std::string> problems;
  std::map<std::string, std::string> types;  // By family.
  std::vector<Sample> samples;
};

bool IsName(std::string_view name, bool colon) {
  if (name.empty() ||
      absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
    return false;
  }
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' &&
        !(colon && c == ':')) {
      return false;
    }
  }
  return true;
}

// Reads `{a="b",...}` from `rest`; returns false if it is malformed.
bool ReadLabels(std::string_view& rest, Page::Sample& sample) {
  if (rest.empty() || rest[0] != '{') return true;
  rest.remove_prefix(1);
  while (!rest.empty() && rest[0] != '}') {
    const size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return false;
    const std::string key(rest.substr(0, equals));
    if (!IsName(key, false)) return false;
    rest.remove_prefix(equals + 2);
    std::string value;
    while (!rest.empty() && rest[0] != '"') {
      if (rest[0] == '\\') {
        if (rest.size() < 2) return false;
        const char escaped = rest[1];
        if (escaped == 'n') {
          value += '\n';
        } else if (escaped == '\\' || escaped == '"') {
          value += escaped;
        } else {
          return false;
        }
        rest.remove_prefix(2);
      } else {
        value += rest[0];
        rest.remove_prefix(1);
      }
    }
    if (rest.empty()) return false;
    rest.remove_prefix(1);
    if (!sample.labels.emplace(key, value).second) return false;
    if (!rest.empty() && rest[0] == ',') rest.remove_prefix(1);
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  return true;
}

std::string FamilyOf(const Page& page, const std::string& name) {
  if (page.types.count(name) != 0) return name;
  for (const std::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (name.size() <= suffix.size() ||
        name.substr(name.size() - suffix.size()) != suffix) {
      continue;
    }
    const std::string family = name.substr(0, name.size() - suffix.size());
    const auto type = page.types.find(family);
    if (type != page.types.end() && type->second == "histogram") return family;
  }
  return "";
}

void CheckHistograms(Page& page) {
  using Key = std::pair<std::string, std::map<std::string, std::string>>;
  std::map<Key, std::vector<std::pair<double, double>>> buckets;
  std::map<Key, double> counts;
  std::set<Key> sums;
  for (const Page::Sample& sample : page.samples) {
    const std::string family = FamilyOf(page, sample.name);
    if (page.types[family] != "histogram") {
      if (sample.labels.count("le") != 0) page.problems.push_back("stray le");
      if (page.types[family] == "counter" && !(sample.value >= 0)) {
        page.problems.push_back("negative counter " + sample.name);
      }
      continue;
    }
    std::map<std::string, std::string> labels = sample.labels;
    if (sample.name == family + "_bucket") {
      const auto le = labels.extract("le");
      if (le.empty()) {
        page.problems.push_back("no le");
        continue;
      }
      const double bound = le.mapped() == "+Inf"
                               ? std::numeric_limits<double>::infinity()
                               : std::stod(le.mapped());
      buckets[{family, labels}].emplace_back(bound, sample.value);
    } else if (sample.name == family + "_sum") {
      sums.insert({family, labels});
    } else if (sample.name == family + "_count") {
      counts[{family, labels}] = sample.value;
    } else {
      page.problems.push_back("a histogram has " + sample.name);
    }
  }
  if (buckets.size() != counts.size() || buckets.size() != sums.size()) {
    page.problems.push_back("histograms lack buckets, sums or counts");
  }
  for (const auto& [key, values] : buckets) {
    if (!std::isinf(values.back().first)) {
      page.problems.push_back("the last bucket is not +Inf");
    }
    for (size_t i = 1; i < values.size(); ++i) {
      if (!(values[i - 1].first < values[i].first)) {
        page.problems.push_back("bounds do not ascend");
      }
      if (values[i - 1].second > values[i].second) {
        page.problems.push_back("buckets are not cumulative");
      }
    }
    if (counts.count(key) == 0 || counts[key] != values.back().second) {
      page.problems.push_back("count is not that of +Inf");
    }
    if (sums.count(key) == 0) page.problems.push_back("no sum");
  }
}

Page Read(std::string_view text) {
  Page page;
  if (!IsUtf8(text)) page.problems.push_back("not UTF-8");
  if (!text.empty() && text.back() != '\n') page.problems.push_back("no end");
  std::set<std::string> helped;
  std::set<std::string> ended;
  std::string family;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto problem = [&](const std::string& what) {
      page.problems.push_back(what + ": " + std::string(line).substr(0, 200));
    };
    if (line.empty()) continue;
    const bool help = line.substr(0, 7) == "# HELP ";
    if (help || line.substr(0, 7) == "# TYPE ") {
      line.remove_prefix(7);
      const size_t space = line.find(' ');
      const std::string name(line.substr(0, space));
      if (!IsName(name, true)) problem("bad name");
      if (name != family) {
        if (!family.empty()) ended.insert(family);
        family = name;
      }
      if (ended.count(name) != 0) problem("family in two places");
      if (help) {
        if (!helped.insert(name).second) problem("second HELP");
      } else if (!page.types
                      .emplace(name, space == std::string_view::npos
                                         ? ""
                                         : line.substr(space + 1))
                      .second) {
        problem("second TYPE");
      } else if (page.types[name] != "counter" && page.types[name] != "gauge" &&
                 page.types[name] != "histogram") {
        problem("unknown type");
      }
      continue;
    }
    if (line[0] == '#') continue;
    Page::Sample sample;
    std::string_view rest = line;
    const size_t name_end = rest.find_first_of("{ ");
    if (name_end == std::string_view::npos) {
      problem("no value");
      continue;
    }
    sample.name = rest.substr(0, name_end);
    rest.remove_prefix(name_end);
    if (!IsName(sample.name, true)) problem("bad name");
    if (!ReadLabels(rest, sample)) {
      problem("bad labels");
      continue;
    }
    const std::string value(rest);
    size_t used = 0;
    try {
      sample.value = std::stod(value, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != value.size() || value[0] != ' ') {
      problem("bad value");
      continue;
    }
    if (FamilyOf(page, sample.name) != family) problem("outside of its family");
    if (!seen.insert({sample.name, sample.labels}).second) {
      problem("the same series twice");
    }
    page.samples.push_back(sample);
  }
  CheckHistograms(page);
  return page;
}

double SumOf(const Page& page, const std::string& name) {
  double sum = 0;
  for (const Page::Sample& sample : page.samples) {
    if (sample.name == name) sum += sample.value;
  }
  return sum;
}

std::set<std::string> ValuesOf(const Page& page, const std::string& label) {
  std::set<std::string> values;
  for (const Page::Sample& sample : page.samples) {
    const auto found = sample.labels.find(label);
    if (found != sample.labels.end()) values.insert(found->second);
  }
  return values;
}

using Labels =
    std::tuple<Instrument, std::string, std::string, std::string, std::string>;
Labels LabelsOf(const MetricSeries& series) {
  return {series.instrument(), std::string(series.operation()),
          std::string(series.stop_reason()), std::string(series.error_type()),
          std::string(series.status())};
}

// All series of an operation.
std::vector<MetricSeries> SeriesOf(int index, std::string_view operation) {
  std::vector<MetricSeries> all = {MetricSeries::WaitDelay(index, operation),
                                   MetricSeries::WaitActive(index, operation)};
  for (const StopReason reason : kAllReasons) {
    all.push_back(MetricSeries::WaitPolls(index, operation, reason));
    for (int code = reason == StopReason::kFailed ? 1 : 0; code < 17; ++code) {
      all.push_back(MetricSeries::WaitDuration(
          index, operation, reason, static_cast<absl::StatusCode>(code)));
    }
  }
  for (const PollStatus status : kAllStatuses) {
    all.push_back(MetricSeries::PollDuration(index, operation, status));
  }
  return all;
}

TEST(MetricsHeaderTest, SeriesWithOtherLabelsHaveOtherOrdinals) {
  std::map<size_t, Labels> by_ordinal;
  for (int index = 0; index <= MetricSeries::kMaxOperations; ++index) {
    const std::string operation = std::to_string(index);
    for (const MetricSeries& series : SeriesOf(index, operation)) {
      ASSERT_LT(series.ordinal(), MetricSeries::kCount);
      const auto [found, is_new] =
          by_ordinal.emplace(series.ordinal(), LabelsOf(series));
      ASSERT_EQ(found->second, LabelsOf(series)) << series.ordinal();
    }
  }
  std::set<Labels> distinct;
  for (const auto& [ordinal, labels] : by_ordinal) distinct.insert(labels);
  EXPECT_EQ(distinct.size(), by_ordinal.size());
  EXPECT_LE(by_ordinal.size(), size_t{42 * 101});
}

TEST(MetricsHeaderTest, LabelsAreThoseOfTheirInstrumentsAndNames) {
  for (const MetricSeries& series : SeriesOf(0, "x")) {
    const bool wait = series.instrument() == Instrument::kWaitDuration ||
                      series.instrument() == Instrument::kWaitPolls;
    EXPECT_EQ(series.stop_reason().empty(), !wait);
    EXPECT_EQ(series.status().empty(),
              series.instrument() != Instrument::kPollDuration);
    if (series.instrument() != Instrument::kWaitDuration) {
      EXPECT_EQ(series.error_type(), "");
    }
  }
  EXPECT_EQ(MetricSeries::WaitDuration(0, "x", StopReason::kDeadline,
                                       absl::StatusCode::kDeadlineExceeded)
                .error_type(),
            "DEADLINE_EXCEEDED");
  EXPECT_EQ(MetricSeries::WaitDuration(0, "x", StopReason::kSuccess,
                                       absl::StatusCode::kOk)
                .error_type(),
            "");
}

TEST(MetricsHeaderTest, CodesOutsideOfTheListKeepOrdinalsInRange) {
  for (const int code : {17, 20, 99, 255, 256, -1, 1 << 30}) {
    const MetricSeries series = MetricSeries::WaitDuration(
        MetricSeries::kOtherOperation, "other", StopReason::kFailed,
        static_cast<absl::StatusCode>(code));
    EXPECT_LT(series.ordinal(), MetricSeries::kCount) << code;
    EXPECT_NE(series.error_type(), "") << code;
  }
}

TEST(MetricsHeaderTest, InstrumentsAreInOrderAndNamedAsOpenTelemetryDoes) {
  std::set<std::string> names;
  for (size_t i = 0; i < kInstruments.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kInstruments[i]), i);
    const InstrumentInfo& info = InfoOf(kInstruments[i]);
    EXPECT_TRUE(names.insert(std::string(info.name)).second);
    EXPECT_THAT(std::string(info.name),
                testing::MatchesRegex("waiter(\\.[a-z_]+)+"));
    EXPECT_THAT(std::string(info.unit),
                testing::AnyOf("s", "{poll}", "{wait}"));
    EXPECT_FALSE(info.description.empty());
    const BucketBounds& bounds = BoundsOf(kInstruments[i]);
    if (info.kind != InstrumentKind::kHistogram) continue;
    for (size_t j = 1; j < bounds.size(); ++j) {
      EXPECT_LT(bounds[j - 1], bounds[j]);
    }
  }
}

class MetricsHeaderFixture : public EngineFixture {
 protected:
  WaitOptions Measured(std::string operation) {
    WaitOptions options = EverySecond();
    options.operation = std::move(operation);
    options.hooks.observer = observer_;
    return options;
  }
  Page ReadPage() {
    Page page = Read(PrometheusText(*table_));
    EXPECT_THAT(page.problems, IsEmpty());
    return page;
  }

  std::shared_ptr<MetricsTable> table_ = std::make_shared<MetricsTable>();
  std::shared_ptr<WaitObserver> observer_ =
      std::make_shared<MetricsObserver>(table_);
};

TEST_F(MetricsHeaderFixture, AnEmptyTableHasNoMetrics) {
  EXPECT_THAT(table_->Collect(), IsEmpty());
  ReadPage();
}

TEST_F(MetricsHeaderFixture, HostileOperationsMakeAValidText) {
  size_t waits = 0;
  for (const std::string& operation : HostileTexts()) {
    EXPECT_TRUE(Waiter([] { return true; }, Measured(operation)).Wait().ok());
    ++waits;
  }
  const Page page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_wait_duration_seconds_count"),
            static_cast<double>(waits));
  EXPECT_THAT(ValuesOf(page, "operation"),
              testing::Contains("quote \" backslash \\ both \\\""));
  EXPECT_THAT(ValuesOf(page, "operation"), testing::Contains("line\nfeed"));
}

TEST_F(MetricsHeaderFixture, OperationsThatDifferInInvalidBytesMakeAValidText) {
  for (const std::string operation :
       {"a\xff", "a\xfe", "a\xc3", "a?", "a ", "a", "a\xef\xbf\xbd"}) {
    (void)Waiter([] { return true; }, Measured(operation)).Wait();
  }
  EXPECT_EQ(SumOf(ReadPage(), "waiter_wait_duration_seconds_count"), 7);
}

TEST_F(MetricsHeaderFixture, AnOperationNamedOtherDoesNotMakeTheTextInvalid) {
  (void)Waiter([] { return true; }, Measured("other")).Wait();
  for (int i = 0; i < 200; ++i) {
    (void)Waiter([] { return true; }, Measured(std::to_string(i))).Wait();
  }
  EXPECT_EQ(SumOf(ReadPage(), "waiter_wait_duration_seconds_count"), 201);
}

TEST_F(MetricsHeaderFixture, TheFirst100OfTenThousandOperationsHaveLabels) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 10000; ++i) {
      (void)Waiter([] { return true; }, Measured(std::to_string(i))).Wait();
    }
  }
  const Page page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_wait_duration_seconds_count"), 20000);
  EXPECT_THAT(ValuesOf(page, "operation"), SizeIs(101));
  for (const Page::Sample& sample : page.samples) {
    if (sample.name != "waiter_wait_duration_seconds_count") continue;
    EXPECT_EQ(sample.value,
              sample.labels.at("operation") == "other" ? 19800 : 2);
  }
}

TEST_F(MetricsHeaderFixture, ThreadsGiveAnOperationOneLabel) {
  constexpr int kThreads = 4;
  constexpr int kOperations = 150;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int j = 0; j < kOperations; ++j) {
          WaitOptions options{.timeout = absl::Hours(1)};
          options.operation =
              std::to_string((j + i * kOperations / kThreads) % kOperations);
          options.hooks.observer = observer_;
          (void)Waiter([] { return true; }, options).Wait();
        }
      });
    }
  }
  const Page page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_wait_duration_seconds_count"),
            kThreads * kOperations);
  EXPECT_EQ(SumOf(page, "waiter_wait_active"), 0);
  EXPECT_THAT(ValuesOf(page, "operation"), SizeIs(101));
}

TEST_F(MetricsHeaderFixture, PreconditionsAreInvalidOptionsWhateverTheirCode) {
  for (const absl::Status& error :
       {absl::NotFoundError("x"), absl::AbortedError("x")}) {
    const auto policy = WaitPolicy::Make(Measured("x"), error);
    EXPECT_EQ(Waiter([] { return true; }, policy).Wait().reason(),
              StopReason::kInvalidOptions);
  }
  EXPECT_THAT(ValuesOf(ReadPage(), "error_type"),
              ElementsAre("INVALID_ARGUMENT"));
}

TEST_F(MetricsHeaderFixture, ValuesOutliveTheObserverAndTheTable) {
  (void)Waiter([] { return true; }, Measured(std::string(100, 'x'))).Wait();
  observer_ = nullptr;
  ReadPage();
  const std::vector<MetricFamily> families = table_->Collect();
  table_ = nullptr;
  ASSERT_FALSE(families.empty());
  for (const MetricFamily& family : families) {
    EXPECT_THAT(std::string(family.info.name), StartsWith("waiter."));
    EXPECT_FALSE(family.info.description.empty());
    for (const MetricSample& sample : family.samples) {
      EXPECT_EQ(sample.labels.at(0).first, "operation");
      EXPECT_EQ(sample.labels.at(0).second, std::string(100, 'x'));
    }
  }
}

TEST_F(MetricsHeaderFixture, EveryEndCountsOnceAndActiveReturnsToZero) {
  int ends = 0;
  const auto run = [&](WaitOptions options, Poll<> answer) {
    (void)Waiter([answer] { return answer; }, std::move(options)).Wait();
    ++ends;
  };
  run(Measured("x"), Success());
  run(Measured("x"),
      Failed(absl::Status(static_cast<absl::StatusCode>(99), "no such code")));
  run(Measured("x"), Poll<>(static_cast<PollStatus>(99)));
  run(Measured("x"), Poll<>(static_cast<PollStatus>(255)));
  WaitOptions options = Measured("x");
  options.timeout = std::nullopt;
  run(options, Success());
  options = Measured("x");
  options.max_attempts = 2;
  run(options, NotReady());
  EXPECT_THROW((void)Waiter([]() -> bool { throw std::runtime_error("no"); },
                            Measured("x"))
                   .Wait(),
               std::runtime_error);
  ++ends;
  {
    WaitEngine engine(Simulated());
    engine
        .Start(Waiter([] { return false; }, Measured("x")), [](WaitResult<>) {})
        .Detach();
    WaitHandle gone = engine.Start(Waiter([] { return false; }, Measured("x")),
                                   [](WaitResult<>) {});
    WaitHandle cancelled =
        engine.Start(AsyncWaiter([](const PollCompletion<>&) {}, Measured("x")),
                     [](WaitResult<>) {});
    engine.RunDue();
    EXPECT_EQ(SumOf(ReadPage(), "waiter_wait_active"), 3);
    gone = WaitHandle();
    cancelled.Cancel();
    engine.RunDue();
    EXPECT_EQ(SumOf(ReadPage(), "waiter_wait_active"), 1);
    ends += 3;
  }
  const Page page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_wait_active"), 0);
  EXPECT_EQ(SumOf(page, "waiter_wait_duration_seconds_count"), ends);
  EXPECT_EQ(SumOf(page, "waiter_wait_polls_count"), ends);
  EXPECT_EQ(SumOf(page, "waiter_wait_delay_seconds_count"), ends);
}

TEST_F(MetricsHeaderFixture, DurationsAreInSecondsHoweverLong) {
  WaitOptions options = Measured("x");
  options.timeout = absl::InfiniteDuration();
  options.backoff = Every(absl::Seconds(100));
  constexpr double kYears = 3600.0 * 24 * 365 * 50;
  ScriptedPoll<> script(clock_,
                        {{NotReady(), absl::Seconds(kYears)}, Success()});
  EXPECT_TRUE(Waiter(std::ref(script), options).Wait().ok());
  const Page page = ReadPage();
  EXPECT_NEAR(SumOf(page, "waiter_wait_duration_seconds_sum"), kYears + 100,
              1e-3);
  EXPECT_NEAR(SumOf(page, "waiter_poll_duration_seconds_sum"), kYears, 1e-3);
  EXPECT_EQ(SumOf(page, "waiter_wait_delay_seconds_sum"), 100);
}

TEST_F(MetricsHeaderFixture, AValueUpToABoundIsInItsBucket) {
  const MetricSeries series = MetricSeries::WaitDelay(0, "x");
  const BucketBounds& bounds = BoundsOf(Instrument::kWaitDelay);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bound : bounds) {
    table_->Record(series, std::nextafter(bound, -kInfinity));
    table_->Record(series, bound);
  }
  table_->Record(series, std::nextafter(bounds.back(), kInfinity));
  const std::vector<MetricFamily> families = table_->Collect();
  ASSERT_THAT(families, SizeIs(1));
  EXPECT_EQ(families[0].bounds,
            std::vector<double>(bounds.begin(), bounds.end()));
  std::vector<uint64_t> expected(bounds.size(), 2);
  expected.push_back(1);
  EXPECT_EQ(families[0].samples.at(0).buckets, expected);
}

TEST_F(MetricsHeaderFixture, ValuesThatAreNoDurationsMakeAValidText) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  int operation = 0;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -1.0,
        -0.0, 1e300, std::numeric_limits<double>::denorm_min()}) {
    const std::string name = std::to_string(operation);
    table_->Record(MetricSeries::WaitDelay(operation, name), 1);
    table_->Record(MetricSeries::WaitDelay(operation, name), value);
    const Page page = ReadPage();
    ++operation;
    EXPECT_EQ(SumOf(page, "waiter_wait_delay_seconds_count"), 2 * operation)
        << value;
  }
}

TEST_F(MetricsHeaderFixture, TheTextKeepsEveryDigit) {
  const MetricSeries polls =
      MetricSeries::WaitPolls(0, "x", StopReason::kSuccess);
  table_->Record(polls, 1234567891);
  table_->Record(polls, 0.1);
  for (int i = 0; i < 12345678; i += 1) {
    table_->Add(MetricSeries::WaitActive(0, "x"), 1);
    if (i == 1234) table_->Add(MetricSeries::WaitActive(0, "x"), 1000000007);
  }
  const Page page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_wait_polls_sum"), 1234567891.1);
  EXPECT_EQ(SumOf(page, "waiter_wait_active"), 12345678 + 1000000007);
}

// Formats numbers with the signs of another country.
class OtherNumbers : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(MetricsHeaderFixture, TheTextIsTheSameInEveryLocale) {
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

TEST_F(MetricsHeaderFixture, NamesForPrometheusHaveUnitsAndTypesAsSuffixes) {
  EXPECT_EQ(PrometheusName(InfoOf(Instrument::kWaitDuration)),
            "waiter_wait_duration_seconds");
  WaitEngine engine(Simulated());
  table_->Watch("e", engine);
  for (const MetricFamily& family : table_->Collect()) {
    const std::string name = PrometheusName(family.info);
    EXPECT_TRUE(IsName(name, false)) << name;
    EXPECT_EQ(name.size() > 6 && name.substr(name.size() - 6) == "_total",
              family.info.kind == InstrumentKind::kCounter);
    EXPECT_EQ(name.find("_seconds") != std::string::npos,
              family.info.unit == "s");
  }
  EXPECT_EQ(ReadPage().types.count("waiter_engine_polls_total"), 1);
}

TEST_F(MetricsHeaderFixture, ValuesOfThreadsThatHaveEndedStay) {
  constexpr int kThreads = 300;
  const MetricSeries series = MetricSeries::WaitDelay(0, "x");
  for (int i = 0; i < kThreads; ++i) {
    JoiningThread([&] {
      table_->Record(series, 1);
      table_->Add(MetricSeries::WaitActive(0, "x"), i % 2 == 0 ? 1 : -1);
    });
  }
  const Page page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_wait_delay_seconds_count"), kThreads);
  EXPECT_EQ(SumOf(page, "waiter_wait_delay_seconds_sum"), kThreads);
  EXPECT_EQ(SumOf(page, "waiter_wait_active"), 0);
}

TEST_F(MetricsHeaderFixture, AThreadUsesManyTablesOneAfterTheOther) {
  const MetricSeries series = MetricSeries::WaitDelay(0, "x");
  for (int i = 0; i < 500; ++i) {
    MetricsTable table;
    table.Record(series, 1);
    EXPECT_EQ(table.Collect().at(0).samples.at(0).value, 1);
    table_->Record(series, 1);
  }
  EXPECT_EQ(table_->Collect().at(0).samples.at(0).value, 500);
}

TEST_F(MetricsHeaderFixture, CollectedCountsNeverDecreaseAndNoneIsLost) {
  constexpr int kThreads = 3;
  constexpr int kValues = 20000;
  std::atomic<int> running = kThreads;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kValues; ++j) {
          table_->Record(
              MetricSeries::PollDuration(
                  j % 3, "x", kAllStatuses[static_cast<size_t>(j % 5)]),
              j % 7);
          table_->Add(MetricSeries::WaitActive(j % 3, "x"),
                      j % 2 == 0 ? 1 : -1);
        }
        --running;
      });
    }
    uint64_t last = 0;
    double last_sum = 0;
    while (running > 0) {
      uint64_t count = 0;
      double sum = 0;
      for (const MetricFamily& family : table_->Collect()) {
        EXPECT_FALSE(family.samples.empty());
        for (const MetricSample& sample : family.samples) {
          for (const uint64_t bucket : sample.buckets) count += bucket;
          if (!sample.buckets.empty()) sum += sample.value;
        }
      }
      EXPECT_GE(count, last);
      EXPECT_GE(sum, last_sum);
      last = count;
      last_sum = sum;
    }
  }
  uint64_t count = 0;
  for (const MetricFamily& family : table_->Collect()) {
    for (const MetricSample& sample : family.samples) {
      for (const uint64_t bucket : sample.buckets) count += bucket;
      if (sample.buckets.empty()) {
        EXPECT_GE(sample.value, -kThreads * kValues);
      }
    }
  }
  EXPECT_EQ(count, uint64_t{kThreads * kValues});
}

std::shared_ptr<RetryQuota> MakeQuota(double capacity) {
  return *RetryQuota::Make({.capacity = capacity});
}

TEST_F(MetricsHeaderFixture, WatchReplacesTheSameTypeAndForgetAllOfTheName) {
  WaitEngine engine(Simulated());
  WaitEngine other(Simulated());
  const std::shared_ptr<AdaptiveRateLimiter> limiter =
      *AdaptiveRateLimiter::Make({});
  for (int i = 0; i < 3; ++i) {
    limiter->Update(clock_.MonotonicNow(), PollStatus::kThrottled);
  }
  other.Start(Waiter([] { return false; }, EverySecond()), [](WaitResult<>) {})
      .Detach();
  other.RunDue();
  table_->Watch("a", engine);
  table_->Watch("a", MakeQuota(100), clock_);
  table_->Watch("a", limiter);
  table_->Watch("b", MakeQuota(7), clock_);
  Page page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_engine_pending"), 0);
  EXPECT_EQ(SumOf(page, "waiter_retry_quota_tokens"), 107);
  EXPECT_EQ(page.types.size(), 6U) << PrometheusText(*table_);
  table_->Watch("a", other);
  table_->Watch("a", MakeQuota(200), clock_);
  page = ReadPage();
  EXPECT_EQ(SumOf(page, "waiter_engine_pending"), 1);
  EXPECT_EQ(SumOf(page, "waiter_engine_polls_total"), 1);
  EXPECT_EQ(SumOf(page, "waiter_retry_quota_tokens"), 207);
  table_->Forget("a");
  table_->Forget("a");
  table_->Forget("never watched");
  page = ReadPage();
  EXPECT_THAT(ValuesOf(page, "name"), ElementsAre("b"));
  EXPECT_EQ(page.samples.size(), 1U);
  table_->Forget("b");
  EXPECT_THAT(table_->Collect(), IsEmpty());
}

TEST_F(MetricsHeaderFixture, HostileNamesOfWhatIsWatchedMakeAValidText) {
  WaitEngine engine(Simulated());
  for (const std::string& name : HostileTexts()) {
    table_->Watch(name, engine);
    table_->Watch(name, MakeQuota(1), clock_);
  }
  table_->Watch("a\xff", MakeQuota(1), clock_);
  table_->Watch("a\xfe", MakeQuota(1), clock_);
  EXPECT_EQ(SumOf(ReadPage(), "waiter_retry_quota_tokens"),
            static_cast<double>(HostileTexts().size() + 2));
  for (const std::string& name : HostileTexts()) table_->Forget(name);
  table_->Forget("a\xff");
  table_->Forget("a\xfe");
  EXPECT_THAT(table_->Collect(), IsEmpty());
}

TEST_F(MetricsHeaderFixture, TheTableSharesWhatItWatchesAndForgetFreesIt) {
  std::weak_ptr<RetryQuota> quota;
  {
    const std::shared_ptr<RetryQuota> made = MakeQuota(5);
    quota = made;
    table_->Watch("q", made, clock_);
  }
  EXPECT_EQ(SumOf(ReadPage(), "waiter_retry_quota_tokens"), 5);
  table_->Forget("q");
  EXPECT_TRUE(quota.expired());
}

TEST_F(MetricsHeaderFixture, WhatIsForgottenMayUseTheTableAsItGoes) {
  const auto watch = [&](const std::string& name) {
    table_->Watch(name,
                  std::shared_ptr<const RetryQuota>(
                      MakeQuota(5).get(),
                      [this, owner = MakeQuota(5)](const RetryQuota*) {
                        table_->Forget("another");
                        (void)table_->Collect().size();
                      }),
                  clock_);
  };
  watch("q");
  table_->Forget("q");
  watch("q");
  table_->Watch("q", MakeQuota(6), clock_);
  EXPECT_EQ(SumOf(ReadPage(), "waiter_retry_quota_tokens"), 6);
}

TEST_F(MetricsHeaderFixture, EnginesComeAndGoWhileOthersCollect) {
  std::atomic<bool> done = false;
  std::vector<JoiningThread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const Page page = Read(PrometheusText(*table_));
        EXPECT_THAT(page.problems, IsEmpty());
      }
    });
  }
  {
    std::vector<JoiningThread> owners;
    for (int i = 0; i < 2; ++i) {
      owners.emplace_back([&, i] {
        const std::string name = "engine " + std::to_string(i);
        for (int j = 0; j < 50; ++j) {
          WaitEngine engine({.threads = 2});
          table_->Watch(name, engine);
          WaitOptions options{.timeout = absl::Hours(1),
                              .backoff = Every(absl::Microseconds(100))};
          options.operation = std::to_string(j);
          options.hooks.observer = observer_;
          for (int k = 0; k < 5; ++k) {
            engine
                .Start(Waiter([polls = 0]() mutable { return ++polls == 3; },
                              options),
                       [](WaitResult<>) {})
                .Detach();
          }
          table_->Forget(name);
        }
      });
    }
  }
  done = true;
  readers.clear();
  EXPECT_EQ(SumOf(ReadPage(), "waiter_wait_active"), 0);
}

// Keeps spans, and checks how a tracer is used.
struct TraceLog {
  struct Event {
    std::string name;
    std::map<std::string, std::string> attributes = {};
  };
  struct Span {
    std::string name;
    int parent;
    std::map<std::string, std::string> attributes = {};
    std::vector<Event> events = {};
    std::string error = {};
    int errors = 0;
    int ends = 0;
  };
  std::mutex mutex;  // Guards `spans` and `used_after_end`.
  std::vector<Span> spans;
  int used_after_end = 0;
  std::atomic<int> misnested = 0;
};

thread_local std::vector<int> current_spans;  // Ids; 0 for none.

std::string TextOf(
    const std::variant<int64_t, double, std::string_view>& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return std::string(*text);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return std::to_string(*number);
  }
  return std::to_string(std::get<int64_t>(value));
}

class FakeTracer {
 public:
  using Context = int;
  class Span {  // Movable alone.
   public:
    explicit Span(int id) : id_(id) {}
    Span(Span&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
    Span& operator=(Span&& other) noexcept {
      id_ = std::exchange(other.id_, -1);
      return *this;
    }
    int id() const { return id_; }

   private:
    int id_;
  };
  class Scope {
   public:
    Scope(TraceLog* log, int id) : log_(log), id_(id) {
      current_spans.push_back(id);
      depth_ = current_spans.size();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      if (current_spans.size() != depth_ || current_spans.back() != id_) {
        ++log_->misnested;
        return;
      }
      current_spans.pop_back();
    }

   private:
    TraceLog* log_;
    int id_;
    size_t depth_;
  };

  explicit FakeTracer(TraceLog& log) : log_(&log) {}

  Context Current() { return current_spans.empty() ? 0 : current_spans.back(); }
  Context With(const Context&, const Span& span) { return span.id(); }
  Scope MakeCurrent(const Context& context) { return {log_, context}; }
  Span StartSpan(std::string_view name, const Context& parent) {
    const std::lock_guard<std::mutex> lock(log_->mutex);
    log_->spans.push_back({.name = std::string(name), .parent = parent});
    return Span(static_cast<int>(log_->spans.size()));
  }
  void SetAttribute(Span& span, const TraceAttribute& attribute) {
    Change(span, [&](TraceLog::Span& kept) {
      kept.attributes[std::string(attribute.key)] = TextOf(attribute.value);
    });
  }
  void AddEvent(Span& span, std::string_view name,
                std::chrono::system_clock::time_point,
                std::span<const TraceAttribute> attributes) {
    Change(span, [&](TraceLog::Span& kept) {
      TraceLog::Event event{.name = std::string(name)};
      for (const TraceAttribute& attribute : attributes) {
        event.attributes[std::string(attribute.key)] = TextOf(attribute.value);
      }
      kept.events.push_back(std::move(event));
    });
  }
  void SetError(Span& span, std::string_view description) {
    Change(span, [&](TraceLog::Span& kept) {
      kept.error = description;
      ++kept.errors;
    });
  }
  void End(Span& span) {
    Change(span, [](TraceLog::Span& kept) { ++kept.ends; });
  }

 private:
  template <typename F>
  void Change(Span& span, F change) {
    const std::lock_guard<std::mutex> lock(log_->mutex);
    TraceLog::Span& kept = log_->spans.at(static_cast<size_t>(span.id()) - 1);
    if (kept.ends > 0) ++log_->used_after_end;
    change(kept);
  }

  TraceLog* log_;
};

class TracedHeaderTest : public EngineFixture {
 protected:
  ~TracedHeaderTest() override {
    const std::lock_guard<std::mutex> lock(log_.mutex);
    EXPECT_EQ(log_.used_after_end, 0);
    EXPECT_EQ(log_.misnested, 0);
    for (const TraceLog::Span& span : log_.spans) {
      EXPECT_EQ(span.ends, 1) << span.name;
    }
    EXPECT_THAT(current_spans, IsEmpty());
    current_spans.clear();
  }

  WaitOptions Options(std::string operation = "job") {
    WaitOptions options = EverySecond(absl::Minutes(10));
    options.name = "job 7";
    options.operation = std::move(operation);
    return options;
  }
  std::vector<TraceLog::Span> Spans(std::string_view prefix = "") {
    const std::lock_guard<std::mutex> lock(log_.mutex);
    std::vector<TraceLog::Span> spans;
    for (const TraceLog::Span& span : log_.spans) {
      if (span.name.substr(0, prefix.size()) == prefix) spans.push_back(span);
    }
    return spans;
  }

  TraceLog log_;
  FakeTracer tracer_{log_};
};

TEST_F(TracedHeaderTest, SpansHaveTheNamesAttributesAndParentsOfTheHeader) {
  const FakeTracer::Span request = tracer_.StartSpan("request", 0);
  std::vector<int> current;
  int polls = 0;
  auto wait = [&] {
    const FakeTracer::Scope scope = tracer_.MakeCurrent(request.id());
    return Traced(tracer_, Waiter(
                               [&] {
                                 current.push_back(tracer_.Current());
                                 return ++polls == 2 ? Success()
                                                     : NotReady("CREATING");
                               },
                               Options()));
  }();
  EXPECT_TRUE(wait.Wait().ok());
  {
    FakeTracer::Span ended(1);
    tracer_.End(ended);
  }
  const std::vector<TraceLog::Span> spans = Spans();
  ASSERT_THAT(spans, SizeIs(4));
  EXPECT_EQ(spans[1].name, "wait job");
  EXPECT_EQ(spans[1].parent, 1);
  EXPECT_EQ(spans[2].name, "poll job");
  EXPECT_EQ(spans[2].parent, 2);
  EXPECT_EQ(spans[3].parent, 2);
  EXPECT_THAT(current, ElementsAre(3, 4));
  EXPECT_THAT(
      spans[1].attributes,
      testing::UnorderedElementsAre(
          Pair("waiter.name", "job 7"), Pair("waiter.operation", "job"),
          Pair("waiter.timeout", "600.000000"), Pair("waiter.polls", "2"),
          Pair("waiter.stop_reason", "success")));
  EXPECT_THAT(
      spans[2].attributes,
      testing::UnorderedElementsAre(Pair("waiter.poll.attempt", "1"),
                                    Pair("waiter.poll.status", "not ready")));
  ASSERT_THAT(spans[1].events, SizeIs(2));
  EXPECT_EQ(spans[1].events[0].name, "waiter.poll");
  EXPECT_EQ(spans[1].events[0].attributes.at("detail"), "CREATING");
  EXPECT_EQ(spans[1].events[0].attributes.at("delay"), "1.000000");
  EXPECT_EQ(spans[1].events[0].attributes.at("attempt"), "1");
  EXPECT_EQ(spans[1].events[0].attributes.at("status"), "not ready");
  EXPECT_EQ(spans[1].events[0].attributes.at("reason"), "not ready");
  EXPECT_EQ(spans[1].errors + spans[2].errors + spans[3].errors, 0);
}

TEST_F(TracedHeaderTest, WithoutOperationAndDeadlineThereAreNoSuchAttributes) {
  WaitOptions options = Options("");
  options.timeout = absl::InfiniteDuration();
  EXPECT_TRUE(
      Traced(tracer_, Waiter([] { return true; }, options)).Wait().ok());
  const std::vector<TraceLog::Span> spans = Spans("wait");
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].name, "wait");
  EXPECT_EQ(spans[0].attributes.count("waiter.operation"), 0U);
  EXPECT_EQ(spans[0].attributes.count("waiter.timeout"), 0U);
  EXPECT_EQ(spans[0].attributes.count("error.type"), 0U);
}

TEST_F(TracedHeaderTest, TheFirstAndTheLastPollsAreEventsEachOnceInOrder) {
  for (const int polls : {1, 8, 9, 15, 16, 17, 40}) {
    for (const auto& [first, last] : std::vector<std::pair<int64_t, int64_t>>{
             {8, 8},
             {0, 0},
             {0, 3},
             {3, 0},
             {1000000, 1000000},
             {-1, -1},
             {int64_t{1} << 62, int64_t{1} << 62}}) {
      SCOPED_TRACE(testing::PrintToString(std::tuple(polls, first, last)));
      const size_t before = Spans("wait").size();
      int made = 0;
      EXPECT_TRUE(Traced(tracer_,
                         Waiter([&] { return ++made == polls; }, Options()),
                         {.first_events = first, .last_events = last})
                      .Wait()
                      .ok());
      std::vector<int64_t> expected;
      for (int i = 1; i <= polls; ++i) {
        if (i <= first || i > polls - last) expected.push_back(i);
      }
      std::vector<int64_t> got;
      const TraceLog::Span span = Spans("wait").at(before);
      for (const TraceLog::Event& event : span.events) {
        got.push_back(std::stoll(event.attributes.at("attempt")));
      }
      EXPECT_EQ(got, expected);
    }
  }
}

TEST_F(TracedHeaderTest, LaterPollsHaveNoSpanAndTheSpanOfTheWaitIsCurrent) {
  for (const int64_t limit : {int64_t{-1}, int64_t{0}, int64_t{3}}) {
    const size_t before = Spans("poll").size();
    std::vector<std::string> current;
    EXPECT_TRUE(Traced(tracer_,
                       Waiter(
                           [&] {
                             current.push_back(Spans()
                                                   .at(static_cast<size_t>(
                                                       tracer_.Current() - 1))
                                                   .name);
                             return current.size() == 5;
                           },
                           Options()),
                       {.poll_spans = limit})
                    .Wait()
                    .ok());
    const auto spans = static_cast<size_t>(std::max<int64_t>(0, limit));
    EXPECT_EQ(Spans("poll").size() - before, spans);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(current[i], i < spans ? "poll job" : "wait job");
    }
  }
}

TEST_F(TracedHeaderTest, EveryFailingEndIsAnErrorOfTheWait) {
  (void)Traced(tracer_, Waiter([] { return Failed(absl::AbortedError("no")); },
                               Options()))
      .Wait();
  EXPECT_THROW(
      (void)Traced(
          tracer_,
          Waiter([]() -> bool { throw std::runtime_error("no"); }, Options()))
          .Wait(),
      std::runtime_error);
  WaitOptions invalid = Options();
  invalid.max_attempts = 0;
  (void)Traced(tracer_, Waiter([] { return true; }, invalid)).Wait();
  (void)Traced(tracer_, Waiter(std::function<bool()>(), Options())).Wait();
  stop_source stop;
  stop.request_stop();
  (void)Traced(tracer_, Waiter([] { return true; }, Options()))
      .Wait(stop.get_token());
  WaitOptions one = Options();
  one.max_attempts = 1;
  (void)Traced(tracer_, Waiter([] { return false; }, one)).Wait();
  std::vector<std::string> types;
  for (const TraceLog::Span& span : Spans("wait")) {
    EXPECT_EQ(span.errors, 1);
    types.push_back(span.attributes.at("error.type"));
  }
  EXPECT_THAT(types, ElementsAre("ABORTED", "UNKNOWN", "INVALID_ARGUMENT",
                                 "INVALID_ARGUMENT", "CANCELLED",
                                 "RESOURCE_EXHAUSTED"));
  std::vector<int> poll_errors;
  for (const TraceLog::Span& span : Spans("poll")) {
    poll_errors.push_back(span.errors);
    EXPECT_EQ(span.attributes.count("waiter.poll.status"), 1U);
  }
  EXPECT_THAT(poll_errors, ElementsAre(1, 1, 0));
}

TEST_F(TracedHeaderTest, SpansEndHoweverAWaitOfAnEngineEnds) {
  std::vector<PollCompletion<>> completions;
  {
    WaitEngine engine(Simulated());
    const auto never = [&] {
      return Traced(tracer_, Waiter([] { return false; }, Options()));
    };
    const auto unanswered = [&] {
      return Traced(tracer_, AsyncWaiter(
                                 [&](PollCompletion<> done) {
                                   completions.push_back(std::move(done));
                                 },
                                 Options()));
    };
    WaitHandle not_begun = engine.Start(never(), [](WaitResult<>) {});
    not_begun = WaitHandle();
    WaitHandle gone = engine.Start(never(), [](WaitResult<>) {});
    WaitHandle gone_unanswered =
        engine.Start(unanswered(), [](WaitResult<>) {});
    WaitHandle cancelled = engine.Start(unanswered(), [](WaitResult<>) {});
    engine.Start(never(), [](WaitResult<>) {}, {.name = "own name"}).Detach();
    engine.Start(unanswered(), [](WaitResult<>) {}).Detach();
    engine.RunDue();
    gone = WaitHandle();
    gone_unanswered = WaitHandle();
    cancelled.Cancel();
    engine.RunDue();
    completions.back()(NotReady());
    completions.back()(Success());
    engine.RunDue();
  }
  for (const PollCompletion<>& done : completions) done(Success());
  std::multiset<std::string> reasons;
  std::set<std::string> names;
  for (const TraceLog::Span& span : Spans("wait")) {
    reasons.insert(span.attributes.at("waiter.stop_reason"));
    names.insert(span.attributes.at("waiter.name"));
    EXPECT_EQ(span.attributes.at("error.type"), "CANCELLED");
  }
  EXPECT_EQ(reasons.count("cancelled"), 4U);
  EXPECT_EQ(reasons.size(), 6U);
  EXPECT_THAT(names, ElementsAre("job 7", "own name"));
}

TEST_F(TracedHeaderTest, TheSpanOfAnAsynchronousPollEndsWithItsAnswer) {
  WaitEngine engine(Simulated());
  std::optional<PollCompletion<>> completion;
  int current = -1;
  engine
      .Start(Traced(tracer_, AsyncWaiter(
                                 [&](PollCompletion<> done) {
                                   current = tracer_.Current();
                                   completion = std::move(done);
                                 },
                                 Options())),
             results_.Take())
      .Detach();
  engine.RunDue();
  EXPECT_EQ(current, 2);
  EXPECT_EQ(tracer_.Current(), 0);
  EXPECT_EQ(Spans("poll").at(0).ends, 0);
  (*completion)(Success());
  engine.RunDue();
  EXPECT_EQ(Spans("poll").at(0).ends, 1);
  EXPECT_EQ(Spans("poll").at(0).attributes.at("waiter.poll.status"), "success");
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

class CountedStarts : public WaitObserver {
 public:
  void OnStart(const StartEvent&) override { ++starts; }
  void OnDone(const WaitIdentity&, const WaitReport&) override { ++ends; }
  std::atomic<int> starts = 0;
  std::atomic<int> ends = 0;
};

TEST_F(TracedHeaderTest, AnObserverOfEveryWaitSeesATracedWaitOnce) {
  const auto every = std::make_shared<CountedStarts>();
  const auto own = std::make_shared<CountedStarts>();
  ObserveEveryWait(every);
  WaitOptions options = Options();
  options.hooks.observer = own;
  (void)Traced(tracer_, Waiter([] { return true; }, options)).Wait();
  (void)Traced(tracer_, Traced(tracer_, Waiter([] { return true; }, options)))
      .Wait();
  {
    WaitEngine engine(Simulated());
    engine
        .Start(Traced(tracer_, Waiter([] { return true; }, Options())),
               results_.Take())
        .Detach();
    engine.Run();
  }
  ObserveEveryWait(nullptr);
  EXPECT_EQ(every->starts, 3);
  EXPECT_EQ(every->ends, 3);
  EXPECT_EQ(own->starts, 2);
  EXPECT_EQ(own->ends, 2);
}

TEST_F(TracedHeaderTest, WaitsInsideOfPollsAreChildrenOfThePoll) {
  EXPECT_TRUE(Traced(tracer_, Waiter(
                                  [&] {
                                    return Traced(tracer_,
                                                  Waiter([] { return true; },
                                                         Options("inner")))
                                        .Wait()
                                        .ok();
                                  },
                                  Options("outer")))
                  .Wait()
                  .ok());
  const std::vector<TraceLog::Span> spans = Spans();
  ASSERT_THAT(spans, SizeIs(4));
  EXPECT_EQ(spans[2].name, "wait inner");
  EXPECT_EQ(spans[2].parent, 2);
}

TEST_F(TracedHeaderTest, ValuesContextsAndMoveOnlyFunctionsPassThrough) {
  auto value = Traced(
      tracer_, Waiter(
                   [owned = std::make_unique<int>(7)](
                       const PollContext& poll) -> Poll<std::unique_ptr<int>> {
                     if (poll.attempt < 2) return NotReady();
                     return Success(std::make_unique<int>(*owned));
                   },
                   Options()));
  WaitResult<std::unique_ptr<int>> result = value.Wait();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(**result, 7);
}

TEST_F(TracedHeaderTest, ManyThreadsUseCopiesOfOneTracedWaiter) {
  constexpr int kThreads = 4;
  constexpr int kWaits = 50;
  WaitOptions options = Options();
  options.clock = nullptr;
  options.backoff = Every(absl::Microseconds(10));
  const auto traced = Traced(
      tracer_, Waiter([](const PollContext& poll) { return poll.attempt == 3; },
                      options));
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kWaits; ++j) {
          auto copy = traced;
          EXPECT_TRUE(copy.Wait().ok());
        }
      });
    }
    WaitEngine engine({.threads = 2});
    for (int j = 0; j < kWaits; ++j) {
      engine.Start(traced, [](WaitResult<>) {}).Detach();
      if (j % 2 == 0) {
        WaitHandle gone = engine.Start(traced, [](WaitResult<>) {});
        gone.PollNow();
      }
    }
    threads.clear();
  }
  EXPECT_THAT(Spans("wait"), SizeIs(kThreads * kWaits + kWaits + kWaits / 2));
}

TEST_F(TracedHeaderTest, HostileTextsReachTheTracer) {
  for (const std::string& text : HostileTexts()) {
    WaitOptions options = Options(text);
    options.name = text;
    ScriptedPoll<> script(clock_,
                          {NotReady(text), Failed(absl::AbortedError(text))});
    (void)Traced(tracer_, Waiter(std::ref(script), options)).Wait();
  }
  EXPECT_THAT(Spans("wait"), SizeIs(HostileTexts().size()));
  EXPECT_THAT(Spans("poll"), SizeIs(2 * HostileTexts().size()));
}

}  // namespace
}  // namespace waiter::telemetry_header_test
