// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// PollUntilDone of the Azure SDK for C++. The types of the SDK are stand-ins
// with their shape.

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

// NOLINTBEGIN(readability-identifier-naming): the names of the SDK
namespace Azure::Core {

namespace Http {
enum class HttpStatusCode : int { None = 0, Forbidden = 403, Busy = 503 };
}  // namespace Http

struct RequestFailedException : std::runtime_error {
  RequestFailedException(Http::HttpStatusCode code, const std::string& message)
      : std::runtime_error(message), StatusCode(code) {}
  Http::HttpStatusCode StatusCode;
};

struct Context {
  Context WithDeadline(std::chrono::system_clock::time_point time) const {
    Context child = *this;
    child.deadline = time;
    return child;
  }
  std::chrono::system_clock::time_point deadline = {};
};

// Asks `poll` for its state.
template <typename T>
class Operation {
 public:
  enum class State { kRunning, kSucceeded, kFailed };

  explicit Operation(std::function<State(const Context&)> poll)
      : poll_(std::move(poll)) {}

  void Poll(const Context& context) { state_ = poll_(context); }
  bool IsDone() const { return state_ != State::kRunning; }
  bool HasValue() const { return state_ == State::kSucceeded; }
  T Value() const { return T("value"); }

 private:
  std::function<State(const Context&)> poll_;
  State state_ = State::kRunning;
};

}  // namespace Azure::Core
// NOLINTEND(readability-identifier-naming)

namespace {

using Azure::Core::Http::HttpStatusCode;

// Replaces `operation.PollUntilDone(std::chrono::seconds(5), context)`.
template <typename T>
absl::StatusOr<T> PollUntilDone(Azure::Core::Operation<T>& operation,
                                const Azure::Core::Context& context,
                                waiter::WaitOptions options) {
  options.backoff = {.initial_delay = absl::Seconds(5),
                     .max_delay = absl::Seconds(5),
                     .jitter = waiter::Jitter::None()};
  waiter::Waiter wait(
      [&](const waiter::PollContext& poll) -> waiter::Poll<T> {
        try {
          operation.Poll(
              context.WithDeadline(absl::ToChronoTime(poll.deadline)));
        } catch (const Azure::Core::RequestFailedException& error) {
          if (error.StatusCode == HttpStatusCode::None) {
            return waiter::ServerError(error.what());  // There was no answer.
          }
          return waiter::FromHttp(static_cast<int>(error.StatusCode),
                                  error.what());
        }
        if (!operation.IsDone()) return waiter::NotReady();
        if (!operation.HasValue()) return waiter::Failed("not succeeded");
        return waiter::Success(operation.Value());
      },
      std::move(options));
  return wait.Wait();
}

using Azure::Core::Context;
using Azure::Core::RequestFailedException;
using Operation = Azure::Core::Operation<std::string>;

class AzureOperationTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Run(std::function<Operation::State(int)> state) {
    Operation operation([&](const Context& context) {
      const absl::Time now = clock_.TimeNow();
      EXPECT_EQ(absl::FromChrono(context.deadline) - now, absl::Seconds(10));
      return state(++polls_);
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
  const auto value = Run([](int poll) {
    if (poll == 2) throw RequestFailedException(HttpStatusCode::None, "reset");
    if (poll == 3) throw RequestFailedException(HttpStatusCode::Busy, "busy");
    return poll < 5 ? Operation::State::kRunning : Operation::State::kSucceeded;
  });

  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, "value");
  EXPECT_EQ(polls_, 5);
}

TEST_F(AzureOperationTest, FailuresEndTheWait) {
  EXPECT_EQ(
      Run([](int) { return Operation::State::kFailed; }).status().message(),
      "not succeeded");

  EXPECT_TRUE(absl::IsPermissionDenied(
      Run([](int) -> Operation::State {
        throw RequestFailedException(HttpStatusCode::Forbidden, "no rights");
      }).status()));
}

}  // namespace
