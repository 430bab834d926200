// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A child of the test by fork(2), which has copies of its objects and none of
// its threads:
//
//   static WaitEngine engine;
//   EXPECT_EQ(ExitOfChild([] {}), "exited with 0");

#ifndef WAITER_TESTS_SUPPORT_FORKED_CHILD_H_
#define WAITER_TESTS_SUPPORT_FORKED_CHILD_H_

#include <string>

#include "absl/functional/function_ref.h"

namespace waiter {

// Calls `run` in a child, which then calls exit(3), and with that the
// destructors of static objects. Returns how it ended. One that has not after a
// minute is killed.
std::string ExitOfChild(absl::FunctionRef<void()> run);

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_FORKED_CHILD_H_
