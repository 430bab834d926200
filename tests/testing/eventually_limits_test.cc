// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Covers limits outside of simulated time, and the record of how much of a
// limit was used. The clock of these tests is a simulated one in disguise.

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff_options.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/eventually_options.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/testing/test_limits.h"

namespace waiter {
namespace {

using ::absl::Hours;
using ::absl::Minutes;
using ::absl::Seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class DisguisedClock final : public Clock {
 public:
  absl::Time TimeNow() override { return clock_.TimeNow(); }
  MonotonicTime MonotonicNow() override { return clock_.MonotonicNow(); }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override {
    clock_.SleepUntil(wake_up, stop, who);
  }
  absl::Duration Elapsed() { return clock_.Elapsed(); }
  void Advance(absl::Duration duration) { clock_.AdvanceTime(duration); }

 private:
  SimulatedClock clock_;
};

// Sets a variable, or unsets it given null, until the end of its own life.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    const char* const old = getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    Set(value);
  }
  ~ScopedEnvironment() { Set(had_ ? old_.c_str() : nullptr); }

 private:
  void Set(const char* value) const {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* name_;
  bool had_;
  std::string old_;
};

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
    return {.timeout = timeout,
            .backoff = {.initial_delay = Seconds(1),
                        .max_delay = Seconds(1),
                        .jitter = Jitter::None()},
            .clock = &clock_};
  }

  // Returns the factor of a sanitizer that this test may run under.
  static double Slowdown() {
    return ReadTestLimits({nullptr, nullptr, nullptr})->scale;
  }

  ScopedEnvironment no_scale_{"WAITER_TEST_TIMEOUT_SCALE", nullptr};
  ScopedEnvironment no_test_timeout_{"TEST_TIMEOUT", nullptr};
  DisguisedClock clock_;
};

TEST_F(EventuallyLimitsTest, LimitIsStretchedOnSlowMachines) {
  const ScopedEnvironment scale("WAITER_TEST_TIMEOUT_SCALE", "2.5");

  EXPECT_EVENTUALLY(clock_.Elapsed(), Seconds(25) * Slowdown(),
                    Options(Seconds(10)));
  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2, Options(Seconds(10))); }),
              AllOf(HasSubstr(", limit " +
                              absl::FormatDuration(Seconds(25) * Slowdown()) +
                              " (of 10s: "),
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
    EXPECT_THAT(
        FailureOf([&] { EXPECT_EVENTUALLY(1, 1, Options(Seconds(10))); }),
        AllOf(StartsWith("1 was not polled: WAITER_TEST_TIMEOUT_SCALE is"),
              EndsWith("a number above 0 and at most 1000")));
  }
}

TEST_F(EventuallyLimitsTest, MessageComesBeforeTheTestIsKilled) {
  const ScopedEnvironment scale("WAITER_TEST_TIMEOUT_SCALE", "1000");
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "3600");

  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2, Options(Minutes(50))); }),
              HasSubstr(" (of 50m: the rest of TEST_TIMEOUT), real clock\n"));
  EXPECT_GT(clock_.Elapsed(), Minutes(1));
  EXPECT_LT(clock_.Elapsed(), Hours(1) - Seconds(2));
}

TEST_F(EventuallyLimitsTest, InfiniteLimitLastsAsLongAsTheTestMay) {
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "3600");

  EXPECT_THAT(FailureOf([&] {
                EXPECT_EVENTUALLY(1, 2, Options(absl::InfiniteDuration()));
              }),
              HasSubstr(" (of inf: the rest of TEST_TIMEOUT)"));
  EXPECT_LT(clock_.Elapsed(), Hours(1) - Seconds(2));
}

TEST_F(EventuallyLimitsTest, LimitLongerThanTheTestMayRunIsReported) {
  const ScopedEnvironment test_timeout("TEST_TIMEOUT", "60");

  EXPECT_EQ(
      FailureOf([&] { EXPECT_EVENTUALLY(1, 1, Options(Minutes(1))); }),
      "1 was not polled: the timeout of 1m is longer than the test itself may "
      "run, TEST_TIMEOUT minus the time to print a message: 58s; shorten it, "
      "or "
      "give the test a larger size or timeout");
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

  EXPECT_THAT(FailureOf([&] { EXPECT_CONSISTENTLY(1, 1, options); }),
              StartsWith("1 matched, but not in 1000000 polls in a row: "
                         "timeout of "));
  EXPECT_LT(clock_.Elapsed(), Hours(1) - Seconds(2));
}

TEST_F(EventuallyLimitsTest, LimitsAreSuspendedUnderADebugger) {
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
    // Reads until the parent ends or closes its end. Exiting detaches.
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
}  // namespace waiter
