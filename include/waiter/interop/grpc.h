// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Answers from gRPC calls. A call that ends by its poll's deadline, and
// immediately if a stop is requested:
//
//   waiter::Waiter wait(
//       [&](const waiter::PollContext& poll) -> waiter::Poll<Job> {
//         grpc::ClientContext context;
//         context.set_deadline(absl::ToChronoTime(poll.deadline));
//         const waiter::stop_callback cancel(poll.stop_token,
//                                            [&] { context.TryCancel(); });
//         Job job;
//         const grpc::Status status = stub->GetJob(&context, request, &job);
//         if (!status.ok()) return waiter::FromGrpcStatus(status, context);
//         if (job.state() != Job::DONE) return waiter::NotReady();
//         return waiter::Success(std::move(job));
//       },
//       {.timeout = absl::Minutes(10), .poll_timeout = absl::Seconds(10)});
//
// docs/cookbook.md shows the same for an `AsyncWaiter` and the callback API.
//
// | code                        | poll         | because                     |
// | --------------------------- | ------------ | --------------------------- |
// | UNAVAILABLE                 | server error | see classify.h              |
// | RESOURCE_EXHAUSTED          | throttled    | see classify.h              |
// | DEADLINE_EXCEEDED           | server error | this call was too slow; the |
// |                             |              | next one has its own time   |
// | CANCELLED                   | server error | a stop, which ends the wait |
// |                             |              | as cancelled, or a proxy    |
// | every other                 | failed       | see classify.h              |
//
// The adapters need only the shape of the types, so this header includes
// nothing of gRPC. `GrpcRetry` (presets.h) has the delays of gRPC's retries.

#ifndef WAITER_INTEROP_GRPC_H_
#define WAITER_INTEROP_GRPC_H_

#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"
#include "waiter/poll.h"

namespace waiter {

// `grpc::Status`. Its codes have the numbers of Abseil's.
template <typename S>
concept GrpcStatus = requires(const S& status) {
  static_cast<int>(status.error_code());
  { status.error_message() } -> std::convertible_to<std::string_view>;
};

// `grpc::ClientContext`, after its call has ended.
template <typename C>
concept GrpcClientContext = requires(const C& context) {
  context.GetServerTrailingMetadata().begin()->second.data();
  { context.GetServerTrailingMetadata().size() } -> std::integral;
};

// Returns the table above, as a basis for your own. Only its `ClassOfStatus` is
// used.
inline ErrorClassifier GrpcErrors() {
  return ErrorClassifier::Http()
      .With(absl::StatusCode::kDeadlineExceeded, PollStatus::kServerError)
      .With(absl::StatusCode::kCancelled, PollStatus::kServerError);
}

// Returns the pushback (`grpc-retry-pushback-ms`) in the trailing metadata of a
// call that has ended, or nullopt if none.
template <GrpcClientContext C>
std::optional<GrpcPushback> GrpcPushbackOf(const C& context) {
  std::optional<GrpcPushback> pushback;
  for (const auto& [name, value] : context.GetServerTrailingMetadata()) {
    if (std::string_view(name.data(), name.size()) !=
        "grpc-retry-pushback-ms") {
      continue;
    }
    // A field that occurs twice means the same as one that is not a number.
    pushback = ParseGrpcPushback(
        pushback.has_value() ? std::string_view()
                             : std::string_view(value.data(), value.size()));
    if (!pushback->may_retry) break;
  }
  return pushback;
}

// Returns an answer with the class that `classifier` gives `status`, and
// `status` as its error. If polling would continue, a pushback sets the delay,
// or makes the answer failed if the server asks for no further call.
template <GrpcStatus S>
Poll<> FromGrpcStatus(const S& status,
                      std::optional<GrpcPushback> pushback = std::nullopt,
                      const ErrorClassifier& classifier = GrpcErrors()) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  const PollStatus found = classifier.ClassOfStatus(code);
  if (code == absl::StatusCode::kOk) return Success();
  const auto& message = status.error_message();  // May be a temporary.
  absl::Status error(code, internal::ToAbsl(message));
  if (!pushback.has_value() || found == PollStatus::kSuccess ||
      found == PollStatus::kFailed) {
    return {found, std::move(error)};
  }
  if (!pushback->may_retry) return Failed(std::move(error));
  return {found, std::move(error), pushback->delay};
}

// Reads the pushback from `context`, the context of the call.
template <GrpcStatus S, GrpcClientContext C>
Poll<> FromGrpcStatus(const S& status, const C& context,
                      const ErrorClassifier& classifier = GrpcErrors()) {
  return FromGrpcStatus(status, GrpcPushbackOf(context), classifier);
}

}  // namespace waiter

#endif  // WAITER_INTEROP_GRPC_H_
