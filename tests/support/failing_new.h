// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Makes allocations fail. Linking this library replaces every `operator new`.
//
//   for (int64_t nth = 1;; ++nth) {
//     waiter::FailingNew failing(nth, waiter::FailingNew::Mode::kOnce);
//     try {
//       Call();
//     } catch (const std::bad_alloc&) {
//     }
//     if (!failing.has_failed()) break;
//   }

#ifndef WAITER_TESTS_SUPPORT_FAILING_NEW_H_
#define WAITER_TESTS_SUPPORT_FAILING_NEW_H_

#include <cstdint>

namespace waiter {

// While it exists, the `nth` allocation of this thread throws `std::bad_alloc`.
// At most one exists on each thread.
class FailingNew {
 public:
  enum class Mode : uint8_t {
    kOnce,      // Later allocations succeed.
    kFromThen,  // All later allocations also fail.
  };

  FailingNew(int64_t nth, Mode mode);
  ~FailingNew();

  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // Returns whether an allocation has failed.
  bool has_failed() const;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_FAILING_NEW_H_
