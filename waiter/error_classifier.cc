// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

// From aws-sdk-kotlin AwsRetryPolicy.kt; botocore retries/standard.py has the
// same.
constexpr auto kAwsThrottled = std::to_array<std::string_view>({
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
});
constexpr auto kKotlinTransient = std::to_array<std::string_view>({
    "IDPCommunicationError",
    "RequestTimeout",
    "RequestTimeoutException",
});
constexpr auto kAwsTransientHttp = std::to_array<int>({500, 502, 503, 504});

// botocore also counts PriorRequestNotComplete here.
constexpr auto kBotocoreTransient = std::to_array<std::string_view>({
    "RequestTimeout",
    "RequestTimeoutException",
});

// From aws-sdk-go aws/request/retryer.go.
constexpr auto kGoV1Throttled = std::to_array<std::string_view>({
    "EC2ThrottledException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
});
// Codes of requests that took too long, in every table.
constexpr auto kTimeouts = std::to_array<std::string_view>({
    "RequestTimeout",
    "RequestTimeoutException",
    "ResponseTimeout",
});
constexpr auto kGoV1Retryable = std::to_array<std::string_view>({
    "RequestError",
    "RequestTimeout",
    "RequestTimeoutException",
    "ResponseTimeout",
    // Credentials that have expired.
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
});
constexpr auto kGoV1ThrottledHttp = std::to_array<int>({429, 502, 503, 504});
constexpr auto kGoV1RetryableHttp = std::to_array<int>({500});

template <typename T>
bool Contains(std::span<const T> list, T wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// Returns "Name" for "prefix#Name:uri", as the AWS JSON protocols require of
// clients.
std::string_view BareName(std::string_view code) {
  code = code.substr(0, code.find(':'));
  return code.substr(code.find('#') + 1);
}

bool IsSuccess(const ServiceError& error) {
  return error.http_status >= 200 && error.http_status < 300 &&
         error.code.empty() && error.type == ServiceError::Type::kUnknown &&
         !error.retryable && !error.throttling;
}

absl::StatusCode CodeOf(const ServiceError& error, PollStatus found) {
  if (found == PollStatus::kThrottled) {
    return absl::StatusCode::kResourceExhausted;
  }
  const std::string_view name = BareName(error.code);
  if (Contains<std::string_view>(kTimeouts, name)) {
    return absl::StatusCode::kDeadlineExceeded;
  }
  const absl::StatusCode code = CodeOfHttp(error.http_status);
  if (found == PollStatus::kServerError) {
    // A code that names a fault of the request would contradict the class.
    return error.http_status >= 500 || error.http_status == 408
               ? code
               : absl::StatusCode::kUnavailable;
  }
  return code == absl::StatusCode::kOk ||
                 code == absl::StatusCode::kResourceExhausted
             ? absl::StatusCode::kUnknown
             : code;
}

}  // namespace

struct ErrorClassifier::Table {
  std::span<const std::string_view> throttled_codes;
  std::span<const std::string_view> transient_codes;
  std::span<const int> throttled_http;
  std::span<const int> transient_http;
  bool reads_flags;
  bool general_http;

  bool Throttled(const ServiceError& error) const;
  bool ServerError(const ServiceError& error) const;
};

bool ErrorClassifier::Table::Throttled(const ServiceError& error) const {
  return Contains(throttled_codes, BareName(error.code)) ||
         Contains(throttled_http, error.http_status) ||
         (general_http &&
          ClassOfHttp(error.http_status) == PollStatus::kThrottled) ||
         (reads_flags && error.throttling);
}

bool ErrorClassifier::Table::ServerError(const ServiceError& error) const {
  return Contains(transient_codes, BareName(error.code)) ||
         Contains(transient_http, error.http_status) ||
         (general_http &&
          (ClassOfHttp(error.http_status) == PollStatus::kServerError ||
           (error.http_status == 0 &&
            error.type == ServiceError::Type::kServer))) ||
         (reads_flags && error.retryable) ||
         error.type == ServiceError::Type::kConnection;
}

ErrorClassifier ErrorClassifier::Http() {
  static constexpr Table kTable = {.throttled_codes = {},
                                   .transient_codes = {},
                                   .throttled_http = {},
                                   .transient_http = {},
                                   .reads_flags = true,
                                   .general_http = true};
  return ErrorClassifier(kTable);
}

ErrorClassifier ErrorClassifier::AwsKotlin() {
  static constexpr Table kTable = {.throttled_codes = kAwsThrottled,
                                   .transient_codes = kKotlinTransient,
                                   .throttled_http = {},
                                   .transient_http = kAwsTransientHttp,
                                   .reads_flags = true,
                                   .general_http = false};
  return ErrorClassifier(kTable);
}

ErrorClassifier ErrorClassifier::Botocore() {
  static constexpr Table kTable = {.throttled_codes = kAwsThrottled,
                                   .transient_codes = kBotocoreTransient,
                                   .throttled_http = {},
                                   .transient_http = kAwsTransientHttp,
                                   .reads_flags = true,
                                   .general_http = false};
  return ErrorClassifier(kTable);
}

ErrorClassifier ErrorClassifier::AwsGoV1() {
  static constexpr Table kTable = {.throttled_codes = kGoV1Throttled,
                                   .transient_codes = kGoV1Retryable,
                                   .throttled_http = kGoV1ThrottledHttp,
                                   .transient_http = kGoV1RetryableHttp,
                                   .reads_flags = false,
                                   .general_http = false};
  return ErrorClassifier(kTable);
}

// A change sets one of three fields. The others hold a value that no error has:
// an empty code, the status 0, OK.
ErrorClassifier ErrorClassifier::With(std::string_view error_code,
                                      PollStatus status) const {
  return With(Change{.error_code = std::string(BareName(error_code)),
                     .http_status = 0,
                     .code = absl::StatusCode::kOk,
                     .status = status});
}

ErrorClassifier ErrorClassifier::With(int http_status,
                                      PollStatus status) const {
  return With(Change{.error_code = {},
                     .http_status = http_status,
                     .code = absl::StatusCode::kOk,
                     .status = status});
}

ErrorClassifier ErrorClassifier::With(absl::StatusCode code,
                                      PollStatus status) const {
  return With(Change{
      .error_code = {}, .http_status = 0, .code = code, .status = status});
}

ErrorClassifier ErrorClassifier::With(Change change) const {
  ErrorClassifier changed = *this;
  changed.changes_.insert(changed.changes_.begin(), std::move(change));
  return changed;
}

PollStatus ErrorClassifier::ClassOf(const ServiceError& error) const {
  const std::string_view code = BareName(error.code);
  for (const Change& change : changes_) {
    if (!code.empty() && change.error_code == code) return change.status;
  }
  for (const Change& change : changes_) {
    if (error.http_status != 0 && change.http_status == error.http_status) {
      return change.status;
    }
  }
  if (table_->Throttled(error)) return PollStatus::kThrottled;
  if (table_->ServerError(error)) return PollStatus::kServerError;
  if (!IsSuccess(error)) return PollStatus::kFailed;
  return table_->general_http ? waiter::ClassOfHttp(error.http_status)
                              : PollStatus::kSuccess;
}

Poll<> ErrorClassifier::Answer(const ServiceError& error, std::string_view text,
                               Duration retry_after) const {
  const PollStatus found = ClassOf(error);
  if (found == PollStatus::kSuccess) return {found, text, retry_after};
  std::string message(BareName(error.code));
  if (error.http_status != 0) {
    absl::StrAppend(&message, message.empty() ? "" : ", ", "HTTP ",
                    error.http_status);
  }
  if (!text.empty()) {
    absl::StrAppend(&message, message.empty() ? "" : ": ",
                    internal::ToAbsl(text));
  }
  return {found, absl::Status(CodeOf(error, found), message), retry_after};
}

PollStatus ErrorClassifier::ClassOfStatus(absl::StatusCode code) const {
  for (const Change& change : changes_) {
    if (code != absl::StatusCode::kOk && change.code == code) {
      return change.status;
    }
  }
  return waiter::ClassOf(code);
}

PollStatus ClassOfAwsErrorCode(std::string_view error_code) {
  return ErrorClassifier::AwsKotlin().ClassOf({.code = error_code});
}

}  // namespace waiter
