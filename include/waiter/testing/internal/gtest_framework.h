// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connects the assertions of testing/gtest.h to GoogleTest. Tests include that
// header instead.

#ifndef WAITER_TESTING_INTERNAL_GTEST_FRAMEWORK_H_
#define WAITER_TESTING_INTERNAL_GTEST_FRAMEWORK_H_

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal {

struct GoogleTest {
  // Whether gMock matches values of type `T` by a matcher of type `M`: not by a
  // function that takes the value.
  template <typename T, typename M>
  static constexpr bool kMatches =
      !eventually::Condition<M, T> ||
      std::convertible_to<const M&, testing::Matcher<const T&>>;

  template <typename T>
  static std::string Print(const T& value) {
    return testing::PrintToString(value);
  }

  template <typename T, typename M>
  static eventually::ValueMatcher<T> MatcherOf(const M& matcher) {
    if constexpr (!kMatches<T, M>) {
      return eventually::PlainMatcher<GoogleTest, T>(matcher);
    } else {
      const auto cast = testing::SafeMatcherCast<const T&>(matcher);
      return {[cast](const T& value, std::string& why) {
                testing::StringMatchResultListener listener;
                const bool matches = cast.MatchAndExplain(value, &listener);
                why = listener.str();
                return matches;
              },
              [cast] { return testing::DescribeMatcher<const T&>(cast); }};
    }
  }

  // Whether GoogleTest threw the exception, by its flag throw_on_failure.
  static bool EndsTest([[maybe_unused]] const std::exception_ptr& exception) {
#if GTEST_HAS_EXCEPTIONS
    return eventually::Is<testing::AssertionException>(exception);
#else
    return false;
#endif
  }

  // Records the share as a property, if it is the largest of this test.
  static void RecordLimitUsed(double share, const eventually::Site& site) {
    const testing::TestInfo* const test =
        testing::UnitTest::GetInstance()->current_test_info();
    if (share < 0.005 || test == nullptr) return;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const testing::TestResult& result = *test->result();
    const std::string key = "eventually_limit_used";
    for (int i = 0; i < result.test_property_count(); ++i) {
      const testing::TestProperty& property = result.GetTestProperty(i);
      if (property.key() == key && std::atof(property.value()) >= share) return;
    }
    char text[32];  // NOLINT(modernize-avoid-c-arrays)
    std::snprintf(text, sizeof(text), "%.2f", share);
    testing::Test::RecordProperty(key, text);
    testing::Test::RecordProperty(
        key + "_at", site.file + (":" + std::to_string(site.line)));
  }

  static eventually::Round RunRound(absl::FunctionRef<void()> block) {
    testing::TestPartResultArray parts;
    {
      const NoReaction no_reaction;
      const testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::
              INTERCEPT_ONLY_CURRENT_THREAD,
          &parts);
      block();
    }
    eventually::Round round;
    for (int i = 0; i < parts.size(); ++i) {
      const testing::TestPartResult& part = parts.GetTestPartResult(i);
      const char* const file =
          part.file_name() == nullptr ? "" : part.file_name();
      if (part.skipped()) {
        round.skip = file + (":" + std::to_string(part.line_number())) + ": " +
                     part.message();
      } else if (part.failed()) {
        std::string text = part.message();
        // That it failed goes without saying.
        if (text.starts_with("Failed\n")) text.erase(0, 7);
        round.failures.push_back({file, part.line_number(), std::move(text)});
      }
    }
    return round;
  }

  static void Skip(const std::string& why) {
    [&] { GTEST_SKIP() << why; }();
  }

  // A result as a predicate for EXPECT_PRED_FORMAT1.
  class Predicate {
   public:
    explicit Predicate(absl::Status status) : status_(std::move(status)) {}

    testing::AssertionResult operator()(const char* /*text*/,
                                        int /*unused*/) const {
      if (status_.ok()) return testing::AssertionSuccess();
      return testing::AssertionFailure() << status_.message();
    }

   private:
    absl::Status status_;
  };

 private:
  // Turns off the flags that act on a failure before it can be caught, until
  // the last of the blocks that run at the same time, on any thread, has ended.
  class NoReaction {
   public:
    NoReaction() {
      const std::lock_guard lock(mutex_);
      if (blocks_++ > 0) return;
      breaks_ = GTEST_FLAG_GET(break_on_failure);
      throws_ = GTEST_FLAG_GET(throw_on_failure);
      // Other threads read the flags without a lock.
      if (breaks_) GTEST_FLAG_SET(break_on_failure, false);
      if (throws_) GTEST_FLAG_SET(throw_on_failure, false);
    }
    ~NoReaction() {
      const std::lock_guard lock(mutex_);
      if (--blocks_ > 0) return;
      if (breaks_) GTEST_FLAG_SET(break_on_failure, true);
      if (throws_) GTEST_FLAG_SET(throw_on_failure, true);
    }
    NoReaction(const NoReaction&) = delete;
    NoReaction& operator=(const NoReaction&) = delete;

   private:
    static inline std::mutex mutex_;
    static inline int blocks_ = 0;
    static inline bool breaks_ = false;
    static inline bool throws_ = false;
  };
};

}  // namespace waiter::internal

#endif  // WAITER_TESTING_INTERNAL_GTEST_FRAMEWORK_H_
