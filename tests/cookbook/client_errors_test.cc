// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Classifies the errors of a client that returns `absl::Status`.

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace client_errors_test {
namespace {

struct Bucket {
  std::string region;
};

struct Client {
  std::function<absl::StatusOr<Bucket>()> answer;

  absl::StatusOr<Bucket> GetBucket(std::string_view /*name*/) const {
    return answer();
  }
};

// A new bucket is not visible immediately, and a call that was too slow may
// succeed the next time.
const waiter::ErrorClassifier& BucketErrors() {
  static const auto* const errors = new waiter::ErrorClassifier(
      waiter::ErrorClassifier::Http()
          .With(absl::StatusCode::kNotFound, waiter::PollStatus::kNotReady)
          .With(absl::StatusCode::kDeadlineExceeded,
                waiter::PollStatus::kServerError));
  return *errors;
}

waiter::Poll<Bucket> PollOf(absl::StatusOr<Bucket> got) {
  if (got.ok()) return waiter::Success(*std::move(got));
  return {BucketErrors().ClassOfStatus(got.status().code()), got.status()};
}

absl::StatusOr<Bucket> WaitForBucket(Client& client, std::string_view name,
                                     waiter::WaitOptions options) {
  waiter::Waiter wait([&] { return PollOf(client.GetBucket(name)); },
                      std::move(options));
  return wait.Wait();
}

TEST(ClientErrorsTest, NewBucketIsAwaited) {
  waiter::SimulatedClock clock;
  absl::StatusOr<Bucket> bucket = absl::NotFoundError("no such bucket");
  clock.CallAt(absl::Seconds(20),
               [&] { bucket = absl::DeadlineExceededError("slow"); });
  clock.CallAt(absl::Seconds(40), [&] { bucket = Bucket{"eu"}; });
  Client client{[&] { return bucket; }};

  const absl::StatusOr<Bucket> got = WaitForBucket(
      client, "logs", {.timeout = absl::Minutes(5), .clock = &clock});

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->region, "eu");
}

TEST(ClientErrorsTest, OtherErrorEndsTheWait) {
  waiter::SimulatedClock clock;
  Client client{[] { return absl::PermissionDeniedError("no"); }};

  EXPECT_EQ(WaitForBucket(client, "logs",
                          {.timeout = absl::Minutes(5), .clock = &clock})
                .status(),
            absl::PermissionDeniedError("no (wait, after 1 attempt in 0)"));
  EXPECT_EQ(clock.Elapsed(), absl::ZeroDuration());
}

TEST(ClientErrorsTest, ReportHasTheErrorOfTheClient) {
  const waiter::Poll<Bucket> poll = PollOf(absl::NotFoundError("no bucket"));

  EXPECT_EQ(poll.status(), waiter::PollStatus::kNotReady);
  EXPECT_EQ(poll.error(), absl::NotFoundError("no bucket"));
  EXPECT_EQ(PollOf(absl::UnavailableError("")).status(),
            waiter::PollStatus::kServerError);
  EXPECT_EQ(PollOf(absl::ResourceExhaustedError("")).status(),
            waiter::PollStatus::kThrottled);
}

}  // namespace
}  // namespace client_errors_test
