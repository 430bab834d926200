// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Support for tests of reference data: a file whose cases are counted, and a
// wait played on simulated time with chosen answers and draws.

#ifndef WAITER_TESTS_SUPPORT_VECTORS_H_
#define WAITER_TESTS_SUPPORT_VECTORS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

// One file of tests/vectors, which checks that the tests account for all of it.
// A case is a value of the file, with everything in it. A test marks it as run
// after comparing it, or as not run, with the reason:
//
//   using XTest = VectorTest<"x.json", /*cases=*/12>;
//
//   TEST_F(XTest, Delays) {
//     File().Describes({"source"});
//     for (const Json& entry : File()["delays"].array()) {
//       EXPECT_EQ(Delay(entry["n"].number()), Ms(entry["delay"]));
//       File().Ran(entry);
//     }
//     File().NotRun(File()["history"], "earlier releases");
//   }
//
// A value within a case may be its own case. All tests of one file belong to
// one suite.
class VectorFile {
 public:
  // Reads "tests/vectors/" + `name`, JSON that holds `cases` cases.
  VectorFile(std::string name, int64_t cases);

  // Uses JSON from elsewhere, such as `CsvVectors`.
  VectorFile(std::string name, Json json, int64_t cases);

  // Returns everything in it.
  const Json& all() const { return json_; }

  // Returns a member, which must be there.
  const Json& operator[](std::string_view member) const {
    return json_[member];
  }

  // Marks a case, or every element or member of `list`.
  void Ran(const Json& entry);
  void RanEach(const Json& list);
  void NotRun(const Json& entry, std::string_view reason);
  void NotRunEach(const Json& list, std::string_view reason);

  // Marks text, units, sources and parameters, which are not cases.
  void Describes(const Json& text);
  void Describes(std::initializer_list<std::string_view> members);

  // Prints the counts to `out`. Fails if a value of the file is neither in a
  // case nor described, or if not all cases are marked as run or not run. Call
  // it in `TearDownTestSuite`. It checks nothing if a filter left tests out.
  void Report(std::ostream& out = std::cout) const;

 private:
  enum class Mark { kRan, kNotRun, kText };

  void Set(const Json& value, Mark mark);
  int64_t Count(Mark mark) const;
  // Appends the paths of values that are not within a marked value.
  void FindUnmarked(const Json& value, std::vector<std::string>& found) const;

  std::string name_;
  Json json_;
  int64_t cases_;
  std::map<std::string, Mark> marks_;  // By path.
  std::set<std::string> reasons_;      // "path: reason".
};

// A string literal as an argument of a template.
template <size_t kSize>
struct VectorFileName {
  // NOLINTNEXTLINE(google-explicit-constructor,modernize-avoid-c-arrays)
  constexpr VectorFileName(const char (&name)[kSize]) {
    std::copy_n(name, kSize, text.begin());
  }

  std::array<char, kSize> text;
};

// The suite of a file: its tests share `File()`, which is reported after them.
template <VectorFileName kName, int64_t kCases>
class VectorTest : public testing::Test {
 protected:
  static VectorFile& File() {
    static VectorFile file(kName.text.data(), kCases);
    return file;
  }
  static void TearDownTestSuite() { File().Report(); }
};

// Reads "tests/vectors/" + `name`, a table with commas between its columns,
// whose first row has the names. Returns an array of objects, one for each row.
// Lines that begin with '#' are comments.
Json CsvVectors(std::string_view name);

// A generator that plays a list, and then repeats its last entry.
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

// Returns the draw for `r` in [0, 1).
uint64_t DrawOf(double r);

// Returns the draw that makes `delay` of a window `[low, high]`.
uint64_t DrawFor(absl::Duration delay, absl::Duration low, absl::Duration high);

struct PlayedWait {
  absl::Duration before_first_poll;
  std::vector<absl::Duration> delays;  // Between the polls; zeros included.
  absl::Duration after_last_poll;
  WaitReport report;
};

// Waits on a simulated clock, forever unless `options` have a timeout. The
// polls take no time and find `answers`, and then the last one forever.
PlayedWait Play(WaitOptions options, const std::vector<Poll<>>& answers,
                std::vector<uint64_t> draws = kHighestDraws);

// Returns a number of a file as a duration.
absl::Duration Ms(const Json& milliseconds);
absl::Duration Seconds(const Json& seconds);

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_VECTORS_H_
