// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Implementation of the assertions of testing/eventually.h that depends on
// types. Tests use those assertions instead.

#ifndef WAITER_TESTING_INTERNAL_EVENTUALLY_PARTS_H_
#define WAITER_TESTING_INTERNAL_EVENTUALLY_PARTS_H_

#include <atomic>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/internal/exceptions.h"
#include "waiter/poll.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter {
template <typename M>
class FailIf;
template <typename M>
class PassIf;
}  // namespace waiter

namespace waiter::internal::eventually {

// Returns whether `exception` is of this type or of one that is derived from
// it. Without exceptions it is not.
template <typename E>
bool Is([[maybe_unused]] const std::exception_ptr& exception) {
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    std::rethrow_exception(exception);
  } catch (const E&) {
    return true;
  } catch (...) {
  }
#endif
  return false;
}

// Returns the value to judge. An atomic or volatile is read once, so that the
// verdict and the text of a message cannot differ.
template <typename T>
const T& Snapshot(const T& value) {
  return value;
}
template <typename T>
T Snapshot(const volatile T& value) {
  return value;
}
template <typename T>
T Snapshot(const std::atomic<T>& value) {
  return value.load();
}

// The type that a matcher gets for a snapshot of type `T`.
template <typename T>
struct Judged {
  using type = T;
};
template <typename T>
struct Judged<Poll<T>> {
  using type = std::conditional_t<std::is_void_v<T>, bool, T>;
};

// The type that a matcher gets for the results of `F`.
template <typename F>
using JudgedResult =
    typename Judged<std::remove_cvref_t<std::invoke_result_t<F&>>>::type;

template <typename T>
inline constexpr bool kIsPoll = false;
template <typename T>
inline constexpr bool kIsPoll<Poll<T>> = true;

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

// Text, but not `nullptr`, which also converts to a `std::string_view`.
template <typename T>
concept Text = std::convertible_to<const T&, std::string_view> &&
    !std::same_as<T, std::nullptr_t>;

// Returns the characters, and "(null)" for a null pointer.
template <Text T>
std::string_view AsText(const T& text) {
  if constexpr (std::is_pointer_v<T>) {
    return text == nullptr ? "(null)" : text;
  } else {
    return text;
  }
}

// An integer that `std::cmp_equal` takes.
template <typename T>
concept Number =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
    !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
    !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <typename T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

// Returns `value` as text for people, by the printer of the framework.
template <typename Framework, typename T>
std::string Print(const T& value) {
  return Framework::Print(value);
}
// Overloads, because Abseil of 2026 adds the source location of a status, and
// GoogleTest 1.12 prints the bytes of a `StatusOr`.
template <typename Framework>
std::string Print(const absl::Status& value) {
  return value.ToString(absl::StatusToStringMode::kWithNoExtraData);
}
template <typename Framework, typename T>
std::string Print(const absl::StatusOr<T>& value) {
  return value.ok() ? eventually::Print<Framework>(*value)
                    : eventually::Print<Framework>(value.status());
}

// Prints values that every framework prints alike: text, and types with an
// operator<<.
template <typename T>
std::string PrintPlainly(const T& value) {
  if constexpr (Text<T>) {
    return Quote(eventually::AsText(value));
  } else if constexpr (Streamable<T>) {
    std::ostringstream out;
    out << std::boolalpha << value;
    return std::move(out).str();
  } else {
    return "{?}";
  }
}

// A matcher for values of type `T`. It may refer to its arguments, which need
// not be copyable.
template <typename T>
struct ValueMatcher {
  // Returns whether the value matches. May append an explanation to `why`.
  std::function<bool(const T& value, std::string& why)> matches;
  std::function<std::string()> describe;
};

// Compares as users expect: text by its characters, and integers of all types
// by their values.
template <typename T, typename M>
bool IsEqual(const T& value, const M& expected) {
  if constexpr (Text<T> && Text<M>) {
    return eventually::AsText(value) == eventually::AsText(expected);
  } else if constexpr (Number<T> && Number<M>) {
    return std::cmp_equal(value, expected);
  } else {
    return value == expected;
  }
}

template <typename M, typename T>
concept Condition = std::predicate<const M&, const T&>;

// Returns a matcher by a value or a function, for frameworks without matchers.
template <typename Framework, typename T, typename M>
ValueMatcher<T> PlainMatcher(const M& matcher) {
  if constexpr (Condition<M, T>) {
    return {[&matcher](const T& value, std::string& /*why*/) {
              return static_cast<bool>(matcher(value));
            },
            [] { return std::string("satisfies the condition"); }};
  } else {
    return {[&matcher](const T& value, std::string& /*why*/) {
              return eventually::IsEqual(value, matcher);
            },
            [&matcher] {
              return "is equal to " + eventually::Print<Framework>(matcher);
            }};
  }
}

// A framework names the parts that an assertion needs. These are the parts of
// one that has neither matchers nor records of a test.
template <typename Framework>
struct PlainFramework {
  template <typename T, typename M>
  static ValueMatcher<T> MatcherOf(const M& matcher) {
    return eventually::PlainMatcher<Framework, T>(matcher);
  }

  // As the function of `Subject` with this name.
  static void RecordLimitUsed(double /*share*/, const Site& /*site*/) {}
};

// The framework of the function `Eventually`, which works in all.
struct NoFramework : PlainFramework<NoFramework> {
  // Returns the text for any type; `Print` above handles statuses.
  template <typename T>
  static std::string Print(const T& value) {
    return eventually::PrintPlainly(value);
  }

  // As the function of `Subject` with this name.
  static bool EndsTest(const std::exception_ptr& /*exception*/) {
    return false;
  }
};

// `FailIf<Nothing>` means no `FailIf`.
struct Nothing {};

// Means no matcher: the expression must be true.
struct Truth {};

template <typename T>
concept HoldsBool = requires(const T& value) {
  { value.value() } -> std::same_as<const bool&>;
};

// Whether a value is true if `if (value)` finds it true, not only if it equals
// `true`: a number, a pointer or an object that converts. An optional `bool` is
// not true if it holds `false`.
template <typename T>
concept TrueInCondition =
    !std::same_as<T, bool> && !HoldsBool<T> && requires(const T& value) {
  static_cast<bool>(value);
};

// Types that may follow the options of an assertion.
template <typename C>
inline constexpr bool kIsEnd = false;
template <typename M>
inline constexpr bool kIsEnd<FailIf<M>> = true;
template <typename M>
inline constexpr bool kIsEnd<PassIf<M>> = true;
template <typename C>
concept EndCondition = kIsEnd<C>;

// An expression with its matchers. `Evaluate` takes a function and calls it
// with the value, within one full-expression, so that temporaries of the
// expression live until the function returns.
template <typename Framework, typename Evaluate>
class ExpressionSubject final : public Subject {
  using Given = typename std::invoke_result_t<const Evaluate&, TypeProbe>::type;
  using Value = typename Judged<Given>::type;

 public:
  template <typename M, EndCondition... Ends>
  ExpressionSubject(const Evaluate& evaluate, const M& matcher,
                    const Ends&... ends)
      : evaluate_(evaluate), matcher_(MatcherOf(matcher)) {
    (Add(ends), ...);
  }

  Look Poll(bool describe) override {
    Look look;
    evaluate_([&](const auto& value) {
      Take(eventually::Snapshot(value), describe, look);
    });
    return look;
  }

  std::string Expected() const override { return matcher_.describe(); }

  bool MaySettle() const override { return pass_if_.has_value(); }

  bool EndsTest(const std::exception_ptr& exception) const override {
    return Framework::EndsTest(exception);
  }

  void RecordLimitUsed(double share, const Site& site) const override {
    Framework::RecordLimitUsed(share, site);
  }

 private:
  template <typename M>
  static ValueMatcher<Value> MatcherOf(const M& matcher) {
    return Framework::template MatcherOf<Value>(matcher);
  }
  static ValueMatcher<Value> MatcherOf(Truth) {
    if constexpr (TrueInCondition<Value>) {
      return {[](const Value& value, std::string& /*why*/) {
                return static_cast<bool>(value);
              },
              [] { return std::string("is true"); }};
    } else {
      static constexpr bool kTrue = true;
      return Framework::template MatcherOf<Value>(kTrue);
    }
  }

  template <typename M>
  void Add(const FailIf<M>& fail_if) {
    if constexpr (!std::is_same_v<M, Nothing>) {
      fail_if_ = Framework::template MatcherOf<Value>(fail_if.matcher());
    }
  }
  template <typename M>
  void Add(const PassIf<M>& pass_if) {
    pass_if_ = Framework::template MatcherOf<Value>(pass_if.matcher());
  }

  void Take(const Given& given, bool describe, Look& look) const {
    if constexpr (kIsPoll<Given>) {
      if (given.status() != PollStatus::kSuccess) {
        look.answer.emplace(given);
      } else if constexpr (requires { given.value(); }) {
        Judge(given.value(), describe, look);
      } else {
        Judge(true, describe, look);
      }
    } else {
      Judge(given, describe, look);
    }
  }

  void Judge(const Value& value, bool describe, Look& look) const {
    std::string why;
    std::string ignored;
    look.matched = matcher_.matches(value, why);
    look.settled = pass_if_.has_value() && pass_if_->matches(value, ignored);
    if (look.matched && !describe) return;
    look.seen = eventually::Print<Framework>(value);
    if (!why.empty()) look.seen += ", " + why;
    if (look.matched) return;
    look.error = eventually::ErrorIn(value);
    if (fail_if_.has_value() && fail_if_->matches(value, ignored)) {
      look.hopeless = "FailIf(" + fail_if_->describe() + ")";
    }
  }

  const Evaluate& evaluate_;
  ValueMatcher<Value> matcher_;
  std::optional<ValueMatcher<Value>> fail_if_;
  std::optional<ValueMatcher<Value>> pass_if_;
};

// Run an assertion. The arguments after `evaluate` are the macro's after its
// expression. Without a matcher, the expression must be true.
template <typename Framework, typename Evaluate, typename M,
          EndCondition... Ends>
absl::Status RunExpression(const Site& site, const Evaluate& evaluate,
                           M matcher, const EventuallyOptions& options,
                           const Ends&... ends) {
  ExpressionSubject<Framework, Evaluate> subject(evaluate, matcher, ends...);
  return Run(site, options, subject);
}
template <typename Framework, typename Evaluate, typename M,
          EndCondition... Ends>
requires(!std::same_as<M, EventuallyOptions>)  //
    absl::Status RunExpression(const Site& site, const Evaluate& evaluate,
                               M matcher, const Ends&... ends) {
  ExpressionSubject<Framework, Evaluate> subject(evaluate, matcher, ends...);
  return Run(site, subject);
}
template <typename Framework, typename Evaluate>
absl::Status RunExpression(const Site& site, const Evaluate& evaluate,
                           const EventuallyOptions& options) {
  return eventually::RunExpression<Framework>(site, evaluate, Truth(), options);
}
template <typename Framework, typename Evaluate>
absl::Status RunExpression(const Site& site, const Evaluate& evaluate) {
  return eventually::RunExpression<Framework>(site, evaluate, Truth());
}

// Runs a block, `Framework::RunRound` once for each poll. Null: no options.
template <typename Framework>
absl::Status RunBlockWith(const Site& site, const EventuallyOptions* options,
                          absl::FunctionRef<void()> block) {
  std::optional<std::string> skip;
  absl::Status status = RunRounds(
      site, options, {Framework::EndsTest, Framework::RecordLimitUsed},
      Framework::RunRound, block, skip);
  if constexpr (requires { Framework::Skip(*skip); }) {
    if (skip.has_value()) Framework::Skip(*skip);
  }
  return status;
}
template <typename Framework>
absl::Status RunBlock(const Site& site, absl::FunctionRef<void()> block) {
  return eventually::RunBlockWith<Framework>(site, nullptr, block);
}
template <typename Framework>
absl::Status RunBlock(const Site& site, absl::FunctionRef<void()> block,
                      const EventuallyOptions& options) {
  return eventually::RunBlockWith<Framework>(site, &options, block);
}

// Runs the function `Eventually` with the matchers of a framework.
template <typename Framework, typename Result, typename F, typename M,
          typename Options, typename N>
Result EventuallyBy(F& function, M matcher, const Options& options,
                    const FailIf<N>& fail_if, const char* file, int line) {
  std::optional<std::invoke_result_t<F&>> value;
  const auto evaluate = [&](const auto& look) {
    return look(value.emplace(function()));
  };
  absl::Status status = eventually::RunExpression<Framework>(
      Site{Kind::kEventually, nullptr, file, line}, evaluate,
      std::move(matcher), options, fail_if);
  if (!status.ok()) return status;
  if constexpr (kIsPoll<std::invoke_result_t<F&>> &&
                requires { value->value(); }) {
    return (*std::move(value)).value();
  } else {
    return *std::move(value);
  }
}

}  // namespace waiter::internal::eventually

// Implementation of the macros of all frameworks; not for use elsewhere. `text`
// is the expression before macros in it are replaced.
#define WAITER_INTERNAL_EVENTUALLY(framework, kind, text, expression, ...) \
  ::waiter::internal::eventually::RunExpression<framework>(                \
      ::waiter::internal::eventually::Site{                                \
          ::waiter::internal::eventually::Kind::kind, text, __FILE__,      \
          __LINE__},                                                       \
      [&](const auto& waiter_look) {                                       \
        return waiter_look(expression);                                    \
      } __VA_OPT__(, ) __VA_ARGS__)
#define WAITER_INTERNAL_PASSES(framework, ...)                        \
  ::waiter::internal::eventually::RunBlock<framework>(                \
      ::waiter::internal::eventually::Site{                           \
          ::waiter::internal::eventually::Kind::kPasses, "the block", \
          __FILE__, __LINE__},                                        \
      [&]() -> void __VA_ARGS__)

#endif  // WAITER_TESTING_INTERNAL_EVENTUALLY_PARTS_H_
