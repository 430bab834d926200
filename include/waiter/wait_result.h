// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How a wait ended. Most callers treat it as an `absl::StatusOr<T>`:
//
//   waiter::WaitResult<Instance> result = wait_until_running.Wait();
//   if (!result.ok()) return result.status();
//   Use(result->address);
//
// and those who want to know more ask `reason()` and `report()`.

#ifndef WAITER_WAIT_RESULT_H_
#define WAITER_WAIT_RESULT_H_

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/wait_report.h"

namespace waiter {

// What every result has.
class WaitResultBase {
 public:
  bool ok() const { return report_.reason == StopReason::kSuccess; }
  StopReason reason() const { return report_.reason; }
  const absl::Status& status() const { return report_.status; }
  const WaitReport& report() const& { return report_; }
  // By value, so that `wait.Wait().report()` does not dangle.
  WaitReport report() && { return std::move(report_); }

 protected:
  WaitResultBase() = default;
  explicit WaitResultBase(WaitReport&& report) : report_(std::move(report)) {}

  WaitReport report_;
};

// Value type; `T` is what a success brings, void if nothing.
template <typename T = void>
class WaitResult : public WaitResultBase {
 public:
  using value_type = T;

  // Requires a value exactly if `report.reason` is `kSuccess`.
  WaitResult(WaitReport&& report, std::optional<T> value)
      : WaitResultBase(std::move(report)), value_(std::move(value)) {}

  // Require `ok()`.
  const T& value() const& { return *value_; }
  T& value() & { return *value_; }
  T&& value() && { return *std::move(value_); }
  const T& operator*() const& { return *value_; }
  T& operator*() & { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  const T* operator->() const { return &*value_; }
  T* operator->() { return &*value_; }

  // NOLINTNEXTLINE(google-explicit-constructor): a result is a StatusOr
  operator absl::StatusOr<T>() const& {
    if (!ok()) return status();
    return *value_;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a result is a StatusOr
  operator absl::StatusOr<T>() && {
    if (!ok()) return status();
    return *std::move(value_);
  }

 private:
  template <typename F>
  friend class Waiter;

  WaitResult() = default;

  std::optional<T> value_;
};

template <>
class WaitResult<void> : public WaitResultBase {
 public:
  using value_type = void;

  explicit WaitResult(WaitReport&& report)
      : WaitResultBase(std::move(report)) {}

  // NOLINTNEXTLINE(google-explicit-constructor): a result is a Status
  operator absl::Status() const { return status(); }

 private:
  template <typename F>
  friend class Waiter;

  WaitResult() = default;

  std::monostate value_;
};

}  // namespace waiter

#endif  // WAITER_WAIT_RESULT_H_
