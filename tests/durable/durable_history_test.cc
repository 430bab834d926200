// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests that each check of a history finds its violation.

#include "tests/durable/durable_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"

namespace waiter::durable_history_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

DurableResult Result(const std::string& key, StopReason reason,
                     absl::Duration elapsed) {
  DurableResult result = {.name = "n",
                          .key = key,
                          .reason = reason,
                          .attempts = 2,
                          .elapsed = elapsed,
                          .idempotency_key = key};
  if (reason == StopReason::kSuccess) {
    result.value = "v";
  } else {
    result.value = absl::CancelledError("x");
  }
  return result;
}

constexpr int64_t kSecond = 1'000'000;

// Returns a history of three waits: one succeeded, one reached its deadline,
// and one was cancelled. The fences are the ends of leases.
DurableHistory Flawless() {
  DurableHistory history = {.lease = absl::Seconds(15),
                            .most_late = absl::Seconds(2),
                            .max_attempts = 5};
  history.waits["a"] = {.enqueued = absl::ZeroDuration(),
                        .timeout = absl::Seconds(60),
                        .ready = absl::Seconds(10)};
  history.waits["b"] = {.enqueued = absl::ZeroDuration(),
                        .timeout = absl::Seconds(30),
                        .ready = absl::Seconds(100)};
  history.waits["c"] = {.enqueued = absl::ZeroDuration(),
                        .timeout = absl::Seconds(60),
                        .ready = absl::Seconds(100),
                        .cancelled = absl::Seconds(7)};
  const auto at = [](int64_t seconds) { return absl::Seconds(seconds); };
  history.claims = {{at(1), 0, "a", 16 * kSecond},
                    {at(1), 0, "b", 16 * kSecond},
                    {at(1), 0, "c", 16 * kSecond},
                    {at(11), 1, "a", 26 * kSecond},
                    {at(30), 1, "b", 45 * kSecond}};
  history.polls = {{at(1), 0, "a", 16 * kSecond, false},
                   {at(1), 0, "b", 16 * kSecond, false},
                   {at(1), 0, "c", 16 * kSecond, false},
                   {at(3), 0, "c", 16 * kSecond, false},
                   {at(11), 1, "a", 26 * kSecond, true},
                   {at(30), 1, "b", 45 * kSecond, false}};
  const auto settle = [&](int64_t time, int worker, const char* key,
                          int64_t fence, SettleAction action, int64_t delay) {
    history.settles.push_back({.sent = at(time),
                               .worker = worker,
                               .key = key,
                               .fence = fence,
                               .action = action,
                               .delay = at(delay),
                               .at = at(time),
                               .new_fence = (time + 15) * kSecond + 2});
  };
  settle(1, 0, "a", 16 * kSecond, SettleAction::kRelease, 10);
  settle(1, 0, "b", 16 * kSecond, SettleAction::kRelease, 29);
  settle(5, 0, "c", 16 * kSecond, SettleAction::kHold, 0);
  settle(8, 0, "c", 20 * kSecond + 2, SettleAction::kEnd, 0);
  settle(11, 1, "a", 26 * kSecond, SettleAction::kEnd, 0);
  settle(30, 1, "b", 45 * kSecond, SettleAction::kEnd, 0);
  history.rest.results["a"] =
      Result("a", StopReason::kSuccess, absl::Seconds(11));
  history.rest.results["b"] =
      Result("b", StopReason::kDeadline, absl::Seconds(30));
  history.rest.results["c"] =
      Result("c", StopReason::kCancelled, absl::Seconds(8));
  for (const auto& [key, result] : history.rest.results) {
    history.deliveries.push_back({absl::Seconds(40), result});
  }
  history.rest.enqueued = 3;
  history.rest.ended = 3;
  history.rest.records = {"a", "b", "c"};
  history.rest.kept = {"a", "b", "c"};
  return history;
}

void Lose(DurableHistory& history, int64_t from, int64_t to) {
  history.losses.push_back({absl::Seconds(from), absl::Seconds(to)});
}

// Adds a trouble of worker 0.
void Disturb(DurableHistory& history, DurableHistory::Trouble::Kind kind,
             int64_t from, int64_t to) {
  history.troubles.push_back({kind, 0, absl::Seconds(from), absl::Seconds(to)});
}

TEST(DurableHistoryTest, FlawlessHistoryHasNoViolation) {
  EXPECT_THAT(Violations(Flawless()), IsEmpty());
}

TEST(DurableHistoryTest, SettlesOfSeveralLogsAreReadByTheirTimes) {
  DurableHistory history = Flawless();
  std::reverse(history.settles.begin(), history.settles.end());
  EXPECT_THAT(Violations(history), IsEmpty());
}

struct Broken {
  const char* check;
  std::function<void(DurableHistory&)> break_it;
};

std::vector<Broken> BrokenHistories() {
  return {
      {"one-result",
       [](auto& h) {
         h.rest.results.erase("a");
         h.rest.enqueued = h.rest.ended = 2;
       }},
      {"same-result",
       [](auto& h) {
         h.deliveries.push_back(h.deliveries[0]);
         h.deliveries.back().result.value = "other";
       }},
      {"same-result",
       [](auto& h) {
         h.deliveries.push_back(h.deliveries[0]);
         h.deliveries.back().result.idempotency_key = "other";
       }},
      {"delivered", [](auto& h) { h.deliveries.erase(h.deliveries.begin()); }},
      {"delivered", [](auto& h) { h.deliveries[0].is_accepted = false; }},
      {"delivered", [](auto& h) { h.deliveries[0].result.value = "other"; }},
      // The wait is claimed while it is held.
      {"leases", [](auto& h) { h.settles.erase(h.settles.begin()); }},
      {"leases", [](auto& h) { h.settles[0].sent = absl::Seconds(12); }},
      // Two holders have the same fence, and then a new fence is lower.
      {"leases",
       [](auto& h) {
         h.claims[3].fence = h.polls[4].fence = h.settles[4].fence =
             16 * kSecond;
       }},
      {"leases", [](auto& h) { h.settles[2].new_fence = 15 * kSecond; }},
      {"fences",
       [](auto& h) {
         // The first holder polls late.
         h.claims[0].fence = h.settles[0].fence = h.polls[0].fence =
             25 * kSecond;
         h.polls.insert(h.polls.begin() + 5,
                        {absl::Seconds(12), 0, "a", 25 * kSecond, false});
       }},
      // A poll comes in the last third of a lease, and then without a lease.
      {"within",
       [](auto& h) {
         h.waits["c"].cancelled = absl::Seconds(30);
         h.polls[3].time = absl::Seconds(12);
       }},
      {"within", [](auto& h) { h.polls[1].worker = 2; }},
      {"truth", [](auto& h) { h.polls[4].found = false; }},
      {"truth", [](auto& h) { h.waits["a"].ready = absl::Seconds(20); }},
      {"missed", [](auto& h) { h.polls[5].found = true; }},
      {"missed", [](auto& h) { h.waits["b"].ready = absl::Seconds(20); }},
      {"last-poll", [](auto& h) { h.polls[5].time = absl::Seconds(29); }},
      {"early",
       [](auto& h) {
         h.waits["b"].timeout = absl::Seconds(31);
         h.polls[5].time = absl::Seconds(32);
       }},
      {"early", [](auto& h) { h.waits["c"].cancelled.reset(); }},
      {"attempts", [](auto& h) { h.max_attempts = 1; }},
      // There are more attempts than polls, and then fewer than recorded polls.
      {"attempts", [](auto& h) { h.polls.erase(h.polls.begin()); }},
      {"attempts",
       [](auto& h) {
         for (auto& delivery : h.deliveries) delivery.result.attempts = 0;
         for (auto& [key, result] : h.rest.results) result.attempts = 0;
       }},
      {"crashes",
       [](auto& h) {
         h.rest.results["c"].reason = StopReason::kFailed;
         for (auto& delivery : h.deliveries) {
           if (delivery.result.key == "c") {
             delivery.result = h.rest.results["c"];
           }
         }
       }},
      // A poll comes a third of a lease after the cancel, although the renewal
      // would have reported the cancel.
      {"cancel",
       [](auto& h) {
         h.settles[3].sent = absl::Seconds(14);
         h.polls[3].time = absl::Seconds(13);
         h.polls[3].fence = 20 * kSecond;
         h.settles[2].new_fence = h.polls[3].fence = 30 * kSecond;
         h.settles[3].fence = 30 * kSecond;
         h.settles[3].new_fence = 31 * kSecond;
       }},
      {"rest", [](auto& h) { h.rest.pending = 1; }},
      {"rest", [](auto& h) { h.rest.held = 1; }},
      {"rest", [](auto& h) { h.rest.ended = 4; }},
      {"rest", [](auto& h) { h.rest.kept.erase("a"); }},
      {"rest", [](auto& h) { h.rest.due.insert("a"); }},
      {"rest", [](auto& h) { h.rest.due.insert("d"); }},
      {"lateness",
       [](auto& h) { h.settles[0].delay = absl::Milliseconds(7999); }},
      {"notify",
       [](auto& h) {
         h.most_after_notify = absl::Seconds(1);
         h.notifications = {{absl::Seconds(20), "b"}};
         h.claims[4].at = absl::Seconds(29.5);
       }},
  };
}

TEST(DurableHistoryTest, EachCheckFindsItsViolation) {
  const std::vector<Broken> cases = BrokenHistories();
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [check, break_it] = cases[i];
    SCOPED_TRACE(testing::Message() << check << ", case " << i);
    DurableHistory history = Flawless();
    break_it(history);
    const std::vector<std::string> found = Violations(history);
    EXPECT_THAT(found, Contains(StartsWith(check)));
  }
}

// Returns a history in which the holder of "b" dies before the deadline of "b".
DurableHistory WithADeath() {
  DurableHistory history = Flawless();
  history.failover = absl::Seconds(2);
  history.settles.erase(history.settles.begin() + 1);
  Disturb(history, DurableHistory::Trouble::Kind::kDead, 14, 14);
  history.end = absl::Minutes(5);
  return history;
}

TEST(DurableHistoryTest, FailoverIsMeasuredFromTheDeathToThePollOfAnother) {
  DurableHistory history = WithADeath();
  EXPECT_THAT(Violations(history), IsEmpty());
  EXPECT_EQ(MeasureFailover(history).waits, 1);
  EXPECT_EQ(MeasureFailover(history).longest, absl::Seconds(16));
  EXPECT_EQ(MeasureFailover(history).limit, absl::Seconds(17));

  history.failover = absl::Milliseconds(900);
  EXPECT_THAT(Violations(history), Contains(StartsWith("failover: b")));
}

TEST(DurableHistoryTest, FailoverIsNotMeasuredDuringOtherTroubles) {
  using Kind = DurableHistory::Trouble::Kind;
  DurableHistory history = WithADeath();
  history.failover = absl::Milliseconds(900);
  history.troubles.push_back(
      {Kind::kCut, 1, absl::Seconds(20), absl::Seconds(21)});
  EXPECT_EQ(MeasureFailover(history).waits, 0);

  // A short stop of all workers extends the limit.
  history.troubles.back() = {Kind::kStopped, DurableHistory::kAllWorkers,
                             absl::Seconds(20), absl::Seconds(20.5)};
  EXPECT_EQ(MeasureFailover(history).waits, 1);
  EXPECT_EQ(MeasureFailover(history).limit, absl::Seconds(16.4));
  EXPECT_THAT(Violations(history), IsEmpty());
}

struct Explained {
  const char* check;
  std::function<void(DurableHistory&)> break_it;
  std::function<void(DurableHistory&)> explain;
};

std::vector<Explained> ExplainedHistories() {
  using Kind = DurableHistory::Trouble::Kind;
  return {
      {"within",
       [](auto& h) {
         h.stops_within_polls = true;
         h.waits["c"].cancelled = absl::Seconds(30);
         h.polls[3].time = absl::Seconds(12);
       },
       [](auto& h) { Disturb(h, Kind::kStopped, 9, 12); }},
      {"cancel",
       [](auto& h) {
         h.polls[3].time = absl::Seconds(13);
         h.settles[2].new_fence = h.polls[3].fence = 30 * kSecond;
         h.settles[3].fence = 30 * kSecond;
         h.settles[3].new_fence = 31 * kSecond;
       },
       [](auto& h) { Disturb(h, Kind::kCut, 8, 12); }},
      {"one-result",
       [](auto& h) {
         h.rest.results.erase("a");
         h.rest.enqueued = h.rest.ended = 2;
         h.rest.records.erase("a");
         h.rest.kept.erase("a");
       },
       [](auto& h) { Lose(h, 0, 0); }},
      {"same-result",
       [](auto& h) {
         h.deliveries.push_back(h.deliveries[0]);
         h.deliveries[0].result.value = "lost";
       },
       [](auto& h) { Lose(h, 11, 12); }},
      // The lost end was sent again, long after the result.
      {"same-result",
       [](auto& h) {
         h.deliveries.push_back(h.deliveries[0]);
         h.deliveries[0].result.value = "lost";
         h.settles[4].at.reset();
         h.settles.push_back(h.settles[4]);
         h.settles.back().sent = absl::Seconds(35);
         h.settles.back().at = absl::Seconds(35);
       },
       [](auto& h) { Lose(h, 35, 36); }},
      // The lost end was sent once, late, by a worker that had been stopped.
      {"same-result",
       [](auto& h) {
         h.deliveries.push_back(h.deliveries[0]);
         h.deliveries[0].result.value = "lost";
         h.settles[4].sent = absl::Seconds(35);
         h.settles[4].at = absl::Seconds(35);
         Lose(h, 35, 36);
       },
       [](auto& h) {
         h.troubles.push_back(
             {Kind::kStopped, 1, absl::Seconds(11), absl::Seconds(35)});
       }},
      {"leases", [](auto& h) { h.settles[0].sent = absl::Seconds(12); },
       [](auto& h) { Lose(h, 1, 1); }},
      {"lateness",
       [](auto& h) { h.settles[0].delay = absl::Milliseconds(7999); },
       [](auto& h) { Disturb(h, Kind::kDead, 2, 2); }},
      // The enqueue is lost, but the time at which the poll is due is not in
      // the loss.
      {"lateness",
       [](auto& h) {
         h.waits["d"] = {.enqueued = absl::Seconds(20),
                         .timeout = absl::Seconds(60),
                         .ready = absl::Seconds(100),
                         .first_delay = absl::Seconds(5)};
       },
       [](auto& h) { Lose(h, 20, 21); }},
      // A delivery is refused. The worker got no reply that says that its
      // result was recorded.
      {"lateness",
       [](auto& h) {
         h.settles[4].at = std::nullopt;
         h.claims.push_back({absl::Seconds(27), 1, "a", 42 * kSecond});
         h.settles.push_back({.sent = absl::Seconds(28),
                              .worker = 1,
                              .key = "a",
                              .fence = 42 * kSecond,
                              .action = SettleAction::kRelease,
                              .delay = absl::Seconds(1),
                              .at = absl::Seconds(28),
                              .new_fence = 43 * kSecond + 2});
       },
       [](auto& h) { h.deliveries[0].time = absl::Seconds(27.5); }},
      {"crashes",
       [](auto& h) {
         DurableResult& result = h.rest.results["b"];
         result.reason = StopReason::kFailed;
         result.value = absl::AbortedError("b: crashed its worker 3 times");
         for (int i = 2; i < 5; ++i) {
           h.claims.push_back(
               {absl::Minutes(i), i, "b", (60 * i + 15) * kSecond});
           h.polls.push_back(
               {absl::Minutes(i), i, "b", (60 * i + 15) * kSecond, false});
         }
         h.deliveries[1].result = result;
         h.marks["b"] = 3;
       },
       [](auto& h) {
         for (int i = 2; i < 5; ++i) {
           h.troubles.push_back(
               {Kind::kDead, i, absl::Minutes(i), absl::Minutes(i)});
         }
       }},
      // The claim of "a" was known 8 s later, so that the time in its result
      // may be wrong by half of that.
      {"truth", [](auto& h) { h.waits["a"].ready = absl::Seconds(15); },
       [](auto& h) { h.claims[3].late = absl::Seconds(8); }},
  };
}

// Each case breaks a rule, and then adds the fault that explains it.
TEST(DurableHistoryTest, TroublesAndLossesExplainWhatTheyMay) {
  for (const auto& [check, break_it, explain] : ExplainedHistories()) {
    SCOPED_TRACE(check);
    DurableHistory history = Flawless();
    break_it(history);
    EXPECT_THAT(Violations(history), Contains(StartsWith(check)));
    explain(history);
    EXPECT_THAT(Violations(history), Not(Contains(StartsWith(check))));
  }
}

TEST(DurableHistoryTest, StoryTellsAllOfAWait) {
  const std::string story = StoryOf(Flawless(), "c");
  for (const char* const part :
       {"0 enqueued", "1s claimed by 0 with 16000000", "3s polled by 0",
        "5s worker 0 sends h", "7s cancelled", "40s delivered as c"}) {
    EXPECT_THAT(story, HasSubstr(part));
  }
  EXPECT_EQ(KeyOf("one-result: c has no result"), "c");
}

}  // namespace
}  // namespace waiter::durable_history_test
