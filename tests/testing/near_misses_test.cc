// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/near_misses.h"

#include <cstdlib>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter::near_misses_test {
namespace {

using ::absl::Milliseconds;
using ::absl::Seconds;

NearMiss Pass(absl::Duration used, absl::Duration limit) {
  return {.where = "job_test.cc:7",
          .expression = "job.State()",
          .used = used,
          .limit = limit};
}

TEST(NearMissesTest, PassAboveFourFifthsOfTheLimitIsListed) {
  NearMissList list;
  list.Add(Pass(Seconds(4), Seconds(5)));
  EXPECT_EQ(list.Text(), "");

  list.Add(Pass(Milliseconds(4510), Seconds(5)));
  EXPECT_EQ(list.Text(),
            "[NEAR MISS ] job_test.cc:7: job.State() passed after 4.51s, 90 % "
            "of its limit of 5s; a limit of 9.1s would have been safe\n");
}

TEST(NearMissesTest, LongestPassOfAPlaceStandsForAll) {
  NearMissList list;
  list.Add(Pass(Milliseconds(4100), Seconds(5)));
  list.Add(Pass(Seconds(8), Seconds(5)));
  list.Add(Pass(Milliseconds(4200), Seconds(5)));

  EXPECT_EQ(list.Text(),
            "[NEAR MISS ] job_test.cc:7: job.State() passed after 8s, 160 % of "
            "its limit of 5s, the slowest of 3 passes; a limit of 16s would "
            "have been safe\n");
}

TEST(NearMissesTest, SafeLimitIsTheOneToWriteInTheTest) {
  NearMissList list;
  NearMiss pass = Pass(Seconds(45), Seconds(5));
  pass.scale = 10;
  list.Add(pass);

  EXPECT_EQ(list.Text(),
            "[NEAR MISS ] job_test.cc:7: job.State() passed after 45s, 90 % of "
            "its limit of 5s scaled by 10 on this machine; a limit of 9s would "
            "have been safe\n");
}

TEST(NearMissesTest, PlacesAreInOrder) {
  NearMissList list;
  for (const char* const where : {"b.cc:1", "a.cc:2", "a.cc:1"}) {
    NearMiss pass = Pass(Seconds(5), Seconds(5));
    pass.where = where;
    list.Add(pass);
  }

  EXPECT_THAT(list.Text(),
              testing::ContainsRegex("a.cc:1.*\n.*a.cc:2.*\n.*b.cc:1"));
}

TEST(NearMissesDeathTest, LinesComeWhenTheProgramEnds) {
  EXPECT_EXIT(
      {
        RecordPass(Pass(Seconds(1), Seconds(5)));
        RecordPass(Pass(Seconds(5), Seconds(5)));
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "^\\[NEAR MISS \\] job_test.cc:7: job.State.. passed after 5s");
}

}  // namespace
}  // namespace waiter::near_misses_test
