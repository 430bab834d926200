// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the parts of `RedisClient` that need no server.

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/redis_errors.h"
#include "waiter/redis/redis_slots.h"
#include "waiter/redis/redis_url.h"
#include "waiter/redis/store_clock.h"

namespace waiter::internal::redis_parts_test {
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
  EXPECT_THAT(error("redis://h?password=x"),
              HasSubstr("invalid character in host"));
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
       {"LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN",
        "NOREPLICAS"}) {
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

TEST(RedisSlotTest, SlotIsThatOfTheTagInBraces) {
  EXPECT_EQ(RedisSlot("123456789"), 0x31C3);
  EXPECT_EQ(RedisSlot("foo"), 12182);
  EXPECT_EQ(RedisSlot("bar"), 5061);
  EXPECT_EQ(RedisSlot(""), 0);
  EXPECT_EQ(RedisSlot("{user1000}.following"), RedisSlot("user1000"));
  EXPECT_EQ(RedisSlot("foo{bar}{zap}"), RedisSlot("bar"));
  EXPECT_EQ(RedisSlot("foo{{bar}}zap"), RedisSlot("{bar"));
  EXPECT_EQ(RedisSlot("}foo{bar}"), RedisSlot("bar"));
  // Without a tag, the slot depends on the whole key. The numbers are from
  // CLUSTER KEYSLOT.
  EXPECT_EQ(RedisSlot("foo{}{bar}"), 8363);
  EXPECT_EQ(RedisSlot("foo{bar"), 15278);
  EXPECT_EQ(RedisSlot("\xff\x80"), 4727);
  EXPECT_EQ(RedisSlot("waiter:{prod/job/3}:due"), RedisSlot("prod/job/3"));
}

RedisReply Number(int64_t value) {
  return {.type = RedisReply::Type::kInteger, .integer = value};
}
RedisReply Text(std::string_view text) {
  return {.type = RedisReply::Type::kText, .text = std::string(text)};
}
RedisReply Array(std::vector<RedisReply> elements) {
  return {.type = RedisReply::Type::kArray, .elements = std::move(elements)};
}
RedisReply Node(std::string_view host, int64_t port) {
  return Array({Text(host), Number(port), Text("id"), Array({})});
}

TEST(ClusterSlotsTest, RangesHaveTheirPrimariesAndReplicas) {
  const auto ranges = ValueOrFail(ParseClusterSlots(
      Array({Array({Number(0), Number(99), Node("a", 1), Node("b", 2)}),
             Array({Number(16383), Number(16383),
                    Array({RedisReply(), Number(3)})}),
             Array({Number(100), Number(100), Node("", 4), Node("?", 5)})}),
      "asked"));
  ASSERT_EQ(ranges.size(), 3);
  EXPECT_EQ(ranges[0].first, 0);
  EXPECT_EQ(ranges[0].last, 99);
  EXPECT_EQ(ranges[0].primary, (RedisAddress{"a", 1}));
  ASSERT_EQ(ranges[0].replicas.size(), 1);
  EXPECT_EQ(ranges[0].replicas[0], (RedisAddress{"b", 2}));
  // Without a host, the node is the one that was asked.
  EXPECT_EQ(ranges[1].primary, (RedisAddress{"asked", 3}));
  EXPECT_EQ(ranges[2].primary, (RedisAddress{"asked", 4}));
  EXPECT_TRUE(ranges[2].replicas.empty());
}

TEST(ClusterSlotsTest, NodesWithoutAUsableAddressAreLeftOut) {
  const auto ranges = ValueOrFail(ParseClusterSlots(
      Array({Array({Number(0), Number(1), Node("?", 1)}),
             Array({Number(2), Number(3), Node("a", 0)}),
             Array({Number(4), Number(5), Node("a", 65535), Node("b", 0)})}),
      "asked"));
  ASSERT_EQ(ranges.size(), 1);
  EXPECT_EQ(ranges[0].first, 4);
  EXPECT_TRUE(ranges[0].replicas.empty());
}

TEST(ClusterSlotsTest, RepliesOfAnotherFormAreErrors) {
  const auto code = [](const RedisReply& reply) {
    return ParseClusterSlots(reply, "asked").status().code();
  };
  const RedisReply good = Array({Number(0), Number(1), Node("a", 1)});
  EXPECT_EQ(code(Array({good})), absl::StatusCode::kOk);
  EXPECT_EQ(code(Array({})), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(Array({Array({Number(0), Number(1), Node("?", 1)})})),
            absl::StatusCode::kFailedPrecondition);

  const RedisReply bad_lists[] = {
      RedisReply(),
      Number(1),
      Text("x"),
      {.type = RedisReply::Type::kError, .text = "ERR", .elements = {good}}};
  for (const RedisReply& reply : bad_lists) {
    EXPECT_EQ(code(reply), absl::StatusCode::kInternal);
  }
  const RedisReply bad_ranges[] = {
      RedisReply(),
      Number(7),
      Text("0"),
      Array({}),
      Array({Number(0)}),
      Array({Number(0), Number(1)}),
      Array({Text("0"), Number(1), Node("a", 1)}),
      Array({Number(0), RedisReply(), Node("a", 1)}),
      Array({Number(-1), Number(1), Node("a", 1)}),
      Array({Number(0), Number(16384), Node("a", 1)}),
      Array({Number(5), Number(4), Node("a", 1)}),
      Array({Number(INT64_MIN), Number(INT64_MAX), Node("a", 1)}),
      Array({Number(0), Number(1), RedisReply()}),
      Array({Number(0), Number(1), Text("a:1")}),
      Array({Number(0), Number(1), Array({})}),
      Array({Number(0), Number(1), Array({Text("a")})}),
      Array({Number(0), Number(1), Array({Number(1), Number(1)})}),
      Array({Number(0), Number(1), Array({Text("a"), Text("1")})}),
      Array({Number(0), Number(1), Array({Text("a"), Number(-1)})}),
      Array({Number(0), Number(1), Array({Text("a"), Number(65536)})}),
      Array({Number(0), Number(1), Node("a", 1), Number(2)}),
      // Two nodes have the same slot.
      Array({Number(99), Number(100), Node("a", 1)}),
      Array({Number(100), Number(100), Node("b", 1)}),
      Array({Number(50), Number(200), Node("b", 1)}),
  };
  for (const RedisReply& range : bad_ranges) {
    EXPECT_EQ(
        code(Array({Array({Number(100), Number(100), Node("a", 1)}), range})),
        absl::StatusCode::kInternal)
        << &range - bad_ranges;
  }
}

TEST(RedisRedirectionTest, SlotAndAddressAreRead) {
  auto to = ParseRedirection("MOVED 3999 127.0.0.1:6381", "asked");
  ASSERT_TRUE(to.has_value());
  EXPECT_FALSE(to->is_ask);
  EXPECT_EQ(to->slot, 3999);
  EXPECT_EQ(to->address, (RedisAddress{"127.0.0.1", 6381}));
  to = ParseRedirection("ASK 0 ::1:1", "asked");
  ASSERT_TRUE(to.has_value());
  EXPECT_TRUE(to->is_ask);
  EXPECT_EQ(to->address, (RedisAddress{"::1", 1}));
  to = ParseRedirection("MOVED 16383 :65535", "asked");
  ASSERT_TRUE(to.has_value());
  EXPECT_EQ(to->address, (RedisAddress{"asked", 65535}));
}

TEST(RedisRedirectionTest, OtherErrorsAreNone) {
  for (const std::string_view error : {"",
                                       "MOVED",
                                       "MOVED ",
                                       "MOVED 1",
                                       "MOVED 1 ",
                                       "MOVED 1 h",
                                       "MOVED 1 h:",
                                       "MOVED 1 h:0",
                                       "MOVED 1 h:65536",
                                       "MOVED 1 h:-1",
                                       "MOVED 1 h:x",
                                       "MOVED -1 h:1",
                                       "MOVED 16384 h:1",
                                       "MOVED x h:1",
                                       "MOVED  h:1",
                                       "MOVED h:1",
                                       "MOVED 1 ?:1",
                                       "MOVED 1 h h:1",
                                       "MOVED 1:2 h",
                                       "moved 1 h:1",
                                       "MOVE 1 h:1",
                                       "ASKING 1 h:1",
                                       "TRYAGAIN 1 h:1",
                                       " MOVED 1 h:1"}) {
    EXPECT_FALSE(ParseRedirection(error, "asked").has_value()) << error;
  }
}

TEST(StoreClockTest, FastestReplyOfTheLastMinuteCounts) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  StoreClock clock;
  const MonotonicTime start{seconds(1000)};
  EXPECT_EQ(clock.At(start), std::nullopt);

  // The request takes 90 of 100 ms, so the estimate is 40 ms too high.
  clock.Observe(start, start + milliseconds(100),
                seconds(5000) + milliseconds(90));
  EXPECT_EQ(clock.At(start), seconds(5000) + milliseconds(40));
  clock.Observe(start + seconds(1), start + seconds(1) + milliseconds(2),
                seconds(5001) + milliseconds(1));
  EXPECT_EQ(clock.At(start), seconds(5000));
  clock.Observe(start + seconds(50), start + seconds(50) + milliseconds(10),
                seconds(5050) + milliseconds(6));
  EXPECT_EQ(clock.At(start + seconds(51)), seconds(5051));
  // The fast reply is forgotten.
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
}  // namespace waiter::internal::redis_parts_test
