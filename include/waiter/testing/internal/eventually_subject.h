// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of testing/eventually.h that knows no types: use that.

#ifndef WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_
#define WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "waiter/testing/eventually_options.h"

namespace waiter::internal::eventually {

enum class Kind : uint8_t { kEventually, kPasses, kConsistently, kNever };

// Whether every poll must agree, not just one.
constexpr bool MustHold(Kind kind) {
  return kind == Kind::kConsistently || kind == Kind::kNever;
}

// Where an assertion stands, and of what it speaks.
struct Site {
  Kind kind;
  const char* expression;
  const char* file;
  int line;
};

// What one poll of an expression found. Verdict and text are of the same value.
struct Look {
  bool matched = false;
  std::string seen = {};     // Value and explanation, for people.
  std::string details = {};  // More lines of it.
  absl::Status error = {};   // The value is this error.
  bool threw = false;
  std::optional<std::string> hopeless = {};  // Why to end at once.
  std::optional<std::string> skip = {};      // GTEST_SKIP in a block.
};

// One expression with its matchers, or one block.
class Subject {
 public:
  // `describe` asks for `seen` also of a value that matches.
  virtual Look Poll(bool describe) = 0;
  virtual std::string Expected() const = 0;

 protected:
  ~Subject() = default;
};

// Returns OK, or an error whose message is the failure text.
absl::Status Run(const Site& site, const EventuallyOptions& options,
                 Subject& subject);

// The same for a block of assertions, of which all must pass.
absl::Status RunBlock(const Site& site, absl::FunctionRef<void()> block,
                      const EventuallyOptions& options = {});

// A result as `EXPECT_PRED_FORMAT1` takes it.
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
