// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Hands an object of a test to an option that shares ownership:
//
//   Recorder recorder;
//   options.hooks.observer = Unowned(recorder);

#ifndef WAITER_TESTS_SUPPORT_UNOWNED_H_
#define WAITER_TESTS_SUPPORT_UNOWNED_H_

#include <memory>

namespace waiter {

// Returns a pointer that does not own `object`, which must outlive all copies.
template <typename T>
std::shared_ptr<T> Unowned(T& object) {
  return std::shared_ptr<T>(std::shared_ptr<void>(), &object);
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_UNOWNED_H_
