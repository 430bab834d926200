// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The tests that came closest to one of their limits in runs that passed, which
// are the ones to flake first. It reads GoogleTest XML, in which tests that use
// testing/eventually.h record the largest share of a limit that they used.

#ifndef WAITER_TOOLS_NEAR_MISSES_H_
#define WAITER_TOOLS_NEAR_MISSES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace waiter_tools {

// A test, over all reports that have it.
struct NearMiss {
  std::string test;        // "Suite.Name"
  double used = 0;         // Largest share of a limit; above 1 if late.
  std::string where = {};  // "file:line" of the assertion with that share.
  int runs = 0;            // Number of reports with a share of this test.
};

// Thread-compatible.
class NearMisses {
 public:
  // Adds one report. Returns kInvalidArgument, and adds nothing, if the text is
  // not GoogleTest XML or is cut off.
  absl::Status Add(std::string_view xml);

  // Returns the tests that used at least `least`, the largest share first.
  std::vector<NearMiss> List(double least) const;

 private:
  std::map<std::string, NearMiss> tests_;
};

// Returns a text table of `tests`, for people to read.
std::string FormatTable(const std::vector<NearMiss>& tests);

}  // namespace waiter_tools

#endif  // WAITER_TOOLS_NEAR_MISSES_H_
