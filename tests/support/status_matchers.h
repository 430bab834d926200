// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A matcher for `absl::Status`, because Abseil has one only since 2024, and the
// value of an `absl::StatusOr` that a test needs:
//
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted));
//   const Job job = ValueOrFail(client.GetJob(42));

#ifndef WAITER_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define WAITER_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

// Returns the value. An error is a failure in the caller's line, and ends the
// test by an exception: call it on the test's thread.
template <typename T>
T ValueOrFail(absl::StatusOr<T> got, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  if (!got.ok()) ADD_FAILURE_AT(file, line) << got.status();
  return std::move(got).value();
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_STATUS_MATCHERS_H_
