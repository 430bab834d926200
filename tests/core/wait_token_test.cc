// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
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
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::wait_token_test {
namespace {

using ::std::chrono::hours;
using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;
using ::std::chrono::seconds;
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
  EXPECT_THAT(
      WaitToken::Parse("#!/bin/sh\n").status().message(),
      HasSubstr("the 10 bytes of a saved wait do not begin like a saved wait"));
  EXPECT_THAT(
      WaitToken::Parse(SomeToken().bytes().substr(0, 5)).status().message(),
      HasSubstr("truncated"));
  EXPECT_THAT(
      WaitToken::Parse(SomeToken().bytes().substr(0, 50)).status().message(),
      HasSubstr("do not match their checksum"));
}

TEST(WaitTokenTest, NewerVersionIsUnimplementedAndNoneIsInvalid) {
  std::string contents = Contents(SomeToken());
  for (int version = 2; version < 256; ++version) {
    contents[2] = static_cast<char>(version);
    EXPECT_THAT(WaitToken::Parse(WithChecksum(contents)).status(),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr(absl::StrCat("version ", version))));
  }
  contents[2] = 2;
  EXPECT_EQ(
      WaitToken::Parse(WithChecksum(contents)).status(),
      absl::UnimplementedError(
          "the saved wait has version 2; this build reads versions up to 1"));
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

TEST(WaitTokenTest, SizeIsLimitedWhateverTheContents) {
  const std::string contents = Contents(SomeToken());
  const auto with_size = [&](size_t size) {
    return WaitToken::Parse(
        WithChecksum(contents + std::string(size - contents.size() - 4, 'x')));
  };
  EXPECT_TRUE(with_size(WaitToken::kMaxSize).ok());
  EXPECT_THAT(with_size(WaitToken::kMaxSize + 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(WaitTokenTest, ContentsThatNoWaitHasAreRefusedInSpiteOfTheChecksum) {
  const auto check = [](std::string_view what, const WaitState& state,
                        const WaitReport& report) {
    const WaitToken token =
        SaveWait(state, report, "job 7", kNow, {kNow, kWall});
    EXPECT_THAT(WaitToken::Parse(token.bytes()).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("invalid contents")))
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

// Machines without a sensible clock.
TEST(WaitTokenTest, EveryWallClockGivesAWaitThatEnds) {
  const std::vector<absl::Time> times = {
      absl::InfinitePast(),
      absl::FromUnixNanos(INT64_MIN),
      absl::UnixEpoch(),
      kWall,
      absl::FromUnixNanos(INT64_MAX),
      absl::FromUnixSeconds(int64_t{1} << 40),
      absl::InfiniteFuture()};
  for (const absl::Time saved : times) {
    for (const absl::Time resumed : times) {
      SCOPED_TRACE(absl::StrCat(absl::FormatTime(saved), " to ",
                                absl::FormatTime(resumed)));
      const absl::StatusOr<WaitToken> token =
          WaitToken::Parse(SaveWait(SomeState(), SomeReport(), "job 7",
                                    kNow + seconds(9), {kNow, saved})
                               .bytes());
      ASSERT_TRUE(token.ok()) << token.status();
      const SavedWait wait = RestoreWait(*token, {kNow, resumed});
      EXPECT_LE(wait.wake_up, kNow + seconds(9));
      EXPECT_LE(wait.state.deadline, kNow + seconds(260));
      EXPECT_LE(wait.state.start, kNow - seconds(40));
      EXPECT_EQ(wait.state.deadline - wait.state.start, seconds(300));
    }
  }
}

}  // namespace
}  // namespace waiter::wait_token_test
