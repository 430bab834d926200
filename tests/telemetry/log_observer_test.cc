// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/telemetry/log_observer.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/engine/engine.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::log_observer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class LogObserverTest : public testing::Test {
 protected:
  ~LogObserverTest() override { ObserveEveryWait(nullptr); }

  LogOptions Lines() {
    return {.sink = [this](absl::LogSeverity severity, std::string_view line) {
      severities_.push_back(severity);
      lines_.emplace_back(line);
    }};
  }

  WaitOptions Options(LogOptions log, absl::Duration timeout) {
    return {
        .name = "instance i-0abc",
        .timeout = timeout,
        .backoff = Every(absl::Seconds(2)),
        .hooks = {.observer = std::make_shared<LogObserver>(std::move(log))},
        .clock = &clock_};
  }

  SimulatedClock clock_;
  std::vector<std::string> lines_;
  std::vector<absl::LogSeverity> severities_;
};

TEST_F(LogObserverTest, WaitHasALinePerChangeAndOneAtItsEnd) {
  ScriptedPoll<> script(
      clock_, {NotReady("CREATING"), NotReady("CREATING"), NotReady("STARTING"),
               ServerError(absl::UnavailableError("503")), Success()});

  (void)Waiter(std::ref(script), Options(Lines(), absl::Minutes(1))).Wait();

  EXPECT_THAT(
      lines_,
      ElementsAre(
          "instance i-0abc: not ready: CREATING, after 0s; next poll in 2s",
          "instance i-0abc: not ready: STARTING, after 4s; next poll in 2s",
          HasSubstr("instance i-0abc: server error: UNAVAILABLE: 503, after "
                    "6s; next poll in "),
          HasSubstr("instance i-0abc: success after ")));
  EXPECT_THAT(lines_.back(), EndsWith(" and 5 polls"));
}

TEST_F(LogObserverTest, SameFindingHasHeartbeatsThatGrowRare) {
  (void)Waiter([] { return NotReady("CREATING"); },
               Options(Lines(), absl::Seconds(300)))
      .Wait();

  EXPECT_THAT(
      lines_,
      ElementsAre(
          "instance i-0abc: not ready: CREATING, after 0s; next poll in 2s",
          "instance i-0abc: still not ready: CREATING, after 10s and 6 polls; "
          "next poll in 2s",
          "instance i-0abc: still not ready: CREATING, after 30s and 16 polls; "
          "next poll in 2s",
          "instance i-0abc: still not ready: CREATING, after 1m and 31 polls; "
          "next poll in 2s",
          "instance i-0abc: still not ready: CREATING, after 2m and 61 polls; "
          "next poll in 2s",
          "instance i-0abc: still not ready: CREATING, after 4m and 121 polls; "
          "next poll in 2s",
          HasSubstr("instance i-0abc: deadline after 5m and 151 polls: "
                    "DEADLINE_EXCEEDED: ")));
}

TEST_F(LogObserverTest, LongSleepSkipsHeartbeatsAndDoesNotCatchUp) {
  WaitOptions options = Options(Lines(), absl::Hours(1));
  options.backoff = Every(absl::Seconds(100));
  options.max_attempts = 4;

  (void)Waiter([] { return false; }, options).Wait();

  // Polls after 0, 100, 200 and 300 s.
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("after 0s;"),
                                  HasSubstr("still not ready, after 1m40s"),
                                  HasSubstr("still not ready, after 3m20s"),
                                  HasSubstr("attempts after 5m")));
}

TEST_F(LogObserverTest, SeveritiesAreThoseOfTheOptions) {
  LogOptions log = Lines();
  log.change = absl::LogSeverity::kWarning;
  log.failure = absl::LogSeverity::kError;
  (void)Waiter([] { return false; }, Options(log, absl::Seconds(1))).Wait();
  EXPECT_THAT(severities_, ElementsAre(absl::LogSeverity::kWarning,
                                       absl::LogSeverity::kError));

  lines_.clear();
  log.change = log.heartbeat = log.failure = log.success = log.cancelled =
      std::nullopt;
  (void)Waiter([] { return false; }, Options(log, absl::Minutes(1))).Wait();
  (void)Waiter([] { return true; }, Options(log, absl::Minutes(1))).Wait();
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(LogObserverTest, CancelledWaitIsNoFailure) {
  waiter::stop_source stop;
  stop.request_stop();

  (void)Waiter([] { return false; }, Options(Lines(), absl::Minutes(1)))
      .Wait(stop.get_token());

  EXPECT_THAT(lines_, ElementsAre(HasSubstr("cancelled after 0s and 0 polls")));
  EXPECT_THAT(severities_, ElementsAre(absl::LogSeverity::kInfo));
}

TEST_F(LogObserverTest, TextOfAServerStaysOnOneShortLine) {
  const std::string text =
      absl::StrCat("a\r\nb\x1b[31m", std::string(1000, 'x'));
  (void)Waiter([&] { return NotReady(text); },
               Options(Lines(), absl::Seconds(1)))
      .Wait();

  EXPECT_THAT(lines_[0], HasSubstr("not ready: a  b [31mxxx"));
  EXPECT_THAT(lines_[0], HasSubstr("xxx..., after 0s"));
  for (const std::string& line : lines_) {
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_LT(line.size(), 500U);
  }
}

TEST_F(LogObserverTest, TextIsNotCutWithinACharacter) {
  std::string text(199, 'x');
  text += "\xe2\x82\xac\xe2\x82\xac";  // Two of three bytes each.
  (void)Waiter([&] { return NotReady(text); },
               Options(Lines(), absl::Seconds(1)))
      .Wait();

  EXPECT_THAT(lines_[0],
              HasSubstr(absl::StrCat(std::string(199, 'x'), "..., after")));
}

TEST_F(LogObserverTest, WaitsOfOneNameAreToldApart) {
  const auto observer = std::make_shared<LogObserver>(Lines());
  WaitOptions options = {.name = "job",
                         .timeout = absl::Seconds(5),
                         .backoff = Every(absl::Seconds(2)),
                         .hooks = {.observer = observer},
                         .clock = &clock_};
  WaitEngine engine(
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
  for (const std::string_view found : {"QUEUED", "RUNNING"}) {
    engine
        .Start(
            Waiter([found] { return NotReady(std::string(found)); }, options),
            [](const auto&) {})
        .Detach();
  }

  engine.Run();

  // Each wait logs a change and an end: the waits do not affect each other.
  EXPECT_THAT(lines_, SizeIs(4));
}

TEST_F(LogObserverTest, OneLineWatchesTheProgramAndWritesToStandardError) {
  ObserveEveryWait(std::make_shared<LogObserver>());
  testing::internal::CaptureStderr();

  (void)Waiter([] { return true; },
               {.name = "job", .timeout = absl::Seconds(1), .clock = &clock_})
      .Wait();

  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::ContainsRegex("^20..-..-..T..:..:......Z INFO job: "
                                     "success after 0s and 1 poll\n$"));
}

}  // namespace
}  // namespace waiter::log_observer_test
