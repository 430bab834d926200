// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls of long-running operations of Google Cloud, for google-cloud-cpp and
// for clients that gRPC generates. An operation that was started with
// `NoAwaitTag`, polled by Waiter:
//
//   waiter::Waiter wait(
//       [&]() -> waiter::Poll<Database> {
//         return waiter::FromOperation<Database>(client.GetOperation(name));
//       },
//       {.name = name, .timeout = absl::Minutes(30)});
//
// The same with progress in logs and messages:
//
//   waiter::FromOperation<Database>(
//       client.GetOperation(name), [](const Operation& operation) {
//         CreateDatabaseMetadata metadata;
//         operation.metadata().UnpackTo(&metadata);
//         return absl::StrCat(metadata.progress().progress_percent(), " %");
//       });
//
// | the operation                 | poll                                     |
// | ----------------------------- | ---------------------------------------- |
// | could not be fetched          | by the code of the status: classify.h    |
// | is not done                   | not ready                                |
// | is done and has a response    | success                                  |
// | is done and has an error      | failed, with the code of the error, even |
// |                               | if that is kUnavailable                  |
// | is done and has neither       | failed, kInternal                        |
//
// Where the library itself polls, `AsPollingPolicy` makes it poll by the
// options of a wait. The adapters need only the shape of the types, so this
// header includes nothing of Google's.

#ifndef WAITER_INTEROP_GOOGLE_CLOUD_H_
#define WAITER_INTEROP_GOOGLE_CLOUD_H_

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/internal/google_polling_policy.h"
#include "waiter/interop/internal/polling_steps.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"

namespace waiter {

// `google::cloud::Status` and `google::rpc::Status`. Their codes have the
// numbers of Abseil's.
template <typename S>
concept GoogleStatus = requires(const S& status) {
  static_cast<int>(status.code());
  { status.message() } -> std::convertible_to<std::string_view>;
};

// `google::longrunning::Operation`.
template <typename Op>
concept GoogleOperation = requires(const Op& operation) {
  { operation.done() } -> std::convertible_to<bool>;
  { operation.has_error() } -> std::convertible_to<bool>;
  { operation.has_response() } -> std::convertible_to<bool>;
  { operation.name() } -> std::convertible_to<std::string_view>;
  operation.response();
  requires GoogleStatus<std::remove_cvref_t<decltype(operation.error())>>;
};

// `google::cloud::StatusOr<google::longrunning::Operation>`.
template <typename R>
concept GoogleOperationResult = requires(const R& result) {
  { result.ok() } -> std::convertible_to<bool>;
  requires GoogleStatus<std::remove_cvref_t<decltype(result.status())>>;
  requires GoogleOperation<std::remove_cvref_t<decltype(*result)>>;
};

// Converts a status, without the details of its error. A number that is not a
// code becomes kUnknown.
template <GoogleStatus S>
absl::Status ToAbslStatus(const S& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()),
                      internal::ToAbsl(status.message()));
}

// Returns an answer with the class of `status` by `classifier`, which may
// change the table in classify.h, and with `status` as its error. The RetryInfo
// of an error makes a hint: `RetryInfoDelay` in classify.h.
template <GoogleStatus S>
Poll<> FromGoogleStatus(
    const S& status,
    const ErrorClassifier& classifier = ErrorClassifier::Http(),
    Duration retry_after = {}) {
  absl::Status error = ToAbslStatus(status);
  if (error.ok()) return Success();
  const PollStatus found = classifier.ClassOfStatus(error.code());
  return {found, std::move(error), retry_after};
}

namespace internal {

// Replaces a missing description.
struct NoDescription {
  template <typename Op>
  std::string operator()(const Op& /*operation*/) const {
    return {};
  }
};

template <typename R>
using GoogleOperationOf = std::remove_cvref_t<decltype(*std::declval<R&>())>;

// Returns the answer unless the operation has a response, and then success.
template <typename R, typename Describe>
Poll<> FromGoogleOperation(const R& got, Describe& describe,
                           const ErrorClassifier& classifier) {
  if (!got.ok()) return FromGoogleStatus(got.status(), classifier);
  const auto& operation = *got;
  if (!operation.done()) return NotReady(std::invoke(describe, operation));
  if (operation.has_error()) return Failed(ToAbslStatus(operation.error()));
  if (operation.has_response()) return Success();
  return Failed(absl::InternalError(
      "the operation is done, but has neither a response nor an error"));
}

}  // namespace internal

// Returns the answer of the table above; a success has the operation as its
// value. `describe` returns the detail of an operation that is not done.
template <GoogleOperationResult R,
          std::invocable<const internal::GoogleOperationOf<R>&> Describe>
Poll<internal::GoogleOperationOf<R>> FromOperation(
    R got, Describe describe,
    const ErrorClassifier& classifier = ErrorClassifier::Http()) {
  Poll<> found = internal::FromGoogleOperation(got, describe, classifier);
  if (found.status() != PollStatus::kSuccess || !got.ok()) return found;
  return Success(*std::move(got));
}
template <GoogleOperationResult R>
Poll<internal::GoogleOperationOf<R>> FromOperation(
    R got, const ErrorClassifier& classifier = ErrorClassifier::Http()) {
  return FromOperation(std::move(got), internal::NoDescription(), classifier);
}

// The same; a success has the response as its value. It is failed with
// kInternal if the response is not a `Response`.
template <typename Response, GoogleOperationResult R,
          std::invocable<const internal::GoogleOperationOf<R>&> Describe>
Poll<Response> FromOperation(
    const R& got, Describe describe,
    const ErrorClassifier& classifier = ErrorClassifier::Http()) {
  Poll<> found = internal::FromGoogleOperation(got, describe, classifier);
  if (found.status() != PollStatus::kSuccess || !got.ok()) return found;
  Response response;
  if (!(*got).response().UnpackTo(&response)) {
    return Failed(absl::InternalError(
        "the operation is done, but its response has another type"));
  }
  return Success(std::move(response));
}
template <typename Response, GoogleOperationResult R>
Poll<Response> FromOperation(
    const R& got, const ErrorClassifier& classifier = ErrorClassifier::Http()) {
  return FromOperation<Response>(got, internal::NoDescription(), classifier);
}

// Returns a polling policy, not null, for the loop of google-cloud-cpp:
//
//   absl::StatusOr<std::unique_ptr<google::cloud::PollingPolicy>> policy =
//       waiter::AsPollingPolicy<google::cloud::PollingPolicy>(
//           {.timeout = absl::Minutes(30)});
//   if (!policy.ok()) return policy.status();
//   google::cloud::Options().set<spanner::PollingPolicyOption>(
//       (*policy)->clone());
//
// Delays, limits, budgets and classes work as in a wait, with one poll at the
// deadline. The response that starts the operation counts as the first poll,
// unless `polls.first_delay` is set. The wait of a copy begins with the copy's
// first use. The loop of google-cloud-cpp polls and sleeps, cannot end a sleep
// early, and makes the error: a limit shows as its "terminated by polling
// policy". It does not tell a policy of the end of an operation, so an observer
// then sees a cancelled wait; `on_failure` is called for limits and for errors
// that end the wait.
//
// Returns kInvalidArgument if the options are invalid or have a rate limiter.
// Thread-compatible.
template <typename Policy>
absl::StatusOr<std::unique_ptr<Policy>> AsPollingPolicy(
    WaitOptions options, ErrorClassifier classifier = ErrorClassifier::Http()) {
  using Status = decltype(internal::StatusTakenBy(&Policy::OnFailure));
  absl::Status status = internal::PollingSteps::Check(options);
  if (!status.ok()) return status;
  auto answer = [classifier = std::move(classifier)](const Status& got) {
    return FromGoogleStatus(got, classifier);
  };
  return std::make_unique<
      internal::GooglePollingPolicy<Policy, Status, decltype(answer)>>(
      WaitPolicy::Make(std::move(options)), std::move(answer));
}

}  // namespace waiter

#endif  // WAITER_INTEROP_GOOGLE_CLOUD_H_
