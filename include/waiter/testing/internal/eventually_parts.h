// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the macros of testing/eventually.h are made of: use those.

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
#include "waiter/testing/eventually_options.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal::eventually {

// An atomic is read once, so that verdict and text cannot differ.
template <typename T>
const T& Snapshot(const T& value) {
  return value;
}
template <typename T>
T Snapshot(const std::atomic<T>& value) {
  return value.load();
}

// Tells the type of an expression without evaluating it.
struct TypeProbe {
  template <typename T>
  auto operator()(const T& value) const {
    return std::type_identity<
        std::remove_cvref_t<decltype(eventually::Snapshot(value))>>();
  }
};

inline absl::Status ErrorIn(const absl::Status& value) { return value; }
template <typename T>
absl::Status ErrorIn(const absl::StatusOr<T>& value) {
  return value.status();
}
template <typename T>
absl::Status ErrorIn(const T&) {
  return absl::OkStatus();
}

template <typename T>
std::string Print(const T& value) {
  return testing::PrintToString(value);
}
// Abseil of 2026 adds where a status was made, and GoogleTest 1.12 prints the
// bytes of a `StatusOr`.
inline std::string Print(const absl::Status& value) {
  return value.ToString(absl::StatusToStringMode::kWithNoExtraData);
}
template <typename T>
std::string Print(const absl::StatusOr<T>& value) {
  return value.ok() ? eventually::Print(*value)
                    : eventually::Print(value.status());
}

// A `FailIf` of it is none.
struct Nothing {};

// `Evaluate` hands the value to what it is given, in one full-expression, so
// that temporaries of the expression live for as long as they are looked at.
template <typename Evaluate>
class ExpressionSubject final : public Subject {
  using Value = typename std::invoke_result_t<const Evaluate&, TypeProbe>::type;
  using Matcher = testing::Matcher<const Value&>;

 public:
  template <typename M, typename N>
  ExpressionSubject(const Evaluate& evaluate, const M& matcher,
                    const FailIf<N>& fail_if)
      : evaluate_(evaluate),
        matcher_(testing::SafeMatcherCast<const Value&>(matcher)) {
    if constexpr (!std::is_same_v<N, Nothing>) {
      fail_if_ = testing::SafeMatcherCast<const Value&>(fail_if.matcher());
    }
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

 private:
  void Judge(const Value& value, bool describe, Look& look) const {
    testing::StringMatchResultListener why;
    look.matched = matcher_.MatchAndExplain(value, &why);
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
};

// What a macro was given after its expression.
template <typename Evaluate, typename M, typename N = Nothing>
absl::Status RunExpression(const Site& site, const Evaluate& evaluate,
                           M matcher, const EventuallyOptions& options = {},
                           const FailIf<N>& fail_if = FailIf(Nothing())) {
  ExpressionSubject<Evaluate> subject(evaluate, matcher, fail_if);
  return Run(site, options, subject);
}
template <typename Evaluate, typename M, typename N>
absl::Status RunExpression(const Site& site, const Evaluate& evaluate,
                           M matcher, const FailIf<N>& fail_if) {
  return RunExpression(site, evaluate, std::move(matcher), EventuallyOptions(),
                       fail_if);
}

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_INTERNAL_EVENTUALLY_PARTS_H_
