// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A child of the test by fork(2), with copies of its objects but none of its
// threads:
//
//   static WaitEngine engine;
//   EXPECT_EQ(ExitOfChild([] {}), "exited with 0");

#ifndef WAITER_TESTS_SUPPORT_FORKED_CHILD_H_
#define WAITER_TESTS_SUPPORT_FORKED_CHILD_H_

#include <string>

#include "absl/functional/function_ref.h"

namespace waiter {

// Calls `run` in a child. The child then calls exit(3), which runs the
// destructors of static objects. Returns how the child ended. Kills it after a
// minute.
std::string ExitOfChild(absl::FunctionRef<void()> run);

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_FORKED_CHILD_H_
