// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// PollUntilDone of the Azure SDK for C++. The types of the SDK are stand-ins
// with their shape.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/azure_sdk.h"
#include "waiter/interop/azure.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace azure_operation_test {
namespace {

// Replaces `operation.PollUntilDone(std::chrono::seconds(5), context)`.
template <typename T>
absl::StatusOr<T> PollUntilDone(Azure::Core::Operation<T>& operation,
                                const Azure::Core::Context& context,
                                waiter::WaitOptions options) {
  options.backoff = {.initial_delay = absl::Seconds(5),
                     .max_delay = absl::Seconds(5),
                     .jitter = waiter::Jitter::None()};
  waiter::Waiter wait(waiter::PollOperation(operation, context),
                      std::move(options));
  return wait.Wait();
}

using Azure::Core::Context;
using Azure::Core::RequestFailedException;
using Azure::Core::Http::HttpStatusCode;
using Azure::Core::Http::RawResponse;

// Asks `poll` for its status.
class Operation : public Azure::Core::Operation<std::string> {
 public:
  explicit Operation(std::function<std::string(const Context&)> poll)
      : poll_(std::move(poll)) {}
  std::string Value() const override { return "value"; }

 private:
  std::unique_ptr<RawResponse> PollInternal(const Context& context) override {
    m_status = Azure::Core::OperationStatus(poll_(context));
    return std::make_unique<RawResponse>(1, 1, HttpStatusCode::Ok, "OK");
  }

  std::function<std::string(const Context&)> poll_;
};

class AzureOperationTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Run(const std::function<std::string(int)>& ask) {
    Operation operation([&](const Context& context) {
      const absl::Time now = clock_.TimeNow();
      EXPECT_EQ(absl::FromChrono(context.deadline()) - now, absl::Seconds(10));
      return ask(++polls_);
    });
    return PollUntilDone(operation, Context(),
                         {.timeout = absl::Minutes(30),
                          .poll_timeout = absl::Seconds(10),
                          .clock = &clock_});
  }

  waiter::SimulatedClock clock_;
  int polls_ = 0;
};

TEST_F(AzureOperationTest, ReturnsTheValue) {
  const auto value = Run([](int poll) -> std::string {
    if (poll == 2) throw RequestFailedException("reset");
    return poll < 5 ? "Running" : "Succeeded";
  });

  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, "value");
  EXPECT_EQ(polls_, 5);
}

TEST_F(AzureOperationTest, FailuresEndTheWait) {
  EXPECT_TRUE(absl::IsAborted(Run([](int) { return "Failed"; }).status()));

  EXPECT_TRUE(absl::IsPermissionDenied(
      Run([](int) -> std::string {
        throw RequestFailedException(
            "no rights", std::make_unique<RawResponse>(
                             1, 1, HttpStatusCode::Forbidden, "Forbidden"));
      }).status()));
}

}  // namespace
}  // namespace azure_operation_test
