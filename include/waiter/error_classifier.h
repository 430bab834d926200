// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the error of a service means to a wait, by the table of a system, and
// with changes of your own:
//
//   const waiter::ErrorClassifier classifier =
//       waiter::ErrorClassifier::AwsKotlin()
//           .With("ResourceNotFoundException", waiter::PollStatus::kNotReady)
//           .With(409, waiter::PollStatus::kNotReady);
//   ...
//   return {classifier.ClassOf({.http_status = 400, .code = error.code()}),
//           error.message(), hint};
//
// For one code alone: `waiter::ClassOfAwsErrorCode("ThrottlingException")`.
//
// |               | Http()       | AwsKotlin()  | Botocore()   | AwsGoV1()    |
// | ------------- | ------------ | ------------ | ------------ | ------------ |
// | throttle code | none         | 14           | the same 14  | 11           |
// | retried code  | none         | 3            | 2            | 7            |
// | throttle HTTP | 429          | none         | none         | 429 502-504  |
// | retried HTTP  | ClassOfHttp  | 500 502-504  | 500 502-504  | 500          |
// | throttling    | throttled    | throttled    | throttled    | not read     |
// | retryable     | server error | server error | server error | not read     |
// | kConnection   | server error | server error | server error | server error |
// | kServer alone | server error | not read     | not read     | not read     |
//
// What any of them calls throttled is throttled, else what any calls a server
// error is that; else a 2xx that brings no sign of an error is success, and all
// others failed: 429 without a code too, in Kotlin and botocore. Sources are
// named in error_classifier.cc.

#ifndef WAITER_ERROR_CLASSIFIER_H_
#define WAITER_ERROR_CLASSIFIER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "waiter/poll_status.h"

namespace waiter {

// What a service said of an error, as far as it is known. Nothing at all counts
// as failed.
struct ServiceError {
  enum class Type : uint8_t {
    kUnknown,
    kServer,      // The server's fault.
    kClient,      // The request's fault.
    kConnection,  // No answer came: refused, reset, timed out.
  };

  // 0: there was none.
  int http_status = 0;

  // Such as "ThrottlingException", case as the service has it. What surrounds
  // the name on the wire is dropped: "com.amazonaws#Name:http://...".
  std::string_view code = {};

  Type type = Type::kUnknown;

  // What the service's model says of the error.
  bool retryable = false;
  bool throttling = false;
};

// A table, and what was changed in it. Immutable; safe to share between
// threads. Cheap to make and to ask; copies the changes.
class ErrorClassifier {
 public:
  // The general rules: `ClassOfHttp`, no error codes.
  static ErrorClassifier Http();

  // AWS SDK for Kotlin, AwsRetryPolicy over StandardRetryPolicy.
  static ErrorClassifier AwsKotlin();

  // The standard mode of botocore (Python), for whose delays an error that is
  // both throttled and transient is throttled.
  static ErrorClassifier Botocore();

  // AWS SDK for Go v1, DefaultRetryer. It retries expired credentials too, as
  // it renews them; here that is for the status function to do.
  static ErrorClassifier AwsGoV1();

  // Returns a copy that gives `status` for an error code, an HTTP status or a
  // status code, whatever the rest of the error says. The last of several calls
  // for the same wins; an error code wins over an HTTP status.
  ErrorClassifier With(std::string_view error_code, PollStatus status) const;
  ErrorClassifier With(int http_status, PollStatus status) const;
  ErrorClassifier With(absl::StatusCode code, PollStatus status) const;

  PollStatus ClassOf(const ServiceError& error) const;

  // By classify.h, unless changed.
  PollStatus ClassOfStatus(absl::StatusCode code) const;

 private:
  struct Table;
  struct Change {
    std::string error_code;
    int http_status;
    absl::StatusCode code;
    PollStatus status;
  };

  explicit ErrorClassifier(const Table& table) : table_(&table) {}

  ErrorClassifier With(Change change) const;

  const Table* table_;
  std::vector<Change> changes_;  // The last first.
};

// Returns the class of an AWS error code alone, by the table of `AwsKotlin()`:
// throttled, server error, or failed for every other. «InternalError» is one of
// those, as it is its HTTP status that tells: where there is one, ask an
// `ErrorClassifier`.
PollStatus ClassOfAwsErrorCode(std::string_view error_code);

}  // namespace waiter

#endif  // WAITER_ERROR_CLASSIFIER_H_
