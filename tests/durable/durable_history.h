// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What happened to durable waits, and what must hold of it:
//
//   DurableHistory history = {...};
//   EXPECT_THAT(Violations(history), IsEmpty());
//
// All times are on one scale, that of the store.

#ifndef WAITER_TESTS_DURABLE_DURABLE_HISTORY_H_
#define WAITER_TESTS_DURABLE_DURABLE_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "waiter/distributed/durable_result.h"

namespace waiter {

struct DurableHistory {
  // A wait whose enqueue was acknowledged.
  struct Wait {
    absl::Duration enqueued;
    absl::Duration timeout;
    absl::Duration ready;  // Polls find success from here on.
    std::optional<absl::Duration> cancelled = {};  // Acknowledged.
  };
  struct PollSeen {
    absl::Duration time;
    int worker;
    std::string key;
    int64_t fence;
    bool found;  // Success.
  };
  struct Delivery {
    absl::Duration time;
    DurableResult result;
  };
  // What the store says when everything is at rest.
  struct AtRest {
    std::map<std::string, DurableResult> results;  // Of delivered waits.
    int64_t pending = 0;
    int64_t held = 0;  // By live workers.
    int64_t enqueued = 0;
    int64_t ended = 0;
  };

  absl::Duration lease;
  // By which workers may misjudge the time of the store: half of the fastest
  // of the last round trips.
  absl::Duration slack = absl::Milliseconds(50);
  int64_t max_attempts = 0;
  std::map<std::string, Wait> waits = {};
  std::vector<PollSeen> polls = {};  // In the order of time.
  std::vector<Delivery> deliveries = {};
  AtRest rest = {};
};

// Returns a line for each violation, which begins with the name of what does
// not hold:
//
//   one-result    an acknowledged wait has exactly one result
//   same-result   results never change, and neither do idempotency keys
//   delivered     each result was delivered, as it was recorded
//   fences        who polls has the highest fence of all so far
//   truth         success only if a poll found it, and not before it was so
//   last-poll     a deadline only after a last poll at or behind it
//   early         no limit ends a wait before its time
//   attempts      no more polls than allowed, but for one of each crash
//   cancel        no poll a lease after a cancel was acknowledged
//   rest          nothing is pending or held, and the counters add up
std::vector<std::string> Violations(const DurableHistory& history);

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_DURABLE_HISTORY_H_
