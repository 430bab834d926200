// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Classification of status codes: maps an `absl::Status` or the status of an
// HTTP response to a `PollStatus`.
//
//   absl::StatusOr<Instance> got = client.GetInstance("i-0abc");
//   if (!got.ok()) return waiter::FromStatus(got.status());
//
//   HttpResponse got = Get("/instances/i-0abc");
//   if (got.code != 200) return waiter::FromHttp(got.code, got.reason);
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

#include <concepts>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/poll_status.h"

namespace waiter {

// Returns the class of `code` in the first table above.
PollStatus ClassOf(absl::StatusCode code);

// Returns the class of the status of an HTTP response in the second table.
// Takes any number. Without a response, return `ServerError()` instead.
PollStatus ClassOfHttp(int http_status);

// Returns the status code for the status of an HTTP response, by the rules of
// google.rpc.Code where these have one: kNotFound for 404, kUnavailable for
// 503, kDeadlineExceeded for 408 and 504. OK for 2xx.
absl::StatusCode CodeOfHttp(int http_status);

// Returns an answer with the class of `http_status`, and `retry_after`. If it
// is not 2xx, its error has `CodeOfHttp` and the message "HTTP 404: " and
// `text`. A function that returns `Poll<T>` handles a success by itself.
Poll<> FromHttp(int http_status, std::string_view text = {},
                absl::Duration retry_after = {});

// Returns an answer with the class and the error of `status`. A
// kResourceExhausted that comes from a limit of another wait (`LimitOf` in
// wait_report.h) is failed: that wait has tried often enough.
Poll<> FromStatus(absl::Status status);

// The same for a result that says whether the condition is met: false is not
// ready.
template <std::same_as<bool> T>
Poll<> FromStatus(absl::StatusOr<T> result) {
  if (!result.ok()) return FromStatus(std::move(result).status());
  return *result ? Success() : NotReady();
}

// Returns an answer with the class and the error of `result`, or its value.
template <typename T>
requires(!std::same_as<T, bool>) Poll<T> FromStatus(absl::StatusOr<T> result) {
  if (!result.ok()) return FromStatus(std::move(result).status());
  return Poll<T>(std::in_place, *std::move(result));
}

}  // namespace waiter

#endif  // WAITER_CLASSIFY_H_
