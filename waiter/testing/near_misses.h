// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The assertions of this program that passed with most of their limit used. A
// line for each goes to the standard error stream when the program ends, with
// every test framework.

#ifndef WAITER_TESTING_NEAR_MISSES_H_
#define WAITER_TESTING_NEAR_MISSES_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace waiter {

// An assertion that passed.
struct NearMiss {
  std::string where;       // "file:line"
  std::string expression;  // As in the messages of failures.
  absl::Duration used;
  absl::Duration limit;  // As requested, before it was scaled.
  double scale = 1;      // Factor of the limit that was in force.
};

// The near misses of one program: for each place the one that used the largest
// share. Thread-compatible.
class NearMissList {
 public:
  // Share of a limit above which a pass is a near miss.
  static constexpr double kShare = 0.8;

  // Keeps `pass` if it is a near miss.
  void Add(const NearMiss& pass);

  // Returns one line for each, in the order of their places, or nothing.
  std::string Text() const;

 private:
  struct Entry {
    NearMiss worst;
    int count = 0;
  };
  std::map<std::string, Entry> entries_;
};

// Adds to the list of this program, whose text is written when it ends,
// including by `exit`. Thread-safe.
void RecordPass(const NearMiss& pass);

}  // namespace waiter

#endif  // WAITER_TESTING_NEAR_MISSES_H_
