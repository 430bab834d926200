// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The parts of `RedisClient` that need no server.

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/distributed/redis_errors.h"
#include "waiter/distributed/redis_url.h"
#include "waiter/distributed/store_clock.h"

namespace waiter::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RedisUrlTest, AllPartsAreRead) {
  absl::StatusOr<RedisUrl> url =
      ParseRedisUrl("redis://us%40er:p%3A%2fw@h.example:7000/12");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->user, "us@er");
  EXPECT_EQ(url->password, "p:/w");
  EXPECT_EQ(url->host, "h.example");
  EXPECT_EQ(url->port, 7000);
  EXPECT_EQ(url->database, 12);
  EXPECT_EQ(url->Address(), "h.example:7000");

  url = ParseRedisUrl("redis://localhost");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->Address(), "localhost:6379");
  EXPECT_EQ(url->database, 0);
  EXPECT_EQ(url->password, "");

  url = ParseRedisUrl("redis://:pw@[::1]:80/");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->user, "");
  EXPECT_EQ(url->password, "pw");
  EXPECT_EQ(url->Address(), "[::1]:80");
}

TEST(RedisUrlTest, ErrorsSayWhatIsWrongAndShowNoSecret) {
  const auto error = [](std::string_view url) {
    return std::string(ParseRedisUrl(url).status().message());
  };
  EXPECT_EQ(error("localhost"),
            "Redis URL: it must begin with redis://; the form is "
            "redis://[user:password@]host[:port][/database]");
  EXPECT_THAT(error("rediss://h"), HasSubstr("TLS"));
  EXPECT_THAT(error("redis://"), HasSubstr("the host is missing"));
  EXPECT_THAT(error("redis://:80"), HasSubstr("the host is missing"));
  EXPECT_THAT(error("redis://[::1"), HasSubstr("a ] is missing"));
  for (const std::string_view port : {"", "0", "65536", "8x", "-1", "+1"}) {
    EXPECT_THAT(error("redis://h:" + std::string(port)),
                HasSubstr("the port must be within [1, 65535]"))
        << port;
  }
  EXPECT_THAT(error("redis://h/x"), HasSubstr("the database must be"));
  for (const std::string_view url :
       {"redis://hunter2@h", "redis://u:hunter2%4@h", "redis://u:hunter2@h:x",
        "redis://u:hunter2@", "redis://hunter2:@h", "http://u:hunter2@h"}) {
    EXPECT_THAT(error(url), Not(HasSubstr("hunter2"))) << url;
    EXPECT_NE(error(url), "") << url;
  }
}

TEST(RedisErrorsTest, EachErrorHasItsCode) {
  const auto code = [](std::string_view error) {
    return StatusOfError(error, "h:1").code();
  };
  for (const std::string_view word :
       {"LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN",
        "TRYAGAIN"}) {
    EXPECT_EQ(code(std::string(word) + " text"), absl::StatusCode::kAborted);
  }
  EXPECT_EQ(code("OOM command not allowed"),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("NOAUTH Authentication required."),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(code("WRONGPASS invalid"), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(code("NOPERM no"), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code("WRONGTYPE Operation"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code("MOVED 1 h:2"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code("ERR unknown"), absl::StatusCode::kInternal);
  EXPECT_EQ(code("BUSYGROUP other"), absl::StatusCode::kInternal);
  EXPECT_THAT(
      StatusOfError("OOM no", "h:1"),
      StatusIs(absl::StatusCode::kResourceExhausted, "Redis at h:1: OOM no"));
  EXPECT_TRUE(IsUnknownScript("NOSCRIPT No matching script."));
  EXPECT_FALSE(IsUnknownScript("ERR NOSCRIPT"));
}

TEST(StoreClockTest, FastestReplyOfTheLastMinuteCounts) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  StoreClock clock;
  const MonotonicTime start{seconds(1000)};
  EXPECT_EQ(clock.At(start), std::nullopt);

  // A reply of 100 ms says 90 ms too much, as the request took long.
  clock.Observe(start, start + milliseconds(100),
                seconds(5000) + milliseconds(90));
  EXPECT_EQ(clock.At(start), seconds(5000) + milliseconds(40));
  clock.Observe(start + seconds(1), start + seconds(1) + milliseconds(2),
                seconds(5001) + milliseconds(1));
  EXPECT_EQ(clock.At(start), seconds(5000));
  clock.Observe(start + seconds(50), start + seconds(50) + milliseconds(10),
                seconds(5050) + milliseconds(6));
  EXPECT_EQ(clock.At(start + seconds(51)), seconds(5051));
  // The fast one is forgotten.
  clock.Observe(start + seconds(62), start + seconds(62) + milliseconds(20),
                seconds(5062));
  EXPECT_EQ(clock.At(start + seconds(62)), seconds(5062) + milliseconds(1));
}

TEST(StoreClockTest, FastestIsThatOfAllRepliesOfTheLastMinute) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  const uint64_t seed = FirstSeed();
  SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
  std::mt19937_64 gen(seed);
  struct Reply {
    MonotonicTime received;
    milliseconds trip;
    microseconds offset;
  };
  StoreClock clock;
  std::vector<Reply> replies;
  MonotonicTime now{std::chrono::seconds(1000)};
  for (int i = 0; i < 1000; ++i) {
    const milliseconds trip(2 * absl::Uniform(gen, 1, 50));
    const microseconds offset(absl::Uniform(gen, 0, 1'000'000));
    now += milliseconds(absl::Uniform(gen, 1, 10'000));
    replies.push_back({now, trip, offset});
    clock.Observe(now - trip, now,
                  std::chrono::duration_cast<microseconds>(
                      (now - trip / 2).time_since_epoch()) +
                      offset);
    const Reply* best = &replies.back();
    for (const Reply& reply : replies) {
      if (now - reply.received > StoreClock::kMemory) continue;
      if (reply.trip < best->trip ||
          (reply.trip == best->trip && reply.received > best->received)) {
        best = &reply;
      }
    }
    ASSERT_EQ(clock.At(now),
              std::chrono::duration_cast<microseconds>(now.time_since_epoch()) +
                  best->offset)
        << i;
  }
}

}  // namespace
}  // namespace waiter::internal
