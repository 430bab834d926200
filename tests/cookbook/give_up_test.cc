// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Cancels the operation that a wait gave up on.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace give_up_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Instance {
  std::string state;
};

class Client {
 public:
  absl::StatusOr<std::string> BeginCreate() { return begun; }
  absl::StatusOr<Instance> GetInstance(std::string_view /*id*/) {
    return Instance{state};
  }
  void CancelCreate(std::string_view id, absl::Time deadline) {
    cancelled.emplace_back(id);
    cancel_deadline = deadline;
  }

  absl::StatusOr<std::string> begun = "i-0abc";
  std::string state = "CREATING";
  std::vector<std::string> cancelled;
  absl::Time cancel_deadline;
};

absl::StatusOr<Instance> CreateInstance(Client& client,
                                        waiter::WaitOptions options,
                                        const waiter::stop_token& stop = {}) {
  const absl::StatusOr<std::string> id = client.BeginCreate();
  if (!id.ok()) return id.status();
  options.name = *id;
  options.hooks.failure_timeout = absl::Seconds(20);
  options.hooks.on_failure = [&](const waiter::WaitFailure& end) {
    client.CancelCreate(*id, end.deadline);
  };
  waiter::Waiter wait(
      [&]() -> waiter::Poll<Instance> {
        absl::StatusOr<Instance> got = client.GetInstance(*id);
        if (!got.ok()) return waiter::FromStatus(got.status());
        if (got->state != "RUNNING") return waiter::NotReady(got->state);
        return waiter::Success(*std::move(got));
      },
      std::move(options));
  return wait.Wait(stop);
}

class GiveUpTest : public testing::Test {
 protected:
  waiter::WaitOptions Options() {
    return {.timeout = absl::Minutes(5), .clock = &clock_};
  }

  waiter::SimulatedClock clock_;
  Client client_;
};

TEST_F(GiveUpTest, OperationOfATimeoutIsCancelled) {
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(CreateInstance(client_, Options()).status()));

  EXPECT_THAT(client_.cancelled, ElementsAre("i-0abc"));
  EXPECT_EQ(client_.cancel_deadline, clock_.TimeNow() + absl::Seconds(20));
}

TEST_F(GiveUpTest, OperationOfAStoppedWaitIsCancelled) {
  waiter::stop_source stop;
  clock_.CallAt(absl::Minutes(1), [&] { stop.request_stop(); });

  EXPECT_TRUE(absl::IsCancelled(
      CreateInstance(client_, Options(), stop.get_token()).status()));

  EXPECT_THAT(client_.cancelled, ElementsAre("i-0abc"));
}

TEST_F(GiveUpTest, OperationThatSucceedsIsNot) {
  clock_.CallAt(absl::Minutes(1), [&] { client_.state = "RUNNING"; });

  EXPECT_TRUE(CreateInstance(client_, Options()).ok());

  EXPECT_THAT(client_.cancelled, IsEmpty());
}

}  // namespace
}  // namespace give_up_test
