// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The job of docs/test-frameworks.md.

#ifndef WAITER_TESTS_FRAMEWORKS_JOB_H_
#define WAITER_TESTS_FRAMEWORKS_JOB_H_

#include <string>

namespace waiter {

// Is done after a few looks.
class Job {
 public:
  std::string State() { return ++looks_ < 3 ? "RUNNING" : "DONE"; }
  bool HasLog() { return ++looks_ > 5; }
  int LinesOfLog() const { return looks_ > 6 ? 7 : 0; }

 private:
  int looks_ = 0;
};

inline Job StartJob() { return {}; }

}  // namespace waiter

#endif  // WAITER_TESTS_FRAMEWORKS_JOB_H_
