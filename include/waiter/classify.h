// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Classification of status codes: maps an `absl::Status` or the status of an
// HTTP response to a `PollStatus`.
//
//   absl::StatusOr<Instance> got = client.GetInstance("i-0abc");
//   if (!got.ok()) return waiter::FromStatus(got.status());
//
//   HttpResponse got = Get("/instances/i-0abc");
//   return {waiter::ClassOfHttp(got.code), got.reason};
//
// All functions here are thread-safe. Their tables:
//
// | absl::StatusCode    | poll         | because                             |
// | ------------------- | ------------ | ----------------------------------- |
// | OK                  | success      |                                     |
// | kUnavailable        | server error | the one code that gRPC and AIP-194  |
// |                     |              | call safe to repeat for every call  |
// | kResourceExhausted  | throttled    | what 429 becomes                    |
// | every other         | failed       | a repetition gets the same answer   |
//
// | HTTP                | poll         | because                             |
// | ------------------- | ------------ | ----------------------------------- |
// | 202                 | not ready    | "the processing has not been        |
// |                     |              | completed" (RFC 9110, 15.3.3)       |
// | every other 2xx     | success      |                                     |
// | 408                 | server error | may be repeated (15.5.9)            |
// | 425                 | server error | is to be repeated (RFC 8470, 5.2)   |
// | 429                 | throttled    | RFC 6585, 4                         |
// | 501, 505            | failed       | the server lacks the method or the  |
// |                     |              | version (15.6.2, 15.6.6)            |
// | every other 5xx     | server error | unknown ones count as 500 (15)      |
// | every other number  | failed       | a repetition gets the same answer;  |
// |                     |              | redirects are the client's to follow|
//
// A status function may know better. If 404 or kNotFound means "not yet", it
// should return `NotReady(status)`. If kDeadlineExceeded means that one call
// was too slow, it should return `ServerError(status)`. error_classifier.h
// changes single entries of the tables, and has the tables of other systems.

#ifndef WAITER_CLASSIFY_H_
#define WAITER_CLASSIFY_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/poll.h"

namespace waiter {

// Returns the class of `code` in the first table above.
PollStatus ClassOf(absl::StatusCode code);

// Returns the class of the status of an HTTP response in the second table.
// Takes any number. Without a response, return `ServerError()` instead.
PollStatus ClassOfHttp(int http_status);

// Returns an answer with the class and the error of `status`.
Poll<> FromStatus(absl::Status status);

// Returns an answer with the class and the error of `result`, or its value.
template <typename T>
Poll<T> FromStatus(absl::StatusOr<T> result) {
  if (!result.ok()) return FromStatus(std::move(result).status());
  return Poll<T>(std::in_place, *std::move(result));
}

}  // namespace waiter

#endif  // WAITER_CLASSIFY_H_
