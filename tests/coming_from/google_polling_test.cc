// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The polling of a long-running operation by google-cloud-cpp. The types of
// the library are stand-ins with their shape.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/loop/split_mix64.h"
#include "waiter/schedule.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

// NOLINTBEGIN(readability-identifier-naming): the names of the library
namespace google::cloud {

enum class StatusCode { kOk = 0, kPermissionDenied = 7, kUnavailable = 14 };

class Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

template <typename T>
class StatusOr {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): as in the library
  StatusOr(Status status) : status_(std::move(status)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as in the library
  StatusOr(T value) : value_(std::move(value)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace google::cloud

namespace google::longrunning {

struct Operation {
  struct Error {
    int code() const { return code_; }
    const std::string& message() const { return message_; }
    int code_ = 0;
    std::string message_;
  };

  bool done() const { return done_; }
  bool has_error() const { return error_.code_ != 0; }
  const Error& error() const { return error_; }
  bool done_ = false;
  Error error_;
};

}  // namespace google::longrunning
// NOLINTEND(readability-identifier-naming)

namespace {

using google::longrunning::Operation;

// The codes are those of Abseil.
absl::Status ToAbsl(const google::cloud::Status& status) {
  return {static_cast<absl::StatusCode>(status.code()), status.message()};
}

waiter::Poll<Operation> PollOf(const google::cloud::StatusOr<Operation>& got) {
  if (!got.ok()) return waiter::FromStatus(ToAbsl(got.status()));
  if (!got->done()) return waiter::NotReady();
  if (got->has_error()) {
    return waiter::Failed(
        absl::Status(static_cast<absl::StatusCode>(got->error().code()),
                     got->error().message()));
  }
  return waiter::Success(*got);
}

// The delays of a backoff policy with an initial delay of 1 s, a maximum of
// 30 s and a scaling of 2, for 10 minutes.
waiter::WaitOptions PollingOptions() {
  return {.timeout = absl::Minutes(10),
          .backoff = {.initial_delay = absl::Seconds(2),
                      .max_delay = absl::Seconds(30),
                      .jitter = waiter::Jitter::Equal()},
          .first_poll_delay = absl::Seconds(1)};
}

// Answers with each of `answers` once, and then with the last one.
class Client {
 public:
  explicit Client(std::vector<google::cloud::StatusOr<Operation>> answers)
      : answers_(std::move(answers)) {}

  google::cloud::StatusOr<Operation> GetOperation() {
    google::cloud::StatusOr<Operation> answer = answers_.front();
    if (answers_.size() > 1) answers_.erase(answers_.begin());
    return answer;
  }

 private:
  std::vector<google::cloud::StatusOr<Operation>> answers_;
};

absl::StatusOr<Operation> Await(Client client) {
  waiter::SimulatedClock clock;
  waiter::WaitOptions options = PollingOptions();
  options.clock = &clock;
  return waiter::Waiter([&] { return PollOf(client.GetOperation()); }, options)
      .Wait();
}

using google::cloud::StatusCode;

TEST(GooglePollingTest, PollsUntilTheOperationIsDone) {
  const auto operation = Await(
      Client({Operation{}, google::cloud::Status(StatusCode::kUnavailable, ""),
              Operation{true, {}}}));

  EXPECT_TRUE(operation.ok()) << operation.status();
}

TEST(GooglePollingTest, ErrorsEndTheWait) {
  EXPECT_TRUE(absl::IsPermissionDenied(
      Await(Client({google::cloud::Status(StatusCode::kPermissionDenied, "")}))
          .status()));
  EXPECT_TRUE(absl::IsAborted(
      Await(Client({Operation{true, {10, "preempted"}}})).status()));
}

TEST(GooglePollingTest, DelaysHaveTheWindowsOfTheBackoffPolicy) {
  waiter::SplitMix64 gen(42);
  for (int i = 0; i < 1000; ++i) {
    const auto delays = waiter::Schedule(PollingOptions(), gen, 8);
    ASSERT_TRUE(delays.ok());
    ASSERT_EQ(delays->front(), absl::Seconds(1));
    absl::Duration start = absl::Seconds(1);
    for (size_t n = 1; n < delays->size(); ++n) {
      const absl::Duration end = std::min(2 * start, absl::Seconds(30));
      EXPECT_GE((*delays)[n], std::min(start, absl::Seconds(15))) << n;
      EXPECT_LE((*delays)[n], end) << n;
      start = end;
    }
  }
}

}  // namespace
