// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connects the assertions of testing/doctest.h to doctest. Tests include that
// header instead.

#ifndef WAITER_TESTING_INTERNAL_DOCTEST_FRAMEWORK_H_
#define WAITER_TESTING_INTERNAL_DOCTEST_FRAMEWORK_H_

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "doctest/doctest.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal {

struct Doctest : eventually::PlainFramework<Doctest> {
  template <typename T>
  static std::string Print(const T& value) {
    if constexpr (eventually::Text<T>) {
      return eventually::PrintPlainly(value);
    } else {
      using ::doctest::toString;
      return toString(value).c_str();
    }
  }

  static bool EndsTest(const std::exception_ptr& exception) {
    return eventually::Is<::doctest::detail::TestFailureException>(exception);
  }

  // Reports the result of an assertion. A failure in a block is one of its
  // round; elsewhere it ends the test if `ends_test`.
  static void Report(const absl::Status& status, const char* file, int line,
                     bool ends_test) {
    if (status.ok()) {
      DOCTEST_CHECK(status.ok());  // Counts it.
      return;
    }
    const std::string text(status.message());
    if (eventually::FailRound({file, line, text}, ends_test)) return;
    if (ends_test) {
      DOCTEST_ADD_FAIL_AT(file, line, text);
    } else {
      DOCTEST_ADD_FAIL_CHECK_AT(file, line, text);
    }
  }

  static eventually::Round RunRound(absl::FunctionRef<void()> block) {
    return eventually::RunOwnRound(block);
  }

  // Takes the result of a CHECK_POLLED or REQUIRE_POLLED.
  static void Check(::doctest::detail::Result&& result, const char* macro,
                    const char* text, const char* file, int line,
                    bool ends_round) {
    if (result.m_passed) return;
    const std::string message = std::string(macro) + "( " + text +
                                " ) is NOT correct! values: " + macro + "( " +
                                result.m_decomp.c_str() + " )";
    Fail(message, file, line, ends_round);
  }

  // Fails the round, or outside of a block the test.
  static void Fail(const std::string& text, const char* file, int line,
                   bool ends_round) {
    Report(absl::UnknownError(text), file, line, ends_round);
  }
};

}  // namespace waiter::internal

#endif  // WAITER_TESTING_INTERNAL_DOCTEST_FRAMEWORK_H_
