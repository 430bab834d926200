// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Answers from outcomes of the AWS SDK for C++. The SDK's waiter for a table,
// but with a time limit, growing delays and a stop token:
//
//   waiter::WaitOptions options = waiter::SmithyWaiter(absl::Seconds(20));
//   options.timeout = absl::Minutes(10);
//   waiter::Waiter wait(
//       [&] {
//         return waiter::FromAwsOutcome(
//             client.DescribeTable(request),
//             [](const DescribeTableResult& result) {
//               return result.GetTable().GetTableStatus() ==
//                      TableStatus::ACTIVE;
//             },
//             waiter::ErrorClassifier::AwsKotlin().With(
//                 "ResourceNotFoundException", waiter::PollStatus::kNotReady));
//       },
//       options);
//
// Without a function, a success makes the poll a success, with the result as
// its value; "the object exists" needs nothing more:
//
//   waiter::FromAwsOutcome(
//       s3.HeadObject(request),
//       waiter::ErrorClassifier::AwsKotlin().With(
//           404, waiter::PollStatus::kNotReady));
//
// The adapters need only the shape of the SDK's types, so this header includes
// nothing of the SDK. The SDK itself retries a call several times before it
// returns an error; Waiter counts that as one poll.

#ifndef WAITER_INTEROP_AWS_H_
#define WAITER_INTEROP_AWS_H_

#include <algorithm>
#include <concepts>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/interop/internal/hint_of_fields.h"
#include "waiter/interop/internal/to_poll.h"
#include "waiter/poll.h"

namespace waiter {

// `Aws::Client::AWSError<E>` and types derived from it. `ShouldThrottle()` and
// `GetResponseHeaders()` are used if the version of the SDK has them.
template <typename E>
concept AwsError = requires(const E& error) {
  { error.GetExceptionName() } -> std::convertible_to<std::string_view>;
  { error.GetMessage() } -> std::convertible_to<std::string_view>;
  { error.ShouldRetry() } -> std::convertible_to<bool>;
  static_cast<int>(error.GetResponseCode());
};

// `Aws::Utils::Outcome<R, E>`.
template <typename O>
concept AwsOutcome = requires(const O& outcome) {
  { outcome.IsSuccess() } -> std::convertible_to<bool>;
  outcome.GetResult();
  requires AwsError<std::remove_cvref_t<decltype(outcome.GetError())>>;
};

namespace internal {

template <typename O>
decltype(auto) AwsResultOf(O&& outcome) {
  if constexpr (!std::is_reference_v<O> &&
                requires { outcome.GetResultWithOwnership(); }) {
    return outcome.GetResultWithOwnership();
  } else {
    return outcome.GetResult();
  }
}

template <typename O>
using AwsResultRef = decltype(AwsResultOf(std::declval<O>()));

}  // namespace internal

// Returns the hint in `x-amz-retry-after` or, without it, in `Retry-After`, of
// the response that came at `now`.
template <AwsError E>
RetryAfter AwsRetryAfter(const E& error, absl::Time now = absl::Now()) {
  if constexpr (requires { error.GetResponseHeaders(); }) {
    return internal::HintOfFields(error.GetResponseHeaders(), now);
  } else {
    return {};
  }
}

// Returns the answer of `classifier` to the name, the HTTP status and the flags
// of `error`, with its hint. The answer's error is worded by
// `ErrorClassifier::Answer`: "ThrottlingException, HTTP 400: Rate exceeded".
template <AwsError E>
Poll<> FromAwsError(
    const E& error,
    const ErrorClassifier& classifier = ErrorClassifier::AwsKotlin(),
    absl::Time now = absl::Now()) {
  const auto& name = error.GetExceptionName();  // May be a temporary.
  ServiceError facts = {
      // Without a response, the SDK says -1.
      .http_status = (std::max)(0, static_cast<int>(error.GetResponseCode())),
      .code = name,
      .retryable = error.ShouldRetry()};
  if constexpr (requires { error.ShouldThrottle(); }) {
    facts.throttling = error.ShouldThrottle();
  }
  return classifier.Answer(facts, error.GetMessage(),
                           AwsRetryAfter(error, now));
}

// Returns `FromAwsError` of a failed outcome; otherwise, the return value of
// `answer` for the result: any answer of a status function (classify.h). An
// outcome passed as an rvalue is moved from.
template <typename O, std::invocable<internal::AwsResultRef<O>> F>
requires(AwsOutcome<std::remove_cvref_t<O>>) auto FromAwsOutcome(
    O&& outcome, F answer,
    const ErrorClassifier& classifier = ErrorClassifier::AwsKotlin())
    -> internal::PollFor<std::invoke_result_t<F, internal::AwsResultRef<O>>> {
  if (!outcome.IsSuccess()) return FromAwsError(outcome.GetError(), classifier);
  return internal::ToPoll(std::invoke(
      std::move(answer), internal::AwsResultOf(std::forward<O>(outcome))));
}

// The same; a success has the result as its value.
template <typename O>
requires(AwsOutcome<std::remove_cvref_t<O>>)
    Poll<std::remove_cvref_t<internal::AwsResultRef<O>>> FromAwsOutcome(
        O&& outcome,
        const ErrorClassifier& classifier = ErrorClassifier::AwsKotlin()) {
  if (!outcome.IsSuccess()) return FromAwsError(outcome.GetError(), classifier);
  return Success(internal::AwsResultOf(std::forward<O>(outcome)));
}

}  // namespace waiter

#endif  // WAITER_INTEROP_AWS_H_
