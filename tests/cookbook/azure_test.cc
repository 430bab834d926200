// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// An operation of Azure. The types of the SDK are stand-ins with their shape.

#include "waiter/interop/azure.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/azure_sdk.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace azure_test {
namespace {

// Waits for an operation of any service. `context` can also end the wait.
template <typename T>
absl::StatusOr<T> Await(Azure::Core::Operation<T>& operation,
                        const Azure::Core::Context& context,
                        waiter::WaitOptions options) {
  options.poll_timeout = absl::Seconds(30);
  waiter::Waiter wait(waiter::PollOperation(operation, context),
                      std::move(options));
  return wait.Wait();
}

using Azure::Core::Http::HttpStatusCode;
using Azure::Core::Http::RawResponse;

// Succeeds at the third poll.
class Operation : public Azure::Core::Operation<std::string> {
 public:
  std::string Value() const override { return "value"; }

 private:
  std::unique_ptr<RawResponse> PollInternal(
      const Azure::Core::Context& /*context*/) override {
    auto response =
        std::make_unique<RawResponse>(1, 1, HttpStatusCode::Ok, "OK");
    response->SetHeader("Retry-After", "60");
    m_status =
        Azure::Core::OperationStatus(++polls_ < 3 ? "Running" : "Succeeded");
    return response;
  }

  int polls_ = 0;
};

TEST(AzureTest, WaitsAsLongAsTheServiceSays) {
  waiter::SimulatedClock clock;
  Operation operation;

  const absl::StatusOr<std::string> got =
      Await(operation, Azure::Core::Context(),
            {.timeout = absl::Minutes(30), .clock = &clock});

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, "value");
  EXPECT_GE(clock.Elapsed(), absl::Minutes(2));
}

}  // namespace
}  // namespace azure_test
