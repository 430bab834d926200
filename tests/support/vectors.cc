// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/vectors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/scripted_poll.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {

VectorFile::VectorFile(std::string name)
    : name_(std::move(name)), json_(Json::ReadVectors(name_)) {}

const Json& VectorFile::operator[](std::string_view member) {
  seen_.emplace(member);
  return json_[member];
}

void VectorFile::Describes(std::initializer_list<std::string_view> members) {
  for (const std::string_view member : members) {
    (*this)[member];  // Must be there.
  }
}

void VectorFile::DoesNotApply(std::string_view what, std::string_view reason,
                              int64_t cases) {
  not_applicable_.push_back(absl::StrCat(what, ": ", reason));
  left_out_ += cases;
}

void VectorFile::Report() const {
  std::cout << name_ << ": " << ran_ << " cases run, " << left_out_
            << " do not apply\n";
  for (const std::string& line : not_applicable_) {
    std::cout << "  - " << line << "\n";
  }
  if (testing::UnitTest::GetInstance()->test_to_run_count() !=
      testing::UnitTest::GetInstance()->total_test_count()) {
    return;
  }
  for (const auto& [member, value] : json_.object()) {
    EXPECT_TRUE(seen_.contains(member)) << name_ << ": " << member;
  }
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
  played.report = wait.Wait({}, gen).report();

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
