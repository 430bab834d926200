// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/vectors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

// Returns the elements of an array or the members of an object. Other values
// have none.
std::vector<const Json*> Entries(const Json& value) {
  std::vector<const Json*> entries;
  if (value.is_array()) {
    for (const Json& entry : value.array()) entries.push_back(&entry);
  } else if (value.is_object()) {
    for (const auto& [name, entry] : value.object()) entries.push_back(&entry);
  }
  return entries;
}

}  // namespace

VectorFile::VectorFile(std::string name, int64_t cases)
    : name_(std::move(name)), json_(Json::ReadVectors(name_)), cases_(cases) {}

VectorFile::VectorFile(std::string name, Json json, int64_t cases)
    : name_(std::move(name)), json_(std::move(json)), cases_(cases) {}

void VectorFile::Ran(const Json& entry) { Set(entry, Mark::kRan); }

void VectorFile::RanEach(const Json& list) {
  for (const Json* entry : Entries(list)) Set(*entry, Mark::kRan);
}

void VectorFile::NotRun(const Json& entry, std::string_view reason) {
  Set(entry, Mark::kNotRun);
  reasons_.insert(absl::StrCat(entry.path(), ": ", std::string(reason)));
}

void VectorFile::NotRunEach(const Json& list, std::string_view reason) {
  const std::vector<const Json*> entries = Entries(list);
  for (const Json* entry : entries) Set(*entry, Mark::kNotRun);
  reasons_.insert(absl::StrCat(list.path(), ", ", entries.size(),
                               " cases: ", std::string(reason)));
}

void VectorFile::Describes(const Json& text) { Set(text, Mark::kText); }

void VectorFile::Describes(std::initializer_list<std::string_view> members) {
  for (const std::string_view member : members) Describes((*this)[member]);
}

void VectorFile::Set(const Json& value, Mark mark) {
  const auto [entry, is_new] = marks_.emplace(value.path(), mark);
  EXPECT_EQ(entry->second, mark)
      << name_ << ": " << value.path() << " is marked as one thing and another";
}

int64_t VectorFile::Count(Mark mark) const {
  return std::count_if(
      marks_.begin(), marks_.end(),
      [mark](const auto& marked) { return marked.second == mark; });
}

// Reference data is not deeply nested.
// NOLINTNEXTLINE(misc-no-recursion)
void VectorFile::FindUnmarked(const Json& value,
                              std::vector<std::string>& found) const {
  if (marks_.contains(value.path())) return;
  const std::vector<const Json*> entries = Entries(value);
  if (entries.empty()) found.push_back(value.path());
  for (const Json* entry : entries) FindUnmarked(*entry, found);
}

void VectorFile::Report(std::ostream& out) const {
  const int64_t ran = Count(Mark::kRan);
  const int64_t not_run = Count(Mark::kNotRun);
  out << name_ << ": " << ran << " cases run, " << not_run << " not run\n";
  for (const std::string& reason : reasons_) {
    out << "  - " << reason << "\n";
  }
  const testing::TestSuite& suite =
      *testing::UnitTest::GetInstance()->current_test_suite();
  if (suite.test_to_run_count() + suite.disabled_test_count() <
      suite.total_test_count()) {
    out << "  (not checked, as not all of " << suite.name() << " was run)\n";
    return;
  }
  EXPECT_EQ(ran + not_run, cases_) << name_;
  std::vector<std::string> unmarked;
  FindUnmarked(json_, unmarked);
  EXPECT_THAT(unmarked, testing::IsEmpty())
      << "values of " << name_ << " that no test has marked";
}

Json CsvVectors(std::string_view name) {
  std::ifstream file(absl::StrCat("tests/vectors/", std::string(name)));
  EXPECT_TRUE(file.good()) << name << " cannot be read";
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields =
        absl::StrSplit(absl::StripTrailingAsciiWhitespace(line), ',');
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    EXPECT_EQ(fields.size(), columns.size()) << line;
    std::vector<std::string> members;
    for (size_t i = 0; i < std::min(fields.size(), columns.size()); ++i) {
      double number = 0;
      const char* const quote =
          absl::SimpleAtod(fields[i], &number) ? "" : "\"";
      members.push_back(
          absl::StrCat("\"", columns[i], "\":", quote, fields[i], quote));
    }
    rows.push_back(absl::StrCat("{", absl::StrJoin(members, ","), "}"));
  }
  return Json::Parse(absl::StrCat("[", absl::StrJoin(rows, ","), "]"));
}

uint64_t PlayedDraws::operator()() {
  return draws_[std::min(drawn_++, draws_.size() - 1)];
}

uint64_t DrawOf(double r) { return static_cast<uint64_t>(std::ldexp(r, 64)); }

uint64_t DrawFor(absl::Duration delay, absl::Duration low,
                 absl::Duration high) {
  const absl::uint128 width =
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(high - low)) + 1;
  const absl::uint128 offset =
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(delay - low));
  // The least draw whose product with the width has `offset` above 64 bits.
  return absl::Uint128Low64(((offset << 64) + width - 1) / width);
}

PlayedWait Play(WaitOptions options, const std::vector<Poll<>>& answers,
                std::vector<uint64_t> draws) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {answers.begin(), answers.end()});
  PlayedDraws gen(std::move(draws));
  options.clock = &clock;
  if (!options.timeout.has_value()) options.timeout = absl::InfiniteDuration();

  Waiter wait(std::ref(script), std::move(options));
  PlayedWait played;
  played.report = wait.Wait({.gen = gen}).report();

  const std::vector<absl::Duration>& polled_at = script.polled_at();
  if (polled_at.empty()) return played;
  played.before_first_poll = polled_at.front();
  for (size_t i = 1; i < polled_at.size(); ++i) {
    played.delays.push_back(polled_at[i] - polled_at[i - 1]);
  }
  played.after_last_poll = clock.Elapsed() - polled_at.back();
  return played;
}

absl::Duration Ms(const Json& milliseconds) {
  return absl::Milliseconds(milliseconds.number());
}

absl::Duration Seconds(const Json& seconds) {
  return absl::Seconds(seconds.number());
}

}  // namespace waiter
