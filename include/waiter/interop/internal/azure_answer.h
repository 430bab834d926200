// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The answer that the state of an operation of the Azure SDK gives
// (interop/azure.h).

#ifndef WAITER_INTEROP_INTERNAL_AZURE_ANSWER_H_
#define WAITER_INTEROP_INTERNAL_AZURE_ANSWER_H_

#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "waiter/classify.h"
#include "waiter/poll.h"

// NOLINTBEGIN(readability-identifier-naming): defined by the SDK
namespace Azure::Core {

class OperationCancelledException;
class RequestFailedException;

}  // namespace Azure::Core
// NOLINTEND(readability-identifier-naming)

namespace waiter::internal {

template <typename Op>
using AzureValue = std::remove_cvref_t<decltype(std::declval<Op&>().Value())>;

// Depends on a type, so that the exceptions need be complete only where an
// operation is polled.
template <typename Op>
struct AzureExceptions {
  using Cancelled = ::Azure::Core::OperationCancelledException;
  using Failed = ::Azure::Core::RequestFailedException;
};

template <typename Op>
std::string AzureStatusOf(const Op& operation) {
  if constexpr (requires { operation.Status().Get(); }) {
    return operation.Status().Get();
  } else {
    return operation.IsDone() ? "Done" : "Running";
  }
}

template <typename Op>
Poll<AzureValue<Op>> AzureAnswer(const Op& operation, RetryAfter hint) {
  const std::string status = AzureStatusOf(operation);
  if (!operation.IsDone()) return NotReady(status, hint);
  if (operation.HasValue()) return Success(operation.Value());
  const std::string message =
      absl::StrCat("the operation has ended as ", status);
  if (status == "Cancelled") return Failed(absl::CancelledError(message));
  return Failed(absl::AbortedError(message));
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_AZURE_ANSWER_H_
