// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for types of gRPC, with their shape and their names.

#ifndef WAITER_TESTS_SUPPORT_GRPC_API_H_
#define WAITER_TESTS_SUPPORT_GRPC_API_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the names of gRPC
namespace grpc {

enum StatusCode {
  OK = 0,
  CANCELLED = 1,
  INVALID_ARGUMENT = 3,
  DEADLINE_EXCEEDED = 4,
  NOT_FOUND = 5,
  PERMISSION_DENIED = 7,
  RESOURCE_EXHAUSTED = 8,
  UNAVAILABLE = 14,
  UNAUTHENTICATED = 16,
};

class Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == OK; }
  StatusCode error_code() const { return code_; }
  std::string error_message() const { return message_; }

 private:
  StatusCode code_ = OK;
  std::string message_;
};

// Converts to no standard string_view.
class string_ref {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): as in gRPC
  string_ref(const char* text) : text_(text) {}
  const char* data() const { return text_.data(); }
  size_t size() const { return text_.size(); }
  bool operator<(const string_ref& other) const { return text_ < other.text_; }

 private:
  std::string_view text_;
};

class ClientContext {
 public:
  ClientContext() = default;
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;

  void set_deadline(std::chrono::system_clock::time_point deadline) {
    deadline_ = deadline;
  }
  std::chrono::system_clock::time_point deadline() const { return deadline_; }
  void TryCancel() { cancelled_ = true; }
  const std::multimap<string_ref, string_ref>& GetServerTrailingMetadata()
      const {
    return trailing_metadata_;
  }

  // gRPC lacks this function.
  bool cancelled() const { return cancelled_; }
  void AddTrailingMetadata(const char* name, const char* value) {
    trailing_metadata_.emplace(name, value);
  }

 private:
  std::chrono::system_clock::time_point deadline_;
  std::atomic<bool> cancelled_ = false;
  std::multimap<string_ref, string_ref> trailing_metadata_;
};

}  // namespace grpc
// NOLINTEND(readability-identifier-naming)

#endif  // WAITER_TESTS_SUPPORT_GRPC_API_H_
