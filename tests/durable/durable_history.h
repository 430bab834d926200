// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A history of durable waits, and the rules that it must keep:
//
//   DurableHistory history = {...};
//   EXPECT_THAT(Violations(history), IsEmpty());
//
// A history comes from the logs of clients, workers and the polled API, on
// simulated time or in real processes. All times are on the scale of the
// store's clock, from any zero.

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
    absl::Duration ready;  // Polls find success from this time on.
    absl::Duration first_delay = absl::ZeroDuration();
    std::optional<absl::Duration> cancelled = {};  // Time of the reply.
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
    absl::Duration at;  // When the store replied.
    int worker;
    std::string key;
    int64_t fence;
    // How much later the worker got the reply.
    absl::Duration late = absl::ZeroDuration();
  };
  // A request of a worker to change a wait in the store.
  struct Settle {
    absl::Duration sent;
    int worker;
    std::string key;
    int64_t fence;
    SettleAction action;
    absl::Duration delay = absl::ZeroDuration();  // Only for a release.
    // When the store did it or found the wait lost; unset if the worker got no
    // reply.
    std::optional<absl::Duration> at = {};
    bool is_lost = false;
    int64_t new_fence = 0;
  };
  // A fault that the test caused, in one worker or in all of them.
  struct Trouble {
    enum class Kind : uint8_t {
      kDead,     // The worker died at `from`.
      kStopped,  // The process was stopped.
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
  // The store forgot writes that it had acknowledged between `from` and `to`.
  struct Loss {
    absl::Duration from;
    absl::Duration to;
  };
  // The contents of the store after all waits have ended.
  struct AtRest {
    std::map<std::string, DurableResult> results;  // Delivered ones, by key.
    int64_t pending = 0;
    int64_t held = 0;  // Waits that live workers hold.
    int64_t enqueued = 0;
    int64_t ended = 0;
    // The keys in each structure of the store.
    std::set<std::string> due = {};
    std::set<std::string> records = {};
    std::set<std::string> kept = {};
  };

  absl::Duration lease;
  // The maximum error of the store's time as workers estimate it: half of the
  // fastest of the last round trips. It is larger if the reply to the claim
  // came later than that.
  absl::Duration slack = absl::Milliseconds(50);
  // Maximum time of a call of the store that nothing delays.
  absl::Duration round_trip = absl::Milliseconds(50);
  // The maximum difference between the clocks of a history, and between the
  // start of a poll or a cancel and the time at which it is logged.
  absl::Duration blur = absl::ZeroDuration();
  // Whether a worker may be stopped between its last check of the lease and the
  // poll itself.
  bool stops_within_polls = false;
  // Maximum time of a poll, and whether the deadline ends a poll in progress.
  absl::Duration poll_time = absl::ZeroDuration();
  bool ends_polls = false;
  // Time after which a trouble no longer has an effect, and the maximum
  // lateness of 99 % of the polls outside such times.
  absl::Duration recovery = absl::Seconds(20);
  absl::Duration most_late = absl::InfiniteDuration();
  // If a worker dies, another one polls each wait that it held within a lease
  // and this time.
  absl::Duration failover = absl::InfiniteDuration();
  // Maximum time from a notification, or from the end of the troubles around
  // it, until a poll begins, if no worker holds the wait. A worker that holds
  // it may take longer, by a third of a lease and a poll.
  absl::Duration most_after_notify = absl::InfiniteDuration();
  int64_t max_attempts = 0;
  int64_t zero_us = 0;  // The zero of this scale, by the store's clock.

  std::map<std::string, Wait> waits = {};
  std::vector<PollSeen> polls = {};  // In order of time.
  std::vector<Claim> claims = {};
  std::vector<Settle> settles = {};  // In order for each worker.
  std::vector<Delivery> deliveries = {};
  std::map<std::string, int64_t> marks = {};  // Polls as a suspect, by key.
  std::vector<Notification> notifications = {};
  std::vector<Trouble> troubles = {};
  std::vector<Loss> losses = {};
  absl::Duration end = absl::InfiniteDuration();
  AtRest rest = {};
};

// Returns a line for each violation, which begins with the name of the rule. A
// violation that a loss explains is left out.
//
//   one-result    an acknowledged wait has exactly one result
//   same-result   results never change, and neither do idempotency keys
//   delivered     each result was accepted, as it was recorded
//   leases        no two workers hold a wait at the same time; each lease has a
//                 higher fence than the one before
//   within        a poll lies within a lease of its worker, and not in its last
//                 third
//   fences        no poll has a lower fence than an earlier one
//   truth         a wait succeeds only if a poll found success, and not before
//                 the API was ready
//   missed        a wait has no other end if a poll found success, or would
//                 have found it by then
//   last-poll     a wait reaches its deadline only after a last poll, at the
//                 deadline or later
//   early         no limit ends a wait before its time
//   attempts      all recorded attempts were polls; a wait lacks only polls
//                 since the last renewal of a lost lease
//   crashes       a wait fails for three crashes only if it was polled alone
//                 three times, and three holders died, were stopped or cut off
//   cancel        no poll begins a third of a lease after a cancel was
//                 acknowledged, or a whole lease if the holder was cut off
//   rest          no wait is pending or held, each record is pending or kept,
//                 and the counters add up
//   lateness      99 % of the polls are in time while nothing is in trouble
//   notify        after a notification, or after the troubles around it, a poll
//                 begins in time
//   failover      if one worker dies and nothing else is in trouble, another
//                 one polls each wait that it held, within a lease and
//                 `failover`
std::vector<std::string> Violations(const DurableHistory& history);

// Returns the events of a wait, one per line, in order of time.
std::string StoryOf(const DurableHistory& history, const std::string& key);

// Returns the key that a violation names.
std::string KeyOf(const std::string& violation);

// The lateness of polls at times without troubles.
struct DurableLateness {
  size_t polls = 0;
  absl::Duration p99;
  std::string key = {};  // Its poll has the lateness `p99`.
};
DurableLateness MeasureLateness(const DurableHistory& history);

// The failover of waits whose worker died. Counts only deaths without another
// trouble, except for stops of all workers for less than a second.
struct DurableFailover {
  int64_t waits = 0;
  // Time from the death until another worker polled the last of the waits.
  absl::Duration longest = absl::ZeroDuration();
  std::string key = {};  // The last of the waits.
  // The maximum of `longest` that is not a violation.
  absl::Duration limit = absl::ZeroDuration();
};
DurableFailover MeasureFailover(const DurableHistory& history);

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_DURABLE_HISTORY_H_
