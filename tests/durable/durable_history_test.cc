// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Each check of a history finds what it is for.

#include "tests/durable/durable_history.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/distributed/durable_result.h"
#include "waiter/wait_report.h"

namespace waiter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
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

// One wait that succeeded, one that reached its deadline, one cancelled.
DurableHistory Flawless() {
  DurableHistory history = {.lease = absl::Seconds(15), .max_attempts = 5};
  history.waits["a"] = {.enqueued = absl::ZeroDuration(),
                        .timeout = absl::Seconds(60),
                        .ready = absl::Seconds(10)};
  history.waits["b"] = {.enqueued = absl::ZeroDuration(),
                        .timeout = absl::Seconds(30),
                        .ready = absl::Seconds(100)};
  history.waits["c"] = {.enqueued = absl::ZeroDuration(),
                        .timeout = absl::Seconds(60),
                        .ready = absl::Seconds(100),
                        .cancelled = absl::Seconds(5)};
  history.polls = {{absl::Seconds(1), 0, "a", 11, false},
                   {absl::Seconds(1), 0, "c", 11, false},
                   {absl::Seconds(11), 1, "a", 13, true},
                   {absl::Seconds(12), 1, "c", 13, false},
                   {absl::Seconds(30), 1, "b", 15, false}};
  history.rest.results["a"] =
      Result("a", StopReason::kSuccess, absl::Seconds(11));
  history.rest.results["b"] =
      Result("b", StopReason::kDeadline, absl::Seconds(30));
  history.rest.results["c"] =
      Result("c", StopReason::kCancelled, absl::Seconds(13));
  for (const auto& [key, result] : history.rest.results) {
    history.deliveries.push_back({absl::Seconds(40), result});
  }
  history.rest.enqueued = 3;
  history.rest.ended = 3;
  return history;
}

TEST(DurableHistoryTest, FlawlessHistoryHasNoViolation) {
  EXPECT_THAT(Violations(Flawless()), IsEmpty());
}

TEST(DurableHistoryTest, EachCheckFindsItsViolation) {
  const struct {
    const char* check;
    std::function<void(DurableHistory&)> break_it;
  } cases[] = {
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
      {"delivered", [](auto& h) { h.deliveries[0].result.value = "other"; }},
      {"fences", [](auto& h) { h.polls[2].fence = 9; }},
      {"truth", [](auto& h) { h.polls[2].found = false; }},
      {"truth", [](auto& h) { h.waits["a"].ready = absl::Seconds(20); }},
      {"last-poll", [](auto& h) { h.polls[4].time = absl::Seconds(29); }},
      {"early",
       [](auto& h) {
         h.waits["b"].timeout = absl::Seconds(31);
         h.polls[4].time = absl::Seconds(32);
       }},
      {"early", [](auto& h) { h.waits["c"].cancelled.reset(); }},
      {"attempts", [](auto& h) { h.max_attempts = 1; }},
      {"cancel",
       [](auto& h) {
         h.polls.push_back({absl::Seconds(21), 1, "c", 15, false});
       }},
      {"rest", [](auto& h) { h.rest.pending = 1; }},
      {"rest", [](auto& h) { h.rest.held = 1; }},
      {"rest", [](auto& h) { h.rest.ended = 4; }},
  };
  for (const auto& [check, break_it] : cases) {
    SCOPED_TRACE(check);
    DurableHistory history = Flawless();
    break_it(history);
    const std::vector<std::string> found = Violations(history);
    ASSERT_FALSE(found.empty());
    EXPECT_THAT(found[0], StartsWith(check));
  }
}

}  // namespace
}  // namespace waiter
