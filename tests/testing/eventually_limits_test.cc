// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Covers limits outside of simulated time, and the record of how much of a
// limit was used. The clock of these tests is a simulated clock in disguise.

#include <stdlib.h>

#ifndef _WIN32
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/support/status_matchers.h"
#include "tests/testing/eventually_fixture.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/testing/test_limits.h"

namespace waiter::eventually_limits_test {
namespace {

using ::absl::Hours;
using ::absl::Minutes;
using ::absl::Seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Returns a property of the running test.
std::string Property(std::string_view key) {
  const testing::TestResult& result =
      *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.test_property_count(); ++i) {
    if (result.GetTestProperty(i).key() == key) {
      return result.GetTestProperty(i).value();
    }
  }
  return "";
}

class EventuallyLimitsTest : public testing::Test {
 protected:
  EventuallyOptions Options(absl::Duration timeout) {
    return {.timeout = timeout, .backoff = kEverySecond, .clock = &clock_};
  }

  // Returns the factor of a sanitizer that this test may run under.
  static double Slowdown() {
    return ReadTestLimits({nullptr, nullptr, nullptr})->scale;
  }

  ScopedEnvironment no_scale_{"WAITER_TEST_TIMEOUT_SCALE", nullptr};
  ScopedEnvironment no_test_timeout_{"TEST_TIMEOUT", nullptr};
  StoppingClock clock_;
};

// Returns what `code` writes to the standard error stream, line by line.
std::vector<std::string> LinesOf(absl::FunctionRef<void()> code) {
  testing::internal::CaptureStderr();
  code();
  return absl::StrSplit(testing::internal::GetCapturedStderr(), '\n',
                        absl::SkipEmpty());
}

TEST_F(EventuallyLimitsTest, LongWaitSaysWhatItWaitsForAgainAndAgain) {
  const absl::Duration limit = Minutes(10) * Slowdown();
  EventuallyOptions options = Options(Minutes(10));
  options.name = "job 42";
  std::string state = "CREATING";
  const auto get = [&] {
    if (clock_.Elapsed() > Seconds(45)) state = "UPDATING\nslowly";
    if (clock_.Elapsed() >= Seconds(150)) state = "DONE";
    return state;
  };

  const int line = __LINE__ + 2;
  const std::vector<std::string> lines =
      LinesOf([&] { EXPECT_EVENTUALLY(get(), "DONE", options); });

  const std::string start =
      absl::StrCat("[ WAITING  ] ", __FILE__, ":", line,
                   ": job 42: get() has not matched after ");
  const std::string of = absl::StrCat(" of ", absl::FormatDuration(limit));
  EXPECT_THAT(
      lines,
      ElementsAre(
          absl::StrCat(start, "10s", of, " and 10 polls: \"CREATING\""),
          absl::StrCat(start, "30s", of, " and 30 polls: \"CREATING\""),
          absl::StrCat(start, "1m", of, " and 60 polls: \"UPDATING\\nslowly\""),
          absl::StrCat(start, "2m", of,
                       " and 120 polls: \"UPDATING\\nslowly\"")));
}

TEST_F(EventuallyLimitsTest, ProgressNamesTheKindOfTheAssertion) {
  const std::string of_limit =
      absl::StrCat(" of ", absl::FormatDuration(Seconds(20) * Slowdown()));
  EventuallyOptions hold = Options(Seconds(12));
  hold.timeout.reset();
  hold.hold_for = Seconds(12);
  EventuallyOptions count = hold;
  count.hold_for.reset();
  count.successes_required = 12;
  EventuallyOptions confirmed = Options(Seconds(20));
  confirmed.hold_for = Seconds(15);

  EXPECT_THAT(
      LinesOf([&] { EXPECT_CONSISTENTLY(1, 1, hold); }),
      ElementsAre(EndsWith(": 1 has held for 10s of 12s and 10 polls: 1")));
  EXPECT_THAT(LinesOf([&] { EXPECT_NEVER(1, 2, count); }),
              ElementsAre(EndsWith(": 1 has held for 10s and 10 polls: 1")));
  EXPECT_THAT(LinesOf([&] { EXPECT_EVENTUALLY(1, 1, confirmed); }),
              ElementsAre(EndsWith(
                  absl::StrCat(": 1 matches, but not long enough, after 10s",
                               of_limit, " and 10 polls: 1"))));
  EXPECT_THAT(LinesOf([&] {
                int runs = 0;
                EXPECT_EVENTUALLY_PASSES({ EXPECT_GE(++runs, 12); },
                                         Options(Seconds(20)));
              }),
              ElementsAre(HasSubstr(
                  absl::StrCat(": the block has not passed after 10s", of_limit,
                               " and 10 polls: 1 failure: "))));
  const auto elapsed = [this, start = clock_.Elapsed()] {
    return clock_.Elapsed() - start;
  };
  EXPECT_THAT(
      LinesOf([&] {
        EXPECT_TRUE(
            Eventually(elapsed, Seconds(11), Options(Seconds(20))).ok());
      }),
      ElementsAre(HasSubstr(": the value has not matched after 10s")));
}

TEST_F(EventuallyLimitsTest, NothingIsSaidBefore10sNorAtTheLimit) {
  EXPECT_THAT(LinesOf([&] {
                EXPECT_NE(FailureOf([&] {
                            EXPECT_EVENTUALLY(
                                1, 2, Options(Seconds(10) / Slowdown()));
                          }),
                          "(no failure)");
              }),
              IsEmpty());
  EventuallyOptions late = Options(Minutes(1));
  late.first_poll_delay = Seconds(20);
  EXPECT_THAT(LinesOf([&] { EXPECT_EVENTUALLY(1, 1, late); }), IsEmpty());
}

TEST_F(EventuallyLimitsTest, NothingIsSaidInSimulatedTime) {
  SimulatedClock clock;
  EventuallyOptions options = Options(Hours(2));
  options.clock = &clock;

  EXPECT_THAT(LinesOf([&] {
                EXPECT_EVENTUALLY(clock.Elapsed(), Ge(Hours(1)), options);
              }),
              IsEmpty());
}

TEST_F(EventuallyLimitsTest, LimitIsStretchedOnSlowMachines) {
  const ScopedEnvironment scale("WAITER_TEST_TIMEOUT_SCALE", "2.5");

  EXPECT_EVENTUALLY(clock_.Elapsed(), Seconds(25) * Slowdown(),
                    Options(Seconds(10)));
  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2, Options(Seconds(10))); }),
              AllOf(HasSubstr(", limit " +
                              absl::FormatDuration(Seconds(25) * Slowdown()) +
                              " (10s requested; "),
                    HasSubstr("WAITER_TEST_TIMEOUT_SCALE=2.5), real clock\n")));
}

TEST_F(EventuallyLimitsTest, SimulatedTimeIsNotStretched) {
  const ScopedEnvironment scale("WAITER_TEST_TIMEOUT_SCALE", "2.5");
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "3");
  SimulatedClock clock;
  EventuallyOptions options = Options(Hours(10));
  options.clock = &clock;

  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2, options); }),
              HasSubstr(" in 10h, limit 10h, simulated clock\n"));
}

TEST_F(EventuallyLimitsTest, InvalidScaleIsReported) {
  for (const char* scale : {"", "x", "0", "-1", "nan", "inf", "1e9", "2x"}) {
    const ScopedEnvironment environment("WAITER_TEST_TIMEOUT_SCALE", scale);
    if (getenv("WAITER_TEST_TIMEOUT_SCALE") == nullptr) continue;  // Windows.
    EXPECT_THAT(
        FailureOf([&] { EXPECT_EVENTUALLY(1, 1, Options(Seconds(10))); }),
        AllOf(StartsWith("1 was not polled: WAITER_TEST_TIMEOUT_SCALE is"),
              EndsWith("a number above 0 and at most 1000")));
  }
}

TEST_F(EventuallyLimitsTest, MessageComesBeforeTheTestIsKilled) {
  const ScopedEnvironment scale("WAITER_TEST_TIMEOUT_SCALE", "1000");
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "3600");

  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(1, 2, Options(Minutes(50))); }),
      HasSubstr(" (50m requested; the rest of TEST_TIMEOUT), real clock\n"));
  EXPECT_GT(clock_.Elapsed(), Minutes(1));
  EXPECT_LT(clock_.Elapsed(), Hours(1) - Seconds(2));
}

TEST_F(EventuallyLimitsTest, InfiniteLimitLastsAsLongAsTheTestMay) {
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "3600");

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(1, 2, Options(absl::InfiniteDuration()));
              }),
              HasSubstr(" (inf requested; the rest of TEST_TIMEOUT)"));
  EXPECT_LT(clock_.Elapsed(), Hours(1) - Seconds(2));
}

TEST_F(EventuallyLimitsTest, LimitLongerThanTheTestMayRunIsReported) {
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "60");

  EXPECT_EQ(
      FailureOf([&] { EXPECT_EVENTUALLY(1, 1, Options(Minutes(1))); }),
      "1 was not polled: the timeout of 1m is longer than the test itself may "
      "run, 58s (TEST_TIMEOUT minus the time to print a message); shorten the "
      "timeout, or give the test a larger size or timeout");
  EXPECT_THAT(FailureOf([&] {
                EXPECT_CONSISTENTLY(1, 1,
                                    {.hold_for = Minutes(1), .clock = &clock_});
              }),
              HasSubstr("hold_for of 1m is longer than the test"));
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
}

TEST_F(EventuallyLimitsTest, ConsistentlyEndsBeforeTheTestIsKilled) {
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "3600");
  EventuallyOptions options = Options(Seconds(1));
  options.timeout.reset();
  options.successes_required = 1'000'000;

  EXPECT_THAT(
      FailureOf([&] { EXPECT_CONSISTENTLY(1, 1, options); }),
      StartsWith("1 matched so far, but must match in 1000000 polls in a row: "
                 "timeout of "));
  EXPECT_LT(clock_.Elapsed(), Hours(1) - Seconds(2));
}

TEST_F(EventuallyLimitsTest, LimitsAreSuspendedUnderADebugger) {
#ifdef _WIN32
  GTEST_SKIP() << "needs ptrace(2)";
#else
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  std::array<int, 2> attached;
  std::array<int, 2> done;
  ASSERT_EQ(pipe(attached.data()), 0);
  ASSERT_EQ(pipe(done.data()), 0);
  const pid_t debugger = fork();
  if (debugger == 0) {
    close(done[1]);
    char c = ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr) == 0 ? 'y' : 'n';
    if (write(attached[1], &c, 1) != 1) _exit(1);
    // Reads until the parent ends or closes the pipe. Exiting detaches.
    while (read(done[0], &c, 1) > 0) {
    }
    _exit(0);
  }
  close(done[0]);
  char is_attached = 'n';
  EXPECT_EQ(read(attached[0], &is_attached, 1), 1);
  if (is_attached == 'y') {
    EXPECT_EVENTUALLY(clock_.Elapsed(), Ge(Hours(1)), Options(Seconds(5)));
    EventuallyOptions options = Options(Seconds(5));
    options.hold_for = Seconds(2);
    EXPECT_EVENTUALLY(clock_.Elapsed(), Ge(Hours(2)), options);
  }
  close(done[1]);
  waitpid(debugger, nullptr, 0);
  close(attached[0]);
  close(attached[1]);
  if (is_attached != 'y') GTEST_SKIP() << "debuggers are not allowed here";
  EXPECT_EQ(Property("eventually_limit_used"), "");

  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2, Options(Seconds(5))); }),
              HasSubstr("did not match within "));
#endif
}

TEST_F(EventuallyLimitsTest, ProcessStatusRevealsADebugger) {
  EXPECT_TRUE(IsDebuggedBy("Name:\tx\nTracerPid:\t123\nUid:\t0\n"));
  EXPECT_FALSE(IsDebuggedBy("Name:\tx\nTracerPid:\t0\nUid:\t0\n"));
  EXPECT_FALSE(IsDebuggedBy(""));
}

TEST_F(EventuallyLimitsTest, LimitsComeFromTheEnvironment) {
  EXPECT_EQ(ReadTestLimits({"0.5", nullptr, nullptr})->scale, 0.5 * Slowdown());
  EXPECT_EQ(ReadTestLimits({nullptr, nullptr, nullptr})->whole,
            absl::InfiniteDuration());
  EXPECT_EQ(ReadTestLimits({nullptr, "60", nullptr})->whole, Seconds(58));
  EXPECT_EQ(ReadTestLimits({nullptr, "2", nullptr})->whole, Seconds(1.5));
  EXPECT_EQ(ReadTestLimits({nullptr, "soon", nullptr})->whole,
            absl::InfiniteDuration());
  EXPECT_THAT(ReadTestLimits({"0", nullptr, nullptr}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  if (Slowdown() == 1) {
    EXPECT_EQ(ReadTestLimits({nullptr, nullptr,
                              "/usr/libexec/valgrind/vgpreload_core"
                              "-amd64-linux.so"})
                  ->scale,
              20);
  }
}

TEST_F(EventuallyLimitsTest, LargestShareOfALimitIsRecorded) {
  const absl::Duration limit = Seconds(100) * Slowdown();

  EXPECT_EVENTUALLY(clock_.Elapsed(), Ge(absl::ZeroDuration()),
                    Options(Seconds(100)));
  EXPECT_EQ(Property("eventually_limit_used"), "");

  EXPECT_EVENTUALLY(clock_.Elapsed(), 0.25 * limit, Options(Seconds(100)));
  EXPECT_EQ(Property("eventually_limit_used"), "0.25");

  EXPECT_EVENTUALLY(clock_.Elapsed(), Ge(limit), Options(Seconds(100)));
  const int line = __LINE__ - 1;
  EXPECT_EQ(Property("eventually_limit_used"), "0.75");
  EXPECT_THAT(Property("eventually_limit_used_at"),
              EndsWith("eventually_limits_test.cc:" + std::to_string(line)));

  EXPECT_EVENTUALLY(clock_.Elapsed(), 1.5 * limit, Options(Seconds(100)));
  EXPECT_EQ(Property("eventually_limit_used"), "0.75");
}

TEST_F(EventuallyLimitsTest, LateSuccessIsRecordedAsMoreThanTheLimit) {
  const absl::Duration limit = Seconds(100) * Slowdown();
  const auto slow = [&] { return clock_.Advance(1.5 * limit), true; };

  EXPECT_EVENTUALLY(slow(), true, Options(Seconds(100)));
  EXPECT_EQ(Property("eventually_limit_used"), "1.50");
}

TEST_F(EventuallyLimitsTest, SimulatedTimeAndFailuresRecordNothing) {
  SimulatedClock clock;
  EventuallyOptions options = Options(Seconds(10));
  EXPECT_NE(FailureOf([&] { EXPECT_EVENTUALLY(1, 2, options); }), "");
  options.clock = &clock;
  EXPECT_EVENTUALLY(clock.Elapsed(), Seconds(9), options);

  EXPECT_THAT(Property("eventually_limit_used"), IsEmpty());
}

}  // namespace
}  // namespace waiter::eventually_limits_test
