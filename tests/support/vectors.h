// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the tests of reference data share: a file whose cases are counted, and a
// wait played on simulated time with chosen answers and draws.

#ifndef WAITER_TESTS_SUPPORT_VECTORS_H_
#define WAITER_TESTS_SUPPORT_VECTORS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/json.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/wait_result.h"

namespace waiter {

// One file of tests/vectors. Each of its members must be taken out, or be said
// to hold no cases, or not to apply.
class VectorFile {
 public:
  explicit VectorFile(std::string name);

  // Returns a member, whose cases the caller runs.
  const Json& operator[](std::string_view member);

  // Counts cases that were run.
  void Ran(int64_t cases = 1) { ran_ += cases; }

  // Says which members hold text, units or sources.
  void Describes(std::initializer_list<std::string_view> members);

  // Says why cases are not run.
  void DoesNotApply(std::string_view what, std::string_view reason,
                    int64_t cases = 1);

  // Prints the counts, and fails if a member was left out. For
  // `TearDownTestSuite`; with a filter on the tests, nothing can be missing.
  void Report() const;

 private:
  std::string name_;
  Json json_;
  std::set<std::string, std::less<>> seen_;
  std::vector<std::string> not_applicable_;
  int64_t ran_ = 0;
  int64_t left_out_ = 0;
};

// A generator that plays a list, and its last entry for ever after.
class PlayedDraws {
 public:
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() {
    return std::numeric_limits<uint64_t>::max();
  }

  explicit PlayedDraws(std::vector<uint64_t> draws)
      : draws_(std::move(draws)) {}

  uint64_t operator()();
  int64_t drawn() const { return static_cast<int64_t>(drawn_); }

 private:
  std::vector<uint64_t> draws_;
  size_t drawn_ = 0;
};

// Draws of the ends of every window.
inline const std::vector<uint64_t> kLowestDraws = {0};
inline const std::vector<uint64_t> kHighestDraws = {PlayedDraws::max()};

// Returns the draw that stands for `r` in [0, 1).
uint64_t DrawOf(double r);

// Returns the draw that makes `delay` of a window `[low, high]`.
uint64_t DrawFor(absl::Duration delay, absl::Duration low, absl::Duration high);

struct PlayedWait {
  absl::Duration before_first_poll;
  std::vector<absl::Duration> delays;  // Between the polls; zeros included.
  absl::Duration after_last_poll;
  WaitReport report;
};

// Waits on a simulated clock, for ever unless `options` have a timeout. The
// polls take no time and find `answers`, the last one for ever after.
PlayedWait Play(WaitOptions options, const std::vector<Poll<>>& answers,
                std::vector<uint64_t> draws = kHighestDraws);

// Returns a number of a file as a duration.
absl::Duration Ms(const Json& milliseconds);
absl::Duration Seconds(const Json& seconds);

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_VECTORS_H_
