// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits until a resource runs.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace provision_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

struct Instance {
  std::string id;
  std::string state;
};

// Answers with each of `answers` once, and then with the last one.
class Client {
 public:
  explicit Client(std::vector<absl::StatusOr<std::string>> answers)
      : answers_(std::move(answers)) {}

  absl::StatusOr<Instance> GetInstance(const std::string& id,
                                       absl::Time deadline) {
    times_left_.push_back(deadline - clock.TimeNow());
    const absl::StatusOr<std::string> answer = answers_.front();
    if (answers_.size() > 1) answers_.erase(answers_.begin());
    if (!answer.ok()) return answer.status();
    return Instance{id, *answer};
  }

  const std::vector<absl::Duration>& times_left() const { return times_left_; }

  waiter::SimulatedClock clock;

 private:
  std::vector<absl::StatusOr<std::string>> answers_;
  std::vector<absl::Duration> times_left_;
};

absl::StatusOr<Instance> WaitUntilRunning(Client& client, const std::string& id,
                                          waiter::WaitOptions options) {
  options.name = absl::StrCat("instance ", id);
  options.poll_timeout = absl::Seconds(10);
  waiter::Waiter wait(
      [&](const waiter::PollContext& poll) -> waiter::Poll<Instance> {
        absl::StatusOr<Instance> got = client.GetInstance(id, poll.deadline);
        if (absl::IsDeadlineExceeded(got.status())) {
          return waiter::ServerError(got.status());  // Only this call was slow.
        }
        if (!got.ok()) return waiter::FromStatus(got.status());
        if (got->state == "RUNNING") return waiter::Success(*std::move(got));
        if (got->state == "FAILED" || got->state == "DELETED") {
          return waiter::Failed(absl::AbortedError(got->state));
        }
        return waiter::NotReady(got->state);
      },
      std::move(options));
  return wait.Wait();
}

waiter::WaitOptions FiveMinutes(Client& client) {
  return {.timeout = absl::Minutes(5), .clock = &client.clock};
}

TEST(ProvisionTest, ReturnsTheInstanceThatRuns) {
  Client client({"CREATING", "CREATING", "RUNNING"});

  const absl::StatusOr<Instance> got =
      WaitUntilRunning(client, "i-0abc", FiveMinutes(client));

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->id, "i-0abc");
  EXPECT_THAT(
      client.times_left(),
      ElementsAre(absl::Seconds(10), absl::Seconds(10), absl::Seconds(10)));
}

TEST(ProvisionTest, FinalStateEndsTheWaitAtOnce) {
  Client client({"FAILED"});

  const absl::StatusOr<Instance> got =
      WaitUntilRunning(client, "i-0abc", FiveMinutes(client));

  EXPECT_EQ(
      got.status(),
      absl::AbortedError("FAILED (instance i-0abc, after 1 attempt in 0)"));
  EXPECT_THAT(client.times_left(), SizeIs(1));
}

TEST(ProvisionTest, SlowCallAndLostServerArePolledAgain) {
  Client client({absl::DeadlineExceededError("slow"),
                 absl::UnavailableError("restarting"), "RUNNING"});

  EXPECT_TRUE(
      WaitUntilRunning(client, "i-0abc", FiveMinutes(client)).status().ok());
}

TEST(ProvisionTest, OtherErrorEndsTheWaitAtOnce) {
  Client client({absl::PermissionDeniedError("no")});

  EXPECT_EQ(WaitUntilRunning(client, "i-0abc", FiveMinutes(client)).status(),
            absl::PermissionDeniedError(
                "no (instance i-0abc, after 1 attempt in 0)"));
  EXPECT_THAT(client.times_left(), SizeIs(1));
}

TEST(ProvisionTest, LastPollAtTheDeadlineHasTenSeconds) {
  Client client({"CREATING"});

  const absl::StatusOr<Instance> got =
      WaitUntilRunning(client, "i-0abc", FiveMinutes(client));

  EXPECT_TRUE(absl::IsDeadlineExceeded(got.status())) << got.status();
  EXPECT_EQ(client.clock.Elapsed(), absl::Minutes(5));
  EXPECT_EQ(client.times_left().back(), absl::Seconds(10));
}

}  // namespace
}  // namespace provision_test
