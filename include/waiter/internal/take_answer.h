// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Conversion of the answers of status functions (classify.h) to the form
// that drivers use, and the types that follow from a status function.

#ifndef WAITER_INTERNAL_TAKE_ANSWER_H_
#define WAITER_INTERNAL_TAKE_ANSWER_H_

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/poll.h"

namespace waiter {

// Defined in classify.h.
Poll<> FromStatus(absl::Status status);
template <std::same_as<bool> T>
Poll<> FromStatus(absl::StatusOr<T> result);

}  // namespace waiter

namespace waiter::internal {

// Each `TakeAnswer` moves the value of a success into its last argument, and
// everything else into `found`.
inline void TakeAnswer(PollStatus answer, Poll<>& found, std::monostate&) {
  found.set_status(answer);
}
inline void TakeAnswer(bool answer, Poll<>& found, std::monostate&) {
  found.set_status(answer ? PollStatus::kSuccess : PollStatus::kNotReady);
}
inline void TakeAnswer(Poll<> answer, Poll<>& found, std::monostate&) {
  found = std::move(answer);
}
inline void TakeAnswer(absl::Status answer, Poll<>& found, std::monostate&) {
  found = FromStatus(std::move(answer));
}
template <typename T>
void TakeAnswer(Poll<T> answer, Poll<>& found, std::optional<T>& value) {
  Poll<>& outcome = answer;
  found = std::move(outcome);
  if (answer.has_value()) value.emplace(std::move(answer).value());
}
template <std::same_as<bool> T>
void TakeAnswer(absl::StatusOr<T> answer, Poll<>& found, std::monostate&) {
  found = FromStatus(std::move(answer));
}
template <typename T>
void TakeAnswer(absl::StatusOr<T> answer, Poll<>& found,
                std::optional<T>& value) {
  if (!answer.ok()) {
    found = FromStatus(std::move(answer).status());
    return;
  }
  found = Success();
  value.emplace(*std::move(answer));
}

// Drops the value of a success that did not end the wait.
inline void DropValue(std::monostate&) {}
template <typename T>
void DropValue(std::optional<T>& value) {
  value.reset();
}

// `type` is the type of the value in an answer of type `R`, or void. There is
// no `type` if a status function must not return `R`.
template <typename R>
struct ValueOfAnswer {};
template <typename R>
requires(std::same_as<R, PollStatus> || std::same_as<R, bool> ||
         std::same_as<R, absl::Status> ||
         std::same_as<R, absl::StatusOr<bool>>) struct ValueOfAnswer<R> {
  using type = void;
};
template <typename T>
struct ValueOfAnswer<Poll<T>> {
  using type = T;
};
template <typename T>
requires(!std::same_as<T, bool>) struct ValueOfAnswer<absl::StatusOr<T>> {
  using type = T;
};

// Whether a poll with a value of type `T` may be answered by an `Answer`. A
// type that merely converts to bool or `T`, such as a number or a pointer, is
// not an answer.
template <typename Answer, typename T>
inline constexpr bool kIsAnswerFor =
    std::convertible_to<Answer, Poll<T>> ||
    (std::convertible_to<Answer, absl::StatusOr<T>> &&
     !std::convertible_to<Answer, T>);
template <typename Answer>
inline constexpr bool kIsAnswerFor<Answer, void> =
    std::same_as<std::remove_cvref_t<Answer>, bool> ||
    std::same_as<std::remove_cvref_t<Answer>, absl::StatusOr<bool>> ||
    std::convertible_to<Answer, Poll<>> ||
    std::convertible_to<Answer, absl::Status>;

template <typename Answer, typename T>
concept AnswerFor = kIsAnswerFor<Answer, T>;

// Whether `F` can be called with a context, which it then gets.
template <typename F>
concept CallableWithContext = std::invocable<F&, const PollContext&>;

// `type` is the return type of `F` without reference and const.
template <typename F>
struct AnswerOf {};
template <CallableWithContext F>
struct AnswerOf<F> {
  using type =
      std::remove_cvref_t<std::invoke_result_t<F&, const PollContext&>>;
};
template <typename F>
requires(std::invocable<F&> && !CallableWithContext<F>) struct AnswerOf<F> {
  using type = std::remove_cvref_t<std::invoke_result_t<F&>>;
};

// Returns kInvalidArgument if `function` is an empty `std::function`, a null
// pointer or the like, otherwise OK.
template <typename F>
absl::Status CheckNotEmpty(const F& function) {
  if constexpr (requires { function == nullptr; }) {
    if (function == nullptr) {
      return absl::InvalidArgumentError(
          "the status function is empty; give something to call");
    }
  }
  return absl::OkStatus();
}

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_TAKE_ANSWER_H_
