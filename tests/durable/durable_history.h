// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What happened to durable waits, and what must hold of it:
//
//   DurableHistory history = {...};
//   EXPECT_THAT(Violations(history), IsEmpty());
//
// A history comes from what clients, workers and the polled API wrote down, on
// simulated time or in real processes. All times are on one scale, that of the
// store's clock, and begin anywhere.

#ifndef WAITER_TESTS_DURABLE_DURABLE_HISTORY_H_
#define WAITER_TESTS_DURABLE_DURABLE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"

namespace waiter {

struct DurableHistory {
  static constexpr int kAllWorkers = -1;

  // A wait whose enqueue was acknowledged.
  struct Wait {
    absl::Duration enqueued;
    absl::Duration timeout;
    absl::Duration ready;  // Polls find success from here on.
    absl::Duration first_delay = absl::ZeroDuration();
    std::optional<absl::Duration> cancelled = {};  // Acknowledged.
  };
  // A poll, as the API saw it.
  struct PollSeen {
    absl::Duration time;
    int worker;
    std::string key;
    int64_t fence;
    bool found;  // Success.
  };
  // A call of a handler.
  struct Delivery {
    absl::Duration time;
    DurableResult result;
    bool is_accepted = true;
  };
  // A wait that a worker got from the store.
  struct Claim {
    absl::Duration at;  // When the store gave it.
    int worker;
    std::string key;
    int64_t fence;
  };
  // What a worker asked the store to do with a wait.
  struct Settle {
    absl::Duration sent;
    int worker;
    std::string key;
    int64_t fence;
    SettleAction action;
    absl::Duration delay = absl::ZeroDuration();  // Of a release.
    // When the store did it, or found the wait lost; unset if the worker never
    // got to know.
    std::optional<absl::Duration> at = {};
    bool is_lost = false;
    int64_t new_fence = 0;
  };
  // What a test did to a worker, or to all of them.
  struct Trouble {
    enum class Kind : uint8_t {
      kDead,     // At `from`.
      kStopped,  // The process stood still.
      kCut,      // Calls of the store were late, lost or refused.
    };
    Kind kind;
    int worker;
    absl::Duration from;
    absl::Duration to;
  };
  // A notification of a pending wait that the store acknowledged.
  struct Notification {
    absl::Duration at;
    std::string key;
  };
  // The store forgot what it acknowledged in this time.
  struct Loss {
    absl::Duration from;
    absl::Duration to;
  };
  // What the store says when everything is at rest.
  struct AtRest {
    std::map<std::string, DurableResult> results;  // Of delivered waits.
    int64_t pending = 0;
    int64_t held = 0;  // By live workers.
    int64_t enqueued = 0;
    int64_t ended = 0;
    // The keys of the structures.
    std::set<std::string> due = {};
    std::set<std::string> records = {};
    std::set<std::string> kept = {};
  };

  absl::Duration lease;
  // By which workers may misjudge the time of the store: half of the fastest
  // of the last round trips.
  absl::Duration slack = absl::Milliseconds(50);
  // Longest time of a call of the store that nothing delays.
  absl::Duration round_trip = absl::Milliseconds(50);
  // By which clocks of a history may differ, and by which a poll or a cancel
  // may be seen later than it began.
  absl::Duration blur = absl::ZeroDuration();
  // Whether a worker may be stopped between its last look at the lease and the
  // poll itself.
  bool stops_within_polls = false;
  // Longest time of a poll, and whether the deadline ends one in progress.
  absl::Duration poll_time = absl::ZeroDuration();
  bool ends_polls = false;
  // Time after which a trouble has no effect any more, and the lateness of 99 %
  // of all polls outside of that.
  absl::Duration recovery = absl::Seconds(20);
  absl::Duration most_late = absl::InfiniteDuration();
  // Longest time from the death of a worker until another one polls a wait that
  // it held, beyond the lease.
  absl::Duration failover = absl::InfiniteDuration();
  // Longest time from a notification, or from the end of the troubles around
  // it, until a poll begins, if no worker holds the wait. A worker that holds
  // it may take a third of a lease and a poll more.
  absl::Duration most_after_notify = absl::InfiniteDuration();
  int64_t max_attempts = 0;
  int64_t zero_us = 0;  // By the store's clock, where this scale begins.

  std::map<std::string, Wait> waits = {};
  std::vector<PollSeen> polls = {};  // In the order of time.
  std::vector<Claim> claims = {};
  std::vector<Settle> settles = {};  // Each worker's in order.
  std::vector<Delivery> deliveries = {};
  std::map<std::string, int64_t> marks = {};  // Polls of each, as a suspect.
  std::vector<Notification> notifications = {};
  std::vector<Trouble> troubles = {};
  std::vector<Loss> losses = {};
  absl::Duration end = absl::InfiniteDuration();
  AtRest rest = {};
};

// Returns a line for each violation, which begins with the name of what does
// not hold. What a loss explains is no violation.
//
//   one-result    an acknowledged wait has exactly one result
//   same-result   results never change, and neither do idempotency keys
//   delivered     each result was accepted, as it was recorded
//   leases        no two workers hold a wait at once; fences grow with each
//                 lease, and no two leases have the same
//   within        a poll lies within a lease of its worker, and not in its last
//                 third
//   fences        no poll has a lower fence than an earlier one
//   truth         success only if a poll found it, and not before it was so
//   missed        no other end if a poll found success, or would have by then
//   last-poll     a deadline only after a last poll at or behind it
//   early         no limit ends a wait before its time
//   attempts      all recorded attempts were polls; of the others there are no
//                 more than those since the last renewal of a lost lease
//   crashes       a wait fails for crashes only if it was polled alone that
//                 often, and as many holders died, stood still or were cut off
//   cancel        no poll a third of a lease after a cancel was acknowledged,
//                 or a lease, if the holder was cut off
//   rest          nothing is pending or held, records are pending or kept, and
//                 the counters add up
//   lateness      99 % of the polls are in time while nothing is in trouble
//   notify        after a notification, a poll begins in time, or once the
//                 troubles around it are over
//   failover      if one worker dies and nothing else is in trouble, another
//   one
//                 polls each wait that it held, within a lease and `failover`
std::vector<std::string> Violations(const DurableHistory& history);

// Returns what happened to a wait, a line for each event, in the order of time.
std::string StoryOf(const DurableHistory& history, const std::string& key);

// Returns the key of a violation.
std::string KeyOf(const std::string& violation);

// Polls of times without troubles, of which the lateness is known.
struct DurableLateness {
  size_t polls = 0;
  absl::Duration p99;
  std::string key = {};  // That was so late.
};
DurableLateness MeasureLateness(const DurableHistory& history);

// Waits that were held by a worker when it died, without another trouble except
// that all workers stood still for less than a second.
struct DurableFailover {
  int64_t waits = 0;
  // From the death until another worker polled the last one.
  absl::Duration longest = absl::ZeroDuration();
  std::string key = {};  // The last one.
  // The longest time that it may take.
  absl::Duration limit = absl::ZeroDuration();
};
DurableFailover MeasureFailover(const DurableHistory& history);

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_DURABLE_HISTORY_H_
