// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/leased_wait.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/durable/suspect_line.h"
#include "waiter/loop.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal::leased_wait_test {
namespace {

using State = LeasedWait::State;
using Event = LeasedWait::Event;
using std::chrono::seconds;
using ::testing::StartsWith;

constexpr int kStates = static_cast<int>(State::kGone) + 1;
constexpr int kEvents = static_cast<int>(Event::kLose) + 1;
constexpr MonotonicTime kNow = MonotonicTime(seconds(1000));
constexpr WaitLease kLease = {DueNumber(7), kNow + seconds(15)};
constexpr WaitLease kNextLease = {DueNumber(9), kNow + seconds(20)};

// A letter for each state, in order. A dot in the table is no transition.
constexpr std::string_view kLetters = "CUDSPLREFVAXG";

// Rows are states, and columns are events, in order: suspect, start, start due,
// poll, sleep, give back, suspended, end, fetch, deliver, skip, accepted,
// refused, written, lose.
constexpr std::array<const char*, kStates> kExpected = {
    "USD....EFVA....",  // claimed
    ".SD..R.E......G",  // suspected
    "...PDLRE......X",  // due
    "...PSLRE......X",  // sleeping
    "...PS.GE......X",  // polling
    "......RE......X",  // leaving
    ".............GG",  // releasing
    ".........V...GG",  // ending
    ".........VA...G",  // fetching
    "...........AR.X",  // delivering
    ".............GG",  // delivered
    "......GG...GG..",  // dropped
    "...............",  // gone
};

std::vector<State> States() {
  std::vector<State> states;
  states.reserve(kStates);
  for (int i = 0; i < kStates; ++i) states.push_back(static_cast<State>(i));
  return states;
}

std::vector<Event> Events() {
  std::vector<Event> events;
  events.reserve(kEvents);
  for (int i = 0; i < kEvents; ++i) events.push_back(static_cast<Event>(i));
  return events;
}

char LetterOf(State state) { return kLetters[static_cast<size_t>(state)]; }

LeasedWait Claimed(const DurableRecord& record = {}) {
  return LeasedWait({.key = "k", .args = "args", .crashes = 1}, record, kLease);
}

// Returns a sequence of events that leads to each state.
std::map<State, std::vector<Event>> Paths() {
  std::map<State, std::vector<Event>> paths = {{State::kClaimed, {}}};
  std::vector<State> found = {State::kClaimed};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Event event : Events()) {
      const std::optional<State> next = LeasedWait::Next(found[i], event);
      if (!next.has_value() || paths.contains(*next)) continue;
      paths[*next] = paths[found[i]];
      paths[*next].push_back(event);
      found.push_back(*next);
    }
  }
  return paths;
}

void Walk(State state, LeasedWait& wait) {
  const std::map<State, std::vector<Event>> paths = Paths();
  for (const Event event : paths.at(state)) {
    ASSERT_TRUE(wait.Apply(event));
  }
  ASSERT_EQ(wait.state(), state);
}

TEST(LeasedWaitTest, TableIsAsExpectedForEachStateAndEvent) {
  for (const State state : States()) {
    const std::string row = kExpected.at(static_cast<size_t>(state));
    ASSERT_EQ(row.size(), static_cast<size_t>(kEvents));
    for (const Event event : Events()) {
      const std::optional<State> next = LeasedWait::Next(state, event);
      EXPECT_EQ(next.has_value() ? LetterOf(*next) : '.',
                row[static_cast<size_t>(event)])
          << LetterOf(state) << " at event " << static_cast<int>(event);
      LeasedWait wait = Claimed();
      Walk(state, wait);
      EXPECT_EQ(wait.Allows(event), next.has_value());
      EXPECT_EQ(wait.Apply(event), next.has_value());
      EXPECT_EQ(wait.state(), next.value_or(state));
    }
  }
}

TEST(LeasedWaitTest, EachStateIsReachedAndLeft) {
  EXPECT_EQ(Paths().size(), static_cast<size_t>(kStates));
  for (const State state : States()) {
    std::set<State> reached = {state};
    std::vector<State> open = {state};
    while (!open.empty()) {
      const State from = open.back();
      open.pop_back();
      for (const Event event : Events()) {
        const std::optional<State> next = LeasedWait::Next(from, event);
        if (next.has_value() && reached.insert(*next).second) {
          open.push_back(*next);
        }
      }
    }
    EXPECT_TRUE(reached.contains(State::kGone)) << LetterOf(state);
  }
}

// The engine's functions must not refer to a wait that was erased.
TEST(LeasedWaitTest, WaitThatRunsIsGoneOnlyByTheEngine) {
  const std::set<Event> of_engine = {Event::kSuspended, Event::kEnd,
                                     Event::kAccepted, Event::kRefused};
  for (const State state : States()) {
    for (const Event event : Events()) {
      const std::optional<State> next = LeasedWait::Next(state, event);
      if (!LeasedWait::Runs(state) || !next.has_value()) continue;
      if (!LeasedWait::Runs(*next)) {
        EXPECT_TRUE(of_engine.contains(event))
            << LetterOf(state) << " at event " << static_cast<int>(event);
      }
    }
  }
}

TEST(LeasedWaitTest, StateDecidesWhatIsWritten) {
  const std::map<State, std::optional<SettleAction>> writes = {
      {State::kReleasing, SettleAction::kRelease},
      {State::kEnding, SettleAction::kEnd},
      {State::kDelivered, SettleAction::kDelivered},
      {State::kDropped, std::nullopt},
      {State::kGone, std::nullopt}};
  const std::set<State> renewed = {State::kSuspected, State::kDue,
                                   State::kSleeping,  State::kPolling,
                                   State::kFetching,  State::kDelivering};
  for (const State state : States()) {
    LeasedWait wait = Claimed();
    Walk(state, wait);
    const auto it = writes.find(state);
    EXPECT_EQ(wait.write(),
              it == writes.end() ? SettleAction::kHold : it->second)
        << LetterOf(state);
    EXPECT_EQ(wait.is_lost(), !wait.write().has_value()) << LetterOf(state);
    EXPECT_EQ(wait.is_renewed(), renewed.contains(state)) << LetterOf(state);
  }
}

TEST(LeasedWaitTest, NotificationLastsUntilAPollBegins) {
  LeasedWait wait(ClaimedWait{.key = "k", .is_notified = true}, {}, kLease);
  ASSERT_TRUE(wait.Apply(Event::kStartDue));
  EXPECT_TRUE(wait.is_notified());
  ASSERT_TRUE(wait.Apply(Event::kPoll));
  EXPECT_FALSE(wait.is_notified());
}

TEST(LeasedWaitTest, RenewalMovesTheLeaseAndForgetsCrashes) {
  LeasedWait wait = Claimed();
  Walk(State::kSleeping, wait);
  EXPECT_EQ(wait.crashes(), 1);
  const SettleItem item = wait.BeginWrite();
  EXPECT_EQ(item.fence, 7);
  EXPECT_EQ(item.action, SettleAction::kHold);
  EXPECT_TRUE(wait.is_writing());
  EXPECT_EQ(wait.OnWritten(item.action, kNextLease), std::nullopt);
  EXPECT_FALSE(wait.is_writing());
  EXPECT_EQ(wait.crashes(), 0);
  EXPECT_EQ(wait.lease().end, kNextLease.end);
  EXPECT_EQ(wait.BeginWrite().fence, 9);
}

TEST(LeasedWaitTest, RecordIsSentOnceUnlessTheReplyIsLost) {
  LeasedWait wait = Claimed();
  Walk(State::kPolling, wait);
  wait.Begin({}, {}, kNow);
  EXPECT_EQ(wait.BeginWrite().record, "") << "the store has it";
  wait.OnWritten(SettleAction::kHold, kNextLease);
  wait.Save({}, {}, kNow);
  EXPECT_EQ(wait.BeginWrite().record, DurableRecord().Encode());
  wait.OnWriteFailed();
  EXPECT_EQ(wait.BeginWrite().record, DurableRecord().Encode());
  wait.OnWritten(SettleAction::kHold, kNextLease);
  EXPECT_EQ(wait.BeginWrite().record, "");
}

TEST(LeasedWaitTest, RecordHasTheTokenByTheClockOfTheStore) {
  const absl::Time wall = absl::FromUnixSeconds(1'790'000'000);
  const WaitToken token =
      SaveWait(WaitState(), WaitReport(), "k", kNow, {kNow, wall});
  LeasedWait wait = Claimed();
  Walk(State::kPolling, wait);
  wait.Save(token, std::chrono::hours(1), kNow);
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<DurableRecord> record =
        ParseRecord(wait.BeginWrite().record);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->token.written(), wall - absl::Hours(1));
    wait.OnWriteFailed();
  }
}

TEST(LeasedWaitTest, ResultIsWrittenAndThenDelivered) {
  LeasedWait wait = Claimed({.born_us = 100});
  Walk(State::kPolling, wait);
  wait.End(StopReason::kSuccess, absl::OkStatus(), 3, 150, /*has_handler=*/true,
           "value");
  ASSERT_TRUE(wait.Apply(Event::kEnd));
  const SettleItem end = wait.BeginWrite();
  EXPECT_EQ(end.action, SettleAction::kEnd);
  EXPECT_EQ(end.value, "value");
  EXPECT_EQ(end.reason, "success");
  EXPECT_THAT(end.record, StartsWith("1100 "));
  EXPECT_EQ(wait.record().elapsed_us, 50);
  EXPECT_EQ(wait.OnWritten(end.action, kNextLease), Event::kDeliver);
  ASSERT_TRUE(wait.Apply(Event::kDeliver));
  wait.EndDelivery(/*is_accepted=*/false, kNow + seconds(1));
  ASSERT_TRUE(wait.Apply(Event::kRefused));
  EXPECT_EQ(wait.wake_up(), kNow + seconds(1));
  EXPECT_EQ(wait.record().deliveries, 1);
  const SettleItem release = wait.BeginWrite();
  EXPECT_EQ(release.action, SettleAction::kRelease);
  EXPECT_EQ(release.fence, 9);
  EXPECT_EQ(release.value, "") << "the store has it";
  EXPECT_EQ(wait.OnWritten(release.action, kNextLease), Event::kWritten);
}

TEST(LeasedWaitTest, ResultWithoutAHandlerIsWrittenAsDelivered) {
  LeasedWait wait = Claimed();
  Walk(State::kPolling, wait);
  wait.End(StopReason::kFailed, absl::AbortedError("x"), 1, 0,
           /*has_handler=*/false, "");
  ASSERT_TRUE(wait.Apply(Event::kEnd));
  const SettleItem item = wait.BeginWrite();
  EXPECT_EQ(item.action, SettleAction::kEndUnheard);
  EXPECT_THAT(item.record, StartsWith("2"));
  EXPECT_EQ(wait.OnWritten(item.action, kNextLease), Event::kWritten);
}

TEST(DueNumberTest, IsOddWhileLeased) {
  EXPECT_TRUE(DueNumber(7).is_leased());
  EXPECT_FALSE(DueNumber(8).is_leased());
  for (int64_t delay = 0; delay < 5; ++delay) {
    const int64_t free = DueNumber::FreeDelay(delay);
    EXPECT_GE(free, delay);
    EXPECT_LE(free, delay + 1);
    EXPECT_FALSE(DueNumber(100 + free).is_leased());
  }
}

TEST(SuspectLineTest, OneSuspectIsPolledAtATime) {
  const Suspect a = {1, "a"};
  const Suspect b = {1, "b"};
  SuspectLine line;
  EXPECT_EQ(line.Next(), std::nullopt);
  line.Add(a);
  line.Add(b);
  EXPECT_EQ(line.Next(), a);
  EXPECT_EQ(line.Next(), std::nullopt) << "its mark is in flight";
  EXPECT_FALSE(line.EndPoll(a)) << "it is not polled yet";
  EXPECT_TRUE(line.IsCurrent(a));
  line.OnMarked();
  EXPECT_EQ(line.Next(), std::nullopt) << "it is polled";
  EXPECT_FALSE(line.EndPoll(b));
  EXPECT_TRUE(line.EndPoll(a));
  EXPECT_FALSE(line.IsCurrent(a));
  EXPECT_EQ(line.Next(), b);
  line.Skip();
  EXPECT_FALSE(line.EndPoll(b));
  EXPECT_EQ(line.Next(), std::nullopt);
}

}  // namespace
}  // namespace waiter::internal::leased_wait_test
