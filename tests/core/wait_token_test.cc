// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/crc32c.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::wait_token_test {
namespace {

using ::std::chrono::hours;
using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;
using ::std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kWall = absl::FromUnixSeconds(1'800'000'000);
constexpr MonotonicTime kNow{hours(1000)};

// A wait in the middle of its third sleep.
WaitState SomeState() {
  return {.start = kNow - seconds(40),
          .deadline = kNow + seconds(260),
          .step_started = kNow - seconds(1),
          .slept = seconds(30),
          .longest_poll = milliseconds(1500),
          .streak_length = 2,
          .streak_started = kNow - seconds(12),
          .streak_status = PollStatus::kThrottled,
          .quota_token = *QuotaToken::FromByte(3),
          .poll_is_booked = true,
          .asleep = true,
          .growth = {.not_ready = BackoffProgress::FromInt64(1),
                     .server_error = {},
                     .throttled = BackoffProgress::FromInt64(2)}};
}

WaitReport SomeReport() {
  WaitReport report;
  report.attempts = 3;
  report.counts = {0, 1, 2, 0, 0};
  report.last_poll =
      Throttled(absl::ResourceExhaustedError("slow down"), absl::Seconds(5));
  report.first_error = Throttled("429");
  report.last_error = report.last_poll;
  return report;
}

WaitToken SomeToken() {
  return SaveWait(SomeState(), SomeReport(), "job 7", kNow + seconds(9),
                  {kNow, kWall});
}

// The bytes of `token` without its checksum.
std::string Contents(const WaitToken& token) {
  return token.bytes().substr(0, token.bytes().size() - 4);
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    absl::StrAppend(&hex,
                    absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
  }
  return hex;
}

// The format.

TEST(WaitTokenTest, BytesOfVersion1StayTheSame) {
  EXPECT_EQ(ToHex(SomeToken().bytes()),
            "d75701"                                        // Magic, version.
            "038080a0bbd29df1fa31"                          // Flags, written.
            "ffbffc82aa0280a0a993910f80e8888743ffa7d6b907"  // Times.
            "80d88ee16f80dea0cb05"                          // Sums of times.
            "030001020000"                                  // Counts.
            "0202ffdf8bb459"                                // Streak.
            "01000203"                                      // Growths, quota.
            "056a6f622037"                                  // Name.
            "01020880e497d01209736c6f7720646f776e"          // Last poll.
            "0102000003343239"                              // First error.
            "02"                                            // Last error.
            "a1aaf846");                                    // CRC-32C.
}

TEST(WaitTokenTest, TokenTellsWhatPeopleAsk) {
  const WaitToken token = SomeToken();

  EXPECT_FALSE(token.empty());
  EXPECT_EQ(token.name(), "job 7");
  EXPECT_EQ(token.written(), kWall);
  EXPECT_EQ(token.wake_up(), kWall + absl::Seconds(9));
  EXPECT_EQ(token.deadline(), kWall + absl::Seconds(260));
  EXPECT_EQ(token.attempts(), 3);
  EXPECT_LE(token.bytes().size(), 150U);
}

TEST(WaitTokenTest, EmptyTokenSaysNothing) {
  const absl::StatusOr<WaitToken> token = WaitToken::Parse("");

  ASSERT_TRUE(token.ok());
  EXPECT_TRUE(token->empty());
  EXPECT_EQ(token->name(), "");
  EXPECT_EQ(token->written(), absl::InfinitePast());
  EXPECT_EQ(token->wake_up(), absl::InfinitePast());
  EXPECT_EQ(token->deadline(), absl::InfiniteFuture());
  EXPECT_EQ(token->attempts(), 0);
}

TEST(WaitTokenTest, NoDeadlineAndNoEndOfTheSleepAreKept) {
  WaitState state = SomeState();
  state.deadline = MonotonicTime::max();
  const WaitToken token = SaveWait(state, SomeReport(), "job 7",
                                   MonotonicTime::max(), {kNow, kWall});

  EXPECT_EQ(token.deadline(), absl::InfiniteFuture());
  const SavedWait saved = RestoreWait(token, {kNow, kWall});
  EXPECT_EQ(saved.state.deadline, MonotonicTime::max());
  EXPECT_EQ(saved.wake_up, MonotonicTime::max());
}

TEST(WaitTokenTest, LongTextsAreCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "\xC3\xA9";
  WaitReport report = SomeReport();
  report.last_poll = ServerError(text);
  report.first_error = Throttled(absl::ResourceExhaustedError("x" + text));
  report.last_error = Failed(absl::AbortedError("xy" + text));

  const WaitToken token =
      SaveWait(SomeState(), report, "x" + text, kNow, {kNow, kWall});

  EXPECT_LE(token.bytes().size(), WaitToken::kMaxSize);
  ASSERT_TRUE(WaitToken::Parse(token.bytes()).ok());
  EXPECT_EQ(token.name(), "x" + text.substr(0, 126));
  const SavedWait saved = RestoreWait(token, {kNow, kWall});
  EXPECT_EQ(saved.report.last_poll.detail(), text.substr(0, 200));
  EXPECT_EQ(saved.report.first_error->error().message(),
            "x" + text.substr(0, 198));
  EXPECT_EQ(saved.report.last_error->error(),
            absl::AbortedError("xy" + text.substr(0, 198)));
}

// Random states.

absl::Duration RandomDuration(SplitMix64& gen) {
  // Up to 73 years.
  return absl::Nanoseconds(static_cast<int64_t>(gen() >> (3 + gen() % 61)));
}

Poll<> RandomPoll(SplitMix64& gen) {
  const std::string text(gen() % 20, static_cast<char>('a' + gen() % 26));
  const auto status = static_cast<PollStatus>(gen() % 5);
  if (status == PollStatus::kSuccess || gen() % 2 == 0) {
    return {status, text, RandomDuration(gen)};
  }
  const auto code = static_cast<absl::StatusCode>(1 + gen() % 16);
  return {status, absl::Status(code, text), RandomDuration(gen)};
}

std::string Describe(const std::optional<Poll<>>& poll) {
  if (!poll.has_value()) return "none";
  return absl::StrCat(static_cast<int>(poll->status()), " ",
                      poll->error().ToString(), " ",
                      std::string(poll->detail()), " ",
                      absl::FormatDuration(poll->retry_after()));
}

auto Fields(const WaitState& state) {
  return std::make_tuple(
      state.start, state.deadline, state.step_started, state.slept,
      state.longest_poll, state.streak_length, state.streak_started,
      state.streak_status, state.quota_token.ToByte(), state.poll_is_booked,
      state.refused, state.final_poll, state.asleep, state.sleep_is_fixed,
      static_cast<bool>(state.hold_is_open), state.growth.not_ready.ToInt64(),
      state.growth.server_error.ToInt64(), state.growth.throttled.ToInt64());
}

TEST(WaitTokenTest, RandomWaitsComeBackAsTheyWere) {
  const uint64_t first = FirstSeed();
  for (uint64_t seed = first; seed < first + 5'000; ++seed) {
    SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
    SplitMix64 gen(seed);
    const auto time = [&] {
      return absl::ToChronoNanoseconds(RandomDuration(gen));
    };
    const auto growth = [&] {
      return BackoffProgress::FromInt64(time().count() / 2);
    };
    WaitState state;
    state.start = kNow - std::min<nanoseconds>(time(), hours(900));
    state.deadline = gen() % 4 == 0 ? MonotonicTime::max()
                                    : state.start + time() % hours(100'000);
    state.step_started = kNow - std::min<nanoseconds>(time(), hours(900));
    state.slept = time() % hours(800'000);
    state.longest_poll = time() % hours(800'000);
    state.streak_started = kNow - std::min<nanoseconds>(time(), hours(900));
    state.streak_status = static_cast<PollStatus>(gen() % 5);
    state.quota_token = *QuotaToken::FromByte(static_cast<uint8_t>(gen() % 5));
    state.poll_is_booked = gen() % 2 == 0;
    state.refused = gen() % 2 == 0;
    state.final_poll = gen() % 2 == 0;
    state.asleep = gen() % 2 == 0;
    state.sleep_is_fixed = gen() % 2 == 0;
    state.hold_is_open = gen() % 2 == 0;
    state.growth = {growth(), growth(), growth()};
    WaitReport report;
    for (int64_t& count : report.counts) {
      count = static_cast<int64_t>(gen() >> (6 + gen() % 58));
      report.attempts += count;
    }
    state.streak_length = report.attempts;
    if (report.attempts > 0) report.last_poll = RandomPoll(gen);
    if (gen() % 2 == 0) report.first_error = RandomPoll(gen);
    if (gen() % 2 == 0) {
      report.last_error = gen() % 2 == 0 ? report.last_poll : RandomPoll(gen);
    }
    const MonotonicTime wake_up =
        std::min(state.deadline, kNow + time() % hours(800'000));

    const WaitToken token =
        SaveWait(state, report, "random", wake_up, {kNow, kWall});
    const absl::StatusOr<WaitToken> parsed = WaitToken::Parse(token.bytes());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const SavedWait saved = RestoreWait(*parsed, {kNow, kWall});

    ASSERT_EQ(Fields(saved.state), Fields(state));
    ASSERT_EQ(saved.wake_up, wake_up);
    ASSERT_EQ(saved.report.attempts, report.attempts);
    ASSERT_EQ(saved.report.counts, report.counts);
    ASSERT_EQ(Describe(saved.report.last_poll), Describe(report.last_poll));
    ASSERT_EQ(Describe(saved.report.first_error), Describe(report.first_error));
    ASSERT_EQ(Describe(saved.report.last_error), Describe(report.last_error));
  }
}

// Bytes that are no token.

TEST(WaitTokenTest, EveryFlippedBitIsRefused) {
  const std::string bytes = SomeToken().bytes();
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_THAT(WaitToken::Parse(flipped).status(),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << i;
  }
}

TEST(WaitTokenTest, TornAndLongerBytesAreRefused) {
  const std::string bytes = SomeToken().bytes();
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THAT(WaitToken::Parse(bytes.substr(0, size)).status(),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << size;
  }
  EXPECT_FALSE(WaitToken::Parse(bytes + '\0').ok());
  EXPECT_FALSE(WaitToken::Parse(bytes + bytes).ok());
}

TEST(WaitTokenTest, ForeignBytesAreToldFromTornOnes) {
  EXPECT_THAT(WaitToken::Parse("#!/bin/sh\n").status().message(),
              HasSubstr("the 10 bytes of a saved wait begin as no saved wait"));
  EXPECT_THAT(
      WaitToken::Parse(SomeToken().bytes().substr(0, 5)).status().message(),
      HasSubstr("cut off"));
  EXPECT_THAT(
      WaitToken::Parse(SomeToken().bytes().substr(0, 50)).status().message(),
      HasSubstr("do not have their checksum"));
}

TEST(WaitTokenTest, NewerVersionIsUnimplementedAndNoneIsInvalid) {
  std::string contents = Contents(SomeToken());
  contents[2] = 2;
  EXPECT_EQ(WaitToken::Parse(WithChecksum(contents)).status(),
            absl::UnimplementedError(
                "the saved wait has version 2, and this build reads up to 1"));
  contents[2] = 0;
  EXPECT_THAT(WaitToken::Parse(WithChecksum(contents)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(WaitTokenTest, FieldsThatLaterBuildsAddAreSkipped) {
  const absl::StatusOr<WaitToken> token =
      WaitToken::Parse(WithChecksum(Contents(SomeToken()) + "more"));
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->attempts(), 3);
}

TEST(WaitTokenTest, ContentsThatNoWaitHasAreRefusedInSpiteOfTheChecksum) {
  const auto check = [](std::string_view what, const WaitState& state,
                        const WaitReport& report) {
    const WaitToken token =
        SaveWait(state, report, "job 7", kNow, {kNow, kWall});
    EXPECT_THAT(WaitToken::Parse(token.bytes()).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("no valid contents")))
        << what;
  };
  WaitState state = SomeState();
  state.deadline = state.start - seconds(1);
  check("deadline before the start", state, SomeReport());
  state = SomeState();
  state.streak_length = 4;
  check("streak of more than all polls", state, SomeReport());
  state = SomeState();
  state.streak_status = static_cast<PollStatus>(5);
  check("unknown status", state, SomeReport());
  state = SomeState();
  state.growth.not_ready = BackoffProgress::FromInt64(INT64_MAX);
  check("delay of centuries", state, SomeReport());
  WaitReport report = SomeReport();
  report.counts[0] = 1;
  check("more counts than attempts", SomeState(), report);
  report.counts = {INT64_MAX, INT64_MAX, 5, 0, 0};
  check("counts that overflow", SomeState(), report);
  report = SomeReport();
  report.last_poll.set_status(static_cast<PollStatus>(5));
  check("poll of an unknown status", SomeState(), report);

  // Bytes that `SaveWait` never writes. Some of them begin a longer number.
  const std::string contents = Contents(SomeToken());
  int refused = 0;
  for (size_t i = 3; i < contents.size(); ++i) {
    for (const char byte : {'\x7F', '\xFF', '\0'}) {
      std::string changed = contents;
      changed[i] = byte;
      const absl::StatusOr<WaitToken> token =
          WaitToken::Parse(WithChecksum(changed));
      if (!token.ok()) {
        ++refused;
        continue;
      }
      // A token that parses can be restored at any time.
      for (const absl::Time wall :
           {absl::InfinitePast(), kWall, absl::InfiniteFuture()}) {
        const SavedWait saved = RestoreWait(*token, {kNow, wall});
        EXPECT_GE(saved.state.deadline, saved.state.start);
      }
    }
  }
  EXPECT_GT(refused, 50);
}

// Time.

TEST(WaitTokenTest, TimeWithoutAnybodyWaitingCounts) {
  // Another machine, which was started 10 s ago.
  const MonotonicTime now(seconds(10));
  const SavedWait saved =
      RestoreWait(SomeToken(), {now, kWall + absl::Seconds(60)});

  EXPECT_EQ(saved.wake_up, now - seconds(51));
  EXPECT_EQ(saved.state.deadline, now + seconds(200));
  EXPECT_EQ(saved.state.start, now - seconds(100));
  EXPECT_EQ(saved.state.step_started, now - seconds(61));
}

TEST(WaitTokenTest, ClockThatWasSetBackNeverLengthensAWait) {
  for (const absl::Time wall :
       {kWall - absl::Seconds(1), kWall - absl::Hours(24 * 365 * 30),
        absl::InfinitePast()}) {
    const SavedWait saved = RestoreWait(SomeToken(), {kNow, wall});
    EXPECT_EQ(saved.state.deadline, kNow + seconds(260));
    EXPECT_EQ(saved.wake_up, kNow + seconds(9));
    EXPECT_EQ(saved.state.start, kNow - seconds(40));
  }
}

// Waits that continue.

class ResumeTest : public testing::Test {
 protected:
  WaitOptions Options() {
    return {.name = "job 7",
            .timeout = absl::Seconds(100),
            .backoff = {.initial_delay = absl::Seconds(2),
                        .max_delay = absl::Seconds(60),
                        .jitter = Jitter::None()},
            .clock = &clock_};
  }

  WaitOptions Saving() {
    WaitOptions options = Options();
    options.hooks.on_checkpoint = [this](const WaitToken& token) {
      tokens_.push_back(token);
    };
    return options;
  }

  // Waits until the sleep after `polls` polls, and returns its token.
  WaitToken TokenAfter(size_t polls, const Poll<>& found = NotReady("early")) {
    waiter::stop_source stop;
    size_t left = polls;
    Waiter wait(
        [&] {
          --left;
          return found;
        },
        [&] {
          WaitOptions options = Saving();
          options.hooks.on_checkpoint =
              [&, save = options.hooks.on_checkpoint](const WaitToken& token) {
                save(token);
                if (left == 0) stop.request_stop();
              };
          return options;
        }());
    EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
    return tokens_.back();
  }

  SimulatedClock clock_;
  std::vector<WaitToken> tokens_;
};

TEST_F(ResumeTest, CheckpointComesBeforeEverySleep) {
  ScriptedPoll<> script(clock_, {NotReady(), NotReady(), Success()});

  const WaitResult<> result = Waiter(std::ref(script), Saving()).Wait();

  ASSERT_TRUE(result.ok());
  ASSERT_EQ(tokens_.size(), 2U);
  EXPECT_EQ(tokens_[0].attempts(), 1);
  EXPECT_EQ(tokens_[0].wake_up() - tokens_[0].written(), absl::Seconds(2));
  EXPECT_EQ(tokens_[1].attempts(), 2);
  EXPECT_EQ(tokens_[1].wake_up() - tokens_[1].written(), absl::Seconds(4));
  EXPECT_EQ(tokens_[1].deadline() - tokens_[1].written(), absl::Seconds(98));
}

TEST_F(ResumeTest, WaitGoesOnWhereItWas) {
  const WaitToken token = TokenAfter(3);  // Polled at 0, 2 and 6 s.
  ASSERT_EQ(clock_.Elapsed(), absl::Seconds(6));
  ScriptedPoll<> script(clock_, {ServerError("oops"), NotReady(), Success()});

  const WaitResult<> result =
      Waiter(std::ref(script), Options()).Wait({.resume = token});

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(script.polled_at()[0], absl::Seconds(14));
  EXPECT_EQ(result.report().attempts, 6);
  EXPECT_EQ(result.report().count(PollStatus::kNotReady), 4);
  EXPECT_EQ(result.report().elapsed, clock_.Elapsed());
  EXPECT_EQ(result.report().first_error->detail(), "oops");
}

TEST_F(ResumeTest, PollThatWasDueMeanwhileIsMadeAtOnce) {
  const WaitToken token = TokenAfter(3);
  clock_.AdvanceTime(absl::Seconds(50));
  ScriptedPoll<> script(clock_, {Success()});

  const WaitResult<> result =
      Waiter(std::ref(script), Options()).Wait({.resume = token});

  EXPECT_TRUE(result.ok());
  EXPECT_THAT(script.polled_at(), ElementsAre(absl::Seconds(56)));
  EXPECT_EQ(result.report().elapsed, absl::Seconds(56));
  EXPECT_EQ(result.report().slept, absl::Seconds(56));
}

// A function that returns `bool` gives only a status.
TEST_F(ResumeTest, HintAndTextOfTheSavedPollEndWithTheNextOne) {
  const WaitToken token = TokenAfter(1, Throttled("slow", absl::Minutes(1)));
  WaitOptions options = Options();
  options.max_attempts = 3;

  const WaitResult<> result =
      Waiter([] { return false; }, options).Wait({.resume = token});

  // The throttled poll, and two with the backoff of "not ready".
  EXPECT_LT(clock_.Elapsed(), absl::Seconds(80));
  EXPECT_EQ(result.report().last_poll.detail(), "");
  EXPECT_EQ(result.report().last_error->detail(), "slow");
}

TEST_F(ResumeTest, WaitThatIsOlderThanTheClockKnowsItsTimes) {
  WaitState state = SomeState();
  state.start = kNow - hours(10'000);
  state.step_started = kNow - hours(9'000);
  state.longest_poll = seconds(2);
  state.deadline = kNow + seconds(260);
  const WaitToken token = SaveWait(state, SomeReport(), "job 7",
                                   kNow + seconds(9), {kNow, clock_.TimeNow()});

  const WaitResult<> result =
      Waiter([] { return false; }, Options()).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_EQ(result.report().elapsed, absl::Hours(10'000) + absl::Seconds(260));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(260));
}

TEST_F(ResumeTest, DeadlineThatHasPassedLeavesOneLastPoll) {
  const WaitToken token = TokenAfter(3);
  clock_.AdvanceTime(absl::Hours(1));
  for (const bool succeeds : {true, false}) {
    ScriptedPoll<> script(clock_, {succeeds ? Success() : NotReady("late")});

    const WaitResult<> result =
        Waiter(std::ref(script), Options()).Wait({.resume = token});

    EXPECT_EQ(result.reason(),
              succeeds ? StopReason::kSuccess : StopReason::kDeadline);
    EXPECT_EQ(result.report().late, succeeds);
    EXPECT_EQ(script.polled_at().size(), 1U);
  }
}

TEST_F(ResumeTest, MessageNamesTheDeadlineThatTheOptionsDoNotHave) {
  const WaitToken token = TokenAfter(3);
  WaitOptions options = Options();
  options.timeout = absl::InfiniteDuration();

  const WaitResult<> result =
      Waiter([] { return false; }, options).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_THAT(result.status().message(),
              HasSubstr("deadline of the saved wait, 1m40s after its start, "
                        "reached"));
}

TEST_F(ResumeTest, LimitsAreThoseOfTheOptionsThatGoOn) {
  const WaitToken token = TokenAfter(3);
  WaitOptions options = Options();
  options.timeout = absl::Seconds(1);
  options.max_attempts = 4;

  const WaitResult<> result =
      Waiter([] { return false; }, options).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kAttempts);
  EXPECT_EQ(result.report().elapsed, absl::Seconds(14));
}

TEST_F(ResumeTest, EmptyTokenStartsAWait) {
  EXPECT_TRUE(Waiter([] { return true; }, Options()).Wait({.resume = {}}).ok());
  WaitEngine engine({.threads = 0, .clock = &clock_});
  bool ended = false;
  engine
      .Start(Waiter([] { return true; }, Options()),
             [&](const WaitResult<>& result) { ended = result.ok(); },
             {.resume = WaitToken()})
      .Detach();
  engine.Run();
  EXPECT_TRUE(ended);
}

TEST_F(ResumeTest, WaitOfAnotherNameIsRefusedWithoutAPoll) {
  const WaitToken token = TokenAfter(1);
  WaitOptions options = Options();
  options.name = "job 8";
  int polls = 0;

  const WaitResult<> result =
      Waiter([&] { return ++polls > 0; }, options).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kInvalidOptions);
  EXPECT_EQ(result.status(),
            absl::InvalidArgumentError(
                "job 8: the saved wait is \"job 7\"; continue it under that "
                "name, or start again"));
  EXPECT_EQ(polls, 0);
  EXPECT_EQ(result.report().attempts, 0);
}

TEST_F(ResumeTest, NameThatWasCutIsTheSame) {
  WaitOptions options = Saving();
  options.name = std::string(500, 'n');
  ScriptedPoll<> script(clock_, {NotReady(), Success(), Success()});
  ASSERT_TRUE(Waiter(std::ref(script), options).Wait().ok());

  EXPECT_TRUE(
      Waiter(std::ref(script), options).Wait({.resume = tokens_[0]}).ok());
}

TEST_F(ResumeTest, InvalidOptionsAndStopsEndAsForANewWait) {
  const WaitToken token = TokenAfter(1);
  WaitOptions options = Options();
  options.max_attempts = 0;
  EXPECT_EQ(
      Waiter([] { return true; }, options).Wait({.resume = token}).reason(),
      StopReason::kInvalidOptions);

  waiter::stop_source stop;
  stop.request_stop();
  const WaitResult<> result =
      Waiter([] { return true; }, Options())
          .Wait({.stop = stop.get_token(), .resume = token});
  EXPECT_EQ(result.reason(), StopReason::kCancelled);
  EXPECT_EQ(result.report().attempts, 1);
}

TEST_F(ResumeTest, TokenOfAPollUnderWayAsksAgainAtOnce) {
  WaitState state = SomeState();
  state.asleep = false;
  const WaitToken token =
      SaveWait(state, SomeReport(), "job 7", kNow + seconds(9), {kNow, kWall});
  ScriptedPoll<> script(clock_, {Success()});

  const WaitResult<> result =
      Waiter(std::ref(script), Options()).Wait({.resume = token});

  EXPECT_TRUE(result.ok());
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
  EXPECT_EQ(result.report().attempts, 4);
}

TEST_F(ResumeTest, QuotaGetsBackWhatTheWaitHadPaidElsewhere) {
  const auto quota = *RetryQuota::Make({.capacity = 100, .throttle_cost = 5});
  quota->Withdraw(50, clock_.MonotonicNow());
  WaitOptions options = Options();
  options.budgets.retry_quota = quota;

  EXPECT_TRUE(
      Waiter([] { return true; }, options).Wait({.resume = SomeToken()}).ok());

  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 55);
}

TEST_F(ResumeTest, RefusedWaitEndsAtTheEndOfItsSleep) {
  WaitState state = SomeState();
  state.refused = true;
  const WaitToken token = SaveWait(state, SomeReport(), "job 7",
                                   kNow + seconds(9), {kNow, clock_.TimeNow()});
  int polls = 0;

  const WaitResult<> result =
      Waiter([&] { return ++polls > 0; }, Options()).Wait({.resume = token});

  EXPECT_EQ(result.reason(), StopReason::kQuota);
  EXPECT_EQ(polls, 0);
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(9));
}

TEST_F(ResumeTest, HistoryBeginsWhereTheWaitGoesOn) {
  for (const int64_t limit : {1, 2, 3, 10}) {
    const WaitToken token = TokenAfter(3);
    WaitOptions options = Options();
    options.hooks.history_limit = limit;
    options.max_attempts = 7;

    const WaitResult<> result =
        Waiter([] { return false; }, options).Wait({.resume = token});

    std::vector<int64_t> attempts;
    for (const PollRecord& poll : result.report().history) {
      attempts.push_back(poll.attempt);
    }
    std::vector<int64_t> expected;
    for (int64_t i = std::max<int64_t>(4, 8 - limit); i <= 7; ++i) {
      expected.push_back(i);
    }
    EXPECT_EQ(attempts, expected) << limit;
  }
}

class Lines : public WaitObserver {
 public:
  void OnStart(const StartEvent& start) override {
    lines.push_back(
        absl::StrCat("start, ", absl::FormatDuration(start.timeout)));
  }
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t attempt) override {
    lines.push_back(absl::StrCat("poll ", attempt));
  }
  void BeforeSleep(const SleepEvent& sleep) override {
    lines.push_back(absl::StrCat("sleep ", absl::FormatDuration(sleep.delay),
                                 ", ",
                                 std::string(SleepReasonName(sleep.reason))));
  }
  void OnDone(const WaitIdentity& /*wait*/,
              const WaitReport& /*report*/) override {
    lines.emplace_back("done");
  }

  std::vector<std::string> lines;
};

TEST_F(ResumeTest, ObserverSeesAWaitThatBeginsWithTheRestOfASleep) {
  const WaitToken token = TokenAfter(3);
  clock_.AdvanceTime(absl::Seconds(3));
  Lines observer;
  WaitOptions options = Saving();
  options.hooks.observer = Unowned(observer);
  tokens_.clear();

  (void)Waiter([] { return true; }, options).Wait({.resume = token});

  EXPECT_THAT(observer.lines, ElementsAre("start, 1m40s", "sleep 5s, resumed",
                                          "poll 4", "done"));
  // Saved again immediately, so that another crash loses nothing.
  ASSERT_EQ(tokens_.size(), 1U);
  EXPECT_EQ(tokens_[0].wake_up(), token.wake_up());
  EXPECT_EQ(tokens_[0].deadline(), token.deadline());
}

// On an engine.

class EngineResumeTest : public ResumeTest,
                         public testing::WithParamInterface<ReportLevel> {
 protected:
  WaitEngine engine_{{.threads = 0,
                      .tick = absl::ZeroDuration(),
                      .report = GetParam(),
                      .clock = &clock_}};
};

TEST_P(EngineResumeTest, WaitGoesOnWhereItWas) {
  const WaitToken token = TokenAfter(3);
  ScriptedPoll<> script(clock_, {ServerError("oops"), Success()});
  std::optional<WaitResult<>> result;

  engine_
      .Start(Waiter(std::ref(script), Options()),
             [&](WaitResult<> got) { result = std::move(got); },
             {.resume = token})
      .Detach();
  engine_.Run();

  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ(script.polled_at()[0], absl::Seconds(14));
  EXPECT_EQ(result->report().attempts, 5);
  EXPECT_EQ(result->report().elapsed, clock_.Elapsed());
}

TEST_P(EngineResumeTest, CheckpointsComeBeforeSleepsAndShorterSleeps) {
  ScriptedPoll<> script(clock_, {NotReady("", absl::Seconds(30)), Success()});
  WaitOptions options = Saving();
  options.errors.retry_after.rule = RetryAfterOptions::Rule::kClamp;
  options.backoff.initial_delay = absl::Seconds(40);
  WaitHandle wait = engine_.Start(Waiter(std::ref(script), options),
                                  [](const WaitResult<>&) {});
  engine_.RunDue();
  ASSERT_EQ(tokens_.size(), 1U);
  EXPECT_EQ(tokens_[0].wake_up() - tokens_[0].written(), absl::Seconds(40));

  // The server's hint still holds.
  clock_.AdvanceTime(absl::Seconds(10));
  wait.PollNow();
  engine_.RunDue();

  EXPECT_GT(tokens_.size(), 1U);
  EXPECT_EQ(tokens_.back().wake_up() - tokens_.back().written(),
            absl::Seconds(20));
  engine_.Run();
  EXPECT_THAT(script.polled_at(),
              ElementsAre(absl::ZeroDuration(), absl::Seconds(30)));
}

TEST_P(EngineResumeTest, AsynchronousPollsAndHandlesWorkAsEver) {
  const WaitToken token = TokenAfter(3);
  std::optional<PollCompletion<>> completion;
  std::optional<WaitResult<>> result;
  WaitHandle wait = engine_.Start(
      AsyncWaiter<std::function<void(PollCompletion<>)>>(
          [&](PollCompletion<> given) { completion = std::move(given); },
          Options()),
      [&](WaitResult<> got) { result = std::move(got); }, {.resume = token});
  engine_.RunDue();
  clock_.AdvanceTime(absl::Seconds(1));
  wait.PollNow();
  engine_.RunDue();
  ASSERT_TRUE(completion.has_value());
  (*completion)(Success());
  engine_.RunDue();

  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ(result->report().attempts, 4);
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(7));
}

TEST_P(EngineResumeTest, ManyWaitsGoOnInAnotherEngine) {
  constexpr int kWaits = 100;
  std::vector<WaitToken> saved(kWaits);
  const absl::Duration half = absl::Milliseconds(20'500);
  {
    WaitEngine first(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
    std::vector<WaitHandle> waits;
    waits.reserve(kWaits);
    for (int i = 0; i < kWaits; ++i) {
      WaitOptions options = Options();
      options.name = absl::StrCat("job ", i);
      options.hooks.on_checkpoint = [&saved, i](const WaitToken& token) {
        saved[static_cast<size_t>(i)] = token;
      };
      waits.push_back(first.Start(Waiter([] { return false; }, options),
                                  [](const WaitResult<>&) {}));
    }
    clock_.CallAt(half, [&] { waits.clear(); });
    first.Run();
  }
  ASSERT_EQ(clock_.Elapsed(), half);
  int ended = 0;
  for (int i = 0; i < kWaits; ++i) {
    WaitOptions options = Options();
    options.name = absl::StrCat("job ", i);
    engine_
        .Start(Waiter([] { return false; }, options),
               [&](const WaitResult<>& result) {
                 EXPECT_EQ(result.reason(), StopReason::kDeadline);
                 EXPECT_EQ(result.report().elapsed, absl::Seconds(100));
                 // At 0, 2, 6, 14, 30, 62 and, at the deadline, 100 s.
                 EXPECT_EQ(result.report().attempts, 7);
                 ++ended;
               },
               {.resume = saved[static_cast<size_t>(i)]})
        .Detach();
  }
  engine_.Run();
  EXPECT_EQ(ended, kWaits);
}

INSTANTIATE_TEST_SUITE_P(Reports, EngineResumeTest,
                         testing::Values(ReportLevel::kFull,
                                         ReportLevel::kLean),
                         [](const auto& test) {
                           return test.param == ReportLevel::kFull ? "Full"
                                                                   : "Lean";
                         });

}  // namespace
}  // namespace waiter::wait_token_test
