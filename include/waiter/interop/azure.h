// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls long-running operations of the Azure SDK for C++, instead of
// `PollUntilDone`:
//
//   auto operation = client.StartCreateCertificate("web", options);
//   waiter::Waiter wait(waiter::PollOperation(operation, context),
//                       {.name = "certificate web",
//                        .timeout = absl::Minutes(10),
//                        .poll_timeout = absl::Seconds(30)});
//   waiter::WaitResult<Certificate> certificate = wait.Wait(stop_token);
//
// Each poll has its own context, a child of yours. The context ends when the
// time of the poll is over or a stop is requested:
//
// | the poll                                | answer                          |
// | --------------------------------------- | ------------------------------- |
// | leaves the operation running            | not ready, with Retry-After     |
// | finds it succeeded                      | success, with `Value()`         |
// | finds it cancelled, failed              | failed: kCancelled, kAborted    |
// | throws RequestFailedException           | by its classifier               |
// | throws OperationCancelledException: the | server error, kDeadlineExceeded |
// | time of the poll is over                |                                 |
// | ... or your context has ended           | failed, kCancelled              |
// | ... or a stop was requested             | not ready; the wait ends        |
// | throws anything else                    | passes through, ends the wait   |
//
// The adapters need only the shape of the SDK's types, so this header includes
// nothing of the SDK; include the SDK's headers before you call the adapters.
// The SDK needs exceptions. The detail of an answer is the status of the
// operation, such as "Running". The SDK itself repeats a request several times
// before it throws.

#ifndef WAITER_INTEROP_AZURE_H_
#define WAITER_INTEROP_AZURE_H_

#include <chrono>
#include <concepts>
#include <string_view>
#include <utility>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/internal/azure_answer.h"
#include "waiter/interop/internal/hint_of_fields.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"

namespace waiter {

// `Azure::Core::Operation<T>` and types derived from it.
template <typename Op>
concept AzureOperation = requires(Op& operation, const Op& polled) {
  operation.Poll().GetHeaders();
  { polled.IsDone() } -> std::convertible_to<bool>;
  { polled.HasValue() } -> std::convertible_to<bool>;
  polled.Value();
};

// `Azure::Core::Context`.
template <typename C>
concept AzureContext = requires(C& child, const C& context) {
  { context.IsCancelled() } -> std::convertible_to<bool>;
  {
    context.WithDeadline(std::chrono::system_clock::time_point())
    } -> std::same_as<C>;
  child.Cancel();
};

// `Azure::Core::RequestFailedException` and types derived from it.
template <typename E>
concept AzureError = requires(const E& error) {
  static_cast<int>(error.StatusCode);
  { error.ErrorCode } -> std::convertible_to<std::string_view>;
  { error.Message } -> std::convertible_to<std::string_view>;
  { error.what() } -> std::convertible_to<std::string_view>;
  error.RawResponse->GetHeaders();
};

// Returns the answer of `classifier` to the HTTP status and the code of
// `error`, with the hint in the response that came at `now`. A request without
// a response is a `ServiceError::Type::kConnection`.
template <AzureError E>
Poll<> FromAzureError(
    const E& error, const ErrorClassifier& classifier = ErrorClassifier::Http(),
    absl::Time now = absl::Now()) {
  const int http_status = static_cast<int>(error.StatusCode);
  const std::string_view message = error.Message;
  return classifier.Answer(
      {.http_status = http_status,
       .code = error.ErrorCode,
       .type = http_status == 0 ? ServiceError::Type::kConnection
                                : ServiceError::Type::kUnknown},
      message.empty() ? std::string_view(error.what()) : message,
      error.RawResponse == nullptr
          ? RetryAfter()
          : internal::HintOfFields(error.RawResponse->GetHeaders(), now));
}

namespace internal {

// Polls `operation` by `poll`, unless it is done. `cancelled` returns the
// answer to a cancellation with a given text.
template <typename Op, typename PollOnce, typename Cancelled>
Poll<AzureValue<Op>> PollAzure(Op& operation, const ErrorClassifier& classifier,
                               PollOnce poll, Cancelled cancelled) {
  const auto answer = [&] {
    if (operation.IsDone()) return AzureAnswer(operation, {});
    const auto& response = poll();
    return AzureAnswer(operation,
                       HintOfFields(response.GetHeaders(), absl::Now()));
  };
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    return answer();
  } catch (const typename AzureExceptions<Op>::Failed& error) {
    return FromAzureError(error, classifier);
  } catch (const typename AzureExceptions<Op>::Cancelled& error) {
    return cancelled(error.what());
  }
#else
  static_cast<void>(classifier);
  static_cast<void>(cancelled);
  return answer();
#endif
}

}  // namespace internal

// Returns a status function that polls `operation`, by the table above, unless
// it is done already. The value of a success is `operation.Value()`. `context`
// may carry its own deadline. The function may be copied; the copies poll the
// same operation, which must outlive them and must not be used while they poll.
template <AzureOperation Op, AzureContext C>
auto PollOperation(Op& operation, C context,
                   ErrorClassifier classifier = ErrorClassifier::Http()) {
  return [&operation, context = std::move(context),
          classifier = std::move(classifier)](
             const PollContext& poll) -> Poll<internal::AzureValue<Op>> {
    C child = context.WithDeadline(absl::ToChronoTime(poll.deadline));
    const waiter::stop_callback cancel(poll.stop_token,
                                       [&child] { child.Cancel(); });
    return internal::PollAzure(
        operation, classifier,
        [&]() -> decltype(auto) { return operation.Poll(child); },
        [&](std::string_view what) -> Poll<> {
          const absl::string_view text = internal::ToAbsl(what);
          if (poll.stop_token.stop_requested()) {
            return NotReady(absl::CancelledError(text));
          }
          if (context.IsCancelled()) return Failed(absl::CancelledError(text));
          return ServerError(absl::DeadlineExceededError(text));
        });
  };
}

// The same without a context: a poll has no time limit, and a stop takes effect
// when the poll ends.
template <AzureOperation Op>
auto PollOperation(Op& operation,
                   ErrorClassifier classifier = ErrorClassifier::Http()) {
  return [&operation, classifier = std::move(
                          classifier)]() -> Poll<internal::AzureValue<Op>> {
    return internal::PollAzure(
        operation, classifier,
        [&]() -> decltype(auto) { return operation.Poll(); },
        [](std::string_view what) { return ServerError(what); });
  };
}

}  // namespace waiter

#endif  // WAITER_INTEROP_AZURE_H_
