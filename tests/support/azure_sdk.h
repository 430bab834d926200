// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for types of the Azure SDK for C++, with their shape and the names
// of the SDK.

#ifndef WAITER_TESTS_SUPPORT_AZURE_SDK_H_
#define WAITER_TESTS_SUPPORT_AZURE_SDK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the names of the SDK
namespace Azure::Core {

// Converts implicitly from a time, as in the SDK.
class DateTime {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): as in the SDK
  DateTime(std::chrono::system_clock::time_point time) : time_(time) {}
  explicit operator std::chrono::system_clock::time_point() const {
    return time_;
  }

 private:
  std::chrono::system_clock::time_point time_;
};

class OperationCancelledException final : public std::runtime_error {
 public:
  explicit OperationCancelledException(const std::string& what)
      : std::runtime_error(what) {}
};

// A node of a tree. Cancelling an ancestor also cancels it.
class Context final {
 public:
  Context() : state_(std::make_shared<State>()) {}

  Context WithDeadline(const DateTime& deadline) const {
    Context child;
    child.state_->parent = state_;
    child.state_->deadline =
        static_cast<std::chrono::system_clock::time_point>(deadline);
    return child;
  }

  void Cancel() { state_->cancelled = true; }

  bool IsCancelled() const {
    for (const State* state = state_.get(); state != nullptr;
         state = state->parent.get()) {
      if (state->cancelled) return true;
    }
    return false;
  }

  void ThrowIfCancelled() const {
    if (IsCancelled()) {
      throw OperationCancelledException("Request was cancelled by context.");
    }
  }

  // The SDK lacks this function.
  std::chrono::system_clock::time_point deadline() const {
    return state_->deadline;
  }

 private:
  struct State {
    std::shared_ptr<State> parent;
    std::chrono::system_clock::time_point deadline =
        std::chrono::system_clock::time_point::max();
    std::atomic<bool> cancelled = false;
  };
  std::shared_ptr<State> state_;
};

namespace Http {

enum class HttpStatusCode : int {
  None = 0,
  Ok = 200,
  Forbidden = 403,
  NotFound = 404,
  TooManyRequests = 429,
  ServiceUnavailable = 503,
};

class RawResponse final {
 public:
  RawResponse(int32_t /*major*/, int32_t /*minor*/, HttpStatusCode code,
              std::string reason)
      : code_(code), reason_(std::move(reason)) {}

  HttpStatusCode GetStatusCode() const { return code_; }
  void SetHeader(const std::string& name, const std::string& value) {
    headers_[name] = value;
  }
  const std::map<std::string, std::string>& GetHeaders() const {
    return headers_;
  }

 private:
  HttpStatusCode code_;
  std::string reason_;
  std::map<std::string, std::string> headers_;
};

}  // namespace Http

class RequestFailedException : public std::runtime_error {
 public:
  explicit RequestFailedException(const std::string& message)
      : std::runtime_error(message), Message(message) {}
  RequestFailedException(const std::string& message,
                         std::unique_ptr<Http::RawResponse> response)
      : std::runtime_error(message),
        StatusCode(response->GetStatusCode()),
        Message(message),
        RawResponse(std::move(response)) {}

  Http::HttpStatusCode StatusCode = Http::HttpStatusCode::None;
  std::string ErrorCode;
  std::string Message;
  std::unique_ptr<Http::RawResponse> RawResponse;
};

namespace Http {

class TransportException final : public RequestFailedException {
 public:
  using RequestFailedException::RequestFailedException;
};

}  // namespace Http

class OperationStatus final {
 public:
  explicit OperationStatus(std::string value) : value_(std::move(value)) {}
  const std::string& Get() const { return value_; }
  bool operator==(const OperationStatus& other) const = default;

 private:
  std::string value_;
};

template <typename T>
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  virtual T Value() const = 0;

  const OperationStatus& Status() const noexcept { return m_status; }
  bool IsDone() const noexcept {
    return HasValue() || m_status.Get() == "Cancelled" ||
           m_status.Get() == "Failed";
  }
  bool HasValue() const noexcept { return m_status.Get() == "Succeeded"; }

  const Http::RawResponse& Poll() { return Poll(Context{}); }
  const Http::RawResponse& Poll(const Context& context) {
    context.ThrowIfCancelled();
    m_rawResponse = PollInternal(context);
    return *m_rawResponse;
  }

 protected:
  std::unique_ptr<Http::RawResponse> m_rawResponse = nullptr;
  OperationStatus m_status = OperationStatus("NotStarted");

 private:
  virtual std::unique_ptr<Http::RawResponse> PollInternal(
      const Context& context) = 0;
};

}  // namespace Azure::Core
// NOLINTEND(readability-identifier-naming)

#endif  // WAITER_TESTS_SUPPORT_AZURE_SDK_H_
