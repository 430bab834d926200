// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Implementation of the macros of testing/eventually.h that does not depend on
// types. Tests use those macros instead.

#ifndef WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_
#define WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace waiter {
struct EventuallyOptions;
}  // namespace waiter

namespace waiter::internal::eventually {

enum class Kind : uint8_t { kEventually, kPasses, kConsistently, kNever };

// Returns whether every poll must agree, not only one.
constexpr bool MustHold(Kind kind) {
  return kind == Kind::kConsistently || kind == Kind::kNever;
}

// The place of an assertion, and the text of its expression.
struct Site {
  Kind kind;
  const char* expression;  // Null for `waiter::Eventually`.
  const char* file;
  int line;
};

// Result of one poll of an expression. All fields describe the same value.
struct Look {
  bool matched = false;
  std::string seen = {};     // The value and an explanation, for people.
  std::string details = {};  // Further lines, such as failures of a block.
  absl::Status error = {};   // The error that the value is or holds.
  bool threw = false;        // An exception came instead of a value.
  std::optional<std::string> hopeless = {};  // Reason to give up at once.
  bool settled = false;  // `PassIf` matched: if it holds, it holds for good.
  std::optional<std::string> skip = {};  // Text of a GTEST_SKIP in a block.
};

// One expression with its matchers, or one block.
class Subject {
 public:
  // Evaluates the subject once. If `describe` is true, `Look::seen` is set for
  // a value that matches, too.
  virtual Look Poll(bool describe) = 0;

  // Returns the description of a value that matches.
  virtual std::string Expected() const = 0;

  // Returns whether there is a `PassIf`.
  virtual bool MaySettle() const { return false; }

 protected:
  ~Subject() = default;
};

// Polls `subject` until the assertion passes or fails. Returns OK, or an error
// whose message is the text of the failure.
absl::Status Run(const Site& site, const EventuallyOptions& options,
                 Subject& subject);
absl::Status Run(const Site& site, Subject& subject);

// The same for a block of assertions, all of which must pass in one run.
absl::Status RunBlock(const Site& site, absl::FunctionRef<void()> block,
                      const EventuallyOptions& options);
absl::Status RunBlock(const Site& site, absl::FunctionRef<void()> block);

// Turns a result into a predicate for `EXPECT_PRED_FORMAT1`.
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

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_
