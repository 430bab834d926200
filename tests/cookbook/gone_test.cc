// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits until something is gone.

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace gone_test {
namespace {

struct Instance {
  std::string state;
};

// Deletes its instance at 60 s, and shows it once more at 61 s.
class Client {
 public:
  explicit Client(waiter::SimulatedClock& clock) : clock_(clock) {}

  absl::StatusOr<Instance> GetInstance(const std::string& id) {
    const absl::Duration now = clock_.Elapsed();
    if (now < absl::Seconds(60) ||
        (now >= absl::Seconds(61) && now < absl::Seconds(62))) {
      return Instance{"DELETING"};
    }
    return absl::NotFoundError(absl::StrCat(id, " is not known"));
  }

 private:
  waiter::SimulatedClock& clock_;
};

// Waits until three polls in a row find no instance with this id: an eventually
// consistent service may forget and remember it.
absl::Status WaitUntilGone(Client& client, const std::string& id,
                           waiter::WaitOptions options) {
  options.name = absl::StrCat("deletion of ", id);
  options.confirm.successes = 3;
  waiter::Waiter wait(
      [&]() -> waiter::Poll<> {
        const absl::StatusOr<Instance> got = client.GetInstance(id);
        if (absl::IsNotFound(got.status())) return waiter::Success();
        if (!got.ok()) return waiter::FromStatus(got.status());
        return waiter::NotReady(got->state);
      },
      std::move(options));
  return wait.Wait().status();
}

constexpr waiter::BackoffOptions kEverySecond = {
    .initial_delay = absl::Seconds(1),
    .max_delay = absl::Seconds(1),
    .jitter = waiter::Jitter::None()};

TEST(GoneTest, ThreeLooksInARowMustAgree) {
  waiter::SimulatedClock clock;
  Client client(clock);

  EXPECT_TRUE(WaitUntilGone(client, "i-0abc",
                            {.timeout = absl::Minutes(5),
                             .backoff = kEverySecond,
                             .clock = &clock})
                  .ok());
  EXPECT_EQ(clock.Elapsed(), absl::Seconds(64));
}

TEST(GoneTest, NamesWhatIsStillThere) {
  waiter::SimulatedClock clock;
  Client client(clock);

  const absl::Status status = WaitUntilGone(
      client, "i-0abc",
      {.timeout = absl::Seconds(30), .backoff = kEverySecond, .clock = &clock});

  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_NE(status.message().find("deletion of i-0abc"), std::string::npos);
  EXPECT_NE(status.message().find("DELETING"), std::string::npos);
}

}  // namespace
}  // namespace gone_test
