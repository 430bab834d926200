// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Which tests came closest to a limit of theirs, by the GoogleTest XML of runs
// that passed: the ones to flake first. Tests that use testing/eventually.h
// record the largest share of a limit that they used.

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
  double used = 0;         // The largest share of a limit; above 1 came late.
  std::string where = {};  // "file:line" of that assertion.
  int runs = 0;            // Reports in which it recorded a share.
};

// Thread-compatible.
class NearMisses {
 public:
  // Takes in one report. Returns kInvalidArgument, and takes in nothing, if it
  // is no GoogleTest XML or is cut off.
  absl::Status Add(std::string_view xml);

  // Returns those that used at least `least`, the largest share first.
  std::vector<NearMiss> List(double least) const;

 private:
  std::map<std::string, NearMiss> tests_;
};

// Returns a table for people.
std::string FormatTable(const std::vector<NearMiss>& tests);

}  // namespace waiter_tools

#endif  // WAITER_TOOLS_NEAR_MISSES_H_
