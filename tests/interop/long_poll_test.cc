// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <chrono>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/interop/http.h"

namespace waiter::long_poll_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr absl::Duration k0 = absl::ZeroDuration();

absl::Duration S(double seconds) { return absl::Seconds(seconds); }

// Returns the hold time that the next request of a poll asks for.
absl::Duration HoldOf(LongPolls& polls,
                      absl::Duration timeout = absl::InfiniteDuration()) {
  return polls.Begin(timeout, MonotonicTime());
}

// Makes a request that takes some time.
bool WasHeld(LongPolls& polls, absl::Duration took, int status) {
  HoldOf(polls);
  return polls.End(status, MonotonicTime() + absl::ToChronoNanoseconds(took));
}

TEST(LongPollsTest, HoldLeavesTimeForTheAnswer) {
  struct Row {
    absl::Duration timeout;
    absl::Duration hold;
  };
  LongPolls polls({.hold = S(30)});

  for (const Row& row : {Row{absl::InfiniteDuration(), S(30)},
                         {S(60), S(30)},
                         {S(33.4), S(30)},
                         {S(30), S(27)},
                         {S(10), S(9)},
                         {S(5.9), S(4)},
                         {S(2), S(1)},
                         {S(1.9), k0},
                         {k0, k0}}) {
    EXPECT_EQ(HoldOf(polls, row.timeout), row.hold) << row.timeout;
  }
  LongPolls none({});
  LongPolls longest({.hold = absl::InfiniteDuration()});
  EXPECT_EQ(HoldOf(none), k0);
  EXPECT_EQ(HoldOf(longest), absl::Hours(1));
}

TEST(LongPollsTest, WishIsAFieldOrAParameter) {
  LongPolls by_field({.hold = S(7)});
  LongPolls by_parameter({.hold = S(7), .parameter = "timeout"});
  HoldOf(by_field);
  HoldOf(by_parameter);

  EXPECT_THAT(by_field.Fields(), ElementsAre(Pair("Prefer", "wait=7")));
  EXPECT_EQ(by_field.Url("http://a/b"), "http://a/b");
  EXPECT_THAT(by_parameter.Fields(), IsEmpty());
  EXPECT_EQ(by_parameter.Url("http://a/b"), "http://a/b?timeout=7");
  EXPECT_EQ(by_parameter.Url("http://a/b?x=1#?"), "http://a/b?x=1&timeout=7#?");
  EXPECT_EQ(by_parameter.Url("http://a/b#?c"), "http://a/b?timeout=7#?c");
  for (LongPolls* polls : {&by_field, &by_parameter}) {
    HoldOf(*polls, k0);
    EXPECT_THAT(polls->Fields(), IsEmpty());
    EXPECT_EQ(polls->Url("http://a/b"), "http://a/b");
  }
}

TEST(LongPollsTest, NextPollIsImmediateWhileTheServerHolds) {
  struct Row {
    absl::Duration took;
    int status;
    bool was_held;
  };
  LongPolls polls({.hold = S(30)});

  for (const Row& row : {Row{S(0.1), 200, false},  // Ignores the wish.
                         {S(30), 200, true},
                         {S(15), 304, true},
                         {S(2), 200, true},  // News.
                         {S(2), 200, false},
                         {S(2), 200, false},
                         {S(20), 200, true},
                         {S(20), 503, true},
                         {S(9), 504, false},
                         {S(2), 200, false}}) {
    EXPECT_EQ(WasHeld(polls, row.took, row.status), row.was_held)
        << row.took << " " << row.status;
  }
  HoldOf(polls, k0);
  EXPECT_FALSE(polls.End(200, MonotonicTime() + std::chrono::seconds(30)));
}

TEST(LongPollsTest, TwoCutsInARowShortenTheHold) {
  for (int status : {0, 408, 502, 504}) {
    LongPolls polls({.hold = S(300)});
    WasHeld(polls, S(60), status);
    WasHeld(polls, S(300), 200);
    WasHeld(polls, S(60), status);
    EXPECT_EQ(HoldOf(polls), S(300));

    WasHeld(polls, S(60), status);
    EXPECT_EQ(HoldOf(polls), S(45));
    EXPECT_TRUE(WasHeld(polls, S(45), 200));
    EXPECT_EQ(HoldOf(polls), S(45));
  }
}

TEST(LongPollsTest, ServerThatIsAwayKeepsItsHold) {
  LongPolls polls({.hold = S(300)});

  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(WasHeld(polls, S(0.01), 0));
  }

  EXPECT_EQ(HoldOf(polls), S(300));
}

TEST(LongPollsTest, CutsWithinASecondOrTwoEndInOrdinaryRequests) {
  LongPolls polls({.hold = S(300)});

  WasHeld(polls, S(1.2), 0);
  WasHeld(polls, S(1.2), 0);

  EXPECT_EQ(HoldOf(polls), k0);
}

}  // namespace
}  // namespace waiter::long_poll_test
