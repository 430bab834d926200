// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What an error means to a wait.
//
//   absl::StatusOr<Instance> got = client.GetInstance("i-0abc");
//   if (!got.ok()) return waiter::FromStatus(got.status());
//
// | code                | poll         | because                             |
// | ------------------- | ------------ | ----------------------------------- |
// | OK                  | success      |                                     |
// | kUnavailable        | server error | the one code that gRPC and AIP-194  |
// |                     |              | call safe to repeat for every call  |
// | kResourceExhausted  | throttled    | what 429 becomes                    |
// | every other         | failed       | a repetition gets the same answer   |
//
// A status function that knows better says so itself: kNotFound may mean «not
// yet», `NotReady(status)`, and kDeadlineExceeded that one call was too slow,
// `ServerError(status)`.

#ifndef WAITER_CLASSIFY_H_
#define WAITER_CLASSIFY_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/poll.h"

namespace waiter {

// Returns the class of `code` in the table above.
PollStatus ClassOf(absl::StatusCode code);

// Returns a poll that found the class of `status`, and keeps the error.
Poll<> FromStatus(absl::Status status);

// The same, with the value of a success.
template <typename T>
Poll<T> FromStatus(absl::StatusOr<T> result) {
  if (!result.ok()) return FromStatus(std::move(result).status());
  return Poll<T>(std::in_place, *std::move(result));
}

}  // namespace waiter

#endif  // WAITER_CLASSIFY_H_
