// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Implementation of the macros of testing/eventually.h that depends on types.
// Tests use those macros instead.

#ifndef WAITER_TESTING_INTERNAL_EVENTUALLY_PARTS_H_
#define WAITER_TESTING_INTERNAL_EVENTUALLY_PARTS_H_

#include <atomic>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter {
template <typename M>
class FailIf;
template <typename M>
class PassIf;
}  // namespace waiter

namespace waiter::internal::eventually {

// Returns the value to judge. An atomic is read once, so that the verdict and
// the text of a message cannot differ.
template <typename T>
const T& Snapshot(const T& value) {
  return value;
}
template <typename T>
T Snapshot(const std::atomic<T>& value) {
  return value.load();
}

// Deduces the type of an expression without evaluating it.
struct TypeProbe {
  template <typename T>
  auto operator()(const T& value) const {
    return std::type_identity<
        std::remove_cvref_t<decltype(eventually::Snapshot(value))>>();
  }
};

// Returns the error that a value is or holds, otherwise OK.
inline absl::Status ErrorIn(const absl::Status& value) { return value; }
template <typename T>
absl::Status ErrorIn(const absl::StatusOr<T>& value) {
  return value.status();
}
template <typename T>
absl::Status ErrorIn(const T&) {
  return absl::OkStatus();
}

// Returns `value` as text for people.
template <typename T>
std::string Print(const T& value) {
  return testing::PrintToString(value);
}
// Overloads, because Abseil of 2026 adds the source location of a status, and
// GoogleTest 1.12 prints the bytes of a `StatusOr`.
inline std::string Print(const absl::Status& value) {
  return value.ToString(absl::StatusToStringMode::kWithNoExtraData);
}
template <typename T>
std::string Print(const absl::StatusOr<T>& value) {
  return value.ok() ? eventually::Print(*value)
                    : eventually::Print(value.status());
}

// `FailIf<Nothing>` stands for no `FailIf`.
struct Nothing {};

// Types that may follow the options of an assertion.
template <typename C>
inline constexpr bool kIsCondition = false;
template <typename M>
inline constexpr bool kIsCondition<FailIf<M>> = true;
template <typename M>
inline constexpr bool kIsCondition<PassIf<M>> = true;
template <typename C>
concept Condition = kIsCondition<C>;

// An expression with its matchers. `Evaluate` takes a function and calls it
// with the value, within one full-expression, so that temporaries of the
// expression live until the function returns.
template <typename Evaluate>
class ExpressionSubject final : public Subject {
  using Value = typename std::invoke_result_t<const Evaluate&, TypeProbe>::type;
  using Matcher = testing::Matcher<const Value&>;

 public:
  template <typename M, Condition... Conditions>
  ExpressionSubject(const Evaluate& evaluate, const M& matcher,
                    const Conditions&... conditions)
      : evaluate_(evaluate),
        matcher_(testing::SafeMatcherCast<const Value&>(matcher)) {
    (Add(conditions), ...);
  }

  Look Poll(bool describe) override {
    Look look;
    evaluate_([&](const auto& value) {
      Judge(eventually::Snapshot(value), describe, look);
    });
    return look;
  }

  std::string Expected() const override {
    return testing::DescribeMatcher<const Value&>(matcher_);
  }

  bool MaySettle() const override { return pass_if_.has_value(); }

 private:
  template <typename M>
  void Add(const FailIf<M>& fail_if) {
    if constexpr (!std::is_same_v<M, Nothing>) {
      fail_if_ = testing::SafeMatcherCast<const Value&>(fail_if.matcher());
    }
  }
  template <typename M>
  void Add(const PassIf<M>& pass_if) {
    pass_if_ = testing::SafeMatcherCast<const Value&>(pass_if.matcher());
  }

  void Judge(const Value& value, bool describe, Look& look) const {
    testing::StringMatchResultListener why;
    look.matched = matcher_.MatchAndExplain(value, &why);
    look.settled = pass_if_.has_value() && pass_if_->Matches(value);
    if (look.matched && !describe) return;
    look.seen = eventually::Print(value);
    if (!why.str().empty()) look.seen += ", " + why.str();
    if (look.matched) return;
    look.error = eventually::ErrorIn(value);
    if (fail_if_.has_value() && fail_if_->Matches(value)) {
      look.hopeless =
          "FailIf(" + testing::DescribeMatcher<const Value&>(*fail_if_) + ")";
    }
  }

  const Evaluate& evaluate_;
  Matcher matcher_;
  std::optional<Matcher> fail_if_;
  std::optional<Matcher> pass_if_;
};

// Runs an assertion. The arguments after `evaluate` are those that the macro
// got after its expression.
template <typename Evaluate, typename M, Condition... Conditions>
absl::Status RunExpression(const Site& site, const Evaluate& evaluate,
                           M matcher, const EventuallyOptions& options,
                           const Conditions&... conditions) {
  ExpressionSubject<Evaluate> subject(evaluate, matcher, conditions...);
  return Run(site, options, subject);
}
template <typename Evaluate, typename M, Condition... Conditions>
absl::Status RunExpression(const Site& site, const Evaluate& evaluate,
                           M matcher, const Conditions&... conditions) {
  ExpressionSubject<Evaluate> subject(evaluate, matcher, conditions...);
  return Run(site, subject);
}

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_INTERNAL_EVENTUALLY_PARTS_H_
