// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/telemetry/log_observer.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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
#include "tests/support/joining_thread.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::log_observer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
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

TEST_F(LogObserverTest, EachEventHasItsSeverityAloneAndUnsetIsSilent) {
  using Severity = std::optional<absl::LogSeverity> LogOptions::*;
  // The lines of the waits below: one changes and is confirmed after 11 s, one
  // fails, one has invalid options, one is cancelled, one loses its handle, and
  // one ends with its engine.
  constexpr std::array<std::pair<Severity, size_t>, 5> kLines = {
      {{&LogOptions::change, 1},
       {&LogOptions::heartbeat, 1},
       {&LogOptions::success, 1},
       {&LogOptions::failure, 2},
       {&LogOptions::cancelled, 3}}};
  for (const auto& [severity, lines] : kLines) {
    lines_.clear();
    severities_.clear();
    LogOptions log = Lines();
    log.change = log.heartbeat = log.success = log.failure = log.cancelled =
        std::nullopt;
    log.*severity = absl::LogSeverity::kError;
    const WaitOptions options = Options(log, absl::Minutes(1));
    ScriptedPoll<> script(
        clock_, {NotReady(), {NotReady(), absl::Seconds(11)}, Success()});
    (void)Waiter(std::ref(script), options).Wait();
    (void)Waiter([] { return Failed(); }, options).Wait();
    WaitOptions invalid = options;
    invalid.max_attempts = -1;
    (void)Waiter([] { return false; }, invalid).Wait();
    stop_source stop;
    stop.request_stop();
    (void)Waiter([] { return false; }, options).Wait(stop.get_token());
    {
      WaitEngine engine({.threads = 0, .clock = &clock_});
      (void)engine.Start(Waiter([] { return true; }, options),
                         [](const auto&) {});
      engine.RunDue();
      engine.Start(Waiter([] { return true; }, options), [](const auto&) {})
          .Detach();
    }
    EXPECT_THAT(lines_, SizeIs(lines));
    EXPECT_THAT(severities_, testing::Each(absl::LogSeverity::kError));
  }
}

TEST_F(LogObserverTest, CancelledWaitIsNoFailure) {
  waiter::stop_source stop;
  stop.request_stop();

  (void)Waiter([] { return false; }, Options(Lines(), absl::Minutes(1)))
      .Wait(stop.get_token());

  EXPECT_THAT(lines_, ElementsAre(HasSubstr("cancelled after 0s and 0 polls")));
  EXPECT_THAT(severities_, ElementsAre(absl::LogSeverity::kInfo));
}

TEST_F(LogObserverTest, TextsOfServersAndNamesStayOnOneShortLine) {
  const std::string text = absl::StrCat(
      "a\r\nb\x1b[31m\x7f\t\v", std::string(1, '\0'), std::string(1000, 'x'));
  WaitOptions options = Options(Lines(), absl::Minutes(1));
  options.name = text;
  options.operation = text;
  ScriptedPoll<> script(clock_, {NotReady(text), Throttled(text),
                                 ServerError(absl::UnavailableError(text)),
                                 Failed(absl::AbortedError(text))});
  (void)Waiter(std::ref(script), options).Wait();
  // The report of a limit has the last text, too.
  options.name = "job";
  options.timeout = absl::Seconds(10);
  (void)Waiter([&] { return NotReady(text); }, options).Wait();

  ASSERT_THAT(lines_, SizeIs(6));
  EXPECT_THAT(lines_[4], HasSubstr("job: not ready: a  b [31m    xxx"));
  EXPECT_THAT(lines_[4], HasSubstr("xxx..., after 0s"));
  for (const std::string& line : lines_) {
    for (const char c : line) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << line;
    }
    EXPECT_THAT(line, Not(HasSubstr(std::string(188, 'x'))));
    EXPECT_LT(line.size(), 600U);
  }
}

TEST_F(LogObserverTest, TextIsNotCutWithinACharacter) {
  // The limit of 200 bytes comes after, or within, the first of two characters
  // of three bytes each.
  for (const auto& [before, kept] :
       {std::pair<size_t, std::string>{197, "\xe2\x82\xac"},
        {198, ""},
        {199, ""},
        {200, ""}}) {
    lines_.clear();
    const std::string start(before, 'x');
    (void)Waiter([&] { return NotReady(start + "\xe2\x82\xac\xe2\x82\xac"); },
                 Options(Lines(), absl::Seconds(1)))
        .Wait();

    EXPECT_THAT(lines_[0], HasSubstr(absl::StrCat(start, kept, "..., after")));
  }
}

TEST_F(LogObserverTest, PollIsNewsIfItsLineDiffers) {
  const std::string cut(5000, 'x');
  ScriptedPoll<> script(
      clock_, {NotReady(cut + "1"), NotReady(cut + "2"), NotReady("x"),
               NotReady(absl::UnavailableError("x")),
               NotReady(absl::UnavailableError("x")),
               NotReady(absl::InternalError("x")),
               ServerError(absl::InternalError("x")), Success()});

  (void)Waiter(std::ref(script), Options(Lines(), absl::Hours(1))).Wait();

  EXPECT_THAT(lines_, ElementsAre(HasSubstr(": not ready: xxx"),
                                  HasSubstr(": not ready: x,"),
                                  HasSubstr(": not ready: UNAVAILABLE: x,"),
                                  HasSubstr(": not ready: INTERNAL: x,"),
                                  HasSubstr(": server error: INTERNAL: x,"),
                                  HasSubstr(": success")));
}

TEST_F(LogObserverTest, SinkMayStartWaitsOfTheSameObserver) {
  int depth = 0;
  int lines = 0;
  WaitOptions options = Options({}, absl::Minutes(1));
  const auto wait = [&] {
    ScriptedPoll<> script(clock_, {NotReady("a"), Success()});
    EXPECT_TRUE(Waiter(std::ref(script), options).Wait().ok());
  };
  options.hooks.observer = std::make_shared<LogObserver>(
      LogOptions{.sink = [&](absl::LogSeverity, std::string_view) {
        ++lines;
        if (depth == 3) return;
        ++depth;
        wait();
        --depth;
      }});

  wait();

  EXPECT_EQ(lines, 2 * (1 + 2 * (1 + 2 * (1 + 2))));
}

TEST_F(LogObserverTest, SinkMayDestroyTheHandleAndTheLastOwner) {
  WaitEngine engine({.threads = 0, .clock = &clock_});
  for (const int at : {1, 2, 3}) {
    WaitHandle handle;
    int lines = 0;
    WaitOptions options =
        Options({.sink =
                     [&](absl::LogSeverity, std::string_view) {
                       if (++lines == at) handle = WaitHandle();
                     }},
                absl::Minutes(1));
    ScriptedPoll<> script(clock_, {NotReady("a"), NotReady("b"), Success()});
    handle = engine.Start(Waiter(std::ref(script), std::move(options)),
                          [](const auto&) {});

    engine.Run();

    EXPECT_EQ(lines, at == 3 ? 3 : at + 1);  // The end has a line as well.
  }
}

TEST_F(LogObserverTest, ThreadsShareAnObserver) {
  constexpr int kThreads = 4;
  constexpr int kWaits = 200;
  std::mutex mutex;
  int lines = 0;
  const auto observer = std::make_shared<LogObserver>(
      LogOptions{.sink = [&](absl::LogSeverity, std::string_view) {
        const std::lock_guard<std::mutex> lock(mutex);
        ++lines;
      }});
  RunThreads(kThreads, [&](int) {
    for (int wait = 0; wait < kWaits; ++wait) {
      SimulatedClock clock;
      ScriptedPoll<> script(
          clock, {NotReady("a"), NotReady("a"), NotReady("b"), Success()});
      (void)Waiter(std::ref(script), {.timeout = absl::Minutes(1),
                                      .backoff = Every(absl::Seconds(1)),
                                      .hooks = {.observer = observer},
                                      .clock = &clock})
          .Wait();
    }
  });
  EXPECT_EQ(lines, kThreads * kWaits * 3);
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
