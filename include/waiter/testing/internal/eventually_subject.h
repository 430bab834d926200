// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Implementation of the assertions of testing/eventually.h that depends neither
// on types nor on a test framework. Tests use those assertions instead.

#ifndef WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_
#define WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "waiter/poll.h"

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
  std::optional<std::string> hopeless = {};  // Reason to give up immediately.
  bool settled = false;  // `PassIf` matched: if it holds, it holds for good.
  bool skipped = false;  // The block asked to skip the test.
  // The answer of a status function, without its value, or the exception.
  std::optional<waiter::Poll<>> answer = {};
};

// One expression with its matchers, or one block.
class Subject {
 public:
  // Evaluates the subject once. If `describe` is true, `Look::seen` is set even
  // for a value that matches.
  virtual Look Poll(bool describe) = 0;

  // Returns the description of a value that matches.
  virtual std::string Expected() const = 0;

  // Returns whether there is a `PassIf`.
  virtual bool MaySettle() const { return false; }

  // Returns whether the framework ends a test by this exception.
  virtual bool EndsTest(const std::exception_ptr& exception) const = 0;

  // Takes the share of its limit that the assertion used when it passed.
  virtual void RecordLimitUsed(double share, const Site& site) const = 0;

  // Returns the failures of a block before the exception that `Poll` threw.
  virtual std::string DetailsOfThrow() const { return {}; }

  // Returns for each assertion of a block how often it failed.
  virtual std::vector<std::string> FailureCounts() const { return {}; }

 protected:
  ~Subject() = default;
};

// The outcome of one run of a block, which its framework has not seen.
struct Round {
  struct Failure {
    std::string file;
    int line;
    std::string text;
  };
  std::vector<Failure> failures = {};
  std::optional<std::string> skip = {};  // Why the block skips the test.
};

// Polls `subject` until the assertion passes or fails. Returns OK, or an error
// whose message is the text of the failure.
absl::Status Run(const Site& site, const EventuallyOptions& options,
                 Subject& subject);
absl::Status Run(const Site& site, Subject& subject);

// How the framework takes part in the rounds of a block; see the functions of
// `Subject` with these names.
struct BlockHooks {
  bool (*ends_test)(const std::exception_ptr& exception);
  void (*record_limit_used)(double share, const Site& site);
};

// Runs a block of assertions until all pass in one round. If the
// last round skips the test, the result is OK, and `skip` says why. Null means
// no options. `run_round` runs its argument once, and may not catch other
// exceptions than those by which the framework ends a round.
absl::Status RunRounds(const Site& site, const EventuallyOptions* options,
                       const BlockHooks& hooks,
                       Round (*run_round)(absl::FunctionRef<void()> block),
                       absl::FunctionRef<void()> block,
                       std::optional<std::string>& skip);

// Run a block in a framework whose assertions cannot be intercepted. The block
// calls `FailRound` in their place, which returns false outside of a block of
// its thread. If `ends_round`, it does not return.
Round RunOwnRound(absl::FunctionRef<void()> block);
bool FailRound(Round::Failure failure, bool ends_round);

// Returns `text` in double quotes, with escapes instead of quotes and
// characters that cannot be printed.
std::string Quote(std::string_view text);

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_INTERNAL_EVENTUALLY_SUBJECT_H_
