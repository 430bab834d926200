// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A matcher for `absl::Status`; Abseil has one only since 2024.

#ifndef WAITER_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define WAITER_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"

namespace waiter {

// Matches a status by its code and message.
inline testing::Matcher<const absl::Status&> StatusIs(
    absl::StatusCode code,
    const testing::Matcher<std::string>& message = testing::_) {
  return testing::AllOf(testing::Property("code", &absl::Status::code, code),
                        testing::ResultOf(
                            [](const absl::Status& status) {
                              return std::string(status.message());
                            },
                            message));
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_STATUS_MATCHERS_H_
