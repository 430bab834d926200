// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for types of google-cloud-cpp and of the code that protobuf
// generates, with their shape and their names.

#ifndef WAITER_TESTS_SUPPORT_GOOGLE_CLOUD_SDK_H_
#define WAITER_TESTS_SUPPORT_GOOGLE_CLOUD_SDK_H_

#include <any>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the names of the library
namespace google::protobuf {

// A message of any type.
class Any {
 public:
  template <typename Message>
  bool UnpackTo(Message* message) const {
    const auto* const packed = std::any_cast<Message>(&packed_);
    if (packed == nullptr) return false;
    *message = *packed;
    return true;
  }
  template <typename Message>
  void PackFrom(const Message& message) {
    packed_ = message;
  }

 private:
  std::any packed_;
};

}  // namespace google::protobuf

namespace google::rpc {

class Status {
 public:
  int32_t code() const { return code_; }
  void set_code(int32_t code) { code_ = code; }
  const std::string& message() const { return message_; }
  void set_message(std::string message) { message_ = std::move(message); }

 private:
  int32_t code_ = 0;
  std::string message_;
};

}  // namespace google::rpc

namespace google::longrunning {

class Operation {
 public:
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  bool done() const { return done_; }
  void set_done(bool done) { done_ = done; }
  const protobuf::Any& metadata() const { return metadata_; }
  protobuf::Any* mutable_metadata() { return &metadata_; }

  bool has_error() const { return error_.has_value(); }
  const rpc::Status& error() const { return *error_; }
  rpc::Status* mutable_error() { return &error_.emplace(); }
  bool has_response() const { return response_.has_value(); }
  const protobuf::Any& response() const { return *response_; }
  protobuf::Any* mutable_response() { return &response_.emplace(); }

 private:
  std::string name_;
  bool done_ = false;
  protobuf::Any metadata_;
  std::optional<rpc::Status> error_;
  std::optional<protobuf::Any> response_;
};

}  // namespace google::longrunning

namespace google::cloud {

enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kUnavailable = 14,
};

class Status {
 public:
  Status() = default;
  explicit Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

template <typename T>
class StatusOr {
 public:
  // NOLINTBEGIN(google-explicit-constructor): as in the library
  StatusOr(Status status) : status_(std::move(status)) {}
  StatusOr(T value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

class PollingPolicy {
 public:
  virtual ~PollingPolicy() = default;
  virtual std::unique_ptr<PollingPolicy> clone() const = 0;
  virtual bool OnFailure(const google::cloud::Status& status) = 0;
  virtual std::chrono::milliseconds WaitPeriod() = 0;
};

}  // namespace google::cloud
// NOLINTEND(readability-identifier-naming)

#endif  // WAITER_TESTS_SUPPORT_GOOGLE_CLOUD_SDK_H_
