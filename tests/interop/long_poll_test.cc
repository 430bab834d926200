// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/interop/http.h"

namespace waiter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr absl::Duration k0 = absl::ZeroDuration();

absl::Duration S(double seconds) { return absl::Seconds(seconds); }

TEST(LongPollsTest, HoldLeavesTimeForTheAnswer) {
  struct Row {
    absl::Duration timeout;
    absl::Duration hold;
  };
  const LongPolls polls({.hold = S(30)});

  for (const Row& row : {Row{absl::InfiniteDuration(), S(30)},
                         {S(60), S(30)},
                         {S(33.4), S(30)},
                         {S(30), S(27)},
                         {S(10), S(9)},
                         {S(5.9), S(4)},
                         {S(2), S(1)},
                         {S(1.9), k0},
                         {k0, k0}}) {
    EXPECT_EQ(polls.NextHold(row.timeout), row.hold) << row.timeout;
  }
  EXPECT_EQ(LongPolls({}).NextHold(absl::InfiniteDuration()), k0);
  EXPECT_EQ(LongPolls({.hold = absl::InfiniteDuration()})
                .NextHold(absl::InfiniteDuration()),
            absl::Hours(1));
}

TEST(LongPollsTest, WishIsAFieldOrAParameter) {
  const LongPolls by_field({.hold = S(30)});
  const LongPolls by_parameter({.hold = S(30), .parameter = "timeout"});

  EXPECT_THAT(by_field.Fields(S(7)), ElementsAre(Pair("Prefer", "wait=7")));
  EXPECT_EQ(by_field.Url("http://a/b", S(7)), "http://a/b");
  EXPECT_THAT(by_parameter.Fields(S(7)), IsEmpty());
  EXPECT_EQ(by_parameter.Url("http://a/b", S(7)), "http://a/b?timeout=7");
  EXPECT_EQ(by_parameter.Url("http://a/b?x=1#?", S(7)),
            "http://a/b?x=1&timeout=7#?");
  EXPECT_EQ(by_parameter.Url("http://a/b#?c", S(7)), "http://a/b?timeout=7#?c");
  for (const LongPolls& polls : {by_field, by_parameter}) {
    EXPECT_THAT(polls.Fields(k0), IsEmpty());
    EXPECT_EQ(polls.Url("http://a/b", k0), "http://a/b");
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
    EXPECT_EQ(polls.WasHeld(S(30), {row.took, row.status}), row.was_held)
        << row.took << " " << row.status;
  }
  EXPECT_FALSE(polls.WasHeld(k0, {S(30), 200}));
}

TEST(LongPollsTest, TwoCutsInARowShortenTheHold) {
  for (int status : {0, 408, 502, 504}) {
    LongPolls polls({.hold = S(300)});
    polls.WasHeld(S(300), {S(60), status});
    polls.WasHeld(S(300), {S(300), 200});
    polls.WasHeld(S(300), {S(60), status});
    EXPECT_EQ(polls.NextHold(absl::InfiniteDuration()), S(300));

    polls.WasHeld(S(300), {S(60), status});
    EXPECT_EQ(polls.NextHold(absl::InfiniteDuration()), S(45));
    EXPECT_TRUE(polls.WasHeld(S(45), {S(45), 200}));
    EXPECT_EQ(polls.NextHold(absl::InfiniteDuration()), S(45));
  }
}

TEST(LongPollsTest, ServerThatIsAwayKeepsItsHold) {
  LongPolls polls({.hold = S(300)});

  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(polls.WasHeld(S(300), {S(0.01), 0}));
  }

  EXPECT_EQ(polls.NextHold(absl::InfiniteDuration()), S(300));
}

TEST(LongPollsTest, CutsWithinASecondOrTwoEndInOrdinaryRequests) {
  LongPolls polls({.hold = S(300)});

  polls.WasHeld(S(300), {S(1.2), 0});
  polls.WasHeld(S(300), {S(1.2), 0});

  EXPECT_EQ(polls.NextHold(absl::InfiniteDuration()), k0);
}

}  // namespace
}  // namespace waiter
