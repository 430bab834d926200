// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for types of the AWS SDK for C++, with their shape and the names of
// the SDK.

#ifndef WAITER_TESTS_SUPPORT_AWS_SDK_H_
#define WAITER_TESTS_SUPPORT_AWS_SDK_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the names of the SDK
namespace Aws {

// The SDK has its own allocator if it is built with custom memory management.
template <typename T>
struct Allocator : std::allocator<T> {
  Allocator() = default;
  template <typename U>
  // NOLINTNEXTLINE(google-explicit-constructor): as any allocator
  Allocator(const Allocator<U>& /*other*/) {}
  template <typename U>
  struct rebind {
    using other = Allocator<U>;
  };
};

using String = std::basic_string<char, std::char_traits<char>, Allocator<char>>;

namespace Http {

enum class HttpResponseCode {
  REQUEST_NOT_MADE = -1,
  BAD_REQUEST = 400,
  FORBIDDEN = 403,
  NOT_FOUND = 404,
  TOO_MANY_REQUESTS = 429,
  INTERNAL_SERVER_ERROR = 500,
  SERVICE_UNAVAILABLE = 503,
};

// The SDK makes the names lower case.
using HeaderValueCollection = std::map<String, String>;

}  // namespace Http

namespace Client {

enum class RetryableType { NOT_RETRYABLE, RETRYABLE, RETRYABLE_THROTTLING };

template <typename ErrorType>
class AWSError {
 public:
  AWSError() = default;
  AWSError(Http::HttpResponseCode code, String name, String message = "",
           RetryableType retryable = RetryableType::NOT_RETRYABLE)
      : name_(std::move(name)),
        message_(std::move(message)),
        code_(code),
        retryable_(retryable) {}

  const String& GetExceptionName() const { return name_; }
  const String& GetMessage() const { return message_; }
  bool ShouldRetry() const {
    return retryable_ != RetryableType::NOT_RETRYABLE;
  }
  bool ShouldThrottle() const {
    return retryable_ == RetryableType::RETRYABLE_THROTTLING;
  }
  const Http::HeaderValueCollection& GetResponseHeaders() const {
    return headers_;
  }
  void SetResponseHeaders(const Http::HeaderValueCollection& headers) {
    headers_ = headers;
  }
  Http::HttpResponseCode GetResponseCode() const { return code_; }

 private:
  String name_;
  String message_;
  Http::HttpResponseCode code_ = Http::HttpResponseCode::REQUEST_NOT_MADE;
  RetryableType retryable_ = RetryableType::NOT_RETRYABLE;
  Http::HeaderValueCollection headers_;
};

}  // namespace Client

namespace Utils {

template <typename R, typename E>
class Outcome {
 public:
  Outcome() = default;
  // NOLINTBEGIN(google-explicit-constructor): as in the SDK
  Outcome(R result) : result_(std::move(result)), success_(true) {}
  Outcome(E error) : error_(std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool IsSuccess() const { return success_; }
  const R& GetResult() const { return result_; }
  R& GetResult() { return result_; }
  R&& GetResultWithOwnership() { return std::move(result_); }
  const E& GetError() const { return error_; }

 private:
  R result_;
  E error_;
  bool success_ = false;
};

}  // namespace Utils

}  // namespace Aws
// NOLINTEND(readability-identifier-naming)

#endif  // WAITER_TESTS_SUPPORT_AWS_SDK_H_
