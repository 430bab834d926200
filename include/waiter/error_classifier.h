// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Classification of the errors of a service, by the table of a system and with
// changes of your own:
//
//   const waiter::ErrorClassifier classifier =
//       waiter::ErrorClassifier::AwsKotlin()
//           .With("ResourceNotFoundException", waiter::PollStatus::kNotReady)
//           .With(409, waiter::PollStatus::kNotReady);
//   ...
//   return classifier.Answer({.http_status = 400, .code = error.code()},
//                            error.message(), hint);
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
// The first line that applies decides:
//
//   1. If any row calls the error throttled, it is throttled.
//   2. If any row calls it a server error, it is a server error.
//   3. A 2xx without any sign of an error is success; in `Http()`, 202 is not
//      ready.
//   4. Everything else is failed: in Kotlin and botocore also 429 without an
//      error code.
//
// error_classifier.cc lists the codes and names the source of each table.

#ifndef WAITER_ERROR_CLASSIFIER_H_
#define WAITER_ERROR_CLASSIFIER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/poll_status.h"

namespace waiter {

// Known facts about an error. An error without any is failed. The text of
// `code` needs to stay valid only during `ClassOf`.
struct ServiceError {
  enum class Type : uint8_t {
    kUnknown,
    kServer,      // The server's fault.
    kClient,      // The request's fault.
    kConnection,  // No answer came: refused, reset, timed out.
  };

  // Status of the HTTP response, or 0 if there was none.
  int http_status = 0;

  // Error code such as "ThrottlingException". Case matters. Text around the
  // name, as in "com.amazonaws#Name:http://...", is ignored.
  std::string_view code = {};

  Type type = Type::kUnknown;

  // Flags of the error in the service's model.
  bool retryable = false;
  bool throttling = false;
};

// A table and the changes to it. Immutable; safe to share between threads.
// Making a classifier is cheap because the table is static; a copy copies the
// changes. A lookup takes time in proportion to the length of the lists and the
// number of changes.
class ErrorClassifier {
 public:
  // Returns the general rules: `ClassOfHttp` (classify.h), and no error codes.
  static ErrorClassifier Http();

  // Returns the rules of the AWS SDK for Kotlin: AwsRetryPolicy over
  // StandardRetryPolicy. Unlike there, `Type::kServer` alone does not make a
  // server error.
  static ErrorClassifier AwsKotlin();

  // Returns the rules of the standard mode of botocore (Python). Where botocore
  // calls an error both throttled and transient, it delays it as throttled, and
  // so it is here.
  static ErrorClassifier Botocore();

  // Returns the rules of DefaultRetryer of the AWS SDK for Go v1. That SDK
  // renews expired credentials and retries. Here the status function must renew
  // them.
  static ErrorClassifier AwsGoV1();

  // Returns a copy that gives `status` for an error code, an HTTP status or a
  // status code, regardless of the other facts of an error. The last of several
  // calls for the same key wins; an error code wins over an HTTP status.
  // Changes for a status code apply to `ClassOfStatus` only, all others to
  // `ClassOf`.
  ErrorClassifier With(std::string_view error_code, PollStatus status) const;
  ErrorClassifier With(int http_status, PollStatus status) const;
  ErrorClassifier With(absl::StatusCode code, PollStatus status) const;

  // Returns the class of `error` by the changes and the table.
  PollStatus ClassOf(const ServiceError& error) const;

  // Returns an answer with that class, and `retry_after`. Unless it is a
  // success, its error has a message made of the code, the HTTP status and
  // `text`, and a status code that fits: that of the class for throttling,
  // kDeadlineExceeded for timeouts, which a `RetryQuota` charges as such,
  // otherwise `CodeOfHttp`.
  Poll<> Answer(const ServiceError& error, std::string_view text = {},
                absl::Duration retry_after = {}) const;

  // Returns the class of `code` by the changes and `waiter::ClassOf`
  // (classify.h). OK is always success.
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
  std::vector<Change> changes_;  // The latest one first.
};

// Returns the class of an AWS error code alone, by the table of `AwsKotlin()`:
// throttled, server error, or failed for every other code. "InternalError" is
// failed here, because the table recognizes it by its HTTP status. If you know
// the status, use an `ErrorClassifier`.
PollStatus ClassOfAwsErrorCode(std::string_view error_code);

}  // namespace waiter

#endif  // WAITER_ERROR_CLASSIFIER_H_
